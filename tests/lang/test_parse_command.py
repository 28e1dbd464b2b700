"""``xcast parse`` prints a tree, the query again, or an error with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Ran, xcast

from xstreamcast.errors import XStreamError
from xstreamcast.lang.files import read_query

STRUCTURE = '<stream:structure><tag id="1" name="accounts"><tag id="2" name="account"/></tag></stream:structure>'


def run(*arguments: str) -> Ran:
    return xcast("parse", *arguments)


def test_a_query_is_shown_as_a_tree() -> None:
    result = run("1 + 2")
    assert result.out.decode() == "Module\n  Arithmetic +\n    IntegerLiteral 1\n    IntegerLiteral 2\n"


def test_a_query_may_come_from_a_file_and_be_printed_again(tmp_path: Path) -> None:
    file = tmp_path / "q.xq"
    file.write_text("for $x in(1,2)return $x+1", encoding="utf-8")
    assert run("-f", str(file), "--xquery").out.decode() == "for $x in (1, 2)\nreturn $x + 1\n"


def test_structures_give_warnings(tmp_path: Path) -> None:
    file = tmp_path / "credit.tags"
    file.write_text(STRUCTURE, encoding="utf-8")
    result = run('stream("credit")//acount', "--structure", str(file))
    assert result.code == 0
    assert "warning: query:1:19 nothing matches acount" in result.err
    assert "did you mean account?" in result.err
    assert "nothing matches" in run('stream("c")//x', "--structure", f"c={file}").err


def test_a_fault_is_an_error_with_its_place() -> None:
    assert run("1 +").err.startswith("xcast: XPST0003 query:1:4 ")


def test_a_query_and_a_file_at_once_are_refused(tmp_path: Path) -> None:
    assert run("1", "-f", str(tmp_path / "q.xq")).code == 2
    assert run().code == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_query_files_are_read_in_their_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "q.xq"
    file.write_text('"é"', encoding=encoding)
    assert read_query(file) == '"é"'


def test_a_declared_encoding_counts(tmp_path: Path) -> None:
    file = tmp_path / "q.xq"
    file.write_text('xquery version "3.1" encoding "iso-8859-1"; "é"', encoding="iso-8859-1")
    assert read_query(file).endswith('"é"')


def test_a_wrong_or_unknown_encoding_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "q.xq"
    file.write_text('1,\n"é"', encoding="iso-8859-1")
    with pytest.raises(XStreamError, match="not UTF-8") as caught:
        read_query(file)
    assert caught.value.place is not None
    assert caught.value.place.line == 2
    file.write_text('xquery encoding "klingon"; 1', encoding="ascii")
    with pytest.raises(XStreamError, match="not known"):
        read_query(file)

"""Small documents: read by the kernel once it pays, and by queries that are compiled once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xstreamcast import query
from xstreamcast.run.inputs import has_several
from xstreamcast.run.query import _COMPILED, _REMEMBERED
from xstreamcast.scan.sequence import surely_one

READ = """
import sys
from xstreamcast import query
for number in range(int(sys.argv[1])):
    assert query("count(//b)", context=sys.argv[2]).one() == int(sys.argv[3])
print("xstreamcast.scan.kernel" in sys.modules)
"""


def test_the_kernel_is_loaded_when_many_small_files_have_been_read(tmp_path: Path) -> None:
    small = tmp_path / "small.xml"
    small.write_text("<a>" + "<b>text</b>" * 50_000 + "</a>")
    loaded = []
    for times in (1, 3, 6):
        command = [sys.executable, "-c", READ, str(times), str(small), "50000"]
        loaded.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert loaded == ["False", "False", "True"]  # 0.55 MB each; four of them are more than 2 MB


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("<a><b/></a>", False),
        ("<a><b/></a>\n\n", False),
        ("<a><b/></a><!-- end -->", False),
        ("<a><b/></a><a/>", True),
        ("<a x='>'/><a/>", True),
        ("<a x='1'><a/></a>", False),
        ("<a x='1'><a/></a><b/>", True),
        ("<?xml version='1.0'?><!-- <a/> --><a></a><?xml version='1.0'?><b/>", True),
        ("<!DOCTYPE a><a></a>", False),
        ("<!DOCTYPE a><a></a><a/>", True),
        ("<a></ab></a><a/>", False),  # not well-formed: who reads it tells
        ("<é></é><é/>", True),
        ("\ufeff<a></a>]]>]]><a/>", True),
    ],
)
def test_a_second_document_is_seen(text: str, several: bool, tmp_path: Path) -> None:
    path = tmp_path / "documents.xml"
    path.write_text(text, encoding="utf-8")
    assert has_several(path) is several
    assert not (several and surely_one(text.encode(), whole=True))


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_a_second_document_is_seen_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "documents.xml"
    path.write_text(f"<?xml version='1.0' encoding='{encoding}'?><a>é</a><a/>", encoding=encoding)
    assert has_several(path)


def test_a_query_that_was_asked_lately_is_not_compiled_again() -> None:
    text = "count(//once)"
    query(text, context="<once/>").one()
    first = next(made for key, made in _COMPILED.items() if key[0] == text)
    for number in range(_REMEMBERED - 1):
        query(f"{number}").one()
    assert query(text, context="<a><once/><once/></a>").one() == 2
    assert next(made for key, made in _COMPILED.items() if key[0] == text) is first
    for number in range(_REMEMBERED):
        query(f"1 + {number}").one()
    assert len(_COMPILED) == _REMEMBERED
    assert all(key[0] != text for key in _COMPILED)


def test_variables_folders_and_imports_are_asked_for_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert query("$n + 1", variables={"n": 1}).one() == 2
    with pytest.raises(Exception, match="XPST0008"):
        query("$n + 1")
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "d.xml").write_text(f"<{folder}/>")
        monkeypatch.chdir(tmp_path / folder)
        assert query("name(doc('d.xml')/*)").one() == folder
    module = tmp_path / "m.xqm"
    for number in (1, 2):
        module.write_text(f"module namespace m = 'm'; declare variable $m:n := {number};")
        text = f"import module namespace m = 'm' at '{module.as_uri()}'; $m:n"
        assert query(text).one() == number
    assert os.getcwd() == str(tmp_path / "b")

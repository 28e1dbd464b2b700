"""``xcast query``, as typed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from xstreamcast.cli.query import query_command
from xstreamcast.errors import XStreamError

app = typer.Typer()
app.command()(query_command)
XML = "<a><b>1</b><b>2</b></a>"


def run(*arguments: str, given: str | None = None) -> str:
    result = CliRunner().invoke(app, list(arguments), input=given)
    if isinstance(result.exception, XStreamError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.xml"
    path.write_text(XML)
    return path


def test_a_query_looks_at_a_file(file: Path) -> None:
    assert run("count(//b)", str(file)) == "2\n"
    assert run("count(//b)", "--context", str(file)) == "2\n"


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(gzip.compress(XML.encode()))
    assert run("string(//b[1])", str(path)) == "1\n"


def test_a_dash_is_standard_input() -> None:
    assert run("//b/string()", "-", given=XML) == "1 2\n"


def test_lines_and_methods(file: Path) -> None:
    assert run("//b", "--lines", str(file)) == "<b>1</b>\n<b>2</b>\n"
    assert run("//b", "--method", "text", str(file)) == "12\n"
    assert run("map { 'a': 1 }", "--method", "json") == '{"a":1}\n'
    assert run("'a', 1", "--method", "adaptive", "--lines") == '"a"\n1\n'
    assert run("<a><b/></a>", "--indent") == "<a>\n  <b/>\n</a>\n"


def test_the_query_may_be_in_a_file(tmp_path: Path, file: Path) -> None:
    query = tmp_path / "q.xq"
    query.write_text("declare variable $n external; count(//b) + $n, doc('a.xml')/a/b[1]/string()")
    assert run("-f", str(query), str(file), "--var", "n=40") == "42 1\n"


def test_documents_and_variables_by_name(file: Path) -> None:
    assert run("count(doc('x')//b)", "--doc", f"x={file}") == "2\n"
    assert run("$n + 1, $n = 'a', $n || 'b'", "--var", "n=1") == "2 false 1b\n"


def test_streams_and_now(tmp_path: Path) -> None:
    stream = tmp_path / "s.xml"
    stream.write_text(
        '<fragments><structure><tag id="1" name="a" type="snapshot"><tag id="2" name="p" type="temporal"/></tag>'
        '</structure><filler id="0" tsid="1"><a><hole id="1" tsid="2"/></a></filler>'
        '<filler id="1" tsid="2" validTime="2003-01-01T00:00:00"><p>1</p></filler>'
        '<filler id="1" tsid="2" validTime="2004-01-01T00:00:00"><p>2</p></filler></fragments>'
    )
    text = 'stream("s")//p?[now]/string()'
    assert run(text, "--stream", f"s={stream}") == "2\n"
    assert run(text, "--stream", f"s={stream}", "--now", "2003-06-01") == "1\n"


def test_mistakes_are_told(file: Path) -> None:
    with pytest.raises(XStreamError) as caught:
        run("1 +", str(file))
    assert caught.value.code == "XPST0003"
    with pytest.raises(XStreamError) as caught:
        run("count(//b)", str(file) + "x")
    assert caught.value.code == "XSC0006"
    assert CliRunner().invoke(app, ["1", "--var", "n"]).exit_code == 2
    assert CliRunner().invoke(app, ["1", "--method", "html"]).exit_code == 2

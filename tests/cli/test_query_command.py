"""``xcast query``, as typed."""

from __future__ import annotations

import gzip
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from command import called, xcast

from xstreamcast.cli.query import query_command
from xstreamcast.errors import XStreamError
from xstreamcast.model.namespaces import OUTPUT

XML = "<a><b>1</b><b>2</b></a>"


def run(*arguments: str, given: str | None = None) -> str:
    return called(query_command, *arguments, stdin=given)


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
    assert xcast("query", "1", "--var", "n").code == 2
    assert xcast("query", "1", "--method", "htm").code == 2


# ------------------------------------------------------------------------------------- large documents, real processes

RECORD = b"<b i='%d'>text</b>"
TWICE = "let $n := count(//b) for $b in //b[@i = 7] return $b || $n"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.xml"
    path.write_bytes(b"<a>" + b"".join(RECORD % n for n in range(400_000)) + b"</a>")
    return path


def started(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "xstreamcast", "query", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_a_large_file_is_scanned(large: Path) -> None:
    assert run("count(//b)", str(large)) == "400000\n"
    assert run("//b[@i = '399999']", str(large), "--threads", "2") == '<b i="399999">text</b>\n'
    assert run("(//b)[position() < 3]/string(@i)", str(large)) == "0 1\n"


def test_a_large_pipe_is_read_once_or_copied(large: Path) -> None:
    with large.open("rb") as file, started(TWICE, "-", stdin=subprocess.PIPE) as process:
        try:
            out, err = process.communicate(file.read())
        except BrokenPipeError:
            out, err = process.communicate()
    assert (process.returncode, out) == (1, b"")
    assert err.startswith(b"xcast: XSC0080 query:1:")
    with large.open("rb") as file, started(TWICE, "-", "--spool", stdin=subprocess.PIPE) as process:
        out, _ = process.communicate(file.read())
    assert (process.returncode, out) == (0, b"text400000\n")
    with large.open("rb") as file, started(TWICE, "-", stdin=file) as process:  # a file can be read twice
        assert process.communicate()[0] == b"text400000\n"


def test_results_are_out_while_the_input_still_comes() -> None:
    with started("//b/string()", "--lines", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"<a>" + RECORD % 1)
        process.stdin.flush()
        assert process.stdout.readline() == b"text\n"
        process.stdin.write(b"<b>more</b></a>")
        process.stdin.close()
        assert process.stdout.read() == b"more\n"
    assert process.returncode == 0


def test_a_reader_that_has_seen_enough_is_no_fault(large: Path) -> None:
    with started("//b", "--lines", large) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b'<b i="0">text</b>\n'
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_an_interrupt_ends_it_cleanly() -> None:
    with started("//b/string()", "--lines", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"<a>" + RECORD % 1)
        process.stdin.flush()
        assert process.stdout.readline() == b"text\n"
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"xcast: interrupted\n"
    assert process.returncode == 130


def test_copies_of_nodes_do_not_wait_for_each_other() -> None:
    with started("//b", "--lines", "-", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"<a>" + b"".join(RECORD % n for n in range(100)))
        process.stdin.flush()
        for n in range(100):
            assert process.stdout.readline() == b'<b i="%d">text</b>\n' % n
        process.stdin.write(RECORD % 100 + b"</a>")
        process.stdin.close()
        assert process.stdout.read() == b'<b i="100">text</b>\n'


def test_errors_in_the_middle_come_after_what_is_out() -> None:
    with started("//b/string()", "--lines", "-", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(b"<a>" + b"".join(RECORD % n for n in range(300_000)) + b"</b>")
    assert process.returncode == 1
    assert out.startswith(b"text\ntext\n")
    assert err.startswith(b"xcast: XSC0001 <stdin>:1:")


def test_progress_is_shown_on_a_terminal(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, terminal = pty.openpty()
    program = (
        "import sys; from xstreamcast.cli import main; from xstreamcast.cli.terminal import ScanProgress; "
        "ScanProgress.AFTER = 0.0; main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", program, "query", "count(//b[@i])", str(large)]
    said = b""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        with suppress(OSError):  # nobody has the terminal open any more
            while read := os.read(shown, 1 << 16):  # as it comes: a terminal keeps little of what nobody reads
                said += read
        assert process.communicate()[0] == b"400000\n"
    os.close(shown)
    assert b"large.xml" in said


def test_sequences_are_written_item_by_item_as_they_are_whole(file: Path) -> None:
    for query in ("1, 2, <a/>, 3, 4", "[1, [2, 3]], 4", "(), <a/>, <b/>", "//b, 1, //b/text()"):
        for given in ([], ["--indent"], ["--method", "text"], ["--method", "adaptive"]):
            from xstreamcast.run.query import query as ask

            parameters = {"method": given[1]} if "--method" in given else {}
            expected = ask(query, context=file).serialise(**parameters, indent="--indent" in given)
            assert run(query, str(file), *given) == expected + "\n"
    options = f'declare namespace output = "{OUTPUT}"; declare option output:item-separator ";"; '
    assert run(options + "1, 2, <a/>") == "1;2;<a/>\n"

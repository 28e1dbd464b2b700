"""What no command can read or write: a code, a place, a hint, an exit status that is not 0, and never a traceback."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from command import Ran, xcast

from xstreamcast.scan import parse as parsing

PACKED = gzip.compress(b"<a>" + b"<b>one</b>" * 1000 + b"</a>", mtime=0)
LAUGHS = (
    '<!DOCTYPE a [<!ENTITY e0 "ha">' + "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
)

BAD: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "XSC0001", "no element found"),
    "blank": (b" \n ", "XSC0001", "no element found"),
    "torn tag": (b'<a>\n<b x="1', "XSC0001", "truncated: a token is not closed"),
    "garbage": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "XSC0001", "not well-formed"),
    "wrong end tag": (b"<a>\n <b></c>\n</a>", "XSC0001", "mismatched tag"),
    "text after the root": (b"<a/>\nb", "XSC0001", "junk after document element"),
    "twice an attribute": (b'<a x="1" x="2"/>', "XSC0001", "duplicate attribute"),
    "control character": (b"<a>\x01</a>", "XSC0001", "not well-formed"),
    "entity bomb": (f"{LAUGHS}<a>&e9;</a>".encode(), "XSC0001", "amplification"),
    "entity bomb in an attribute": (f'{LAUGHS}<a x="&e9;"/>'.encode(), "XSC0001", "amplification"),
    "recursive entities": (b'<!DOCTYPE a [<!ENTITY x "&y;"><!ENTITY y "&x;">]><a>&x;</a>', "XSC0001", "recursive"),
    "external entity": (b'<!DOCTYPE a [<!ENTITY x SYSTEM "f.txt">]><a>&x;</a>', "XSC0001", "f.txt"),
    "not its encoding": ("<a>é</a>".encode("latin-1"), "XSC0001", "not well-formed"),
    "unknown encoding": (b'<?xml version="1.0" encoding="klingon"?><a/>', "XSC0001", "unknown encoding 'klingon'"),
    "no text encoding": (b'<?xml version="1.0" encoding="rot13"?><a/>', "XSC0001", "unknown encoding 'rot13'"),
    "not of its width": (b'<?xml version="1.0" encoding="utf-16"?><a/>', "XSC0001", "declared as utf-16 but it is not"),
    "truncated gz": (PACKED[: len(PACKED) // 2], "XSC0006", "cannot be read on"),
    "broken gz": (PACKED[:20] + b"\xff\xff" + PACKED[22:], "XSC0006", "cannot be read on"),
}
READABLE: dict[str, bytes] = {
    "utf-8 with a mark": "\ufeff<a><b>日本</b></a>".encode(),
    "utf-16": "\ufeff<a><b>日本</b></a>".encode("utf-16-le"),
    "utf-16 without a mark": '<?xml version="1.0"?><a><b>日本</b></a>'.encode("utf-16-be"),
    "utf-32": "\ufeff<a><b>日本</b></a>".encode("utf-32-be"),
    "Shift_JIS": '<?xml version="1.0" encoding="Shift_JIS"?><a><b>日本</b></a>'.encode("shift_jis"),
    "GB 18030": '<?xml version="1.0" encoding="gb18030"?><a><b>日本</b></a>'.encode("gb18030"),
}
COMMANDS = {"query": ("query", "//b"), "structure": ("structure",), "fragment": ("fragment",)}


def refused(ran: Ran, code: str, *words: str) -> None:
    assert ran.code == 1
    assert ran.out == b""
    first, *rest = ran.err.splitlines()
    assert first.startswith(f"xcast: {code} "), ran.err
    for word in words:
        assert word in first
    assert rest[-1].startswith("  hint: "), ran.err


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_document_that_is_none_is_refused(command: str, bad: str, tmp_path: Path) -> None:
    data, code, message = BAD[bad]
    file = tmp_path / "d.xml"
    file.write_bytes(data)
    refused(xcast(*COMMANDS[command], file), code, "d.xml", message)


def test_what_is_open_at_the_end_of_a_truncated_document_is_named(tmp_path: Path) -> None:
    file = tmp_path / "d.xml"
    file.write_bytes(b"<a><b>one</b>\n<b>tw")
    refused(xcast("query", "//b", file), "XSC0001", "d.xml:2:6", "truncated: <b> is not closed")


@pytest.mark.parametrize("packed", [False, True], ids=["a file", "gz"])
def test_a_document_of_one_long_line_is_truncated_where_it_ends(packed: bool, tmp_path: Path) -> None:
    data = b"<r>" + b"<a>\xc3\xa4</a>" * 600_000  # 5,400,003 bytes, 4,800,003 characters
    file = tmp_path / "d.xml"
    file.write_bytes(gzip.compress(data, 1) if packed else data)
    refused(xcast("query", "count(//a)", file), "XSC0001", "d.xml:1:4800004", "truncated: <r> is not closed")


@pytest.mark.parametrize("encoding", READABLE)
def test_a_small_document_may_have_any_encoding(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "d.xml"
    file.write_bytes(READABLE[encoding])
    assert xcast("query", "string-to-codepoints(//b)", file).out == b"26085 26412\n"
    assert xcast("query", "string-to-codepoints(//b)", "-", stdin=READABLE[encoding]).out == b"26085 26412\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_or_nothing_is_no_document(command: str, tmp_path: Path) -> None:
    refused(xcast(*COMMANDS[command], tmp_path), "XSC0006", str(tmp_path))
    refused(xcast(*COMMANDS[command], tmp_path / "none.xml"), "XSC0006", "none.xml")


def test_standard_input_has_a_name() -> None:
    run = [sys.executable, "-m", "xstreamcast", "query", "."]
    ended = subprocess.run(run, input=b"<a>", capture_output=True, timeout=300, check=False)
    refused(Ran(ended.returncode, ended.stdout, ended.stderr.decode()), "XSC0001", "<stdin>:1:4")


def test_a_hundred_thousand_levels_and_a_huge_attribute_are_a_document(tmp_path: Path) -> None:
    deep, wide = tmp_path / "deep.xml", tmp_path / "wide.xml"
    deep.write_bytes(b"<a>" * 100_000 + b"<b/>" + b"</a>" * 100_000)
    wide.write_bytes(b'<a x="' + b"y" * 3_000_000 + b'"/>')
    assert xcast("query", "count(//a), count(//b)", deep, "--max-depth", 200_000).out == b"100000 1\n"
    assert xcast("query", "string-length(/a/@x)", wide).out == b"3000000\n"
    equal = "deep-equal(/, parse-xml(serialize(/)))"
    assert xcast("query", equal, deep, "--max-depth", 200_000).out == b"true\n"


def test_a_text_in_many_pieces_costs_its_length() -> None:
    # Adding to a text anew for each piece would copy 400 GB here.
    whole = parsing.parse("<a>" + "é&amp;" * 8_000_000 + "</a>")
    assert len(whole.string) == 16_000_000


@pytest.mark.parametrize("query", ["current-date()", "max((1, 2))", "sort((2, 1))", "contains('ab', 'b')"])
def test_a_query_that_looks_at_no_document_leaves_standard_input_alone(query: str) -> None:
    reading, writing = os.pipe()  # nobody writes, and nobody closes it: who reads would wait for ever
    try:
        run = [sys.executable, "-m", "xstreamcast", "query", query]
        assert subprocess.run(run, stdin=reading, capture_output=True, timeout=300, check=True).stdout
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(
    ("query", "code"),
    [("let $x = 1 return $x", "XPST0003"), ("(1, 2", "XPST0003"), ("$x", "XPST0008"), ("flor(1)", "XPST0017"),
     ("declare variable $x external; $x", "XPDY0002"), ("<a><b></a>", "XQST0118"), ("//a[@b == 1]", "XPST0003")],
)  # fmt: skip
def test_a_mistake_in_a_query_has_a_place_a_caret_and_a_hint(query: str, code: str) -> None:
    ran = xcast("query", query)
    refused(ran, code, "query:1:")
    assert ran.err.splitlines()[1].strip() == query
    assert ran.err.splitlines()[2].strip() == "^"


def test_what_is_put_aside_is_shown_without_what_a_terminal_would_obey() -> None:
    ran = xcast("materialise", "-", stdin=b'\x1b[2J\x07<filler id="0"><a/></filler>')
    assert (ran.code, ran.out) == (0, b"<a/>\n")
    assert ran.err.splitlines() == ["quarantine XSC0001 <stdin>@0 text between fragments", "  \ufffd[2J\ufffd"]


# -- where the output goes --------------------------------------------------------------------------------------------


def started(*arguments: str | Path, stdout: int) -> tuple[int, str]:
    run = [sys.executable, "-m", "xstreamcast", *map(str, arguments)]
    ended = subprocess.run(run, stdout=stdout, stderr=subprocess.PIPE, timeout=300, check=False)
    return ended.returncode, ended.stderr.decode()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    file = tmp_path / "d.xml"
    file.write_bytes(b"<a>" + b"<b>one</b>" * 20_000 + b"</a>")
    return file


@pytest.mark.parametrize("command", ["query", "fragment", "explain", "translate"])
def test_a_full_disk_is_said(command: str, document: Path) -> None:
    arguments = {"query": ("query", "//b", document), "fragment": ("fragment", document)}
    with open("/dev/full", "wb") as full:
        code, err = started(*arguments.get(command, (command, "count(stream('s')//b)")), stdout=full.fileno())
    assert (code, err.splitlines()[0]) == (1, "xcast: XSC0006 No space left on device")
    assert err.splitlines()[1].startswith("  hint: ")


@pytest.mark.parametrize("command", ["explain", "parse", "translate"])
def test_a_reader_that_has_left_is_no_fault(command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert started(command, "count(stream('s')//b)", stdout=writing) == (0, "")
    finally:
        os.close(writing)


def test_an_output_that_is_a_pipe_or_a_link_stays_one(document: Path, tmp_path: Path) -> None:
    pipe, link, target = tmp_path / "pipe", tmp_path / "link.xml", tmp_path / "target.xml"
    os.mkfifo(pipe)
    target.touch()
    link.symlink_to(target)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    assert xcast("fragment", document, "-o", pipe).code == 0
    reader.join()
    assert xcast("fragment", document, "-o", link).code == 0
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert read == [target.read_bytes()]

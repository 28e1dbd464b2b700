"""Nasty documents, by hand: the kernel takes what expat takes, refuses what it refuses, and reads the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from scan_oracle import expat_events, kernel_events

from xstreamcast.errors import XStreamError
from xstreamcast.scan.automaton import Automaton
from xstreamcast.scan.reader import scan_bytes, scan_chunks
from xstreamcast.scan.scanner import Scanner

FIXTURES = Path(__file__).parent / "fixtures"


def corpus(name: str) -> list[bytes]:
    """The documents of a file: one on each line, bytes outside ASCII and line ends escaped as Python escapes them."""
    lines = (FIXTURES / f"{name}.txt").read_text("ascii").split("\n")[:-1]
    return [line.encode().decode("unicode_escape").encode("latin-1") for line in lines]


WELL_FORMED = [
    *corpus("well_formed"),
    b"<a>" * 200 + b"</a>" * 200,
    b"<a " + b" ".join(b"a%d='%d'" % (k, k) for k in range(100)) + b"/>",
    b"<a>" + b"".join(b"<n%d/>" % k for k in range(600)) + b"</a>",
]
MALFORMED = corpus("malformed")


@pytest.mark.parametrize("document", WELL_FORMED, ids=lambda document: document[:40].decode("latin-1"))
def test_what_expat_reads_the_kernel_reads_alike_whole_and_in_pieces(document: bytes) -> None:
    events = expat_events(document)
    assert events is not None
    assert kernel_events(document) == events
    if document[:5] not in (b"<?xml", b"\xef\xbb\xbf<a"):  # pieces are plain XML already
        for size in (1, 2, 3, 7, 64):
            assert kernel_events(document, size) == events


@pytest.mark.parametrize("document", MALFORMED, ids=lambda document: document[:40].decode("latin-1"))
def test_what_expat_refuses_the_kernel_refuses_whole_and_in_pieces(document: bytes) -> None:
    assert expat_events(document) is None
    assert kernel_events(document) is None
    if document[:5] != b"<?xml":
        for size in (1, 2, 3, 7, 64):
            assert kernel_events(document, size) is None


@pytest.mark.parametrize("document", MALFORMED, ids=lambda document: document[:40].decode("latin-1"))
def test_what_nobody_looks_at_must_be_well_formed_all_the_same(document: bytes) -> None:
    # A declaration may only come first, and what is cut off may be closed by what follows: those are not wrapped.
    wrapped = b"<skipped>" + document + b"</skipped>"
    expected = expat_events(wrapped) is not None
    try:
        list(scan_bytes(wrapped, Scanner(Automaton([]))))
    except XStreamError:
        assert not expected
    else:
        assert expected


def test_an_error_says_byte_line_and_column_however_the_input_comes() -> None:
    document = "<a>\n<b>é</b>\n<c>é</d></a>".encode()
    at = document.index(b"</d>")
    whole = Scanner(Automaton([]), "feed.xml")
    with pytest.raises(XStreamError) as fault:
        list(scan_chunks([document], whole))
    assert str(fault.value).splitlines()[0] == "XSC0001 feed.xml:3:5 mismatched tag"
    assert fault.value.place is not None
    assert fault.value.place.offset == at
    pieces = [document[:7], b" " * (1 << 20), b"\n" * 5, document[7:]]
    with pytest.raises(XStreamError) as fault:
        list(scan_chunks(pieces, Scanner(Automaton([]), "feed.xml")))
    place = fault.value.place
    assert place is not None
    assert (place.line, place.column, place.offset) == (8, 5, at + (1 << 20) + 5)

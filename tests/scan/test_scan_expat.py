"""The kernel and expat on random documents: both take and read alike, or both refuse."""

from __future__ import annotations

from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from scan_documents import damaged, documents
from scan_oracle import expat_events, kernel_events

from xstreamcast.errors import XStreamError
from xstreamcast.scan.automaton import Automaton
from xstreamcast.scan.reader import scan_bytes
from xstreamcast.scan.scanner import Scanner

NOTHING = Automaton([])


def takes_skipped(document: bytes) -> bool:
    """Whether the kernel takes a document when nobody looks at it."""
    try:
        list(scan_bytes(document, Scanner(NOTHING)))
    except XStreamError:
        return False
    return True


@settings(max_examples=60 * MORE, deadline=None, derandomize=True)
@given(documents())
def test_documents_are_read_as_expat_reads_them(document: bytes) -> None:
    events = expat_events(document)
    assert kernel_events(document) == events
    assert takes_skipped(document) == (events is not None)


@settings(max_examples=120 * MORE, deadline=None, derandomize=True)
@given(damaged())
def test_damaged_documents_are_judged_as_expat_judges_them(document: bytes) -> None:
    events = expat_events(document)
    assert kernel_events(document) == events
    assert takes_skipped(document) == (events is not None)


@settings(max_examples=24 * MORE, deadline=None, derandomize=True)
@given(documents() | damaged(), st.integers(1, 40))
def test_pieces_of_any_size_make_no_difference(document: bytes, size: int) -> None:
    assert kernel_events(document, size) == expat_events(document)

"""Documents of very many names: what a name costs does not depend on how many there are."""

from __future__ import annotations

import numpy as np
import pytest
from scan_oracle import expat_events, kernel_events

from xstreamcast.native.vector import Bytes
from xstreamcast.scan.automaton import Automaton
from xstreamcast.scan.reader import scan_bytes
from xstreamcast.scan.scanner import Scanner, TableScanner
from xstreamcast.scan.symbols import Symbols

MANY = 20_000
ELEMENTS = b"<r>" + b"".join(b"<n%d/>" % k for k in range(MANY)) + b"</r>"
ATTRIBUTES = b"<r" + b"".join(b" a%d=''" % k for k in range(MANY)) + b"/>"
MIXED = b"".join(
    b"<e@ a@='&lt;e@ x=\"1\"'>\n t@='1' <![CDATA[<c@/> <c@ x='1'>]]><!--<m@/>--><p:e@ p:a@='1'/></e@>".replace(b"@", k)
    for k in (b"%d" % number for number in range(3000))
)


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Why the kernel stopped, each time that it did."""
    seen: list[int] = []
    attend = TableScanner._attend

    def noting(self: TableScanner, b: Bytes, status: int) -> None:
        seen.append(status)
        attend(self, b, status)

    monkeypatch.setattr(TableScanner, "_attend", noting)
    return seen


@pytest.mark.parametrize("document", [ELEMENTS, ATTRIBUTES], ids=["elements", "attributes"])
def test_the_kernel_does_not_stop_for_every_one_of_many_names(document: bytes, stops: list[int]) -> None:
    scanner = Scanner(Automaton([]))
    list(scan_bytes(document, scanner))
    assert len(scanner.symbols.texts) == MANY + 2
    assert len(stops) < MANY // 5


@pytest.mark.parametrize("size", [0, 1000])
def test_what_only_looks_like_a_name_does_no_harm(size: int) -> None:
    document = b"<r xmlns:p='u'>" + MIXED + b"</r>"
    events = expat_events(document)
    assert events is not None
    assert kernel_events(document, size) == events


def test_a_name_is_found_by_all_its_bytes() -> None:
    symbols = Symbols(lambda kind, uri, local: 0)
    for k in range(4000):
        symbols.add_name(b"abcdefgh%08dmiddle__%08dstuvwxyz" % (k, 3 * k))
    taken = np.flatnonzero(np.diff(np.flatnonzero(np.append(symbols.table != 0, True))) > 1)
    assert np.diff(taken, prepend=-1).max() < 100, "slots that are taken, side by side"

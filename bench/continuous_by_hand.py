"""The sums of each account of the credit stream by hand, in columns: an optimistic limit of what a batch may cost.

Numbers of regions are places in arrays, a fragment that comes twice counts twice, versions of accounts are one, nothing
is told, and one compiled loop reads a batch as it is on the wire. No general engine can be as fast.
"""

from __future__ import annotations

import time
from typing import Any, Final

import numpy as np
from numba import njit

_ACCOUNT: Final = 2
_TRANSACTION: Final = 5
"""The tags of the credit stream, and of the holes for transactions."""


@njit(cache=True)  # type: ignore[untyped-decorator]  # numba has no types
def _number(text: Any, at: int) -> tuple[int, int]:
    """The whole number that stands somewhere, and where it ends."""
    found = 0
    while 48 <= text[at] <= 57:
        found = 10 * found + text[at] - 48
        at += 1
    return found, at


@njit(cache=True)  # type: ignore[untyped-decorator]  # numba has no types
def _behind(text: Any, at: int, to: int, sought: Any) -> int:
    """Where the text behind the next place of another one begins; ``to`` if there is none."""
    size: int = sought.shape[0]
    while at + size <= to:
        k = 0
        while k < size and text[at + k] == sought[k]:
            k += 1
        if k == size:
            return at + size
        at += 1
    return to


@njit(cache=True)  # type: ignore[untyped-decorator]  # numba has no types
def _take(text: Any, owners: Any, cents: Any, filler: Any, tag: Any, hole: Any, amount: Any, end: Any) -> None:
    """Take in a batch: whose hole a region fills, and what the transactions there come to."""
    at, size = 0, text.shape[0]
    while True:
        at = _behind(text, at, size, filler)
        if at >= size:
            return
        region, at = _number(text, at)
        tsid, at = _number(text, _behind(text, at, size, tag))
        to = _behind(text, at, size, end)
        if tsid == _TRANSACTION:
            whole, place = _number(text, _behind(text, at, to, amount))
            part = 0
            if text[place] == 46:
                part, stop = _number(text, place + 1)
                part *= 10 if stop - place == 2 else 1
            cents[region] += 100 * whole + part
        elif tsid == _ACCOUNT:
            while True:
                at = _behind(text, at, to, hole)
                if at >= to:
                    break
                number, at = _number(text, at)
                inside, at = _number(text, _behind(text, at, to, tag))
                if inside == _TRANSACTION:
                    owners[number] = region
        at = to


_SOUGHT: Final = [
    np.frombuffer(text, np.uint8).copy()
    for text in (b'<stream:filler id="', b'tsid="', b'<stream:hole id="', b"<amount>", b"</stream:filler>")
]


def sums_by_hand(batches: list[bytes], regions: int) -> tuple[float, dict[int, int]]:
    """CPU seconds, and by account the cents of its transactions."""
    texts = [np.frombuffer(batch, np.uint8) for batch in batches]
    cpu = 0.0
    owners, cents = np.zeros(regions, np.int64), np.zeros(regions, np.int64)
    for turn in range(2):  # the first compiles
        owners[:], cents[:] = -1, 0
        began = time.process_time()
        for text in texts:
            _take(text, owners, cents, *_SOUGHT)
        cpu = time.process_time() - began
        del turn
    found: dict[int, int] = {}
    for region in np.flatnonzero((owners >= 0) & (cents != 0)).tolist():
        owner = int(owners[region])
        found[owner] = found.get(owner, 0) + int(cents[region])
    return cpu, found

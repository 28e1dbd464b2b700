"""Ranges of a mapped document scanned by threads, ahead of who asks for them.

As in :mod:`xstreamcast.scan.split` a range begins on a guess of what is open there. Here the open elements are part of
the tree, with attributes that the range has not seen: it grows a tree under rows that stand for them, and when the scan
before has come to its beginning, that scan's rows take their place. Only so many ranges are scanned ahead as there are
threads, so that what waits is bounded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Self

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XStreamError
from xstreamcast.native.vector import Bytes
from xstreamcast.scan import layout as t
from xstreamcast.scan.growth import Growth, Wanted
from xstreamcast.scan.layout import BEGINS_RECORD, EMITS
from xstreamcast.scan.scanner import InternalSubset, Scanner
from xstreamcast.scan.split import Guesser, Level, Outcome, body_end, boundary, fits, place, speculate

if TYPE_CHECKING:
    from concurrent.futures import Future

_KEPT: Final = EMITS | BEGINS_RECORD


@dataclass(slots=True)
class Range:
    """A part of a document, begun on a guess."""

    start: int
    end: int
    guess: tuple[Level, ...]
    growth: Growth

    def run(self, b: Bytes) -> bool:
        """Scan it; False when the guess led to an error, which is then none yet."""
        scanner = self.growth.scanner
        scanner.regs[t.PATIENCE] = 2 * self.end - self.start
        try:
            while (status := scanner.run(b, len(b), self.end)) == t.FULL:
                if not self.growth.absorb(b):
                    scanner.make_room(0)
        except (XStreamError, InternalSubset):  # it may be a document of its own, after the end of another
            return False
        self.growth.absorb(b)
        return status == t.LIMIT

    def outcome(self) -> Outcome:
        """For joining it to the scan before."""
        return Outcome(self.start, self.guess, tuple(self.growth.closed))


class Ranges:
    """The ranges of a document, each about ``size`` bytes, as many at work as there are threads."""

    def __init__(self, b: Bytes, wanted: Wanted, name: str, start: int, size: int, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.b, self.wanted, self.threads = b, wanted, threads
        self.guesser = Guesser(b, wanted.targets, name)
        self.pool = ThreadPoolExecutor(threads)
        self.waiting: deque[tuple[Range, Future[bool]]] = deque()
        self.spares: list[Scanner] = []
        self.missed: list[int] = []
        self._planned = self._plan(start, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)

    def _plan(self, start: int, size: int) -> Iterator[Range]:
        """The ranges that can begin somewhere, in order."""
        last = body_end(self.b)
        found = self._place(start + size, last, size)
        while found is not None:
            following = self._place(found[0] + size, last, size)
            made = speculate(self.guesser, *found, _KEPT, self.spares.pop() if self.spares else None)
            if made is not None:
                scanner, guess = made
                growth = Growth(scanner, self.wanted)
                growth.guess()
                yield Range(found[0], following[0] if following else last, guess, growth)
            found = following

    def _place(self, at: int, last: int, size: int) -> tuple[int, list[bytes]] | None:
        while at < last:
            found = place(self.b, at, last)
            if found is not None:
                return found
            at += size
        return None

    def next(self) -> Range | None:
        """The next range; it may be still at work. None after the last."""
        self._fill()
        return self.waiting[0][0] if self.waiting else None

    def joined(self, following: Range, before: Growth) -> bool:
        """Whether the next range, when it is done, goes on from here; then its growth has."""
        good = self.waiting.popleft()[1].result()
        self._fill()
        levels = boundary(before.scanner, _KEPT)
        if good and levels and fits(levels, before.scanner.position, following.outcome()):
            following.growth.follow(self.b, before, levels)
            return True
        self.missed.append(following.start)
        return False

    def _fill(self) -> None:
        while len(self.waiting) < self.threads and (made := next(self._planned, None)) is not None:
            self.waiting.append((made, self.pool.submit(made.run, self.b)))

    def spare(self, scanner: Scanner) -> None:
        """A scanner that nobody needs any more: the names it knows make the next range cheaper."""
        self.spares.append(scanner)

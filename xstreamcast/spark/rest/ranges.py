"""A range of a document, scanned by itself: the batch documents that a scan of the whole would cut out of it.

A range begins at a :class:`~xstreamcast.spark.rest.seams.Seam`: the start tags that are open there are scanned first,
then the range. A record belongs to the range in which its start tag lies: that range goes on to the record's end, and
one that begins within a record begins behind it. So every record, and all between records, is in exactly one range:

    batches(document) = batches(range 1) ++ batches(range 2) ++ …        for any seams

"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xstreamcast.model.tree import Tree
from xstreamcast.native.vector import Bytes
from xstreamcast.scan import layout as t
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.documents import ROWS, BatchDocument, document_batches
from xstreamcast.scan.filters import Filter, Filters
from xstreamcast.scan.growth import Growth, OpenElement, Wanted
from xstreamcast.scan.layout import BEGINS_RECORD, GROWS_TREE, INNER, LEVEL_WORDS, NOTED, RECORD, ROW, START, STATE
from xstreamcast.scan.path import Path
from xstreamcast.scan.reader import plain_start, release
from xstreamcast.scan.scanner import STEP, Scanner
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.seams import Open, Seam, Window, behind
from xstreamcast.spark.worker import keep_loaded


@dataclass(frozen=True, slots=True)
class Range:
    """A part of a document: from a seam, or its beginning, to another, or its end."""

    document: Document
    begin: int
    end: int | None
    open: tuple[Open, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether it is all of the document."""
        return self.begin == 0 and self.end is None

    @property
    def size(self) -> int:
        return (self.document.size if self.end is None else self.end) - self.begin


def ranges_of(document: Document, seams: Sequence[Seam]) -> list[Range]:
    """The ranges between seams."""
    ends = [*[seam.offset for seam in seams], None]
    first = Range(document, 0, ends[0])
    return [first, *[Range(document, seam.offset, end, seam.open) for seam, end in zip(seams, ends[1:], strict=True)]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The targets of a scan: the arguments of :func:`~xstreamcast.scan.documents.document_batches`."""

    targets: tuple[Target, ...]
    records: tuple[Path, ...] = ()
    counts: tuple[Path, ...] = ()
    carry: tuple[Path, ...] = ()
    filters: tuple[Filter, ...] = ()
    step: int = STEP
    uri: str | None = None


def range_batches(part: Range, asked: Asked, seen: Seen | None = None) -> Iterator[BatchDocument]:
    """The batch documents of a range, in order; ``seen`` hears where the records lie. The last batch has the counts."""
    yield from _range_batches(part, asked, seen)
    keep_loaded()


def _range_batches(part: Range, asked: Asked, seen: Seen | None) -> Iterator[BatchDocument]:
    if part.whole and seen is None:
        uri = asked.uri
        yield from document_batches(
            part.document.source(), asked.targets, asked.records, counts=asked.counts, carry=asked.carry,
            filters=asked.filters, step=asked.step, base_uri=uri, document_uri=uri,
        )  # fmt: skip
        return
    end = part.document.size if part.end is None else part.end
    for window in part.document.plain() if part.whole else part.document.windows(part.begin, end):
        if seen is not None:
            seen.begin(window)
        scan = _RangeScan(part, window, asked, seen)
        if window.whole:
            yield from scan.batches()
            return
        made = list(scan.batches())
        if not scan.short:
            yield from made
            return


def open_records(seam: Seam, paths: Sequence[Path]) -> list[int]:
    """Where the elements of some paths begin that are open at a seam."""
    scanner = Scanner(Automaton([Target(path, Action.RECORD) for path in paths]))
    b = np.frombuffer(bytearray(b"".join(each.tag for each in seam.open)), np.uint8)
    scanner.run(b, len(b), len(b))
    levels = scanner.stack[LEVEL_WORDS : (scanner.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)
    begins = scanner.automaton.flags[levels[:, STATE]] & BEGINS_RECORD != 0
    return [each.offset for each, found in zip(seam.open, begins.tolist(), strict=True) if found]


class Seen:
    """The records of a range: where they begin and end in the document, which is plain XML."""

    def __init__(self) -> None:
        self.window: Window | None = None
        self._rows: list[Any] = []

    def begin(self, window: Window) -> None:
        """A scan begins; what was seen before is forgotten."""
        self.window, self._rows = window, []

    def note(self, rows: Any) -> None:
        """Records that have ended: start and end of each."""
        self._rows.append(rows)

    def taken(self, count: int) -> tuple[Any, Any]:
        """Starts and ends of the next so many records, in document order; the others stay."""
        rows = np.concatenate([*self._rows, np.zeros((0, 2), np.int64)])
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        self._rows = [rows[count:]]
        return rows[:count, 0], rows[:count, 1]

    def texts(self, starts: Sequence[int], ends: Sequence[int]) -> list[str]:
        """The text between some places."""
        assert self.window is not None
        b, origin = self.window.bytes, self.window.origin
        return [bytes(b[start - origin : end - origin]).decode() for start, end in zip(starts, ends, strict=True)]


class _NotingGrowth(Growth):
    """A growth that tells where records lie."""

    seen: Seen

    def absorb(self, b: Bytes) -> int:
        scanner = self.scanner
        count = int(scanner.regs[t.ROWS])
        if count:
            rows = scanner.out[: count * t.ROW_WORDS].reshape(-1, t.ROW_WORDS)
            states = [state for target in self.wanted.records for state in scanner.automaton.accepting(target)]
            found = rows[np.isin(rows[:, t.R_STATE], states)]
            self.seen.note(found[:, [t.R_START, t.R_END]] + scanner.offset)
        return super().absorb(b)


class _RangeScan:
    """One scan of a range."""

    def __init__(self, part: Range, window: Window, asked: Asked, seen: Seen | None) -> None:
        self.part, self.window, self.asked, self.seen = part, window, asked, seen
        self.wanted = Wanted.of(asked.targets, asked.records, asked.counts, asked.carry, Filters(tuple(asked.filters)))
        self.step = max(1, min(asked.step, STEP))
        self.short = False
        """Whether the window ended before the range did."""
        self.stride, self.last = self.step // 16 + 1, part.begin

    def _begin(self, opened: Sequence[Open]) -> None:
        """A scanner that has read some start tags."""
        origin = self.window.origin
        scanner = Scanner(Automaton(self.wanted.targets), self.part.document.path)
        if self.seen is None:
            self.growth = growth = Growth(scanner, self.wanted)
        else:
            self.growth = growth = made = _NotingGrowth(scanner, self.wanted)
            made.seen = self.seen
        self.scanner = scanner
        scanner.offset = origin
        if not opened:
            return
        b = np.frombuffer(bytearray(b"".join(each.tag for each in opened)), np.uint8)
        while scanner.run(b, len(b), len(b)) == t.FULL:
            if not growth.absorb(b):
                scanner.make_room(0)
        growth.settle(b)
        levels = self._levels()[1:]
        levels[:, START] = [each.offset - origin for each in opened]
        levels[:, INNER] = [each.offset + len(each.tag) - origin for each in opened]
        levels[:, t.FLAGS] |= NOTED  # their rows stay, as they are in the ranges before
        growing = levels[scanner.automaton.flags[levels[:, STATE]] & GROWS_TREE != 0]
        growth.began = tuple(OpenElement(start + origin, row) for start, row in growing[:, [START, ROW]].tolist())
        growth.kept = growth.rows
        scanner.automaton.visits[:] = 0

    def _levels(self) -> Any:
        scanner = self.scanner
        return scanner.stack[: (scanner.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)

    def _start(self) -> int | None:
        """Where to begin, with what is open there scanned; None if a record that began before goes on to the end."""
        part, window = self.part, self.window
        self._begin(part.open)
        if part.begin == 0:
            return plain_start(window.bytes)
        levels = self._levels()
        within = np.flatnonzero(levels[:, RECORD] >= 0)
        if not len(within):
            return part.begin - window.origin
        level = int(within[0])
        if level == 0:
            return None  # the document is one record
        start = behind(window, part.begin, len(levels) - level)
        self.short = not window.whole and start == window.origin + len(window.bytes)
        if part.end is not None and start >= part.end:
            return None
        self._begin(part.open[: level - 1])
        self.scanner.regs[t.ROOT] = 1
        return start - window.origin

    def batches(self) -> Iterator[BatchDocument]:
        start = self._start()
        if start is None or self.short:
            return
        scanner, window = self.scanner, self.window
        b = window.bytes
        n = len(b)
        scanner.regs[t.POS] = start
        end = n + 1 if self.part.end is None else self.part.end - window.origin
        while True:
            since = scanner.position
            status = self._run(b, n, min(end, max(since, 1) + self.stride))
            if status == t.MORE:
                break
            if scanner.position >= end and not (self._levels()[:, RECORD] >= 0).any():
                break
            if self.growth.fresh and scanner.regs[t.ROOT]:
                yield self._batch(b)
            else:
                self.growth.settle(b)
                self.stride = min(self.step, 2 * self.stride)
            if window.origin == 0 and window.whole:
                release(b, since, scanner.position)
        self.short = status == t.MORE and not window.whole
        if self.short:
            return
        if status == t.MORE:
            scanner.finish(b, n)
        yield self._batch(b, status == t.MORE)

    def _run(self, b: Bytes, n: int, limit: int) -> int:
        scanner = self.scanner
        scanner.regs[t.PATIENCE] = max(limit, scanner.position) + self.step
        while (status := scanner.run(b, n, limit)) == t.FULL:
            if not self.growth.thin(b):
                scanner.make_room(0)
        return status

    def _batch(self, b: Bytes, final: bool = False) -> BatchDocument:
        tree = Tree(self.asked.uri, self.asked.uri)
        began, ended = self.growth.cut(b, tree, final)
        scanner = self.scanner
        offset = scanner.offset + scanner.position
        least = self.step // 16 + 1
        self.stride = min(self.step, 2 * self.stride, max(least, ROWS * (offset - self.last) // max(len(tree), 1)))
        self.last = offset
        self._levels()[1:, t.FLAGS] |= NOTED  # what is open stays in the next batch, with or without anything below
        counts = tuple(map(scanner.automaton.count, self.wanted.counts))
        return BatchDocument(tree, began, ended, final, offset, counts)

"""A document as a sequence of small ones: every few megabytes of input, what was projected of them, as a tree.

A *batch document* has the document node, the elements that are open (with the attributes wanted of them) and all that
was projected since the last cut. A cut falls where no record is open, so whatever is computed record by record is
computed batch by batch as it stands: ``E(a ⊎ b) = E(a) ++ E(b)``.

>>> from xstreamcast.scan.automaton import Action, Target
>>> from xstreamcast.scan.path import parse_path
>>> document = b"<s n='1'><p><q>x</q></p><p><q>y</q></p><o>z</o></s>"
>>> names = Target(parse_path("/s/p/q"), Action.PROJECT)
>>> for batch in document_batches(document, [names], [parse_path("/s/p")], step=1):
...     print(batch.tree.root.xml(), [element.offset for element in batch.open], batch.final)
<s/> [0] False
<s><p><q>x</q></p></s> [0] False
<s><p><q>y</q></p></s> [0] False
<s/> [] True
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path as FilePath
from time import monotonic
from typing import BinaryIO, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.model.tree import Tree
from xstreamcast.native.vector import Bytes
from xstreamcast.scan import layout as t
from xstreamcast.scan.ahead import Ranges
from xstreamcast.scan.automaton import Automaton, Target
from xstreamcast.scan.encoding import (
    CHUNK,
    Meter,
    Source,
    open_file,
    open_input,
    plain_chunks,
    read_chunks,
    reported_name,
    source_name,
    without_external,
)
from xstreamcast.scan.external import External
from xstreamcast.scan.filters import Filter, Filters
from xstreamcast.scan.growth import Growth, OpenElement, Wanted
from xstreamcast.scan.normalise import without_dtd
from xstreamcast.scan.path import Path
from xstreamcast.scan.reader import PIECE, mapped, plain_start, release
from xstreamcast.scan.scanner import STEP, InternalSubset, Scanner
from xstreamcast.scan.sequence import Pieces

PATIENCE: Final = 0.1
"""Seconds since the last batch from which on an input is not waited for before what it gave is handed over."""
ROWS: Final = 1 << 15
"""No more rows of a tree than this are aimed at: where much of the input is projected, batches are cut sooner."""
AHEAD: Final = 2
"""Steps to a range that a thread scans ahead."""
_PATIENT: Final = 1 << 16  # a token longer than this is tried again only when there is half as much more


@dataclass(frozen=True, slots=True)
class BatchDocument:
    """A part of a document, as a tree whose row 0 is the document node; it stays valid.

    An element that goes on beyond a batch is in the trees of both; its ``offset`` tells that it is the same.
    """

    tree: Tree
    began: tuple[OpenElement, ...]
    """The elements that came over from the batch before, outermost first; some may end in this one."""
    open: tuple[OpenElement, ...]
    """The elements that go on in the next batch, outermost first."""
    final: bool
    offset: int
    """Bytes of (plain) XML read so far."""
    counts: tuple[int, ...]
    """How many nodes each of the paths to count led to so far."""


def document_batches(
    source: Source | bytes,
    targets: Sequence[Target],
    records: Sequence[Path] = (),
    *,
    counts: Sequence[Path] = (),
    carry: Sequence[Path] = (),
    filters: Sequence[Filter] = (),
    step: int = STEP,
    progress: Callable[[int], None] | None = None,
    threads: int = 1,
    many: bool = False,
    external: External | None = None,
    base_uri: str | None = None,
    document_uri: str | None = None,
) -> Iterator[BatchDocument]:
    """Scan a document and hand over what ``targets`` (their ``root`` is 0) want of it; the last batch is ``final``.

    A batch is of ``step`` bytes of input or less, if no record is longer.

    * ``records``: no cut falls within an element of these paths, and each is in one batch only, also if it is an
      attribute; the other attributes of open elements are in all.
    * ``carry``: what is projected under an element of these paths, but not within a record, is in all batches until
      it ends.
    * ``filters``: records that fail are left out. A record path that is not in it has all its records, and so has
      one with an entry that has no tests.
    * ``many``: several documents may follow each other; their root elements are those of one document node.
    * ``external``: DTDs outside of the document that may be read.
    * ``progress`` gets the bytes read of the input as it is stored.

    When an input falls silent, what it gave so far is handed over.
    """
    wanted = Wanted.of(targets, records, counts, carry, Filters(tuple(filters)))
    name = reported_name(source, document_uri or base_uri)
    scan = _Scan(wanted, name, step, progress, threads, (base_uri, document_uri), many, external)
    if isinstance(source, bytes):
        yield from scan.array(np.frombuffer(bytearray(source), np.uint8), [source])
    elif isinstance(source, str | FilePath) and str(source) != "-" and FilePath(source).is_file():
        yield from scan.array(mapped(source), source)
    else:
        yield from scan.source(source)


class _Scan:
    """One scan and how its batches are made."""

    def __init__(
        self,
        wanted: Wanted,
        name: str,
        step: int,
        progress: Callable[[int], None] | None,
        threads: int,
        uris: tuple[str | None, str | None],
        many: bool,
        external: External | None,
    ) -> None:
        self.wanted, self.name, self.threads, self.uris = wanted, name, threads, uris
        self.many, self.external = many, external
        self.step = max(1, min(step, STEP))  # not more: progress is to be seen, and memory given back
        self.stride, self.last = self.step // 16 + 1, 0
        self.progress = progress or (lambda done: None)
        self.counted = [0] * len(wanted.counts)  # by scanners that are done
        self._begin()

    def _begin(self) -> None:
        self.growth = Growth(Scanner(Automaton(self.wanted.targets), self.name), self.wanted)
        self.scanner.many = self.many

    @property
    def scanner(self) -> Scanner:
        return self.growth.scanner

    def _counts(self) -> list[int]:
        automaton = self.scanner.automaton
        return [sum(pair) for pair in zip(self.counted, map(automaton.count, self.wanted.counts), strict=True)]

    def _batch(self, b: Bytes, final: bool = False) -> BatchDocument:
        tree = Tree(*self.uris)
        began, ended = self.growth.cut(b, tree, final)
        offset = self.scanner.offset + self.scanner.position
        least = self.step // 16 + 1
        self.stride = min(self.step, 2 * self.stride, max(least, ROWS * (offset - self.last) // len(tree)))
        self.last = offset
        return BatchDocument(tree, began, ended, final, offset, tuple(self._counts()))

    def _may_cut(self) -> bool:
        """Whether there is something to hand over; a DTD may still come before the first root."""
        return bool(self.growth.fresh and (self.scanner.regs[t.ROOT] or self.scanner.several))

    def array(self, b: Bytes, again: Source | list[bytes]) -> Iterator[BatchDocument]:
        """Scan a document that is all in ``b``; should it not be plain XML, read it ``again``, in pieces."""
        start = plain_start(b) if self.external is None else None
        if start is not None:
            try:
                yield from self._mapped(b, start)
                return
            except InternalSubset:
                if self.scanner.several:  # of a later document
                    yield from self._in_pieces(b)
                    return
                self._begin()  # before the root, so nothing was handed over
        if isinstance(again, list):
            meter = Meter()
            chunks = plain_chunks(again, self.name, self.many, meter, self.external)
            yield from self._chunks(chunks, lambda until: False, meter)
        else:
            yield from self.source(again)

    def _run(self, b: Bytes, n: int, limit: int) -> int:
        """Scan to the limit, or to the end of the record there if it is near (LIMIT), or as far as there is input."""
        self.scanner.regs[t.PATIENCE] = limit + self.step
        while (status := self.scanner.run(b, n, limit)) == t.FULL:
            if not self.growth.thin(b):
                self.scanner.make_room(0)
        return status

    def _mapped(self, b: Bytes, start: int) -> Iterator[BatchDocument]:
        n = len(b)
        self.scanner.regs[t.POS] = start
        if self.threads > 1 and self.wanted.targets:
            yield from self._ahead(b, start)
        yield from self._until(b, n)
        self.scanner.finish(b, n)
        self.progress(n)
        yield self._batch(b, final=True)

    def _until(self, b: Bytes, end: int) -> Iterator[BatchDocument]:
        """Scan on to a place in a document that is all in memory, or to its end."""
        scanner = self.scanner
        while (since := scanner.position) < end:
            status = self._run(b, len(b), min(end, since + self.stride))
            self.progress(scanner.position)
            if status == t.MORE:
                return
            if self._may_cut():
                yield self._batch(b)
            else:
                self.growth.settle(b)  # or the file would be read again for what is kept of it
                self.stride = min(self.step, 2 * self.stride)
            release(b, since, scanner.position)

    def _ahead(self, b: Bytes, start: int) -> Iterator[BatchDocument]:
        """Scan to where ranges begin that others scan ahead, and go on from their ends."""
        with Ranges(b, self.wanted, self.name, start, AHEAD * self.step, self.threads) as ranges:
            while not self.scanner.several and (following := ranges.next()) is not None:
                yield from self._until(b, following.start)
                before = self.growth
                if not ranges.joined(following, before):
                    continue  # the guess was wrong: scan on through its range
                self.counted = self._counts()
                self.growth = following.growth
                self.scanner.many = self.many
                ranges.spare(before.scanner)
                self.progress(self.scanner.position)
                if self._may_cut():
                    yield self._batch(b)
                release(b, following.start, self.scanner.position)

    def source(self, source: Source) -> Iterator[BatchDocument]:
        """Scan an input in pieces: a pipe, a compressed file, another encoding, a DTD."""
        with ExitStack() as stack:
            file = open_file(source) if isinstance(source, str | FilePath) else source
            if isinstance(source, str | FilePath) and str(source) != "-":
                stack.enter_context(file)
            name = source_name(source)
            meter = Meter()
            read = read_chunks(open_input(file, meter, self.threads), name)
            chunks = plain_chunks(read, name, self.many, meter, self.external)
            yield from self._chunks(chunks, partial(_silent, file), meter)

    def _in_pieces(self, b: Bytes) -> Iterator[BatchDocument]:
        """Scan on through a document that is all in memory as one that comes in pieces."""
        self.growth.settle(b)
        begin = self.scanner.position
        self.scanner.rebase(b, begin)
        pieces = (bytes(b[at : at + CHUNK]) for at in range(begin, len(b), CHUNK))
        yield from self._chunks(pieces, lambda until: False, Meter())

    def _chunks(
        self, chunks: Iterable[bytes], silent: Callable[[float], bool], meter: Meter
    ) -> Iterator[BatchDocument]:
        scanner, growth = self.scanner, self.growth
        due = monotonic() + PATIENCE
        b = np.zeros(PIECE, np.uint8)
        n = wanted = 0
        limit = self.stride
        pieces = Pieces(chunks)
        resolved: Iterator[bytes] = iter(())  # of a later document that has a DTD of its own
        ended = False
        while not ended:
            chunk = next(resolved, None) or next(pieces, b"")
            ended = not chunk
            scanner.encoding = meter.encoding
            if n + len(chunk) > len(b):
                growth.settle(b)
                gone = growth.needed_from()
                scanner.rebase(b, gone)
                left = n - gone
                room = b if left + len(chunk) <= len(b) else np.zeros(2 * (left + len(chunk)), np.uint8)
                room[:left] = b[gone:n].copy()
                b, n, wanted, limit = room, left, wanted - gone, limit - gone
            b[n : n + len(chunk)] = np.frombuffer(chunk, np.uint8)
            n += len(chunk)
            if n < wanted and not ended:
                continue
            try:
                while self._run(b, n, limit) == t.LIMIT:
                    limit = scanner.position + self.stride
                    if self._may_cut():
                        yield self._batch(b)
            except InternalSubset:
                ended, begin = False, scanner.position
                pieces.give_back(without_external(bytes(b[begin:n])))
                n, wanted = begin, 0
                resolved = without_dtd(pieces, self.name, self.many)
            self.progress(meter.taken)
            pending = n - scanner.position
            wanted = scanner.position + pending * 3 // 2 if pending > _PATIENT else 0
            if self._may_cut() and silent(due):
                yield self._batch(b)
                due = monotonic() + PATIENCE
        scanner.finish(b, n)
        yield self._batch(b, final=True)


def _silent(file: BinaryIO, until: float) -> bool:
    """Whether an input, a pipe or a socket whose writer is slow, has nothing to read before a moment.

    When it has passed: whether it has nothing now. So what comes steadily, a little at a time, does not wait for long.
    """
    try:
        return not select.select([file.fileno()], [], [], max(0.0, until - monotonic()))[0]
    except (OSError, ValueError):  # no file of the system's
        return False

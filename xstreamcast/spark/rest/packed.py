"""Where a packed document may be cut: at its blocks, members or frames, which can be unpacked each by itself.

A *stretch* is so many bits of the file. Whoever looks at one takes the first place in it where a piece may begin, and
unpacks until the first piece that begins behind it; it walks over the tags of what it has unpacked, as over a range of
plain XML. Stretches of one file are unpacked at the same time: how many bytes come before each is known when all are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Any, BinaryIO, Final

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.scan.encoding import PACKED
from xstreamcast.scan.pieces import Packing, TooLong
from xstreamcast.spark.rest.files import Document, Entry, packing_at
from xstreamcast.spark.rest.seams import HEAD, Open, Seam, Summary, Window, combined, splittable, summarise

MOST_UNPACKED: Final = 128 << 20
"""Bytes of a piece, and of a stretch, that are held in memory; what has longer ones is read by one task."""
_FIRST: Final = 32 << 20  # bytes of a file in which its second piece begins, if it has several that are not too long
_SAMPLE: Final = 1 << 16  # bytes of a file that tell about how much larger it is when it is unpacked
_SLACK: Final = 1 << 16
_MAGIC: Final = 8
SMALL: Final = "it is not larger than what one task reads"
ODD: Final = "it is in another encoding, has a DTD of its own, or is several documents"
TIMES: Final = 32
"""Plain XML is not more than so many times as large as when it is packed: else more is read by a task than could be."""
_DAMAGE: Final = (OSError, EOFError, ValueError, zlib.error)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What a stretch has: where its first piece begins, where the first behind it does, and what lies between."""

    begin: int
    end: int
    pieces: int
    size: int
    """Bytes, unpacked."""
    sums: tuple[int, ...]
    summary: Summary
    """Places are bytes of what lies between."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some bits of a packed document."""

    document: Document
    begin: int
    end: int
    root: int
    """Where the root element begins, in the first stretch; else 0."""

    def unpacked(self) -> Unpacked | None:
        """What it has; None if no piece begins in it, or one is too long."""
        with self.document.stored() as file:
            packing = packing_at(file)
            if packing is None:
                return None
            for at in [0] if self.begin == 0 else packing.begins(file, self.begin, self.end):
                try:
                    return self._from(packing, file, at)
                except TooLong:
                    return None
                except _DAMAGE:
                    continue  # it may be no beginning; where it is one, the stretches will not meet
        return None

    def _from(self, packing: Packing, file: BinaryIO, at: int) -> Unpacked:
        stored = self.document.size
        data, stop, count = bytearray(), at, 0
        sums: list[int] = []
        for piece in packing.pieces(file, at, stored, MOST_UNPACKED):
            data += piece.data
            sums += piece.sums
            stop, count = piece.end, count + 1
            if len(data) > MOST_UNPACKED:
                raise TooLong
            if stop >= self.end:
                break

        def windows() -> Iterator[Window]:
            slack, more = _SLACK, bytearray()
            following = packing.opened(file, stop, stored) if stop < 8 * stored else None
            while True:
                while following is not None and len(more) < slack:
                    read = following.read(slack - len(more))
                    if not read:
                        following = None
                    more += read
                yield Window(np.frombuffer(data + more, np.uint8), 0, following is None)
                slack *= 4

        summary = summarise(windows(), min(self.root, len(data)), len(data))
        return Unpacked(at, stop, count, len(data), tuple(sums), summary)


@dataclass(frozen=True, slots=True)
class Cut:
    """A packed document that is cut: its seams, and for what lies before the first and behind each, the entry."""

    size: int
    seams: tuple[Seam, ...]
    entries: tuple[Entry, ...]

    def documents(self, document: Document) -> list[Document]:
        """The document, as it is entered for each range."""
        return [replace(document, size=self.size, entry=entry) for entry in self.entries]


Mapping = Callable[[Sequence[Stretch]], list[Any]]
"""Unpacks stretches, somewhere, in order."""


def is_packed(document: Document) -> bool:
    """Whether a document that can be read from any place is packed."""
    with document.stored() as file:
        return file.read(_MAGIC).startswith(PACKED)


def cut(document: Document, step_of: Callable[[int], int], unpack: Mapping) -> Cut | str:
    """Where a packed document may be cut, or why it is read by one task.

    ``step_of``: how many bytes of plain XML a range has, of so many.
    """
    stored = document.size
    with document.stored() as file:
        packing = packing_at(file)
        if packing is None:
            return "it is packed as a whole"
        one = f"it is one {packing.piece} of {packing.name}, which one task unpacks from its beginning"
        if next(packing.begins(file, 8, 8 * min(stored, _FIRST)), None) is None:
            return one
        try:
            first = Stretch(document, 0, 8 * min(stored, _SAMPLE), 0)._from(packing, file, 0)
            with packing.opened(file, 0, stored) as reader:
                head = reader.read(HEAD)
            root = splittable(head)
        except TooLong:
            return f"a {packing.piece} of it holds more than {MOST_UNPACKED >> 20} MB"
        except (*_DAMAGE, XStreamError):
            return "it cannot be read to its end"  # whoever reads it tells what is wrong
    if root is None:
        return ODD
    if first.end == 8 * stored and first.pieces < 2:
        return one
    about = first.size * 8 * stored // max(first.end, 1)
    step = step_of(about)
    if about <= step:
        return SMALL
    ranges = -(-about // step)
    edges = [8 * (stored * k // ranges) for k in range(ranges + 1)]
    stretches = [Stretch(document, *pair, root * (pair[0] == 0)) for pair in pairwise(edges) if pair[0] < pair[1]]
    found: list[Unpacked] = []
    place = 0
    for each in unpack(stretches):
        if each is not None and each.begin == place:  # one that begins before is within a piece that is known
            found.append(each)
            place = each.end
    if place != 8 * stored or not packing.agree(list(chain.from_iterable(each.sums for each in found))):
        return f"its {packing.piece}s cannot be told apart, or are damaged"
    if len(found) < 2:
        return one
    return _joined(document, found, root)


def _joined(document: Document, found: Sequence[Unpacked], root: int) -> Cut | str:
    """The seams of stretches that follow each other."""
    starts = [0, *accumulate(each.size for each in found)]
    size = starts.pop()
    entries = [Entry(each.begin, start, document.size) for each, start in zip(found, starts, strict=True)]
    opened = [replace(document, size=size, entry=entry) for entry in entries]

    def again(at: int, end: int) -> Summary:
        inside = max(k for k, start in enumerate(starts) if start <= at)
        return summarise(opened[inside].windows(at, end), at, end)

    # Stretches that end before the root element begins are no ranges, and what follows has that to walk, too.
    before = max(k for k, start in enumerate(starts) if start <= root)
    splits = starts[before + 1 :]
    summaries = [_moved(each.summary, start, size) for each, start in zip(found[before:], starts[before:], strict=True)]
    if before:
        summaries[0] = again(root, splits[0] if splits else size)
    seams = combined(splits, size, root, summaries, again)
    chosen = [max(k for k, start in enumerate(starts) if start <= seam.offset) for seam in seams]
    return Cut(size, tuple(seams), tuple(entries[k] for k in [0, *chosen]))


def _moved(summary: Summary, by: int, size: int) -> Summary:
    opened = tuple(Open(each.offset + by, each.tag) for each in summary.opened)
    return Summary(min(summary.first + by, size), min(summary.stop + by, size), summary.closed, opened)

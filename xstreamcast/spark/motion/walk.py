"""Walking over a file of fragments: what the scan kernel reads as columns, and all else piece by piece.

Both ways give the same changes at the same places (:mod:`xstreamcast.cast.batch_reader`), so driver and workers may cut
a file where they like: behind any change of a :class:`Run`, and behind any :class:`Piece`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from xstreamcast.cast.batch_reader import BatchReader, brings_root
from xstreamcast.cast.batches import FragmentBatch
from xstreamcast.errors import Place
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.spark.motion.position import Position
from xstreamcast.wire.fragment import Arrival, FragmentReader
from xstreamcast.wire.framing import Frame

_INSIDE: Final = Frame("stream", "fragments", {}, {}, b"", b"", 0, 0)
"""Stands for the wrapper that was opened before the place where reading goes on."""


@dataclass(frozen=True)
class Run:
    """Changes side by side that the kernel has read: those of a batch from ``first`` on, up to ``stop``."""

    begin: Position
    batch: FragmentBatch
    first: int
    stop: int

    @property
    def rows(self) -> int:
        """One change each."""
        return self.stop - self.first

    @cached_property
    def end(self) -> Position:
        """Behind the last change."""
        rooted = not self.begin.rooted and brings_root(self.batch.rows[self.first : self.stop])
        offset = self.batch.offset + int(self.batch.end[self.stop - 1]) if self.rows else self.begin.offset
        return self.begin.moved(offset, self.rows, rooted=rooted)

    def split(self, rows: int) -> tuple[Run, Run]:
        """The first changes, and the others."""
        first = Run(self.begin, self.batch, self.first, self.first + rows)
        return first, Run(first.end, self.batch, first.stop, self.stop)

    def fitting(self, size: int) -> int:
        """How many changes fit into a number of bytes."""
        ends = self.batch.end[self.first : self.stop]
        return int(np.searchsorted(ends, self.begin.offset + size - self.batch.offset, side="right"))


@dataclass(frozen=True, slots=True)
class Piece:
    """One element of the stream, or what stands in its place, as the reader of single changes sees it.

    ``torn``: it is no element, and how far it reaches was found by looking beyond it. ``last``: because the file ends.
    """

    begin: Position
    arrivals: tuple[Arrival, ...]
    end: Position
    torn: bool = False
    last: bool = False

    @property
    def rows(self) -> int:
        """A change, its interleaved updates; a structure; a diagnostic."""
        return len(self.arrivals)


Stretch = Run | Piece


class Walk:
    """Iterates over the stretches of one file from a position; ``chunks`` begin there."""

    def __init__(self, chunks: Iterable[bytes], begin: Position, place: Place) -> None:
        self.at = begin
        self.reader = _Batches(
            place.source,
            chunks=chunks,
            state=begin.reader_state(),
            wrapper=_INSIDE if begin.wrapped else None,
            offset=begin.offset,
        )

    def __iter__(self) -> Iterator[Stretch]:
        for part in self.reader.parts():
            begin = self.at
            if isinstance(part, FragmentBatch):
                run = Run(begin, part, 0, len(part))
                self.at = run.end
                yield run
                continue
            changes = sum(isinstance(arrival.item, Change) for arrival in part)
            self.at = self.reader.position(begin, begin.seq + changes)
            yield Piece(begin, tuple(part), self.at, *self.reader.how_read())


class _Batches(BatchReader):
    """A reader that tells where it is, and how it came there."""

    @property
    def usual(self) -> bool:
        """Not at the beginning of a file, whatever the spelling of those before: there a wrapper may begin, which the
        kernel would take for one element that reaches to the end of the file."""
        return (self.state.offset > 0 or self.wrapper is not None) and super().usual

    def position(self, begin: Position, seq: int) -> Position:
        """Where it is, in the file of another position."""
        state = self.state
        wrapped = self.wrapper is not None
        return Position(
            begin.file, begin.files, state.offset, seq, state.form, state.rooted, wrapped, dict(state.namespaces)
        )

    def how_read(self) -> tuple[bool, bool]:
        """Whether what was read last exactly is no element, and whether that was the end of the file."""
        reader = self.reader
        assert isinstance(reader, _Elements)
        torn, reader.is_element = not reader.is_element, False
        return torn, reader.framer.ended

    def reading(self) -> FragmentReader:
        return _Elements(self.ahead(), source=self.source, state=self.state, limit=self.limit)


class _Elements(FragmentReader):
    """A reader that tells elements from what is none. ``is_element``: what was read last."""

    is_element = False

    def items(self, frame: Frame, place: Place) -> list[Change | Structure | Diagnostic]:
        self.is_element = True
        return super().items(frame, place)

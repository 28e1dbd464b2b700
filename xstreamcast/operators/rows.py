"""Rows as columns: arrays of one value a row, or of as many as there are; and rows on disk, in sorted runs.

    merge(run a, run b …) = the rows of all, by their keys; rows of equal keys as the runs came

A run is sorted, and lies in a file block by block. To merge, a block of each run is in memory: what is not greater than
the least of their last keys can go on.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.native.vector import Longs
from xstreamcast.operators.keys import at_most, order
from xstreamcast.scan import spans

_FAN_IN: Final = 32
"""Runs that are merged at once."""
_BLOCKS: Final = 4 * _FAN_IN
"""A block is this part of what may be in memory: one of each run, and what is made of them."""
_LEAST: Final = 1 << 14
"""Bytes of a block, at least."""


@dataclass(frozen=True, slots=True)
class Ragged:
    """Of each row some values: ``values[bounds[k] : bounds[k + 1]]``."""

    values: Any
    bounds: Longs

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.bounds.nbytes)

    @staticmethod
    def of(values: Any, counts: Any) -> Ragged:
        return Ragged(values, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)]))

    def taken(self, rows: Longs) -> Ragged:
        """Some of the rows."""
        firsts, lasts = self.bounds[rows], self.bounds[rows + 1]
        if self.values.dtype == np.uint8:
            raw = np.full(len(rows), spans.RAW, np.uint8)
            values, ends = spans.gathered(self.values, firsts, lasts, raw)
            return Ragged(values, np.concatenate([np.zeros(1, np.int64), ends]))
        counts = lasts - firsts
        return Ragged.of(self.values[within(firsts, counts)], counts)


Column = Any  # an array, or Ragged


def within(firsts: Longs, counts: Longs) -> Longs:
    """The numbers from each first on, so many of each, one after the other."""
    return np.repeat(firsts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())


def together(columns: Sequence[Column]) -> Column:
    """The rows of several columns, one after the other."""
    if len(columns) == 1:
        return columns[0]
    if not isinstance(columns[0], Ragged):
        return np.concatenate(columns)
    values = np.concatenate([column.values for column in columns])
    return Ragged.of(values, np.concatenate([np.diff(column.bounds) for column in columns]))


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows by keys that order as their bytes do (:mod:`xstreamcast.operators.keys`), with what belongs to them."""

    keys: Ragged
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + sum(int(column.nbytes) for column in self.columns)

    @staticmethod
    def joined(parts: Sequence[Rows]) -> Rows:
        """The rows of several, one after the other."""
        columns = tuple([together(each) for each in zip(*[part.columns for part in parts], strict=True)])
        return Rows(together([part.keys for part in parts]), columns)

    def taken(self, rows: Longs) -> Rows:
        columns = [each.taken(rows) if isinstance(each, Ragged) else each[rows] for each in self.columns]
        return Rows(self.keys.taken(rows), tuple(columns))

    def sorted(self) -> Rows:
        """By their keys; rows of equal ones stay as they are."""
        return self.taken(order(self.keys.values, self.keys.bounds))

    def write(self, file: IO[bytes]) -> None:
        for column in (self.keys, *self.columns):
            for array in (column.values, column.bounds) if isinstance(column, Ragged) else (column,):
                np.save(file, array, allow_pickle=False)

    @staticmethod
    def read(file: IO[bytes], ragged: Sequence[bool]) -> Rows:
        """``ragged``: which of the columns are."""
        keys, *columns = [Ragged(np.load(file), np.load(file)) if each else np.load(file) for each in (True, *ragged)]
        return Rows(keys, tuple(columns))


class Run:
    """Sorted rows in a file, read once, a block at a time."""

    def __init__(self, parts: Iterator[Rows], size: int) -> None:
        """``size``: bytes of a block."""
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="xstreamcast-run-")  # noqa: SIM115  # closed at its end
        self._left = 0
        self._ragged: tuple[bool, ...] = ()
        for rows in parts:
            step = max(1, len(rows) * size // max(rows.nbytes, 1))
            self._ragged = tuple([isinstance(column, Ragged) for column in rows.columns])
            for first in range(0, len(rows), step):
                rows.taken(np.arange(first, min(first + step, len(rows)))).write(self._file)
                self._left += 1
        self._file.seek(0)

    def next(self) -> Rows | None:
        """The next block."""
        if not self._left:
            self._file.close()
            return None
        self._left -= 1
        return Rows.read(self._file, self._ragged)


class External:
    """Rows that are sorted, in memory up to a limit and beyond it in runs on disk."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.held: list[Rows] = []
        self.size = 0
        self.runs: list[Run] = []
        self.spilled = 0
        """How many runs have been written, for tests and people."""

    @property
    def _block(self) -> int:
        return max(self.memory // _BLOCKS, _LEAST)

    def add(self, rows: Rows) -> None:
        """Take rows that come after those before."""
        if len(rows):
            self.held.append(rows)
            self.size += rows.nbytes
            if 4 * self.size > self.memory:  # sorting them takes as much again, and more
                self.spill()

    def spill(self) -> None:
        """Write what is held as a run."""
        if self.held:
            rows = Rows.joined(self.held).sorted()
            self.held, self.size = [], 0
            self._write(iter([rows]))
            if len(self.runs) == _FAN_IN:
                runs, self.runs = self.runs, []
                self._write(merged(runs))

    def _write(self, parts: Iterator[Rows]) -> None:
        self.runs.append(Run(parts, self._block))
        self.spilled += 1

    def sorted(self) -> Iterator[Rows]:
        """All rows by their keys, in blocks."""
        if not self.runs:
            if self.held:
                yield Rows.joined(self.held).sorted()
            return
        self.spill()
        yield from merged(self.runs)


def merged(runs: Sequence[Run]) -> Iterator[Rows]:
    """The rows of sorted runs by their keys, those of equal ones by the order of their runs."""
    blocks = [run.next() for run in runs]
    while True:
        for number, block in enumerate(blocks):
            if block is not None and not len(block):
                blocks[number] = runs[number].next()
        there = [number for number, block in enumerate(blocks) if block is not None]
        if not there:
            return
        # What is at most the least last key goes out; of equal keys all, for more of them may come in the same run.
        lasts = [(_last(blocks[number]), number) for number in there]
        least, own = min(lasts)
        taken = []
        for number in there:
            block = blocks[number]
            assert block is not None
            # Rows of the key that a run ends its block with may go on there: runs behind it wait with theirs.
            count = at_most(block.keys.values, block.keys.bounds, least, number <= own)
            if count:
                taken.append(block.taken(np.arange(count)))
                blocks[number] = (
                    block.taken(np.arange(count, len(block))) if count < len(block) else runs[number].next()
                )
        yield taken[0] if len(taken) == 1 else Rows.joined(taken).sorted()


def _last(block: Rows | None) -> bytes:
    assert block is not None
    first, last = block.keys.bounds[-2:]
    return bytes(block.keys.values[first:last])

"""Γ: rows by their keys, as columns: what each group has of a column is a count, or values to be reduced.

    Γ(a ++ b) = Γ(a) ⊕ Γ(b)        counts of equal keys are added, values come one after the other

Groups are found by the bytes of their keys (:mod:`xstreamcast.operators.keys`) and come in the order of their first
rows. Beyond the memory that they may have they lie on disk, in runs sorted by key: there equal keys meet, and what has
met is sorted by the numbers of the first rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from xstreamcast.native.vector import Bytes, Longs
from xstreamcast.operators.keys import Known
from xstreamcast.operators.rows import Column, External, Ragged, Rows, within

_NUMBER: Final = np.dtype(">i8")


class Groups:
    """Groups of rows. ``valued``: of each column, whether values are kept of it; else they are counted.

    >>> groups = Groups([False])
    >>> groups.add(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5]), [np.array([1, 1, 1])])
    >>> [(rows.keys.values.tobytes(), rows.columns[0].tolist()) for rows in groups.groups()]
    [(b'abc', [2, 1])]
    """

    def __init__(self, valued: Sequence[bool], memory: int | None = None) -> None:
        self.valued = tuple(valued)
        self.memory = memory
        self.external = None if memory is None else External(memory)
        self.seen = 0
        """How many rows there were."""
        self._begin()

    def _begin(self) -> None:
        self.known = Known()
        self.size = 0
        self._firsts: list[Longs] = []
        self._counts: list[Longs] = [np.zeros(0, np.int64) for _ in self.valued]
        self._values: list[list[tuple[Longs, Any]]] = [[] for _ in self.valued]
        """By column: of values the numbers of their groups, and the values."""

    def add(self, keys: Bytes, bounds: Longs, columns: Sequence[Column]) -> None:
        """Take rows: of each column how many they have, or (:class:`Ragged`) their values."""
        before = len(self.known)
        numbers = self.known.numbers(keys, bounds)
        new = np.flatnonzero(numbers >= before)
        if len(new):
            _, first = np.unique(numbers[new], return_index=True)
            self._firsts.append(self.seen + new[first])
        self.seen += len(numbers)
        for k, column in enumerate(columns):
            if isinstance(column, Ragged):
                owners = np.repeat(numbers, np.diff(column.bounds))
                self._values[k].append((owners, column.values))
                self.size += owners.nbytes + column.values.nbytes
            else:
                more = np.bincount(numbers, column, len(self.known)).astype(np.int64)  # doubles hold these numbers
                more[:before] += self._counts[k]
                self._counts[k] = more
        if self.external is not None and 4 * (self.size + 2 * self.known.nbytes) > self.external.memory:
            self.external.held.append(self._rows())
            self.external.spill()
            self._begin()

    @property
    def spilled(self) -> int:
        """How many runs have been written."""
        return 0 if self.external is None else self.external.spilled

    def _rows(self) -> Rows:
        """The groups so far: when each came first, and its columns."""
        firsts = np.concatenate(self._firsts) if self._firsts else np.zeros(0, np.int64)
        columns: list[Column] = [firsts]
        for valued, counts, parts in zip(self.valued, self._counts, self._values, strict=True):
            if not valued:
                columns.append(counts)
                continue
            owners = np.concatenate([part for part, _ in parts]) if parts else np.zeros(0, np.int64)
            values = np.concatenate([part for _, part in parts]) if parts else np.zeros(0)
            order = np.argsort(owners, kind="stable")
            columns.append(Ragged.of(values[order], np.bincount(owners, minlength=len(self.known))))
        keys, bounds = self.known.keys
        return Rows(Ragged(keys, bounds), tuple(columns))

    def groups(self) -> Iterator[Rows]:
        """The groups in the order in which they came, each with its columns."""
        if self.external is None or not self.external.runs:
            rows = self._rows()
            yield Rows(rows.keys, rows.columns[1:])
            return
        self.external.held.append(self._rows())
        self._begin()
        by_first = External(self.external.memory)
        for rows in _met(self.external.sorted()):
            firsts, *columns = rows.columns
            numbers = np.frombuffer(firsts.astype(_NUMBER).tobytes(), np.uint8)  # none is below zero
            bounds = np.arange(len(firsts) + 1) * 8
            by_first.add(Rows(Ragged(numbers, bounds), (rows.keys, *columns)))
        for rows in by_first.sorted():
            yield Rows(rows.columns[0], rows.columns[1:])
        self.external.spilled += by_first.spilled


def _met(sorted_rows: Iterator[Rows]) -> Iterator[Rows]:
    """Rows sorted by key, those of equal keys put together."""
    last: Rows | None = None
    for rows in sorted_rows:
        both = rows if last is None else Rows.joined([last, rows])
        made = _combined(both)
        count = len(made) - 1  # the last may go on
        last = made.taken(np.arange(count, count + 1))
        if count:
            yield made.taken(np.arange(count))
    if last is not None:
        yield last


def _combined(rows: Rows) -> Rows:
    """Neighbours of equal keys as one row."""
    numbers = Known().numbers(rows.keys.values, rows.keys.bounds)
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    firsts, *columns = rows.columns
    made: list[Column] = [np.minimum.reduceat(firsts, begins)]
    for column in columns:
        if isinstance(column, Ragged):
            made.append(Ragged(column.values, np.append(column.bounds[begins], column.bounds[-1])))
        else:
            made.append(np.add.reduceat(column, begins))
    return Rows(rows.keys.taken(begins), tuple(made))


# --------------------------------------------------------------------------------------------- values of groups


def singles(values: Ragged) -> tuple[Longs, Longs]:
    """How many values each group has, and where its first is."""
    return np.diff(values.bounds), values.bounds[:-1]


def slices(values: Ragged, groups: Longs) -> Iterator[tuple[int, list[float]]]:
    """The values of some groups."""
    firsts, counts = values.bounds[groups], values.bounds[groups + 1] - values.bounds[groups]
    own = values.values[within(firsts, counts)].tolist()
    at = 0
    for group, count in zip(groups.tolist(), counts.tolist(), strict=True):
        yield group, own[at : at + count]
        at += count

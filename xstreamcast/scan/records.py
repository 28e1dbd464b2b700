"""Records in batches: what was captured within each record, as columns.

A record is a binding of the spine's path; a column has, for each record of a batch, the spans of the nodes that one
path captured in it, in document order: ``offsets[k]`` to ``offsets[k + 1]`` are those of record ``k``.

>>> from xstreamcast.scan.automaton import Action, Automaton, Target
>>> from xstreamcast.scan.path import parse_path
>>> from xstreamcast.scan.reader import scan_bytes
>>> automaton = Automaton([Target(parse_path("//i"), Action.RECORD), Target(parse_path("//i/n"), Action.CAPTURE)])
>>> for records in record_batches(scan_bytes(b"<a><i><n>1</n><n>2</n></i><i/></a>", automaton), automaton, 0, [1]):
...     print(records.columns[1].offsets.tolist(), records.columns[1].integers()[0].tolist())
[0, 2, 2] [1, 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.scan import spans
from xstreamcast.scan.automaton import Automaton
from xstreamcast.scan.layout import FLAG_BITS, R_END, R_FLAGS, R_FROM, R_START, R_STATE, R_TO
from xstreamcast.scan.scanner import Batch
from xstreamcast.scan.vector import Bytes, Longs, compiled

_FLAGS: Final = (1 << FLAG_BITS) - 1
Mask = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Column:
    """What one path captured, by record. Valid as long as its batch is."""

    buffer: Bytes
    offsets: Longs
    start: Longs
    begin: Longs
    to: Longs
    end: Longs
    modes: np.ndarray[Any, np.dtype[np.uint8]]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def counts(self) -> Longs:
        """How many nodes each record has."""
        return np.diff(self.offsets)

    @property
    def record(self) -> Longs:
        """For each node, the place of its record in the batch."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.counts)

    def resolved(self) -> tuple[Bytes, Longs, Longs]:
        """A buffer and spans whose bytes are the values: the input's own where no value needs to be changed."""
        if not self.modes.any():
            return self.buffer, self.begin, self.to
        made, ends = spans.gathered(self.buffer, self.begin, self.to, self.modes)
        return made, np.concatenate([np.zeros(1, np.int64), ends[:-1]]), ends

    def strings(self, chosen: Mask | None = None) -> list[str]:
        """The values, of all nodes or of the chosen ones."""
        which: Any = slice(None) if chosen is None else chosen
        return spans.strings(self.buffer, self.begin[which], self.to[which], self.modes[which])

    def doubles(self) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Mask]:
        """The values as xs:double, and which of them are."""
        return spans.doubles(*self.resolved())

    def integers(self) -> tuple[Longs, Mask]:
        """The values as integers of 64 bits, and which of them are."""
        return spans.integers(*self.resolved())

    def equal(self, value: str) -> Mask:
        """Which values are this string."""
        return spans.equal(*self.resolved(), value.encode())

    def contain(self, value: str) -> Mask:
        """Which values contain this string."""
        return spans.contain(*self.resolved(), value.encode())

    def any(self, chosen: Mask) -> Mask:
        """For each record, whether one of its nodes is chosen: a general comparison's answer."""
        found = np.zeros(len(self.offsets) - 1, np.bool_)
        found[self.record[chosen]] = True
        return found

    def arrow(self) -> Any:
        """A ``ListArray`` of strings, one list for each record (needs pyarrow)."""
        import pyarrow as pa

        made, ends = spans.gathered(self.buffer, self.begin, self.to, self.modes)
        edges = np.concatenate([np.zeros(1, np.int64), ends])
        texts = pa.LargeStringArray.from_buffers(len(self), pa.py_buffer(edges), pa.py_buffer(made))
        return pa.LargeListArray.from_arrays(pa.array(self.offsets), texts)


@dataclass(frozen=True, slots=True)
class Records:
    """The records that ended in a batch, in document order, and their columns by number of target."""

    batch: Batch
    start: Longs
    end: Longs
    nested: Mask
    """Which records are within another or have another within: a node in both is listed with the inner one only."""
    columns: dict[int, Column]

    def __len__(self) -> int:
        return len(self.start)


def record_batches(
    batches: Iterable[Batch], automaton: Automaton, record: int, captures: Sequence[int]
) -> Iterator[Records]:
    """Group what targets ``captures`` found by the record of target ``record`` that it is in."""
    for batch in batches:
        yield group(batch, automaton, record, captures)


def group(batch: Batch, automaton: Automaton, record: int, captures: Sequence[int]) -> Records:
    """The records of one batch. What lies in no record is left out."""
    rows = batch.rows[np.argsort(batch.start, kind="stable")]
    states = rows[:, R_STATE]
    own = rows[np.isin(states, automaton.accepting(record))]
    starts, ends = np.ascontiguousarray(own[:, R_START]), np.ascontiguousarray(own[:, R_END])
    above = parents(starts, ends)
    nested = above >= 0
    nested[above[nested]] = True
    columns: dict[int, Column] = {}
    for capture in captures:
        found = rows[np.isin(states, automaton.accepting(capture))]
        place = np.searchsorted(starts, found[:, R_START], "right") - 1
        while True:  # out of the records that have ended before; a step for each level of nesting
            outside = (place >= 0) & (found[:, R_START] >= ends[place]) if len(ends) else place >= 0
            if not outside.any():
                break
            place[outside] = above[place[outside]]
        found, place = found[place >= 0], place[place >= 0]
        if nested.any():
            order = np.argsort(place, kind="stable")
            found, place = found[order], place[order]
        offsets = np.searchsorted(place, np.arange(len(own) + 1))
        attribute = automaton.targets[capture].path.steps[-1].test.kind == ATTRIBUTE
        changed = spans.ATTRIBUTE if attribute else spans.TEXT
        modes = np.where(found[:, R_FLAGS] & _FLAGS == 0, spans.RAW, changed).astype(np.uint8)
        start, begin, to, end = (np.ascontiguousarray(found[:, k]) for k in (R_START, R_FROM, R_TO, R_END))
        columns[capture] = Column(batch.buffer, offsets, start, begin, to, end, modes)
    return Records(batch, starts, ends, nested, columns)


def parents(starts: Longs, ends: Longs) -> Longs:
    """For each interval, in the order of their starts, the innermost one around it, or -1."""
    above = np.empty(len(starts), np.int64)
    _parents(starts, ends, above)
    return above


@compiled
def _parents(starts: Any, ends: Any, above: Any) -> None:
    for k in range(starts.shape[0]):
        parent = k - 1
        while parent >= 0 and ends[parent] <= starts[k]:
            parent = above[parent]
        above[k] = parent

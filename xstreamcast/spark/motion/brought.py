"""The rows of a micro-batch, as Arrow has them: taken in, logged and saved by columns, or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xstreamcast.cast.automata import KINDS
from xstreamcast.cast.columns import KIND, NO_TIME, NONE, REGION, TARGET, TIME, TSID, VERSION
from xstreamcast.errors import Place
from xstreamcast.model.change import ROOT, ROW, ChangeRow, from_row
from xstreamcast.run.continuous.columns.arrived import Arrived, Waiting, empty
from xstreamcast.spark.motion.rows import ARROW_SCHEMA, QUARANTINE, STRUCTURE, batch_of_rows, packed

Row = dict[str, Any]
TICK: Final = "tick"
"""The kind of a row that says what time it is, by its valid time."""
LATE: Final = "late"
"""The order of a row that was put aside because it came too late."""

_SCANNED: Final = 1 << 15
"""So many tags are scanned at a time: half of what a scan gives in a batch, since they are not spread evenly."""
_FRAMING: Final = 2
"""The tags of a change besides those of its content."""
_NAMES: Final = pa.array([kind.kind for kind in KINDS])
_NO_CHANGE: Final = pa.array([STRUCTURE, QUARANTINE, TICK])
_MISSING: Final = {REGION: ROOT, TARGET: NONE, TSID: NONE, VERSION: NONE, TIME: NO_TIME}
_COLUMNS: Final = {REGION: "region", TARGET: "target", TSID: "tsid", VERSION: "version", TIME: "valid_time"}


class Brought:
    """Rows in the order in which they are taken in."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Brought:
        """Rows that are there one by one."""
        return cls.of_tuples([tuple([row[name] for name in ROW]) for row in rows])

    @classmethod
    def of_tuples(cls, rows: list[ChangeRow]) -> Brought:
        """Rows that are there one by one, with their values in order."""
        return cls(pa.Table.from_batches([batch_of_rows(rows)]))

    @classmethod
    def read(cls, *blobs: bytes) -> Brought:
        """The rows of blobs."""
        tables = [pa.ipc.open_stream(blob).read_all().cast(ARROW_SCHEMA) for blob in blobs]  # frames of others differ
        return cls(pa.concat_tables(tables).combine_chunks() if tables else ARROW_SCHEMA.empty_table())

    @classmethod
    def together(cls, some: Iterable[Brought]) -> Brought:
        """Rows one behind the other."""
        return cls(pa.concat_tables([one.table for one in some]).combine_chunks())

    def __len__(self) -> int:
        count: int = self.table.num_rows
        return count

    def __getitem__(self, some: slice) -> Brought:
        return Brought(self.table.slice(some.start, some.stop - some.start))

    def blob(self) -> bytes:
        """The rows as one blob that is kept."""
        return packed(self.table, "zstd")

    @cached_property
    def rows(self) -> list[Row]:
        """One by one."""
        return table_rows(self.table)

    def in_order(self) -> Brought:
        """… as they are taken in: by stream, then by seq, where there is none by version.

        The sort is stable: a structure has the seq of the change before it, what a message brings that of the message.
        Structures that come before all changes of their streams come before all changes.
        """
        seq = self.table["seq"]
        second = np.where(_mask(pc.is_null(seq)), _numbers(self.table["version"], 0), 0)
        first = _numbers(seq, 0)
        names = pc.dictionary_encode(self.table["stream"].combine_chunks())
        rank = np.argsort(np.argsort(names.dictionary.to_numpy(zero_copy_only=False), kind="stable"), kind="stable")
        stream = rank[names.indices.to_numpy(zero_copy_only=False)] if len(rank) else first
        later = ~(_mask(pc.equal(self.table["change"], STRUCTURE)) & (first == 0))
        order = np.lexsort((second, first, stream, later))
        if (order[1:] > order[:-1]).all():
            return self
        return Brought(self.table.take(pa.array(order)))

    @property
    def changes(self) -> int:
        """How many are changes."""
        return len(self) - int(_mask(self._others).sum())

    @cached_property
    def _others(self) -> Any:
        """Which are no changes."""
        return pc.is_in(self.table["change"], value_set=_NO_CHANGE)

    def ticks(self) -> list[Row]:
        """The rows that say what time it is."""
        return table_rows(self.table.filter(pc.equal(self.table["change"], TICK)))

    def stretches(self) -> Iterator[tuple[str, int, int]]:
        """Stretches of changes of one stream; what is no change is one of its own."""
        if not len(self):
            return
        stream = pc.dictionary_encode(self.table["stream"].combine_chunks())
        codes = stream.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        others = np.flatnonzero(_mask(self._others))
        edges = {0, len(self), *(np.flatnonzero(np.diff(codes)) + 1).tolist()}
        borders = sorted(edges | {edge for at in others.tolist() for edge in (at, at + 1)})
        for begin, end in pairwise(borders):
            yield stream.dictionary[int(codes[begin])].as_py(), begin, end

    def is_change(self, at: int) -> bool:
        """Whether a row is a change."""
        return not self._others[at].as_py()

    def row(self, at: int) -> Row:
        """One of them."""
        return table_rows(self.table.slice(at, 1))[0]

    def portions(self, begin: int, end: int) -> Iterator[Arrived]:
        """Some changes of a stream, side by side, as many at a time as a scan gives in one batch.

        With more, a scan gives several batches, which nobody takes in: it would be repeated for halves, and their
        halves.
        """
        some = self.table["content"].slice(begin, end - begin)
        tags = pc.sum(pc.count_substring(some, pattern="<")).as_py() or 0
        step = max(1, _SCANNED * (end - begin) // (tags + _FRAMING * (end - begin)))
        for at in range(begin, end, step):
            yield self.arrived(at, min(at + step, end))

    def arrived(self, begin: int, end: int) -> Arrived:
        """Some changes of a stream, side by side."""
        some = self.table.slice(begin, end - begin)
        rows = empty(len(some))
        rows[:, KIND] = _numbers(pc.index_in(some["change"], value_set=_NAMES), NONE)
        for which, name in _COLUMNS.items():
            rows[:, which] = _numbers(some[name], _MISSING[which])
        named = bool(pc.any(pc.greater(pc.binary_length(some["doc"]), 0)).as_py())
        contents = [content or b"" for content in some["content"].to_pylist()]

        def one(k: int) -> Waiting:
            return from_row(self.row(begin + k)), Place(), 0

        return Arrived(rows, contents, one, named)

    def logged(self, late: Set[int]) -> Brought:
        """… as the log has them: without what was put aside before it came here; those at the places ``late`` say so.

        They are late again when the log is taken in again, but a base is taken in without looking at the time.
        """
        table = self.table
        if late:
            order = [LATE if at in late else order for at, order in enumerate(table["order"].to_pylist())]
            table = table.set_column(table.schema.get_field_index("order"), "order", pa.array(order, pa.string()))
        return Brought(table.filter(pc.not_equal(table["change"], QUARANTINE)))


def table_rows(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table of changes, with instants as whole numbers."""
    at = table.schema.get_field_index("valid_time")
    instants = table.column(at).cast(pa.int64())  # not datetimes: they end with the year 9999, instants do not
    rows: list[Row] = table.set_column(at, "valid_time", instants).to_pylist()
    return rows


def _numbers(column: Any, missing: int) -> Any:
    """A column of numbers as an array."""
    return pc.fill_null(column.cast(pa.int64()), missing).to_numpy()


def _mask(column: Any) -> Any:
    """A column of truth values as an array; what is missing is false."""
    return pc.fill_null(column, False).to_numpy().astype(bool)

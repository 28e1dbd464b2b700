"""DataFrames of what tasks make of ranges of documents, kept in the order of the ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.spark.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PACKED: Final = "part int, next int, packed binary"
"""What a part has, and where it goes to be put together with others."""
FAN: Final = 16
"""How many partial results one task puts together."""


def over_tasks(
    spark: SparkSession, tasks: Sequence[Any], work: Callable[[int, Any], Iterator[Any]], schema: str
) -> DataFrame:
    """A DataFrame of what ``work(number, task)`` gives, in Arrow batches; one partition for each task."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(number, tasks[number])

    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(mapped, schema)


def in_order(frame: DataFrame, count: int, *places: str) -> DataFrame:
    """Rows exchanged so that those of each ``part`` are in the partition of that number, in the order of places."""
    return frame.repartitionById(count, "part").sortWithinPartitions("part", *places)


def put_together(
    frame: DataFrame,
    count: int,
    combine: Callable[[list[bytes]], bytes],
    finish: Callable[[int, bytes], Iterator[Any]] | None = None,
    schema: str = PACKED,
) -> DataFrame:
    """One row of :data:`PACKED` rows, of as many parts: :data:`FAN` at a time, in their order, as often as it takes.

    ``finish``: what the task that puts the last together makes of it; ``schema`` is of what that gives.
    """

    def then(make: Callable[[int, bytes], Iterator[Any]]) -> Callable[[Iterable[Any]], Iterator[Any]]:
        def work(batches: Iterable[Any]) -> Iterator[Any]:
            # They are few: an exchange need not sort them.
            rows = sorted([row for batch in batches for row in batch.to_pylist()], key=itemgetter("part"))
            if rows:
                packed = [row["packed"] for row in rows]
                yield from make(rows[0]["next"], combine(packed) if len(packed) > 1 else packed[0])

        return work

    while count > FAN:
        count = -(-count // FAN)
        frame = frame.repartitionById(count, "next").mapInArrow(then(one_row), PACKED)
    if count > 1:
        frame = frame.repartitionById(1, "next")
    return frame if count == 1 and finish is None else frame.mapInArrow(then(finish or one_row), schema)


@contextmanager
def described(spark: SparkSession, what: str) -> Iterator[None]:
    """Jobs that run at once, with what they are for, where that can be said: not by way of Spark Connect."""
    if is_connect(spark):
        yield
        return
    context = spark.sparkContext
    context.setJobDescription(f"xstreamcast: {what}")
    try:
        yield
    finally:
        context.setJobDescription(None)


def one_row(part: int, packed: bytes) -> Iterator[Any]:
    """A row of :data:`PACKED`."""
    yield from batches_of({"part": [part], "next": [part // FAN], "packed": [packed]}, PACKED)


def batches_of(columns: Mapping[str, Sequence[Any]], schema: str) -> Iterator[Any]:
    """An Arrow batch of some columns, if there are rows; ``schema`` says of what types."""
    import pyarrow as pa

    types = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
    fields = [column.split() for column in schema.split(", ")]
    if columns[fields[0][0]]:
        arrays = [pa.array(columns[name], types[kind]) for name, kind in fields]
        yield pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in fields])


class Writer:
    """Rows that become Arrow batches of a few megabytes."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        fields = [column.split() for column in schema.split(", ")]
        self.names = [name for name, _ in fields]
        self.long = [number for number, (_, kind) in enumerate(fields) if kind in ("string", "binary")]
        self._clear()

    def _clear(self) -> None:
        self.columns: list[list[Any]] = [[] for _ in self.names]
        self.size = 0

    def put(self, *values: Any) -> Iterator[Any]:
        """A row; a batch comes out now and then."""
        for column, value in zip(self.columns, values, strict=True):
            column.append(value)
        self.size += _ROW
        for number in self.long:
            if values[number] is not None:
                self.size += len(values[number])
        if self.size > _BATCH:
            yield from self.out()

    def extend(self, *columns: Sequence[Any]) -> Iterator[Any]:
        """Rows, column by column, without nulls."""
        for column, more in zip(self.columns, columns, strict=True):
            column += more
        self.size += _ROW * len(columns[0])
        for number in self.long:
            self.size += sum(map(len, columns[number]))
        if self.size > _BATCH:
            yield from self.out()

    def out(self) -> Iterator[Any]:
        """What is left."""
        columns = self.columns
        self._clear()
        yield from batches_of(dict(zip(self.names, columns, strict=True)), self.schema)


_ROW: Final = 64
_BATCH: Final = 4 << 20

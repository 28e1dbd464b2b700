"""DataFrames of what tasks make of ranges of documents, kept in the order of the ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

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


def put_together(frame: DataFrame, count: int, combine: Callable[[list[bytes]], bytes]) -> DataFrame:
    """One row of :data:`PACKED` rows, of as many parts: :data:`FAN` at a time, in their order, as often as it takes."""

    def combined(batches: Iterable[Any]) -> Iterator[Any]:
        rows = [row for batch in batches for row in batch.to_pylist()]
        if rows:
            yield from one_row(rows[0]["next"], combine([row["packed"] for row in rows]))

    while count > 1:
        count = -(-count // FAN)
        frame = frame.repartitionById(count, "next").sortWithinPartitions("part").mapInArrow(combined, PACKED)
    return frame


@contextmanager
def described(spark: SparkSession, what: str) -> Iterator[None]:
    """Jobs that run at once, with what they are for."""
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
        self.names = [column.split()[0] for column in schema.split(", ")]
        self.rows: list[tuple[Any, ...]] = []
        self.size = 0

    def put(self, *values: Any) -> Iterator[Any]:
        """A row; a batch comes out now and then."""
        self.rows.append(values)
        self.size += 64
        for value in values:
            if isinstance(value, bytes | str):
                self.size += len(value)
        if self.size > _BATCH:
            yield from self.out()

    def out(self) -> Iterator[Any]:
        """What is left."""
        rows, self.rows, self.size = self.rows, [], 0
        if rows:
            yield from batches_of(dict(zip(self.names, zip(*rows, strict=True), strict=True)), self.schema)


_BATCH: Final = 4 << 20

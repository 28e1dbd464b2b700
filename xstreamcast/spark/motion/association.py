"""What streams bring, on its way to the state: rows of changes from any streaming DataFrame, packed, by bucket.

A row of the stateful operator is a whole Arrow batch of changes: Python is called a few times in a micro-batch, not
once for every fragment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame

from xstreamcast.errors import error
from xstreamcast.model.change import ROW
from xstreamcast.spark.motion.brought import TICK, Brought
from xstreamcast.spark.motion.rows import arrival_rows, batch_of_rows, pack_batches
from xstreamcast.spark.motion.stream_source import FORMAT, PACKED, PACKED_FORMAT, SCHEMA, PackedSource
from xstreamcast.spark.worker import keep_loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.motion.feed import Fed

_TYPES: Final = dict(column.strip("` ").replace("`", "").rsplit(" ", 1) for column in SCHEMA.split(","))

Streams = Mapping[str, "str | DataFrame | Fed"]


def packed(spark: SparkSession, streams: Streams, options: Mapping[str, str], *more: DataFrame) -> DataFrame:
    """All streams, and more change rows, packed: one row for each Arrow batch."""
    frames = [_packed_stream(spark, name, source, options) for name, source in streams.items()]
    return reduce(DataFrame.unionByName, [*frames, *[frame.mapInArrow(pack_batches, PACKED) for frame in more]])


def _packed_stream(spark: SparkSession, name: str, source: Any, options: Mapping[str, str]) -> DataFrame:
    from xstreamcast.spark.motion.feed import Fed

    if isinstance(source, Fed | DataFrame):
        return change_rows(spark, name, source, options).mapInArrow(pack_batches, PACKED)
    spark.dataSource.register(PackedSource)
    return spark.readStream.format(PACKED_FORMAT).options(**options, stream=name).load(str(source))


def change_rows(spark: SparkSession, name: str, source: Any, options: Mapping[str, str]) -> DataFrame:
    """A stream as change rows: a path (a file, a folder that grows, a pattern), a feed, or any streaming DataFrame."""
    from xstreamcast.spark import register
    from xstreamcast.spark.motion.feed import Fed

    if isinstance(source, Fed):
        return source.rows(spark, name, options)
    if not isinstance(source, DataFrame):
        register(spark)
        return spark.readStream.format(FORMAT).options(**options, stream=name).load(str(source))
    if not source.isStreaming:
        hint = f'spark.readStream…, or the path of the files: streams={{"{name}": "folder"}}'
        raise error("XSC0068", f'stream "{name}" is a DataFrame that does not stream', hint=hint)
    columns = set(source.columns)
    if "content" not in columns or not columns & {"seq", "version"}:
        hint = "name them so: frame.selectExpr('value AS content', 'offset AS seq')"
        raise error("XSC0068", f'stream "{name}" needs a column content, and seq or version for its order', hint=hint)
    return _as_rows(source, name, columns) if "region" in columns else _as_messages(source, name, columns)


def _as_rows(frame: DataFrame, name: str, columns: set[str]) -> DataFrame:
    """A row for each change, with the columns of a change row; what is missing is null."""
    from pyspark.sql import functions as f

    given: dict[str, Any] = {"stream": f.lit(name), "doc": f.lit(""), "change": f.lit("fill")}
    made = []
    for column in ROW:
        value = f.col(f"`{column}`") if column in columns and column != "stream" else given.get(column, f.lit(None))
        made.append(value.cast(_TYPES[column]).alias(column))
    return frame.select(*made)


def _as_messages(frame: DataFrame, name: str, columns: set[str]) -> DataFrame:
    """A row for each message, content as on the wire: one fragment or several, structures, an eos."""
    from pyspark.sql import functions as f

    number = f.coalesce(*[f.col(column) for column in ("seq", "version") if column in columns])
    messages = frame.select(f.col("content").cast("binary").alias("content"), number.cast("long").alias("seq"))
    return messages.mapInArrow(partial(_read_messages, name), SCHEMA)


def _read_messages(name: str, batches: Iterable[Any]) -> Iterator[Any]:
    from xstreamcast.wire.fragment import FragmentReader

    for batch in batches:
        rows: list[Any] = []
        for message in batch.to_pylist():
            arrivals = FragmentReader([message["content"] or b""], source=f"{name}:{message['seq']}")
            # All have the number of their message: in order they came, in order they stay.
            rows += [(row[0], message["seq"], *row[2:]) for row in arrival_rows(arrivals, name, 0)]
        yield batch_of_rows(rows)


def ticks(spark: SparkSession) -> DataFrame:
    """The wall clock as a stream: what time it is, again and again. Played again, it says the same."""
    from pyspark.sql import functions as f

    rate = spark.readStream.format("rate").option("rowsPerSecond", 1).option("numPartitions", 1).load()
    given = {
        "stream": f.lit(""),
        "seq": f.col("value"),
        "change": f.lit(TICK),
        "doc": f.lit(""),
        "valid_time": f.col("timestamp"),
    }
    return rate.select(*[given.get(column, f.lit(None)).cast(_TYPES[column]).alias(column) for column in ROW])


def unpacked(frame: DataFrame) -> DataFrame:
    """The rows that operators tell, one by one."""
    return frame.mapInArrow(_unpack_batches, SCHEMA)


def _unpack_batches(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        for blob in batch.column("changes").to_pylist():
            yield from Brought.read(blob).table.to_batches()
    keep_loaded()

"""What a Spark user writes by hand for the sums of each account, with Spark's own operators: the peers of spark_motion.

*Rows*: every row is XML that carries its account already; ``from_xml``, a stateful sum by key. *Joined*: the same
fragments as our own query reads, one on a line; the holes of accounts and transactions are exploded, and two joins of
streams find the transactions of an account and their statuses. Spark does not aggregate behind such joins unless there
is a watermark, so what each micro-batch has joined is added up by its sink.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from xstreamcast.model.change import Change
from xstreamcast.wire.fragment import FragmentWriter

_ROCKS: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def rows(spark: Any, folder: Path, count: int, files: int) -> float:
    """Rows a second, each with its account, after the first micro-batch."""
    from pyspark.sql import functions as f

    drawn, feed = random.Random(1), folder / "rows"
    feed.mkdir(parents=True)
    for number in range(files):
        with (feed / f"{number:06}.txt").open("w") as out:
            for i in range(count // files):
                out.write(
                    f'<filler id="{i}" account="{drawn.randrange(count // 8)}"><transaction><vendor>V'
                    f"{drawn.randrange(100)}</vendor><status>charged</status><amount>{drawn.randrange(100000) / 100}"
                    "</amount></transaction></filler>\n"
                )
    shape = "_account long, transaction struct<vendor string, status string, amount double>"
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(feed))
    parsed = lines.select(f.from_xml("value", shape).alias("x")).where("x.transaction.status = 'charged'")
    sums = parsed.groupBy("x._account").agg(f.sum("x.transaction.amount").alias("sum"))
    return _rate(spark, sums, "update", folder, count // files, lambda frame: frame.toArrow())


def joined(spark: Any, folder: Path, parts: Sequence[Sequence[Change]]) -> float:
    """Fragments a second, as they come, after the first micro-batch."""
    from pyspark.sql import functions as f

    feed = folder / "fragments"
    feed.mkdir(parents=True)
    for number, part in enumerate(parts):
        with (feed / f"{number:06}.txt").open("wb") as out:
            writer = FragmentWriter(out)
            for change in part:
                writer.write(change)
            writer.close()
    hole = "array<struct<_id: long, _tsid: long>>"
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(feed)).where("value like '<stream:filler%'")
    plain = lines.select(f.expr("replace(value, 'stream:', '')").alias("value"))

    def read(tsid: int, shape: str) -> Any:
        mine = plain.where(f.col("value").contains(f' tsid="{tsid}" '))
        return mine.select(f.from_xml("value", f"_id long, {shape}").alias("x"))

    accounts = read(2, f"account struct<_id: long, hole: {hole}>").select(
        "x.account._id", f.explode("x.account.hole").alias("hole")
    )
    accounts = accounts.select(f.col("_id").alias("account"), f.col("hole._id").alias("at")).where("hole._tsid = 5")
    bought = read(5, f"transaction struct<_id: long, amount: double, hole: {hole}>").select(
        f.col("x._id").alias("region"), "x.transaction.amount", f.explode("x.transaction.hole._id").alias("status")
    )
    charged = read(7, "status string").where("x.status = 'charged'").select(f.col("x._id").alias("charged"))
    found = accounts.join(bought, f.col("at") == f.col("region")).join(charged, f.col("status") == f.col("charged"))
    known: dict[int, float] = {}

    def add(frame: Any) -> None:
        for row in frame.groupBy("account").agg(f.sum("amount").alias("sum")).toArrow().to_pylist():
            known[row["account"]] = known.get(row["account"], 0.0) + row["sum"]

    return _rate(spark, found.select("account", "amount"), "append", folder, len(parts[0]), add)


def _rate(spark: Any, frame: Any, mode: str, folder: Path, batch: int, sink: Callable[[Any], object]) -> float:
    marks: list[float] = []

    def take(part: Any, _: int) -> None:
        sink(part)
        marks.append(time.perf_counter())

    before = spark.conf.get("spark.sql.streaming.stateStore.providerClass", None)
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKS)
    writer = frame.writeStream.outputMode(mode).foreachBatch(take)
    query = writer.option("checkpointLocation", str(folder / f"state-{mode}")).trigger(availableNow=True).start()
    query.awaitTermination()
    if before is not None:
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", before)
    return batch * (len(marks) - 1) / (marks[-1] - marks[0])

"""A saved state, read without the query that keeps it: what the answers were when its last batch was committed.

Where there is one key, the worker that will have the engine takes the state over and tells the answers, so that it is
done once (:func:`taken_over`); else this process makes the engines of all buckets (:func:`read_replicas`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from xstreamcast.spark.connect import is_connect
from xstreamcast.spark.failures import own_errors
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.keeper import ENGINE
from xstreamcast.spark.motion.micro_batch import own_workers
from xstreamcast.spark.motion.state_log import read_head
from xstreamcast.spark.worker import give_back, seldom_collecting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.micro_batch import Pool
    from xstreamcast.spark.motion.replica import Replica


Told = tuple[int, list[list[Row]]]
"""How many changes had come, and what has been told of each answer, all at once."""


class ReadStore:
    """The state of one key as it was read; it is not written to."""

    def __init__(self, head: tuple[int, bytes], log: dict[int, bytes], base: dict[int, bytes]) -> None:
        self._head = head
        self._log = log
        self._base = base

    def head(self) -> tuple[int, bytes]:
        return self._head

    def delta(self, version: int) -> bytes:
        return self._log[version]

    def part(self, number: int) -> bytes:
        return self._base[number]


def read_replicas(spark: SparkSession, checkpoint: str, job: Job) -> dict[int, Replica]:
    """The queries of a job as a checkpoint has them, by bucket; none if no batch has been committed yet."""
    if not _committed(spark, checkpoint):
        return {}
    return {bucket: _current(job, store) for bucket, store in _stores(_saved(spark, checkpoint).collect()).items()}


def taken_over(spark: SparkSession, checkpoint: str, job: Job, pool: Pool) -> Told | None:
    """What a query of one key has told, by the worker that has the engine from then on; None: nothing yet.

    The worker is the only one of its pool, once what warms it up is over; the first micro-batch finds the engine there.
    """
    if not _committed(spark, checkpoint):
        return None
    for thread in pool.warming:
        thread.join()
    with own_workers(spark, pool):
        task = _saved(spark, checkpoint).coalesce(1).rdd.mapPartitions(partial(_take_over, job)).setName("taking over")
    with own_errors():
        found = task.collect()
    if not found:
        return None
    n, *blobs = found
    return n, [Brought.read(blob).rows for blob in blobs]


def _take_over(job: Job, rows: Iterable[Any]) -> Iterator[Any]:
    """In the worker: the state becomes an engine, which stays."""
    from xstreamcast.spark.motion.micro_batch import leave_alone
    from xstreamcast.spark.motion.state import are_new, keep
    from xstreamcast.spark.motion.state_told import told_rows

    for store in _stores(rows).values():
        with seldom_collecting():
            replica = _current(job, store)
            keep(replica)
            yield replica.head.n
            for query in replica.inflow.queries:
                yield Brought.of(told_rows(query)).blob()
    leave_alone(anew=are_new())
    give_back()


def _current(job: Job, store: Any) -> Replica:
    from xstreamcast.spark.motion.state import checked, current

    head = read_head(store)
    assert head is not None
    return current(job, store, checked(head, job))


def _saved(spark: SparkSession, checkpoint: str) -> DataFrame:
    """All that a checkpoint has for operators with engines: bucket, variable, number and value."""
    from pyspark.sql import functions as f

    operator = _operator(spark, checkpoint)

    def variable(name: str, number: str, value: str) -> DataFrame:
        reader = spark.read.format("statestore").option("path", checkpoint).option("operatorId", operator)
        found = reader.option("stateVarName", name).load()
        (bucket,) = found.select("key.*").columns  # who gathers calls it otherwise
        columns = f.col(f"key.{bucket}"), f.lit(name), f.col(number).cast("long"), f.col(value)
        return found.select(*columns).toDF("bucket", "variable", "number", "value")

    kept = [
        variable("head", "value.format", "value.head"),
        variable("log", "user_map_key.version", "user_map_value.changes"),
        variable("base", "user_map_key.part", "user_map_value.content"),
    ]
    return reduce(DataFrame.unionAll, kept)


def _stores(rows: Iterable[Any]) -> dict[int, ReadStore]:
    """The states of the buckets."""
    found: dict[int, dict[str, dict[int, bytes]]] = {}
    for bucket, variable, number, value in rows:
        found.setdefault(bucket, {"head": {}, "log": {}, "base": {}})[variable][number] = bytes(value)
    return {
        bucket: ReadStore(next(iter(one["head"].items())), one["log"], one["base"]) for bucket, one in found.items()
    }


def _operator(spark: SparkSession, checkpoint: str) -> int:
    """The number of the operator with the engines: among several it has a mark."""
    listed = spark.read.format("state-metadata").load(checkpoint).collect()
    marked = {row.operatorId for row in listed if ENGINE in (row.operatorProperties or "")}
    return int(min(marked or {row.operatorId for row in listed}))


def _committed(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a checkpoint has a committed batch, wherever it lies."""
    if is_connect(spark):
        return _listed(spark, f"{checkpoint}/commits")
    gateway = spark.sparkContext._jvm
    path = gateway.org.apache.hadoop.fs.Path(checkpoint, "commits")
    files = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    if not files.exists(path):
        return False
    return any(not status.getPath().getName().startswith(".") for status in files.listStatus(path))


def _listed(spark: SparkSession, folder: str) -> bool:
    """Whether a folder has files, as Spark lists them: no hidden ones, and nothing is read."""
    from pyspark.errors import AnalysisException

    try:
        return bool(spark.read.format("binaryFile").load(folder).select("path").head(1))
    except AnalysisException as fault:
        if fault.getCondition() != "PATH_NOT_FOUND":
            raise
        return False

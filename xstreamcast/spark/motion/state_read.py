"""A saved state, read without the query that keeps it: what the answers were when its last batch was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.spark.connect import is_connect
from xstreamcast.spark.motion.keeper import ENGINE
from xstreamcast.spark.motion.state import checked, current
from xstreamcast.spark.motion.state_log import read_head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.replica import Replica


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
    operator = _operator(spark, checkpoint)

    def variable(name: str) -> list[Any]:
        reader = spark.read.format("statestore").option("path", checkpoint).option("operatorId", operator)
        found: list[Any] = reader.option("stateVarName", name).load().collect()
        return found

    logs: dict[int, dict[int, bytes]] = {}
    bases: dict[int, dict[int, bytes]] = {}
    for row in variable("log"):
        logs.setdefault(row.key[0], {})[row.user_map_key.version] = bytes(row.user_map_value.changes)
    for row in variable("base"):
        bases.setdefault(row.key[0], {})[row.user_map_key.part] = bytes(row.user_map_value.content)
    made = {}
    for row in variable("head"):
        bucket = row.key[0]
        saved = row.value.format, bytes(row.value.head)
        store: Any = ReadStore(saved, logs.get(bucket, {}), bases.get(bucket, {}))
        head = read_head(store)
        assert head is not None
        made[bucket] = current(job, store, checked(head, job))
    return made


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

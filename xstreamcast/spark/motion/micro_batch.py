"""What a micro-batch costs besides its work, and how little that can be.

Four things are dear by default, and none of them is needed here:

* *Engines in several workers.* Spark hands a task to any idle Python worker of an executor, also to one that has only
  read files so far; an engine there would first have to take in what it has missed. Operators with engines have
  workers of their own (:func:`own_workers`).
* *Partitions without keys.* Each has a state store that is opened and committed with every batch. One key needs one.
* *Processes for files.* On local disks Hadoop starts ``chmod`` and ``readlink`` for every file it creates or renames,
  some forty times in a batch; by the way of :data:`_BY_FILES` it is seven times. Checksums beside the files are kept.
* *Garbage.* Spark has a worker collect all garbage after each task, which is a walk over all that is live
  (:func:`leave_alone`).
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from xstreamcast.spark.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.spark.motion.job import Job

POOL: Final = "XSTREAMCAST_WORKERS"
"""The variable of the environment that workers with engines have, and no others."""
_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_BY_FILES: Final = {
    "spark.sql.streaming.checkpointFileManagerClass":
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    # Hadoop's local file system writes checksums already.
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}  # fmt: skip
_EVOLVES: Final = {"spark.sql.streaming.stateStore.encodingFormat": "avro"}
"""So that a later version can add columns to what is saved. Spark's own aggregations and joins refuse this setting, so
that the session does not keep it; a query that goes on has what it began with."""
_OF_READERS: Final = {"SPARK_SIMPLIFIED_TRACEBACK": "1"}
"""What Spark adds to the environment of workers that run functions over Arrow batches, as sources do."""
_WALK: Final = 64
"""After so many batches it is seen how much is left alone: what dies in cycles is found by looking at all of it."""
_GROWN: Final = 1.5
"""All of it is looked at again when it is so many times as much as the last time."""
_batches = 0
_left_alone = 0


def leave_alone(anew: bool) -> None:
    """At the end of a task with engines, where Spark uses this process again: the collector need not look at them.

    ``anew``: some are not those of the last time, which are garbage now.
    """
    global _batches, _left_alone
    if not os.environ.get("SPARK_REUSE_WORKER"):
        return
    _batches += 1
    if not anew and _batches < _WALK:
        gc.freeze()
        return
    _batches = 0
    if anew or gc.get_freeze_count() > _GROWN * _left_alone:
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        _left_alone = gc.get_freeze_count()
    else:
        gc.freeze()


class Pool:
    """The workers of one streaming query; their number is free again when nobody has this any more."""

    def __init__(self) -> None:
        self.number = next(number for number in range(len(_POOLS) + 1) if number not in _POOLS)
        _POOLS[self.number] = self
        self.warming: list[threading.Thread] = []


_POOLS: WeakValueDictionary[int, Pool] = WeakValueDictionary()


@contextmanager
def own_workers(spark: SparkSession, pool: Pool) -> Iterator[None]:
    """Operators that are made in this block run in Python workers of their own.

    Spark shares a worker among functions whose environments are equal; so theirs has one variable more. A client of
    Spark Connect cannot say what environment a function has.
    """
    if is_connect(spark):
        yield
        return
    with _environment(spark, {POOL: str(pool.number)}):
        yield


@contextmanager
def _environment(spark: SparkSession, more: Mapping[str, str]) -> Iterator[None]:
    """Functions that are made in this block run where the environment has these variables too."""
    environment: dict[str, str] = spark.sparkContext.environment
    environment.update(more)
    try:
        yield
    finally:
        for name in more:
            del environment[name]


def warm_up(spark: SparkSession, pool: Pool, job: Job) -> None:
    """Let workers start while the streams are found and Spark plans: the first micro-batch waits for one that reads
    and one that has engines.

    Only where they are certain to be the ones: on this machine. What goes wrong with it goes wrong again, where it
    matters.
    """
    if is_connect(spark) or not spark.sparkContext.master.startswith("local"):
        return
    with own_workers(spark, pool):
        pool.warming = [_warm(spark, partial(_ready_for_engines, job))]
    with _environment(spark, _OF_READERS):
        pool.warming.append(_warm(spark, _ready_to_read))


def _warm(spark: SparkSession, ready: Callable[[Iterable[int]], Iterable[int]]) -> threading.Thread:
    task = spark.sparkContext.parallelize([0], 1).mapPartitions(ready).setName("warm-up")
    thread = threading.Thread(target=_run, args=(task,), name="xstreamcast warm-up", daemon=True)
    thread.start()
    return thread


def _run(task: Any) -> None:
    with suppress(Exception):
        task.collect()


def _ready_for_engines(job: Job, numbers: Iterable[int]) -> Iterable[int]:
    """In the worker: what an engine needs is loaded, and what Spark's operators with state bring along."""
    import pandas  # noqa: F401
    from pyspark.sql.streaming import stateful_processor_api_client  # noqa: F401

    from xstreamcast.spark.motion.state import made_ready

    made_ready(job)
    return numbers


def _ready_to_read(numbers: Iterable[int]) -> Iterable[int]:
    """In the worker: what a task needs that reads a stream."""
    import pandas  # noqa: F401

    from xstreamcast.spark.motion import rows, stream_source  # noqa: F401

    return numbers


@contextmanager
def light(spark: SparkSession, checkpoint: str | None, one_key: bool) -> Iterator[None]:
    """A streaming query that is started in this block has cheap micro-batches; other queries keep their settings.

    Spark copies the session's settings when a query starts. One that goes on from a checkpoint keeps the number of
    partitions it began with.
    """
    wanted = {**_EVOLVES, **({_PARTITIONS: "1"} if one_key else {})}
    if _is_local(spark, checkpoint):
        wanted |= _BY_FILES
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, given in before.items():
            if given is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, given)


def _is_local(spark: SparkSession, checkpoint: str | None) -> bool:
    """Whether a checkpoint lies on this machine; without a place Spark takes a temporary folder."""
    place = checkpoint or spark.conf.get("spark.sql.streaming.checkpointLocation", None)
    if is_connect(spark):  # whose file systems are not known here
        return place is not None and place.startswith("file:")
    if place is None:
        return True
    java: Any = spark
    path = java.sparkContext._jvm.org.apache.hadoop.fs.Path(place)
    scheme: str = path.getFileSystem(java._jsparkSession.sessionState().newHadoopConf()).getUri().getScheme()
    return scheme == "file"

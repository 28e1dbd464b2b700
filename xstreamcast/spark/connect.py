"""Spark Connect: a session that is the client of a Spark elsewhere, ``SparkSession.builder.remote("sc://host")``.

Such a session has no ``sparkContext`` and no Java beside it: what is asked of it are plans and settings. Here is what
takes the place of the rest. What has nothing in its place is left out: :data:`LEFT_OUT`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEME: Final = "sc://"
LEFT_OUT: Final = (
    "engines share Spark's Python workers with all else: each worker that gets a batch has an engine",
    "checkpoint files are written by Spark's own way, unless the checkpoint is a file: URI",
)
"""What a micro-batch costs more by way of a client (:mod:`~xstreamcast.spark.motion.micro_batch`)."""

_NUMBERS: Final = 1 << 16
"""More rows than any Spark has cores: so a range of them has a part for each core."""


def is_connect(spark: SparkSession) -> bool:
    """Whether a session is a client of Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def parallelism(spark: SparkSession) -> int:
    """How many tasks the Spark of a client runs at a time: into so many parts it cuts a range. Asked once."""
    if spark not in _parallelism:
        from pyspark.sql import functions as f

        parts = spark.range(_NUMBERS).select(f.spark_partition_id().alias("part"))
        (row,) = parts.agg(f.max("part").alias("last")).collect()
        _parallelism[spark] = int(row.last) + 1
    return _parallelism[spark]


_parallelism: WeakKeyDictionary[SparkSession, int] = WeakKeyDictionary()

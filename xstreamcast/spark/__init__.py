"""Spark: the same streams, on one machine or many.

>>> from xstreamcast.spark import register, session             # doctest: +SKIP
>>> spark = session()                                           # doctest: +SKIP
>>> register(spark)                                             # doctest: +SKIP
>>> spark.readStream.format("xstreamcast").load("feed/credit")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register", "session"]


def register(spark: SparkSession) -> None:
    """Make ``xstreamcast`` a format of this session, to read and to readStream."""
    from xstreamcast.spark.stream_source import FragmentSource

    spark.dataSource.register(FragmentSource)

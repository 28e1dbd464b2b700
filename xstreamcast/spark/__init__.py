"""Spark: the same queries and the same streams, on one machine or many.

In come queries and documents or streams as Spark has them; out come DataFrames and sinks. Data at rest is in
:mod:`.rest`, data in motion in :mod:`.motion`; both run the plans of :mod:`xstreamcast.plan` by the code of
:mod:`xstreamcast.run`. What they share: :mod:`.source` (``format("xstreamcast")``), :mod:`.stages` (what runs where),
:mod:`.transport` (items between processes), :mod:`.failures` (errors of tasks). A Spark to work with: :mod:`.session`,
:mod:`.connect`, :mod:`.cluster`, :mod:`.java`, :mod:`.versions`, :mod:`.package` (for executors); and its start, made
short: :mod:`.home`, :mod:`.class_archive`, :mod:`.worker`.

>>> from xstreamcast.spark import query, session                # doctest: +SKIP
>>> spark = session()                                           # doctest: +SKIP
>>> spark.readStream.format("xstreamcast").load("feed/credit")  # doctest: +SKIP
>>> query(spark, "count(//item)", context="auction.xml")        # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from xstreamcast.spark.session import session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.spark.motion.association import Streams
    from xstreamcast.spark.motion.brought import table_rows
    from xstreamcast.spark.motion.continuous_query import Motion
    from xstreamcast.spark.motion.feed import Fed
    from xstreamcast.spark.motion.kafka import ToKafka
    from xstreamcast.spark.motion.rows import item_of
    from xstreamcast.spark.motion.sink_merge import MergeTable
    from xstreamcast.spark.package import archive, executor_settings
    from xstreamcast.spark.session import shut_down

__all__ = [
    "MergeTable",
    "ToKafka",
    "archive",
    "continuous",
    "continuous_many",
    "executor_settings",
    "feed",
    "from_kafka",
    "item_of",
    "query",
    "register",
    "session",
    "shut_down",
    "table_rows",
]

_HOMES: Final = {
    "MergeTable": "xstreamcast.spark.motion.sink_merge",
    "ToKafka": "xstreamcast.spark.motion.kafka",
    "archive": "xstreamcast.spark.package",
    "executor_settings": "xstreamcast.spark.package",
    "item_of": "xstreamcast.spark.motion.rows",
    "shut_down": "xstreamcast.spark.session",
    "table_rows": "xstreamcast.spark.motion.brought",
}


def register(spark: SparkSession) -> None:
    """Make ``xstreamcast`` a format of a session of yours; those of :func:`session` know it."""
    from xstreamcast.spark.versions import check_session

    check_session(spark)
    from xstreamcast.spark.connect import is_connect
    from xstreamcast.spark.rest.door import door_of
    from xstreamcast.spark.source import DocumentSource

    # The processes that plan reads get the class by value, and with it the key to ask this one. Those of a Spark
    # elsewhere cannot ask, and look for themselves where documents may be cut.
    key = None if is_connect(spark) else door_of(spark).key
    spark.dataSource.register(type("RegisteredSource", (DocumentSource,), {"key": key}))


def query(spark: SparkSession, text: str, **given: Any) -> DataFrame:
    """The answer of a query over stored documents, as rows: see :func:`xstreamcast.spark.rest.at_rest.query`."""
    from xstreamcast.spark.rest.at_rest import query as spread
    from xstreamcast.spark.versions import check_session

    check_session(spark)
    return spread(spark, text, **given)


def continuous(spark: SparkSession, text: str, streams: Streams, **given: Any) -> Motion:
    """A query over streams, kept answered: see :func:`xstreamcast.spark.motion.continuous_query.continuous`."""
    from xstreamcast.spark.motion.continuous_query import continuous as going_on
    from xstreamcast.spark.versions import check_session

    check_session(spark)
    return going_on(spark, text, streams, **given)


def continuous_many(spark: SparkSession, texts: Sequence[str], streams: Streams, **given: Any) -> Motion:
    """Several queries over the same streams: see :func:`xstreamcast.spark.motion.continuous_query.continuous_many`."""
    from xstreamcast.spark.motion.continuous_query import continuous_many as going_on
    from xstreamcast.spark.versions import check_session

    check_session(spark)
    return going_on(spark, texts, streams, **given)


def feed(record: str, *, source: Any, **given: Any) -> Fed:
    """Documents that bring records, as a stream: see :func:`xstreamcast.spark.motion.feed.feed`."""
    from xstreamcast.spark.motion.feed import feed as of_documents

    return of_documents(record, source=source, **given)


def from_kafka(
    spark: SparkSession, servers: str, topic: str, *, rows: bool = False, options: Mapping[str, str] | None = None
) -> DataFrame:
    """A topic as a stream: see :func:`xstreamcast.spark.motion.kafka.from_kafka`."""
    from xstreamcast.spark.motion.kafka import from_kafka as read

    return read(spark, servers, topic, rows=rows, options=options)


def __getattr__(name: str) -> Any:
    """The names of what is seldom needed, or needs PySpark, when they are asked for."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

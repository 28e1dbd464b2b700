"""The same through Spark: its joins, exchanges and sorts, many tasks, and nothing for the driver but the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rest_samples import NOW, site

from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import query as spread

JOIN = "for $p in /site/people/person return count(//closed_auction[buyer/@person = $p/@id])"
GROUP = "for $i in //item group by $l := $i/location return <l n='{count($i)}'>{ $l }</l>"
SORT = "for $i in //item order by $i/name descending return $i/name/text()"
JOINED = "spark.sql.autoBroadcastJoinThreshold"
SUM = "sum(//increase), avg(//quantity), distinct-values(//location)"


@pytest.fixture(scope="module")
def auction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("relational") / "auction.xml"
    made.write_bytes(site())
    return made


@contextmanager
def grouped(spark: Any, name: str) -> Iterator[None]:
    spark.sparkContext.setJobGroup(name, name)
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def jobs(spark: Any, name: str) -> list[int]:
    return list(spark.sparkContext.statusTracker().getJobIdsForGroup(name))


@pytest.fixture
def by_key(spark: Any) -> Iterator[None]:
    """However few rows there are, none are broadcast."""
    spark.conf.set(JOINED, "-1")
    yield
    spark.conf.unset(JOINED)


def test_few_rows_are_broadcast_and_nothing_is_exchanged(spark: Any, auction: Path) -> None:
    frame = spread(spark, JOIN, context=auction, now=NOW, partition_bytes=60_000)
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert "Join" not in plan
    assert "Repartition" not in plan
    assert [row.value for row in frame.collect()] == [str(count) for count in query(JOIN, context=auction)]


@pytest.mark.usefixtures("by_key")
@pytest.mark.parametrize("text", [JOIN, GROUP, SORT, SUM], ids=["join", "group", "sort", "sum"])
def test_nothing_comes_to_the_driver_before_rows_are_asked_for_and_then_only_these_in_order(
    spark: Any, auction: Path, text: str, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    with grouped(spark, name):
        frame = spread(spark, text, context=auction, now=NOW, partition_bytes=60_000)
        assert jobs(spark, name) == []
        rows = frame.collect()
    assert [row.value for row in rows] == [
        item.xml() if "<l" in text else str(getattr(item, "string", item)) for item in query(text, context=auction)
    ]
    positions = [row.position for row in rows]
    assert positions == sorted(set(positions))


@pytest.mark.usefixtures("by_key")
@pytest.mark.parametrize(
    ("text", "operators"),
    [(JOIN, ["Join LeftOuter"]), (GROUP, ["RepartitionByExpression [key"]), (SORT, ["Sort [key0#"])],
    ids=["join", "group", "sort"],
)  # fmt: skip
def test_spark_joins_exchanges_and_sorts_itself(spark: Any, auction: Path, text: str, operators: list[str]) -> None:
    frame = spread(spark, text, context=auction, partition_bytes=60_000)
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert all(operator in plan for operator in operators), plan


@pytest.mark.usefixtures("by_key")
@pytest.mark.parametrize("text", [JOIN, GROUP], ids=["join", "group"])
def test_what_meets_by_key_does_so_in_several_tasks(
    spark: Any, auction: Path, text: str, request: pytest.FixtureRequest
) -> None:
    name = "tasks of " + request.node.name
    # Spark would make one task of the little that there is.
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        with grouped(spark, name):
            frame = spread(spark, text, context=auction, partition_bytes=60_000)
            assert len(frame.collect()) == len(query(text, context=auction).to_list())
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for job in jobs(spark, name) for stage in tracker.getJobInfo(job).stageIds]
    tasks = [tracker.getStageInfo(stage).numTasks for stage in stages]
    assert len(tasks) >= 3, "scan, meet by key, and in order"
    assert all(count > 1 for count in tasks), tasks

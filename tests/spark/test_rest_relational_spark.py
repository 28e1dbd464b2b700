"""The same through Spark: its joins, exchanges and sorts, many tasks, and nothing for the driver but the answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from relational_queries import GROUPS, JOINS, SORTS, document
from rest_samples import NOW
from streaming_queries import Streaming
from test_rest_queries import is_error, said, site

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.spark.at_rest import prepare
from xstreamcast.spark.at_rest import query as spread
from xstreamcast.spark.failures import own_errors

JOIN = "for $p in /site/people/person return count(//closed_auction[buyer/@person = $p/@id])"
GROUP = "for $i in //item group by $l := $i/location return <l n='{count($i)}'>{ $l }</l>"
SORT = "for $i in //item order by $i/name descending return $i/name/text()"
SOME = (*JOINS[4::6], *GROUPS[2::5], *SORTS[3::6])
SUM = "sum(//increase), avg(//quantity), distinct-values(//location)"


@pytest.fixture(scope="module")
def auction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("relational") / "auction.xml"
    made.write_bytes(site())
    return made


def on_spark(spark: Any, text: str, context: Path, step: int) -> Iterator[Any]:
    with own_errors():
        yield from prepare(spark, text, context=context, now=NOW, partition_bytes=step).items()


@pytest.mark.parametrize("number", range(len(SOME)))
def test_a_join_a_group_or_a_sort_gives_the_embedded_answer_on_spark(spark: Any, tmp_path: Path, number: int) -> None:
    text = SOME[number]
    (tmp_path / "d.xml").write_text(document(12), encoding="utf-8")
    expected = said(query(text, context=tmp_path / "d.xml", now=NOW))
    found = said(on_spark(spark, text, tmp_path / "d.xml", 200))
    assert found == expected or (is_error(found) and is_error(expected))


def test_random_queries_give_the_embedded_answers_on_spark(spark: Any, tmp_path: Path) -> None:
    made = Streaming(7_003)
    (tmp_path / "d.xml").write_text(made.document(), encoding="utf-8")
    for _ in range(6):
        text = made.query()
        expected = said(query(text, context=tmp_path / "d.xml", now=NOW))
        found = said(on_spark(spark, text, tmp_path / "d.xml", 90))
        assert found == expected or is_error(found) or is_error(expected), text


@contextmanager
def grouped(spark: Any, name: str) -> Iterator[None]:
    spark.sparkContext.setJobGroup(name, name)
    try:
        yield
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def jobs(spark: Any, name: str) -> list[int]:
    return list(spark.sparkContext.statusTracker().getJobIdsForGroup(name))


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


@pytest.mark.parametrize(
    ("text", "operators"),
    [(JOIN, ["Join LeftOuter"]), (GROUP, ["RepartitionByExpression [key"]), (SORT, ["Sort [key0#"])],
    ids=["join", "group", "sort"],
)  # fmt: skip
def test_spark_joins_exchanges_and_sorts_itself(spark: Any, auction: Path, text: str, operators: list[str]) -> None:
    frame = spread(spark, text, context=auction, partition_bytes=60_000)
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert all(operator in plan for operator in operators), plan


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


def test_an_error_in_a_task_of_a_join_is_the_querys(spark: Any, auction: Path) -> None:
    text = "for $p in //person return count(//closed_auction[xs:integer(buyer/@person) = xs:integer($p/@id)])"
    with pytest.raises(XStreamError, match="FORG0001"):
        list(on_spark(spark, text, auction, 100_000))

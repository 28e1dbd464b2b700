"""What is small the driver answers, without a job; rows, errors and answers are those of tasks."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from rest_samples import said, site

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.spark.rest import at_once
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.at_rest import query as spread

QUERIES = (
    "count(//item)",
    "//person/name",
    "for $i in //item order by $i/name return $i/@id",
    "for $p in //person return count(//closed_auction[buyer/@person = $p/@id])",
    "(//item)[3] << (//item)[4]",
)


@pytest.fixture
def auction(tmp_path: Path) -> Path:
    (tmp_path / "auction.xml").write_bytes(site())
    return tmp_path / "auction.xml"


@pytest.mark.parametrize("text", QUERIES)
def test_a_small_document_is_asked_without_tasks(auction: Path, text: str) -> None:
    spark: Any = LocalSpark()
    assert said(prepare(spark, text, context=auction).items()) == said(query(text, context=auction))
    assert spark.log == []
    assert said(prepare(spark, text, context=auction, partition_bytes=40_000).items()) == said(
        query(text, context=auction)
    )
    assert "tasks" in spark.log


def test_several_small_ones_are_asked_in_turn(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for n in range(3):
            archive.writestr(f"{n}.xml", f"<r><v>{n}</v></r>")
    spark: Any = LocalSpark()
    for text in ("//v/number()", "count(collection())", "sum(collection()//v)"):
        expected = [said(each) for each in ([item] for item in query(text, context=tmp_path / "a.zip"))]
        answers = prepare(spark, text, context=tmp_path / "a.zip").answers()
        assert [said(answer) for answer in answers] == expected
    assert spark.log == []


def test_what_is_worth_a_task_is_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "large.xml").write_bytes(b"<r>" + b"<v/>" * 1_100_000 + b"</r>")
    (tmp_path / "packed.xml.gz").write_bytes(gzip.compress(b"<v/>" * 150_000, 0))
    spark: Any = LocalSpark()
    for name in ("large.xml", "packed.xml.gz"):
        assert not prepare(spark, "count(//v)", context=tmp_path / name).at_once
    assert not prepare(spark, "1 + 1").at_once


def jobs(spark: Any, run: Any) -> tuple[Any, int]:
    """What a function gives, and how many jobs of Spark ran meanwhile."""
    spark.sparkContext.setJobGroup("counted", "")
    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup("counted"))
    try:
        made = run()
        return made, len(spark.sparkContext.statusTracker().getJobIdsForGroup("counted")) - before
    finally:
        spark.sparkContext.setJobGroup("others", "")


def test_rows_are_the_same_with_and_without_a_job(spark: Any, auction: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in QUERIES[:2]:
        frame = spread(spark, text, context=auction)
        small, ran = jobs(spark, frame.collect)
        assert ran == 0
        tasks = spread(spark, text, context=auction, partition_bytes=1 << 30)
        large, ran = jobs(spark, tasks.collect)
        assert ran == 1
        assert small == large
        assert frame.schema == tasks.schema
    assert spread(spark, "//none", context=auction).collect() == []
    monkeypatch.setattr(at_once, "_ROWS", 10)
    many, ran = jobs(spark, spread(spark, "//person/name", context=auction).collect)
    assert (len(many), ran) == (len(query("//person/name", context=auction).to_list()), 1)


def test_an_error_is_told_when_rows_are_asked_for(spark: Any, auction: Path) -> None:
    frame = spread(spark, "//person/xs:integer(name)", context=auction)
    with pytest.raises(Exception, match="FORG0001"):
        frame.collect()
    with pytest.raises(XStreamError, match="FORG0001"):
        list(prepare(spark, "//person/xs:integer(name)", context=auction).items())

"""What a micro-batch costs besides its work: settings of one query, workers of its own, garbage that is left alone."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from xstreamcast.spark.motion import micro_batch
from xstreamcast.spark.motion.micro_batch import POOL, Pool, leave_alone, light, own_workers


class Settings(dict[str, str]):
    """A session's settings, as far as they are asked for."""

    def set(self, name: str, value: str) -> None:
        self[name] = value

    def unset(self, name: str) -> None:
        del self[name]


class Session:
    """A session that does nothing but keep settings and an environment."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.conf = Settings() if settings is None else settings
        self.sparkContext = type("Context", (), {"environment": {"A": "1"}})()


def test_a_pool_of_workers_has_a_number_that_nobody_else_has_and_gives_it_back() -> None:
    gc.collect()  # those of other tests have given theirs back
    first, second = Pool(), Pool()
    number = second.number
    assert first.number != number
    del second
    gc.collect()
    assert Pool().number == number


def test_operators_have_workers_of_their_own_only_where_that_is_said() -> None:
    spark: Any = Session()
    pool = Pool()
    with own_workers(spark, pool):
        assert spark.sparkContext.environment == {"A": "1", "XSTREAMCAST_WORKERS": str(pool.number)}
    assert spark.sparkContext.environment == {"A": "1"}


def test_settings_are_for_the_query_that_is_started_and_then_as_they_were() -> None:
    spark: Any = Session(Settings({"spark.sql.shuffle.partitions": "7"}))
    with light(spark, None, one_key=True):
        assert spark.conf["spark.sql.shuffle.partitions"] == "1"
        assert len(spark.conf) == 4
    assert spark.conf == {"spark.sql.shuffle.partitions": "7"}
    with light(spark, None, one_key=False):
        assert spark.conf["spark.sql.shuffle.partitions"] == "7"


def test_what_lives_is_left_alone_until_engines_are_new_or_it_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    monkeypatch.setattr(micro_batch, "_batches", 0)
    frozen = 1000
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    for name in ("collect", "freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    leave_alone(anew=True)
    leave_alone(anew=False)
    assert done == ["unfreeze", "collect", "freeze", "freeze"]
    for _ in range(200):
        leave_alone(anew=False)
    assert done.count("collect") == 1, "there is no more than there was"
    frozen = 1501
    for _ in range(64):
        leave_alone(anew=False)
    assert done.count("collect") == 2


@pytest.mark.spark
def test_a_query_of_one_key_has_one_partition_and_the_session_keeps_its_own(spark: Any, tmp_path: Path) -> None:
    from motion_streams import write_file

    from xstreamcast.model.change import Eos, Fill
    from xstreamcast.spark import continuous

    before = spark.conf.get("spark.sql.shuffle.partitions")
    (tmp_path / "feed").mkdir()
    write_file(tmp_path / "feed" / "1.xml", [Fill(region=0, content=b"<a>1</a>"), Eos()])
    running = continuous(spark, 'stream("s")/a', {"s": str(tmp_path / "feed")}).start(available_now=True)
    try:
        assert running.wait(300)
        (operator,) = running.query.lastProgress["stateOperators"]
    finally:
        running.stop()
    assert running.answer() == "<a>1</a>"
    assert operator["numShufflePartitions"] == 1
    assert spark.conf.get("spark.sql.shuffle.partitions") == before


@pytest.mark.spark
def test_between_a_path_and_the_engine_there_is_no_stage_in_python(spark: Any, tmp_path: Path) -> None:
    from xstreamcast.spark import continuous

    (tmp_path / "feed").mkdir()
    motion = continuous(spark, 'stream("s")/a', {"s": str(tmp_path / "feed")})
    plan = motion.rows._jdf.queryExecution().analyzed().toString()
    assert (plan.count("MapInArrow"), plan.count("TransformWithState")) == (0, 1)
    frames = spark.readStream.schema("seq long, content binary").parquet(str(tmp_path / "feed"))
    plan = continuous(spark, 'stream("s")/a', {"s": frames}).rows._jdf.queryExecution().analyzed().toString()
    assert plan.count("MapInArrow") == 2  # messages become rows, and rows are packed


@pytest.mark.spark
def test_nothing_but_the_micro_batch_is_a_job_of_a_query_and_its_workers_are_there_before(
    spark: Any, tmp_path: Path
) -> None:
    from motion_streams import write_file

    from xstreamcast.model.change import Fill
    from xstreamcast.spark import continuous

    (tmp_path / "feed").mkdir()
    write_file(tmp_path / "feed" / "1.xml", [Fill(region=0, content=b"<a>1</a>")])
    motion = continuous(spark, 'stream("s")/a', {"s": str(tmp_path / "feed")})
    assert len(motion.pool.warming) == 2
    for thread in motion.pool.warming:
        thread.join(60)
    running = motion.start(available_now=True)
    try:
        assert running.wait(300)
        jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(str(running.query.runId))
        assert (running.last, len(jobs)) == (0, 1)
    finally:
        running.stop()
    assert POOL not in spark.sparkContext.environment

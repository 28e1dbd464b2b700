"""Saved state outlives the version that wrote it: each format is read by this one, from files of that time."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from motion_stores import MemoryStore, batches
from motion_streams import write_file

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Eos, Replace, from_row
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.spark import continuous
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.replica import PROGRESS, Job
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.state import advance
from xstreamcast.spark.motion.state_log import FORMAT, READERS, read_head, row_of

SAVED = Path(__file__).parents[1] / "fixtures" / "state"
ALERTS = """for $a in stream("credit")//account
where sum($a/transaction?[now-P2D,now][status = "charged"]/amount) >= 100 return <alert id="{$a/@id}"/>"""
STRUCTURES = {"credit": GENERATOR.structures["credit"]}
JOB = Job((ALERTS, 'count(stream("credit")//transaction)'), ("alerts", "count"), STRUCTURES, compact_bytes=1500)


@pytest.fixture(autouse=True)
def _no_engine_lives_on() -> Iterator[None]:
    state._ENGINES.clear()
    yield
    state._ENGINES.clear()


def saved(format: int) -> tuple[MemoryStore, int]:
    """The state that a version of a format left, and how many changes it had seen."""
    read = json.loads((SAVED / f"format-{format}.json").read_text())
    store = MemoryStore()
    store.put_head(read["format"], json.dumps(read["head"]).encode())
    store.log = {int(version): b64decode(blob) for version, blob in read["log"].items()}
    store.base = {int(part): b64decode(blob) for part, blob in read["base"].items()}
    return store, read["changes"]


def test_there_is_a_saved_state_of_every_format() -> None:
    assert sorted(READERS) == list(range(1, FORMAT + 1))
    assert sorted(SAVED.glob("format-*.json")) == [SAVED / f"format-{format}.json" for format in READERS]


@pytest.mark.parametrize("format", range(1, FORMAT + 1))
def test_a_query_goes_on_from_a_state_of_any_format_and_saves_it_in_the_newest(format: int) -> None:
    store, seen = saved(format)
    before = read_head(store)
    assert before is not None
    assert before.parts, "what was compacted is in it, and a log behind it"
    assert store.log
    rows = [{**row_of(change, "credit"), "seq": n} for n, (_, change) in enumerate(GENERATOR.changes(0.003, 1, 60), 1)]
    whole = continuous_many(JOB.texts, structures=STRUCTURES, names=JOB.names)
    whole.feed_many([from_row(row) for row in rows[:seen]], "credit")
    told = [Materialiser() for _ in whole.queries]
    for number, query in enumerate(state.current(JOB, store, before).inflow.queries):
        for row in state_rows(query):
            told[number].apply(item_of(row))
    assert [one.text() for one in told] == [query.told() for query in whole.queries]
    answers = set()
    for batch in batches(rows[seen:], 10):
        for row in advance(JOB, store, batch):
            if row["change"] != PROGRESS:
                told[JOB.names.index(row["stream"])].apply(item_of(row))
        whole.feed_many([from_row(row) for row in batch], "credit")
        assert [one.text() for one in told] == [query.told() for query in whole.queries]
        answers.add(tuple(one.text() for one in told))
    assert len(answers) > 1
    assert store.saved is not None
    assert store.saved[0] == FORMAT


def state_rows(query: Any) -> list[dict[str, Any]]:
    from xstreamcast.spark.motion.state_told import told_rows

    return told_rows(query)


def test_a_state_of_a_later_format_is_refused_by_name() -> None:
    store, _ = saved(FORMAT)
    assert store.saved is not None
    store.saved = FORMAT + 1, store.saved[1]
    with pytest.raises(XStreamError, match=f"XSC0062.*format {FORMAT + 1}; this version reads up to {FORMAT}"):
        list(advance(JOB, store, []))


@pytest.mark.parametrize(
    "other",
    [
        {"texts": (ALERTS, "1")},
        {"names": ("alerts", "sum")},
        {"emit": "certain"},
        {"lateness": {"": 5.0}},
        {"variables": {"x": 1}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_state_of_another_query_is_refused(other: dict[str, Any]) -> None:
    from dataclasses import replace

    store, _ = saved(FORMAT)
    with pytest.raises(XStreamError, match=r"XSC0083.*another query"):
        list(advance(replace(JOB, **other), store, []))


@pytest.mark.spark
def test_spark_goes_on_from_a_checkpoint_of_the_first_format(spark: Any, tmp_path: Path) -> None:
    with tarfile.open(SAVED / "checkpoint-1.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    about = tmp_path / "state" / "state" / "0" / "_metadata" / "v2" / "0"
    about.write_text(about.read_text().replace("@CHECKPOINT@", str(tmp_path / "state")))  # Spark notes where it lay
    text = 'for $i in stream("s")//item where $i > 5 return <big>{ $i/text() }</big>'
    motion = continuous(spark, text, {"s": str(tmp_path / "feed")}, compact_bytes=700)
    later = [Replace(region=5, version=1, content=b"<item>11</item>"), Replace(region=2, version=2, content=b""), Eos()]
    write_file(tmp_path / "feed" / "004.xml", later)
    running = motion.start(checkpoint=tmp_path / "state", table=tmp_path / "table.db", available_now=True)
    try:
        assert running.answer() == "<big>6</big><big>8</big><big>9</big>", "as it was when it was stopped"
        assert running.wait(300)
        assert running.answer() == "<big>8</big><big>9</big><big>11</big>"
        assert running.answers.n == 10
    finally:
        running.stop()
    with sqlite3.connect(tmp_path / "table.db") as database:
        rows = database.execute("SELECT content FROM answer ORDER BY place").fetchall()
    assert "".join(content for (content,) in rows) == running.answer()

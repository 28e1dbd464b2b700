"""Saved states: one that an earlier process left is gone on from; those of other formats or queries are refused."""

from __future__ import annotations

import json
import tarfile
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from motion_stores import MemoryStore, advance, batches

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import from_row
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.spark import continuous
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.replica import PROGRESS
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.state_base import part_number
from xstreamcast.spark.motion.state_log import FORMAT, read_head, row_of

SAVED = Path(__file__).parents[1] / "fixtures" / "state"
ALERTS = """for $a in stream("credit")//account
where sum($a/transaction?[now-P2D,now][status = "charged"]/amount) >= 100 return <alert id="{$a/@id}"/>"""
STRUCTURES = {"credit": GENERATOR.structures["credit"]}
COUNT = 'count(stream("credit")//transaction)'
SUMS = """for $a in stream("credit")//account return <sum id="{$a/@id}">{ sum($a/transaction/amount) }</sum>"""
JOB = Job((ALERTS, COUNT), ("alerts", "count"), STRUCTURES, compact_bytes=1500)
JOBS = {"objects": JOB, "columns": Job((SUMS, COUNT), ("sums", "count"), STRUCTURES, compact_bytes=1500)}


@pytest.fixture(autouse=True)
def _no_engine_lives_on() -> Iterator[None]:
    state._ENGINES.clear()
    yield
    state._ENGINES.clear()


def saved(followed: str = "objects", format: int = FORMAT) -> tuple[MemoryStore, int]:
    """The state that a process left long ago, and how many changes it had seen."""
    read = json.loads((SAVED / f"format-{format}-{followed}.json").read_text())
    store = MemoryStore()
    store.put_head(read["format"], json.dumps(read["head"]).encode())
    store.log = {int(version): b64decode(blob) for version, blob in read["log"].items()}
    store.base = {int(part): b64decode(blob) for part, blob in read["base"].items()}
    return store, read["changes"]


@pytest.mark.parametrize("format", [5, FORMAT])
@pytest.mark.parametrize("followed", JOBS)
def test_a_query_goes_on_from_a_state_that_was_saved_before(followed: str, format: int) -> None:
    job, (store, seen) = JOBS[followed], saved(followed, format)
    before = read_head(store)
    assert before is not None
    assert (before.mark > 0) == ((followed, format) == ("columns", FORMAT))
    assert before.parts, "what was compacted is in it, and a log behind it"
    assert store.log
    assert GENERATOR.changes is not None
    rows = [{**row_of(change, "credit"), "seq": n} for n, (_, change) in enumerate(GENERATOR.changes(0.003, 1, 60), 1)]
    whole = continuous_many(job.texts, structures=STRUCTURES, names=job.names)
    whole.feed_many([from_row(row) for row in rows[:seen]], "credit")
    told = [Materialiser() for _ in whole.queries]
    replica = state.current(job, store, before)
    assert replica.is_columnar  # whoever had saved it
    for number, query in enumerate(replica.inflow.queries):
        for row in state_rows(query):
            told[number].apply(item_of(row))
    assert [one.text() for one in told] == [query.told() for query in whole.queries]
    answers = set()
    for batch in batches(rows[seen:], 10):
        for row in advance(job, store, batch):
            if row["change"] != PROGRESS:
                told[job.names.index(row["stream"])].apply(item_of(row))
        whole.feed_many([from_row(row) for row in batch], "credit")
        assert [one.text() for one in told] == [query.told() for query in whole.queries]
        answers.add(tuple(one.text() for one in told))
    assert len(answers) > 1


def state_rows(query: Any) -> list[dict[str, Any]]:
    from xstreamcast.spark.motion.state_told import told_rows

    return told_rows(query)


@pytest.mark.parametrize("format", [1, 2, 3, 4, FORMAT + 1])
def test_a_state_of_another_format_is_refused_by_name(format: int) -> None:
    store, _ = saved()
    assert store.saved is not None
    store.saved = format, store.saved[1]
    with pytest.raises(XStreamError, match=f"XSC0062.*format {format}; this version reads format {FORMAT}"):
        list(advance(JOB, store, []))


def test_a_state_whose_regions_are_not_those_that_were_told_is_refused() -> None:
    job = Job(("<r>{ stream('credit')//account/@id/string() ! <i>{ . }</i>, stream('credit')//customer }</r>",), ("r",))
    store = MemoryStore()
    job = replace(job, structures=STRUCTURES, compact_bytes=500, compact_blobs=1)
    assert GENERATOR.changes is not None
    rows = [{**row_of(change, "credit"), "seq": n} for n, (_, change) in enumerate(GENERATOR.changes(0.003, 1, 60), 1)]
    for batch in batches(rows, 10):
        list(advance(job, store, batch))
    head = read_head(store)
    assert head is not None
    assert head.parts
    where = part_number(head.bank, head.parts)
    about = json.loads(store.base[where])
    inner, other, *_ = about["told"][0]["shelves"]
    inner["anchor"], other["anchor"] = other["anchor"], inner["anchor"]
    store.base[where] = json.dumps(about).encode()
    state._ENGINES.clear()
    with pytest.raises(XStreamError, match=r"XSC0062.*not those that were told before"):
        list(advance(job, store, []))


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
    store, _ = saved()
    with pytest.raises(XStreamError, match=r"XSC0083.*another query"):
        list(advance(replace(JOB, **other), store, []))


@pytest.mark.spark
def test_spark_refuses_a_checkpoint_of_another_format(spark: Any, tmp_path: Path) -> None:
    with tarfile.open(SAVED / "checkpoint-1.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    about = tmp_path / "state" / "state" / "0" / "_metadata" / "v2" / "0"
    about.write_text(about.read_text().replace("@CHECKPOINT@", str(tmp_path / "state")))  # Spark notes where it lay
    text = 'for $i in stream("s")//item where $i > 5 return <big>{ $i/text() }</big>'
    motion = continuous(spark, text, {"s": str(tmp_path / "feed")}, compact_bytes=700)
    with pytest.raises(XStreamError, match=f"XSC0062.*a state of format 1; this version reads format {FORMAT}"):
        motion.start(checkpoint=tmp_path / "state", available_now=True)

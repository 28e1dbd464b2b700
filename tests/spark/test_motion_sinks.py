"""Where changes of answers go: each batch counts once, and what a table or a screen shows is the answer."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.continuous.query import ContinuousQuery, continuous
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.sink import ChangeLog, UpsertTable
from xstreamcast.spark.motion.sink_answers import Answers, Batch
from xstreamcast.spark.motion.state_log import Row

HOLES = b'<list><stream:hole id="1"/><stream:hole id="2"/><stream:hole id="3"/></list>'


def fill(region: int, content: bytes, **more: Any) -> Any:
    return item_of({"change": "replace", "region": region, "content": content, **more})


class Story:
    """A query, and what it tells, as batches."""

    def __init__(self, text: str = 'stream("s")//item') -> None:
        self.query: ContinuousQuery = continuous(text)
        self.answers = Answers.of(self.query.inflow)
        self.number = -1

    def batch(self, *changes: Any) -> Batch:
        self.query.inflow.feed_many(list(changes), "s")
        self.number += 1
        return Batch.of(self.number, self.query.rows(self.query.take()))


def contents(table: UpsertTable) -> str:
    rows = table.connection.execute("SELECT content FROM answer WHERE hidden = 0 ORDER BY place").fetchall()
    return "".join(content for (content,) in rows)


def memory_table() -> UpsertTable:
    return UpsertTable(lambda: sqlite3.connect(":memory:"))


def test_the_table_and_the_answers_follow_every_batch() -> None:
    story, table = Story(), memory_table()
    changes = [
        [fill(0, HOLES), fill(2, b"<item>2</item>")],
        [fill(1, b"<item>1</item>"), fill(3, b"<item>3</item>")],
        [fill(2, b"<item>two</item>")],
        [fill(1, b"")],
        [fill(0, b'<list><stream:hole id="3"/><stream:hole id="2"/></list>')],
    ]
    for some in changes:
        batch = story.batch(*some)
        told = story.answers.take(batch)
        table.take(batch, story.answers, told)
        assert contents(table) == story.query.text() == story.answers.queries[0].text()
        assert "".join(text for _, text in story.answers.queries[0].items()) == story.query.text()
    assert story.query.text() == "<item>3</item><item>two</item>"


def test_a_batch_that_comes_again_changes_nothing() -> None:
    story, table = Story(), memory_table()
    first = story.batch(fill(0, HOLES), fill(1, b"<item>1</item>"))
    second = story.batch(fill(1, b"<item>one</item>"))
    for batch in (first, second, first, second):
        table.take(batch, story.answers, [])
    assert contents(table) == "<item>one</item>"


def test_a_batch_that_fails_in_the_middle_leaves_the_table_as_it_was() -> None:
    story, table = Story(), memory_table()
    table.take(story.batch(fill(0, HOLES), fill(1, b"<item>1</item>")), story.answers, [])
    batch = story.batch(fill(1, b"<item>one</item>"), fill(2, b"<item>2</item>"))
    broken: list[Row] = [*batch.rows["answer"][:1], {**batch.rows["answer"][1], "content": b"\xff"}]
    with pytest.raises(UnicodeDecodeError):
        table.take(Batch(batch.number, {"answer": broken}, [], None), story.answers, [])
    assert contents(table) == "<item>1</item>"
    table.take(batch, story.answers, [])
    assert contents(table) == "<item>one</item><item>2</item>"


def test_an_answer_that_is_told_anew_replaces_what_was_there() -> None:
    story, table = Story(), memory_table()
    for some in (
        [fill(0, HOLES), fill(1, b"<item>1</item>"), fill(2, b"<item>2</item>")],
        [fill(9, b"<item>other</item>", doc="b")],  # a document with a name: from now on it is computed on T
        [fill(1, b"<item>one</item>")],
        [fill(0, b"<list/>", doc="b")],  # and now there are two
    ):
        batch = story.batch(*some)
        table.take(batch, story.answers, story.answers.take(batch))
        answer = story.answers.queries[0]
        if isinstance(story.query.told(), XStreamError):
            assert isinstance(answer.told(), XStreamError)
            assert "XSC0033" in contents(table)
        else:
            assert contents(table) == story.query.text() == answer.text()
            assert answer.shown == len(list(answer.items()))


@pytest.mark.parametrize("format", ["json", "parquet"])
def test_the_log_has_every_row_once_however_often_a_batch_comes(tmp_path: Path, format: Any) -> None:
    story, log = Story(), ChangeLog(tmp_path / "log", format)
    batches = [story.batch(fill(0, HOLES), fill(1, b"<item>1</item>")), story.batch(), story.batch(fill(1, b""))]
    for batch in (*batches, *batches):
        log.take(batch, story.answers, [])
    files = sorted((tmp_path / "log").iterdir())
    assert [file.name for file in files] == [f"0000000000.{format}", f"0000000002.{format}"]
    if format == "json":
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    else:
        from pyarrow import parquet

        rows = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))


def test_a_name_that_is_no_name_and_a_format_that_is_none_are_refused(tmp_path: Path) -> None:
    unknown: Any = "csv"
    with pytest.raises(XStreamError, match="XSC0065"):
        UpsertTable.sqlite(tmp_path / "t.db", "answers; DROP TABLE answers")
    with pytest.raises(XStreamError, match="XSC0065"):
        ChangeLog(tmp_path, unknown)

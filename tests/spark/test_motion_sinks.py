"""Where changes of answers go: each batch counts once, and what a table or a screen shows is the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from databases import rows

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Replace
from xstreamcast.run.continuous.display.shelf import Emitted
from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.sink import ChangeLog, UpsertTable
from xstreamcast.spark.motion.sink_answers import Answers, Batch

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
        return Batch.of(self.number, self.query.rows(self.query.take()), "one")

    def table(self, folder: Path, **given: Any) -> UpsertTable:
        """A table of the answer, open."""
        made = UpsertTable(f"sqlite:///{folder}/answers.db#answer", columns="markup=. as xml", **given)
        made.open(self.query.inflow, self.answers)
        return made


def contents(folder: Path) -> str:
    return "".join(markup for (markup,) in rows(f"sqlite:///{folder}/answers.db", "answer"))


def test_the_table_and_the_answers_follow_every_batch(tmp_path: Path) -> None:
    story = Story()
    table = story.table(tmp_path)
    changes = [
        [fill(0, HOLES), fill(2, b"<item>2</item>")],
        [fill(1, b"<item>1</item>"), fill(3, b"<item>3</item>")],
        [fill(2, b"<item>two</item>")],
        [fill(1, b"")],
        [fill(0, b'<list><stream:hole id="3"/><stream:hole id="2"/></list>')],
    ]
    for some in changes:
        batch = story.batch(*some)
        table.take(batch, story.answers, story.answers.take(batch))
        assert contents(tmp_path) == story.query.text() == story.answers.queries[0].text()
        assert "".join(text for _, text in story.answers.queries[0].items()) == story.query.text()
    assert story.query.text() == "<item>3</item><item>two</item>"


def test_a_batch_that_comes_again_changes_nothing(tmp_path: Path) -> None:
    story = Story()
    first = story.batch(fill(0, HOLES), fill(1, b"<item>1</item>"))
    second = story.batch(fill(1, b"<item>one</item>"))
    told = [story.answers.take(batch) for batch in (first, second)]
    table = story.table(tmp_path)
    for number in (0, 1, 0, 1):
        table.take((first, second)[number], story.answers, told[number])
    assert contents(tmp_path) == "<item>one</item>"
    table.close()
    again = story.table(tmp_path)  # after a crash: the batch was written, and Spark did not learn of it
    again.take(second, story.answers, told[1])
    again.take(story.batch(), story.answers, [[]])
    assert contents(tmp_path) == "<item>one</item>"


def test_a_batch_that_fails_in_the_middle_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    story = Story()
    table = story.table(tmp_path)
    first = story.batch(fill(0, HOLES), fill(1, b"<item>1</item>"))
    table.take(first, story.answers, story.answers.take(first))
    before = story.answers.n
    batch = story.batch(fill(1, b"<item>one</item>"), fill(2, b"<item>2</item>"))
    told = story.answers.take(batch)
    broken = [Emitted(Replace(region=99, content=b"<item>"), "z")]
    with pytest.raises(XStreamError):
        table.take(batch, story.answers, [[*told[0][:1], *broken]])
    assert contents(tmp_path) == "<item>1</item>"
    table.close()
    again = story.table(tmp_path)
    again.take(batch, story.answers, told)
    assert contents(tmp_path) == "<item>one</item><item>2</item>"
    assert story.answers.n == before


def test_a_table_that_is_not_where_the_answer_is_becomes_equal_to_it(tmp_path: Path) -> None:
    story = Story()
    table = story.table(tmp_path)
    batches = [
        story.batch(fill(0, HOLES), fill(1, b"<item>1</item>")),
        story.batch(fill(2, b"<item>2</item>")),
        story.batch(fill(3, b"<item>3</item>"), fill(1, b"")),
    ]
    told = [story.answers.take(batch) for batch in batches[:1]]
    table.take(batches[0], story.answers, told[0])
    table.close()
    story.answers.take(batches[1])  # … of which no table heard
    late = story.table(tmp_path)
    late.take(batches[2], story.answers, story.answers.take(batches[2]))
    assert contents(tmp_path) == story.query.text() == "<item>2</item><item>3</item>"


def test_a_new_run_leaves_the_table_alone_until_it_is_as_far(tmp_path: Path) -> None:
    changes = [
        [fill(0, HOLES), fill(1, b"<item>1</item>")], [fill(2, b"<item>2</item>")], [fill(3, b"<item>3</item>")],
    ]  # fmt: skip
    seen = []
    for run in ("one", "other"):
        story = Story()
        table = story.table(tmp_path)
        for number, some in enumerate(changes):
            batch = story.batch(*some)
            batch.query_id = run
            told = story.answers.take(batch)
            story.answers.n = number + 1
            table.take(batch, story.answers, told)
            seen.append(contents(tmp_path).count("<item>"))
        table.close()
    assert seen == [1, 2, 3, 3, 3, 3]


def test_what_changes_while_the_answer_is_an_error_is_in_the_table_after_a_restart(tmp_path: Path) -> None:
    story = Story('stream("s")//item/xs:integer(.)')
    first, second, third, fourth = (
        story.batch(fill(0, HOLES), fill(1, b"<item>1</item>")),
        story.batch(fill(2, b"<item>x</item>"), fill(3, b"<item>3</item>")),
        story.batch(fill(1, b"<item>7</item>")),
        story.batch(fill(2, b"<item>2</item>")),
    )
    table = story.table(tmp_path)
    for batch in (first, second):
        table.take(batch, story.answers, story.answers.take(batch))
    assert contents(tmp_path) == "1"
    table.close()
    again = story.table(tmp_path)
    for batch in (third, fourth):
        again.take(batch, story.answers, story.answers.take(batch))
    assert contents(tmp_path) == "723"


def test_an_answer_that_is_told_anew_replaces_what_was_there(tmp_path: Path) -> None:
    story = Story()
    table = story.table(tmp_path)
    before = ""
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
            assert contents(tmp_path) == before
        else:
            before = contents(tmp_path)
            assert before == story.query.text() == answer.text()
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
        listed = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    else:
        from pyarrow import parquet

        listed = [row for file in files for row in parquet.read_table(file).to_pylist()]
    assert [row["seq"] for row in listed] == list(range(1, len(listed) + 1))


def test_a_table_of_no_query_and_a_format_that_is_none_are_refused(tmp_path: Path) -> None:
    unknown: Any = "csv"
    two = continuous_many(['stream("s")//a', 'stream("s")//b'], names=["a", "b"])
    for query in (None, "c"):
        with pytest.raises(XStreamError, match="XSC0065"):
            UpsertTable(f"sqlite:///{tmp_path}/t.db#t", query=query).open(two, Answers.of(two))
    with pytest.raises(XStreamError, match="XSC0156"):
        UpsertTable("t.db", query="a").open(two, Answers.of(two))
    with pytest.raises(XStreamError, match="XSC0065"):
        ChangeLog(tmp_path, unknown)

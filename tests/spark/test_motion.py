"""Continuous queries on Spark: after every micro-batch the answer is what the embedded engine says of the same."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from databases import rows
from motion_streams import (
    FRAUD,
    GENERATORS,
    MAXED_OUT,
    embedded_answers,
    spoken,
    write_file,
    write_streams,
)

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import ROW, Eos, Fill, Replace
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.continuous_query import continuous, continuous_many
from xstreamcast.spark.motion.keeper import Keeper
from xstreamcast.spark.motion.rows import item_of

pytestmark = pytest.mark.spark


def run(motion: Any, **given: Any) -> list[tuple[int, list[str]]]:
    """Take all that is there: how many changes had come, and the answers, after each micro-batch."""
    seen: list[tuple[int, list[str]]] = []
    running = motion.start(
        display=lambda answers: seen.append((answers.n, [spoken(one.told()) for one in answers.queries])),
        available_now=True,
        **given,
    )
    try:
        assert running.wait(300)
    finally:
        running.stop()
    return seen


def put(folder: Path, number: int, *changes: Any) -> None:
    folder.mkdir(exist_ok=True)
    write_file(folder / f"{number:03}.xml", changes)


def item(region: int, value: str, version: int) -> Replace:
    return Replace(region=region, version=version, content=f"<item>{value}</item>".encode())


HOLES = Fill(region=0, content=b'<list><stream:hole id="1"/><stream:hole id="2"/><stream:hole id="3"/></list>')


def table_text(path: Path) -> str:
    return " ".join(value for (value,) in rows(f"sqlite:///{path}", "answer"))


def test_stopped_and_started_again_it_goes_on_and_every_change_counts_once(spark: Any, tmp_path: Path) -> None:
    feed, state, table, log = (tmp_path / name for name in ("feed", "state", "table.db", "log"))
    feed.mkdir()
    motion = continuous(spark, 'stream("s")//item[. > 1]', {"s": str(feed)})
    put(feed, 1, HOLES, item(1, "5", 1), item(3, "7", 1))
    url = f"sqlite:///{table}#answer"
    sinks: dict[str, Any] = {"checkpoint": state, "table": url, "log": log, "log_format": "json"}
    assert run(motion, **sinks)[-1] == (3, ["<item>5</item><item>7</item>"])
    assert run(motion, **sinks) == []
    put(feed, 2, item(2, "6", 1), item(1, "0", 2), item(1, "9", 1))
    assert run(motion, **sinks)[-1] == (6, ["<item>6</item><item>7</item>"])
    assert table_text(table) == "6 7"
    logged = [json.loads(line) for file in sorted(log.iterdir()) for line in file.read_text().splitlines()]
    changes = [row for row in logged if row["change"] != "structure"]
    assert [row["seq"] for row in changes] == list(range(1, len(changes) + 1))
    told = Materialiser()
    for row in logged:
        told.apply(item_of(row))
    assert told.text() == "<item>6</item><item>7</item>"


def test_an_error_is_the_answer_while_it_lasts_in_the_table_too(spark: Any, tmp_path: Path) -> None:
    feed, table = tmp_path / "feed", tmp_path / "table.db"
    put(feed, 1, HOLES, item(1, "5", 1))
    put(feed, 2, item(2, "x", 1))
    put(feed, 3, item(2, "6", 2))
    motion = continuous(spark, 'stream("s")//item/xs:integer(.)', {"s": str(feed)}, options={"maxFilesPerTrigger": "1"})
    seen = []

    def look(answers: Any) -> None:
        seen.append(spoken(answers.queries[0].told()))

    tables = []
    url = f"sqlite:///{table}#answer"

    def failure() -> str | None:
        with sqlite3.connect(table) as database:
            ((told,),) = database.execute("SELECT failure FROM xcast_tables")
        return None if told is None else str(told)

    class Looking:
        def take(self, *_: Any) -> None:
            tables.append((table_text(table), failure()))

        def close(self) -> None:
            pass

    running = motion.start(display=look, table=url, make_sinks=lambda *_: [Looking()], available_now=True)
    try:
        assert running.wait(300)
    finally:
        running.stop()
    assert seen == ["5", "error FORG0001", "5 6"]
    assert [text for text, _ in tables] == ["5", "5", "5 6"]  # the rows are those of before
    assert (tables[0][1], tables[2][1]) == (None, None)
    assert "FORG0001" in str(tables[1][1])


def test_any_streaming_frame_with_content_and_a_number_is_a_stream(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "messages"
    feed.mkdir()
    messages = [
        (2, '<stream:filler id="2"><item>b</item></stream:filler>'),
        (3, '<stream:replace id="2"><item>c</item></stream:replace><stream:eos/>'),
        (1, f'<stream:filler id="0">{HOLES.content.decode()}</stream:filler>'),
        (4, "<stream:filler id='nobody'>x</stream:filler>"),
    ]
    (feed / "1.json").write_text("".join(json.dumps({"offset": n, "value": text}) + "\n" for n, text in messages))
    frame = spark.readStream.schema("offset long, value string").json(str(feed))
    motion = continuous(
        spark, 'stream("s")//item/string()', {"s": frame.selectExpr("value AS content", "offset AS seq")}
    )
    assert tuple(motion.columns) == ROW
    assert motion.isStreaming
    log = tmp_path / "log"
    assert run(motion, log=log, log_format="json")[-1][1] == ["c"]
    rows = [json.loads(line) for file in log.iterdir() for line in file.read_text().splitlines()]
    (aside,) = [row for row in rows if row["change"] == "quarantine"]
    assert json.loads(aside["content"])["source"] == "s:4"


def test_change_rows_of_a_frame_are_ordered_by_their_versions(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "rows"
    feed.mkdir()
    rows = [
        {"region": 1, "version": 2, "content": "<item>new</item>"},
        {"region": 1, "version": 1, "content": "<item>old</item>"},
        {"region": 0, "version": 1, "content": HOLES.content.decode()},
    ]
    (feed / "1.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = spark.readStream.schema("region long, version long, content string").json(str(feed))
    assert run(continuous(spark, 'stream("s")//item', {"s": frame}))[-1] == (3, ["<item>new</item>"])


@pytest.mark.parametrize(
    ("columns", "code"),
    [("'x' AS content", "XSC0068"), ("1 AS seq", "XSC0068"), (None, "XSC0068")],
    ids=["no-order", "no-content", "not-streaming"],
)
def test_a_frame_without_an_order_or_content_is_refused(spark: Any, columns: str | None, code: str) -> None:
    rate = spark.readStream.format("rate").load()
    frame = rate.selectExpr(columns) if columns else spark.range(1).selectExpr("'x' AS content", "id AS seq")
    with pytest.raises(XStreamError, match=code):
        continuous(spark, 'stream("s")//item', {"s": frame})


def test_a_stream_that_is_not_given_and_a_query_that_is_none_are_refused_at_once(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(XStreamError, match="FODC0002"):
        continuous(spark, 'stream("other")//item', {"s": str(tmp_path)})
    with pytest.raises(XStreamError, match="XPST0003"):
        continuous(spark, "for $x in", {"s": str(tmp_path)})
    with pytest.raises(XStreamError, match="XSC0065"):
        continuous(spark, 'stream("s")//item', {"s": str(tmp_path)}).start(display="holographic")


def test_the_plan_names_the_steps_and_the_listener_uses_their_names(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    put(feed, 1, HOLES, item(1, "5", 1), Eos())
    motion = continuous(spark, 'count(stream("s")//item)', {"s": str(feed)})
    plan = motion.plan()
    running = motion.start(available_now=True)
    assert "answer: s1" in running.query.name
    try:
        assert running.wait(300)
    finally:
        running.stop()
    assert running.figures.rows == 3
    assert running.figures.state_bytes > 0
    (operator,) = running.figures.operators
    step = operator.split()[0]
    assert f"\n  {step} " in plan
    assert running.answers.ended


def test_what_fails_in_an_operator_or_in_a_sink_is_raised_as_it_was(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    put(feed, 1, HOLES, item(1, "5", 1))

    def broken(_: Any) -> None:
        raise ValueError("the screen is broken")

    running = continuous(spark, 'count(stream("s")//item)', {"s": str(feed)}).start(display=broken, available_now=True)
    with pytest.raises(ValueError, match="the screen is broken"):
        running.wait(300)
    running.stop()
    structure = '<tag id="1" name="list" type="snapshot"><tag id="2" name="item" type="filler"/></tag>'
    put(feed, 2, Replace(region=0, content=b'<list><stream:hole id="1"/><stream:mutable id="9"/></list>'))
    spread = continuous(spark, 'count(stream("s")//item)', {"s": str(feed)}, structures=structure, bucket_records=1)
    running = spread.start(available_now=True)
    with pytest.raises(XStreamError, match="XSC0069"):
        running.wait(300)
    running.stop()


def test_the_wall_clock_goes_on_although_nothing_comes(spark: Any, tmp_path: Path) -> None:
    feed = tmp_path / "feed"
    put(feed, 1, HOLES)
    seen: set[str] = set()
    twice = threading.Event()

    def look(answers: Any) -> None:
        seen.add(spoken(answers.queries[0].told()))
        if len(seen) > 1:
            twice.set()

    motion = continuous(spark, 'string(now()), count(stream("s")/list)', {"s": str(feed)}, clock="wall")
    running = motion.start(display=look)
    try:
        assert twice.wait(300), running.query.exception()
    finally:
        running.stop()
    assert all(answer.endswith("Z 1") for answer in seen)


def test_a_folder_is_followed_until_its_stream_ends_and_shown_live(spark: Any, tmp_path: Path) -> None:
    from io import StringIO

    from rich.console import Console

    from xstreamcast.spark.motion.sink_display import LiveDisplay

    feed, screen = tmp_path / "feed", StringIO()
    put(feed, 1, HOLES, item(1, "5", 1))
    motion = continuous_many(spark, ['stream("s")//item', 'count(stream("s")//item)'], {"s": str(feed)})
    batches = []

    def grow(answers: Any) -> None:
        batches.append([spoken(one.told()) for one in answers.queries])
        if len(batches) == 1:
            put(feed, 2, item(2, "6", 1), Eos())

    console = Console(file=screen, force_terminal=True, width=100, height=30)
    running = motion.start(display=grow, make_sinks=lambda answers, figures: [LiveDisplay(answers, figures, console)])
    try:
        assert running.until_ended(120)
    finally:
        running.stop()
    assert batches == [["<item>5</item>", "1"], ["<item>5</item><item>6</item>", "2"]]
    assert "<item>6</item>" in screen.getvalue()
    assert "MB of state" in screen.getvalue()


def test_watch_shows_the_same_trace_with_either_engine(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from xstreamcast.cli import watch_spark
    from xstreamcast.cli.terminal import Diagnostics

    streams = write_streams(tmp_path, 3, {"credit": GENERATORS["credit"]})
    watch_spark.follow(
        spark, [MAXED_OUT, FRAUD], streams, {}, Diagnostics(), format=None, trace=True, until_idle=None,
        checkpoint=None, batch=None, options={"maxFilesPerTrigger": "1"},
    )  # fmt: skip
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = embedded_answers({"0": MAXED_OUT, "1": FRAUD}, streams, 3)
    last = {line["query"]: line["answer"] for line in lines}
    assert [last.get(number, "") for number in range(2)] == expected[-1]
    assert all(expected[-1])
    assert all(line["changes"] for line in lines)


def test_watch_emits_what_is_possible_and_puts_aside_what_is_late_with_either_engine(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from xstreamcast.cli import watch_spark
    from xstreamcast.cli.terminal import Diagnostics

    streams = write_streams(tmp_path, 3, {"credit": GENERATORS["credit"]})
    charged = """for $t in stream("credit")//transaction where $t/status = "charged" return $t/vendor"""
    modes: dict[str, Any] = {"emit": "optimistic", "lateness": {"": 1500 * 86_400.0}}
    report = Diagnostics(quiet=True)
    watch_spark.follow(
        spark, [charged], streams, {}, report, format=None, trace=True, until_idle=None, checkpoint=None, batch=None,
        options={"maxFilesPerTrigger": "1"}, **modes,
    )  # fmt: skip
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    expected = [answers[0] for answers in embedded_answers({"charged": charged}, streams, 3, **modes)]
    eager = [answers[0] for answers in embedded_answers({"charged": charged}, streams, 3)]
    assert expected != eager, "the modes make a difference"
    changes = [answer for before, answer in pairwise(["", *expected]) if answer != before]
    assert [line["answer"] for line in lines] == changes


class Noting(Keeper):
    """Notes how many engines live in its worker before each micro-batch."""

    notes = ""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        from xstreamcast.spark.motion import state

        with Path(self.notes).open("a") as out:
            print(os.getpid(), *[replica.head.version for replica in state._ENGINES.values()], file=out)
        yield from super().handleInputRows(key, rows, timerValues)


def test_a_query_that_goes_on_has_one_engine_which_the_first_micro_batch_finds(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(sys.modules[__name__])  # workers need not find this file
    monkeypatch.setattr(Noting, "notes", str(tmp_path / "notes"))
    monkeypatch.setattr(state, "current", lambda *_: pytest.fail("the driver makes an engine"))
    feed = tmp_path / "feed"
    text, sinks = 'sum(stream("s")//item)', dict[str, Any](checkpoint=tmp_path / "state")
    put(feed, 1, HOLES, item(1, "5", 1), item(3, "7", 1))
    assert run(continuous(spark, text, {"s": str(feed)}, keeper=Noting), **sinks) == [(3, ["12"])]
    put(feed, 2, item(2, "6", 1))
    assert run(continuous(spark, text, {"s": str(feed)}, keeper=Noting), **sinks) == [(4, ["18"])]
    first, second = [line.split() for line in (tmp_path / "notes").read_text().splitlines()]
    assert (first[1:], second[1:]) == ([], ["1"])


def test_a_state_of_another_query_is_refused_when_it_is_taken_over(spark: Any, tmp_path: Path) -> None:
    feed, sinks = tmp_path / "feed", dict[str, Any](checkpoint=tmp_path / "state")
    put(feed, 1, HOLES, item(1, "5", 1))
    assert run(continuous(spark, 'sum(stream("s")//item)', {"s": str(feed)}), **sinks) == [(2, ["5"])]
    with pytest.raises(XStreamError, match=r"XSC0083.*another query"):
        continuous(spark, 'count(stream("s")//item)', {"s": str(feed)}).start(**sinks)

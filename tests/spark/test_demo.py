"""The demo ends by itself with the truth, and leaves nothing behind, also when it is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from xstreamcast.cli.demo import QUERIES, Show, from_scratch, play, send, verdict
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Change, Eos, Fill
from xstreamcast.model.fragment import read_stream
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.spark.listener import Figures
from xstreamcast.spark.sink_answers import Answers, Batch

RUN = "import typer; from xstreamcast.cli.demo import demo_command; typer.run(demo_command)"


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN, *options],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def processes_of(session: int) -> list[str]:
    """What still runs in a session of processes, by name."""
    listed = subprocess.run(["ps", "-eo", "sess=,stat=,args="], capture_output=True, text=True, check=True).stdout
    running = (line.split(None, 2) for line in listed.splitlines())
    return [args for number, state, args in running if number == str(session) and not state.startswith("Z")]


@pytest.mark.spark
@pytest.mark.parametrize(("options", "code"), [((), 130), (("--keep",), 0)], ids=["by-itself", "keep"])
def test_control_c_ends_the_demo_at_once_and_leaves_nothing(
    tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    with start(tmp_path, "--factor", "0.005", "--seconds", "600", *options) as demo:
        assert demo.stdout is not None
        said = ""
        for line in demo.stdout:
            said += line
            if line.startswith("batch"):
                os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to all of them
                break
        said += demo.stdout.read()
    assert demo.returncode == code, said
    assert "Traceback" not in said
    assert ("from scratch over all" in said) == (code == 0), said
    assert processes_of(demo.pid) == []
    assert [path.name for path in tmp_path.iterdir() if "xstreamcast" in path.name] == []


def test_the_demo_shows_the_plan_and_the_batches_and_ends_with_the_answers_from_scratch(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(width=200)
    show, running = play(spark, tmp_path, 0.01, 1, 1.0, console, live=False)
    assert verdict(tmp_path / "credit", show, running.answers, console, 1.0)
    said = capsys.readouterr().out
    assert "transformWithState" in said
    assert "Select σ" in said
    assert re.search(r"batch +\d+: +\d+ fragments", said)
    assert re.search(r"fraud: \d+ appeared, \d+ were withdrawn", said)
    assert said.count("That is what the query says when it is run from scratch") == 2


def test_another_answer_than_from_scratch_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ack").write_text("1000000000")
    feed = tmp_path / "credit"
    feed.mkdir()
    send(str(feed), 0.005, 1, 0.5)
    changes = [arrival.item for file in sorted(feed.iterdir()) for arrival in read_stream(file)]
    inflow = continuous_many(QUERIES.values(), names=list(QUERIES), structures=GENERATOR.structures)
    answers = Answers.of(inflow)
    inflow.feed_many(changes, "credit")
    rows = [row for query in inflow.queries for row in query.rows(query.take())]
    show = Show(Console(), tmp_path / "ack", Figures(), lines=True)
    batch = Batch.of(0, rows)
    show.take(batch, answers, answers.take(batch))
    answers.n = sum(isinstance(change, Change) for change in changes)
    assert from_scratch(feed, answers.n)["maxed-out"] == inflow.queries[1].text()
    assert verdict(feed, show, answers, Console(), 1.0)
    answers.queries[0].take([{**rows[0], "region": 1, "content": b"<alert/>", "change": "replace"}])
    assert not verdict(feed, show, answers, Console(width=200), 1.0)
    assert "That is NOT what the query says" in capsys.readouterr().out


def test_the_sender_writes_every_fragment_once_out_of_order_in_files_that_appear_whole(tmp_path: Path) -> None:
    (tmp_path / "ack").write_text("1000000000")
    feed = tmp_path / "credit"
    feed.mkdir()
    send(str(feed), 0.005, 1, 1.0)
    found = [arrival.item for file in sorted(feed.iterdir()) for arrival in read_stream(file)]
    structure, root, *rest, last = found
    assert not isinstance(structure, Change)
    assert isinstance(root, Fill)
    assert root.region == 0
    assert isinstance(last, Eos)
    assert GENERATOR.changes is not None
    expected = [change for _, change in GENERATOR.changes(0.005, 1, 1000)][1:]
    story = len(rest)
    assert Counter(rest) <= Counter(expected)
    assert rest != expected[:story]
    assert all(count == 1 for count in Counter(rest).values())

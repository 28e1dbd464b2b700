"""The demo ends by itself with the truth, and leaves nothing behind, also when it is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from xstreamcast.cli.demo import QUERIES, Show, from_scratch, play, verdict
from xstreamcast.cli.demo_bank import Pace, publish
from xstreamcast.cli.demo_processes import Server, serving
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Change, ContentChange, Eos, Fill
from xstreamcast.model.structure import Structure
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.serve.client import parse_address, read
from xstreamcast.spark.motion.listener import Figures
from xstreamcast.spark.motion.sink_answers import Answers, Batch


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "xstreamcast", "demo", *options],
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
@pytest.mark.parametrize(
    ("options", "sent", "code"),
    [((), signal.SIGINT, 130), (("--keep",), signal.SIGINT, 0), ((), signal.SIGTERM, 143), ((), signal.SIGKILL, -9)],
    ids=["by-itself", "keep", "killed", "killed-outright"],
)
def test_the_demo_ends_at_once_and_leaves_no_process(
    tmp_path: Path, options: tuple[str, ...], sent: signal.Signals, code: int
) -> None:
    with start(tmp_path, "--factor", "0.005", "--seconds", "600", *options) as demo:
        assert demo.stdout is not None
        said = ""
        for line in demo.stdout:
            said += line
            if line.startswith("Starting Spark" if sent == signal.SIGTERM else "batch"):
                if sent == signal.SIGINT:
                    os.killpg(demo.pid, sent)  # as a terminal does: to all of them
                else:
                    demo.send_signal(sent)
                break
        said += demo.stdout.read()
    assert demo.returncode == code, said
    assert "Traceback" not in said
    assert ("from scratch over the" in said) == (code == 0), said
    until = time.monotonic() + 300
    # Who is killed outright cannot wait for its children, and nobody for Spark's workers, which are its grandchildren.
    while processes_of(demo.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of(demo.pid) == []
    if sent != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir() if "xstreamcast" in path.name] == []


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("demo") / "log") as made:
        yield made


def elsewhere(server: Server, name: str) -> Server:
    """The same server, another stream."""
    return replace(server, address=server.address.rpartition("/")[0] + f"/{name}")


def test_the_demo_shows_the_plan_and_the_batches_and_ends_with_the_answers_from_scratch(
    spark: Any, tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(width=200)
    show, running = play(spark, tmp_path, server, 0.01, 1, 1.0, console, live=False)
    assert verdict(from_scratch(server.address, running.answers.n), show, running.answers, console, 1.0)
    said = capsys.readouterr().out
    assert f"On the air: {server.address}" in said
    assert "transformWithState" in said
    assert "Select σ" in said
    assert re.search(r"batch +\d+: +\d+ fragments", said)
    assert re.search(r"fraud: \d+ appeared, \d+ were withdrawn", said)
    assert said.count("That is what the query says when it is run from scratch") == 2


def published(server: Server, seconds: float) -> list[Change | Structure]:
    """The log of a server after the bank has told it everything; nobody reads, and it does not wait."""
    publish(server.address, server.token, 0.005, 1, seconds, Pace(1 << 40))
    return [item for _, item in read(parse_address(server.address), limit=10_000).entries]


def test_another_answer_than_from_scratch_is_noticed(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    own = elsewhere(server, "noticed")
    items = published(own, 0.5)
    inflow = continuous_many(QUERIES.values(), names=list(QUERIES), structures=GENERATOR.structures)
    answers = Answers.of(inflow)
    inflow.feed_many(items, "credit")
    rows = [row for query in inflow.queries for row in query.rows(query.take())]
    told: list[int] = []
    show = Show(Console(), told.append, Figures(), lines=True)
    batch = Batch.of(0, rows)
    show.take(batch, answers, answers.take(batch))
    assert told == [answers.n]
    expected = from_scratch(own.address, len(items))
    assert expected["maxed-out"] == inflow.queries[1].text()
    assert verdict(expected, show, answers, Console(), 1.0)
    answers.queries[0].take([{**rows[0], "region": 1, "content": b"<alert/>", "change": "replace"}])
    assert not verdict(expected, show, answers, Console(width=200), 1.0)
    assert "That is NOT what the query says" in capsys.readouterr().out


def test_the_bank_publishes_every_fragment_once_out_of_order(server: Server) -> None:
    structure, root, *rest, last = published(elsewhere(server, "once"), 1.0)
    assert not isinstance(structure, Change)
    assert isinstance(root, Fill)
    assert root.region == 0
    assert isinstance(last, Eos)
    assert GENERATOR.changes is not None

    def known(change: Any) -> tuple[object, ...]:
        return change.region, change.tsid, change.valid_time, change.content

    expected = [known(change) for _, change in GENERATOR.changes(0.005, 1, 1000) if isinstance(change, ContentChange)]
    got = [known(change) for change in rest if isinstance(change, ContentChange)]
    assert Counter(got) <= Counter(expected)
    assert got != expected[1 : len(got) + 1]
    assert all(count == 1 for count in Counter(got).values())


def test_the_server_of_the_demo_goes_when_it_is_let_go(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as made:
        assert made.child.process.poll() is None
        assert made.child.process.stdin is not None
        made.child.process.stdin.close()  # as when the demo is killed outright
        assert made.child.process.wait(300) == 0

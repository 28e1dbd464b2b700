"""The demo ends by itself with the truth, and leaves nothing behind, also when it is interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from rich.console import Console

from xstreamcast.cli.demo import ALERTS, LOOK, SPENDERS, browse, from_scratch, ledger_words
from xstreamcast.cli.demo_bank import RATE, Pace, accounts, out_of_order, publish
from xstreamcast.cli.demo_processes import Server, serving
from xstreamcast.cli.demo_show import Alert, Show
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Change, ContentChange, Eos, Fill
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.run.query import query
from xstreamcast.serve.client import parse_address, read
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
    ("options", "moment", "sent", "code"),
    [
        ((), "with the start of Spark's processes", signal.SIGINT, 130),
        (("--keep",), "from here on slowly", signal.SIGINT, 0),
        ((), "is on the air", signal.SIGTERM, 143),
        ((), "from here on slowly", signal.SIGKILL, -9),
    ],
    ids=["in-the-bulk", "keep", "killed", "killed-outright"],
)
def test_the_demo_ends_at_once_and_leaves_no_process(
    tmp_path: Path, options: tuple[str, ...], moment: str, sent: signal.Signals, code: int
) -> None:
    with start(tmp_path, "--factor", "0.005", "--bulk", "600", "--seconds", "600", *options) as demo:
        assert demo.stdout is not None
        said = ""
        for line in demo.stdout:
            said += line
            if moment in line:
                if sent == signal.SIGINT:
                    os.killpg(demo.pid, sent)  # as a terminal does: to all of them
                else:
                    demo.send_signal(sent)
                break
        said += demo.stdout.read()
    assert demo.returncode == code, said
    assert "Traceback" not in said
    assert said.count("the same, byte for byte") == (2 if code == 0 else 0), said
    until = time.monotonic() + 300
    # Who is killed outright cannot wait for its children, and nobody for Spark's workers, which are its grandchildren.
    while processes_of(demo.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert processes_of(demo.pid) == []
    if sent != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir() if "xstreamcast" in path.name] == []


@pytest.mark.spark
def test_alerts_come_and_are_withdrawn_a_process_is_killed_and_the_answer_is_that_from_scratch(tmp_path: Path) -> None:
    with start(tmp_path, "--factor", "0.3", "--bulk", "8000", "--seconds", "10") as demo:
        assert demo.stdout is not None
        said = demo.stdout.read()
    assert demo.returncode == 0, said
    lines = said.splitlines()
    assert 25 <= len(lines) <= 42, said
    assert re.search(r"[^\n\x20-\x7e]", said) is None, "a log has no control characters"
    assert SPENDERS in said
    assert ALERTS in said
    opening = accounts(0.3, 1)
    assert f"the bank is open: {opening:,} fragments" in said
    # The first answer is that of a query over the ledger as a plain document.
    ledger = tmp_path / "ledger.xml"
    subprocess.run([sys.executable, "-m", "xstreamcast", *ledger_words(0.3, 1, 8000, ledger)], check=True)
    assert f" MB: {LOOK} is {query(LOOK, context=ledger).one():,}, says Spark" in said
    # The ledger is taken in by four micro-batches, each with its rate but the first.
    assert re.findall(r" s  ([\d,]+) fragments, [\d,]+ a second; ", said) == ["4,001", "6,002", "8,001"]
    assert re.search(r" s  2,000 fragments, with the start of Spark's processes", said)
    # Each alert that came live says which charges of one hour are its reason.
    came = [number for number, line in enumerate(lines) if re.search(r" s  \+ \d+ .* within the hour, limit ", line)]
    assert came, said
    for number in came:
        charged = re.search(r": ([\d,.]+) within the hour", lines[number])
        amounts = re.findall(r"\d\d:\d\d ([\d,.]+\.\d\d)", lines[number + 1])
        assert charged is not None
        assert round(sum(float(one.replace(",", "")) for one in amounts), 2) == float(charged[1].replace(",", ""))
    withdrawn = re.findall(r" s  - \d+ .* is withdrawn: it is \d\d:\d\d, and .* more than an hour ago; ", said)
    assert withdrawn, said
    killed = re.search(r"(?s)! kill -9 (\d+): .* process (\d+) goes on from the state: [\d,]+ fragments", said)
    assert killed is not None, said
    assert killed[1] != killed[2]
    assert f"live: {len(came)} alert" in said
    assert f" came, {len(withdrawn)} withdrawn\n" in said
    assert re.search(
        r"shown \d+ spenders?, .* from scratch on the 8,001 fragments of the ledger .* the same, byte", said
    )
    count = opening + round(10 * RATE) + 1
    assert re.search(rf"shown \d+ alerts?, .* from scratch on the {count:,} fragments in .* the same, byte", said)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("demo") / "log", console=True) as made:
        yield made


def elsewhere(server: Server, name: str) -> Server:
    """The same server, another stream."""
    return replace(server, address=server.address.rpartition("/")[0] + f"/{name}")


def published(server: Server, seconds: float) -> list[Change | Structure]:
    """The log of a server after the bank has told it everything; nobody reads, and it does not wait."""
    told: list[int] = []
    publish(server.address, server.token, 0.005, 1, 100, seconds, Pace(1 << 40), told.append)
    assert told == [100]
    return [item for _, item in read(parse_address(server.address), limit=10_000).entries]


def shown(console: Console, items: list[Change | Structure]) -> tuple[Show, Answers]:
    """A show of what the query says of a stream, which came in two micro-batches, the second of them live."""
    inflow = continuous_many([ALERTS], structures=GENERATOR.structures)
    answers, show = Answers.of(inflow), Show(console, 100)
    told: list[int] = []
    show.tell = told.append
    for number, part in enumerate((items[:101], items[101:])):
        inflow.feed_many(part, "credit")
        (query,) = inflow.queries
        n = len([item for item in items[: 101 + number * len(items)] if isinstance(item, Change)])
        batch = Batch.of(number, query.rows(query.take()))
        batch.progress = {
            "n": n, "now": inflow.now, "ended": False, "regions": 1, "bytes": 1, "recomputed": [""], "waiting": [0],
        }  # fmt: skip
        show.take(batch, answers, answers.take(batch))
    assert told == [100, answers.n]
    return show, answers


def test_another_answer_than_from_scratch_is_noticed(server: Server) -> None:
    own = elsewhere(server, "noticed")
    items = published(own, 2.0)
    out = StringIO()
    show, answers = shown(Console(file=out, width=200), items)
    expected = from_scratch(own.address, answers.n)
    assert expected.count("<alert ") == answers.queries[0].shown
    assert show.compared("alert", answers.queries[0].text(), expected, "the log")
    assert "the same, byte for byte" in out.getvalue()
    assert not show.compared("alert", answers.queries[0].text() + "<alert />", expected, "the log")
    assert "NOT the same" in out.getvalue()


def test_a_terminal_shows_the_alerts_as_they_stand() -> None:
    items: list[Change | Structure] = [parse_structure(GENERATOR.structures["credit"])]
    inflow = continuous_many([ALERTS])
    for item in [*items, *islice(out_of_order(0.005, 1), 500)]:
        items += [item] if isinstance(item, Change) else []
        inflow.feed(item, "credit")
        if len(items) > 101 and inflow.queries[0].shown:
            break
    out = StringIO()
    show, _ = shown(Console(file=out, width=160, height=40), items)
    (alert,) = show.alerts.values()
    assert f"+ {alert.who} is {alert.kind}" in out.getvalue()
    show.console.print(show.picture())
    row = next(line for line in out.getvalue().splitlines() if line.startswith("│") and alert.who in line)
    assert f"{alert.charged:,}" in row
    assert str(alert.charges[0]) in row


def test_what_withdrew_an_alert_is_told() -> None:
    alert = Alert.of(
        '<alert account="7" customer="Ada" limit="8000"><charge at="2003-11-01T10:00:00" amount="3000.50">A</charge>'
        '<charge at="2003-11-01T10:40:00" amount="5000">B</charge></alert>'
    )
    assert alert.kind == "maxed out"
    assert alert.why == "10:00 3,000.50 + 10:40 5,000"
    later = datetime.fromisoformat("2003-11-01T11:10:00+00:00")
    assert alert.why_withdrawn(later) == (
        "it is 11:10, and 10:00 3,000.50 is more than an hour ago; 5,000.00 of 8,000.50 is left"
    )
    sooner = datetime.fromisoformat("2003-11-01T10:50:00+00:00")
    assert alert.why_withdrawn(sooner) == "8,000.50 are still within the hour, but its limit is no longer 8,000"


def test_the_console_of_the_demo_has_the_stream_and_the_query(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    own = elsewhere(server, "credit")
    published(own, 0.5)
    page = browse(own)
    site = parse_address(own.address).site
    assert page == f"{site}/console#token={own.token}"
    with urlopen(page) as answer:
        assert b"<html" in answer.read()
    with urlopen(f"{site}/console/api/status") as answer:
        status = json.load(answer)
    assert "credit" in [one["name"] for one in status["streams"]]
    assert [one["query"] for one in status["queries"]] == [ALERTS]


def test_the_bank_publishes_every_fragment_once_out_of_order(server: Server) -> None:
    structure, root, *rest, last = published(elsewhere(server, "once"), 1.0)
    assert not isinstance(structure, Change)
    assert isinstance(root, Fill)
    assert root.region == 0
    assert isinstance(last, Eos)
    assert len(rest) == 100 - 1 + RATE
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

"""Kill -9 of servers and clients in turn: nothing is lost from a log, and the answers are those of a run that nobody
disturbs."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from air import generated
from processes import COMMAND, DEADLINE, head, serving, waited
from test_settling import items_of, t

import xstreamcast
from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.serve.channel import Channel, Incoming
from xstreamcast.serve.client import parse_address, read
from xstreamcast.serve.compaction import Keep
from xstreamcast.wire.fragment import FragmentWriter, read_stream


def test_server_and_clients_are_killed_in_turn_and_nothing_is_lost(tmp_path: Path, own_port: int) -> None:
    factor, seed, updates = 0.02, 3, 250
    source = f"generate:commodities?factor={factor}&seed={seed}&updates={updates}&rate=100"
    structure, changes = generated("commodities", factor, seed, updates)
    undisturbed = Channel("goods", tmp_path / "undisturbed")
    undisturbed.take("source", [Incoming(structure), *map(Incoming, changes)])
    expected = [entry.wire for entry in undisturbed.log.read()]
    initial = len(expected) - updates
    undisturbed.close()
    stored, answer = tmp_path / "stored.xml", tmp_path / "answer.xml"
    query = 'count(stream("goods")//item), sum(stream("goods")//price)'
    environment = {**os.environ, "COLUMNS": "200"}
    arguments = ["--stream", f"goods={source}", "--cycle", "0.5"]
    with serving(tmp_path / "log", *arguments, port=own_port) as (server, port):
        url = f"xcast://127.0.0.1:{port}/goods"
        listen = [*COMMAND, "listen", url, "-o", str(stored)]
        with answer.open("wb") as out, subprocess.Popen(
            [*COMMAND, "watch", query, "--stream", f"goods={url}", "--format", "xml"],
            stdout=out, stderr=subprocess.DEVNULL, env=environment,
        ) as watch, subprocess.Popen(listen, stderr=subprocess.DEVNULL) as first:  # fmt: skip
            try:
                waited(lambda: stored.exists() and stored.stat().st_size > 1000 and head(port, "goods") > initial + 20)
                first.kill()
                first.wait()
                server.kill()
                server.wait()
                with serving(tmp_path / "log", *arguments, port=port) as (server, _):
                    waited(lambda: head(port, "goods") > initial + 100)
                    server.kill()
                    server.wait()
                with serving(tmp_path / "log", *arguments, port=port):
                    subprocess.run(listen, stderr=subprocess.DEVNULL, timeout=DEADLINE, check=True)
                    assert watch.wait(DEADLINE) == 0
                    where, since, wires = parse_address(url), 0, list[Any]()
                    while (stretch := read(where, since)).entries:
                        since = stretch.next
                        wires += stretch.entries
                    assert len(wires) == len(expected)
            finally:
                watch.kill()
                first.kill()
    again = Channel("goods", tmp_path / "log" / "goods")
    assert [entry.wire for entry in again.log.read()] == expected
    again.close()
    whole = t([structure, *changes])
    stored_items = [arrival.item for arrival in read_stream(stored)]
    assert t([item for item in stored_items if isinstance(item, Change | Structure)]) == whole
    told = xstreamcast.query("count(//item), sum(//price)", context=whole.encode()).serialise()
    assert answer.read_text().strip() == told


@contextmanager
def running(*arguments: str, out: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A command in a process of its own; what it says is not for us."""
    with ExitStack() as stack:
        file = subprocess.DEVNULL if out is None else stack.enter_context(out.open("wb"))
        process = subprocess.Popen([*COMMAND, *arguments], stdout=file, stderr=subprocess.DEVNULL)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


SPENDING = 'for $a in stream("credit")//account return <spent>{ $a/@id, count($a/transaction) }</spent>'
ALL = 'count(stream("spent")//spent), sum(stream("spent")//spent)'


def test_a_publishing_watch_its_server_and_who_watches_the_answer_are_killed_in_turn(
    tmp_path: Path, own_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    structure, changes = generated("credit", 0.01, 2, 240)
    document = t([structure, *changes])
    expected = xstreamcast.query("count(//account), count(//account/transaction)", context=document.encode())
    monkeypatch.setenv("XCAST_TOKEN", "secret")
    feed, answer = tmp_path / "feed", tmp_path / "answer.xml"
    feed.mkdir()
    parts = [changes[at : at + len(changes) // 5] for at in range(0, len(changes), len(changes) // 5)]

    def goes_on() -> None:
        """The stream goes on by a file, and somebody publishes what that makes of the answer."""
        reached, number = head(port, "spent"), len(list(feed.iterdir()))
        with (feed / ".new").open("wb") as file:
            writer = FragmentWriter(file, None if number else structure)
            for change in parts.pop(0):
                writer.write(change)
            writer.close()
        (feed / ".new").rename(feed / f"{number}.xml")
        waited(lambda: head(port, "spent") > reached)

    served = ["--stream", f"credit={feed}", "--token", "secret", "--cycle", "0.5"]
    with ExitStack() as processes:
        server, port = processes.enter_context(serving(tmp_path / "log", *served, port=own_port))
        url = f"xcast://127.0.0.1:{port}"
        publish = ["watch", SPENDING, "--stream", f"credit={url}", "--publish", f"spent={url}", "--format", "json"]
        count = ["watch", ALL, "--stream", f"spent={url}", "--format", "xml"]
        with running(*publish):
            goes_on()
        # It is gone; another takes its place, while somebody watches its answer.
        again = processes.enter_context(running(*publish))
        with running(*count):
            goes_on()
        counting = processes.enter_context(running(*count, out=answer))
        goes_on()
        server.kill()
        server.wait()
        processes.enter_context(serving(tmp_path / "log", *served, port=port))
        while parts:
            goes_on()
        assert again.wait(DEADLINE) == 0
        assert counting.wait(DEADLINE) == 0
        whole = [item for _, item in read(parse_address(f"{url}/credit"), limit=10_000).entries]
        assert t(whole) == document
    assert answer.read_text().strip() == expected.serialise()


def is_cut(folder: Path, bases: set[Path], port: int, fragments: int) -> bool:
    """The log has been cut since there were these bases, or is whole."""
    return bool(set(folder.glob("*/*.base")) - bases) or head(port, "rates") == fragments


def test_a_server_that_compacts_is_killed_again_and_again(tmp_path: Path, own_port: int) -> None:
    """The log is cut while it grows, and the server killed as soon as it has been cut: the stream is the same."""
    factor, seed, updates = 0.05, 1, 3000
    structure, changes = generated("currencies", factor, seed, updates)
    undisturbed = Channel("rates", tmp_path / "undisturbed")
    undisturbed.take("source", [Incoming(structure), *map(Incoming, changes)])
    expected = {entry.n: entry.wire for entry in undisturbed.log.read()}
    undisturbed.close()
    folder = tmp_path / "log"
    source = f"rates=generate:currencies?factor={factor}&seed={seed}&updates={updates}&rate=700"
    arguments = ("--stream", source, "--keep-log", "64KB")
    for _ in range(3):
        bases = set(folder.glob("*/*.base"))
        with serving(folder, *arguments, "--sync", "never", port=own_port) as (server, port):
            waited(partial(is_cut, folder, bases, port, len(expected)))
            server.send_signal(signal.SIGKILL)
            server.wait()
    with serving(folder, *arguments, port=own_port) as (_, port):
        waited(lambda: head(port, "rates") == len(expected))
    made = Channel("rates", folder / "rates", segment=Keep(size=1 << 16).segment)
    kept = list(made.log.read())
    assert made.log.base is not None
    assert len(kept) < len(expected)
    assert [entry.n for entry in kept if entry.n >= made.log.first] == list(range(made.log.first, len(expected) + 1))
    assert all(expected[entry.n] == entry.wire for entry in kept)
    made.close()
    assert t(items_of([entry.wire for entry in kept])) == t([structure, *changes])

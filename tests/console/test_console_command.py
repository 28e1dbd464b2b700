"""``xcast console`` in a process of its own, and what its page says of itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from command import xcast
from processes import waited

from xstreamcast.console.desk import Desk
from xstreamcast.console.history import STRETCH, History
from xstreamcast.console.routes import routes
from xstreamcast.serve.station import Station

PAGE = (Path(__file__).parents[2] / "docs" / "console.md").read_text(encoding="utf-8")


@contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command, and the address that it prints."""
    command = [sys.executable, "-m", "xstreamcast", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "XCAST_TOKEN"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def status(address: str) -> dict[str, Any]:
    with urlopen(address.partition("#")[0] + "/api/status") as answer:
        told: dict[str, Any] = json.load(answer)
        return told


def workers(process: int) -> list[int]:
    """The processes that run queries for a server."""
    found = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(each) for each in found]


def test_the_command_of_the_page_prints_an_address_with_a_token() -> None:
    (command,) = re.findall(r"```sh\nxcast (console .*?)\n```", PAGE)
    words = [word.strip("'") for word in command.split() if word != "--open"]
    with running(*words, "--port", "0") as (process, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/console#token=[\w-]{24}", address)
        waited(lambda: status(address)["streams"][0]["head"] > 300)
        assert status(address)["writable"] is True
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (out, process.returncode) == ("", 0)
        assert "Traceback" not in err


def test_queries_of_the_command_line_run_and_end_with_it(tmp_path: Path) -> None:
    query = tmp_path / "q.xq"
    query.write_text('count(stream("credit")//transaction)')
    source = ("--stream", "credit=generate:credit?rate=5&factor=0.01", "--port", "0")
    with running("console", 'count(stream("credit")//account)', "-f", str(query), *source) as (process, address):
        waited(lambda: [one["state"] for one in status(address)["queries"]] == ["running", "running"])
        children = workers(process.pid)
        assert len(children) == 2
        process.kill()
        process.wait()
        waited(lambda: not any(Path(f"/proc/{child}").exists() for child in children))


def test_read_only(tmp_path: Path) -> None:
    with running("console", "--read-only", "--port", "0", "--log", str(tmp_path)) as (_, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/console", address)
        assert status(address)["writable"] is False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--read-only", "--token", "x"), "with --read-only there is no --token"),
        (("--console-memory", "1MB"), "--console-memory is 64MB at least"),
        (("--console-queries", "0"), "--console-queries takes a number from 1 to 100"),
        (("1", "2", "--console-queries", "1"), "2 queries are more than --console-queries 1"),
        (("--structure", "x=y"), "y"),
    ],
)
def test_wrong_calls(arguments: tuple[str, ...], message: str) -> None:
    ran = xcast("console", *arguments)
    assert ran.code in (1, 2)
    assert message in ran.err


def test_the_page_of_the_documentation_has_every_address_of_the_service(tmp_path: Path) -> None:
    station = Station(tmp_path)
    known = {(route.method, route.path) for route in routes(Desk(station)) if route.path.startswith("/console/api/")}
    table = PAGE[PAGE.index("## HTTP") :]
    told = set()
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        method = "GET"
        for words in re.findall(r"`([^`{]+)`", row):
            method, _, path = words.rpartition(" ") if " " in words else (method, "", words)
            path = re.sub(r"NAME", "{name}", path.partition("?")[0]).replace("ID", "{id}")
            told.add((method, f"/console/api/{path}"))
    assert known - told == {("GET", "/console/api/token")}


def test_a_history_lets_go_of_its_beginning_and_is_right_about_the_rest() -> None:
    history, answers = History(differences=2 * STRETCH), []
    for moment in range(2000):
        items = {f"{label:02}": str(moment // (label + 1)) for label in range(moment % 5)}
        history.note(moment, items)
        answers.append(items)
    assert 0 < history.first < 2000
    assert sum(each.count for each in history._stretches) <= 3 * STRETCH
    for moment in range(history.first, 2000):
        assert history.at(moment) == answers[moment]

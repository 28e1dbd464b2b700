"""Figures for Prometheus, of servers and of queries; and reports of queries to a console."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from air import generated, take, until
from command import xcast
from exposed import samples
from processes import waited
from test_console_service import console, get

from xstreamcast.model.structure import write_structure
from xstreamcast.wire.fragment import encode_change

QUERY = 'count(stream("credit")//account)'


def page(url: str) -> str:
    try:
        with urlopen(url) as answer:
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            text: str = answer.read().decode()
            return text
    except URLError:
        return ""


@contextmanager
def watching(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """``xcast watch`` with figures at an address."""
    command = [sys.executable, "-m", "xstreamcast", "watch", "--metrics", "0", "--format", "json", *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        try:
            assert process.stderr is not None
            lines = iter(process.stderr.readline, "")
            told = next(line for line in lines if "metrics on" in line)
            yield process, told.split()[-1]
        finally:
            process.kill()


def folder_of_changes(tmp_path: Path) -> tuple[Path, int]:
    """A folder that grows, with all changes of a stream but its end; how many there are."""
    structure, changes = generated("credit", 0.01, 1, 30)
    folder = tmp_path / "credit"
    folder.mkdir()
    wire = [write_structure(structure, declare=False).encode(), *map(encode_change, changes[:-1])]
    (folder / "a.xml").write_bytes(b"\n".join(wire))
    return folder, len(changes) - 1


def test_a_server_exposes_its_streams_and_the_queries_of_its_console(tmp_path: Path) -> None:
    async def run() -> None:
        async with console(tmp_path) as (desk, session):
            structure, changes = generated("credit", 0.01, 1, 5)
            take(desk.station.register("credit"), [structure, *changes[:-1]])
            await desk.add(QUERY)
            await until(lambda: desk.query("q1").taken == len(changes))
            async with session.get("/metrics") as answer:
                assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
                found = samples(await answer.text())
            assert found["xcast_streams"] == {"": 1.0}
            assert found["xcast_stream_head"] == {'stream="credit"': float(len(changes))}
            assert found["xcast_stream_total"]['stream="credit",event="logged"'] == len(changes)
            assert found["xcast_console_query_records_total"] == {'query="q1"': float(len(changes))}
            assert found["xcast_console_query_running"] == {'query="q1"': 1.0}
            assert found["xcast_console_query_resident_bytes"]['query="q1"'] > 10 << 20

    asyncio.run(run())


def test_a_watch_exposes_its_queries(tmp_path: Path) -> None:
    folder, changes = folder_of_changes(tmp_path)
    labels = 'query="1",engine="embedded"'
    with watching("1 div count(stream('credit')//none)", QUERY, "--stream", f"credit={folder}") as (_, url):
        waited(lambda: samples(page(url)).get("xcast_query_changes_total", {}).get(labels) == changes)
        found = samples(page(url))
        assert found["xcast_query_items"][labels] == 1
        assert found["xcast_query_told_total"][labels] > 1
        assert found["xcast_query_state_rows"][labels] > 1
        assert found["xcast_query_failed"] == {'query="0",engine="embedded"': 1.0, labels: 0.0}
        assert "xcast_query_batches_total" not in found


def test_a_watch_reports_to_the_console_of_a_server(tmp_path: Path) -> None:
    folder, changes = folder_of_changes(tmp_path)

    async def run() -> None:
        async with console(tmp_path / "log") as (desk, session):
            address = f"accounts=xcast://127.0.0.1:{desk.station.port}"
            watch = watching(QUERY, "--stream", f"credit={folder}", "--report", address, XCAST_TOKEN="secret")
            process, _ = await asyncio.to_thread(watch.__enter__)
            try:
                await until(lambda: desk.reports and desk.reports["accounts"][1]["rows"] == changes)
                (told,) = (await get(session, "status"))["reports"]
                assert (told["name"], told["engine"], told["query"]) == ("accounts", "embedded", QUERY)
                assert (told["shown"], told["state"]) == (1, "running")
                process.send_signal(signal.SIGINT)
                await until(lambda: desk.reports["accounts"][1]["state"] == "ended")
            finally:
                await asyncio.to_thread(watch.__exit__, None, None, None)

    asyncio.run(run())


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_query_on_spark_exposes_and_reports_its_progress(tmp_path: Path) -> None:
    folder, changes = folder_of_changes(tmp_path)
    labels = 'query="0",engine="spark"'

    async def run() -> None:
        async with console(tmp_path / "log") as (desk, session):
            address = f"accounts=xcast://127.0.0.1:{desk.station.port}"
            watch = watching(
                QUERY, "--stream", f"credit={folder}", "--engine", "spark", "--batch", 20, "--report", address,
                XCAST_TOKEN="secret",
            )  # fmt: skip
            _, url = await asyncio.to_thread(watch.__enter__)
            try:
                await until(lambda: desk.reports and desk.reports["accounts"][1]["rows"] >= changes)
                (told,) = (await get(session, "status"))["reports"]
                assert told["engine"] == "spark"
                assert told["batches"] >= changes // 20
                assert told["state_rows"] > 0
                found = samples(await asyncio.to_thread(page, url))
                assert found["xcast_query_batches_total"][labels] >= changes // 20
                assert found["xcast_query_items"][labels] == 1
            finally:
                await asyncio.to_thread(watch.__exit__, None, None, None)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--metrics", "x"), 2, "--metrics takes a port"),
        (("--metrics", "127.0.0.1:99999"), 2, "--metrics takes a port"),
        (("--report", "a=xcast://127.0.0.1:1"), 1, "XSC0102 --report needs the token of the server"),
        (("--report", "a=http://x"), 1, "XSC0103 not an address"),
    ],
)
def test_wrong_calls_are_told(
    arguments: tuple[str, str], code: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("XCAST_TOKEN", raising=False)
    ran = xcast("watch", QUERY, "--stream", f"credit={folder_of_changes(tmp_path)[0]}", *arguments)
    assert ran.code == code
    assert message in ran.err

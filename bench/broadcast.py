"""Broadcast over loopback: many WebSocket clients on one server, one in ten of which never reads.

The server is a process of its own; the clients are others, which read and count. Every fragment has about 400 bytes.
CPU is the server's, for all clients; memory is what the server's process grows by when the clients tune in, and at its
peak, per client. A drop is a fragment that a client did not get live (the carousel would repeat it).

Then a log of a thousand regions that change all the time: how long a server takes to open it, to compact it so that a
twentieth is kept whole, and to open it then.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import Process
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any, Final
from urllib.request import urlopen

from bench import documents
from xstreamcast.model.change import Fill
from xstreamcast.serve.channel import Channel, Incoming
from xstreamcast.serve.client import Publisher, parse_address
from xstreamcast.serve.compaction import Keep, compact

CLIENTS: Final = (10, 100, 1000)
STALLED: Final = 10
SECONDS: Final = 10
CHANGES: Final = 200_000
TOKEN: Final = "bench"
BATCH: Final = 20
BATCHES: Final = 20
_CONTENT: Final = b"<reading>" + b"x" * 330 + b"</reading>"
_PAGE: Final = resource.getpagesize()


@dataclass(frozen=True, slots=True)
class _Figures:
    clients: int
    sent: int
    delivered: int
    seconds: float
    cpu: float
    idle: float
    peak: float
    dropped: int
    stalled: int


def run() -> None:
    """A table: a row for each number of clients."""
    most = max(int(count * documents.scaled()) for count in CLIENTS)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    print(
        "| clients | published/s | delivered/s | MB/s | server CPU | kB a client, tuned in | at peak "
        "| dropped by healthy | by stalled |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for count in sorted({max(10, int(count * documents.scaled())) for count in CLIENTS} | {most}):
        made = _measure(count)
        delivered = made.delivered / made.seconds
        print(
            f"| {made.clients:,} | {made.sent / made.seconds:,.0f} | {delivered:,.0f} | "
            f"{delivered * (len(_CONTENT) + 60) / 1e6:,.1f} | {made.cpu / made.seconds:.0%} | {made.idle:,.0f} | "
            f"{made.peak:,.0f} | {made.dropped:,} | {made.stalled:,} |",
            flush=True,
        )
    print()
    _log(max(20_000, int(CHANGES * documents.scaled())))


def _log(changes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        size = changes * (len(_CONTENT) + 120) // 20
        channel = Channel("load", Path(folder), segment=size // 4)
        for first in range(0, changes, 1000):
            channel.take("", [Incoming(Fill(region=n, content=b"%d" % first + _CONTENT)) for n in range(1000)])
        whole = channel.log.size
        channel.close()
        opened, channel = _opened(folder, size)
        began = process_time()
        due = Keep(size=size).due(channel.log, 0.0)
        assert due is not None
        asyncio.run(compact(channel, due))
        compacting, kept = process_time() - began, channel.log.size
        channel.close()
        again, channel = _opened(folder, size)
        channel.close()
    print("| records | MB of log | CPU s to open | CPU s to compact | MB then | CPU s to open then |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {changes:,} | {whole / 1e6:,.0f} | {opened:.2f} | {compacting:.3f} | {kept / 1e6:,.1f} | {again:.2f} |",
        flush=True,
    )


def _opened(folder: str, size: int) -> tuple[float, Channel]:
    began = process_time()
    channel = Channel("load", Path(folder), segment=size // 4)
    return process_time() - began, channel


def _measure(clients: int) -> _Figures:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "xstreamcast", "serve", "--log", folder, "--port", "0", "--cycle", "3600",
            "--token", TOKEN, "--queue", "256",
        ]  # fmt: skip
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            port = int(server.stderr.readline().split(":")[3].split("/")[0])
            return _load(server.pid, port, clients)
        finally:
            server.terminate()
            server.wait()


def _load(pid: int, port: int, clients: int) -> _Figures:
    publisher = Publisher(parse_address(f"xcast://127.0.0.1:{port}/load"), TOKEN)
    publisher.publish([Fill(region=0, content=b'<load><stream:hole id="1"/></load>')])
    before = _memory(pid)
    deaf = [_stalled(port) for _ in range(clients // STALLED)]
    listeners = Process(target=_listen, args=(port, clients - len(deaf)), daemon=True)
    listeners.start()
    while _told(port)["listeners"] < clients:
        sleep(0.1)
    idle = (_memory(pid) - before) / clients
    began, used, sent = monotonic(), _cpu(pid), 0
    while monotonic() - began < SECONDS:
        due = began + sent / (BATCH * BATCHES)
        sleep(max(0.0, due - monotonic()))
        publisher.publish([Fill(region=1, content=b"%d" % (sent + n) + _CONTENT) for n in range(BATCH)])
        sent += BATCH
    seconds = monotonic() - began
    cpu = _cpu(pid) - used
    peak = (_memory(pid) - before) / clients
    told = _told(port)["tuned_in"]
    told.sort(key=lambda one: one["dropped"])
    drops = [one["dropped"] for one in told]
    listeners.terminate()
    listeners.join()
    for connection in deaf:
        connection.close()
    hearing = clients - len(deaf)
    delivered = sum(one["sent"] for one in told[:hearing])
    healthy, stalled = sum(drops[:hearing]), sum(drops[hearing:])
    return _Figures(clients, sent, delivered, seconds, cpu, idle / 1024, peak / 1024, healthy, stalled)


def _told(port: int) -> dict[str, Any]:
    with urlopen(f"http://127.0.0.1:{port}/streams/load", timeout=60) as response:
        told: dict[str, Any] = json.loads(response.read())
        return told


def _stalled(port: int) -> socket.socket:
    """A client that tunes in and never reads."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    connection.sendall(_handshake())
    return connection


def _handshake() -> bytes:
    return (
        b"GET /streams/load/tune?from=now HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )


def _listen(port: int, clients: int) -> None:
    """Clients that read what comes, as bytes: what they do with it is not the server's."""

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_handshake())
        while await reader.read(1 << 18):
            pass

    async def everybody() -> None:
        await asyncio.gather(*(one() for _ in range(clients)), return_exceptions=True)

    asyncio.run(everybody())


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

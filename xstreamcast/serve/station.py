"""The station: all streams of a server, their sources and carousels, and its door to the world."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from xstreamcast.errors import XStreamError, error
from xstreamcast.metrics import Exposition
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.serve.carousel import Carousel
from xstreamcast.serve.channel import Channel, Incoming, Sync
from xstreamcast.serve.compaction import Keep, compact
from xstreamcast.serve.limits import Limits
from xstreamcast.serve.log import SEGMENT
from xstreamcast.serve.sources import follow

if TYPE_CHECKING:
    from aiohttp import web

    from xstreamcast.console.desk import Desk

CYCLE: Final = 10.0
BANDWIDTH: Final = 4 << 20

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_OFF: Final = ".unregistered"
_LOGGER: Final = logging.getLogger("xstreamcast.serve")
_FIGURES: Final = {
    "first": "The number from which on all records of the log are kept.",
    "head": "The number of the last record of the log.",
    "bytes": "Bytes of the log.",
    "current": "Records that are current: what the carousel repeats.",
    "listeners": "Clients that are tuned in.",
}


def check_name(name: str) -> str:
    """The name of a stream, which is also that of a folder."""
    if not _NAME.fullmatch(name):
        raise error(
            "XSC0106", f"not a name for a stream: {name[:80]!r}", hint="a letter, then letters, digits, - and _"
        )
    return name


@dataclass(slots=True)
class _Visit:
    """What a connection has asked for: how often, and when it was answered; None while it is not."""

    requests: int = 0
    served: float | None = None


class _TurnedAway(asyncio.Protocol):
    """A connection more than the server has: it is told so, and that is all."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 30\r\nConnection: close\r\n\r\n")
        transport.close()


class Station:
    """A broadcast server. ``folder`` holds the logs; one process has it at a time.

    ``cycle`` is the length of a carousel's cycle in seconds, ``bandwidth`` the bytes a second it may take of a stream,
    ``keep`` how much of a log is kept whole.
    """

    def __init__(
        self,
        folder: Path,
        *,
        token: str = "",
        limits: Limits | None = None,
        cycle: float = CYCLE,
        bandwidth: float = BANDWIDTH,
        sync: Sync = "second",
        keep: Keep | None = None,
    ) -> None:
        self.folder = folder
        self.token = token
        self.limits = limits or Limits()
        self.cycle = cycle
        self.bandwidth = bandwidth
        self.sync = sync
        self.keep = keep
        self.channels: dict[str, Channel] = {}
        self.carousels: dict[str, Carousel] = {}
        self.sockets: dict[web.WebSocketResponse, Channel] = {}
        self.counts: Counter[str] = Counter()
        self.desk: Desk | None = None
        """The console, where there is one; set before the station starts."""
        self.port = 0
        self._tasks: dict[str, list[asyncio.Task[None]]] = {}
        self._visits: WeakKeyDictionary[Any, _Visit] = WeakKeyDictionary()
        self._server: asyncio.Server | None = None
        self._runner: web.AppRunner | None = None
        self._lock = -1

    # ------------------------------------------------------------------------------------------------- streams

    def register(self, name: str, structure: Structure | None = None) -> Channel:
        """A stream of that name, from its log if it has one."""
        channel = self.channels.get(check_name(name))
        if channel is None:
            if len(self.channels) >= self.limits.streams:
                raise error("XSC0106", f"there are {self.limits.streams} streams already", hint="unregister some")
            folder = self.folder / name
            (folder / _OFF).unlink(missing_ok=True)
            segment = SEGMENT if self.keep is None else self.keep.segment
            channel = self.channels[name] = Channel(name, folder, self.limits, self.sync, segment)
            self.carousels[name] = Carousel(channel, self.cycle, self.bandwidth)
            if channel.log.repaired:
                _LOGGER.warning("%s: %d torn bytes at the end of its log are cut off", name, channel.log.repaired)
            self._run(name, channel.run())
            self._run(name, self.carousels[name].run())
            if self.keep is not None:
                self._run(name, self._compact(channel, self.keep))
        if structure is not None:
            taken = channel.take("registry", [Incoming(structure)])
            if taken.refused:
                raise error(taken.refused[0].code, f"{name}: {taken.refused[0].message}")
        return channel

    async def unregister(self, name: str) -> None:
        """The stream is off the air; its log stays."""
        channel = self.channels.pop(name)
        del self.carousels[name]
        await self._cancel(self._tasks.pop(name, []))
        await self._goodbye([socket for socket, of in self.sockets.items() if of is channel], b"unregistered")
        channel.close()
        (self.folder / name / _OFF).touch()

    def serve(self, name: str, source: str) -> None:
        """A stream that comes from a source; a stream that has ended stays as it is."""
        channel = self.register(name)
        if not channel.current.ended:
            self._run(name, self._follow(channel, source))

    async def _follow(self, channel: Channel, source: str) -> None:
        key = "source" if source != "-" else "stdin"
        try:
            async for batch in follow(source, channel.name, channel.marks.get(key, "")):
                for one in batch:
                    if isinstance(one, Diagnostic):
                        self._diagnosed(channel, one)
                taken = await channel.absorb(key, [one for one in batch if isinstance(one, Incoming)])
                for refused in taken.refused:
                    self._diagnosed(channel, refused)
        except (XStreamError, OSError) as fault:
            self.counts["failed_sources"] += 1
            _LOGGER.error("%s: its source has failed, and the stream goes on without it: %s", channel.name, fault)

    async def _compact(self, channel: Channel, keep: Keep) -> None:
        """Compact a log whenever that is due, until cancelled."""
        while True:
            await asyncio.sleep(self.limits.tidying)
            first = keep.due(channel.log, time.time())
            if first is not None:
                try:
                    await compact(channel, first)
                except XStreamError as fault:
                    self.counts["failed_compactions"] += 1
                    _LOGGER.warning("%s: %s", channel.name, fault)

    def _diagnosed(self, channel: Channel, found: Diagnostic) -> None:
        self.counts["diagnostics"] += 1
        level = logging.WARNING if found.severity == "quarantine" else logging.INFO
        _LOGGER.log(level, "%s: %s", channel.name, found)

    def _run(self, name: str, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.setdefault(name, []).append(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.counts["failures"] += 1
            _LOGGER.error("something has failed, and the other streams go on", exc_info=task.exception())

    @staticmethod
    async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # ------------------------------------------------------------------------------------------------- on the air

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Take up the streams that have logs, and open the door. Port 0: any that is free."""
        from aiohttp import web

        from xstreamcast.serve.service import Connection, application

        self._take_folder()
        for folder in sorted(self.folder.iterdir()):
            if folder.is_dir() and _NAME.fullmatch(folder.name) and not (folder / _OFF).exists():
                self.register(folder.name)
        self._runner = web.AppRunner(application(self), handle_signals=False, shutdown_timeout=2.0)
        await self._runner.setup()
        server = self._runner.server
        assert server is not None

        def connection() -> asyncio.Protocol:
            if len(self.connections) >= self.limits.connections:
                self.counts["turned_away"] += 1
                return _TurnedAway()
            made = Connection(self, server)
            asyncio.get_running_loop().call_later(self.limits.patience, self._silent, made)
            return made

        try:
            self._server = await asyncio.get_running_loop().create_server(connection, host, port, backlog=1024)
        except OSError as fault:
            await self.stop()
            number = fault.errno or 0
            why = os.strerror(number) if number > 0 else fault.strerror
            hint = "another port with --port, or any that is free: --port 0" if fault.errno == EADDRINUSE else ""
            raise error("XSC0102", f"cannot listen on {host}:{port}: {why}", hint=hint) from None
        for listening in self._server.sockets:
            # What the system keeps for a client is bounded too; connections inherit it.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.limits.queue)
        self.port = self._server.sockets[0].getsockname()[1]
        self._run("", self._sync())

    def _take_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            self._lock = -1
            hint = "one server has a folder of logs at a time: --log"
            raise error("XSC0100", f"{self.folder} is in use", hint=hint) from None

    def greeted(self, transport: asyncio.Transport | None) -> None:
        """A connection has said what it wants."""
        self.counts["requests"] += 1
        if transport is not None:
            visit = self._visits.setdefault(transport, _Visit())
            visit.requests += 1
            visit.served = None

    def answered(self, transport: asyncio.Transport | None) -> None:
        """A connection is about to get its answer, and may say something else then."""
        if transport is not None:
            visit, loop = self._visits[transport], asyncio.get_running_loop()
            visit.served = loop.time()
            loop.call_later(self.limits.patience, self._idle, transport, visit.requests)

    def _silent(self, protocol: Any) -> None:
        """A connection that has not said what it wants is let go."""
        transport = protocol.transport
        if transport is not None and transport not in self._visits:
            self.counts["half_open"] += 1
            _LOGGER.warning("a connection from %s said nothing", transport.get_extra_info("peername"))
            transport.abort()

    def _idle(self, transport: asyncio.Transport, requests: int) -> None:
        """A connection that says nothing more, or does not take its answer, is let go."""
        visit, loop = self._visits[transport], asyncio.get_running_loop()
        if transport.is_closing() or visit.served is None or visit.requests != requests:
            return
        waiting = transport.get_write_buffer_size()
        if waiting and loop.time() - visit.served < self.limits.delivery:
            loop.call_later(self.limits.patience, self._idle, transport, requests)
            return
        self.counts["slow_readers" if waiting else "idle"] += 1
        transport.abort()

    def refused(self, peer: str, what: str, status: int, fault: XStreamError) -> None:
        """Something was refused: it is counted and logged, on one line."""
        self.counts[f"refused_{status}"] += 1
        _LOGGER.warning("%s %r: %d %s %.200r", peer, what, status, fault.code, fault.message)

    async def _sync(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            if self.sync == "second":
                for channel in list(self.channels.values()):
                    await asyncio.to_thread(channel.log.sync)

    async def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until SIGINT or SIGTERM."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopping.set)
        ready()
        await stopping.wait()
        await self.stop()

    async def stop(self) -> None:
        """Push what is left, say goodbye, and close the logs."""
        if self._server is not None:
            self._server.close()
        if self.desk is not None:
            await self.desk.stop()
        for tasks in self._tasks.values():
            await self._cancel(tasks)
        self._tasks.clear()
        for channel in self.channels.values():
            for data, fragments in channel.fresh():
                channel.push(data, fragments)
        await self._goodbye(list(self.sockets), b"the server stops")
        if self._runner is not None:
            await self._runner.cleanup()
        for channel in self.channels.values():
            channel.close()
        self.channels.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def _goodbye(self, sockets: list[web.WebSocketResponse], why: bytes) -> None:
        if sockets:
            with suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await asyncio.gather(
                        *[one.close(code=1001, message=why) for one in sockets], return_exceptions=True
                    )

    # ------------------------------------------------------------------------------------------------- telling

    @property
    def connections(self) -> list[Any]:
        """All that are open."""
        server = None if self._runner is None else self._runner.server
        return [] if server is None else server.connections

    @property
    def listening(self) -> int:
        """How many are tuned in."""
        return len(self.sockets)

    def described(self, name: str) -> dict[str, Any]:
        """A stream, for who asks what there is."""
        channel, turn = self.channels[name], self.carousels[name].turn
        return {
            "name": name,
            "log": channel.log.id,
            "first": channel.log.first,
            "head": channel.log.head,
            "bytes": channel.log.size,
            "structure": channel.current.structure is not None,
            "ended": channel.current.ended,
            "current": len(channel.current.table),
            "listeners": len(channel.live),
            "cycle": {"number": turn.number, "head": turn.head, "fragments": turn.fragments, "seconds": turn.seconds},
        }

    def metrics(self) -> str:
        """Counts and sizes in Prometheus' text format."""
        page = Exposition()
        page.add("xcast_streams", "gauge", "Streams on the air.", len(self.channels))
        page.add("xcast_sockets", "gauge", "Clients that are tuned in, over all streams.", self.listening)
        page.add("xcast_connections", "gauge", "Connections that are open.", len(self.connections))
        for name, count in sorted(self.counts.items()):
            page.add("xcast_events_total", "counter", "What has happened at the door, by kind.", count, event=name)
        for name, channel in sorted(self.channels.items()):
            told = self.described(name)
            for figure, help in _FIGURES.items():
                page.add(f"xcast_stream_{figure}", "gauge", help, told[figure], stream=name)
            page.add("xcast_cycle", "gauge", "The cycle of the carousel.", told["cycle"]["number"], stream=name)
            for event, count in sorted(channel.counts.items()):
                help = "What has happened to fragments, messages and bytes of a stream, by kind."
                page.add("xcast_stream_total", "counter", help, count, stream=name, event=event)
        if self.desk is not None:
            self.desk.expose(page)
        return page.text()

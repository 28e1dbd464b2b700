"""What the broadcast tests share: stations on real sockets, a proxy that loses and shuffles, clients that query."""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from aiohttp import ClientSession, WSMsgType, web
from processes import DEADLINE

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.generate import find
from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.serve.channel import Channel, Incoming
from xstreamcast.serve.client import Address, Heard, tune
from xstreamcast.serve.limits import Limits
from xstreamcast.serve.reception import Reception
from xstreamcast.serve.station import Station
from xstreamcast.wire.fragment import FragmentReader

SMALL = Limits(message=2048, heartbeat=600.0)
"""Nobody is let go because the machine is busy; tests of that say when."""


@asynccontextmanager
async def on_air(folder: Path, port: int = 0, **options: Any) -> AsyncIterator[Station]:
    """A station on a port of the loopback, any that is free if none is given, with a short cycle."""
    station = Station(folder, **{"limits": SMALL, "cycle": 0.1, "sync": "never", "token": "secret", **options})
    await station.start(port=port)
    try:
        yield station
    finally:
        await station.stop()


class _Idle(selectors.DefaultSelector):
    """Counts the seconds in which there was nothing to do, each wait for no more than was meant."""

    seconds = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        began = time.monotonic()
        ready = super().select(timeout)
        waited = time.monotonic() - began
        self.seconds += waited if timeout is None else min(waited, timeout)
        return ready


class IdleTimeLoop(asyncio.SelectorEventLoop):
    """Its time passes only while all that runs in it waits: what somebody is given a short time for does not come too
    late because the machine is busy."""

    def __init__(self) -> None:
        self._idle = _Idle()
        super().__init__(self._idle)

    def time(self) -> float:
        return self._idle.seconds


async def until(condition: Callable[[], Any], deadline: float = DEADLINE) -> None:
    """Return when something is so; fail if it is not in time."""
    async with asyncio.timeout(deadline):
        while not condition():
            await asyncio.sleep(0.01)


def address(station: Station, stream: str, start: str | int = "beginning", port: int | None = None) -> Address:
    return Address("127.0.0.1", station.port if port is None else port, stream, start)


def generated(name: str, factor: float, seed: int, updates: int) -> tuple[Structure, list[Change]]:
    """The structure and all changes of a generator with one stream."""
    made = find(name)
    assert made.changes is not None
    return parse_structure(made.structures[name]), [change for _, change in made.changes(factor, seed, updates)]


def take(channel: Channel, items: Iterable[Change | Structure]) -> None:
    taken = channel.take("test", [Incoming(item) for item in items])
    assert not taken.refused


class Client:
    """Follows streams with a continuous query, or just counts what comes."""

    def __init__(self, query: str | None, **streams: Address) -> None:
        self.inflow = None if query is None else continuous_many([query])
        self.receptions = {name: Reception() for name in streams}
        self.regions = {name: Materialiser(None) for name in streams}
        self.numbers: list[int] = []
        self.troubles = 0
        self.tasks = [asyncio.create_task(self._follow(name, at)) for name, at in streams.items()]

    async def _follow(self, name: str, at: Address) -> None:
        async for came in tune(at, self.receptions[name], rng=random.Random(7)):
            if not isinstance(came, Heard):
                self.troubles += 1
                continue
            self.numbers += [n for n, _ in came.news]
            if self.inflow is not None:
                items = [arrival.item for _, element in came.news for arrival in FragmentReader([element])]
                for item in items:
                    self.regions[name].apply(item)
                if items:
                    self.inflow.feed_many(items, name)

    @property
    def heard(self) -> int:
        return len(self.numbers)

    @property
    def answer(self) -> str:
        assert self.inflow is not None
        told = self.inflow.queries[0].told()
        return told if isinstance(told, str) else str(told)

    @property
    def over(self) -> bool:
        """Whether all has come, and that was the end; raises what went wrong."""
        return self.complete and all(reception.ended is not None for reception in self.receptions.values())

    @property
    def complete(self) -> bool:
        """Whether all has come; raises what went wrong."""
        for task in self.tasks:
            if task.done():
                task.result()
        return all(reception.complete for reception in self.receptions.values())

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class LossyProxy:
    """Stands between clients and a station: drops some messages and lets the rest overtake each other, by a seed."""

    def __init__(self, station: Station, seed: int, loss: float = 0.2, window: int = 8) -> None:
        self.station = station
        self.seed = seed
        self.loss = loss
        self.window = window
        self.clients = 0
        self.dropped = self.passed = self.shuffled = 0
        self.port = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[LossyProxy]:
        app = web.Application()
        app.router.add_get("/{path:.*}", self._relay)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        self.clients += 1
        rng = random.Random(f"{self.seed}/{self.clients}")
        down = web.WebSocketResponse()
        await down.prepare(request)
        held: list[bytes] = []
        with suppress(ConnectionError):
            async with (
                ClientSession() as session,
                session.ws_connect(f"http://127.0.0.1:{self.station.port}{request.rel_url}") as up,
            ):
                async for received in up:
                    if received.type is not WSMsgType.BINARY:
                        continue
                    if rng.random() < self.loss:
                        self.dropped += 1
                        continue
                    held.append(received.data)
                    if len(held) >= self.window:
                        at = rng.randrange(len(held))
                        self.shuffled += at != 0
                        self.passed += 1
                        await down.send_bytes(held.pop(at))
        return down


@contextmanager
def in_thread(folder: Path, port: int = 0, **options: Any) -> Iterator[Aired]:
    """A station in a thread of its own, for commands and clients that wait."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever)
    thread.start()
    try:
        aired = Aired(loop, Station(folder, **{"limits": SMALL, "cycle": 0.2, "sync": "never", **options}))
        aired.wait(aired.station.start(port=port))
        try:
            yield aired
        finally:
            aired.wait(aired.station.stop())
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@dataclass(frozen=True)
class Aired:
    """A station and the loop it runs in."""

    loop: asyncio.AbstractEventLoop
    station: Station

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(DEADLINE)

    def take(self, stream: str, items: Iterable[Change | Structure]) -> None:
        """Register a stream and take in some changes."""

        async def work() -> None:
            take(self.station.register(stream), items)

        self.wait(work())

    def url(self, stream: str = "") -> str:
        return f"xcast://127.0.0.1:{self.station.port}" + (f"/{stream}" if stream else "")

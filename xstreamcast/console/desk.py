"""All that the console of a server has: standing queries, rates of streams, reports of queries elsewhere, who listens.

Queries that were started from the page are there again after a restart of the server; they begin with the first record
of their logs, as every query does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.console.following import Following, structures
from xstreamcast.console.process import Process
from xstreamcast.console.rates import Rate
from xstreamcast.errors import XStreamError, error

if TYPE_CHECKING:
    from aiohttp import web

    from xstreamcast.metrics import Exposition, Kind
    from xstreamcast.serve.channel import Channel
    from xstreamcast.serve.station import Station

FILE: Final = ".console.json"
EMISSIONS: Final = ("eager", "certain", "optimistic")
_WAITING: Final = 256
_STALE: Final = 15.0
_REPORTS: Final = 100
_STRETCH: Final = 2000
_LOGGER: Final = logging.getLogger("xstreamcast.console")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of what the page may ask of the server; sizes in bytes, times in seconds."""

    queries: int = 8
    memory: int = 512 << 20
    """The memory that the process of a query may have."""
    patience: float = 30.0
    """The time that a query may take for some hundred records, or a look at the past."""
    checking: float = 5.0
    """The time that a look at a text may take."""
    text: int = 64 << 10
    body: int = 256 << 10
    pages: int = 64
    """How many may listen to events at a time."""
    past: int = 64 << 20
    """How large a log may be for T of its past to be shown."""


@dataclass(eq=False, slots=True)
class Page:
    """Somebody who listens; ``query`` is the one whose answer is wanted. ``lost``: too much was waiting."""

    query: str = ""
    waiting: asyncio.Queue[tuple[str, dict[str, Any]] | None] = field(default_factory=lambda: asyncio.Queue(_WAITING))
    lost: bool = False

    def put(self, event: str, told: dict[str, Any]) -> None:
        """Something to tell, unless too much waits; then what was lost is to be asked for."""
        try:
            self.waiting.put_nowait((event, told))
        except asyncio.QueueFull:
            self.lost = True


class Desk:
    """The console of a station."""

    def __init__(self, station: Station, bounds: Bounds | None = None) -> None:
        self.station = station
        self.bounds = bounds or Bounds()
        self.queries: dict[str, Following] = {}
        self.pages: dict[Page, None] = {}
        self.rates: dict[str, Rate] = {}
        self.reports: dict[str, tuple[float, dict[str, Any]]] = {}
        self._asker: Process | None = None
        self._asking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._numbered = 0

    @property
    def channels(self) -> Mapping[str, Channel]:
        return self.station.channels

    # ------------------------------------------------------------------------------------------------- life

    async def start(self, texts: tuple[str, ...] = ()) -> None:
        """Take up the queries that were there, then begin some more."""
        self._task = asyncio.get_running_loop().create_task(self._run())
        for told in self._saved():
            made = self._made(told["query"], told["emit"], told["id"])
            if told["running"]:
                with suppress(XStreamError):  # its state says so
                    await made.start()
        known = {one.text for one in self.queries.values()}
        for text in texts:
            if text not in known:
                await self.add(text)

    def routes(self) -> list[web.RouteDef]:
        """Where the console answers, for the service of its station."""
        from xstreamcast.console.routes import routes

        return routes(self)

    async def stop(self) -> None:
        """Nothing goes on, and nobody is told any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for page in self.pages:
            while not page.waiting.empty():
                page.waiting.get_nowait()
            page.waiting.put_nowait(None)
        for one in self.queries.values():
            await one.stop()
        if self._asker is not None:
            await self._asker.stop()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            for name, channel in self.channels.items():
                self.rates.setdefault(name, Rate()).note(channel.log.head)
            for one in self.queries.values():
                one.rate.note(one.taken)
            if self.pages:
                told = self.status()
                for page in self.pages:
                    page.put("status", told)
                    looked = self.queries[page.query].looked if page.query in self.queries else {}
                    if looked:
                        page.put("state", looked)

    def _path(self) -> str:
        return os.path.join(self.station.folder, FILE)

    def _saved(self) -> list[dict[str, Any]]:
        try:
            with open(self._path(), encoding="utf-8") as file:
                saved: list[dict[str, Any]] = json.load(file)
                return saved
        except FileNotFoundError:
            return []
        except (OSError, ValueError) as fault:
            _LOGGER.warning("%s is not taken up: %s", self._path(), fault)
            return []

    def _save(self) -> None:
        running = ("starting", "running")
        told = [
            {"id": one.id, "query": one.text, "emit": one.emit, "running": one.state in running}
            for one in self.queries.values()
        ]
        unfinished = f"{self._path()}.part"
        with open(unfinished, "w", encoding="utf-8") as file:
            json.dump(told, file, ensure_ascii=False, indent=1)
        os.replace(unfinished, self._path())

    # ------------------------------------------------------------------------------------------------- queries

    async def add(self, text: str, emit: str = "eager") -> Following:
        """Another standing query; raises what is wrong with it, and does not keep it then."""
        if len(self.queries) >= self.bounds.queries:
            hint = "remove one, or start the server with more: --console-queries"
            raise error("XSC0141", f"there are {self.bounds.queries} queries already", hint=hint)
        made = self._made(text, emit)
        try:
            await made.start()
        except XStreamError:
            del self.queries[made.id]
            raise
        self._save()
        return made

    def _made(self, text: str, emit: str, id: str = "") -> Following:
        self._numbered = max(self._numbered + 1, int(id[1:] or 0) if id else 0)
        name = id or f"q{self._numbered}"

        def tell(event: str, told: dict[str, Any]) -> None:
            for page in self.pages:
                if page.query == name:
                    page.put(event, told)

        def process() -> Process:
            return Process(self.bounds.memory, self.bounds.patience)

        self.queries[name] = Following(name, text, emit, self.channels, process, tell)
        return self.queries[name]

    def query(self, id: str) -> Following:
        """A query by its id."""
        found = self.queries.get(id)
        if found is None:
            raise error("XSC0142", f"there is no query {id[:20]!r}", hint="see /console/api/status")
        return found

    async def start_query(self, id: str) -> Following:
        """Begin a query again that was stopped, or has failed."""
        found = self.query(id)
        try:
            await found.start()
        finally:
            self._save()
        return found

    async def stop_query(self, id: str) -> Following:
        """A query stops; it can be started again."""
        found = self.query(id)
        await found.stop()
        found.state = "stopped"
        self._save()
        return found

    async def remove(self, id: str) -> None:
        """A query is gone."""
        await self.query(id).stop()
        del self.queries[id]
        self._save()

    # ------------------------------------------------------------------------------------------------- asking

    async def ask(self, op: str, patience: float, **arguments: Any) -> dict[str, Any]:
        """Ask the process that looks at texts and at the past; begun when it is first needed, and after it failed."""
        async with self._asking:
            return await self._ask(op, patience, **arguments)

    async def _ask(self, op: str, patience: float, **arguments: Any) -> dict[str, Any]:
        if self._asker is None or not self._asker.alive:
            self._asker = Process(self.bounds.memory, self.bounds.patience)
            await self._asker.start()
        self._asker.patience = patience
        return await self._asker.ask(op, **arguments)

    async def check(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Look at the text of a query, by the structures as they are now."""
        async with self._asking:
            await self._ask("know", self.bounds.patience, structures=structures(self.channels))
            return await self._ask(op, self.bounds.checking, **arguments)

    async def document(self, name: str, n: int) -> dict[str, Any]:
        """T of a stream at a number of its log."""
        async with self._asking:
            await self._bring(name, n)
            return await self._ask("document", self.bounds.patience, stream=name)

    async def difference(self, name: str, one: int, other: int) -> dict[str, Any]:
        """The difference of T between two numbers: its lines, and the changes of the log."""
        since, until = min(one, other), max(one, other)
        channel = self.channels[name]
        async with self._asking:
            await self._ask("know", self.bounds.patience, structures=structures(self.channels))
            await self._bring(name, since)
            await self._ask("keep", self.bounds.patience, stream=name)
            await self._bring(name, until)
            found = await self._ask("compare", self.bounds.patience, stream=name)
            entries, _ = channel.log.stretch(since, _STRETCH // 4, 1 << 20, until)
            told = await self._ask("describe", self.bounds.patience, records=entries, stream=name)
        return {"from": since, "to": until, **found, **told, "of": until - since}

    async def _bring(self, name: str, until: int) -> None:
        """The records of a log up to a number."""
        channel = self.channels[name]
        if channel.log.size > self.bounds.past:
            hint = f"a log of up to {self.bounds.past >> 20} MB is looked into: serve with --keep-log"
            raise error("XSC0141", f"the log of {name} is too large to show its past", hint=hint)
        since = (await self._ask("reached", self.bounds.patience, stream=name, until=until))["since"]
        while since < until:
            entries, since = channel.log.stretch(since, _STRETCH, 1 << 20, until)
            await self._ask("go_on", self.bounds.patience, records=entries, stream=name)

    # ------------------------------------------------------------------------------------------------- telling

    def report(self, name: str, told: dict[str, Any]) -> None:
        """A query elsewhere says how it is."""
        if name not in self.reports and len(self.reports) >= _REPORTS:
            raise error("XSC0141", f"{_REPORTS} queries report already")
        self.reports[name] = monotonic(), told

    def status(self) -> dict[str, Any]:
        """Streams, queries and reports."""
        now = monotonic()
        self.reports = {name: one for name, one in self.reports.items() if now - one[0] < _STALE}
        return {
            "writable": bool(self.station.token),
            "bounds": {"queries": self.bounds.queries, "memory": self.bounds.memory},
            "streams": [self.stream(name) for name in sorted(self.channels)],
            "queries": [one.described() for one in self.queries.values()],
            "reports": [{"name": name, **told} for name, (_, told) in sorted(self.reports.items())],
        }

    def expose(self, page: Exposition) -> None:
        """The figures of the queries for Prometheus."""
        page.add("xcast_console_pages", "gauge", "Pages of the console that are open.", len(self.pages))
        for one in self.queries.values():
            told = one.described()
            families: tuple[tuple[str, Kind, str, int], ...] = (
                ("running", "gauge", "Whether a query of the console runs.", int(told["state"] == "running")),
                ("records_total", "counter", "Records that it has taken in.", told["taken"]),
                ("behind", "gauge", "Records that it has not taken in yet.", told["behind"]),
                ("items", "gauge", "Items of its answer.", told["shown"]),
                ("resident_bytes", "gauge", "Memory of its process.", told["memory"]),
                ("kept_bytes", "gauge", "Bytes of contents that it keeps.", told["kept"]),
            )
            for family, kind, help, value in families:
                page.add(f"xcast_console_query_{family}", kind, help, value, query=one.id)

    def stream(self, name: str) -> dict[str, Any]:
        """A stream: how far it is, how much it brings, who is behind."""
        channel, rate = self.channels[name], self.rates.get(name) or Rate()
        waiting = [listener.outlet.get_write_buffer_size() for listener in channel.live]
        return {
            **self.station.described(name),
            "rate": round(rate.per_second, 1),
            "recent": rate.recent,
            "waiting": max(waiting, default=0),
            "dropped": channel.counts["dropped_fragments"],
            "missed": channel.counts["missed_fragments"],
            "refused_count": channel.counts["refused"],
            "without_effect": channel.counts["without_effect"],
        }

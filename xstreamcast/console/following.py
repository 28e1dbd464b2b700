"""A standing query as the server has it: its process is given what the logs bring, and what it answers is told.

Of several streams the one that is furthest behind, as a part of its log, comes first; so a query that begins late goes
through the logs side by side.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from xstreamcast.console.process import Process
from xstreamcast.console.rates import Rate
from xstreamcast.errors import XStreamError, error
from xstreamcast.serve.channel import Channel

State = Literal["starting", "running", "stopped", "failed"]
Tell = Callable[[str, dict[str, Any]], None]

_POLL: Final = 0.05
_RECORDS: Final = 512
_BYTES: Final = 256 << 10
_LOOKS: Final = 1.0


class Following:
    """One query. ``tell`` hears of its answer: the name of an event, and what it says."""

    def __init__(
        self, id: str, text: str, emit: str, channels: Mapping[str, Channel], process: Callable[[], Process], tell: Tell
    ) -> None:
        self.id = id
        self.text = text
        self.emit = emit
        self.channels = channels
        self.tell = tell
        self.state: State = "stopped"
        self.fault: XStreamError | None = None
        self.streams: list[str] = []
        self.answered: dict[str, Any] = {"shown": 0, "told": 0, "now": ""}
        self.looked: dict[str, Any] = {}
        self.taken = 0
        self.step = 0
        self.reached: dict[str, int] = {}
        self.rate = Rate()
        self._make = process
        self._process: Process | None = None
        self._task: asyncio.Task[None] | None = None

    # ------------------------------------------------------------------------------------------------- going on

    async def start(self) -> None:
        """Begin, with the first record of the logs; raises what is wrong with the query."""
        await self.stop()
        self.state, self.fault, self.taken, self.reached = "starting", None, 0, {}
        process = self._process = self._make()
        try:
            await process.start()
            await process.ask("know", structures=structures(self.channels))
            self.streams = (await process.ask("stand", query=self.text, emit=self.emit))["streams"]
            for name in self.streams:
                if name not in self.channels:
                    hint = f"there are: {', '.join(sorted(self.channels)) or 'none yet'}"
                    raise error("FODC0002", f'there is no stream "{name}"', hint=hint)
        except XStreamError as fault:
            await self._fail(fault)
            raise
        self.state = "running"
        self._task = asyncio.get_running_loop().create_task(self._run(process))

    async def stop(self) -> None:
        """End its process; the text stays."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        if self._process is not None:
            await self._process.stop()
            self._process = None
        if self.state != "failed":
            self.state = "stopped"

    async def _fail(self, fault: XStreamError) -> None:
        self.state, self.fault = "failed", fault
        if self._process is not None:
            await self._process.stop()
            self._process = None

    async def _run(self, process: Process) -> None:
        loop = asyncio.get_running_loop()
        looked = 0.0
        try:
            while True:
                fed = await self._feed(process)
                if loop.time() - looked >= _LOOKS:
                    looked = loop.time()
                    self.looked = await process.ask("state")
                if not fed:
                    await asyncio.sleep(_POLL)
        except XStreamError as fault:
            await self._fail(fault)
            self.tell("over", {"fault": {"code": fault.code, "message": fault.message, "hint": fault.hint}})

    async def _feed(self, process: Process) -> bool:
        """Bring some records of the stream that is furthest behind; whether there were any."""
        behind = [name for name in self.streams if self._behind(name)]
        if not behind:
            return False
        name = min(behind, key=lambda each: self.reached.get(each, 0) / self.channels[each].log.head)
        channel = self.channels[name]
        await channel.durable()
        entries, through = channel.log.stretch(self.reached.get(name, 0), _RECORDS, _BYTES, channel.log.head)
        answer = await process.ask("feed", entries, stream=name)
        self.reached[name] = through
        self.taken, changes = answer.pop("taken"), answer.pop("changes")
        self.answered = answer
        self.step += 1
        self.tell("answer", {"step": self.step, "taken": self.taken, "changes": changes, **answer})
        return True

    def _behind(self, name: str) -> int:
        channel = self.channels.get(name)
        return 0 if channel is None else max(0, channel.log.head - self.reached.get(name, 0))

    # ------------------------------------------------------------------------------------------------- asking

    async def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """Ask its process: the answer at a moment, and the like."""
        if self._process is None:
            raise error("XSC0141", f"{self.id} does not run", hint="start it")
        return await self._process.ask(op, **arguments)

    async def snapshot(self) -> dict[str, Any]:
        """The answer as it is; later steps are told."""
        found = await self.ask("snapshot") if self.state == "running" else {"items": [], "taken": self.taken}
        # No step comes between: the answer to the question is the last that the process has given.
        return {**self.described(), **found, "step": self.step, "state_of": self.looked}

    def described(self) -> dict[str, Any]:
        """For the list of queries."""
        told = {
            "id": self.id, "query": self.text, "emit": self.emit, "state": self.state, "streams": self.streams,
            "taken": self.taken, "behind": sum(map(self._behind, self.streams)), **self.answered,
            "rate": round(self.rate.per_second, 1), "recent": self.rate.recent,
            "memory": 0 if self._process is None else self._process.resident,
            "kept": sum(one.get("bytes", 0) for one in self.looked.get("streams", {}).values()),
            "regions": sum(one.get("regions", 0) for one in self.looked.get("streams", {}).values()),
            "recomputed": self.looked.get("recomputed", ""),
        }  # fmt: skip
        if self.fault is not None:
            place = self.fault.place
            told["fault"] = {
                "code": self.fault.code, "message": self.fault.message, "hint": self.fault.hint,
                "line": None if place is None else place.line, "column": None if place is None else place.column,
            }  # fmt: skip
        return told


def structures(channels: Mapping[str, Channel]) -> dict[str, str]:
    """The structures of streams that have one, as text."""
    found = {name: channel.current for name, channel in sorted(channels.items())}
    return {name: one.structure_text.decode() for name, one in found.items() if one.structure is not None}

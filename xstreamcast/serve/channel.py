"""One stream on the air: what comes in is settled and logged, then pushed to everybody who has tuned in.

Nobody is waited for. What a client has not taken yet waits in its connection's buffer; where that is full, a message is
dropped for this client, counted, and left to the carousel. All clients get the same bytes, so a message is made once.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from xstreamcast.errors import Place, XStreamError
from xstreamcast.model.change import Change, ContentChange
from xstreamcast.model.diagnostic import Diagnostic, excerpt
from xstreamcast.model.structure import Structure
from xstreamcast.serve.current import Current, NoEffect
from xstreamcast.serve.limits import Limits
from xstreamcast.serve.log import SEGMENT, StreamLog
from xstreamcast.serve.message import Header, frame, message
from xstreamcast.serve.positions import Positions
from xstreamcast.serve.record import STRUCTURE, Entry, Where

Sync = Literal["always", "second", "never"]
SYNCS: Final = ("always", "second", "never")
"""When the log is forced to disk: before anything is sent or acknowledged, every second, when the system likes."""

_GATHER: Final = 0.005
_WAITING: Final = 100_000
_KEPT: Final = 100
_AT_ONCE: Final = 64


class Outlet(Protocol):
    """Where a client's bytes go: an asyncio transport."""

    def write(self, data: bytes) -> None:
        """Send, or keep until it can be sent; never block."""

    def get_write_buffer_size(self) -> int:
        """What is kept."""

    def is_closing(self) -> bool:
        """Whether it is at its end."""

    def close(self) -> None:
        """It is at its end."""


@dataclass(slots=True, eq=False)
class Listener:
    """A client that has tuned in; ``dropped`` and ``missed`` count what it did not get of the live changes and of the
    carousel, in fragments."""

    outlet: Outlet
    peer: str = ""
    sent: int = 0
    dropped: int = 0
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Incoming:
    """What a source brings: a change or a structure, where it stood, and the mark to go on from after it."""

    item: Change | Structure
    place: Place = field(default_factory=Place)
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of what came: records logged, changes without an effect, and what was refused."""

    logged: int
    without_effect: int
    refused: tuple[Diagnostic, ...]
    waiting: int = 0


@dataclass(slots=True)
class _Made:
    """What is becoming of what comes."""

    entries: list[Entry] = field(default_factory=list)
    without_effect: int = 0
    refused: list[Diagnostic] = field(default_factory=list)


class Channel:
    """A stream: its log, what is current of it, and who listens."""

    def __init__(
        self, name: str, folder: Path, limits: Limits | None = None, sync: Sync = "second", segment: int = SEGMENT
    ) -> None:
        self.name = name
        self.limits = limits or Limits()
        self.sync = sync
        self.log = StreamLog(folder, segment)
        self.counts: Counter[str] = Counter()
        self.refused: list[Diagnostic] = []
        """The last ones, for who asks."""
        self.live: dict[Listener, None] = {}
        self.heard = asyncio.Event()
        """Set while somebody listens."""
        self.marks: dict[str, str] = {}
        """Where each source is to go on: by its name, the mark of its last record."""
        self._fresh: list[Entry] = []
        self._waiting: list[tuple[str, Incoming]] = []
        self._woken = asyncio.Event()
        self.quiet = asyncio.Lock()
        """Held while something is half taken in."""
        self._load()

    def _load(self) -> None:
        self.current = Current()
        self.positions = Positions(self.current, self.log.fetch)
        self.marks.clear()
        books, known = self.log.state(), 0
        if books is not None:
            self.current.restore(books["current"])
            self.positions.restore(books["positions"])
            self.marks.update(books["marks"])
            known = books["head"]
        for entry, where in self.log.walk():
            if entry.n > known:  # the books know the others
                self.positions.replay(entry)
                self._note(entry)
            self.current.replay(entry, where)

    def books(self) -> dict[str, Any]:
        """What a restart cannot know from the records that count."""
        return {
            "head": self.log.head,
            "marks": dict(self.marks),
            "current": self.current.books(),
            "positions": self.positions.books(),
        }

    def _note(self, entry: Entry) -> None:
        if entry.mark:
            source, _, mark = entry.mark.partition("\t")
            self.marks[source] = mark

    @property
    def priorities(self) -> dict[int, int]:
        """The priority of each tag."""
        structure = self.current.structure
        return {} if structure is None else {tsid: tag.priority for tsid, tag in structure.tags.items()}

    # ------------------------------------------------------------------------------------------------- what comes

    def take(self, source: str, incoming: Iterable[Incoming], *, wait: bool = True) -> Taken:
        """Take in what a source brings: settle, log as one, and have it pushed.

        ``wait``: what comes before its structure waits for it, and is not in the log until then.
        """
        made = _Made()
        self._take(source, incoming, wait, made)
        return self._commit(made)

    async def absorb(self, source: str, incoming: Sequence[Incoming], *, wait: bool = True) -> Taken:
        """The same for more than a little: still as one, but others get their turn meanwhile."""
        made = _Made()
        async with self.quiet:
            for at in range(0, len(incoming), _AT_ONCE):
                self._take(source, incoming[at : at + _AT_ONCE], wait, made)
                await asyncio.sleep(0)
            return self._commit(made)

    def _take(self, source: str, incoming: Iterable[Incoming], wait: bool, into: _Made) -> None:
        due = deque((source, one) for one in incoming)
        while due:
            by, one = due.popleft()
            unknown = isinstance(one.item, Change) and one.item.tsid is not None and self.current.structure is None
            if unknown and wait and len(self._waiting) < _WAITING:
                self._waiting.append((by, one))
                continue
            try:
                made = self._settle(by, one)
            except XStreamError as fault:
                into.refused.append(_diagnostic(fault, one))
                continue
            if isinstance(made, NoEffect):
                into.without_effect += 1
                continue
            into.entries += made
            if isinstance(one.item, Structure) and self._waiting:
                due.extendleft(reversed(self._waiting))
                self._waiting = []

    def _commit(self, made: _Made) -> Taken:
        try:
            self.log.commit()
        except XStreamError:
            self._load()  # what is current is what has been written
            raise
        self._fresh += made.entries
        self.counts["logged"] += len(made.entries)
        self.counts["without_effect"] += made.without_effect
        self.counts["refused"] += len(made.refused)
        self.refused = (self.refused + made.refused)[-_KEPT:]
        if made.entries:
            self._woken.set()
        return Taken(len(made.entries), made.without_effect, tuple(made.refused), len(self._waiting))

    def _settle(self, source: str, one: Incoming) -> list[Entry] | NoEffect:
        current = self.current
        mark = f"{source}\t{one.mark}" if one.mark else ""
        if isinstance(one.item, Structure):
            settled = current.settle_structure(one.item, one.place)
            if isinstance(settled, NoEffect):
                return settled
            entry, where = self._stage(settled, mark)
            current.hold_structure(one.item, entry, where)
            return [entry]
        made: list[Entry] = []
        changes, origin = self.positions.fragments(one.item, one.place)
        for change in changes:
            found = current.settle(change, one.place)
            if isinstance(found, NoEffect):
                continue
            for settled_one in found:
                entry, where = self._stage(settled_one.entry, mark, b"" if made else origin)
                current.hold(settled_one, entry, where)
                made.append(entry)
        return made or NoEffect("nothing is different")

    def _stage(self, entry: Entry, mark: str, origin: bytes = b"") -> tuple[Entry, Where]:
        staged, where = self.log.stage(entry, mark, origin)
        self._note(staged)
        return staged, where

    # ------------------------------------------------------------------------------------------------- what goes out

    async def durable(self) -> None:
        """Return when what has been taken in may be told."""
        if self.sync == "always":
            await asyncio.to_thread(self.log.sync)

    async def run(self) -> None:
        """Push what comes, until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            await asyncio.sleep(_GATHER)  # changes that come together go together
            await self.durable()
            for data, fragments in self.fresh():
                self.push(data, fragments)
                await asyncio.sleep(0)  # so that connections can take it before the next comes

    def fresh(self) -> Iterator[tuple[bytes, int]]:
        """What has been logged and not been pushed, as messages, and how many fragments are in each: structures first,
        higher priorities next, then in the order of the log."""
        fresh, self._fresh = self._fresh, []
        if self.live:
            priorities = self.priorities
            fresh.sort(
                key=lambda entry: (
                    entry.kind != STRUCTURE,
                    -priorities.get(entry.tsid if entry.tsid is not None else -1, 0),
                )
            )
            for entries in gathered(fresh, self.limits.message):
                yield self.message(entries), len(entries)

    def message(self, entries: Sequence[Entry]) -> bytes:
        """Records of the log as a message."""
        wires = [entry.wire for entry in entries]
        numbers = tuple(entry.n for entry in entries)
        header = Header(self.name, self.log.id, self.log.head, numbers, tuple(map(len, wires)))
        return message(header, wires)

    def stretch(
        self, since: int, count: int | None = None, size: int | None = None, until: int | None = None
    ) -> tuple[bytes, int, int]:
        """A stretch of the log as a message, how many records it has, and the number up to which it goes.

        Where the log is compacted it says so: not all numbers are there.
        """
        entries, through = self.log.stretch(since, count, size, until)
        if len(entries) == through - since:
            return self.message(entries), len(entries), through
        wires = [entry.wire for entry in entries]
        header = Header(
            self.name, self.log.id, self.log.head, tuple(entry.n for entry in entries), tuple(map(len, wires)),
            first=self.log.first, after=since, through=through,
        )  # fmt: skip
        return message(header, wires), len(entries), through

    def structure_message(self) -> bytes | None:
        """The structure as a message of its own, which is sent first."""
        current = self.current
        if current.structure is None:
            return None
        size = (len(current.structure_text),)
        header = Header(self.name, self.log.id, self.log.head, (current.structure_n,), size)
        return message(header, [current.structure_text])

    def push(self, data: bytes, fragments: int, *, repeats: bool = False) -> None:
        """A message to everybody. A repeat gives way: it goes only where less than half of the queue is taken."""
        framed = frame(data)
        limit = self.limits.queue // 2 if repeats else self.limits.queue
        sent = dropped = 0
        for listener in self.live:
            waiting = listener.outlet.get_write_buffer_size()
            if listener.outlet.is_closing():
                continue
            if waiting and waiting + len(framed) > limit:
                dropped += 1
                if repeats:
                    listener.missed += fragments
                else:
                    listener.dropped += fragments
                continue
            listener.outlet.write(framed)
            listener.sent += fragments
            sent += 1
        kind = "repeated" if repeats else "pushed"
        self.counts[f"{kind}_messages"] += sent
        self.counts[f"{kind}_fragments"] += sent * fragments
        self.counts[f"{kind}_bytes"] += sent * len(framed)
        self.counts["missed_fragments" if repeats else "dropped_fragments"] += dropped * fragments

    def join(self, listener: Listener) -> None:
        """Somebody hears everything from now on."""
        self.live[listener] = None
        self.counts["joined"] += 1
        self.heard.set()

    def leave(self, listener: Listener) -> None:
        """Somebody is gone."""
        self.live.pop(listener, None)
        if not self.live:
            self.heard.clear()

    def close(self) -> None:
        """Push what is left, and close the log."""
        for data, fragments in self.fresh():
            self.push(data, fragments)
        self.log.close()


def gathered(entries: Iterable[Entry], size: int) -> Iterator[list[Entry]]:
    """Entries side by side as long as they fit into a message."""
    group: list[Entry] = []
    total = 0
    for entry in entries:
        if group and total + len(entry.wire) > size:
            yield group
            group, total = [], 0
        group.append(entry)
        total += len(entry.wire)
    if group:
        yield group


def _diagnostic(fault: XStreamError, one: Incoming) -> Diagnostic:
    content = one.item.content if isinstance(one.item, ContentChange) else b""
    return Diagnostic(fault.code, "quarantine", fault.message, fault.place or one.place, excerpt(content))

"""The carousel: the current state of a stream over and over, with versions, tombstones and eos (DBPL'03 §1.2).

A cycle is the structure, then everything that is current, higher priorities first, then in the order of the log. It
takes ``cycle`` seconds, or longer where the bandwidth does not allow for that. Whoever gets a whole cycle has all that
the stream said until the cycle began; of a cycle that is repeated unchanged the parts may come from several turns. A
client that loses each message with probability p lacks one of m messages after c cycles with probability at most m·pᶜ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from xstreamcast.serve.channel import Channel
from xstreamcast.serve.current import Key
from xstreamcast.serve.message import Header, message
from xstreamcast.serve.record import STRUCTURE, Entry


@dataclass(frozen=True, slots=True)
class Turn:
    """A cycle: its number, the head of the log when it began, how much it repeats, and how long it takes."""

    number: int
    head: int
    fragments: int
    size: int
    seconds: float


class Carousel:
    """Repeats one channel's state while somebody listens."""

    def __init__(self, channel: Channel, cycle: float, bandwidth: float) -> None:
        self.channel = channel
        self.cycle = cycle
        self.bandwidth = bandwidth
        self.turn = Turn(0, 0, 0, 0, cycle)
        """The cycle that is on the air, or the last one that was."""

    async def run(self) -> None:
        """Cycle after cycle, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await self.channel.heard.wait()
            head, items = self.channel.log.head, list(self.channel.current.table.items())
            keys = await asyncio.to_thread(self.channel.current.repeated, self.channel.priorities, items)
            began = loop.time()
            sent = 0
            for data, fragments in self.begin(keys, head):
                due = began + self.turn.seconds * min(1.0, sent / max(1, self.turn.size))
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not self.channel.live:
                    break
                self.channel.push(data, fragments, repeats=True)
                sent += len(data)
            await asyncio.sleep(max(0.0, began + self.turn.seconds - loop.time()))

    def begin(self, keys: list[Key], head: int) -> Iterator[tuple[bytes, int]]:
        """The messages of the next cycle, each made when it is asked for, and how many fragments are in it.

        ``keys`` is what was current when the log had reached ``head``.
        """
        current = self.channel.current
        held = [current.table[key] for key in keys if key in current.table]
        size = len(current.structure_text) + sum(one.where.length for one in held)
        total = len(keys) + (current.structure is not None)
        seconds = max(self.cycle, size / self.bandwidth)
        self.turn = Turn(self.turn.number + 1, head, total, size, seconds)
        return self._messages(self.turn, keys, total - len(keys))

    def _messages(self, turn: Turn, keys: list[Key], first: int) -> Iterator[tuple[bytes, int]]:
        channel = self.channel
        current, log = channel.current, channel.log
        group: list[Entry] = []
        begin = total = 0
        if first:
            group.append(Entry(STRUCTURE, current.structure_text, current.structure_n))
            total = len(current.structure_text)
        for at, key in enumerate(keys, first):
            held = current.table.get(key)
            if held is not None and held.n > log.head:
                held = None  # it is not in the log yet
            # None: what it is now is in the next cycle.
            if group and (held is None or total + held.where.length > channel.limits.message):
                yield self._message(turn, begin, group), len(group)
                group, total = [], 0
            if held is not None:
                begin = begin if group else at
                group.append(log.fetch(held.where))
                total += held.where.length
        if group:
            yield self._message(turn, begin, group), len(group)

    def _message(self, turn: Turn, at: int, group: list[Entry]) -> bytes:
        channel = self.channel
        wires = [entry.wire for entry in group]
        header = Header(
            channel.name, channel.log.id, turn.head, tuple(entry.n for entry in group), tuple(map(len, wires)),
            turn.number, at, turn.fragments,
        )  # fmt: skip
        return message(header, wires)

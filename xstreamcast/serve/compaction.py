"""Compaction: a log that never ends keeps the last of it whole, and of what is older only what still counts.

A change that another has taken the place of is not needed by anybody who gets the other one: a client that has all up
to N, and then gets what still counts of what came after N, and everything since :attr:`StreamLog.first`, has the stream
as it is. So "since N" is always answered; what cannot be had any more are the states in between.

What still counts before a number goes into a *base*: structures, current records, and the server's books at that time
(the marks of its sources, the rows of update streams), so that a restart goes on from there. The base is written beside
the log, forced to disk and renamed; then the segments that it stands for are removed. A crash before the renaming
leaves the log as it was, one after it leaves files that the next start removes.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import error
from xstreamcast.model.datetime import SECOND, parse_duration
from xstreamcast.serve.log import SEGMENT, StreamLog
from xstreamcast.serve.record import Where, number_of
from xstreamcast.serve.segment import Segment, written_base

if TYPE_CHECKING:
    from xstreamcast.serve.channel import Channel
    from xstreamcast.serve.current import Key

_UNITS: Final = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_TIMES: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LEAST: Final = 1 << 16
_PARTS: Final = 4
_AT_ONCE: Final = 5_000


@dataclass(frozen=True, slots=True)
class Keep:
    """How much of a log is kept whole: at least so many bytes, or so many seconds; without either, all of it.

    >>> Keep.parse("512MB"), Keep.parse("36h").seconds, Keep.parse("P7D").seconds
    (Keep(size=536870912, seconds=None), 129600.0, 604800.0)
    """

    size: int | None = None
    seconds: float | None = None

    @classmethod
    def parse(cls, text: str) -> Keep:
        """``512MB``, ``36h``, or a duration as XML Schema writes it; raises ValueError."""
        number, unit = text[:-2], text[-2:].upper()
        if unit in _UNITS and number.isascii() and number.isdecimal() and int(number):
            return cls(size=int(number) * _UNITS[unit])
        number, unit = text[:-1], text[-1:]
        if unit in _TIMES and number.isascii() and number.isdecimal() and int(number):
            return cls(seconds=float(int(number) * _TIMES[unit]))
        duration = parse_duration(text)
        if duration is None or duration.months or duration.ticks <= 0:
            raise ValueError(f"a size such as 512MB, or a time such as 36h or 7d, not {text!r}")
        return cls(seconds=duration.ticks / SECOND)

    @property
    def segment(self) -> int:
        """The size of a segment, small enough to let go of what need not be kept."""
        return SEGMENT if self.size is None else min(SEGMENT, max(_LEAST, self.size // _PARTS))

    def due(self, log: StreamLog, now: float) -> int | None:
        """The number before which a log may be compacted; None while that is not worth it.

        A base is written whole each time, so at least half of its size must come free.
        """
        if self.seconds is not None and now - log.begun > self.seconds / _PARTS:
            log.roll()
        first, free, rest = log.first, 0, sum(segment.size for segment in log.segments)
        for segment in log.segments[:-1]:
            rest -= segment.size
            enough = self.size is not None and rest >= self.size
            old = self.seconds is not None and now - segment.path.stat().st_mtime > self.seconds
            if not (enough or old):
                break
            first, free = segment.last + 1, free + segment.size
        worth = free and free >= (0 if log.base is None else log.base.size // 2)
        return first if worth else None


async def compact(channel: Channel, first: int) -> None:
    """Let a base take the place of all records before a number that is the first of a segment."""
    log = channel.log
    async with channel.quiet:  # nothing is half taken in
        state = channel.books()
        table = list(channel.current.table.items())
        structures = [where for n, where in channel.current.structures if n < first]
    old: dict[int, Path] = {part.number: part.path for part in log.parts() if part.first < first}
    number = log.next_number()
    partial, path = log.folder / f".{first:020}.part", log.folder / f"{first:020}.base"

    def write() -> tuple[Segment, list[tuple[Key | None, Where]], list[Where]]:
        held = [(where, None) for where in structures]
        kept: list[tuple[Where, Key | None]] = [*held, *[(one.where, key) for key, one in table if one.n < first]]
        order = {segment: at for at, segment in enumerate(old)}
        kept.sort(key=lambda one: (order[one[0].segment], one[0].offset))
        state["records"] = len(kept)
        # What the books say of the records after it must not be lost when these are.
        log.sync()
        base, places = written_base(partial, number, first, log.identity, state, _records(old, kept))
        os.replace(partial, path)
        base.path = path
        log.sync_folder()
        return base, [(key, where) for where, key in kept], places

    try:
        base, moved, places = await asyncio.to_thread(write)
    except OSError as fault:
        partial.unlink(missing_ok=True)
        hint = "the log stays as it was, and is tried again later"
        raise error("XSC0100", f"cannot compact {log.folder}: {fault.strerror}", hint=hint) from None
    log.add_base(base)
    for at in range(0, len(moved), _AT_ONCE):
        for (key, before), after in zip(moved[at : at + _AT_ONCE], places[at : at + _AT_ONCE], strict=True):
            channel.current.moved(key, before, after)
        await asyncio.sleep(0)
    log.use_base(base)
    channel.counts["compactions"] += 1


def _records(paths: dict[int, Path], kept: list[tuple[Where, Key | None]]) -> Iterator[tuple[int, bytes]]:
    """Records as they are in the log, with their numbers."""
    number, file = -1, -1
    try:
        for where, _ in kept:
            if where.segment != number:
                if file >= 0:
                    os.close(file)
                number, file = where.segment, os.open(paths[where.segment], os.O_RDONLY)
            data = os.pread(file, where.length, where.offset)
            yield number_of(data), data
    finally:
        if file >= 0:
            os.close(file)

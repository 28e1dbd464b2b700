"""What the current time is, and what waits for it.

    event    the largest valid time that has come, over all streams
    wall     the clock on the wall
    manual   what was last said by ``tick``

It never decreases, and a tick is a change. By the event clock nothing is ever ahead; by another one a version or an
event may have come that begins later than now: it is in no answer until its time has come.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final, Literal

from xstreamcast.model.change import Remove
from xstreamcast.model.time import Instant, parse_instant

if TYPE_CHECKING:
    from xstreamcast.model.change import Change

Clock = Literal["event", "wall", "manual"]
CLOCKS: Final = ("event", "wall", "manual")


def instant(now: str | datetime | Instant) -> Instant:
    """A time as it is said, as an instant; without a zone it is UTC."""
    if isinstance(now, int):
        return now
    if isinstance(now, datetime):
        aware = now if now.tzinfo is not None else now.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1_000_000)
    return parse_instant(now)


class Pending:
    """Changes that have come before their time, in the order in which it comes."""

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Change]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, change: Change, now: Instant, latest: Instant) -> None:
        """Remember a change if it is ahead of now; ``latest``: when a removal that says no time takes place."""
        at = latest if isinstance(change, Remove) and change.valid_time is None else change.valid_time
        if at is not None and at > now:
            heappush(self._heap, (at, next(self._numbers), change))

    def pop(self, now: Instant) -> Iterator[Change]:
        """Those whose time has come."""
        while self._heap and self._heap[0][0] <= now:
            yield heappop(self._heap)[2]

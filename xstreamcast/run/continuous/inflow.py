"""The streams that queries read, and their clock: what comes is taken in once, and each query goes on.

now = the largest valid time over all streams (event), the wall clock, or what was last said (manual)
watermark = min over the streams that go on of (their largest valid time − their lateness)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from xstreamcast.errors import Place, error
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import START, Instant, format_instant, parse_instant
from xstreamcast.run.continuous.arrivals import Ended
from xstreamcast.run.continuous.share import Association

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Report
    from xstreamcast.model.fragment import Arrival
    from xstreamcast.run.continuous.query import ContinuousQuery

Clock = Literal["event", "wall", "manual"]
CLOCKS: Final = ("event", "wall", "manual")
Arriving = Change | Structure | Diagnostic
"""What a stream brings."""


class Inflow:
    """The streams of some queries, and their clock: what comes is taken in once, and each query goes on."""

    def __init__(
        self,
        structures: Mapping[str, Structure],
        clock: Clock,
        now: str | datetime | None,
        lateness: float | Mapping[str, float] | None,
        report: Report,
    ) -> None:
        self.structures = structures
        self.clock = clock
        self.report = report
        self.queries: list[ContinuousQuery] = []
        self.sources: dict[str, str] = {}
        self.associations: dict[str, Association] = {}
        self._late = lateness if isinstance(lateness, Mapping) else {"": lateness} if lateness is not None else {}
        self._now: Instant = START if now is None else _instant(now)

    def association(self, stream: str) -> Association:
        """T1 of a stream."""
        made = self.associations.get(stream)
        if made is None:
            structure = self.structures.get(stream) or self.structures.get("")
            made = self.associations[stream] = Association(structure, self.report)
        return made

    @property
    def now(self) -> Instant:
        """The current time; it never decreases."""
        if self.clock == "event":
            self._now = max([self._now, *[one.now for one in self.associations.values()]])
        elif self.clock == "wall":
            self._now = max(self._now, _instant(datetime.now(UTC)))
        return self._now

    @property
    def watermark(self) -> Instant:
        """Nothing with an earlier valid time is taken in: the least, over the streams that go on, of their largest
        valid time less their lateness. START without a lateness."""
        marks = []
        for name, one in self.associations.items():
            late = self._late.get(name, self._late.get(""))
            if late is not None and one.now != START and not one.ended:
                marks.append(one.now - round(late * 1_000_000))
        return min(marks, default=START)

    def stream_of(self, stream: str | None) -> str:
        """The stream that is meant: the one named, or the only one that the queries read."""
        if stream is not None:
            return stream
        names = {name for query in self.queries for name in query.streams}
        if len(names) != 1:
            hint = f"say which stream: {', '.join(sorted(names))}" if names else "the query reads no stream by name"
            raise error("XSC0091", f"the queries read {len(names)} streams", hint=hint)
        return names.pop()

    def feed(self, item: Arriving, stream: str | None = None, place: Place | None = None, inside: int = 0) -> None:
        """Take in what a stream brings; what it changes in the answers waits in each query's ``take``."""
        self._take(item, self.stream_of(stream), place, inside)
        self.go_on()

    def bring(self, stream: str, brought: Arrival | Ended | None) -> None:
        """Take in what :func:`~xstreamcast.run.continuous.arrivals.arrivals` yields."""
        if brought is None:
            self.go_on()
        elif isinstance(brought, Ended):
            self.finish(stream)
        else:
            self.feed(brought.item, stream, brought.place, brought.inside)

    def feed_many(self, items: Iterable[Arriving], stream: str | None = None) -> None:
        """Take in several at once: the answers go on when all are in."""
        name = self.stream_of(stream)
        for item in items:
            self._take(item, name, None, 0)
        self.go_on()

    def tick(self, now: str | datetime | Instant) -> None:
        """The current time, of a manual clock."""
        if self.clock != "manual":
            raise error("XSC0091", f"the clock is {self.clock}: it is not set by hand", hint='clock="manual"')
        self._now = max(self._now, _instant(now))
        self.go_on()

    def begin(self) -> None:
        """Let the queries that wait for something to come begin without it."""
        for query in self.queries:
            query._begun()

    def go_on(self) -> None:
        """Let every query look at what has come, and at the time."""
        for query in self.queries:
            query._go_on()

    def _take(self, item: Arriving, stream: str, place: Place | None, inside: int) -> None:
        association = self.association(stream)
        if isinstance(item, Change) and item.valid_time is not None and self._late:
            mark = self.watermark
            if item.valid_time < mark:
                text = f"valid from {format_instant(item.valid_time)}, before the watermark {format_instant(mark)}"
                association.diagnose("XSC0090", "quarantine", text, place or Place(), item)
                return
        association.apply(item, place, inside)

    def finish(self, stream: str) -> None:
        """A stream brings nothing more: what still waits for a structure is put aside."""
        self.association(stream).finish()
        self.go_on()

    @property
    def ended(self) -> bool:
        """Whether every stream that the queries read has said that it is at its end."""
        names = {name for query in self.queries for name in query.streams}
        return all(name in self.associations and self.associations[name].ended for name in names)


def _instant(now: str | datetime | Instant) -> Instant:
    if isinstance(now, int):
        return now
    if isinstance(now, datetime):
        aware = now if now.tzinfo is not None else now.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1_000_000)
    return parse_instant(now)

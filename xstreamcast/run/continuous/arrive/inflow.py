"""The streams that queries read, and their clock: what comes is taken in once, and each query goes on.

now = the largest valid time over all streams (event), the wall clock, or what was last said (manual)
watermark = min over the streams that go on of (their largest valid time − their lateness)
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Final

from xstreamcast.cast.reader import KERNEL_FROM, read_batches
from xstreamcast.errors import Place, error
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.findings import Findings
from xstreamcast.model.garbage import not_collecting
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import NOW, START, Instant
from xstreamcast.run.continuous.arrive.arrivals import Ended
from xstreamcast.run.continuous.arrive.share import Association
from xstreamcast.run.continuous.planned import known_structures
from xstreamcast.run.continuous.time.clock import CLOCKS as CLOCKS
from xstreamcast.run.continuous.time.clock import Clock as Clock
from xstreamcast.run.continuous.time.clock import instant
from xstreamcast.run.unmatched import unmatched
from xstreamcast.wire.fragment import Arrival

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch
    from xstreamcast.cast.regions import Report
    from xstreamcast.plan.mutability import Fixed
    from xstreamcast.run.continuous.columns.alike import Alike
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.scan.encoding import Source
    from xstreamcast.scan.given import Given

READY_FROM: Final = 1 << 18
_FROM_MEMORY: Final = 1 << 12
"""Bytes of wire text at hand from which the kernel reads it."""
_OFTEN: Final = 1000
"""Arrivals after which what they brought is evaluated."""
Arriving = Change | Structure | Diagnostic | Arrival
"""What a stream brings."""


def _kernel_from() -> int:
    """Bytes of a stream from which the kernel reads it: fewer once it is loaded."""
    return READY_FROM if "xstreamcast.scan.kernel" in sys.modules else KERNEL_FROM


class Inflow:
    """The streams of some queries, and their clock: what comes is taken in once, and each query goes on.

    ``columns``: whether streams may be followed in columns; not by who keeps tables of objects (buckets on Spark).
    """

    columns = True

    def __init__(
        self,
        structures: Mapping[str, Structure],
        clock: Clock,
        now: str | datetime | None,
        lateness: float | Mapping[str, float] | None,
        report: Report | None,
    ) -> None:
        self.structures = structures
        self.clock = clock
        self.findings = Findings(report)
        self._unheard = 0
        self.queries: list[ContinuousQuery] = []
        self.sources: dict[str, Source] = {}
        self.associations: dict[str, Association] = {}
        self.finished: set[str] = set()
        """The streams that bring nothing more."""
        self._mark: Instant = START
        self.rooted = False
        self.seals = True
        """Whether what can never change is let go of; not by who must be able to tell all of it again (Spark)."""
        self._decided = False
        self.alike: list[Alike] = []
        """The queries that are followed in columns, those of one shape together."""
        self.by_objects = ""
        """Why the streams are not followed in columns, or no longer."""
        self.forwards = True
        """Whether holes of what an answer copies are told as holes; not by who keeps it as a list of items (Spark)."""
        self.fixed: Fixed | None = None
        self.memory: int | None = None
        """Bytes of memory for the contents of all streams, and their trees."""
        self._keeps_all = False
        self._retained: dict[str, list[Structure | None]] = {}
        self._late = lateness if isinstance(lateness, Mapping) else {"": lateness} if lateness is not None else {}
        self._now: Instant = START if now is None else instant(now)
        self._read_clock()

    def association(self, stream: str) -> Association:
        """T1 of a stream."""
        made = self.associations.get(stream)
        if made is None:
            structure = self.structures.get(stream) or self.structures.get("")
            made = self.associations[stream] = Association(structure, self.findings)
            made.keeps_all = self._keeps_all
            made.fixed = self.fixed
            if self.memory is not None:
                made.limit(self.memory // max(1, len({name for query in self.queries for name in query.streams})))
            made.is_followed = self._all_begun
            if self.clock != "event":
                made.advance(self._now)
        return made

    def _all_begun(self) -> bool:
        return all(query.begun for query in self.queries)

    def keep_all(self) -> None:
        """Some query reads the documents themselves: nothing that comes may be left out from now on."""
        self._keeps_all = True
        for one in self.associations.values():
            one.keeps_all = True

    @property
    def now(self) -> Instant:
        """The current time; it never decreases."""
        if self.clock == "event":
            for one in self.associations.values():
                if one.now > self._now:
                    self._now = one.now
        return self._now

    def _read_clock(self) -> None:
        if self.clock == "wall":
            self._now = max(self._now, instant(datetime.now(UTC)))

    def _advance(self) -> None:
        """What was ahead of time by another clock than the streams' own is seen once its time has come."""
        for name, association in self.associations.items():
            if self.clock != "event":
                association.advance(self._now)
            self._retain(name, association)

    def _retain(self, name: str, association: Association) -> None:
        """Let go of what no query can see again: only where all of them are followed by difference."""
        followed = association.inlet is not None or bool(association.followers)
        if not followed or association.keeps_all or not all(query.begun for query in self.queries):
            return
        known = [one.structure for one in self.associations.values()]
        if self._retained.get(name) != known:
            self._retained[name] = known
            leaders = [one.queries[0] for one in self.alike] if association.inlet is not None else self.queries
            association.retention.limit(query.retention(name) for query in leaders)
        association.retention.shed(self.now)

    @property
    def watermark(self) -> Instant:
        """Nothing with an earlier valid time is taken in: the least, over the streams that go on, of their largest
        valid time less their lateness. It never decreases; a stream without a lateness keeps it where it is."""
        self._mark = max(self._mark, min(self._marks(), default=START))
        return self._mark

    def _marks(self, without: Collection[str] = ()) -> list[Instant]:
        """The watermarks of the streams that go on."""
        marks = []
        for name, one in self.associations.items():
            late = self._late.get(name, self._late.get(""))
            if one.now != START and not one.ended and name not in self.finished and name not in without:
                marks.append(START if late is None else one.now - round(late * 1_000_000))
        return marks

    def admit(self, name: str) -> None:
        """Tell the table of a stream, in columns, what time it is, and how late changes may come."""
        inlet = self.association(name).inlet
        if inlet is not None and self.clock != "event":
            inlet.table.advance(self._now)
        if inlet is not None and self._late:
            others = self._marks({name})
            late = self._late.get(name, self._late.get(""))
            ended = self.association(name).ended or name in self.finished
            lateness = None if late is None or ended else round(late * 1_000_000)
            inlet.table.admit(lateness, self.watermark, min(others, default=NOW))

    def admitted(self, name: str) -> None:
        """Changes have been taken in: the watermark goes on."""
        inlet = self.association(name).inlet
        if inlet is not None and self._late:
            self._mark = max(self._mark, inlet.table.mark)

    def stream_of(self, stream: str | None) -> str:
        """The stream that is meant: the one named, or the only one that the queries read."""
        if stream is not None and stream in self.associations:
            return stream
        names = sorted({name for query in self.queries for name in query.streams})
        if stream is not None:
            if stream not in names and all(query.names_its_streams for query in self.queries):
                hint = f"they read: {', '.join(names)}" if names else "they read none"
                raise error("FODC0002", f'no query reads a stream "{stream}"', hint=hint)
            return stream
        if len(names) != 1:
            hint = f"say which stream: {', '.join(names)}" if names else "the query reads no stream by name"
            raise error("XSC0091", f"the queries read {len(names)} streams", hint=hint)
        return names[0]

    def check_names(self, answers: Collection[str]) -> None:
        """Raise FODC0002 for a stream that a query reads, of which there is no source, nor is it an answer's name."""
        for name in (name for query in self.queries for name in query.streams):
            if name not in self.sources and name not in answers:
                raise error("FODC0002", f'there is no stream "{name}"', hint=f'name it: streams={{"{name}": …}}')

    def doubts(self, query: ContinuousQuery) -> tuple[str, ...]:
        """What in a query can hardly be meant: also paths that can match nothing by the structures that have come."""
        ruled_out = unmatched(query.query, known_structures(self.associations))
        return tuple(dict.fromkeys((*query.query.warnings, *ruled_out)))

    # ---------------------------------------------------------------------------------------------- columns

    def _decide(self) -> None:
        """Something comes for the first time: follow the streams in columns, if all queries can be followed so."""
        from xstreamcast.run.continuous.columns.following import follow_in_columns

        self._decided = True
        if self.fixed is not None:
            self.by_objects = "regions are declared fixed"
        elif self.rooted:
            self.by_objects = "fragments are placed by their tags"
        elif self._keeps_all or not self.columns:
            self.by_objects = "documents are kept as they are"
        else:
            follow_in_columns(self)

    def decide_early(self) -> None:
        """A query is asked before anything has come. Where all structures are there, its streams can be followed in
        columns; else it begins by objects, and stays there."""
        names = dict.fromkeys([name for query in self.queries for name in query.streams])
        if not self._decided and all(self.association(name).structure is not None for name in names):
            self._decide()
        elif not self._decided:
            self.by_objects = "a stream has no tag structure"

    def leave_columns(self, why: str) -> None:
        """Hand all that is known over to tables of objects."""
        self.by_objects = why
        self._retained.clear()
        self.alike = []
        for one in self.associations.values():
            if one.inlet is not None:
                one.leave_columns()
        for query in self.queries:
            query.leave_columns()

    def _widen(self, stream: str, association: Association, structure: Structure) -> None:
        """A stream in columns has another tag structure; one that takes something back is refused by its table."""
        known = association.structure
        assert known is not None
        if structure == known or not structure.only_adds_to(known) or association.misses(structure):
            return
        self.flush()
        if association.inlet is not None:
            from xstreamcast.run.continuous.columns.following import widen_columns

            widen_columns(self, stream, structure)

    def is_columnar(self, stream: str) -> bool:
        """Whether what a stream brings is taken in in columns, now that something comes."""
        if not self._decided:
            self._decide()
        return self.association(stream).inlet is not None

    def flush(self) -> None:
        """Take in what waits for being taken in together, in columns."""
        if any(one.inlet is not None for one in self.associations.values()):
            from xstreamcast.run.continuous.columns.following import flush

            flush(self)

    def feed(self, item: Arriving, stream: str | None = None, place: Place | None = None, inside: int = 0) -> None:
        """Take in what a stream brings; what it changes in the answers waits in each query's ``take``."""
        self._take(item, self.stream_of(stream), place, inside)
        self.go_on()
        self.findings.tell()

    def bring(self, stream: str, brought: Arrival | Ended | Sequence[Arriving] | None) -> None:
        """Take in what :func:`~xstreamcast.run.continuous.arrive.arrivals.arrivals` yields, or several at once.

        Of what is odd about it is warned when there is time for that, so that there may be counts.
        """
        self._unheard += 1
        if brought is None:
            self.go_on()
        elif isinstance(brought, Ended):
            self.finish(stream)
        elif not isinstance(brought, Arrival):
            self.feed_many(brought, stream)
        else:
            self._take(brought.item, stream, brought.place, brought.inside)
            self.go_on()
        if brought is None or self._unheard >= _OFTEN:
            self._unheard = 0
            self.findings.tell()

    def feed_many(self, items: Iterable[Arriving] | bytes, stream: str | None = None) -> None:
        """Take in several at once, or whole elements of a stream as they are on the wire: the answers go on when all
        are in."""
        with not_collecting():
            self._feed_many(items, self.stream_of(stream))
        self.findings.tell()

    def _feed_many(self, items: Iterable[Arriving] | bytes, name: str) -> None:
        association = self.association(name)
        if not isinstance(items, bytes):
            with association.together():
                for item in items:
                    self._take(item, name, None, 0)
        else:
            self.decide_early()
            inlet = association.inlet
            by_kernel = inlet is not None and len(items) >= _FROM_MEMORY
            for stretch in inlet.read(items) if inlet is not None and by_kernel else read_batches(BytesIO(items)):
                if isinstance(stretch, Arrival) or (self._late and association.inlet is None):
                    for arrival in (stretch,) if isinstance(stretch, Arrival) else stretch.objects():
                        self._take(arrival.item, name, arrival.place, arrival.inside)
                else:
                    self.begin()
                    self.take_batch(association, stretch, 0, True, lambda _: None)
            association.end_batches()
        self.go_on()

    def load(
        self,
        source: Given,
        stream: str | None = None,
        progress: Callable[[int], None] = lambda _: None,
        telling: bool = False,
    ) -> None:
        """Read a file (or a pipe) to its end, in batches: what no query needs is passed over, the rest is parsed
        together. The answers go on when all is in; what is different is told when somebody asks. ``progress`` hears now
        and then how many changes have come. ``telling``: somebody will ask, so that things are kept as they are told.
        """
        name = self.stream_of(stream)
        association = self.association(name)
        try:
            with not_collecting(settles=True):
                self._load(source, name, association, progress, telling)
        finally:
            association.end_batches()

    def _load(
        self, source: Given, name: str, association: Association, progress: Callable[[int], None], telling: bool
    ) -> None:
        stretches = read_batches(source, association.structure, kernel_from=_kernel_from())
        for number, stretch in enumerate(stretches):
            if isinstance(stretch, Arrival):
                self._take(stretch.item, name, stretch.place, stretch.inside)
                if association.table:
                    self.begin()  # so that what nobody needs is known
                    if number % _OFTEN == 0:
                        self.settle()
            elif self._late and association.inlet is None:
                for arrival in stretch.objects():
                    self._take(arrival.item, name, arrival.place, arrival.inside)
            else:
                self.begin()
                self.take_batch(association, stretch, 0, telling, progress)
        association.end_batches()
        self.finish(name, tell=False)

    def take_batch(
        self, association: Association, batch: FragmentBatch, first: int, telling: bool, progress: Callable[[int], None]
    ) -> None:
        """Take in a batch of changes of a stream, from one on, and let the queries evaluate what it brings."""
        if association.inlet is not None:
            from xstreamcast.run.continuous.columns.following import take_batch

            first = take_batch(self, association, batch)
            progress(association.changed)
            if first == len(batch):
                return
            if self._late:
                for change, place, inside, *_ in batch.arrivals(range(first, len(batch))):
                    if not self.is_late(association, change, place):
                        association.apply(change, place, inside)
                return
        for live in association.followers:
            live.runs.telling = telling or self.fixed is not None
        for _ in association.take_batch(batch, first):
            if self.fixed is None:
                self.settle()
            else:
                self.go_on()  # what has been told need not be kept
            progress(association.changed)

    def settle(self) -> None:
        """Let every query evaluate what has come; what that changes in the answers is told later."""
        self._read_clock()
        self.flush()
        self._advance()
        for query in self.queries:
            query._settle()

    def feed_all(self, items: Iterable[tuple[str, Arriving]], now: Instant | None = None) -> None:
        """Take in what several streams bring, and the time: the answers go on when all is in.

        By the event clock it is the largest valid time of a part of a stream that comes elsewhere.
        """
        for stream, item in items:
            self._take(item, stream, None, 0)
        if now is not None and self.clock == "event":
            self._now = max(self._now, now)
            self.go_on()
        elif now is not None:
            self.tick(now)
        else:
            self.go_on()

    def tick(self, now: str | datetime | Instant) -> None:
        """The current time, of a manual clock."""
        if self.clock != "manual":
            raise error("XSC0091", f"the clock is {self.clock}: it is not set by hand", hint='clock="manual"')
        self._now = max(self._now, instant(now))
        self.go_on()

    def begin(self) -> None:
        """Let the queries that wait for something to come begin without it."""
        if not self._decided:
            self._decide()
        self.flush()
        for query in self.queries:
            query._begun()

    def go_on(self, tell: bool = True) -> None:
        """Let every query look at what has come, and at the time, and ``tell`` what is different, or when asked to."""
        self._read_clock()
        self.flush()
        self._advance()
        for query in self.queries:
            query._go_on(tell)

    def _take(self, item: Arriving, stream: str, place: Place | None, inside: int) -> None:
        association = self.association(stream)
        if isinstance(item, Arrival):
            place, inside, item = item.place, item.inside, item.item
        if not isinstance(item, Change):
            if not isinstance(item, Structure | Diagnostic):
                text = f"a stream brings changes and structures, not a {type(item).__name__}"
                raise error("XPTY0004", text, hint="text that is read as it comes: load(BytesIO(text))")
            if isinstance(item, Structure) and association.inlet is not None:
                self._widen(stream, association, item)
        elif not self._decided:
            self._decide()
        if isinstance(item, Change) and association.inlet is None and self.is_late(association, item, place):
            return
        association.apply(item, place, inside)

    def is_late(self, association: Association, change: Change, place: Place | None) -> bool:
        """Whether a change comes too late; then it is put aside."""
        if change.valid_time is None or not self._late:
            return False
        mark = self.watermark
        if change.valid_time >= mark:
            return False
        association.put_aside(change, place or Place(), mark)
        return True

    def finish(self, stream: str, tell: bool = True) -> None:
        """A stream brings nothing more: what still waits for a structure is put aside."""
        self.association(stream).finish()
        self.finished.add(stream)
        for query in self.queries:
            query._finish(stream)
        self.go_on(tell)
        self.findings.tell(again=True)

    def is_over(self, streams: Iterable[str]) -> bool:
        """Whether some streams have said that they are at their end, or bring nothing more."""
        return all(name in self.finished or self.association(name).ended for name in streams)

    @property
    def ended(self) -> bool:
        """Whether every stream that the queries read has said that it is at its end."""
        names = {name for query in self.queries for name in query.streams}
        return all(name in self.associations and self.associations[name].ended for name in names)

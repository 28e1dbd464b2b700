"""Runs: holes side by side in one content, with what fills them, as columns instead of objects.

While a stream is taken in by batches, most of what comes is plain: a region with one filling, without a time, whose
content is one element. For such a hole nothing is made. A :class:`Run` has up to WIDTH holes of one content, and one
entry in the sequence of its unit, with the sum of what all of them add:

    total(run) = Σ E(fragment)        E(a ⊎ b) = E(a) ++ E(b)

A fragment is a hole's content with the holes in that filled, if these are few. A change that touches one takes it out
of its run, and it becomes an :class:`~xstreamcast.run.continuous.mounts.Occurrence` like any other (*opened*); so do
those that somebody wants as members. Nobody reads a hole in a run but the unit itself. Fragments that are placed by
their tags have no content around them (:mod:`~xstreamcast.run.continuous.rooted`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xstreamcast.model.content import Opened
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.mounts import Member, Mount, Occurrence, holes_around
from xstreamcast.run.continuous.order import WIDTH, Entry, Sequence

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.atomic import Item
    from xstreamcast.run.continuous.bulk import Bulk
    from xstreamcast.run.continuous.live import Live
    from xstreamcast.run.continuous.mounts import Above

_CLOSED: Final = ord(">")
_BESIDE: Final = frozenset(b"-?]")
"""What may come before the last bracket of a comment, an instruction or a marked section."""
_TOLD: Final = object()
Identity = tuple[Any, ...]
COLUMNS: Final = ("numbers", "tsids", "rows", "fillings", "inside", "outcomes", "met", "single", "shown")


def rooted_key(number: int) -> tuple[tuple[int, int], int]:
    """The key of a fragment that is placed by its tag, without a look at those around: it stands by its number."""
    return (0, number), 0


class Inner:
    """A hole within a fragment of a run: ``outer`` is the number of the fragment's own hole."""

    __slots__ = ("outer",)

    def __init__(self, outer: int) -> None:
        self.outer = outer


class Run:
    """Some holes of one content, in order (``mount`` None: of none). Columns: their ``numbers``, ``tsids`` and
    ``rows``; the ``fillings`` (None: not yet); the numbers of the holes ``inside`` that matter; the ``outcomes`` of the
    fragments, None if they must be computed; how many contents these were ``met`` in; whether what a fragment gives is
    of a ``single`` member; and what is ``shown`` of it in the answer."""

    __slots__ = (
        "above", "entry", "fillings", "inside", "met", "mount", "numbers", "outcomes", "rows", "runs", "shown",
        "single", "state", "tsids", "unit",
    )  # fmt: skip

    def __init__(
        self, runs: Runs, unit: int, mount: Mount | None, state: int, above: Above | None, entry: Entry[Any]
    ) -> None:
        self.runs = runs
        self.unit = unit
        self.mount = mount
        self.state = state
        self.above = above
        self.entry = entry
        self.numbers: list[int] = []
        self.tsids: list[int | None] = []
        self.rows: list[int] = []
        self.fillings: list[Filling | None] = []
        self.inside: list[tuple[int, ...]] = []
        self.outcomes: list[Any] = []
        self.met: list[int] = []
        self.single: list[bool] = []
        self.shown: list[Any] = []

    def part(self, begin: int, end: int) -> Run:
        """A run of some of its holes."""
        summary = self.runs.units[self.unit].total(self.outcomes[begin:end])
        entry: Entry[Any] = Entry(None, summary, self.key(begin))
        made = Run(self.runs, self.unit, self.mount, self.state, self.above, entry)
        entry.item = made
        for name in COLUMNS:
            setattr(made, name, getattr(self, name)[begin:end])
        return made

    def key(self, at: int) -> Any:
        """The key that one of its holes has in the sequence. Without a content around they stand by their numbers."""
        return self.entry.key if self.mount is not None else rooted_key(self.numbers[at])

    def at_item(self, number: int) -> int:
        """Which of its holes has the item of a number, from 1."""
        for at, items in enumerate(self.outcomes):
            number -= len(items or ())
            if number <= 0:
                return at
        raise AssertionError("there are as many items as the counts say")

    def told_by_member(self) -> list[int]:
        """The holes that have items of several members, or copies of what has open holes if these are forwarded."""
        both = zip(self.outcomes, self.single, strict=True)
        return [at for at, (items, single) in enumerate(both) if items and (not single or self.forwards(at))]

    def forwards(self, at: int) -> bool:
        """Whether what is told of a hole has open holes, which are told as such."""
        inside, live = self.inside[at], self.runs.live
        if not inside or not self.runs.forwards or all((live.doc, number) in live.table for number in inside):
            return False
        return any(type(item) is Node for item in self.outcomes[at])

    def opened(self, settled: bool = False) -> list[Entry[Any]]:
        """All its holes, taken out of it: the entries that they have now. ``settled``: see :meth:`Runs.open`."""
        places = self.runs.open(self, range(len(self.numbers)), settled)
        return [place.places[self.unit] for place in places]

    def identity(self, at: int) -> Identity:
        """What the member of a hole is known by, as :func:`~xstreamcast.run.continuous.journal.identity` has it."""
        return self.unit, 0, (self.numbers[at], (0,)), *holes_around(self.mount)


class Fragment(NamedTuple):
    """A hole of a run that has items."""

    run: Run
    at: int

    @property
    def outcome(self) -> list[Item]:
        """Its items."""
        found: list[Item] = self.run.outcomes[self.at]
        return found


def is_simple(content: object) -> bool:
    """Whether a content is one element, in no namespace of its own, and nothing beside it; it may have holes."""
    if type(content) is not Opened or not content.plain:
        return False
    end = content.to
    return content.buffer[end - 1] == _CLOSED and content.buffer[end - 2] not in _BESIDE


class Runs:
    """The runs of a live document.

    ``units``: how the units are evaluated whose records may be in runs. ``taking``: whether a batch is being taken in;
    ``patient``: fragments with holes that wait for their fillers are not looked at yet; ``telling``: what comes will
    be told; ``forwards``: with its open holes. ``due``: the runs with something to evaluate; ``untold``: those whose
    items have not been told yet.
    ``shown``: by unit, what the answer shows of members; ``orphans``: what it shows of what is there no more, and what
    that was known by. ``standing``: how many holes are in runs; ``opened``: how many have been taken out.
    """

    def __init__(self, live: Live) -> None:
        self.live = live
        self.units: dict[int, Bulk] = {}
        self.taking = False
        self.patient = False
        self.telling = False
        self.forwards = False
        self.due: dict[Run, None] = {}
        self.untold: dict[Run, None] = {}
        self.shown: dict[int, dict[Any, Any]] = {}
        self.orphans: dict[int, list[tuple[Identity, Any]]] = {}
        self.standing = 0
        self.opened = 0

    # ---------------------------------------------------------------------------------------------- what comes

    def begin(self) -> None:
        """A batch is taken in."""
        self.taking = self.patient = bool(self.units)

    def path(self, mount: Mount | None) -> set[int]:
        """The holes that a content is in: none of them is filled again within it."""
        found: set[int] = set()
        occurrence = mount.occurrence if mount is not None else None
        while occurrence is not None:
            found.add(occurrence.id)
            occurrence = occurrence.parent.occurrence if occurrence.parent is not None else None
        return found

    def admitted(self, number: int, region: Region, barred: set[int], unit: int, state: int) -> tuple[int, ...] | None:
        """The holes in a region's content that matter, if it may stand in a run of a unit; None if not.

        ``barred``: holes that stand elsewhere, so that what fills them is not the fragment's alone.
        """
        filling = region.current
        if filling is None or not region.plain or not is_simple(filling.content):
            return None
        marks = filling.content.marks  # type: ignore[union-attr]  # an Opened
        if marks is None:
            return ()
        return None if self._is_told_apart(filling, unit, state) else self._inside(number, marks, barred)

    def _is_told_apart(self, filling: Filling, unit: int, state: int) -> bool:
        """Whether a fragment with holes has items of several members, so that it would be opened at once."""
        return self.telling and self.units[unit].shows and not self.live.route.is_record(state, filling.tsid, unit)

    def _inside(self, number: int, marks: Any, barred: set[int]) -> tuple[int, ...] | None:
        live = self.live
        (begin, end, region_of_top, _, _), *rows = marks.tolist()
        if begin or region_of_top >= 0 or len(rows) > WIDTH:
            return None
        inside: list[int] = []
        numbers: set[int] = {number}
        for start, _, hole, tsid, _ in rows:
            if hole < 0 or start >= end or hole in barred or hole in numbers or hole in live.holes:
                return None
            numbers.add(hole)
            held = live.table.get((live.doc, hole))
            if held is not None and not self.fits(held):
                return None
            if tsid < 0 or live.route.needs(tsid):
                inside.append(hole)
        numbers.discard(number)
        inner = Inner(number)
        for hole in numbers:
            live.holes[hole] = inner
        return tuple(inside)

    def fits(self, region: Region) -> bool:
        """Whether a region may be part of a fragment: its content has no holes."""
        filling = region.current
        if filling is None or not region.plain or not is_simple(filling.content):
            return False
        return filling.content.marks is None  # type: ignore[union-attr]  # an Opened

    def parts(self, number: int, filling: Filling) -> bool:
        """Whether a content that comes to a hole must be walked through: it is not, or will not be, in a run."""
        content = filling.content
        found = self.live.holes[number]
        if isinstance(found, list):
            return True
        if type(content) is not Opened or content.marks is None:
            return False
        apart = isinstance(found, Run) and self._is_told_apart(filling, found.unit, found.state)
        return apart or len(content.marks) > WIDTH + 1

    def fill(self, number: int, filling: Filling) -> bool:
        """A hole in a run, or in a fragment of one, is filled for the first time; whether it stays there."""
        live = self.live
        found, region = live.holes[number], live.table[live.doc, number]
        if isinstance(found, Inner):
            if not self.fits(region):
                return False
            run, at = self.find(found.outer)
            run.outcomes[at] = None
        else:
            assert isinstance(found, Run)
            run, at = found, found.numbers.index(number)
            if run.fillings[at] is not None:
                return run.fillings[at] is filling
            if not self.fits(region):
                inside = self.admitted(number, region, self.path(run.mount), run.unit, run.state)
                if inside is None:
                    return False
                run.inside[at] = inside
            run.fillings[at] = filling
        self.due[run] = None
        return True

    def find(self, number: int) -> tuple[Run, int]:
        """The run of a hole, and its number there."""
        run = self.live.holes[number]
        assert isinstance(run, Run)
        return run, run.numbers.index(number)

    # ---------------------------------------------------------------------------------------------- opening

    def open(self, run: Run, chosen: Iterable[int], settled: bool = False) -> list[Occurrence]:
        """Take some holes out of a run; the others stay in runs.

        ``settled``: all that has come has been seen, and who asks tells what they show.
        """
        bulk, places = self.units[run.unit], []
        entries: list[Entry[Any]] = []
        done = 0
        self.due.pop(run, None)
        untold = self.untold.pop(run, _TOLD) is None
        runs: list[Run] = []
        for at in (*chosen, len(run.numbers)):
            if at > done:
                rest = run.part(done, at)
                self.live.holes.update(dict.fromkeys(rest.numbers, rest))
                runs.append(rest)
                entries.append(rest.entry)
            if at < len(run.numbers):
                place = self._placed(run, at, bulk, settled, untold)
                places.append(place)
                entries.append(place.places[run.unit])
            done = at + 1
        self.replace(run, runs, entries, untold)
        self.standing -= len(places)
        self.opened += len(places)
        for place in places:
            if place.region is not None and not place.region.plain:
                self.live.sync(place)
        return places

    def replace(self, run: Run, runs: list[Run], entries: list[Entry[Any]], untold: bool) -> None:
        """Other entries, and the ``runs`` among them, stand where a run stood."""
        for rest in runs:
            if any(f is not None and o is None for f, o in zip(rest.fillings, rest.outcomes, strict=True)):
                self.due[rest] = None
            if untold:
                self.untold[rest] = None
        mount = run.mount
        if mount is not None:
            del mount.runs[run]
            mount.runs.update(dict.fromkeys(runs))
            mount.entries += entries
        run.entry.sequence.replace(run.entry, entries)

    def _placed(self, run: Run, at: int, bulk: Bulk, settled: bool, untold: bool) -> Occurrence:
        """A hole of a run as a place of its own, not in the sequence yet.

        Its outcome stays known, unless something within may have changed meanwhile, or it is still to be told.
        """
        live, number = self.live, run.numbers[at]
        region = live.table.get((live.doc, number))
        occurrence = Occurrence(number, region, run.state, run.above, False)
        occurrence.tsid, occurrence.parent = run.tsids[at], run.mount
        entry: Entry[Any] = Entry(occurrence, live.route.monoid(run.unit).zero, run.key(at))
        occurrence.places[run.unit] = entry
        occurrence.content[run.unit] = Sequence(live.route.monoid(run.unit), (), entry)
        live.holes[number] = [occurrence]
        if live.closing is not None:
            live.closing.append(number)  # it may have been closed in the run
        if run.mount is not None:
            run.mount.holes[run.rows[at]] = occurrence
        filling, outcome = run.fillings[at], run.outcomes[at]
        if filling is None:
            return occurrence
        content = filling.content
        assert isinstance(content, Opened)
        for hole in [hole for hole in content.regions if isinstance(live.holes.get(hole), Inner)]:
            del live.holes[hole]
        live.walked -= run.met[at]
        live.see(occurrence)
        if run.shown[at] is not None:
            self._hand_over(run, at, occurrence)
        mount = occurrence.mounts.get(id(filling))
        known = outcome is not None and (settled or (content.marks is None and not (untold and outcome)))
        known = known and not run.forwards(at)  # what copies its holes tells where they are
        if known and mount is not None and len(mount.members) == 1 and not mount.runs:
            (member,) = mount.members
            if member.inner is None and not any(held.content for held in mount.holes.values()):  # all that it gave
                member.outcome = outcome if bulk.shows else None
                live.dirty.pop(member, None)
                occurrence.content[run.unit].update(member.entry, bulk.total([outcome]))
        return occurrence

    def _hand_over(self, run: Run, at: int, occurrence: Occurrence) -> None:
        """What was shown of a fragment is shown of its member from now on."""
        for mount in occurrence.mounts.values():
            for member in mount.members:
                if member.unit == run.unit:
                    self.shown[run.unit][member] = run.shown[at]
                    return
        self._orphan(run, at)

    def _orphan(self, run: Run, at: int) -> None:
        self.orphans.setdefault(run.unit, []).append((run.identity(at), run.shown[at]))

    def open_in(self, mount: Mount, settled: bool = False) -> None:
        """Take all holes of a content out of their runs."""
        for run in tuple(mount.runs):
            run.opened(settled)

    def to_open(self, unit: int) -> list[Member] | None:
        """Open the fragments whose items must be told by member; None if there are none.

        These members, but for those that must be evaluated first. What is in the holes of such a fragment stands in
        runs of its own from now on.
        """
        chosen = {run: run.told_by_member() for run in self.untold if run.unit == unit}
        if not any(chosen.values()):
            return None
        fillings = [run.fillings[at] for run, places in chosen.items() for at in places]
        self.live.ready([filling for filling in fillings if filling is not None])
        taking, self.taking = self.taking, True
        found: list[Member] = []
        for run, places in chosen.items():
            for place in self.open(run, places, settled=True) if places else ():
                for mount in place.mounts.values():
                    found += [member for member in mount.members if member.outcome is not None]
        self.taking = taking
        return found

    def to_tell(self, unit: int) -> list[Run]:
        """The runs of which something is to be told."""
        return [run for run in self.untold if run.unit == unit]

    def told(self, unit: int) -> list[tuple[Identity, Any]]:
        """What is to be told is being told; what was shown and is there no more."""
        for run in self.to_tell(unit):
            del self.untold[run]
            for at, shown in enumerate(run.shown):
                if shown is not None and not run.outcomes[at]:
                    self._orphan(run, at)
                    run.shown[at] = None
        return self.orphans.pop(unit, [])

    def drop(self, mount: Mount) -> None:
        """A content is no longer in T: nor are the holes in it."""
        for run in mount.runs:
            self.due.pop(run, None)
            self.untold.pop(run, None)
            for at, shown in enumerate(run.shown):
                if shown is not None:
                    self._orphan(run, at)
            gone = self.forget(run)
            if self.live.vanishing:
                self.live.vanished += gone
        mount.runs = {}

    def forget(self, run: Run) -> list[int]:
        """The holes of a run, and those in its fragments, have no places any more: their numbers."""
        holes = self.live.holes
        self.standing -= len(run.numbers)
        inner = [
            hole
            for filling in run.fillings
            if filling is not None
            for hole in filling.content.regions  # type: ignore[union-attr]  # an Opened
            if isinstance(holes.get(hole), Inner)
        ]
        gone = [*run.numbers, *inner]
        for number in gone:
            del holes[number]
        return gone

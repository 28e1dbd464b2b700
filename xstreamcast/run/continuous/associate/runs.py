"""Runs: holes side by side in one content, with what fills them, as columns instead of objects.

While a stream is taken in by batches, most of what comes is plain (:mod:`~xstreamcast.run.continuous.associate.
fragments`). For the holes it comes to nothing is made. A :class:`Run` has up to WIDTH holes of one content, and one
entry in the sequence of its unit, with the sum of what all of them add:

    total(run) = Σ E(fragment)        E(a ⊎ b) = E(a) ++ E(b)

A fragment is what is in a hole, with all that is in the holes of that. What else a batch brings to it makes it be
evaluated again. A change that comes alone takes it out of its run, and it becomes an
:class:`~xstreamcast.run.continuous.associate.mounts.Occurrence` like any other (*opened*); so do those that somebody
wants as members. Nobody reads a hole in a run but the unit itself. Fragments that are placed by their tags have no
content around them (:mod:`~xstreamcast.run.continuous.associate.rooted`).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.adjust.order import WIDTH, Entry, Sequence
from xstreamcast.run.continuous.associate.fragments import MOST, NO_HOLES, Holes, Inner, holes_of, is_bare, more_holes
from xstreamcast.run.continuous.associate.mounts import Member, Mount, Occurrence, holes_around
from xstreamcast.wire.content import Opened

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.time import Instant
    from xstreamcast.run.continuous.associate.mounting import Mounting
    from xstreamcast.run.continuous.associate.mounts import Above
    from xstreamcast.run.continuous.evaluate.bulk import Bulk

_TOLD: Final = object()
_NOT_DUE: Final = object()
Identity = tuple[Any, ...]
COLUMNS: Final = ("numbers", "tsids", "rows", "fillings", "holes", "outcomes", "met", "single", "shown")


def _length(stretch: tuple[int, int]) -> int:
    return stretch[1] - stretch[0]


def rooted_key(number: int) -> tuple[tuple[int, int], int]:
    """The key of a fragment that is placed by its tag, without a look at those around: it stands by its number."""
    return (0, number), 0


class Run:
    """Some holes of one content, in order (``mount`` None: of none). Columns: their ``numbers``, ``tsids`` and
    ``rows``; the first of the ``fillings`` of each (None: nothing has come yet), and the ``holes`` in the fragment that
    it is; the ``outcomes`` of the fragments, None if they must be computed; how many contents these were ``met`` in;
    whether what a fragment gives is of a ``single`` member; and what is ``shown`` of it in the answer."""

    __slots__ = (
        "above", "entry", "fillings", "holes", "met", "mount", "numbers", "outcomes", "rows", "runs", "shown",
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
        self.rows = array("i")
        self.fillings: list[Filling | None] = []
        self.holes: list[Holes] = []
        self.outcomes: list[Any] = []
        self.met = bytearray()
        self.single = bytearray()
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
        holes, items = self.holes[at], self.outcomes[at]
        if not (holes.inside and items and self.runs.forwards and self.runs.units[self.unit].shows):
            return False
        if not (holes.awaited or holes.timed) or not self.runs.live.route.copies_holes(self.unit):
            return False
        return any(type(item) is Node for item in items)

    def opened(self, settled: bool = False) -> list[Entry[Any]]:
        """All its holes, taken out of it: the entries that they have now. ``settled``: see :meth:`Runs.open`."""
        places = self.runs.open(self, range(len(self.numbers)), settled)
        return [place.places[self.unit] for place in places]

    def identity(self, at: int) -> Identity:
        """What the member of a hole is known by, as that itself has it."""
        number = self.numbers[at]
        return _identity(self.unit, number, self.runs.region(number), self.mount, self.runs.live.now)


def _identity(unit: int, number: int, region: Region | None, mount: Mount | None, now: Instant) -> Identity:
    seen = region.visible(now) if region is not None and not region.plain else ()
    key = min(seen)[0][:2] if seen else (0,)
    return unit, 0, (number, key), *holes_around(mount)


class _Taken(NamedTuple):
    """A hole that has been taken out of a run, and what the run knew of it."""

    place: Occurrence
    filling: Filling | None
    holes: Holes
    outcome: Any
    shown: Any
    forwards: bool


class Fragment(NamedTuple):
    """A hole of a run that has items."""

    run: Run
    at: int

    @property
    def outcome(self) -> list[Item]:
        """Its items."""
        found: list[Item] = self.run.outcomes[self.at]
        return found

    def identity(self) -> Identity:
        """What it is known by when its content is sent again."""
        return self.run.identity(self.at)


class Runs:
    """The runs of a live document.

    ``units``: how the units are evaluated whose records may be in runs. ``taking``: whether a batch is being taken in;
    ``patient``: fragments with holes that wait for their fillers are not looked at yet; ``telling``: what comes will
    be told; ``forwards``: with its open holes. ``due``: the runs with something to evaluate; ``untold``: those whose
    items have not been told yet.
    ``shown``: by unit, what the answer shows of members; ``orphans``: what it shows of what is there no more, and what
    that was known by. ``gathered``: the holes of a batch that were filled as they were gathered. ``standing``: how many
    holes are in runs; ``opened``: how many have been taken out.
    """

    def __init__(self, live: Mounting) -> None:
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
        self.gathered: set[int] = set()
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

    def admitted(
        self,
        number: int,
        region: Region,
        barred: set[int],
        unit: int,
        state: int,
        come: tuple[Holes, list[Filling]] | None = None,
    ) -> Holes | None:
        """The holes in the fragment that a region is, if it may stand in a run of a unit; None if not.

        ``barred``: holes that stand elsewhere, so that what fills them is not the fragment's alone. ``come``: the holes
        it had, and the fillings with times that have come to it, if nothing else has changed.
        """
        if is_bare(region):
            return NO_HOLES
        tag = next((filling.tsid for filling in region.fillings()), None)
        record = self.live.route.is_record(state, tag, unit)
        if not region.filled or (self._is_told_apart(unit) and not record):
            return None
        most = MOST if record else WIDTH
        known = 0 if come is None else len(come[0].inside)
        if come is None:
            found = holes_of(self.live, number, region, barred, most)
        else:
            found = more_holes(self.live, number, *come, barred, most)
        if found is not None and len(found.inside) > known:
            self.live.holes.update(dict.fromkeys(found.inside[known:], Inner(number)))
        return found

    def _is_told_apart(self, unit: int) -> bool:
        """Whether a fragment with items of several members would be opened at once."""
        return self.telling and self.units[unit].shows

    def parts(self, number: int, filling: Filling) -> bool:
        """Whether a content that comes to a hole must be walked through: it is not, or will not be, in a run."""
        content = filling.content
        found = self.live.holes[number]
        if isinstance(found, list):
            return True
        if type(content) is not Opened or content.marks is None or not isinstance(found, Run):
            return False
        record = self.live.route.is_record(found.state, filling.tsid, found.unit)
        return not record and (self._is_told_apart(found.unit) or len(content.marks) > WIDTH + 1)

    def renew(self, touched: Mapping[int, list[Filling] | None]) -> None:
        """Something has come to some holes of runs, or to holes in the fragments there. Who may not stay is opened.

        ``touched``: the fillings with times that have come; None if there is more.
        """
        live = self.live
        for number, more in touched.items():
            found = live.holes.get(number)
            if not isinstance(found, Run):
                continue  # it has been opened meanwhile
            run, at = found, found.numbers.index(number)
            region, before = self.region(number), run.holes[at]
            known = before.inside
            holes = None
            if region is not None:
                # What had no times may have been looked at no further than it was plain.
                come = (before, more) if more is not None and before.timed else None
                holes = self.admitted(number, region, self.path(run.mount), run.unit, run.state, come)
            if holes is None:
                live.resync(number)
                continue
            if come is None and known and known != holes.inside:
                for gone in set(known).difference(holes.inside):
                    del live.holes[gone]
            assert region is not None
            run.fillings[at], run.holes[at], run.outcomes[at] = next(region.fillings()), holes, None
            self.due[run] = None

    def region(self, number: int) -> Region | None:
        """What is known of a hole."""
        return self.live.table.get((self.live.doc, number))

    def find(self, number: int) -> tuple[Run, int]:
        """The run of a hole, and its number there."""
        run = self.live.holes[number]
        assert isinstance(run, Run)
        return run, run.numbers.index(number)

    # ---------------------------------------------------------------------------------------------- opening

    def open(self, run: Run, chosen: Iterable[int], settled: bool = False) -> list[Occurrence]:
        """Take some holes out of a run; the others stay in runs, most of those side by side in this one.

        ``settled``: all that has come has been seen, and who asks tells what they show. Contents are looked at when all
        stands where it will: they may have holes that are in runs, even in this one.
        """
        bulk = self.units[run.unit]
        if self.due.pop(run, _NOT_DUE) is None:
            run.entry.sequence.update(run.entry, bulk.total(run.outcomes))
        untold = self.untold.pop(run, _TOLD) is None
        edges = (-1, *chosen, len(run.numbers))
        stretches = [(before + 1, at) for before, at in pairwise(edges)]
        longest = max(stretches, key=_length)
        taken: list[_Taken] = []
        entries: list[Entry[Any]] = []
        rests: list[Run] = []
        for begin, end in stretches:
            if begin < end:
                rests.append(run if (begin, end) == longest else run.part(begin, end))
                entries.append(rests[-1].entry)
            if end < len(run.numbers):
                taken.append(self._taken(run, end, bulk))
                entries.append(taken[-1].place.places[run.unit])
        if run in rests:
            self._keep(run, *longest, [entry for entry in entries if entry is not run.entry])
        self.divide(run, rests, entries, untold)
        self.standing -= len(taken)
        self.opened += len(taken)
        for one in taken:
            self._look_at(run, one, settled, untold)
        return [one.place for one in taken]

    def _keep(self, run: Run, begin: int, end: int, others: list[Entry[Any]]) -> None:
        """A run has some of its holes only: its sum is less by what ``others`` add, where a sum can be made less."""
        entry, less = run.entry, self.live.route.monoid(run.unit).less
        for name in COLUMNS:
            column = getattr(run, name)
            del column[end:]
            del column[:begin]
        if run.mount is None:
            entry.key = run.key(0)
        if less is None:
            entry.summary = self.units[run.unit].total(run.outcomes)
        else:
            for other in others:
                entry.summary = less(entry.summary, other.summary)

    def replace(self, run: Run, runs: list[Run], entries: list[Entry[Any]], untold: bool) -> None:
        """Other entries, and the ``runs`` among them, stand where a run stood."""
        sequence, summary = run.entry.sequence, entries[0].summary
        for other in entries[1:]:
            summary = sequence.monoid.add(summary, other.summary)
        sequence.update(run.entry, summary)
        self.divide(run, runs, entries, untold)

    def divide(self, run: Run, runs: list[Run], entries: list[Entry[Any]], untold: bool) -> None:
        """… that add what it added. It may be among them itself."""
        for rest in runs:
            if None in rest.outcomes and any(rest.fillings[at] for at, o in enumerate(rest.outcomes) if o is None):
                self.due[rest] = None
            if untold:
                self.untold[rest] = None
            if rest is not run:
                self.live.holes.update(dict.fromkeys(rest.numbers, rest))
        mount = run.mount
        if mount is not None:
            if run not in runs:
                del mount.runs[run]
            mount.runs.update(dict.fromkeys(runs))
            mount.entries += [entry for entry in entries if entry is not run.entry]
        run.entry.sequence.divide(run.entry, entries)

    def _taken(self, run: Run, at: int, bulk: Bulk) -> _Taken:
        """A hole of a run as a place of its own, that nothing has been looked at in. It adds what it added."""
        live, number, holes = self.live, run.numbers[at], run.holes[at]
        occurrence = Occurrence(number, self.region(number), run.state, run.above, False)
        occurrence.tsid, occurrence.parent = run.tsids[at], run.mount
        outcome, monoid = run.outcomes[at], live.route.monoid(run.unit)
        summary = bulk.total([outcome]) if outcome else monoid.zero
        entry: Entry[Any] = Entry(occurrence, summary, run.key(at))
        occurrence.places[run.unit] = entry
        occurrence.content[run.unit] = Sequence(monoid, (), entry)
        live.holes[number] = [occurrence]
        if live.closing is not None:
            live.closing.append(number)  # it may have been closed in the run
        if run.mount is not None:
            run.mount.holes[run.rows[at]] = occurrence
        live.walked -= run.met[at]
        for hole in holes.inside:
            del live.holes[hole]
        return _Taken(occurrence, run.fillings[at], holes, outcome, run.shown[at], run.forwards(at))

    def _look_at(self, run: Run, taken: _Taken, settled: bool, untold: bool) -> None:
        """See what is at a place that was a hole of a run.

        Its outcome stays known, unless something within may have changed meanwhile, or it is still to be told.
        """
        live, (place, filling, holes, outcome, shown, forwards) = self.live, taken
        content, entry = place.content[run.unit], place.places[run.unit]
        if filling is not None:
            live.see(place)
            if shown is not None:
                self._hand_over(run.unit, shown, place)
            known = outcome is not None and (settled or (holes is NO_HOLES and not (untold and outcome)))
            known = known and not forwards  # what copies its holes tells where they are
            mount = place.mounts.get(id(filling)) if len(place.mounts) == 1 else None
            if known and mount is not None and len(mount.members) == 1 and not mount.runs:
                (member,) = mount.members
                if member.inner is None and not any(held.content for held in mount.holes.values()):  # all that it gave
                    member.outcome = outcome if self.units[run.unit].shows else None
                    live.dirty.pop(member, None)
                    if mount.stands_alone:
                        live.grove.drop(filling)  # nobody else will look at it
        if entry.summary is not content.total and entry.block is not None:
            entry.sequence.update(entry, content.total)
        if place.region is not None and not place.region.plain:
            live.sync(place)

    def _hand_over(self, unit: int, shown: Any, place: Occurrence) -> None:
        """What was shown of a fragment is shown of its member from now on."""
        for mount in place.mounts.values():
            for member in mount.members:
                if member.unit == unit:
                    self.shown[unit][member] = shown
                    return
        known_by = _identity(unit, place.id, place.region, place.parent, self.live.now)
        self.orphans.setdefault(unit, []).append((known_by, shown))

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
        regions = [self.region(run.numbers[at]) for run, places in chosen.items() for at in places]
        self.live.ready([one for region in regions if region is not None for one in region.fillings()])
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
        gone = [*run.numbers, *[hole for holes in run.holes for hole in holes.inside]]
        for number in gone:
            del holes[number]
        return gone

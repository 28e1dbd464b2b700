"""Runs: holes side by side in one content, with what fills them, as columns instead of objects.

While a stream is taken in by batches, most of what comes is plain: a region with one filling, without a time, whose
content is one element. For such a hole nothing is made. A :class:`Run` has up to WIDTH holes of one content, and one
entry in the sequence of its unit, with the sum of what all of them add:

    total(run) = Σ E(fragment)        E(a ⊎ b) = E(a) ++ E(b)

A fragment is a hole's content with the holes in that filled, if these are few. A change that touches one takes it out
of its run, and it becomes an :class:`~xstreamcast.run.continuous.mounts.Occurrence` like any other (*opened*); so do
those that somebody wants as members. Nobody reads a hole in a run but the unit itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.content import Opened
from xstreamcast.model.names import ATTRIBUTE, ELEMENT
from xstreamcast.run.continuous.mounts import HOLE, ID, TSID, Member, Mount, Occurrence
from xstreamcast.run.continuous.order import WIDTH, Entry, Sequence

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.tree import Tree
    from xstreamcast.run.continuous.bulk import Bulk
    from xstreamcast.run.continuous.live import Live
    from xstreamcast.run.continuous.mounts import Above
    from xstreamcast.run.continuous.walk import Found, Walk

_CLOSED: Final = ord(">")
_BESIDE: Final = frozenset(b"-?]")
"""What may come before the last bracket of a comment, an instruction or a marked section."""
_TOLD: Final = object()
_COLUMNS: Final = ("numbers", "tsids", "rows", "fillings", "inside", "outcomes", "met")


class Inner:
    """A hole within a fragment of a run: ``outer`` is the number of the fragment's own hole."""

    __slots__ = ("outer",)

    def __init__(self, outer: int) -> None:
        self.outer = outer


class Run:
    """Some holes of one content, in order. Columns: their ``numbers``, ``tsids`` and ``rows``; the ``fillings`` (None:
    not yet); the numbers of the holes ``inside`` that matter; the ``outcomes`` of the fragments, None if they must be
    computed; how many contents these were ``met`` in."""

    __slots__ = (
        "above", "entry", "fillings", "inside", "met", "mount", "numbers", "outcomes", "rows", "runs", "state", "tsids",
        "unit",
    )  # fmt: skip

    def __init__(self, runs: Runs, unit: int, mount: Mount, state: int, above: Above | None, entry: Entry[Any]) -> None:
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

    def part(self, begin: int, end: int, summary: Any) -> Run:
        """A run of some of its holes."""
        entry: Entry[Any] = Entry(None, summary, self.entry.key)
        made = Run(self.runs, self.unit, self.mount, self.state, self.above, entry)
        entry.item = made
        for name in _COLUMNS:
            setattr(made, name, getattr(self, name)[begin:end])
        return made

    def opened(self) -> list[Entry[Any]]:
        """All its holes, taken out of it: the entries that they have now."""
        places = self.runs.open(self, range(len(self.numbers)))
        return [place.places[self.unit] for place in places]


def is_simple(content: object) -> bool:
    """Whether a content is one element, in no namespace of its own, and nothing beside it; it may have holes."""
    if type(content) is not Opened or not content.plain:
        return False
    end = content.to
    return content.buffer[end - 1] == _CLOSED and content.buffer[end - 2] not in _BESIDE


class Runs:
    """The runs of a live document.

    ``units``: how the units are evaluated whose records may be in runs. ``taking``: whether a batch is being taken in;
    ``patient``: fragments with holes that wait for their fillers are not looked at yet. ``due``: the runs with
    something to evaluate; ``untold``: those whose items have not been told yet. ``standing``: how many holes are in
    runs; ``opened``: how many have been taken out.
    """

    def __init__(self, live: Live) -> None:
        self.live = live
        self.units: dict[int, Bulk] = {}
        self.taking = False
        self.patient = False
        self.due: dict[Run, None] = {}
        self.untold: dict[Run, None] = {}
        self.standing = 0
        self.opened = 0

    # ---------------------------------------------------------------------------------------------- what comes

    def begin(self) -> None:
        """A batch is taken in."""
        self.taking = self.patient = bool(self.units)

    def path(self, mount: Mount) -> set[int]:
        """The holes that a content is in: none of them is filled again within it."""
        found: set[int] = set()
        occurrence: Occurrence | None = mount.occurrence
        while occurrence is not None:
            found.add(occurrence.id)
            occurrence = occurrence.parent.occurrence if occurrence.parent is not None else None
        return found

    def admitted(self, number: int, region: Region, barred: set[int]) -> tuple[int, ...] | None:
        """The holes in a region's content that matter, if it may stand in a run; None if not.

        ``barred``: holes that stand elsewhere, so that what fills them is not the fragment's alone.
        """
        filling = region.current
        if filling is None or not region.plain or not is_simple(filling.content):
            return None
        marks = filling.content.marks  # type: ignore[union-attr]  # an Opened
        return () if marks is None else self._inside(number, marks, barred)

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
        many = type(content) is Opened and content.marks is not None and len(content.marks) > WIDTH + 1
        return many or isinstance(self.live.holes[number], list)

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
                inside = self.admitted(number, region, self.path(run.mount))
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
        """Take some holes out of a run; the others stay in runs. ``settled``: all that has come has been seen."""
        bulk, places = self.units[run.unit], []
        entries: list[Entry[Any]] = []
        done = 0
        self.due.pop(run, None)
        untold = self.untold.pop(run, _TOLD) is None
        runs: list[Run] = []
        for at in (*chosen, len(run.numbers)):
            if at > done:
                rest = run.part(done, at, bulk.total(run.outcomes[done:at]))
                self.live.holes.update(dict.fromkeys(rest.numbers, rest))
                runs.append(rest)
                entries.append(rest.entry)
            if at < len(run.numbers):
                place = self._placed(run, at, bulk, settled, untold)
                places.append(place)
                entries.append(place.places[run.unit])
            done = at + 1
        for rest in runs:
            if any(f is not None and o is None for f, o in zip(rest.fillings, rest.outcomes, strict=True)):
                self.due[rest] = None
            if untold:
                self.untold[rest] = None
        mount = run.mount
        del mount.runs[run]
        mount.runs.update(dict.fromkeys(runs))
        mount.entries += entries
        run.entry.sequence.replace(run.entry, entries)
        self.standing -= len(places)
        self.opened += len(places)
        for place in places:
            if place.region is not None and not place.region.plain:
                self.live.sync(place)
        return places

    def _placed(self, run: Run, at: int, bulk: Bulk, settled: bool, untold: bool) -> Occurrence:
        """A hole of a run as a place of its own, not in the sequence yet.

        Its outcome stays known, unless something within may have changed meanwhile, or it is still to be told.
        """
        live, number = self.live, run.numbers[at]
        region = live.table.get((live.doc, number))
        occurrence = Occurrence(number, region, run.state, run.above, False)
        occurrence.tsid, occurrence.parent = run.tsids[at], run.mount
        entry: Entry[Any] = Entry(occurrence, live.route.monoid(run.unit).zero, run.entry.key)
        occurrence.places[run.unit] = entry
        occurrence.content[run.unit] = Sequence(live.route.monoid(run.unit), (), entry)
        live.holes[number] = [occurrence]
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
        mount = occurrence.mounts.get(id(filling))
        known = outcome is not None and (settled or content.marks is None) and not (untold and outcome)
        if known and mount is not None and len(mount.members) == 1 and not mount.runs:
            (member,) = mount.members
            if member.inner is None and not any(held.content for held in mount.holes.values()):  # all that it gave
                member.outcome = outcome if bulk.shows else None
                live.dirty.pop(member, None)
                occurrence.content[run.unit].update(member.entry, bulk.total([outcome]))
        return occurrence

    def open_in(self, mount: Mount) -> None:
        """Take all holes of a content out of their runs."""
        for run in tuple(mount.runs):
            run.opened()

    def shown(self, unit: int) -> Iterator[Member]:
        """Open the fragments that have items to tell: their members, but for those that must be evaluated first."""
        chosen = {
            run: [at for at, items in enumerate(run.outcomes) if items] for run in self.untold if run.unit == unit
        }
        fillings = [run.fillings[at] for run, places in chosen.items() for at in places]
        self.live.ready([filling for filling in fillings if filling is not None])
        for run, places in chosen.items():
            del self.untold[run]
            for place in self.open(run, places, settled=True):
                for mount in place.mounts.values():
                    yield from [member for member in mount.members if member.outcome is not None]

    def drop(self, mount: Mount) -> None:
        """A content is no longer in T: nor are the holes in it."""
        live = self.live
        for run in mount.runs:
            self.due.pop(run, None)
            self.untold.pop(run, None)
            self.standing -= len(run.numbers)
            inner = [
                hole
                for filling in run.fillings
                if filling is not None
                for hole in filling.content.regions  # type: ignore[union-attr]  # an Opened
                if isinstance(live.holes.get(hole), Inner)
            ]
            for number in (*run.numbers, *inner):
                del live.holes[number]
            if live.vanishing:
                live.vanished += [*run.numbers, *inner]
        mount.runs = {}


def hole_at(tree: Tree, row: int) -> tuple[int, int | None]:
    """The number of a hole, and the tag that it names."""
    number, tsid = 0, None
    for at in range(row + 1, row + tree.size[row] + 1):
        if tree.name[at] == ID:
            number = int(tree.value[at] or 0)
        elif tree.name[at] == TSID:
            tsid = int(tree.value[at] or 0)
        elif tree.kind[at] != ATTRIBUTE:
            break
    return number, tsid


def gather(walk: Walk, row: int, state: int, above: Above | None, around: tuple[Member, ...], found: Found) -> int:
    """Put the holes that follow one another from a row on into runs, as far as they may stand in one.

    The row of the first thing that may not, or behind them all. Texts between them are nobody's.
    """
    live, route, tree = walk.live, walk.route, walk.tree
    role, runs = route.role(state), live.runs
    units = [unit for unit in found if unit in role.below]
    if above is None or not above.plain or len(units) != 1 or units[0] not in runs.units:
        return row
    if any(member.unit in role.reads for member in around):
        return row
    unit = units[0]
    zero, entries, holes, table = route.monoid(unit).zero, found[unit], live.holes, live.table
    names, values, sizes, kinds = tree.name, tree.value, tree.size, tree.kind
    end = row - tree.up[row] + sizes[row - tree.up[row]]
    base, doc, path, passed, forced = walk.base, live.doc, walk.path, walk.passed, live.forced
    matters: dict[int | None, bool] = {None: True}
    run: Run | None = None
    room = 0
    while row <= end:
        size = sizes[row]
        if names[row] != HOLE:
            if kinds[row] == ELEMENT:
                break
            row += size + 1
            continue
        if size == 2 and names[row + 1] == ID and names[row + 2] == TSID:
            number: int = int(values[row + 1] or 0)
            tsid: int | None = int(values[row + 2] or 0)
        else:
            number, tsid = hole_at(tree, row)
        if tsid not in matters:
            matters[tsid] = route.filler(state, tsid)
        region = table.get((doc, number))
        if not matters[tsid]:
            assert tsid is not None
            if number in forced or (region is not None and live.holds_others(number, tsid)):
                break
            passed[number] = tsid
            row += size + 1
            continue
        if number in holes or number in path:
            break
        filling = None if region is None else region.current
        inside = () if region is None else runs.admitted(number, region, walk.numbers)
        if inside is None:
            break
        if run is None or not room:
            entry: Entry[Any] = Entry(None, zero)
            run = entry.item = Run(runs, unit, walk.mount, state, above, entry)
            room = WIDTH
            entries.append(entry)
            if not walk.mount.runs:
                walk.mount.runs = {}
            walk.mount.runs[run] = None
        holes[number] = run
        run.numbers.append(number)
        run.tsids.append(tsid)
        run.rows.append(row - base)
        run.fillings.append(filling)
        run.inside.append(inside)
        room -= 1
        if filling is not None:
            runs.due[run] = None
        row += size + 1
    for run in walk.mount.runs:
        if not run.outcomes:
            run.outcomes, run.met = [None] * len(run.numbers), [0] * len(run.numbers)
            runs.standing += len(run.numbers)
    return row

"""What is frozen keeps no state (ICDE'08 §V): places that are closed for good are let go of once they have been told.

A place is *shut* when its region is closed (frozen, or filled and declared fixed), and every hole in it is shut. If all
regions around it are closed, too, nothing can come of it but what has come: of its contents, members and sums one entry
is left, with its sum; of its items in the answer one region, the last, for others to stand behind. Entries side by side
that are left so become one. In document order, then, what is kept is what is open on the way from the root.

    closed(i) ⟸ frozen(i) ∨ (filled(i) ∧ tag(i) ∈ fixed)        Σ (sealed ++ sealed') = Σ sealed + Σ sealed'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from xstreamcast.errors import error
from xstreamcast.run.continuous.associate.fragments import Inner
from xstreamcast.run.continuous.associate.mounts import Member, Mount, Occurrence
from xstreamcast.run.continuous.associate.runs import Fragment, Run
from xstreamcast.run.continuous.journal import Journal

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.order import Entry, Sequence
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.associate.noted import Noted
    from xstreamcast.run.continuous.display.members import Members
    from xstreamcast.run.continuous.related import Number


class Sealed:
    """What is left of places side by side, where an order tree has members. ``first``, ``last``: their regions."""

    __slots__ = ("entry", "first", "last")

    unit: ClassVar[int] = -1  # of no unit that anybody asks for
    inner: ClassVar[None] = None
    places: ClassVar[None] = None

    def __init__(self, entry: Entry[Any], first: int, last: int) -> None:
        self.entry = entry
        self.first = first
        self.last = last

    @property
    def outcome(self) -> list[Any]:
        """Its items: they have been told, and are gone."""
        hint = "ask for the text of the answer (text()), or for its changes as they are told"
        raise error("XSC0092", "items that have been told and can never change are not kept", hint=hint)


class Sealing:
    """Lets go of what is closed for good in one stream's document, for one query.

    ``shut``: places of which all is closed, but that must be kept for what is around them; ``open``: of a content how
    many of its holes are not shut; ``passed``: those of them into which nobody looks; ``rows``: where its holes are.
    ``strict``: no hole in a content around may be open. Where that is declared, those into which nobody looks may: what
    is let go of is worth more than what an odd fragment could still bring there.
    """

    def __init__(
        self, journal: Journal, name: str, association: Association, shelves: Mapping[Number, Members]
    ) -> None:
        self.journal = journal
        self.name = name
        self.live: Noted = journal.live[name]
        self.association = association
        self.shelves = shelves
        self.units = frozenset([number for stream, number in journal.sealable if stream == name])
        self.shut: set[Occurrence] = set()
        self.open: dict[Mount, int] = {}
        self.passed: dict[Mount, set[int]] = {}
        self.rows: dict[Mount, dict[Occurrence, int]] = {}
        self.strict = association.fixed is None
        known = association.table.items()  # before there was somebody to follow it
        self.live.closing = [number for (_, number), region in known if region.frozen or not self.strict]

    def go_on(self) -> None:
        """All that has come has been told: see what of it is closed."""
        if not self.live.closing or not self.association.is_followed():
            return
        closing, self.live.closing = self.live.closing, []
        self._close(closing)
        if self.live.dirty:  # fragments of runs have been opened, and more of them must be known than what they gave
            self.journal.settle()
            self._close(closing)

    def _close(self, closing: list[int]) -> None:
        """See what of some regions is closed."""
        released: list[int] = []
        runs: dict[Run, None] = {}
        for number in dict.fromkeys(closing):
            for occurrence in (*self._places(number, runs), *self.live.inlines.get(number, ())):
                self._look_at(occurrence, released)
            for mount in self.live.passed.get(number, ()) if self.association.is_over(number) else ():
                if number in self.passed.get(mount, ()):
                    self.passed[mount].discard(number)
                    self._one_less(mount, released)
                elif mount not in self.open:
                    self._look_at(mount.occurrence, released)
        for run in runs:
            if run.entry.block is not None:  # nothing has been let go of with it meanwhile
                self._look_into(run, released)
        if released:
            self.association.let_go(released)

    def _places(self, number: int, runs: dict[Run, None]) -> tuple[Occurrence, ...]:
        """The places of a hole; the run that it stands in is noted instead, where runs are let go of as they are."""
        held = self.live.holes.get(number)
        if isinstance(held, Run | Inner):
            run, at = self.live.runs.find(held.outer if isinstance(held, Inner) else number)
            if not self.strict:
                runs[run] = None
                return ()
            if not self.association.is_over(number):
                return ()  # when it is opened it will be looked at again
            self.live.runs.open(run, [at], settled=True)
        return self.live.at(number)

    def _look_at(self, occurrence: Occurrence, released: list[int]) -> None:
        """Something about a place may be closed now."""
        if self._closed(occurrence) and self._is_due(occurrence) and self._visit(occurrence, released):
            self._one_less(occurrence.parent, released)

    def _look_into(self, run: Run, released: list[int]) -> None:
        """Something in a run may be closed now."""
        mount = around = run.mount
        while around is not None:
            if not self._closed(around.occurrence):
                return
            around = around.occurrence.parent
        for _ in range(self._seal_run(run, released)):
            self._one_less(mount, released)

    def _is_due(self, occurrence: Occurrence) -> bool:
        """Whether all around a place is closed, so that it stays where it is. What stands beside a region is kept."""
        if occurrence in self.shut:
            return False
        parent = occurrence.parent
        while parent is not None:
            if not self._closed(parent.occurrence) or (self.strict and parent not in self.open):
                return False
            parent = parent.occurrence.parent
        return occurrence.parent is None or self._is_in(occurrence.parent, occurrence)

    def _is_in(self, mount: Mount, occurrence: Occurrence) -> bool:
        """Whether a place is a hole of a content. One that has been in a run is known only since."""
        if occurrence not in self._rows(mount) and not occurrence.inline:
            del self.rows[mount]
        return occurrence in self._rows(mount)

    def _rows(self, mount: Mount) -> dict[Occurrence, int]:
        rows = self.rows.get(mount)
        if rows is None:
            rows = self.rows[mount] = {held: row for row, held in mount.holes.items()}
        return rows

    def _one_less(self, mount: Mount | None, released: list[int]) -> None:
        """One more hole of a content is shut: perhaps the place that it is in is, now."""
        while mount is not None and mount in self.open:
            self.open[mount] -= 1
            if self.open[mount] or not self._visit(mount.occurrence, released):
                return
            mount = mount.occurrence.parent

    def _visit(self, occurrence: Occurrence, released: list[int]) -> bool:
        """Whether all at a place is closed, down to its holes; what can be let go of is."""
        if occurrence not in self.shut:
            if not self._closed(occurrence):
                return False
            still_open = 0
            for mount in tuple(occurrence.mounts.values()):
                if mount not in self.open:
                    if self.strict:
                        self.live.runs.open_in(mount, settled=True)
                    for run in tuple(mount.runs):
                        self._seal_run(run, released)
                    over = self.association.is_over
                    passed = {number for number in mount.passed if not over(number)}
                    if passed and self.strict:
                        return False
                    self.passed[mount] = passed
                    holes = [not self._visit(hole, released) for hole in tuple(mount.holes.values())]
                    self.open[mount] = len(passed) + sum(holes) + sum(len(run.numbers) for run in mount.runs)
                still_open += self.open[mount]
            if still_open:
                return False
            self.shut.add(occurrence)
        self._seal(occurrence, released)
        return True

    def _closed(self, occurrence: Occurrence) -> bool:
        if occurrence.region is None or occurrence.before or occurrence.after:
            return False
        return self.association.closes(occurrence.region)

    # ---------------------------------------------------------------------------------------------- letting go

    def _seal(self, occurrence: Occurrence, released: list[int]) -> None:
        """Let go of a place, if nothing around it needs it any more."""
        if occurrence is self.live.root or not self.units.issuperset(occurrence.content):
            return
        if next(occurrence.readers(), None) is not None:
            return
        items = {unit: list(_items(sequence, unit)) for unit, sequence in occurrence.content.items()}
        if not self._final(occurrence) or not all(self._settled(unit, found) for unit, found in items.items()):
            return
        parent = occurrence.parent
        if parent is not None:
            del parent.holes[self._rows(parent).pop(occurrence)]
            self.live.parted.add(parent)
        for unit, entry in occurrence.places.items():
            sealed = entry.item = Sealed(entry, occurrence.id, occurrence.id)
            shelf = self.shelves.get((self.name, unit))
            if shelf is not None:
                shelf.seal(items[unit], sealed)
            self._merge(unit, entry)
        occurrence.places = {}
        self._drop(occurrence, released)

    def _final(self, occurrence: Occurrence) -> bool:
        """Whether all members at a place have been evaluated, and none has failed."""
        dirty, failed = self.live.dirty, self.journal.failed
        for mount in occurrence.mounts.values():
            if any(member in dirty or member in failed for member in mount.members):
                return False
            if not all(map(self._final, mount.holes.values())):
                return False
        return True

    def _settled(self, unit: int, items: list[Any]) -> bool:
        """Whether the items of a unit, if they are shown, have been told, and no blank comes or goes between them."""
        shelf = self.shelves.get((self.name, unit))
        return shelf is None or all(map(shelf.is_settled, items))

    def _seal_run(self, run: Run, released: list[int]) -> int:
        """Let go of what is closed in a run, side by side as one; how many fragments that were."""
        runs, unit = self.live.runs, run.unit
        if unit not in self.units or run in runs.untold:
            return 0
        over = [self._is_over(run, at) for at in range(len(run.numbers))]
        if not any(over):
            return 0
        edges = [at for at in range(1, len(over)) if over[at] != over[at - 1] or self._is_apart(run, at)]
        entries: list[Entry[Any]] = []
        rests: list[Run] = []
        for begin, end in pairwise((0, *edges, len(over))):
            part = run.part(begin, end)
            entries.append(part.entry)
            if over[begin]:
                part.entry.item = Sealed(part.entry, part.numbers[0], part.numbers[-1])
                shelf = self.shelves.get((self.name, unit))
                if shelf is not None:
                    shelf.seal_shown([shown for shown in part.shown if shown is not None], part.entry.item)
                released += [number for number in runs.forget(part) if (self.live.doc, number) in self.live.table]
            else:
                self.live.holes.update(dict.fromkeys(part.numbers, part))
                rests.append(part)
        runs.due.pop(run, None)
        runs.replace(run, rests, entries, untold=False)
        if run.mount is not None:
            self.live.parted.add(run.mount)
        for entry in entries:
            if entry.block is not None and isinstance(entry.item, Sealed):
                self._merge(unit, entry)
        return sum(over)

    def _is_over(self, run: Run, at: int) -> bool:
        """Whether a fragment in a run is closed, with its holes, and has been told."""
        association, region = self.association, self.live.runs.region(run.numbers[at])
        if region is None or run.outcomes[at] is None or not association.closes(region):
            return False
        inside = run.holes[at].inside
        return all(map(association.is_over, inside)) and self._settled(run.unit, [Fragment(run, at)])

    def _is_apart(self, run: Run, at: int) -> bool:
        """Whether something may come in between a fragment and the one before it, as they stand by their numbers."""
        begin, end = run.numbers[at - 1 : at + 1]
        return run.mount is None and not self.association.all_settled(begin + 1, end)

    def _merge(self, unit: int, entry: Entry[Any]) -> None:
        """Entries side by side of which nothing is left but sums become one."""
        for beside in (1, -1):
            block = entry.block  # which the other one may have changed
            assert block is not None
            at = block.children.index(entry) + beside
            if 0 <= at < len(block.children):
                self._join(unit, *((entry, block.children[at]) if beside > 0 else (block.children[at], entry)))

    def _join(self, unit: int, left: Entry[Any], right: Entry[Any]) -> None:
        first, second = left.item, right.item
        if not (isinstance(first, Sealed) and isinstance(second, Sealed)) or left.hidden or right.hidden:
            return
        if self.live.rooted and not self.association.all_settled(first.last + 1, second.first):
            return  # among those that stand by their numbers another may come in between
        first.last = second.last
        shelf = self.shelves.get((self.name, unit))
        if shelf is not None:
            shelf.join(first, second)
        sequence = left.sequence
        total = sequence.monoid.add(left.summary, right.summary)
        sequence.remove(right)
        sequence.update(left, total)

    def _drop(self, occurrence: Occurrence, released: list[int]) -> None:
        """Forget a place and all in it. What refers to itself in circles is taken apart: a collector may be off."""
        live = self.live
        self.shut.discard(occurrence)
        for mount in occurrence.mounts.values():
            for held in tuple(mount.holes.values()):
                self._drop(held, released)
            live.pass_no_more(mount)
            live.grove.drop(mount.filling)
            for member in mount.members:
                self._forget(member)
            mount.members, mount.entries, mount.holes = [], [], {}
            self.open.pop(mount, None)
            live.parted.discard(mount)
            self.passed.pop(mount, None)
            self.rows.pop(mount, None)
        for sequence in occurrence.content.values():
            for entry in sequence:
                entry.item = entry.block = None
            sequence.root.owner = None
        occurrence.mounts, occurrence.content, occurrence.places = {}, {}, {}
        live.leave(occurrence)
        released.append(occurrence.id)

    def _forget(self, member: Member) -> None:
        self.journal.let_go(member)
        for sequence in (member.inner or {}).values():
            sequence.root.owner = None
        member.inner = None


def _items(sequence: Sequence[Any], unit: int) -> Iterator[Any]:
    """The members at a place, in order, and what is left of them."""
    for entry in sequence:
        if isinstance(entry.item, Occurrence):
            yield from _items(entry.item.content[unit], unit)
        else:
            yield entry.item

"""Places and what is seen at them: a filling that is seen is mounted, one that is not seen any more is unmounted.

A content is walked through once when it is mounted. Places under a content that is sent again are kept while their hole
is there. The cost is that of the fragment, and O(depth · log n) for the sums.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.cast.regions import Filling, Region, Regions, Report
from xstreamcast.model.change import ROOT
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.time import Interval
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.adjust.siblings import home_of
from xstreamcast.run.continuous.arrive.grove import Grove
from xstreamcast.run.continuous.associate.fragments import Inner
from xstreamcast.run.continuous.associate.mounts import (
    Above,
    Home,
    Member,
    Mount,
    Occurrence,
    hand_down,
    side_by_side,
)
from xstreamcast.run.continuous.associate.route import Route
from xstreamcast.run.continuous.associate.runs import Run, Runs
from xstreamcast.run.continuous.associate.walk import Walk
from xstreamcast.scan.tables import DOCUMENT_STATE

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure

Fresh = list[tuple[tuple[Any, ...], Filling, Interval | None]]
"""Fillings to be mounted: their keys in the order of the region, and their lifespans."""

_AT_ONCE: Final = 100
"""Contents within each other that are mounted one from the other; those deeper inside come when these are done."""


class Mounting(Regions):
    """T1 and, beside it, T as occurrences and members.

    ``dirty``: the members to evaluate again; ``changed``: the sequences that are not as they were; ``gone``: the
    members that are no longer in T; ``vanished``: the regions that no hole holds any more, if that is asked for
    (``vanishing``). ``walked``: how many contents were looked through; ``holders``: how many of these for their holes
    only. ``assume_rooted``: every fragment is taken to be in the document, and what is there for its holes only is not
    opened (XCQL's QaC+).
    """

    def __init__(
        self, route: Route, doc: str = "", structure: Structure | None = None, report: Report = lambda _: None
    ) -> None:
        super().__init__(structure, report)
        self.route = route
        self.doc = doc
        self.grove = Grove(self)
        self.holes: dict[int, list[Occurrence] | Run | Inner] = {}
        self.runs = Runs(self)
        self.closing: list[int] | None = None
        """Regions that may have been closed for good, if somebody asks (``time/sealing.py``)."""
        self.inlines: dict[int, list[Occurrence]] = {}  # of regions that lie in a content, or beside one
        self.passed: dict[int, tuple[Mount, ...]] = {}  # the holes nobody looks into: where they are
        self.forced: set[int] = set()  # those of them that hold a fragment of another tag, after all
        self.tops: dict[tuple[int, int], Above] = {}
        self._within = 0
        self._later: deque[Occurrence] = deque()
        self._doomed: deque[Occurrence] = deque()
        self.dirty: dict[Member, None] = {}
        self.gone: list[Member] = []
        self.vanishing = False
        self.vanished: list[int] = []
        self.changed: dict[Home, None] = {}
        self.walked = 0
        self.holders = 0
        self.assume_rooted = False
        self.newest: frozenset[int] = frozenset()  # the tags of which only the last version matters
        self.root = Occurrence(ROOT, None, DOCUMENT_STATE, None, False)
        self.top: dict[int, Sequence[Any]] = {
            unit: Sequence(route.monoid(unit), home=Home(self, unit, None)) for unit in route.outermost
        }
        counted = {unit: Sequence(route.monoid(unit), home=home_of(self, unit, None)) for unit in route.counted}
        self.root.content = self.top | counted if counted else self.top
        self.whole = Member(route.document, None, None, 0, DOCUMENT_STATE, None)
        """Stands for a reader of the whole document."""
        if route.document in route.role(DOCUMENT_STATE).reads:
            self.root.around = (self.whole,)
            self.dirty[self.whole] = None
        self.holes[ROOT] = [self.root]

    @property
    def rooted(self) -> bool:
        """Whether fragments are placed without a look at those around."""
        return self.assume_rooted and bool(self.route.rooted)

    def at(self, number: int) -> tuple[Occurrence, ...]:
        """The places of a hole. One in a run is opened: it is about to change."""
        found = self.holes.get(number)
        while isinstance(found, Run | Inner):
            run, at = self.runs.find(found.outer if isinstance(found, Inner) else number)
            self.runs.open(run, [at])
            found = self.holes.get(number)
        return () if found is None else tuple(found)

    def stand(self, occurrence: Occurrence) -> None:
        """A hole has one more place."""
        self.at(occurrence.id)
        shown = self.holes.setdefault(occurrence.id, [])
        assert isinstance(shown, list)
        shown.append(occurrence)

    def leave(self, occurrence: Occurrence) -> None:
        """A hole has one place less."""
        table: dict[int, Any] = self.inlines if occurrence.inline else self.holes
        shown = table.get(occurrence.id, [])
        if isinstance(shown, list) and occurrence in shown:  # one that lies inside itself is not among them
            shown.remove(occurrence)
            if not shown:
                del table[occurrence.id]
                if self.vanishing and not occurrence.inline:
                    self.vanished.append(occurrence.id)

    def wants(self, tsid: int | None, region: int) -> bool:
        """Whether a fragment may have to be opened."""
        if self.rooted and (tsid in self.route.holders if tsid is not None else region == ROOT):
            return False
        return self.route.needs(tsid)

    def passes_over(self, number: int, filling: Filling) -> bool:
        """Whether a filling need not be looked at where it is not the newest."""
        return filling.tsid in self.newest

    def holds_others(self, number: int, tsid: int) -> bool:
        """Whether a hole for one tag holds fragments of others, too."""
        if number in self.forced:
            return True
        region = self.table.get((self.doc, number))
        return region is not None and any(filling.tsid != tsid for filling in region.fillings())

    def ready(self, fillings: Iterable[Filling]) -> None:
        """Some fillings are to be looked at: parse them together."""
        self.grove.ready(fillings)

    def disturb(self, occurrence: Occurrence) -> None:
        """Those who read it must look again."""
        for member in occurrence.readers():
            self.dirty[member] = None

    # ---------------------------------------------------------------------------------------------- what is seen

    def _wanted(self, occurrence: Occurrence) -> Fresh:
        """The fillings that are seen at a place, and matter there."""
        region = occurrence.region
        if region is None or (region.hidden and occurrence is self.root):  # the root has no place to be hidden in
            return []
        seen = region.visible(self.now)
        if self.newest and len(seen) > 1:
            last = {one[1].tsid: one[0] for one in sorted(seen, key=itemgetter(0))}
            seen = [one for one in seen if one[0] == last[one[1].tsid] or not self.passes_over(occurrence.id, one[1])]
        if occurrence.inline:
            return seen
        if self.rooted:
            seen = [one for one in seen if self.wants(one[1].tsid, occurrence.id)]
        state, filler = occurrence.state, self.route.filler
        return [one for one in seen if filler(state, one[1].tsid)]

    def see(self, occurrence: Occurrence) -> None:
        """Mount what is seen at a new place."""
        self._settle(occurrence, [], self._wanted(occurrence))

    def sync(self, occurrence: Occurrence) -> None:
        """Mount what is seen and not mounted, unmount what is no longer seen; so in the holes of what is mounted."""
        if self._within == _AT_ONCE:
            self._later.append(occurrence)  # what is in it takes no more of Python's stack
            return
        self._within += 1
        try:
            self._sync(occurrence)
        except BaseException:
            self._later.clear()
            raise
        finally:
            self._within -= 1
        while self._doomed and not self._within:
            self._dispose(self._doomed.popleft())
        while self._later and not self._within:
            self.sync(self._later.popleft())

    def _sync(self, occurrence: Occurrence) -> None:
        region, mounts = occurrence.region, occurrence.mounts
        seen = self._wanted(occurrence)
        if mounts:
            wanted = {id(filling): lifespan for _, filling, lifespan in seen}
            gone = [m for number, m in mounts.items() if number not in wanted or wanted[number] != m.lifespan]
            stale = {id(mount.filling) for mount in gone}
            fresh = [one for one in seen if id(one[1]) not in mounts or id(one[1]) in stale]
            for mount in gone:
                self.runs.open_in(mount)
            self._settle(occurrence, gone, fresh)
        elif seen:
            self._settle(occurrence, [], seen)
        if region is None or region.before or region.after or occurrence.before or occurrence.after:
            self._beside(occurrence, region)
        hidden = region is not None and region.hidden
        if hidden != occurrence.hidden:
            occurrence.hidden = hidden
            for entry in occurrence.places.values():
                entry.sequence.hide(entry, hidden)
            self.turn(occurrence)

    def resync(self, number: int) -> None:
        """Everything that shows a region follows what is known of it now."""
        shown, inline = self.at(number), self.inlines.get(number)
        if shown:
            region = self.table.get((self.doc, number))
            for occurrence in shown:
                occurrence.region = region
                self.sync(occurrence)
        if inline is not None:
            for occurrence in tuple(inline):
                self.sync(occurrence)

    def turn(self, occurrence: Occurrence) -> None:
        """A place has been hidden or shown."""
        self.disturb(occurrence)

    def _settle(self, occurrence: Occurrence, gone: list[Mount], fresh: Fresh) -> None:
        if not gone and not fresh:
            return
        if len(fresh) == 1 and len(gone) <= 1 and self._one_for_one(occurrence, gone[0] if gone else None, fresh):
            return
        kept: dict[int, list[Occurrence]] = {}
        for mount in gone:
            for held in mount.holes.values():
                if not held.inline:
                    kept.setdefault(held.id, []).append(held)
            self._unmount(mount, keep_holes=True)
            for held in mount.holes.values():
                if held.inline:  # a region in a content that is gone is dead
                    self._dispose(held)
        for key, filling, lifespan in fresh:
            if id(filling) not in occurrence.mounts:
                self._mount(occurrence, filling, key, lifespan, kept)
        for mount in gone:
            if id(mount.filling) not in occurrence.mounts:
                self.grove.drop(mount.filling)
        for rest in kept.values():
            for held in rest:
                self._dispose(held)
        self.disturb(occurrence)

    def _record(self, occurrence: Occurrence, filling: Filling, key: tuple[Any, ...] = (0,)) -> bool:
        """Mount a content that is just one record, as most are, as :meth:`_mount` would. Whether it is one."""
        if occurrence.mounts or not self.route.filler(occurrence.state, filling.tsid) or filling.has_holes:
            return False
        tree, base = self.grove.tree(filling)
        if not tree.size[base] or tree.size[base] != tree.size[base + 1] + 1 or tree.kind[base + 1] != ELEMENT:
            return False
        state = self.route.element(occurrence.state, tree.name[base + 1])
        unit = self.route.record(state)
        content = occurrence.content.get(unit)
        if content is None or content.root.children or len(occurrence.content) > 1:
            return False
        mount = Mount(occurrence, filling, key, None, self.grove)
        entry: Entry[Any] = Entry(None, content.monoid.zero, (key, 0))
        entry.item = member = Member(unit, occurrence.above, mount, 1, state, entry)
        entry.block = content.root
        content.root.children.append(entry)
        mount.entries.append(entry)
        mount.members.append(member)
        occurrence.mounts[id(filling)] = mount
        self.dirty[member] = None
        self.walked += 1
        self.disturb(occurrence)
        return True

    def _one_for_one(self, occurrence: Occurrence, gone: Mount | None, fresh: Fresh) -> bool:
        """A content comes to a place where there is nothing, or one record and nothing else, of one unit.

        What this added, the member that comes adds until it has been evaluated: sums are gone through once.
        """
        if len(occurrence.content) != 1 or len(occurrence.mounts) != (gone is not None):
            return False
        ((key, filling, lifespan),), (content,) = fresh, occurrence.content.values()
        if content.place is None or content.place.block is None:
            return False
        if gone is not None:
            if gone.filling is filling or not gone.is_record(content):
                return False
            (member,) = gone.members
            content.root.children.clear()
            content.root.total, member.entry.block = content.monoid.zero, None
            del occurrence.mounts[id(gone.filling)]
            self.dirty.pop(member, None)
            self.gone.append(member)
            self.grove.drop(gone.filling)
            self.pass_no_more(gone)
        if lifespan is not None or not self._record(occurrence, filling, key):
            self._mount(occurrence, filling, key, lifespan, {})
            self.disturb(occurrence)
        hand_down(content)
        return True

    def _beside(self, occurrence: Occurrence, region: Region | None) -> None:
        """The siblings that stand before and after a region, outside it; the latest comes closest."""
        for side in ("before", "after"):
            siblings: list[Region] = list(getattr(region, side)) if region is not None else []
            shown: tuple[Occurrence, ...] = getattr(occurrence, side)
            if [other.region for other in shown] == siblings:
                continue
            known = {id(other.region): other for other in shown}
            made: list[Occurrence] = []
            for sibling in siblings if side == "before" else reversed(siblings):  # the latest comes closest
                other = known.pop(id(sibling)) if id(sibling) in known else self._sibling(occurrence, sibling, side)
                made.append(other)
            for other in known.values():
                self._dispose(other)
            setattr(occurrence, side, tuple(made if side == "before" else made[::-1]))
            if known:  # what has come is told by its own place
                self.disturb(occurrence)

    def _sibling(self, occurrence: Occurrence, region: Region, side: str) -> Occurrence:
        other = Occurrence(region.id, region, occurrence.state, occurrence.above, True)
        other.parent, other.around = occurrence.parent, occurrence.around
        for unit, place in occurrence.places.items():
            around = place.sequence
            entry: Entry[Any] = Entry(other, around.monoid.zero)
            (around.insert_before if side == "before" else around.insert_after)(place, entry)
            entry.key = place.key
            other.places[unit] = entry
            if occurrence.parent is not None:
                occurrence.parent.entries.append(entry)  # it goes when that content does
            other.content[unit] = Sequence(around.monoid, (), entry)
        within = occurrence.parent
        while within is not None:
            if within.occurrence.region is region:
                return other  # it lies inside itself, and stays empty
            within = within.occurrence.parent
        self.inlines.setdefault(region.id, []).append(other)
        self.sync(other)
        return other

    # ---------------------------------------------------------------------------------------------- mounting

    def _mount(
        self,
        occurrence: Occurrence,
        filling: Filling,
        key: tuple[Any, ...],
        lifespan: Interval | None,
        kept: dict[int, list[Occurrence]],
    ) -> None:
        mount = Mount(occurrence, filling, key, lifespan, self.grove)
        occurrence.mounts[id(filling)] = mount
        found: dict[int, list[Entry[Any]]] = {unit: [] for unit in occurrence.content}
        walk = Walk(self, mount, kept, iter(filling.inline), filling.has_holes)
        walk.run(found)
        self.walked += 1
        self.holders += not mount.members and not any(True for _ in occurrence.readers())
        for unit, entries in found.items():
            for number, entry in enumerate(entries):
                entry.key = (key, number)
            occurrence.content[unit].extend_sorted(entries)
            mount.entries += entries
        if mount.passed:
            again = {number: (*self.passed[number], mount) for number in mount.passed.keys() & self.passed.keys()}
            self.passed.update(dict.fromkeys(mount.passed, (mount,)))
            self.passed.update(again)
        if len(walk.new) > 1:
            self.ready([one[1] for held in walk.new if held.region is not None for one in self._wanted(held)])
        for held in walk.new:
            if held.region is not None:
                self.sync(held)

    def _unmount(self, mount: Mount, keep_holes: bool = False) -> None:
        del mount.occurrence.mounts[id(mount.filling)]
        for entry in mount.entries:
            if entry.block is not None:
                entry.sequence.remove(entry)
        if mount.runs:
            self.runs.drop(mount)
        if not keep_holes:
            for held in mount.holes.values():
                self._dispose(held)
            self.grove.drop(mount.filling)
        for member in mount.members:
            self.dirty.pop(member, None)
            self.gone.append(member)
        self.pass_no_more(mount)

    def pass_no_more(self, mount: Mount) -> None:
        """The holes of a content that nobody looks into are not there any more."""
        for number in mount.passed:
            others = tuple([other for other in self.passed.pop(number, ()) if other is not mount])
            if others:
                self.passed[number] = others

    def _dispose(self, occurrence: Occurrence) -> None:
        """A place is no longer in T, nor what stands beside it."""
        if self._within == _AT_ONCE:
            self._doomed.append(occurrence)
            return
        self._within += 1
        try:
            for place in tuple(side_by_side(occurrence)):
                self._dispose_one(place)
        finally:
            self._within -= 1
        while self._doomed and not self._within:
            self._dispose(self._doomed.popleft())

    def _dispose_one(self, occurrence: Occurrence) -> None:
        self.leave(occurrence)
        for entry in occurrence.places.values():
            if entry.block is not None:
                entry.sequence.remove(entry)
        for mount in tuple(occurrence.mounts.values()):
            self._unmount(mount)

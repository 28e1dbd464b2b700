"""A stream's document, alive: where every region stands in T, and which members of which units lie there.

A filling seen at a place (:class:`~xstreamcast.run.continuous.mounts.Occurrence`) is *mounted*: its content is walked
once, along the states of the plan's path automaton; what nobody looks at is skipped, and fragments that the query does
not need are not opened. The walk finds members (records of a unit), frames (members that are instances of a nest,
with members of their own) and further holes. Afterwards a change is told by region: fillings come and go. Occurrences
under a content that is sent again are kept while their hole is there. The cost is that of the fragment, and
O(depth · log n) for the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from xstreamcast.cast.regions import Filling, Region, Regions, Report
from xstreamcast.model.change import ROOT, Change, ContentChange, Eos
from xstreamcast.model.content import Opened
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.time import START, Interval, event_lifespan
from xstreamcast.run.continuous.grove import Grove
from xstreamcast.run.continuous.mounts import (
    HOLE,
    MUTABLE,
    Above,
    Home,
    Member,
    Mount,
    Occurrence,
    hand_down,
    lifespan_attributes,
    side_by_side,
)
from xstreamcast.run.continuous.order import Entry, Sequence
from xstreamcast.run.continuous.rooted import make_room, take_root
from xstreamcast.run.continuous.route import Route
from xstreamcast.run.continuous.runs import Inner, Run, Runs, rooted_key
from xstreamcast.run.continuous.siblings import home_of
from xstreamcast.run.continuous.walk import Walk
from xstreamcast.scan.tables import DOCUMENT_STATE

if TYPE_CHECKING:
    from xstreamcast.errors import Place
    from xstreamcast.model.structure import Structure

__all__ = [
    "HOLE",
    "MUTABLE",
    "Above",
    "Home",
    "Live",
    "Member",
    "Mount",
    "Occurrence",
    "lifespan_attributes",
    "side_by_side",
]

Fresh = list[tuple[tuple[Any, ...], Filling, Interval | None]]
"""Fillings to be mounted: their keys in the order of the region, and their lifespans."""


class Live(Regions):
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
        """Regions that may have been closed for good, if somebody asks (:mod:`~xstreamcast.run.continuous.sealing`)."""
        self.inlines: dict[int, list[Occurrence]] = {}  # of regions that lie in a content, or beside one
        self.passed: dict[int, tuple[Mount, ...]] = {}  # the holes nobody looks into: where they are
        self.forced: set[int] = set()  # those of them that hold a fragment of another tag, after all
        self.tops: dict[tuple[int, int], Above] = {}
        self.dirty: dict[Member, None] = {}
        self.gone: list[Member] = []
        self.vanishing = False
        self.vanished: list[int] = []
        self.changed: dict[Home, None] = {}
        self.walked = 0
        self.holders = 0
        self.assume_rooted = False
        self.newest: frozenset[int] = frozenset()  # the tags of which only the last version matters
        route.know(structure)
        self._known = structure
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

    # ---------------------------------------------------------------------------------------------- changes

    def change(self, change: Change, place: Place, inside: int) -> None:
        super().change(change, place, inside)
        self.follow(change)

    def follow(self, change: Change) -> None:
        """See what the table says now that a change has been taken in."""
        if self.structure is not self._known:
            self._learn()
        if isinstance(change, Eos) or change.doc != self.doc:
            return
        if isinstance(change, ContentChange) and (change.region not in self.holes or change.region in self.passed):
            self._place(change.region, change.tsid)
        added = self._added_event(change)
        if added is not None:
            for occurrence in self.at(change.region):
                if self.route.filler(occurrence.state, change.tsid):
                    self._settle(occurrence, [], [added])
            return
        self.resync(change.region)
        target = getattr(change, "target", None)
        if target is not None and target != change.region:
            if target in self.passed:
                self._place(target, change.tsid)
            self.resync(target)

    def _learn(self) -> None:
        """Go by another structure from now on: all places are found anew, for other fragments may matter."""
        if self.structure != self._known:
            for mount in tuple(self.root.mounts.values()):
                self._unmount(mount)
            for number in tuple(self.holes):
                for occurrence in self.at(number):
                    if occurrence is not self.root:
                        self._dispose(occurrence)  # those that are rooted
            self.route.know(self.structure)
            self._known = self.structure
            self.begin()
        self._known = self.structure

    def begin(self) -> None:
        """See all that is in the table."""
        self.resync(ROOT)
        for doc, number in tuple(self.table) if self.rooted else ():
            if doc == self.doc:
                self._root(number)

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

    def wants(self, tsid: int | None, region: int) -> bool:
        """Whether a fragment may have to be opened."""
        if self.rooted and (tsid in self.route.holders if tsid is not None else region == ROOT):
            return False
        return self.route.needs(tsid)

    def _place(self, number: int, tsid: int | None) -> None:
        """Find a place for a fragment whose hole is not looked into."""
        if self.rooted:
            self._root(number)
        elif number in self.passed and self.route.needs(tsid):
            mounts = [mount for mount in self.passed[number] if mount.passed[number] != tsid]
            if mounts:
                self.forced.add(number)
                for mount in mounts:
                    self.runs.open_in(mount)
                    self._settle(mount.occurrence, [mount], [(mount.key, mount.filling, mount.lifespan)])

    def holds_others(self, number: int, tsid: int) -> bool:
        """Whether a hole for one tag holds fragments of others, too."""
        if number in self.forced:
            return True
        region = self.table.get((self.doc, number))
        return region is not None and any(filling.tsid != tsid for filling in region.fillings())

    def arrive(self, filled: list[tuple[int, Filling]]) -> None:
        """Regions have come, each with one filling that has no time."""
        if self.structure is not self._known:
            self._learn()
        holes, table, doc = self.holes, self.table, self.doc
        if doc:
            return
        # A stretch of a file goes in by runs: what is here for its holes, or stands alone, is parsed together.
        if self.rooted and self.runs.taking:
            filled = take_root(self.runs, filled)
        self.runs.gathered.clear()
        known = filled if self.rooted or not self.runs.units else [one for one in filled if one[0] in holes]
        self.ready([filling for number, filling in known if self._is_walked(number, filling)])
        for number, filling in filled:
            if number in self.runs.gathered and number not in self.passed:
                continue
            shown = holes.get(number)
            if shown is None or number in self.passed:
                self._place(number, filling.tsid)
            if shown is None or (not isinstance(shown, list) and self.runs.fill(number, filling)):
                continue
            places = self.at(number)
            if len(places) == 1:
                (occurrence,) = places
                occurrence.region = table[doc, number]
                if not self._record(occurrence, filling):
                    self.sync(occurrence)
            else:
                self.resync(number)

    def _is_walked(self, number: int, filling: Filling) -> bool:
        """Whether a content that has come will be walked through."""
        content = filling.content
        if type(content) is Opened and content.marks is None and type(self.holes.get(number)) is Run:
            return False
        if not self.wants(filling.tsid, number):
            return False
        if not self.runs.units:
            return True
        if number in self.holes:
            return self.runs.parts(number, filling)
        return filling.tsid in self.route.rooted

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

    def _root(self, number: int) -> None:
        """Give a fragment the place that its tag has; among others of its tag it stands by its number."""
        region = self.table.get((self.doc, number))
        if region is None or number in self.holes:
            return
        for filling in region.fillings():
            rooting = self.route.rooted.get(filling.tsid) if filling.tsid is not None else None
            if rooting is not None:
                occurrence = Occurrence(number, region, rooting.state, rooting.above, False)
                for unit in self.route.role(rooting.state).below:
                    around = self.top.get(unit)
                    if around is not None:
                        content = occurrence.content[unit] = Sequence(around.monoid)
                        entry = Entry(occurrence, content.total, rooted_key(number))
                        content.place = occurrence.places[unit] = entry
                        if self.runs.standing:
                            make_room(self.runs, around, number)
                        around.insert_sorted(entry)
                self.holes[number] = [occurrence]
                self.sync(occurrence)
                return

    def _added_event(self, change: Change) -> tuple[tuple[Any, ...], Filling, Interval] | None:
        """An event that has just come, if that is all a change did; there may be many, which are not looked through."""
        if self.structure is None or change.tsid is None or change.kind not in ("fill", "repeat"):
            return None
        tag = self.structure.tags.get(change.tsid)
        if tag is None or tag.type != "event":
            return None
        region = self.table.get((change.doc, change.region))
        if region is None:
            return None
        assert isinstance(change, ContentChange)
        at = START if change.valid_time is None else change.valid_time
        last = next(reversed(region.events.items()), None)
        if last is None or at > self.now:
            return None
        (tsid, begin, version, digest), filling = last
        if (tsid, begin, version) != (change.tsid, at, change.version or 0):
            return None
        return (1, at, version, tsid or 0, digest), filling, event_lifespan(at)

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

    def expect(self, changes: Iterable[Change]) -> None:
        """Some changes will be followed: parse together what they bring to places that are known."""
        fillings = []
        for change in changes:
            if isinstance(change, ContentChange) and (change.region in self.holes or self.rooted):
                region = self.table.get((self.doc, change.region))
                if region is not None:
                    last = region.current or next(reversed(region.events.values()), None)
                    last = last or next(reversed(region.versions.values()), None)
                    if last is not None and last.content is not None and self.wants(last.tsid, change.region):
                        fillings.append(last)
        self.ready(fillings)

    def let_go(self, number: int, filling: Filling) -> None:
        """A filling is in no answer any more, whatever comes."""
        for occurrence in self.at(number):
            mount = occurrence.mounts.get(id(filling))
            if mount is not None:
                self.runs.open_in(mount)
                self._settle(occurrence, [mount], [])

    def passes_over(self, number: int, filling: Filling) -> bool:
        """Whether a filling need not be looked at where it is not the newest."""
        return filling.tsid in self.newest

    def ready(self, fillings: Iterable[Filling]) -> None:
        """Some fillings are to be looked at: parse them together."""
        self.grove.ready(fillings)

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

    def sync(self, occurrence: Occurrence) -> None:
        """Mount what is seen and not mounted, unmount what is no longer seen."""
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

    def turn(self, occurrence: Occurrence) -> None:
        """A place has been hidden or shown."""
        self.disturb(occurrence)

    def see(self, occurrence: Occurrence) -> None:
        """Mount what is seen at a new place."""
        self._settle(occurrence, [], self._wanted(occurrence))

    def disturb(self, occurrence: Occurrence) -> None:
        """Those who read it must look again."""
        for member in occurrence.readers():
            self.dirty[member] = None

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
        for place in tuple(side_by_side(occurrence)):
            self._dispose_one(place)

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

    def _dispose_one(self, occurrence: Occurrence) -> None:
        self.leave(occurrence)
        for entry in occurrence.places.values():
            if entry.block is not None:
                entry.sequence.remove(entry)
        for mount in tuple(occurrence.mounts.values()):
            self._unmount(mount)

    def contents(self, members: Iterable[Member]) -> Iterator[Filling]:
        """The fillings that some members begin in."""
        for member in members:
            if member.mount is not None:
                yield member.mount.filling

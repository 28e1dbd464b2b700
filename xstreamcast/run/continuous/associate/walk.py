"""Walking a content along the states of the route: members, frames and holes are found, each once.

What nobody looks at is passed over. An element below which nothing can begin is not entered, unless there are holes
somewhere in the content: what fills these may be read with it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xstreamcast.model.depth import Work, work_off
from xstreamcast.model.names import ATTRIBUTE, ELEMENT
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.adjust.siblings import home_of, pair_up
from xstreamcast.run.continuous.associate.gathering import gather, hole_at
from xstreamcast.run.continuous.associate.mounts import (
    HOLE,
    MUTABLE,
    Above,
    Member,
    Mount,
    Nested,
    Occurrence,
    lifespan_attributes,
    side_by_side,
)
from xstreamcast.scan.tables import DEAD
from xstreamcast.wire.content import Content, Opened

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Region
    from xstreamcast.run.continuous.associate.mounting import Mounting
    from xstreamcast.run.continuous.associate.route import Role

Found = dict[int, list[Entry[Any]]]
"""By unit, the entries of what has been found, in order."""


class Walk:
    """One walk through a content. ``kept``: the occurrences that its holes had in the content before, by id.

    ``gathers``: whether holes may be put into runs; then ``path`` has the holes that the content is in, and
    ``numbers`` these and its own.
    """

    __slots__ = (
        "base", "cuts", "gathers", "holes", "inline", "kept", "live", "mount", "new", "numbers", "passed", "path",
        "route", "tree",
    )  # fmt: skip

    def __init__(
        self, live: Mounting, mount: Mount, kept: dict[int, list[Occurrence]], inline: Iterator[Region], holes: bool
    ) -> None:
        self.live = live
        self.route = live.route
        self.mount = mount
        self.tree, self.base = mount.tree
        self.kept = kept
        self.inline = inline
        self.holes = holes
        self.new: list[Occurrence] = []
        self.passed: dict[int, int] = {}
        self.cuts: list[int] | None = None
        self.gathers = holes and live.runs.taking and not kept and self._may_gather()

    def _may_gather(self) -> bool:
        """Whether nobody around reads what is in the holes, and none stands there twice."""
        if next(self.mount.occurrence.readers(), None) is not None:
            return False
        content = self.mount.filling.content
        if not isinstance(content, Opened | Content):
            return False
        regions = content.regions if isinstance(content, Opened) else [hole.region for hole in content.holes]
        self.path = self.live.runs.path(self.mount)
        self.numbers = self.path.union(regions)
        return len(set(regions)) == len(regions)

    def run(self, found: Found) -> None:
        """Walk through all of it."""
        occurrence = self.mount.occurrence
        work_off(self.children(self.base, occurrence.state, occurrence.above, (), found, top=True))
        if self.passed:
            self.mount.passed = self.passed

    def children(
        self, row: int, state: int, above: Above | None, around: tuple[Member, ...], found: Found, top: bool = False
    ) -> Work:
        tree = self.tree
        kinds, names, sizes = tree.kind, tree.name, tree.size
        child, end = tree.first_child(row), row + sizes[row]
        while child <= end:
            if kinds[child] == ELEMENT:
                name = names[child]
                if name == HOLE and self.gathers:
                    behind = gather(self, child, state, above, around, found)
                    if behind != child:
                        child = behind
                        continue
                if name in (HOLE, MUTABLE):
                    self.hole(child, name == MUTABLE, state, above, around, found)
                else:
                    to = self.route.element(state, name)
                    if to == DEAD:
                        self.skip(child)
                    else:
                        yield self.element(child, to, above, around, found, top)
            child += sizes[child] + 1

    def skip(self, row: int) -> None:
        """The regions within what nobody looks at have been met, all the same."""
        tree = self.tree
        if self.holes:
            at, end = row, row + tree.size[row]
            while at <= end:
                if tree.name[at] == MUTABLE:
                    next(self.inline)
                    at += tree.size[at]  # what lies in it is of that region
                at += 1

    def element(
        self, row: int, state: int, above: Above | None, around: tuple[Member, ...], found: Found, top: bool
    ) -> Work:
        route = self.route
        role = route.role(state)
        frames: list[tuple[Member, Found]] = []
        cut: list[Member] = []
        inner = found
        for unit in role.begins:  # outer units first: an instance may itself be a record of the units inside
            if unit not in inner:
                continue
            entry: Entry[Any] = Entry(None, route.monoid(unit).zero)
            entry.item = member = Member(unit, above, self.mount, row - self.base, state, entry)
            inner[unit].append(entry)
            self.mount.members.append(member)
            self.live.dirty[member] = None
            if unit not in route.shallow:
                around = (*around, member)
            if unit in route.each and self.is_cut(row):
                cut.append(member)
                continue
            # A record within a record is part of the outer one, which is evaluated whole.
            inner = {other: entries for other, entries in inner.items() if other != unit}
            if route.inside(unit) and unit not in route.each:
                own: Found = {nested: [] for nested in route.inside(unit)}
                frames.append((member, own))
                inner.update(own)
        if not route.each.isdisjoint(role.begins):
            if not route.counted.keys().isdisjoint(role.begins):
                pair_up(self.mount.members, row - self.base, route)
            inner = {other: inner[other] for other in inner if self.reaches_into(other, role)}
        shared = self.open_frames(cut, inner, frames) if cut else {}
        if self.tree.size[row] and (self.holes or not role.below.isdisjoint(inner)):
            yield self.children(row, state, self.opened(row, state, above, top), around, inner)
        for member, own in frames:
            member.inner = {
                unit: Sequence(route.monoid(unit), entries, shared.get(unit), home_of(self.live, unit, member))
                for unit, entries in own.items()
            }
        for unit, entry in shared.items():
            content = next(member.inner[unit] for member in cut if member.inner and unit in member.inner)
            entry.item, entry.summary = Nested(unit, entry, content), content.total

    def reaches_into(self, unit: int, role: Role) -> bool:
        """Whether members of a unit inside of an instance may be in another instance, which begins here."""
        return self.route.within.get(unit) not in role.begins or unit in self.route.deep

    def open_frames(self, cut: list[Member], inner: Found, frames: list[tuple[Member, Found]]) -> dict[int, Entry[Any]]:
        """Begin the frames of instances with holes in them; by unit, the place of what they share with those around."""
        shared: dict[int, Entry[Any]] = {}
        for member in cut:
            own: Found = {}
            for unit in self.route.inside(member.unit):
                if unit in inner:
                    shared[unit] = Entry(None, self.route.monoid(unit).zero)
                    inner[unit].append(shared[unit])
                own[unit] = inner[unit] = []
            frames.append((member, own))
        return shared

    def is_cut(self, row: int) -> bool:
        """Whether there is a hole in an element."""
        if not self.holes:
            return False
        if self.cuts is None:
            names, end = self.tree.name, self.base + self.tree.size[self.base]
            self.cuts = [at for at in range(self.base, end + 1) if names[at] in (HOLE, MUTABLE)]
        at = bisect_right(self.cuts, row)
        return at < len(self.cuts) and self.cuts[at] <= row + self.tree.size[row]

    def opened(self, row: int, state: int, above: Above | None, top: bool) -> Above:
        tree, route = self.tree, self.route
        attributes = []
        at, end = row + 1, row + tree.size[row]
        while at <= end and tree.kind[at] == ATTRIBUTE:
            if route.attribute(state, tree.name[at]) != DEAD:
                attributes.append((tree.name[at], tree.prefix[at], tree.value[at] or ""))
            at += 1
        if top and self.mount.lifespan is not None:
            attributes += lifespan_attributes(self.mount.lifespan)
        namespaces = tree.namespaces.get(row)
        if top and above is not None and above.default and "" not in tree.in_scope(row):
            namespaces = {**(namespaces or {}), "": ""}  # a content takes no default namespace from around it
        if attributes or namespaces:
            declared = tuple(sorted(namespaces.items())) if namespaces else ()
            return Above(above, tree.name[row], tree.prefix[row], tuple(attributes), declared)
        known, key = self.live.tops if above is None else above.below, (tree.name[row], tree.prefix[row])
        if key not in known:
            known[key] = Above(above, *key, ())
        return known[key]

    # ---------------------------------------------------------------------------------------------- holes

    def hole(
        self, row: int, mutable: bool, state: int, above: Above | None, around: tuple[Member, ...], found: Found
    ) -> None:
        live, route = self.live, self.route
        number, tsid = hole_at(self.tree, row)
        if not mutable and tsid is not None and not route.filler(state, tsid) and not live.holds_others(number, tsid):
            self.passed[number] = tsid
            return
        occurrence = None if mutable or not self.kept else self._kept(number, state, above)
        if occurrence is None and not mutable and self.cyclic(number):
            occurrence = Occurrence(number, None, state, above, True)  # nothing is ever seen there
        elif occurrence is None:
            region = next(self.inline) if mutable else live.table.get((live.doc, number))
            occurrence = Occurrence(number, region, state, above, mutable)
            if mutable:
                live.inlines.setdefault(number, []).append(occurrence)
            else:
                live.stand(occurrence)
            self.new.append(occurrence)
        role = route.role(state)
        occurrence.parent, occurrence.above = self.mount, above
        if not mutable:
            occurrence.tsid = tsid
        occurrence.around = tuple([member for member in around if member.unit in role.reads]) if around else ()
        occurrence.places = {}
        if occurrence.before or occurrence.after:
            for place in side_by_side(occurrence):  # they stand where it stands
                place.parent, place.above, place.around = self.mount, above, occurrence.around
        for unit, entries in found.items():
            if unit in role.below:
                if unit not in occurrence.content:
                    occurrence.content[unit] = Sequence(route.monoid(unit))
                beside = occurrence.before or occurrence.after
                for place in side_by_side(occurrence) if beside else (occurrence,):
                    content = place.content[unit]
                    content.place = entry = Entry(place, content.total)
                    entry.hidden = place.hidden
                    place.places[unit] = entry
                    entries.append(entry)
        self.mount.holes[row - self.base] = occurrence

    def cyclic(self, number: int) -> bool:
        """Whether a hole lies inside its own filler: then it stays empty."""
        occurrence: Occurrence | None = self.mount.occurrence
        region = self.live.table.get((self.live.doc, number))
        while occurrence is not None:
            if occurrence.id == number and (not occurrence.inline or occurrence.region is region):
                return True
            occurrence = occurrence.parent.occurrence if occurrence.parent is not None else None
        return False

    def _kept(self, number: int, state: int, above: Above | None) -> Occurrence | None:
        """The occurrence that this hole had in the content before, if a query sees it the same way."""
        for held in self.kept.get(number, ()):
            same = held.above is above or (above is not None and above.same(held.above))
            if held.state == state and same:
                self.kept[number].remove(held)
                return held
        return None

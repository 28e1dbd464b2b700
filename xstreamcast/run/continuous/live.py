"""A stream's document, alive: where every region stands in T, and which members of which units lie there.

An :class:`Occurrence` is one place of a hole in T(γ) (XFrag's association: filler ↔ hole ↔ record; a hole id that
occurs twice has two). A filling seen there is *mounted*: its content is walked once, along the states of the plan's
path automaton; what nobody looks at is skipped. The walk finds *members* (records of a unit), *frames* (members that
are instances of a nest, with members of their own) and further holes. Afterwards a change is told by region: fillings
come and go. Occurrences under a content that is sent again are kept while their hole is there. The cost is that of the
fragment, and O(depth · log n) for the sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.cast.regions import Filling, Region, Regions, Report
from xstreamcast.model.change import ROOT, STREAM_NAMESPACE, Change, ContentChange, Eos
from xstreamcast.model.content import write_content
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, intern
from xstreamcast.model.parse import parse
from xstreamcast.model.time import NOW, START, Interval, event_lifespan, format_instant, version_lifespan
from xstreamcast.run.continuous.order import Entry, Sequence
from xstreamcast.run.continuous.route import Route
from xstreamcast.run.temporal import VT_FROM, VT_TO
from xstreamcast.scan.automaton import DEAD, DOCUMENT_STATE

if TYPE_CHECKING:
    from xstreamcast.errors import Place
    from xstreamcast.model.structure import Structure
    from xstreamcast.model.tree import Tree

HOLE: Final = intern(ELEMENT, STREAM_NAMESPACE, "hole")
MUTABLE: Final = intern(ELEMENT, STREAM_NAMESPACE, "mutable")
_ID: Final = intern(ATTRIBUTE, "", "id")
_WRAP: Final = f'<w xmlns:stream="{STREAM_NAMESPACE}">'.encode()
_TOP: Final = 1  # the row of that wrapper in the tree of a content

Attributes = tuple[tuple[int, int, str], ...]


class Above:
    """An element around something: what a record sees of its ancestors."""

    __slots__ = ("attributes", "name", "parent", "prefix")

    def __init__(self, parent: Above | None, name: int, prefix: int, attributes: Attributes) -> None:
        self.parent = parent
        self.name = name
        self.prefix = prefix
        self.attributes = attributes

    def same(self, other: Above | None) -> bool:
        """Whether a query sees no difference between two chains of ancestors."""
        mine: Above | None = self
        while mine is not other:
            if mine is None or other is None:
                return False
            if (mine.name, mine.attributes) != (other.name, other.attributes):
                return False
            mine, other = mine.parent, other.parent
        return True


class Member:
    """One record of a unit where it stands now.

    ``outcome``: the items its last evaluation gave; None before the first. ``inner``: of a frame, by unit, its members.
    """

    __slots__ = ("above", "entry", "inner", "mount", "outcome", "row", "state", "unit")

    def __init__(self, unit: int, above: Above | None, mount: Any, row: int, state: int, entry: Any) -> None:
        self.unit = unit
        self.above = above
        self.mount: Mount = mount
        self.row = row
        self.state = state
        self.entry: Entry[Any] = entry
        self.outcome: Any = None
        self.inner: dict[int, Sequence[Any]] | None = None


class Mount:
    """A filling where it is seen: its tree, and what the walk found in it."""

    __slots__ = ("entries", "filling", "holes", "key", "lifespan", "members", "occurrence", "tree")

    def __init__(
        self, occurrence: Occurrence, filling: Filling, key: tuple[Any, ...], lifespan: Interval | None, tree: Tree
    ) -> None:
        self.occurrence = occurrence
        self.filling = filling
        self.key = key
        self.lifespan = lifespan
        self.tree = tree
        self.entries: list[Entry[Any]] = []
        self.holes: dict[int, Occurrence] = {}
        self.members: list[Member] = []


class Occurrence:
    """A place of a region in T. ``around``: the members of its own mount whose evaluation reads it.

    ``places`` and ``content``, by unit: its entry in the sequence around, and the sequence of what is in it.
    """

    __slots__ = (
        "above", "after", "around", "before", "content", "hidden", "id", "inline", "mounts", "parent", "places",
        "region", "state",
    )  # fmt: skip

    def __init__(self, id: int, region: Region | None, state: int, above: Above | None, inline: bool) -> None:
        self.id = id
        self.region = region
        self.state = state
        self.above = above
        self.inline = inline
        self.hidden = False
        self.parent: Mount | None = None
        self.around: tuple[Member, ...] = ()
        self.places: dict[int, Entry[Any]] = {}
        self.content: dict[int, Sequence[Any]] = {}
        self.mounts: dict[int, Mount] = {}
        self.before: list[Occurrence] = []
        self.after: list[Occurrence] = []

    def readers(self) -> Iterator[Member]:
        """The members whose evaluation reads it, in all the contents around."""
        occurrence = self
        while True:
            yield from occurrence.around
            if occurrence.parent is None:
                return
            occurrence = occurrence.parent.occurrence


def side_by_side(occurrence: Occurrence) -> Iterator[Occurrence]:
    """A place and the siblings that stand before and after it, and beside these, in order; however long the chain."""
    waiting = [(occurrence, False)]
    while waiting:
        place, reached = waiting.pop()
        if reached or not (place.before or place.after):
            yield place
        else:
            waiting += [(sibling, False) for sibling in reversed(place.after)]
            waiting.append((place, True))
            waiting += [(sibling, False) for sibling in reversed(place.before)]


class Home:
    """Whose an outermost sequence is: a unit's in the document, or in a frame. It hears when the sequence changes."""

    __slots__ = ("live", "member", "unit")

    def __init__(self, live: Live, unit: int, member: Member | None) -> None:
        self.live = live
        self.unit = unit
        self.member = member

    def moved(self) -> None:
        self.live.changed[self] = None


class Live(Regions):
    """T1 and, beside it, T as occurrences and members.

    ``dirty``: the members to evaluate again; ``changed``: the sequences that are not as they were; ``gone``: the
    members that are no longer in T; ``walked``: how many contents were looked through.
    """

    def __init__(
        self, route: Route, doc: str = "", structure: Structure | None = None, report: Report = lambda _: None
    ) -> None:
        super().__init__(structure, report)
        self.route = route
        self.doc = doc
        self.holes: dict[int, list[Occurrence]] = {}
        self.inlines: dict[int, list[Occurrence]] = {}  # of regions that lie in a content, or beside one
        self.dirty: dict[Member, None] = {}
        self.gone: list[Member] = []
        self.changed: dict[Home, None] = {}
        self.walked = 0
        self.root = Occurrence(ROOT, None, DOCUMENT_STATE, None, False)
        self.top: dict[int, Sequence[Any]] = {
            unit: Sequence(route.monoid(unit), home=Home(self, unit, None)) for unit in route.outermost
        }
        self.root.content = self.top
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
        if isinstance(change, Eos) or change.doc != self.doc:
            return
        added = self._added_event(change)
        if added is not None:
            for occurrence in self.holes.get(change.region, ()):
                self._settle(occurrence, [], [added])
            return
        for number in {change.region, getattr(change, "target", None)} - {None}:
            assert number is not None
            self.resync(number)

    def _added_event(self, change: Change) -> tuple[tuple[Any, ...], Filling, Interval] | None:
        """An event that has just come, if that is all a change did; there may be many, which are not looked through."""
        if self.structure is None or change.tsid is None or change.kind not in ("fill", "repeat"):
            return None
        tag = self.structure.tags.get(change.tsid)
        region = self.table.get((change.doc, change.region))
        if tag is None or tag.type != "event" or region is None:
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
        region = self.table.get((self.doc, number))
        for occurrence in tuple(self.holes.get(number, ())):
            occurrence.region = region
            self.sync(occurrence)
        for occurrence in tuple(self.inlines.get(number, ())):
            self.sync(occurrence)

    def visible(self, region: Region | None) -> Iterator[tuple[tuple[Any, ...], Filling, Interval | None]]:
        """The fillings that are seen: their keys in the order of the region, and their lifespans."""
        if region is None:
            return
        if region.current is not None and region.current.content is not None:
            yield (0,), region.current, None
        ends: dict[int | None, int] = {}
        for (tsid, begin), filling in sorted(region.versions.items(), key=lambda e: e[0][1], reverse=True):
            if begin <= self.now:
                if filling.content is not None:
                    lifespan = version_lifespan(begin, ends.get(tsid, NOW))
                    yield (1, begin, filling.version or 0, tsid or 0, b""), filling, lifespan
                ends[tsid] = begin
        for (tsid, at, version, digest), filling in region.events.items():
            if at <= self.now:
                yield (1, at, version, tsid or 0, digest), filling, event_lifespan(at)

    def sync(self, occurrence: Occurrence) -> None:
        """Mount what is seen and not mounted, unmount what is no longer seen."""
        region = occurrence.region
        wanted = {id(filling): (key, filling, lifespan) for key, filling, lifespan in self.visible(region)}
        mounts = occurrence.mounts
        gone = [m for number, m in mounts.items() if number not in wanted or wanted[number][2] != m.lifespan]
        stale = {id(mount.filling) for mount in gone}
        fresh = [entry for number, entry in wanted.items() if number not in mounts or number in stale]
        self._settle(occurrence, gone, fresh)
        self._beside(occurrence, region)
        hidden = region is not None and region.hidden
        if hidden != occurrence.hidden:
            occurrence.hidden = hidden
            for entry in occurrence.places.values():
                entry.sequence.hide(entry, hidden)
            self.disturb(occurrence)

    def disturb(self, occurrence: Occurrence) -> None:
        """Those who read it must look again."""
        for member in occurrence.readers():
            self.dirty[member] = None

    def _settle(
        self,
        occurrence: Occurrence,
        gone: list[Mount],
        fresh: list[tuple[tuple[Any, ...], Filling, Interval | None]],
    ) -> None:
        if not gone and not fresh:
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
        for rest in kept.values():
            for held in rest:
                self._dispose(held)
        self.disturb(occurrence)

    def _beside(self, occurrence: Occurrence, region: Region | None) -> None:
        """The siblings that stand before and after a region, outside it; the latest comes closest."""
        for side in ("before", "after"):
            siblings: list[Region] = list(getattr(region, side)) if region is not None else []
            shown: list[Occurrence] = getattr(occurrence, side)
            if [other.region for other in shown] == siblings:
                continue
            known = {id(other.region): other for other in shown}
            made: list[Occurrence] = []
            for sibling in siblings if side == "before" else reversed(siblings):  # the latest comes closest
                other = known.pop(id(sibling)) if id(sibling) in known else self._sibling(occurrence, sibling, side)
                made.append(other)
            for other in known.values():
                self._dispose(other)
            setattr(occurrence, side, made if side == "before" else made[::-1])
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

    def content_tree(self, filling: Filling) -> Tree:
        """The tree of a filling: a document node, a wrapper, and in it the content with its holes."""
        content = self.load(filling)
        assert content is not None
        self.walked += 1
        tree: Tree = parse(_WRAP + write_content(content, {}) + b"</w>")[0]
        for row in [row for row, declared in tree.namespaces.items() if STREAM_NAMESPACE in declared.values()]:
            tree.namespaces[row] = {p: u for p, u in tree.namespaces[row].items() if u != STREAM_NAMESPACE}
        return tree

    def _mount(
        self,
        occurrence: Occurrence,
        filling: Filling,
        key: tuple[Any, ...],
        lifespan: Interval | None,
        kept: dict[int, list[Occurrence]],
    ) -> None:
        mount = Mount(occurrence, filling, key, lifespan, self.content_tree(filling))
        occurrence.mounts[id(filling)] = mount
        found: dict[int, list[Entry[Any]]] = {unit: [] for unit in occurrence.content}
        walk = _Walk(self, mount, kept, iter(filling.inline))
        walk.children(_TOP, occurrence.state, occurrence.above, (), found, top=True)
        for unit, entries in found.items():
            for number, entry in enumerate(entries):
                entry.key = (key, number)
            occurrence.content[unit].extend_sorted(entries)
            mount.entries += entries
        for held in walk.new:
            self.sync(held)

    def _unmount(self, mount: Mount, keep_holes: bool = False) -> None:
        del mount.occurrence.mounts[id(mount.filling)]
        for entry in mount.entries:
            if entry.block is not None:
                entry.sequence.remove(entry)
        if not keep_holes:
            for held in mount.holes.values():
                self._dispose(held)
        for member in mount.members:
            self.dirty.pop(member, None)
            self.gone.append(member)

    def _dispose(self, occurrence: Occurrence) -> None:
        """A place is no longer in T, nor what stands beside it."""
        for place in tuple(side_by_side(occurrence)):
            self._dispose_one(place)

    def _dispose_one(self, occurrence: Occurrence) -> None:
        table = self.inlines if occurrence.inline else self.holes
        shown = table.get(occurrence.id, [])
        if occurrence in shown:  # one that lies inside itself is not among them
            shown.remove(occurrence)
            if not shown:
                del table[occurrence.id]
        for entry in occurrence.places.values():
            if entry.block is not None:
                entry.sequence.remove(entry)
        for mount in tuple(occurrence.mounts.values()):
            self._unmount(mount)


class _Walk:
    """One walk through a content."""

    __slots__ = ("inline", "kept", "live", "mount", "new", "route", "tree")

    def __init__(self, live: Live, mount: Mount, kept: dict[int, list[Occurrence]], inline: Iterator[Region]) -> None:
        self.live = live
        self.route = live.route
        self.mount = mount
        self.tree = mount.tree
        self.kept = kept
        self.inline = inline
        self.new: list[Occurrence] = []

    def children(
        self,
        row: int,
        state: int,
        above: Above | None,
        around: tuple[Member, ...],
        found: dict[int, list[Entry[Any]]],
        top: bool = False,
    ) -> None:
        tree = self.tree
        for child in tree.children(row):
            if tree.kind[child] != ELEMENT:
                continue
            name = tree.name[child]
            if name in (HOLE, MUTABLE):
                self.hole(child, name == MUTABLE, state, above, around, found)
                continue
            to = self.route.element(state, name)
            if to == DEAD:
                self.skip(child)
            else:
                self.element(child, to, above, around, found, top)

    def skip(self, row: int) -> None:
        """The regions within what nobody looks at have been met, all the same."""
        tree = self.tree
        if self.mount.filling.inline:
            for at in range(row, row + tree.size[row] + 1):
                if tree.name[at] == MUTABLE:
                    next(self.inline)

    def element(
        self,
        row: int,
        state: int,
        above: Above | None,
        around: tuple[Member, ...],
        found: dict[int, list[Entry[Any]]],
        top: bool,
    ) -> None:
        route = self.route
        role = route.role(state)
        frames: list[tuple[Member, dict[int, list[Entry[Any]]]]] = []
        inner = found
        for unit in role.begins:  # outer units first: an instance may itself be a record of the units inside
            if unit not in inner:
                continue
            member = Member(unit, above, self.mount, row, state, Entry(None, route.monoid(unit).zero))
            member.entry.item = member
            inner[unit].append(member.entry)
            self.mount.members.append(member)
            self.live.dirty[member] = None
            around = (*around, member)
            # A record within a record is part of the outer one, which is evaluated whole.
            inner = {other: entries for other, entries in inner.items() if other != unit}
            if route.inside(unit):
                own: dict[int, list[Entry[Any]]] = {nested: [] for nested in route.inside(unit)}
                frames.append((member, own))
                inner.update(own)
        if self.tree.size[row]:
            self.children(row, state, self.opened(row, state, above, top), around, inner)
        for member, own in frames:
            member.inner = {
                unit: Sequence(route.monoid(unit), entries, home=Home(self.live, unit, member))
                for unit, entries in own.items()
            }

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
        return Above(above, tree.name[row], tree.prefix[row], tuple(attributes))

    def hole(
        self,
        row: int,
        mutable: bool,
        state: int,
        above: Above | None,
        around: tuple[Member, ...],
        found: dict[int, list[Entry[Any]]],
    ) -> None:
        live, route = self.live, self.route
        number = int(self.tree.attribute(row, _ID) or 0)
        occurrence = None if mutable else self._kept(number, state, above)
        if occurrence is None and not mutable and self.cyclic(number):
            occurrence = Occurrence(number, None, state, above, True)  # nothing is ever seen there
        elif occurrence is None:
            region = next(self.inline) if mutable else live.table.get((live.doc, number))
            occurrence = Occurrence(number, region, state, above, mutable)
            if mutable:
                live.inlines.setdefault(number, []).append(occurrence)
            else:
                live.holes.setdefault(number, []).append(occurrence)
            self.new.append(occurrence)
        role = route.role(state)
        occurrence.parent, occurrence.above = self.mount, above
        occurrence.around = tuple([member for member in around if member.unit in role.reads])
        occurrence.places = {}
        for unit, entries in found.items():
            if unit in role.below:
                content = occurrence.content.get(unit)
                if content is None:
                    content = occurrence.content[unit] = Sequence(route.monoid(unit))
                content.place = entry = Entry(occurrence, content.total)
                entry.hidden = occurrence.hidden
                occurrence.places[unit] = entry
                entries += [*self._beside(occurrence.before, unit), entry, *self._beside(occurrence.after, unit)]
        self.mount.holes[row] = occurrence

    def _beside(self, siblings: list[Occurrence], unit: int) -> list[Entry[Any]]:
        """New entries for the siblings of an occurrence that is kept."""
        entries = []
        for sibling in siblings:
            content = sibling.content[unit]
            content.place = entry = Entry(sibling, content.total)
            entry.hidden = sibling.hidden
            sibling.places[unit] = entry
            entries.append(entry)
        return entries

    def cyclic(self, number: int) -> bool:
        """Whether a hole lies inside its own filler: then it stays empty."""
        occurrence: Occurrence | None = self.mount.occurrence
        while occurrence is not None:
            if occurrence.id == number and not occurrence.inline:
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


def lifespan_attributes(lifespan: Interval) -> list[tuple[int, int, str]]:
    """vtFrom and vtTo as the temporal view has them."""
    return [(VT_FROM, 0, format_instant(lifespan.begin)), (VT_TO, 0, format_instant(lifespan.end))]

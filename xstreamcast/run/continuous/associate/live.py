"""A stream's document, alive: where every region stands in T, and which members of which units lie there.

A filling seen at a place (:class:`~xstreamcast.run.continuous.associate.mounts.Occurrence`) is *mounted*: its content
is walked once, along the states of the plan's path automaton; what nobody looks at is skipped, and fragments that the
query does not need are not opened. The walk finds members (records of a unit), frames (members that are instances of a
nest, with members of their own) and further holes. Afterwards a change is told by region: fillings come and go.
Occurrences under a content that is sent again are kept while their hole is there. The cost is that of the fragment, and
O(depth · log n) for the sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from xstreamcast.cast.regions import Filling, Report
from xstreamcast.model.change import ROOT, Change, ContentChange, Eos
from xstreamcast.model.time import START, Interval, event_lifespan
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.associate.fragments import Inner
from xstreamcast.run.continuous.associate.mounting import Mounting
from xstreamcast.run.continuous.associate.mounts import (
    Member,
    Occurrence,
)
from xstreamcast.run.continuous.associate.rooted import make_room, take_root
from xstreamcast.run.continuous.associate.route import Route
from xstreamcast.run.continuous.associate.runs import Run, rooted_key
from xstreamcast.wire.content import Opened

if TYPE_CHECKING:
    from xstreamcast.errors import Place
    from xstreamcast.model.structure import Structure


class Live(Mounting):
    """The document of a stream: it follows the changes of its table."""

    def __init__(
        self, route: Route, doc: str = "", structure: Structure | None = None, report: Report = lambda _: None
    ) -> None:
        route.know(structure)
        self._known = structure
        super().__init__(route, doc, structure, report)

    def change(self, change: Change, place: Place, inside: int) -> None:
        super().change(change, place, inside)
        self.follow(change)

    def follow(self, change: Change) -> None:
        """See what the table says now that a change has been taken in."""
        if self.structure is not self._known:
            self.learn()
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

    def learn(self) -> None:
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

    def _place(self, number: int, tsid: int | None) -> None:
        """Find a place for a fragment whose hole is not looked into."""
        if self.rooted:
            self._root(number)
        elif number in self.passed and self.route.needs(tsid):
            mounts = [mount for mount in self.passed[number] if mount.passed[number] != tsid]
            if mounts:
                self.forced.add(number)
                for mount in mounts:
                    if mount.occurrence.mounts.get(id(mount.filling)) is not mount:
                        continue  # it was in another of them, which has been looked at again
                    self.runs.open_in(mount)
                    self._settle(mount.occurrence, [mount], [(mount.key, mount.filling, mount.lifespan)])

    def arrive(self, filled: list[tuple[int, Filling]], timed: Mapping[int, list[Filling]], anew: set[int]) -> None:
        """Regions have come, each with one filling that has no time; and, to some, fillings with times.

        ``anew``: those of them to which more has happened than that these came.
        """
        if self.structure is not self._known:
            self.learn()
        holes, table, doc = self.holes, self.table, self.doc
        if doc:
            return
        # A stretch of a file goes in by runs: what is here for its holes, or stands alone, is parsed together.
        if self.rooted and self.runs.taking:
            filled = take_root(self.runs, filled)
        self.runs.gathered.clear()
        self._expect_filled(filled, timed)
        touched: dict[int, list[Filling] | None] = {}
        for number, filling in filled:
            if number in self.runs.gathered and number not in self.passed:
                continue
            shown = holes.get(number)
            if shown is None or number in self.passed:
                self._place(number, filling.tsid)
            if isinstance(shown, Run | Inner):
                touched[shown.outer if isinstance(shown, Inner) else number] = None
            elif shown is not None:
                places = self.at(number)
                if len(places) == 1:
                    (occurrence,) = places
                    occurrence.region = table[doc, number]
                    if not self._record(occurrence, filling):
                        self.sync(occurrence)
                else:
                    self.resync(number)
        for number, fillings in timed.items():
            shown = holes.get(number)
            if number in self.passed or (shown is None and self.rooted):
                for tsid in dict.fromkeys([filling.tsid for filling in fillings]):
                    self._place(number, tsid)
                shown = holes.get(number)
            if isinstance(shown, Run | Inner):
                outer = shown.outer if isinstance(shown, Inner) else number
                if outer in self.runs.gathered:
                    continue  # with all that has come
                known = touched.setdefault(outer, [])
                if number in anew or known is None:
                    touched[outer] = None
                else:
                    known += fillings
            elif shown is not None:
                self.resync(number)
        self.runs.renew(touched)

    def _expect_filled(self, filled: list[tuple[int, Filling]], timed: Mapping[int, list[Filling]]) -> None:
        """Parse together what will be walked through."""
        holes = self.holes
        known = filled if self.rooted or not self.runs.units else [one for one in filled if one[0] in holes]
        walked = [filling for number, filling in known if self._is_walked(number, filling)]
        for number, fillings in timed.items():
            if isinstance(holes.get(number), list):
                walked += [filling for filling in fillings if self.wants(filling.tsid, number)]
        self.ready(walked)

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
        if digest != blake2b(change.content, digest_size=16).digest():
            return None  # of one instant and version, but another change of the batch brought it
        return (1, at, version, tsid or 0, digest), filling, event_lifespan(at)

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

    def contents(self, members: Iterable[Member]) -> Iterator[Filling]:
        """The fillings that some members begin in."""
        for member in members:
            if member.mount is not None:
                yield member.mount.filling

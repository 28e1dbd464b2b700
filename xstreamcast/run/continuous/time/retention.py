"""What has passed all windows is let go: from the documents that follow a stream, and from its table.

    a version [b, e) or an event at e is let go of when   e < now − D   (≤ for a version, whose end is open)

D is the longest window of the queries that follow (:mod:`xstreamcast.plan.retention`). Now never decreases, so no
answer can see it again; one that comes later than that is let go of as soon as it has come. Of a tag that is seen
through ``#[last]`` only, events but the newest go; of its versions the table keeps those that a correction could bring
back. In the modes certain and optimistic events with holes in them stay: these may be asked whether they are open. Only
an element tells when it lives: what is not one element, but has text beside it, is seen at any time and stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from heapq import heappop, heappush
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from xstreamcast.cast.region import Filling, OnDisk
from xstreamcast.model.change import ContentChange
from xstreamcast.model.time import START, Instant
from xstreamcast.plan.retention import EVERYTHING, NEWEST, Keep
from xstreamcast.wire.content import Hole, Opened, TopTag, has_only_root

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Region
    from xstreamcast.model.change import Change
    from xstreamcast.run.continuous.arrive.share import Association

Timed = tuple[Any, ...]
"""The key of an event in its region; of versions (tsid,)."""


class Retention:
    """Lets go of what no query that follows a stream can see again. ``kept``: what is kept, by tag."""

    def __init__(self, association: Association) -> None:
        self.association = association
        self.kept: dict[int, Keep] = {}
        self.discarded = 0
        """How many versions and events have been let go of."""
        self._heap: list[tuple[Instant, int, str, int, Timed]] = []
        self._numbers = count()

    def limit(self, each: Iterable[dict[int, Keep]]) -> None:
        """What each of the queries that follow needs to be kept."""
        kept: dict[int, Keep] = {}
        for one in each:
            for tag, keep in one.items():
                kept[tag] = kept[tag] | keep if tag in kept else keep
        if kept != self.kept:
            self.kept = kept
            newest = frozenset([tag for tag, keep in kept.items() if keep == NEWEST])
            for live in self.association.followers:
                live.newest = newest
            self._heap.clear()
            for (doc, number), region in tuple(self.association.table.items()):
                for tsid, at, version, digest in tuple(region.events):
                    self._put(self._end(tsid, at, True), doc, number, (tsid, at, version, digest))
                for tsid, at in tuple(region.versions):
                    self._put(self._end(tsid, at, False), doc, number, (tsid,))

    def told(self) -> dict[str, str]:
        """What is kept, by the path of the tag."""
        structure = self.association.structure
        return {structure.path(tag): str(keep) for tag, keep in sorted(self.kept.items())} if structure else {}

    def note(self, change: Change) -> None:
        """A change has been taken in: something will have to be let go of at some time, or at once."""
        keep = self.kept.get(change.tsid) if change.tsid is not None else None
        region = self.association.table.get((change.doc, change.region))
        if keep is None or keep.everything or region is None:
            return
        at = START if change.valid_time is None else change.valid_time
        if region.events and isinstance(change, ContentChange):
            key = change.tsid, at, change.version or 0, blake2b(change.content, digest_size=16).digest()
            if key in region.events:
                self._put(self._end(change.tsid, at, True), change.doc, change.region, key)
        if region.versions and not keep.last:
            later = [begin for tsid, begin in region.versions if tsid == change.tsid and begin > at]
            for begin in (at, *([min(later)] if later else [])):
                self._put(self._end(change.tsid, begin, False), change.doc, change.region, (change.tsid,))

    def _end(self, tsid: int | None, at: Instant, closed: bool) -> Instant | None:
        """When what ends at an instant can be let go of; None: never. For the newest event, when it is the newest."""
        keep = EVERYTHING if tsid is None else self.kept.get(tsid, EVERYTHING)
        if keep.everything or at == START:
            return None
        if keep.last:
            return at if closed and keep == NEWEST else None
        if keep.since is not None and at + closed > keep.since:
            return None
        return at + closed + (keep.back or 0)

    def _put(self, when: Instant | None, doc: str, number: int, key: Timed) -> None:
        if when is not None:
            heappush(self._heap, (when, next(self._numbers), doc, number, key))

    def shed(self, now: Instant) -> None:
        """The current time: let go of what has passed."""
        if self.association.inlet is not None:
            self.discarded += self.association.inlet.table.let_go(self.kept, now)
            return
        heap, table = self._heap, self.association.table
        while heap and heap[0][0] <= now:
            _, _, doc, number, key = heappop(heap)
            region = table.get((doc, number))
            if region is None:
                continue
            if len(key) == 1:
                self._shed_versions(doc, region, key[0], now)
            elif key in region.events and key[0] is not None and self._tells_when(region.events[key]):
                if not self.kept[key[0]].last:
                    self._shed_event(doc, region, key)
                else:
                    self._shed_events(doc, region, key[0], now)

    def _shed_events(self, doc: str, region: Region, tsid: int, now: Instant) -> None:
        """All but the newest of a tag that has happened."""
        mine = sorted([key for key in region.events if key[0] == tsid and key[1] <= now], key=lambda key: key[1])
        for key in mine:
            lives = [live for live in self.association.followers if live.doc == doc]
            passed = key[1] < mine[-1][1] and self._tells_when(region.events[key])
            if passed and all(live.passes_over(region.id, region.events[key]) for live in lives):
                self._shed_event(doc, region, key)

    def _shed_event(self, doc: str, region: Region, key: Timed) -> None:
        filling = region.events.pop(key)
        self._let_go(doc, region, filling)
        if not region.filled:  # the hole that it was in has been, all the same
            region.current = Filling(None, b"", filling.tsid, None, filling.place)

    def _shed_versions(self, doc: str, region: Region, tsid: int, now: Instant) -> None:
        """The versions of a tag that ended before its window."""
        begins = sorted([begin for known, begin in region.versions if known == tsid])
        for begin, end in pairwise(begins):
            when = self._end(tsid, end, False)
            if when is None or when > now:
                break
            if self._tells_when(region.versions[tsid, begin]):
                self._let_go(doc, region, region.versions.pop((tsid, begin)))

    def _tells_when(self, filling: Filling) -> bool:
        """Whether a content is one element and nothing else, or nothing."""
        kept = filling.content
        opened = kept.opened if isinstance(kept, OnDisk) else kept
        if isinstance(opened, Opened):
            marks = opened.marks
            return marks is None or (marks[0, :3].tolist() == [0, opened.to - opened.begin, -1])
        content = None if kept is None else self.association.load(filling)
        if content is None:
            return True
        last = content.pieces[-1] if content.pieces else b""
        whole = bool(content.pieces) and isinstance(content.pieces[0], TopTag) and has_only_root(content)
        return whole and isinstance(last, bytes) and last.endswith(b">")

    def _let_go(self, doc: str, region: Region, filling: Filling) -> None:
        association = self.association
        self.discarded += 1
        for live in association.followers:
            if live.doc == doc:
                live.let_go(region.id, filling)
        association.kill(doc, filling)
        holes = self._holes(filling)
        association.grove.drop(filling)
        association.kept -= filling.size
        structure = association.structure
        assert structure is not None
        for number, tsid in holes:
            tag = structure.tags.get(tsid) if tsid is not None else None
            if tag is not None and not tag.reuse:
                self._purge(doc, number)

    def _holes(self, filling: Filling) -> list[tuple[int, int | None]]:
        if filling.content is None or not filling.has_holes:
            return []
        content = self.association.load(filling)
        holes = content.holes if content is not None else ()
        return [(hole.region, hole.tsid) for hole in holes if isinstance(hole, Hole)]

    def _purge(self, doc: str, number: int) -> None:
        """A region that nothing holds, and whose number is not used again, is forgotten with all that is in it."""
        association = self.association
        region = association.table.get((doc, number))
        if region is None or any(number in live.holes for live in association.followers):
            return
        del association.table[doc, number]
        for filling in tuple(region.fillings()):
            if filling.content is not None:
                self._let_go(doc, region, filling)

"""Open holes in columns: those of a batch's fragments as marks of its tree, and those of the table for its document.

A hole is open while a filler may come that it does not have yet: one for versions or events until the stream ends, any
other one until it is filled. The tags of the elements around a hole say where on a way it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xstreamcast.model.names import DOCUMENT
from xstreamcast.model.structure import UNNAMED
from xstreamcast.model.time import event_lifespan, version_lifespan
from xstreamcast.run.continuous.associate.reach import name_of
from xstreamcast.run.continuous.columns.layout import (
    AROUND,
    EVENT,
    FOR,
    H_TSID,
    HEAD,
    KIND,
    N_FILLING,
    N_PLACE,
    NOWHERE,
    P_HOLE,
    P_NODE,
    P_REGION,
    SHOWS,
    TEMPORAL,
    TIME,
    TSID,
    UNTIMED,
)
from xstreamcast.run.continuous.columns.splicing import FILLING, HOLE, until
from xstreamcast.run.continuous.evaluate.marks import (
    Mark,
    States,
    Watermark,
    begun,
    entered,
    in_window,
    is_open,
    mark_hole,
    mark_living,
)

if TYPE_CHECKING:
    from xstreamcast.model.time import Instant, Interval
    from xstreamcast.native.vector import Longs, Table
    from xstreamcast.plan.modes.ways import Way
    from xstreamcast.run.continuous.columns.roles import Roles
    from xstreamcast.run.continuous.columns.rows import Batch
    from xstreamcast.run.continuous.columns.table import RegionTable


class OpenHoles:
    """The open holes of one stream. ``ended``: it brings nothing more, so that there is none."""

    def __init__(self, table: RegionTable) -> None:
        self.table = table
        self.ended = False
        self.clock = Watermark()
        self._marks: dict[int | None, Mark] = {}
        self._open: dict[int, None] = {}
        """The places of open holes, and of some that are not open any more."""
        self._witnesses: dict[Way, tuple[int, int]] = {}
        """By way, a place where there was one, and the region whose it was."""

    def mark_of(self, tag: int) -> Mark:
        """What kind of hole one for a tag is."""
        known = None if tag in (NOWHERE, self.table.page) else tag
        mark = self._marks.get(known)
        if mark is None:
            mark = self._marks[known] = Mark(known, self.table.structure, self.clock)
        return mark

    def _takes_more(self, slots: Any, tags: Any) -> Any:
        """Whether holes for some tags may take a filler yet, while the stream goes on; ``slots``: their regions."""
        table = self.table
        return (table.tags[tags, KIND] > UNTIMED) | (table.regions[slots, HEAD] < 0)

    # ---------------------------------------------------------------------------------------------- in a batch

    def mark(self, batch: Batch, seams: Table, tag: int) -> None:
        """Mark the open holes in the fragments of a batch, and the versions whose life may end yet."""
        if self.ended:
            return
        table, tree = self.table, batch.tree
        if self._lives(tag):
            for row in batch.rows:
                mark_living(tree, row)
        placed, kinds = batch.places, seams[:, 1]
        holes = np.flatnonzero(kinds == HOLE)
        said = table.holes[seams[holes, 2]]
        open_ = self._takes_more(said[:, FOR], said[:, H_TSID])
        for parent, tsid in zip(placed.parents[holes[open_]].tolist(), said[open_, H_TSID].tolist(), strict=True):
            mark_hole(tree, parent, self.mark_of(tsid))
        for k in np.flatnonzero(kinds == FILLING).tolist():
            if self._lives(int(table.fillings[seams[k, 2], TSID])):
                mark_living(tree, int(placed.rows[k]))

    def _lives(self, tag: int) -> bool:
        kind, shows = self.table.tags[tag, [KIND, SHOWS]].tolist()
        return kind == TEMPORAL and bool(shows)

    # ---------------------------------------------------------------------------------------------- in the document

    def note(self, some: Longs) -> None:
        """Some nodes have come, or have other holes."""
        found = self.table.places_in(some)
        self._open.update(dict.fromkeys(found[self._are_open(found)].tolist()))

    def _are_open(self, some: Longs) -> Any:
        """Which of some places are of open holes, and in the document."""
        table, places = self.table, self.table.places[some]
        open_ = self._takes_more(places[:, P_REGION], table.holes[places[:, P_HOLE], H_TSID])
        return open_ & (places[:, P_REGION] >= 0) & (places[:, P_NODE] >= 0)

    def _open_places(self) -> Longs:
        """The places of open holes; those that are no more are forgotten."""
        known: Longs = np.array(list(self._open), np.int64)
        found: Longs = known[self._are_open(known)]
        if len(found) < len(known):
            self._open = dict.fromkeys(found.tolist())
        return found

    def count(self, roles: Roles) -> int:
        """How many there are in the document that may hold what somebody reads."""
        if self.ended:
            return 0
        read = np.zeros(len(self.table.tags), np.bool_)
        read[self.table.page] = True
        for tsid, evaluated in roles.evaluated.items():
            read[tsid] = bool(evaluated or roles.part[tsid])
        tags = self.table.holes[self.table.places[self._open_places(), P_HOLE], H_TSID]
        return int(read[tags].sum()) + self._top_is_open

    @property
    def _top_is_open(self) -> bool:
        """Whether something may come to stand at the top."""
        return self.table.structure.unnamed or not self.table.has_root

    def waits(self, way: Way, now: Instant) -> bool:
        """Whether there is an open hole on a way from the document."""
        if self.ended:
            return False
        lasts = way.until is None and not way.windowed
        if lasts and self._still_waits(way):
            return True
        self._witnesses.pop(way, None)
        structure = self.table.structure
        if self._top_is_open:
            mark = self.mark_of(NOWHERE if structure.unnamed else structure.root)
            if is_open(way, begun(way, DOCUMENT), mark):
                return True
        seen: set[tuple[int, int]] = set()
        for p in self._open_places().tolist():
            tag, around = self._tags_at(p)
            if (tag, around) in seen and lasts:
                continue
            seen.add((tag, around))
            if is_open(way, self._states(way, p, around, now), self.mark_of(tag)):
                self._witnesses[way] = p, int(self.table.places[p, P_REGION])
                return True
        return False

    def _still_waits(self, way: Way) -> bool:
        p, slot = self._witnesses.get(way, (NOWHERE, NOWHERE))
        table = self.table
        if p < 0 or table.places[p, P_REGION] != slot or table.places[p, P_NODE] < 0:
            return False
        tag, around = self._tags_at(p)
        if not self._takes_more(slot, tag):
            return False
        return is_open(way, self._states(way, p, around, table.now), self.mark_of(tag))

    def _tags_at(self, p: int) -> tuple[int, int]:
        """The tag of a place's hole, and that of the element around it, which may be one around a page."""
        table = self.table
        tag, around = table.holes[table.places[p, P_HOLE], [H_TSID, AROUND]].tolist()
        while around < 0:
            p = int(table.nodes[table.places[p, P_NODE], N_PLACE])
            if table.places[p, P_HOLE] < 0:
                return tag, NOWHERE
            around = int(table.holes[table.places[p, P_HOLE], AROUND])
        return tag, around

    def _states(self, way: Way, p: int, around: int, now: Instant) -> States:
        """Where on a way the element is that a place is in."""
        table, structure = self.table, self.table.structure
        chain: list[tuple[int, Interval | None]] = []
        n = int(table.places[p, P_NODE])
        tag = around
        while tag not in (NOWHERE, UNNAMED):
            span = None
            while n >= 0 and table.fillings[table.nodes[n, N_FILLING], TSID] == table.page:
                n = self._node_around(n)
            f = int(table.nodes[n, N_FILLING]) if n >= 0 else NOWHERE
            if f >= 0 and table.fillings[f, TSID] == tag:
                span = self._lifespan(f) if way.windowed and table.is_timed(f) else None
                n = self._node_around(n)
            chain.append((name_of(structure.tags[tag].name), span))
            tag = structure.parents[tag][0] if structure.parents.get(tag) else NOWHERE
        states = begun(way, DOCUMENT)
        for name, span in reversed(chain):
            states = entered(way, states, name)
            states = states if span is None else in_window(way, states, span, now)
        return states

    def _node_around(self, n: int) -> int:
        return int(self.table.places[self.table.nodes[n, N_PLACE], P_NODE])

    def _lifespan(self, f: int) -> Interval:
        table = self.table
        begin = int(table.fillings[f, TIME])
        if table.tags[table.fillings[f, TSID], KIND] == EVENT:
            return event_lifespan(begin)
        return version_lifespan(begin, until(f, table.regions, table.fillings))

"""The table of regions of one stream, in columns: taken in batch by batch, shared by all queries that read it.

    changes ─take→ regions, fillings, holes ─settle→ places, nodes; those that some units must look at

What is odd (:mod:`~xstreamcast.run.continuous.columns.taking`) is not taken in: the table tells all that it knows as
changes (:meth:`RegionTable.kept`), and another table goes on with these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from xstreamcast.cast import columns as change
from xstreamcast.cast.columns import M_CONTEXT, M_REGION, M_START
from xstreamcast.cast.contents import MEMORY_BUDGET
from xstreamcast.model.structure import UNNAMED
from xstreamcast.model.time import NOW as FOREVER
from xstreamcast.model.time import START as BEGINNING
from xstreamcast.model.time import Instant
from xstreamcast.native.kernel import bound
from xstreamcast.native.vector import Bytes, Longs, Table
from xstreamcast.run.continuous.columns.arena import Arena
from xstreamcast.run.continuous.columns.arrays import grown, power, put_all, slots, stamps_of, table
from xstreamcast.run.continuous.columns.arrived import Arrived, empty
from xstreamcast.run.continuous.columns.layout import (
    AHEAD,
    ASKED,
    AWAITED,
    BEGIN,
    BYTES,
    CHANGED,
    CHANGES,
    CLOCK,
    COUNT,
    DEAD,
    DIGEST,
    DIRTY,
    ENDED,
    EVALUATED,
    EVENT,
    FILL,
    FILLING_WORDS,
    FILLINGS,
    FLAGS,
    FREE_NODE,
    FREE_PLACE,
    GROWS,
    H_TSID,
    HEAD,
    HOLE_WORDS,
    HOLES,
    IS_GONE,
    KIND,
    LATENESS,
    LEAVING,
    LET_GO,
    LOGGED,
    MARK,
    N_FILLING,
    N_MARKS,
    N_PLACE,
    N_SINCE,
    NAME_FROM,
    NAME_TO,
    NEEDED,
    NODE_WORDS,
    NODES,
    NOW,
    NOWHERE,
    NUMBER,
    OF,
    OTHERS,
    P_HOLE,
    P_NODE,
    PART,
    PLACE,
    PLACE_WORDS,
    REGION_WORDS,
    REGIONS,
    REMOVE,
    REORDERED,
    REPLACE,
    REPLACES,
    ROOTLESS,
    SENSE,
    SHOWS,
    SKIPPED,
    TALLY,
    TIE,
    TIME,
    TO,
    TOP,
    TSID,
    UNSAID,
    UNTIMED,
    VERSION,
)
from xstreamcast.run.continuous.columns.letting_go import forget, passed
from xstreamcast.run.continuous.columns.ordering import in_order, locate
from xstreamcast.run.continuous.columns.spelling import Around, Spelling
from xstreamcast.run.continuous.columns.splicing import NO_SEAMS, REFUSED, compact, splice
from xstreamcast.run.continuous.columns.standing import DONE, FULL, nodes_in, owners, places_in, release, settle
from xstreamcast.run.continuous.columns.tags import tags_of
from xstreamcast.run.continuous.columns.taking import take

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.retention import Keep
    from xstreamcast.run.continuous.columns.roles import Roles

_WASTE: Final = 1 << 20
"""So many bytes that are no longer said are kept, and as many as are said."""
_AT_LEAST: Final = 64
"""So many fillings are kept, whether any query can see them or not."""
_FEW: Final = 8
"""So many nodes are looked for one by one."""
_NAME: Final = re.compile(rb"[^\s/>]+")
_LONGEST: Final = 1 << 12
"""Bytes of a name."""
_ASKED: Final = 1 << 61
"""No unit has this bit."""
_STACK: Final = 4096
"""Fragments within, or side by side in, one that is written."""


class Spliced(NamedTuple):
    """Nodes as text, one after the other: where each ends, and where holes begin and end in it."""

    text: Bytes
    ends: Longs
    seams: Table


Said = tuple[int, int, int]
"""Of a change that was taken in: what is to be said of it, its number in the batch, and a filling."""


class RegionTable:
    """``tags``: the tags of the structure, with the units that look at their fragments as bits."""

    def __init__(self, structure: Structure, budget: int = MEMORY_BUDGET) -> None:
        """``budget``: so many bytes of contents are in memory; where there are more, they lie in a file."""
        self.structure = structure
        self.tally: Longs = np.zeros(TALLY, np.int64)
        self.tally[[NOW, MARK]] = BEGINNING
        self.tally[[CLOCK, AWAITED, OTHERS]] = FOREVER
        self.tally[LATENESS] = NOWHERE
        self.tally[GROWS] = structure.grows
        self.tally[[FREE_PLACE, FREE_NODE]] = NOWHERE
        self.regions = table(64, REGION_WORDS)
        self.fillings = table(64, FILLING_WORDS)
        self.holes = table(64, HOLE_WORDS)
        self._arena = Arena(budget)
        self._slots: Longs = np.zeros(128, np.int64)
        self._stamps: Longs = np.zeros(128, np.int64)
        self.places = table(64, PLACE_WORDS)
        self.nodes = table(64, NODE_WORDS)
        self._work = table(256, 2)
        self._changed: Longs = np.zeros(64, np.int64)
        self._dirty: Longs = np.zeros(64, np.int64)
        self._opened: Longs = np.zeros(256, np.int64)
        self._stack = table(_STACK, 4)
        self._seams = table(64, 3)
        self._out: Bytes = np.zeros(1 << 12, np.uint8)
        self.tags, self._names = tags_of(structure)
        self._spelling = Spelling(structure)
        self.bits = 0
        """The bits that are given to units."""
        # Bound to the arrays of the last call: most stay the same.
        self._take, self._settle, self._splice, self._release = (
            bound(take),
            bound(settle),
            bound(splice),
            bound(release),
        )
        self._root = NOWHERE
        """The slot of region 0, once it has been looked for."""
        self.compacted = 0
        """How often holes have got other numbers."""
        self.reordered = 0
        """How often regions have come to stand in another order."""
        self._leaving = 0
        self._enough = _AT_LEAST
        """So many fillings are worth a look which of them no query can see again."""

    # ---------------------------------------------------------------------------------------------- who reads

    def read_by(self, roles: Roles) -> None:
        """Some units read fragments, too."""
        columns: dict[int, Mapping[int, int]] = {
            NEEDED: roles.needed, EVALUATED: roles.evaluated, PART: roles.part, SHOWS: roles.shows,
        }  # fmt: skip
        for word, column in columns.items():
            for tsid, bits in column.items():
                self.tags[tsid, word] |= bits
        self.tags[self.page, PART] = np.bitwise_or.reduce(self.tags[:, PART])

    def ask_for_open_holes(self) -> None:
        """Who reads a hole looks again when it is filled, be it with nothing."""
        self.tally[ASKED] = _ASKED

    def widen(self, structure: Structure) -> None:
        """The structure says more than before: tags are added, those that are there stay what they are."""
        tags, names = tags_of(structure)
        tags[:-1, [NAME_FROM, NAME_TO]] += len(self._names)
        before = [tsid for tsid in self.structure.tags if tsid != UNNAMED]
        tags[before], tags[-1] = self.tags[before], self.tags[-1]
        for table_, count, word in (self.fillings, FILLINGS, TSID), (self.holes, HOLES, H_TSID):
            column = table_[: self.tally[count], word]
            column[column == self.page] = len(tags) - 1
        self.tags, self._names, self.structure = tags, np.concatenate([self._names, names]), structure
        self.tally[GROWS] = structure.grows
        self._spell(self._spelling.widen(structure))

    # ---------------------------------------------------------------------------------------------- time

    def advance(self, now: Instant) -> None:
        """The current time by another clock than the stream's own: what was ahead of it may be seen from now on."""
        tally = self.tally
        tally[CLOCK] = now
        if now < tally[AWAITED]:
            return
        fillings = self.fillings[: tally[FILLINGS]]
        ahead = np.flatnonzero(fillings[:, FLAGS] & AHEAD)
        come = fillings[ahead, TIME] <= now
        tally[AWAITED] = fillings[ahead[~come], TIME].min(initial=FOREVER)
        some = ahead[come]
        fillings[some, FLAGS] &= ~AHEAD
        some = some[fillings[some, FLAGS] & CHANGED == 0]
        fillings[some, FLAGS] |= CHANGED
        self._change(some)

    def admit(self, lateness: int | None, mark: Instant, others: Instant) -> None:
        """How late changes may come, in microseconds: what is too late now; and the watermark of the other streams."""
        self.tally[[LATENESS, MARK, OTHERS]] = NOWHERE if lateness is None else lateness, mark, others

    def end(self) -> None:
        """The stream is at its end: the watermark is that of the others."""
        self.tally[LATENESS] = NOWHERE
        if self.tally[OTHERS] != FOREVER:
            self.tally[MARK] = max(self.tally[MARK], self.tally[OTHERS])

    @property
    def mark(self) -> Instant:
        """What is too late."""
        return int(self.tally[MARK])

    # ---------------------------------------------------------------------------------------------- what comes

    @property
    def now(self) -> Instant:
        return int(self.tally[NOW])

    @property
    def size(self) -> int:
        """How many regions have been filled."""
        return int((self.regions[: self.tally[REGIONS], HEAD] >= 0).sum())

    @property
    def has_root(self) -> bool:
        """Whether region 0 has been filled, be it with nothing."""
        if self._root < 0:
            found = np.flatnonzero(self.regions[: self.tally[REGIONS], NUMBER] == 0)
            self._root = int(found[0]) if len(found) else NOWHERE
        return self._root >= 0 and bool(self.regions[self._root, HEAD] >= 0)

    @property
    def filled(self) -> int:
        """How many fillings there are."""
        return int(self.tally[FILLINGS])

    @property
    def said(self) -> int:
        """How many bytes all of them say."""
        return int(self.tally[BYTES] - self.tally[DEAD])

    @property
    def spilled(self) -> int:
        """How many of these lie on disk."""
        return self.said if self._arena.is_on_disk else 0

    @property
    def arena(self) -> Bytes:
        """The contents, one after the other."""
        return self._arena.bytes

    @property
    def page(self) -> int:
        """The tag of pages."""
        return len(self.tags) - 1

    @property
    def root(self) -> int:
        return self.structure.root

    def take(self, batch: FragmentBatch, first: int) -> tuple[int, list[Said], list[int]]:
        """Take in changes of a batch from one on: the number of the first that is odd, or of all; what is to be said of
        some; and those that no unit needs."""
        count = len(batch) - first
        marks = batch.marks
        self._make_room(count, len(marks.rows), int((batch.to - batch.begin)[first:].clip(0).sum()))
        log, skipped = table(2 * count, 3), np.zeros(count, np.int64)
        if self._spelling.unknown:
            self._learn(batch, first)
        odd = np.zeros(len(batch), np.bool_)
        for k, came in batch.inline.items():  # by the tag that its content may be of
            tsid = int(batch.tsid[k])
            odd[k] = (tsid if tsid >= 0 else self.root) in came
        tally = self.tally
        tally[[LOGGED, SKIPPED]] = 0
        stopped: int = self._take(
            batch.buffer, batch.rows, first, odd, marks.rows, marks.offsets, self._spelling.senses(marks.contexts),
            self.root, self.tags, self._names, self._slots, self._stamps, self.regions, self.fillings, self.holes,
            self.arena, self._changed, log, skipped, self._opened, np.zeros(len(marks.rows), np.int64), tally,
        )  # fmt: skip
        said: list[Said] = []
        for code, k, f in log[: tally[LOGGED]].tolist():
            if code == TIE:
                self._tell_apart(k)
                self._tell_apart(f)
            else:
                said.append((code, k, f))
        return stopped, said, skipped[: tally[SKIPPED]].tolist()

    def _learn(self, batch: FragmentBatch, first: int) -> None:
        """How tags are spelt of which nothing has come before."""
        tsids = np.where((batch.region == 0) & (batch.tsid < 0), self.root, batch.tsid)
        starts, marks = batch.marks.offsets, batch.marks
        for tsid in sorted(self._spelling.unknown.intersection(tsids[first:].tolist())):
            for k in np.flatnonzero((tsids == tsid) & (np.diff(starts) > 0))[:1].tolist():
                begin, context = marks.rows[starts[k], [M_START, M_CONTEXT]].tolist()
                written = batch.buffer[begin + 1 : begin + 1 + _LONGEST].tobytes()
                name = _NAME.match(written)
                if name is not None and marks.rows[starts[k], M_REGION] < 0:
                    self._spell(self._spelling.learn(tsid, name[0].decode(), marks.contexts[context]))

    def _spell(self, learnt: Iterable[tuple[int, int, str]]) -> None:
        for tsid, sense, written in learnt:
            name = np.frombuffer(written.encode(), np.uint8)
            self.tags[tsid, [SENSE, NAME_FROM, NAME_TO]] = sense, len(self._names), len(self._names) + len(name)
            self._names = np.concatenate([self._names, name])

    def around(self, tsid: int) -> Around | None:
        """The elements around the fragments of a tag; None if it is not known how they are spelt."""
        return self._spelling.around(tsid)

    def _tell_apart(self, f: int) -> None:
        """An event that another one has the instant and version of stands by the digest of what it says."""
        digest = blake2b(self.content(f), digest_size=16).digest()
        self.fillings[f, DIGEST] = int.from_bytes(digest[:7], "big")

    def _make_room(self, count: int, marks: int, size: int) -> None:
        tally = self.tally
        regions = int(tally[REGIONS]) + count + marks
        self.regions = grown(self.regions, regions)
        self.fillings = grown(self.fillings, int(tally[FILLINGS]) + count)
        self.holes = grown(self.holes, int(tally[HOLES]) + marks)
        self._arena.hold(int(tally[BYTES]) + size + 8)
        self._changed = grown(self._changed, int(tally[FILLINGS]) + count)  # each of them once
        if 2 * regions > len(self._slots):
            self._slots = slots(self.regions[: tally[REGIONS], NUMBER], 2 * regions)
        if 2 * len(self.fillings) > len(self._stamps):
            self._stamps = self._stamped(2 * len(self.fillings))

    def _stamped(self, size: int) -> Longs:
        made: Longs = np.zeros(power(size), np.int64)
        fillings, tags = self.fillings[: self.tally[FILLINGS]], self.tags
        mask = len(made) - 1
        timed = np.flatnonzero(tags[fillings[:, TSID], KIND] != UNTIMED)
        if len(timed):
            rows = fillings[timed]
            events = tags[rows[:, TSID], KIND] == EVENT
            versions = np.where(events & (rows[:, FLAGS] & UNSAID == 0), rows[:, VERSION].clip(0), 0)
            put_all(made, stamps_of(rows[:, OF], rows[:, TSID], rows[:, TIME], versions) & mask, timed)
        return made

    def _compact(self) -> None:
        tally = self.tally
        arena, holes = self._arena.emptied(int(tally[BYTES] - tally[DEAD]) + 8), table(len(self.holes), HOLE_WORDS)
        compact(self.fillings, self.holes, self.places, self.nodes, self.arena, holes, arena.bytes, tally)
        self._arena, self.holes = arena, holes
        self.compacted += 1
        tally[DEAD] = 0

    def settle(self) -> bool:
        """Let what has come stand in the document, and mark it for the units that look at it; False if it is more than
        columns can tell."""
        tally, bits = self.tally, (1 << self.bits) - 1
        while True:
            if len(self._dirty) < len(self.nodes):
                self._dirty = grown(self._dirty, len(self.nodes))
            status = self._settle(
                bits, self.tags, self.regions, self.fillings, self.holes, self.places, self.nodes, self._changed,
                self._dirty, self._work, tally,
            )  # fmt: skip
            if status != FULL:
                break
            self.places = grown(self.places, 2 * len(self.places))
            self.nodes = grown(self.nodes, 2 * len(self.nodes))
            self._work = grown(self._work, 2 * len(self._work))
        self.reordered += int(tally[REORDERED])
        tally[REORDERED] = 0
        if status == DONE and tally[DEAD] > _WASTE and 2 * tally[DEAD] > tally[BYTES]:
            self._compact()
        return bool(status == DONE)

    def let_go(self, kept: Mapping[int, Keep], now: Instant) -> int:
        """What no query can see again is there no more once all is settled; how many versions and events that are."""
        count = int(self.tally[FILLINGS])
        if count < self._enough:
            return 0
        some = passed(self.fillings[:count], self.tags, kept, now)
        self._enough = 2 * (count - len(some)) + _AT_LEAST
        fillings = self.fillings
        self._keep_places(some)
        self._change(some)
        self.tally[DEAD] += (fillings[some, TO] - fillings[some, BEGIN]).sum()
        fillings[some, TO] = fillings[some, BEGIN]
        fillings[some, COUNT] = 0
        fillings[some, FLAGS] |= ENDED | CHANGED | LET_GO
        self._leaving += len(some)
        return len(some)

    def _keep_places(self, some: Longs) -> None:
        """Regions at the top stay where they are by the versions of fillings that are let go of."""
        if not self.structure.unnamed:
            return
        for f in some[self.tags[self.fillings[some, TSID], TOP] == ROOTLESS].tolist():
            p = int(self.regions[self.fillings[f, OF], PLACE])
            if p >= 0:
                version = max(int(self.fillings[f, VERSION]), 0)
                known = int(self.places[p, P_HOLE])
                self.places[p, P_HOLE] = -2 - version if known == NOWHERE else max(known, -2 - version)

    def _change(self, some: Longs) -> None:
        """Fillings are to be settled."""
        changes = int(self.tally[CHANGES])
        self._changed = grown(self._changed, changes + len(some))
        self._changed[changes : changes + len(some)] = some
        self.tally[CHANGES] = changes + len(some)

    def dirty(self) -> tuple[Longs, Longs, Any]:
        """The nodes that are marked, for whom, and which of them are there; they wait for :meth:`release`."""
        some = self._dirty[: self.tally[DIRTY]].copy()
        return some, self.nodes[some, N_MARKS], self.nodes[some, N_SINCE] != IS_GONE

    def release(self, some: Longs) -> None:
        """Nodes have been dealt with: those that are gone are no more."""
        self.tally[DIRTY] = 0
        self._release(some, self.nodes, self.tally)
        if self._leaving or 2 * self.tally[LEAVING] > self.tally[FILLINGS]:
            self._leaving = self.tally[LEAVING] = 0
            moved: Longs = np.zeros(self.tally[FILLINGS], np.int64)
            forget(self.regions, self.fillings, self.nodes, moved, self.tally)
            self._stamps = self._stamped(len(self._stamps))

    # ---------------------------------------------------------------------------------------------- what is there

    def tags_of(self, some: Longs) -> Longs:
        """The tags of nodes."""
        found: Longs = self.fillings[self.nodes[some, N_FILLING], TSID]
        return found

    def evaluated_for(self, bits: int) -> Longs:
        """The nodes that some units evaluate."""
        nodes = self.nodes[: self.tally[NODES]]
        there = nodes[:, N_SINCE] != IS_GONE
        found: Longs = np.flatnonzero(
            there & (self.tags[self.fillings[nodes[:, N_FILLING], TSID], EVALUATED] & bits != 0)
        )
        return found

    def splice(self, some: Longs, bits: int, sews: bool = False) -> Spliced | None:
        """The texts of nodes, one after the other, with what units read of their holes; None if it must not be.

        ``sews``: also where the holes begin and end (:mod:`seams`).
        """
        ends, found = np.zeros(len(some), np.int64), np.zeros(1, np.int64)
        fillings: Longs = np.ascontiguousarray(self.nodes[some, N_FILLING])
        while True:
            done = self._splice(
                fillings, bits, self.tags, self.regions, self.fillings, self.holes, self.arena, self._stack, self._out,
                ends, self._seams if sews else NO_SEAMS, found,
            )  # fmt: skip
            if done == len(some):
                return Spliced(self._out[: ends[-1] if len(ends) else 0], ends, self._seams[: found[0]])
            if done == REFUSED:
                return None
            self._out = np.zeros(2 * len(self._out), np.uint8)
            if sews:
                self._seams = table(2 * len(self._seams), 3)

    def owners(self, some: Longs, tag: int) -> Longs:
        """For each node the one of a tag that it is in."""
        found: Longs = np.zeros(len(some), np.int64)
        owners(some, tag, self.fillings, self.nodes, self.places, found)
        return found

    def places_in(self, some: Longs) -> Longs:
        """The places of holes in some nodes."""
        room = 64
        while True:
            found: Longs = np.empty(room, np.int64)
            count = places_in(some, self.places, self.nodes, found)
            if count <= room:
                return found[:count]
            room = count

    def nodes_in(self, some: Longs, tag: int) -> Longs:
        """The nodes of a tag that stand in holes of some nodes."""
        room = 64
        while True:
            found: Longs = np.empty(room, np.int64)
            count = nodes_in(some, tag, self.regions, self.fillings, self.places, self.nodes, found)
            if count <= room:
                return found[:count]
            room = count

    def in_order(self, some: Longs) -> Longs:
        """Nodes in document order."""
        made: Longs = np.array(some, np.int64)
        in_order(made, np.zeros(len(made), np.int64), self.regions, self.fillings, self.nodes, self.places)
        return made

    def locate(self, some: Longs, among: Longs) -> Longs:
        """How many of others come before each of some; all are in order."""
        found: Longs = np.zeros(len(some), np.int64)
        locate(some, among, self.regions, self.fillings, self.nodes, self.places, found)
        return found

    def holes_around(self, n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Where a node stands, outwards, by the numbers of regions and times."""
        while n >= 0:
            f, place = self.nodes[n, [N_FILLING, N_PLACE]].tolist()
            yield self.number(f), (1, int(self.fillings[f, TIME])) if self.is_timed(f) else (0,)
            n = int(self.places[place, P_NODE])

    def content(self, f: int) -> bytes:
        """What a filling says."""
        return self.arena[self.fillings[f, BEGIN] : self.fillings[f, TO]].tobytes()

    def is_timed(self, f: int) -> bool:
        """Whether a filling is a version or an event."""
        return bool(self.tags[self.fillings[f, TSID], KIND] != UNTIMED)

    def needs(self, tsids: Longs) -> Any:
        """Which tags any unit looks at fragments of; those that nobody knows, too."""
        known = (tsids >= 0) & (tsids < self.page)
        return ~known | (self.tags[np.where(known, tsids, 0), NEEDED] != 0)

    def timed(self, tsids: Longs) -> Any:
        """Which tags come as versions or events."""
        return self.tags[np.where(tsids < 0, max(self.root, 0), tsids), KIND] > UNTIMED

    def number(self, f: int) -> int:
        """The region of a filling."""
        return int(self.regions[self.fillings[f, OF], NUMBER])

    def kept(self, removed: bool = False) -> Arrived:
        """All that is known, as changes that another table can take in. ``removed``: also which regions have been there
        and may be sent again, for something may come to stand beside them."""
        fillings = self.fillings[: self.tally[FILLINGS]]
        timed = self.tags[fillings[:, TSID], KIND] != UNTIMED
        ended = fillings[:, FLAGS] & ENDED != 0
        plain = ended & ~timed & (fillings[:, VERSION] < 0)
        left = ended & (fillings[:, FLAGS] & LET_GO != 0)  # they have not been removed: nobody can see them
        told = (~plain | removed) & ~left
        # A removal says nothing of what has not been there, so that it is sent before; so is a replacement that has the
        # version of what was there.
        unsaid = fillings[:, FLAGS] & UNSAID != 0
        some = np.flatnonzero(told).repeat(1 + (plain | unsaid)[told])
        again = np.append(False, some[1:] == some[:-1])
        fillings, timed, ended = fillings[some], timed[some], ended[some] & (~plain[some] | again)
        rows = empty(len(fillings))
        instead = np.where(fillings[:, FLAGS] & REPLACES != 0, REPLACE, FILL)
        rows[:, change.KIND] = np.where(ended, REMOVE, instead)
        rows[:, change.REGION] = self.regions[fillings[:, OF], NUMBER]
        rows[:, change.TSID] = np.where(fillings[:, TSID] == self.page, change.NONE, fillings[:, TSID])
        rows[:, change.VERSION] = np.where(unsaid[some] & again, NOWHERE, fillings[:, VERSION].clip(NOWHERE))
        rows[:, change.TIME] = np.where(timed & (fillings[:, TIME] != BEGINNING), fillings[:, TIME], change.NO_TIME)
        text = self.arena.data
        spans = zip(*fillings[:, [BEGIN, TO]].T.tolist(), strict=True)
        over = (ended | plain[some]).tolist()
        contents = [b"" if none else bytes(text[i:to]) for (i, to), none in zip(spans, over, strict=True)]
        return Arrived.told(rows, contents)


def without(sequence: Longs, gone: list[int]) -> Longs:
    """A sequence without some of its nodes."""
    if len(gone) > _FEW:
        return sequence[~np.isin(sequence, gone)]
    for n in gone:
        sequence = np.delete(sequence, np.flatnonzero(sequence == n))
    return sequence

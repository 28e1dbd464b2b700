"""One association for several queries: each stream is read and taken in once, whoever looks at it.

An :class:`Association` is T1 of a stream. The live documents of the queries follow its table; a content that several
of them open is parsed once. A query that does not decompose reads T of it (:class:`Recomputed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from xstreamcast.cast.materialise import View, pick
from xstreamcast.cast.regions import Filling, Region
from xstreamcast.errors import Place, XStreamError
from xstreamcast.model.change import ROOT, Change, ContentChange, Fill, Freeze, Repeat
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.names import ELEMENT, intern
from xstreamcast.model.time import START, format_instant
from xstreamcast.plan.algebra import Plan, Strategy, Unit
from xstreamcast.plan.retention import EVERYTHING
from xstreamcast.run.continuous.arrive.at_once import AtOnce
from xstreamcast.run.continuous.arrive.grove import Grove
from xstreamcast.run.continuous.arrive.passing import Passed
from xstreamcast.run.continuous.associate.numbers import Numbers
from xstreamcast.run.continuous.time.clock import Pending
from xstreamcast.run.continuous.time.retention import Retention
from xstreamcast.run.streams import view_of
from xstreamcast.wire.content import Content, Opened, has_one_root, has_only_root

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch
    from xstreamcast.cast.regions import Report
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.structure import Structure, Tag
    from xstreamcast.model.time import Instant
    from xstreamcast.model.tree import Node, Tree
    from xstreamcast.native.vector import Longs
    from xstreamcast.run.continuous.associate.live import Live
    from xstreamcast.run.continuous.columns.arrived import Arrived
    from xstreamcast.run.continuous.columns.inlet import Inlet
    from xstreamcast.run.continuous.journal import Noted
    from xstreamcast.run.continuous.related import Number
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.query import Query


STRETCH: Final = 2 << 20
STRETCH_OF: Final = 4096
"""So many bytes of content, or so many changes, are taken in before those who follow evaluate what they have found."""
LET_GO_OF: Final = 2048
"""So many changes where what is closed for good is let go of after each stretch."""
_SENDS: Final = (Fill, Repeat)
_ALONE: Final = 1 << 14
"""Bytes of a content that is parsed for itself, at once; greater ones are for the kernel, or wait for who looks."""


class Standing(NamedTuple):
    """Of a stream: whether it has documents with names, its structure, and what is at the top.

    ``of_one_root``: one element, and nothing else, as documents have; before it has come, too. ``besides``: whether
    regions stand beside the root region; ``prolog``: whether comments or instructions stand beside the root element.
    """

    named: bool
    structure: Structure | None
    of_one_root: bool
    besides: bool
    prolog: bool = False


class Association(AtOnce):
    """The table of one stream and those who follow it.

    ``changed`` counts the changes taken in, ``skipped`` those of them that nobody needs: they are not opened, nor kept.
    ``named``: whether there are documents with names.
    ``moment``: the current time by another clock than the stream's own; None if its own is meant.
    """

    def __init__(self, structure: Structure | None, report: Report) -> None:
        super().__init__(structure, report)
        self.grove = Grove(self)
        self.changed = 0
        self.skipped = 0
        self.named = False
        self.moment: Instant | None = None
        self.pending = Pending()
        self.retention = Retention(self)
        self.passed = Passed()
        self._purged = Numbers()
        self._read: Structure | None = None
        self._once: frozenset[int] = frozenset()
        self._deferred: list[Change] | None = None
        self._view: tuple[tuple[int, Instant], Node] | None = None
        self._sprout: tuple[Opened, Tree] | None = None  # the content of the change being taken in, and its tree
        self._fragments: tuple[Structure | None, frozenset[int]] = None, frozenset()
        self._standing: Standing | None = None
        self.inlet: Inlet | None = None
        """The way into the table while it is in columns."""

    @property
    def filled(self) -> bool:
        """Whether anything has come."""
        return bool(self.table) or (self.inlet is not None and self.changed > 0)

    def apply(self, item: Change | Structure | Diagnostic, place: Place | None = None, inside: int = 0) -> None:
        if self.inlet is not None and isinstance(item, Change):
            self.inlet.apply(item, place or Place(), inside)
        else:
            super().apply(item, place, inside)

    def apply_all(self, arrived: Arrived) -> None:
        """Take in changes side by side, where the table is in columns."""
        assert self.inlet is not None
        self.inlet.apply_all(arrived)

    def saved(self) -> list[Any]:
        """The regions that are gone for good, and those that are of no interest, as plain data."""
        return [self._purged.saved(), self.passed.saved()]

    def restore(self, purged: Any, passed: Any) -> None:
        """Know of regions that are gone for good, or of no interest."""
        self._purged.restore(purged)
        self.passed.restore(passed)

    def take_structure(self, structure: Structure, place: Place) -> None:
        if self.misses(structure):
            message = "a structure that adds to an earlier one, after what would be needed now was passed over"
            hint = 'the earlier one stays; one with grows="yes" may be added to at any time'
            self.report(Diagnostic("XSC0036", "quarantine", f"{message}; {hint}", place))
            return
        super().take_structure(structure, place)
        for live in self.followers:  # what they need is asked of them before they see the next change
            live.structure = self.structure
            live.learn()

    def misses(self, structure: Structure) -> bool:
        """Whether fragments would have to be opened, if this were the structure, that have been passed over."""
        routes = [live.route for live in self.followers] if self.inlet is None else self.inlet.routes()
        return self.structure is not None and self.passed.are_missed(self.structure, structure, routes)

    def leave_columns(self) -> None:
        """From now on the table is one of objects, with all that is in the columns."""
        assert self.inlet is not None
        table, self.inlet = self.inlet.table, None
        self.retention.kept = {}  # it begins again, with the documents that follow
        counts = self.changed, self.skipped, self.now
        for change, place, inside in table.kept(removed=True):
            self.attempt(change, place, inside)
        self.changed, self.skipped, self.now = counts

    def put_aside(self, change: Change, place: Place, mark: Instant) -> None:
        """A change comes too late."""
        assert change.valid_time is not None
        text = f"valid from {format_instant(change.valid_time)}, before the watermark {format_instant(mark)}"
        self.diagnose("XSC0090", "quarantine", text, place, change)

    def pass_over(self, regions: Longs, weighty: Longs) -> None:
        """Some regions are of no interest; ``weighty``: the tags of those of which something may count later."""
        assert self.structure is not None
        self.passed.over(regions, weighty.tolist(), self.structure)
        self.skipped += len(regions)

    def limit(self, memory: int) -> None:
        """So many bytes of memory are there for contents and their trees: what is beyond lies on disk, or goes."""
        self.grove.budget = min(self.grove.budget, memory // 4)
        self.budget = memory - self.grove.budget

    # ---------------------------------------------------------------------------------------------- what comes

    @property
    def lean(self) -> bool:
        """Whether what no follower needs may be left out of the table."""
        return bool(self.followers) and not self.keeps_all and self.structure is not None

    def _may_count(self, tsid: int | None) -> bool:
        """Whether versions or events of a tag count though nobody sees them: later ones of them may be seen."""
        structure = self.structure
        return structure is not None and structure.grows and tsid is not None and structure.tags[tsid].timed

    def wants(self, tsid: int | None, region: int) -> bool:
        """Whether a follower may have to open a fragment."""
        return any(live.wants(tsid, region) for live in self.followers)

    def attempt(self, change: Change, place: Place, inside: int) -> None:
        if change.region in self._purged and not change.doc:
            self.diagnose("XSC0029", "note", "the region is gone for good; no effect", place, change)
        elif self.fixed is not None and self.ignores(change):
            self.ignored += 1
            self.changed += 1
            self.diagnose("XSC0035", "note", "declared fixed, and has its content; no effect", place, change)
        elif change.doc and self.sealed:
            text = "a document with a name, after regions of another were let go of"
            self.diagnose("XSC0036", "quarantine", text, place, change)
        elif (
            self.lean
            and type(change) in _SENDS
            and change.version is None
            and not change.doc
            and ("", change.region) not in self.table
            and (change.tsid in self.structure.tags if change.tsid is not None else change.region == ROOT)  # type: ignore[union-attr]  # lean
            and not self.wants(change.tsid, change.region)
            and not self._may_count(change.tsid)
        ):
            fixes = self.fixes(change.tsid, change.region)
            if fixes:
                self.settled.add([change.region])
            else:
                assert self.structure is not None
                assert isinstance(change, ContentChange)
                weighty = b"hole" in change.content or change.valid_time is not None
                tags = [-1 if change.tsid is None else change.tsid] if weighty else []
                self.passed.over([change.region], tags, self.structure)
            for live in self.followers if fixes else ():
                if live.closing is not None and (change.region in live.passed or change.region in live.holes):
                    live.closing.append(change.region)
            self._pass(1, START if change.valid_time is None else change.valid_time)
        else:
            super().attempt(change, place, inside)

    def parse(self, change: ContentChange, tag: Tag | None, place: Place, inside: int) -> Content | Opened:
        """The content of a change. One that somebody looks at, and that has no holes, is read once: into its tree."""
        data = change.content
        if (
            self.opened is not None
            or data[:1] != b"<"
            or len(data) > _ALONE
            or b"stream:" in data
            or b"xmlns" in data
            or not any(change.region in live.holes for live in self.followers)
        ):
            return super().parse(change, tag, place, inside)
        try:
            tree = self.grove.sprout(data)
        except XStreamError:  # told with its place
            return super().parse(change, tag, place, inside)
        one_element = len(tree.kind) > 2 and tree.kind[2] == ELEMENT and tree.size[1] == tree.size[2] + 1
        if not one_element or not self._apart(tag).isdisjoint(tree.name[3:]):
            return super().parse(change, tag, place, inside)
        opened = Opened(data, 0, len(data), None, (), True)
        self._sprout = opened, tree
        return opened

    def _apart(self, tag: Tag | None) -> frozenset[int]:
        """The names of tags whose elements are to come as fragments, not inline."""
        if tag is None or self.structure is None:
            return frozenset()
        if self._fragments[0] is not self.structure:
            names = {one.name.rpartition("}") for one in self.structure.tags.values() if one.fragment}
            self._fragments = self.structure, frozenset([intern(ELEMENT, uri[1:], local) for uri, _, local in names])
        return self._fragments[1]

    def filling(self, change: ContentChange, content: Content | Opened, place: Place) -> Filling:
        made = super().filling(change, content, place)
        if self._sprout is not None and self._sprout[0] is content:
            self.grove.plant(made, self._sprout[1], len(change.content))
        self._sprout = None
        return made

    def _pass(self, count: int, time: Instant) -> None:
        self.now = max(self.now, time)
        self.changed += count
        self.skipped += count

    def change(self, change: Change, place: Place, inside: int) -> None:
        for number in (change.region, getattr(change, "target", None)):
            if number is not None and not change.doc and number in self.passed:
                # There is something there; what it says is of no interest.
                self.table.setdefault(("", number), Region(number, Filling(Content(()), b"-", None, None, Place())))
        super().change(change, place, inside)
        if ROOT in (change.region, getattr(change, "target", None)):
            self._standing = None
        self.changed += 1
        self.named |= bool(change.doc)
        if self.moment is not None:
            self.pending.put(change, self.moment, self.now)
        self.retention.note(change)
        if self._deferred is None:
            self._follow([change])
        else:
            self._deferred.append(change)

    @property
    def _now(self) -> Instant:
        return self.now if self.moment is None else self.moment

    def advance(self, now: Instant) -> None:
        """The current time, by another clock than the stream's own: what was ahead of it may be seen from now on."""
        self.moment = now
        due = dict.fromkeys([(change.doc, change.region) for change in self.pending.pop(now)])
        for live in self.followers:
            live.now = now
            for doc, number in due:
                if doc == live.doc:
                    live.resync(number)

    def _follow(self, changes: list[Change]) -> None:
        for live in self.followers:
            live.now, live.structure = self._now, self.structure
            if len(changes) > 1:
                live.expect(changes)
            for change in changes:
                live.follow(change)
            if live.closing is not None:
                fixed = self.fixed is not None
                live.closing += [change.region for change in changes if fixed or isinstance(change, Freeze)]
        if self._purges:
            for live in self.followers:
                live.vanishing = True
            self._purge()

    @property
    def _purges(self) -> bool:
        """Whether there are tags whose fragments' numbers are not used again."""
        structure = self.structure
        if structure is not self._read:
            self._read = structure
            tags = structure.tags.values() if structure is not None else ()
            self._once = frozenset([tag.id for tag in tags if not tag.reuse and not tag.timed])
        return bool(self._once)

    def _purge(self) -> None:
        """Forget the regions that are gone for good: held by no hole any more, where ``reuse="no"``.

        One that is removed but held, or whose hole has not come yet, may be filled again by a later version.
        """
        vanished = [number for live in self.followers for number in live.vanished]
        for live in self.followers:
            live.vanished.clear()
        for number in vanished:
            region = self.table.get(("", number))
            filling = region.current if region is not None and not (region.versions or region.events) else None
            if filling is None or filling.tsid not in self._once:
                continue
            if not any(number in live.holes for live in self.followers):
                self.unkeep(filling)
                del self.table["", number]
                self._purged.add([number])

    def take_batch(self, batch: FragmentBatch, first: int = 0) -> Iterator[None]:
        """Take in a batch, a stretch at a time: what nobody needs is passed over, the rest is parsed together.

        Between stretches those who follow may evaluate what they have found, while its trees are there.
        """
        rows: Iterable[int] = self._needed(batch) if self.lean else range(len(batch))
        rows = [row for row in rows if row >= first] if first else rows
        lengths = (batch.to - batch.begin).tolist()
        most = STRETCH_OF if self.fixed is None else LET_GO_OF
        stretch: list[int] = []
        size = 0
        for row in rows:
            stretch.append(row)
            size += lengths[row]
            if size >= STRETCH or len(stretch) >= most:
                self._take(batch, stretch)
                yield
                stretch, size = [], 0
        if stretch:
            self._take(batch, stretch)
            yield

    def _take(self, batch: FragmentBatch, rows: list[int]) -> None:
        """Take in some changes. First fillings go in together, as far as they follow one another."""
        simple = self.are_simple(batch, rows, self._open_ended())
        regions = batch.region[rows]
        if self.moment is not None or any(one.meets(regions) for one in (self.passed, self._purged, self.settled)):
            simple = [False] * len(rows)
        for live in self.followers:
            live.runs.begin()
        begun = 0
        for is_simple, stretch in groupby(simple):
            some = rows[begun : begun + len(list(stretch))]
            begun += len(some)
            if is_simple:
                self._take_simple(batch, some)
            else:
                self._take_one_by_one(batch, some)
        for live in self.followers:
            live.runs.taking = False

    def _take_one_by_one(self, batch: FragmentBatch, rows: list[int]) -> None:
        with self.together():
            self.apply_batch(batch, rows)

    def _open_ended(self) -> frozenset[int]:
        """The timed tags of which everything is kept: nothing but their times is noted of what comes."""
        structure, kept = self.structure, self.retention.kept
        if structure is None or self.fixed is not None or not any(live.runs.units for live in self.followers):
            return frozenset()
        timed = [tag.id for tag in structure.tags.values() if tag.timed]
        return frozenset([tag for tag in timed if kept.get(tag, EVERYTHING).everything])

    def _take_simple(self, batch: FragmentBatch, rows: list[int]) -> None:
        sent = self.fill_simple(batch, rows)
        if sent is not None:
            if ROOT in batch.region[rows]:
                self._standing = None
            self.changed += len(rows)
            for live in self.followers:
                live.now, live.structure = self._now, self.structure
                live.arrive(*sent)
                if self.fixed is not None and live.closing is not None:
                    live.closing += [number for number, _ in sent.firsts]
        else:
            self._take_one_by_one(batch, rows)

    def end_batches(self) -> None:
        """No more batches come for now: what waits for the rest of them is looked at as it is."""
        for live in self.followers:
            live.runs.taking = live.runs.patient = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is taken in meanwhile is followed at the end, so that contents can be parsed together."""
        self._deferred = []
        try:
            yield
        finally:
            changes, self._deferred = self._deferred, None
            if changes:
                self._follow(changes)

    def _needed(self, batch: FragmentBatch) -> list[int]:
        """The changes of a batch that must be looked at; the others are passed over."""
        import numpy as np

        from xstreamcast.cast.automata import KINDS
        from xstreamcast.cast.columns import NO_TIME, NONE

        tsids, regions, structure = batch.tsid, batch.region, self.structure
        assert structure is not None
        known = [tsid for tsid in np.unique(tsids).tolist() if tsid in structure.tags]
        passing = [tsid for tsid in known if not (self.wants(tsid, -1) or self._may_count(tsid))]
        sent = np.isin(batch.kind, [KINDS.index(kind) for kind in _SENDS])
        skip = sent & (batch.version == NONE) & np.isin(tsids, passing)
        if not self.wants(None, ROOT):
            skip |= sent & (batch.version == NONE) & (tsids == NONE) & (regions == ROOT)
        skip[list(batch.docs)] = False
        # What is also spoken of otherwise goes the long way, so that all that is said of it is heard in its order.
        skip &= ~np.isin(regions, np.concatenate([regions[~skip], batch.target[~skip]]))
        table = self.table
        known = [k for k, region in zip(np.flatnonzero(skip).tolist(), regions[skip].tolist(), strict=True)
                 if ("", region) in table]  # fmt: skip
        skip[known] = False
        if skip.any():
            fixed = [tsid for tsid in passing if self.fixes(tsid, -1)] if self.fixed is not None else []
            stays = np.isin(tsids, fixed) | ((regions == ROOT) & self.fixes(None, ROOT))
            self.settled.add(regions[skip & stays])
            for live in self.followers if self.fixed is not None else ():
                if live.closing is not None:
                    settled: list[int] = regions[skip & stays].tolist()
                    live.closing += [one for one in settled if one in live.passed or one in live.holes]
            over = skip & ~stays
            if over.any():
                weighty = over & ((np.diff(batch.marks.offsets) > 1) | (batch.valid_time != NO_TIME))
                self.passed.over(regions[over], np.unique(tsids[weighty]).tolist(), structure)
            self._pass(int(skip.sum()), batch.latest(skip))
        needed: list[int] = np.flatnonzero(~skip).tolist()
        return needed

    # ---------------------------------------------------------------------------------------------- who follows

    def sizes(self) -> dict[str, int]:
        """How much there is: regions, bytes of content and of trees; changes that wait, and that were not opened."""
        return {
            "regions": len(self.table) if self.inlet is None else self.inlet.table.size,
            "bytes": self.kept if self.inlet is None else self.inlet.table.said - self.inlet.table.spilled,
            "spilled": self.spilled if self.inlet is None else self.inlet.table.spilled,
            "trees": self.grove.held,
            "waiting": len(self.waiting),
            "changes": self.changed,
            "skipped": self.skipped,
            "discarded": self.retention.discarded,
            "ignored": self.ignored,
            "sealed": self.sealed,
        }

    def adopt(self, live: Noted) -> None:
        """A live document follows this table from now on, and begins with what is in it."""
        live.table, live.file, live.now, live.structure = self.table, self.file, self._now, self.structure
        live.report = self.report
        live.grove = self.grove
        self.followers.append(live)
        live.begin()

    def leave(self, live: Live) -> None:
        """A live document follows no more."""
        self.followers = [other for other in self.followers if other is not live]

    @property
    def passed_root(self) -> bool:
        """Whether the root itself has been passed over, as it is by who assumes that everything hangs on it."""
        return ROOT in self.passed

    @property
    def standing(self) -> Standing:
        """What a query must know of the stream to tell how it can be followed."""
        known = self._standing
        if known is None or known.structure is not self.structure or known.named is not self.named:
            region = self.table.get(("", ROOT))
            beside = region is not None and bool(region.before or region.after)
            one_root, prolog = True, False
            if region is not None:
                content = None if region.current is None else self.load(region.current)
                one_root = not (beside or region.versions or region.events)
                one_root = one_root and (content is None or has_one_root(content))
                prolog = one_root and content is not None and not has_only_root(content)
            known = self._standing = Standing(self.named, self.structure, one_root, beside, prolog)
        return known

    def view(self, name: str, now: Instant) -> Node:
        """T as a document, as of a time; made once for those who ask for the same."""
        key = self.changed, now
        if self._view is None or self._view[0] != key:
            text = b"".join(self.document(pick(self.documents(), None), View(now=now)))
            self._view = key, view_of(text, f"stream:{name}")
        return self._view[1]


class Recomputed:
    """A query that is computed anew on T at every change: what nothing incremental is known for.

    It has the face of a :class:`~xstreamcast.run.continuous.journal.Journal` whose whole output is one part.
    """

    def __init__(self, query: Query, ask: Callable[[], list[Item]]) -> None:
        self.answer = ask
        """q(T(γ)), from scratch."""
        module = query.executable.program.module
        assert module.body is not None
        self.plan = Plan(module, Strategy.NONE, (), (), (module.body,))
        self.rest: list[Unit | Executable] = [query.executable]
        self.place: dict[tuple[str, str], Number] = {}
        self.stale: set[Number] = set()
        self.bound: set[Number] = set()
        self.redone = True

    def part(self, part: Unit | Executable, reads: Iterable[Number]) -> list[Item]:
        """The items of the only part."""
        return self.answer()

    def settle(self) -> None:
        """What has come makes the answer another, perhaps."""
        self.redone = True

    def raise_failure(self) -> None:
        """There are no members that could have failed."""

    def forget(self) -> None:
        """All has been dealt with."""
        self.redone = False

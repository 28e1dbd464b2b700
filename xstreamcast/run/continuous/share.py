"""One association for several queries: each stream is read and taken in once, whoever looks at it.

An :class:`Association` is T1 of a stream. The live documents of the queries follow its table; a content that several
of them open is parsed once. A query that does not decompose reads T of it (:class:`Recomputed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.cast.materialise import Materialiser, View, pick
from xstreamcast.cast.regions import Filling, Region
from xstreamcast.errors import Place
from xstreamcast.model.change import ROOT, Change, Fill, Repeat
from xstreamcast.model.content import Content, has_one_root
from xstreamcast.model.time import START
from xstreamcast.plan.algebra import Plan, Strategy, Unit
from xstreamcast.run.continuous.clock import Pending
from xstreamcast.run.continuous.grove import Grove
from xstreamcast.run.continuous.retention import Retention
from xstreamcast.run.streams import view_of

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch
    from xstreamcast.cast.regions import Report
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.structure import Structure
    from xstreamcast.model.time import Instant
    from xstreamcast.model.tree import Node
    from xstreamcast.run.continuous.engine import Number
    from xstreamcast.run.continuous.journal import Noted
    from xstreamcast.run.continuous.live import Live
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.query import Query


STRETCH: Final = 2 << 20
STRETCH_OF: Final = 4096
"""So many bytes of content, or so many changes, are taken in before those who follow evaluate what they have found."""
_SENDS: Final = (Fill, Repeat)


class Association(Materialiser):
    """The table of one stream and those who follow it.

    ``changed`` counts the changes taken in, ``skipped`` those of them that nobody needs: they are not opened, nor kept.
    ``named``: whether there are documents with names. ``keeps_all``: whether somebody may read T itself.
    ``moment``: the current time by another clock than the stream's own; None if its own is meant.
    """

    def __init__(self, structure: Structure | None, report: Report) -> None:
        super().__init__(structure, report)
        self.followers: list[Noted] = []
        self.grove = Grove(self)
        self.changed = 0
        self.skipped = 0
        self.named = False
        self.moment: Instant | None = None
        self.pending = Pending()
        self.retention = Retention(self)
        self.keeps_all = False
        self._passed = Numbers()
        self._purged = Numbers()
        self._read: Structure | None = None
        self._once: frozenset[int] = frozenset()
        self._deferred: list[Change] | None = None
        self._view: tuple[tuple[int, Instant], Node] | None = None
        self._top: tuple[object, ...] = ()
        self._of_one_root = True

    # ---------------------------------------------------------------------------------------------- what comes

    @property
    def lean(self) -> bool:
        """Whether what no follower needs may be left out of the table."""
        return bool(self.followers) and not self.keeps_all and self.structure is not None

    def wants(self, tsid: int | None, region: int) -> bool:
        """Whether a follower may have to open a fragment."""
        return any(live.wants(tsid, region) for live in self.followers)

    def attempt(self, change: Change, place: Place, inside: int) -> None:
        if change.region in self._purged and not change.doc:
            self.diagnose("XSC0029", "note", "the region is gone for good; no effect", place, change)
        elif (
            self.lean
            and type(change) in _SENDS
            and change.version is None
            and not change.doc
            and ("", change.region) not in self.table
            and (change.tsid in self.structure.tags if change.tsid is not None else change.region == ROOT)  # type: ignore[union-attr]  # lean
            and not self.wants(change.tsid, change.region)
        ):
            self._passed.add([change.region])
            self._pass(1, START if change.valid_time is None else change.valid_time)
        else:
            super().attempt(change, place, inside)

    def _pass(self, count: int, time: Instant) -> None:
        self.now = max(self.now, time)
        self.changed += count
        self.skipped += count

    def change(self, change: Change, place: Place, inside: int) -> None:
        for number in (change.region, getattr(change, "target", None)):
            if number is not None and not change.doc and number in self._passed:
                # There is something there; what it says is of no interest.
                self.table.setdefault(("", number), Region(number, Filling(Content(()), b"-", None, None, Place())))
        super().change(change, place, inside)
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
        due = {(change.doc, change.region) for change in self.pending.pop(now)}
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

    def take_batch(self, batch: FragmentBatch) -> Iterator[None]:
        """Take in a batch, a stretch at a time: what nobody needs is passed over, the rest is parsed together.

        Between stretches those who follow may evaluate what they have found, while its trees are there.
        """
        rows = self._needed(batch) if self.lean else range(len(batch))
        lengths = (batch.to - batch.begin).tolist()
        stretch: list[int] = []
        size = 0
        for row in rows:
            stretch.append(row)
            size += lengths[row]
            if size >= STRETCH or len(stretch) >= STRETCH_OF:
                self._take(batch, stretch)
                yield
                stretch, size = [], 0
        if stretch:
            self._take(batch, stretch)
            yield

    def _take(self, batch: FragmentBatch, rows: list[int]) -> None:
        met = self._passed.meets(batch.region[rows]) or self._purged.meets(batch.region[rows])
        filled = None if met or self.moment is not None else self.fill_firsts(batch, rows)
        if filled is not None:
            self.changed += len(rows)
            for live in self.followers:
                live.now, live.structure = self._now, self.structure
                live.arrive(filled)
            return
        with self.together():
            self.apply_batch(batch, rows)

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
        from xstreamcast.cast.columns import NONE

        tsids, regions, structure = batch.tsid, batch.region, self.structure
        assert structure is not None
        passing = [tsid for tsid in np.unique(tsids).tolist() if tsid in structure.tags and not self.wants(tsid, -1)]
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
            self._passed.add(regions[skip])
            self._pass(int(skip.sum()), batch.latest(skip))
        needed: list[int] = np.flatnonzero(~skip).tolist()
        return needed

    # ---------------------------------------------------------------------------------------------- who follows

    def sizes(self) -> dict[str, int]:
        """How much there is: regions, bytes of content and of trees; changes that wait, and that were not opened."""
        return {
            "regions": len(self.table),
            "bytes": self.kept,
            "spilled": self.file_size - sum(room * len(free) for room, free in self.free.items()),
            "trees": self.grove.held,
            "waiting": len(self.waiting),
            "changes": self.changed,
            "skipped": self.skipped,
            "discarded": self.retention.discarded,
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
    def of_one_root(self) -> bool:
        """Whether T has one element at its top, and nothing else there, as documents have; before it has come, too."""
        region = self.table.get(("", ROOT))
        if region is None:
            return True
        top = (region.current, len(region.versions), len(region.events), region.before, region.after)
        if len(self._top) != len(top) or any(a is not b for a, b in zip(self._top, top, strict=True)):
            self._top = top
            beside = region.versions or region.events or region.before or region.after
            content = None if region.current is None else self.load(region.current)
            self._of_one_root = not beside and (content is None or has_one_root(content))
        return self._of_one_root

    @property
    def besides(self) -> bool:
        """Whether regions stand beside the root region."""
        region = self.table.get(("", ROOT))
        return region is not None and bool(region.before or region.after)

    def view(self, name: str, now: Instant) -> Node:
        """T as a document, as of a time; made once for those who ask for the same."""
        key = self.changed, now
        if self._view is None or self._view[0] != key:
            text = b"".join(self.document(pick(self.documents(), None), View(now=now)))
            self._view = key, view_of(text, f"stream:{name}")
        return self._view[1]


class Numbers:
    """A set of regions, a bit for each; those with great numbers one by one."""

    _BITS: Final = 1 << 30

    def __init__(self) -> None:
        self._bits = bytearray()
        self._others: set[int] = set()

    def add(self, numbers: Any) -> None:
        """Put some in: a list, or an array of them."""
        if len(numbers) == 1:
            self._one(int(numbers[0]))
            return
        import numpy as np

        small = numbers[numbers < self._BITS]
        self._others.update(numbers[numbers >= self._BITS].tolist())
        if len(small):
            self._reach(int(small.max()))
            bits = np.frombuffer(self._bits, np.uint8)
            np.bitwise_or.at(bits, small >> 3, (1 << (small & 7)).astype(np.uint8))

    def _one(self, number: int) -> None:
        if number >= self._BITS:
            self._others.add(number)
        else:
            self._reach(number)
            self._bits[number >> 3] |= 1 << (number & 7)

    def _reach(self, number: int) -> None:
        short = (number >> 3) + 1 - len(self._bits)
        if short > 0:
            self._bits.extend(bytes(max(short, len(self._bits) // 2)))

    def meets(self, numbers: Any) -> bool:
        """Whether some of an array of numbers are in it."""
        if not self._bits and not self._others:
            return False
        import numpy as np

        small = numbers[numbers < len(self._bits) << 3]
        bits = np.frombuffer(self._bits, np.uint8)
        return bool((bits[small >> 3] >> (small & 7) & 1).any()) or not self._others.isdisjoint(numbers.tolist())

    def __contains__(self, number: int) -> bool:
        if number >= self._BITS:
            return number in self._others
        at = number >> 3
        return at < len(self._bits) and bool(self._bits[at] >> (number & 7) & 1)


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

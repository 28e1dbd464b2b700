"""The parts of an answer as regions in order: what is shown of each, and what is to be told of it.

A part whose rows stand in an order is followed by difference (:mod:`placed`, :mod:`members`, and
:mod:`...columns.shelf`). Any other part is computed anew when a unit it reads is another, and compared item by item.

A blank between two atomic values (sequence normalisation) belongs to the later one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from xstreamcast.model.change import After, Change, Remove, Replace
from xstreamcast.plan.algebra import Unit
from xstreamcast.run.continuous.arrive.share import Recomputed
from xstreamcast.run.continuous.display.labels import between, in_order
from xstreamcast.run.continuous.display.regions_told import RegionsTold
from xstreamcast.run.continuous.display.written import Written, written
from xstreamcast.run.continuous.related import Number
from xstreamcast.run.continuous.time.archive import Archive, Span
from xstreamcast.run.evaluate import Executable

if TYPE_CHECKING:
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.journal import Journal


class Emitted(NamedTuple):
    """A change of the answer; ``order`` is the place of what it is about, as a text that sorts."""

    change: Change
    order: str | None


Reads = tuple[Number, ...]
"""The units that a part of the output looks at."""


class Numbers:
    """What all parts of one output share: the numbers of regions, and that of the step, which is their version.

    ``forwards``: holes of copied content are told as holes.
    """

    def __init__(self, first: int, forwards: bool = True) -> None:
        self.forwards = forwards
        self.last = first - 1
        """The highest that a region has."""
        self.step = 0
        self.archive = Archive()

    def region(self) -> int:
        """A region that has not been."""
        self.last += 1
        return self.last


class Shown:
    """A region of the answer, in a list; ``sent`` is the content that it was last given, None: not yet.

    ``inside``: the regions in it; None: it has none.

    Of several that can never change it is the last; then ``spans`` tell where their texts are kept, and ``first`` is
    the label of the first.
    """

    __slots__ = ("after", "before", "first", "inside", "label", "region", "said", "sent", "spans")

    def __init__(self, region: int, said: Written, label: str) -> None:
        self.region = region
        self.said = said
        self.label = self.first = label
        self.spans: list[Span] | None = None
        self.sent: str | None = None
        self.inside: RegionsTold | None = None
        self.before: Shown | None = None
        self.after: Shown | None = None


class Shelf:
    """The regions of one part, in order. ``removed`` and ``changed``: what is to be told of it."""

    def __init__(self, path: str, numbers: Numbers) -> None:
        self.path = path
        self.numbers = numbers
        self.anchor = Shown(numbers.region(), Written("", False, False), "")
        self.last = self.anchor
        self.size = 0
        self.removed: list[Shown] = []
        self.changed: dict[Shown, None] = {}

    def __iter__(self) -> Iterator[Shown]:
        shown = self.anchor.after
        while shown is not None:
            yield shown
            shown = shown.after

    def adopt(self, other: Shelf) -> None:
        """Go on with what another one has told."""
        self.anchor, self.last, self.size = other.anchor, other.last, other.size
        self.removed, self.changed = other.removed, other.changed

    def insert(self, before: Shown, said: Written) -> Shown:
        """A new region just after one that is there."""
        after = before.after
        label = between(before.label or None, after.first if after is not None else None)
        made = Shown(self.numbers.region(), said, label)
        made.before, made.after, before.after = before, after, made
        if after is None:
            self.last = made
        else:
            after.before = made
            self.changed[after] = None  # a blank may be due to it
        self.changed[made] = None
        self.size += 1
        return made

    def take(self, shown: Shown) -> None:
        """Take a region out."""
        before, after = shown.before, shown.after
        assert before is not None
        self.size -= 1
        before.after = after
        if after is None:
            self.last = before
        else:
            after.before = before
            self.changed[after] = None
        self.changed.pop(shown, None)
        if shown.sent is not None:
            self.removed.append(shown)

    def put(self, shown: Shown, said: Written) -> None:
        """A region says this from now on."""
        if shown.said != said:
            shown.said = said
            self.changed[shown] = None
            if shown.after is not None:
                self.changed[shown.after] = None
        elif said.pieces:  # it may have other holes than it had
            shown.said = said
            self._inside(shown).note(said.pieces)
            self._keep(shown)

    def content(self, shown: Shown, ends: bool) -> str:
        """What a region is to hold; ``ends``: whether what is before this part ends with an atomic value."""
        if shown.spans is not None:
            return self.numbers.archive.text(shown.spans)
        before = shown.before
        assert before is not None
        blank = shown.said.begins and (ends if before is self.anchor else before.said.ends)
        return " " + shown.said.text if blank else shown.said.text

    def text(self, ends: bool) -> str:
        """The text of the part."""
        return "".join([self.content(shown, ends) for shown in self])

    def items(self) -> Iterator[tuple[str, str]]:
        """What is shown, in order: the label and the text of each region."""
        for shown in self:
            yield self.order(shown), shown.said.text if shown.spans is None else self.content(shown, False)

    def anchors(self) -> Iterator[Shown]:
        """What its regions stand beside."""
        yield self.anchor

    def order(self, shown: Shown) -> str:
        """The place of a region in the answer, as a text that sorts."""
        return f"{self.path}.{shown.label}"

    def count(self) -> int:
        """How many items are shown."""
        return self.size

    def told(self) -> Iterator[Emitted]:
        """All regions as they have been told."""
        for shown in self:
            assert shown.before is not None
            content = shown.sent or "" if shown.spans is None else self.content(shown, False)
            if shown.inside is not None:
                content = shown.inside.shell or ""
            after = After(region=shown.region, target=shown.before.region, content=content.encode())
            yield Emitted(after, self.order(shown))
            if shown.inside is not None:
                yield from [Emitted(change, None) for change in shown.inside.told()]

    def tell(self, ends: bool) -> Iterator[Emitted]:
        """The changes since the last time, so that each finds what it refers to."""
        for shown in self.removed:
            yield Emitted(Remove(region=shown.region, version=self.numbers.step), self.order(shown))
            if shown.inside is not None:
                yield from [Emitted(change, None) for change in shown.inside.withdraw()]
        self.removed.clear()
        if self.anchor.after is not None:
            self.changed[self.anchor.after] = None  # the part before may end otherwise
        for shown in sorted(self.changed, key=_label):
            if shown.spans is not None:
                continue
            content = self.content(shown, ends)
            if shown.sent != content:
                yield from self._tell(shown, content)
            shown.sent = content
        self.changed.clear()

    def _tell(self, shown: Shown, content: str) -> Iterator[Emitted]:
        """A region says something else than it did, or something at last."""
        said, text, before = shown.said, content, shown.sent
        changes: list[Change] = []
        if said.pieces or shown.inside is not None:
            inside = self._inside(shown)
            before = inside.shell
            blank = content[: len(content) - len(said.text)]
            text, changes = inside.tell((blank, *(said.pieces or (said.text,))))
            self._keep(shown)
        if shown.sent is None:
            assert shown.before is not None
            after = After(region=shown.region, target=shown.before.region, content=text.encode())
            yield Emitted(after, self.order(shown))
        elif text != before:
            change = Replace(region=shown.region, version=self.numbers.step, content=text.encode())
            yield Emitted(change, self.order(shown))
        for inner in changes:
            yield Emitted(inner, None)

    def _inside(self, shown: Shown) -> RegionsTold:
        """The regions in one that has been told, or is about to be."""
        if shown.inside is None:
            shown.inside = RegionsTold(self.numbers, shown.sent)
        return shown.inside

    def _keep(self, shown: Shown) -> None:
        """Of one that has no regions in it nothing is kept but the text."""
        if shown.inside is not None and not shown.inside.regions:
            said, shown.inside = shown.said, None
            shown.said = Written(said.text, said.begins, said.ends)


def _label(shown: Shown) -> str:
    return shown.label


class Computed(Shelf):
    """Any other part: its items are compared with those before; the same ones stay, in the longest run in order."""

    def __init__(
        self,
        path: str,
        numbers: Numbers,
        journal: Journal | Recomputed | Columnar,
        part: Unit | Executable,
        reads: Reads,
    ) -> None:
        super().__init__(path, numbers)
        self.journal = journal
        self.part = part
        self.reads = reads
        self.fresh = True
        self.pending: list[Written] | None = None

    def look(self) -> None:
        """Compute it, if what it reads is not as before."""
        self.pending = None
        if self.due():
            self.fresh = True  # until it has been followed
            self.pending = self.computed()

    def due(self) -> bool:
        """Whether what it reads is not as before."""
        journal = self.journal
        moved = journal.stale | journal.bound
        return self.fresh or journal.redone or not moved.isdisjoint(self.reads)

    def computed(self) -> list[Written]:
        """Its items now."""
        cut = self.numbers.forwards
        found = (written([item], cut) for item in self.journal.part(self.part, self.reads))
        return [said for said in found if said is not None]

    def follow(self) -> None:
        if self.pending is None:
            return
        wanted, self.pending, self.fresh = self.pending, None, False
        if len(wanted) == self.size == 1:
            self.put(self.last, wanted[0])
            return
        known: dict[Written, deque[Shown]] = {}
        for shown in self:
            known.setdefault(shown.said, deque()).append(shown)
        pairs = [known[said].popleft() if known.get(said) else None for said in wanted]
        places = [(number, shown) for number, shown in enumerate(pairs) if shown is not None]
        stay = in_order([shown.label for _, shown in places])
        fixed = {number: shown for at, (number, shown) in enumerate(places) if at in stay}
        held = set(fixed.values())
        at = self.anchor
        for number, said in enumerate(wanted):
            following = at.after
            if number in fixed:
                while at.after is not fixed[number]:  # what stood here has no successor
                    assert at.after is not None
                    self.take(at.after)
                at = fixed[number]
            elif following is not None and following not in held:
                self.put(following, said)
                at = following
            else:
                at = self.insert(at, said)
        while at.after is not None:
            self.take(at.after)

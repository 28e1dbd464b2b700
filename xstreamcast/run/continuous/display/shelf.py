"""The parts of an answer as regions in order: what is shown of each, and what is to be told of it.

A part that concatenates members (∪) is followed by difference: the members that looked again are compared with what
they showed, in order; an item between unchanged ones finds its place through the counts, in O(log n). Any other part is
computed anew when a unit it reads is another, and compared item by item.

A blank between two atomic values (sequence normalisation) belongs to the later one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from xstreamcast.model.change import After, Change, Remove, Replace
from xstreamcast.plan.algebra import Unit
from xstreamcast.run.continuous.adjust.derived import Part
from xstreamcast.run.continuous.adjust.sums import holder_at
from xstreamcast.run.continuous.arrive.share import Recomputed
from xstreamcast.run.continuous.associate.mounts import Member
from xstreamcast.run.continuous.associate.runs import Fragment, Run
from xstreamcast.run.continuous.associate.standing import is_seen
from xstreamcast.run.continuous.display.labels import between, in_order
from xstreamcast.run.continuous.display.regions_told import RegionsTold
from xstreamcast.run.continuous.display.written import Written, written, written_each
from xstreamcast.run.continuous.journal import Journal, identity
from xstreamcast.run.continuous.related import Number
from xstreamcast.run.continuous.time.archive import Archive, Span, joined
from xstreamcast.run.continuous.time.sealing import Sealed
from xstreamcast.run.evaluate import Executable

if TYPE_CHECKING:
    from xstreamcast.run.continuous.columns.engine import Columnar


class Emitted(NamedTuple):
    """A change of the answer; ``order`` is the place of what it is about, as a text that sorts."""

    change: Change
    order: str | None


_LET_GO: Final = Written("", False, False)
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


class Members(Shelf):
    """The part of a unit whose members are concatenated (∪): a region for each that has items.

    Of a fragment that stands in a run its run knows the region, until it is opened; what is shown of a member is here.
    """

    def __init__(self, path: str, numbers: Numbers, journal: Journal, where: Number) -> None:
        super().__init__(path, numbers)
        self.journal = journal
        self.where = where
        self.shown: dict[Member | Part | Sealed, Shown] = {}
        self.pending: list[tuple[int, Member | Part | Fragment, Written]] = []
        self.runs = journal.live[where[0]].runs
        self.runs.shown[where[1]] = self.shown
        self.runs.forwards = numbers.forwards

    def adopt(self, other: Shelf) -> None:
        from xstreamcast.run.continuous.columns.shelf import KeyedRows, Rows

        super().adopt(other)
        assert isinstance(other, Rows | KeyedRows)
        self.runs.orphans.setdefault(self.where[1], []).extend(other.identities())

    def look(self) -> None:
        """See what is to be shown of the members that may have changed; raises what cannot be written."""
        self.pending = []
        self.journal.check(self.where)
        for member in dict.fromkeys(self.journal.touched(self.where)):
            if member.outcome and member.entry.block is not None and is_seen(member):
                said = written(member.outcome, self.numbers.forwards)
                if said is not None:
                    self.pending.append((member.entry.sequence.before(member.entry), member, said))
        self._look_at_runs()

    def _look_at_runs(self) -> None:
        """… of fragments in runs, which are written together."""
        fragments: list[tuple[int, Fragment]] = []
        for run in self.runs.to_tell(self.where[1]):
            if is_seen(run):
                rank = run.entry.sequence.before(run.entry)
                for at, items in enumerate(run.outcomes):
                    if items:
                        fragments.append((rank, Fragment(run, at)))
                        rank += len(items)
        texts = written_each(fragment.outcome for _, fragment in fragments)
        self.pending += [
            (rank, fragment, said) for (rank, fragment), said in zip(fragments, texts, strict=True) if said is not None
        ]

    def written(self) -> Iterator[Written]:
        """What :meth:`look` has seen."""
        return (said for _, _, said in self.pending)

    def clear(self) -> None:
        """Nothing is shown any more."""
        for shown in tuple(self):
            self.take(shown)
        self.shown.clear()

    def follow(self) -> None:
        """Put on the shelf what :meth:`look` has seen, and take off what is not to be shown any more."""
        self.pending.sort(key=lambda entry: entry[0])
        present = {member for _, member, _ in self.pending}
        left: dict[tuple[object, ...], deque[Shown]] = {}
        for member in self.journal.departed(self.where):
            if member in self.shown:
                left.setdefault(identity(member), deque()).append(self.shown.pop(member))
        for member in dict.fromkeys(self.journal.touched(self.where)):
            if member in self.shown and member not in present:
                self.take(self.shown.pop(member))
        for known_by, shown in self.runs.told(self.where[1]):
            left.setdefault(known_by, deque()).append(shown)
        if left:
            for _, one, _ in self.pending:
                if self._known(one) is None and left.get(identity(one)):
                    self._show(one, left[identity(one)].popleft())
        for rest in left.values():
            for shown in rest:
                self.take(shown)
        staying = [(one, shown) for _, one, _ in self.pending if (shown := self._known(one)) is not None]
        stay = in_order([shown.label for _, shown in staying])
        for number, (one, shown) in enumerate(staying):
            if number not in stay:
                self.take(shown)
                self._show(one, None)
        before, end = self.anchor, 0
        for rank, one, said in self.pending:
            if rank != end:  # not just behind the one before
                before = self._before(rank)
            known = self._known(one)
            if known is not None and known.before is before:
                self.put(known, said)
            else:
                if known is not None:
                    self.take(known)
                known = self.insert(before, said)
                self._show(one, known)
            before, end = known, rank + len(one.outcome)
        self.pending = []

    def _known(self, member: Member | Part | Fragment) -> Shown | None:
        """What is shown of a member, or of a fragment in a run."""
        if isinstance(member, Fragment):
            found: Shown | None = member.run.shown[member.at]
            return found
        return self.shown.get(member)

    def _show(self, member: Member | Part | Fragment, shown: Shown | None) -> None:
        if isinstance(member, Fragment):
            member.run.shown[member.at] = shown
        elif shown is None:
            del self.shown[member]
        else:
            self.shown[member] = shown

    def is_settled(self, member: Member | Part | Fragment | Sealed) -> bool:
        """Whether what is shown of a member has been told, and does not hang on what stands before it, as blanks do."""
        if isinstance(member, Sealed):
            return True
        shown = self._known(member)
        if shown is None:
            return not member.outcome
        return shown.sent is not None and not (shown.said.begins or shown.said.ends)

    def seal(self, members: Iterable[Member | Part | Sealed], sealed: Sealed) -> None:
        """What is shown of some members, side by side, can never change: their texts are not kept in memory."""
        self.seal_shown([self.shown.pop(member) for member in members if member in self.shown], sealed)

    def seal_shown(self, found: list[Shown], sealed: Sealed) -> None:
        """… what is shown, in order."""
        if found:
            self.shown[sealed] = self._joined(found)

    def join(self, left: Sealed, right: Sealed) -> None:
        """Two such stretches, side by side, are one."""
        self.seal([left, right], left)

    def _joined(self, found: list[Shown]) -> Shown:
        first, last = found[0], found[-1]
        spans = first.spans or []
        for shown in found:
            if shown.spans is None:
                joined(spans, [self.numbers.archive.put(shown.said.text)])
            elif shown is not first:
                joined(spans, shown.spans)
            self.changed.pop(shown, None)
        assert first.before is not None
        first.before.after, last.before = last, first.before
        last.first, last.spans, last.said, last.sent, last.inside = first.first, spans, _LET_GO, "", None
        for shown in found[:-1]:
            shown.before = shown.after = None
        return last

    def _before(self, rank: int) -> Shown:
        """The region before the item of a rank."""
        top = self.journal.sequence(self.where)
        while rank:
            holder, number = holder_at(top, rank)
            if isinstance(holder, Run):
                for at in reversed(range(holder.at_item(number) + 1)):
                    if holder.outcomes[at] and holder.shown[at] is not None:
                        found: Shown = holder.shown[at]
                        return found
                rank -= number
                continue
            shown = self.shown.get(holder)
            if shown is not None:
                return shown
            rank -= number  # it has items that come to nothing: empty arrays
        return self.anchor


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

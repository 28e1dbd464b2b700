"""The part of a unit whose members are concatenated (∪), as regions of the answer.

The members that looked again are compared with what they showed, in order. Of a fragment that stands in a run its run
knows the region, until it is opened. What can never change is not kept in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.run.continuous.associate.runs import Fragment, Run
from xstreamcast.run.continuous.associate.standing import is_seen
from xstreamcast.run.continuous.display.placed import Placed
from xstreamcast.run.continuous.display.shelf import Numbers, Shelf, Shown
from xstreamcast.run.continuous.display.written import Written, written, written_each
from xstreamcast.run.continuous.time.archive import joined
from xstreamcast.run.continuous.time.sealing import Sealed

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.derived import Part
    from xstreamcast.run.continuous.associate.mounts import Member
    from xstreamcast.run.continuous.journal import Journal
    from xstreamcast.run.continuous.related import Number

_LET_GO: Final = Written("", False, False)


class Members(Placed):
    """A region for each member that has items."""

    def __init__(self, path: str, numbers: Numbers, journal: Journal, where: Number) -> None:
        super().__init__(path, numbers, journal, where)
        self.runs = journal.live[where[0]].runs
        self.runs.shown[where[1]] = self.shown
        self.runs.forwards = numbers.forwards

    def adopt(self, other: Shelf) -> None:
        from xstreamcast.run.continuous.columns.shelf import InColumns

        super().adopt(other)
        assert isinstance(other, InColumns)
        self.runs.orphans.setdefault(self.where[1], []).extend(other.identities())

    def is_seen(self, row: Any) -> bool:
        return row.entry.block is not None and is_seen(row)

    def look(self) -> None:
        super().look()
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

    def texts(self, many: list[Any]) -> Iterable[Written | None]:
        return [written(items, self.numbers.forwards) for items in many]

    def orphans(self) -> Iterable[tuple[Any, Shown]]:
        return self.runs.told(self.where[1])

    def known(self, row: Member | Part | Fragment) -> Shown | None:
        if isinstance(row, Fragment):
            found: Shown | None = row.run.shown[row.at]
            return found
        return super().known(row)

    def show(self, row: Member | Part | Fragment, shown: Shown | None) -> None:
        if isinstance(row, Fragment):
            row.run.shown[row.at] = shown
        else:
            super().show(row, shown)

    def last_of(self, holder: Any, number: int) -> Shown | None:
        if not isinstance(holder, Run):
            return super().last_of(holder, number)
        for at in reversed(range(holder.at_item(number) + 1)):
            if holder.outcomes[at] and holder.shown[at] is not None:
                found: Shown = holder.shown[at]
                return found
        return None

    def is_settled(self, member: Member | Part | Fragment | Sealed) -> bool:
        """Whether what is shown of a member has been told, and does not hang on what stands before it, as blanks do."""
        if isinstance(member, Sealed):
            return True
        shown = self.known(member)
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

"""The rows of an operator as regions of the answer, in its order: those that changed show something else, or move.

An item between unchanged ones finds its place through the counts of the order, in O(log n).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from xstreamcast.run.continuous.adjust.sums import holder_at
from xstreamcast.run.continuous.display.labels import in_order
from xstreamcast.run.continuous.display.shelf import Numbers, Shelf, Shown
from xstreamcast.run.continuous.display.written import Written, written_each

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.order import Sequence
    from xstreamcast.run.continuous.related import Number


class Journal(Protocol):
    """What is told of a unit's rows: those that may be others, those that are gone, and all in order."""

    def check(self, where: Number) -> None:
        """Raise the error that the value of a unit is, if it is one."""

    def touched(self, where: Number) -> Iterable[Any]:
        """The rows that may be shown otherwise than before."""

    def departed(self, where: Number) -> Iterable[Any]:
        """The rows that are there no more."""

    def sequence(self, where: Number) -> Sequence[int]:
        """The rows in the order of the unit's value."""


class Placed(Shelf):
    """A region for each row that has items. ``pending``: what is to be shown, with the number of items before it."""

    def __init__(self, path: str, numbers: Numbers, journal: Any, where: Number) -> None:
        super().__init__(path, numbers)
        self.journal = journal
        self.where = where
        self.shown: dict[Any, Shown] = {}
        self.pending: list[tuple[int, Any, Written]] = []

    @abstractmethod
    def is_seen(self, row: Any) -> bool:
        """Whether a row is in the document, and nothing around it is hidden."""

    def look(self) -> None:
        """See what is to be shown of the rows that may have changed; raises what cannot be written."""
        self.journal.check(self.where)
        seen = [row for row in dict.fromkeys(self.journal.touched(self.where)) if row.outcome and self.is_seen(row)]
        texts = self.texts([row.outcome for row in seen])
        self.pending = [
            (row.entry.sequence.before(row.entry), row, said)
            for row, said in zip(seen, texts, strict=True)
            if said is not None
        ]

    def texts(self, many: list[Any]) -> Iterable[Written | None]:
        """What the items of several rows are as text."""
        return written_each(many)

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
        present = {row for _, row, _ in self.pending}
        left: dict[Any, deque[Shown]] = {}
        for row in self.journal.departed(self.where):
            if row in self.shown:
                left.setdefault(row.identity(), deque()).append(self.shown.pop(row))
        for row in dict.fromkeys(self.journal.touched(self.where)):
            if row in self.shown and row not in present:
                self.take(self.shown.pop(row))
        for known_by, one in self.orphans():
            left.setdefault(known_by, deque()).append(one)
        if left:
            for _, one, _ in self.pending:
                if self.known(one) is None and left.get(one.identity()):
                    self.show(one, left[one.identity()].popleft())
        for rest in left.values():
            for shown in rest:
                self.take(shown)
        staying = [(one, there) for _, one, _ in self.pending if (there := self.known(one)) is not None]
        stay = in_order([shown.label for _, shown in staying])
        for number, (one, shown) in enumerate(staying):
            if number not in stay:
                self.take(shown)
                self.show(one, None)
        before, end = self.anchor, 0
        for rank, one, said in self.pending:
            if rank != end:  # not just behind the one before
                before = self._before(rank)
            known = self.known(one)
            if known is not None and known.before is before:
                self.put(known, said)
            else:
                if known is not None:
                    self.take(known)
                known = self.insert(before, said)
                self.show(one, known)
            before, end = known, rank + len(one.outcome)
        self.pending = []

    def orphans(self) -> Iterable[tuple[Any, Shown]]:
        """What is shown of what is there no more, and what that is known by."""
        return ()

    def known(self, row: Any) -> Shown | None:
        """What is shown of a row."""
        return self.shown.get(row)

    def show(self, row: Any, shown: Shown | None) -> None:
        """This is shown of a row; None: nothing."""
        if shown is None:
            del self.shown[row]
        else:
            self.shown[row] = shown

    def _before(self, rank: int) -> Shown:
        """The region before the item of a rank."""
        top = self.journal.sequence(self.where)
        while rank:
            holder, number = holder_at(top, rank)
            shown = self.last_of(holder, number)
            if shown is not None:
                return shown
            rank -= number  # it has items that come to nothing: empty arrays
        return self.anchor

    def last_of(self, holder: Any, number: int) -> Shown | None:
        """The region of a row; of several, the last one that shows anything up to the item of a number."""
        return self.shown.get(holder)

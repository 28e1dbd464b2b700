"""What stands before or after marks: the rows of one order tree, those on one side of the first mark, or the last.

    P/following::Q = { q | first(P) ≺ q }        P/preceding::Q = { q | q ≺ last(P) }

Marks stand in a tree of their own, in the order of the document. When the first or the last of them is another, rows
between the two are let in or left out, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xstreamcast.model.atomic import Item
from xstreamcast.operators.monoid import COUNT
from xstreamcast.plan.algebra import Rank
from xstreamcast.run.continuous.adjust.derived import Derived
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.adjust.ranked import Ranked, Row

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number


class Sided(Ranked):
    """Rows by where they stand among those whose first column is true."""

    def __init__(self, engine: Host, where: Number, rank: Rank) -> None:
        super().__init__(engine, where, rank)
        assert rank.mark is not None
        self.mark = rank.mark
        self.marks: Sequence[int] = Sequence(COUNT)
        self._entries: dict[Row, Entry[int]] = {}
        self._sums = rank.mark.summed is not None and self.column is not None
        """Whether the answer is a sum of what the rows have: nothing need be shown of them."""
        self.amounts: Sequence[int] = Sequence(COUNT)
        self._amounts: dict[Row, Entry[int]] = {}

    def follow(self) -> None:
        if not self._sums:
            super().follow()
            return
        Derived.follow(self)
        self._come.clear()
        self._behind.clear()

    def take(self, members: Iterable[Holder]) -> None:
        members = list(members)
        for row in [row for member in members for row in self.rows.get(member, ())]:
            entry = self._entries.pop(row, None)
            if entry is not None:
                self.marks.remove(entry)
            if self._sums:
                self.amounts.remove(self._amounts.pop(row))
        super().take(members)

    def put(self, members: Iterable[Holder]) -> None:
        members = list(members)
        super().put(members)
        for row in [row for member in members for row in self.rows.get(member, ())]:
            assert row.columns is not None
            if row.columns[0][0]:
                self._entries[row] = self.marks.insert_sorted(Entry(row, 1, row.key))
            if self._sums:
                self._amounts[row] = self.amounts.insert_sorted(Entry(row, len(row.columns[1]), row.key))

    def _border(self) -> Row | None:
        """The last row beside the first mark, or the first one beside the last; None if there is no mark.

        What is in one record with a mark is inside it, or around it.
        """
        if not self.marks.total:
            return None
        end = 0 if self.mark.after else -1
        block = self.marks.root
        while not block.leaf:
            block = block.children[end]
        return self.rows[block.children[end].item.member][-1 - end]

    def _window(self) -> tuple[int, int]:
        count, border = self.order.total, self._border()
        if border is None:
            return (1, count) if self.mark.negated else (1, 0)
        number = self._number(border)
        if self.mark.after:
            return (1, number) if self.mark.negated else (number + 1, count)
        return (number, count) if self.mark.negated else (1, number - 1)

    def value(self) -> list[Item]:
        if self.mark.summed is None:
            return super().value()
        total = self._amount() if self._sums else self.sequence.total
        return self.mark.summed.aggregate.summaries.value(total, lambda: self.engine.fresh(self.where))

    def _amount(self) -> int:
        """How many items the chosen rows have."""
        total, border = self.amounts.total, self._border()
        if border is None:
            chosen = 0
        else:
            entry = self._amounts[border]
            before = self.amounts.before_here(entry)
            chosen = total - before - entry.summary if self.mark.after else before
        return total - chosen if self.mark.negated else chosen

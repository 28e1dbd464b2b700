"""Tuples by number that follow their changes: ``for $x at $i``, ``count $i``, ``reverse``, ``tail``, ``[last()]``.

All rows stand in one order tree, in document order or by their keys; the number of one is told by the counts there.
Those that are chosen stand in another, with what their body gave:

    shown after = shown before − gone − left out by the choice + let in by it

A row behind one that has come or gone is evaluated again where its body shows its number; where as many come as go,
none is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.atomic import Item
from xstreamcast.operators.monoid import COUNT
from xstreamcast.plan.algebra import Rank
from xstreamcast.run.continuous.adjust.collect import Sorting, specs_of
from xstreamcast.run.continuous.adjust.derived import Bodied, Nobody, Part, rows_of
from xstreamcast.run.continuous.adjust.order import Backward, Entry, Sequence
from xstreamcast.run.continuous.associate.standing import neighbour

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number


class Row:
    """A tuple: the values of its columns (None: to be asked for again); what is shown of it, and the number it had
    then."""

    __slots__ = ("columns", "entry", "key", "member", "number", "part", "position")

    def __init__(self, member: Holder, number: int, columns: list[list[Item]] | None, key: Any) -> None:
        self.member = member
        self.number = number
        self.columns = columns
        self.key = key
        self.entry: Entry[int]
        self.part: Part | None = None
        self.position = 0


class Ranked(Bodied):
    """The rows of all members by number."""

    def __init__(self, engine: Host, where: Number, rank: Rank) -> None:
        super().__init__(engine, where)
        self.rank = rank
        self.sorting = Sorting(specs_of(rank.keys, engine.static))
        self.order: Sequence[int] = Sequence(COUNT, home=Nobody)
        self.rows: dict[Holder, list[Row]] = {}
        self._come: dict[Row, None] = {}
        self._behind: dict[Row, None] = {}
        """Rows that stood just behind one that has gone."""
        self._read: list[Row] = []
        """Rows whose columns are there until all has been followed."""
        body = rank.body
        same = isinstance(body, ast.VarRef) and body.name.expanded in rank.columns
        self.column = rank.columns.index(body.name.expanded) if same and isinstance(body, ast.VarRef) else None
        """The column that is all there is to the body."""
        self.compile(body, [*rank.columns, *([] if rank.position is None else [rank.position])])

    # ---------------------------------------------------------------------------------------------- rows

    def follow(self) -> None:
        super().follow()
        first, last = self._window()
        self._leave_out(first, last)
        done = self._let_in(first, last)
        again, self.dirty = self.dirty, {}
        self._show_again([(self._number(row), row) for row in again if row.part is not None and row not in done], done)
        if self.rank.position is not None:
            self._renumber(first, last, done)
        for row in (*self._come, *self._read) if self.engine.asks_again else ():
            row.columns = None
        self._come.clear()
        self._behind.clear()
        self._read.clear()

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            self.faults.pop(member, None)
            for row in self.rows.pop(member, ()):
                following = neighbour(row.entry, 1)
                if following is not None:
                    self._behind[following.item] = None
                self._come.pop(row, None)
                self._behind.pop(row, None)
                self.dirty.pop(row, None)
                self.sorting.drop(row.key)
                self.order.remove(row.entry)
                self._hide(row)

    def put(self, members: Iterable[Holder]) -> None:
        width = len(self.rank.keys)
        for member in members:
            made = []
            for number, values in rows_of(member):
                try:
                    key = self.sorting.key(values[:width], member.place(number))
                except XStreamError as failure:
                    self.faults[member] = failure
                    continue
                row = Row(member, number, values[width:], key)
                row.entry = Entry(row, 1, Backward(key) if self.rank.backward else key)
                self.order.insert_sorted(row.entry)
                self._come[row] = None
                made.append(row)
            if made:
                self.rows[member] = made

    # ------------------------------------------------------------------------------------------- the choice

    def _window(self) -> tuple[int, int]:
        """The first and the last number that are chosen; the second is less than the first where none is."""
        count, chosen = self.order.total, self.rank.chosen
        if chosen is None:
            return 1, count
        if self.rank.from_end:
            return (1 if chosen.last is None else max(count - chosen.last + 1, 1)), count - chosen.first + 1
        return max(chosen.first, 1), count if chosen.last is None else min(chosen.last, count)

    def _leave_out(self, first: int, last: int) -> None:
        while (row := self._end(0)) is not None and self._number(row) < first:
            self._hide(row)
        while (row := self._end(-1)) is not None and self._number(row) > last:
            self._hide(row)

    def _let_in(self, first: int, last: int) -> dict[Row, None]:
        """Show what is chosen now and was not, or is new; those that were evaluated."""
        done: dict[Row, None] = {}
        low, high = self._end(0), self._end(-1)
        if low is None or high is None:
            self._show_again(list(self._from(first, last)), done)
            return done
        begin, end = self._number(low), self._number(high)
        inner = [(number, row) for row in self._come if begin < (number := self._number(row)) < end]
        self._show_again([*self._from(first, begin - 1), *inner, *self._from(end + 1, last)], done)
        return done

    def _show_again(self, some: list[tuple[int, Row]], done: dict[Row, None]) -> None:
        """Some rows are shown, or shown with other numbers."""
        self._fetch([row for _, row in some])
        for number, row in some:
            done[row] = None
            if row.part is not None:
                self._hide(row)
            self._show(row, number)

    def _fetch(self, rows: list[Row]) -> None:
        """The columns of some rows are wanted."""
        missing = [row for row in rows if row.columns is None]
        if missing:
            width = len(self.rank.keys)
            found = self.engine.rows_again(self.where, list(dict.fromkeys([row.member for row in missing])))
            for row in missing:
                row.columns = found[row.member][row.number][width:]
            self._read += missing

    def _renumber(self, first: int, last: int, done: dict[Row, None]) -> None:
        """Rows behind what has come or gone, as far as their numbers are others."""
        reached = 0
        for start in sorted(max(self._number(row), first) for row in (*self._come, *self._behind)):
            if start <= reached:
                continue
            others: list[tuple[int, Row]] = []
            for number, row in self._from(start, last):
                reached = number
                if row not in done:
                    if row.position == number:
                        break
                    others.append((number, row))
            self._show_again(others, done)

    def _number(self, row: Row) -> int:
        return self.order.before(row.entry) + 1

    def _end(self, side: int) -> Row | None:
        """The first or the last row that is shown."""
        block = self.sequence.root
        while not block.leaf:
            block = block.children[side]
        if not block.children:
            return None
        row: Row = block.children[side].item.row
        return row

    def _from(self, first: int, last: int) -> Iterator[tuple[int, Row]]:
        """The rows of some numbers."""
        entry = self.order.find(lambda count: count >= first) if first <= last else None
        number = first
        while entry is not None and number <= last:
            yield number, entry.item
            entry = neighbour(entry, 1)
            number += 1

    # ---------------------------------------------------------------------------------------------- bodies

    def again(self) -> None:
        self.dirty.update(dict.fromkeys(entry.item.row for entry in self.sequence))

    def _hide(self, row: Row) -> None:
        self.faults.pop(row, None)
        self.engine.unask((self, row))
        self.engine.timing.agenda.forget((self, row))
        if row.part is not None:
            self.remove(row.part)
            row.part = None

    def _show(self, row: Row, number: int) -> None:
        """What the body gives for a row, in its place."""
        row.position = number
        found: list[Item] = []
        try:
            found = self._items(row)
        except XStreamError as failure:
            self.faults[row] = failure
        row.part = _Shown(row, found)
        self.insert(row.part)

    def _items(self, row: Row) -> list[Item]:
        assert row.columns is not None
        if self.column is not None:
            return row.columns[self.column]
        values = row.columns if self.rank.position is None else [*row.columns, [row.position]]
        return self.run(row, values, {})

    @property
    def failure(self) -> XStreamError | None:
        return super().failure or self.sorting.failure


class _Shown(Part):
    """A row that is shown; it stands in the order of its row."""

    __slots__ = ("row",)

    def __init__(self, row: Row, outcome: list[Item]) -> None:
        super().__init__(row.member, row.number, outcome, row.entry.key)
        self.row = row

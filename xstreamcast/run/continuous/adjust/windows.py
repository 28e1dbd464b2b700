"""Windows that follow their changes: ``for tumbling window``, ``for sliding window`` (XQuery 3.1 §3.12.4).

All rows stand in one order tree. Of tumbling windows each row knows which is open before it and after it:

    after(k) = step(after(k−1), row k)

so the rows behind a change look again until the same window is open as was: one for what comes at the end. Sliding
windows know their rows, and rows the windows they are in: those that a changed row is in look for their end again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.atomic import Item
from xstreamcast.model.namespaces import FN
from xstreamcast.operators.monoid import COUNT
from xstreamcast.plan.algebra import Windows
from xstreamcast.plan.passes.variables import free
from xstreamcast.run.continuous.adjust.derived import Bodied, Nobody, Part, rows_of
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.associate.standing import neighbour, ordered
from xstreamcast.run.units import plan_name

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import VarName
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number
    from xstreamcast.run.evaluate import Executable

    Test = tuple[Executable, list[VarName]]


class _Row:
    """An item. ``started``: the window that begins with it; ``within``: those that it is in; ``position``: its number
    when it was last looked at. Of tumbling windows, ``before`` and ``after``: the one that is open there."""

    __slots__ = ("after", "before", "entry", "items", "member", "number", "position", "started", "within")

    def __init__(self, member: Holder, number: int, items: list[Item]) -> None:
        self.member = member
        self.number = number
        self.items = items
        self.entry: Entry[int] = Entry(self, 1, member.place(number))
        self.started: _Window | None = None
        self.within: dict[_Window, None] = {}
        self.before: _Window | None = _NOT_SEEN
        self.after: _Window | None = None
        self.position = 0


class _Window:
    """Rows from ``first`` on; ``closed``: the last of them has met the condition of an end."""

    __slots__ = ("closed", "first", "part", "rows")

    def __init__(self, first: _Row | None) -> None:
        self.first = first
        self.rows: list[_Row] = []
        self.closed = False
        self.part: Part | None = None


_NOT_SEEN: Final = _Window(None)


class Windowed(Bodied, ABC):
    """The windows of the rows of all members. ``looks``: rows that must look again; ``stirred``: windows that are, or
    may be, others, with how many of their rows look again or are gone."""

    def __init__(self, engine: Host, where: Number, windows: Windows) -> None:
        super().__init__(engine, where)
        self.windows = windows
        self.order: Sequence[int] = Sequence(COUNT, home=Nobody)
        self.rows: dict[Holder, list[_Row]] = {}
        self.looks: dict[_Row, None] = {}
        self.stirred: dict[_Window, int] = {}
        self._roles: dict[VarName, tuple[bool, str]] = {}
        for end in (windows.start, windows.end):
            for role in ("current", "position", "previous", "next"):
                name: ast.Name | None = None if end is None else getattr(end, role)
                if name is not None:
                    self._roles[name.expanded] = (end is not windows.start, role)
        known = {windows.variable, *self._roles}
        self.compile(windows.body, sorted(free(windows.body) & known))
        self._start = self._tests(windows.start)
        self._end = None if windows.end is None else self._tests(windows.end)

    def _tests(self, condition: ast.WindowCondition) -> Test:
        """The program of a condition, and the variables that it reads."""
        names = sorted(free(condition.when) & self._roles.keys())
        declared = [ast.VariableDecl(plan_name(name), None, None, external=True) for name in names]
        whether = ast.FunctionCall(ast.Name("fn", "boolean", FN), (condition.when,), span=condition.when.span)
        return self.engine.parts.compile(whether, *declared), names

    # ---------------------------------------------------------------------------------------------- rows

    def follow(self) -> None:
        super().follow()
        again, self.dirty = self.dirty, {}
        for who in again:
            if isinstance(who, _Row):
                self.looks[who] = None
            else:
                self.stir([who], 0)
        self.find()
        self.looks.clear()
        stirred, self.stirred = self.stirred, {}
        for window in stirred:
            if window.first is not None and window.first.started is window:
                self._show(window)

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            for row in self.rows.pop(member, ()):
                for beside in _beside(row):
                    self.looks[beside] = None
                self.looks.pop(row, None)
                self.dirty.pop(row, None)
                self.faults.pop(row, None)
                self.stir(row.within)
                if row.started is not None:
                    self.drop(row.started)
                self.order.remove(row.entry)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            made = [_Row(member, number, values[0]) for number, values in rows_of(member)]
            for row in made:
                self.order.insert_sorted(row.entry)
                self.looks[row] = None
                for beside in _beside(row):  # they have another neighbour
                    self.looks[beside] = None
            if made:
                self.rows[member] = made

    def stir(self, windows: Iterable[_Window], rows: int = 1) -> None:
        """Some windows may be others, because of so many of their rows."""
        for window in windows:
            self.stirred[window] = self.stirred.get(window, 0) + rows

    @abstractmethod
    def find(self) -> None:
        """Find the windows that are others because of the rows that look again."""

    def numbers_behind(self) -> Iterator[_Row]:
        """The rows behind those that look again whose numbers are others, where numbers count."""
        first = min(self.looks, key=lambda row: row.entry.key, default=None) if self.windows.numbered else None
        entry = None if first is None else first.entry
        number = 0 if first is None else self.position(first)
        while entry is not None:
            row: _Row = entry.item
            if row.position != number:
                row.position = number
                yield row
            entry = neighbour(entry, 1)
            number += 1

    def position(self, row: _Row) -> int:
        """The number of a row."""
        return self.order.before(row.entry) + 1

    # ------------------------------------------------------------------------------------------ conditions

    def starts(self, row: _Row) -> bool:
        """Whether a window may begin with a row."""
        return self._holds(self._start, row, row, row)

    def ends(self, window: _Window, row: _Row, who: _Row | _Window) -> bool:
        """Whether a window ends with a row."""
        assert self._end is not None
        assert window.first is not None
        return self._holds(self._end, window.first, row, who)

    def _holds(self, test: Test, first: _Row, last: _Row, who: _Row | _Window) -> bool:
        evaluation = self.engine.evaluation
        for name in test[1]:
            evaluation.give(name, self._value(name, first, last))
        self.engine.evaluated += 1
        try:
            return bool(next(evaluation.run(test[0])))
        except XStreamError as failure:
            self.faults[who] = failure
            return False

    def _value(self, name: VarName, first: _Row, last: _Row) -> list[Item]:
        of_end, role = self._roles[name]
        row = last if of_end else first
        if role == "current":
            return row.items
        if role == "position":
            return [self.position(row)]
        beside = neighbour(row.entry, 1 if role == "next" else -1)
        items: list[Item] = [] if beside is None else beside.item.items
        return items

    # ---------------------------------------------------------------------------------------------- windows

    def again(self) -> None:
        self.dirty.update(dict.fromkeys(entry.item for entry in self.order))

    def drop(self, window: _Window) -> None:
        """No window begins there any more."""
        assert window.first is not None
        window.first.started = None
        for row in window.rows:
            row.within.pop(window, None)
        self.stirred.pop(window, None)
        self.dirty.pop(window, None)
        self.hide(window)

    def hide(self, window: _Window) -> None:
        """Nothing is shown of a window."""
        self.faults.pop(window, None)
        self.engine.unask((self, window))
        self.engine.timing.agenda.forget((self, window))
        if window.part is not None:
            self.remove(window.part)
            window.part = None

    def _show(self, window: _Window) -> None:
        """What the body gives for a window, in the place of its first row."""
        failed = self.faults.get(window) if window.part is None else None
        self.hide(window)
        if failed is not None:
            self.faults[window] = failed
        elif window.closed or not self.windows.only_end:
            first, last = window.rows[0], window.rows[-1]
            found: list[Item] = []
            try:
                found = self.run(window, [self._read(name, window, first, last) for name in self.variables], {})
            except XStreamError as failure:
                self.faults[window] = failure
            window.part = Part(first.member, first.number, found, first.entry.key)
            self.insert(window.part)

    def _read(self, name: VarName, window: _Window, first: _Row, last: _Row) -> list[Item]:
        if name == self.windows.variable:
            return ordered([item for row in window.rows for item in row.items])
        return self._value(name, first, last)


class Tumbling(Windowed):
    """Windows of which no two have a row in common."""

    def find(self) -> None:
        self.looks.update(dict.fromkeys(self.numbers_behind()))
        for start in sorted(self.looks, key=lambda row: row.entry.key):
            if start not in self.looks:
                continue  # passed already
            before = neighbour(start.entry, -1)
            open_window: _Window | None = None if before is None else before.item.after
            entry: Entry[int] | None = start.entry
            while entry is not None:
                row: _Row = entry.item
                again = self.looks.pop(row, self) is None
                if not again and row.before is open_window:
                    break
                open_window = self._step(row, open_window, again)
                entry = neighbour(entry, 1)
        for window in self.stirred:
            self._gather(window)

    def _step(self, row: _Row, before: _Window | None, again: bool) -> _Window | None:
        """The window that is open after a row."""
        self.faults.pop(row, None)
        row.before = here = before
        if before is None or self._end is None:
            begins = self.starts(row)
            if row.started is not None and (again or not begins):
                self.drop(row.started)
            if begins:
                here = row.started = row.started or _Window(row)
        elif row.started is not None:
            self.drop(row.started)
        self.stir(row.within)
        row.within = {} if here is None else {here: None}
        self.stir(row.within)
        row.after = here if here is not None and (self._end is None or not self.ends(here, row, row)) else None
        return row.after

    def _gather(self, window: _Window) -> None:
        """The rows of a window, as far as they say that they are in it."""
        window.rows = []
        entry = None if window.first is None or window.first.started is not window else window.first.entry
        while entry is not None and window in entry.item.within:
            window.rows.append(entry.item)
            entry = neighbour(entry, 1)
        window.closed = bool(window.rows) and window.rows[-1].after is not window


class Sliding(Windowed):
    """Windows that begin wherever one may."""

    def find(self) -> None:
        self.looks.update(dict.fromkeys(self.numbers_behind()))
        for row in self.looks:
            self.stir(row.within)
        for row in self.looks:
            self.faults.pop(row, None)
            begins = self.starts(row)
            if row.started is not None and not begins:
                self.drop(row.started)
            elif begins and row.started is None:
                row.started = _Window(row)
                self.stir([row.started])
        for window, count in self.stirred.items():
            if count and window.first is not None and window.first.started is window:
                self._search(window, window.first, count)

    def _search(self, window: _Window, first: _Row, count: int) -> None:
        """The rows of a window up to the one that ends it, from the first of so many on that look again or are gone."""
        self.hide(window)
        rows, keep = window.rows, len(window.rows)
        while keep and count:
            keep -= 1
            count -= rows[keep] in self.looks or rows[keep].entry.block is None
        for row in rows[keep:]:
            row.within.pop(window, None)
        del rows[keep:]
        window.closed = False
        entry = neighbour(rows[-1].entry, 1) if rows else first.entry
        while entry is not None and not window.closed:
            window.rows.append(entry.item)
            entry.item.within[window] = None
            window.closed = self.ends(window, entry.item, window) or window in self.faults
            entry = neighbour(entry, 1)


def _beside(row: _Row) -> list[_Row]:
    """The rows just before and behind one."""
    found = [neighbour(row.entry, step) for step in (-1, 1)]
    return [entry.item for entry in found if entry is not None]

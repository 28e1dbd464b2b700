"""⋈ in time: the rows of a unit by their lifespans, and who has asked for which interval.

    B?[f($a), g($a)]  =  G(f($a), g($a))?[f($a), g($a)]

G finds the rows that live in an interval, besides the keys of an equation if there are any; it may find some more, for
the projection is made of what it finds. When a row comes or goes, those look again whose interval meets its life, and
no others: an event of one stream wakes what is near it in time in the other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.time import NOW, START, Instant
from xstreamcast.model.tree import Node
from xstreamcast.run.continuous.adjust.derived import Derived
from xstreamcast.run.continuous.adjust.lookup import ALL, REGIME, Key, Lookup, Row, in_order
from xstreamcast.run.temporal import VT_FROM, instant_in, lifespan, timed

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Group
    from xstreamcast.run.continuous.adjust.host import Asker, Holder, Host
    from xstreamcast.run.continuous.related import Number

Span = tuple[Instant, Instant]
"""From and to, both ends taken as closed."""
Held = TypeVar("Held")
_AT_ALL: Final[Span] = START, NOW


class Spans(Generic[Held]):
    """Things by intervals, found by an interval that they meet.

    Sorted by their begins; ``_longest`` bounds how far back one can begin. What begins with time or lasts is apart.
    """

    def __init__(self) -> None:
        self._sorted: list[tuple[Instant, int, Instant]] = []
        self._open: dict[int, Span] = {}
        self._held: dict[int, Held] = {}
        self._longest = 0
        self._last = 0

    def __bool__(self) -> bool:
        return bool(self._held)

    def add(self, span: Span, held: Held) -> int:
        """Put a thing in; the number to take it out by."""
        self._last += 1
        begin, end = span
        if begin == START or end == NOW:
            self._open[self._last] = span
        else:
            insort(self._sorted, (begin, self._last, end))
            self._longest = max(self._longest, end - begin)
        self._held[self._last] = held
        return self._last

    def remove(self, span: Span, number: int) -> None:
        """Take a thing out."""
        del self._held[number]
        if self._open.pop(number, None) is None:
            del self._sorted[bisect_left(self._sorted, (span[0], number))]

    def meeting(self, span: Span) -> Iterator[Held]:
        """The things whose intervals meet one."""
        begin, end = span
        for number, (first, last) in self._open.items():
            if first <= end and last >= begin:
                yield self._held[number]
        low = 0 if begin == START else bisect_left(self._sorted, (begin - self._longest, 0))
        high = len(self._sorted) if end == NOW else bisect_right(self._sorted, (end, self._last + 1))
        for at in range(low, high):
            _, number, last = self._sorted[at]
            if last >= begin:
                yield self._held[number]


class Coincidence(Lookup):
    """A look-up whose function takes an interval behind the keys."""

    _inside = 0
    """How many rows have something timed inside, so that a projection may have other keys than they have."""

    def __init__(self, engine: Host, where: Number, group: Group) -> None:
        super().__init__(engine, where, group)
        self._function = [FunctionItem(None, self.width + 2, self._ask)]
        self._lives: dict[Key, Spans[Row]] = {}
        self._numbers: dict[Row, dict[Key, int]] = {}
        self._intervals: dict[Key, Spans[Asker]] = {}
        self._asked: dict[tuple[Key, Asker], list[tuple[Span, int]]] = {}
        self._changed: list[tuple[Key, Span]] = []

    # ---------------------------------------------------------------------------------------------- rows

    def follow(self) -> None:
        self._totals.clear()
        self._changed.clear()
        Derived.follow(self)
        now = self._now()
        if now != self._regime:
            self._regime = now
            woken = dict.fromkeys([asker for askers in self.askers.values() for asker in askers])
        else:
            woken = {}
            for key, span in self._changed:
                intervals = self._intervals.get(key)
                if intervals is not None:
                    woken.update(dict.fromkeys(intervals.meeting(span)))
        for asker in woken:
            self.engine.wake(asker)

    def take(self, members: Iterable[Holder]) -> None:
        members = list(members)
        for row in [row for member in members for row in self.rows.get(member, ())]:
            span = _life(row)
            self._inside -= _timed_inside(row)
            for key, number in self._numbers.pop(row).items():
                self._lives[key].remove(span, number)
                if not self._lives[key]:
                    del self._lives[key]
                self._changed.append((key, span))
        super().take(members)

    def _row(self, member: Holder, number: int, columns: list[list[Item]]) -> Row:
        row = super()._row(member, number, columns)
        span = _life(row)
        numbers = self._numbers[row] = {}
        self._inside += _timed_inside(row)
        for key in dict.fromkeys((*row.entries, ALL)):
            numbers[key] = self._lives.setdefault(key, Spans()).add(span, row)
            self._changed.append((key, span))
        return row

    def _now(self) -> object:
        return super()._now(), bool(self._inside)

    # ---------------------------------------------------------------------------------------------- asking

    def _ask(self, args: list[list[Item]]) -> list[Item]:
        *given, begin, end = args
        values = [atomize(arg) for arg in given]
        if not all(values):
            self._note(REGIME)
            self._fail()
            return []
        span = _bound(begin, START), _bound(end, NOW)
        forms = [[self._form(k, value) for value in column] for k, column in enumerate(values)]
        found_by_key = not self._inside and all(form is not None for column in forms for form in column)
        keys: list[Key] = list(product(*forms)) if found_by_key else [ALL]
        for key in keys:
            self._note_interval(key, span)
        self._fail()
        found = {id(row): row for key in keys if key in self._lives for row in self._lives[key].meeting(span)}
        self.compared += len(found)
        return self._reduced(in_order(found.values()))

    def _note_interval(self, key: Key, span: Span) -> None:
        asker = self.engine.asking
        if asker is not None and span[0] <= span[1]:
            number = self._intervals.setdefault(key, Spans()).add(span, asker)
            self._asked.setdefault((key, asker), []).append((span, number))
        self._note(key)

    def unask(self, key: Key, asker: Any) -> None:
        for span, number in self._asked.pop((key, asker), ()):
            intervals = self._intervals[key]
            intervals.remove(span, number)
            if not intervals:
                del self._intervals[key]
        super().unask(key, asker)


def _life(row: Row) -> Span:
    """When a row's version or event lives; a projection takes no other out, whatever is in it."""
    (item,) = row.items
    if not isinstance(item, Node) or not timed(item):
        return _AT_ALL
    span = lifespan(item)
    return span.begin, span.end


def _timed_inside(row: Row) -> bool:
    (item,) = row.items
    return isinstance(item, Node) and any(
        item[0].has_descendant(child[1], VT_FROM) for child in item.children() if child.kind == ELEMENT
    )


def _bound(items: list[Item], otherwise: Instant) -> Instant:
    """A bound of an interval that is asked for; where it is none, who projects will say so."""
    try:
        found = instant_in(items, "a bound")
    except XStreamError:
        return otherwise
    return otherwise if found is None else found

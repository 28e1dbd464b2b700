"""⋈ by order: the rows of a unit sorted by a key, and who has asked for those below or above what.

    E[key < e($a)]  =  G(e($a))            G's rows in the order of their least key

A general comparison holds of a row if it does of its least key (its greatest, for ``>``) and the greatest value (the
least) that is asked for. So what is asked for is the beginning of a sequence, its count or sum is found in O(log n),
and when a row comes or goes, those look again whose bound lets it in, or, of ``exists``, those between the first row
that was and the first that is. There may be equations besides: then each of their keys has such sequences.

By which order keys compare is decided by the types of both sides, as in :mod:`~xstreamcast.run.continuous.adjust.
lookup`: texts as texts, numbers as doubles, exact numbers among each other as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from itertools import product
from math import inf
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.compare import PAIR
from xstreamcast.model.convert import atomize
from xstreamcast.model.lexical import parse_double
from xstreamcast.operators.monoid import COUNT
from xstreamcast.plan.algebra import Reduce
from xstreamcast.run.continuous.adjust.derived import Derived
from xstreamcast.run.continuous.adjust.lookup import (
    ALL,
    NUMBER,
    NUMBERS,
    TEXT,
    TEXTS,
    Key,
    Lookup,
    Row,
    in_order,
    keys_of,
    kind_of,
    number_of,
)
from xstreamcast.run.continuous.adjust.order import Backward, Entry, Sequence
from xstreamcast.run.continuous.associate.standing import neighbour

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Group
    from xstreamcast.run.continuous.adjust.host import Asker, Holder, Host
    from xstreamcast.run.continuous.related import Number

EXACT: Final = "exact"
"""The order of numbers that are no doubles, among each other."""
_RELATIONS: Final = {"<": (lt, "lt"), "<=": (le, "le"), ">": (gt, "gt"), ">=": (ge, "ge")}
"""Sums that do not mind the order of their rows."""
Bound = tuple[str, Any]
"""By which order, and up to where."""


class Ranged(Lookup):
    """A look-up whose last argument bounds the last key."""

    def __init__(self, engine: Host, where: Number, group: Group) -> None:
        self._exact: Counter[bool] = Counter()
        """How many keys are exact numbers, and how many are not."""
        super().__init__(engine, where, group)
        self._admits, name = _RELATIONS[group.relation]
        self._pair: Callable[[Item, Item], bool] = PAIR[name]
        self._backward = group.relation in (">", ">=")
        self._there = isinstance(self.inner, Reduce) and self.inner.aggregate.weak
        self._counted = isinstance(self.inner, Reduce) and self.inner.function == "count"
        self._bounds: dict[Key, Sequence[int]] = {}
        """Who has asked, sorted so that those whose bounds let a row in come first."""
        self._asked: dict[tuple[Key, Asker], list[Entry[int]]] = {}
        self._changed: dict[Key, list[tuple[Any, int]]] = {}
        """Of each group the keys of rows that have come or gone, with how many items more that is."""
        self._first: dict[Key, Any] = {}
        """Of each of these groups, the key of the first row that was."""

    # ---------------------------------------------------------------------------------------------- rows

    def follow(self) -> None:
        self._totals.clear()
        self._changed.clear()
        self._first.clear()
        self._epoch = None
        Derived.follow(self)
        now = self._now()
        if now != self._regime:
            self._regime = now
            woken = dict.fromkeys([asker for askers in self.askers.values() for asker in askers])
        else:
            woken = dict.fromkeys(self.askers.get(ALL, ()) if self._totals else ())
            for key in self._changed:
                if key in self._bounds:
                    woken.update(dict.fromkeys([entry.item for entry in self._met(key)]))
        for asker in woken:
            self.engine.wake(asker)

    def _met(self, key: Key) -> Iterator[Entry[int]]:
        """Those who have asked for a group and find another one."""
        bounds = self._bounds[key]
        if self._there:
            first = [self._first[key], self._first_of(key)]
            known = sorted([at for at in first if at is not None])
            if len(known) == 2 and not known[0] < known[1]:
                return
            if known:
                yield from self._between(bounds, known[0], known[1] if len(known) == 2 else None)
            return
        changed = sorted(self._changed[key], key=lambda change: change[0])
        if not self._counted:
            yield from self._between(bounds, changed[0][0], None)
            return
        more = 0
        for number, (at, items) in enumerate(changed):
            more += items
            if more:
                beyond = changed[number + 1][0] if number + 1 < len(changed) else None
                yield from self._between(bounds, at, beyond)

    def _between(self, bounds: Sequence[int], at: Any, beyond: Any) -> Iterator[Entry[int]]:
        """Those whose bounds let one key in and not another, which is further on."""
        entry = bounds.first_after(lambda bound: beyond is not None and self._lets_in(bound.key, beyond))
        while entry is not None and self._lets_in(entry.key.key, at):
            yield entry
            entry = neighbour(entry, 1)

    def _lets_in(self, bound: Any, at: Any) -> bool:
        """Whether a row sorted by a key is among those that are asked for with a bound."""
        if self._backward:
            return bool(self._admits(at.key, bound.key))
        return bool(self._admits(at, bound))

    def _first_of(self, key: Key) -> Any:
        group = self.groups.get(key)
        entry = None if group is None else group.first_after(lambda _: False)
        return None if entry is None else entry.key

    def take(self, members: Iterable[Holder]) -> None:
        members = list(members)
        for row in [row for member in members for row in self.rows.get(member, ())]:
            self._exact.subtract(map(_is_exact, row.keys[-1]))
            for key, entry in row.entries.items():
                self._note_change(key, entry.key, -self._size(row))
        super().take(members)

    def _places(self, row: Row) -> Iterable[tuple[Key, Any]]:
        *columns, last = row.keys
        self._exact.update(map(_is_exact, last))
        found = keys_of(columns)
        for order, at in self._ends(last, least=not self._backward):
            for key in found:
                place = (*key, (order, None))
                self._note_change(place, at, self._size(row))
                yield place, at

    def _note_change(self, key: Key, at: Any, more: int) -> None:
        if key not in self._changed:
            self._first[key] = self._first_of(key)
        self._changed.setdefault(key, []).append((at, more))

    def _size(self, row: Row) -> int:
        return int(row.summary) if self._counted else 0

    def _ends(self, values: list[Item], least: bool) -> Iterator[Bound]:
        """The least, or the greatest, of some values in each of the orders."""
        texts = [str(value) for value in values if kind_of(value) in TEXTS]
        numbers = [_double(value) for value in values if kind_of(value) in NUMBERS]
        exact = [value for value in values if _is_exact(value)]
        for order, known in ((TEXT, texts), (NUMBER, [n for n in numbers if n == n]), (EXACT, exact)):
            if known:
                end = min(known) if least else max(known)
                yield order, Backward(end) if self._backward else end

    def _now(self) -> object:
        return super()._now(), bool(self._exact[True]), bool(self._exact[False])

    # ---------------------------------------------------------------------------------------------- asking

    def _ask(self, args: list[list[Item]]) -> list[Item]:
        values = [atomize(arg) for arg in args]
        if not all(values):
            return self._nothing()
        *columns, bounds = values
        forms = [[self._form(k, value) for value in column] for k, column in enumerate(columns)]
        order = self._order(bounds)
        if order is None or any(form is None for column in forms for form in column):
            return self._one_by_one(values)
        bound = dict(self._ends(bounds, least=self._backward)).get(order)
        if bound is None:  # NaN
            return self._nothing()
        keys: list[Key] = [(*key, (order, None)) for key in product(*forms)]
        for key in keys:
            self._note_bound(key, bound)
        self._fail()
        for row, failure in self._odd.items():
            if any(key in row.entries and self._lets_in(bound, row.entries[key].key) for key in keys):
                raise failure
        if len(keys) == 1 and isinstance(self.inner, Reduce) and self.inner.aggregate.undoes:
            group = self.groups.get(keys[0])
            total = self.monoid.zero if group is None else group.total_while(lambda at: self._lets_in(bound, at))
            return self.inner.aggregate.summaries.value(total, self._fresh)
        found = {id(entry.item): entry.item for key in keys for entry in self._until(key, bound)}
        return self._reduced(in_order(found.values()))

    def _until(self, key: Key, bound: Any) -> Iterator[Entry[Any]]:
        for entry in self.groups.get(key, ()):
            if not self._lets_in(bound, entry.key):
                return
            yield entry

    def _order(self, values: list[Item]) -> str | None:
        """The order by which the rows compare with values; None: they are compared one by one."""
        kinds = self.kinds[-1].keys()
        asked = set(map(kind_of, values))
        if asked <= TEXTS:
            if kinds <= TEXTS:
                return TEXT
            untyped = all(type(value) is Untyped and number_of(value) is not None for value in values)
            return NUMBER if untyped and kinds == {NUMBER} else None
        if asked != {NUMBER} or not kinds <= NUMBERS:
            return None
        exact = set(map(_is_exact, values))
        if True not in exact or not self._exact[True]:
            return NUMBER
        return EXACT if exact == {True} and not self._exact[False] else None

    def _matches(self, row: Row, values: list[list[Item]]) -> bool:
        *keys, last = row.keys
        *columns, bounds = values
        for known, column in zip(keys, columns, strict=True):
            equal = [PAIR["eq"](key, value) for key in known for value in column]
            if True not in equal:
                return False
        return True in [self._pair(key, bound) for key in last for bound in bounds]

    def _note_bound(self, key: Key, bound: Any) -> None:
        asker = self.engine.asking
        if asker is not None:
            bounds = self._bounds.get(key)
            if bounds is None:
                bounds = self._bounds[key] = Sequence(COUNT)
            entry = bounds.insert_sorted(Entry(asker, 1, Backward(bound)))
            self._asked.setdefault((key, asker), []).append(entry)
        self._note(key)

    def unask(self, key: Key, asker: Any) -> None:
        for entry in self._asked.pop((key, asker), ()):
            bounds = self._bounds[key]
            bounds.remove(entry)
            if not bounds.total:
                del self._bounds[key]
        super().unask(key, asker)


def _is_exact(value: Item) -> bool:
    return isinstance(value, int | Decimal) and kind_of(value) == NUMBER


def _double(value: Item) -> float:
    """A number, or an untyped value that is one, as a double."""
    if isinstance(value, Untyped):
        return parse_double(value)
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf

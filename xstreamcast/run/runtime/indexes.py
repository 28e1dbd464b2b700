"""Indexes that joins build once and look up many times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.compare import NAN_KEY, PAIR, hash_key
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import NUMERIC

_pair_eq = PAIR["eq"]
_HASHED_NUMBERS: Final = NUMERIC.classes - {Float}
"""Numbers for which ``eq`` is transitive."""


class ValueIndex:
    """Items by the values of a key expression, for general ``=``.

    Untyped and string keys are found by their text. What a look-up of another type needs (numbers against untyped
    keys) is made when it is first asked for; anything else falls back on comparing with every key.
    """

    __slots__ = ("_numbers", "_others", "_texts", "comparisons", "items")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._texts: dict[str, list[int]] = {}
        self._others: list[tuple[Item, int]] = []
        self._numbers: dict[float, list[int]] | None = None
        self.comparisons = 0  # pairs compared one by one, for tests

    def add_text(self, key: str) -> None:
        """An untyped key of the item appended last."""
        number = len(self.items) - 1
        rows = self._texts.get(key)
        if rows is None:
            self._texts[key] = [number]
        elif rows[-1] != number:
            rows.append(number)

    def add(self, key: Item) -> None:
        """A key of any atomic type."""
        if type(key) is Untyped:
            self.add_text(key)
        else:
            self._others.append((key, len(self.items) - 1))

    def matches(self, values: list[Item]) -> list[Item]:
        """The items with a key equal to one of the values, in order."""
        items = self.items
        if len(values) == 1:
            return [items[row] for row in self._rows(values[0])]
        found: set[int] = set()
        for value in values:
            found.update(self._rows(value))
        return [items[row] for row in sorted(found)]

    def _rows(self, value: Item) -> list[int]:
        kind = type(value)
        if not self._others:
            if kind is Untyped or kind is str:
                return self._texts.get(value, [])
            if kind in NUMERIC.classes:
                return self._by_number().get(float(value), [])
        elif not self._texts and kind is str and all(type(key) is str for key, _ in self._others):
            for key, row in self._others:
                self._texts.setdefault(key, []).append(row)
            self._others = []
            return self._texts.get(value, [])
        self.comparisons += len(self._texts) + len(self._others)
        found = {row for key, row in self._others if _pair_eq(key, value)}
        for text, rows in self._texts.items():
            if _pair_eq(Untyped(text), value):
                found.update(rows)
        return sorted(found)

    def _by_number(self) -> dict[float, list[int]]:
        if self._numbers is None:
            numbers: dict[float, set[int]] = {}
            for text, rows in self._texts.items():
                number = parse_double(text)
                if number == number:
                    numbers.setdefault(number, set()).update(rows)
            self._numbers = {number: sorted(rows) for number, rows in numbers.items()}
        return self._numbers


class ValueSet:
    """The values of one side of general ``=`` that stays the same while the other varies: is one of them equal?

    Texts and numbers are found by hashing. What else there is, and what has to fail, is compared pair by pair: true if
    some pair is equal, else the first error.
    """

    __slots__ = ("_doubles", "_equals", "_numbers", "_others", "strings", "untyped")

    def __init__(self) -> None:
        self.untyped: dict[str, None] = {}
        self.strings: dict[str, None] = {}
        self._numbers: dict[Any, Item] = {}
        self._equals: list[Item] = []
        self._others: list[Item] = []
        self._doubles: tuple[set[float], list[Untyped]] | None = None

    def add(self, value: Item) -> None:
        """A value of any atomic type; untyped and string ones may also be put in directly."""
        kind = type(value)
        if kind is Untyped:
            self.untyped[str(value)] = None
        elif kind is str:
            self.strings[value] = None
        elif kind in _HASHED_NUMBERS:
            # NaN too: it equals nothing, but there is what it does not compare with.
            held = self._numbers.setdefault(hash_key(value), value)
            if type(held) is not kind:
                self._equals.append(value)  # the decimal 0.1 beside the double: to an xs:float they are two
        else:
            self._others.append(value)

    def has(self, value: Item) -> bool:
        """Whether one of the values equals this one."""
        kind = type(value)
        rest: Iterable[Item]
        if kind is Untyped or kind is str:
            if value in self.untyped or value in self.strings:
                return True
            rest = self._others
            if self._numbers:
                double = _double(value) if kind is Untyped else None
                if double is None:
                    rest = [*rest, next(iter(self._numbers.values()))]  # any will do: it fails
                elif double == double and hash_key(double) in self._numbers:
                    return True
        elif kind in _HASHED_NUMBERS:
            doubles, failing = self._as_doubles()
            key = hash_key(value)
            if key is not NAN_KEY and (key in self._numbers or key in doubles):
                return True
            rest = (*self._others, *self.strings, *failing)
        else:
            rest = (*self._others, *map(Untyped, self.untyped), *self.strings, *self._numbers.values(), *self._equals)
        return any(_pair_eq(value, other) for other in rest)

    def _as_doubles(self) -> tuple[set[float], list[Untyped]]:
        """The untyped values as they are compared with numbers, and one that cannot be, if there is any."""
        if self._doubles is None:
            doubles, failing = set(), []
            for text in self.untyped:
                double = _double(text)
                if double is None:
                    failing = [Untyped(text)]
                else:
                    doubles.add(double)
            self._doubles = doubles, failing
        return self._doubles


def _double(text: str) -> float | None:
    try:
        return parse_double(text)
    except XStreamError:
        return None


class RangeIndex:
    """Items by numbers, for ``<`` and its kin: a binary search per look-up."""

    __slots__ = ("_keys", "_met", "_rows", "_unsorted", "items")

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._unsorted: list[tuple[float, int]] = []
        self._keys: list[Any] | None = None
        self._rows: list[int] = []
        self._met = False
        """Whether there is a key at all: what meets none need not be a number."""

    def add(self, key: Item) -> None:
        self._met = True
        number = parse_double(key) if type(key) is Untyped else float(key)
        if number == number:  # NaN compares with nothing
            self._unsorted.append((number, len(self.items) - 1))

    def _span(self, op: str, values: list[Item]) -> tuple[int, int]:
        """The stretch of sorted keys k with ``v op k`` for some of the values v."""
        if not self._met:
            return 0, 0
        if self._keys is None:
            self._unsorted.sort()
            self._keys = [key for key, _ in self._unsorted]
            self._rows = [row for _, row in self._unsorted]
        numbers = [parse_double(value) if type(value) is Untyped else float(value) for value in values]
        numbers = [number for number in numbers if number == number]
        if not numbers:
            return 0, 0
        keys = self._keys
        if op == "lt":
            return bisect_right(keys, min(numbers)), len(keys)
        if op == "le":
            return bisect_left(keys, min(numbers)), len(keys)
        if op == "gt":
            return 0, bisect_left(keys, max(numbers))
        return 0, bisect_right(keys, max(numbers))

    def matches(self, op: str, values: list[Item]) -> list[Item]:
        first, end = self._span(op, values)
        items = self.items
        return [items[row] for row in sorted(set(self._rows[first:end]))]

    def count(self, op: str, values: list[Item]) -> int:
        first, end = self._span(op, values)
        if len(self._rows) == len(self.items):  # one key each: no item can match twice
            return end - first
        return len(set(self._rows[first:end]))

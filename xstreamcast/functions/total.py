"""The state of fn:sum and fn:avg: a multiset of atomic values, as far as its sum is concerned.

F&O 3.1 §14.4.5 adds the values in any order, two at a time, promoting integer → decimal → float → double. Of all these
orders one is taken here, always the same: first what is exact (integers and decimals, to one exact number), then that
number, promoted once, with the floats or doubles, exactly, and rounded once. So the sum depends on the values alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from math import copysign, fsum
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.arithmetic import EXACT, add, as_double, divide, subtract
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.datetime import DayTimeDuration, YearMonthDuration
from xstreamcast.model.exact import ExactSum
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import NUMERIC, describe

_SUMMED: Final = (DayTimeDuration, YearMonthDuration)


def _refused(value: Item, asker: str) -> XStreamError:
    return error(
        "FORG0006", f"{asker}: {describe(value)} cannot be added", hint="numbers can, or durations of one ordered type"
    )


class Total:
    """What is left of values that were added (and removed): enough for their sum and their average.

    Most are of one kind: ``floats`` and ``doubles`` are None until there are any.

    >>> partial, other = Total(), Total()
    >>> partial.add_many([1, Decimal("2.5")]); other.add_many([Untyped("4"), 0.25])
    >>> partial.merge(other)
    >>> partial.sum(), partial.average()
    (7.75, 1.9375)
    >>> partial.remove_many([Untyped("4"), 0.25])
    >>> partial.sum()
    Decimal('3.5')
    """

    __slots__ = ("asker", "decimal", "decimals", "doubles", "duration", "durations", "floats", "integer", "integers")

    def __init__(self, asker: str = "fn:sum") -> None:
        self.asker = asker
        self.integer = 0
        self.integers = 0
        self.decimal = Decimal(0)
        self.decimals = 0
        self.floats: ExactSum | None = None
        self.doubles: ExactSum | None = None
        self.duration: Item | None = None
        self.durations = 0

    def copied(self) -> Total:
        """The same, to be changed apart."""
        made = Total.__new__(Total)
        made.asker, made.integer, made.integers = self.asker, self.integer, self.integers
        made.decimal, made.decimals = self.decimal, self.decimals
        made.floats = None if self.floats is None else self.floats.copied()
        made.doubles = None if self.doubles is None else self.doubles.copied()
        made.duration, made.durations = self.duration, self.durations
        return made

    @property
    def count(self) -> int:
        return self.integers + self.decimals + _count(self.floats) + _count(self.doubles) + self.durations

    def add_many(self, values: Iterable[Item]) -> None:
        self._put(values, 1)

    def remove_many(self, values: Iterable[Item]) -> None:
        """Take back values that were added."""
        self._put(values, -1)

    def _put(self, values: Iterable[Item], sign: int) -> None:
        doubles: list[float] = []
        floats: list[float] = []
        for value in values:
            kind = type(value)
            if kind is Untyped:
                doubles.append(parse_double(value))
            elif kind is float:
                doubles.append(value)
            elif kind is int:
                self.integer += sign * value
                self.integers += sign
            elif kind in NUMERIC.classes:
                if kind is Decimal:
                    self.decimal = EXACT.add(self.decimal, value if sign > 0 else EXACT.minus(value))
                    self.decimals += sign
                elif kind is Float:
                    floats.append(value)
                else:  # a type derived from integer
                    self.integer += sign * int(value)
                    self.integers += sign
            else:
                self._put_duration(value, sign)
        if doubles:
            self.doubles = _with(self.doubles, doubles, sign)
        if floats:
            self.floats = _with(self.floats, floats, sign)
        if self.durations:
            self._agree()

    def _put_duration(self, value: Item, sign: int) -> None:
        if type(value) not in _SUMMED or (self.duration is not None and type(value) is not type(self.duration)):
            raise _refused(value, self.asker)
        if self.duration is None:
            self.duration = subtract(value, value)
        self.duration = add(self.duration, value) if sign > 0 else subtract(self.duration, value)
        self.durations += sign
        if not self.durations:
            self.duration = None

    def _agree(self) -> None:
        """Numbers and durations do not add."""
        if self.count > self.durations:
            raise _refused(self.duration, self.asker)

    def merge(self, other: Total) -> None:
        """Total(A ⊎ B) = Total(A) + Total(B)"""
        self.integer += other.integer
        self.integers += other.integers
        if other.decimals:
            self.decimal = EXACT.add(self.decimal, other.decimal)
            self.decimals += other.decimals
        self.floats = _merged(self.floats, other.floats)
        self.doubles = _merged(self.doubles, other.doubles)
        if other.duration is not None:
            if self.duration is not None and type(other.duration) is not type(self.duration):
                raise _refused(other.duration, self.asker)
            self.duration = other.duration if self.duration is None else add(self.duration, other.duration)
            self.durations += other.durations
        if self.durations:
            self._agree()

    def unmerge(self, other: Total) -> None:
        """Total(A ∖ B) = Total(A) − Total(B), where B is part of A."""
        self.integer -= other.integer
        self.integers -= other.integers
        if other.decimals:
            self.decimal = EXACT.subtract(self.decimal, other.decimal)
            self.decimals -= other.decimals
        if other.floats is not None and self.floats is not None:
            self.floats.unmerge(other.floats)
        if other.doubles is not None and self.doubles is not None:
            self.doubles.unmerge(other.doubles)
        if other.durations:
            self.durations -= other.durations
            self.duration = subtract(self.duration, other.duration) if self.durations else None

    def sum(self, zero: Item | None = 0) -> Item | None:
        """fn:sum; ``zero`` where there is nothing."""
        if not self.count:
            return zero
        if self.durations:
            return self.duration
        exact: int | Decimal = EXACT.add(self.decimal, Decimal(self.integer)) if self.decimals else self.integer
        doubles = _count(self.doubles)
        if not doubles and not _count(self.floats):
            return exact
        if doubles == self.count and self.doubles is not None:
            return self.doubles.value()
        whole = ExactSum()
        for part in (self.doubles, self.floats):
            if part is not None:
                whole.merge(part)
        if self.integers or self.decimals:
            whole.add(as_double(exact) if doubles else Float(as_double(exact)))
        return whole.value() if doubles else Float(whole.value())

    def result(self) -> Item | None:
        """What was asked for."""
        return self.average() if self.asker == "fn:avg" else self.sum()

    def average(self) -> Item | None:
        """fn:avg: the sum divided by the count."""
        return divide(self.sum(), self.count) if self.count else None


def _count(some: ExactSum | None) -> int:
    return 0 if some is None else some.count


def _with(some: ExactSum | None, values: list[float], sign: int) -> ExactSum:
    """Some and these values, or without them."""
    made = ExactSum() if some is None else some
    (made.add_many if sign > 0 else made.remove_many)(values)
    return made


def _merged(some: ExactSum | None, more: ExactSum | None) -> ExactSum | None:
    if more is None:
        return some
    if some is None:
        return more.copied()
    some.merge(more)
    return some


def double_sum(values: list[Any]) -> float:
    """The sum of doubles, as :class:`ExactSum` has it, but in one go."""
    try:
        found = fsum(values)
    except (ValueError, OverflowError):  # infinities of both signs; an overflow, perhaps of a partial sum alone
        return ExactSum(values).value()
    if found == 0.0 and values and all(copysign(1.0, value) < 0 for value in values):
        return -0.0
    return found

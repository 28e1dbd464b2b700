"""What values come to that come and go: counts, exact totals, the least and the greatest.

    value(A ∖ old ⊎ new)   of   value(A), old, new

An accumulator is changed in place. What a record adds is its *contribution*: how many items it has, or their values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Untyped

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.operators.aggregates import Aggregate
    from xstreamcast.operators.state import State

_COMPARED: Final = (Untyped, str, int, float, Decimal)
"""The types of values of which the least and the greatest are accumulated."""


class Accumulator(ABC):
    """Contributions of records, together."""

    @abstractmethod
    def adjust(self, gone: list[Any], come: list[Any]) -> None:
        """Some contributions are there no more, others are."""

    @property
    @abstractmethod
    def summary(self) -> Any:
        """What :class:`~xstreamcast.operators.aggregates.Aggregate` makes a value of; it is not to be changed."""


class Counting(Accumulator):
    """count, exists, empty: how many items there are."""

    def __init__(self) -> None:
        self.total = 0

    def adjust(self, gone: list[int], come: list[int]) -> None:
        self.total += sum(come) - sum(gone)

    @property
    def summary(self) -> int:
        return self.total


class Totalling(Accumulator):
    """sum, avg: exact, and rounded once."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.total = Total(f"fn:{aggregate.name}")

    def adjust(self, gone: list[list[Item]], come: list[list[Item]]) -> None:
        if gone:
            self.total.remove_many(chain.from_iterable(gone))
        if come:
            self.total.add_many(chain.from_iterable(come))

    @property
    def summary(self) -> Total | None:
        return self.total if self.total.count else None


class Extremes(Accumulator):
    """min, max: how often each value is there. The best is known until it is gone for the last time, and then found
    again among those that are left."""

    def __init__(self, fresh: Callable[[], State]) -> None:
        self.values: Counter[Item] = Counter()
        self._fresh = fresh
        self._best: State | None = None

    def adjust(self, gone: list[list[Item]], come: list[list[Item]]) -> None:
        fewer, more = Counter(chain.from_iterable(gone)), Counter(chain.from_iterable(come))
        self.values.update(more)
        self.values.subtract(fewer)
        lost = [value for value in fewer if not self.values[value]]
        for value in lost:
            del self.values[value]
        if self._best is not None and any(map(self._is_best, lost)):
            self._best = None
        if self._best is not None and more:
            self._best.add(list(more))

    def _is_best(self, value: Item) -> bool:
        return self._best is not None and self._value([value]).value() == self._best.value()

    def _value(self, values: Iterable[Item]) -> State:
        state = self._fresh()
        state.add(list(values))
        return state

    @property
    def summary(self) -> State | None:
        if not self.values:
            self._best = None
            return None
        if self._best is None:
            self._best = self._value(self.values)
        return self._best


def accumulates(aggregate: Aggregate) -> bool:
    """Whether there is an accumulator for it."""
    return aggregate.undoes or aggregate.name in ("min", "max")


def accumulator_of(aggregate: Aggregate, fresh: Callable[[], State]) -> Accumulator:
    """For what comes and goes; ``fresh`` gives a state that has taken in nothing."""
    if aggregate.counts:
        return Counting()
    return Totalling(aggregate) if aggregate.undoes else Extremes(fresh)


def are_compared(values: Iterable[Item]) -> bool:
    """Whether the least of some values does not depend on where they stand: they are of one type, and none is NaN."""
    kinds = {type(value) for value in values}
    return len(kinds) < 2 and kinds <= {*_COMPARED} and all(value == value for value in values)

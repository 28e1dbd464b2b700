"""The state of each reduction of a plan: the items themselves, some of them, a fold, an aggregate, groups of these."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import TYPE_CHECKING

from xstreamcast.model.atomic import Item
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.tree import Node
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Concat, Fold, Group, Reduce, Reduction, Slice

if TYPE_CHECKING:
    from xstreamcast.functions.context import DynamicContext

__all__ = ["Collected", "Folded", "Kept", "Sliced", "state_of"]


class Kept(State):
    """∪: the items themselves."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def add(self, items: list[Item]) -> None:
        self.items.extend(items)

    def merge(self, other: State) -> None:
        assert isinstance(other, Kept)
        self.items.extend(other.items)

    def value(self) -> list[Item]:
        return self.items

    def copied(self) -> Kept:
        made = Kept()
        made.items = list(self.items)
        return made


class Sliced(State):
    """Items ``first`` to ``last``; ``seen`` counts those that went by."""

    def __init__(self, first: int, last: int | None) -> None:
        self.first = max(first, 1)
        self.last = last
        self.seen = 0
        self.items: list[Item] = []
        self.settled = last is not None and last < self.first

    @property
    def wanted(self) -> int | None:
        """How many of the items to come are worth computing; None: all."""
        return None if self.last is None else max(self.last - self.seen, 0)

    def chosen(self, items: list[Item]) -> list[Item]:
        """Those of the next items that are in the slice."""
        begin = max(self.first - 1 - self.seen, 0)
        end = len(items) if self.last is None else max(self.last - self.seen, 0)
        self.seen += len(items)
        self.settled = self.last is not None and (self.seen >= self.last or self.last < self.first)
        return items[begin:end]

    def add(self, items: list[Item]) -> None:
        self.items.extend(self.chosen(items))

    def value(self) -> list[Item]:
        return self.items

    def copied(self) -> Sliced:
        made = copy(self)
        made.items = list(self.items)
        return made


class Folded(State):
    """fn:fold-left: the accumulator. The program of ``fold`` takes it and gives it back, a batch further."""

    part = "fold"

    def __init__(self, zero: list[Item], step: FunctionItem) -> None:
        self.accumulator = zero
        self.step = step.body

    def add(self, items: list[Item]) -> None:
        step, accumulator = self.step, self.accumulator
        for item in items:
            accumulator = step([accumulator, [item]])
        self.accumulator = accumulator

    def add_part(self, items: list[Item]) -> None:
        self.accumulator = items

    def value(self) -> list[Item]:
        return self.accumulator


class Collected(State):
    """What is sorted or grouped by columns (:mod:`xstreamcast.run.collected`)."""

    def take(self, root: Node) -> None:
        """Take the records of a batch."""
        raise NotImplementedError

    def answer(self, written: bool) -> Iterator[Item]:
        """The value, an item after the other: it is asked for once. ``written``: elements may be markup."""
        raise NotImplementedError

    def value(self) -> list[Item]:
        return list(self.answer(False))


# ---------------------------------------------------------------------------------------------- from the plan


def state_of(reduction: Reduction, context: DynamicContext, argument: list[Item], step: FunctionItem | None) -> State:
    """A fresh state. ``argument``: the value of ``Reduce.argument`` or ``Fold.zero``; ``step``: a Fold's function."""
    match reduction:
        case Concat():
            return Kept()
        case Slice(first, last):
            return Sliced(first, last)
        case Fold():
            assert step is not None
            return Folded(argument, step)
        case Reduce():
            return reduction.aggregate.state(context, None if reduction.argument is None else argument)
        case Group():
            from xstreamcast.run.grouping import Grouped

            inner = reduction.inner
            return Grouped(len(reduction.keys), lambda: state_of(inner, context, argument, step))
        case _:
            raise AssertionError("what is sorted or gathered has no state apart from its members")

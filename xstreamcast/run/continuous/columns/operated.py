"""Rows in columns that an operator of :mod:`...adjust` keeps: by number, in windows, sorted, grouped, joined, folded.

    outcomes of fragments ─put→ holders of rows ─settle→ the operator follows: rows out, rows in

The operator is the same for every engine (:mod:`...adjust.host`). Here a holder is a fragment; its place among the
others is a label, a number that grows in document order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.function import Array
from xstreamcast.plan.algebra import PLAN, Concat, Rank, Reduce, Reduction, Slice, in_parts
from xstreamcast.plan.decompose.folds import last_item
from xstreamcast.run.continuous.adjust.derived import Derived, Ordered
from xstreamcast.run.continuous.adjust.kept import Added, Kept
from xstreamcast.run.continuous.adjust.lookup import Lookup
from xstreamcast.run.continuous.adjust.operators import operator
from xstreamcast.run.continuous.adjust.ranked import Ranked
from xstreamcast.run.continuous.columns.adjust import Adjusted
from xstreamcast.run.continuous.columns.labels import Labels
from xstreamcast.run.units import plan_name

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.rows import Outcome
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.continuous.related import Number

_ITEM: Final = (PLAN, "item by number")


class Standing:
    """The place of a row: its fragment's, and its number there."""

    __slots__ = ("holding", "number")

    def __init__(self, holding: Holding, number: Any) -> None:
        self.holding = holding
        self.number = number

    def __lt__(self, other: Standing) -> bool:
        return self.order() < other.order()

    def order(self) -> tuple[int, Any]:
        """What orders it among others, as long as nothing moves."""
        return self.holding.label, self.number

    def within(self, number: int) -> Standing:
        """The place of a part of the row."""
        return Standing(self.holding, (self.number, number))


class Holding:
    """A fragment with rows. ``n``: its node; ``label``: its place; ``there``: whether it still is."""

    __slots__ = ("label", "n", "outcome", "there")

    def __init__(self, n: int) -> None:
        self.n = n
        self.label = 0
        self.outcome: Any = None
        self.there = True

    def place(self, number: int) -> Standing:
        """The place of one of its rows."""
        return Standing(self, number)

    def identity(self) -> tuple[int]:
        """A fragment that is sent again is at the same node."""
        return (self.n,)


class Operated(Adjusted):
    """What an operator keeps of the rows of all fragments."""

    def __init__(self, engine: Columnar, where: Number, table: RegionTable, told: bool) -> None:
        """``told``: its items are told, and nobody reads them."""
        super().__init__()
        self.engine, self.where = engine, where
        self.labels = Labels(table)
        self.holdings: dict[int, Holding] = {}
        reduction = engine.unit(where).reduction
        choice = _choice(reduction)
        self.by_number = choice is not None
        """Whether rows are items, of which some are chosen by number."""
        self.operator = _operator(engine, where, reduction) if choice is None else Ranked(engine, where, choice)
        self.apart = not (isinstance(self.operator, Ranked) and in_parts(reduction) and told)
        """Whether fragments are documents of their own: items of several meet in one expression."""
        self._renewed = 0

    def drop(self, fragments: Iterable[int]) -> None:
        gone = []
        for n in fragments:
            self.failed.pop(n, None)
            held = self.holdings.pop(n, None)
            if held is not None:
                held.there = False
                self.engine.failed.pop(held, None)
                self.operator.touched.pop(held, None)
                self.operator.left[held] = None
                gone.append(n)
        self.labels.drop(gone)

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        """Some fragments have these rows from now on."""
        for n, outcome in zip(fragments, outcomes, strict=True):
            failed = isinstance(outcome, XStreamError)
            held = self.holdings.get(n)
            if held is None:
                if not outcome and not failed:
                    continue
                held = self.holdings[n] = Holding(n)
            self.failed.pop(n, None)
            self.engine.failed.pop(held, None)
            if isinstance(outcome, XStreamError):
                self.failed[n] = self.engine.failed[held] = outcome
            held.outcome = [] if isinstance(outcome, XStreamError) else self._rows(outcome)
            self.operator.touched[held] = None

    def _rows(self, items: list[Any]) -> list[Any]:
        return [Array([[item]]) for item in items] if self.by_number else items

    def rows(self, outcome: Outcome) -> list[list[list[Item]]]:
        """The rows that an outcome is."""
        return [] if isinstance(outcome, XStreamError) else [list(row.members()) for row in self._rows(outcome)]

    @property
    def pending(self) -> bool:
        """Whether there is something to follow."""
        return self.operator.pending

    @property
    def has_moved(self) -> bool:
        """Whether fragments stand in another order: then all of them are looked at again."""
        return self.labels.are_late

    def settle(self) -> None:
        if not self.pending:
            return
        labels = self.labels
        touched: dict[Any, None] = self.operator.touched
        labels.catch_up()
        labels.put([held.n for held in touched])
        if self._renewed != labels.renewed:
            self._renewed = labels.renewed
            for held in self.holdings.values():
                held.label = labels.of[held.n]
        else:
            for held in touched:
                held.label = labels.of[held.n]
        some = list(touched)
        self.operator.follow()
        for held in some:
            held.outcome = None  # the operator has taken what it needs

    def forget(self) -> None:
        if isinstance(self.operator, Ordered):
            self.operator.forget()

    @property
    def failure(self) -> XStreamError | None:
        return None if isinstance(self.operator, Lookup) else self.operator.failure

    @property
    def size(self) -> int:
        return len(self.holdings)


def _operator(engine: Columnar, where: Number, reduction: Reduction) -> Derived:
    if isinstance(reduction, Concat):
        return Kept(engine, where)
    if isinstance(reduction, Reduce):
        return Added(engine, where, reduction)
    made = operator(engine, where)
    assert made is not None, "what is told in another order has an operator"
    return made


def _choice(reduction: Reduction) -> Rank | None:
    """A choice of items by number as one of rows; None if it is something else."""
    if isinstance(reduction, Slice):
        chosen, from_end = reduction, False
    elif reduction == last_item():
        chosen, from_end = Slice(1, 1), True
    else:
        return None
    return Rank((), (_ITEM,), ast.VarRef(plan_name(_ITEM)), chosen=chosen, from_end=from_end)

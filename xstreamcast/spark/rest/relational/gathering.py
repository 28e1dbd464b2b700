"""Γ: groups that are made where their tuples are found, and put together where their keys meet.

    Γ(a ++ b) = Γ(a) ⊕ Γ(b)            groups of equal keys: their columns' states merged, in document order

A task has at most so many groups at a time; a group that comes several times is merged like one of several tasks. The
groups of a task travel in lots: all whose keys come to one number, which is the same for equal keys, travel together,
column by column. Of a group that is small the values of its columns travel as they are: they are added up once, where
all have come (:mod:`~xstreamcast.spark.rest.relational.groups`).
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final
from zlib import crc32

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.collation import CODEPOINTS, Collation
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array
from xstreamcast.operators.aggregates import Counted
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Concat, Gather, Reduction
from xstreamcast.run.grouping import tuple_keys
from xstreamcast.spark.rest.partials import Partial, partial_of
from xstreamcast.spark.rest.relational.keys import coarse_key
from xstreamcast.spark.rest.relational.lookups import AT_ONCE
from xstreamcast.spark.rest.relational.sending import sent_rows

Keys = list[Item | None]
_LOTS: Final = 1 << 10
"""By so many numbers groups are told apart before their keys are looked at: a lot is what a task has in memory."""
_FEW: Final = 32
"""Values of a column that are not reduced before they travel."""


class Form(Enum):
    """What a column has of its items."""

    KEPT = "items"
    COUNT = "count"
    VALUES = "values"
    """Atomic values, while there are few; then a state."""
    STATE = "state"


def forms_of(gather: Gather, fresh: Callable[[int], State]) -> list[Form]:
    """The forms of the columns."""
    return [_form(column.reduction, fresh(number)) for number, column in enumerate(gather.columns)]


def _form(reduction: Reduction, state: State) -> Form:
    if isinstance(reduction, Concat):
        return Form.KEPT
    if isinstance(state, Counted):
        return Form.COUNT
    return Form.VALUES if state.part == "values" else Form.STATE


@dataclass(slots=True)
class Lot:
    """Groups on their way, column by column."""

    numbers: array[int]
    """Of the first tuple of each, in its range."""
    keys: list[Keys]
    """Of each group all keys."""
    columns: list[list[Any]]
    """Of each column, what each group has: a count, values or a :class:`Partial`. None of a column that is kept."""
    rows: list[bytes]
    """What each group has of the columns that are kept, where there are any."""


class Gathering:
    """The groups of a range."""

    def __init__(self, gather: Gather, collations: list[Collation], fresh: Callable[[int], State]) -> None:
        self.gather, self.collations, self.fresh = gather, collations, fresh
        self.forms = forms_of(gather, fresh)
        self.count = 0
        self._begin()

    def _begin(self) -> None:
        self.groups: dict[tuple[Hashable, ...], int] = {}
        """The number of each group, by what its keys have in common with those equal to them."""
        self.numbers = array("q")
        self.keys: list[Keys] = []
        self.columns: list[list[Any]] = [[] for _ in self.forms]
        self.failures: dict[tuple[int, int], XStreamError] = {}
        """By column and group."""

    def take(self, rows: Iterable[Item]) -> None:
        """Take the next tuples."""
        gather, collations, groups, columns = self.gather, self.collations, self.groups, self.columns
        forms, width = list(enumerate(self.forms, len(gather.keys))), len(gather.keys)
        keys: Keys
        known: tuple[Hashable, ...]
        by_text = collations == [CODEPOINTS]
        for row in rows:
            assert isinstance(row, Array)
            values = row.members()
            if by_text and len(values[0]) == 1 and type(values[0][0]) is Untyped:
                known = (str(values[0][0]),)  # most are known by one text: what follows, of it
                keys = [*known]
            else:
                keys, known = tuple_keys(gather, collations, values)
            group = groups.get(known)
            if group is None:
                group = groups[known] = self._new(keys)
            self.count += 1
            for place, form in forms:
                column = columns[place - width]
                if form is Form.COUNT:
                    column[group] += len(values[place])
                elif form is Form.KEPT:
                    column[group] += values[place]
                else:
                    self._take(column, group, place - width, values[place])

    def _new(self, keys: Keys) -> int:
        self.numbers.append(self.count)
        self.keys.append(keys)
        for number, (form, column) in enumerate(zip(self.forms, self.columns, strict=True)):
            column.append(0 if form is Form.COUNT else self.fresh(number) if form is Form.STATE else [])
        return len(self.keys) - 1

    def _take(self, column: list[Any], group: int, number: int, items: list[Item]) -> None:
        if (number, group) in self.failures:
            return
        held = column[group]
        try:
            if isinstance(held, list):
                if len(held) + len(items) <= _FEW:
                    held += atomize(items)
                    return
                column[group] = state = self.fresh(number)
                state.add_part(held)
                held = state
            held.add(items)
        except XStreamError as failure:  # for a body that asks for it
            self.failures[number, group] = failure

    @property
    def full(self) -> bool:
        return len(self.groups) >= AT_ONCE

    def out(self, *place: int) -> Iterator[tuple[int, bytes]]:
        """The groups so far, in lots, with their numbers; ``place``: of what they are made of in the document."""
        columns = [self._sent(number, form) for number, form in enumerate(self.forms)]
        kept = [column for column, form in zip(self.columns, self.forms, strict=True) if form is Form.KEPT]
        rows = sent_rows([list(row) for row in zip(*kept, strict=True)], *place) if kept else []
        lots: dict[int, list[int]] = {}
        for group, keys in enumerate(self.keys):
            lots.setdefault(crc32(coarse_key(keys, self.collations)) % _LOTS, []).append(group)
        for lot, own in lots.items():
            made = Lot(
                array("q", [self.numbers[group] for group in own]),
                [self.keys[group] for group in own],
                [[column[group] for group in own] for column in columns],
                [rows[group] for group in own] if rows else [],
            )
            # Atomic values and what sums are made of: nothing that has to be sent with care.
            yield lot, pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
        self._begin()

    def _sent(self, number: int, form: Form) -> list[Any]:
        """What a column has, in a form that travels."""
        column = self.columns[number]
        if form is Form.KEPT:
            return [None] * len(column)
        if form is Form.COUNT:
            return column
        made: list[Any] = [Partial(partial_of(held)) if isinstance(held, State) else held for held in column]
        for (of, group), failure in self.failures.items():
            if of == number:
                held = made[group]
                data = held.data if isinstance(held, Partial) else partial_of(self.fresh(number))
                made[group] = Partial(data, failure=failure)
        return made

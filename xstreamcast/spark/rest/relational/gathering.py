"""Γ: groups that are made where their tuples are found, and put together where their keys meet.

    Γ(a ++ b) = Γ(a) ⊕ Γ(b)            groups of equal keys: their columns' states merged, in document order

A task has at most so many groups at a time; a group that comes several times is merged like one of several tasks. The
groups of a task travel in lots: all whose keys come to one number, which is the same for equal keys, travel together.
Of a group that is small the values of its columns travel as they are: they are added up once, where all have come. The
body is evaluated when all of a group has come.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import Enum
from typing import Any, Final
from zlib import crc32

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import Collation
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array
from xstreamcast.plan.algebra import Concat, Gather, Reduction, VarName
from xstreamcast.run.grouping import tuple_keys
from xstreamcast.run.reductions import Counted, State
from xstreamcast.run.runtime.values import group_hash
from xstreamcast.run.units import Evaluation
from xstreamcast.spark.rest.partials import Partial, add_partial, partial_of
from xstreamcast.spark.rest.relational.keys import coarse_key
from xstreamcast.spark.rest.relational.lookups import AT_ONCE
from xstreamcast.spark.rest.relational.placing import Place
from xstreamcast.spark.rest.relational.sending import Columns, Received, sent_rows
from xstreamcast.spark.transport import loads

Known = tuple[Hashable, ...]
Sent = tuple[list[Item | None], list[Any], bytes | None]
"""A group's keys, what its columns have (a count, values, or a :class:`Partial`), and the items of those kept."""
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


def form_of(reduction: Reduction, state: State) -> Form:
    """The form of a column."""
    if isinstance(reduction, Concat):
        return Form.KEPT
    if isinstance(state, Counted):
        return Form.COUNT
    return Form.VALUES if state.part == "values" else Form.STATE


class _Group:
    """A group in the making: its keys, and what its columns have. ``number``: of its first tuple in the range."""

    __slots__ = ("columns", "failures", "keys", "number")

    def __init__(self, number: int, keys: list[Item | None], columns: list[Any]) -> None:
        self.number = number
        self.keys = keys
        self.columns = columns
        self.failures: dict[int, XStreamError] = {}


class Gathering:
    """The groups of a range."""

    def __init__(self, gather: Gather, collations: list[Collation], fresh: Callable[[int], State]) -> None:
        self.gather, self.collations, self.fresh = gather, collations, fresh
        self.forms = [form_of(column.reduction, fresh(number)) for number, column in enumerate(gather.columns)]
        self.groups: dict[Known, _Group] = {}
        self.count = 0

    def add(self, row: Item) -> None:
        """Take the next tuple."""
        assert isinstance(row, Array)
        values = row.members()
        keys, known = tuple_keys(self.gather, self.collations, values)
        group = self.groups.get(known)
        if group is None:
            group = self.groups[known] = _Group(self.count, keys, list(map(self._begun, range(len(self.forms)))))
        self.count += 1
        columns = group.columns
        for number, items in enumerate(values[len(keys) :]):
            form = self.forms[number]
            if form is Form.COUNT:
                columns[number] += len(items)
            elif form is Form.KEPT:
                columns[number] += items
            elif number not in group.failures:
                self._take(group, number, items)

    def _begun(self, number: int) -> Any:
        form = self.forms[number]
        return 0 if form is Form.COUNT else self.fresh(number) if form is Form.STATE else []

    def _take(self, group: _Group, number: int, items: list[Item]) -> None:
        held = group.columns[number]
        try:
            if isinstance(held, list):
                if len(held) + len(items) <= _FEW:
                    held += atomize(items)
                    return
                group.columns[number] = state = self.fresh(number)
                state.add_part(held)
                held = state
            held.add(items)
        except XStreamError as failure:  # for a body that asks for it
            group.failures[number] = failure

    @property
    def full(self) -> bool:
        return len(self.groups) >= AT_ONCE

    def out(self, *place: int) -> Iterator[tuple[int, bytes]]:
        """The groups so far, in lots, with their numbers; ``place``: of what they are made of in the document."""
        groups = list(self.groups.values())
        rows: list[bytes] | None = None
        if Form.KEPT in self.forms:
            kept = [number for number, form in enumerate(self.forms) if form is Form.KEPT]
            rows = sent_rows([[group.columns[number] for number in kept] for group in groups], *place)
        lots: dict[int, list[tuple[int, Sent]]] = {}
        for number, group in enumerate(groups):
            data = [self._sent(group, k) for k in range(len(self.forms))]
            made: Sent = group.keys, data, None if rows is None else rows[number]
            lot = crc32(coarse_key(group.keys, self.collations)) % _LOTS
            lots.setdefault(lot, []).append((group.number, made))
        self.groups = {}
        for lot, own in lots.items():
            # Atomic values and what sums are made of: nothing that has to be sent with care.
            yield lot, pickle.dumps(own, pickle.HIGHEST_PROTOCOL)

    def _sent(self, group: _Group, number: int) -> Any:
        if self.forms[number] is Form.KEPT:
            return None
        held = group.columns[number]
        if isinstance(held, State):
            return Partial(partial_of(held), failure=group.failures.get(number))
        if number in group.failures:
            state = self.fresh(number)
            return Partial(partial_of(state), failure=group.failures[number])
        return held


# ------------------------------------------------------------------------------------------------------ together


def groups_of(came: Iterable[tuple[int, bytes]], collations: list[Collation]) -> Iterator[tuple[Place, list[Sent]]]:
    """A lot, from the parts it came from, in document order, as groups: the place of the first tuple, and all parts."""
    made: dict[Known, tuple[Place, list[Sent]]] = {}
    for of, packed in came:
        for number, part in loads(packed):
            known = tuple([group_hash(key, used) for key, used in zip(part[0], collations, strict=True)])
            found = made.get(known)
            if found is None:
                found = made[known] = (of, number), []
            found[1].append(part)
    yield from made.values()


class Body:
    """The body of groups, evaluated."""

    def __init__(self, evaluation: Evaluation, gather: Gather, fresh: Callable[[int], State]) -> None:
        self.evaluation, self.gather, self.fresh = evaluation, gather, fresh
        self.forms = [form_of(column.reduction, fresh(number)) for number, column in enumerate(gather.columns)]

    def bind(self, parts: list[Sent]) -> None:
        """The keys and columns of a group, from its parts in document order."""
        give = self.evaluation.give
        for key, value in zip(self.gather.keys, parts[0][0], strict=True):
            give(key.var.expanded, [] if value is None else [value])
        kept = iter(self._kept(parts)) if Form.KEPT in self.forms else iter(())
        for number, (column, form) in enumerate(zip(self.gather.columns, self.forms, strict=True)):
            if form is Form.KEPT:
                give(column.variable, next(kept))
            elif form is Form.COUNT:
                give(column.variable, [sum([data[number] for _, data, _ in parts])])
            else:
                self._reduce(column.variable, number, [data[number] for _, data, _ in parts])

    def _kept(self, parts: list[Sent]) -> Columns:
        received = Received()
        made: Columns = [[] for form in self.forms if form is Form.KEPT]
        for _, _, rows in parts:
            assert rows is not None
            for items, more in zip(made, received.row(rows), strict=True):
                items += more
        received.arrange()
        return made

    def _reduce(self, variable: VarName, number: int, data: list[Any]) -> None:
        """Bind what a column comes to, or why to nothing."""
        state = self.fresh(number)
        try:
            for each in data:
                if isinstance(each, list):
                    state.add_part(each)
                    continue
                add_partial(state, each)
                if each.failure is not None and not state.settled:
                    raise each.failure
            self.evaluation.give(variable, state.value())
        except XStreamError as failure:
            self.evaluation.fail(variable, failure)

"""Γ: groups that are made where their tuples are found, and put together where their keys meet.

    Γ(a ++ b) = Γ(a) ⊕ Γ(b)            groups of equal keys: their columns' states merged, in document order

A task has at most so many groups at a time; a group that comes several times is merged like one of several tasks. The
body is evaluated when all of a group has come.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import Collation
from xstreamcast.model.function import Array
from xstreamcast.plan.algebra import Concat, Gather
from xstreamcast.run.grouping import tuple_keys
from xstreamcast.run.reductions import State
from xstreamcast.run.runtime.values import group_hash
from xstreamcast.run.units import Evaluation
from xstreamcast.spark.partials import Partial, add_partial, partial_of
from xstreamcast.spark.relational.keys import coarse_key
from xstreamcast.spark.relational.lookups import AT_ONCE
from xstreamcast.spark.relational.sending import Columns, Received, sent_rows
from xstreamcast.spark.transport import loads

Known = tuple[Hashable, ...]
Sent = tuple[list[Item | None], list[Any], list[XStreamError | None], bytes | None]
"""A group's keys, what its columns' states have, which of them have failed, and the items of those that are kept."""


class _Group:
    """A group in the making: its keys, the states of its columns, the items of those that are kept as they are."""

    __slots__ = ("columns", "failures", "keys", "number", "states")

    def __init__(self, number: int, keys: list[Item | None], states: list[State | None]) -> None:
        self.number = number
        self.keys = keys
        self.states = states
        self.columns: Columns = [[] for _ in states]
        self.failures: list[XStreamError | None] = [None] * len(states)


@dataclass(frozen=True, slots=True)
class SentGroup:
    """A group on its way to others with its keys; ``number``: of its first tuple in the range."""

    key: bytes
    number: int
    packed: bytes


class Gathering:
    """The groups of a range."""

    def __init__(self, gather: Gather, collations: list[Collation], fresh: Callable[[int], State]) -> None:
        self.gather, self.collations, self.fresh = gather, collations, fresh
        self.kept = [isinstance(column.reduction, Concat) for column in gather.columns]
        self.groups: dict[Known, _Group] = {}
        self.count = 0

    def add(self, row: Item) -> None:
        """Take the next tuple."""
        assert isinstance(row, Array)
        values = list(row.members())
        keys, known = tuple_keys(self.gather, self.collations, values)
        group = self.groups.get(known)
        if group is None:
            states = [None if kept else self.fresh(number) for number, kept in enumerate(self.kept)]
            group = self.groups[known] = _Group(self.count, keys, states)
        self.count += 1
        for number, items in enumerate(values[len(keys) :]):
            state = group.states[number]
            if state is None:
                group.columns[number] += items
            elif group.failures[number] is None:
                try:
                    state.add(items)
                except XStreamError as failure:  # for a body that asks for it
                    group.failures[number] = failure

    @property
    def full(self) -> bool:
        return len(self.groups) >= AT_ONCE

    def out(self, *place: int) -> Iterator[SentGroup]:
        """The groups so far; ``place``: of what they are made of in the document."""
        groups = list(self.groups.values())
        rows = sent_rows([group.columns for group in groups], *place) if any(self.kept) else None
        for number, group in enumerate(groups):
            data = [None if state is None else partial_of(state) for state in group.states]
            made: Sent = group.keys, data, group.failures, None if rows is None else rows[number]
            # Atomic values and what sums are made of: nothing that has to be sent with care.
            packed = pickle.dumps(made, pickle.HIGHEST_PROTOCOL)
            yield SentGroup(coarse_key(group.keys, self.collations), group.number, packed)
        self.groups = {}


# ------------------------------------------------------------------------------------------------------ together

Place = tuple[int, int]


def groups_of(came: list[tuple[Place, bytes]], collations: list[Collation]) -> Iterator[tuple[Place, list[Sent]]]:
    """What has one coarse key, in document order, as groups: the place of the first tuple, and all parts."""
    made: dict[Known, tuple[Place, list[Sent]]] = {}
    for place, packed in came:
        part: Sent = loads(packed)
        known = tuple([group_hash(key, used) for key, used in zip(part[0], collations, strict=True)])
        made.setdefault(known, (place, []))[1].append(part)
    yield from made.values()


class Body:
    """The body of groups, evaluated."""

    def __init__(self, evaluation: Evaluation, gather: Gather, fresh: Callable[[int], State]) -> None:
        self.evaluation, self.gather, self.fresh = evaluation, gather, fresh

    def bind(self, parts: list[Sent]) -> None:
        """The keys and columns of a group, from its parts in document order."""
        columns = self.gather.columns
        received = Received()
        keys: list[Item | None] = []
        states = [None if isinstance(column.reduction, Concat) else self.fresh(k) for k, column in enumerate(columns)]
        kept: Columns = [[] for _ in columns]
        failures: list[XStreamError | None] = [None] * len(columns)
        for number, (own, data, failed, rows) in enumerate(parts):
            keys = keys if number else own
            for items, more in zip(kept, [] if rows is None else received.row(rows), strict=False):
                items += more
            for k, state in enumerate(states):
                if state is not None and failures[k] is None:
                    failures[k] = _merge(state, Partial(data[k], failure=failed[k]))
        received.arrange()
        for key, value in zip(self.gather.keys, keys, strict=True):
            self._bind(key.var.expanded, [] if value is None else [value], None)
        for k, column in enumerate(columns):
            state, value = states[k], kept[k]
            if state is not None and failures[k] is None:
                try:
                    value = state.value()
                except XStreamError as failure:
                    failures[k] = failure
            self._bind(column.variable, value, failures[k])

    def _bind(self, variable: Any, value: list[Item], failure: XStreamError | None) -> None:
        evaluation = self.evaluation
        evaluation.given.failures.pop(variable, None)
        if failure is None:
            evaluation.given[variable] = value
            evaluation.bind(variable, value)
        else:
            evaluation.globals.pop(variable, None)
            evaluation.given.failures[variable] = failure, evaluation.globals


def _merge(state: State, partial: Partial) -> XStreamError | None:
    try:
        add_partial(state, partial)
    except XStreamError as failure:
        return failure
    return None if state.settled else partial.failure

"""⋈: the rows of a unit that is looked up in, sent by key, and what a look-up gives where they have come.

    E[key = e($a)]  =  G(e($a))            G = { key ↦ rows, in document order }

Rows go to whoever asks for one of their keys (:mod:`~xstreamcast.spark.rest.relational.keys`), or all of them, in lots,
to everybody. There they are found by text or by number, and compared once more as the query says: a general comparison
decides by the types of both sides, and is in the right where keys are of several types, or do not compare.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.compare import PAIR
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import NUMERIC, TEXTUAL
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Concat, Group, Reduce
from xstreamcast.spark.rest.partials import Partial, add_partial, partial_of
from xstreamcast.spark.rest.relational.keys import asked_keys, failure_key, row_keys, text_key
from xstreamcast.spark.rest.relational.placing import Place
from xstreamcast.spark.rest.relational.sending import Columns, Received, sent_rows, sent_together
from xstreamcast.spark.transport import dumps, loads

AT_ONCE: Final = 1 << 16
"""Groups that a task reduces before it sends them on."""
FAILED: Final = -1
"""The number of a lot that is an error."""
_pair_eq = PAIR["eq"]


@dataclass(frozen=True, slots=True)
class SentRow:
    """A row on its way: to who asks for ``keys``."""

    keys: list[str]
    number: int
    packed: bytes


def sent(
    unit: int,
    group: Group,
    fresh: Callable[[], State],
    part: int,
    batches: Iterable[Iterator[Item]],
) -> Iterator[SentRow]:
    """The rows that a range has, batch by batch; an error is a row as well, for all who ask."""
    count = 0
    reducing = _Reducing(fresh) if isinstance(group.inner, Reduce) else None

    def out(reducing: _Reducing) -> Iterator[SentRow]:
        for number, made, keys in reducing.out():
            # Atomic values and what sums are made of: nothing that has to be sent with care.
            yield SentRow(row_keys(unit, keys), number, pickle.dumps((made, keys), pickle.HIGHEST_PROTOCOL))

    try:
        for batch, items in enumerate(batches):
            rows = [_columns(item) for item in items]
            if reducing is None:
                for columns, packed in zip(rows, sent_rows(rows, part, batch), strict=True):
                    yield SentRow(row_keys(unit, columns[1:]), count, packed)
                    count += 1
            else:
                for columns in rows:
                    reducing.add(columns, count)
                    count += 1
                if len(reducing.states) >= AT_ONCE:
                    yield from out(reducing)
        if reducing is not None:
            yield from out(reducing)
    except XStreamError as failure:
        yield SentRow([failure_key(unit)], count, dumps(failure))


class Lots:
    """The rows that a range has for everybody: lots of them, each with the number of its first, or an error."""

    def __init__(self, group: Group, fresh: Callable[[], State], part: int) -> None:
        self.part, self.batch, self.count = part, 0, 0
        self.reducing = _Reducing(fresh) if isinstance(group.inner, Reduce) else None
        self.failed = False

    def take(self, items: Iterable[Item]) -> Iterator[tuple[int, bytes]]:
        """The items of the next batch."""
        if self.failed:
            return
        try:
            rows = [_columns(item) for item in items]
            first, self.count = self.count, self.count + len(rows)
            if self.reducing is None:
                if rows:
                    yield first, sent_together(rows, self.part, self.batch)
                self.batch += 1
                return
            for number, columns in enumerate(rows, first):
                self.reducing.add(columns, number)
            if len(self.reducing.states) >= AT_ONCE:
                yield from self.out()
        except XStreamError as failure:
            self.failed = True
            yield FAILED, dumps(failure)

    def out(self) -> Iterator[tuple[int, bytes]]:
        """What is left."""
        if self.reducing is not None and self.reducing.states:
            yield 0, pickle.dumps(list(self.reducing.out()), pickle.HIGHEST_PROTOCOL)


def _columns(item: Item) -> Columns:
    assert isinstance(item, Array)
    return list(item.members())


class _Reducing:
    """Rows of one key, reduced where they are found."""

    def __init__(self, fresh: Callable[[], State]) -> None:
        self.fresh = fresh
        self.states: dict[Any, tuple[int, Columns, State, list[XStreamError]]] = {}

    def add(self, columns: Columns, number: int) -> None:
        items, *keys = columns
        # What has several keys is found by several, and counts once: it stays by itself.
        known = tuple([(type(key[0]), key[0]) if len(key) == 1 else number for key in keys])
        found = self.states.get(known)
        if found is None:
            found = self.states[known] = number, keys, self.fresh(), []
        if not found[3]:
            try:
                found[2].add(items)
            except XStreamError as failure:
                found[3].append(failure)

    def out(self) -> Iterator[tuple[int, Partial, Columns]]:
        """The groups so far: the number of the first row, what the rows come to, and their keys."""
        for number, keys, state, failures in self.states.values():
            yield number, Partial(partial_of(state), failure=failures[0] if failures else None), keys
        self.states.clear()


# ------------------------------------------------------------------------------------------------------ found


@dataclass(slots=True)
class Row:
    """A row that has come: what it gives, or what its group has reduced to."""

    place: Place
    value: list[Item] | Partial
    keys: Columns


class _Column:
    """How rows are found by the values of one key."""

    def __init__(self, rows: list[Row], number: int) -> None:
        self.rows, self.number = rows, number
        self.kinds = {type(value) for row in rows for value in row.keys[number]}
        self.textual = self.kinds <= TEXTUAL
        self.numeric = self.kinds <= NUMERIC.classes and Float not in self.kinds
        self.untyped = self.kinds <= NUMERIC.classes | {Untyped} and Float not in self.kinds

    @cached_property
    def texts(self) -> dict[str, list[Row]]:
        """Rows by text, where all keys are texts."""
        made: dict[str, list[Row]] = {}
        for row in self.rows:
            for value in row.keys[self.number]:
                own = made.setdefault(value, [])
                if not own or own[-1] is not row:
                    own.append(row)
        return made

    @cached_property
    def numbers(self) -> tuple[dict[float, list[Row]], list[Row]]:
        """Rows by number, and those that are compared with any number: for the error."""
        made: dict[float, list[Row]] = {}
        odd: list[Row] = []
        for row in self.rows:
            for value in row.keys[self.number]:
                double = _double(value)
                (odd if double is None else made.setdefault(double, [])).append(row)
        return made, odd

    def found(self, value: Item) -> list[Row] | None:
        """The rows that may equal a value; None: any."""
        kind = type(value)
        if kind in TEXTUAL and self.textual:
            return self.texts.get(value, [])
        if kind in NUMERIC.classes and kind is not Float and self.untyped:
            numbers, odd = self.numbers
            double = _double(value)
            return [*odd, *([] if double is None else numbers.get(double, []))]
        if kind is Untyped and self.numeric:
            double = _double(value)
            return None if double is None else self.numbers[0].get(double, [])
        return None


def _double(value: Item) -> float | None:
    try:
        return (parse_double(value) if type(value) is Untyped else float(value)) + 0.0
    except (XStreamError, OverflowError):
        return None


class Found:
    """The rows of a unit that have come; the value is a function from the values of each key to what they reduce to.

    ``asked``: the keys they were asked for by; None if all rows are here.
    """

    def __init__(self, unit: int, group: Group, fresh: Callable[[], State], asked: set[str] | None) -> None:
        self.unit, self.group, self.fresh, self.asked = unit, group, fresh, asked
        self.rows: list[Row] = []
        self.lots: list[tuple[int, int, bytes]] = []
        self.received = Received()
        self.failure: XStreamError | None = None

    def add(self, place: Place, packed: bytes) -> None:
        """A row comes."""
        if isinstance(self.group.inner, Reduce):
            value, keys = loads(packed)
        else:
            value, *keys = self.received.row(packed)
        self.rows.append(Row(place, value, keys))

    def take(self, part: int, first: int, packed: bytes) -> None:
        """A lot comes; it is opened when something is looked up."""
        if first == FAILED:
            self.fail(packed)
        else:
            self.lots.append((part, first, packed))

    def _open(self) -> None:
        for part, first, packed in self.lots:
            if isinstance(self.group.inner, Reduce):
                self.rows += [Row((part, number), value, keys) for number, value, keys in loads(packed)]
            else:
                rows = enumerate(self.received.rows(packed), first)
                self.rows += [Row((part, number), value, keys) for number, (value, *keys) in rows]
        self.lots.clear()
        self._arrange()

    def fail(self, packed: bytes) -> None:
        """A row could not be made."""
        self.failure = self.failure or loads(packed)

    def function(self) -> FunctionItem:
        """The unit's value, when all that are to come have come."""
        self._arrange()
        return FunctionItem(None, len(self.group.keys), self._ask)

    def _arrange(self) -> None:
        self.rows.sort(key=lambda row: row.place)
        self.received.arrange()

    def _ask(self, args: list[list[Item]]) -> list[Item]:
        values = [atomize(arg) for arg in args]
        if self.failure is not None:
            raise self.failure
        if self.lots:
            self._open()
        if not all(values):
            return self._nothing
        if len(values) == 1 and len(values[0]) == 1 and type(values[0][0]) in TEXTUAL and self.columns[0].textual:
            # Texts are equal or not: there is no type to ask for, and no error.
            (value,) = values[0]
            if self.asked is not None and text_key(self.unit, value) not in self.asked:
                return self._unknown()
            return self._reduced(self.columns[0].texts.get(value, []))
        if self.asked is not None and not self.asked.issuperset(asked_keys(self.unit, values)):
            return self._unknown()
        return self._reduced([row for row in self._candidates(values) if self._matches(row, values)])

    @cached_property
    def columns(self) -> list[_Column]:
        """How rows are found, when all have come."""
        return [_Column(self.rows, number) for number in range(len(self.group.keys))]

    @cached_property
    def _nothing(self) -> list[Item]:
        """What no rows come to."""
        return self.fresh().value()

    def _unknown(self) -> list[Item]:
        raise error("XSC0081", "a group is looked up that was not asked for")

    def _candidates(self, values: list[list[Item]]) -> list[Row]:
        for column, asked in zip(self.columns, values, strict=True):
            found = [column.found(value) for value in asked]
            if None not in found:
                if len(found) == 1 and found[0] is not None:
                    return _once(found[0])
                return sorted(_once([row for rows in found for row in rows or ()]), key=lambda row: row.place)
        return self.rows

    def _matches(self, row: Row, values: list[list[Item]]) -> bool:
        for keys, column in zip(row.keys, values, strict=True):
            if True not in [_pair_eq(key, value) for key in keys for value in column]:
                return False
        return True

    def _reduced(self, rows: list[Row]) -> list[Item]:
        if isinstance(self.group.inner, Concat):
            return [item for row in rows for item in row.value]  # type: ignore[union-attr]  # items, of these
        if not rows:
            return self._nothing
        state = self.fresh()
        for row in rows:
            if not isinstance(row.value, Partial):
                state.add(row.value)
                continue
            add_partial(state, row.value)
            if row.value.failure is not None and not state.settled:
                raise row.value.failure
        return state.value()


class Asking(Found):
    """The same in a round that asks: what has not come is not there yet."""

    def _unknown(self) -> list[Item]:
        return self._nothing


def _once(rows: list[Row]) -> list[Row]:
    return list({id(row): row for row in rows}.values()) if len(rows) > 1 else rows

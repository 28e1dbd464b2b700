"""``order by`` and ``group by`` that follow their tuples (Sort, Γ).

A sorted row stands in an order tree by its keys, rows of equal keys in document order; it is found again by nothing but
its entry there. A group is an order tree of its rows in document order, with the sums of its columns; its body is
evaluated when one of its rows is another, and the groups stand in the order of their first rows, or are sorted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import CODEPOINTS, Collation, collation
from xstreamcast.model.compare import families, order_keys
from xstreamcast.model.function import Array
from xstreamcast.operators.keys import key_of
from xstreamcast.operators.monoid import Monoid
from xstreamcast.plan.algebra import Column, Gather, Reduce, Slice, Sort, VarName
from xstreamcast.run.continuous.adjust.derived import Bodied, Ordered, Part, rows_of
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.adjust.sums import contribution, member_at, monoid_of
from xstreamcast.run.continuous.associate.standing import ordered
from xstreamcast.run.grouping import tuple_keys
from xstreamcast.run.runtime.order import OrderSpec

if TYPE_CHECKING:
    from xstreamcast.operators.state import State
    from xstreamcast.run.continuous.adjust.host import Holder, Host, Spot
    from xstreamcast.run.continuous.related import Number


def specs_of(keys: Iterable[ast.OrderKey], static: StaticContext) -> tuple[OrderSpec, ...]:
    """How keys order."""
    return tuple(
        [
            OrderSpec(
                key.descending,
                not (static.empty_least if key.empty_least is None else key.empty_least),
                collation(key.collation or static.default_collation, static.base_uri),
            )
            for key in keys
        ]
    )


class SortKey:
    """The keys of a row as they order, and its place, which decides between equal ones.

    ``octets``: the same as bytes (:meth:`Sorting.octets`), where somebody compares these.
    """

    __slots__ = ("columns", "octets", "place", "specs")

    def __init__(self, columns: tuple[Any, ...], specs: tuple[OrderSpec, ...], place: Any) -> None:
        self.columns = columns
        self.specs = specs
        self.place = place
        self.octets: bytes | None = None

    def __lt__(self, other: SortKey) -> bool:
        for mine, its, spec in zip(self.columns, other.columns, self.specs, strict=True):
            if mine != its:
                return bool(mine < its) != spec.descending
        return bool(self.place < other.place)


class Sorting:
    """Keys of rows, and whether all of them compare. Those of different families are apart, for as long as it lasts."""

    def __init__(self, specs: tuple[OrderSpec, ...]) -> None:
        self.specs = specs
        self.families: list[Counter[str]] = [Counter() for _ in specs]

    def key(self, values: list[list[Item]], place: Any) -> SortKey:
        """The key of a row that comes; raises where it has none."""
        columns, kinds = [], []
        for sequence, spec in zip(values, self.specs, strict=True):
            if len(sequence) > 1:
                raise error("XPTY0004", f"a key of order by has {len(sequence)} items")
            item = sequence[0] if sequence else None
            kind = "" if item is None else _family(item)
            rank, found = order_keys([item, None], spec.empty_greatest, spec.collation)[0]
            columns.append((rank, kind, found))
            kinds.append(kind)
        for counter, kind in zip(self.families, kinds, strict=True):
            if kind:
                counter[kind] += 1
        return SortKey(tuple(columns), self.specs, place)

    def octets(self, values: list[list[Item]]) -> bytes | None:
        """The key of a row as bytes (:mod:`xstreamcast.operators.keys`); None: it has none."""
        made: list[bytes] = []
        for sequence, spec in zip(values, self.specs, strict=True):
            item = sequence[0] if sequence else None
            if isinstance(item, str) and spec.collation is not CODEPOINTS:
                return None
            part = key_of(item, spec.descending, spec.empty_greatest)
            if part is None:
                return None
            made.append(part)
        return b"".join(made)

    def drop(self, key: SortKey) -> None:
        """A row goes."""
        for counter, (_, kind, _) in zip(self.families, key.columns, strict=True):
            if kind:
                counter[kind] -= 1
                if not counter[kind]:
                    del counter[kind]

    @property
    def failure(self) -> XStreamError | None:
        """What it means that there are keys that do not compare."""
        for counter in self.families:
            if len(counter) > 1:
                return error("XPTY0004", f"order by: {' and '.join(sorted(counter))} do not compare")
        return None


def _family(item: Item) -> str:
    (family,) = families([item])
    return type(item).__name__ if family == "duration" else family


class Sorted(Ordered):
    """The rows of all members, sorted."""

    def __init__(self, engine: Host, where: Number, sort: Sort) -> None:
        super().__init__(engine, where)
        self.chosen = sort.chosen
        self.sorting = Sorting(specs_of(sort.keys, engine.static))
        self.parts: dict[Holder, list[Part]] = {}

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            self.faults.pop(member, None)
            for part in self.parts.pop(member, ()):
                self.sorting.drop(part.entry.key)
                self.remove(part)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            made = []
            for number, (*values, items) in rows_of(member):
                try:
                    key = self.sorting.key(values, member.place(number))
                except XStreamError as failure:
                    self.faults[member] = failure
                    continue
                made.append(Part(member, number, items, key))
                self.insert(made[-1])
            if made:
                self.parts[member] = made

    def value(self) -> list[Item]:
        return super().value() if self.chosen is None else ordered(_chosen(self.sequence, self.chosen))

    @property
    def failure(self) -> XStreamError | None:
        return super().failure or self.sorting.failure


def _chosen(sequence: Sequence[int], chosen: Slice) -> list[Item]:
    found: list[Item] = []
    place = max(chosen.first, 1)
    end = sequence.total if chosen.last is None else min(chosen.last, sequence.total)
    while place <= end:
        part, number = member_at(sequence, place)
        items = part.outcome[number - 1 :][: end - place + 1]
        found += items
        place += len(items)
    return found


class _Row:
    """A tuple of a group: the values of its keys and columns."""

    __slots__ = ("columns", "entry", "failures", "group", "keys", "place")

    def __init__(self, group: _Group, place: Spot, keys: list[Item | None], columns: list[list[Item]]) -> None:
        self.group = group
        self.place = place
        self.keys = keys
        self.columns = columns
        self.failures: dict[int, XStreamError] = {}
        self.entry: Entry[Any]


class _Group:
    """The rows of equal keys in document order, and what their body gave."""

    __slots__ = ("known", "odd", "parts", "rows")

    def __init__(self, known: Hashable, monoid: Monoid[Any]) -> None:
        self.known = known
        self.odd: dict[_Row, None] = {}
        """Rows that cannot be taken into all of the sums."""
        self.rows: Sequence[Any] = Sequence(monoid)
        self.parts: list[Part] = []

    @property
    def first(self) -> _Row:
        block = self.rows.root
        while not block.leaf:
            block = block.children[0]
        row: _Row = block.children[0].item
        return row


class Gathered(Bodied):
    """The groups of the rows of all members."""

    def __init__(self, engine: Host, where: Number, gather: Gather) -> None:
        super().__init__(engine, where)
        static = engine.static
        self.gather = gather
        self.width = len(gather.keys)
        self.collations: list[Collation] = [
            collation(key.collation or static.default_collation, static.base_uri) for key in gather.keys
        ]
        self.sorting = None if gather.order is None else Sorting(specs_of(gather.order.keys, static))
        self.monoid = _product([column.reduction for column in gather.columns])
        self.groups: dict[Hashable, _Group] = {}
        self.rows: dict[Holder, list[_Row]] = {}
        self.compile(gather.body, [*[key.var.expanded for key in gather.keys], *[c.variable for c in gather.columns]])

    def again(self) -> None:
        self.dirty.update(dict.fromkeys(self.groups.values()))  # those that gave nothing, too

    def follow(self) -> None:
        super().follow()
        waiting: list[_Group] = list(self.dirty)
        dirty = [group for group in waiting if self.groups.get(group.known) is group]
        self.dirty = {}
        for group in dirty:  # all are taken out first: those that stay are in order
            self._clear(group)
        for group in dirty:
            self._evaluate(group)

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            self.faults.pop(member, None)
            for row in self.rows.pop(member, ()):
                group = row.group
                group.rows.remove(row.entry)
                group.odd.pop(row, None)
                if group.rows.root.children:
                    self.dirty[group] = None
                else:
                    self._clear(group)
                    del self.groups[group.known]
                    self.dirty.pop(group, None)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            made = []
            for number, values in rows_of(member):
                try:
                    made.append(self._row(member.place(number), values))
                except XStreamError as failure:
                    self.faults[member] = failure
            if made:
                self.rows[member] = made

    def _row(self, place: Spot, values: list[list[Item]]) -> _Row:
        keys, known = tuple_keys(self.gather, self.collations, values)
        columns = values[self.width :]
        group = self.groups.get(known)
        if group is None:
            group = self.groups[known] = _Group(known, self.monoid)
        row = _Row(group, place, keys, columns)
        summary = list(self.monoid.zero)
        for number, (column, items) in enumerate(zip(self.gather.columns, columns, strict=True)):
            try:
                summary[number] = contribution(column.reduction, items, self._fresh(column))
            except XStreamError as failure:  # for a body that asks for it
                row.failures[number] = failure
                group.odd[row] = None
        row.entry = group.rows.insert_sorted(Entry(row, tuple(summary), place))
        self.dirty[group] = None
        return row

    def _fresh(self, column: Column) -> Callable[[], State]:
        """What makes a state of a column's reduction."""
        reduction = column.reduction
        return lambda: self.engine.column_state(reduction, self.program)

    # ---------------------------------------------------------------------------------------------- bodies

    def _clear(self, group: _Group) -> None:
        self.faults.pop(group, None)
        self.engine.unask((self, group))
        self.engine.timing.agenda.forget((self, group))
        for part in group.parts:
            if self.sorting is not None:
                self.sorting.drop(part.entry.key)
            self.remove(part)
        group.parts = []

    def _evaluate(self, group: _Group) -> None:
        """The body with the group's keys and columns."""
        try:
            found = self._items(group)
        except XStreamError as failure:
            self.faults[group] = failure
            return
        place = group.first.place
        if self.sorting is None:
            if found:
                group.parts = [Part(group.known, 0, found, place)]
        else:
            for number, row in enumerate(found):
                assert isinstance(row, Array)
                *values, items = row.members()
                try:
                    key = self.sorting.key(values, place.within(number))
                except XStreamError as failure:
                    self.faults[group] = failure
                    continue
                group.parts.append(Part(group.known, number, items, key))
        for part in group.parts:
            self.insert(part)

    def _items(self, group: _Group) -> list[Item]:
        first, total = group.first, group.rows.total
        values: list[list[Item]] = [[] if key is None else [key] for key in first.keys]
        for number, column in enumerate(self.gather.columns):
            if isinstance(column.reduction, Reduce):
                values.append(column.reduction.aggregate.summaries.value(total[number], self._fresh(column)))
            else:
                values.append([item for entry in group.rows for item in entry.item.columns[number]])
        if not all(isinstance(column.reduction, Reduce) for column in self.gather.columns):
            # Of all columns together: they share trees, and each alone may leave some out.
            ordered([item for entry in group.rows for column in entry.item.columns for item in column])
        failures: dict[VarName, XStreamError] = {}
        for row in group.odd:
            for number, failure in row.failures.items():
                failures[self.gather.columns[number].variable] = failure
        return self.run(group, values, failures)


def _product(reductions: list[Any]) -> Monoid[Any]:
    """The sums of several columns side by side."""
    parts = [monoid_of(reduction) for reduction in reductions]
    undo = None if any(part.less is None for part in parts) else [part.less for part in parts]

    def add(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([part.add(x, y) for part, x, y in zip(parts, a, b, strict=True)])

    def less(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        assert undo is not None
        return tuple([one(x, y) for one, x, y in zip(undo, a, b, strict=True) if one is not None])

    return Monoid(tuple([part.zero for part in parts]), add, None if undo is None else less)

"""Sort and Γ in columns: rows by the values of their keys, groups by those of theirs, equal ones in document order.

Where a row stands among others of equal keys is told by its fragment's label (:mod:`labels`), which comes last in
a key.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.model.collation import collation
from xstreamcast.operators.keys import place_of
from xstreamcast.plan.algebra import Gather, Reduce, Sort
from xstreamcast.run.continuous.adjust.collect import Sorting, SortKey, specs_of
from xstreamcast.run.continuous.columns.adjust import Contributions, Summed, texts_of
from xstreamcast.run.continuous.columns.labels import Labels
from xstreamcast.run.continuous.columns.roles import Refused
from xstreamcast.run.continuous.columns.rows import FrameProgram
from xstreamcast.run.grouping import tuple_keys

if TYPE_CHECKING:
    from xstreamcast.lang.context import StaticContext
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.function import Array
    from xstreamcast.run.continuous.columns.rows import Outcome
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.continuous.display.written import Written
    from xstreamcast.run.units import Evaluation, UnitCode

Row = tuple[Any, int]
"""What a row is known by: its fragment, or the keys of its group, and its number there."""


class Keyed(Summed):
    """Rows in an order of their own. ``rows``: their keys; ``changed``: what is to be written of rows that look
    otherwise; ``gone``: those that are shown no more."""

    def __init__(self, table: RegionTable) -> None:
        super().__init__()
        self.table = table
        self.plain = True
        """Whether all keys are bytes."""
        self.cut = False
        """Whether what rows show is told with its holes."""
        self.labels = Labels(table)
        self.rows: dict[Row, Any] = {}
        self.changed: dict[Row, Written | XStreamError] = {}
        self.gone: dict[Row, None] = {}
        self.counts: dict[Row, int] = {}
        self.items = 0

    @abstractmethod
    def key(self, row: Row) -> Any:
        """The key of a row, with the label that it has now."""

    def catch_up(self) -> None:
        """What comes first in the document may be another."""
        self.labels.catch_up()

    @abstractmethod
    def all_items(self, outcomes: dict[int, Outcome]) -> dict[Row, list[Item]]:
        """The items of all rows, given the outcomes of all fragments."""

    @abstractmethod
    def identity(self, row: Row, unit: int) -> tuple[Any, ...]:
        """What a row is known by to those that follow by objects (``journal.identity``)."""

    def show(self, some: list[tuple[Row, list[Item]]]) -> None:
        """Rows have these items."""
        for (row, items), said in zip(some, texts_of([items for _, items in some], self.cut), strict=True):
            if said is None:
                self.hide(row)
            else:
                self.changed[row] = said
                self.items += len(items) - self.counts.get(row, 0)
                self.counts[row] = len(items)

    def hide(self, row: Row) -> None:
        """A row is shown no more."""
        self.changed.pop(row, None)
        self.gone[row] = None
        self.items -= self.counts.pop(row, 0)

    def forget(self) -> None:
        self.changed.clear()
        self.gone.clear()

    def total(self) -> int:
        return self.items

    def sort_key(self, sorting: Sorting, values: list[list[Item]]) -> SortKey:
        """The key of a row that comes: as long as all have bytes, they are compared by these."""
        key = sorting.key(values, None)
        if self.plain:
            key.octets = sorting.octets(values)
            self.plain = key.octets is not None
        return key

    def placed(self, key: SortKey, place: tuple[int, ...]) -> Any:
        """A key with its place."""
        if self.plain:
            assert key.octets is not None
            return key.octets + place_of(*place)
        if any(spec.descending for spec in key.specs):
            return SortKey(key.columns, key.specs, place)
        return *key.columns, place  # which Python compares by itself

    @property
    def renewed(self) -> int:
        """How often all keys have become others."""
        return 2 * self.labels.renewed + (not self.plain)


class SortedRows(Keyed):
    """``order by``: the rows of all fragments, sorted."""

    def __init__(self, table: RegionTable, sort: Sort, static: StaticContext) -> None:
        super().__init__(table)
        self.sorting = Sorting(specs_of(sort.keys, static))
        self.of: dict[int, int] = {}
        """How many rows a fragment has."""

    def drop(self, fragments: Iterable[int]) -> None:
        fragments = list(fragments)
        for n in fragments:
            self.failed.pop(n, None)
            for number in range(self.of.pop(n, 0)):
                known = self.rows.pop((n, number), None)
                if known is not None:
                    self.sorting.drop(known)
                    self.hide((n, number))
        self.labels.drop(fragments)

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        shown: list[tuple[Row, list[Item]]] = []
        for n, outcome in zip(fragments, outcomes, strict=True):
            before = self.of.pop(n, 0)
            for number in range(before):
                known = self.rows.pop((n, number), None)
                if known is not None:
                    self.sorting.drop(known)
            self.failed.pop(n, None)
            count = 0
            if isinstance(outcome, XStreamError):
                self.failed[n] = outcome
            else:
                row: Array
                for count, row in enumerate(outcome, 1):
                    *values, items = row.members()
                    try:
                        self.rows[n, count - 1] = self.sort_key(self.sorting, values)
                    except XStreamError as failure:
                        self.failed[n] = failure
                    else:
                        shown.append(((n, count - 1), items))
            if count:
                self.of[n] = count
            for number in range(before):
                if (n, number) not in self.rows:
                    self.hide((n, number))
        self.labels.catch_up()
        self.labels.put([n for n in fragments if n in self.of])
        self.labels.drop([n for n in fragments if n not in self.of])
        self.show(shown)

    def key(self, row: Row) -> Any:
        n, number = row
        return self.placed(self.rows[row], (self.labels.of[n], number))

    def all_items(self, outcomes: dict[int, Outcome]) -> dict[Row, list[Item]]:
        found: dict[Row, list[Item]] = {}
        for n, outcome in outcomes.items():
            if not isinstance(outcome, XStreamError):
                row: Array
                for number, row in enumerate(outcome):
                    found[n, number] = list(row.members())[-1]
        return found

    def identity(self, row: Row, unit: int) -> tuple[Any, ...]:
        n, number = row
        return (unit, 0, *self.table.holes_around(n)), number

    @property
    def failure(self) -> XStreamError | None:
        return self.sorting.failure

    @property
    def size(self) -> int:
        return len(self.rows)


class _Group:
    """Rows of equal keys: of each the values of its columns; and the sums of those."""

    __slots__ = ("columns", "first", "fresh", "rows", "values")

    def __init__(self, values: list[Item | None], columns: list[Any]) -> None:
        self.values = values
        self.columns = columns
        self.rows: dict[tuple[int, int], tuple[list[Item | None], list[Any]]] = {}
        self.first: tuple[int, int] | None = None
        """The row that comes first in the document, as far as it is known; ``fresh``: rows that may come before it."""
        self.fresh: list[tuple[int, int]] = []


class GatheredRows(Keyed):
    """``group by``: groups of the rows of all fragments, with the sums of their columns, and what their body gives."""

    def __init__(
        self, table: RegionTable, gather: Gather, static: StaticContext, code: UnitCode, evaluation: Evaluation
    ) -> None:
        super().__init__(table)
        self.gather = gather
        self.width = len(gather.keys)
        self.collations = [collation(k.collation or static.default_collation, static.base_uri) for k in gather.keys]
        self.added = [
            Contributions(column.reduction.aggregate, partial(self._fresh, number))
            for number, column in enumerate(gather.columns)
            if isinstance(column.reduction, Reduce)
        ]
        self.sorting = None if gather.order is None else Sorting(specs_of(gather.order.keys, static))
        self.groups: dict[Hashable, _Group] = {}
        self.of: dict[int, list[Hashable]] = {}
        """The groups of the rows of a fragment."""
        self.dirty: dict[Hashable, None] = {}
        self.orders: dict[Row, Any] = {}
        self.lengths: dict[Hashable, int] = {}
        """How many rows the body of a group gives."""
        variables = [*[key.var.expanded for key in gather.keys], *[c.variable for c in gather.columns]]
        self.body = FrameProgram(code, evaluation, variables, gather.body)
        self._evaluation, self._code = evaluation, code
        self.faults: dict[Hashable, XStreamError] = {}

    def drop(self, fragments: Iterable[int]) -> None:
        fragments = list(fragments)
        for n in fragments:
            self.failed.pop(n, None)
            self._take(n)
        self.labels.drop(fragments)

    def _take(self, n: int) -> None:
        for number, known in enumerate(self.of.pop(n, ())):
            group = self.groups[known]
            _, values = group.rows.pop((n, number))
            for column, one in enumerate(values):
                group.columns[column].adjust([one], [])
            if group.first == (n, number):
                group.first = None
            if group.rows:
                self.dirty[known] = None
            else:
                del self.groups[known]
                self.dirty.pop(known, None)
                self._clear(known)

    def _clear(self, known: Hashable) -> None:
        self.faults.pop(known, None)
        for row in [row for row in self._rows_of(known) if row in self.counts or row in self.changed]:
            self.hide(row)
        for row in self._rows_of(known):
            order = self.orders.pop(row, None)
            if order is not None and self.sorting is not None:
                self.sorting.drop(order)
        self.lengths.pop(known, None)

    def _rows_of(self, known: Hashable) -> list[Row]:
        return [(known, number) for number in range(self.lengths.get(known, 0))]

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        for n, outcome in zip(fragments, outcomes, strict=True):
            self._take(n)
            self.failed.pop(n, None)
            if isinstance(outcome, XStreamError):
                self.failed[n] = outcome
                continue
            made: list[Hashable] = []
            row: Array
            for row in outcome:
                try:
                    made.append(self._put_row((n, len(made)), list(row.members())))
                except XStreamError as failure:
                    self.failed[n] = failure
            if made:
                self.of[n] = made
        self.catch_up()
        self.labels.put([n for n in fragments if n in self.of])
        self.labels.drop([n for n in fragments if n not in self.of])

    def catch_up(self) -> None:
        if self.labels.catch_up():
            for group in self.groups.values():
                group.first = None
            self.dirty = dict.fromkeys(self.groups)

    def _put_row(self, place: tuple[int, int], values: list[list[Item]]) -> Hashable:
        keys, known = tuple_keys(self.gather, self.collations, values)
        columns: list[Any] = []
        for added, items in zip(self.added, values[self.width :], strict=True):
            found = added.of(items)
            if isinstance(found, XStreamError):  # the body may not read it
                raise Refused("a column of a group fails")
            columns.append(found)
        group = self.groups.get(known)
        if group is None:
            group = self.groups[known] = _Group(keys, [added.accumulator() for added in self.added])
        group.rows[place] = keys, columns
        for column, value in enumerate(columns):
            group.columns[column].adjust([], [value])
        group.fresh.append(place)
        self.dirty[known] = None
        return known

    def settle(self) -> None:
        """Evaluate the bodies of the groups that are others."""
        self.catch_up()
        dirty, self.dirty = list(self.dirty), {}
        for known in dirty:
            group = self.groups[known]
            if group.first is None:
                group.first = min(group.rows, key=self._place)
            elif group.fresh:
                group.first = min([group.first, *[one for one in group.fresh if one in group.rows]], key=self._place)
            group.fresh = []
            group.values = group.rows[group.first][0]
        shown: list[tuple[Row, list[Item]]] = []
        for known, outcome in zip(dirty, self._bodies(dirty), strict=True):
            before = self._rows_of(known)
            self.faults.pop(known, None)
            for row in before:
                order = self.orders.pop(row, None)
                if order is not None and self.sorting is not None:
                    self.sorting.drop(order)
            rows: list[tuple[Row, list[Item]]] = []
            if isinstance(outcome, XStreamError):
                self.faults[known] = outcome
            elif self.sorting is None:
                rows = [((known, 0), outcome)] if outcome else []
            else:
                rows = self._sorted(known, outcome)
            self.lengths[known] = len(rows)
            for row in before[len(rows) :]:
                self.hide(row)
            shown += rows
        self.show(shown)

    def _bodies(self, some: list[Hashable]) -> list[Outcome]:
        """What the body gives for each of some groups."""
        arguments: list[tuple[Any, ...]] = []
        for known in some:
            group = self.groups[known]
            values: list[Any] = [[] if key is None else [key] for key in group.values]
            for added, column in zip(self.added, group.columns, strict=True):
                values.append(added.aggregate.summaries.value(column.summary, added.fresh))
            arguments.append(tuple(values))
        return self.body.outcomes(arguments)

    def all_items(self, outcomes: dict[int, Outcome]) -> dict[Row, list[Item]]:
        found: dict[Row, list[Item]] = {}
        known = list(self.groups)
        for one, outcome in zip(known, self._bodies(known), strict=True):
            if isinstance(outcome, XStreamError):
                raise outcome
            if self.sorting is None:
                found[one, 0] = outcome
            else:
                row: Array
                for number, row in enumerate(outcome):
                    found[one, number] = list(row.members())[-1]
        return found

    def identity(self, row: Row, unit: int) -> tuple[Any, ...]:
        known, number = row
        return (known,), number

    def _sorted(self, known: Hashable, outcome: list[Any]) -> list[tuple[Row, list[Item]]]:
        assert self.sorting is not None
        rows: list[tuple[Row, list[Item]]] = []
        for one in outcome:
            *values, items = one.members()
            try:
                order = self.sort_key(self.sorting, values)
            except XStreamError as failure:
                self.faults[known] = failure
                continue
            self.orders[known, len(rows)] = order
            rows.append(((known, len(rows)), items))
        return rows

    def _place(self, place: tuple[int, int]) -> tuple[int, int]:
        return self.labels.of[place[0]], place[1]

    def _fresh(self, number: int) -> Any:
        from xstreamcast.run.reductions import state_of

        reduction = self.gather.columns[number].reduction
        return state_of(reduction, self._evaluation.context(self._code.program("items")), [], None)

    def key(self, row: Row) -> Any:
        known, number = row
        first = self.groups[known].first
        assert first is not None
        place = self._place(first)
        if self.sorting is None:
            return place
        return self.placed(self.orders[row], (*place, number))

    @property
    def failure(self) -> XStreamError | None:
        if self.faults:
            return next(iter(self.faults.values()))
        return None if self.sorting is None else self.sorting.failure

    @property
    def size(self) -> int:
        return len(self.groups)

"""``order by`` and ``group by`` over a large document, by columns: no tuple is an object.

    for $i in //item order by $i/location return R             Sort: keys as bytes, sorted once; R of the nodes in order
    for $i in //item group by $l := $i/location return R       Gather: groups by the bytes of their keys; R of each

Keys and what is reduced are paths from the record, or ``number()``, ``xs:integer()`` … of one: they are read from the
columns of a batch (:class:`~xstreamcast.tables.columns.Table`). Whatever turns out to be anything else, such as a
record with two values of a key, ends it (:class:`NotColumns`): the query is run on its projected document instead, and
tells of its errors there. With ``memory=`` rows beyond it go to disk (:mod:`xstreamcast.operators.rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from xstreamcast.lang import ast
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import collation
from xstreamcast.model.function import Array
from xstreamcast.model.serialise import Markup
from xstreamcast.model.tree import Node, Tree, nodes_at
from xstreamcast.native.vector import Longs
from xstreamcast.operators import of_values
from xstreamcast.operators.aggregates import Aggregate
from xstreamcast.operators.grouping import Groups
from xstreamcast.operators.keys import KeyColumn, Numbers, Texts, encoded, order
from xstreamcast.operators.rows import Column, External, Ragged, Rows
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import PLAN, Gather, Reduce, Sort, VarName
from xstreamcast.plan.decompose.columns import Columnar, Keyed
from xstreamcast.run.compile.rows import RowsClause, Shapeless, TextsOf
from xstreamcast.run.reductions import Collected
from xstreamcast.run.runtime.order import OrderSpec, sort_rows
from xstreamcast.run.subtrees import joined, subtrees, tree_of
from xstreamcast.scan import spans
from xstreamcast.scan.octets import Octets
from xstreamcast.scan.path import Path
from xstreamcast.tables.columns import Table

if TYPE_CHECKING:
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.runtime.shapes import Shape
    from xstreamcast.run.units import Evaluation, Parts

__all__ = ["CollectedCode", "Columns", "NotColumns", "collected"]

_AT_ONCE: Final = 4096
"""Nodes, or groups, that a program is run on."""
_ROWS: Final[VarName] = (PLAN, "rows")


class NotColumns(Exception):
    """There is something that columns do not hold."""


class CollectedCode:
    """The programs of a unit that is sorted or grouped by columns."""

    def __init__(self, parts: Parts, columnar: Columnar) -> None:
        from xstreamcast.run.units import declaration, plan_name

        self.columnar = columnar
        self.shapes: list[Shape] = []
        """Of the element that :attr:`texts` are of."""
        self.texts: Executable | None = None
        """The program of the result, if that is an element of which no more than its texts need be computed."""
        loop, given = columnar.loop, ast.VarRef(plan_name(_ROWS))
        variable = ast.VarRef(columnar.variable)
        self.records: Executable | None = None
        if any(isinstance(clause, ast.WhereClause) for clause in loop.clauses):
            self.records = parts.compile(ast.FLWOR(loop.clauses, variable, span=loop.span))
        self.result: Executable | None = None
        reduction = columnar.reduction
        if isinstance(reduction, Sort):
            result = columnar.result
            if result != variable:
                over = ast.ForClause(columnar.variable, None, False, None, given)
                lets = [clause for clause in loop.clauses if isinstance(clause, ast.LetClause)]
                nodes = declaration(_ROWS, ast.SequenceType(ast.KindTest("node"), "*"))
                self._compile(parts, (over, *lets), result, nodes)
            return
        names = [key.var for key in reduction.keys]
        kinds = ["string"] * len(names)
        for column in reduction.columns:
            assert isinstance(column.reduction, Reduce)
            names.append(plan_name(column.variable))
            kinds.append(_kind(column.reduction.aggregate))
        rows = RowsClause(tuple(names), tuple(kinds), given)
        self._compile(parts, (rows,), reduction.body, declaration(_ROWS, None))  # type: ignore[arg-type]  # one of ours

    def _compile(
        self, parts: Parts, clauses: tuple[ast.Clause, ...], result: ast.Expr, given: ast.VariableDecl
    ) -> None:
        self.result = parts.compile(ast.FLWOR(clauses, result, span=result.span), given)
        if isinstance(result, ast.DirectElement):
            texts = TextsOf(result, self.shapes, span=result.span)
            with suppress(Shapeless):
                self.texts = parts.compile(ast.FLWOR(clauses, texts, span=result.span), given)


def _kind(aggregate: Aggregate) -> str:
    return {"integer": "integer!", "boolean": "boolean!"}.get(
        aggregate.result[0], "numeric!" if aggregate.name == "sum" else "double"
    )


def collected(evaluation: Evaluation, code: CollectedCode) -> Columns:
    """A fresh state."""
    reduction = code.columnar.reduction
    if isinstance(reduction, Sort):
        return Sorted(evaluation, code, reduction)
    return Gathered(evaluation, code, reduction)


class Columns(Collected):
    """The columns kept of the records of all batches so far."""

    def __init__(self, evaluation: Evaluation, code: CollectedCode) -> None:
        self.evaluation, self.code = evaluation, code
        self.columnar = code.columnar
        self.memory = evaluation.memory if self.columnar.spills else None

    def take(self, root: Node) -> None:
        """Take the records of a batch."""
        tree = root[0]
        if not isinstance(tree.octets, Octets):
            raise NotColumns
        table = Table(tree)
        if self.code.records is None:
            start = np.zeros(1, np.int64)
            _, rows = table.walk(start, start, self.columnar.path)
        else:
            nodes = list(self.evaluation.run(self.code.records))
            rows = np.array([node[1] for node in nodes], np.int64)
        if len(rows):
            keys = [_key(table, key, rows) for key in self.columnar.keys]
            self.put(table, rows, *encoded(keys, self.columnar.ways))

    def put(self, table: Table, rows: Longs, keys: Any, bounds: Longs) -> None:
        """Take records with their keys."""
        raise NotImplementedError

    @property
    def spilled(self) -> int:
        """Runs that were written to disk."""
        raise NotImplementedError

    def run(self, rows: Any, written: bool) -> Iterator[Item]:
        """The program of the result, of some rows."""
        code = self.code
        assert code.result is not None
        self.evaluation.bind(_ROWS, rows)
        if not written or code.texts is None:
            return self.evaluation.run(code.result)
        texts: list[Any] = list(self.evaluation.run(code.texts))
        return iter([Markup(code.shapes[0].markup(texts))])


class Sorted(Columns):
    """``order by``: the trees of the batches, and of each record its row and its keys."""

    def __init__(self, evaluation: Evaluation, code: CollectedCode, sort: Sort) -> None:
        super().__init__(evaluation, code)
        self.sort = sort
        self.external = None if self.memory is None else External(self.memory)
        self.trees: list[Tree] = []
        self.parts: list[tuple[Longs, Any, Longs]] = []

    @property
    def spilled(self) -> int:
        return 0 if self.external is None else self.external.spilled

    def put(self, table: Table, rows: Longs, keys: Any, bounds: Longs) -> None:
        if self.external is not None:
            self.external.add(Rows(Ragged(keys, bounds), subtrees(table, rows)))
            return
        self.trees.append(table.tree)
        self.parts.append((rows, keys, np.diff(bounds)))

    def answer(self, written: bool) -> Iterator[Item]:
        chosen = self.sort.chosen
        if chosen is None:
            return self._items(written)
        return islice(self._items(False), max(chosen.first - 1, 0), chosen.last)

    def _items(self, written: bool) -> Iterator[Item]:
        for nodes in self._nodes():
            yield from nodes if self.code.result is None else self.run(nodes, written)

    def _nodes(self) -> Iterator[list[Node]]:
        """The records in order."""
        if self.external is not None:
            for block in self.external.sorted():
                made, tops = tree_of(block)
                for first in range(0, len(tops), _AT_ONCE):
                    yield nodes_at(made, tops[first : first + _AT_ONCE])
            return
        if not self.parts:
            return
        before = np.cumsum([0, *[len(tree) for tree in self.trees]])
        rows = np.concatenate([own + begin for (own, _, _), begin in zip(self.parts, before, strict=False)])
        sizes = np.concatenate([own for _, _, own in self.parts])
        keys = Ragged.of(np.concatenate([own for _, own, _ in self.parts]), sizes)
        self.parts = []
        rows = rows[order(keys.values, keys.bounds)]
        del keys
        tree = joined(self.trees)
        for first in range(0, len(rows), _AT_ONCE):
            yield nodes_at(tree, rows[first : first + _AT_ONCE].tolist())


class Gathered(Columns):
    """``group by``: groups by their keys, and of each what is reduced."""

    def __init__(self, evaluation: Evaluation, code: CollectedCode, gather: Gather) -> None:
        super().__init__(evaluation, code)
        self.gather = gather
        self.aggregates = [
            column.reduction.aggregate for column in gather.columns if isinstance(column.reduction, Reduce)
        ]
        self.groups = Groups([not aggregate.counts for aggregate in self.aggregates], self.memory)

    @property
    def spilled(self) -> int:
        return self.groups.spilled

    def put(self, table: Table, rows: Longs, keys: Any, bounds: Longs) -> None:
        found: dict[tuple[Path, bool], Column] = {}
        for path, aggregate in zip(self.columnar.columns, self.aggregates, strict=True):
            if (path, aggregate.counts) not in found:
                read = _counts if aggregate.counts else _doubles
                found[path, aggregate.counts] = read(table, rows, path)
        columns = [
            found[path, aggregate.counts]
            for path, aggregate in zip(self.columnar.columns, self.aggregates, strict=True)
        ]
        self.groups.add(keys, bounds, columns)

    def answer(self, written: bool) -> Iterator[Item]:
        written = written and self.gather.order is None
        made = chain.from_iterable(self.run(zip(*columns, strict=True), written) for columns in self._columns())
        if self.gather.order is None:
            return made
        static = self.code.columnar.static
        specs = tuple(
            [
                OrderSpec(
                    key.descending,
                    not (static.empty_least if key.empty_least is None else key.empty_least),
                    collation(key.collation or static.default_collation, static.base_uri),
                )
                for key in self.gather.order.keys
            ]
        )
        return _in_order(made, specs)

    def _columns(self) -> Iterator[list[list[Any]]]:
        """The groups' keys and what their columns come to, some thousands of groups at a time."""
        width = len(self.gather.keys)
        context = self.evaluation.context(self.code.result) if self.code.result is not None else None
        assert context is not None
        for block in chain.from_iterable(map(_pieces, self.groups.groups())):
            values: list[list[Any]] = _texts(block.keys, width)
            for aggregate, column in zip(self.aggregates, block.columns, strict=True):
                if aggregate.counts:
                    values.append(_numbered(aggregate, column))
                    continue

                def reduced(own: list[float], aggregate: Aggregate = aggregate) -> Item:
                    state = aggregate.state(context, None)
                    state.add_part(own)
                    return state.value()[0]

                values.append(getattr(of_values, aggregate.of_values)(column, reduced))
            yield values


def _pieces(rows: Rows) -> Iterator[Rows]:
    for first in range(0, len(rows), _AT_ONCE):
        yield rows.taken(np.arange(first, min(first + _AT_ONCE, len(rows))))


def _in_order(rows: Iterator[Item], specs: tuple[OrderSpec, ...]) -> Iterator[Item]:
    """The results of groups, by the keys that they give with them."""
    made = []
    for row in rows:
        assert isinstance(row, Array)
        *keys, result = row.members()
        if any(len(key) > 1 for key in keys):
            raise NotColumns
        made.append((*[key[0] if key else None for key in keys], result))
    for row in sort_rows(made, specs):
        yield from row[-1]


def _numbered(aggregate: Aggregate, counts: Longs) -> list[Item]:
    numbers: list[Item] = counts.tolist()
    if aggregate.name == "count":
        return numbers
    return [aggregate.summaries.value(number, State)[0] for number in numbers]


# ------------------------------------------------------------------------------------------------------ columns


def _key(table: Table, key: Keyed, rows: Longs) -> KeyColumn:
    """A column of keys: of each record one value, or none."""
    owners, found = table.walk(np.arange(len(rows)), rows, key.path)
    there = np.zeros(len(rows), np.bool_)
    there[owners] = True
    if len(owners) > there.sum() or (key.exactly and len(owners) < len(rows)):
        raise NotColumns
    joined, ends = table.values(found)
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
    if key.form == "text":
        if len(owners) == len(rows):
            return Texts(joined, begins, ends, there)
        first, last = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
        first[owners], last[owners] = begins, ends
        return Texts(joined, first, last, there)
    read, good = spans.integers(joined, begins, ends) if key.form == "integer" else spans.doubles(joined, begins, ends)
    if key.form != "number" and not good.all():
        raise NotColumns
    values = np.zeros(len(rows), read.dtype) if key.form != "number" else np.full(len(rows), np.nan)
    values[owners] = read
    return Numbers(values, np.ones(len(rows), np.bool_) if key.form == "number" else there)


def _counts(table: Table, rows: Longs, path: Path) -> Longs:
    """Of each record how many nodes it has."""
    owners, _ = table.walk(np.arange(len(rows)), rows, path)
    return np.bincount(owners, minlength=len(rows))


def _doubles(table: Table, rows: Longs, path: Path) -> Ragged:
    """Of each record its values as xs:double, which untyped ones are to who adds them up."""
    owners, found = table.walk(np.arange(len(rows)), rows, path)
    joined, ends = table.values(found)
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]]) if len(ends) else ends
    values, good = spans.doubles(joined, begins, ends)
    if not good.all() or (np.signbit(values) & (values == 0)).any():
        raise NotColumns
    return Ragged.of(values, np.bincount(owners, minlength=len(rows)))


def _texts(keys: Ragged, width: int) -> list[list[Any]]:
    """The grouping keys, of which each is a text or none, as they were encoded."""
    if not len(keys):
        return [[] for _ in range(width)]
    size = int(keys.bounds[-1])
    texts: list[Any] = str(np.ascontiguousarray(keys.values[: size - 1]).data, "utf-8").split("\0")
    made = [text[1:] for text in texts]
    if "\1" in texts:
        made = [None if text == "\1" else own for text, own in zip(texts, made, strict=True)]
    return [made[k::width] for k in range(width)]

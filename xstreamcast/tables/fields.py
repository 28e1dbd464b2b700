"""Loops that make a map of each record: their values as columns of paths, for all records of a batch at once.

    for $b in //book where $b/price < 30 return map { 'id': $b/@id, 'price': xs:decimal($b/price) }

The records are chosen by the loop as it stands, one by one; what is taken of them needs no object for each value. Where
a value is anything else than a path from the record, or a cast of one, the maps are made as the query says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, ELEMENT
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.decompose.scan_filters import relative
from xstreamcast.tables.cells import Nested, cell
from xstreamcast.tables.columns import TYPES, Column, Table, arrow
from xstreamcast.tables.kinds import Kind, kind_of_all, listed

_CASTS: Final = frozenset(TYPES) - {"untypedAtomic"}


@dataclass(frozen=True, slots=True)
class Field:
    """A column, and what stands where a record has nothing for it. ``nodes``: its values are nodes, not yet text."""

    column: Column
    absent: str | None = None
    nodes: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """The loop that gives the records, and what is taken of each."""

    records: ast.FLWOR
    fields: tuple[Field, ...]


def fields_of(items: ast.Expr) -> Fields | None:
    """The columns of a loop whose items are maps of paths from one of its variables; None if they are anything else."""
    if not (isinstance(items, ast.FLWOR) and isinstance(items.result, ast.MapConstructor)):
        return None
    if not all(isinstance(clause, ast.ForClause | ast.LetClause | ast.WhereClause) for clause in items.clauses):
        return None
    for clause in reversed(items.clauses):
        if isinstance(clause, ast.ForClause) and not clause.allowing_empty:
            made = [_field(entry, clause.var.expanded) for entry in items.result.entries]
            fields = tuple(field for field in made if field is not None)
            if len(fields) < len(made) or len({field.column.name for field in fields}) < len(fields) or not fields:
                return None
            return Fields(replace(items, result=ast.VarRef(clause.var, span=clause.var.span)), fields)
    return None


def _field(entry: ast.MapEntry, variable: VarName) -> Field | None:
    if not isinstance(entry.key, ast.StringLiteral):
        return None
    value = entry.value
    name = entry.key.value

    def column(path: ast.Expr, type_: str, repeated: bool | None) -> Column | None:
        steps = relative(path, variable)
        return None if steps is None else Column(name, steps, 0, None, type_, repeated)

    made, absent, nodes = column(value, "string", None), None, True
    if made is None:
        nodes = False
        match value:
            case ast.FunctionCall(ast.Name(uri=uri, local=local), (path,)) if uri == XS and local in _CASTS:
                made = column(path, TYPES[local], False)
            case ast.FunctionCall(ast.Name(uri=uri, local="string"), (path,)) if uri == FN:
                made, absent = column(path, "string", False), ""
            case ast.FunctionCall(ast.Name(uri=uri, local="data"), (path,)) if uri == FN:
                made = column(path, "string", None)
            case ast.SimpleMap((path, ast.FunctionCall(ast.Name(uri=uri, local=local), (ast.ContextItem(),)))):
                if uri == XS and local in _CASTS:
                    made = column(path, TYPES[local], None)
    if made is None:
        return None
    return Field(made, absent, nodes)


class RecordRows:
    """Records of a batch as rows: the columns of some fields."""

    def __init__(self, fields: Sequence[Field], records: Sequence[Node], now: Any, nested: Nested) -> None:
        self.table = Table(records[0][0])
        self.rows = np.array([record[1] for record in records], np.int64)
        self.fields = {field.column.name: field for field in fields}
        self.now, self.nested = now, nested
        self._cells: dict[str, list[Any]] = {}
        self._found: dict[str, tuple[Any, Any]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.fields)

    def _values(self, name: str) -> tuple[Any, Any]:
        if name not in self._found:
            self._found[name] = self.table.column(self.fields[name].column, self.rows)
        return self._found[name]

    def _records_in(self, name: str) -> list[Any] | None:
        """The cells of a column in which there are elements with more than text in them; None: there are none."""
        field = self.fields[name]
        if not field.nodes or self.nested in ("text", "columns"):
            return None
        if name in self._cells:
            return self._cells[name]
        owners, rows = self._values(name)
        if not _structured(self.table, rows):
            return None
        cells: list[list[Any]] = [[] for _ in self.rows]
        for owner, row in zip(owners.tolist(), rows.tolist(), strict=True):
            cells[owner].append(Node((self.table.tree, row)))
        self._cells[name] = [cell(own, self.nested) for own in cells]
        return self._cells[name]

    def kind(self, name: str) -> Kind:
        """The narrowest type of a column of these rows."""
        cells = self._records_in(name)
        if cells is not None:
            return kind_of_all(cells)
        column = self.fields[name].column
        kind = Kind(column.type)
        if column.repeated is not None:
            return listed(kind) if column.repeated else kind
        owners, _ = self._values(name)
        return listed(kind) if len(owners) and np.bincount(owners).max() > 1 else kind

    def array(self, name: str, kind: Kind) -> Any | None:
        """A column as an Arrow array of a type; None if its values have to be looked at one by one."""
        field = self.fields[name]
        if self._records_in(name) is not None:
            return None
        own = Kind(field.column.type)
        if kind not in (own, listed(own)):
            return None
        column = replace(field.column, repeated=kind.item is not None)
        made = arrow(self.table, column, self.rows, self.now, lambda _: None)
        return made if field.absent is None else made.fill_null(field.absent)

    def records(self) -> list[dict[str, Any]]:
        """The rows, one by one."""
        columns = [self.values(name) for name in self.fields]
        return [dict(zip(self.fields, values, strict=True)) for values in zip(*columns, strict=True)]

    def values(self, name: str) -> list[Any]:
        """A column as plain values."""
        cells = self._records_in(name)
        if cells is None:
            kind = self.kind(name)
            cells = self.array(name, kind).to_pylist()  # type: ignore[union-attr]  # of its own type it is one
            if kind.item is not None:
                cells = [own[0] if len(own) == 1 else own or None for own in cells]
        return cells


def _structured(table: Table, rows: Any) -> bool:
    """Whether there is an element among nodes that has attributes, or elements in it."""
    elements = rows[table.kinds[rows] == ELEMENT]
    if not len(elements):
        return False
    inner = np.cumsum((table.kinds == ELEMENT) | (table.kinds == ATTRIBUTE))
    return bool((inner[elements + table.sizes[elements]] > inner[elements]).any())

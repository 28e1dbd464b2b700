"""Which units of a part of the answer can be followed item by item, inside of what the query makes around them.

    <books>{ for … }</books>        if (c) then (for …) else ()        <books>{ if (c) then (for …) else () }</books>
    <books>{ //title, for … }</books>        <books>{ switch (k) case 1 return (for …) default return //none }</books>

What is around is computed with a hole in the place of the items. A condition shows or hides them as a group (ICDE'08:
``/biblio[publisher = "Wiley"]/books``), for the hole goes and comes with it.
"""

from __future__ import annotations

from collections.abc import Mapping

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.plan.algebra import Gather, Rank, Sort, Unit, VarName, Windows, in_parts
from xstreamcast.plan.decompose.constructors import CHILDREN, mentions, stands
from xstreamcast.plan.passes.dependence import bindings
from xstreamcast.plan.passes.shapes import nodes


def splices(part: ast.Expr, unit: Unit) -> bool:
    """Whether the items of a unit stand by themselves in a part of the answer, and nowhere else."""
    if not in_parts(unit.reduction):
        return False
    plain = _unconditional(part, unit.variable)
    of_nodes = _gives_nodes(_shown(unit), bindings(unit.items))
    if isinstance(plain, ast.VarRef):
        return not isinstance(part, ast.VarRef) and of_nodes
    return stands(plain, unit.variable, of_nodes)


def _unconditional(e: ast.Expr, variable: VarName) -> ast.Expr:
    """The expression without conditions on the variable alone."""

    def change(part: ast.Node) -> ast.Node:
        if not mentions(part, variable):
            return part
        made = rebuild(part, change)
        if isinstance(made, ast.If) and isinstance(made.then, ast.VarRef) and made.otherwise == ast.Sequence():
            return made if mentions(made.condition, variable) else made.then
        return made

    found = change(e)
    assert isinstance(found, ast.Expr)
    return found


def _shown(unit: Unit) -> ast.Expr:
    """The expression that a unit's rows, or its groups, show."""
    e = unit.reduction.body if isinstance(unit.reduction, Gather | Rank | Windows) else unit.items
    sorted_rows = isinstance(unit.reduction, Sort) or (isinstance(unit.reduction, Gather) and unit.reduction.order)
    if isinstance(unit.reduction, Rank) and isinstance(e, ast.VarRef) and e.name.expanded in unit.reduction.columns:
        row = _last(unit.items)
        assert isinstance(row, ast.SquareArray)
        e = row.members[len(unit.reduction.keys) + unit.reduction.columns.index(e.name.expanded)]
    e = _last(e)
    return e.members[-1] if sorted_rows and isinstance(e, ast.SquareArray) else e


def _last(e: ast.Expr) -> ast.Expr:
    while isinstance(e, ast.FLWOR):
        e = e.result
    return e


def _gives_nodes(e: ast.Expr, values: Mapping[VarName, ast.Expr]) -> bool:
    """Whether an expression is sure to give nodes: no blank is due between these and what is beside them.

    ``values`` has what variables are bound to, or to an item of.
    """
    if isinstance(e, ast.FLWOR):
        return _gives_nodes(e.result, values)
    if isinstance(e, ast.Sequence):
        return all(_gives_nodes(part, values) for part in e.items)
    if isinstance(e, ast.VarRef) and e.name.expanded in values:
        return _gives_nodes(values[e.name.expanded], values)
    return nodes(e) or isinstance(e, CHILDREN)

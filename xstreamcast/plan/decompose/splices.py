"""Which units of a part of the answer can be followed item by item, inside of what the query makes around them.

    <books>{ for … }</books>        if (c) then (for …) else ()        <books>{ if (c) then (for …) else () }</books>

What is around is computed with a hole in the place of the items. A condition shows or hides them as a group (ICDE'08:
``/biblio[publisher = "Wiley"]/books``), for the hole goes and comes with it.
"""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.plan.algebra import Gather, Rank, Sort, Unit, VarName, in_parts
from xstreamcast.plan.decompose.shells import CHILDREN, mentions, stands
from xstreamcast.plan.passes.shapes import nodes


def splices(part: ast.Expr, unit: Unit) -> bool:
    """Whether the items of a unit stand by themselves in a part of the answer, and nowhere else."""
    if not in_parts(unit.reduction):
        return False
    plain = _unconditional(part, unit.variable)
    if isinstance(plain, ast.VarRef):
        return not isinstance(part, ast.VarRef) and _gives_nodes(_shown(unit))
    return stands(plain, unit.variable)


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
    """What a unit's rows, or its groups, show."""
    e = unit.reduction.body if isinstance(unit.reduction, Gather | Rank) else unit.items
    sorted_rows = isinstance(unit.reduction, Sort) or (isinstance(unit.reduction, Gather) and unit.reduction.order)
    while isinstance(e, ast.FLWOR):
        e = e.result
    return e.members[-1] if sorted_rows and isinstance(e, ast.SquareArray) else e


def _gives_nodes(e: ast.Expr) -> bool:
    """Whether an expression is sure to give nodes: no blank is due between these and what is beside them."""
    if isinstance(e, ast.FLWOR):
        return _gives_nodes(e.result)
    if isinstance(e, ast.Sequence):
        return all(map(_gives_nodes, e.items))
    return nodes(e) or isinstance(e, CHILDREN)

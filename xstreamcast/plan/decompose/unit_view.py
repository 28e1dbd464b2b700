"""The view that a unit has of its document, as an expression."""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import Fold, Group, Unit, VarName, reads_items


def named(variable: VarName) -> ast.Name:
    """The name of a variable of the plan."""
    return ast.Name("", variable[1], variable[0])


def seen_by(unit: Unit) -> ast.Expr:
    """An expression that sees of a document what the unit's expression and its reduction see."""
    reduction = unit.reduction
    if isinstance(reduction, Group) and reduction.rows:
        return unit.items
    inner = reduction.inner if isinstance(reduction, Group) else reduction
    if isinstance(inner, Fold):
        # An accumulator has nodes of the document only if the step gives such nodes: then all of them is seen.
        nothing = ast.LetClause(named(inner.accumulator), None, ast.Sequence())
        value: ast.Expr = ast.FLWOR((nothing,), inner.step)
        item = inner.item
    elif isinstance(reduction, Group):
        item = reduction.item
        value = ast.VarRef(named(item))
        if not reads_items(inner):
            value = ast.FunctionCall(ast.Name("fn", "exists", FN), (value,))
    else:
        return unit.items
    if isinstance(reduction, Group):
        same = ast.LetClause(named(reduction.item), None, ast.VarRef(named(item)))
        keys = ast.Sequence((value, *reduction.keys))
        value = keys if item == reduction.item else ast.FLWOR((same,), keys)
    return ast.FLWOR((ast.ForClause(named(item), None, False, None, unit.items),), value)

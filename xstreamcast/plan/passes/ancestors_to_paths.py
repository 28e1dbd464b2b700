"""What an element asks of what is below an ancestor is a condition on the way to it.

    //b[ancestor::s/t = "x"][q]/c                          //s[t = "x"]//b[q]/c
    //b[ancestor::s[t = "x"]]                              //s[t = "x"]//b
    for $b in //b where $b/ancestor::s/t = "x" return R    for $b in //s[t = "x"]//b return R

So nothing leads up from a record to what is beside it. Names and attributes of ancestors are known with each record:
conditions on these stay where they are. So do such as may fail, for an ancestor that has no ``b`` is asked, too.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.plan.passes.shapes import boolean
from xstreamcast.plan.sources import source_of

_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))


def ancestors_to_paths(module: ast.Module) -> ast.Module:
    """The module's body with such conditions on elements at any depth of a stream."""

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        if isinstance(made, ast.FLWOR):
            return _loop(made)
        return _path(made) if isinstance(made, ast.Path) else made

    return with_body(module, visit)


def _path(e: ast.Path) -> ast.Path:
    if len(e.steps) < 3 or not isinstance(e.steps[0], ast.VarRef) or e.steps[1] != _ANYWHERE:
        return e
    step = e.steps[2]
    if source_of(e.steps[0].name.expanded) is None or not isinstance(step, ast.AxisStep) or step.axis != "child":
        return e
    if not all(boolean(predicate) for predicate in step.predicates):
        return e
    for number, predicate in enumerate(step.predicates):
        above = _above(predicate, None)
        if above is not None:
            others = (*step.predicates[:number], *step.predicates[number + 1 :])
            plain = ast.AxisStep("child", step.test, others, span=step.span)
            return ast.Path((*e.steps[:2], above, _ANYWHERE, plain, *e.steps[3:]), span=e.span)
    return e


def _loop(e: ast.FLWOR) -> ast.FLWOR:
    """A loop whose first condition is such."""
    if len(e.clauses) < 2:
        return e
    first, where = e.clauses[:2]
    if not isinstance(first, ast.ForClause) or not isinstance(where, ast.WhereClause) or first.allowing_empty:
        return e
    path = first.source
    if first.position is not None or not isinstance(path, ast.Path) or len(path.steps) != 3:
        return e
    above, step = _above(where.condition, first.var), path.steps[2]
    if above is None or path.steps[1] != _ANYWHERE or source_of(_name(path.steps[0])) is None:
        return e
    if not isinstance(step, ast.AxisStep) or step.axis != "child" or not all(boolean(p) for p in step.predicates):
        return e
    source = ast.Path((*path.steps[:2], above, _ANYWHERE, step), span=path.span)
    loop = ast.ForClause(first.var, first.type, False, None, source, span=first.span)
    return ast.FLWOR((loop, *e.clauses[2:]), e.result, span=e.span)


def _name(e: ast.Expr) -> tuple[str, str]:
    return e.name.expanded if isinstance(e, ast.VarRef) else ("", "")


def _above(e: ast.Expr, variable: ast.Name | None) -> ast.AxisStep | None:
    """A condition that there is an ancestor with something below it, as a step to those; of a variable or the focus."""
    below, compared = e, None
    if isinstance(e, ast.GeneralComparison) and isinstance(e.right, ast.StringLiteral):
        below, compared = e.left, e
    steps = below.steps if isinstance(below, ast.Path) else (below,)
    if variable is not None:
        if steps[0] != ast.VarRef(variable):
            return None
        steps = steps[1:]
    if not steps or not isinstance(steps[0], ast.AxisStep) or steps[0].axis != "ancestor":
        return None
    ancestor, *rest = steps
    assert isinstance(ancestor, ast.AxisStep)
    if not isinstance(ancestor.test, ast.NameTest) or not all(_looks_down(p) for p in ancestor.predicates):
        return None
    if not rest:
        known = compared is None and ancestor.predicates
        return ast.AxisStep("child", ancestor.test, ancestor.predicates, span=e.span) if known else None
    if not all(isinstance(step, ast.AxisStep) and step.axis == "child" and not step.predicates for step in rest):
        return None
    found: ast.Expr = rest[0] if len(rest) == 1 else ast.Path(tuple(rest), span=e.span)
    if compared is not None:
        found = ast.GeneralComparison(compared.op, found, compared.right, span=e.span)
    return ast.AxisStep("child", ancestor.test, (*ancestor.predicates, found), span=e.span)


def _looks_down(e: ast.Expr) -> bool:
    """``t``, ``t = "x"``"""
    if isinstance(e, ast.GeneralComparison):
        return isinstance(e.right, ast.StringLiteral) and _looks_down(e.left)
    steps = e.steps if isinstance(e, ast.Path) else (e,)
    return all(isinstance(step, ast.AxisStep) and step.axis == "child" and not step.predicates for step in steps)

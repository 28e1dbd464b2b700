"""Elements before or after marks: ``P/following::Q``, ``//b[preceding::k]``, over what changes.

    after(P, Q)        Rank of   for $n in P | Q return [is $n a P, the Q that $n is],   those after the first P

Marks and elements are the records of one unit, and so stand in one order tree. Its records must be known not to be
inside their like: paths that go down by names, as written or as a tag structure spells them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN
from xstreamcast.operators.aggregates import COUNTING
from xstreamcast.plan.algebra import PLAN, Mark, Rank, Reduce
from xstreamcast.plan.decompose.record_paths import FOREIGN, Blocking
from xstreamcast.plan.decompose.rows import FORWARD
from xstreamcast.plan.passes.order_to_marks import is_choice
from xstreamcast.plan.passes.shapes import is_fn, is_safe

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition

NESTED: Final = "what comes before or after elements at any depth is not known by its record"


def sided(work: Decomposition, e: ast.Expr) -> ast.Expr | None:
    """A choice by marks, and what is made of each chosen element, as a unit; None if it is no choice."""
    summed: Reduce | None = None
    over, loop = e, None
    if isinstance(e, ast.FunctionCall) and any(is_fn(e, name, 1) for name in COUNTING):
        over, summed = e.args[0], Reduce(e.name.local)
    elif isinstance(e, ast.FLWOR):
        first = e.clauses[0]
        if not isinstance(first, ast.ForClause) or first.position or first.allowing_empty or first.type:
            return None
        if not all(isinstance(clause, FORWARD) for clause in e.clauses[1:]):
            return None
        over, loop = first.source, e
    call, steps = (over.steps[0], over.steps[1:]) if isinstance(over, ast.Path) else (over, ())
    if not isinstance(call, ast.FunctionCall) or not is_choice(call):
        return None
    if not all(isinstance(step, ast.AxisStep) and step.axis in ("child", "attribute") for step in steps[:-1]):
        return None  # what it leads to may come in another order
    return _unit(work, e, call, steps, loop, summed)


def _unit(
    work: Decomposition,
    e: ast.Expr,
    call: ast.FunctionCall,
    steps: tuple[ast.Expr, ...],
    loop: ast.FLWOR | None,
    summed: Reduce | None,
) -> ast.Expr:
    marks, chosen = (_last(argument) for argument in call.args[:2])
    records = tuple(dict.fromkeys((marks[0], chosen[0])))
    if len(records) == 2 and marks[1].test == chosen[1].test:
        raise Blocking(e, "elements of one name at different places")
    node, mark, column = (work.names.fresh(ast.Name("", name, PLAN)) for name in ("node", "mark", "chosen"))
    one = len(records) == 1
    if one and not all(is_safe(p) for _, step in (marks, chosen) for p in step.predicates):
        raise Blocking(e, "which of an element's values are compared depends on how it is asked")
    of_all = records[0] if one else ast.Union(call.args[:2], span=e.span)
    tests = [ast.AxisStep("self", s.test, s.predicates if one else (), span=s.span) for _, s in (marks, chosen)]
    is_mark = ast.FunctionCall(ast.Name("fn", "exists", FN), (ast.Path((ast.VarRef(node), tests[0])),), span=e.span)
    given = call.args[2]
    later = given.predicates if isinstance(given, ast.Filter) else ()
    plain = not later and all(_down(step) for step in steps)
    items = ast.Path((ast.VarRef(node), tests[1], *(steps if plain else ())), span=e.span)
    row = ast.SquareArray((is_mark, items), span=e.span)
    over = ast.FLWOR((ast.ForClause(node, None, False, None, of_all, span=e.span),), row, span=e.span)
    body: ast.Expr = ast.VarRef(column)
    if not plain:
        body = ast.Filter(body, later, span=e.span) if later else body
        body = ast.Path((body, *steps), span=e.span) if steps else body
    if loop is not None:
        first = loop.clauses[0]
        assert isinstance(first, ast.ForClause)
        again = ast.ForClause(first.var, None, False, None, body, span=first.span)
        body = ast.FLWOR((again, *loop.clauses[1:]), loop.result, span=e.span)
    body, _ = work.spreading().body({column.expanded: FOREIGN - 1}).visit(body, None)
    side = call.name.local.removeprefix("not-")
    choice = Mark(side == "after", side != call.name.local, summed)
    unit = work.made(e, work.spreading().visit(over), Rank((), (mark.expanded, column.expanded), body, mark=choice))
    if len(unit.records) != len(records) or any(step.deep for path in unit.records for step in path.steps):
        raise Blocking(e, NESTED)
    return ast.VarRef(ast.Name("", unit.variable[1], unit.variable[0]), span=e.span)


def _down(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis in ("child", "attribute") and not step.predicates


def _last(e: ast.Expr) -> tuple[ast.Expr, ast.AxisStep]:
    """A path without the conditions of its last step, and that step."""
    if not isinstance(e, ast.Path):  # conditions on the root element have been moved out of it
        raise Blocking(e, NESTED)
    *before, step = e.steps
    if not all(isinstance(s, ast.VarRef) or (isinstance(s, ast.AxisStep) and s.axis == "child") for s in e.steps):
        raise Blocking(e, NESTED)
    if not isinstance(step, ast.AxisStep):
        raise Blocking(e, NESTED)
    return ast.Path((*before, ast.AxisStep("child", step.test, (), span=step.span)), span=e.span), step

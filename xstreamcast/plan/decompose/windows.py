"""Windows over what changes: ``for tumbling window $w in E start … end … return R``.

    Windows of   for $x in E return [$x]      R for each window, with its items and the variables of its ends

The conditions are about the items of E and their numbers alone; so a change makes windows others only where it is, and
as far behind it as they begin or end elsewhere (:mod:`xstreamcast.run.continuous.adjust.windows`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children
from xstreamcast.plan.algebra import PLAN, VarName, Windows
from xstreamcast.plan.decompose.record_paths import APART, FOREIGN, Blocking, Where
from xstreamcast.plan.passes.dependence import focus_of, repeatable
from xstreamcast.plan.passes.variables import free

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition

_FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)


def windowed(work: Decomposition, e: ast.FLWOR) -> ast.Expr | None:
    """A loop over windows of a document's items as a unit; None if it is none, or not by itself."""
    first = e.clauses[0]
    if not isinstance(first, ast.WindowClause) or first.type is not None or not work.reads(first.source):
        return None
    if not all(isinstance(clause, _FORWARD) for clause in e.clauses[1:]):
        return None
    forget = work.mark()
    try:
        return _unit(work, e, first)
    except Blocking:
        forget()
        return None


def _unit(work: Decomposition, e: ast.FLWOR, clause: ast.WindowClause) -> ast.Expr | None:
    body = ast.FLWOR(e.clauses[1:], e.result, span=e.span) if e.clauses[1:] else e.result
    ends = [end for end in (clause.start, clause.end) if end is not None]
    outside = work.lets.keys() | work.loops.keys()
    for end in ends:
        if free(end.when) & (outside | work.roots.keys()) or focus_of(end.when) or not repeatable(end.when):
            return None
    if free(body) & outside:
        return None
    numbers = [end.position.expanded for end in ends if end.position is not None]
    named = [name for end in ends for name in (end.current, end.previous, end.next) if name is not None]
    inside: dict[VarName, Where] = dict.fromkeys(numbers, APART)
    for number, name in enumerate((clause.var, *named), 1):
        inside[name.expanded] = FOREIGN - number
    body, _ = work.spreading().body(inside).visit(body, None)
    start, *last = [replace(end, when=work.spreading().body(inside).visit(end.when, None)[0]) for end in ends]
    numbered = any(_counts(part, numbers) for part in (body, *[end.when for end in ends]))
    item = work.names.fresh(ast.Name("", "item", PLAN))
    loop = ast.ForClause(item, None, False, None, clause.source, span=clause.span)
    rows = ast.FLWOR((loop,), ast.SquareArray((ast.VarRef(item),), span=clause.span), span=e.span)
    end_or_none = last[0] if last else None
    made = Windows(clause.sliding, clause.var.expanded, start, end_or_none, clause.only_end, body, numbered)
    unit = work.made(e, work.spreading().visit(rows), made)
    return ast.VarRef(ast.Name("", unit.variable[1], unit.variable[0]), span=e.span)


def _counts(e: ast.Node, numbers: Collection[VarName]) -> bool:
    """Whether an expression reads numbers other than to subtract one from another: ``$e - $s`` is how many between."""
    if isinstance(e, ast.VarRef):
        return e.name.expanded in numbers
    if isinstance(e, ast.Arithmetic) and e.op == "-" and all(_is_one(side, numbers) for side in (e.left, e.right)):
        return False
    return any(_counts(part, numbers) for part in children(e))


def _is_one(e: ast.Expr, numbers: Collection[VarName]) -> bool:
    return isinstance(e, ast.VarRef) and e.name.expanded in numbers

"""The rows of a loop over a document, and the conditions that tie them to what is around the loop.

    for $b in B where $b/y = $a/x and $b/v and $a/w < $b/w …        rows: B[v];  $b/y by $a/x, $b/w > $a/w

Rows are found by equations and by one relation of order; else by any condition on the values of both sides
(:mod:`~xstreamcast.plan.decompose.conditions`). What is about a row alone is asked of the rows before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, cast

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.decompose.conditions import Condition
from xstreamcast.plan.decompose.record import RecordBody
from xstreamcast.plan.passes.dependence import focus_of
from xstreamcast.plan.passes.shapes import is_safe
from xstreamcast.plan.passes.variables import binders, free

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Theta, VarName
    from xstreamcast.plan.decompose.units import Decomposition

Relation = Literal["=", "<", "<=", ">", ">="]
TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Relations of order, and what they are from the other side."""
FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)


@dataclass(frozen=True, slots=True)
class Rows:
    """A loop over a document: what of it is about the document alone, and what is left of the clauses behind it."""

    own: tuple[ast.Clause, ...]
    """The loop, with the conditions on its variable alone."""
    keys: tuple[ast.Expr, ...]
    arguments: tuple[ast.Expr, ...]
    """``key = argument``, each: the keys are about the loop's variable, the arguments about what is around."""
    rest: list[ast.Clause]
    during: ast.IntervalProjection | None = None
    """The loop is over a projection of its items, to an interval that is about what is around."""
    relation: Relation = "="
    """Of the last key and its argument."""
    theta: Theta | None = None
    """Keys and arguments are tied by this condition instead."""


def rows_of(work: Decomposition, body: RecordBody, loop: ast.Clause, rest: list[ast.Clause]) -> Rows | None:
    """A loop over a document that conditions tie to what is around it; None if there are none.

    Only where no equation or order finds its rows are they compared one by one.
    """
    if not isinstance(loop, ast.ForClause) or loop.position is not None or loop.allowing_empty or loop.type:
        return None
    during = loop.source if isinstance(loop.source, ast.IntervalProjection) else None
    if during is not None and not body.closed(during) and elements(during.base):
        loop = ast.ForClause(loop.var, None, False, None, during.base, span=loop.span)
    else:
        during = None
    if not body.closed(loop.source):
        return None
    return _keyed(work, body, loop, rest, during) or (_compared(work, body, loop, rest) if during is None else None)


def _keyed(
    work: Decomposition,
    body: RecordBody,
    loop: ast.ForClause,
    rest: list[ast.Clause],
    during: ast.IntervalProjection | None,
) -> Rows | None:
    """A loop whose rows are found by equations, and by one relation of order at most."""
    name = loop.var.expanded
    inside = _bound_behind(loop, rest)
    own: list[ast.Clause] = [loop]
    keys: list[ast.Expr] = []
    arguments: list[ast.Expr] = []
    order: tuple[ast.Expr, Relation, ast.Expr] | None = None

    def stays(part: ast.Expr) -> bool:
        nonlocal order
        equation = _equation(body, part, name, inside)
        # What holds of a projection need not hold of what it is of, but for what is there before.
        if equation is not None and (during is None or _plain(equation[0])):
            keys.append(equation[0])
            arguments.append(equation[1])
        if during is not None:
            return True
        if equation is not None:
            return isinstance(part, ast.ValueComparison)  # it is stricter about types
        if _of_row(body, part, name, inside):
            own.append(ast.WhereClause(part, span=part.span))
            return False
        found = _order(body, part, name, inside) if order is None and work.following else None
        order = order or found
        return found is None

    left = _left(rest, stays)
    if order is not None:
        return Rows(tuple(own), (*keys, order[0]), (*arguments, order[2]), left, during, order[1])
    return Rows(tuple(own), tuple(keys), tuple(arguments), left, during) if keys else None


def _left(rest: list[ast.Clause], stays: Callable[[ast.Expr], bool]) -> list[ast.Clause]:
    """The clauses behind a loop without those conditions, as far as tuples only go forward, that need not stay."""
    left: list[ast.Clause] = []
    forward = True
    for clause in rest:
        forward = forward and isinstance(clause, FORWARD)
        if forward and isinstance(clause, ast.WhereClause):
            left += _where([part for part in conjuncts(clause.condition) if stays(part)], clause)
        else:
            left.append(clause)
    return left


def _compared(work: Decomposition, body: RecordBody, loop: ast.ForClause, rest: list[ast.Clause]) -> Rows | None:
    """A loop whose rows are compared one by one, by conditions of the values of both sides."""
    if not work.following:
        return None
    name = loop.var.expanded
    inside = _bound_behind(loop, rest)
    own: list[ast.Clause] = [loop]
    tied = Condition(work.names, name, inside, lambda part: depends(body, part))

    def stays(part: ast.Expr) -> bool:
        if _of_row(body, part, name, inside):
            own.append(ast.WhereClause(part, span=part.span))
            return False
        return not tied.take(part, is_safe)

    left = _left(rest, stays)
    if not tied.parts:
        return None
    keys, arguments = ([part for _, part in side] for side in (tied.keys, tied.arguments))
    return Rows(tuple(own), tuple(keys), tuple(arguments), left, theta=tied.theta())


def _of_row(body: RecordBody, e: ast.Expr, name: VarName, inside: set[VarName]) -> bool:
    """Whether a condition is about the loop's variable alone, and may be asked before all others."""
    return free(e) & inside == {name} and not depends(body, e) and is_safe(e)


def _order(
    body: RecordBody, e: ast.Expr, name: VarName, inside: set[VarName]
) -> tuple[ast.Expr, Relation, ast.Expr] | None:
    """``key < argument``, or another relation of order, of a loop's variable and what is around it."""
    if not isinstance(e, ast.GeneralComparison) or e.op not in TURNED:
        return None
    for key, relation, argument in ((e.left, e.op, e.right), (e.right, TURNED[e.op], e.left)):
        if _is_key(body, key, argument, name, inside):
            return key, cast(Relation, relation), argument
    return None


def _equation(body: RecordBody, e: ast.Expr, name: VarName, inside: set[VarName]) -> tuple[ast.Expr, ast.Expr] | None:
    general = isinstance(e, ast.GeneralComparison) and e.op == "="
    if not general and not (isinstance(e, ast.ValueComparison) and e.op == "eq"):
        return None
    assert isinstance(e, ast.GeneralComparison | ast.ValueComparison)
    for key, argument in ((e.left, e.right), (e.right, e.left)):
        if _is_key(body, key, argument, name, inside):
            return key, argument
    return None


def _is_key(body: RecordBody, key: ast.Expr, argument: ast.Expr, name: VarName, inside: set[VarName]) -> bool:
    """Whether the one is about the loop's variable alone, and the other about what is around."""
    own = free(key) & inside == {name} and not depends(body, key)
    return own and not free(argument) & inside and depends(body, argument)


def about(body: RecordBody, e: ast.Node) -> bool:
    """Whether an expression names what the record at hand binds."""
    return bool(free(e) & body.variables.keys())


def depends(body: RecordBody, e: ast.Node) -> bool:
    """Whether an expression in the focus of the record has to do with it."""
    return about(body, e) or bool(focus_of(e))


def conjuncts(e: ast.Expr) -> tuple[ast.Expr, ...]:
    """The conditions that must all be met for one to be."""
    return e.operands if isinstance(e, ast.And) else (e,)


def _bound_behind(loop: ast.ForClause, rest: list[ast.Clause]) -> set[VarName]:
    """The variables of a loop and of the clauses behind it."""
    return {n.expanded for clause in rest for part in descendants(clause) for n in binders(part)} | {loop.var.expanded}


def _where(kept: list[ast.Expr], clause: ast.WhereClause) -> list[ast.Clause]:
    """What is left of a condition."""
    if not kept:
        return []
    return [ast.WhereClause(kept[0] if len(kept) == 1 else ast.And(tuple(kept), span=clause.span), span=clause.span)]


def elements(e: ast.Expr) -> bool:
    """Whether a path leads to elements: a projection copies these."""
    step = e.steps[-1] if isinstance(e, ast.Path) else e
    down = isinstance(step, ast.AxisStep) and step.axis in ("child", "descendant")
    return down and isinstance(step, ast.AxisStep) and isinstance(step.test, ast.NameTest)


def _plain(e: ast.Expr) -> bool:
    """Whether a key is found by going down, so that it fails of nothing, and a projection has no other values of it."""
    if isinstance(e, ast.Path):
        return all(isinstance(step, ast.VarRef) or _plain(step) for step in e.steps)
    return isinstance(e, ast.AxisStep) and e.axis in ("child", "attribute", "descendant") and not e.predicates

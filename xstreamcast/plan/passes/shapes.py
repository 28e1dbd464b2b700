"""What an expression is, by its form: a call of some function, a condition, nodes, a choice of positions."""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.plan.passes.dependence import LAST, POSITION, focus_of

_BOOLEAN: Final = frozenset(
    (
        *("not", "exists", "empty", "boolean", "true", "false", "contains", "starts-with", "ends-with", "matches"),
        *("deep-equal", "has-children", "lang", "contains-token", "doc-available", "nilled"),
    )
)
_HARMLESS: Final = frozenset(("data", "count", "exists", "empty", "true", "false"))
"""Functions that fail of no nodes."""


def is_fn(e: ast.Node, local: str, arity: int) -> bool:
    """Whether an expression calls this function of the fn namespace."""
    return isinstance(e, ast.FunctionCall) and e.name.expanded == (FN, local) and len(e.args) == arity


def boolean(e: ast.Expr) -> bool:
    """Whether a predicate is a condition for certain, and no position."""
    match e:
        case ast.GeneralComparison() | ast.ValueComparison() | ast.NodeComparison() | ast.And() | ast.Or():
            return not positional(e)
        case ast.Quantified() | ast.InstanceOf() | ast.CastableAs() | ast.StringLiteral() | ast.AllenComparison():
            return True
        case ast.FunctionCall():
            known = e.name.uri == FN and e.name.local in _BOOLEAN
            return (known or e.name.expanded == (XS, "boolean")) and not positional(e)
        case ast.If():
            return boolean(e.then) and boolean(e.otherwise) and not positional(e)
        case _:
            return nodes(e) and not positional(e)


def nodes(e: ast.Expr) -> bool:
    """Whether the value is nodes for certain."""
    match e:
        case ast.AxisStep() | ast.Union() | ast.Intersect() | ast.Except() | ast.Root():
            return True
        case ast.Path():
            return nodes(e.steps[-1])
        case ast.Filter():
            return nodes(e.base)
        case _:
            return False


def positional(e: ast.Expr) -> bool:
    """Whether an expression asks for the position or the size of its own focus."""
    return bool(focus_of(e) & (POSITION | LAST))


def slice_of(predicate: ast.Expr) -> tuple[int, int | None] | None:
    """The positions that a predicate asks for: ``[3]``, ``[position() <= 3]``, ``[position() = 2 to 4]``."""
    if isinstance(predicate, ast.IntegerLiteral):
        return predicate.value, predicate.value
    if not isinstance(predicate, (ast.GeneralComparison, ast.ValueComparison)):
        return None
    op, left, right = _OPERATORS.get(predicate.op, predicate.op), predicate.left, predicate.right
    if is_fn(right, "position", 0):
        op, left, right = _MIRRORED.get(op, op), right, left
    if not is_fn(left, "position", 0):
        return None
    if isinstance(right, ast.Range) and op == "=" and isinstance(predicate, ast.GeneralComparison):
        first, last = right.first, right.last
        if isinstance(first, ast.IntegerLiteral) and isinstance(last, ast.IntegerLiteral):
            return first.value, last.value
    if not isinstance(right, ast.IntegerLiteral):
        return None
    n = right.value
    ranges = {"=": (n, n), "<=": (1, n), "<": (1, n - 1), ">=": (n, None), ">": (n + 1, None)}
    return ranges.get(op)


def numbers_of(predicate: ast.Expr) -> tuple[int, int | None, bool] | None:
    """The numbers that a predicate chooses: the first, the last (None: no end), and whether from the last one on.

    ``[3]``, ``[position() > 1]``, ``[last()]``, ``[last() - 1]``, ``[position() < last()]``
    """
    chosen = slice_of(predicate)
    if chosen is not None:
        return max(chosen[0], 1), chosen[1], False
    if is_fn(predicate, "last", 0):
        return 1, 1, True
    match predicate:
        case ast.Arithmetic("-", left, ast.IntegerLiteral(number)) if is_fn(left, "last", 0) and number >= 0:
            return number + 1, number + 1, True
        case ast.GeneralComparison(op, left, right) if is_fn(left, "position", 0) and is_fn(right, "last", 0):
            return (2, None, True) if op == "<" else (1, 1, True) if op == "=" else None
        case _:
            return None


_OPERATORS: Final = {"eq": "=", "le": "<=", "lt": "<", "ge": ">=", "gt": ">"}
_MIRRORED: Final = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}


def is_safe(e: ast.Node) -> bool:
    """Whether an expression about nodes is sure to raise no error: it may be evaluated where nobody asks for it."""
    for part in descendants(e):
        match part:
            case ast.GeneralComparison():
                if not all(isinstance(side, ast.StringLiteral) or nodes(side) for side in (part.left, part.right)):
                    return False
            case ast.FunctionCall():
                there = part.name.uri == FN and part.name.local in _HARMLESS
                if not there and not (is_fn(part, "not", 1) and nodes(part.args[0])):
                    return False
            case ast.VarRef() | ast.ContextItem() | ast.StringLiteral() | ast.IntegerLiteral() | ast.Sequence():
                continue
            case ast.Path() | ast.AxisStep() | ast.SimpleMap() | ast.Filter() | ast.And() | ast.Or():
                continue
            case ast.FLWOR() | ast.ForClause() | ast.LetClause() | ast.WhereClause():
                continue
            case ast.Expr():
                return False
    return True

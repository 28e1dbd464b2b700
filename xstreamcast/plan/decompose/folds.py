"""Folds whose state is one accumulator: those from the left, and from the right where the operation allows it.

    fold-right(E, Z, op) = op(h1, op(h2, … op(hn, Z)))

is the fold from the left when ``op`` is associative and commutative: maximum and minimum; the sum and the product of
integers, and the sum of decimals (those of doubles depend on the order, by rounding); ``and`` and ``or``. Where ``op``
puts items in front of what is left, ``(h, $rest)``, the fold is a loop.
"""

from __future__ import annotations

from collections.abc import Callable

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.plan.algebra import PLAN, Concat, Fold, Rank, Reduce, Reduction, Slice, VarName
from xstreamcast.plan.passes.shapes import is_fn
from xstreamcast.plan.passes.variables import free

_EXACT = {"+": ("integer", "decimal"), "*": ("integer",)}


@dataclass(frozen=True, slots=True)
class Folded:
    """Items, their fold, and what becomes of its value."""

    items: ast.Expr
    fold: Fold | Concat | Reduce
    after: Callable[[ast.Expr], ast.Expr]


def last_item() -> Fold:
    """``E[last()]``: each item takes the place of the one before."""
    item = PLAN, "item"
    return Fold(ast.Sequence(), (PLAN, "last"), item, ast.VarRef(_name(item)), associative=True)


def is_one(reduction: Reduction) -> bool:
    """Whether there is at most one item."""
    chosen = reduction.chosen if isinstance(reduction, Rank) else reduction
    return reduction == last_item() or (isinstance(chosen, Slice) and chosen.first == chosen.last)


Convert = Callable[[ast.Expr, "ast.SequenceType | None"], ast.Expr]
"""The value as a parameter of that type would have it."""


def fold_of(e: ast.FunctionCall, convert: Convert, following: bool = False) -> Folded | None:
    """A call of ``fold-left`` or ``fold-right`` with an inline function as a fold from the left, if it is one.

    ``following``: what goes on changing had better be an aggregate, if it is one.
    """
    if not (is_fn(e, "fold-left", 3) or is_fn(e, "fold-right", 3)):
        return None
    items, zero, function = e.args
    if not isinstance(function, ast.InlineFunction) or len(function.params) != 2:
        return None
    right = e.name.local == "fold-right"
    accumulator, item = reversed(function.params) if right else function.params
    if right:
        rest = _put_in_front(function, accumulator.name.expanded)
        if rest is not None and accumulator.type is None and item.type is None and function.result is None:
            loop = ast.FLWOR((ast.ForClause(item.name, None, False, None, items, span=items.span),), rest, span=e.span)
            return Folded(loop, Concat(), lambda value: ast.Sequence((value, zero), span=e.span))
        if not commutes(function, accumulator.name.expanded):
            return None
    if accumulator.type is not None and accumulator.type != function.result:
        return None  # its value would have to be converted between one step and the next
    associative = commutes(function, accumulator.name.expanded)
    if associative and following and item.type is None:
        summed = _aggregate(e, items, zero, function, accumulator, item, convert)
        if summed is not None:
            return summed
    step = convert(function.body, function.result)
    if item.type is not None:
        checked = ast.LetClause(item.name, item.type, ast.VarRef(item.name))
        if not _is_node_type(item.type):
            return None
        step = ast.FLWOR((checked,), step, span=step.span)
    start = convert(zero, accumulator.type)
    fold = Fold(start, accumulator.name.expanded, item.name.expanded, step, associative, accumulator.type)
    return Folded(items, fold, lambda value: value)


def _aggregate(
    e: ast.FunctionCall,
    items: ast.Expr,
    zero: ast.Expr,
    function: ast.InlineFunction,
    accumulator: ast.Param,
    item: ast.Param,
    convert: Convert,
) -> Folded | None:
    """``Z + sum(for $item in E return f($item))``, ``max((Z, for …))``: what can be undone for an item that goes."""
    operation = _operation(function.body, accumulator.name.expanded)
    assert operation is not None
    own = [o for o in _operands(operation) if o != ast.VarRef(accumulator.name)]
    value: ast.Expr = own[0] if len(own) == 1 else ast.Sequence(tuple(own), span=operation.span)
    start = convert(zero, accumulator.type)
    if isinstance(operation, ast.Arithmetic) and operation.op == "+":
        # A value that is none, or of another type, is an error here as it is there.
        value = convert(ast.Arithmetic("+", ast.IntegerLiteral(0), value, span=value.span), function.result)
        reduce = Reduce("sum")
    elif is_fn(operation, "max", 1) or is_fn(operation, "min", 1):
        reduce = Reduce("max" if is_fn(operation, "max", 1) else "min")
    else:
        return None

    def after(found: ast.Expr) -> ast.Expr:
        if reduce.function == "sum":
            return convert(ast.Arithmetic("+", start, found, span=e.span), function.result)
        both = ast.Sequence((start, found), span=e.span)
        extreme = ast.FunctionCall(ast.Name("fn", reduce.function, FN), (both,), span=e.span)
        # Of no items the fold is its zero, whatever that is.
        there = ast.FunctionCall(ast.Name("fn", "exists", FN), (found,), span=e.span)
        return convert(ast.If(there, extreme, start, span=e.span), function.result)

    body = function.body
    lets: list[ast.Clause] = []
    while isinstance(body, ast.FLWOR):
        lets += body.clauses
        body = body.result
    loop = ast.ForClause(item.name, None, False, None, items, span=items.span)
    return Folded(ast.FLWOR((loop, *lets), value, span=e.span), reduce, after)


def _name(variable: VarName) -> ast.Name:
    return ast.Name("", variable[1], variable[0])


def _is_node_type(declared: ast.SequenceType) -> bool:
    return not isinstance(declared.item, (ast.AtomicType, ast.FunctionTest, ast.MapTest, ast.ArrayTest))


def _operation(e: ast.Expr, accumulator: VarName) -> ast.Expr | None:
    """The operation at the end of some lets, if none of these reads the accumulator."""
    while isinstance(e, ast.FLWOR):
        for clause in e.clauses:
            if not isinstance(clause, ast.LetClause) or accumulator in free(clause.value):
                return None
        e = e.result
    return e


def _operands(e: ast.Expr) -> tuple[ast.Expr, ...]:
    match e:
        case ast.FunctionCall() if is_fn(e, "max", 1) or is_fn(e, "min", 1):
            return e.args[0].items if isinstance(e.args[0], ast.Sequence) else ()
        case ast.Arithmetic():
            return e.left, e.right
        case ast.And() | ast.Or():
            return e.operands
        case _:
            return ()


def commutes(function: ast.InlineFunction, accumulator: VarName) -> bool:
    """Whether a function is ``op(f($item), $accumulator)`` with an associative and commutative ``op``."""
    e = _operation(function.body, accumulator)
    if e is None:
        return False
    operands = _operands(e)
    whole = [o for o in operands if isinstance(o, ast.VarRef) and o.name.expanded == accumulator]
    if len(whole) != 1 or any(accumulator in free(o) for o in operands if o is not whole[0]):
        return False
    if isinstance(e, ast.Arithmetic):
        declared = function.result
        if declared is None or not isinstance(declared.item, ast.AtomicType) or declared.occurrence:
            return False
        return declared.item.name.uri == XS and declared.item.name.local in _EXACT.get(e.op, ())
    return True


def _put_in_front(function: ast.InlineFunction, accumulator: VarName) -> ast.Expr | None:
    """``f($item)`` of ``(f($item), $rest)``."""
    e = function.body
    if not isinstance(e, ast.Sequence) or not e.items:
        return None
    *before, last = e.items
    if not (isinstance(last, ast.VarRef) and last.name.expanded == accumulator):
        return None
    if any(accumulator in free(part) for part in before):
        return None
    return before[0] if len(before) == 1 else ast.Sequence(tuple(before), span=e.span)

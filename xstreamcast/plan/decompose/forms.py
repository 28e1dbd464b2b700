"""Aggregates, slices, folds and quantifiers as reductions of the items of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.operators.aggregates import AGGREGATES
from xstreamcast.plan.algebra import Reduce, Reduction, Slice
from xstreamcast.plan.decompose.folds import Convert, fold_of, last_item
from xstreamcast.plan.passes.dependence import navigates
from xstreamcast.plan.passes.open_root import is_root_element
from xstreamcast.plan.passes.shapes import boolean, is_fn, nodes, slice_of
from xstreamcast.plan.passes.variables import Names

_TRUE: Final = ast.FunctionCall(ast.Name("fn", "true", FN))

Form = tuple[ast.Expr, Reduction, Callable[[ast.Expr], ast.Expr]]
"""Items, what is made of them, and what is then made of the value."""


class Forms:
    """The forms of expressions over roots: ``reads`` tells what reads a root, ``is_root`` what is one."""

    def __init__(
        self,
        reads: Callable[[ast.Node], bool],
        is_root: Callable[[ast.Expr], bool],
        names: Names,
        convert: Convert,
        following: bool,
    ) -> None:
        self.following = following
        self.reads = reads
        self.is_root = is_root
        self.names = names
        self.convert = convert

    def of(self, e: ast.Expr) -> Form | None:
        """The expression as a reduction of items, if it is one."""
        match e:
            case ast.FunctionCall() if e.name.uri == FN:
                return _call(e, self.convert, self.following)
            case ast.Filter():
                return _filter(e)
            case ast.Path():
                return self.path(e)
            case ast.Quantified():
                return _quantified(e)
            case ast.GeneralComparison():
                return self.comparison(e)
            case _:
                return None

    def path(self, e: ast.Path) -> Form | None:
        """``$root/a[p][3]/b``: of one node's children the third is the third of all."""
        at = 1 if self.is_root(e.steps[0]) else 0
        if at and len(e.steps) > 2 and is_root_element(ast.Path(e.steps[:2])):
            at = 2
        if not at or at == len(e.steps):
            return None
        step = e.steps[at]
        if not isinstance(step, ast.AxisStep) or step.axis != "child":
            return None
        plain = ast.AxisStep(step.axis, step.test, (), span=step.span)
        chosen = _filter(ast.Filter(ast.Path((*e.steps[:at], plain), span=e.span), step.predicates, span=e.span))
        rest = e.steps[at + 1 :]
        if chosen is None or not all(boolean(p) or _chooses(p) for p in step.predicates):
            return None
        items, reduction, after = chosen
        if not rest:
            return chosen
        # Several children of one node are in order, and none is in another.
        if self.following or not (isinstance(reduction, Slice) and reduction.first != reduction.last):
            return items, reduction, lambda value: ast.Path((after(value), *rest), span=e.span)
        return None

    def comparison(self, e: ast.GeneralComparison) -> Form | None:
        """``E = v``: whether one of the items compares so."""
        if self.reads(e.left) == self.reads(e.right):
            return None
        items, other = (e.left, e.right) if self.reads(e.left) else (e.right, e.left)
        if not navigates(items) or is_root_attribute(items):
            return None
        item = self.names.fresh(ast.Name("", "item", ""))
        pair = (ast.VarRef(item), other) if items is e.left else (other, ast.VarRef(item))
        clauses = (
            ast.ForClause(item, None, False, None, items, span=items.span),
            ast.WhereClause(ast.GeneralComparison(e.op, *pair, span=e.span)),
        )
        return ast.FLWOR(clauses, _TRUE, span=e.span), Reduce("exists"), _as_it_is


def _as_it_is(value: ast.Expr) -> ast.Expr:
    return value


def _quantified(e: ast.Quantified) -> Form:
    """``some $x in E satisfies C`` is whether there is one; ``every``, that there is none of the contrary."""
    loops = tuple([ast.ForClause(b.var, b.type, False, None, b.source, span=b.span) for b in e.bindings])
    condition = ast.FunctionCall(ast.Name("fn", "not", FN), (e.condition,)) if e.every else e.condition
    items = ast.FLWOR((*loops, ast.WhereClause(condition)), _TRUE, span=e.span)
    return items, Reduce("empty" if e.every else "exists"), _as_it_is


def _call(e: ast.FunctionCall, convert: Convert, following: bool) -> Form | None:
    local, args = e.name.local, e.args
    if _is_aggregate(e):
        return args[0], Reduce(local, args[1] if len(args) == 2 else None), _as_it_is
    if local in ("not", "boolean") and len(args) == 1 and nodes(args[0]):
        return args[0], Reduce("empty" if local == "not" else "exists"), _as_it_is
    if local == "head" and len(args) == 1:
        return args[0], Slice(1, 1), _as_it_is
    if local == "tail" and len(args) == 1:
        return args[0], Slice(2, None), _as_it_is
    if local == "subsequence" and len(args) in (2, 3) and all(isinstance(arg, ast.IntegerLiteral) for arg in args[1:]):
        first = cast(ast.IntegerLiteral, args[1]).value
        last = first + cast(ast.IntegerLiteral, args[2]).value - 1 if len(args) == 3 else None
        return args[0], Slice(max(first, 1), last), _as_it_is
    folded = fold_of(e, convert, following)
    return None if folded is None else (folded.items, folded.fold, folded.after)


def _is_aggregate(e: ast.FunctionCall) -> bool:
    return e.name.uri == FN and e.name.local in AGGREGATES and len(e.args) in AGGREGATES[e.name.local].arities


def _filter(e: ast.Filter) -> Form | None:
    """``E[p][3][q]``: the first position, of what passes before it; what comes behind it is about few items."""
    for number, predicate in enumerate(e.predicates):
        chosen = slice_of(predicate)
        reduction: Reduction
        if chosen is not None:
            reduction = Slice(max(chosen[0], 1), chosen[1])
        elif is_fn(predicate, "last", 0):
            reduction = last_item()
        else:
            continue
        before, after = e.predicates[:number], e.predicates[number + 1 :]
        items = ast.Filter(e.base, before, span=e.span) if before else e.base

        def rest(value: ast.Expr, after: tuple[ast.Expr, ...] = after) -> ast.Expr:
            return ast.Filter(value, after, span=e.span) if after else value

        if after and (isinstance(reduction, Slice) and reduction.last is None):
            return None
        return items, reduction, rest
    return None


def _chooses(predicate: ast.Expr) -> bool:
    return slice_of(predicate) is not None or is_fn(predicate, "last", 0)


def is_root_attribute(e: ast.Expr) -> bool:
    """``/site/@id``: the root element is open in every piece of the document, with its attributes."""
    if not isinstance(e, ast.Path) or len(e.steps) != 3:
        return False
    step = e.steps[2]
    named = isinstance(step, ast.AxisStep) and step.axis == "attribute" and isinstance(step.test, ast.NameTest)
    return named and not cast(ast.AxisStep, step).predicates and is_root_element(ast.Path(e.steps[:2]))


def known_everywhere(e: ast.Expr, reads: Callable[[ast.Node], bool]) -> bool:
    """Whether all that an expression reads of a document is its root element's name and attributes."""
    if is_root_attribute(e):
        return True
    if isinstance(e, ast.FunctionCall) and is_fn(e, "exists", 1) and is_root_element(e.args[0]):
        return True
    parts = [part for part in children(e) if reads(part)]
    return bool(parts) and all(isinstance(part, ast.Expr) and known_everywhere(part, reads) for part in parts)


def over_parts(e: ast.Expr, reads: Callable[[ast.Node], bool]) -> ast.Expr | None:
    """An aggregate of a sequence of parts, as one of the parts' aggregates: ``count((a, b))`` is a sum of counts."""
    if not isinstance(e, ast.FunctionCall) or not _is_aggregate(e):
        return None
    parts = e.args[0]
    if not isinstance(parts, ast.Sequence) or len(parts.items) < 2 or not reads(parts):
        return None
    calls = [ast.FunctionCall(e.name, (part, *e.args[1:]), span=part.span) for part in parts.items]
    match e.name.local:
        case "count":
            total: ast.Expr = calls[0]
            for call in calls[1:]:
                total = ast.Arithmetic("+", total, call, span=e.span)
            return total
        case "exists":
            return ast.Or(tuple(calls), span=e.span)
        case "empty":
            return ast.And(tuple(calls), span=e.span)
        case "min" | "max" | "distinct-values" if not all(is_fn(part, e.name.local, 1) for part in parts.items):
            pairs = zip(parts.items, calls, strict=True)
            again = [part if is_fn(part, e.name.local, 1) else call for part, call in pairs]
            return ast.FunctionCall(e.name, (ast.Sequence(tuple(again), span=parts.span), *e.args[1:]), span=e.span)
        case _:
            return None


def with_items(e: ast.Expr, items: ast.If, branch: ast.Expr) -> ast.Expr:
    """An aggregate of one branch of a condition."""

    def change(part: ast.Node) -> ast.Node:
        return branch if part is items else rebuild(part, change)

    made = change(e)
    assert isinstance(made, ast.Expr)
    return made

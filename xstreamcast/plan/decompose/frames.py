"""Frames: records whose bodies have aggregates, or choices by position, over what is below them.

    where sum($a/transaction/amount) >= $a/limit          $a/transaction[2]          //a[count(transaction) > 9]

These are units of their own inside, so that one more transaction is added to a sum, and the second one is found through
the counts. The body is evaluated with their values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import Concat, Nest, Reduce, Reduction, Slice, VarName
from xstreamcast.plan.decompose.collect import bound_in
from xstreamcast.plan.decompose.folds import last_item
from xstreamcast.plan.decompose.record_paths import Blocking
from xstreamcast.plan.passes.dependence import focus_of, navigates, repeatable
from xstreamcast.plan.passes.open_root import Refocused
from xstreamcast.plan.passes.shapes import boolean, nodes
from xstreamcast.plan.passes.variables import free, substitute
from xstreamcast.plan.projection.project import project

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.distributed import Spread
    from xstreamcast.plan.decompose.units import Decomposition


def frame_of(work: Decomposition, spread: Spread, lets: tuple[ast.LetClause, ...]) -> Nest | None:
    """The aggregates of a record's body, and what it chooses by position, as units inside; None if there are none."""
    loop = spread.loop
    if loop is None or work.outer is not None:
        return None
    record = loop.variable.expanded
    body = ast.FLWOR(lets, loop.body, span=loop.body.span) if lets else loop.body
    body = fused(conditional(body, record) if work.following else body, record)
    for positions in (True, False) if work.following else (False,):
        inner = work.inside(record, loop.path)
        forget = work.mark()
        made = Aggregates(inner, record, positions).visit(body)
        try:
            # What is chosen is in a tree of its own.
            made = inner.kept(made)
        except Blocking:
            forget()
            continue
        if inner.units:
            seen = project(made, {record: loop.path}, module=work.module)
            return Nest(record, loop.path, tuple(inner.units), made, seen.get(record, ()), frame=True)
        forget()
    return None


def conditional(e: ast.Expr, record: VarName) -> ast.Expr:
    """``$record[p]/x`` as ``if (p of $record) then $record/x else ()``: aggregates in ``p`` are seen to be of it."""

    def change(part: ast.Node) -> ast.Node:
        made = _explicit(rebuild(part, change))
        first, *rest = made.steps if isinstance(made, ast.Path) else (made,)
        if not isinstance(first, ast.Filter) or first.base != ast.VarRef(ast.Name("", record[1], record[0])):
            return made
        conditions = [Refocused(first.base).visit(predicate) for predicate in first.predicates]
        known = [one for one in conditions if one is not None]
        if len(known) < len(conditions) or not all(boolean(predicate) for predicate in first.predicates):
            return made
        then = ast.Path((first.base, *rest), span=first.span) if rest else first.base
        condition = known[0] if len(known) == 1 else ast.And(tuple([_there(one) for one in known]), span=first.span)
        return _explicit(ast.If(condition, then, ast.Sequence(), span=first.span))

    found = change(e)
    assert isinstance(found, ast.Expr)
    return found


def _explicit(e: ast.Node) -> ast.Node:
    """Where nodes are a condition, that they exist is: which is an aggregate."""
    match e:
        case ast.If():
            return ast.If(_there(e.condition), e.then, e.otherwise, span=e.span)
        case ast.WhereClause():
            return ast.WhereClause(_there(e.condition), span=e.span)
        case ast.And() | ast.Or():
            return e.__class__(tuple([_there(operand) for operand in e.operands]), span=e.span)
        case _:
            return e


def _there(e: ast.Expr) -> ast.Expr:
    return ast.FunctionCall(ast.Name("fn", "exists", FN), (e,), span=e.span) if nodes(e) else e


def fused(e: ast.Expr, record: VarName) -> ast.Expr:
    """``let $t := $a/transaction`` is put in where it is read, so that aggregates see what they are of."""
    if not isinstance(e, ast.FLWOR):
        return e
    clauses: list[ast.Clause] = []
    values: dict[VarName, ast.Expr] = {}
    for clause in e.clauses:
        made = substitute(clause, values)
        if isinstance(made, ast.LetClause) and made.type is None and free(made.value) == {record}:
            path = made.value
            if isinstance(path, ast.Path) and navigates(path) and repeatable(path) and not focus_of(path):
                values[made.var.expanded] = path
                continue
        clauses.append(made)
    if any(isinstance(part, ast.GroupKey) for clause in clauses for part in descendants(clause)):
        return e  # a variable may be named there without being read
    result = substitute(e.result, values)
    return ast.FLWOR(tuple(clauses), result, span=e.span) if clauses else result


class Aggregates:
    """Puts units of a nest in the place of aggregates over its variable, and of ``positions`` in what is below it.

    ``paths``: also in that of what is below it, as it is.
    """

    def __init__(self, inner: Decomposition, record: VarName, positions: bool, paths: bool = False) -> None:
        self.inner = inner
        self.record = record
        self.positions = positions
        self.paths = paths

    def visit(self, e: ast.Expr) -> ast.Expr:
        self.bound = {name.expanded for name in bound_in(e)}
        made = self._change(e)
        assert isinstance(made, ast.Expr)
        return made

    def _change(self, e: ast.Node) -> ast.Node:
        if self.record not in free(e):
            return e
        compared = isinstance(e, ast.GeneralComparison) and self.positions
        if compared or isinstance(e, ast.FunctionCall | ast.Quantified | ast.Path | ast.Filter):
            form = self.inner.forms.of(cast(ast.Expr, e))
            if form is not None and self._is_framed(form[1]):
                items, reduction, after = form
                own = items if isinstance(items, ast.FLWOR) else e
                inside = {name.expanded for name in bound_in(own)}
                if not free(items) & (self.bound - inside) and not focus_of(items):
                    forget = self.inner.mark()
                    try:
                        return after(self.inner.reduced(cast(ast.Expr, e), items, reduction))
                    except Blocking:
                        forget()
        if self.paths and isinstance(e, ast.Path) and self._leads_down(e):
            forget = self.inner.mark()
            try:
                return self.inner.reduced(e, e, Concat())
            except Blocking:
                forget()
        return rebuild(e, self._change)

    def _leads_down(self, e: ast.Path) -> bool:
        """Whether a path leads from the variable to other elements, or what is in them."""
        step = e.steps[1]
        below = isinstance(step, ast.AxisStep) and step.axis in ("child", "descendant", "descendant-or-self")
        first = e.steps[0]
        return below and first == ast.VarRef(ast.Name("", self.record[1], self.record[0])) and not free(e) & self.bound

    def _is_framed(self, reduction: Reduction) -> bool:
        if isinstance(reduction, Reduce):
            return True
        return self.positions and (isinstance(reduction, Slice) or reduction == last_item())

"""Loops whose tuples are collected: ``order by`` and ``group by`` over what changes.

    for $x in E order by k return R        Sort of   for $x in E return [k, R]
    for $x in E group by $g := k return R  Gather of for $x in E return [k, columns], R evaluated for each group

What such a unit keeps of a tuple is in its row; when a record is another, its rows are, and nothing else. Of a grouped
variable that is the column of each aggregate over it, a path below it, or the variable itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import XS
from xstreamcast.plan.algebra import PLAN, Column, Concat, Gather, Reduce, Slice, Sort, VarName
from xstreamcast.plan.decompose.joins import data, reduced_to
from xstreamcast.plan.decompose.record_paths import APART, FOREIGN, MIXED, Where
from xstreamcast.plan.passes.shapes import boolean, is_fn, is_safe, nodes
from xstreamcast.plan.passes.variables import binders, free

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition

_FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)
_DOWN: Final = ("child", "descendant", "descendant-or-self", "attribute", "self")


def collected(work: Decomposition, e: ast.FLWOR, chosen: Slice | None = None) -> ast.Expr | None:
    """A sorted or grouped loop as a unit; None if it is neither, or not over a document."""
    e = _regrouped(work, e)
    at = next((n for n, clause in enumerate(e.clauses) if not isinstance(clause, _FORWARD)), None)
    if at is None or not any(isinstance(c, ast.ForClause) and work.reads(c.source) for c in e.clauses[:at]):
        return None
    before, clause, after = e.clauses[:at], e.clauses[at], e.clauses[at + 1 :]
    if isinstance(clause, ast.OrderClause) and all(isinstance(later, _FORWARD) for later in after):
        row = _row(clause.keys, ast.FLWOR(after, e.result, span=e.span) if after else e.result, e)
        return _unit(work, e, ast.FLWOR(before, row, span=e.span), Sort(clause.keys, chosen))
    if isinstance(clause, ast.GroupClause) and chosen is None:
        return _gathered(work, e, before, clause, after)
    return None


def _row(keys: tuple[ast.OrderKey, ...], result: ast.Expr, e: ast.Expr) -> ast.Expr:
    return ast.SquareArray((*[data(key.key) for key in keys], result), span=e.span)


def _unit(work: Decomposition, e: ast.Expr, items: ast.Expr, reduction: Sort | Gather) -> ast.Expr:
    unit = work.made(e, work.spreading().visit(items), reduction)
    return ast.VarRef(ast.Name("", unit.variable[1], unit.variable[0]), span=e.span)


# ------------------------------------------------------------------------------------------------------ group by


def _gathered(
    work: Decomposition,
    e: ast.FLWOR,
    before: tuple[ast.Clause, ...],
    clause: ast.GroupClause,
    after: tuple[ast.Clause, ...],
) -> ast.Expr | None:
    if any(key.type is not None for key in clause.keys):
        return None
    sorting = next((n for n, later in enumerate(after) if isinstance(later, ast.OrderClause)), None)
    order = None
    if sorting is None:
        body: ast.Expr = ast.FLWOR(after, e.result, span=e.span) if after else e.result
    else:
        order = cast(ast.OrderClause, after[sorting])
        rest = after[sorting + 1 :]
        result = _row(order.keys, ast.FLWOR(rest, e.result, span=e.span) if rest else e.result, e)
        body = ast.FLWOR(after[:sorting], result, span=e.span) if sorting else result
    if not all(isinstance(later, _FORWARD) for later in after if later is not order):
        return None
    keys = dict.fromkeys([key.var.expanded for key in clause.keys])
    bound = {name.expanded for part in before for name in bound_in(part)} - keys.keys()
    fors = [part for part in before if isinstance(part, ast.ForClause)]
    nests = any(goes_deep(part.source) for part in fors)
    columns = Columns(work, bound, fors[0].var.expanded if len(fors) == 1 else None, nests)
    body = columns.visit(body)
    values = [data(ast.VarRef(key.var) if key.value is None else key.value) for key in clause.keys]
    items = ast.FLWOR(before, ast.SquareArray((*values, *columns.exprs), span=e.span), span=e.span)
    own = of_record(work, before)
    inside: dict[VarName, Where] = dict.fromkeys(keys, APART)
    for number, (column, expr) in enumerate(zip(columns.made, columns.exprs, strict=True)):
        where = FOREIGN - 1 - number if free(expr) & bound <= own else MIXED
        inside[column.variable] = where if isinstance(column.reduction, Concat) else APART
    body, _ = work.spreading().body(inside).visit(body, None)
    sort = None if order is None else Sort(order.keys)
    return _unit(work, e, items, Gather(clause.keys, tuple(columns.made), body, sort))


def _regrouped(work: Decomposition, e: ast.FLWOR) -> ast.FLWOR:
    """``for $k in distinct-values(P) …`` as groups of P's nodes by their values, which are untyped."""
    loop = e.clauses[0]
    if not isinstance(loop, ast.ForClause) or loop.position is not None or loop.allowing_empty or loop.type is not None:
        return e
    call = loop.source
    if not (isinstance(call, ast.FunctionCall) and is_fn(call, "distinct-values", 1) and nodes(call.args[0])):
        return e
    item = work.names.fresh(ast.Name("", "item", PLAN))
    key = work.names.fresh(ast.Name("", "key", PLAN))
    untyped = ast.FunctionCall(ast.Name("xs", "untypedAtomic", XS), (ast.VarRef(key),), span=loop.span)
    clauses = (
        ast.ForClause(item, None, False, None, call.args[0], span=loop.span),
        ast.GroupClause((ast.GroupKey(key, None, ast.VarRef(item), span=loop.span),), span=loop.span),
        ast.LetClause(loop.var, None, untyped, span=loop.span),
    )
    return ast.FLWOR((*clauses, *e.clauses[1:]), e.result, span=e.span)


def of_record(work: Decomposition, clauses: tuple[ast.Clause, ...]) -> set[VarName]:
    """The variables of the tuples that have nodes of the record itself: one after the other they are in order."""
    own: set[VarName] = set()
    for clause in clauses:
        if isinstance(clause, ast.ForClause | ast.LetClause):
            value = clause.source if isinstance(clause, ast.ForClause) else clause.value
            if not own or (not work.reads(value) and free(value) & own):
                own.add(clause.var.expanded)
    return own


def bound_in(node: ast.Node) -> list[ast.Name]:
    """The variables that something binds."""
    return [name for part in descendants(node) for name in binders(part)]


class Columns:
    """Takes what a group's body reads of its tuples apart. ``single``: a variable that is one other node in each.

    ``nests``: those nodes may be inside each other. Then what is below them is not shared out among them, and children
    of one come between those of another. ``sums``: whether an aggregate of many tuples is a column.
    """

    def __init__(
        self, work: Decomposition, bound: set[VarName], single: VarName | None, nests: bool, sums: bool = True
    ) -> None:
        self.nests = nests
        self.sums = sums
        self.work = work
        self.bound = bound
        self.single = single
        self.made: list[Column] = []
        self.exprs: list[ast.Expr] = []

    def visit(self, e: ast.Expr) -> ast.Expr:
        found = self._change(e)
        assert isinstance(found, ast.Expr)
        return found

    def _change(self, e: ast.Node) -> ast.Node:
        if not free(e) & self.bound:
            return e
        if self.sums and isinstance(e, ast.FunctionCall):
            form = self.work.forms.of(e)
            if form is not None:
                items, reduction, after = form
                aggregate = reduction.aggregate if isinstance(reduction, Reduce) and not reduction.argument else None
                summed = aggregate is not None and not aggregate.ordered
                shared = self._below(items) and not (self.nests and goes_deep(items))
                if summed and (isinstance(items, ast.VarRef) or shared):
                    return after(self._column(items, cast(Reduce, reduction)))
        if isinstance(e, ast.Path) and self._below(e) and not self.nests:
            return self._column(e, Concat())
        if isinstance(e, ast.VarRef):
            return self._column(e, Concat())
        return rebuild(e, self._change)

    def _below(self, e: ast.Expr) -> bool:
        """Whether an expression is a path down from the variable, which the tuples share out among them."""
        if not isinstance(e, ast.Path) or not isinstance(e.steps[0], ast.VarRef):
            return False
        if e.steps[0].name.expanded != self.single or free(e) & self.bound != {self.single} or not is_safe(e):
            return False
        return all(
            isinstance(step, ast.AxisStep) and step.axis in _DOWN and all(boolean(p) for p in step.predicates)
            for step in e.steps[1:]
        ) and all(_looks_down(step) for step in e.steps[1:])

    def _column(self, items: ast.Expr, reduction: Concat | Reduce) -> ast.Expr:
        e = reduced_to(items, reduction)
        for column, expr in zip(self.made, self.exprs, strict=True):
            if expr == e and column.reduction == reduction:
                return ast.VarRef(ast.Name("", column.variable[1], column.variable[0]), span=e.span)
        name = self.work.names.fresh(ast.Name("", "column", PLAN))
        self.made.append(Column(name.expanded, reduction))
        self.exprs.append(e)
        return ast.VarRef(name, span=e.span)


def goes_deep(e: ast.Node) -> bool:
    """Whether what an expression leads to may be inside its like, or further down than one step."""
    steps = [part for part in descendants(e) if isinstance(part, ast.AxisStep)]
    return any(step.axis.startswith("descendant") for step in steps)


def _looks_down(e: ast.Node) -> bool:
    return all(part.axis in _DOWN for part in descendants(e) if isinstance(part, ast.AxisStep))

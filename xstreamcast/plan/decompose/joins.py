"""Joins in the body of a record: loops over a document as look-ups in another unit (Fegaras' unnesting).

    for $b in B where key($b) = e($a) and rest return R        for $b in G(e($a)) where rest return R

where ``G`` is a unit over B in groups by ``key`` (:class:`~xstreamcast.plan.algebra.Group`), and ``e`` is about the
record at hand. A predicate ``B[key = e($a)]`` is such a loop, ``some`` and a comparison with a sequence are whether
there is one. Where nothing but the equation is about the record, what the loop returns, or an aggregate of it, is the
group's value. This is for queries over what changes: a look-up knows who must look again when a group is another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.clock import is_moving
from xstreamcast.lang.walk import rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import PLAN, Concat, Group, Reduce
from xstreamcast.plan.decompose.record import RecordBody
from xstreamcast.plan.decompose.record_paths import APART, FOREIGN, Blocking, Where
from xstreamcast.plan.decompose.rows import FORWARD, TURNED, Rows, about, conjuncts, depends, elements, rows_of
from xstreamcast.plan.passes.dependence import focus_of, navigates
from xstreamcast.plan.passes.shapes import boolean, is_safe
from xstreamcast.plan.passes.variables import free

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition

_TRUE: Final = ast.FunctionCall(ast.Name("fn", "true", FN))
_OF_MEMBERS: Final = (ast.GeneralComparison, ast.ValueComparison, ast.FunctionCall)


def data(e: ast.Expr) -> ast.Expr:
    """The values of an expression."""
    return ast.FunctionCall(ast.Name("fn", "data", FN), (e,), span=e.span)


def reduced_to(e: ast.Expr, reduction: Concat | Reduce) -> ast.Expr:
    """All that a reduction looks at of its items: that they are there, or their values."""
    if isinstance(reduction, Concat) or e == _TRUE:
        return e
    return ast.SimpleMap((e, _TRUE), span=e.span) if reduction.aggregate.counts else data(e)


class Joins:
    """The look-ups of one decomposition."""

    def __init__(self, work: Decomposition) -> None:
        self.work = work
        self._numbers: dict[ast.Expr, int] = {}

    def mark(self) -> Callable[[], None]:
        return self.work.mark()

    # ---------------------------------------------------------------------------------------------- as look-ups

    def of(self, body: RecordBody, e: ast.Expr, focus: Where | None) -> tuple[ast.Expr, Where] | None:
        match e:
            case ast.FLWOR():
                return self._looked_up(body, e, e, Concat(), focus)
            case ast.Path():
                return self._path(body, e, focus)
            case ast.Quantified() if not e.every:
                return self._some(body, e, focus)
            case ast.Quantified() if self.work.following:
                other = ast.Quantified(False, e.bindings, _negated(e.condition), span=e.span)
                some = self._some(body, other, focus)
                return None if some is None else (_negated(some[0]), APART)
            case ast.GeneralComparison() if e.op == "=" or self.work.following:
                return self._comparison(body, e, focus)
            case ast.IntervalProjection() if elements(e.base) and body.closed(e.base):
                variable = self.work.names.fresh(ast.Name("", "member", PLAN))
                over = ast.ForClause(variable, None, False, None, e.base, span=e.span)
                call = self._attempt(body, e, Rows((over,), (), (), [], e), ast.VarRef(variable), Concat(), focus)
                return None if call is None else (self._projected(body, call, e, focus), APART)
            case ast.FunctionCall():
                form = self.work.forms.of(e)
                if form is None:
                    return None
                items, reduction, after = form
                if not isinstance(reduction, Reduce) or reduction.argument is not None:
                    return None
                loop = self._loop(body, items, reduction) if isinstance(items, ast.Path) else items
                found = None if loop is None else self._looked_up(body, e, loop, reduction, focus)
                return None if found is None else (after(found[0]), APART)
            case _:
                return None

    def clause(
        self, body: RecordBody, clause: ast.ForClause, rest: list[ast.Clause], focus: Where | None
    ) -> tuple[ast.ForClause, list[ast.Clause]]:
        rows = rows_of(self.work, body, clause, rest)
        if rows is None:
            return clause, rest
        call = self._attempt(body, clause.source, rows, ast.VarRef(clause.var), Concat(), focus)
        if call is None:
            return clause, rest
        over: ast.Expr = call if rows.during is None else self._projected(body, call, rows.during, focus)
        return ast.ForClause(clause.var, None, False, None, over, span=clause.span), rows.rest

    def is_lookup(self, e: ast.DynamicCall) -> bool:
        return self._group(e) is not None

    def where(self, e: ast.Expr) -> Where:
        if isinstance(e, ast.DynamicCall):
            group = self._group(e)
            if group is not None and isinstance(group.inner, Reduce):
                return APART
            return FOREIGN - 1 - self._number(e)
        read = free(e)
        units = [unit for unit in self.work.known() if unit.variable in read]
        if all(isinstance(unit.reduction, Reduce) for unit in units):
            return APART
        return FOREIGN - 1 - self._number(e)

    def _group(self, e: ast.DynamicCall) -> Group | None:
        if not isinstance(e.function, ast.VarRef):
            return None
        unit = self.work.unit_of(e.function)
        return unit.reduction if unit is not None and isinstance(unit.reduction, Group) else None

    def _number(self, e: ast.Expr) -> int:
        """A number for what is looked up at one place of the query."""
        return self._numbers.setdefault(e, len(self._numbers))

    # ---------------------------------------------------------------------------------------------- forms

    def _path(self, body: RecordBody, e: ast.Path, focus: Where | None) -> tuple[ast.Expr, Where] | None:
        split = self._split(body, e)
        if split is None:
            return None
        whole = self._loop(body, e, None)
        found = None if whole is None else self._looked_up(body, e, whole, Concat(), focus)
        if found is not None:
            return found
        loop, after = split
        found = self._looked_up(body, e, loop, Concat(), focus)
        if found is None:
            return self._filtered(body, e, len(e.steps) - len(after) - 1, focus)
        steps, where = [found[0]], self.where(found[0])
        for step in after:
            made, where = body.visit(step, where)
            steps.append(made)
        return ast.Path(tuple(steps), span=e.span), where

    def _filtered(self, body: RecordBody, e: ast.Path, at: int, focus: Where | None) -> tuple[ast.Expr, Where] | None:
        """Without an equation: all nodes of the path so far are kept, and filtered for each record."""
        step = e.steps[at]
        assert isinstance(step, ast.AxisStep)
        plain = ast.AxisStep(step.axis, step.test, (), span=step.span)
        base = ast.Path((*e.steps[:at], plain), span=e.span)
        if not body.closed(base):
            return None
        chosen = ast.Filter(base, step.predicates, span=e.span)
        return body.visit(ast.Path((chosen, *e.steps[at + 1 :]), span=e.span) if e.steps[at + 1 :] else chosen, focus)

    def _loop(self, body: RecordBody, e: ast.Path, reduction: Reduce | None) -> ast.FLWOR | None:
        """A path with a predicate about the record as a loop that returns the path's nodes, if it gives these in order.

        Nodes below nested ones come in another order, which some reductions do not mind.
        """
        split = self._split(body, e)
        if split is None:
            return None
        loop, after = split
        if not after:
            return loop
        if not all(isinstance(step, ast.AxisStep) and step.axis in ("child", "attribute") for step in after):
            return None
        if any(about(body, step) for step in after):
            return None
        assert isinstance(loop.clauses[0], ast.ForClause)
        source = loop.clauses[0].source
        assert isinstance(source, ast.Path)
        flat = all(isinstance(step, ast.VarRef) or _goes_one_down(step) for step in source.steps)
        if not flat and (reduction is None or reduction.aggregate.ordered):
            return None
        return ast.FLWOR(loop.clauses, ast.Path((loop.result, *after), span=e.span), span=e.span)

    def _split(self, body: RecordBody, e: ast.Path) -> tuple[ast.FLWOR, tuple[ast.Expr, ...]] | None:
        """``P/b[p]/rest``, p about the record: ``for $m in P/b where $m[p] return $m``, and the rest."""
        for number, step in enumerate(e.steps):
            if not about(body, step):
                continue
            if number == 0 or not isinstance(step, ast.AxisStep) or not all(boolean(p) for p in step.predicates):
                return None
            variable = self.work.names.fresh(ast.Name("", "member", PLAN))
            plain = ast.AxisStep(step.axis, step.test, (), span=step.span)
            source = ast.Path((*e.steps[:number], plain), span=e.span)
            clauses: list[ast.Clause] = [ast.ForClause(variable, None, False, None, source, span=e.span)]
            for predicate in step.predicates:
                for part in conjuncts(predicate):
                    clauses.append(ast.WhereClause(self._of_member(body, part, variable), span=part.span))
            return ast.FLWOR(tuple(clauses), ast.VarRef(variable), span=e.span), e.steps[number + 1 :]
        return None

    def _of_member(self, body: RecordBody, e: ast.Expr, variable: ast.Name) -> ast.Expr:
        """A predicate as a condition on a variable: an equation stays one."""
        member = ast.VarRef(variable)
        if isinstance(e, ast.GeneralComparison) and e.op == "=":
            for key, argument in ((e.left, e.right), (e.right, e.left)):
                if focus_of(key) and not about(body, key) and not focus_of(argument):
                    same = ast.SimpleMap((member, key), span=key.span)
                    return ast.GeneralComparison("=", same, argument, span=e.span)
        if self.work.following and isinstance(e, _OF_MEMBERS) and boolean(e) and about(body, e):

            def named(part: ast.Node) -> ast.Node:
                if not isinstance(part, ast.Expr) or not focus_of(part):
                    return part
                return rebuild(part, named) if about(body, part) else ast.SimpleMap((member, part), span=part.span)

            made = rebuild(e, named)
            if not focus_of(made):
                return made
        return ast.Filter(member, (e,), span=e.span)

    def _some(self, body: RecordBody, e: ast.Quantified, focus: Where | None) -> tuple[ast.Expr, Where] | None:
        if not free(e.bindings[0].source) & body.roots:
            return None
        form = self.work.forms.of(e)
        assert form is not None
        loop = form[0]
        assert isinstance(loop, ast.FLWOR)
        found = self._looked_up(body, e, loop, Reduce("exists"), focus)
        if found is not None and isinstance(found[0], ast.DynamicCall):
            return found[0], APART
        there = ast.FunctionCall(ast.Name("fn", "exists", FN), (loop,), span=e.span)
        if rows_of(self.work, body, loop.clauses[0], list(loop.clauses[1:])) is None:
            return None
        return body.visit(there, focus)[0], APART

    def _comparison(
        self, body: RecordBody, e: ast.GeneralComparison, focus: Where | None
    ) -> tuple[ast.Expr, Where] | None:
        """``e($a) = B/y``, or another relation: whether there is one."""
        for items, argument, op in ((e.left, e.right, e.op), (e.right, e.left, TURNED.get(e.op, e.op))):
            if body.closed(items) and navigates(items) and depends(body, argument):
                variable = self.work.names.fresh(ast.Name("", "member", PLAN))
                loop = ast.ForClause(variable, None, False, None, items, span=items.span)
                member = ast.GeneralComparison(op, ast.VarRef(variable), argument, span=e.span)
                rows = rows_of(self.work, body, loop, [ast.WhereClause(member, span=e.span)])
                call = None if rows is None else self._attempt(body, e, rows, _TRUE, Reduce("exists"), focus)
                return None if call is None else (call, APART)
        return None

    # ---------------------------------------------------------------------------------------------- loops

    def _looked_up(
        self, body: RecordBody, e: ast.Expr, loop: ast.Expr, reduction: Concat | Reduce, focus: Where | None
    ) -> tuple[ast.Expr, Where] | None:
        """The loop, reduced, as the value of a group; without a reduction, as a loop over a group."""
        if not isinstance(loop, ast.FLWOR):
            return None
        first, *rest = loop.clauses
        rows = rows_of(self.work, body, first, rest)
        if rows is None:
            return None
        assert isinstance(first, ast.ForClause)
        closed = all(isinstance(c, FORWARD) and not depends(body, c) for c in rows.rest)
        if closed and not depends(body, loop.result) and all(map(is_safe, (*rows.rest, loop.result))):
            own = replace(rows, own=(*rows.own, *rows.rest), rest=[])
            call = self._attempt(body, e, own, loop.result, reduction, focus)
            return None if call is None else (call, self.where(call))
        if not isinstance(reduction, Concat):
            return None
        call = self._attempt(body, first.source, rows, ast.VarRef(first.var), Concat(), focus)
        if call is None:
            return None
        source: ast.Expr = call if rows.during is None else self._projected(body, call, rows.during, focus)
        over = ast.ForClause(first.var, None, False, None, source, span=first.span)
        return body.visit(ast.FLWOR((over, *rows.rest), loop.result, span=loop.span), focus)

    # ---------------------------------------------------------------------------------------------- units

    @staticmethod
    def _projected(
        body: RecordBody, call: ast.Expr, e: ast.IntervalProjection, focus: Where | None
    ) -> ast.IntervalProjection:
        """Elements that are looked up by their life, projected as the query says."""
        begin = body.visit(e.begin, focus)[0]
        end = None if e.end is None else body.visit(e.end, focus)[0]
        return ast.IntervalProjection(call, begin, end, span=e.span)

    def _attempt(
        self,
        body: RecordBody,
        e: ast.Expr,
        rows: Rows,
        result: ast.Expr,
        reduction: Concat | Reduce,
        focus: Where | None,
    ) -> ast.DynamicCall | None:
        """The look-up in a unit of these rows; None if they do not make one."""
        work = self.work
        forget: Callable[[], None] = work.mark()
        try:
            row = ast.SquareArray((reduced_to(result, reduction), *[data(key) for key in rows.keys]), span=e.span)
            items = ast.FLWOR(rows.own, row, span=e.span)
            item = work.names.fresh(ast.Name("", "row", PLAN))
            group = Group(
                item.expanded,
                rows.keys,
                reduction,
                rows=True,
                interval=rows.during is not None,
                relation=rows.relation,
                theta=rows.theta,
            )
            unit = work.made(e, work.spreading().visit(items), group)
            arguments = [body.atomised(argument, focus) for argument in rows.arguments]
            if rows.during is not None:
                # A bound that goes on with the clock is none: who has asked need not ask again at every tick.
                ends = (rows.during.begin, rows.during.end or rows.during.begin)
                arguments += [ast.Sequence() if is_moving(end) else body.atomised(end, focus) for end in ends]
        except Blocking:
            forget()
            return None
        variable = ast.VarRef(ast.Name("", unit.variable[1], unit.variable[0]), span=e.span)
        return ast.DynamicCall(variable, tuple(arguments), span=e.span)


def _negated(e: ast.Expr) -> ast.Expr:
    return ast.FunctionCall(ast.Name("fn", "not", FN), (e,), span=e.span)


def _goes_one_down(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis == "child"

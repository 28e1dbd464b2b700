"""Joins in the body of a record: loops over a document as look-ups in another unit (Fegaras' unnesting).

    for $b in B where key($b) = e($a) and rest return R        for $b in G(e($a)) where rest return R

where ``G`` is a unit over B in groups by ``key`` (:class:`~xstreamcast.plan.algebra.Group`), and ``e`` is about the
record at hand. A predicate ``B[key = e($a)]`` is such a loop, ``some`` and a comparison with a sequence are whether
there is one. Where nothing but the equation is about the record, what the loop returns, or an aggregate of it, is the
group's value. This is for queries over what changes: a look-up knows who must look again when a group is another one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xstreamcast.lang import ast
from xstreamcast.lang.clock import is_moving
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import PLAN, Concat, Group, Reduce, VarName
from xstreamcast.plan.decompose.record import RecordBody
from xstreamcast.plan.decompose.where import APART, FOREIGN, Blocking, Where
from xstreamcast.plan.passes.dependence import focus_of, navigates
from xstreamcast.plan.passes.shapes import boolean, is_fn, nodes
from xstreamcast.plan.passes.variables import binders, free

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition

_TRUE: Final = ast.FunctionCall(ast.Name("fn", "true", FN))
_ORDERLESS: Final = frozenset(("count", "sum", "avg", "min", "max", "exists", "empty"))
_HARMLESS: Final = frozenset(("data", "count", "exists", "empty", "true", "false"))
_THERE: Final = frozenset(("count", "exists", "empty"))
_FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)


def data(e: ast.Expr) -> ast.Expr:
    """The values of an expression."""
    return ast.FunctionCall(ast.Name("fn", "data", FN), (e,), span=e.span)


def reduced_to(e: ast.Expr, reduction: Concat | Reduce) -> ast.Expr:
    """All that a reduction looks at of its items: that they are there, or their values."""
    if isinstance(reduction, Concat) or e == _TRUE:
        return e
    return ast.SimpleMap((e, _TRUE), span=e.span) if reduction.function in _THERE else data(e)


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


def conjuncts(e: ast.Expr) -> tuple[ast.Expr, ...]:
    return e.operands if isinstance(e, ast.And) else (e,)


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
            case ast.GeneralComparison() if e.op == "=":
                return self._comparison(body, e, focus)
            case ast.IntervalProjection() if _elements(e.base) and body.closed(e.base):
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
        rows = self._rows(body, clause, rest)
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
        if any(self._about(body, step) for step in after):
            return None
        assert isinstance(loop.clauses[0], ast.ForClause)
        source = loop.clauses[0].source
        assert isinstance(source, ast.Path)
        flat = all(isinstance(step, ast.VarRef) or _goes_one_down(step) for step in source.steps)
        if not flat and (reduction is None or reduction.function not in _ORDERLESS):
            return None
        return ast.FLWOR(loop.clauses, ast.Path((loop.result, *after), span=e.span), span=e.span)

    def _split(self, body: RecordBody, e: ast.Path) -> tuple[ast.FLWOR, tuple[ast.Expr, ...]] | None:
        """``P/b[p]/rest``, p about the record: ``for $m in P/b where $m[p] return $m``, and the rest."""
        for number, step in enumerate(e.steps):
            if not self._about(body, step):
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
                if focus_of(key) and not self._about(body, key) and not focus_of(argument):
                    same = ast.SimpleMap((member, key), span=key.span)
                    return ast.GeneralComparison("=", same, argument, span=e.span)
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
        if self._rows(body, loop.clauses[0], list(loop.clauses[1:])) is None:
            return None
        return body.visit(there, focus)[0], APART

    def _comparison(
        self, body: RecordBody, e: ast.GeneralComparison, focus: Where | None
    ) -> tuple[ast.Expr, Where] | None:
        """``e($a) = B/y``: whether there is one."""
        for items, argument in ((e.left, e.right), (e.right, e.left)):
            if body.closed(items) and navigates(items) and self._depends(body, argument):
                variable = self.work.names.fresh(ast.Name("", "member", PLAN))
                loop = ast.ForClause(variable, None, False, None, items, span=items.span)
                rows = Rows((loop,), (ast.VarRef(variable),), (argument,), [])
                call = self._attempt(body, e, rows, _TRUE, Reduce("exists"), focus)
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
        rows = self._rows(body, first, rest)
        if rows is None:
            return None
        assert isinstance(first, ast.ForClause)
        closed = all(isinstance(c, _FORWARD) and not self._depends(body, c) for c in rows.rest)
        if closed and not self._depends(body, loop.result) and all(map(is_safe, (*rows.rest, loop.result))):
            own = Rows((*rows.own, *rows.rest), rows.keys, rows.arguments, [])
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

    def _rows(self, body: RecordBody, loop: ast.Clause, rest: list[ast.Clause]) -> Rows | None:
        """A loop over a document that equations tie to what is around it; None if there are none."""
        if not isinstance(loop, ast.ForClause) or loop.position is not None or loop.allowing_empty or loop.type:
            return None
        during = loop.source if isinstance(loop.source, ast.IntervalProjection) else None
        if during is not None and not body.closed(during) and _elements(during.base):
            loop = ast.ForClause(loop.var, None, False, None, during.base, span=loop.span)
        else:
            during = None
        if not body.closed(loop.source):
            return None
        name = loop.var.expanded
        inside = {n.expanded for clause in rest for part in descendants(clause) for n in binders(part)} | {name}
        own: list[ast.Clause] = [loop]
        keys: list[ast.Expr] = []
        arguments: list[ast.Expr] = []
        left: list[ast.Clause] = []
        forward = True
        for clause in rest:
            forward = forward and isinstance(clause, _FORWARD)
            if not forward or not isinstance(clause, ast.WhereClause):
                left.append(clause)
                continue
            kept: list[ast.Expr] = []
            for part in conjuncts(clause.condition):
                equation = self._equation(body, part, name, inside)
                if during is not None:
                    # What holds of a projection need not hold of what it is of, but for what is there before.
                    kept.append(part)
                    if equation is not None and _plain(equation[0]):
                        keys.append(equation[0])
                        arguments.append(equation[1])
                elif equation is not None:
                    keys.append(equation[0])
                    arguments.append(equation[1])
                    if isinstance(part, ast.ValueComparison):
                        kept.append(part)  # it is stricter about types
                elif free(part) & inside == {name} and not self._depends(body, part) and is_safe(part):
                    own.append(ast.WhereClause(part, span=part.span))
                else:
                    kept.append(part)
            if kept:
                condition = kept[0] if len(kept) == 1 else ast.And(tuple(kept), span=clause.span)
                left.append(ast.WhereClause(condition, span=clause.span))
        return Rows(tuple(own), tuple(keys), tuple(arguments), left, during) if keys else None

    def _equation(
        self, body: RecordBody, e: ast.Expr, name: VarName, inside: set[VarName]
    ) -> tuple[ast.Expr, ast.Expr] | None:
        general = isinstance(e, ast.GeneralComparison) and e.op == "="
        if not general and not (isinstance(e, ast.ValueComparison) and e.op == "eq"):
            return None
        assert isinstance(e, ast.GeneralComparison | ast.ValueComparison)
        for key, argument in ((e.left, e.right), (e.right, e.left)):
            own = free(key) & inside == {name} and not self._depends(body, key)
            if own and not free(argument) & inside and self._depends(body, argument):
                return key, argument
        return None

    def _about(self, body: RecordBody, e: ast.Node) -> bool:
        """Whether an expression names what the record at hand binds."""
        return bool(free(e) & body.variables.keys())

    def _depends(self, body: RecordBody, e: ast.Node) -> bool:
        """Whether an expression in the focus of the record has to do with it."""
        return self._about(body, e) or bool(focus_of(e))

    # ---------------------------------------------------------------------------------------------- units

    @staticmethod
    def _projected(
        body: RecordBody, call: ast.Expr, e: ast.IntervalProjection, focus: Where | None
    ) -> ast.IntervalProjection:
        """What is looked up by its life, projected as the query says."""
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
            group = Group(item.expanded, rows.keys, reduction, rows=True, interval=rows.during is not None)
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


def _elements(e: ast.Expr) -> bool:
    """Whether a path leads to elements: a projection copies these."""
    step = e.steps[-1] if isinstance(e, ast.Path) else e
    down = isinstance(step, ast.AxisStep) and step.axis in ("child", "descendant")
    return down and isinstance(step, ast.AxisStep) and isinstance(step.test, ast.NameTest)


def _plain(e: ast.Expr) -> bool:
    """Whether a key is found by going down, so that it fails of nothing, and a projection has no other values of it."""
    if isinstance(e, ast.Path):
        return all(isinstance(step, ast.VarRef) or _plain(step) for step in e.steps)
    return isinstance(e, ast.AxisStep) and e.axis in ("child", "attribute", "descendant") and not e.predicates


def _goes_one_down(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis == "child"

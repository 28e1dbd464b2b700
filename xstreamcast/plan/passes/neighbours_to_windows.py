"""What looks from an item of a sequence at the one before it, or behind it, is a loop over windows of one item.

    for $x at $i in E return f($x, (E)[$i - 1])        for tumbling window $w in E start $x previous $p when true()
                                                       end when true() return f($x, $p)
    for $i in 2 to count(E) return f((E)[$i])          for $x at $i in E where $i >= 2 return f($x)
    for $x in /a/b return $x/following-sibling::b[1]   … start $x next $n … return $n
    /a/b[preceding-sibling::b[1]/c > c]                … start $x previous $p … where $p/c > $x/c return $x
    for-each-pair(E, tail(E), f)                       … start $x next $n … where exists($n) return f($x, $n)

So the others need not be looked up: an item knows its neighbours. ``a`` is the root element, of which there is one.
"""

from __future__ import annotations

from typing import Final, Literal

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import PLAN, VarName
from xstreamcast.plan.passes.dependence import Dependence, repeatable
from xstreamcast.plan.passes.open_root import Refocused, is_root_element
from xstreamcast.plan.passes.shapes import boolean, is_fn
from xstreamcast.plan.passes.variables import Names, names_of
from xstreamcast.plan.sources import source_of

Side = Literal["previous", "next"]
_FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)
_TRUE: Final = ast.FunctionCall(ast.Name("fn", "true", FN))
_SIDES: Final[dict[str, Side]] = {"preceding-sibling": "previous", "following-sibling": "next"}


def neighbours_to_windows(module: ast.Module) -> ast.Module:
    """The module's body with such loops over documents as windows."""
    dependence, names = Dependence(module), names_of(module)

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        if isinstance(made, ast.FunctionCall) and is_fn(made, "for-each-pair", 3):
            return _pairs(made, dependence, names)
        loop = _filtered(made, names) if isinstance(made, ast.Path) else made
        if not isinstance(loop, ast.FLWOR):
            return made
        found = _loop(_counted(loop, names), dependence, names)
        return made if found is None else found

    return with_body(module, visit)


def _loop(e: ast.FLWOR, dependence: Dependence, names: Names) -> ast.FLWOR | None:
    first = e.clauses[0]
    if not isinstance(first, ast.ForClause) or first.allowing_empty or first.type is not None:
        return None
    if not dependence.on(first.source) or not repeatable(first.source):
        return None
    if not all(isinstance(clause, _FORWARD) for clause in e.clauses):
        return None
    beside = _Beside(first, names)
    rest = [beside.visit(clause) for clause in e.clauses[1:]]
    result = beside.visit(e.result)
    clauses = [clause for clause in rest if isinstance(clause, _FORWARD)]
    if not beside.named:
        assert isinstance(result, ast.Expr)
        return ast.FLWOR((first, *clauses), result, span=e.span) if beside.itself else None
    read = _reads(first.position, (*rest, result))
    start = ast.WindowCondition(
        first.var,
        first.position if read else None,
        beside.named.get("previous"),
        beside.named.get("next"),
        _TRUE,
        span=first.span,
    )
    return _of_one(first.source, start, clauses, result, e, names)


def _of_one(
    source: ast.Expr,
    start: ast.WindowCondition,
    rest: list[ast.ForClause | ast.LetClause | ast.WhereClause],
    result: ast.Node,
    e: ast.Expr,
    names: Names,
) -> ast.FLWOR:
    """A loop over windows of one item each."""
    assert isinstance(result, ast.Expr)
    end = ast.WindowCondition(None, None, None, None, _TRUE, span=start.span)
    variable = names.fresh(ast.Name("", "window", PLAN))
    window = ast.WindowClause(False, variable, None, source, start, end, False, span=start.span)
    return ast.FLWOR((window, *rest), result, span=e.span)


def _reads(name: ast.Name | None, parts: tuple[ast.Node, ...]) -> bool:
    return name is not None and any(
        isinstance(one, ast.VarRef) and one.name.expanded == name.expanded
        for part in parts
        for one in descendants(part)
    )


class _Beside:
    """Puts variables in for what an item of a loop is beside. ``named``: those that were needed; ``itself``: whether
    the item was looked up by its own number."""

    def __init__(self, loop: ast.ForClause, names: Names) -> None:
        self.loop = loop
        self.names = names
        self.named: dict[Side, ast.Name] = {}
        self.itself = False
        self._test = _child_of_root(loop.source)
        self._position: VarName | None = None if loop.position is None else loop.position.expanded

    def visit(self, e: ast.Node) -> ast.Node:
        if isinstance(e, ast.Filter) and e.base == self.loop.source and len(e.predicates) == 1:
            found = self._by_number(e.predicates[0])
            if found is not None:
                return found
        if isinstance(e, ast.Path) and e.steps[0] == ast.VarRef(self.loop.var) and self._test is not None:
            step = e.steps[1]
            one = (ast.IntegerLiteral(1),)
            if isinstance(step, ast.AxisStep) and (step.test, step.predicates) == (self._test, one):
                side = _SIDES.get(step.axis)
                if side is not None:
                    rest = tuple([self._expr(later) for later in e.steps[2:]])
                    return ast.Path((self._named(side), *rest), span=e.span) if rest else self._named(side)
        return rebuild(e, self.visit)

    def _expr(self, e: ast.Expr) -> ast.Expr:
        made = self.visit(e)
        assert isinstance(made, ast.Expr)
        return made

    def _by_number(self, e: ast.Expr) -> ast.Expr | None:
        """``$i - 1``, ``$i + 1``"""
        match e:
            case ast.Arithmetic("-" | "+" as op, ast.VarRef(name), ast.IntegerLiteral(1)):
                return self._named("previous" if op == "-" else "next") if name.expanded == self._position else None
            case ast.VarRef(name) if name.expanded == self._position:
                self.itself = True
                return ast.VarRef(self.loop.var, span=e.span)
            case _:
                return None

    def _named(self, side: Side) -> ast.VarRef:
        if side not in self.named:
            self.named[side] = self.names.fresh(ast.Name("", side, PLAN))
        return ast.VarRef(self.named[side])


def _child_of_root(e: ast.Expr) -> ast.NodeTest | None:
    """The kind of the elements of ``/a/b``: they are all children of one element."""
    if not isinstance(e, ast.Path) or len(e.steps) != 3 or not is_root_element(ast.Path(e.steps[:2])):
        return None
    root, step = e.steps[0], e.steps[2]
    source = source_of(root.name.expanded) if isinstance(root, ast.VarRef) else None
    if source is None or source.forest or not isinstance(step, ast.AxisStep) or step.axis != "child":
        return None
    return None if step.predicates else step.test


def _filtered(e: ast.Path, names: Names) -> ast.FLWOR | None:
    """A path with a condition on the next or the last sibling as a loop."""
    step = e.steps[2] if len(e.steps) > 2 else None
    if not isinstance(step, ast.AxisStep) or not step.predicates or not all(boolean(p) for p in step.predicates):
        return None
    source = ast.Path((*e.steps[:2], ast.AxisStep(step.axis, step.test, (), span=step.span)), span=e.span)
    if _child_of_root(source) is None:
        return None
    item = names.fresh(ast.Name("", "item", PLAN))
    conditions = [Refocused(ast.VarRef(item)).visit(predicate) for predicate in step.predicates]
    known = [condition for condition in conditions if condition is not None]
    if len(known) < len(conditions) or not all(isinstance(later, ast.AxisStep) for later in e.steps[3:]):
        return None
    clauses: list[ast.Clause] = [ast.ForClause(item, None, False, None, source, span=e.span)]
    clauses += [ast.WhereClause(condition, span=step.span) for condition in known]
    rest = e.steps[3:]
    result = ast.Path((ast.VarRef(item), *rest), span=e.span) if rest else ast.VarRef(item)
    return ast.FLWOR(tuple(clauses), result, span=e.span)


def _counted(e: ast.FLWOR, names: Names) -> ast.FLWOR:
    """``for $i in 2 to count(E)`` as a loop over E, if the items of E are looked at by these numbers."""
    first = e.clauses[0]
    if not isinstance(first, ast.ForClause) or first.position is not None or first.type is not None:
        return e
    if first.allowing_empty or not isinstance(first.source, ast.Range):
        return e
    least, count = first.source.first, first.source.last
    if not isinstance(least, ast.IntegerLiteral) or least.value < 1:
        return e
    if not isinstance(count, ast.FunctionCall) or not is_fn(count, "count", 1):
        return e
    item, source = names.fresh(ast.Name("", "item", PLAN)), count.args[0]
    looks = [part for part in descendants(e) if isinstance(part, ast.Filter) and part.base == source]
    if not any(part.predicates == (ast.VarRef(first.var),) for part in looks):
        return e
    loop = ast.ForClause(item, None, False, first.var, source, span=first.span)
    after: tuple[ast.Clause, ...] = e.clauses[1:]
    if least.value > 1:
        at_least = ast.GeneralComparison(">=", ast.VarRef(first.var), least, span=first.span)
        after = (ast.WhereClause(at_least, span=first.span), *after)
    return ast.FLWOR((loop, *after), e.result, span=e.span)


def _pairs(e: ast.FunctionCall, dependence: Dependence, names: Names) -> ast.Expr:
    """``for-each-pair(E, tail(E), function($a, $b) { … })``"""
    source, other, function = e.args
    if not isinstance(other, ast.FunctionCall) or not is_fn(other, "tail", 1) or other.args[0] != source:
        return e
    if not isinstance(function, ast.InlineFunction) or len(function.params) != 2 or function.result is not None:
        return e
    if any(param.type is not None for param in function.params):
        return e
    if not dependence.on(source) or not repeatable(source):
        return e
    item, behind = (names.fresh(ast.Name("", name, PLAN)) for name in ("item", "next"))
    start = ast.WindowCondition(item, None, None, behind, _TRUE, span=e.span)
    there = ast.FunctionCall(ast.Name("fn", "exists", FN), (ast.VarRef(behind),), span=e.span)
    values = zip(function.params, (item, behind), strict=True)
    lets = [ast.LetClause(param.name, None, ast.VarRef(name), span=e.span) for param, name in values]
    return _of_one(source, start, [ast.WhereClause(there, span=e.span), *lets], function.body, e, names)

"""Loops over ranges around a unit: one grouped pass instead of an unrolled loop (VLDB'05 §4.3.1).

    for $i in 1 to 9 return count(E[x = $i])

is one unit, E[x >= 1 and x <= 9] in groups by x, and a loop that asks for the groups. What lies outside of the range
is in no group that is asked for, and need not be looked at.
"""

from __future__ import annotations

from collections.abc import Mapping

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.namespaces import XS
from xstreamcast.plan.algebra import PLAN, VarName
from xstreamcast.plan.passes.dependence import focus_of
from xstreamcast.plan.passes.variables import Names, free, substitute

_UP = ast.AxisStep("parent", ast.KindTest("node"))


@dataclass(frozen=True, slots=True)
class Grouping:
    """``items`` by ``keys`` (of ``$item``); ``arguments`` are what the loop around compares them with."""

    items: ast.Expr
    item: ast.Name
    keys: tuple[ast.Expr, ...]
    arguments: tuple[ast.Expr, ...]
    up: int
    """How many steps above the item the node is that the keys look at: the record."""


Around = Mapping[VarName, "ast.Expr | None"]
"""Variables of loops, with what they range over, if that is known before the scan."""


def grouping_of(e: ast.Expr, around: Around, names: Names) -> Grouping | None:
    """The items that depend on variables around them by ``key = value`` only, without that condition."""
    item = names.fresh(ast.Name("", "member", PLAN))
    if isinstance(e, ast.Path):
        return _of_path(e, around, item)
    if isinstance(e, ast.FLWOR):
        return _of_loop(e, around, item)
    return None


def _of_path(e: ast.Path, around: Around, item: ast.Name) -> Grouping | None:
    """``…/r[key = $i]/c1/c2``: the record is above the item by as many steps."""
    for number, step in enumerate(e.steps):
        if not free(step) & around.keys():
            continue
        after = e.steps[number + 1 :]
        if not isinstance(step, ast.AxisStep) or not all(_goes_down_one(later) for later in after):
            return None
        split = _Split(around, None)
        predicates = tuple([kept for predicate in step.predicates for kept in split.conjuncts(predicate)])
        if not split.keys:
            return None
        plain = ast.AxisStep(step.axis, step.test, (*predicates, *split.bounds), span=step.span)
        items = ast.Path((*e.steps[:number], plain, *after), span=e.span)
        record = _above(item, len(after))
        keys = tuple([ast.SimpleMap((record, key), span=key.span) for key in split.keys])
        return Grouping(items, item, keys, tuple(split.arguments), len(after))
    return None


def _of_loop(e: ast.FLWOR, around: Around, item: ast.Name) -> Grouping | None:
    """``for $r in E where key($r) = $i return $r/c1/c2``."""
    first, *rest = e.clauses
    if not isinstance(first, ast.ForClause) or not all(isinstance(clause, ast.WhereClause) for clause in rest):
        return None
    steps = e.result.steps if isinstance(e.result, ast.Path) else (e.result,)
    if steps[0] != ast.VarRef(first.var) or not all(_goes_down_one(step) for step in steps[1:]):
        return None
    split = _Split(around, first.var.expanded)
    clauses: list[ast.Clause] = [first]
    for clause in rest:
        assert isinstance(clause, ast.WhereClause)
        clauses.extend(ast.WhereClause(kept, span=clause.span) for kept in split.conjuncts(clause.condition))
    if not split.keys:
        return None
    clauses.extend(ast.WhereClause(bound, span=bound.span) for bound in split.bounds)
    record = _above(item, len(steps) - 1)
    keys = tuple([substitute(key, {first.var.expanded: record}) for key in split.keys])
    items = ast.FLWOR(tuple(clauses), e.result, span=e.span)
    return Grouping(items, item, keys, tuple(split.arguments), len(steps) - 1)


def _goes_down_one(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis in ("child", "attribute") and not step.predicates


def _above(item: ast.Name, steps: int) -> ast.Expr:
    return ast.Path((ast.VarRef(item), *[_UP] * steps)) if steps else ast.VarRef(item)


def _integer(e: ast.Expr) -> ast.Expr:
    """An end of a range, as the range takes it."""
    if isinstance(e, ast.IntegerLiteral):
        return e
    return ast.FunctionCall(ast.Name("xs", "integer", XS), (e,), span=e.span)


class _Split:
    """Conditions taken apart: ``key = argument``, and what is kept."""

    def __init__(self, around: Around, record: VarName | None) -> None:
        self.around = around
        self.record = record
        self.keys: list[ast.Expr] = []
        self.arguments: list[ast.Expr] = []
        self.bounds: list[ast.Expr] = []
        """What a key must be to be asked for at all."""

    def conjuncts(self, e: ast.Expr) -> list[ast.Expr]:
        """The conditions that are no such equation."""
        parts = e.operands if isinstance(e, ast.And) else (e,)
        kept = [part for part in parts if not self._equation(part)]
        if len(kept) == len(parts):
            return [e]
        return [kept[0] if len(kept) == 1 else ast.And(tuple(kept), span=e.span)] if kept else []

    def _equation(self, e: ast.Expr) -> bool:
        if not isinstance(e, ast.GeneralComparison) or e.op != "=":
            return False
        for key, argument in ((e.left, e.right), (e.right, e.left)):
            if self._around(argument) and not free(key) & self.around.keys():
                self.keys.append(key)
                self.arguments.append(argument)
                self._bound(key, argument, e.span)
                return True
        return False

    def _bound(self, key: ast.Expr, argument: ast.Expr, span: ast.Span) -> None:
        source = self.around.get(argument.name.expanded) if isinstance(argument, ast.VarRef) else None
        if isinstance(source, ast.Range):
            least = ast.GeneralComparison(">=", key, _integer(source.first), span=span)
            most = ast.GeneralComparison("<=", key, _integer(source.last), span=span)
            self.bounds.append(ast.And((least, most), span=span))

    def _around(self, e: ast.Expr) -> bool:
        """Whether an expression is about the loop around, and not about the record."""
        names = free(e)
        return bool(names & self.around.keys()) and self.record not in names and not focus_of(e)

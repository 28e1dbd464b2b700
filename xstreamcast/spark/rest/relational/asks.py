"""Which groups an expression will look up: what a join is made on, before there is anything to look up in.

    for $p in E return <a>{ G($p/@id) }</a>            asks  for $p in E return [G, data($p/@id)]

``asks`` keeps the loops and bindings around a look-up and drops what is made of it. A look-up whose argument comes of
another one asks for nothing until that one is answered: the *depth* says after how many rounds all is known. What
cannot fail must not be made to: where a part of it raises, it asks for nothing, and the expression itself will raise.
More may be asked for than is looked up (conditions that hang on a look-up are left out), never less.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.passes.dependence import LAST, POSITION, focus_of
from xstreamcast.plan.passes.shapes import is_safe
from xstreamcast.plan.passes.variables import binders

_NOTHING: Final = ast.Sequence(())
_TRUE: Final = ast.FunctionCall(ast.Name("fn", "true", FN))


@dataclass(frozen=True, slots=True)
class Asks:
    """``expr`` gives arrays: the number of a unit, then for each of its keys the values that it is asked for by."""

    expr: ast.Expr
    depth: int
    units: tuple[VarName, ...]
    rounds: tuple[tuple[int, int], ...]
    """For each unit the first and the last round in which something new may be asked of it, from 1."""

    def asked_in(self, turn: int) -> list[VarName]:
        """The units of which something may be asked in a round."""
        return [unit for unit, (first, last) in zip(self.units, self.rounds, strict=True) if first <= turn <= last]


class Unaskable(Exception):
    """A look-up stands where what it asks for is not known beforehand."""


def asks_of(e: ast.Expr, units: Collection[VarName]) -> Asks | None:
    """What an expression asks of some units; None if it asks for nothing. Raises :class:`Unaskable`."""
    made = _Asking(tuple(units))
    found = made.visit(e, 0)
    return None if found is None else Asks(found, made.depth, made.units, tuple(made.rounds))


class _Asking:
    def __init__(self, units: tuple[VarName, ...]) -> None:
        self.units = units
        self.depth = 0
        self.rounds = [(2, 0)] * len(units)

    def visit(self, e: ast.Expr, level: int) -> ast.Expr | None:
        """The asks of an expression whose evaluation waits for ``level`` look-ups, one after the other."""
        if not self._level(e):
            return None
        match e:
            case ast.VarRef():
                raise Unaskable("the function itself is passed on")
            case ast.DynamicCall(function=ast.VarRef() as function) if function.name.expanded in self.units:
                return self._call(e, self.units.index(function.name.expanded), level)
            case ast.FLWOR():
                return self._clauses(list(e.clauses), e.result, level)
            case ast.Quantified():
                loops: list[ast.Clause] = [
                    ast.ForClause(each.var, each.type, False, None, each.source) for each in e.bindings
                ]
                return self._clauses(loops, e.condition, level)
            case ast.Path() | ast.SimpleMap():
                return self._steps(e.steps, level, ast.Path if isinstance(e, ast.Path) else ast.SimpleMap)
            case ast.AxisStep():
                return self._predicates(ast.AxisStep(e.axis, e.test, (), span=e.span), e.predicates, level)
            case ast.Filter():
                below = self._predicates(e.base, e.predicates, level)
                return _together(self.visit(e.base, level), below)
            case ast.InlineFunction() | ast.Typeswitch() | ast.TryCatch() | ast.NamedFunctionRef():
                raise Unaskable("it is looked up where variables are bound at run time")
            case _:
                return self._parts(e, level)

    def _level(self, e: ast.Node) -> int:
        """How many look-ups an expression waits for, at most; 0: there are none in it."""
        return sum(isinstance(part, ast.VarRef) and part.name.expanded in self.units for part in descendants(e))

    def _parts(self, e: ast.Node, level: int) -> ast.Expr | None:
        if any(True for _ in binders(e)):
            raise Unaskable("it is looked up where variables are bound at run time")
        found: list[ast.Expr | None] = []
        for part in children(e):
            found.append(self.visit(part, level) if isinstance(part, ast.Expr) else self._parts(part, level))
        return _together(*found)

    def _call(self, e: ast.DynamicCall, number: int, level: int) -> ast.Expr:
        inner = max(map(self._level, e.args), default=0)
        for argument in e.args:
            if focus_of(argument) & (POSITION | LAST):
                raise Unaskable("a position is asked for")
        self.depth = max(self.depth, level + inner + 1)
        first, last = self.rounds[number]
        self.rounds[number] = min(first, 2 if level + inner else 1), max(last, level + inner + 1)
        values = [ast.FunctionCall(ast.Name("fn", "data", FN), (argument,)) for argument in e.args]
        own = _tried(ast.SquareArray((ast.IntegerLiteral(number), *values)))
        found = _together(*[self.visit(argument, level) for argument in e.args], own)
        assert found is not None
        return found

    def _clauses(self, clauses: list[ast.Clause], result: ast.Expr, level: int) -> ast.Expr | None:
        if not clauses:
            return self.visit(result, level)
        clause, rest = clauses[0], clauses[1:]
        match clause:
            case ast.ForClause():
                if clause.type is not None:
                    raise Unaskable("a value is converted on its way")
                own = self.visit(clause.source, level)
                inner = self._clauses(rest, result, level + self._level(clause.source))
                loop = ast.ForClause(clause.var, None, clause.allowing_empty, clause.position, _tried(clause.source))
                return _together(own, None if inner is None else ast.FLWOR((loop,), inner))
            case ast.LetClause():
                if clause.type is not None:
                    raise Unaskable("a value is converted on its way")
                own = self.visit(clause.value, level)
                inner = self._clauses(rest, result, level + self._level(clause.value))
                bound = ast.LetClause(clause.var, None, _tried(clause.value))
                return _together(own, None if inner is None else ast.FLWOR((bound,), inner))
            case ast.WhereClause():
                own = self.visit(clause.condition, level)
                inner = self._clauses(rest, result, level)
                if inner is not None and own is None:
                    condition = ast.FunctionCall(ast.Name("fn", "boolean", FN), (clause.condition,))
                    inner = ast.If(_tried(condition, _TRUE), inner, _NOTHING)
                return _together(own, inner)
            case ast.OrderClause():
                keys = [self.visit(key.key, level) for key in clause.keys]
                return _together(*keys, self._clauses(rest, result, level))
            case _:
                raise Unaskable("it is looked up for each of what is grouped or counted")

    def _steps(self, steps: tuple[ast.Expr, ...], level: int, kind: type[ast.Path | ast.SimpleMap]) -> ast.Expr | None:
        found: list[ast.Expr | None] = [self.visit(steps[0], level)]
        for number in range(1, len(steps)):
            if self._level(steps[number]):
                before = steps[0] if number == 1 else kind(steps[:number])
                asked = self.visit(steps[number], level + sum(map(self._level, steps[:number])))
                found.append(_each(before, asked))
        return _together(*found)

    def _predicates(self, nodes: ast.Expr, predicates: tuple[ast.Expr, ...], level: int) -> ast.Expr | None:
        inner = level + self._level(nodes)
        return _together(*[_each(nodes, self.visit(predicate, inner)) for predicate in predicates])


def _each(nodes: ast.Expr, asked: ast.Expr | None) -> ast.Expr | None:
    """What is asked for with each of some nodes in the focus."""
    if asked is None:
        return None
    if focus_of(asked) & (POSITION | LAST):
        raise Unaskable("a position is asked for")
    return ast.SimpleMap((_tried(nodes), asked))


def _together(*found: ast.Expr | None) -> ast.Expr | None:
    parts = [each for each in found if each is not None]
    return None if not parts else parts[0] if len(parts) == 1 else ast.Sequence(tuple(parts))


def _tried(e: ast.Expr, otherwise: ast.Expr = _NOTHING) -> ast.Expr:
    if is_safe(e):
        return e
    return ast.TryCatch(e, (ast.Catch((ast.Wildcard(None, None, None),), otherwise),))

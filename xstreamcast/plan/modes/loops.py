"""Loops over what is not all known: FOR gives what is certain tuple by tuple, LET waits, groups wait for all tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.plan.modes.rules import Rewrite, Rules
from xstreamcast.plan.modes.ways import FALSE, NOTHING, TRUE, both, choose, either, exists, negated

_BARRIERS: Final = (ast.GroupClause, ast.WindowClause, ast.CountClause)


class Loops(Rules):
    """The rewriting of FLWOR expressions."""

    def certain_loop(self, e: ast.FLWOR, result: Rewrite) -> ast.Expr:
        """FOR gives what is certain tuple by tuple; LET waits for all that it binds; groups for all their tuples."""
        clauses: list[ast.Clause] = []
        after = _barrier(e.clauses)
        if after:
            clauses += e.clauses[:after]
            self.bind(clauses)
        for clause in e.clauses[after:]:
            match clause:
                case ast.ForClause():
                    counted = clause.position is not None or clause.allowing_empty
                    source = clause.source
                    made = choose(self.unknown(source), NOTHING, source) if counted else self.certain(source)
                    clauses.append(replace(clause, source=made))
                case ast.LetClause():
                    clauses += [clause, *_where(negated(self.unknown(clause.value)))]
                case ast.WhereClause():
                    clauses += _where(self.true(clause.condition), always=True)
                case ast.OrderClause():
                    clauses += [*_where(negated(self._unsorted(clause))), clause]
            self.bind([clause])
        made = ast.FLWOR(tuple(clauses), result(e.result), span=e.span)
        if not after:
            return made
        return choose(self.unknown_loop(e.clauses[:after], FALSE), NOTHING, made)

    def possible_loop(self, e: ast.FLWOR) -> ast.Expr:
        if _barrier(e.clauses):
            return self.certain_loop(e, self.possible)
        clauses: list[ast.Clause] = []
        for clause in e.clauses:
            clauses += self._possible_clause(clause)
            self.bind([clause])
        return ast.FLWOR(tuple(clauses), self.possible(e.result), span=e.span)

    def _possible_clause(self, clause: ast.Clause) -> list[ast.Clause]:
        match clause:
            case ast.ForClause():
                counted = clause.position is not None or clause.allowing_empty
                source = clause.source
                made = choose(self.unknown(source), NOTHING, source) if counted else self.possible(source)
                return [replace(clause, source=made)]
            case ast.LetClause():
                return [clause, *_where(negated(self.unknown(clause.value)))]
            case ast.WhereClause():
                return _where(negated(self.false(clause.condition)), always=True)
        return []  # in which order does not matter

    def more_loop(self, e: ast.FLWOR) -> ast.Expr:
        if _barrier(e.clauses):
            return self.unknown_loop(e.clauses, self.unknown(e.result))
        self.bind(e.clauses)
        found = self.more(e.result)
        for clause in reversed(e.clauses):
            match clause:
                case ast.ForClause():
                    counted = clause.position is not None or clause.allowing_empty
                    missing = self.unknown(clause.source) if counted else self.more(clause.source)
                    found = either(missing, _some(self._possible_clause(clause), found))
                case ast.LetClause():
                    found = either(self.unknown(clause.value), _some([clause], found))
                case ast.WhereClause():
                    found = both(negated(self.false(clause.condition)), found)
        return found

    def unknown_loop(self, clauses: Sequence[ast.Clause], found: ast.Expr) -> ast.Expr:
        """Whether it is not sure which tuples there are, or, of one of them, ``found``."""
        self.bind(clauses)
        after = _barrier(clauses)
        for clause in reversed(clauses[after:]):
            match clause:
                case ast.ForClause():
                    found = either(self.unknown(clause.source), _some([clause], found))
                case ast.LetClause():
                    found = either(self.unknown(clause.value), _some([clause], found))
                case ast.WhereClause():
                    true, false = self.true(clause.condition), self.false(clause.condition)
                    found = either(both(negated(true), negated(false)), both(true, found))
                case ast.OrderClause():
                    found = either(self._unsorted(clause), found)
        if not after:
            return found
        barrier, inside = clauses[after - 1], _some(list(clauses[:after]), found)
        match barrier:
            case ast.GroupClause():
                keys = [self.unsettled(key.value, "text") for key in barrier.keys if key.value is not None]
                own = either(*keys)
            case ast.WindowClause():
                what = either(self.unsettled(barrier.source, "copy"))
                own = either(what, *[self._window(part) for part in (barrier.start, barrier.end) if part is not None])
            case _:
                own = FALSE
        return either(self.unknown_loop(clauses[: after - 1], own), inside)

    def _window(self, condition: ast.WindowCondition) -> ast.Expr:
        """The items of a window are known in full, so what is said of them is, unless it is said of something else."""
        named = (condition.current, condition.position, condition.previous, condition.next)
        self.atomic.update(name.expanded for name in named if name is not None)
        unsure = self.unsettled(condition.when, "copy")
        return FALSE if unsure == FALSE else self.held(condition.when, "a window's condition on what is still open")

    def _unsorted(self, clause: ast.OrderClause) -> ast.Expr:
        return either(*[self.unsettled(key.key, "text") for key in clause.keys])

    def bind(self, clauses: Sequence[ast.Clause]) -> None:
        """Note which variables hold no nodes of the streams."""
        for clause in clauses:
            match clause:
                case ast.ForClause():
                    if clause.position is not None:
                        self.atomic.add(clause.position.expanded)
                    if not self.gives_nodes(clause.source):
                        self.atomic.add(clause.var.expanded)
                case ast.LetClause() if not self.gives_nodes(clause.value):
                    self.atomic.add(clause.var.expanded)
                case ast.CountClause():
                    self.atomic.add(clause.var.expanded)
                case ast.GroupClause():
                    self.atomic.update(key.var.expanded for key in clause.keys)


def _barrier(clauses: Sequence[ast.Clause]) -> int:
    """How many clauses there are up to the last that needs all tuples before it."""
    return max([number for number, clause in enumerate(clauses, 1) if isinstance(clause, _BARRIERS)], default=0)


def _where(condition: ast.Expr, always: bool = False) -> list[ast.Clause]:
    return [ast.WhereClause(condition)] if always or condition != TRUE else []


def _some(clauses: Sequence[ast.Clause], condition: ast.Expr) -> ast.Expr:
    """Whether a condition holds for some tuple of clauses."""
    if condition == FALSE:
        return FALSE
    return exists(ast.FLWOR((*clauses, *_where(condition)), ast.IntegerLiteral(1)))

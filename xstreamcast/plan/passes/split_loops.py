"""A loop over several sequences is several loops, one over a condition is a condition.

    for $x in (A, B) return E                 (for $x in A return E, for $x in B return E)
    for $x in (if (C) then A else B) …        if (C) then for $x in A … else for $x in B …

Only where a document is looped over: what becomes of a loop over one sequence of it is then seen for each.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.plan.passes.variables import Names, free, fresh_copy, names_of
from xstreamcast.plan.sources import source_of


def split_loops(module: ast.Module) -> ast.Module:
    """The module's body with such loops split."""
    return with_body(module, _Splitter(names_of(module)).visit)


class _Splitter:
    def __init__(self, names: Names) -> None:
        self.names = names

    def visit(self, e: ast.Node) -> ast.Node:
        made = rebuild(e, self.visit)
        return self.split(made) if isinstance(made, ast.FLWOR) else made

    def split(self, e: ast.FLWOR) -> ast.Expr:
        first = e.clauses[0]
        if not isinstance(first, ast.ForClause) or first.position is not None or first.allowing_empty:
            return e
        if not any(source_of(name) is not None for name in free(first.source)):
            return e
        whole = (ast.OrderClause, ast.GroupClause, ast.CountClause)
        match first.source:
            case ast.If(condition, then, otherwise):
                branches = self.over(first, then, e), self.over(first, otherwise, e)
                return ast.If(condition, *branches, span=e.span)
            case ast.Sequence(items) if items and not any(isinstance(clause, whole) for clause in e.clauses):
                return ast.Sequence(tuple([self.over(first, item, e) for item in items]), span=e.span)
            case _:
                return e

    def over(self, first: ast.ForClause, source: ast.Expr, e: ast.FLWOR) -> ast.Expr:
        """The loop over one part of its source."""
        if source == ast.Sequence():
            return source
        made = ast.FLWOR((replace(first, source=source), *e.clauses[1:]), e.result, span=e.span)
        return self.split(fresh_copy(made, self.names))

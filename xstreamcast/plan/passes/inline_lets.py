"""Vertical fusion (VLDB'05 §4.3.2): a variable that stands for an unbounded sequence is replaced by its expression.

    let $b := /stream/pixel[x > 0] return count($b)        count(/stream/pixel[x > 0])

The expression navigates, so that to evaluate it again gives the same nodes, or is read exactly once. One that nobody
reads goes: to compute it would take a pass.
"""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild, with_body
from xstreamcast.plan.passes.dependence import (
    Dependence,
    bindings,
    focus_of,
    navigates,
    reads,
    repeatable,
    repeated,
    satisfies,
)
from xstreamcast.plan.passes.variables import Names, VarName, fresh_copy, names_of


def inline_lets(module: ast.Module) -> ast.Module:
    """The module with such variables of its body replaced."""
    return with_body(module, lambda body: _Fuser(Dependence(module), names_of(module), bindings(body)).visit(body))


class _Fuser:
    def __init__(self, dependence: Dependence, names: Names, values: dict[VarName, ast.Expr]) -> None:
        self.dependence = dependence
        self.names = names
        self.values = values

    def visit(self, e: ast.Node) -> ast.Node:
        if not isinstance(e, ast.FLWOR):
            return rebuild(e, self.visit)
        flwor = e
        number = 0
        while number < len(flwor.clauses):
            clause = flwor.clauses[number]
            if isinstance(clause, ast.LetClause):
                rest = ast.FLWOR(flwor.clauses[number + 1 :], flwor.result, span=flwor.span)
                value = self.visit(clause.value)
                assert isinstance(value, ast.Expr)
                if clause.type is None and self.dependence.on(value) and not reads(rest, clause.var.expanded):
                    flwor = ast.FLWOR(flwor.clauses[:number] + rest.clauses, rest.result, span=flwor.span)
                    continue
                if self.fusible(clause, value, rest):
                    rest = self.fuse(rest, clause.var.expanded, value)
                    flwor = ast.FLWOR(flwor.clauses[:number] + rest.clauses, rest.result, span=flwor.span)
                    continue
            number += 1
        made = rebuild(flwor, self.visit)
        return made if made.clauses else made.result

    def fusible(self, clause: ast.LetClause, value: ast.Expr, rest: ast.FLWOR) -> bool:
        if not self.dependence.on(value) or not satisfies(value, clause.type, self.values):
            return False
        name = clause.var.expanded
        grouped = any(isinstance(part, ast.GroupKey) and part.var.expanded == name for part in descendants(rest))
        if grouped or focus_of(value) or not navigates(value):
            return False
        return repeatable(value) or not repeated(rest, name)

    def fuse(self, rest: ast.FLWOR, name: VarName, value: ast.Expr) -> ast.FLWOR:
        def change(part: ast.Node) -> ast.Node:
            if isinstance(part, ast.VarRef) and part.name.expanded == name:
                return fresh_copy(value, self.names)
            return _flat(rebuild(part, change)) if reads(part, name) else part

        made = change(rest)
        assert isinstance(made, ast.FLWOR)
        return made


def _flat(node: ast.Node) -> ast.Node:
    """``(a/b)/c`` as the one path that it is."""
    if isinstance(node, ast.Path) and isinstance(node.steps[0], ast.Path):
        return ast.Path((*node.steps[0].steps, *node.steps[1:]), span=node.span)
    return node

"""Prolog variables come to where they are used: literals themselves, and values that read a document as lets.

declare variable $v as T := /r/a; body          let $v as T := /r/a return body
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.plan.passes.dependence import Dependence
from xstreamcast.plan.passes.variables import VarName, free, substitute


def inline_globals(module: ast.Module) -> ast.Module:
    """The module with such variables in its body; those of functions that were not inlined stay in the prolog."""
    if module.body is None:
        return module
    module = replace(module, body=substitute(module.body, _literals(module)))
    assert module.body is not None
    dependence = Dependence(module)
    declared = {
        d.name.expanded: d
        for d in module.prolog
        if isinstance(d, ast.VariableDecl) and not d.external and d.name.expanded in dependence.variables
    }
    order: list[ast.VariableDecl] = []
    if not _arrange(free(module.body), declared, order, frozenset()) or not order:
        return module
    lets = []
    for d in order:
        assert d.value is not None
        lets.append(ast.LetClause(d.name, d.type, d.value, span=d.span))
    prolog = tuple([d for d in module.prolog if d not in order])
    if any(name in free(d) for d in prolog for name in (v.name.expanded for v in order)):
        return module  # something in the prolog reads it still
    body = ast.FLWOR(tuple(lets), module.body, span=module.body.span)
    return replace(module, prolog=prolog, body=body)


def _literals(module: ast.Module) -> dict[VarName, ast.Expr]:
    literals = (ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral)
    return {
        d.name.expanded: d.value
        for d in module.prolog
        if isinstance(d, ast.VariableDecl) and not d.external and d.type is None and isinstance(d.value, literals)
    }


def _arrange(
    names: frozenset[VarName],
    declared: dict[VarName, ast.VariableDecl],
    order: list[ast.VariableDecl],
    within: frozenset[VarName],
) -> bool:
    """Puts what these names need in order, what is needed first; False for a cycle (XQDY0054, left as it is)."""
    for name in sorted(names & declared.keys()):
        d = declared[name]
        if name in within:
            return False
        if d in order:
            continue
        assert d.value is not None
        if not _arrange(free(d.value), declared, order, within | {name}):
            return False
        order.append(d)
    return True

"""Prolog variables come to where they are used: literals themselves, and values that read a document as lets.

declare variable $v as T := /r/a; body          let $v as T := /r/a return body
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.passes.dependence import Dependence, call_key, function_key
from xstreamcast.plan.passes.variables import VarName, free, substitute

_BY_NAME: Final = {((FN, "function-lookup"), 2), ((FN, "load-xquery-module"), 1), ((FN, "load-xquery-module"), 2)}
"""What finds functions by names that are computed."""


def inline_globals(module: ast.Module) -> ast.Module:
    """The module with such variables in its body; those of functions that are still called stay in the prolog."""
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
    inlined = {d.name.expanded for d in order}
    called = _called(module)
    prolog = tuple([d for d in module.prolog if d not in order and (called(d) or not free(d) & inlined)])
    if any(free(d) & inlined for d in prolog):
        return module  # something in the prolog reads it still
    body = ast.FLWOR(tuple(lets), module.body, span=module.body.span)
    return replace(module, prolog=prolog, body=body)


def _called(module: ast.Module) -> Callable[[ast.Declaration], bool]:
    """Whether a function is still called, from the body or from another that is: most have been inlined by now."""
    assert module.body is not None
    functions = {function_key(d): d for d in module.prolog if isinstance(d, ast.FunctionDecl)}
    found: set[object] = set()
    waiting: list[ast.Node] = [module.body, *[d for d in module.prolog if isinstance(d, ast.VariableDecl)]]
    while waiting:
        for part in descendants(waiting.pop()):
            key = call_key(part)
            if key in _BY_NAME:
                return lambda _: True
            if key in functions and key not in found:
                found.add(key)
                waiting.append(functions[key])
    return lambda d: not isinstance(d, ast.FunctionDecl) or function_key(d) in found


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

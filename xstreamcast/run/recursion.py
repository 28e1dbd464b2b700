"""Functions that are linear recursive run as folds: in linear time, and to any depth.

    f($p) = if (empty($p)) then Z else G(head($p), f(tail($p)))

As written every call would copy the rest of the sequence (:mod:`xstreamcast.plan.passes.fold_recursion`).
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants


def folded(module: ast.Module) -> ast.Module:
    """The module, and those it imports, with folds for their linear recursive functions."""
    parts = (module, *module.imported)
    if not any(_may_be_linear(declaration) for part in parts for declaration in part.prolog):
        return module  # as most are: nothing of the planner is loaded
    imported = tuple([_folded(part) for part in module.imported])
    return replace(_folded(module), imported=imported)


def _may_be_linear(declaration: ast.Declaration) -> bool:
    """Whether a function calls itself, always, and has a parameter for a sequence."""
    if not isinstance(declaration, ast.FunctionDecl) or declaration.body is None:
        return False
    if not any(param.type is None or param.type.occurrence == "*" for param in declaration.params):
        return False
    return _calls(declaration, declaration.body) and not any(
        # What is on the right of these is evaluated only if it must be; a fold would evaluate all of it.
        isinstance(part, ast.And | ast.Or) and _calls(declaration, part)
        for part in descendants(declaration.body)
    )


def _calls(declaration: ast.FunctionDecl, e: ast.Node) -> bool:
    name, arity = declaration.name.expanded, len(declaration.params)
    return any(
        isinstance(part, ast.FunctionCall) and part.name.expanded == name and len(part.args) == arity
        for part in descendants(e)
    )


def _folded(module: ast.Module) -> ast.Module:
    from xstreamcast.plan.passes.fold_recursion import fold_recursion
    from xstreamcast.plan.passes.variables import distinguish

    distinct = distinguish(module)
    made = fold_recursion(distinct)
    if made is distinct:
        return module
    prolog = [
        old if new is same or not _may_be_linear(old) else new  # the others keep the names of their variables
        for old, same, new in zip(module.prolog, distinct.prolog, made.prolog, strict=True)
    ]
    return replace(module, prolog=tuple(prolog))

"""A loop that runs once where there is nothing is two: one over what there is, and its body where there is none.

    for $x allowing empty in E return R        for $x in E return R, if (empty(E)) then (let $x := () return R) else ()

So the first is a loop like any other, and the second a condition.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.passes.dependence import Dependence, repeatable
from xstreamcast.plan.passes.variables import Names, fresh_copy, names_of

_FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)


def split_empty(module: ast.Module) -> ast.Module:
    """The module's body without such loops over documents."""
    dependence, names = Dependence(module), names_of(module)

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        return _loop(made, dependence, names) if isinstance(made, ast.FLWOR) else made

    return with_body(module, visit)


def _loop(e: ast.FLWOR, dependence: Dependence, names: Names) -> ast.Expr:
    first = e.clauses[0]
    if not isinstance(first, ast.ForClause) or not first.allowing_empty or first.type is not None:
        return e
    if not dependence.on(first.source) or not repeatable(first.source):
        return e
    if not all(isinstance(clause, _FORWARD) for clause in e.clauses):
        return e  # what sorts, groups or counts them is about all tuples
    loop = ast.ForClause(first.var, None, False, first.position, first.source, span=first.span)
    some = ast.FLWOR((loop, *e.clauses[1:]), e.result, span=e.span)
    lets: list[ast.Clause] = [ast.LetClause(first.var, None, ast.Sequence(), span=first.span)]
    if first.position is not None:
        lets.append(ast.LetClause(first.position, None, ast.IntegerLiteral(0), span=first.span))
    none = fresh_copy(ast.FLWOR((*lets, *e.clauses[1:]), e.result, span=e.span), names)
    condition = ast.FunctionCall(ast.Name("fn", "empty", FN), (first.source,), span=first.span)
    return ast.Sequence((some, ast.If(condition, none, ast.Sequence(), span=e.span)), span=e.span)

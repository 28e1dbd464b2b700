"""Calls of the query's own functions that reach a document become their bodies (VLDB'05 §5.1.3: function inlining).

    f(E) = let $p := E return body

A parameter's type stays in force: where the argument is not sure to match it, the value goes through a function of that
type, which converts it as the call would have. Calls about a single record stay calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.plan.passes.dependence import Dependence, bindings, call_key, focus_of, satisfies
from xstreamcast.plan.passes.variables import Names, VarName, fresh_copy, names_of

_MOST: Final = 20_000
"""Nodes of a body. Functions that call each other twice would make it grow without end; such calls stay."""


def inline_functions(module: ast.Module) -> ast.Module:
    """The module with such calls in its body replaced."""
    if module.body is None:
        return module
    names = names_of(module)
    body = module.body
    while True:
        dependence = Dependence(replace(module, body=body))
        inlined = _Inliner(dependence, names, bindings(body)).visit(body)
        assert isinstance(inlined, ast.Expr)
        if inlined is body or sum(1 for _ in descendants(inlined)) > _MOST:
            return replace(module, body=body)
        body = inlined


class _Inliner:
    def __init__(self, dependence: Dependence, names: Names, values: dict[VarName, ast.Expr]) -> None:
        self.dependence = dependence
        self.names = names
        self.values = values

    def visit(self, e: ast.Node) -> ast.Node:
        made = rebuild(e, self.visit)
        if not isinstance(made, ast.FunctionCall) or any(isinstance(arg, ast.Placeholder) for arg in made.args):
            return made
        key = call_key(made)
        if key not in self.dependence.functions or key in self.dependence.recursive:
            return made
        assert key is not None
        function = self.dependence.functions[key]
        if function.body is None or focus_of(function.body) or not self.dependence.on(made):
            return made
        return self.inline(made, fresh_copy(function, self.names))

    def inline(self, call: ast.FunctionCall, function: ast.FunctionDecl) -> ast.Expr:
        assert function.body is not None
        lets = []
        for param, arg in zip(function.params, call.args, strict=True):
            value = arg if satisfies(arg, param.type, self.values) else self.converted(arg, param.type)
            lets.append(ast.LetClause(param.name, None, value, span=call.span))
        body: ast.Expr = ast.FLWOR(tuple(lets), function.body, span=call.span) if lets else function.body
        declared = function.result
        if declared is None or (isinstance(declared.item, ast.AnyItem) and declared.occurrence == "*"):
            return body
        return self.converted(body, declared)

    def converted(self, e: ast.Expr, declared: ast.SequenceType | None) -> ast.Expr:
        """``(function($value as T) { $value })(e)``: the function conversion rules, and nothing else."""
        name = self.names.fresh(ast.Name("", "value", ""))
        identity = ast.InlineFunction((ast.Param(name, declared),), None, ast.VarRef(name), span=e.span)
        return ast.DynamicCall(identity, (e,), span=e.span)

"""Folds whose accumulator is a map that nobody else can see: one dictionary, changed in place.

    fold-left(E, map { }, function($m, $i) { map:put($m, $i, ($m($i), 0)[1] + 1) })      d[i] = d[i] + 1

A step may ask the map for values, keys and size, and gives it back as it is, with an entry put in, or as a new one that
``map:merge(for … return map:entry(…))`` makes. After an entry was put in, nothing asks for the map of before: that is
looked up in the text of the step, or of the function that the step calls. Every other step has maps of its own.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, descendants
from xstreamcast.model.namespaces import MAP
from xstreamcast.plan.focus import VarName
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.flwor import at_most_once
from xstreamcast.run.compile.maps import COUNTS, OWNED, merged_entries, put_owned
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.types import sequence_type
from xstreamcast.run.compile.values import Val, one


def any_map(declared: ast.SequenceType | None) -> bool:
    """Whether a type says no more than that there is a map."""
    if declared is None:
        return True
    return isinstance(declared.item, ast.MapTest) and declared.item.key is None and not declared.occurrence


# ------------------------------------------------------------------------------------------------------ who looks


def gives_back(e: ast.Expr, own: VarName) -> bool:
    """Whether an expression gives the map of a variable back, changed or not, and asks for it only before."""
    if isinstance(e, ast.VarRef):
        return e.name.expanded == own
    if isinstance(e, ast.If):
        return _asks(e.condition, own) and gives_back(e.then, own) and gives_back(e.otherwise, own)
    if isinstance(e, ast.FLWOR):
        for number, clause in enumerate(e.clauses, 1):
            if not isinstance(clause, ast.LetClause) or clause.type is not None:
                return False
            if _puts(clause.value, own):
                own, before = clause.var.expanded, own
                if own == before or any(_mentions(part, before) for part in (*e.clauses[number:], e.result)):
                    return False
            elif _mentions(clause.value, own) or clause.var.expanded == own:
                return False
        return gives_back(e.result, own)
    if _is_map_function(e, "merge", 1):
        assert isinstance(e, ast.FunctionCall)
        return merged_entries(e.args[0]) and _asks(e.args[0], own)
    return _puts(e, own)


def _puts(e: ast.Expr, own: VarName) -> bool:
    """``map:put($own, key, value)``"""
    if not isinstance(e, ast.FunctionCall) or not _is_map_function(e, "put", 3):
        return False
    target, key, value = e.args
    return isinstance(target, ast.VarRef) and target.name.expanded == own and _asks(key, own) and _asks(value, own)


def _asks(e: ast.Node, own: VarName) -> bool:
    """Whether all that is done with a map is to ask for values, for its keys or its size, now."""
    if not _mentions(e, own):
        return True
    if isinstance(e, ast.VarRef | ast.InlineFunction):  # the map itself, or one who may ask later
        return False
    if isinstance(e, ast.DynamicCall) and isinstance(e.function, ast.VarRef) and e.function.name.expanded == own:
        return len(e.args) == 1 and not isinstance(e.args[0], ast.Placeholder) and _asks(e.args[0], own)
    if isinstance(e, ast.FunctionCall) and (_is_map_function(e, "size", 1) or _is_map_function(e, "keys", 1)):
        return isinstance(e.args[0], ast.VarRef) or _asks(e.args[0], own)
    if any(own == name for name in _bound(e)):
        return False
    return all(_asks(part, own) for part in children(e))


def _bound(e: ast.Node) -> list[VarName]:
    """The variables that an expression or a clause binds itself."""
    found = [getattr(e, name, None) for name in ("var", "position")]
    return [name.expanded for name in found if isinstance(name, ast.Name)]


def _mentions(e: ast.Node, name: VarName) -> bool:
    return any(isinstance(part, ast.VarRef) and part.name.expanded == name for part in descendants(e))


def _is_map_function(e: ast.Expr, local: str, arity: int) -> bool:
    return isinstance(e, ast.FunctionCall) and e.name.expanded == (MAP, local) and len(e.args) == arity


# ----------------------------------------------------------------------------------------------------- what is written


@dataclass(frozen=True, slots=True)
class OwnedMap:
    """A fold's accumulator: the name of its dictionary, and of the variable that the step calls it."""

    code: str
    own: VarName
    counts: bool = False
    """Whether it is written as one of numbers."""

    @property
    def val(self) -> Val:
        return one(self.code, COUNTS if self.counts else OWNED)

    def write(self, c: Compiler, e: ast.Expr, scope: Scope) -> None:
        """Write a step that :func:`gives_back` the map."""
        if isinstance(e, ast.If):
            with c.out.block(f"if {c.cond(e.condition, scope)}:"):
                self.write(c, e.then, scope)
            with c.out.block("else:"):
                self.write(c, e.otherwise, scope)
        elif isinstance(e, ast.FLWOR):
            inside = self
            for number, clause in enumerate(e.clauses, 1):
                assert isinstance(clause, ast.LetClause)
                if _puts(clause.value, inside.own):
                    inside.write(c, clause.value, scope)
                    inside = replace(inside, own=clause.var.expanded)
                    scope = c.declare(scope, (clause.var, inside.val))
                else:
                    scope = _with_let(c, clause, (*e.clauses[number:], e.result), scope)
            inside.write(c, e.result, scope)
        elif isinstance(e, ast.FunctionCall):
            put_owned(c, self.val, e, scope)

    def write_call(self, c: Compiler, call: ast.FunctionCall, scope: Scope) -> None:
        """Write a step that is a call of a function of the query: its body, with its parameters bound."""
        user = c.functions[call.name.uri or "", call.name.local, len(call.args)]
        inner = Scope(scope.static)
        callee = self
        for number, (param, arg) in enumerate(zip(user.declaration.params, call.args, strict=True), 1):
            if isinstance(arg, ast.VarRef) and arg.name.expanded == self.own:
                callee = replace(self, own=param.name.expanded)
                inner = c.declare(inner, (param.name, self.val))
                continue
            val = c.value(arg, scope)
            if param.type is not None:
                role = f"argument {number} of {call.name.lexical}"
                val = c.convert(val, sequence_type(c, param.type), role)
            inner = c.declare(inner, (param.name, c.bind(val)))
        callee.write(c, user.declaration.body, inner)


def _with_let(c: Compiler, clause: ast.LetClause, rest: tuple[ast.Node, ...], scope: Scope) -> Scope:
    """A variable of the step, as other lets are: computed where it is needed, if that is once."""
    name = clause.var.expanded
    uses = [
        part
        for part in rest
        for each in descendants(part)
        if isinstance(each, ast.VarRef) and each.name.expanded == name
    ]
    if not uses:
        return scope
    used = uses[0].value if isinstance(uses[0], ast.LetClause) else uses[0]
    if len(uses) == 1 and isinstance(used, ast.Expr) and at_most_once(used, name):
        return c.defer(scope, clause.var, clause.value)
    return c.declare(scope, (clause.var, c.bind(c.value(clause.value, scope))))


def called(c: Compiler, e: ast.Expr, own: VarName, scope: Scope) -> bool:
    """Whether a step is a call of a function of the query, of the same module, that gives its one map back."""
    if not isinstance(e, ast.FunctionCall) or scope.static is not c.static:
        return False
    user = c.functions.get((e.name.uri or "", e.name.local, len(e.args)))
    if (
        user is None
        or user.declaration is None
        or user.declaration.body is None
        or not any_map(user.declaration.result)
    ):
        return False
    given = [n for n, arg in enumerate(e.args) if isinstance(arg, ast.VarRef) and arg.name.expanded == own]
    if len(given) != 1 or any(_mentions(arg, own) for n, arg in enumerate(e.args) if n != given[0]):
        return False
    param = user.declaration.params[given[0]]
    return any_map(param.type) and gives_back(user.declaration.body, param.name.expanded)

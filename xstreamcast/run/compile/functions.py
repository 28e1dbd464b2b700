"""Functions as values: references, inline functions, dynamic calls, partial application; maps, arrays, look-up."""

from __future__ import annotations

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.atomic import QName
from xstreamcast.model.namespaces import STREAM
from xstreamcast.run.compile.calls import context_code, held
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.maps import looked_up
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import value
from xstreamcast.run.compile.temporal import temporal_entry
from xstreamcast.run.compile.types import sequence_type
from xstreamcast.run.compile.values import ITEMS, Rep, Type, Val, one, seq, static_type


@value(ast.NamedFunctionRef)
def reference_value(c: Compiler, e: ast.NamedFunctionRef, scope: Scope) -> Val:
    uri, local = e.name.uri or "", e.name.local
    user = c.functions.get((uri, local, e.arity))
    if user is not None:
        return one(f"{user.item}(ctx)", Type("function"))
    entry = temporal_entry(local) if uri == STREAM else lookup(uri, local, e.arity)
    if entry is None:
        raise c.fault("XPST0017", f"there is no function {e.name.lexical}#{e.arity}")
    constant = c.out.constant(entry)
    return one(f"{constant}.item({context_code(c, entry, scope)})", Type("function"))


@value(ast.InlineFunction)
def inline_value(c: Compiler, e: ast.InlineFunction, scope: Scope) -> Val:
    out = c.out
    params = [sequence_type(c, p.type) if p.type is not None else None for p in e.params]
    declared = sequence_type(c, e.result) if e.result is not None else None
    args = out.fresh("q")
    with out.function() as (body, frame):
        # Two levels: the factory binds the free variables, the inner function is called with sequences.
        out.home[args] = out.captures
        out.indent = 2
        frame.entry.indent = 2
        body.clear()
        frame.entry = out.slot()
        inner = c.unfocused(scope)
        for number, (param, expected) in enumerate(zip(e.params, params, strict=True)):
            code = f"{args}[{number}]"
            if expected is None:
                val = c.bind(seq(code, ITEMS))
            else:
                kind = static_type(expected)
                form = held(expected)
                if form is Rep.ONE:
                    val = c.bind(one(f"{code}[0]", kind))
                elif form is Rep.OPT:
                    val = c.bind(Val(f"({code}[0] if {code} else None)", Rep.OPT, kind))
                else:
                    val = c.bind(seq(code, kind))
            inner = c.declare(inner, (param.name, val))
        made = c.value(e.body, inner)
        out.line(f"return {c.list(made)}")
    names = [name for name in out.free(body) if name != args]
    factory = f"F_{out.number()}"
    parameters = ", ".join(["ctx", *names])
    from xstreamcast.run.compile.emit import Line

    whole = [Line(1, f"def function({args}):", out.spot), *body, Line(1, "return function", out.spot)]
    out.define(factory, parameters, whole)
    types = None
    if any(expected is not None for expected in params):
        from xstreamcast.model.types import ANYTHING

        types = tuple(expected or ANYTHING for expected in params)
    annotations = tuple(annotation_values(e.annotations))
    code = (
        f"FunctionItem(None, {len(params)}, {factory}({parameters}), "
        f"{out.constant(types)}, {out.constant(declared)}, {out.constant(annotations)})"
    )
    return one(code, Type("function"))


def annotation_values(annotations: tuple[ast.Annotation, ...]) -> list[tuple[QName, tuple[object, ...]]]:
    return [
        (QName(a.name.uri or "", a.name.local, a.name.prefix or ""), tuple(literal.value for literal in a.values))
        for a in annotations
    ]


def partial(c: Compiler, function: Val, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    """``f(?, x)``"""
    codes = []
    for arg in args:
        codes.append("None" if isinstance(arg, ast.Placeholder) else c.list(c.value(arg, scope)))
    return one(f"partial({c.list(function)}, [{', '.join(codes)}])", Type("function"))


@value(ast.DynamicCall)
def dynamic_value(c: Compiler, e: ast.DynamicCall, scope: Scope) -> Val:
    applied = any(isinstance(arg, ast.Placeholder) for arg in e.args)
    if isinstance(e.function, ast.InlineFunction) and len(e.function.params) == len(e.args) and not applied:
        return _in_place(c, e.function, e.args, scope)
    function = c.value(e.function, scope)
    if applied:
        return partial(c, function, e.args, scope)
    if len(e.args) == 1:
        found = looked_up(c, function, e.args[0], scope)
        if found is not None:
            return c.bind(found, "l")
    function = c.bind(function)
    codes = [c.list(c.value(arg, scope)) for arg in e.args]
    made = c.out.fresh("l")
    c.out.line(f"{made} = call_function({c.list(function)}, [{', '.join(codes)}])")
    return seq(made, ITEMS)


def _in_place(c: Compiler, function: ast.InlineFunction, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    """``function($x) { … }(e)``: the body with its parameters bound."""
    described = f"anonymous function#{len(args)}"
    inner = c.unfocused(scope)
    for number, (param, arg) in enumerate(zip(function.params, args, strict=True), 1):
        val = c.value(arg, scope)
        if param.type is not None:
            val = c.convert(val, sequence_type(c, param.type), f"argument {number} of {described}")
        inner = c.declare(inner, (param.name, val if val.constant else c.bind(val)))
    made = c.value(function.body, inner)
    if function.result is None:
        return made
    return c.convert(made, sequence_type(c, function.result), f"the result of {described}")


# ------------------------------------------------------------------------------------------------ maps and arrays


@value(ast.MapConstructor)
def map_value(c: Compiler, e: ast.MapConstructor, scope: Scope) -> Val:
    entries = []
    for entry in e.entries:
        key = c.bind(c.atom(c.value(entry.key, scope), "a key of a map"))
        held_value = c.value(entry.value, scope)
        entries.append(f"({key.code}, {c.list(held_value)})")
    return one(f"make_map([{', '.join(entries)}])", Type("map"))


@value(ast.SquareArray)
def square_value(c: Compiler, e: ast.SquareArray, scope: Scope) -> Val:
    members = [c.list(c.value(member, scope)) for member in e.members]
    return one(f"Array([{', '.join(members)}])", Type("array"))


@value(ast.CurlyArray)
def curly_value(c: Compiler, e: ast.CurlyArray, scope: Scope) -> Val:
    return one(f"Array([[v] for v in {c.list(c.value(e.content, scope))}])", Type("array"))


@value(ast.Lookup)
def lookup_value(c: Compiler, e: ast.Lookup, scope: Scope) -> Val:
    base = c.context_item(scope) if e.base is None else c.value(e.base, scope)
    base = c.bind(base)
    if e.key is None:
        made = seq(f"lookup_all({c.list(base)})", ITEMS)
    elif isinstance(e.key, (ast.StringLiteral, ast.IntegerLiteral)):
        key = c.value(e.key, scope)
        made = seq(f"lookup_key({c.list(base)}, {key.code})", ITEMS)
    else:
        keys = c.atoms(c.value(e.key, scope))
        made = seq(f"lookup_keys({c.list(base)}, {c.list(keys)})", ITEMS)
    return c.bind(made, "l")

"""Function calls: a few functions are written in place, the library's are called with converted arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.functions.registry import FunctionEntry, lookup
from xstreamcast.lang import ast
from xstreamcast.model import types as t
from xstreamcast.model.namespaces import FN, MAP, STREAM
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.expressions import string_code
from xstreamcast.run.compile.flwor import flwor_count
from xstreamcast.run.compile.paths import count_path, exists
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import ANY, EACH, Body, cond, each, value
from xstreamcast.run.compile.values import (
    BOOLEAN,
    INTEGER,
    STRING,
    Rep,
    Type,
    Val,
    one,
    opt,
    seq,
    static_type,
)


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A declared function: its Python name, its types, and how arguments and result are held."""

    name: ast.Name
    code: str
    params: tuple[t.SequenceType, ...]
    result: Type
    declared: t.SequenceType
    item: str  # the name of a constant: FunctionItem maker
    identity: bool = False  # it converts its argument, no more
    declaration: ast.FunctionDecl | None = None  # None if it is of another module

    @property
    def result_rep(self) -> Rep:
        return held(self.declared)


def held(declared: t.SequenceType) -> Rep:
    """How a parameter or result of a type is held."""
    return {"": Rep.ONE, "?": Rep.OPT}.get(declared.occurrence, Rep.SEQ)


# --------------------------------------------------------------------------------------------------- functions in place

Inline = Callable[[Compiler, tuple[ast.Expr, ...], Scope], Val]
_INLINE: dict[tuple[str, int], Inline] = {}
_INLINE_COND: dict[tuple[str, int], Callable[[Compiler, tuple[ast.Expr, ...], Scope], str]] = {}


def inline(name: str, arity: int) -> Callable[[Inline], Inline]:
    def register(handler: Inline) -> Inline:
        _INLINE[name, arity] = handler
        return handler

    return register


@inline("count", 1)
def _count(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    arg = args[0]
    if isinstance(arg, ast.VarRef):
        var = scope.variables.get(arg.name.expanded)
        if var is not None and var.deferred is not None:
            arg, scope = var.deferred
    if isinstance(arg, (ast.Path, ast.AxisStep)):
        return one(count_path(c, arg, scope), INTEGER)
    if isinstance(arg, ast.FLWOR):
        return one(flwor_count(c, arg, scope), INTEGER)
    if type(arg) in EACH and not isinstance(arg, (ast.VarRef, ast.Sequence, ast.Range)):
        total = c.out.fresh("n")
        c.out.line(f"{total} = 0")
        with c.out.sealed():
            c.each(arg, scope, lambda item: c.out.line(f"{total} += 1"))
        return one(total, INTEGER)
    if isinstance(arg, ast.Range):
        from xstreamcast.run.compile.expressions import range_of

        return one(f"len({range_of(c, arg, scope)})", INTEGER)
    val = c.value(arg, scope)
    if val.rep is Rep.SEQ:
        return one(f"len({val.code})", INTEGER)
    if val.rep is Rep.OPT:
        return one(f"(0 if {val.code} is None else 1)", INTEGER)
    return one("1", INTEGER)


def _exists(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> str:
    arg = args[0]
    if type(arg) in EACH:
        return exists(c, arg, scope)
    val = c.value(arg, scope)
    if val.type.none:
        return "False"
    if val.rep is Rep.SEQ:
        return f"(not not {val.code})"
    return f"({val.code} is not None)" if val.rep is Rep.OPT else "True"


def _boolean(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> str:
    return c.cond(args[0], scope)


_INLINE_COND["exists", 1] = _exists
_INLINE_COND["empty", 1] = lambda c, args, scope: f"(not {_exists(c, args, scope)})"
_INLINE_COND["not", 1] = lambda c, args, scope: f"(not {c.cond(args[0], scope)})"
_INLINE_COND["boolean", 1] = _boolean
_INLINE_COND["true", 0] = lambda c, args, scope: "True"
_INLINE_COND["false", 0] = lambda c, args, scope: "False"


@inline("position", 0)
def _position(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    return _focus_number(c, scope, scope.focus.position)


@inline("last", 0)
def _last(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    return _focus_number(c, scope, scope.focus.last)


def _focus_number(c: Compiler, scope: Scope, code: str | None) -> Val:
    if scope.focus.item is None or scope.focus.guard is not None:
        c.context_item(scope)
    return one(code or "1", INTEGER)


@inline("string", 0)
def _string_focus(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    return _string_of(c, c.context_item(scope))


@inline("string", 1)
def _string(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    return _string_of(c, c.value(args[0], scope))


def _string_of(c: Compiler, val: Val) -> Val:
    kind = val.type
    if kind.none:
        return one("''", STRING)
    if val.rep is Rep.ROW or (val.rep is Rep.ONE and kind.is_node):
        return one(c.text(val), STRING)
    if kind.kind == "string":
        if val.rep is Rep.ONE:
            return val
        if val.rep is Rep.OPT:
            return one(f"({val.code} or '')", STRING)
    if val.rep is Rep.ONE:
        return one(f"string_item({val.code})", STRING)
    if val.rep is Rep.OPT:
        val = c.bind(val)
        return one(f"('' if {val.code} is None else string_item({val.code}))", STRING)
    return one(f"string_sequence({val.code})", STRING)


@inline("data", 1)
def _data(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    if not isinstance(args[0], (ast.Path, ast.AxisStep, ast.SimpleMap)) or c.deep:
        return c.atoms(c.value(args[0], scope))
    made = c.out.fresh("l")
    found: list[Type] = []

    def keep(item: Val) -> None:
        atoms = c.atoms(item)
        found.append(atoms.type)
        if atoms.rep is Rep.SEQ:
            c.out.line(f"{made} += {atoms.code}")
        elif atoms.rep is Rep.OPT:
            atoms = c.bind(atoms)
            c.out.line(f"if {atoms.code} is not None: {made}.append({atoms.code})")
        else:
            c.out.line(f"{made}.append({c.item(atoms)})")

    c.out.line(f"{made} = []")
    with c.out.sealed():
        c.each(args[0], scope, keep)
    return seq(made, c.joined(found))


@inline("zero-or-one", 1)
def _zero_or_one(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    val = c.value(args[0], scope)
    if val.rep is not Rep.SEQ:
        return val
    return opt(f"zero_or_one({val.code})", val.type)


@inline("exactly-one", 1)
def _exactly_one(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    val = c.value(args[0], scope)
    if val.rep in (Rep.ONE, Rep.ROW):
        return val
    return one(f"exactly_one({c.list(val)})", replace(val.type, none=False))


@inline("one-or-more", 1)
def _one_or_more(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    val = c.value(args[0], scope)
    if val.rep in (Rep.ONE, Rep.ROW):
        return val
    return seq(f"one_or_more({c.list(val)})", replace(val.type, low=1, none=False))


@inline("head", 1)
def _head(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    out = c.out
    if type(args[0]) not in EACH:
        val = c.value(args[0], scope)
        if val.rep is not Rep.SEQ:
            return val
        val = c.bind(val)
        return opt(f"({val.code}[0] if {val.code} else None)", replace(val.type, low=0))
    made, flag = out.fresh(), out.fresh("f")
    out.line(f"{made} = None")
    out.line(f"{flag} = False")
    found: list[Type] = []
    with out.sealed(), out.region(flag) as region:

        def first(item: Val) -> None:
            found.append(item.type)
            out.line(f"{made} = {c.item(item)}")
            out.leave(region)

        c.each(args[0], scope, first)
    return opt(made, replace(c.joined(found), low=0, many=False))


@inline("concat", -1)
def _concat(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    parts = [string_code(c, c.value(arg, scope), "an argument of fn:concat") for arg in args]
    return one(f"''.join(({', '.join(parts)},))", STRING)


def _text_function(code: str, kind: Type) -> Inline:
    """A function of two strings under the codepoint collation."""

    def handler(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
        entry = lookup(FN, code, 2)
        assert entry is not None
        if not c.plain_collation(scope):
            return library(c, entry, args, scope)
        vals = []
        for number, arg in enumerate(args, 1):
            val = c.convert(c.value(arg, scope), entry.params[0], f"argument {number} of fn:{code}")
            vals.append(val.code if val.rep is Rep.ONE else f"({val.code} or '')")
        if code == "contains":
            return one(f"({vals[1]} in {vals[0]})", kind)
        return one(f"{vals[0]}.{'startswith' if code == 'starts-with' else 'endswith'}({vals[1]})", kind)

    return handler


_INLINE["contains", 2] = _text_function("contains", BOOLEAN)
_INLINE["starts-with", 2] = _text_function("starts-with", BOOLEAN)
_INLINE["ends-with", 2] = _text_function("ends-with", BOOLEAN)


# ------------------------------------------------------------------------------------------------------------ calls


@value(ast.FunctionCall)
def call_value(c: Compiler, e: ast.FunctionCall, scope: Scope) -> Val:
    from xstreamcast.run.compile.functions import partial

    if any(isinstance(arg, ast.Placeholder) for arg in e.args):
        return partial(c, c.value(ast.NamedFunctionRef(e.name, len(e.args), span=e.span), scope), e.args, scope)
    uri, local, arity = e.name.uri or "", e.name.local, len(e.args)
    if uri == FN:
        test = _INLINE_COND.get((local, arity))
        if test is not None:
            return one(test(c, e.args, scope), BOOLEAN)
        handler = _INLINE.get((local, arity)) or (_INLINE.get((local, -1)) if arity > 1 else None)
        if handler is not None:
            return handler(c, e.args, scope)
    if uri == MAP:
        from xstreamcast.run.compile.maps import map_call

        made = map_call(c, local, e.args, scope)
        if made is not None:
            return made
    if uri == STREAM:
        from xstreamcast.run.compile.temporal import temporal_call

        return temporal_call(c, e, scope)
    user = c.functions.get((uri, local, arity))
    if user is not None:
        return _user_call(c, user, e.args, scope)
    entry = lookup(uri, local, arity)
    if entry is None:
        raise c.fault("XPST0017", f"there is no function {e.name.lexical}#{arity}")
    return library(c, entry, e.args, scope)


@cond(ast.FunctionCall)
def call_cond(c: Compiler, e: ast.FunctionCall, scope: Scope) -> str:
    if e.name.uri == FN:
        test = _INLINE_COND.get((e.name.local, len(e.args)))
        if test is not None:
            return test(c, e.args, scope)
    return c.truth(call_value(c, e, scope))


def _user_call(c: Compiler, user: UserFunction, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    if user.identity:
        return c.convert(c.value(args[0], scope), user.params[0], f"argument 1 of {user.name.lexical}")
    codes = ["ctx"]
    for number, (arg, param) in enumerate(zip(args, user.params, strict=True), 1):
        role = f"argument {number} of {user.name.lexical}"
        val = c.convert(c.value(arg, scope), param, role)
        if held(param) is Rep.SEQ:
            codes.append(c.list(val))
        elif val.rep is Rep.ROW:
            codes.append(c.item(val))
        else:
            codes.append(val.code)
    made = c.out.fresh()
    c.out.line(f"{made} = {user.code}({', '.join(codes)})")
    return Val(made, user.result_rep, user.result)


def context_code(c: Compiler, entry: FunctionEntry, scope: Scope) -> str:
    """The dynamic context to give to a function: with the static context of the place, and the focus if it is read."""
    focus = scope.focus
    context = c.context(scope)
    if focus.item is None or not entry.reads_focus:
        return context
    if focus.guard is not None:
        return f"{context}.initial"
    return f"{context}.focused({c.item(focus.item)}, {focus.position or '1'}, {focus.last or '1'})"


def library(c: Compiler, entry: FunctionEntry, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    codes = []
    if entry.needs_context:
        codes.append(context_code(c, entry, scope))
    for number, (arg, param) in enumerate(zip(args, entry.params, strict=True), 1):
        role = f"argument {number} of {entry.name}"
        # Of a path the values are taken as it is walked: no nodes are made of which nothing else is asked.
        walked = isinstance(arg, ast.Path | ast.AxisStep) and param.item == t.ANY_ATOMIC and param.allows_empty
        val = c.convert(_data(c, (arg,), scope) if walked else c.value(arg, scope), param, role)
        if param.allows_many or param.occurrence == "0":
            codes.append(c.list(val))
        else:
            codes.append(c.item(val) if val.rep is Rep.ROW else val.code)
    code = f"{c.out.constant(entry.call)}({', '.join(codes)})"
    result = static_type(entry.result)
    made = c.out.fresh()
    c.out.line(f"{made} = {code}")
    if entry.result.allows_many or entry.result.occurrence == "0":
        return seq(f"as_list({made})", result)
    if not result.is_atomic:
        # A function may give its one item as a sequence.
        c.out.line(f"if type({made}) is list: {made} = {made}[0] if {made} else None")
    return one(made, result) if entry.result.occurrence == "" else opt(made, result)


@each(ast.FunctionCall)
def call_each(c: Compiler, e: ast.FunctionCall, scope: Scope, body: Body, need: int) -> None:
    """Functions that pass items through are transparent to loops."""
    if e.name.uri == FN and len(e.args) == 1 and need == ANY:
        if e.name.local in ("reverse", "unordered"):
            c.each(e.args[0], scope, body, ANY)
            return
        if e.name.local == "data":

            def atom(item: Val) -> None:
                c.iterate(c.atoms(item), body)

            c.each(e.args[0], scope, atom, ANY)
            return
    c.iterate(call_value(c, e, scope), body)

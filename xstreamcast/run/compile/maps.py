"""Maps whose type is known: look-up, ``map:put``, and ``map:merge`` of entries made one by one."""

from __future__ import annotations

from collections.abc import Callable

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model import types as t
from xstreamcast.model.namespaces import MAP
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.flwor import each_result
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.values import INTEGER, ITEMS, Rep, Type, Val, one, seq

_KEY = t.SequenceType(t.TYPES["anyAtomicType"])
_MAP = Type("map")
OWNED = Type("owned map", 1, False)
"""A dictionary that is to be a map: :mod:`~xstreamcast.run.compile.owned`."""


def looked_up(c: Compiler, target: Val, key: ast.Expr, scope: Scope) -> Val | None:
    """``$map(key)``; None where it is not known to be one map."""
    if target.type.kind == OWNED.kind:
        asked = c.bind(c.convert(c.value(key, scope), _KEY, "the key of a map look-up"))
        entry = c.out.fresh()
        return seq(f"([] if ({entry} := {target.code}.get({_found(asked)})) is None else {entry}[1])", ITEMS)
    if target.rep is not Rep.ONE or target.type.kind != "map":
        return None
    target = c.bind(target)
    found = c.value(key, scope)
    if found.rep is Rep.SEQ or not (found.type.is_atomic or found.type.is_node):
        return seq(f"{target.code}.invoke([{c.list(found)}])", ITEMS)
    atom = c.bind(c.atom(found, "the key of a map look-up"))
    if atom.rep is Rep.OPT:
        return seq(f"{target.code}.invoke([{c.list(atom)}])", ITEMS)
    slow = f"({target.code}.get({atom.code}) or [])"
    other = "" if atom.type.kind in ("string", "integer") else f" or type({atom.code}) is not str"
    entry = c.out.fresh()
    held = f"[] if ({entry} := {target.code}.base.get({atom.code})) is None else {entry}[1]"
    return seq(f"({slow} if {target.code}.changes{other} else {held})", ITEMS)


def map_call(c: Compiler, local: str, args: tuple[ast.Expr, ...], scope: Scope) -> Val | None:
    """A function of maps in place, where that is better than calling it."""
    handler = _IN_PLACE.get((local, len(args)))
    return None if handler is None else handler(c, args, scope)


def _owned(c: Compiler, e: ast.Expr, scope: Scope) -> str | None:
    """The dictionary that a variable stands for."""
    var = scope.variables.get(e.name.expanded) if isinstance(e, ast.VarRef) else None
    return var.val.code if var is not None and var.deferred is None and var.val.type.kind == OWNED.kind else None


def _found(key: Val) -> str:
    """What stands for a key in a dictionary."""
    if key.type.kind in ("string", "integer"):
        return key.code
    return f"{key.code} if type({key.code}) is str else same_key({key.code})"


def _size(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    owned = _owned(c, args[0], scope)
    if owned is not None:
        return one(f"len({owned})", INTEGER)
    return one(f"{_argument(c, 'size', args[0], scope)}.size", INTEGER)


def _keys(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    entry = c.out.fresh()
    owned = _owned(c, args[0], scope)
    if owned is not None:
        return seq(f"[{entry}[0] for {entry} in {owned}.values()]", Type("atomic"))
    return seq(f"[{entry}[0] for {entry} in {_argument(c, 'keys', args[0], scope)}.items()]", Type("atomic"))


def _put(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    target = c.bind(one(_argument(c, "put", args[0], scope), _MAP))
    key = c.bind(c.convert(c.value(args[1], scope), _KEY, "argument 2 of map:put"))
    return one(f"{target.code}.put({key.code}, {c.list(c.value(args[2], scope))})", _MAP)


def _argument(c: Compiler, local: str, e: ast.Expr, scope: Scope) -> str:
    entry = lookup(MAP, local, 3 if local == "put" else 1)
    assert entry is not None
    return c.convert(c.value(e, scope), entry.params[0], f"argument 1 of map:{local}").code


def put_owned(c: Compiler, owned: str, e: ast.FunctionCall, scope: Scope) -> None:
    """``map:put`` to a dictionary, or a new one by ``map:merge``."""
    if e.name.local == "merge":
        c.out.line(f"{owned} = {_entries(c, e.args[0], scope)}")
        return
    key = c.bind(c.convert(c.value(e.args[1], scope), _KEY, "argument 2 of map:put"))
    value = c.list(c.value(e.args[2], scope))
    c.out.line(f"{owned}[{_found(key)}] = ({key.code}, {value})")


def merged_entries(e: ast.Expr) -> bool:
    """``for … return map:entry(k, v)``"""
    return isinstance(e, ast.FLWOR) and _is_entry(e.result)


def _merge(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val | None:
    return one(f"map_of_entries({_entries(c, args[0], scope)})", _MAP) if merged_entries(args[0]) else None


def _entries(c: Compiler, loop: ast.Expr, scope: Scope) -> str:
    """``map:merge(for … return map:entry(k, v))``: the entries go into one map at once, the first of a key stays."""
    assert isinstance(loop, ast.FLWOR)
    out = c.out
    entries = out.fresh("d")
    out.line(f"{entries} = {{}}")

    def keep(result: ast.Expr, inner: Scope) -> None:
        assert isinstance(result, ast.FunctionCall)
        key = c.bind(c.convert(c.value(result.args[0], inner), _KEY, "argument 1 of map:entry"))
        value = c.list(c.value(result.args[1], inner))
        out.line(f"{entries}.setdefault({_found(key)}, ({key.code}, {value}))")

    with out.sealed():
        each_result(c, loop, scope, keep, lambda maps: out.line(f"merge_into({entries}, {c.list(maps)})"))
    return entries


def _is_entry(e: ast.Expr) -> bool:
    return (
        isinstance(e, ast.FunctionCall)
        and e.name.expanded == (MAP, "entry")
        and len(e.args) == 2
        and not any(isinstance(arg, ast.Placeholder) for arg in e.args)
    )


_IN_PLACE: dict[tuple[str, int], Callable[[Compiler, tuple[ast.Expr, ...], Scope], Val | None]] = {
    ("keys", 1): _keys,
    ("size", 1): _size,
    ("put", 3): _put,
    ("merge", 1): _merge,
}

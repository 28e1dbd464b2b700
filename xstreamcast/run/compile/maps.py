"""Maps whose type is known: look-up, ``map:put``, and ``map:merge`` of entries made one by one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model import types as t
from xstreamcast.model.namespaces import MAP
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.flwor import each_result
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.values import INTEGER, ITEMS, STRING, Rep, Type, Val, one, opt, seq

_KEY = t.SequenceType(t.TYPES["anyAtomicType"])
_MAP = Type("map")
_PLAIN = re.compile(r"s\d+$|['\"]")
"""Names that hold texts, and literals: strings and nothing else."""
OWNED = Type("owned map", 1, False)
"""A dictionary that is to be a map: :mod:`~xstreamcast.run.compile.owned`."""
COUNTS = Type("owned map of numbers", 1, False)
"""The same, from strings to integers, without the lists and pairs that other maps have. Where something else would get
in, the dictionary is :attr:`~xstreamcast.run.compile.compiler.Compiler.unfit`, and what was written is not used."""


def looked_up(c: Compiler, target: Val, key: ast.Expr, scope: Scope) -> Val | None:
    """``$map(key)``; None where it is not known to be one map."""
    beside = _beside(c, key, scope)
    if beside is not None and beside[0] == target.code:
        return one(beside[3], INTEGER) if target.type.kind == COUNTS.kind else seq(beside[3], ITEMS)
    if target.type.kind == COUNTS.kind:
        asked = c.bind(c.convert(c.value(key, scope), _KEY, "the key of a map look-up"))
        _fits(c, target.code, asked, STRING)
        return opt(f"{target.code}.get({asked.code})", INTEGER)
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
    val = _held(e, scope)
    return val.code if val is not None and val.type.kind in (OWNED.kind, COUNTS.kind) else None


def _held(e: ast.Expr, scope: Scope) -> Val | None:
    """What a variable was bound to."""
    var = scope.variables.get(e.name.expanded) if isinstance(e, ast.VarRef) else None
    return var.val if var is not None and var.deferred is None else None


def _beside(c: Compiler, e: ast.Expr, scope: Scope) -> tuple[str, str, str, str] | None:
    """Of a variable that ranges over the keys of a map in a loop of this function: the names that the loop has."""
    val = _held(e, scope)
    if val is None or val.beside is None or val.code != val.beside[1]:
        return None
    assert isinstance(e, ast.VarRef)
    return val.beside if scope.variables[e.name.expanded].frame is c.frame else None


def _fits(c: Compiler, owned: str, val: Val, kind: Type) -> None:
    """Only one item of a kind gets into a dictionary of numbers."""
    if val.rep is not Rep.ONE or val.type.kind != kind.kind:
        c.unfit.add(owned)


def each_key(c: Compiler, e: ast.Expr, scope: Scope) -> tuple[str, Val] | None:
    """The head of a loop over ``map:keys($map)``, and its key, which has its value beside it."""
    if not isinstance(e, ast.FunctionCall) or e.name.expanded != (MAP, "keys") or len(e.args) != 1:
        return None
    held = _held(e.args[0], scope)
    if held is None or held.rep is not Rep.ONE or not held.bound:
        return None
    key, found, value = c.out.fresh(), c.out.fresh(), c.out.fresh()
    if held.type.kind == COUNTS.kind:
        made = replace(one(key, STRING), beside=(held.code, key, key, value))
        return f"for {key}, {value} in {held.code}.items():", made
    if held.type.kind not in (OWNED.kind, _MAP.kind):
        return None
    entries = "items" if held.type.kind == OWNED.kind else "entries"
    made = replace(one(key, Type("atomic")), beside=(held.code, key, found, value))
    return f"for {found}, ({key}, {value}) in {held.code}.{entries}():", made


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
    held = _held(args[0], scope)
    if held is not None and held.type.kind == COUNTS.kind:
        return seq(f"list({held.code})", STRING.seq())
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


def put_owned(c: Compiler, owned: Val, e: ast.FunctionCall, scope: Scope) -> None:
    """``map:put`` to a dictionary, or a new one by ``map:merge``."""
    counts = owned.code if owned.type.kind == COUNTS.kind else ""
    if e.name.local == "merge":
        c.out.line(f"{owned.code} = {_entries(c, e.args[0], scope, counts)}")
        return
    key = c.bind(c.convert(c.value(e.args[1], scope), _KEY, "argument 2 of map:put"))
    c.out.line(f"{owned.code}[{_found(key)}] = {_entry(c, key, c.value(e.args[2], scope), counts)}")


def _entry(c: Compiler, key: Val, value: Val, counts: str) -> str:
    """What a dictionary has at a key; ``counts``: the name of the one, if it is of numbers."""
    if not counts:
        return f"({key.code}, {c.list(value)})"
    _fits(c, counts, key, STRING)
    _fits(c, counts, value, INTEGER)
    if not _PLAIN.match(key.code) and key.beside is None:
        c.unfit.add(counts)  # it may be of a type derived from xs:string, which a map keeps
    return value.code


def merged_entries(e: ast.Expr) -> bool:
    """``for … return map:entry(k, v)``"""
    return isinstance(e, ast.FLWOR) and _is_entry(e.result)


def _merge(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val | None:
    return one(f"map_of_entries({_entries(c, args[0], scope)})", _MAP) if merged_entries(args[0]) else None


def _entries(c: Compiler, loop: ast.Expr, scope: Scope, counts: str = "") -> str:
    """``map:merge(for … return map:entry(k, v))``: the entries go into one map at once, the first of a key stays."""
    assert isinstance(loop, ast.FLWOR)
    out = c.out
    entries = out.fresh("d")
    out.line(f"{entries} = {{}}")

    def keep(result: ast.Expr, inner: Scope) -> None:
        assert isinstance(result, ast.FunctionCall)
        beside = _beside(c, result.args[0], inner)
        key = c.bind(c.convert(c.value(result.args[0], inner), _KEY, "argument 1 of map:entry"))
        found = _found(key) if beside is None else beside[2]
        value = _entry(c, key, c.value(result.args[1], inner), counts)
        out.line(f"{entries}.setdefault({found}, {value})")

    def merge(maps: Val) -> None:
        c.unfit.add(counts)
        out.line(f"merge_into({entries}, {c.list(maps)})")

    with out.sealed():
        each_result(c, loop, scope, keep, merge)
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

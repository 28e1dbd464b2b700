"""XCQL: stream(), lifespans, projections, Allen's relations, compiled to calls of :mod:`xstreamcast.run.temporal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from xstreamcast.functions.registry import FunctionEntry, parse_parameters, parse_type
from xstreamcast.lang import ast
from xstreamcast.lang.clock import is_moving
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.namespaces import STREAM
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import cond, value
from xstreamcast.run.compile.values import BOOLEAN, Type, Val, one, opt, seq

_MOMENT = Type("xs:dateTime", 1, False)


def temporal_call(c: Compiler, e: ast.FunctionCall, scope: Scope) -> Val:
    """``stream("n")``, ``vtFrom(e)``, ``vtTo(e)``, ``now()``."""
    local = e.name.local
    if local == "now":
        return one("ctx.now", _MOMENT)
    arg = c.value(e.args[0], scope)
    if local == "stream":
        name = c.atom(arg, "the name of a stream")
        return one(f"ctx.stream({name.code})", Type("document"))
    return opt(f"{'vt_from' if local == 'vtFrom' else 'vt_to'}(ctx, {c.list(arg)})", _MOMENT.optional())


def _lifespan_end(name: str) -> Callable[[Any, Item | None], Item | None]:
    def call(ctx: Any, element: Item | None) -> Item | None:
        from xstreamcast.run import temporal

        found: Item | None = getattr(temporal, name)(ctx, [] if element is None else [element])
        return found

    return call


_SIGNATURES: Final[dict[str, tuple[str, str, Callable[..., Any]]]] = {
    "now": ("", "xs:dateTime", lambda ctx: ctx.now),
    "stream": ("xs:string", "document-node()", lambda ctx, name: ctx.stream(name)),
    "vtFrom": ("element()?", "xs:dateTime?", _lifespan_end("vt_from")),
    "vtTo": ("element()?", "xs:dateTime?", _lifespan_end("vt_to")),
}


def temporal_entry(local: str) -> FunctionEntry:
    """The function behind ``now#0``, ``stream#1``, ``vtFrom#1`` and ``vtTo#1``."""
    params, result, call = _SIGNATURES[local]
    return FunctionEntry(QName(STREAM, local, "stream"), parse_parameters(params), parse_type(result), call, True)


@value(ast.Now)
def now_value(c: Compiler, e: ast.Now, scope: Scope) -> Val:
    return one("ctx.now", _MOMENT)


@value(ast.Start)
def start_value(c: Compiler, e: ast.Start, scope: Scope) -> Val:
    return one("START_OF_TIME", _MOMENT)


@value(ast.InstantLiteral)
def instant_value(c: Compiler, e: ast.InstantLiteral, scope: Scope) -> Val:
    from xstreamcast.run.temporal import moment

    return one(c.out.constant(moment(e.value)), _MOMENT)


@value(ast.DurationLiteral)
def duration_value(c: Compiler, e: ast.DurationLiteral, scope: Scope) -> Val:
    from xstreamcast.run.temporal import duration

    return one(c.out.constant(duration(e.value)), Type("atomic"))


def moving_value(c: Compiler, e: ast.Expr, scope: Scope) -> Val:
    """A time that goes on with the clock: who asks tells the horizon what that means."""
    if not isinstance(e, ast.Arithmetic):
        return one("ctx.moment", _MOMENT)
    left = c.bind(moving_value(c, e.left, scope))
    right = c.bind(c.value(e.right, scope))
    with c.at(e):
        return c.bind(opt(f"shifted(ctx, {left.code}, {e.op!r}, {c.list(right)})", Type("atomic")))


def clock_comparison(c: Compiler, e: ast.GeneralComparison | ast.ValueComparison, scope: Scope) -> Val | None:
    """A comparison of which one side goes on with the clock; None if it is another."""
    if is_moving(e.left) == is_moving(e.right):
        return None
    mirrored = is_moving(e.left)
    moving, other = (e.left, e.right) if mirrored else (e.right, e.left)
    clock = c.bind(moving_value(c, moving, scope))
    items = c.list(c.bind(c.value(other, scope)))
    return c.bind(opt(f"against_clock(ctx, {e.op!r}, {items}, {clock.code}, {mirrored})", BOOLEAN.optional()))


def _bound(c: Compiler, e: ast.Expr, scope: Scope) -> tuple[str, bool]:
    if is_moving(e):
        return c.list(c.bind(moving_value(c, e, scope))), True
    return c.list(c.bind(c.value(e, scope))), False


@value(ast.IntervalProjection)
def interval_value(c: Compiler, e: ast.IntervalProjection, scope: Scope) -> Val:
    base = c.bind(c.value(e.base, scope))
    begin, begin_moves = _bound(c, e.begin, scope)
    end, end_moves = (begin, begin_moves) if e.end is None else _bound(c, e.end, scope)
    code = f"interval_projection(ctx, {c.list(base)}, {begin}, {end}, {begin_moves}, {end_moves})"
    return seq(code, Type(base.type.kind if base.type.is_node else "item"))


@value(ast.VersionProjection)
def version_value(c: Compiler, e: ast.VersionProjection, scope: Scope) -> Val:
    base = c.bind(c.value(e.base, scope))
    items = c.bind(seq(c.list(base), base.type))
    last = c.out.fresh("z")
    c.out.line(f"{last} = count_versions(ctx, {items.code})")
    bounds = []
    for count in (last, "1"):
        first = c.bind(_numbered(c, e.first, scope, count))
        end = first if e.last is None else c.bind(_numbered(c, e.last, scope, count))
        bounds.append(f"[{c.list(first)}, {c.list(end)}]")
    code = f"version_projection(ctx, {items.code}, {', '.join(bounds)})"
    return seq(code, Type(base.type.kind if base.type.is_node else "item"))


def _numbered(c: Compiler, e: ast.Expr, scope: Scope, last: str) -> Val:
    """A version number; ``last`` inside it is the number of the newest."""
    kept = c.versions
    c.versions = last
    made = c.value(e, scope)
    c.versions = kept
    return made


@value(ast.Last)
def last_value(c: Compiler, e: ast.Last, scope: Scope) -> Val:
    return one(c.versions, Type("integer"))


@value(ast.AllenComparison)
def allen_value(c: Compiler, e: ast.AllenComparison, scope: Scope) -> Val:
    left = c.bind(c.value(e.left, scope))
    right = c.bind(c.value(e.right, scope))
    return one(f"allen_comparison(ctx, {e.relation!r}, {c.list(left)}, {c.list(right)})", BOOLEAN)


@cond(ast.AllenComparison)
def allen_cond(c: Compiler, e: ast.AllenComparison, scope: Scope) -> str:
    return allen_value(c, e, scope).code

"""Predicates: decided statically to be positions or conditions where possible (XQuery 3.1 §3.3.3)."""

from __future__ import annotations

from collections.abc import Callable

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.focus import LAST, POSITION, is_call, literal_number
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import Body
from xstreamcast.run.compile.values import Rep, Val, item_kind, one, opt, row

Produce = Callable[[Body], None]

_CONDITIONS = (
    ast.GeneralComparison,
    ast.ValueComparison,
    ast.NodeComparison,
    ast.AllenComparison,
    ast.And,
    ast.Or,
    ast.Quantified,
    ast.InstanceOf,
    ast.CastableAs,
    ast.AxisStep,
    ast.Union,
    ast.Intersect,
    ast.Except,
    ast.StringLiteral,
    ast.DirectElement,
)
_NUMBERS = (ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral)


def is_condition(e: ast.Expr, scope: Scope) -> bool:
    """Whether a predicate can only be a condition, never a position."""
    if isinstance(e, _CONDITIONS):
        # eq and its kin may be empty, which is false all the same
        return True
    if isinstance(e, ast.Path):
        return isinstance(e.steps[-1], ast.AxisStep)
    if isinstance(e, ast.Filter):
        return is_condition(e.base, scope)
    if isinstance(e, ast.FunctionCall) and e.name.uri == FN:
        entry = lookup(FN, e.name.local, len(e.args))
        if entry is not None:
            return item_kind(entry.result.item) in ("boolean", "string", "node", "element", "document")
    if isinstance(e, ast.VarRef):
        var = scope.variables.get(e.name.expanded)
        return var is not None and (var.val.type.is_node or var.val.type.kind in ("boolean", "string"))
    return False


def positional(c: Compiler, predicates: tuple[ast.Expr, ...], scope: Scope) -> bool:
    """Whether any predicate depends on positions."""
    return any(
        not is_condition(predicate, scope) or c.analysis.focus(predicate) & (POSITION | LAST)
        for predicate in predicates
    )


def filtered(
    c: Compiler, predicates: tuple[ast.Expr, ...], scope: Scope, produce: Produce, single_loop: bool
) -> Produce:
    """A producer of what passes all predicates. ``single_loop``: produce writes one loop, so ``break`` ends it."""
    for predicate in predicates:
        produce = _filter(c, predicate, scope, produce, single_loop)
        single_loop = single_loop and not _ends_early(predicate)
    return produce


def _ends_early(predicate: ast.Expr) -> bool:
    return isinstance(predicate, _NUMBERS) or is_call(predicate, "last", 0)


def _filter(c: Compiler, predicate: ast.Expr, scope: Scope, produce: Produce, single_loop: bool) -> Produce:
    out = c.out
    if is_call(predicate, "last", 0):
        return lambda body: _last(c, produce, body)
    number = literal_number(predicate)
    if number is not None:
        return lambda body: _at(c, number, produce, body, single_loop)
    use = c.analysis.focus(predicate)
    condition = is_condition(predicate, scope)
    if use & LAST:
        return lambda body: _with_last(c, predicate, scope, produce, body)
    bound = _upper_bound(predicate)

    def run(body: Body) -> None:
        counted = bool(use & POSITION) or not condition
        position = out.fresh("n") if counted else None
        if position:
            out.line(f"{position} = 0")

        def test(item: Val) -> None:
            if position:
                out.line(f"{position} += 1")
            inner = c.focused(scope, item, position)
            with out.block(f"if {_passes(c, predicate, inner, condition, position)}:"):
                body(item)
            if bound is not None and single_loop:
                out.line(f"if {position} >= {bound}: break")

        produce(test)

    return run


def _passes(c: Compiler, predicate: ast.Expr, scope: Scope, condition: bool, position: str | None) -> str:
    if condition:
        return c.cond(predicate, scope)
    val = c.value(predicate, scope)
    if val.type.kind == "boolean" or val.type.is_node or val.type.kind == "string":
        return c.truth(val)
    if val.rep is Rep.ONE and val.type.is_number:
        return f"{val.code} == {position}"
    if val.rep is Rep.OPT and val.type.is_number:
        return f"{val.code} == {position}"
    return f"predicate_truth({c.list(val)}, {position})"


def _upper_bound(predicate: ast.Expr) -> int | None:
    """n if the predicate says ``position() <= n``, ``< n+1`` or ``= n``."""
    if isinstance(predicate, (ast.GeneralComparison, ast.ValueComparison)) and is_call(predicate.left, "position", 0):
        number = literal_number(predicate.right)
        if number is not None:
            if predicate.op in ("<=", "le", "=", "eq"):
                return number
            if predicate.op in ("<", "lt"):
                return number - 1
    return None


def _at(c: Compiler, number: int, produce: Produce, body: Body, single_loop: bool) -> None:
    out = c.out
    if number < 1:
        return
    position = out.fresh("n")
    if single_loop:
        if number == 1:

            def first(item: Val) -> None:
                body(item)
                out.line("break")

            produce(first)
            return
        out.line(f"{position} = 0")

        def test(item: Val) -> None:
            out.line(f"{position} += 1")
            with out.block(f"if {position} == {number}:"):
                body(item)
                out.line("break")

        produce(test)
        return
    # Several loops: find the item first, then run the body outside of them.
    found = out.fresh()
    flag = out.fresh("f")
    out.line(f"{found} = None")
    out.line(f"{flag} = False")
    if number > 1:
        out.line(f"{position} = 0")
    kinds: list[Val] = []
    with out.region(flag) as region:

        def pick(item: Val) -> None:
            kinds.append(item)
            if number == 1:
                out.line(f"{found} = {c.item(item)}")
                out.leave(region)
                return
            out.line(f"{position} += 1")
            with out.block(f"if {position} == {number}:"):
                out.line(f"{found} = {c.item(item)}")
                out.leave(region)

        produce(pick)
    c.iterate(opt(found, c.joined([kind.type for kind in kinds]).optional()), body)


def _last(c: Compiler, produce: Produce, body: Body) -> None:
    out = c.out
    found, held = out.fresh(), out.fresh()
    out.line(f"{found} = None")
    items: list[Val] = []

    def keep(item: Val) -> None:
        items.append(item)
        if item.rep is Rep.ROW:  # the items after it may be of other trees
            out.line(f"{held} = {item.tree}")
        out.line(f"{found} = {item.code if item.rep is Rep.ROW else c.item(item)}")

    with out.sealed():
        produce(keep)
    if not items:
        return
    sample = items[0]
    if sample.rep is Rep.ROW and len(items) == 1:
        with out.block(f"if {found} is not None:"):
            body(row(c.tree(held), found, sample.type.kind))
    else:
        c.iterate(opt(found, c.joined([item.type for item in items]).optional()), body)


def _with_last(c: Compiler, predicate: ast.Expr, scope: Scope, produce: Produce, body: Body) -> None:
    """``last()`` is needed: the items are collected before the first is tested."""
    out = c.out
    rows, position, last = out.fresh("l"), out.fresh("n"), out.fresh("z")
    out.line(f"{rows} = []")
    items: list[Val] = []

    def keep(item: Val) -> None:
        items.append(item)
        out.line(f"{rows}.append({c.item(item)})")

    with out.sealed():
        produce(keep)
    if not items:
        return
    out.line(f"{last} = len({rows})")
    name = out.fresh()
    condition = is_condition(predicate, scope)
    with out.loop(f"for {position}, {name} in enumerate({rows}, 1):"):
        item = one(name, c.joined([kept.type for kept in items]))
        inner = c.focused(scope, item, position, last)
        with out.block(f"if {_passes(c, predicate, inner, condition, position)}:"):
            body(item)

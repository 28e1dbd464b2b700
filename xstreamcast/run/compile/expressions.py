"""Literals, variables, sequences, concatenation, ranges, set operations, filters and ``!``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.plan.focus import LAST, POSITION, is_call, literal_number
from xstreamcast.run.compile.arithmetic import operand
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.predicates import filtered
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import ANY, ORDERED, Body, build, cond, each, value
from xstreamcast.run.compile.values import (
    EMPTY,
    INTEGER,
    NODES,
    STRING,
    Rep,
    Type,
    Val,
    one,
    opt,
    seq,
    union,
)


def _writes_once(e: ast.Expr, scope: Scope) -> bool:
    """Whether ``each`` writes its body once: not where branches or parts of a sequence each repeat it."""
    while True:
        if isinstance(e, (ast.If, ast.Sequence, ast.Switch, ast.Typeswitch, ast.Union, ast.TryCatch)):
            return False
        if isinstance(e, ast.FLWOR):
            e = e.result
        elif isinstance(e, ast.SimpleMap):
            e = e.steps[-1]
        elif isinstance(e, (ast.Ordering, ast.Extension)) and e.body is not None:
            e = e.body
        elif isinstance(e, ast.VarRef):
            var = scope.variables.get(e.name.expanded)
            if var is None or var.deferred is None:
                return True
            e, scope = var.deferred
        else:
            return not (isinstance(e, ast.FunctionCall) and e.name.local in ("data", "reverse", "unordered"))


def each_once(c: Compiler, e: ast.Expr, scope: Scope, body: Body, need: int = ORDERED) -> None:
    """``each``, the body written once, however large it is and whatever it collects."""
    if _writes_once(e, scope):
        c.each(e, scope, body, need)
    else:
        c.iterate(c.value(e, scope), body)


@value(ast.StringLiteral)
def string_value(c: Compiler, e: ast.StringLiteral, scope: Scope) -> Val:
    return one(c.out.literal(e.value), STRING, e.value)


@value(ast.IntegerLiteral)
def integer_value(c: Compiler, e: ast.IntegerLiteral, scope: Scope) -> Val:
    code = repr(e.value) if abs(e.value) < 10**40 else c.out.constant(e.value)
    return one(code, INTEGER, e.value)


@value(ast.DecimalLiteral)
def decimal_value(c: Compiler, e: ast.DecimalLiteral, scope: Scope) -> Val:
    return one(c.out.constant(e.value), Type("decimal"), e.value)


@value(ast.DoubleLiteral)
def double_value(c: Compiler, e: ast.DoubleLiteral, scope: Scope) -> Val:
    return one(c.out.constant(e.value), Type("double"), e.value)


@value(ast.VarRef)
def variable_value(c: Compiler, e: ast.VarRef, scope: Scope) -> Val:
    var = scope.variables.get(e.name.expanded)
    if var is not None:
        return var.val if var.deferred is None else c.value(*var.deferred)
    known = c.globals.get(e.name.expanded)
    if known is None:
        if e.name.expanded in c.static.variables:  # bound by the host, not declared by the query
            return seq(f"given_value(ctx, {c.out.constant(e.name.expanded, hashable=True)})", Type())
        raise c.fault("XPST0008", f"${e.name.lexical} is not declared")
    made: Val = known.read(c)
    return made


@each(ast.VarRef)
def variable_each(c: Compiler, e: ast.VarRef, scope: Scope, body: Body, need: int) -> None:
    var = scope.variables.get(e.name.expanded)
    if var is not None and var.deferred is not None:
        c.each(*var.deferred, body, need)
    else:
        c.iterate(variable_value(c, e, scope), body)


@cond(ast.VarRef)
def variable_cond(c: Compiler, e: ast.VarRef, scope: Scope) -> str:
    var = scope.variables.get(e.name.expanded)
    if var is not None and var.deferred is not None:
        return c.cond(*var.deferred)
    return c.truth(variable_value(c, e, scope))


@value(ast.ContextItem)
def context_value(c: Compiler, e: ast.ContextItem, scope: Scope) -> Val:
    return c.context_item(scope)


@value(ast.Sequence)
def sequence_value(c: Compiler, e: ast.Sequence, scope: Scope) -> Val:
    if not e.items:
        return seq("[]", EMPTY)
    vals = [c.value(item, scope) for item in e.items]
    kind = vals[0].type
    for val in vals[1:]:
        kind = union(kind, val.type, both=True)
    if all(val.rep in (Rep.ONE, Rep.ROW) for val in vals):
        return seq(f"[{', '.join(c.item(val) for val in vals)}]", replace(kind, low=1, many=True))
    parts = []
    for val in vals:
        if not val.type.none:
            parts.append(c.item(val) if val.rep in (Rep.ONE, Rep.ROW) else f"*{c.list(val)}")
    return seq(f"[{', '.join(parts)}]", replace(kind, many=True, sorted=False, disjoint=False))


def _in_turn(c: Compiler, parts: tuple[ast.Expr, ...], write: Callable[[ast.Expr], None]) -> None:
    """Write the parts one after the other; later ones are skipped once a region around them has been left."""
    for k, part in enumerate(parts):
        left = [region.flag for region in c.out.exits if region.loops == c.out.loop_depth]
        if k and left:
            with c.out.block(f"if not ({' or '.join(left)}):"):
                write(part)
        else:
            write(part)


@each(ast.Sequence)
def sequence_each(c: Compiler, e: ast.Sequence, scope: Scope, body: Body, need: int) -> None:
    _in_turn(c, e.items, lambda item: c.each(item, scope, body, ORDERED))


@build(ast.Sequence)
def sequence_build(c: Compiler, e: ast.Sequence, scope: Scope, builder: str) -> None:
    for item in e.items:
        c.build(item, scope, builder)


def string_code(c: Compiler, val: Val, role: str) -> str:
    """The string of at most one atomized item, "" if there is none."""
    if val.type.none:
        return "''"
    if val.rep is Rep.ROW and val.type.kind in ("element", "attribute", "text", "document"):
        return c.text(val)
    atom = c.atom(val, role)
    if atom.rep is Rep.ONE:
        return atom.code if atom.type.kind in ("string", "untyped") else f"to_string({atom.code})"
    return f"string_of({atom.code})"


@value(ast.Concat)
def concat_value(c: Compiler, e: ast.Concat, scope: Scope) -> Val:
    parts = [string_code(c, c.value(operand, scope), "an operand of ||") for operand in e.operands]
    return one(f"''.join(({', '.join(parts)},))", STRING)


@value(ast.StringConstructor)
def string_constructor_value(c: Compiler, e: ast.StringConstructor, scope: Scope) -> Val:
    parts = []
    for part in e.parts:
        if isinstance(part, ast.LiteralText):
            parts.append(c.out.literal(part.value))
        else:
            parts.append(f"joined_strings({c.list(c.value(part, scope))})")
    return one(f"''.join(({', '.join(parts)},))" if parts else "''", STRING)


def range_of(c: Compiler, e: ast.Range, scope: Scope) -> str:
    """The integers of a range, as a Python range."""
    sides = []
    for side in (e.first, e.last):
        atom = c.atom(c.value(side, scope), "an operand of to")
        if atom.rep is Rep.ONE and atom.type.kind == "integer":
            sides.append(operand(c, atom).code)
        else:
            sides.append(f"range_bound({atom.code})")
    if all(side.lstrip("-").isdigit() or side.isidentifier() for side in sides):
        return f"range({sides[0]}, {sides[1]} + 1)"
    return f"integer_range({sides[0]}, {sides[1]})"


@value(ast.Range)
def range_value(c: Compiler, e: ast.Range, scope: Scope) -> Val:
    return seq(f"listed({range_of(c, e, scope)})", INTEGER.seq())


@each(ast.Range)
def range_each(c: Compiler, e: ast.Range, scope: Scope, body: Body, need: int) -> None:
    c.iterate(seq(range_of(c, e, scope), INTEGER.seq()), body)


# -------------------------------------------------------------------------------------------- sets of nodes


@value(ast.Union)
def union_value(c: Compiler, e: ast.Union, scope: Scope) -> Val:
    vals = [c.value(operand, scope) for operand in e.operands]
    kind = vals[0].type
    for val in vals[1:]:
        kind = union(kind, val.type)
    lists = ", ".join(c.list(val) for val in vals)
    return seq(f"union_nodes({lists})", Type(kind.kind if kind.is_node else "node", 0, True, True))


@each(ast.Union)
def union_each(c: Compiler, e: ast.Union, scope: Scope, body: Body, need: int) -> None:
    def write(operand: ast.Expr) -> None:
        def checked(item: Val) -> None:
            if not item.type.is_node:
                c.out.line(f"check_nodes([{c.item(item)}])")
            body(item)

        c.each(operand, scope, checked, ANY)

    if need != ANY:
        c.iterate(c.value(e, scope), body)
    else:
        _in_turn(c, e.operands, write)


@value(ast.Intersect, ast.Except)
def set_value(c: Compiler, e: ast.Intersect | ast.Except, scope: Scope) -> Val:
    left, right = c.value(e.left, scope), c.value(e.right, scope)
    name = "intersect_nodes" if isinstance(e, ast.Intersect) else "except_nodes"
    kind = left.type.kind if left.type.is_node else "node"
    return seq(f"{name}({c.list(left)}, {c.list(right)})", Type(kind, 0, True, True))


@value(ast.NodeComparison)
def node_comparison_value(c: Compiler, e: ast.NodeComparison, scope: Scope) -> Val:
    left = c.bind(_node_operand(c, e.left, scope, e.op))
    right = c.bind(_node_operand(c, e.right, scope, e.op))
    relation = {"is": "==", "<<": "<", ">>": ">"}[e.op]
    tests = [f"{side.code} is None" for side in (left, right) if side.rep is Rep.OPT]
    code = f"({left.code} {relation} {right.code})"
    if not tests:
        return one(code, Type("boolean"))
    return opt(f"(None if {' or '.join(tests)} else {code})", Type("boolean"))


def _node_operand(c: Compiler, e: ast.Expr, scope: Scope, op: str) -> Val:
    val = c.value(e, scope)
    role = f"an operand of {op}"
    if val.type.none:
        return opt("None", EMPTY)
    if val.rep is Rep.ROW:
        return one(c.item(val), val.type)
    if val.rep in (Rep.ONE, Rep.OPT) and val.type.is_node:
        return val
    return opt(f"node_opt({c.list(val)}, {c.out.literal(role)})", NODES)


@cond(ast.NodeComparison)
def node_comparison_cond(c: Compiler, e: ast.NodeComparison, scope: Scope) -> str:
    return c.truth(c.value(e, scope))


# ---------------------------------------------------------------------------------------- filters and maps


@each(ast.Filter)
def filter_each(c: Compiler, e: ast.Filter, scope: Scope, body: Body, need: int) -> None:
    from xstreamcast.run.compile.joins import indexed_filter

    if indexed_filter(c, e, scope, body):
        return

    def produce(inner: Body) -> None:
        if literal_number(e.predicates[0]) is not None:
            c.each(e.base, scope, inner, ORDERED)  # picking is little code: parts are left out once it is done
        else:
            each_once(c, e.base, scope, inner, ORDERED)

    filtered(c, e.predicates, scope, produce, False)(body)


@value(ast.Filter)
def filter_value(c: Compiler, e: ast.Filter, scope: Scope) -> Val:
    single = len(e.predicates) == 1
    number = literal_number(e.predicates[0])
    if single and isinstance(e.base, (ast.VarRef, ast.FunctionCall)):
        val = c.value(e.base, scope)
        if val.rep is Rep.SEQ and number is not None:
            val = c.bind(val)
            if number < 1:
                return seq("[]", EMPTY)
            code = f"({val.code}[{number - 1}] if len({val.code}) >= {number} else None)"
            return opt(code, replace(val.type, low=0))
        if val.rep is Rep.SEQ and is_call(e.predicates[0], "last", 0):
            val = c.bind(val)
            return opt(f"({val.code}[-1] if {val.code} else None)", replace(val.type, low=0))
    if single and number == 1 and isinstance(e.base, ast.Sequence) and all(map(_at_hand, e.base.items)):
        return _first(c, e.base.items, scope)
    if number is not None or is_call(e.predicates[-1], "last", 0):
        return _picked(c, e, scope)
    made = c.collect(e, scope)
    if made.type.is_node and _sorted_base(c, e.base, scope):
        return replace(made, type=replace(made.type, sorted=True))
    return made


def _sorted_base(c: Compiler, e: ast.Expr, scope: Scope) -> bool:
    if isinstance(e, ast.VarRef):
        var = scope.variables.get(e.name.expanded)
        return var is not None and var.val.type.sorted
    return isinstance(e, (ast.Path, ast.AxisStep, ast.Union, ast.Intersect, ast.Except))


def _at_hand(e: ast.Expr) -> bool:
    """Whether an expression is as easily computed whole as to its first item."""
    return isinstance(e, (ast.DynamicCall, ast.Lookup, ast.IntegerLiteral, ast.StringLiteral, ast.VarRef))


def _first(c: Compiler, items: tuple[ast.Expr, ...], scope: Scope) -> Val:
    """``(a, b, …)[1]``: the first item of the first that is not empty."""
    out = c.out
    made = out.fresh()
    found: list[Type] = []

    def write(number: int) -> bool:
        """Whether there is an item for sure."""
        if number == len(items):
            out.line(f"{made} = None")
            return False
        val = c.value(items[number], scope)
        if val.type.none:
            return write(number + 1)
        found.append(val.type)
        if val.rep in (Rep.ONE, Rep.ROW):
            out.line(f"{made} = {c.item(val)}")
            return True
        val = c.bind(val)
        test = f"if {val.code}:" if val.rep is Rep.SEQ else f"if {val.code} is not None:"
        with out.block(test):
            out.line(f"{made} = {val.code}[0]" if val.rep is Rep.SEQ else f"{made} = {val.code}")
        with out.block("else:"):
            return write(number + 1)

    there = write(0)
    kind = c.joined(found)
    return one(made, kind) if there else opt(made, replace(kind, low=0))


def _picked(c: Compiler, e: ast.Filter, scope: Scope) -> Val:
    """At most one item passes: held without a list."""
    out = c.out
    made = out.fresh()
    out.line(f"{made} = None")
    found: list[Type] = []

    def body(item: Val) -> None:
        found.append(item.type)
        out.line(f"{made} = {c.item(item)}")

    with out.sealed():
        filter_each(c, e, scope, body, ORDERED)
    if not found:
        return opt("None", EMPTY)
    return opt(made, replace(c.joined(found), low=0, many=False))


@each(ast.SimpleMap)
def map_each(c: Compiler, e: ast.SimpleMap, scope: Scope, body: Body, need: int) -> None:
    """``a ! b ! c`` is ``(a ! b) ! c``: positions count through all that the left side gives."""
    out = c.out
    start = out.slot()

    def step(k: int, scope: Scope) -> None:
        if k == len(e.steps) - 1:
            c.each(e.steps[k], scope, body, ORDERED)
            return
        use = c.analysis.focus(e.steps[k + 1])
        position = out.fresh("n") if use & POSITION else ""
        if position:
            out.home[position] = start.depth
            out.fill(start, f"{position} = 0")

        def inner(item: Val) -> None:
            if position:
                out.line(f"{position} += 1")
            step(k + 1, c.focused(scope, c.bind(item), position or None))

        each_once(c, e.steps[k], scope, inner, ORDERED)

    for k in range(len(e.steps) - 1, 0, -1):
        if c.analysis.focus(e.steps[k]) & LAST:
            left = e.steps[0] if k == 1 else ast.SimpleMap(e.steps[:k], span=e.span)
            _map_with_last(c, left, e.steps[k:], scope, body)
            return
    step(0, scope)


def _map_with_last(c: Compiler, left: ast.Expr, rest: tuple[ast.Expr, ...], scope: Scope, body: Body) -> None:
    """The next step asks for ``last()``: the left side is collected."""
    out = c.out
    val = c.value(left, scope)
    source = c.bind(seq(c.list(val), val.type))
    position, last, item = out.fresh("n"), out.fresh("z"), out.fresh()
    out.line(f"{last} = len({source.code})")
    with out.loop(f"for {position}, {item} in enumerate({source.code}, 1):"):
        inner = c.focused(scope, one(item, source.type.single()), position, last)
        c.each(rest[0] if len(rest) == 1 else ast.SimpleMap(rest), inner, body, ORDERED)

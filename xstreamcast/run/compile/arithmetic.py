"""Arithmetic: operators of Python where the types are known, and the text of nodes taken as numbers."""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import DISTINCT, value
from xstreamcast.run.compile.values import EMPTY, Rep, Type, Val, one, opt

_ONE_ITEM = (ast.VarRef, ast.Filter, ast.ContextItem)
_UNTYPED_NODES = frozenset({"element", "attribute", "text", "document"})
_OPERATORS = {"+": "add", "-": "subtract", "*": "multiply", "div": "divide", "idiv": "integer_divide", "mod": "modulo"}


def _result(op: str, left: Type, right: Type) -> Type:
    if op == "idiv":
        return Type("integer")
    if left.kind == "integer" == right.kind:
        return Type("decimal" if op == "div" else "integer")
    kinds = {left.kind, right.kind}
    if left.is_number and right.is_number:
        if "double" in kinds:
            return Type("double")
        return Type("decimal" if left.is_exact and right.is_exact else "numeric")
    if "untyped" in kinds and (left.is_number or right.is_number or left.kind == right.kind):
        return Type("double")
    return Type("atomic")


@value(ast.Arithmetic)
def arithmetic_value(c: Compiler, e: ast.Arithmetic, scope: Scope) -> Val:
    made = _plus_integer(c, e, scope)
    if made is not None:
        return made
    spine = [e]  # long sums lean to the left: no recursion along them
    while isinstance(spine[-1].left, ast.Arithmetic):
        spine.append(spine[-1].left)
    role = f"an operand of {e.op}"
    left = _number(c, spine[-1].left, scope, role)
    for link in reversed(spine):
        with c.at(link):
            left = _arithmetic(c, link.op, left, _number(c, link.right, scope, role))
    return left


def _plus_integer(c: Compiler, e: ast.Arithmetic, scope: Scope) -> Val | None:
    """``$x + 1`` where nothing is known of ``$x`` but that it may well be an integer."""
    if e.op not in "+-*" or not isinstance(e.right, ast.IntegerLiteral) or not isinstance(e.left, _ONE_ITEM):
        return None
    left = c.value(e.left, scope)
    right = c.value(e.right, scope)
    if left.rep not in (Rep.ONE, Rep.OPT) or left.type.kind != "item" or left.type.none:
        return _arithmetic(c, e.op, c.atom(left, f"an operand of {e.op}"), right)
    left = c.bind(left)
    made = c.out.fresh()
    c.out.line(f"if type({left.code}) is int: {made} = {left.code} {e.op} {right.code}")
    with c.out.block("else:"):
        slow = _arithmetic(c, e.op, c.bind(c.atom(left, f"an operand of {e.op}")), right)
        c.out.line(f"{made} = {slow.code}")
    return opt(made, Type("atomic"))


def _number(c: Compiler, e: ast.Expr, scope: Scope, role: str) -> Val:
    """An operand, atomized. Of a node it is the text, for arithmetic takes untyped values as numbers."""
    from xstreamcast.run.compile.paths import at_most_one

    last = e.steps[-1] if isinstance(e, ast.Path) else e
    if not isinstance(last, ast.AxisStep) or c.deep:
        return c.atom(c.value(e, scope), role)
    out = c.out
    single = at_most_one(c, e, scope)
    made = out.fresh("s")
    kinds: set[str] = set()

    def keep(item: Val) -> None:
        kinds.add(item.type.kind)
        if item.type.kind in _UNTYPED_NODES:
            text = c.text(item)
            if not single:
                out.line(f"if {made} is not None: too_many({out.literal(role)})")
            out.line(f"{made} = {text}")

    with out.capture() as lines, out.sealed():
        out.line(f"{made} = None")
        c.each(e, scope, keep, DISTINCT)
    if not kinds <= _UNTYPED_NODES:
        return c.atom(c.value(e, scope), role)
    out.lines.extend(lines)
    return opt(made, Type("untyped", 0, False) if kinds else EMPTY)


def _arithmetic(c: Compiler, op: str, left: Val, right: Val) -> Val:
    out = c.out
    if left.type.none or right.type.none:
        return opt("None", EMPTY)
    kind = _result(op, left.type, right.type)
    left, right = c.bind(left), operand(c, right)
    code = _operation(c, op, _as_number(left), _as_number(right))
    made = out.fresh()
    if left.rep is Rep.ONE and right.rep is Rep.ONE:
        out.line(f"{made} = {code}")
        return one(made, kind)
    tests = [f"{side.code} is None" for side in (left, right) if side.rep is Rep.OPT]
    out.line(f"{made} = None if {' or '.join(tests)} else {code}")
    return opt(made, kind)


def _as_number(val: Val) -> Val:
    return replace(val, code=f"parse_double({val.code})", type=Type("double")) if val.type.kind == "untyped" else val


def _operation(c: Compiler, op: str, left: Val, right: Val) -> str:
    """An operation on values that are there."""
    kinds = left.type.kind, right.type.kind
    if op in "+-*":
        if kinds in (("integer", "integer"), ("double", "double")):
            return f"{left.code} {op} {right.code}"
        if "double" in kinds and (_small(left) or _small(right)):
            return f"{left.code} {op} {right.code}"
        if kinds == ("atomic", "integer") and left.bound:
            return f"({left.code} {op} {right.code} if type({left.code}) is int else {_call(op, left, right)})"
    elif kinds[0] == "double" and _small(right) and right.const:
        if op == "div":
            return f"{left.code} / {right.code}"
        if op == "idiv":
            name = c.out.fresh()
            whole = f"int({name} / {right.code}) if -1e300 < ({name} := {left.code}) < 1e300"
            return f"({whole} else {_call(op, replace(left, code=name), right)})"
    elif kinds == ("double", "double") and op == "div":
        name = c.out.fresh()
        return f"({left.code} / {name} if ({name} := {right.code}) else {_call(op, left, replace(right, code=name))})"
    return _call(op, left, right)


def _call(op: str, left: Val, right: Val) -> str:
    return f"{_OPERATORS[op]}({left.code}, {right.code})"


def _small(val: Val) -> bool:
    """Whether a value is an integer of the query's text that is a double as well."""
    return val.type.kind == "integer" and isinstance(val.const, int) and abs(val.const) < 2**53


def operand(c: Compiler, val: Val) -> Val:
    return val if val.constant else c.bind(val)


@value(ast.Unary)
def unary_value(c: Compiler, e: ast.Unary, scope: Scope) -> Val:
    val = c.atom(c.value(e.operand, scope), f"the operand of {e.op}")
    if val.type.none:
        return opt("None", EMPTY)
    kind = val.type if val.type.is_number else Type("double" if val.type.kind == "untyped" else "numeric")
    name = "negate" if e.op == "-" else "plus"
    if val.rep is Rep.ONE:
        if val.type.kind in ("integer", "double") and e.op == "-":
            return one(f"(-{val.code})", kind)
        return one(f"{name}({val.code})", kind)
    val = c.bind(val)
    return opt(f"(None if {val.code} is None else {name}({val.code}))", kind)

"""Comparisons: the existential ones as loops that end at the first true pair, no sequence built."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from xstreamcast.dataclass import dataclass
from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.emit import Slot
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import ANY, cond, value
from xstreamcast.run.compile.temporal import clock_comparison
from xstreamcast.run.compile.values import BOOLEAN, EMPTY, Rep, Type, Val, one, opt, seq

VALUE_OF = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_PYTHON = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
MIRRORED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_TEXTUAL = frozenset({"string", "untyped"})
_UNTYPED_NODES = frozenset({"element", "attribute", "text", "document"})


@dataclass(frozen=True, slots=True)
class Side:
    """One atomic operand: its kind, and its code. Untyped values of nodes are held as plain text (``raw``)."""

    kind: str
    code: str
    raw: bool = False
    const: object = None

    @property
    def number(self) -> bool:
        return Type(self.kind).is_number

    @property
    def typed(self) -> str:
        return f"Untyped({self.code})" if self.raw else self.code


def side_of(c: Compiler, atom: Val) -> Side:
    """An atomic value that is there as a side."""
    return Side(atom.type.kind, atom.code, const=atom.const if atom.constant else None)


def each_side(c: Compiler, item: Val, use: Callable[[Side], None]) -> None:
    """Atomize one item of an operand."""
    if item.type.kind in _UNTYPED_NODES:
        use(Side("untyped", c.text(item), raw=True))
    elif item.type.is_atomic:
        use(side_of(c, c.bind(item) if not item.constant else item))
    elif item.type.is_node:
        use(Side("atomic", f"{c.item(item)}.typed"))
    else:
        name = c.out.fresh()
        bound = c.bind(item)
        with c.out.loop(f"for {name} in ([{bound.code}] if type({bound.code}) in PLAIN else atomize([{bound.code}])):"):
            use(Side("atomic", name))


def general_pair(c: Compiler, op: str, left: Side, right: Side, scope: Scope) -> str:
    """One pair of a general comparison (XQuery 3.1 §3.7.2)."""
    plain = c.plain_collation(scope)
    if left.kind in _TEXTUAL and right.kind in _TEXTUAL and plain:
        return f"{left.code} {_PYTHON[op]} {right.code}"
    if left.kind == "untyped" and right.number:
        return f"parse_double({left.code}) {_PYTHON[op]} {_as_double(right)}"
    if right.kind == "untyped" and left.number:
        return f"{_as_double(left)} {_PYTHON[op]} parse_double({right.code})"
    direct = _direct(left, right)
    if direct:
        return f"{left.code} {_PYTHON[op]} {right.code}"
    more = "" if plain else f", {collation_code(c, scope)}"
    pair = f"pair_{op}({left.typed}, {right.typed}{more})"
    unknown = left if right.kind == "integer" else right
    if {left.kind, right.kind} == {"atomic", "integer"} and unknown.code.isidentifier():
        return f"({left.code} {_PYTHON[op]} {right.code} if type({unknown.code}) is int else {pair})"
    return pair


def collation_code(c: Compiler, scope: Scope) -> str:
    from xstreamcast.model.collation import collation

    return c.out.constant(collation(scope.static.default_collation, scope.static.base_uri))


def _direct(left: Side, right: Side) -> bool:
    """Whether Python's operators do the right thing."""
    if left.kind == right.kind:
        return left.kind in ("integer", "double", "boolean")
    return {left.kind, right.kind} == {"integer", "decimal"}


def _as_double(side: Side) -> str:
    if side.kind in ("integer", "double"):
        return side.code
    if isinstance(side.const, Decimal):
        return f"{float(side.const)!r}"
    return f"to_double({side.code})"


def is_single(c: Compiler, e: ast.Expr, scope: Scope) -> bool:
    """Whether an expression can be told to give at most one item."""
    from xstreamcast.run.compile.paths import at_most_one

    if isinstance(e, (ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral)):
        return True
    if isinstance(e, (ast.ContextItem, ast.Arithmetic, ast.Unary, ast.CastAs, ast.ValueComparison, ast.Concat)):
        return True
    if isinstance(e, ast.VarRef):
        var = scope.variables.get(e.name.expanded)
        if var is None:
            known = c.globals.get(e.name.expanded)
            return known is not None and known.literal
        return not var.val.type.many
    if isinstance(e, (ast.Path, ast.AxisStep)):
        return at_most_one(c, e, scope)
    if isinstance(e, ast.FunctionCall):
        entry = lookup(e.name.uri or "", e.name.local, len(e.args))
        if entry is not None:
            return not entry.result.allows_many
        user = c.functions.get((e.name.uri or "", e.name.local, len(e.args)))
        return user is not None and not user.result.many
    return False


@cond(ast.GeneralComparison)
def general_cond(c: Compiler, e: ast.GeneralComparison, scope: Scope) -> str:
    op = VALUE_OF[e.op]
    clock = clock_comparison(c, e, scope)
    if clock is not None:
        return clock.code
    if op == "eq" and c.open_loops and c.plain_collation(scope):
        for kept, varying in ((e.right, e.left), (e.left, e.right)):
            if _stays(c, kept, varying, scope):
                return _against_kept(c, varying, kept, scope)
    if is_single(c, e.right, scope):
        return _against_one(c, op, e.left, e.right, scope)
    if is_single(c, e.left, scope):
        return _against_one(c, MIRRORED[op], e.right, e.left, scope)
    return _against_many(c, op, e.left, e.right, scope)


def _against_one(c: Compiler, op: str, many: ast.Expr, single: ast.Expr, scope: Scope) -> str:
    """``many op single``: the single operand is computed first, the other is looped over."""
    out = c.out
    val = c.value(single, scope)
    if val.type.none:
        return "False"
    if val.rep is Rep.ROW and val.type.kind in _UNTYPED_NODES:
        text = c.text(val)
        right = Side("untyped", text if text.isidentifier() else _named(c, text), raw=True)
        guard = ""
    else:
        if val.rep is Rep.ONE and val.type.kind == "item":
            # An array may hold any number of values; so may an item of unknown type.
            return _generic(c, op, many, f"[{val.code}]", scope)
        if val.rep is Rep.OPT and not (val.type.is_atomic or val.type.is_node):
            return _generic(c, op, many, c.list(val), scope)
        if val.rep is Rep.SEQ:
            return _generic(c, op, many, val.code, scope)
        atom = c.atom(val, f"an operand of {op}")
        atom = atom if atom.constant else c.bind(atom)
        right = side_of(c, atom)
        guard = f"{atom.code} is not None" if atom.rep is Rep.OPT else ""
    if is_single(c, many, scope):
        made = _both_single(c, op, many, right, guard, scope)
        if made is not None:
            return made
    if right.kind == "integer" and not guard and _looks_up(many):
        found = c.bind(c.value(many, scope), "l")
        if found.type.kind == "integer" and found.rep is not Rep.SEQ:
            there = f"{found.code} is not None and " if found.rep is Rep.OPT else ""
            return f"({there}{found.code} {_PYTHON[op]} {right.code})"
        items = found.code if found.rep is Rep.SEQ else c.bind(seq(c.list(found), found.type)).code
        number = f"{items}[0] {_PYTHON[op]} {right.code} if len({items}) == 1 and type({items}[0]) is int"
        return f"({number} else general_{op}(atomize({items}), [{right.code}]{_more(c, scope)}))"
    flag = out.fresh("f")
    out.line(f"{flag} = False")

    def loops() -> None:
        with out.sealed(), out.region(flag) as region:

            def body(item: Val) -> None:
                def test(left: Side) -> None:
                    with out.block(f"if {general_pair(c, op, left, right, scope)}:"):
                        out.leave(region)

                each_side(c, item, test)

            c.each(many, scope, body, ANY)

    if guard:
        with out.block(f"if {guard}:"):
            loops()
    else:
        loops()
    return flag


def _looks_up(e: ast.Expr) -> bool:
    """Whether an expression gives a list of items of which nothing is known: ``$map($key)``, ``$map?key``."""
    if isinstance(e, ast.Lookup):
        return True
    return (
        isinstance(e, ast.DynamicCall)
        and not isinstance(e.function, ast.InlineFunction)
        and not any(isinstance(arg, ast.Placeholder) for arg in e.args)
    )


def _named(c: Compiler, code: str) -> str:
    name = c.out.fresh("s")
    c.out.line(f"{name} = {code}")
    return name


def _both_single(c: Compiler, op: str, many: ast.Expr, right: Side, guard: str, scope: Scope) -> str | None:
    """Without any loop, where both sides are one atomic value at most. None: after all a loop is needed."""
    if isinstance(many, (ast.Path, ast.AxisStep)):
        return None
    val = c.value(many, scope)
    if val.type.none:
        return "False"
    if val.rep is Rep.ROW and val.type.kind in _UNTYPED_NODES:
        test = general_pair(c, op, Side("untyped", c.text(val), raw=True), right, scope)
        return f"({guard} and {test})" if guard else f"({test})"
    if val.rep is Rep.SEQ or not (val.type.is_atomic or val.type.is_node):
        return (
            f"general_{op}(atomize({c.list(val)}), [{right.typed}]{_more(c, scope)})"
            if not guard
            else (f"({guard} and general_{op}(atomize({c.list(val)}), [{right.typed}]{_more(c, scope)}))")
        )
    atom = c.atom(val, f"an operand of {op}")
    atom = atom if atom.constant else c.bind(atom)
    tests = [guard] if guard else []
    if atom.rep is Rep.OPT:
        tests.append(f"{atom.code} is not None")
    tests.append(general_pair(c, op, side_of(c, atom), right, scope))
    return f"({' and '.join(tests)})"


def _more(c: Compiler, scope: Scope) -> str:
    return "" if c.plain_collation(scope) else f", {collation_code(c, scope)}"


def _generic(c: Compiler, op: str, many: ast.Expr, others: str, scope: Scope) -> str:
    right = c.out.fresh("l")
    c.out.line(f"{right} = atomize({others})")
    left = c.atoms(c.value(many, scope))
    return f"general_{op}({c.list(left)}, {right}{_more(c, scope)})"


def _against_many(c: Compiler, op: str, left: ast.Expr, right: ast.Expr, scope: Scope) -> str:
    """Both sides are sequences: the right one is collected as atomic values (text where it is untyped)."""
    out = c.out
    column = out.fresh("l")
    out.line(f"{column} = []")
    kept: list[tuple[Side, Slot]] = []

    def keep(item: Val) -> None:
        each_side(c, item, lambda side: kept.append((side, out.slot())))

    with out.sealed():
        c.each(right, scope, keep, ANY)
    if not kept:
        return "False"
    other = kept[0][0]
    if any((side.kind, side.raw) != (other.kind, other.raw) for side, _ in kept):
        other = Side("atomic", "")  # text that stands for untyped values must say so among others
    for side, slot in kept:
        out.fill(slot, f"{column}.append({side.code if other.raw else side.typed})")
    flag = out.fresh("f")
    out.line(f"{flag} = False")
    with out.sealed(), out.region(flag) as region:

        def body(item: Val) -> None:
            def test(side: Side) -> None:
                if op == "eq" and other.kind in _TEXTUAL and side.kind in _TEXTUAL and c.plain_collation(scope):
                    with out.block(f"if {side.code} in {column}:"):
                        out.leave(region)
                    return
                if not side.code.isidentifier():
                    side = Side(side.kind, _named(c, side.code), side.raw)
                name = out.fresh()
                with out.loop(f"for {name} in {column}:"):
                    pair = general_pair(c, op, side, Side(other.kind, name, other.raw), scope)
                    with out.block(f"if {pair}:"):
                        out.leave(region)

            each_side(c, item, test)

        c.each(left, scope, body, ANY)
    return flag


def _stays(c: Compiler, kept: ast.Expr, varying: ast.Expr, scope: Scope) -> bool:
    """Whether one side of ``=`` is a sequence that is the same in a loop around in which the other varies."""
    return (
        isinstance(kept, (ast.Path, ast.Filter, ast.VarRef, ast.FLWOR, ast.FunctionCall))
        and not is_single(c, kept, scope)
        and c.analysis.repeatable(kept)
        and c.level(kept, scope) < min(c.open_loops, c.level(varying, scope))
    )


def _against_kept(c: Compiler, varying: ast.Expr, kept: ast.Expr, scope: Scope) -> str:
    """``varying = kept``, a semi-join: the values that stay the same are hashed once, the others looked up."""
    out = c.out
    cell = c.hoisted(c.level(kept, scope))
    values = out.fresh("x")
    kinds: list[str] = []

    def keep(side: Side) -> None:
        kinds.append(side.kind)
        if side.raw:
            out.line(f"{values}.untyped[{side.code}] = None")
        else:
            out.line(f"{values}.add({side.typed})")

    out.line(f"{values} = {cell}[0]")
    with out.sealed(), out.block(f"if {values} is None:"):
        out.line(f"{values} = {cell}[0] = ValueSet()")
        c.each(kept, scope, lambda item: each_side(c, item, keep), ANY)
    flag = out.fresh("f")
    out.line(f"{flag} = False")
    with out.sealed(), out.region(flag) as region:

        def test(side: Side) -> None:
            if side.kind in _TEXTUAL and set(kinds) == {"untyped"}:
                found = f"{side.code} in {values}.untyped"
            else:
                found = f"{values}.has({side.typed})"
            with out.block(f"if {found}:"):
                out.leave(region)

        c.each(varying, scope, lambda item: each_side(c, item, test), ANY)
    return flag


@value(ast.GeneralComparison)
def general_value(c: Compiler, e: ast.GeneralComparison, scope: Scope) -> Val:
    return one(c.cond(e, scope), BOOLEAN)


# --------------------------------------------------------------------------------------------- eq, lt and so on


def _value_operand(c: Compiler, e: ast.Expr, scope: Scope, op: str) -> tuple[Side | None, str]:
    """The operand and the condition that it is there."""
    val = c.value(e, scope)
    if val.type.none:
        return None, ""
    if val.rep is Rep.ROW and val.type.kind in _UNTYPED_NODES:
        text = c.text(val)
        return Side("untyped", text if text.isidentifier() else _named(c, text), raw=True), ""
    atom = c.atom(val, f"an operand of {op}")
    atom = atom if atom.constant else c.bind(atom)
    return side_of(c, atom), f"{atom.code} is not None" if atom.rep is Rep.OPT else ""


def _value_test(c: Compiler, op: str, left: Side, right: Side, scope: Scope) -> str:
    if left.kind in _TEXTUAL and right.kind in _TEXTUAL and c.plain_collation(scope):
        return f"{left.code} {_PYTHON[op]} {right.code}"
    if _direct(left, right):
        return f"{left.code} {_PYTHON[op]} {right.code}"
    if c.plain_collation(scope):
        return f"value_{op}({left.typed}, {right.typed})"
    return f"value_compare({op!r}, {left.typed}, {right.typed}, {collation_code(c, scope)})"


@value(ast.ValueComparison)
def comparison_value(c: Compiler, e: ast.ValueComparison, scope: Scope) -> Val:
    clock = clock_comparison(c, e, scope)
    if clock is not None:
        return clock
    left, left_there = _value_operand(c, e.left, scope, e.op)
    right, right_there = _value_operand(c, e.right, scope, e.op)
    if left is None or right is None:
        return opt("None", EMPTY)
    test = _value_test(c, e.op, left, right, scope)
    there = " and ".join(part for part in (left_there, right_there) if part)
    if not there:
        return one(f"({test})", BOOLEAN)
    return opt(f"({test} if {there} else None)", BOOLEAN)


@cond(ast.ValueComparison)
def comparison_cond(c: Compiler, e: ast.ValueComparison, scope: Scope) -> str:
    clock = clock_comparison(c, e, scope)
    if clock is not None:
        return clock.code
    left, left_there = _value_operand(c, e.left, scope, e.op)
    right, right_there = _value_operand(c, e.right, scope, e.op)
    if left is None or right is None:
        return "False"
    parts = [part for part in (left_there, right_there) if part]
    return f"({' and '.join([*parts, _value_test(c, e.op, left, right, scope)])})"

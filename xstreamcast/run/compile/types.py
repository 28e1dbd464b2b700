"""Types in the syntax made into run-time types; conversion, ``instance of``, ``treat``, ``cast``, typeswitch."""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.model import types as t
from xstreamcast.model.atomic import QName
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import cond, value
from xstreamcast.run.compile.values import (
    BOOLEAN,
    ITEMS,
    Rep,
    Type,
    Val,
    item_kind,
    one,
    opt,
    seq,
    static_type,
)

_KINDS = {"node": None, "text": TEXT, "comment": COMMENT, "namespace-node": NAMESPACE}


def _qname(name: ast.Name) -> QName:
    return QName(name.uri or "", name.local, name.prefix or "")


def _named_test(kind: int, test: ast.ElementTest | ast.AttributeTest) -> t.NodeTest:
    name = None if test.name is None else _qname(test.name)
    return t.NodeTest(kind, name, None if test.type is None else test.type.local)


def item_type(c: Compiler, test: ast.ItemType | ast.NodeTest) -> t.ItemType:
    """The run-time item type."""
    if isinstance(test, ast.AnyItem):
        return t.ITEM
    if isinstance(test, ast.AtomicType):
        return atomic_type(c, test.name)
    if isinstance(test, ast.KindTest):
        return t.NodeTest(_KINDS[test.kind])
    if isinstance(test, ast.ElementTest):
        return _named_test(ELEMENT, test)
    if isinstance(test, ast.AttributeTest):
        return _named_test(ATTRIBUTE, test)
    if isinstance(test, ast.PITest):
        return t.NodeTest(PI, QName("", test.target) if test.target is not None else None)
    if isinstance(test, ast.DocumentTest):
        content = test.content and item_type(c, test.content)
        assert content is None or isinstance(content, t.NodeTest)
        return t.NodeTest(DOCUMENT, content=content)
    if isinstance(test, ast.MapTest):
        if test.key is None or test.value is None:
            return t.MapTest()
        return t.MapTest(atomic_type(c, test.key.name), sequence_type(c, test.value))
    if isinstance(test, ast.ArrayTest):
        return t.ArrayTest(None if test.member is None else sequence_type(c, test.member))
    if isinstance(test, ast.FunctionTest):
        if test.params is None:
            return t.FunctionTest()
        params = tuple(sequence_type(c, param) for param in test.params)
        return t.FunctionTest(params, None if test.result is None else sequence_type(c, test.result))
    raise c.fault("XPST0008", "schemas are not supported")


def atomic_type(c: Compiler, name: ast.Name) -> t.AtomicType:
    found = t.TYPES.get(name.local) or t.LIST_TYPES.get(name.local)
    if found is None:
        raise c.fault("XPST0051", f"there is no type {name.lexical}")
    return found


def sequence_type(c: Compiler, declared: ast.SequenceType) -> t.SequenceType:
    """The run-time sequence type."""
    if declared.item is None:
        return t.EMPTY
    return t.SequenceType(item_type(c, declared.item), declared.occurrence)


# -------------------------------------------------------------------------------------------------- conversion


def _fits(kind: Type, expected: t.SequenceType) -> bool:
    """Whether every item of a static kind is sure to match the item type."""
    target = expected.item
    if expected.occurrence == "0":
        return False
    if isinstance(target, t.AnyItem):
        return True
    if isinstance(target, t.NodeTest):
        if not kind.is_node:
            return False
        if target.kind is None:
            return True
        return item_kind(target) == kind.kind and target == t.NodeTest(target.kind)
    if isinstance(target, t.AtomicType):
        if target.name == "anyAtomicType":
            return kind.is_atomic
        if target.name == "numeric":
            return kind.is_number
        if target.name == "decimal":
            return kind.is_exact
        own = item_kind(target)
        return own == kind.kind and target.name in ("string", "boolean", "integer", "double", "untypedAtomic")
    if isinstance(target, t.MapTest):
        return kind.kind == "map" and target.key is None
    if isinstance(target, t.ArrayTest):
        return kind.kind == "array" and target.member is None
    return kind.is_function and target.params is None


def convert(c: Compiler, val: Val, expected: t.SequenceType, role: str) -> Val:
    """The function conversion rules, as little of them as the static types leave to do."""
    kind = val.type
    target = expected.item
    if expected.occurrence == "0":
        return seq(f"convert({c.list(val)}, {_constant(c, expected)}, {c.out.literal(role)})", kind)
    if _fits(kind, expected) and not kind.none:
        if expected.allows_many and (expected.allows_empty or kind.low):
            return seq(c.list(val), kind)
        if not expected.allows_many and val.rep in (Rep.ONE, Rep.ROW):
            return one(c.item(val), kind) if val.rep is Rep.ROW else val
        if expected.occurrence == "?" and val.rep is Rep.OPT:
            return val
        if expected.occurrence == "?":
            return opt(f"opt({val.code}, {c.out.literal(role)})", kind)
    if isinstance(target, t.AtomicType) and val.rep in (Rep.ROW, Rep.ONE) and not expected.allows_many:
        made = _convert_one(c, val, target, role)
        if made is not None:
            return made
    result = static_type(expected)
    name = "convert" if expected.allows_many else "convert_opt" if expected.allows_empty else "convert_one"
    code = f"{name}({c.list(val)}, {_constant(c, expected)}, {c.out.literal(role)})"
    if expected.allows_many:
        return seq(code, result)
    return opt(code, result) if expected.allows_empty else one(code, result)


def _convert_one(c: Compiler, val: Val, target: t.AtomicType, role: str) -> Val | None:
    kind = val.type
    if kind.kind in ("element", "attribute", "text", "document"):
        if target.name == "string":
            return one(c.text(val), Type("string"))
        if target.name in ("double", "numeric"):
            return one(f"parse_double({c.text(val)})", Type("double"))
        if target.name == "anyAtomicType":
            return c.atom(val, role)
    if kind.is_atomic:
        bound = c.bind(val)
        classes = c.out.constant(target.classes, hashable=True)
        atomic = c.out.constant(target)
        code = (
            f"({bound.code} if type({bound.code}) in {classes} else "
            f"convert_item({bound.code}, {atomic}, {c.out.literal(role)}))"
        )
        return one(code, Type(item_kind(target)))
    return None


def _constant(c: Compiler, expected: t.SequenceType) -> str:
    return c.out.constant(expected)


def declared(c: Compiler, val: Val, type_: ast.SequenceType | None, role: str, code: str = "XPTY0004") -> Val:
    """A value bound to a variable ``as T``: it must match, nothing is converted (XQuery 3.1 §3.12.2)."""
    if type_ is None:
        return val
    expected = sequence_type(c, type_)
    return treat(c, val, expected, role, code)


def treat(c: Compiler, val: Val, expected: t.SequenceType, role: str, code: str) -> Val:
    kind = val.type
    if _fits(kind, expected) and not kind.none:
        if expected.occurrence == "*":
            return val
        if val.rep in (Rep.ONE, Rep.ROW):
            return val
        if expected.occurrence == "?" and val.rep is Rep.OPT:
            return val
    narrowed = static_type(expected)
    if kind.is_atomic and narrowed.kind == "item":
        narrowed = replace(narrowed, kind=kind.kind)
    made = c.bind(seq(c.list(val), kind))
    c.out.line(f"treat({made.code}, {_constant(c, expected)}, {c.out.literal(role)}, {code!r})")
    if expected.occurrence == "":
        return one(f"{made.code}[0]", narrowed)
    if expected.occurrence == "?":
        return opt(f"({made.code}[0] if {made.code} else None)", narrowed)
    keeps = kind.is_node and kind.sorted
    return seq(made.code, replace(narrowed, sorted=keeps, disjoint=keeps and kind.disjoint))


# -------------------------------------------------------------------------------------------------- expressions


@value(ast.InstanceOf)
def instance_value(c: Compiler, e: ast.InstanceOf, scope: Scope) -> Val:
    expected = sequence_type(c, e.type)
    val = c.value(e.operand, scope)
    if val.rep is Rep.ONE and expected.occurrence != "0":
        return one(f"{c.out.constant(expected.item)}.matches({val.code})", BOOLEAN)
    return one(f"{_constant(c, expected)}.matches({c.list(val)})", BOOLEAN)


@value(ast.TreatAs)
def treat_value(c: Compiler, e: ast.TreatAs, scope: Scope) -> Val:
    return treat(c, c.value(e.operand, scope), sequence_type(c, e.type), "treat as", "XPDY0050")


def _namespaces(c: Compiler, scope: Scope) -> str:
    """Prefixes for casts to xs:QName; "" is the default element namespace."""
    static = scope.static
    return c.out.constant({**static.namespaces, "": static.default_element_namespace})


@value(ast.CastAs)
def cast_value(c: Compiler, e: ast.CastAs, scope: Scope) -> Val:
    target = atomic_type(c, e.type.name)
    operand = c.bind(c.atom(c.value(e.operand, scope), "the operand of cast"))
    more = f", {_namespaces(c, scope)}" if target.name in ("QName", "NOTATION") else ""
    code = f"cast({operand.code}, {c.out.constant(target)}{more})"
    if target.members is not None:
        return seq(f"cast_list({operand.code}, {c.out.constant(target)}, {e.type.optional})", Type("atomic"))
    kind = Type(item_kind(target))
    if operand.rep is Rep.ONE:
        return one(code, kind)
    if e.type.optional:
        return opt(f"(None if {operand.code} is None else {code})", kind)
    return one(f"(cast_of_empty() if {operand.code} is None else {code})", kind)


@value(ast.CastableAs)
def castable_value(c: Compiler, e: ast.CastableAs, scope: Scope) -> Val:
    target = atomic_type(c, e.type.name)
    val = c.value(e.operand, scope)
    more = f", {_namespaces(c, scope)}" if target.name in ("QName", "NOTATION") else ", None"
    return one(f"castable_sequence({c.list(val)}, {c.out.constant(target)}, {e.type.optional}{more})", BOOLEAN)


@cond(ast.InstanceOf, ast.CastableAs)
def type_cond(c: Compiler, e: ast.Expr, scope: Scope) -> str:
    return c.value(e, scope).code


@value(ast.Typeswitch)
def typeswitch_value(c: Compiler, e: ast.Typeswitch, scope: Scope) -> Val:
    from xstreamcast.run.compile.control import Branches

    operand = c.bind(c.value(e.operand, scope))
    whole = c.bind(seq(c.list(operand), operand.type))
    branches = Branches(c)

    with branches:
        for number, case in enumerate(e.cases):
            types = [sequence_type(c, type_) for type_ in case.types]
            tests = " or ".join(f"{_constant(c, type_)}.matches({whole.code})" for type_ in types)
            with c.out.block(f"{'elif' if number else 'if'} {tests}:"):
                inner = scope
                if case.var is not None:
                    inner = c.declare(scope, (case.var, _narrow(whole, types)))
                branches.add(c.value(case.result, inner))
        with c.out.block("else:"):
            inner = c.declare(scope, (e.default_var, operand)) if e.default_var is not None else scope
            branches.add(c.value(e.default, inner))
    return branches.result()


def _narrow(whole: Val, types: list[t.SequenceType]) -> Val:
    """The operand as a case sees it: its static type is the case's."""
    if len(types) != 1:
        return whole
    known = static_type(types[0])
    if types[0].occurrence == "":
        return one(f"{whole.code}[0]", known)
    if types[0].occurrence == "0":
        return seq(whole.code, ITEMS)
    return seq(whole.code, replace(known, sorted=whole.type.sorted, low=0, many=True))

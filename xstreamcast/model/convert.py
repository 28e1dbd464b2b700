"""Atomisation and the function conversion rules (XQuery 3.1 §2.4.2, §3.1.5.2)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from xstreamcast.errors import error
from xstreamcast.model.atomic import AnyURI, Float, Item, Untyped
from xstreamcast.model.cast import cast
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.tree import Node
from xstreamcast.model.types import (
    BOOLEAN,
    DOUBLE,
    EXACT,
    FLOAT,
    INTEGER,
    NUMERIC,
    STRING,
    AtomicType,
    FunctionTest,
    SequenceType,
    describe,
    describe_sequence,
)


def atomize(items: Iterable[Item]) -> list[Item]:
    """fn:data: typed values of nodes, members of arrays; FOTY0013 for other functions."""
    values: list[Item] = []
    for item in items:
        if isinstance(item, Node):
            values.append(item.typed)
        elif isinstance(item, FunctionItem):
            _atomize_array(item, values)
        else:
            values.append(item)
    return values


def _atomize_array(item: FunctionItem, values: list[Item]) -> None:
    if not isinstance(item, Array):
        raise error("FOTY0013", f"a {describe(item)} has no typed value")
    for member in item.members():
        values.extend(atomize(member))


def atomize_single(items: list[Item], role: str) -> Item | None:
    """The one atomic value of a sequence, ``None`` if it is empty, XPTY0004 if there are more."""
    if len(items) == 1:
        item = items[0]
        if isinstance(item, Node):
            return item.typed
        if not isinstance(item, FunctionItem):
            return item
    values = atomize(items)
    if len(values) > 1:
        raise error("XPTY0004", f"{role} has {len(values)} values where at most one is allowed")
    return values[0] if values else None


def single_atomic(items: list[Item], role: str) -> Item:
    value = atomize_single(items, role)
    if value is None:
        raise error("XPTY0004", f"{role} is empty")
    return value


def single_integer(items: list[Item], role: str) -> int:
    value: int = convert_item(single_atomic(items, role), INTEGER, role)
    return value


def single_boolean(items: list[Item], role: str) -> bool:
    """The result of a callback declared ``as xs:boolean``."""
    if len(items) == 1 and type(items[0]) is bool:
        return items[0]
    value: bool = convert_item(single_atomic(items, role), BOOLEAN, role)
    return value


def convert_item(item: Item, target: AtomicType, role: str) -> Item:
    """One atomic value to an expected atomic type: untyped cast, numeric and URI promotion, else XPTY0004."""
    kind = type(item)
    if kind in target.classes:
        return item
    if kind is Untyped:
        if target is NUMERIC:
            return cast(item, DOUBLE)
        if target.name in ("QName", "NOTATION"):
            raise error("XPTY0117", f"{role}: untyped text is not converted to {target}")
        return cast(item, target)
    if target is DOUBLE and (kind is Float or kind in EXACT):
        return to_double(item)
    if target is FLOAT and kind in EXACT:
        return Float(to_double(item))
    if kind is AnyURI and target is STRING:
        return str(item)
    raise error("XPTY0004", f"{role}: expected {target}, found {describe(item)}")


def to_double(number: int | Decimal | float) -> float:
    """A number as xs:double; integers beyond its range become infinite."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def convert(value: list[Item], expected: SequenceType, role: str) -> list[Item]:
    """A sequence by the function conversion rules, or XPTY0004. ``role`` names the place in messages."""
    target = expected.item
    if isinstance(target, AtomicType):
        classes = target.classes
        if len(value) == 1:
            if type(value[0]) not in classes:
                value = [convert_item(v, target, role) for v in atomize(value)]
        else:
            value = [v if type(v) in classes else convert_item(v, target, role) for v in atomize(value)]
    elif isinstance(target, FunctionTest) and target.params is not None:
        value = [coerce(item, target, role) for item in value]
    elif not expected.matches(value):
        raise error("XPTY0004", f"{role}: expected {expected}, found {describe_sequence(value)}")
    size = len(value)
    if size == 1:
        if expected.occurrence != "0":
            return value
    elif expected.allows_empty if size == 0 else expected.allows_many:
        return value
    raise error("XPTY0004", f"{role}: expected {expected}, found {describe_sequence(value)}")


def convert_arguments(args: list[list[Item]], params: tuple[SequenceType, ...], described: str) -> list[list[Item]]:
    return [
        convert(arg, expected, f"argument {number} of {described}")
        for number, (arg, expected) in enumerate(zip(args, params, strict=True), 1)
    ]


def convert_result(value: list[Item], expected: SequenceType, described: str) -> list[Item]:
    return convert(value, expected, f"the result of {described}")


def coerce(item: Item, expected: FunctionTest, role: str) -> FunctionItem:
    """Function coercion: a function that converts its arguments and result to the expected signature."""
    params = expected.params
    assert params is not None
    if not isinstance(item, FunctionItem):
        raise error("XPTY0004", f"{role}: expected {expected}, found {describe(item)}")
    if item.arity != len(params):
        raise error("XPTY0004", f"{role}: expected a function of arity {len(params)}, found arity {item.arity}")
    if expected.trusted:
        return item
    return FunctionItem(item.name, item.arity, item.invoke, params, expected.result, item.annotations)

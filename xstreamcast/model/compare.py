"""Comparison of atomic values: ``eq`` and its kin, general comparisons, ordering, hash keys, effective booleans.

Value comparison (XQuery 3.1 §3.7.1): xs:untypedAtomic counts as xs:string; numbers are promoted; values of different
families are XPTY0004. General comparison (§3.7.2): an untyped operand takes the other's type, xs:double for numbers.

Hot loops call :data:`VALUE` and :data:`GENERAL` by operator; both have a path without any object made for equal
Python types, for text against text and for untyped text against numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from decimal import Decimal
from math import inf, isnan
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import Base64Binary, Float, HexBinary, Item, QName, Untyped
from xstreamcast.model.cast import cast
from xstreamcast.model.collation import CODEPOINTS, Collation
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.tree import Node
from xstreamcast.model.types import NUMERIC, TEXTUAL, TYPES, describe, describe_sequence, type_of

Relation = Callable[[Any, Any], Any]

_RELATIONS: Final[dict[str, Relation]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
#: General operators and the value operators they repeat over pairs.
GENERAL_OPERATORS: Final = {"=": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

#: Types whose values compare by Python's own operators when both sides have the very same type.
_DIRECT: Final = frozenset({str, Untyped, int, float, Decimal, bool, Float})

#: The family of a class: two values compare when their families are one. Ordered families have a key.
_FAMILY: Final[dict[type, str]] = (
    dict.fromkeys(sorted(TEXTUAL, key=repr), "string")
    | dict.fromkeys(sorted(NUMERIC.classes, key=repr), "number")
    | {bool: "boolean", QName: "QName", HexBinary: "hexBinary", Base64Binary: "base64Binary"}
    | {cls: cls.atomic for cls in dt.MOMENTS}
    | {dt.DateTimeStamp: "dateTime"}
    | dict.fromkeys(dt.DURATIONS, "duration")
)
_UNORDERED: Final = frozenset({"QName", "gYearMonth", "gYear", "gMonthDay", "gDay", "gMonth"})


def _incomparable(a: Item, b: Item, op: str) -> XStreamError:
    return error("XPTY0004", f"{describe(a)} {op} {describe(b)}: these types do not compare")


def _numbers(a: Any, b: Any) -> tuple[Any, Any]:
    """Two numbers promoted to a common type; exact types stay exact."""
    if isinstance(a, float) or isinstance(b, float):
        if (isinstance(a, float) and type(a) is not Float) or (isinstance(b, float) and type(b) is not Float):
            return _double(a), _double(b)
        return Float(_double(a)), Float(_double(b))
    return a, b


def _double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _mixed(a: Item, b: Item, op: str, relation: Relation, collation: Collation) -> bool:
    """A value comparison off the fast path."""
    family = _FAMILY.get(type(a))
    if family is None or family != _FAMILY.get(type(b)):
        raise _incomparable(a, b, op)
    if family == "number":
        return bool(relation(*_numbers(a, b)))
    if family == "string":
        key = collation.key
        return bool(relation(key(a), key(b)))
    if op in ("eq", "ne"):
        return bool(relation(a, b))
    if family in _UNORDERED:
        raise error("XPTY0004", f"{describe(a)} values have no order")
    if family == "duration":
        if type(a) is not type(b) or type(a) is dt.Duration:
            raise error("XPTY0004", f"{describe(a)} and {describe(b)} have no common order")
        return bool(relation(a.months + a.ticks, b.months + b.ticks))  # one of the two is zero throughout
    if isinstance(a, dt.Moment):
        return bool(relation(a.utc, b.utc))
    if isinstance(a, HexBinary):
        return bool(relation(a.octets, b.octets))
    return bool(relation(a, b))


def value_compare(op: str, a: Item, b: Item, collation: Collation = CODEPOINTS) -> bool:
    """``a op b`` for ``eq ne lt le gt ge`` on two atomic values."""
    return _mixed(a, b, op, _RELATIONS[op], collation)


def _value_operator(op: str) -> Callable[[Item, Item], bool]:
    relation = _RELATIONS[op]

    def compare(a: Item, b: Item) -> bool:
        if type(a) is type(b) and type(a) in _DIRECT:
            return relation(a, b)  # type: ignore[no-any-return]  # both are plain Python values
        return _mixed(a, b, op, relation, CODEPOINTS)

    return compare


#: Value comparison under the codepoint collation, by operator.
VALUE: Final[dict[str, Callable[[Item, Item], bool]]] = {op: _value_operator(op) for op in _RELATIONS}


def _untyped_as(text: str, other: Item) -> Item:
    """The untyped side of a general comparison in the type of the other side."""
    kind = type(other)
    if kind in TEXTUAL:
        return text
    if kind in NUMERIC.classes:
        return parse_double(text)
    if isinstance(other, dt.Duration):
        return cast(text, type_of(other))
    if kind not in _FAMILY:
        raise error("XPTY0004", f"{describe(other)} does not compare")
    return cast(text, TYPES[_FAMILY[kind]])


def _pair_operator(op: str) -> Callable[..., bool]:
    relation = _RELATIONS[op]

    def compare(a: Item, b: Item, collation: Collation = CODEPOINTS) -> bool:
        kind, other = type(a), type(b)
        if kind is Untyped:
            if other is float or (other is int and -_EXACT_INTEGERS < b < _EXACT_INTEGERS):
                return relation(parse_double(a), b)  # type: ignore[no-any-return]  # two numbers
            if other is Untyped or other is str:
                if collation is CODEPOINTS:
                    return relation(a, b)  # type: ignore[no-any-return]  # two texts
            else:
                a = _untyped_as(a, b)
        elif other is Untyped:
            if kind is float or (kind is int and -_EXACT_INTEGERS < a < _EXACT_INTEGERS):
                return relation(a, parse_double(b))  # type: ignore[no-any-return]  # two numbers
            if kind is str and collation is CODEPOINTS:
                return relation(a, b)  # type: ignore[no-any-return]  # two texts
            b = _untyped_as(b, a)
        elif kind is other and kind in _DIRECT and collation is CODEPOINTS:
            return relation(a, b)  # type: ignore[no-any-return]  # both are plain Python values
        return _mixed(a, b, op, relation, collation)

    return compare


_EXACT_INTEGERS: Final = 2**53  # integers up to here equal their doubles

#: One pair of a general comparison, by value operator; also given a collation.
PAIR: Final[dict[str, Callable[..., bool]]] = {op: _pair_operator(op) for op in _RELATIONS}


def _general_operator(op: str) -> Callable[..., bool]:
    relation = _RELATIONS[op]
    pair = PAIR[op]
    is_eq = op == "eq"

    def compare(left: list[Item], right: list[Item], collation: Collation = CODEPOINTS) -> bool:
        """``left op right`` on atomised sequences: true when some pair is."""
        if collation is not CODEPOINTS:
            return any(pair(a, b, collation) for a in left for b in right)
        if len(left) == 1 and len(right) == 1:
            return pair(left[0], right[0])
        for a in left:
            kind = type(a)
            textual = kind is str or kind is Untyped
            if textual and is_eq and len(right) > 4 and a in right:  # Python's == holds for equal text only
                return True
            for b in right:
                other = type(b)
                if textual and (other is str or other is Untyped):
                    if relation(a, b):
                        return True
                elif pair(a, b):
                    return True
        return False

    return compare


#: General comparison of atomised sequences, by operator (``=``, ``<`` …), a collation may follow.
GENERAL: Final[dict[str, Callable[..., bool]]] = {
    symbol: _general_operator(op) for symbol, op in GENERAL_OPERATORS.items()
}


class _Key:
    """A named hash key."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


#: The hash key of NaN: NaN groups with itself, though ``NaN eq NaN`` is false; an equi-join must skip it.
NAN_KEY: Final = _Key("NaN")
_TRUE: Final = _Key("true")
_FALSE: Final = _Key("false")


class _Inexact:
    """The key of an exact number that no double equals: as itself against exact numbers, rounded against doubles."""

    __slots__ = ("double", "value")

    def __init__(self, value: int | Decimal, double: float) -> None:
        self.value = value
        self.double = double

    def __hash__(self) -> int:
        return hash(self.double)

    def __eq__(self, other: object) -> bool:
        if type(other) is _Inexact:
            return self.value == other.value
        return isinstance(other, float) and self.double == other


def hash_key(item: Item, collation: Collation = CODEPOINTS) -> Any:
    """A hashable that is equal for two values exactly when ``eq`` is true, NaN (see :data:`NAN_KEY`) apart.

    Values of different families have different keys where ``eq`` would raise. Untyped text is text; cast it first
    where it meets numbers. ``eq`` is not transitive between xs:float and xs:decimal: there xs:float counts as the
    double it is.
    """
    kind = type(item)
    if kind is str or kind is Untyped:
        return item if collation is CODEPOINTS else collation.key(item)
    if kind is float or kind is Float:
        return NAN_KEY if item != item else item
    if kind is bool:
        return _TRUE if item else _FALSE
    if kind is int and -_EXACT_INTEGERS <= item <= _EXACT_INTEGERS:
        return item
    family = _FAMILY.get(kind)
    if family == "number":
        double = _double(item)
        return item if double == item else _Inexact(item, double)
    if family == "string":
        return str(item) if collation is CODEPOINTS else collation.key(item)
    return item


def equal_or_nan(a: Item, b: Item, collation: Collation = CODEPOINTS) -> bool:
    """``a eq b``, or both NaN; values that do not compare are unequal. What distinct-values and deep-equal ask."""
    family = _FAMILY.get(type(a))
    if family != _FAMILY.get(type(b)):
        return False
    if family == "number" and a != a:
        return bool(b != b)
    return _mixed(a, b, "eq", operator.eq, collation)


def families(items: Iterable[Item]) -> set[str]:
    """The comparison families among atomic values."""
    return {_FAMILY.get(type(item), "") for item in items}


def order_keys(column: list[Item | None], empty_greatest: bool, collation: Collation = CODEPOINTS) -> list[Any]:
    """Sort keys for one ``order by`` column (XQuery 3.1 §3.12.8), ``None`` standing for the empty sequence.

    () is least or greatest as asked; NaN is next to it, inside; all other values must be of one ordered family.
    """
    present = [item for item in column if item is not None]
    found = families(present)
    if len(found) > 1:
        first = present[0]
        other = next(item for item in present if _FAMILY.get(type(item)) != _FAMILY.get(type(first)))
        raise error("XPTY0004", f"order by: {describe(first)} and {describe(other)} do not compare")
    family = min(found, default="string")
    if present and (family in _UNORDERED or family == ""):
        raise error("XPTY0004", f"order by: {describe(present[0])} values have no order")
    if family == "string":
        keys: list[Any] = (
            column if collation is CODEPOINTS else [None if item is None else collation.key(item) for item in column]
        )
    elif family == "duration":
        _check_durations(present)
        keys = [None if item is None else item.months + item.ticks for item in column]
    elif family in ("dateTime", "date", "time"):
        keys = [None if item is None else item.utc for item in column]
    elif family.endswith("Binary"):
        keys = [None if item is None else item.octets for item in column]
    else:
        keys = column
    special = len(present) < len(column) or (
        family == "number" and any(isinstance(item, float) and isnan(item) for item in present)
    )
    if not special:
        return keys
    empty, not_a_number, value = (2, 1, 0) if empty_greatest else (0, 1, 2)
    return [(empty, 0) if key is None else (not_a_number, 0) if key != key else (value, key) for key in keys]


def _check_durations(items: list[Item]) -> None:
    kinds = {type(item) for item in items}
    if len(kinds) > 1 or dt.Duration in kinds:
        raise error("XPTY0004", "order by: durations only compare within one of the two ordered subtypes")


def effective_boolean(items: list[Item]) -> bool:
    """The effective boolean value (XQuery 3.1 §2.4.3) of a sequence; FORG0006 if it has none."""
    if not items:
        return False
    first = items[0]
    kind = type(first)
    if kind is bool and len(items) == 1:
        return first  # type: ignore[no-any-return]  # Item is Any
    if isinstance(first, Node):
        return True
    if len(items) == 1:
        if isinstance(first, str):
            return len(first) > 0
        if kind in NUMERIC.classes:
            return bool(first) and first == first
        raise error("FORG0006", f"{describe(first)} has no effective boolean value")
    raise error("FORG0006", f"{describe_sequence(items)}, has no effective boolean value")

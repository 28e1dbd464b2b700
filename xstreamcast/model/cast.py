"""Casting between atomic types (F&O 3.1 §19): the table of what may become what, and how.

``cast(item, type)`` raises XPTY0004 where the table has no entry, FORG0001 where the text or value does not fit,
FOCA… where a number cannot be represented. A cast to a list type (xs:NMTOKENS) gives a list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from math import isfinite
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import (
    AnyURI,
    Base64Binary,
    Float,
    HexBinary,
    Item,
    QName,
    Untyped,
)
from xstreamcast.model.lexical import (
    collapse,
    is_ncname,
    parse_base64,
    parse_boolean,
    parse_decimal,
    parse_double,
    parse_hex,
    parse_integer,
    pattern,
    to_string,
    trim,
)
from xstreamcast.model.types import STRING, TEXTUAL, TYPES, AtomicType, describe, type_of

__all__ = ["cast", "castable", "parse_double", "parse_qname", "to_string"]

_MOMENT_CASTS: Final[dict[type[dt.Moment], frozenset[type[dt.Moment]]]] = {
    dt.DateTime: frozenset(dt.MOMENTS),
    dt.Date: frozenset(dt.MOMENTS) - {dt.Time},
}


def _refused(item: Item, target: str) -> XStreamError:
    return error("XPTY0004", f"{describe(item)} cannot be cast to xs:{target}")


def _invalid(text: str, target: str) -> XStreamError:
    shown = text if len(text) <= 60 else text[:59] + "…"
    return error("FORG0001", f'"{shown}" is not an xs:{target}')


def _to_boolean(item: Item) -> bool:
    if isinstance(item, (int, float, Decimal)):
        return bool(item) and item == item
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return parse_boolean(item)
    raise _refused(item, "boolean")


def _to_double(item: Item) -> float:
    if isinstance(item, (float, int, Decimal)):
        try:
            return float(item)
        except OverflowError:
            return float("inf") if item > 0 else float("-inf")
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return parse_double(item)
    raise _refused(item, "double")


def _to_float(item: Item) -> Float:
    if isinstance(item, (float, int, Decimal)):
        return Float(_to_double(item))
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return Float(parse_double(item))
    raise _refused(item, "float")


def _to_decimal(item: Item) -> Decimal:
    if isinstance(item, (int, Decimal)):
        return Decimal(item)
    if isinstance(item, float):
        if not isfinite(item):
            raise error("FOCA0002", f"{to_string(item)} has no xs:decimal value")
        return Decimal(item) if item else Decimal(0)
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return parse_decimal(item)
    raise _refused(item, "decimal")


def _to_integer(item: Item) -> int:
    if isinstance(item, int):
        return int(item)
    if isinstance(item, float):
        if not isfinite(item):
            raise error("FOCA0002", f"{to_string(item)} has no xs:integer value")
        return int(item)
    if isinstance(item, Decimal):
        return int(item)
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return parse_integer(item)
    raise _refused(item, "integer")


def _to_any_uri(item: Item) -> AnyURI:
    if type(item) in TEXTUAL:
        return AnyURI(collapse(item))
    raise _refused(item, "anyURI")


def _to_hex(item: Item) -> HexBinary:
    if isinstance(item, HexBinary):
        return HexBinary(item.octets)
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return HexBinary(parse_hex(item))
    raise _refused(item, "hexBinary")


def _to_base64(item: Item) -> Base64Binary:
    if isinstance(item, HexBinary):
        return Base64Binary(item.octets)
    if type(item) in TEXTUAL and type(item) is not AnyURI:
        return Base64Binary(parse_base64(item))
    raise _refused(item, "base64Binary")


def _duration_caster(cls: type[dt.Duration]) -> Callable[[Item], dt.Duration]:
    name = cls.atomic

    def to_duration(item: Item) -> dt.Duration:
        if isinstance(item, dt.Duration):
            return cls(item.months, item.ticks)
        if type(item) not in TEXTUAL or type(item) is AnyURI:
            raise _refused(item, name)
        text = trim(item)
        value = dt.parse_duration(text)
        days, _, clock = text.partition("T")
        if (
            value is None
            or (cls is dt.YearMonthDuration and (clock or "D" in days))
            or (cls is dt.DayTimeDuration and ("Y" in days or "M" in days))
        ):
            raise _invalid(item, name)
        return cls(value.months, value.ticks)

    return to_duration


def _moment_caster(cls: type[dt.Moment]) -> Callable[[Item], dt.Moment]:
    name = cls.atomic

    def to_moment(item: Item) -> dt.Moment:
        if isinstance(item, dt.Moment):
            return _recast(item)
        if type(item) not in TEXTUAL or type(item) is AnyURI:
            raise _refused(item, name)
        value = dt.parse_moment(cls, trim(item))
        if value is None:
            raise _invalid(item, name)
        return value

    def _recast(item: dt.Moment) -> dt.Moment:
        family = item.family
        if family is not cls and cls not in _MOMENT_CASTS.get(family, frozenset()):
            raise _refused(item, name)
        if cls is dt.DateTimeStamp and item.tz is None:
            raise error("FORG0001", f"{item} has no timezone, which xs:dateTimeStamp needs")
        return dt.moment(cls, *item.date(), item.local % dt.DAY, item.tz)

    return to_moment


_BOUNDS: Final[dict[str, tuple[int | None, int | None]]] = {
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "nonNegativeInteger": (0, None),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
    "positiveInteger": (1, None),
}


def _integer_caster(name: str, cls: type[int]) -> Callable[[Item], int]:
    low, high = _BOUNDS[name]

    def to_derived(item: Item) -> int:
        value = _to_integer(item)
        if (low is not None and value < low) or (high is not None and value > high):
            raise error("FORG0001", f"{to_string(value)} is out of the range of xs:{name}")
        return cls(value)

    return to_derived


_LINE_BREAKS: Final = str.maketrans("\t\r\n", "   ")


def _string_caster(name: str, cls: type[str]) -> Callable[[Item], str]:
    def to_derived(item: Item) -> str:
        text = to_string(item)
        text = text.translate(_LINE_BREAKS) if name == "normalizedString" else collapse(text)
        form = pattern(name)
        if form is not None and not form.fullmatch(text):
            raise _invalid(text, name)
        return cls(text)

    return to_derived


def _casters() -> dict[str, Callable[[Item], Any]]:
    table: dict[str, Callable[[Item], Any]] = {
        "string": to_string,
        "untypedAtomic": lambda item: Untyped(to_string(item)),
        "boolean": _to_boolean,
        "double": _to_double,
        "float": _to_float,
        "decimal": _to_decimal,
        "integer": _to_integer,
        "anyURI": _to_any_uri,
        "hexBinary": _to_hex,
        "base64Binary": _to_base64,
    }
    for moment in dt.MOMENTS:
        table[moment.atomic] = _moment_caster(moment)
    for duration in dt.DURATIONS:
        table[duration.atomic] = _duration_caster(duration)
    for name, kind in TYPES.items():
        if name not in table and kind.cls is not None:
            if issubclass(kind.cls, int):
                table[name] = _integer_caster(name, kind.cls)
            elif issubclass(kind.cls, str):
                table[name] = _string_caster(name, kind.cls)
    return table


_CASTERS: Final = _casters()


def cast(item: Item, target: AtomicType, namespaces: Mapping[str, str] | None = None) -> Item:
    """``item cast as target``. ``namespaces`` (prefix → URI, "" the default) are for casts of text to xs:QName."""
    if type(item) is target.cls:
        return item
    caster = _CASTERS.get(target.name)
    if caster is not None:
        return caster(item)
    if target.name == "QName":
        return _to_qname(item, namespaces)
    if target.members is not None:
        return _cast_to_list(item, target)
    if target.name == "numeric":
        return _to_numeric(item)
    if target.name == "error":
        raise error("FORG0001", "no value can be cast to xs:error")
    raise error("XPST0080", f"{target} is not a type that values can be cast to")


def _to_numeric(item: Item) -> Item:
    """xs:numeric is the union of xs:double, xs:float and xs:decimal, tried in this order."""
    if type(item) in TYPES["numeric"].classes:
        return item
    return _to_double(item)


def _cast_to_list(item: Item, target: AtomicType) -> list[Item]:
    assert target.members is not None
    if type(item) not in TEXTUAL and not type_of(item).subtype_of(STRING):
        raise _refused(item, target.name)
    words = collapse(item).split(" ") if collapse(item) else []
    if not words:
        raise error("FORG0001", f"{target} needs at least one item")
    return [cast(word, target.members) for word in words]


def _to_qname(item: Item, namespaces: Mapping[str, str] | None) -> QName:
    if isinstance(item, QName):
        return item
    if type(item) not in TEXTUAL or type(item) is AnyURI:
        raise _refused(item, "QName")
    return parse_qname(item, namespaces or {})


def parse_qname(text: str, namespaces: Mapping[str, str]) -> QName:
    """A lexical QName in the light of in-scope namespaces; "" is the default element namespace."""
    prefix, colon, local = trim(text).rpartition(":")
    if not is_ncname(local) or (colon and not is_ncname(prefix)):
        raise _invalid(text, "QName")
    if prefix not in namespaces and prefix:
        raise error("FONS0004", f"no namespace is declared for prefix {prefix}")
    return QName(namespaces.get(prefix, ""), local, prefix)


def castable(item: Item, target: AtomicType, namespaces: Mapping[str, str] | None = None) -> bool:
    try:
        cast(item, target, namespaces)
    except XStreamError as failure:
        if failure.code == "XPST0080":
            raise
        return False
    return True

"""The types of columns: XML Schema's as Arrow has them, lists and records; the narrowest that some values allow.

| of a query | in a table |
|---|---|
| xs:string, xs:anyURI, xs:time, text of nodes | string |
| xs:integer and what is derived from it | 64-bit integer; a decimal where one has more digits |
| xs:decimal | decimal, 38 digits, 18 of them behind the point |
| xs:double, xs:float | double |
| xs:boolean, xs:date | boolean, date |
| xs:dateTime | microseconds in UTC; without a zone it is UTC |
| xs:dayTimeDuration | microseconds |
| xs:base64Binary | bytes |
| several items, an array | list |
| a map, an element with attributes or children | record |

Of two types the wider is that which has the values of both: an integer is a decimal, both are doubles, one item is a
list of one; what else differs is text.

>>> wider(kind_of(1), kind_of([2.5])).told
'double*'
>>> wider(kind_of({"a": 1}), kind_of({"b": "x"})).told
'{a: long, b: string}'
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import reduce
from json import dumps
from typing import Any, Final

from xstreamcast.errors import XStreamError, error

DECIMAL: Final = "decimal(38,18)"
_LONGEST: Final = 1 << 63


@dataclass(frozen=True, slots=True)
class Kind:
    """A type: a name; of a list that of its members, of a record those of its fields."""

    name: str
    item: Kind | None = None
    fields: tuple[tuple[str, Kind], ...] = ()

    @property
    def told(self) -> str:
        """The type in few letters."""
        if self.item is not None:
            return f"{self.item.told}*"
        if self.name == "struct":
            return "{" + ", ".join(f"{name}: {kind.told}" for name, kind in self.fields) + "}"
        return self.name


NULL: Final = Kind("null")
STRING: Final = Kind("string")
LONG: Final = Kind("long")
_DECIMAL: Final = Kind(DECIMAL)
_DOUBLE: Final = Kind("double")
_PLAIN: Final = {
    str: STRING, bool: Kind("boolean"), int: LONG, float: _DOUBLE, Decimal: _DECIMAL, datetime: Kind("timestamp"),
    date: Kind("date"), timedelta: Kind("duration"), bytes: Kind("binary"), type(None): NULL, time: STRING,
}  # fmt: skip
_NUMBERS: Final = ("long", DECIMAL, "double")


def listed(item: Kind) -> Kind:
    """Lists of a type."""
    return Kind("list", item)


def kind_of(value: Any) -> Kind:
    """The narrowest type of a value."""
    found = _PLAIN.get(type(value))
    if found is not None:
        return found if found is not LONG or -_LONGEST <= value < _LONGEST else _DECIMAL
    if isinstance(value, list):
        return listed(reduce(wider, map(kind_of, value), NULL))
    if isinstance(value, dict):
        return Kind("struct", fields=tuple((name, kind_of(member)) for name, member in value.items()))
    return STRING


def kind_of_all(values: Iterable[Any]) -> Kind:
    """The narrowest type that has all of some values."""
    values = list(values)
    types = set(map(type, values))
    if not types & {int, list, dict}:
        return reduce(wider, [_PLAIN.get(each, STRING) for each in sorted(types, key=lambda one: one.__name__)], NULL)
    return reduce(wider, map(kind_of, values), NULL)


def wider(one: Kind, other: Kind) -> Kind:
    """The narrowest type that has the values of both."""
    if one == other or other is NULL:
        return one
    if one is NULL:
        return other
    if one.item is not None or other.item is not None:
        return listed(wider(one.item or one, other.item or other))
    if one.name == other.name == "struct":
        both = dict(one.fields)
        for name, kind in other.fields:
            both[name] = wider(both[name], kind) if name in both else kind
        return Kind("struct", fields=tuple(both.items()))
    if one.name in _NUMBERS and other.name in _NUMBERS:
        return max(one, other, key=lambda kind: _NUMBERS.index(kind.name))
    return STRING


def settled(kind: Kind) -> Kind:
    """A type for a column: one that has had no value at all is text."""
    if kind.item is not None:
        return listed(settled(kind.item))
    if kind.fields:
        return Kind("struct", fields=tuple((name, settled(each)) for name, each in kind.fields))
    return STRING if kind.name in ("null", "struct") else kind


def written(value: Any) -> str:
    """A value as text: as XQuery casts it to xs:string; lists and records as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return dumps(as_json(value), ensure_ascii=False)
    if isinstance(value, float | Decimal | timedelta | bytes):
        from xstreamcast.model.lexical import to_string
        from xstreamcast.model.python_values import atomic_of

        atomic = atomic_of(value)
        assert atomic is not None
        return to_string(atomic)
    return iso(value) if isinstance(value, date | time) else str(value)


def iso(value: date | time) -> str:
    """A moment, as XML Schema writes it."""
    return value.isoformat().replace("+00:00", "Z")


def as_json(value: Any) -> Any:
    """A value as JSON has it; numbers stay numbers, what it has no form for is text."""
    if isinstance(value, dict):
        return {name: as_json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [as_json(member) for member in value]
    if isinstance(value, Decimal):  # a number, if JSON's readers get the same from it
        near = int(value) if value == value.to_integral_value() else float(value)
        return near if Decimal(str(near)) == value else written(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else written(value)
    return written(value)


def fitted(value: Any, kind: Kind, column: str) -> Any:
    """A value as one of a type that is not narrower than its own. XSC0152: it is."""
    if value is None:
        return None if kind.item is None else []
    if kind.item is not None:
        members = value if isinstance(value, list) else [value]
        return [fitted(member, kind.item, column) for member in members]
    if kind.name == "struct" and isinstance(value, dict):
        known = dict(kind.fields)
        for name in value:
            if name not in known:
                raise unfitting(value, kind, column)
        return {name: fitted(value.get(name), each, column) for name, each in kind.fields}
    if kind.name == "string" and not isinstance(value, list):
        return written(value)
    own = kind_of(value)
    if own == kind:
        if kind.name == "timestamp" and value.tzinfo is None:
            return value.replace(tzinfo=UTC)
        return value
    if own.name in _NUMBERS and kind.name in _NUMBERS and wider(own, kind) == kind:
        return Decimal(value) if kind.name == DECIMAL else float(value)
    raise unfitting(value, kind, column)


def unfitting(value: Any, kind: Kind, column: str) -> XStreamError:
    """The error of a value that is not of the type which its column had so far."""
    if isinstance(value, list) and kind.item is None:
        hint = f"a list: --columns '{column}=… as xs:string*', columns="
        return error("XSC0152", f"column {column}: {len(value)} values, where one was told", hint=hint)
    message = f"column {column}: {written(value)[:60]!r}, where it was told to be {kind.told}"
    return error("XSC0152", message, hint=f"say its type: --columns '{column}=… as xs:string', columns=")


def arrow_type(kind: Kind) -> Any:
    """The type, as Arrow has it."""
    import pyarrow as pa

    if kind.item is not None:
        return pa.list_(arrow_type(kind.item))
    if kind.name == "struct":
        return pa.struct([pa.field(name, arrow_type(each)) for name, each in kind.fields])
    return {
        "string": pa.string(), "long": pa.int64(), "double": pa.float64(), DECIMAL: pa.decimal128(38, 18),
        "boolean": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
        "duration": pa.duration("us"), "binary": pa.binary(), "null": pa.string(),
    }[kind.name]  # fmt: skip

"""Keys as Spark compares them: bytes that are equal, or order, exactly as XQuery says of the values they stand for.

What a value will be is told by the form of its expression, for Spark's operators need one kind of key on both sides and
in every row. Where it does not tell, nothing is joined or sorted by keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from enum import Enum
from itertools import product
from math import inf
from struct import Struct
from typing import Any, Final

from xstreamcast.errors import error
from xstreamcast.lang import ast
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import Base64Binary, Float, HexBinary, Item, QName
from xstreamcast.model.collation import CODEPOINTS, Collation
from xstreamcast.model.compare import families, hash_key
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.model.types import TEXTUAL, describe
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.passes.shapes import nodes


class Kind(Enum):
    """What all values of an expression are."""

    TEXT = "text"
    """Untyped, strings or URIs: they compare with each other as text."""
    NUMBER = "number"
    """Integers, decimals, doubles."""
    MOMENT = "moment"
    """All of one of the types dateTime, date, time."""


Kinds = Mapping[VarName, "Kind | None"]

_TEXTS: Final = frozenset(
    (
        *("string", "concat", "string-join", "substring", "substring-before", "substring-after", "normalize-space"),
        *("upper-case", "lower-case", "translate", "replace", "name", "local-name", "codepoints-to-string"),
    )
)
_NUMBERS: Final = frozenset(("count", "number", "string-length", "position", "last"))
_SAME: Final = frozenset(("data", "zero-or-one", "exactly-one", "one-or-more", "head", "distinct-values"))
_CASTS: Final = {
    **dict.fromkeys(("string", "untypedAtomic", "anyURI", "token", "normalizedString", "NCName", "NMTOKEN"), Kind.TEXT),
    **dict.fromkeys(("integer", "decimal", "double", "int", "long", "nonNegativeInteger"), Kind.NUMBER),
}
_DOUBLE: Final = Struct(">d")
_BITS: Final = Struct(">Q")
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1
_WIDE: Final = Context(prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX)
_MOMENTS: Final = frozenset(("date", "dateTime", "time"))


def kind_of(e: ast.Expr, known: Kinds) -> tuple[Kind, str] | None:
    """What the atomised values of an expression are, and of which type where that matters; None: one cannot tell."""
    match e:
        case _ if nodes(e):
            return Kind.TEXT, ""
        case ast.StringLiteral():
            return Kind.TEXT, ""
        case ast.IntegerLiteral() | ast.DecimalLiteral() | ast.DoubleLiteral():
            return Kind.NUMBER, ""
        case ast.VarRef():
            kind = known.get(e.name.expanded)
            return None if kind is None else (kind, "")
        case ast.Path() | ast.SimpleMap():
            return kind_of(e.steps[-1], known)
        case ast.Filter():
            return kind_of(e.base, known)
        case ast.FLWOR():
            return kind_of(e.result, known)
        case ast.If():
            then = kind_of(e.then, known)
            return then if then == kind_of(e.otherwise, known) else None
        case ast.CastAs():
            return _cast(e.type.name)
        case ast.FunctionCall() if e.name.uri == XS and len(e.args) == 1:
            return _cast(e.name)
        case ast.FunctionCall() if e.name.uri == FN and e.name.local in _TEXTS:
            return Kind.TEXT, ""
        case ast.FunctionCall() if e.name.uri == FN and e.name.local in _NUMBERS:
            return Kind.NUMBER, ""
        case ast.FunctionCall() if e.name.uri == FN and e.name.local in _SAME and len(e.args) == 1:
            return kind_of(e.args[0], known)
        case ast.FunctionCall() if e.name.uri == FN and e.name.local in ("sum", "avg") and len(e.args) == 1:
            return _reckoned(e.args, known)
        case ast.Arithmetic():
            return _reckoned((e.left, e.right), known)
        case _:
            return None


def _reckoned(operands: tuple[ast.Expr, ...], known: Kinds) -> tuple[Kind, str] | None:
    """What is reckoned with untyped values and numbers is a number; with strings, it is an error."""
    kinds = [kind_of(operand, known) for operand in operands]
    return (Kind.NUMBER, "") if all(k is not None and k[0] is not Kind.MOMENT for k in kinds) else None


def _cast(name: ast.Name) -> tuple[Kind, str] | None:
    if name.uri != XS:
        return None
    if name.local in _MOMENTS:
        return Kind.MOMENT, name.local
    kind = _CASTS.get(name.local)
    return None if kind is None else (kind, "")


def kinds_in(clauses: tuple[ast.Clause, ...], known: Kinds) -> dict[VarName, Kind | None]:
    """What the variables of some clauses are."""
    found: dict[VarName, Kind | None] = dict(known)
    for clause in clauses:
        if isinstance(clause, ast.ForClause | ast.LetClause):
            value = clause.source if isinstance(clause, ast.ForClause) else clause.value
            kind = kind_of(value, found) if clause.type is None else None
            found[clause.var.expanded] = kind[0] if kind is not None and kind[0] is not Kind.MOMENT else None
            if isinstance(clause, ast.ForClause) and clause.position is not None:
                found[clause.position.expanded] = Kind.NUMBER
    return found


# ------------------------------------------------------------------------------------------------------ equality


def row_keys(unit: int, columns: list[list[Item]]) -> list[str]:
    """What a row is found by: for each combination of its keys' values, the forms that values equal to them ask for."""
    return _keys(unit, columns, _held)


def asked_keys(unit: int, columns: list[list[Item]]) -> list[str]:
    """What is asked for by some values of each key."""
    return _keys(unit, columns, _asked)


def text_key(unit: int, value: str) -> str:
    """What is asked for by one text, of a unit with one key."""
    return f"{unit}:t{value}"


def failure_key(unit: int) -> str:
    """What errors of a unit's rows are found by, by all who ask for any."""
    return f"{unit}!"


def _keys(unit: int, columns: list[list[Item]], forms: Any) -> list[str]:
    if len(columns) == 1 and len(columns[0]) == 1:
        return [f"{unit}:{form}" for form in forms(columns[0][0])]
    found = [list(dict.fromkeys(form for value in column for form in forms(value))) for column in columns]
    return [f"{unit}:" + "\0".join(key) for key in product(*found)]


def _held(value: Item) -> list[str]:
    if type(value) in TEXTUAL:
        return [f"t{value}"]
    exact, double = _number(value)
    if double != double:
        return []
    return [f"d{double!r}"] if exact is None else [f"e{exact}", f"f{double!r}"]


def _asked(value: Item) -> list[str]:
    # Two exact numbers are compared as they are, others as doubles (XQuery 3.1 §3.7.1): no one form says both.
    if type(value) in TEXTUAL:
        return [f"t{value}"]
    exact, double = _number(value)
    if double != double:
        return []
    return [f"d{double!r}", f"f{double!r}"] if exact is None else [f"e{exact}", f"d{double!r}"]


def _number(value: Item) -> tuple[str | None, float]:
    """A number as it is, if it is exact, and as a double."""
    if isinstance(value, float) and type(value) is not Float:
        return None, value + 0.0  # -0.0 equals 0.0
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        try:
            double = float(value)
        except OverflowError:
            double = inf if value > 0 else -inf
        exact = str(value) if isinstance(value, int) else _plain(value)
        return exact, double + 0.0
    raise error("XPTY0004", f"{describe(value)} is not what the key was taken for")


def _plain(value: Decimal) -> str:
    whole = value.to_integral_value()
    return str(int(whole)) if whole == value else format(value.normalize(), "f")


def coarse_key(keys: list[Item | None], collations: list[Collation]) -> bytes:
    """Equal for the keys of one group; it may be equal for other groups' as well."""
    return b"\0".join(_coarse(key, used) for key, used in zip(keys, collations, strict=True))


def _coarse(key: Item | None, used: Collation) -> bytes:
    if key is None:
        return b"-"
    if type(key) in TEXTUAL:
        return b"t" + (str(key).encode(errors="surrogatepass") if used is CODEPOINTS else repr(used.key(key)).encode())
    (family,) = families([key])
    if family == "number":
        double = float(key) if isinstance(key, float) else _number(key)[1]
        return b"n" + repr(double + 0.0).encode()
    if isinstance(key, dt.Moment):
        return f"{family}{key.utc}".encode()
    if isinstance(key, dt.Duration):
        return f"d{key.months} {key.ticks}".encode()
    if isinstance(key, HexBinary | Base64Binary):
        return family.encode() + key.octets
    if isinstance(key, bool | QName):
        return f"{family}{hash_key(key)}".encode()
    return family.encode()


# ------------------------------------------------------------------------------------------------------ order


def order_key(value: Item | None, kind: Kind, empty_greatest: bool) -> bytes:
    """A key of ``order by`` as bytes: () least or greatest, NaN next to it, the others in their order.

    >>> ascending = [None, float("nan"), -float("inf"), -12, -1.5, 0, 1e-3, 2, 10]
    >>> keys = [order_key(value, Kind.NUMBER, False) for value in ascending]
    >>> keys == sorted(keys)
    True
    """
    empty, not_a_number, present = (b"\2", b"\1", b"\0") if empty_greatest else (b"\0", b"\1", b"\2")
    if value is None:
        return empty
    if kind is Kind.TEXT and type(value) in TEXTUAL:
        return present + str(value).encode(errors="surrogatepass")  # UTF-8 keeps the order of the code points
    if kind is Kind.MOMENT and isinstance(value, dt.Moment):
        return present + _ordered(value.utc)
    if kind is not Kind.NUMBER or isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise error("XPTY0004", f"{describe(value)} is not what the key was taken for")
    if isinstance(value, float) and value != value:
        return not_a_number
    return present + _ordered(value)


def _ordered(value: float | Decimal) -> bytes:
    """A number of any type, exactly: the nearest double, whose bits order with a change of signs, and what is left."""
    try:
        double = float(value) + 0.0  # -0.0 equals 0.0
    except OverflowError:
        double = inf if value > 0 else -inf
    (bits,) = _BITS.unpack(_DOUBLE.pack(double))
    nearest: bytes = _BITS.pack(bits ^ _ALL if bits & _SIGN else bits | _SIGN)
    if double - double != 0.0:  # infinite, or nearer to that than to any double
        return nearest + _digits(Decimal(value))
    return nearest + (b"\1" if double == value else _digits(_WIDE.subtract(Decimal(value), Decimal(double))))


def _digits(value: Decimal) -> bytes:
    """A number, exactly: its sign, its exponent, its digits; a negative one with all bits turned over."""
    if value == 0:
        return b"\1"
    if value.is_infinite():
        return b"\3" if value > 0 else b"\0" + b"\0"
    sign, digits, _ = value.as_tuple()
    exponent = (value.adjusted() + (1 << 62)).to_bytes(8, "big")
    size = exponent + "".join(map(str, digits)).rstrip("0").encode()
    return b"\2" + size if not sign else b"\0" + bytes(255 - byte for byte in size) + b"\xff"

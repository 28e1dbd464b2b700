"""Text to values and values to text: the lexical and canonical forms of XSD as F&O 3.1 §19 uses them."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache
from typing import Final

from xstreamcast.errors import error, quoted
from xstreamcast.model.atomic import Float, Item

_WHITESPACE: Final = " \t\r\n"
_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_SPECIAL: Final = {
    "INF": float("inf"),
    "+INF": float("inf"),
    "-INF": float("-inf"),
    "NaN": float("nan"),
}

_DAY, _HOUR, _ZONE = r"-?\d{4,}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:\.\d+)?", r"(?:Z|[+-]\d\d:\d\d)?"
_OF_TIME: Final = {
    "date": _DAY + _ZONE,
    "dateTime": f"{_DAY}T{_HOUR}{_ZONE}",
    "time": _HOUR + _ZONE,
    "dayTimeDuration": r"-?P(?=[\dT])(?:\d+D)?(?:T(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?",
    "yearMonthDuration": r"-?P(?=\d)(?:\d+Y)?(?:\d+M)?",
}
"""What dates and durations look like; compiled when somebody takes one for a number."""

# XML 1.0 (fifth edition), productions 4 and 4a without the colon.
_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_REST = _START + r"\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
_NCNAME: Final = f"[{_START}][{_REST}]*"
_ASCII_NCNAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")
_PATTERNS: Final = {
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
    "NMTOKEN": f"[{_REST}:]+",
    "Name": f"[:{_START}][:{_REST}]*",
    "NCName": _NCNAME,
    "ID": _NCNAME,
    "IDREF": _NCNAME,
    "ENTITY": _NCNAME,
}


@cache
def pattern(name: str) -> re.Pattern[str] | None:
    """The form of a type derived from xs:token; compiled when it is asked for: sets of characters take their time."""
    return re.compile(_PATTERNS[name]) if name in _PATTERNS else None


def is_ncname(text: str) -> bool:
    form = _ASCII_NCNAME if text.isascii() else pattern("NCName")
    return form is not None and form.fullmatch(text) is not None


def collapse(text: str) -> str:
    """Whitespace facet ``collapse``: runs of XML whitespace to one space, none at the ends."""
    return " ".join(word for word in re.split("[ \t\r\n]+", text) if word)


def trim(text: str) -> str:
    return text.strip(_WHITESPACE)


def parse_double(text: str) -> float:
    """A lexical xs:double. Python's own reader does the work; what it takes beyond XSD is refused after."""
    try:
        value = float(text)
        if value - value == 0.0 and text.isascii() and "_" not in text:
            return value
    except ValueError:
        pass
    trimmed = text.strip(_WHITESPACE)
    if _DOUBLE.fullmatch(trimmed):
        return float(trimmed)
    special = _SPECIAL.get(trimmed)
    if special is None:
        raise error("FORG0001", f"{quoted(text)} is not an xs:double", hint=_instead_of_double(trimmed))
    return special


def _instead_of_double(text: str) -> str:
    """What may be meant by a text that was taken for a number, as untyped values are: `max(//date)`, `$start + 1`."""
    if not text:
        return "an empty value is no number: leave it out, [. != '']"
    for name, form in _OF_TIME.items():
        if re.fullmatch(form, text):
            return f"values without a type are taken for numbers here: say xs:{name}(.) of each"
    return ""


def parse_integer(text: str) -> int:
    try:
        value = int(text)
        if text.isascii() and "_" not in text:
            return value
    except ValueError:
        trimmed = text.strip(_WHITESPACE)
        if _INTEGER.fullmatch(trimmed):  # beyond Python's limit on digits in text
            raise error("FOCA0003", f"an integer of {len(trimmed)} digits is too large") from None
    raise error("FORG0001", f"{quoted(text)} is not an xs:integer")


def parse_decimal(text: str) -> Decimal:
    trimmed = text.strip(_WHITESPACE)
    if _DECIMAL.fullmatch(trimmed):
        value = Decimal(trimmed)
        return value if value else Decimal(0)
    raise error("FORG0001", f"{quoted(text)} is not an xs:decimal")


def parse_boolean(text: str) -> bool:
    trimmed = text.strip(_WHITESPACE)
    if trimmed in ("true", "1"):
        return True
    if trimmed in ("false", "0"):
        return False
    raise error("FORG0001", f"{quoted(text)} is not an xs:boolean")


def parse_hex(text: str) -> bytes:
    trimmed = text.strip(_WHITESPACE)
    if len(trimmed) % 2 == 0 and re.fullmatch("[0-9a-fA-F]*", trimmed):
        return bytes.fromhex(trimmed)
    raise error("FORG0001", f"{quoted(text)} is not an xs:hexBinary")


_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?")


def parse_base64(text: str) -> bytes:
    from base64 import b64decode

    packed = text.translate({ord(c): None for c in _WHITESPACE})
    if _BASE64.fullmatch(packed):
        return b64decode(packed)
    raise error("FORG0001", f"{quoted(text)} is not an xs:base64Binary")


def double_text(value: float) -> str:
    """F&O 3.1 §19.1.2.2: decimal notation for 10⁻⁶ ≤ |v| < 10⁶, else ``d.dE±n``."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    if value == 0:
        return "-0" if str(float(value))[0] == "-" else "0"
    shortest = single_repr(value) if type(value) is Float else float.__repr__(value)
    magnitude = abs(float(shortest))  # not of the value: the single nearest to 10⁻⁶ is below it
    if 1e-3 <= magnitude < 1e6:  # Python writes these without an exponent
        return shortest[:-2] if shortest.endswith(".0") else shortest
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    point = len(text) + exponent  # the value is 0.text × 10^point
    lead = "-" if sign else ""
    if 1e-6 <= magnitude < 1e-3:
        return f"{lead}0.{'0' * -point}{text}"
    return f"{lead}{text[0]}.{text[1:] or '0'}E{point - 1}"


def single_repr(value: float) -> str:
    """The shortest decimal that reads back as the same xs:float."""
    plain = float(value)
    for digits in range(1, 10):
        text = f"{plain:.{digits - 1}e}"
        if Float(float(text)) == plain:
            break
    return float.__repr__(float(text))


def decimal_text(value: Decimal) -> str:
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def to_string(item: Item) -> str:
    """``item cast as xs:string`` for any atomic value."""
    kind = type(item)
    if kind is str:
        return item  # type: ignore[no-any-return]  # Item is Any
    if isinstance(item, str):
        return str(item)
    if kind is bool:
        return "true" if item else "false"
    if isinstance(item, int):
        return int.__repr__(item) if item.bit_length() < 14_000 else _long_integer(item)
    if kind is Decimal:
        return decimal_text(item)
    if isinstance(item, float):
        return double_text(item)
    return str(item)


def _long_integer(value: int) -> str:
    """Integers beyond the number of digits Python converts on its own."""
    base = 10**4000
    parts = []
    rest = abs(value)
    while rest:
        rest, part = divmod(rest, base)
        parts.append(f"{part:04000d}" if rest else str(part))
    return ("-" if value < 0 else "") + "".join(reversed(parts))

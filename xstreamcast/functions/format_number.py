"""fn:format-number (F&O 3.1 §4.7)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from math import copysign, isinf, isnan

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.context import DecimalFormat, DynamicContext
from xstreamcast.functions.format_integer import regular_interval
from xstreamcast.functions.registry import function
from xstreamcast.model.arithmetic import EXACT
from xstreamcast.model.cast import parse_qname


@dataclass(frozen=True, slots=True)
class _Picture:
    """A sub-picture analysed (§4.7.4); positions count digits from the decimal separator."""

    prefix: str
    suffix: str
    integer_groups: tuple[int, ...]
    fraction_groups: tuple[int, ...]
    interval: int
    integer_size: int
    scaling: int
    fraction_min: int
    fraction_max: int
    exponent_size: int
    percent: int


def _bad(picture: str, why: str) -> XStreamError:
    return error("FODF1310", f"fn:format-number: picture {picture!r}: {why}")


@lru_cache(maxsize=256)
def _analysed(picture: str, form: DecimalFormat) -> tuple[_Picture, _Picture | None]:
    parts = picture.split(form.pattern_separator)
    if len(parts) > 2 or not picture:
        raise _bad(picture, "it has too many parts" if picture else "it is empty")
    positive = _sub_picture(parts[0], form)
    return positive, _sub_picture(parts[1], form) if len(parts) == 2 else None


def _sub_picture(part: str, form: DecimalFormat) -> _Picture:
    digits = {chr(ord(form.zero_digit) + n) for n in range(10)}
    active = digits | {form.decimal_separator, form.grouping_separator, form.digit}
    first = next((at for at, c in enumerate(part) if c in active), None)
    if first is None:
        raise _bad(part, "there is no digit")
    last = max(at for at, c in enumerate(part) if c in active)
    prefix, body, suffix = part[:first], part[first : last + 1], part[last + 1 :]
    percents = sum(part.count(sign) for sign in (form.percent, form.per_mille))
    if percents > 1:
        raise _bad(part, "more than one percent or per-mille sign")
    mantissa, exponent = _split_exponent(part, body, form, digits)
    if exponent and percents:
        raise _bad(part, "an exponent and a percent sign exclude each other")
    if any(c not in active for c in mantissa):
        raise _bad(part, "passive characters between active ones")
    if mantissa.count(form.decimal_separator) > 1:
        raise _bad(part, "more than one decimal separator")
    integer, point, fraction = mantissa.partition(form.decimal_separator)
    _check_digits(part, integer, fraction, bool(point), form, digits)
    return _measured(prefix, suffix, integer, fraction, exponent, form, digits)


def _split_exponent(part: str, body: str, form: DecimalFormat, digits: set[str]) -> tuple[str, str]:
    """An exponent separator counts as such between digits; behind it only mandatory digits may stand."""
    sign = form.exponent_separator
    at = body.find(sign)
    if at <= 0 or at == len(body) - 1:
        return body, ""
    if body[at - 1] not in digits | {form.digit, form.decimal_separator} or body[at + 1] not in digits | {form.digit}:
        return body, ""
    exponent = body[at + 1 :]
    if any(c not in digits for c in exponent):
        raise _bad(part, "the exponent has other characters than mandatory digits")
    return body[:at], exponent


def _check_digits(part: str, integer: str, fraction: str, point: bool, form: DecimalFormat, digits: set[str]) -> None:
    group = form.grouping_separator
    if not any(c in digits or c == form.digit for c in integer + fraction):
        raise _bad(part, "there is no digit")
    if integer.endswith(group) or fraction.startswith(group) or (not point and integer.endswith(group)):
        raise _bad(part, "a grouping separator beside the decimal separator or at the end")
    if group * 2 in integer or group * 2 in fraction:
        raise _bad(part, "two grouping separators side by side")
    if integer.startswith(group) and len(integer) == 1:
        raise _bad(part, "a grouping separator without digits")
    seen = False
    for character in integer:
        if character in digits:
            seen = True
        elif character == form.digit and seen:
            raise _bad(part, "an optional digit after a mandatory one")
    seen = False
    for character in fraction:
        if character == form.digit:
            seen = True
        elif character in digits and seen:
            raise _bad(part, "a mandatory digit after an optional one")


def _measured(
    prefix: str, suffix: str, integer: str, fraction: str, exponent: str, form: DecimalFormat, digits: set[str]
) -> _Picture:
    group = form.grouping_separator
    integer_groups = []
    count = 0
    for character in reversed(integer):
        if character == group:
            integer_groups.append(count)
        else:
            count += 1
    fraction_groups = []
    width = 0
    for character in fraction:
        if character == group:
            fraction_groups.append(width)
        else:
            width += 1
    interval = regular_interval(integer_groups, [group] * len(integer_groups), count)
    integer_size = sum(c in digits for c in integer)
    scaling = integer_size
    fraction_min = sum(c in digits for c in fraction)
    if integer_size == 0 and width == 0:
        if exponent:
            fraction_min = width = 1
        else:
            integer_size = 1
    if exponent and integer_size == 0 and form.digit in integer:
        integer_size = 1
    if integer_size == 0 and fraction_min == 0:
        fraction_min = 1
    signs = prefix + suffix
    percent = 100 if form.percent in signs else 1000 if form.per_mille in signs else 1
    return _Picture(
        prefix, suffix, tuple(integer_groups), tuple(fraction_groups), interval, integer_size, scaling,
        fraction_min, max(width, fraction_min), len(exponent), percent,
    )  # fmt: skip


def _format(context: DynamicContext, name: str | None) -> DecimalFormat:
    formats = context.static.decimal_formats
    if name is None:
        return formats.get(None) or DecimalFormat()
    text = name.strip(" \t\r\n")
    if text.startswith("Q{"):
        uri, _, local = text[2:].partition("}")
        key = (uri, local)
    else:
        try:
            qname = parse_qname(text, {p: u for p, u in context.static.namespaces.items() if p})
        except XStreamError:
            raise error("FODF1280", f"fn:format-number: {name!r} is not a name in scope") from None
        key = (qname.uri, qname.local)
    if key not in formats:
        raise error("FODF1280", f"fn:format-number: there is no decimal format {name}")
    return formats[key]


@function("fn:format-number", "xs:numeric?, xs:string", "xs:string", context=True)
@function("fn:format-number", "xs:numeric?, xs:string, xs:string?", "xs:string", context=True)
def format_number(
    context: DynamicContext, value: int | float | Decimal | None, picture: str, name: str | None = None
) -> str:
    form = _format(context, name)
    positive, negative = _analysed(str(picture), form)
    if value is None or (isinstance(value, float) and isnan(value)):
        return form.NaN
    is_negative = copysign(1.0, value) < 0 if isinstance(value, float) else value < 0
    chosen = negative if is_negative and negative is not None else positive
    prefix = form.minus_sign + chosen.prefix if is_negative and negative is None else chosen.prefix
    if isinstance(value, float):
        value = value * chosen.percent
        if isinf(value):
            return prefix + form.infinity + chosen.suffix
        magnitude = Decimal(repr(abs(float(value))))
    else:
        magnitude = EXACT.multiply(Decimal(value).copy_abs(), Decimal(chosen.percent))
    return prefix + _digits(magnitude, chosen, form) + chosen.suffix


def _digits(value: Decimal, picture: _Picture, form: DecimalFormat) -> str:
    exponent = 0
    if picture.exponent_size and value:
        exponent = value.adjusted() + 1 - picture.scaling
        value = value.scaleb(-exponent, EXACT)
    value = value.quantize(Decimal((0, (1,), -picture.fraction_max)), ROUND_HALF_EVEN, EXACT)
    integer, _, fraction = format(value, "f").partition(".")
    integer = integer.lstrip("0").rjust(picture.integer_size, "0")
    while len(fraction) > picture.fraction_min and fraction.endswith("0"):
        fraction = fraction[:-1]
    text = _grouped_integer(integer, picture, form)
    if fraction:
        text += form.decimal_separator + _grouped_fraction(fraction, picture, form)
    if picture.exponent_size:
        sign = form.minus_sign if exponent < 0 else ""
        text += form.exponent_separator + sign + str(abs(exponent)).rjust(picture.exponent_size, "0")
    if form.zero_digit != "0":
        zero = ord(form.zero_digit)
        keep = {form.exponent_separator, form.minus_sign}
        text = "".join(chr(zero + int(c)) if c in "0123456789" and c not in keep else c for c in text)
    return text


def _grouped_integer(digits: str, picture: _Picture, form: DecimalFormat) -> str:
    if not picture.integer_groups:
        return digits
    out = []
    for index, digit in enumerate(reversed(digits)):
        if index and (index % picture.interval == 0 if picture.interval else index in picture.integer_groups):
            out.append(form.grouping_separator)
        out.append(digit)
    return "".join(reversed(out))


def _grouped_fraction(digits: str, picture: _Picture, form: DecimalFormat) -> str:
    if not picture.fraction_groups:
        return digits
    out = []
    for index, digit in enumerate(digits):
        if index in picture.fraction_groups and index:
            out.append(form.grouping_separator)
        out.append(digit)
    return "".join(out)

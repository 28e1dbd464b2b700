"""Arithmetic on atomic values (F&O 3.1 §4.2, §8.4, §9.7).

Operands are single atomic values; the caller handles empty operands. xs:untypedAtomic counts as xs:double.
Promotion: integer → decimal → float → double. Integers are exact; decimals are exact up to 400 digits, quotients
have at least 18 fractional digits. Errors: FOAR0001 division by zero, FOAR0002 overflow, XPTY0004 wrong types.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import floor, fmod, inf, isfinite, isinf, isnan, nan
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.datetime import (
    Date,
    DateTime,
    DayTimeDuration,
    Duration,
    Moment,
    Time,
    YearMonthDuration,
    bounded_duration,
)
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import describe

#: xs:decimal's context: far beyond the 18 digits that F&O asks for. Its methods do not touch the thread's own context.
EXACT: Final = decimal.Context(
    prec=400,
    rounding=decimal.ROUND_HALF_EVEN,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
)
_FRACTION_DIGITS: Final = 18


def _undefined(op: str, a: Item, b: Item) -> XStreamError:
    return error("XPTY0004", f"{describe(a)} {op} {describe(b)} is not defined")


def _is_number(item: Item) -> bool:
    return isinstance(item, (int, float, Decimal)) and type(item) is not bool


def as_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def _numeric(
    a: Item,
    b: Item,
    on_integers: Callable[[int, int], Item],
    on_decimals: Callable[[Decimal, Decimal], Item],
    on_doubles: Callable[[float, float], float],
) -> Item:
    """Apply an operator after promotion to the least common numeric type."""
    if isinstance(a, float) or isinstance(b, float):
        if (isinstance(a, float) and type(a) is not Float) or (isinstance(b, float) and type(b) is not Float):
            return on_doubles(as_double(a), as_double(b))
        result = on_doubles(Float(as_double(a)), Float(as_double(b)))
        return Float(result) if isinstance(result, float) else result
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        return on_decimals(Decimal(a), Decimal(b))
    return on_integers(a, b)


def _untyped(item: Item) -> Item:
    return parse_double(item) if type(item) is Untyped else item


def add(a: Item, b: Item) -> Item:
    """``a + b``"""
    ta, tb = type(a), type(b)
    if (ta is int or ta is float) and ta is tb:
        return a + b
    a, b = _untyped(a), _untyped(b)
    if _is_number(a) and _is_number(b):
        return _numeric(a, b, lambda x, y: int(x) + int(y), EXACT.add, lambda x, y: x + y)
    if isinstance(a, Duration) and isinstance(b, Duration) and type(a) is type(b) is not Duration:
        return type(a)(*bounded_duration(a.months + b.months, a.ticks + b.ticks))
    if isinstance(a, Moment) and isinstance(b, Duration):
        return _shift(a, b, 1, "+")
    if isinstance(b, Moment) and isinstance(a, Duration):
        return _shift(b, a, 1, "+")
    raise _undefined("+", a, b)


def subtract(a: Item, b: Item) -> Item:
    """``a - b``"""
    ta, tb = type(a), type(b)
    if (ta is int or ta is float) and ta is tb:
        return a - b
    a, b = _untyped(a), _untyped(b)
    if _is_number(a) and _is_number(b):
        return _numeric(a, b, lambda x, y: int(x) - int(y), EXACT.subtract, lambda x, y: x - y)
    if isinstance(a, Duration) and isinstance(b, Duration) and type(a) is type(b) is not Duration:
        return type(a)(*bounded_duration(a.months - b.months, a.ticks - b.ticks))
    if isinstance(a, Moment) and isinstance(b, Duration):
        return _shift(a, b, -1, "-")
    if isinstance(a, (DateTime, Date, Time)) and isinstance(b, Moment) and a.family is b.family:
        return DayTimeDuration(0, a.utc - b.utc)
    raise _undefined("-", a, b)


def _shift(moment: Moment, by: Duration, sign: int, op: str) -> Moment:
    if isinstance(moment, (DateTime, Date)):
        if type(by) is YearMonthDuration:
            return moment.add_months(sign * by.months)
        if type(by) is DayTimeDuration:
            return moment.add_ticks(sign * by.ticks)
    elif isinstance(moment, Time) and type(by) is DayTimeDuration:
        return moment.add_ticks(sign * by.ticks)
    raise _undefined(op, moment, by)


def multiply(a: Item, b: Item) -> Item:
    """``a * b``"""
    ta, tb = type(a), type(b)
    if (ta is int or ta is float) and ta is tb:
        return a * b
    a, b = _untyped(a), _untyped(b)
    if _is_number(a) and _is_number(b):
        return _numeric(a, b, lambda x, y: int(x) * int(y), EXACT.multiply, lambda x, y: x * y)
    if _is_number(a) and isinstance(b, Duration):
        a, b = b, a
    if isinstance(a, Duration) and _is_number(b) and type(a) is not Duration:
        return _scale(a, _factor(b), b)
    raise _undefined("*", a, b)


def _factor(number: Item) -> Fraction:
    if isinstance(number, float):
        if isnan(number):
            raise error("FOCA0005", "a duration times or divided by NaN")
        if isinf(number):
            raise error("FODT0002", "a duration times infinity overflows")
    return Fraction(number)


def _scale(duration: Duration, factor: Fraction, number: Item) -> Duration:
    """Months round half up (as fn:round does), ticks to the nearest."""
    months = floor(duration.months * factor + Fraction(1, 2)) if duration.months else 0
    return type(duration)(*bounded_duration(months, round(duration.ticks * factor)))


def divide(a: Item, b: Item) -> Item:
    """``a div b``: two integers give a decimal."""
    if type(a) is float and type(b) is float:
        return a / b if b else _over_zero(a, b)
    a, b = _untyped(a), _untyped(b)
    if _is_number(a) and _is_number(b):
        return _numeric(a, b, _divide_integers, divide_decimals, _divide_doubles)
    if isinstance(a, Duration) and type(a) is not Duration:
        if _is_number(b):
            if isinstance(b, float) and isinf(b):
                return type(a)(0, 0)
            if b == 0:
                raise error("FODT0002", "a duration divided by zero overflows")
            return _scale(a, 1 / _factor(b), b)
        if type(b) is type(a):
            return _ratio(a, b)
    raise _undefined("div", a, b)


def _ratio(a: Duration, b: Duration) -> Decimal:
    over, under = (a.months, b.months) if type(a) is YearMonthDuration else (a.ticks, b.ticks)
    if not under:
        raise error("FOAR0001", "division by a duration of zero length")
    return divide_decimals(Decimal(over), Decimal(under))


def _divide_integers(a: int, b: int) -> Decimal:
    return divide_decimals(Decimal(a), Decimal(b))


def divide_decimals(a: Decimal, b: Decimal) -> Decimal:
    """The quotient to max(18, the operands' scales) fractional digits; exact when it ends before."""
    if not b:
        raise error("FOAR0001", "division by zero")
    if not a:
        return Decimal(0)
    scale = max(_FRACTION_DIGITS, -_exponent(a), -_exponent(b))
    whole = a.adjusted() - b.adjusted() + 1  # digits before the point, at most
    digits = decimal.Context(
        prec=max(scale + whole + 2, 4), Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, rounding=decimal.ROUND_DOWN
    )
    quotient = digits.divide(a, b)
    if -_exponent(quotient) > scale:
        quotient = quotient.quantize(Decimal((0, (1,), -scale)), decimal.ROUND_HALF_EVEN, EXACT)
    return quotient if quotient else Decimal(0)


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def _divide_doubles(a: float, b: float) -> float:
    return a / b if b else _over_zero(a, b)


def _over_zero(a: float, b: float) -> float:
    if a == 0 or isnan(a):
        return nan
    negative = (a < 0) != (str(float(b))[0] == "-")
    return -inf if negative else inf


def integer_divide(a: Item, b: Item) -> int:
    """``a idiv b``: the quotient truncated towards zero."""
    a, b = _untyped(a), _untyped(b)
    if not (_is_number(a) and _is_number(b)):
        raise _undefined("idiv", a, b)
    if b == 0:
        raise error("FOAR0001", "integer division by zero")
    quotient: int = _numeric(a, b, _idiv_integers, _idiv_decimals, _idiv_doubles)
    return quotient


def _idiv_integers(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _idiv_decimals(a: Decimal, b: Decimal) -> int:
    quotient = Fraction(a) / Fraction(b)
    return int(quotient)


def _idiv_doubles(a: float, b: float) -> int:
    if isnan(a) or isnan(b) or isinf(a):
        raise error("FOAR0002", "integer division of NaN or infinity")
    if isinf(b):
        return 0
    quotient = a / b
    if not isfinite(quotient):
        raise error("FOAR0002", "integer division overflows")
    return int(quotient)


def modulo(a: Item, b: Item) -> Item:
    """``a mod b``: the remainder of truncated division; it has the sign of a."""
    a, b = _untyped(a), _untyped(b)
    if not (_is_number(a) and _is_number(b)):
        raise _undefined("mod", a, b)
    return _numeric(a, b, _mod_integers, _mod_decimals, _mod_doubles)


def _mod_integers(a: int, b: int) -> int:
    if not b:
        raise error("FOAR0001", "mod by zero")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _mod_decimals(a: Decimal, b: Decimal) -> Decimal:
    if not b:
        raise error("FOAR0001", "mod by zero")
    rest = EXACT.remainder(a, b)
    return rest if rest else Decimal(0)


def _mod_doubles(a: float, b: float) -> float:
    if isnan(a) or isnan(b) or isinf(a) or not b:
        return nan
    return fmod(a, b)


def negate(a: Item) -> Item:
    """``- a``"""
    a = _untyped(a)
    if not _is_number(a):
        raise error("XPTY0004", f"- {describe(a)} is not defined")
    if type(a) is Float:
        return Float(-a)
    if isinstance(a, Decimal):
        return a.copy_negate() if a else a
    return -a


def plus(a: Item) -> Item:
    """``+ a``"""
    a = _untyped(a)
    if not _is_number(a):
        raise error("XPTY0004", f"+ {describe(a)} is not defined")
    return a

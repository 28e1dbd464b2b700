"""Functions on numbers (F&O 3.1 §4.3 – 4.5)."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from math import ceil, copysign, floor, isfinite

from xstreamcast.errors import XStreamError
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.model.arithmetic import EXACT
from xstreamcast.model.atomic import Float, Item, Untyped
from xstreamcast.model.cast import cast
from xstreamcast.model.convert import atomize_single
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import DOUBLE

Number = int | Decimal | float


def _like(value: float, model: float) -> float:
    """A result in the floating type of the argument."""
    return Float(value) if type(model) is Float else value


def round_double(value: float) -> float:
    """fn:round on a double: halves towards +∞, infinities and NaN kept."""
    if not isfinite(value):
        return value
    below = floor(value)
    return float(below + 1 if value - below >= 0.5 else below)


@function("fn:abs", "xs:numeric?", "xs:numeric?")
def absolute(value: Number | None) -> Number | None:
    if value is None:
        return None
    if isinstance(value, float):
        return _like(abs(float(value)), value)
    return value.copy_abs() if isinstance(value, Decimal) else abs(int(value))


@function("fn:ceiling", "xs:numeric?", "xs:numeric?")
def ceiling(value: Number | None) -> Number | None:
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    if isinstance(value, Decimal):
        return _whole(value, ROUND_CEILING)
    if not isfinite(value):
        return value
    return _like(copysign(float(ceil(value)), value), value)


@function("fn:floor", "xs:numeric?", "xs:numeric?")
def floor_of(value: Number | None) -> Number | None:
    if value is None or isinstance(value, int):
        return None if value is None else int(value)
    if isinstance(value, Decimal):
        return _whole(value, ROUND_FLOOR)
    if not isfinite(value):
        return value
    return _like(copysign(float(floor(value)), value), value)


def _whole(value: Decimal, rounding: str) -> Decimal:
    rounded = value.to_integral_value(rounding, EXACT)
    return rounded if rounded else Decimal(0)


def _quantized(value: Decimal, precision: int, rounding: str) -> Decimal:
    """A decimal rounded to 10^-precision; what has no such digits stays."""
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if -exponent <= precision:
        return value
    if value.adjusted() + precision < -2:  # smaller than any half unit
        return Decimal(0)
    rounded = value.quantize(Decimal((0, (1,), -precision)), rounding, EXACT)
    return rounded if rounded else Decimal(0)


def _rounded(value: Number, precision: int, to_even: bool) -> Number:
    if isinstance(value, int):
        if precision >= 0:
            return int(value)
        return int(_quantized(Decimal(value), precision, _mode(value, to_even)))
    if isinstance(value, Decimal):
        rounded = _quantized(value, precision, _mode(value, to_even))
        return Decimal(int(rounded)) if precision < 0 else rounded
    if not isfinite(value) or value == 0:
        return value
    exact = Decimal(float(value))
    if -precision > exact.adjusted() + 1:
        return _like(copysign(0.0, value), value)
    rounded = _quantized(exact, precision, _mode(value, to_even))
    return _like(copysign(float(rounded), value), value)


def _mode(value: Number, to_even: bool) -> str:
    """fn:round takes halves towards +∞."""
    if to_even:
        return ROUND_HALF_EVEN
    return ROUND_HALF_UP if value >= 0 else ROUND_HALF_DOWN


@function("fn:round", "xs:numeric?", "xs:numeric?")
@function("fn:round", "xs:numeric?, xs:integer", "xs:numeric?")
def round_number(value: Number | None, precision: int = 0) -> Number | None:
    return None if value is None else _rounded(value, precision, to_even=False)


@function("fn:round-half-to-even", "xs:numeric?", "xs:numeric?")
@function("fn:round-half-to-even", "xs:numeric?, xs:integer", "xs:numeric?")
def round_half_to_even(value: Number | None, precision: int = 0) -> Number | None:
    return None if value is None else _rounded(value, precision, to_even=True)


@function("fn:number", "xs:anyAtomicType?", "xs:double")
def number(value: Item | None) -> float:
    """The xs:double of a value, NaN where there is none."""
    if value is None:
        return float("nan")
    try:
        result: float = parse_double(value) if type(value) is Untyped else cast(value, DOUBLE)
        return result
    except XStreamError:
        return float("nan")


@function("fn:number", "", "xs:double", focus=True)
def number_of_context(context: DynamicContext) -> float:
    return number(atomize_single([context.require_item("fn:number()")], "the context item"))

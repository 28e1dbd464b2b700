"""Functions of the math namespace (F&O 3.1 §4.8): IEEE 754 results where Python would raise."""

from __future__ import annotations

import math
from collections.abc import Callable

from xstreamcast.functions.registry import function


@function("math:pi", "", "xs:double")
def pi() -> float:
    return math.pi


def _total(code: Callable[[float], float]) -> Callable[[float | None], float | None]:
    """A partial function made total: outside its domain NaN, beyond its range infinite."""

    def apply(value: float | None) -> float | None:
        if value is None:
            return None
        try:
            return code(value)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return apply


def _logarithm(code: Callable[[float], float]) -> Callable[[float], float]:
    return lambda value: -math.inf if value == 0 else code(value)


def _exp10(value: float) -> float:
    return power(10.0, value)


_UNARY: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp10": _exp10,
    "log": _logarithm(math.log),
    "log10": _logarithm(math.log10),
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
}
for _name, _code in _UNARY.items():
    function(f"math:{_name}", "xs:double?", "xs:double?")(_total(_code))


def power(x: float, y: float) -> float:
    """x to the power y, IEEE 754-2008 §9.2.1."""
    odd = y == math.floor(y) and math.fmod(y, 2) != 0 if math.isfinite(y) else False
    try:
        return math.pow(x, y)
    except ValueError:
        if x == 0:  # a negative power of zero
            return math.copysign(math.inf, x) if odd else math.inf
        return math.nan
    except OverflowError:
        return -math.inf if x < 0 and odd else math.inf


@function("math:pow", "xs:double?, xs:numeric", "xs:double?")
def pow_of(x: float | None, y: float) -> float | None:
    if x is None:
        return None
    try:
        exponent = float(y)
    except OverflowError:
        exponent = math.inf if y > 0 else -math.inf
    return power(x, exponent)


@function("math:atan2", "xs:double, xs:double", "xs:double")
def atan2(y: float, x: float) -> float:
    return math.atan2(y, x)

"""count, sum, avg, min, max (F&O 3.1 §14.4).

Doubles are added exactly and rounded once (Shewchuk's partials in ``math.fsum``), so that the sum does not depend on
the order or the grouping of the addends.
"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from math import fsum, inf, isnan, nan
from typing import Any

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.model.arithmetic import EXACT, add, as_double, divide
from xstreamcast.model.atomic import AnyURI, Float, Item, Untyped
from xstreamcast.model.compare import value_compare
from xstreamcast.model.datetime import DURATIONS, Duration
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.types import NUMERIC, STRING, describe


@function("fn:count", "item()*", "xs:integer")
def count(items: list[Item]) -> int:
    return len(items)


def _doubled(values: list[Item]) -> list[Item]:
    """Untyped values as xs:double."""
    return [parse_double(value) if type(value) is Untyped else value for value in values]


def exact_sum(values: list[Any]) -> float:
    """The sum of doubles rounded once; infinities and NaN as IEEE 754 has them."""
    try:
        return fsum(values)
    except ValueError:  # +∞ and −∞ together
        return nan
    except OverflowError:  # of an intermediate or of the sum itself
        total = sum(map(Decimal, values)) if all(abs(v) < inf for v in values) else sum(values)
        return as_double(total) if abs(as_double(total)) < inf else inf if total > 0 else -inf


def _total(values: list[Item], asker: str) -> Item:
    kinds = {type(value) for value in values}
    if kinds == {int}:
        return sum(values)
    if kinds <= NUMERIC.classes:
        if any(issubclass(kind, float) for kind in kinds):
            if float in kinds:
                return exact_sum([as_double(value) for value in values])
            return Float(exact_sum([as_double(value) for value in values]))
        if Decimal in kinds:
            return reduce(EXACT.add, map(Decimal, values))
        return sum(map(int, values))
    if len(kinds) == 1 and issubclass(next(iter(kinds)), Duration) and Duration not in kinds:
        return reduce(add, values)
    odd = next((value for value in values if type(value) not in NUMERIC.classes), values[0])
    raise error("FORG0006", f"{asker}: {describe(odd)} cannot be added to {describe(values[0])}")


@function("fn:sum", "xs:anyAtomicType*", "xs:anyAtomicType")
@function("fn:sum", "xs:anyAtomicType*, xs:anyAtomicType?", "xs:anyAtomicType?")
def total(values: list[Item], zero: Item | None = 0) -> Item | None:
    return _total(_doubled(values), "fn:sum") if values else zero


@function("fn:avg", "xs:anyAtomicType*", "xs:anyAtomicType?")
def average(values: list[Item]) -> Item | None:
    """The exact sum divided by the count."""
    if not values:
        return None
    return divide(_total(_doubled(values), "fn:avg"), len(values))


def _extreme(values: list[Item], op: str, context: DynamicContext, uri: str | None, asker: str) -> Item | None:
    collation = context.collation(uri)
    values = _doubled(values)
    kinds = {type(value) for value in values}
    if kinds and kinds <= NUMERIC.classes:
        return _numeric_extreme(values, kinds, op)
    if AnyURI in kinds and len(kinds) > 1 and kinds <= STRING.classes | {AnyURI}:
        values = [str(value) if type(value) is AnyURI else value for value in values]
    if Duration in kinds or (not kinds.isdisjoint(DURATIONS) and len(kinds) > 1):
        raise error("FORG0006", f"{asker}: durations only compare within one of the two ordered subtypes")
    best: Item | None = None
    for value in values:
        try:
            if value_compare(op, value, value if best is None else best, collation) or best is None:
                best = value
        except TypeError:
            raise error("FORG0006", f"{asker}: {describe(value)} and {describe(best)} do not compare") from None
    return best


def _numeric_extreme(values: list[Item], kinds: set[type], op: str) -> Item:
    """In the least common type; NaN wins."""
    floating = [value for value in values if isinstance(value, float)]
    if floating:
        common = float if float in kinds else Float
        if any(isnan(value) for value in floating):
            return common(nan)
        values = [common(as_double(value)) for value in values]
    best = max(values) if op == "gt" else min(values)
    return Decimal(best) if Decimal in kinds and not floating else best


@function("fn:max", "xs:anyAtomicType*", "xs:anyAtomicType?", context=True)
@function("fn:max", "xs:anyAtomicType*, xs:string", "xs:anyAtomicType?", context=True)
def maximum(context: DynamicContext, values: list[Item], uri: str | None = None) -> Item | None:
    return _extreme(values, "gt", context, uri, "fn:max")


@function("fn:min", "xs:anyAtomicType*", "xs:anyAtomicType?", context=True)
@function("fn:min", "xs:anyAtomicType*, xs:string", "xs:anyAtomicType?", context=True)
def minimum(context: DynamicContext, values: list[Item], uri: str | None = None) -> Item | None:
    return _extreme(values, "lt", context, uri, "fn:min")

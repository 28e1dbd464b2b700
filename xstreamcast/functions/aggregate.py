"""count, sum, avg, min, max (F&O 3.1 §14.4).

Sums are exact and rounded once (:mod:`xstreamcast.functions.total`), so that they do not depend on the order or the
grouping of the addends.
"""

from __future__ import annotations

from decimal import Decimal
from math import isnan, nan
from typing import Final

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.functions.total import Total, double_sum
from xstreamcast.model.arithmetic import as_double, divide
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


_DOUBLED: Final = {float, Untyped}


def _total(values: list[Item], asker: str) -> Item:
    """The sum of one value or more: what :class:`Total` says, sooner where all are of one kind."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return sum(values)
    if kinds <= _DOUBLED:
        return double_sum(_doubled(values))
    total = Total(asker)
    total.add_many(values)
    return total.sum()


@function("fn:sum", "xs:anyAtomicType*", "xs:anyAtomicType")
@function("fn:sum", "xs:anyAtomicType*, xs:anyAtomicType?", "xs:anyAtomicType?")
def sum_of(values: list[Item], zero: Item | None = 0) -> Item | None:
    return _total(values, "fn:sum") if values else zero


@function("fn:avg", "xs:anyAtomicType*", "xs:anyAtomicType?")
def average(values: list[Item]) -> Item | None:
    """The sum divided by the count."""
    return divide(_total(values, "fn:avg"), len(values)) if values else None


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

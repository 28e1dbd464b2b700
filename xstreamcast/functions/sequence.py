"""Functions on sequences (F&O 3.1 §14.1 – 14.3)."""

from __future__ import annotations

from math import isnan

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.number import round_double
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import Float, Item
from xstreamcast.model.collation import Collation
from xstreamcast.model.compare import equal_or_nan, hash_key, value_compare
from xstreamcast.model.deep_equal import deep_equal
from xstreamcast.model.types import EXACT


@function("fn:empty", "item()*", "xs:boolean")
def empty(items: list[Item]) -> bool:
    return not items


@function("fn:exists", "item()*", "xs:boolean")
def exists(items: list[Item]) -> bool:
    return bool(items)


@function("fn:head", "item()*", "item()?")
def head(items: list[Item]) -> Item | None:
    return items[0] if items else None


@function("fn:tail", "item()*", "item()*")
def tail(items: list[Item]) -> list[Item]:
    return items[1:]


@function("fn:insert-before", "item()*, xs:integer, item()*", "item()*")
def insert_before(items: list[Item], position: int, inserts: list[Item]) -> list[Item]:
    at = min(max(position, 1), len(items) + 1) - 1
    return items[:at] + inserts + items[at:]


@function("fn:remove", "item()*, xs:integer", "item()*")
def remove(items: list[Item], position: int) -> list[Item]:
    if not 1 <= position <= len(items):
        return items
    return items[: position - 1] + items[position:]


@function("fn:reverse", "item()*", "item()*")
def reverse(items: list[Item]) -> list[Item]:
    return items[::-1]


@function("fn:subsequence", "item()*, xs:double", "item()*")
@function("fn:subsequence", "item()*, xs:double, xs:double", "item()*")
def subsequence(items: list[Item], start: float, length: float | None = None) -> list[Item]:
    """Items at positions p with round(start) ≤ p < round(start) + round(length)."""
    first = round_double(start)
    end = float("inf") if length is None else first + round_double(length)
    if isnan(first) or isnan(end):
        return []
    low = 1 if first < 1 else len(items) + 1 if first > len(items) else int(first)
    high = len(items) + 1 if end > len(items) else max(int(end), 0) if end > 0 else 0
    return items[low - 1 : max(high - 1, low - 1)]


@function("fn:unordered", "item()*", "item()*")
def unordered(items: list[Item]) -> list[Item]:
    return items


@function("fn:distinct-values", "xs:anyAtomicType*", "xs:anyAtomicType*", context=True)
@function("fn:distinct-values", "xs:anyAtomicType*, xs:string", "xs:anyAtomicType*", context=True)
def distinct_values(context: DynamicContext, values: list[Item], uri: str | None = None) -> list[Item]:
    return distinct(values, context.collation(uri))


def distinct(values: list[Item], collation: Collation) -> list[Item]:
    """The first of each set of equal values, in order."""
    kinds = {type(value) for value in values}
    if Float in kinds and not kinds.isdisjoint(EXACT):
        # An xs:float equals the decimals that round to it, which no hash key can say.
        first: list[Item] = []
        for value in values:
            if not any(equal_or_nan(value, other, collation) for other in first):
                first.append(value)
        return first
    kept: dict[Item, Item] = {}
    for value in values:
        kept.setdefault(hash_key(value, collation), value)
    return list(kept.values())


@function("fn:index-of", "xs:anyAtomicType*, xs:anyAtomicType", "xs:integer*", context=True)
@function("fn:index-of", "xs:anyAtomicType*, xs:anyAtomicType, xs:string", "xs:integer*", context=True)
def index_of(context: DynamicContext, values: list[Item], wanted: Item, uri: str | None = None) -> list[int]:
    collation = context.collation(uri)

    def same(value: Item) -> bool:
        try:
            return value_compare("eq", value, wanted, collation)
        except XStreamError:  # values that do not compare are distinct
            return False

    return [position for position, value in enumerate(values, 1) if same(value)]


@function("fn:deep-equal", "item()*, item()*", "xs:boolean", context=True)
@function("fn:deep-equal", "item()*, item()*, xs:string", "xs:boolean", context=True)
def deep_equality(context: DynamicContext, a: list[Item], b: list[Item], uri: str | None = None) -> bool:
    return deep_equal(a, b, context.collation(uri))


@function("fn:zero-or-one", "item()*", "item()?")
def zero_or_one(items: list[Item]) -> list[Item]:
    if len(items) > 1:
        raise error("FORG0003", f"fn:zero-or-one got {len(items)} items")
    return items


@function("fn:one-or-more", "item()*", "item()+")
def one_or_more(items: list[Item]) -> list[Item]:
    if not items:
        raise error("FORG0004", "fn:one-or-more got an empty sequence")
    return items


@function("fn:exactly-one", "item()*", "item()")
def exactly_one(items: list[Item]) -> list[Item]:
    if len(items) != 1:
        raise error("FORG0005", f"fn:exactly-one got {len(items)} items")
    return items

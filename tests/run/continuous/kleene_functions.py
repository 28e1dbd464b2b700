"""What strict functions give of arguments that are known: the part of the reference of emission modes that is Python.

Each takes the atomised items of its arguments, one list for each. Errors are ``ValueError``: who meets one first is not
laid down.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kleene_documents import Untyped, printed

from xstreamcast.lang import ast

Given = list[Any]


def single(given: Given) -> Any:
    """The one item; None if there is none."""
    if len(given) > 1:
        raise ValueError("more than one item")
    return given[0] if given else None


def string(given: Given) -> str:
    item = single(given)
    return "" if item is None else printed(item)


def number(given: Given) -> float:
    item = single(given)
    try:
        return float("nan") if item is None else float(item)
    except ValueError:
        return float("nan")


def numeric(item: Any) -> Any:
    """Untyped values are doubles."""
    return float(item) if isinstance(item, Untyped) else item


def integer(given: Given) -> Given:
    item = single(given)
    return [] if item is None else [int(item)]


def _needs(least: int, most: int | None) -> Callable[..., Given]:
    def checked(given: Given) -> Given:
        if len(given) < least or (most is not None and len(given) > most):
            raise ValueError(f"{len(given)} items")
        return given

    return checked


def _extreme(choose: Callable[[Given], Any]) -> Callable[..., Given]:
    def found(given: Given) -> Given:
        values = [numeric(item) for item in given]
        return [next((value for value in values if value != value), choose(values))] if values else []

    return found


def _average(given: Given) -> Given:
    return [sum(numeric(item) for item in given) / len(given)] if given else []


def _slice(given: Given, start: Given, length: Given) -> Given:
    begin, end = single(start), single(start) + single(length)
    return [item for place, item in enumerate(given, 1) if begin <= place < end]


STRICT: Mapping[str, Callable[..., Given]] = {
    "sum": lambda given: [sum(numeric(item) for item in given)],
    "avg": _average,
    "max": _extreme(max),
    "min": _extreme(min),
    "string": lambda given: [string(given)],
    "data": lambda given: given,
    "number": lambda given: [number(given)],
    "string-join": lambda given, by=(): [string(list(by)).join(printed(item) for item in given)],
    "distinct-values": lambda given: list(dict.fromkeys(given)),
    "contains": lambda given, part: [string(part) in string(given)],
    "concat": lambda *given: ["".join(string(one) for one in given)],
    "index-of": lambda given, wanted: [n for n, item in enumerate(given, 1) if item == single(wanted)],
    "upper-case": lambda given: [string(given).upper()],
    "string-length": lambda given: [len(string(given))],
    "tokenize": lambda given: string(given).split(),
    "matches": lambda given, pattern: [re.search(string(pattern), string(given)) is not None],
    "integer": integer,
    "deep-equal": lambda left, right: [left == right],
}
"""Functions of what their arguments hold."""

BY_FORM: Mapping[type[ast.Expr], Callable[..., Given]] = {
    ast.Concat: STRICT["concat"],
    ast.Range: lambda first, last: list(range(single(first), single(last) + 1)) if first and last else [],
    ast.Unary: lambda given: [-numeric(item) for item in given[:1]],
    ast.CastAs: lambda given: _needs(1, 1)(integer(given)),
    ast.CastableAs: lambda given: [bool(given) and re.fullmatch(r"[+-]?[0-9]+", string(given)) is not None],
}
"""Operators of what their operands hold; casts are to integers."""

PASSING: Mapping[str, Callable[..., Given]] = {
    "head": lambda given: given[:1],
    "tail": lambda given: given[1:],
    "reverse": lambda given: given[::-1],
    "subsequence": _slice,
    "remove": lambda given, place: [item for n, item in enumerate(given, 1) if n != single(place)],
    "insert-before": lambda given, place, more: [*given[: single(place) - 1], *more, *given[single(place) - 1 :]],
    "exactly-one": _needs(1, 1),
    "zero-or-one": _needs(0, 1),
    "one-or-more": _needs(1, None),
}
"""Functions that choose among the items of their first argument, whatever is in them."""

"""Function items at run time: calls, partial application, maps, look-up; what a catch clause sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.convert import convert, single_integer
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.namespaces import ERR
from xstreamcast.model.types import describe, describe_sequence

if TYPE_CHECKING:
    from xstreamcast.run.evaluate import Places

_COUNTED: Final = 1000


def the_function(items: list[Item]) -> FunctionItem:
    """The one function to call."""
    if len(items) == 1 and isinstance(items[0], FunctionItem):
        return items[0]
    raise error("XPTY0004", f"expected a function to call, found {describe_sequence(items)}")


def call_function(items: list[Item], args: list[list[Item]]) -> list[Item]:
    return the_function(items).invoke(args)


def partial(items: list[Item], args: list[list[Item] | None]) -> FunctionItem:
    """A function of the arguments that are None; the others are converted and kept."""
    function = the_function(items)
    if len(args) != function.arity:
        raise error("XPTY0004", f"{function.described} takes {function.arity} arguments, not {len(args)}")
    params = function.params
    kept = [
        arg if arg is None or params is None else convert(arg, params[number], f"argument {number + 1}")
        for number, arg in enumerate(args)
    ]
    open_places = [number for number, arg in enumerate(args) if arg is None]

    def body(given: list[list[Item]]) -> list[Item]:
        rest = iter(given)
        return function.invoke([next(rest) if arg is None else arg for arg in kept])

    types = tuple(params[number] for number in open_places) if params is not None else None
    return FunctionItem(None, len(open_places), body, types, function.result)


def make_map(entries: list[tuple[Item | None, list[Item]]]) -> Map:
    """A map constructor: keys are single and distinct."""
    for key, _ in entries:
        if key is None:
            raise error("XPTY0004", "a key of a map is empty")
    made = Map(entries)
    if len(made) != len(entries):
        raise error("XQDY0137", "two entries of a map have the same key")
    return made


def merge_into(entries: dict[Any, tuple[Item, list[Item]]], maps: list[Item]) -> None:
    """The entries of maps, as map:merge has them: the first of a key stays."""
    for one in maps:
        for found, entry in one.entries():
            entries.setdefault(found, entry)


# ----------------------------------------------------------------------------------------------------- look-up


def _of(item: Item, key: Item) -> list[Item]:
    if isinstance(item, Map):
        return item.get(key) or []
    if isinstance(item, Array):
        return item.get(single_integer([key], "the position in an array look-up"))
    raise error("XPTY0004", f"? looks into maps and arrays, not into {describe(item)}")


def lookup_key(items: list[Item], key: Item) -> list[Item]:
    if len(items) == 1:
        return _of(items[0], key)
    return [value for item in items for value in _of(item, key)]


def lookup_keys(items: list[Item], keys: list[Item]) -> list[Item]:
    return [value for item in items for key in keys for value in _of(item, key)]


def lookup_all(items: list[Item]) -> list[Item]:
    """``?*``"""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Map):
            for value in item.values():
                found += value
        elif isinstance(item, Array):
            for member in item.members():
                found += member
        else:
            raise error("XPTY0004", f"? looks into maps and arrays, not into {describe(item)}")
    return found


# ------------------------------------------------------------------------------------------------------- errors


class Caught:
    """What ``$err:…`` are bound to."""

    __slots__ = ("additional", "code", "column_number", "description", "line_number", "local", "module", "uri", "value")

    def __init__(self, failure: BaseException, places: Places) -> None:
        if isinstance(failure, RecursionError):
            failure = too_deep()
        assert isinstance(failure, XStreamError)
        places.locate(failure)
        if places.in_global(failure):
            raise failure  # XQuery 3.1 §3.15: variables of the prolog are not inside the try
        code = getattr(failure, "name", None)  # fn:error's own; NameErrors have one of another kind
        if type(code) is not QName:
            code = QName(ERR, failure.code, "err")
        self.code: QName = code
        self.uri = code.uri
        self.local = code.local
        self.description: str | None = failure.message
        self.value: list[Item] = getattr(failure, "value", None) or []
        place = failure.place
        self.module = place.source if place else None
        self.line_number = place.line if place else None
        self.column_number = place.column if place else None
        self.additional: list[Item] = []


def too_deep() -> XStreamError:
    return error(
        "XPDY0130",
        "functions call each other too deeply",
        hint="a function whose last act is to call itself may do so any number of times",
    )


def counts_of(given: Map) -> dict[str, int] | None:
    """The entries of a map from strings to integers; None if it is another, or so large that it is better not copied
    into another form and back for each part of an input."""
    if given.size > _COUNTED:
        return None
    counts: dict[str, int] = {}
    for key, value in given.items():
        if type(key) is not str or len(value) != 1 or type(value[0]) is not int:
            return None
        counts[key] = value[0]
    return counts


def map_of_counts(counts: dict[str, int]) -> Map:
    """A map from strings to integers."""
    return Map.of_entries({key: (key, [count]) for key, count in counts.items()})

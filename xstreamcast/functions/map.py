"""Functions on maps (F&O 3.1 §17.1)."""

from __future__ import annotations

from typing import Any

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array, FunctionItem, Map, same_key

_POLICIES = ("reject", "use-first", "use-last", "use-any", "combine")


def _policy(options: Map) -> str:
    given = options.get("duplicates")
    if given is None:
        return "use-first"
    if len(given) != 1 or not isinstance(given[0], str):
        raise error("XPTY0004", "map:merge: the option duplicates must be a string")
    if given[0] not in _POLICIES:
        raise error("FOJS0005", f"map:merge: duplicates={given[0]}", hint=f"one of {', '.join(_POLICIES)}")
    return given[0]


@function("map:merge", "map(*)*", "map(*)")
@function("map:merge", "map(*)*, map(*)", "map(*)")
def merge(maps: list[Map], options: Map | None = None) -> Map:
    policy = "use-first" if options is None else _policy(options)
    if len(maps) == 1:
        return maps[0]
    merged: dict[Any, tuple[Item, list[Item]]] = {}
    for one in maps:
        for found, entry in one.entries():
            before = merged.setdefault(found, entry)
            if before is entry:
                continue
            if policy == "use-last":
                merged[found] = entry
            elif policy == "reject":
                raise error("FOJS0003", f"map:merge: the key {entry[0]} occurs twice")
            elif policy == "combine":
                merged[found] = (before[0], before[1] + entry[1])
    return Map.of_entries(merged)


@function("map:size", "map(*)", "xs:integer")
def size(target: Map) -> int:
    return len(target)


@function("map:keys", "map(*)", "xs:anyAtomicType*")
def keys(target: Map) -> list[Item]:
    return list(target.keys())


@function("map:contains", "map(*), xs:anyAtomicType", "xs:boolean")
def contains(target: Map, key: Item) -> bool:
    return key in target


@function("map:get", "map(*), xs:anyAtomicType", "item()*")
def get(target: Map, key: Item) -> list[Item]:
    return target.get(key) or []


@function("map:find", "item()*, xs:anyAtomicType", "array(*)")
def find(items: list[Item], key: Item) -> Array:
    """Values at a key in all maps inside, however deep, in order."""
    found: list[list[Item]] = []

    def visit(sequence: list[Item]) -> None:
        for item in sequence:
            if isinstance(item, Array):
                for member in item.members():
                    visit(member)
            elif isinstance(item, Map):
                value = item.get(key)
                if value is not None:
                    found.append(value)
                for inner in item.values():
                    visit(inner)

    visit(items)
    return Array(found)


@function("map:put", "map(*), xs:anyAtomicType, item()*", "map(*)")
def put(target: Map, key: Item, value: list[Item]) -> Map:
    return target.put(key, value)


@function("map:entry", "xs:anyAtomicType, item()*", "map(*)")
def entry(key: Item, value: list[Item]) -> Map:
    return Map.of_entries({same_key(key): (key, value)})


@function("map:remove", "map(*), xs:anyAtomicType*", "map(*)")
def remove(target: Map, removed: list[Item]) -> Map:
    return target.remove(removed)


@function("map:for-each", "map(*), function(xs:anyAtomicType, item()*) as item()*", "item()*", context=True)
def for_each(context: DynamicContext, target: Map, action: FunctionItem) -> list[Item]:
    call = context.call
    return [result for key, value in target.items() for result in call(action, [[key], value])]

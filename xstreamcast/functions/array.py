"""Functions on arrays (F&O 3.1 §17.3)."""

from __future__ import annotations

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.higher_order import sorted_positions
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import Item
from xstreamcast.model.convert import atomize, single_boolean
from xstreamcast.model.function import Array, FunctionItem


def _position(target: Array, position: int, asker: str, last: int) -> int:
    if not 1 <= position <= last:
        raise error("FOAY0001", f"{asker}: no position {position} in an array of size {len(target)}")
    return position - 1


@function("array:size", "array(*)", "xs:integer")
def size(target: Array) -> int:
    return len(target)


@function("array:get", "array(*), xs:integer", "item()*")
def get(target: Array, position: int) -> list[Item]:
    return target.get(position)


@function("array:put", "array(*), xs:integer, item()*", "array(*)")
def put(target: Array, position: int, member: list[Item]) -> Array:
    at = _position(target, position, "array:put", len(target))
    members = list(target.members())
    members[at] = member
    return Array(members)


@function("array:append", "array(*), item()*", "array(*)")
def append(target: Array, member: list[Item]) -> Array:
    return target.append(member)


@function("array:subarray", "array(*), xs:integer", "array(*)")
@function("array:subarray", "array(*), xs:integer, xs:integer", "array(*)")
def subarray(target: Array, start: int, length: int | None = None) -> Array:
    at = _position(target, start, "array:subarray", len(target) + 1)
    if length is None:
        return Array(target.members()[at:])
    if length < 0:
        raise error("FOAY0002", f"array:subarray: negative length {length}")
    if at + length > len(target):
        raise error("FOAY0001", f"array:subarray: {length} members from {start} in an array of size {len(target)}")
    return Array(target.members()[at : at + length])


@function("array:remove", "array(*), xs:integer*", "array(*)")
def remove(target: Array, positions: list[int]) -> Array:
    gone = {_position(target, position, "array:remove", len(target)) for position in positions}
    return Array(member for at, member in enumerate(target.members()) if at not in gone)


@function("array:insert-before", "array(*), xs:integer, item()*", "array(*)")
def insert_before(target: Array, position: int, member: list[Item]) -> Array:
    at = _position(target, position, "array:insert-before", len(target) + 1)
    members = list(target.members())
    members.insert(at, member)
    return Array(members)


@function("array:head", "array(*)", "item()*")
def head(target: Array) -> list[Item]:
    return target.get(1)


@function("array:tail", "array(*)", "array(*)")
def tail(target: Array) -> Array:
    _position(target, 1, "array:tail", len(target))
    return Array(target.members()[1:])


@function("array:reverse", "array(*)", "array(*)")
def reverse(target: Array) -> Array:
    return Array(target.members()[::-1])


@function("array:join", "array(*)*", "array(*)")
def join(arrays: list[Array]) -> Array:
    return Array(member for one in arrays for member in one.members())


@function("array:for-each", "array(*), function(item()*) as item()*", "array(*)", context=True)
def for_each(context: DynamicContext, target: Array, action: FunctionItem) -> Array:
    return Array(context.call(action, [member]) for member in target.members())


@function("array:filter", "array(*), function(item()*) as xs:boolean", "array(*)", context=True)
def filter_members(context: DynamicContext, target: Array, test: FunctionItem) -> Array:
    role = "the result of array:filter's function"
    return Array(m for m in target.members() if single_boolean(context.call(test, [m]), role))


@function("array:fold-left", "array(*), item()*, function(item()*, item()*) as item()*", "item()*", context=True)
def fold_left(context: DynamicContext, target: Array, zero: list[Item], step: FunctionItem) -> list[Item]:
    for member in target.members():
        zero = context.call(step, [zero, member])
    return zero


@function("array:fold-right", "array(*), item()*, function(item()*, item()*) as item()*", "item()*", context=True)
def fold_right(context: DynamicContext, target: Array, zero: list[Item], step: FunctionItem) -> list[Item]:
    for member in reversed(target.members()):
        zero = context.call(step, [member, zero])
    return zero


@function("array:for-each-pair", "array(*), array(*), function(item()*, item()*) as item()*", "array(*)", context=True)
def for_each_pair(context: DynamicContext, a: Array, b: Array, action: FunctionItem) -> Array:
    return Array(context.call(action, [x, y]) for x, y in zip(a.members(), b.members(), strict=False))


@function("array:sort", "array(*)", "array(*)", context=True)
@function("array:sort", "array(*), xs:string?", "array(*)", context=True)
@function("array:sort", "array(*), xs:string?, function(item()*) as xs:anyAtomicType*", "array(*)", context=True)
def sort(context: DynamicContext, target: Array, uri: str | None = None, key: FunctionItem | None = None) -> Array:
    collation = context.collation(uri)
    members = target.members()
    keys = [atomize(member if key is None else context.call(key, [member])) for member in members]
    return Array(members[at] for at in sorted_positions(keys, collation))


@function("array:flatten", "item()*", "item()*")
def flatten(items: list[Item]) -> list[Item]:
    flat: list[Item] = []
    for item in items:
        if isinstance(item, Array):
            for member in item.members():
                flat.extend(flatten(member))
        else:
            flat.append(item)
    return flat

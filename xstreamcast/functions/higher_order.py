"""Functions that take or give functions (F&O 3.1 §16)."""

from __future__ import annotations

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function, lookup
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.collation import Collation
from xstreamcast.model.compare import order_keys
from xstreamcast.model.convert import atomize, single_boolean
from xstreamcast.model.function import Array, FunctionItem


@function("fn:function-lookup", "xs:QName, xs:integer", "function(*)?", focus=True)
def function_lookup(context: DynamicContext, name: QName, arity: int) -> FunctionItem | None:
    own = context.functions(context, name, arity)
    if own is not None:
        return own
    entry = lookup(name.uri, name.local, arity)
    return None if entry is None else entry.item(context)


@function("fn:function-name", "function(*)", "xs:QName?")
def function_name(item: FunctionItem) -> QName | None:
    return item.name


@function("fn:function-arity", "function(*)", "xs:integer")
def function_arity(item: FunctionItem) -> int:
    return item.arity


@function("fn:for-each", "item()*, function(item()) as item()*", "item()*", context=True)
def for_each(context: DynamicContext, items: list[Item], action: FunctionItem) -> list[Item]:
    call = context.call
    return [result for item in items for result in call(action, [[item]])]


@function("fn:filter", "item()*, function(item()) as xs:boolean", "item()*", context=True)
def filter_items(context: DynamicContext, items: list[Item], test: FunctionItem) -> list[Item]:
    call = context.call
    return [item for item in items if single_boolean(call(test, [[item]]), "the result of fn:filter's function")]


@function("fn:fold-left", "item()*, item()*, function(item()*, item()) as item()*", "item()*", context=True)
def fold_left(context: DynamicContext, items: list[Item], zero: list[Item], step: FunctionItem) -> list[Item]:
    call = context.call
    for item in items:
        zero = call(step, [zero, [item]])
    return zero


@function("fn:fold-right", "item()*, item()*, function(item(), item()*) as item()*", "item()*", context=True)
def fold_right(context: DynamicContext, items: list[Item], zero: list[Item], step: FunctionItem) -> list[Item]:
    call = context.call
    for item in reversed(items):
        zero = call(step, [[item], zero])
    return zero


@function("fn:for-each-pair", "item()*, item()*, function(item(), item()) as item()*", "item()*", context=True)
def for_each_pair(context: DynamicContext, a: list[Item], b: list[Item], action: FunctionItem) -> list[Item]:
    call = context.call
    return [result for x, y in zip(a, b, strict=False) for result in call(action, [[x], [y]])]


def sorted_positions(keys: list[list[Item]], collation: Collation) -> list[int]:
    """The stable order of key sequences: lexicographic, () before anything, NaN before other numbers."""
    width = max(map(len, keys), default=0)
    columns = [
        order_keys([key[at] if at < len(key) else None for key in keys], False, collation) for at in range(width)
    ]
    if len(columns) == 1:
        return sorted(range(len(keys)), key=columns[0].__getitem__)
    rows = list(zip(*columns, strict=True)) if columns else [()] * len(keys)
    return sorted(range(len(keys)), key=rows.__getitem__)


@function("fn:sort", "item()*", "item()*", context=True)
@function("fn:sort", "item()*, xs:string?", "item()*", context=True)
@function("fn:sort", "item()*, xs:string?, function(item()) as xs:anyAtomicType*", "item()*", context=True)
def sort(
    context: DynamicContext, items: list[Item], uri: str | None = None, key: FunctionItem | None = None
) -> list[Item]:
    collation = context.collation(uri)
    keys = [atomize([item] if key is None else context.call(key, [[item]])) for item in items]
    return [items[at] for at in sorted_positions(keys, collation)]


@function("fn:apply", "function(*), array(*)", "item()*", context=True)
def apply(context: DynamicContext, action: FunctionItem, arguments: Array) -> list[Item]:
    if action.arity != len(arguments):
        raise error("FOAP0001", f"fn:apply: {len(arguments)} arguments for a function of arity {action.arity}")
    return context.call(action, list(arguments.members()))

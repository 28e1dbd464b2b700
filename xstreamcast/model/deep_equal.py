"""fn:deep-equal (F&O 3.1 §14.2.1): equality of sequences, looking into nodes, maps and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import CODEPOINTS, Collation
from xstreamcast.model.compare import equal_or_nan
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, PI, TEXT, Node


def deep_equal(a: list[Item], b: list[Item], collation: Collation = CODEPOINTS) -> bool:
    """Same length, and equal item by item."""
    if any(isinstance(item, FunctionItem) and not isinstance(item, (Map, Array)) for item in (*a, *b)):
        raise error("FOTY0015", "functions cannot be compared by fn:deep-equal")
    return len(a) == len(b) and all(_equal(x, y, collation) for x, y in zip(a, b, strict=True))


def _equal(a: Item, b: Item, collation: Collation) -> bool:
    if isinstance(a, Node):
        return isinstance(b, Node) and nodes_equal(a, b, collation)
    if isinstance(b, Node):
        return False
    if isinstance(a, Map):
        return isinstance(b, Map) and _maps_equal(a, b, collation)
    if isinstance(a, Array):
        return (
            isinstance(b, Array)
            and len(a) == len(b)
            and all(deep_equal(x, y, collation) for x, y in zip(a.members(), b.members(), strict=True))
        )
    if isinstance(b, FunctionItem):
        return False
    return equal_or_nan(a, b, collation)


def _maps_equal(a: Map, b: Map, collation: Collation) -> bool:
    if len(a) != len(b):
        return False
    for key, value in a.items():
        other = b.get(key)
        if other is None or not deep_equal(value, other, collation):
            return False
    return True


def nodes_equal(a: Node, b: Node, collation: Collation = CODEPOINTS) -> bool:
    kind = a.kind
    if kind != b.kind:
        return False
    if kind in (DOCUMENT, ELEMENT):
        # Walked side by side without recursion: documents may be deeper than Python's stack.
        return all(x == y for x, y in zip_longest(_events(a, collation), _events(b, collation)))
    return a.name == b.name and bool(collation.key(a.string) == collation.key(b.string))


def _events(node: Node, collation: Collation) -> Iterator[Any]:
    """A subtree as events; comments and processing instructions inside count for nothing."""
    tree, top = node[0], node[1]
    kind, name, size, value = tree.kind, tree.name, tree.size, tree.value
    key = collation.key
    ends: list[int] = []
    row, last = top, top + size[top]
    while row <= last:
        while ends and ends[-1] < row:
            ends.pop()
            yield ")"
        what = kind[row]
        if what == ELEMENT:
            first = tree.first_child(row)
            attributes = frozenset((name[at], key(value[at] or "")) for at in range(row + 1, first))
            yield name[row], attributes
            ends.append(row + size[row])
            row = first
            continue
        if what == TEXT:
            yield key(value[row] or "")
        elif what == DOCUMENT:
            yield "document"
        elif (what in (COMMENT, PI) and row == top) or what == ATTRIBUTE:
            yield name[row], value[row]
        row += 1
    for _ in ends:
        yield ")"

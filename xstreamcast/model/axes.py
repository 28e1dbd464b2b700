"""The axes that are not loops over neighbouring rows; all give rows in document order."""

from __future__ import annotations

from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Tree


def ancestors(tree: Tree, row: int) -> list[int]:
    """``ancestor::node()``"""
    rows = []
    up = tree.up
    while up[row]:
        row -= up[row]
        rows.append(row)
    rows.reverse()
    return rows


def ancestors_or_self(tree: Tree, row: int) -> list[int]:
    """``ancestor-or-self::node()``"""
    return [*ancestors(tree, row), row]


def following_siblings(tree: Tree, row: int) -> list[int]:
    """``following-sibling::node()``; an attribute has none."""
    distance = tree.up[row]
    if not distance or tree.kind[row] == ATTRIBUTE:
        return []
    parent = row - distance
    size, end = tree.size, parent + tree.size[parent]
    rows = []
    row += size[row] + 1
    while row <= end:
        rows.append(row)
        row += size[row] + 1
    return rows


def preceding_siblings(tree: Tree, row: int) -> list[int]:
    """``preceding-sibling::node()``; an attribute has none."""
    distance = tree.up[row]
    if not distance or tree.kind[row] == ATTRIBUTE:
        return []
    size = tree.size
    other = tree.first_child(row - distance)
    rows = []
    while other < row:
        rows.append(other)
        other += size[other] + 1
    return rows


def following(tree: Tree, row: int) -> list[int]:
    """``following::node()``: after the node, without its descendants; no attributes."""
    kind = tree.kind
    # An attribute's "descendants" are none, but the children of its element follow it.
    first = row + tree.size[row] + 1
    return [other for other in range(first, len(kind)) if kind[other] != ATTRIBUTE]


def preceding(tree: Tree, row: int) -> list[int]:
    """``preceding::node()``: before the node, without its ancestors; no attributes."""
    above = set(ancestors(tree, row))
    kind = tree.kind
    return [other for other in range(row) if kind[other] != ATTRIBUTE and other not in above]

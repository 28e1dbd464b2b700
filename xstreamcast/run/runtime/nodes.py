"""What generated code calls for nodes: checks, sorting, set operations, axes of node objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import error
from xstreamcast.model import axes
from xstreamcast.model.atomic import Item
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, NAMESPACE, TEXT
from xstreamcast.model.tree import NamespaceNode, Node, Tree, nodes_at
from xstreamcast.model.types import describe


def _childless() -> Tree:
    from xstreamcast.model.build import TreeBuilder

    builder = TreeBuilder()
    builder.comment("")
    return builder.finish()


_NOWHERE = Node((_childless(), 0))


def as_row(item: Item, left: bool = False) -> Node:
    """The node to take a step from; a namespace node has nothing below it."""
    if type(item) is Node:
        return item
    if isinstance(item, Node):
        return _NOWHERE
    if left:
        check_node(item)
    raise error("XPTY0020", f"a step needs a node to start from, not {describe(item)}")


def check_node(item: Item) -> None:
    """What is on the left of ``/`` must be nodes."""
    if not isinstance(item, Node):
        raise error("XPTY0019", f"the left side of / gave {describe(item)}; only nodes have paths")


def no_document_root() -> NoReturn:
    raise error("XPDY0050", "the tree of the context item has no document node at its root")


def text_children(tree: Tree, row: int) -> list[int]:
    """``child::text()``"""
    kind = tree.kind
    return [child for child in tree.children(row) if kind[child] == TEXT]


def path_result(items: list[Item], last: bool) -> list[Item]:
    """The result of a step that is no axis step: nodes in document order, or, at the end, atomic values."""
    nodes = sum(1 for item in items if isinstance(item, Node))
    if nodes == len(items):
        return sorted(set(items))
    if not last:
        raise error("XPTY0019", "a step inside a path gave values that are no nodes")
    if nodes:
        raise error("XPTY0018", "a path gave both nodes and other values")
    return items


def check_nodes(items: Iterable[Item]) -> None:
    for item in items:
        if not isinstance(item, Node):
            raise error("XPTY0004", f"expected nodes, found {describe(item)}")


def union_nodes(*operands: list[Item]) -> list[Item]:
    found: set[Item] = set()
    for operand in operands:
        check_nodes(operand)
        found.update(operand)
    return sorted(found)


def intersect_nodes(left: list[Item], right: list[Item]) -> list[Item]:
    check_nodes(left)
    check_nodes(right)
    return sorted(set(left).intersection(right))


def except_nodes(left: list[Item], right: list[Item]) -> list[Item]:
    check_nodes(left)
    check_nodes(right)
    return sorted(set(left).difference(right))


def node_opt(items: list[Item], role: str) -> Node | None:
    if len(items) > 1:
        raise error("XPTY0004", f"{role} has {len(items)} items where at most one is allowed")
    check_nodes(items)
    return items[0] if items else None


_ROWS = {
    "ancestor": axes.ancestors,
    "ancestor-or-self": axes.ancestors_or_self,
    "following-sibling": axes.following_siblings,
    "preceding-sibling": axes.preceding_siblings,
    "following": axes.following,
    "preceding": axes.preceding,
}
_REVERSE = frozenset({"ancestor", "ancestor-or-self", "preceding", "preceding-sibling"})


def axis_nodes(axis: str, node: Item) -> list[Node]:
    """The nodes of an axis in axis order, namespace nodes among them."""
    if not isinstance(node, Node):
        raise error("XPTY0020", f"a step needs a node to start from, not {describe(node)}")
    if axis == "namespace":
        return list(node.namespace_nodes()) if node.kind == ELEMENT else []
    if axis == "self":
        return [node]
    if axis == "parent":
        return [node.parent] if node.parent is not None else []
    if type(node) is NamespaceNode:
        return _of_namespace(axis, node)
    found = nodes_at(node[0], _ROWS[axis](node[0], node[1]))
    return found[::-1] if axis in _REVERSE else found


def _of_namespace(axis: str, node: NamespaceNode) -> list[Node]:
    parent = Node((node[0], node[1]))
    if axis == "ancestor-or-self":
        return [node, *axis_nodes(axis, parent)]
    if axis == "ancestor":
        return axis_nodes("ancestor-or-self", parent)
    if axis == "following":
        return [*parent.descendants(), *axis_nodes(axis, parent)]
    return axis_nodes(axis, parent) if axis == "preceding" else []


@dataclass(frozen=True, slots=True)
class AxisTest:
    """A name test or wildcard on node objects; None is the wild part."""

    axis: str
    uri: str | None
    local: str | None

    def matches(self, node: Node) -> bool:
        kind = {"attribute": ATTRIBUTE, "namespace": NAMESPACE}.get(self.axis, ELEMENT)
        return (
            node.kind == kind
            and (self.uri is None or node.uri == self.uri)
            and (self.local is None or node.local == self.local)
        )

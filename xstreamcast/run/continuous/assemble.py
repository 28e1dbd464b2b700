"""What one evaluation sees: a document with a member's ancestors and what the query reads of the member, holes filled.

A member that spreads over several fragments is put together here; what its unit does not read is left out. The result
is a batch document (``scan/documents.py``) with one record in it, so that the plan's programs run on it as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.model.tree import Node, Tree
from xstreamcast.run.continuous.live import (
    HOLE,
    MUTABLE,
    Above,
    Member,
    Mount,
    Occurrence,
    lifespan_attributes,
    side_by_side,
)
from xstreamcast.scan.automaton import DEAD

if TYPE_CHECKING:
    from xstreamcast.run.continuous.route import Route


def document(member: Member, route: Route) -> tuple[Tree, int]:
    """The document of a member, and the row of the member in it."""
    builder = TreeBuilder()
    builder.start_document()
    chain: list[Above] = []
    above = member.above
    while above is not None:
        chain.append(above)
        above = above.parent
    for above in reversed(chain):
        builder.open(above.name, above.prefix)
        for name, prefix, value in above.attributes:
            builder.put_attribute(name, value, prefix)
    row = len(builder.tree)
    _Assembly(builder, route, member.unit).element(member.mount, member.row, member.state)
    return builder.finish(), row


def whole_document(root: Occurrence, route: Route) -> Tree:
    """What is read of the document as a whole."""
    builder = TreeBuilder()
    builder.start_document()
    _Assembly(builder, route, route.document).occurrence(root)
    return builder.finish()


class _Assembly:
    """One copy of what a unit reads."""

    __slots__ = ("builder", "route", "unit")

    def __init__(self, builder: TreeBuilder, route: Route, unit: int) -> None:
        self.builder = builder
        self.route = route
        self.unit = unit

    def element(self, mount: Mount, row: int, state: int) -> None:
        tree, builder, route, unit = mount.tree, self.builder, self.route, self.unit
        whole = unit in route.role(state).whole
        lifespan = mount.lifespan if tree.up[row] == row - 1 else None  # of a top element: its parent is the wrapper
        end = row + tree.size[row]
        if whole and lifespan is None and not any(row < at <= end for at in mount.holes):
            builder.copy(Node((tree, row)))
            return
        builder.open(tree.name[row], tree.prefix[row])
        for prefix, uri in tree.namespaces.get(row, {}).items():
            builder.namespace(prefix, uri)
        at = row + 1
        while at <= end and tree.kind[at] == ATTRIBUTE:
            if whole or unit in route.role(route.attribute(state, tree.name[at])).reads:
                builder.put_attribute(tree.name[at], tree.value[at] or "", tree.prefix[at])
            at += 1
        if lifespan is not None:
            for name, prefix_id, value in lifespan_attributes(lifespan):
                builder.put_attribute(name, value, prefix_id)
        self.children(mount, row, state)
        builder.end()

    def children(self, mount: Mount, row: int, state: int) -> None:
        tree, route, unit = mount.tree, self.route, self.unit
        role = route.role(state)
        whole = unit in role.whole
        texts = whole or unit in route.role(route.text(state)).reads
        others = whole or unit in route.role(route.comment(state)).reads
        for child in tree.children(row):
            kind = tree.kind[child]
            if kind == TEXT:
                if texts:
                    self.builder.text(tree.value[child] or "")
            elif kind != ELEMENT:
                if others:
                    self.builder.copy(Node((tree, child)))
            elif tree.name[child] in (HOLE, MUTABLE):
                if unit in role.reads and child in mount.holes:
                    self.occurrence(mount.holes[child])
            else:
                to = route.element(state, tree.name[child])
                if to != DEAD and unit in route.role(to).reads:
                    self.element(mount, child, to)

    def occurrence(self, occurrence: Occurrence) -> None:
        for place in side_by_side(occurrence):
            if not place.hidden:
                for mount in sorted(place.mounts.values(), key=_key):
                    self.children(mount, 1, place.state)


def _key(mount: Mount) -> tuple[object, ...]:
    return mount.key

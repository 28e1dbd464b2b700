"""What one evaluation sees: a document with a member's ancestors and what the query reads of the member, holes filled.

A member that spreads over several fragments is put together here; what its unit does not read is left out. The result
is a batch document (``scan/documents.py``) with one record in it, so that the plan's programs run on it as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.model.tree import Node, Tree
from xstreamcast.run.continuous.marks import mark_hole, mark_living
from xstreamcast.run.continuous.mounts import (
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


SLICED: Final = 512
"""So many rows of a member are copied as they are, whether all of them are read or not: to choose would cost more."""


class _Header:
    """The rows of the elements around a member, with the document node, in columns that new trees begin with."""

    __slots__ = ("kind", "name", "open", "prefix", "size", "up", "value")

    def __init__(self, above: Above | None) -> None:
        builder = TreeBuilder()
        builder.start_document()
        self.open = [0]
        chain: list[Above] = []
        while above is not None:
            chain.append(above)
            above = above.parent
        for one in reversed(chain):
            self.open.append(len(builder.tree))
            builder.open(one.name, one.prefix)
            for name, prefix, value in one.attributes:
                builder.put_attribute(name, value, prefix)
        tree = builder.tree
        self.kind, self.name, self.prefix, self.up, self.size = tree.kind, tree.name, tree.prefix, tree.up, tree.size
        count = len(tree)
        for row in self.open:
            self.size[row] = count - row  # and what comes after, without its first row
        self.value = [None if row in self.open else value for row, value in enumerate(tree.value)]


_BARE: Final = _Header(None)


def document(member: Member, route: Route) -> tuple[Tree, int]:
    """The document of a member, and the row of the member in it."""
    return _sliced(member) or _assembled(member, route)


def _sliced(member: Member) -> tuple[Tree, int] | None:
    """… if it is small and all in one content."""
    tree, base = member.mount.tree
    row = base + member.row
    size = tree.size[row]
    if size > SLICED or tree.namespaces or (member.mount.lifespan is not None and row - tree.up[row] == base):
        return None
    names = tree.name[row : row + size + 1]
    if HOLE in names or MUTABLE in names:
        return None
    return sliced(member.above, tree, row)


def sliced(above: Above | None, tree: Tree, row: int) -> tuple[Tree, int]:
    """A document of some elements and the rows of another in them, and the row of that; no namespaces are declared."""
    size = tree.size[row]
    end = row + size + 1
    if above is None:
        header = _BARE
    elif above.header is None:
        header = above.header = _Header(above)
    else:
        header = above.header
    count = len(header.kind)
    up, sizes = header.up + tree.up[row:end], header.size + tree.size[row:end]
    up[count] = count - header.open[-1]
    for at in header.open:
        sizes[at] += size
    columns = (
        header.kind + tree.kind[row:end],
        header.name + tree.name[row:end],
        header.prefix + tree.prefix[row:end],
        up,
        sizes,
        header.value + tree.value[row:end],
    )
    return Tree.of_columns(columns), count


def _assembled(member: Member, route: Route) -> tuple[Tree, int]:
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
    tree, base = member.mount.tree
    _Assembly(builder, route, member.unit).element(member.mount, tree, base, base + member.row, member.state)
    return builder.finish(), row


def whole_document(root: Occurrence, route: Route) -> Tree:
    """What is read of the document as a whole."""
    builder = TreeBuilder()
    builder.start_document()
    _Assembly(builder, route, route.document).occurrence(root)
    return builder.finish()


class _Assembly:
    """One copy of what a unit reads. ``passed``: something was left out since the last text."""

    __slots__ = ("builder", "passed", "route", "unit")

    def __init__(self, builder: TreeBuilder, route: Route, unit: int) -> None:
        self.builder = builder
        self.route = route
        self.unit = unit
        self.passed = False

    def element(self, mount: Mount, tree: Tree, base: int, row: int, state: int) -> None:
        builder, route, unit = self.builder, self.route, self.unit
        whole = unit in route.role(state).whole
        lifespan = mount.lifespan if row - tree.up[row] == base else None  # of a top element: in the wrapper
        end = row + tree.size[row]
        if whole and lifespan is None and not any(row < base + at <= end for at in mount.holes):
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
            if mount.occurrence.open is not None and lifespan.begin != lifespan.end:
                mark_living(builder.tree, builder.here)
            for name, prefix_id, value in lifespan_attributes(lifespan):
                builder.put_attribute(name, value, prefix_id)
        self.children(mount, tree, base, row, state)
        builder.end()

    def children(self, mount: Mount, tree: Tree, base: int, row: int, state: int) -> None:
        route, unit = self.route, self.unit
        role = route.role(state)
        whole = unit in role.whole
        texts = whole or unit in route.role(route.text(state)).reads
        others = whole or unit in route.role(route.comment(state)).reads
        for child in tree.children(row):
            kind = tree.kind[child]
            if kind == TEXT:
                if texts:
                    self.builder.text(tree.value[child] or "", apart=self.passed)
                    self.passed = False
            elif kind != ELEMENT:
                if others:
                    self.builder.copy(Node((tree, child)))
                else:
                    self.passed = True
            elif tree.name[child] in (HOLE, MUTABLE):
                if unit in role.reads and child - base in mount.holes:
                    self.occurrence(mount.holes[child - base])
            else:
                to = route.element(state, tree.name[child])
                if to != DEAD and unit in route.role(to).reads:
                    self.element(mount, tree, base, child, to)
                else:
                    self.passed = True

    def occurrence(self, occurrence: Occurrence) -> None:
        for place in side_by_side(occurrence):
            if not place.hidden:
                if place.open is not None:
                    mark_hole(self.builder.tree, self.builder.here, place.open)
                for mount in sorted(place.mounts.values(), key=_key):
                    tree, base = mount.tree
                    self.children(mount, tree, base, base, place.state)


def _key(mount: Mount) -> tuple[object, ...]:
    return mount.key

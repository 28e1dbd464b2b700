"""What one evaluation sees: a document with a member's ancestors and what the query reads of the member, holes filled.

A member that spreads over several fragments is put together here; what its unit does not read is left out. The result
is a batch document (``scan/documents.py``) with one record in it, so that the plan's programs run on it as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.depth import Work, work_off
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, TEXT
from xstreamcast.model.tree import Node, Seam, Sewn, Tree
from xstreamcast.run.continuous.associate.mounts import (
    HOLE,
    MUTABLE,
    Above,
    Member,
    Mount,
    Occurrence,
    lifespan_attributes,
    side_by_side,
)
from xstreamcast.run.continuous.evaluate.marks import mark_hole, mark_living
from xstreamcast.scan.tables import DEAD

if TYPE_CHECKING:
    from xstreamcast.run.continuous.associate.route import Route


SLICED: Final = 512
"""So many rows of a member are copied as they are, whether all of them are read or not: to choose would cost more."""


class _Header:
    """The rows of the elements around a member, with the document node, in columns that new trees begin with."""

    __slots__ = ("kind", "name", "namespaces", "open", "prefix", "size", "up", "value")

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
            _open(builder, one)
        tree = builder.tree
        self.namespaces = tree.namespaces
        self.kind, self.name, self.prefix, self.up, self.size = tree.kind, tree.name, tree.prefix, tree.up, tree.size
        count = len(tree)
        for row in self.open:
            self.size[row] = count - row  # and what comes after, without its first row
        self.value = [None if row in self.open else value for row, value in enumerate(tree.value)]


def _open(builder: TreeBuilder, above: Above) -> None:
    """Begin an element around a member."""
    builder.open(above.name, above.prefix)
    for prefix, uri in above.namespaces:
        builder.namespace(prefix, uri)
    for name, prefix_id, value in above.attributes:
        builder.put_attribute(name, value, prefix_id)


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
    return sliced(member.above, tree, row, row + size + 1)


def sliced(above: Above | None, tree: Tree, row: int, end: int) -> tuple[Tree, int]:
    """A document of some elements and the rows of others, side by side in them, and the row of the first of these;
    none declares a namespace."""
    if above is None:
        header = _BARE
    elif above.header is None:
        header = above.header = _Header(above)
    else:
        header = above.header
    count = len(header.kind)
    up, sizes = header.up + tree.up[row:end], header.size + tree.size[row:end]
    up[count] = count - header.open[-1]
    behind = row + tree.size[row] + 1
    while behind < end:  # further ones
        up[count + behind - row] = count + behind - row - header.open[-1]
        behind += tree.size[behind] + 1
    for at in header.open:
        sizes[at] += end - row - 1
    columns = (
        header.kind + tree.kind[row:end],
        header.name + tree.name[row:end],
        header.prefix + tree.prefix[row:end],
        up,
        sizes,
        header.value + tree.value[row:end],
    )
    made = Tree.of_columns(columns)
    if above is not None and above.declares:
        undone = {count: {"": ""}} if above.default else {}
        made.namespaces = header.namespaces | undone
    return made, count


def start(member: Member, route: Route) -> tuple[Tree, int]:
    """The document of a member of which no more is looked at than its name and attributes, and its row."""
    return _assembled(member, route, content=False)


def _assembled(member: Member, route: Route, content: bool = True) -> tuple[Tree, int]:
    builder = TreeBuilder()
    builder.start_document()
    chain: list[Above] = []
    above = member.above
    while above is not None:
        chain.append(above)
        above = above.parent
    for above in reversed(chain):
        _open(builder, above)
    row = len(builder.tree)
    tree, base = member.mount.tree
    assembly = _Assembly(builder, route, member.unit)
    work_off(assembly.element(member.mount, tree, base, base + member.row, member.state, content))
    builder.tree.seams = assembly.seams
    return builder.finish(), row


def whole_document(root: Occurrence, route: Route) -> Tree:
    """What is read of the document as a whole."""
    builder = TreeBuilder()
    builder.start_document()
    assembly = _Assembly(builder, route, route.document)
    work_off(assembly.occurrence(root))
    builder.tree.seams = assembly.seams
    return builder.finish()


def begin(builder: TreeBuilder, tree: Tree, row: int) -> None:
    """Begin a copy of an element, with the namespaces that it declares."""
    undoes = _undoes(builder, tree, row)
    builder.open(tree.name[row], tree.prefix[row])
    for prefix, uri in tree.namespaces.get(row, {}).items():
        builder.namespace(prefix, uri)
    if undoes:
        builder.namespace("", "")


def _undoes(builder: TreeBuilder, tree: Tree, row: int) -> bool:
    """Whether an element is in no default namespace where there is one around its copy: none reaches into a content."""
    made = builder.tree
    return bool(made.namespaces) and "" in made.in_scope(builder.here) and "" not in tree.in_scope(row)


class _Assembly:
    """One copy of what a unit reads. ``passed``: something was left out since the last text.

    ``seams``: where regions lie in what is read as a whole, whether anything is in them or not: copies of it carry them
    along, so that an answer can forward its holes.
    """

    __slots__ = ("builder", "passed", "route", "seams", "unit")

    def __init__(self, builder: TreeBuilder, route: Route, unit: int) -> None:
        self.builder = builder
        self.route = route
        self.unit = unit
        self.passed = False
        self.seams: list[Seam] = []

    def element(self, mount: Mount, tree: Tree, base: int, row: int, state: int, content: bool = True) -> Work:
        builder, route, unit = self.builder, self.route, self.unit
        whole = unit in route.role(state).whole
        lifespan = mount.lifespan if row - tree.up[row] == base else None  # of a top element: in the wrapper
        end = row + tree.size[row]
        if whole and content and lifespan is None and not any(row < base + at <= end for at in mount.holes):
            at, undoes = len(builder.tree), _undoes(builder, tree, row)
            builder.copy(Node((tree, row)))
            if undoes:
                builder.tree.namespaces.setdefault(at, {})[""] = ""
            return
        begin(builder, tree, row)
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
        if content:
            yield self.children(mount, tree, base, row, state)
        builder.end()

    def children(self, mount: Mount, tree: Tree, base: int, row: int, state: int) -> Work:
        route, unit = self.route, self.unit
        role = route.role(state)
        whole = unit in role.whole
        texts = whole or unit in route.role(route.text(state)).reads
        for child in tree.children(row):
            kind = tree.kind[child]
            if kind == TEXT:
                if texts:
                    self.text(tree.value[child] or "")
            elif kind != ELEMENT:
                if whole or unit in route.role(route.leaf(state, kind, tree.name[child])).reads:
                    self.builder.copy(Node((tree, child)))
                else:
                    self.passed = True
            elif tree.name[child] in (HOLE, MUTABLE):
                if unit in role.reads and child - base in mount.holes:
                    held = mount.holes[child - base]
                    if whole:
                        yield self.sew(held.id, held)
                    else:
                        yield self.occurrence(held)
            else:
                to = route.element(state, tree.name[child])
                if to != DEAD and unit in route.role(to).reads:
                    yield self.element(mount, tree, base, child, to)
                else:
                    self.passed = True

    def text(self, text: str) -> None:
        """A text. Regions between it and the text that it becomes one with, or in which that lies, have no seams."""
        seams, made = self.seams, self.builder.tree
        position = len(made)
        self.builder.text(text, apart=self.passed)
        self.passed = False
        if text and seams and len(made) == position:
            at = len(seams)
            while at and seams[at - 1][:2] == (position, self.builder.here):
                at -= 1
                if seams[at][2] is None:
                    del seams[at]
                    del seams[_opening(seams, at)]
                    at -= 1

    def sew(self, known: Sewn, held: Occurrence | Mount) -> Work:
        """What a hole holds, or one of several fillings side by side in it, and where that begins and ends."""
        seams, made, here = self.seams, self.builder.tree, self.builder.here
        position, before = len(made), made.value[-1]
        seams.append((position, here, known))
        if isinstance(held, Mount):
            yield self.mount(held)
        else:
            yield self.occurrence(held, sewn=True)
        if made.value[position - 1] is before:
            seams.append((len(made), here, None))
        else:  # it begins in the text before it
            del seams[_opening(seams, len(seams))]

    def occurrence(self, occurrence: Occurrence, sewn: bool = False) -> Work:
        """What is seen at a place. ``sewn``: versions, events, and what stands beside it, have seams of their own."""
        several = bool(occurrence.before or occurrence.after)
        for place in side_by_side(occurrence):
            if not place.hidden:
                if place.open is not None:
                    mark_hole(self.builder.tree, self.builder.here, place.open)
                for mount in sorted(place.mounts.values(), key=_key):
                    if sewn and (several or mount.lifespan is not None):
                        yield self.sew((place.id, *mount.key), mount)
                    else:
                        yield self.mount(mount)

    def mount(self, mount: Mount) -> Work:
        tree, base = mount.tree
        return self.children(mount, tree, base, base, mount.occurrence.state)


def _opening(seams: list[Seam], end: int) -> int:
    """Where a region begins whose end stood at a place among the seams."""
    inside = 1
    while inside:
        end -= 1
        inside += 1 if seams[end][2] is None else -1
    return end


def _key(mount: Mount) -> tuple[object, ...]:
    return mount.key

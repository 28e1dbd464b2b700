"""Building trees: events in document order become rows; whole subtrees are copied by slices.

>>> b = TreeBuilder()
>>> b.start("", "a"); b.attribute("", "n", "1"); b.text("x"); b.end()
>>> b.finish().root.string
'x'
"""

from __future__ import annotations

from xstreamcast.model.names import (
    ATTRIBUTE,
    COMMENT,
    DOCUMENT,
    ELEMENT,
    NAMESPACE,
    PI,
    TEXT,
    intern,
    intern_prefix,
)
from xstreamcast.model.tree import NamespaceNode, Node, Tree


class TreeBuilder:
    """Appends rows to a new tree. Adjacent texts become one, empty texts none."""

    __slots__ = ("_stack", "tree")

    def __init__(self, base_uri: str | None = None, document_uri: str | None = None) -> None:
        self.tree = Tree(base_uri, document_uri)
        self._stack: list[int] = []

    def _row(self, kind: int, name: int, prefix: int, value: str | None) -> int:
        tree = self.tree
        row = len(tree.kind)
        tree.kind.append(kind)
        tree.name.append(name)
        tree.prefix.append(prefix)
        tree.up.append(row - self._stack[-1] if self._stack else 0)
        tree.size.append(0)
        tree.value.append(value)
        return row

    def start_document(self) -> None:
        self._stack.append(self._row(DOCUMENT, DOCUMENT, 0, None))

    def start(self, uri: str, local: str, prefix: str = "") -> None:
        """Begin an element; its attributes and namespaces must follow before anything else."""
        self.open(intern(ELEMENT, uri, local), intern_prefix(prefix) if prefix else 0)

    def open(self, name: int, prefix: int = 0) -> None:
        """Begin an element whose name is interned already."""
        tree = self.tree
        stack = self._stack
        row = len(tree.kind)
        tree.kind.append(ELEMENT)
        tree.name.append(name)
        tree.prefix.append(prefix)
        tree.up.append(row - stack[-1] if stack else 0)
        tree.size.append(0)
        tree.value.append("")
        stack.append(row)

    def namespace(self, prefix: str, uri: str) -> None:
        """Declare a namespace on the open element (uri "": take it out of scope)."""
        self.tree.namespaces.setdefault(self._stack[-1], {})[prefix] = uri

    def attribute(self, uri: str, local: str, value: str, prefix: str = "") -> None:
        self._row(ATTRIBUTE, intern(ATTRIBUTE, uri, local), intern_prefix(prefix) if prefix else 0, value)

    def put_attribute(self, name: int, value: str, prefix: int = 0) -> None:
        """An attribute whose name is interned already."""
        self._row(ATTRIBUTE, name, prefix, value)

    def text(self, text: str, *, apart: bool = False) -> None:
        """A text, one with the text before it unless there was something between them that is left out."""
        if not text:
            return
        tree = self.tree
        if not apart and self._stack and tree.kind[-1] == TEXT and tree.up[-1] == len(tree.kind) - 1 - self._stack[-1]:
            tree.value[-1] += text  # type: ignore[operator]  # texts have values
        else:
            self._row(TEXT, TEXT, 0, text)

    def comment(self, text: str) -> None:
        self._row(COMMENT, COMMENT, 0, text)

    def pi(self, target: str, text: str) -> None:
        self._row(PI, intern(PI, "", target), 0, text)

    def namespace_node(self, prefix: str, uri: str) -> None:
        """A parentless namespace node (a computed namespace constructor on its own)."""
        self._row(NAMESPACE, intern(NAMESPACE, "", prefix) if prefix else NAMESPACE, 0, uri)

    @property
    def here(self) -> int:
        """The row of the innermost open element or document."""
        return self._stack[-1]

    def end(self) -> None:
        """End the innermost open element or document."""
        tree, row = self.tree, self._stack.pop()
        last = len(tree.kind) - 1
        size = tree.size[row] = last - row
        if size and tree.kind[row] == ELEMENT:
            tree.value[row] = simple_content(tree, row, last)
        elif not size and tree.kind[row] == DOCUMENT:
            tree.value[row] = ""
        if not self._stack:
            tree.finish()

    def copy(self, node: Node, namespaces: bool = True) -> None:
        """A deep copy of a node (of a document: of its children) at this place.

        ``namespaces``: carry the in-scope namespaces of the node along (else only those its names use must
        be declared by the caller).
        """
        if type(node) is NamespaceNode:
            self.namespace_node(node.local, node.string)
            return
        source, index = node[0], node[1]
        kind = source.kind[index]
        if kind == DOCUMENT:
            for row in source.children(index):
                self.copy(Node((source, row)), namespaces)
            return
        value = source.value[index]
        if kind == TEXT:
            self.text(value or "")
            return
        tree = self.tree
        row = len(tree.kind)
        size = source.size[index]
        if not size:
            tree.kind.append(kind)
            tree.name.append(source.name[index])
            tree.prefix.append(source.prefix[index])
            tree.up.append(row - self._stack[-1] if self._stack else 0)
            tree.size.append(0)
            tree.value.append(value)
        else:
            end = index + size + 1
            tree.kind += source.kind[index:end]
            tree.name += source.name[index:end]
            tree.prefix += source.prefix[index:end]
            tree.up += source.up[index:end]
            tree.up[row] = row - self._stack[-1] if self._stack else 0
            tree.size += source.size[index:end]
            tree.value += source.value[index:end]
        if source.namespaces and kind == ELEMENT:
            self._copy_namespaces(source, index, row, namespaces)
        if source.lifespans:  # copies keep lifespans
            within = range(index, index + size + 1)
            tree.lifespans.update({row + at - index: span for at, span in source.lifespans.items() if at in within})
        if source.seams:
            by = row - index
            moved = [(at + by, parent + by, region) for at, parent, region in source.seams_within(index)]
            if tree.seams:
                tree.seams += moved
            else:
                tree.seams = moved

    def _copy_namespaces(self, source: Tree, index: int, row: int, inherit: bool) -> None:
        for at, declared in source.declarations(index):
            self.tree.namespaces[row + at - index] = dict(declared)
        if inherit and (scope := source.in_scope(index)):
            self.tree.namespaces[row] = scope

    def finish(self) -> Tree:
        """The finished tree (open elements are ended)."""
        while self._stack:
            self.end()
        self.tree.finish()
        return self.tree


def simple_content(tree: Tree, row: int, last: int) -> str | None:
    """The value column of a finished element: its text if nothing else is in it, else None."""
    size = last - row
    if tree.up[last] != size:  # the last row is no child and no attribute of this element
        return None
    kind = tree.kind
    if kind[last] == TEXT:
        if size == 1 or (kind[last - 1] == ATTRIBUTE and tree.up[last - 1] == size - 1):
            return tree.value[last]
        return None
    return "" if kind[last] == ATTRIBUTE else None

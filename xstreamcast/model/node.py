"""Nodes: a row of a tree, as an item of the data model (XDM 3.1 §6).

A node is the tuple ``(tree, row)``: its order is document order, as trees are ordered by creation and rows by their
place, and its equality is identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import TYPE_CHECKING, Any

from xstreamcast.model.names import (
    ATTRIBUTE,
    COMMENT,
    DOCUMENT,
    ELEMENT,
    KIND_NAMES,
    NAMESPACE,
    PI,
    intern,
    name_local,
    name_uri,
    qname,
)
from xstreamcast.model.namespaces import XML

if TYPE_CHECKING:
    from xstreamcast.model.atomic import QName
    from xstreamcast.model.tree import Tree


class Node(tuple["Tree", int]):
    """A node: ``Node((tree, row))``. Tuple order is document order, tuple equality is node identity.

    There is no ``__init__`` or ``__new__``: tuple's constructor is twice as fast as one written in Python.
    """

    __slots__ = ()

    @property
    def tree(self) -> Tree:
        return self[0]

    @property
    def row(self) -> int:
        return self[1]

    @property
    def kind(self) -> int:
        return self[0].kind[self[1]]

    @property
    def order(self) -> tuple[int, ...]:
        """A sort key for document order that needs no node to compare with."""
        return (self[0].serial, self[1])

    @property
    def name(self) -> QName | None:
        """The node's name as a QName value, None for unnamed nodes."""
        tree, index = self[0], self[1]
        name = tree.name[index]
        if not name_local[name]:
            return None
        return qname(name, tree.prefix[index])

    @property
    def local(self) -> str:
        """The local name, "" for unnamed nodes."""
        return name_local[self[0].name[self[1]]]

    @property
    def uri(self) -> str:
        """The namespace of the name, "" for none."""
        return name_uri[self[0].name[self[1]]]

    @property
    def lexical(self) -> str:
        """The name as written."""
        return self[0].lexical(self[1])

    @property
    def string(self) -> str:
        """The string value (dm:string-value)."""
        return self[0].string(self[1])

    @property
    def typed(self) -> str:
        """The typed value (dm:typed-value): untyped, but a string for comments, PIs and namespaces."""
        if self.kind in (COMMENT, PI, NAMESPACE):
            return self.string
        from xstreamcast.model.atomic import Untyped

        return Untyped(self.string)

    @property
    def parent(self) -> Node | None:
        tree, index = self[0], self[1]
        up = tree.up[index]
        return Node((tree, index - up)) if up else None

    @property
    def root(self) -> Node:
        """The topmost node of the tree."""
        return Node((self[0], 0))

    @property
    def base_uri(self) -> str | None:
        return self[0].base(self[1])

    @property
    def document_uri(self) -> str | None:
        return self[0].document_uri if self.kind == DOCUMENT else None

    def children(self) -> list[Node]:
        tree = self[0]
        return [Node((tree, row)) for row in tree.children(self[1])]

    def attributes(self) -> list[Node]:
        tree, index = self[0], self[1]
        if tree.kind[index] != ELEMENT:
            return []
        return [Node((tree, row)) for row in range(index + 1, tree.first_child(index))]

    def descendants(self) -> Iterator[Node]:
        """Descendants without attributes, in document order."""
        tree, index = self[0], self[1]
        kind = tree.kind
        for row in range(index + 1, index + tree.size[index] + 1):
            if kind[row] != ATTRIBUTE:
                yield Node((tree, row))

    def attribute(self, local: str, uri: str = "") -> str | None:
        """The value of an attribute, or None."""
        if self.kind != ELEMENT:
            return None
        return self[0].attribute(self[1], intern(ATTRIBUTE, uri, local))

    def namespaces(self) -> dict[str, str]:
        """In-scope namespaces, prefix -> uri, ``xml`` included; {} for what is not an element."""
        if self.kind != ELEMENT:
            return {}
        return {"xml": XML} | self[0].in_scope(self[1])

    def namespace_nodes(self) -> list[NamespaceNode]:
        """The namespace axis."""
        tree, index = self[0], self[1]
        return [
            NamespaceNode((tree, index, *pair))  # type: ignore[arg-type]  # longer than mypy knows
            for pair in sorted(self.namespaces().items())
        ]

    def xml(self, indent: bool = False) -> str:
        """The node as XML text."""
        from xstreamcast.model.serialise import serialise

        return serialise([self], indent=indent)

    def to_lxml(self) -> Any:
        """The node as an lxml element (a document as an lxml tree)."""
        from xstreamcast.model.interop import to_lxml

        return to_lxml(self)

    def __repr__(self) -> str:
        kind = KIND_NAMES[self.kind]
        if self.kind == DOCUMENT:
            return f"<document {self.document_uri or ''}>".replace(" >", ">")
        if self.kind == ELEMENT:
            return f"<element {self.lexical}>"
        if self.kind in (ATTRIBUTE, PI, NAMESPACE):
            return f"<{kind} {self.lexical}={self.string!r}>"
        text = self.string
        return f"<{kind} {text if len(text) <= 40 else text[:39] + '…'!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class NamespaceNode(Node):
    """A namespace node of an element, ``(tree, element row, prefix, uri)``, as the namespace axis makes it."""

    __slots__ = ()

    @property
    def kind(self) -> int:
        return NAMESPACE

    @property
    def order(self) -> tuple[int, ...]:
        return (self[0].serial, self[1], *map(ord, self.local))

    @property
    def local(self) -> str:
        return self[2]  # type: ignore[misc, no-any-return]  # a longer tuple than mypy knows

    @property
    def uri(self) -> str:
        return ""

    @property
    def lexical(self) -> str:
        return self.local

    @property
    def name(self) -> QName | None:
        return qname(intern(NAMESPACE, "", self.local), 0) if self.local else None

    @property
    def string(self) -> str:
        return self[3]  # type: ignore[misc, no-any-return]  # see ``local``

    @property
    def parent(self) -> Node | None:
        return Node((self[0], self[1]))

    @property
    def base_uri(self) -> str | None:
        return None

    def children(self) -> list[Node]:
        return []

    def descendants(self) -> Iterator[Node]:
        return iter(())


def nodes_at(tree: Tree, rows: list[int]) -> list[Node]:
    """The nodes of many rows of one tree."""
    return list(map(Node, zip(repeat(tree), rows)))

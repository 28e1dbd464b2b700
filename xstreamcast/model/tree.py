"""Columnar XDM trees: one pre-order table for documents, fragments, records and constructed nodes.

A row is a node; the rows of an element's attributes follow it at once, then the rows of its children:

====== ==================================================================================================
kind   DOCUMENT, ELEMENT, ATTRIBUTE, TEXT, COMMENT, PI or NAMESPACE (the last only as a parentless root)
name   interned name (:mod:`xstreamcast.model.names`), which implies the kind
prefix interned prefix
up     distance to the parent's row, 0 for the root
size   rows in the subtree, itself not counted: the next sibling is ``i + size[i] + 1``
value  text; for an element with no child but a text, that text (comparing ``price = 3`` is one look);
       None for other elements and documents: then the string value is the concatenation of the texts
====== ==================================================================================================

Parents are *distances*, so that a subtree is copied by slicing columns. A node is ``(tree, row)``
(:mod:`xstreamcast.model.node`). ``array('i')`` was measured against lists (46 ns against 35 for a look and a
comparison) and numpy (134): near the list at a fraction of the memory, and numpy can look at it without a copy.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import compress, count
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

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
    name_kind,
    name_local,
    name_uri,
    prefixes,
)
from xstreamcast.model.namespaces import XML
from xstreamcast.model.node import NamespaceNode, Node, nodes_at

if TYPE_CHECKING:
    from xstreamcast.model.time import Interval

__all__ = [
    "ATTRIBUTE",
    "COMMENT",
    "DOCUMENT",
    "ELEMENT",
    "NAMESPACE",
    "PI",
    "TEXT",
    "NamespaceNode",
    "Node",
    "Tree",
    "nodes_at",
]

_serials = count(1)
_IS_TEXT = bytes(1 if kind == TEXT else 0 for kind in range(256))  # kind column -> selector of its texts
XML_BASE = intern(ATTRIBUTE, XML, "base")
XML_ID = intern(ATTRIBUTE, XML, "id")
SHARED_KEY = sys.maxunicode
"""The character in ``keys`` of names beyond the number of characters there are."""
_CODEC = f"utf-32-{sys.byteorder[0]}e"
_DECODED_FROM = 32  # rows; below, making characters one by one is cheaper
_POSITION = itemgetter(0)
_INDEX_FROM = 48  # rows; below, scanning a subtree is cheaper than bisecting the index of a name


Sewn = int | tuple[Any, ...]
"""A region of a stream; or one of the fillings side by side in a region, by what orders them."""
Seam = tuple[int, int, Sewn | None]
"""A row before which such a thing begins, the row that is its parent, and what it is; None: where it ends."""
NO_SEAMS: list[Seam] = []
"""Of most trees: never written to."""


class Octets(Protocol):
    """The values of a scanned tree as they stand in the input, not yet made strings."""

    def column(self, tree: Tree) -> list[str | None]:
        """The value column."""

    def values(self, tree: Tree, rows: list[int]) -> list[str | None]:
        """Some entries of the value column."""

    def markup(self, tree: Tree, rows: list[int], after: str = "") -> str | None:
        """What the xml method writes of some rows, each followed by a text; None if that must be found otherwise."""


class Tree:
    """The table of one tree. Rows are appended by :class:`~xstreamcast.model.build.TreeBuilder` only."""

    __slots__ = (
        "__weakref__",
        "_ids",
        "_keys",
        "_positions",
        "base_uri",
        "document_uri",
        "dtd",
        "forms",
        "kind",
        "lifespans",
        "name",
        "namespaces",
        "octets",
        "prefix",
        "seams",
        "serial",
        "size",
        "up",
        "value",
    )

    def __init__(self, base_uri: str | None = None, document_uri: str | None = None) -> None:
        self.kind = bytearray()
        self.name = array("i")
        self._keys: str | None = None
        self.prefix = array("i")
        self.up = array("i")
        self.size = array("i")
        self.value: list[str | None] = []
        self.octets: Octets | None = None
        # element row -> namespace declarations there; a uri "" takes the prefix out of scope
        self.namespaces: dict[int, dict[str, str]] = {}
        # element row -> its lifespan, where a projection clipped it: the attributes cannot say that an end is closed
        self.lifespans: dict[int, Interval] = {}
        # element row -> a tree that has the same columns as this element, but for values; it need not be noted
        self.forms: dict[int, Tree] = {}
        # where regions of a stream were put in, in document order
        self.seams = NO_SEAMS
        self.base_uri = base_uri
        self.document_uri = document_uri
        # (element, attribute) as written -> ID, IDREF or IDREFS, from the document's own DTD
        self.dtd: dict[tuple[str, str], str] = {}
        self.serial = next(_serials)
        self._positions: dict[int, list[int]] = {}
        self._ids: dict[str, int] | None = None

    @classmethod
    def of_columns(cls, columns: tuple[Any, ...], base_uri: str | None = None) -> Tree:
        """A finished tree of columns (in the order kind, name, prefix, up, size, value), which it may share."""
        # Its own code instead of __init__, whose empty columns would be made for nothing.
        tree = cls.__new__(cls)
        tree.kind, tree.name, tree.prefix, tree.up, tree.size, values = columns
        tree.value = list(values)
        tree.namespaces, tree.lifespans, tree.dtd, tree.forms, tree._positions = {}, {}, {}, {}, {}
        tree.base_uri, tree.document_uri = base_uri, None
        tree._keys = tree._ids = tree.octets = None
        tree.seams = NO_SEAMS
        tree.serial = next(_serials)
        return tree

    def read_values_from(self, octets: Octets) -> None:
        """The value column is made when somebody asks for it; the other columns are there."""
        self.octets = octets
        del self.value

    if not TYPE_CHECKING:  # or mypy would take any attribute for granted

        def __getattr__(self, name: str) -> Any:
            # Only where a slot is empty, so a tree that has its values pays nothing for this.
            if name != "value":
                raise AttributeError(name)
            self.value = self.octets.column(self)
            return self.value

    def __lt__(self, other: Tree) -> bool:
        return self.serial < other.serial

    def __gt__(self, other: Tree) -> bool:
        return self.serial > other.serial

    def come_last(self) -> None:
        """From now on the tree is after all others in document order."""
        self.serial = next(_serials)

    def __len__(self) -> int:
        return len(self.kind)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Tree {self.document_uri or self.serial}: {len(self)} nodes>"

    @property
    def root(self) -> Node:
        return Node((self, 0))

    def string(self, index: int) -> str:
        """The string value of a row."""
        value = self.value[index]
        if value is None:
            first, end = index + 1, index + self.size[index] + 1
            texts = compress(self.value[first:end], self.kind[first:end].translate(_IS_TEXT))
            value = "".join(texts)  # type: ignore[arg-type]  # texts have values
        return value

    def values_at(self, rows: list[int]) -> Iterable[str | None]:
        """Entries of the value column, which is not made for the sake of a few."""
        try:
            column: list[str | None] = _VALUE.__get__(self)
        except AttributeError:
            assert self.octets is not None
            return self.octets.values(self, rows)
        return map(column.__getitem__, rows)

    def positions(self, name: int) -> list[int]:
        """All rows of this name, in document order (built at the first question for the name)."""
        rows = self._positions.get(name)
        if rows is None:
            column = self.name
            if len(column) < 4096:  # below, importing numpy costs more than the loop
                rows = [index for index, other in enumerate(column) if other == name]
            else:
                import numpy

                rows = numpy.flatnonzero(numpy.frombuffer(column, dtype=numpy.int32) == name).tolist()
            self._positions[name] = rows
        return rows

    def descendants(self, index: int, name: int) -> list[int]:
        """The rows of this name below a row: ``descendant::name``."""
        size = self.size[index]
        if size < _INDEX_FROM:
            column = self.name
            return [row for row in range(index + 1, index + size + 1) if column[row] == name]
        rows = self.positions(name)
        if size + 1 == len(self.kind) and index == 0 and self.name[0] != name:
            return rows
        return rows[bisect_right(rows, index) : bisect_right(rows, index + size)]

    def has_descendant(self, index: int, name: int) -> bool:
        """``exists(descendant::name)``"""
        rows = self.positions(name)
        first = bisect_right(rows, index)
        return first < len(rows) and rows[first] <= index + self.size[index]

    def attribute(self, index: int, name: int) -> str | None:
        """The value of ``@name`` of an element's row, or None."""
        kind, names = self.kind, self.name
        row, end = index + 1, index + self.size[index]
        while row <= end and kind[row] == ATTRIBUTE:
            if names[row] == name:
                return self.value[row]
            row += 1
        return None

    def seek(self, row: int, last: int, name: int) -> int:
        """The row of the next sibling of a name, from a row on, or -1."""
        names, size = self.name, self.size
        while row <= last:
            if names[row] == name:
                return row
            row += size[row] + 1
        return -1

    @property
    def keys(self) -> str:
        """The finished name column as text, one character per row: ``find`` is the fastest way to the next of a name.

        Names without a character of their own (:func:`key_of`) share the last one.
        """
        keys = self._keys
        if keys is None:
            column = self.name
            if len(name_local) > SHARED_KEY:
                column = array("i", [min(name, SHARED_KEY) for name in column])
            if len(column) < _DECODED_FROM:
                keys = "".join(map(chr, column))
            else:
                keys = column.tobytes().decode(_CODEC, "surrogatepass")
            self._keys = keys
        return keys

    def finish(self) -> None:
        """All rows are there: what was derived from fewer is forgotten."""
        self._keys = None

    def first_child(self, index: int) -> int:
        """The row of the first child, or the row after the subtree."""
        kind = self.kind
        row, end = index + 1, index + self.size[index]
        while row <= end and kind[row] == ATTRIBUTE:
            row += 1
        return row

    def children(self, index: int) -> list[int]:
        """The rows of the children."""
        size, end = self.size, index + self.size[index]
        row = self.first_child(index)
        rows = []
        while row <= end:
            rows.append(row)
            row += size[row] + 1
        return rows

    def in_scope(self, index: int) -> dict[str, str]:
        """The in-scope namespaces of an element's row, ``xml`` not counted."""
        if not self.namespaces:
            return {}
        scope: dict[str, str] = {}
        row = index
        while True:
            for prefix, uri in self.namespaces.get(row, {}).items():
                scope.setdefault(prefix, uri)
            if not self.up[row]:
                break
            row -= self.up[row]
        return {prefix: uri for prefix, uri in scope.items() if uri}

    def declarations(self, index: int) -> list[tuple[int, dict[str, str]]]:
        """The namespace declarations within a subtree, its top row included."""
        end = index + self.size[index]
        return [(row, declared) for row, declared in self.namespaces.items() if index <= row <= end]

    def seams_within(self, index: int) -> list[Seam]:
        """The seams in a row's subtree: those of the regions that lie in it as a whole."""
        first = bisect_right(self.seams, index, key=_POSITION)
        last = bisect_right(self.seams, index + self.size[index] + 1, key=_POSITION)
        return [seam for seam in self.seams[first:last] if seam[1] >= index]

    def base(self, index: int) -> str | None:
        """The base URI of a row: xml:base of the ancestors, resolved outwards."""
        relative = []
        if self.kind[index] not in (ELEMENT, DOCUMENT):
            if not self.up[index]:
                return None
            index -= self.up[index]
        if self.positions(XML_BASE):
            row = index
            while True:
                if self.kind[row] == ELEMENT and (uri := self.attribute(row, XML_BASE)) is not None:
                    relative.append(uri)
                if not self.up[row]:
                    break
                row -= self.up[row]
        base = self.base_uri
        if relative:
            from urllib.parse import urljoin

            for uri in reversed(relative):
                base = urljoin(base, uri) if base else uri
        return base

    def _attributes_typed(self, wanted: tuple[str, ...]) -> Iterator[int]:
        for row, kind in enumerate(self.kind):
            if kind == ATTRIBUTE:
                element = row - self.up[row]
                if (
                    self.dtd.get((self.lexical(element), self.lexical(row))) in wanted
                    if self.dtd and self.up[row]
                    else False
                ) or (self.name[row] == XML_ID and "ID" in wanted):
                    yield row

    def ids(self) -> dict[str, int]:
        """ID value -> element row (``xml:id`` and attributes the DTD declares as ID; the first wins)."""
        if self._ids is None:
            self._ids = {}
            for row in self._attributes_typed(("ID",)):
                self._ids.setdefault(" ".join((self.value[row] or "").split()), row - self.up[row])
        return self._ids

    def idrefs(self) -> Iterator[tuple[str, int]]:
        """(ID value, attribute row) of every reference the DTD declares."""
        for row in self._attributes_typed(("IDREF", "IDREFS")):
            for value in (self.value[row] or "").split():
                yield value, row

    def lexical(self, index: int) -> str:
        """The name as written: ``p:local``."""
        local, prefix = name_local[self.name[index]], self.prefix[index]
        return f"{prefixes[prefix]}:{local}" if prefix else local

    def level(self, index: int) -> int:
        """The number of ancestors of a row."""
        level, up = 0, self.up
        while up[index]:
            index -= up[index]
            level += 1
        return level

    def __reduce__(self) -> tuple[Any, ...]:
        # Interned numbers mean nothing in another process: names travel as a table of their own.
        used, used_prefixes = sorted(set(self.name)), sorted(set(self.prefix))
        return _restore, (
            {number: (name_kind[number], name_uri[number], name_local[number]) for number in used},
            {number: prefixes[number] for number in used_prefixes},
            (self.kind, self.name, self.prefix, self.up, self.size, self.value, self.namespaces, self.dtd),
            (self.base_uri, self.document_uri),
        )


def _restore(
    names: dict[int, tuple[int, str, str]],
    prefix_names: dict[int, str],
    columns: tuple[Any, ...],
    uris: tuple[str | None, str | None],
) -> Tree:
    tree = Tree(*uris)
    tree.kind, tree.name, tree.prefix, tree.up, tree.size, tree.value, tree.namespaces, tree.dtd = columns
    here = {number: intern(*key) if key[2] else number for number, key in names.items()}
    if any(old != new for old, new in here.items()):
        tree.name = array("i", [here[number] for number in tree.name])
    there = {number: intern_prefix(prefix) for number, prefix in prefix_names.items()}
    if any(old != new for old, new in there.items()):
        tree.prefix = array("i", [there[number] for number in tree.prefix])
    tree.finish()
    return tree


_VALUE: Any = Tree.__dict__["value"]  # the slot itself, which does not make what is not there


def key_of(name: int) -> str | None:
    """The character of a name in ``keys``; None if it shares one with others."""
    return chr(name) if name < SHARED_KEY else None

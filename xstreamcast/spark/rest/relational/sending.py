"""Rows that travel by themselves, with the nodes they name and no more of the document than those.

A node is cut out of its tree together with the elements around it and their attributes. Nodes of several rows that lie
within each other are cut out as one *cluster*: wherever rows of it meet again they have one tree, so that a node that
comes by two ways is one node. The name of a cluster is its place in the document, which is the order of their trees.

What is cut out is a shape and values (:mod:`~xstreamcast.spark.rest.shapes`): of records that look alike, no more is
written of each than its values.
"""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Node, Tree
from xstreamcast.spark.rest.shapes import declarations, remembered, tree_of, written
from xstreamcast.spark.transport import dumps, loads

Cluster = tuple[int, ...]
Columns = list[list[Item]]
_PLAIN: Final = frozenset((str, int, float, bool))


def sent_rows(rows: Sequence[Columns], *place: int) -> list[bytes]:
    """Rows of one batch, each ready to travel; ``place`` is that of the batch in the document.

    In a row a node is the pair of the number of its cluster and its row there, an untyped value a tuple of one text.
    """
    named: dict[Tree, set[int]] = {}
    for columns in rows:
        for items in columns:
            for item in items:
                if isinstance(item, Node):
                    named.setdefault(item[0], set()).add(item[1])
    cuts = {tree: _Cuts(tree, named[tree], (*place, number)) for number, tree in enumerate(sorted(named))}
    made: list[bytes] = []
    for columns in rows:
        own: dict[Cluster, int] = {}
        clusters: list[tuple[Cluster, bytes, list[str | None]]] = []
        packed: list[list[Any]] = []
        plain = True
        for items in columns:
            out: list[Any] = []
            for item in items:
                kind = type(item)
                if kind is Untyped:
                    out.append((str(item),))
                elif kind in _PLAIN:
                    out.append(item)
                elif isinstance(item, Node):
                    cut, at = cuts[item[0]].out(item[1])
                    index = own.setdefault(cut[0], len(clusters))
                    if index == len(clusters):
                        clusters.append(cut)
                    out.append((index, at))
                else:
                    plain = False
                    out.append(item)
            packed.append(out)
        row = clusters, packed
        # What is made of texts and numbers needs no care, and nothing is called for it.
        made.append(pickle.dumps(row, pickle.HIGHEST_PROTOCOL) if plain else dumps(row))
    return made


class Received:
    """Rows that have come, whose clusters are one tree each."""

    def __init__(self) -> None:
        self.trees: dict[Cluster, Tree] = {}

    def row(self, data: bytes) -> Columns:
        """The columns of a row."""
        clusters, packed = loads(data)
        trees: list[Tree] = []
        for name, shape, values in clusters:
            tree = self.trees.get(name)
            if tree is None:
                tree = self.trees[name] = tree_of(shape, values)
            trees.append(tree)
        return [
            [
                x if type(x) is not tuple else Untyped(x[0]) if len(x) == 1 else Node((trees[x[0]], x[1]))
                for x in items
            ]
            for items in packed
        ]  # fmt: skip

    def arrange(self) -> None:
        """Put the trees in document order."""
        for name in sorted(self.trees):
            self.trees[name].come_last()


# ------------------------------------------------------------------------------------------------------ cut out


@dataclass(frozen=True, slots=True)
class _Around:
    """The rows of the elements around a node and of their attributes; ``elements``: where the elements are in these."""

    rows: list[int]
    elements: list[int]
    names: tuple[tuple[int, int], ...]
    values: list[str | None]


_NOTHING: Final = _Around([], [], (), [])


class _Cuts:
    """The clusters of a tree, for nodes of which some rows are named."""

    def __init__(self, tree: Tree, rows: Iterable[int], place: Cluster) -> None:
        self.tree, self.place = tree, place
        self.tops = _clusters(tree, rows)
        self.made: dict[int, tuple[tuple[Cluster, bytes, list[str | None]], int]] = {}
        self.around: dict[int, _Around] = {}

    def out(self, row: int) -> tuple[tuple[Cluster, bytes, list[str | None]], int]:
        """The cluster that a row is in (its name, shape and values), and the row's number there."""
        top = self.tops[bisect_right(self.tops, row) - 1]
        known = self.made.get(top)
        if known is None:
            shape, values, at = self._cut(top)
            known = self.made[top] = ((*self.place, top), shape, values), at
        return known[0], known[1] + row - top

    def _cut(self, row: int) -> tuple[bytes, list[str | None], int]:
        """A node and what is below it, with the elements around it and their attributes; and its row there."""
        tree = self.tree
        up = tree.up[row]
        around = self._around(row - up) if up else _NOTHING
        first, end = row, row + tree.size[row] + 1
        at = len(around.rows)
        if up and tree.kind[row] == ATTRIBUTE:
            at, end = around.rows.index(row), row
        values = around.values + tree.value[first:end]
        own = range(first, end)
        if tree.dtd:
            return self._shape(around, own), values, at
        known = (
            declarations(tree, (*around.rows, *own)) if tree.namespaces else (),
            around.names,
            bytes(tree.kind[first:end]),
            tree.name[first:end].tobytes(),
            tree.prefix[first:end].tobytes(),
            tree.up[first + 1 : end].tobytes(),
            tree.size[first:end].tobytes(),
            tree.base_uri,
            tree.document_uri,
        )
        return remembered(known, len(own), lambda: self._shape(around, own)), values, at

    def _around(self, parent: int) -> _Around:
        known = self.around.get(parent)
        if known is not None:
            return known
        tree = self.tree
        above = [parent]
        while tree.up[above[-1]]:
            above.append(above[-1] - tree.up[above[-1]])
        rows: list[int] = []
        elements: list[int] = []
        for element in reversed(above):
            elements.append(len(rows))
            rows.append(element)
            own = element + 1
            while own <= element + tree.size[element] and tree.kind[own] == ATTRIBUTE:
                rows.append(own)
                own += 1
        names = tuple([(tree.name[k], tree.prefix[k]) for k in rows])
        made = self.around[parent] = _Around(rows, elements, names, [tree.value[k] for k in rows])
        return made

    def _shape(self, around: _Around, own: range) -> bytes:
        tree = self.tree
        rows = [*around.rows, *own]
        names, prefix = [tree.name[k] for k in rows], [tree.prefix[k] for k in rows]
        ups, sizes = array("i", [tree.up[k] for k in rows]), array("i", [tree.size[k] for k in rows])
        for number, element in enumerate(around.elements):
            sizes[element] = len(rows) - element - 1
            if number:
                ups[element] = element - around.elements[number - 1]
        if around.elements and own:
            ups[len(around.rows)] = len(around.rows) - around.elements[-1]
        kinds = bytes([tree.kind[k] for k in rows])
        declared = {k: tree.namespaces[old] for k, old in enumerate(rows) if old in tree.namespaces}
        return written(kinds, names, prefix, ups, sizes, (tree.base_uri, tree.document_uri, declared, tree.dtd))


def _clusters(tree: Tree, rows: Iterable[int]) -> list[int]:
    """The outermost of some rows, in order."""
    made: list[int] = []
    end = -1
    for row in sorted(rows):
        if row > end:
            made.append(row)
            end = row + tree.size[row]
    return made

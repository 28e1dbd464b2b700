"""Rows that travel, by themselves or together, with the nodes they name and no more of the document than those.

A node is cut out of its tree together with the elements around it and their attributes. Nodes of several rows that lie
within each other are cut out as one *cluster*: wherever rows of it meet again they have one tree, so that a node that
comes by two ways is one node. The name of a cluster is its place in the document, which is the order of their trees.

What is cut out is a shape and values (:mod:`~xstreamcast.spark.rest.shapes`): of records that look alike, no more is
written of each than its values. Rows of a batch that all go the same way share the trees they name: a tree that they
name most of goes as it is.
"""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Final
from zlib import compress, decompress

from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Node, Tree
from xstreamcast.scan.octets import Octets
from xstreamcast.spark.rest.projection import Projected, joined, packed_tree
from xstreamcast.spark.rest.shapes import declarations, remembered, shape_of, tree_of, written
from xstreamcast.spark.transport import dumps, loads

Cluster = tuple[int, ...]
Columns = list[list[Item]]
Sent = tuple[Cluster, bytes | Projected, list[str | None]]
"""The name of a cluster, its shape and its values; of a batch document its columns, and where it is from."""
_PLAIN: Final = frozenset((str, int, float, bool))
_MOST: Final = 4
"""A tree goes as it is if more than one row of so many is named."""


def sent_rows(rows: Sequence[Columns], *place: int) -> list[bytes]:
    """Rows of one batch, each ready to travel; ``place`` is that of the batch in the document.

    In a row a node is the pair of the number of its cluster and its row there, an untyped value a tuple of one text.
    """
    named = _named(rows)
    cuts = {tree: _Cuts(tree, named[tree], (*place, number)) for number, tree in enumerate(sorted(named))}
    made: list[bytes] = []
    for columns in rows:
        packing = _Packing(cuts)
        packed = [packing.items(items) for items in columns]
        made.append(packing.done(packed))
    return made


def sent_together(rows: Sequence[Columns], *place: int) -> bytes:
    """The same rows, all in one: column by column, what they have one after the other, and how many each has."""
    named = _named(rows)
    cuts: dict[Tree, _Cuts | _Whole] = {}
    for number, tree in enumerate(sorted(named)):
        made = _Cuts(tree, named[tree], (*place, number))
        covered = sum([tree.size[top] + 1 for top in made.tops])
        cuts[tree] = _Whole(tree, made.place) if _MOST * covered >= len(tree) else made
    packing = _Packing(cuts)
    packed = [(packing.items(list(chain.from_iterable(column))), _counts(column)) for column in zip(*rows, strict=True)]
    return compress(packing.done(packed), 1)


def _counts(column: Sequence[list[Item]]) -> array[int] | None:
    """How many items each row has; None: one."""
    counts = array("i", map(len, column))
    return None if counts.count(1) == len(counts) else counts


def _named(rows: Iterable[Columns]) -> dict[Tree, set[int]]:
    """The nodes of some rows, by tree."""
    named: dict[Tree, set[int]] = {}
    for columns in rows:
        for items in columns:
            for item in items:
                if isinstance(item, Node):
                    named.setdefault(item[0], set()).add(item[1])
    return named


class _Packing:
    """Items in the form that travels, and the clusters that their nodes are in."""

    def __init__(self, cuts: Mapping[Tree, _Cuts | _Whole]) -> None:
        self.cuts = cuts
        self.numbers: dict[Cluster, int] = {}
        self.clusters: list[Sent] = []
        self.plain = True

    def items(self, items: list[Item]) -> list[Any]:
        out: list[Any] = []
        for item in items:
            kind = type(item)
            if kind is Untyped:
                out.append((str(item),))
            elif kind in _PLAIN:
                out.append(item)
            elif isinstance(item, Node):
                cut, at = self.cuts[item[0]].out(item[1])
                index = self.numbers.setdefault(cut[0], len(self.clusters))
                if index == len(self.clusters):
                    self.clusters.append(cut)
                out.append((index, at))
            else:
                self.plain = False
                out.append(item)
        return out

    def done(self, packed: Any) -> bytes:
        made = self.clusters, packed
        # What is made of texts and numbers needs no care, and nothing is called for it.
        return pickle.dumps(made, pickle.HIGHEST_PROTOCOL) if self.plain else dumps(made)


class Received:
    """Rows that have come, whose clusters are one tree each."""

    def __init__(self) -> None:
        self.trees: dict[Cluster, Tree] = {}

    def row(self, data: bytes) -> Columns:
        """The columns of a row."""
        clusters, packed = loads(data)
        trees = self._trees(clusters)
        return [_items(items, trees) for items in packed]

    def rows(self, data: bytes) -> list[Columns]:
        """Rows that were sent together."""
        clusters, packed = loads(decompress(data))
        trees = self._trees(clusters)
        columns: list[list[list[Item]]] = []
        for flat, counts in packed:
            items = _items(flat, trees)
            if counts is None:
                columns.append([[item] for item in items])
            else:
                left = iter(items)
                columns.append([list(islice(left, count)) for count in counts])
        return [list(row) for row in zip(*columns, strict=True)]

    def _trees(self, clusters: list[Sent]) -> list[Tree]:
        trees: list[Tree] = []
        for name, shape, values in clusters:
            tree = self.trees.get(name)
            if tree is None:
                made = tree_of(shape, values) if isinstance(shape, bytes) else joined([shape], values[0])
                tree = self.trees[name] = made
            trees.append(tree)
        return trees

    def arrange(self) -> None:
        """Put the trees in document order."""
        for name in sorted(self.trees):
            self.trees[name].come_last()


def _items(packed: list[Any], trees: list[Tree]) -> list[Item]:
    return [x if type(x) is not tuple else Untyped(x[0]) if len(x) == 1 else Node((trees[x[0]], x[1])) for x in packed]


# ------------------------------------------------------------------------------------------------------ cut out


@dataclass(frozen=True, slots=True)
class _Around:
    """The rows of the elements around a node and of their attributes; ``elements``: where the elements are in these."""

    rows: list[int]
    elements: list[int]
    names: tuple[tuple[int, int], ...]
    values: list[str | None]


_NOTHING: Final = _Around([], [], (), [])


class _Whole:
    """A tree that goes as it is."""

    def __init__(self, tree: Tree, place: Cluster) -> None:
        scanned = isinstance(tree.octets, Octets) and not tree.dtd
        self.sent: Sent = (
            ((*place, 0), packed_tree(tree), [tree.document_uri])
            if scanned
            else ((*place, 0), shape_of(tree), tree.value)
        )

    def out(self, row: int) -> tuple[Sent, int]:
        return self.sent, row


class _Cuts:
    """The clusters of a tree, for nodes of which some rows are named."""

    def __init__(self, tree: Tree, rows: Iterable[int], place: Cluster) -> None:
        self.tree, self.place = tree, place
        self.tops = _clusters(tree, rows)
        self.made: dict[int, tuple[Sent, int]] = {}
        self.around: dict[int, _Around] = {}

    def out(self, row: int) -> tuple[Sent, int]:
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

"""Rows that travel by themselves, with the nodes they name and no more of the document than those.

A node is cut out of its tree together with the elements around it and their attributes. Nodes of several rows that lie
within each other are cut out as one *cluster*: wherever rows of it meet again they have one tree, so that a node that
comes by two ways is one node. The name of a cluster is its place in the document, which is the order of their trees.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from xstreamcast.model.atomic import Item
from xstreamcast.model.names import ATTRIBUTE
from xstreamcast.model.tree import Node, Tree
from xstreamcast.spark.transport import dumps, loads

Cluster = tuple[int, ...]
Columns = list[list[Item]]


@dataclass(frozen=True, slots=True)
class _At:
    """A node: a row of a cluster's tree."""

    cluster: int
    row: int


def sent_rows(rows: Sequence[Columns], *place: int) -> list[bytes]:
    """Rows of one batch, each ready to travel; ``place`` is that of the batch in the document."""
    named: dict[Tree, set[int]] = {}
    for columns in rows:
        for items in columns:
            for item in items:
                if isinstance(item, Node):
                    named.setdefault(item[0], set()).add(item[1])
    tops = {tree: _clusters(tree, found) for tree, found in named.items()}
    numbers = {tree: number for number, tree in enumerate(sorted(named))}
    cut: dict[tuple[int, int], tuple[Tree, int]] = {}
    made: list[bytes] = []
    for columns in rows:
        own: dict[Cluster, tuple[int, Tree]] = {}
        packed: list[list[Any]] = []
        for items in columns:
            out: list[Any] = []
            for item in items:
                if not isinstance(item, Node):
                    out.append(item)
                    continue
                tree, row = item
                number = numbers[tree]
                top = tops[tree][bisect_right(tops[tree], row) - 1]
                known = cut.get((number, top))
                if known is None:
                    known = cut[number, top] = cut_out(tree, top)
                index, _ = own.setdefault((*place, number, top), (len(own), known[0]))
                out.append(_At(index, known[1] + row - top))
            packed.append(out)
        made.append(dumps(([(name, tree) for name, (_, tree) in own.items()], packed)))
    return made


class Received:
    """Rows that have come, whose clusters are one tree each."""

    def __init__(self) -> None:
        self.trees: dict[Cluster, Tree] = {}

    def row(self, data: bytes) -> Columns:
        """The columns of a row."""
        clusters, packed = loads(data)
        trees = [self.trees.setdefault(name, tree) for name, tree in clusters]
        return [[Node((trees[x.cluster], x.row)) if type(x) is _At else x for x in items] for items in packed]

    def arrange(self) -> None:
        """Put the trees in document order."""
        for name in sorted(self.trees):
            self.trees[name].come_last()


def _clusters(tree: Tree, rows: Iterable[int]) -> list[int]:
    """The outermost of some rows, in order."""
    made: list[int] = []
    end = -1
    for row in sorted(rows):
        if row > end:
            made.append(row)
            end = row + tree.size[row]
    return made


def cut_out(tree: Tree, row: int) -> tuple[Tree, int]:
    """A tree of a node and what is below it, with the elements around it and their attributes; and its row there."""
    if row == 0:
        return tree, 0
    around: list[int] = []
    above = row
    while tree.up[above]:
        above -= tree.up[above]
        around.append(above)
    picked: list[int] = []
    parents: list[int] = []
    for element in reversed(around):
        parents.append(len(picked))
        picked.append(element)
        own = element + 1
        while own <= element + tree.size[element] and tree.kind[own] == ATTRIBUTE:
            picked.append(own)
            own += 1
    at = len(picked)
    if tree.kind[row] == ATTRIBUTE and around:
        at = picked.index(row)
    else:
        picked += range(row, row + tree.size[row] + 1)
    made = Tree(tree.base_uri, tree.document_uri)
    made.kind = bytearray(tree.kind[k] for k in picked)
    made.name = array("i", [tree.name[k] for k in picked])
    made.prefix = array("i", [tree.prefix[k] for k in picked])
    made.up = array("i", [tree.up[k] for k in picked])
    made.size = array("i", [tree.size[k] for k in picked])
    made.value = [tree.value[k] for k in picked]
    for number, parent in enumerate(parents):
        made.size[parent] = len(picked) - parent - 1
        if number:
            made.up[parent] = parent - parents[number - 1]
    if parents and made.kind[at] != ATTRIBUTE:
        made.up[at] = at - parents[-1]
    if tree.namespaces:
        made.namespaces = {k: tree.namespaces[old] for k, old in enumerate(picked) if old in tree.namespaces}
    made.dtd = tree.dtd
    made.finish()
    return made, at

"""Records as rows of their own, with all that is in them: to be sorted beyond memory, and trees again afterwards."""

from __future__ import annotations

import pickle
from array import array
from typing import Any

import numpy as np

from xstreamcast.model.names import DOCUMENT
from xstreamcast.model.tree import Tree
from xstreamcast.native.vector import Longs
from xstreamcast.operators.rows import Column, Ragged, Rows, within
from xstreamcast.scan.octets import Octets
from xstreamcast.scan.tree import ints
from xstreamcast.tables.columns import Table


def subtrees(table: Table, rows: Longs) -> tuple[Column, ...]:
    """The subtrees of records, column by column of the table of a tree; then their values, and namespaces."""
    tree, octets = table.tree, table.octets
    counts = table.sizes[rows] + 1
    own = within(rows, counts)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    ups = table.ups[own].astype(np.int32)
    ups[bounds[:-1]] = 0
    numbers = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.kinds > 1)])
    firsts, lasts = numbers[rows], numbers[rows + counts]
    lengths = np.diff(octets.bounds)[within(firsts, lasts - firsts)]
    texts = Ragged(octets.joined, octets.bounds)
    sizes = octets.bounds[lasts] - octets.bounds[firsts]
    joined = texts.values[within(octets.bounds[firsts], sizes)]
    spaces = [_namespaces(tree, row) for row in rows.tolist()] if tree.namespaces else [b""] * len(rows)
    return (
        Ragged(table.kinds[own], bounds),
        Ragged(table.names[own], bounds),
        Ragged(np.frombuffer(tree.prefix, np.int32)[own], bounds),
        Ragged(ups, bounds),
        Ragged(table.sizes[own].astype(np.int32), bounds),
        Ragged.of(lengths, lasts - firsts),
        Ragged.of(joined, sizes),
        Ragged.of(np.frombuffer(b"".join(spaces), np.uint8), [len(each) for each in spaces]),
        np.full(len(rows), tree.name[0], np.int32),
    )


def _namespaces(tree: Tree, row: int) -> bytes:
    """The namespaces declared in a subtree, by row within it; at its top all that is in scope."""
    declared = {inner - row: own for inner, own in tree.declarations(row)}
    declared[0] = tree.in_scope(row)
    return pickle.dumps(declared) if any(declared.values()) else b""


def tree_of(block: Rows) -> tuple[Tree, list[int]]:
    """A document that has the records of a block one after the other, and their rows."""
    kinds, names, prefixes, ups, sizes, lengths, joined, spaces, document = block.columns
    tops = kinds.bounds[:-1] + 1
    up = ups.values.copy()
    up[kinds.bounds[:-1]] = tops
    tree = Tree()
    tree.kind = bytearray(_below(DOCUMENT, kinds.values).tobytes())
    tree.name, tree.prefix = ints(_below(document[0], names.values)), ints(_below(0, prefixes.values))
    tree.up, tree.size = ints(_below(0, up)), ints(_below(len(up), sizes.values))
    tree.read_values_from(Octets.of(joined.values, np.cumsum(lengths.values)))
    for number in np.flatnonzero(np.diff(spaces.bounds)).tolist():
        own = spaces.values[spaces.bounds[number] : spaces.bounds[number + 1]].tobytes()
        for inner, declared in pickle.loads(own).items():  # written by this process
            tree.namespaces[int(tops[number]) + inner] = declared
    tree.finish()
    return tree, tops.tolist()


def _below(top: Any, column: Any) -> Any:
    return np.concatenate([np.array([top], column.dtype), column])


def joined(trees: list[Tree]) -> Tree:
    """One tree with the rows of several that nobody else has, one after the other; they are left empty.

    Nodes of one tree are written together, those of many one by one.
    """
    made = trees[0]
    if len(trees) == 1:
        return made
    before = np.cumsum([0, *[len(tree) for tree in trees]]).tolist()
    namespaces = {
        row + begin: own for tree, begin in zip(trees, before, strict=False) for row, own in tree.namespaces.items()
    }
    made = Tree(made.base_uri, made.document_uri)
    made.namespaces = namespaces
    octets = [tree.octets for tree in trees]
    own = [each for each in octets if isinstance(each, Octets)]
    made.kind = bytearray().join([tree.kind for tree in trees])
    for column in ("name", "prefix", "up", "size"):
        whole = array("i")
        for tree in trees:
            whole += getattr(tree, column)
            setattr(tree, column, array("i"))
        setattr(made, column, whole)
    lengths = np.concatenate([np.diff(each.bounds) for each in own])
    trees.clear()
    made.read_values_from(Octets.of(np.concatenate([each.joined for each in own]), np.cumsum(lengths)))
    made.finish()
    return made

"""Trees between processes: a *shape*, which trees that look alike have in common, and values.

A shape is all columns of a tree but the values, with its names spelled out: interned numbers mean nothing in another
process. Of trees that a query makes, and of records, there are many of few shapes: each is written once and read once.
"""

from __future__ import annotations

import pickle
from array import array
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from xstreamcast.model.names import intern, intern_prefix, name_kind, name_local, name_uri, prefixes
from xstreamcast.model.tree import Tree

_REMEMBERED: Final = 1 << 12
"""How many shapes a process remembers, of those it has written and of those it has read."""
_SMALL: Final = 1 << 8
"""Rows of a tree whose shape is worth remembering where it is written: larger ones have their own."""
_SHORT: Final = 1 << 12
"""Bytes of one that is remembered where it is read."""
_written: dict[Hashable, bytes] = {}


def remembered(key: Hashable, rows: int, make: Callable[[], bytes]) -> bytes:
    """The shape of so many rows that are known by ``key``."""
    shape = _written.get(key)
    if shape is None:
        shape = make()
        if rows <= _SMALL:
            if len(_written) >= _REMEMBERED:
                _written.clear()
            _written[key] = shape
    return shape


def written(
    kinds: bytes,
    names: Sequence[int],
    prefix: Sequence[int],
    ups: array[int],
    sizes: array[int],
    beside: tuple[str | None, str | None, dict[int, dict[str, str]], dict[tuple[str, str], str]],
) -> bytes:
    """The shape of some columns; ``beside``: the base and document URI, namespaces, and types of attributes."""
    spelled = {name: (name_kind[name], name_uri[name], name_local[name]) for name in set(names)}
    spelled_prefixes = {each: prefixes[each] for each in set(prefix)}
    shape = kinds, array("i", names), spelled, array("i", prefix), spelled_prefixes, ups, sizes, beside
    return pickle.dumps(shape, pickle.HIGHEST_PROTOCOL)


def shape_of(tree: Tree) -> bytes:
    """The shape of a whole tree."""

    def make() -> bytes:
        beside = tree.base_uri, tree.document_uri, tree.namespaces, tree.dtd
        return written(bytes(tree.kind), tree.name, tree.prefix, tree.up, tree.size, beside)

    if len(tree) > _SMALL or tree.dtd:
        return make()
    columns = [bytes(column) for column in (tree.kind, tree.name, tree.prefix, tree.up, tree.size)]
    declared = declarations(tree, range(len(tree))) if tree.namespaces else ()
    return remembered((declared, tree.base_uri, tree.document_uri, *columns), len(tree), make)


def declarations(tree: Tree, rows: Iterable[int]) -> tuple[Hashable, ...]:
    """The namespaces that some rows declare, and where they stand among these."""
    found = tree.namespaces
    return tuple([(k, *found[row].items()) for k, row in enumerate(rows) if row in found])


def tree_of(shape: bytes, values: list[str | None]) -> Tree:
    """A tree; it shares its columns with others of its shape."""
    columns, (base_uri, document_uri, namespaces, dtd) = _known(shape) if len(shape) <= _SHORT else _read(shape)
    tree = Tree.of_columns((*columns, values), base_uri)
    tree.document_uri, tree.namespaces, tree.dtd = document_uri, namespaces, dtd
    return tree


def _read(shape: bytes) -> tuple[Any, ...]:
    kinds, names, spelled, prefix, spelled_prefixes, ups, sizes, beside = pickle.loads(shape)
    here = {number: intern(*key) if key[2] else number for number, key in spelled.items()}
    there = {number: intern_prefix(each) for number, each in spelled_prefixes.items()}
    names, prefix = array("i", [here[each] for each in names]), array("i", [there[each] for each in prefix])
    return (bytearray(kinds), names, prefix, ups, sizes), beside


_known = lru_cache(maxsize=_REMEMBERED)(_read)

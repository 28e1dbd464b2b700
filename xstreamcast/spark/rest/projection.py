"""Projected parts of a document, sent from the tasks that scanned its ranges and put together as one tree.

The trees of two ranges share the elements that are open between them. Putting them together keeps the rows of the
first, leaves out the second's copies of what is open, and hangs the others where the true element stands:

    project(range 1 ⊎ range 2) = project(range 1) joined with project(range 2)
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xstreamcast.model.names import ATTRIBUTE, DOCUMENT, ELEMENT, intern, intern_prefix, name_kind, name_local, name_uri
from xstreamcast.model.names import prefixes as prefix_names
from xstreamcast.model.tree import Tree
from xstreamcast.scan.documents import BatchDocument
from xstreamcast.scan.octets import Octets
from xstreamcast.scan.path import parse_path
from xstreamcast.spark.rest.ranges import Asked, Range, range_batches


@dataclass(frozen=True, slots=True)
class Projected:
    """A batch document as it travels: names by their own numbers, values as octets."""

    names: list[tuple[int, str, str]]
    prefixes: list[str]
    columns: tuple[Any, Any, Any, Any, Any]
    """kind, name, prefix, up, size."""
    joined: Any
    bounds: Any
    namespaces: dict[int, dict[str, str]]
    began: list[tuple[int, int]]
    """(offset, row) of the elements that came over from before."""
    open: list[tuple[int, int]]


def projections(parts: Iterable[Range], asked: Asked) -> Iterator[Projected]:
    """What some ranges have of a document."""
    for part in parts:
        wanted = replace(asked, records=(parse_path("/*"),)) if part.whole else asked
        for batch in range_batches(part, wanted):
            yield packed(batch)


def packed(batch: BatchDocument) -> Projected:
    """A batch document, ready to travel."""
    began = [(each.offset, each.row) for each in batch.began]
    return replace(packed_tree(batch.tree), began=began, open=[(each.offset, each.row) for each in batch.open])


def packed_tree(tree: Tree) -> Projected:
    """The tree of a batch document by itself."""
    kinds = np.frombuffer(tree.kind, np.uint8)
    used, names = np.unique(np.frombuffer(tree.name, np.int32), return_inverse=True)
    used_prefixes, prefixes = np.unique(np.frombuffer(tree.prefix, np.int32), return_inverse=True)
    octets = tree.octets if isinstance(tree.octets, Octets) else Octets.none()
    return Projected(
        [(name_kind[k], name_uri[k], name_local[k]) for k in used.tolist()],
        [prefix_names[k] for k in used_prefixes.tolist()],
        (
            kinds,
            names.astype(np.int32),
            prefixes.astype(np.int32),
            np.frombuffer(tree.up, np.int32),
            np.frombuffer(tree.size, np.int32),
        ),
        octets.joined,
        octets.bounds,
        tree.namespaces,
        [],
        [],
    )


def joined(parts: Iterable[Projected], uri: str | None) -> Tree:
    """One tree of what the ranges of a document have, in document order."""
    made = _Joining()
    for part in parts:
        made.add(part)
    return made.tree(uri)


class _Joining:
    """The rows so far, and which of them stand for the elements that are open."""

    def __init__(self) -> None:
        self.rows = 0
        self.columns: list[tuple[Any, Any, Any, Any, Any]] = []
        self.octets: list[tuple[Any, Any]] = []
        self.namespaces: dict[int, dict[str, str]] = {}
        self.sizes: dict[int, int] = {}
        self.open: dict[int, int] = {}

    def add(self, part: Projected) -> None:
        """Take the next batch."""
        kinds, names, prefixes, ups, sizes = part.columns
        kept = self._brought(part) if self.rows else 0
        base = self.rows - kept
        place = np.zeros(len(kinds), np.int64)
        place[kept:] = np.arange(kept, len(kinds)) + base
        for offset, row in part.began:
            place[row] = self.open[offset]
        own = np.arange(kept, len(kinds))
        parents = own - ups[kept:]
        moved = np.where(ups[kept:] == 0, 0, place[own] - place[parents]).astype(np.int32)
        number = np.array([intern(*name) if name[2] else name[0] for name in part.names], np.int32)
        prefix = np.array([intern_prefix(each) if each else 0 for each in part.prefixes], np.int32)
        self.columns.append((kinds[kept:], number[names[kept:]], prefix[prefixes[kept:]], moved, sizes[kept:]))
        first = int(np.count_nonzero(kinds[:kept] > ELEMENT))
        if len(part.bounds) > 1:
            self.octets.append((part.joined[part.bounds[first] :], part.bounds[first:] - part.bounds[first]))
        for row, declared in part.namespaces.items():
            if row >= kept:
                self.namespaces[int(place[row])] = declared
        ended = dict(part.began)
        for offset, row in part.open:
            ended.pop(offset, None)
            self.open[offset] = int(place[row])
        for offset, row in ended.items():
            true = self.open.pop(offset)
            last = row + int(sizes[row])
            end = last + base if last >= kept else self.rows - 1
            self.sizes[true] = end - true
        self.rows += len(kinds) - kept

    def _brought(self, part: Projected) -> int:
        """How many of the first rows came over: the document, what is open, and their attributes."""
        kinds = part.columns[0]
        row = part.began[-1][1] if part.began else 0
        row += 1
        while row < len(kinds) and kinds[row] == ATTRIBUTE:
            row += 1
        return row

    def tree(self, uri: str | None) -> Tree:
        """The tree of all rows."""
        tree = Tree(uri, uri)
        kinds, names, prefixes, ups, sizes = (np.concatenate(column) for column in zip(*self.columns, strict=True))
        assert kinds[0] == DOCUMENT
        sizes = sizes.copy()
        sizes[0] = len(kinds) - 1
        if self.sizes:
            sizes[list(self.sizes)] = list(self.sizes.values())
        tree.kind = bytearray(kinds.tobytes())
        tree.name, tree.prefix, tree.up, tree.size = (
            array("i", column.astype(np.int32).tobytes()) for column in (names, prefixes, ups, sizes)
        )
        tree.namespaces = self.namespaces
        tree.read_values_from(self._values())
        tree.finish()
        return tree

    def _values(self) -> Octets:
        if not self.octets:
            return Octets.none()
        starts = np.cumsum([0, *[bounds[-1] for _, bounds in self.octets]])
        bounds = [each[1:] + start for (_, each), start in zip(self.octets, starts.tolist(), strict=False)]
        return Octets.of(np.concatenate([joined for joined, _ in self.octets]), np.concatenate(bounds))

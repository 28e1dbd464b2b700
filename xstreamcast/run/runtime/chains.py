"""Chains of steps by name from one node, column at a time: ``/site/people/person`` without a loop per level.

Few children are visited one by one. Where there are many, the rows of the last name are found in the name column at
once, and those remain whose parents, their parents and so on have the names before it: one gather per level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.model.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_VISITS: Final = 64
"""Children visited one by one before columns are looked at: about what that costs."""


def chain(tree: Tree, top: int, names: tuple[int, ...]) -> list[int]:
    """The rows of ``n1/n2/…`` from a row, in document order: children, at the end perhaps attributes."""
    return chain_from(tree, [top], names)


def valued(tree: Tree, rows: list[int]) -> Iterator[tuple[int, str | None]]:
    """Rows with their entries of the value column."""
    return zip(rows, tree.values_at(rows), strict=True)


def chain_from(tree: Tree, rows: list[int], names: tuple[int, ...]) -> list[int]:
    """The same from several rows, none of which is inside another."""
    column, size = tree.name, tree.size
    left = _VISITS
    for level, name in enumerate(names):
        found = []
        for row in rows:
            end = row + size[row]
            row += 1
            while row <= end and left:
                if column[row] == name:
                    found.append(row)
                left -= 1
                row += size[row] + 1
            if not left:
                return _climbed(tree, rows, names[level:])
        rows = found
    return rows


def chain_below(tree: Tree, top: int, names: tuple[int, ...]) -> list[int]:
    """The rows of ``.//n1/n2/…`` from a row, in document order."""
    if tree.size[top] > _VISITS:
        return _climbed(tree, None, names, top)
    column, up, last = tree.name, tree.up, names[-1]
    found = []
    for row in range(top + 1, top + tree.size[top] + 1):
        if column[row] == last:
            parent = row
            for name in names[-2::-1]:
                parent -= up[parent]
                if column[parent] != name:
                    break
            else:
                if parent > top:
                    found.append(row)
    return found


def _climbed(tree: Tree, tops: Sequence[int] | None, names: tuple[int, ...], top: int = 0) -> list[int]:
    """The rows of the last name that come, over parents of the names before it, from one of ``tops``, or (None) from
    anywhere below ``top``."""
    import numpy

    column, up = numpy.frombuffer(tree.name, numpy.int32), numpy.frombuffer(tree.up, numpy.int32)
    first = tops[0] if tops else top
    last = tops[-1] if tops else top
    last += tree.size[last]
    rows = numpy.flatnonzero(column[first : last + 1] == names[-1]) + first
    parents = rows
    for name in names[-2::-1]:
        parents = parents - up[parents]
        kept = column[parents] == name
        rows, parents = rows[kept], parents[kept]
    if tops is None:
        rows = rows[parents > top]
    else:
        parents = parents - up[parents]
        rows = rows[parents == tops[0] if len(tops) == 1 else numpy.isin(parents, tops)]
    found: list[int] = rows.tolist()
    return found

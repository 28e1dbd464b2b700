"""Where holes and fillings lie in the document of a batch: from places in its text to rows of its tree.

    <b><t>T</t>|<p>9</p>|</b>        a hole begins before row 4, in row 1, and ends before row 6

A copy of an element with holes takes the seams of its tree along, so that an answer tells what is in a hole apart
(:mod:`xstreamcast.run.continuous.display.sewn`). Where a text goes on across a border there is no seam: that text is
one node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xstreamcast.native.kernel import I64, U8, inner, kernel
from xstreamcast.run.continuous.columns.arrays import grown
from xstreamcast.run.continuous.columns.layout import DIGEST, FOR, NUMBER, OF, TIME, TSID
from xstreamcast.run.continuous.columns.ordering import said
from xstreamcast.run.continuous.columns.splicing import ENDS, HOLE, PASSED

if TYPE_CHECKING:
    from xstreamcast.model.tree import Seam, Sewn, Tree
    from xstreamcast.native.vector import Bytes, Longs, Table
    from xstreamcast.run.continuous.columns.table import RegionTable

TOO_DEEP = -1


@inner
def _is_at(text: Any, at: int, end: int, a: int, b: int, c: int) -> bool:
    """Whether three characters stand somewhere."""
    return bool(at + 2 < end and text[at] == a and text[at + 1] == b and text[at + 2] == c)


@inner
def _behind(text: Any, at: int, end: int, a: int, b: int, c: int) -> int:
    """What comes behind the next three characters of a kind."""
    while at < end and not _is_at(text, at, end, a, b, c):
        at += 1
    return at + 3


@inner
def _attributes(text: Any, at: int, end: int, found: Any) -> int:
    """How many attributes there are from the end of a tag's name on, without declarations; ``found``: the bracket."""
    count = 0
    while text[at] != 62 and text[at] != 47:
        if text[at] in (32, 9, 10, 13):
            at += 1
            continue
        declares = at + 4 < end and text[at] == 120 and text[at + 1] == 109  # xm…
        declares = declares and text[at + 2] == 108 and text[at + 3] == 110 and text[at + 4] == 115  # …lns
        after = text[at + 5] if at + 5 < end else 0
        count += 0 if declares and after in (61, 58, 32, 9, 10, 13) else 1
        while text[at] != 34 and text[at] != 39:
            at += 1
        quote = text[at]
        at += 1
        while text[at] != quote:
            at += 1
        at += 1
    found[0] = at
    return count


@kernel
def rows_of(text: U8, places: I64, rows: I64, parents: I64, within: I64, stack: I64, found: I64) -> int:
    """Of each place in a well-formed document: the row that comes next, the row it is in, whether it is in a text.

    How many rows there are; TOO_DEEP: the stack has no room. A text that comes in parts, CDATA too, is one row.
    """
    end = text.shape[0]
    count, depth, at, k, open_from = 1, 0, 0, 0, -1  # places from ``open_from`` on may be in the text that is open
    in_text = False
    stack[0] = 0
    while True:
        while k < places.shape[0] and places[k] <= at:
            rows[k], parents[k], within[k] = count, stack[depth], 0
            if in_text and open_from < 0:
                open_from = k
            k += 1
        if at >= end:
            return int(count)
        if text[at] != 60 or _is_at(text, at, end, 60, 33, 91):
            if text[at] == 60:  # <![CDATA[
                first = at + 9
                last = _behind(text, first, end, 93, 93, 62) - 3
                behind = last + 3
            else:
                first = last = at
                stop = places[k] if k < places.shape[0] else end
                while last < end and last < stop and text[last] != 60:
                    last += 1
                behind = last
            if last > first:
                if in_text and open_from >= 0:
                    for j in range(open_from, k):
                        within[j] = 1
                    open_from = -1
                if not in_text:
                    count += 1
                in_text = True
            at = behind
            continue
        in_text = False
        open_from = -1
        c = text[at + 1]
        if c == 33:  # <!--
            count += 1
            at = _behind(text, at + 4, end, 45, 45, 62)
        elif c == 63:  # <?
            count += 1
            at += 2
            while not (text[at] == 63 and text[at + 1] == 62):
                at += 1
            at += 2
        elif c == 47:  # </
            depth -= 1
            while text[at] != 62:
                at += 1
            at += 1
        else:
            depth += 1
            if depth >= stack.shape[0]:
                return TOO_DEEP
            stack[depth] = count
            at += 1
            while text[at] not in (32, 9, 10, 13, 62, 47):
                at += 1
            count += 1 + _attributes(text, at, end, found)
            at = found[0]
            if text[at] == 47:
                depth -= 1
                at += 1
            at += 1


class Placed:
    """Where things of a text stand in its tree. ``rows``, ``parents``; ``within``: which are inside of a text."""

    def __init__(self, tree: Tree, text: Bytes, places: Longs) -> None:
        self.rows: Longs = np.empty(len(places), np.int64)
        self.parents, self.within = np.empty_like(self.rows), np.empty_like(self.rows)
        stack: Any = np.empty(256, np.int64)
        found = np.zeros(1, np.int64)
        while True:
            count = rows_of(text, places, self.rows, self.parents, self.within, stack, found)
            if count != TOO_DEEP:
                break
            stack = grown(stack, 2 * len(stack))
        assert count == len(tree), "the rows of a tree are those of its text"


def seams_of(placed: Placed, seams: Table, table: RegionTable) -> list[Seam]:
    """The seams of a batch's tree, as ``splice`` tells them."""
    rows, parents, within = placed.rows.tolist(), placed.parents.tolist(), placed.within.tolist()
    made: list[Seam | None] = []
    open_: list[int] = []
    for k, (_, what, of) in enumerate(seams.tolist()):
        if what == PASSED:
            made.append(None)
        elif what == ENDS:
            begun = open_.pop()
            if within[k] or within[begun]:
                made[begun] = None
                made.append(None)
            else:
                made.append((rows[k], parents[k], None))
        else:
            open_.append(k)
            made.append((rows[k], parents[k], _sewn(what, of, table)))
    return [seam for seam in made if seam is not None]


def _sewn(what: int, of: int, table: RegionTable) -> Sewn:
    """What is known of a hole, or of a version or an event in one, to those that tell it apart."""
    if what == HOLE:
        return int(table.regions[table.holes[of, FOR], NUMBER])
    filling = table.fillings[of]
    number = int(table.regions[filling[OF], NUMBER])
    return number, 1, int(filling[TIME]), said(of, table.fillings), int(filling[TSID]), int(filling[DIGEST])


def moved(seams: list[Seam], begin: int, end: int, by: int) -> list[Seam]:
    """The seams of some rows, where these are so many rows further on."""
    return [(row + by, parent + by, known) for row, parent, known in seams if begin <= parent < end]

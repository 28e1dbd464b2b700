"""Items as text that knows where it was sewn together: what an answer copies of a stream has holes, filled or not.

The seams of a tree (:class:`~xstreamcast.model.tree.Tree`) cut the text of an item into pieces:

    piece ::= text | filling(region, (piece* | filling*)) | cell(start tag, filling*, end tag)

A cell is an element in which there is nothing but fillings: while nothing is in any of these it is written ``<a/>``,
and then there is no place in it for a hole. What is in a namespace is not cut: a declaration reaches across seams.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array
from xstreamcast.model.names import ATTRIBUTE, DOCUMENT, ELEMENT, name_local, name_uri
from xstreamcast.model.serialise import serialise
from xstreamcast.model.serialise_parameters import Parameters
from xstreamcast.model.serialise_xml import XMLWriter, escape_attribute
from xstreamcast.model.tree import Node, Seam, Sewn, Tree

_AS_IT_IS: Final = Parameters()
Key = tuple[Sewn, int, bool]
"""What is sewn in, how many times it has been in the item before, and whether the cell around it is meant."""


class Filling(NamedTuple):
    """What a hole holds, or one of several fillings side by side in it. ``empty``: it comes to no text."""

    key: Key
    pieces: Pieces
    empty: bool

    @property
    def beside(self) -> bool:
        """Whether it is one of several in a hole: a version, an event, or what was put before or after another."""
        return isinstance(self.key[0], tuple)

    @property
    def content(self) -> Pieces:
        """What it consists of."""
        return self.pieces


class Cell(NamedTuple):
    """An element with nothing but fillings in it; ``key`` None: it is all that what is around it holds."""

    key: Key | None
    head: str
    pieces: Pieces
    tail: str
    empty: bool

    @property
    def content(self) -> Pieces:
        """What it consists of."""
        return (self.head + "/>",) if self.empty else (self.head + ">", *self.pieces, self.tail)


Piece = str | Filling | Cell
Pieces = tuple[Piece, ...]


def text_of(pieces: Pieces) -> str:
    """The text of pieces, holes filled."""
    return "".join(_texts(pieces))


def _texts(pieces: Pieces) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, str):
            yield piece
        else:
            yield from _texts(piece.content)


def flattened(items: Iterable[Item]) -> Iterator[Item]:
    """Items, with the members of arrays in their place (sequence normalisation)."""
    for item in items:
        if isinstance(item, Array):
            for member in item.members():
                yield from flattened(member)
        else:
            yield item


def sewn(items: list[Item]) -> Pieces:
    """The pieces of items side by side, as the xml method writes them; none where there is no seam."""
    if not any(isinstance(item, Node) and item[0].seams for item in items):
        return ()
    pieces: list[Piece] = []
    counts: Counter[Sewn] = Counter()
    follows = False
    for item in items:
        atomic = not isinstance(item, Node)
        if follows and atomic:
            pieces.append(" ")
        follows = atomic
        seams = item[0].seams_within(item[1]) if isinstance(item, Node) else []
        if isinstance(item, Node) and seams and _is_plain(*item):
            pieces += _Cutter(item[0], seams, counts).cut(item[1])
        else:
            pieces.append(serialise([item]))
    return _joined(pieces) if counts else ()


def _is_plain(tree: Tree, row: int) -> bool:
    """Whether no name in a subtree is in a namespace, and none is declared."""
    return not tree.namespaces and not any(name_uri[name] for name in set(tree.name[row : row + tree.size[row] + 1]))


def _joined(pieces: list[Piece]) -> Pieces:
    """Texts side by side are one; a cell that is alone is known by what is around it."""
    if len(pieces) == 1 and isinstance(pieces[0], str):
        return (pieces[0],)
    made: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
        else:
            made += ["".join(texts), piece] if texts else [piece]
            texts = []
    if texts:
        made.append("".join(texts))
    if len(made) == 1 and isinstance(made[0], Cell):
        made[0] = made[0]._replace(key=None)
    return tuple(made)


def _nothing_in(pieces: list[Piece]) -> bool:
    if pieces and isinstance(pieces[0], str):
        return False
    return all(isinstance(piece, Filling) and piece.empty for piece in pieces)


class _Open:
    """An element or a filling that has begun. ``end``: the last row of an element; ``key``: of a filling."""

    __slots__ = ("end", "head", "key", "name", "pieces", "row")

    def __init__(self, row: int, end: int, name: str, head: str, key: Key | None) -> None:
        self.row = row
        self.end = end
        self.name = name
        self.head = head
        self.key = key
        self.pieces: list[Piece] = []


class _Cutter:
    """One walk along the rows of a subtree and the seams in it; what has no seam in it is written as a whole."""

    def __init__(self, tree: Tree, seams: list[Seam], counts: Counter[Sewn]) -> None:
        self.tree = tree
        self.seams = iter(seams)
        self.seam: Seam | None = next(self.seams, None)
        self.counts = counts
        self.out: list[str] = []
        self.writer = XMLWriter(_AS_IT_IS, self.out)
        self.open = [_Open(-1, -1, "", "", None)]

    def cut(self, top: int) -> list[Piece]:
        """The pieces of a row."""
        tree = self.tree
        row, last = top, top + tree.size[top]
        while True:
            self._pass(row, self.open[-1].row)
            while self.open[-1].end < row and len(self.open) > 1:
                self._close()
                self._pass(row, self.open[-1].row)
            if row > last:
                return self.open[0].pieces
            if self.seam is not None and self.seam[1] <= row + tree.size[row] and self.seam[1] >= row:
                row = self._begin(row)
            else:
                self.writer.subtree(tree, row)
                self.open[-1].pieces += self.out
                self.out.clear()
                row += tree.size[row] + 1

    def _begin(self, row: int) -> int:
        """A start tag; the row behind it."""
        tree, end = self.tree, row + self.tree.size[row]
        name = "" if tree.kind[row] == DOCUMENT else name_local[tree.name[row]]
        head, at = f"<{name}", row + 1
        while at <= end and tree.kind[at] == ATTRIBUTE:
            head += f' {name_local[tree.name[at]]}="{escape_attribute(tree.value[at] or "")}"'
            at += 1
        self.open.append(_Open(row, end, name, head, None))
        return at

    def _close(self) -> None:
        """The end tag of the innermost element."""
        done = self.open.pop()
        pieces, around = done.pieces, self.open[-1].pieces
        if self.tree.kind[done.row] != ELEMENT:
            around += pieces
        elif pieces and all(isinstance(piece, Filling) for piece in pieces):
            first = pieces[0]
            assert isinstance(first, Filling)
            key = (first.key[0], first.key[1], True)
            around.append(Cell(key, done.head, tuple(pieces), f"</{done.name}>", _nothing_in(pieces)))
        else:
            around += [done.head + ">", *pieces, f"</{done.name}>"]

    def _pass(self, row: int, parent: int) -> None:
        """The fillings that begin or end before a row, in an element."""
        while self.seam is not None and self.seam[:2] == (row, parent):
            known = self.seam[2]
            self.seam = next(self.seams, None)
            if known is None:
                done = self.open.pop()
                assert done.key is not None
                self.open[-1].pieces.append(Filling(done.key, _joined(done.pieces), _nothing_in(done.pieces)))
            else:
                # A filling ends by its seam: as an element it would never end before that.
                self.open.append(_Open(parent, len(self.tree), "", "", (known, self.counts[known], False)))
                self.counts[known] += 1

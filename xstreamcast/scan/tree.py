"""Trees from the kernel: its columns become a :class:`~xstreamcast.model.tree.Tree` without a call per node.

>>> parse_tree(b"<a><b n='1'>x</b></a>").root.string
'x'
"""

from __future__ import annotations

from array import array
from typing import Any, Final

import numpy as np

from xstreamcast.model.depth import deepest
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, FIRST_NAME, TEXT, intern, intern_prefix
from xstreamcast.model.tree import Tree
from xstreamcast.native.kernel import I32, I64, U8, Flags, kernel
from xstreamcast.native.vector import Bytes, Longs
from xstreamcast.scan import layout as t
from xstreamcast.scan import spans
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.encoding import Source, reported_name
from xstreamcast.scan.layout import R_END, R_START, R_TREE
from xstreamcast.scan.path import Path
from xstreamcast.scan.reader import scan_buffer, scan_bytes, scan_source
from xstreamcast.scan.scanner import Batch, Scanner
from xstreamcast.scan.symbols import Symbols, attribute_value

_MODES: Final = np.array([spans.RAW, spans.RAW, spans.ATTRIBUTE, spans.TEXT, spans.LINES, spans.LINES], np.uint8)
"""How the values of nodes are read that need more than their bytes, by kind."""
_MOST_NAMES: Final = 1 << 12
"""A reader that has met more names than this forgets them: they are not those of a few tags."""


def parse_tree(
    source: Source | bytes,
    base_uri: str | None = None,
    document_uri: str | None = None,
    wrapped: int = 0,
    many: bool = False,
) -> Tree:
    """The tree of a document: bytes in memory, a path, or an open binary file; any encoding, any DTD.

    ``wrapped``: so many of its outermost elements are ours, and do not count as levels. ``many``: several documents may
    follow each other.

    What a DTD says about IDs is lost here: a document that asks ``fn:id`` of one must be read by ``scan.parse``; so
    must a document with a DTD of its own that is not the first of ``many`` (InternalSubset).
    """
    scanner = Scanner(_whole(), reported_name(source, document_uri or base_uri), wrapped=wrapped)
    scanner.many = many
    (batch,) = scan_bytes(source, scanner) if isinstance(source, bytes) else scan_source(source, scanner)
    return _tree_of(batch, scanner, Names(scanner.symbols), Tree(base_uri, document_uri))


class TreeReader:
    """The trees of documents in memory that are known to be well-formed, one after the other.

    What one says of names and paths, the next need not find out again.

    >>> reader = TreeReader()
    >>> [reader.read(np.frombuffer(bytearray(text), np.uint8)).root.string for text in (b"<a>x</a>", b"<a>y</a>")]
    ['x', 'y']
    """

    def __init__(self, many: bool = False) -> None:
        """``many``: several elements may follow each other."""
        self._many = many
        self._begin()

    def _begin(self) -> None:
        self._scanner = Scanner(_whole())
        self._scanner.many = self._many
        self.names = Names(self._scanner.symbols)

    def read(self, document: Bytes) -> Tree:
        """The tree of a document; nobody writes into its array."""
        if len(self._scanner.symbols.texts) > _MOST_NAMES:
            self._begin()
        scanner = self._scanner
        scanner.reset()
        scanner.several = self._many  # nobody is warned of more than one
        scanner.deepest = deepest()
        (batch,) = scan_buffer(document, scanner)
        return _tree_of(batch, scanner, self.names, Tree())


def _whole() -> Automaton:
    """The automaton that keeps a document as it is."""
    return Automaton([Target(Path(), Action.PROJECT)])


def _tree_of(batch: Batch, scanner: Scanner, known: Names, tree: Tree) -> Tree:
    """A tree that has the nodes of a batch, which is a document."""
    kinds, labels, ups, sizes, froms, tos, needs = batch.tree
    names, prefixes = known.columns()
    tree.kind = bytearray(kinds.tobytes())
    tree.name, tree.prefix = ints(names[labels]), ints(prefixes[labels])
    tree.up, tree.size = ints(ups), ints(sizes)
    tree.value = value_column(kinds, ups, sizes, texts(batch.buffer, kinds, froms, tos, needs))
    for row in batch.rows[np.isin(batch.state, scanner.automaton.declarations())] if len(batch) else ():
        prefix, uri = declaration(bytes(batch.buffer[row[R_START] : row[R_END]]))
        tree.namespaces.setdefault(int(row[R_TREE]), {})[prefix] = uri
    tree.finish()
    return tree


def declaration(written: bytes) -> tuple[str, str]:
    """Prefix and namespace of a declaration as written."""
    name, _, value = written.partition(b"=")
    return name.strip().decode()[6:], attribute_value(value.strip()[1:-1])


class Names:
    """By number of a qualified name: its number among the model's names, and its prefix's."""

    def __init__(self, symbols: Symbols) -> None:
        self.symbols = symbols
        self.names = np.arange(FIRST_NAME, dtype=np.int32)
        self.prefixes = np.zeros(FIRST_NAME, np.int32)

    def columns(self) -> tuple[Any, Any]:
        """The two tables, for all names that were met by now."""
        fresh = self.symbols.qualified[len(self.names) :]
        if fresh:
            names = [intern(kind, uri, local) for kind, uri, local, _ in fresh]
            prefixes = [intern_prefix(prefix) if prefix else 0 for *_, prefix in fresh]
            self.names = np.concatenate([self.names, np.array(names, np.int32)])
            self.prefixes = np.concatenate([self.prefixes, np.array(prefixes, np.int32)])
        return self.names, self.prefixes


def texts(b: Bytes, kinds: Any, froms: Any, tos: Any, needs: Any) -> list[str]:
    """The values of the rows that have one of their own (elements and documents have none), decoded in bulk."""
    own = np.flatnonzero(kinds > ELEMENT)
    return spans.strings(b, froms[own], tos[own], value_modes(kinds[own], needs[own]))


def value_modes(kinds: Any, needs: Any) -> Any:
    """How the values of nodes are read."""
    return np.where(needs & t.ESCAPED == 0, spans.RAW, _MODES[kinds])


@kernel
def _value_places(kinds: U8, ups: I32, sizes: I32, places: I32) -> None:
    """For each row the place of its value: 0 for None, 1 for "", from 2 on the rows' own values in order.

    An element with no child but a text has that text, one with no child at all "".
    """
    count = 1
    for row in range(kinds.shape[0]):
        if kinds[row] > ELEMENT:
            count += 1
            places[row] = count
    for row in range(kinds.shape[0]):
        if kinds[row] == ELEMENT:
            size = sizes[row]
            last = row + size
            place = 0
            if size == 0:
                place = 1
            elif ups[last] == size:
                # the last row is a child or an attribute
                if kinds[last] == ATTRIBUTE:
                    place = 1
                elif kinds[last] == TEXT and (
                    size == 1 or (kinds[last - 1] == ATTRIBUTE and ups[last - 1] == size - 1)
                ):
                    place = places[last]
            places[row] = place


@kernel
def _cover(tops: I64, sizes: I32, found: Flags) -> None:
    for k in range(tops.shape[0]):
        for row in range(tops[k], tops[k] + sizes[tops[k]] + 1):
            found[row] = True


def covered(tops: Longs, sizes: Any, rows: int) -> Any:
    """Which of the first rows are in the subtrees of some rows."""
    found = np.zeros(rows, np.bool_)
    _cover(tops, sizes, found)
    return found


@kernel
def squeeze(
    keep: Flags, kinds: U8, labels: I32, ups: I32, sizes: I32, froms: I64, tos: I64, needs: U8, new: I64
) -> int:
    """Move the rows that stay to the front of the columns, and fill in where each row is ``new``; how many there are.

    With a row stays its parent. The place of one that goes is that of the last before it that stays.
    """
    grown = keep.shape[0]
    count = 0
    for row in range(grown):
        if keep[row]:
            count += 1
        new[row] = count - 1
    for row in range(grown):
        if keep[row]:
            k = new[row]
            last = min(row + sizes[row], grown - 1)
            kinds[k] = kinds[row]
            labels[k] = labels[row]
            ups[k] = k - new[row - ups[row]]
            sizes[k] = new[last] - k
            froms[k] = froms[row]
            tos[k] = tos[row]
            needs[k] = needs[row]
    return count


def value_column(kinds: Any, ups: Any, sizes: Any, own: list[str]) -> list[str | None]:
    """The value column; ``own`` are the values of the rows that have one of their own."""
    places = np.zeros(len(kinds), np.int32)
    _value_places(kinds, ups, sizes, places)
    made = np.empty(len(own) + 2, object)
    made[1] = ""
    made[2:] = own
    values: list[str | None] = made[places].tolist()
    return values


def ints(column: Any) -> array[int]:
    """A column as the model has it."""
    made = array("i")
    made.frombytes(np.ascontiguousarray(column, np.int32).tobytes())
    return made

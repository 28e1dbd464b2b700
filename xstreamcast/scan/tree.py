"""Trees from the kernel: its columns become a :class:`~xstreamcast.model.tree.Tree` without a call per node.

>>> parse_tree(b"<a><b n='1'>x</b></a>").root.string
'x'
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import Any

import numpy as np

from xstreamcast.model.names import ATTRIBUTE, ELEMENT, FIRST_NAME, TEXT, intern, intern_prefix
from xstreamcast.model.tree import Tree
from xstreamcast.scan import layout as t
from xstreamcast.scan import spans
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.encoding import Source, source_name
from xstreamcast.scan.layout import R_END, R_START, R_TREE
from xstreamcast.scan.path import Path
from xstreamcast.scan.reader import scan_array, scan_source
from xstreamcast.scan.scanner import Batch, Scanner
from xstreamcast.scan.symbols import Qualified, Symbols, attribute_value
from xstreamcast.scan.vector import Bytes, Longs, compiled

RAW_MODE, TEXT_MODE, ATTRIBUTE_MODE, LINES_MODE = spans.RAW, spans.TEXT, spans.ATTRIBUTE, spans.LINES


def parse_tree(source: Source | bytes, base_uri: str | None = None, document_uri: str | None = None) -> Tree:
    """The tree of a document: bytes in memory, a path, or an open binary file; any encoding, any DTD.

    What a DTD says about IDs is lost here: a document that asks ``fn:id`` of one must be read by ``model.parse``.
    """
    automaton = Automaton([Target(Path(), Action.PROJECT)])
    name = document_uri or base_uri or ("<input>" if isinstance(source, bytes) else source_name(source))
    scanner = Scanner(automaton, name)
    if isinstance(source, bytes):
        batches = list(scan_array(np.frombuffer(bytearray(source), np.uint8), scanner, [source]))
    else:
        batches = list(scan_source(source, scanner))
    (batch,) = batches
    return _Forest(batch, scanner).tree(0, len(batch.tree[0]), Tree(base_uri, document_uri))


def forest(batch: Batch, scanner: Scanner) -> tuple[Longs, list[Tree]]:
    """The projected trees of a batch in document order: the number of the row of each one's top, and the trees.

    A top has all namespaces in scope where it stands, as a copy of it would.
    """
    tops = np.flatnonzero(np.isin(batch.state, scanner.automaton.tops()) & (batch.top >= 0))
    tops = tops[np.argsort(batch.top[tops])]
    columns = _Forest(batch, scanner)
    sizes = batch.tree[3]
    trees = []
    for first, context in zip(batch.top[tops].tolist(), batch.context[tops].tolist(), strict=True):
        tree = columns.tree(first, first + int(sizes[first]) + 1, Tree())
        scope = scanner.symbols.contexts[context]
        declared = {prefix: uri for prefix, uri in scope.items() if uri and prefix != "xml"}
        if declared:
            tree.namespaces[0] = declared
        trees.append(tree)
    return tops, trees


class _Forest:
    """The columns of a batch as the model has them, made at once; trees are slices of them."""

    def __init__(self, batch: Batch, scanner: Scanner) -> None:
        kinds, labels, ups, sizes, froms, tos, needs = batch.tree
        names, prefixes = interned(scanner.symbols)
        self.kind = bytearray(kinds.tobytes())
        self.name, self.prefix = _ints(names[labels]), _ints(prefixes[labels])
        self.up, self.size = _ints(ups), _ints(sizes)
        self.value = values(batch.buffer, kinds, ups, sizes, froms, tos, needs)
        self.declared: dict[int, dict[str, str]] = {}
        for row in batch.rows[np.isin(batch.state, scanner.automaton.declarations())]:
            prefix, uri = declaration(batch.buffer, int(row[R_START]), int(row[R_END]))
            self.declared.setdefault(int(row[R_TREE]), {})[prefix] = uri
        self.declaring = sorted(self.declared)

    def tree(self, first: int, end: int, tree: Tree) -> Tree:
        """Rows ``first`` to ``end`` as the rows of an empty tree."""
        if end - first == len(self.kind):
            tree.kind, tree.name, tree.prefix = self.kind, self.name, self.prefix
            tree.up, tree.size, tree.value = self.up, self.size, self.value
        else:
            tree.kind, tree.name, tree.prefix = self.kind[first:end], self.name[first:end], self.prefix[first:end]
            tree.up, tree.size, tree.value = self.up[first:end], self.size[first:end], self.value[first:end]
            tree.up[0] = 0  # the top of this tree, whatever it hangs from in the columns
        for row in self.declaring[bisect_left(self.declaring, first) : bisect_left(self.declaring, end)]:
            tree.namespaces[row - first] = self.declared[row]
        tree.finish()
        return tree


def declaration(b: Bytes, start: int, end: int) -> tuple[str, str]:
    """Prefix and namespace of a declaration as written."""
    name, _, value = bytes(b[start:end]).partition(b"=")
    return name.strip().decode()[6:], attribute_value(value.strip()[1:-1])


def interned(symbols: Symbols) -> tuple[Any, Any]:
    """By number of a qualified name: its number among the model's names, and its prefix's."""
    names = np.arange(len(symbols.qualified), dtype=np.int32)
    prefixes = np.zeros(len(symbols.qualified), np.int32)
    for number in range(FIRST_NAME, len(symbols.qualified)):
        kind, uri, local, prefix = Qualified(*symbols.qualified[number])
        names[number] = intern(kind, uri, local)
        prefixes[number] = intern_prefix(prefix) if prefix else 0
    return names, prefixes


@compiled
def _value_rows(kinds: Any, ups: Any, sizes: Any, needs: Any, rows: Any, modes: Any, places: Any) -> int:
    """Which rows have a value of their own, how it is read, and for each row the place of its value: 0 for None, 1 for
    "", from 2 on the texts in order. An element with no child but a text has that text, one with no child at all "".
    """
    count = 0
    for row in range(kinds.shape[0]):
        kind = kinds[row]
        if kind > ELEMENT:
            rows[count] = row
            mode = ATTRIBUTE_MODE if kind == ATTRIBUTE else (TEXT_MODE if kind == TEXT else LINES_MODE)
            modes[count] = mode if needs[row] & t.ESCAPED else RAW_MODE
            count += 1
            places[row] = count + 1
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
    return count


def values(b: Bytes, kinds: Any, ups: Any, sizes: Any, froms: Any, tos: Any, needs: Any) -> list[str | None]:
    """The value column, its texts decoded in bulk."""
    rows = np.empty(len(kinds), np.int32)
    modes = np.empty(len(kinds), np.uint8)
    places = np.zeros(len(kinds), np.int32)
    count = _value_rows(kinds, ups, sizes, needs, rows, modes, places)
    own = rows[:count]
    texts = spans.strings(b, froms[own], tos[own], modes[:count])
    made = np.empty(count + 2, object)
    made[1] = ""
    made[2:] = texts
    return made[places].tolist()  # type: ignore[no-any-return]


def _ints(column: Any) -> array[int]:
    made = array("i")
    made.frombytes(np.ascontiguousarray(column, np.int32).tobytes())
    return made

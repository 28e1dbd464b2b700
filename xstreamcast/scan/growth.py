"""The tree of a document while it is scanned: it grows, is cut, and goes on from the elements that are open.

The kernel appends rows to the tree columns. Here they are *settled* (what rows say of values is read from the buffer,
so that the buffer can go), *thinned* (records that fail their tests go, before anything is decoded) and *cut*: handed
over as a :class:`~xstreamcast.model.tree.Tree`, after which only the open elements stay, and what they carry.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.model.names import ATTRIBUTE, DOCUMENT, ELEMENT, FIRST_NAME
from xstreamcast.model.tree import Tree
from xstreamcast.native.vector import Bytes, Longs
from xstreamcast.scan import layout as t
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.filters import Filters
from xstreamcast.scan.layout import (
    BEGINS_RECORD,
    CLOSED,
    CONTENT,
    FLAGS,
    GROWS_TREE,
    INNER,
    LEVEL_WORDS,
    NOTED,
    R_END,
    R_FROM,
    R_START,
    R_STATE,
    R_TO,
    R_TREE,
    ROW,
    ROW_WORDS,
    SEES_MISC,
    START,
    STATE,
)
from xstreamcast.scan.octets import Octets
from xstreamcast.scan.path import Path
from xstreamcast.scan.scanner import Scanner
from xstreamcast.scan.split import Level, graft
from xstreamcast.scan.tables import DOCUMENT_STATE
from xstreamcast.scan.tree import Names, covered, declaration, ints, squeeze

_WRITTEN: Final = 1 << 12  # namespace declarations that are remembered as they were written
# What a state's rows of the output are to us.
_DECLARES, _RECORD, _TESTED = 1, 2, 4


@dataclass(frozen=True, slots=True)
class OpenElement:
    """An element that goes on beyond a batch; ``offset``, where it begins in the input, says which one it is."""

    offset: int
    row: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """The targets of a scan, as numbers of the targets of one automaton."""

    targets: tuple[Target, ...]
    records: range
    counts: range
    carry: range
    filters: Filters

    @property
    def notes_records(self) -> bool:
        """Whether the rows of records must be known: where parts of open elements stay, or are records themselves."""
        return bool(self.carry) or any(
            self.targets[k].path.steps and self.targets[k].path.steps[-1].test.kind == ATTRIBUTE for k in self.records
        )

    @staticmethod
    def of(
        projected: Sequence[Target],
        records: Sequence[Path],
        counts: Sequence[Path],
        carry: Sequence[Path],
        filters: Filters,
    ) -> Wanted:
        """The targets of all these, one after the other."""
        targets = list(projected)
        parts: list[range] = []
        for paths, action in ((records, Action.RECORD), (counts, Action.COUNT), (carry, Action.COUNT)):
            parts.append(range(len(targets), len(targets) + len(paths)))
            targets.extend(Target(path, action) for path in paths)
        for k, path in zip(parts[0], records, strict=True):
            targets[k] = replace(targets[k], sparse=filters.sparse(path, projected))
        placed = filters.placed(len(targets), parts[0], records, projected)
        targets.extend(Target(test.path, Action.CAPTURE) for test in filters.tests)
        return Wanted(tuple(targets), parts[0], parts[1], parts[2], placed)


class Growth:
    """The tree of one scan between two cuts. ``values`` are those of the rows that are settled, in order."""

    def __init__(self, scanner: Scanner, wanted: Wanted) -> None:
        self.scanner, self.wanted = scanner, wanted
        self._notes_records = wanted.notes_records
        self.names = Names(scanner.symbols)
        self.roles = np.zeros(0, np.uint8)
        self._written: dict[bytes, tuple[str, str]] = {}
        scanner.whole = False
        self.values = Octets.none()
        self.settled = 0  # rows before this one have no value that is still to be read
        self.kept = self.rows  # rows that came over from the last cut: at first, the document node
        self.declared: dict[int, dict[str, str]] = {}
        self.began: tuple[OpenElement, ...] = ()
        self.record_rows: list[Longs] = []  # rows of records that ended since the last cut
        self.filters = wanted.filters.begun()
        self.closed: list[bytes] = []  # names of end tags that closed what was only guessed
        self.guessed: list[int] = []  # rows that stand for the elements that were only guessed, -1 for none
        if scanner.automaton.flags[DOCUMENT_STATE] & BEGINS_RECORD:
            scanner.stack[t.RECORD] = 0  # then nothing is cut
            scanner.regs[t.RECORDS] = 1

    @property
    def rows(self) -> int:
        return int(self.scanner.regs[t.TREE_ROWS])

    @property
    def fresh(self) -> bool:
        """Whether there are rows that no batch has had, and that are in no record that is open."""
        return self._edge()[1] > self.kept

    def _edge(self) -> tuple[int, int]:
        """The level of the outermost open record, and the row where it begins; else those after the last."""
        levels = self._levels()
        found = np.flatnonzero(levels[:, t.RECORD] >= 0)
        if not len(found):
            return len(levels), self.rows
        level = int(found[0])
        grows = self.scanner.automaton.flags[levels[level, STATE]] & GROWS_TREE
        return level, int(levels[level, ROW]) if grows else self.rows

    def _levels(self) -> Any:
        scanner = self.scanner
        return scanner.stack[: (scanner.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)

    # ---------------------------------------------------------------------------------------------- settling

    def absorb(self, b: Bytes) -> int:
        """Take what the rows of the output say, as long as the buffer has it; how many there were."""
        scanner = self.scanner
        count = int(scanner.regs[t.ROWS])
        if not count:
            return 0
        rows = scanner.out[: count * ROW_WORDS].reshape(-1, ROW_WORDS)
        unknown = rows[:, R_STATE] == CLOSED
        if unknown.any():
            self.closed += [bytes(b[row[R_FROM] : row[R_TO]]) for row in rows[unknown]]
            rows = rows[~unknown]
        roles = self._roles()[rows[:, R_STATE]]
        for row in rows[roles & _DECLARES != 0]:
            written = bytes(b[row[R_START] : row[R_END]])
            known = self._written.get(written)
            if known is None:
                if len(self._written) > _WRITTEN:
                    self._written.clear()
                known = self._written[written] = declaration(written)
            self.declared.setdefault(int(row[R_TREE]), {})[known[0]] = known[1]
        if self.wanted.filters:
            self.filters.take(b, rows[roles & (_RECORD | _TESTED) != 0], scanner.offset, scanner.automaton)
        if self._notes_records:
            found = rows[roles & _RECORD != 0]
            grows = scanner.automaton.flags[found[:, R_STATE]] & GROWS_TREE != 0
            self.record_rows.append(found[grows, R_TREE])
        scanner.regs[t.ROWS] = 0
        return count

    def _roles(self) -> Any:
        automaton = self.scanner.automaton
        if len(self.roles) != len(automaton.states):
            self.roles = np.zeros(len(automaton.states), np.uint8)
            self.roles[automaton.declarations()] |= _DECLARES
            for target in self.wanted.records:
                self.roles[automaton.accepting(target)] |= _RECORD
            for target in self.wanted.filters.targets:
                self.roles[automaton.accepting(target)] |= _TESTED
        return self.roles

    def thin(self, b: Bytes) -> int:
        """As :meth:`absorb`; and the records that fail go."""
        count = self.absorb(b)
        if self.wanted.filters:
            failed = self.filters.failed(self._open_record(), self.scanner.automaton)
            if len(failed):
                self._compact(~self._covered(failed))
        return count

    def settle(self, b: Bytes) -> None:
        """Read from the buffer what the rows so far say, but for nodes that are open."""
        scanner = self.scanner
        self.thin(b)
        first, grown = self.settled, self.rows
        kinds = scanner.kinds[first:grown]
        froms, tos, needs = scanner.froms[first:grown], scanner.tos[first:grown], scanner.needs[first:grown]
        self.values = self.values.followed_by(Octets.read(b, kinds, froms, tos, needs))
        own = np.flatnonzero(kinds > ELEMENT)
        if len(own):
            self.settled = first + int(own[-1]) + 1  # not ``grown``: a row that is only passed through may go again

    def _open_record(self) -> int:
        """Where the outermost open record begins in the input, or the scan's position."""
        scanner = self.scanner
        levels = self._levels()
        found = np.flatnonzero(levels[:, t.RECORD] >= 0)
        return scanner.offset + int(levels[found[0], START] if len(found) else scanner.position)

    def needed_from(self) -> int:
        """The first position of the buffer that is needed after :meth:`settle`."""
        scanner = self.scanner
        regs, levels = scanner.regs, self._levels()
        keep = scanner.position
        if regs[t.TEXT] >= 0:
            keep = min(keep, int(regs[t.TEXT]))
        if regs[t.MODE] != CONTENT and scanner.automaton.flags[levels[-1, STATE]] & SEES_MISC:
            keep = min(keep, int(regs[t.BODY]))
        if self.wanted.filters:
            tested = levels[self._roles()[levels[:, STATE]] & _TESTED != 0, START]
            keep = min(keep, int(tested.min(initial=keep)))
        return keep

    # ---------------------------------------------------------------------------------------------- cutting

    def cut(self, b: Bytes, tree: Tree, final: bool = False) -> tuple[tuple[OpenElement, ...], tuple[OpenElement, ...]]:
        """Fill an empty tree with all there is before the record that is open, if one is.

        What was open at its beginning, and what is at its end. After that only the open elements stay, with their
        attributes and what they carry.
        """
        self.settle(b)
        scanner = self.scanner
        level, end = (1, self.rows) if final else self._edge()
        if not end:  # nobody wants a tree
            tree.kind, tree.name, tree.prefix = bytearray([DOCUMENT]), array("i", [DOCUMENT]), array("i", [0])
            tree.up, tree.size, tree.value = array("i", [0]), array("i", [0]), [None]
            tree.finish()
            return (), ()
        levels = self._levels()[:level]
        own = scanner.automaton.flags[levels[:, STATE]] & GROWS_TREE != 0
        chain = levels[own, ROW]
        scanner.sizes[chain] = end - chain - 1
        self._fill(tree, end)
        began = self.began
        starts = levels[own, START] + scanner.offset
        ended = tuple(OpenElement(*pair) for pair in zip(starts[1:].tolist(), chain[1:].tolist(), strict=True))
        keep = self._staying(levels, chain.tolist(), end)
        self.record_rows = [rows[rows >= end] for rows in self.record_rows]
        self._compact(keep)
        self.kept = int(np.count_nonzero(keep[:end]))
        chain = self._levels()[:level][own, ROW]
        self.began = tuple(OpenElement(each.offset, row) for each, row in zip(ended, chain[1:].tolist(), strict=True))
        return began, ended

    def _staying(self, levels: Any, chain: list[int], end: int) -> Any:
        """The open elements, their attributes, and what they carry; nothing that is in a record or is one.

        And all from ``end`` on.
        """
        automaton, kinds = self.scanner.automaton, self.scanner.kinds
        keep = np.zeros(self.rows, np.bool_)
        bearers = {state for target in self.wanted.carry for state in automaton.accepting(target)}
        for state, row in levels[:, [STATE, ROW]].tolist():
            if state in bearers and automaton.flags[state] & GROWS_TREE:
                keep[row:] = True
                break
        for row in chain:
            while row + 1 < end and kinds[row + 1] == ATTRIBUTE:
                row += 1
                keep[row] = True
        for rows in self.record_rows:
            keep &= ~self._covered(rows)
        keep[chain] = True
        keep[end:] = True
        return keep

    def _covered(self, tops: Longs) -> Any:
        """Which rows are in the subtrees of some rows."""
        return covered(tops, self.scanner.sizes, self.rows)

    def _fill(self, tree: Tree, end: int) -> None:
        scanner = self.scanner
        kinds, labels, ups, sizes = (column[:end] for column in scanner.columns[:4])
        names, prefixes = self.names.columns()
        tree.kind = bytearray(kinds.tobytes())
        tree.name, tree.prefix = ints(names[labels]), ints(prefixes[labels])
        tree.up, tree.size = ints(ups), ints(sizes)
        values = self.values if end == self.rows else self.values.before(int(np.count_nonzero(kinds > ELEMENT)))
        tree.read_values_from(values)
        tree.namespaces = {row: dict(found) for row, found in self.declared.items() if row < end}
        tree.finish()

    def _compact(self, keep: Any) -> None:
        """Only these rows stay: with each its parent, or none of its subtree."""
        scanner = self.scanner
        settled = np.flatnonzero(scanner.kinds[: self.settled] > ELEMENT)
        staying = keep[settled]
        if not staying.all():
            self.values = self.values.chosen(np.flatnonzero(staying))
        new = np.empty(len(keep), np.int64)
        count = squeeze(keep, *scanner.columns, new)
        self.settled = int(new[settled[staying][-1]]) + 1 if staying.any() else 0
        self.kept = int(np.count_nonzero(keep[: self.kept]))
        self.declared = {int(new[row]): found for row, found in self.declared.items() if keep[row]}
        self.record_rows = [new[found[keep[found]]] for found in self.record_rows]
        self.filters.moved(keep, new)
        levels = self._levels()
        levels[levels[:, ROW] >= 0, ROW] = new[levels[levels[:, ROW] >= 0, ROW]]
        scanner.regs[t.TREE_ROWS] = count

    # ---------------------------------------------------------------------------------------------- on a guess

    def guess(self) -> None:
        """A row for each open element that grows the tree: who it is will be known when the scan before is done."""
        scanner = self.scanner
        row = -1
        for level in self._levels()[1:]:
            if scanner.automaton.flags[level[STATE]] & GROWS_TREE:
                row += 1
                scanner.kinds[row] = ELEMENT
                self.guessed.append(row)
            else:
                self.guessed.append(-1)
            level[ROW] = row
            level[FLAGS] = NOTED  # or the row might go when the element ends
        scanner.regs[t.TREE_ROWS] = row + 1

    def follow(self, b: Bytes, before: Growth, levels: list[Level]) -> None:
        """Go on from another growth, whose scan ended with ``levels`` open, as it was guessed: its rows come first."""
        before.settle(b)
        scanner, other = self.scanner, before.scanner
        guessed, count = max(self.guessed, default=-1) + 1, self.rows
        first = before.rows
        rows = first + count - guessed
        real = before._levels()
        place = np.arange(count) + (first - guessed)  # where our rows go
        place[:guessed] = 0
        for k in range(len(self.closed) + 1):  # the elements that were seen: as ``fits`` has it
            row, true = self.guessed[-1 - k], int(real[-1 - k, ROW])
            if row >= 0:
                place[row] = true
                other.sizes[true] = row + scanner.sizes[row] + (first - guessed) - true
        own = np.arange(guessed, count)
        ups = place[own] - place[own - scanner.ups[own]]
        columns = scanner.columns
        scanner.make_columns(len(scanner.kinds) + first)
        for column, mine, theirs in zip(scanner.columns, columns, other.columns, strict=True):
            column[:first] = theirs[:first]
            column[first:rows] = mine[guessed:count]
        scanner.ups[first:rows] = ups
        for k, label in enumerate(other.labels[:first].tolist()):
            if label >= FIRST_NAME:
                scanner.labels[k] = scanner.symbols.number(other.symbols.qualified[label])
        kept = graft(scanner, len(self.guessed), levels, len(self.closed))
        scanner.regs[t.TREE_ROWS] = rows
        table = self._levels()
        table[:kept, [START, INNER, ROW, FLAGS]] = real[:kept, [START, INNER, ROW, FLAGS]]
        opened = table[kept:, ROW]
        opened[opened >= 0] = place[opened[opened >= 0]]
        self.values, self.settled = before.values, first
        self.kept, self.began = before.kept, before.began
        self.declared = before.declared | {int(place[row]): found for row, found in self.declared.items()}
        self.record_rows = before.record_rows + [place[found] for found in self.record_rows]
        self.filters.moved(np.ones(count, np.bool_), place)
        self.guessed, self.closed = [], []

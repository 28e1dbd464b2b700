"""The kernel's driver: its registers, stack and outputs; whatever is rare is done here, and rows are handed over."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.depth import deepest, too_deep
from xstreamcast.model.names import DOCUMENT
from xstreamcast.native.kernel import bound
from xstreamcast.native.vector import Bytes, Longs, Table
from xstreamcast.scan import layout as t
from xstreamcast.scan.automaton import Automaton
from xstreamcast.scan.encoding import doctype_end
from xstreamcast.scan.kernel import scan
from xstreamcast.scan.layout import (
    BEGINS_RECORD,
    CONTENT,
    EMITS,
    GROWS_TREE,
    INNER,
    LEVEL_WORDS,
    NAME,
    R_END,
    R_FROM,
    R_START,
    R_STATE,
    R_TO,
    R_TREE,
    RECORD,
    ROW,
    ROW_WORDS,
    SEES_MISC,
    START,
    STATE,
)
from xstreamcast.scan.sequence import MANY_HINT, begins_document, between, told_bare
from xstreamcast.scan.symbols import SymbolError, Symbols, accepted
from xstreamcast.scan.tables import DOCUMENT_STATE, Tables

STEP: Final = 4 << 20
"""A mapped file is scanned in steps of this many bytes; rows are handed over after each."""

_MESSAGES: Final = {
    t.BAD_TOKEN: ("not well-formed", "a tag, comment, section or instruction is malformed here"),
    t.BAD_CHARACTER: ("not an XML character in UTF-8", "is the encoding declared rightly?"),
    t.BAD_REFERENCE: ("reference to invalid character number", ""),
    t.UNKNOWN_ENTITY: ("undefined entity", "declare it in the document, or name the DTD that does: --dtd FILE, dtd="),
    t.DUPLICATE: ("duplicate attribute", ""),
    t.MISMATCH: ("mismatched tag", "the element opened last must be closed first"),
    t.JUNK: ("junk outside the document element", "a document has one root element and no text beside it"),
    t.TEXT_END_MARK: ("']]>' in text", "write ]]&gt;"),
    t.COMMENT_DASHES: ("'--' in a comment", ""),
    t.LESS_IN_VALUE: ("'<' in an attribute value", "write &lt;"),
    t.BAD_TARGET: ("not the name of a processing instruction", ""),
}

Columns = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of complete records, in the order their nodes end. Positions are indices into ``buffer``.

    ``offset`` is where the buffer begins in the input. Buffer and rows are valid until the next batch is asked for.
    ``tree``: the tree columns (kind, label, up, size, from, to, needs) of the trees whose tops are among the rows.
    """

    buffer: Bytes
    offset: int
    rows: Table
    tree: Columns

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def state(self) -> Longs:
        return self.rows[:, R_STATE]

    @property
    def start(self) -> Longs:
        return self.rows[:, R_START]

    def value(self, k: int) -> bytes:
        """The bytes of a row's value as written."""
        return bytes(self.buffer[self.rows[k, R_FROM] : self.rows[k, R_TO]])


class InternalSubset(Exception):
    """The document has a DTD of its own, which must be resolved before the kernel reads it."""


class TableScanner:
    """The state of one scan: registers, stack, outputs; the symbols of its input."""

    def __init__(
        self, automaton: Tables, name: str = "<input>", rows: int = 1 << 14, whole: bool = True, wrapped: int = 0
    ) -> None:
        self.automaton = automaton
        self.deepest = deepest() + wrapped  # elements that are ours are not counted
        self.whole = whole  # whether a tree of the document node stays until the end
        self.many = False  # whether there may be several documents, one after the other
        self.encoding = "utf-8"  # that the input had, before it was decoded
        self.symbols = Symbols(automaton.classify)
        self.name = name
        self._scan = bound(scan)
        self.out = np.zeros(rows * ROW_WORDS, np.int64)
        self.reset()

    def reset(self) -> None:
        """To the start of a document; the symbols stay."""
        automaton = self.automaton
        self.symbols.stamps[:] = 0  # of tags, which are counted anew
        automaton.visits[:] = 0
        self.regs = np.zeros(t.REGISTERS, np.int64)
        self.regs[t.TEXT] = -1
        self.stack = np.zeros(min(64, self.deepest + 1) * LEVEL_WORDS, np.int64)
        self.stack[STATE] = DOCUMENT_STATE
        self.stack[RECORD] = self.stack[ROW] = -1
        self.scratch = np.zeros(32 * t.A_WORDS, np.int64)
        self.make_columns(1024)
        if automaton.flags[DOCUMENT_STATE] & GROWS_TREE:
            self.kinds[0] = self.labels[0] = DOCUMENT
            self.stack[ROW] = 0
            self.regs[t.TREE_ROWS] = 1
        self.offset = 0  # of the buffer in the input
        self.lines = 0  # line feeds before the buffer
        self.column = 0  # characters between the last of them and the buffer
        self.doctype = False
        self.several = False  # whether a document has ended, and another begun

    def make_columns(self, size: int) -> None:
        """Empty tree columns."""
        self.kinds = np.zeros(size, np.uint8)
        self.labels = np.zeros(size, np.int32)
        self.ups = np.zeros(size, np.int32)
        self.sizes = np.zeros(size, np.int32)
        self.froms = np.zeros(size, np.int64)
        self.tos = np.zeros(size, np.int64)
        self.needs = np.zeros(size, np.uint8)

    @property
    def columns(self) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
        """The tree columns: kind, label, up, size, from, to, needs."""
        return self.kinds, self.labels, self.ups, self.sizes, self.froms, self.tos, self.needs

    @property
    def depth(self) -> int:
        return int(self.regs[t.DEPTH])

    @property
    def position(self) -> int:
        return int(self.regs[t.POS])

    # ---------------------------------------------------------------------------------------------- running

    def run(self, b: Bytes, n: int, limit: int) -> int:
        """Scan on until input, limit or room for rows ends: MORE, LIMIT, FULL or UNDERFLOW."""
        regs, symbols, automaton = self.regs, self.symbols, self.automaton
        while True:
            regs[t.HASH_MASK] = len(symbols.table) - 1
            regs[t.CONTEXT_MASK] = len(symbols.context_keys) - 1
            regs[t.NAMES] = symbols.stride
            regs[t.DENSE] = symbols.dense
            regs[t.PAIRS] = symbols.slots - 1
            regs[t.CLASSES] = automaton.stride
            status = self._scan(
                b, n, limit, regs, self.stack, self.scratch, self.out, *self.columns,
                symbols.names, symbols.arena, symbols.table, symbols.info,
                symbols.context_keys, symbols.context_values,
                symbols.elements_by, symbols.attributes_by, symbols.targets_by,
                symbols.class_of, symbols.same_as, symbols.stamps,
                automaton.transitions, automaton.flags, automaton.visits,
            )  # fmt: skip
            if status in (t.MORE, t.LIMIT, t.FULL, t.UNDERFLOW):
                return status
            if status < 0:
                if status in (t.JUNK, t.BAD_TARGET) and regs[t.ROOT] and not regs[t.DEPTH]:
                    known = self._next_document(b, n)
                    if known is None:
                        return t.MORE
                    if known:
                        continue
                message, hint = _MESSAGES[status]
                raise self.fault(b, int(regs[t.ERROR_AT]), message, hint)
            if status == t.DOCTYPE:
                if not self._doctype(b, n):
                    return t.MORE
            else:
                self._attend(b, status)

    def _attend(self, b: Bytes, status: int) -> None:
        regs, symbols = self.regs, self.symbols
        one, two = int(regs[t.FIRST]), int(regs[t.SECOND])
        try:
            if status == t.NEW_NAME:
                symbols.add_name(bytes(b[one:two]))
                symbols.look_ahead(b, two, int(self.stack[self.depth * LEVEL_WORDS + t.SCOPE]))
            elif status == t.NEW_TRANSITION:
                self.automaton.expand(one, two)
            elif status == t.NEW_ELEMENT:
                symbols.add_element(one, two)
            elif status == t.NEW_ATTRIBUTE:
                symbols.add_attribute(one, two)
            elif status == t.NEW_DECLARATION:
                symbols.add_declaration(bytes(b[one:two]))
            elif status == t.NEW_CONTEXT:
                symbols.add_context(one, two)
            elif status == t.NEW_TARGET:
                symbols.add_target(two)
            elif status == t.DEEP:
                self._deepen(b)
            elif status == t.WIDE:
                self.scratch = _doubled(self.scratch)
            elif status == t.FULL_TREE:
                self._enlarge_tree(b)
            else:  # pragma: no cover - a status nobody gives
                raise AssertionError(status)
        except SymbolError as fault:
            at = one if status in (t.NEW_NAME, t.NEW_DECLARATION) else int(regs[t.ERROR_AT])
            raise self.fault(b, at, str(fault)) from None

    def _deepen(self, b: Bytes) -> None:
        """Twice the room for levels, or as many as a document may have."""
        levels = len(self.stack) // LEVEL_WORDS
        if levels > self.deepest:
            raise too_deep(self.place(b, int(self.regs[t.ERROR_AT])))
        self.stack = np.resize(self.stack, min(2 * levels, self.deepest + 1) * LEVEL_WORDS)

    def _enlarge_tree(self, b: Bytes) -> None:
        """Twice the room for trees; if the tree is the whole document, what it will take to judge by what it took."""
        grown, times = int(self.regs[t.TREE_ROWS]), 2.0
        if self.whole and self.automaton.flags[DOCUMENT_STATE] & GROWS_TREE and self.position > STEP // 4:
            times = max(times, min(64.0, 1.1 * len(b) / self.position))
        new = [np.zeros(int(len(column) * times), column.dtype) for column in self.columns]
        for column, old in zip(new, self.columns, strict=True):
            column[:grown] = old[:grown]
        self.kinds, self.labels, self.ups, self.sizes, self.froms, self.tos, self.needs = new

    def _next_document(self, b: Bytes, n: int) -> bool | None:
        """Step to another document, after the end of one; None where it cannot be told yet, False if there is none."""
        at = self.position
        head = bytes(b[at : min(n, at + (1 << 10))])
        if not self.many:
            if begins_document(head):
                raise self.fault(b, at, _MESSAGES[t.JUNK][0], MANY_HINT)
            return False
        try:
            size = between(head, self.encoding)
        except XStreamError as fault:
            raise self.fault(b, at, fault.message, fault.hint) from None
        if size is None:
            return None
        if not size:
            if not begins_document(head):
                return False
            if not self.several:
                told_bare(self.fault(b, at, "").place)
            self.regs[t.MANY] = 1  # the kernel goes on by itself
        elif head[:5] == b"<?xml":
            self.regs[t.ROOT] = 0
        self.several, self.doctype = True, False
        self.regs[t.POS] = at + size
        return True

    def _doctype(self, b: Bytes, n: int) -> bool:
        """Step over a document type declaration; False when it is not all there. Its subset was resolved before."""
        at = self.position
        head = bytes(b[at : min(n, at + (1 << 16))])
        if self.many and self.regs[t.ROOT] and not self.regs[t.DEPTH] and head[:9] == b"<!DOCTYPE":
            self.regs[t.ROOT], self.several, self.doctype = 0, True, False
        if head[:9] != b"<!DOCTYPE"[: len(head)] or self.regs[t.ROOT] or self.doctype:
            raise self.fault(b, at, *_MESSAGES[t.BAD_TOKEN])
        found = doctype_end(head)
        if found is None:
            if len(head) == 1 << 16:
                raise self.fault(b, at, "document type declaration without end")
            return False
        end, subset = found
        if subset:
            raise InternalSubset
        if not accepted(head[:end] + b"<a/>"):
            raise self.fault(b, at, "malformed document type declaration")
        self.doctype = True
        self.regs[t.POS] = at + end
        return True

    def finish(self, b: Bytes, n: int) -> None:
        """The input has ended after ``n`` bytes: was the document whole?"""
        regs = self.regs
        if regs[t.DEPTH] or regs[t.POS] < n or regs[t.MODE] != CONTENT:
            raise self.fault(b, n, "the document is truncated: " + self._unfinished(n), "is the file complete?")
        if not regs[t.ROOT]:
            raise self.fault(b, n, "no element found", "a document has one root element")
        if self.automaton.flags[DOCUMENT_STATE] & GROWS_TREE:
            self.sizes[0] = regs[t.TREE_ROWS] - 1

    def _unfinished(self, n: int) -> str:
        if self.regs[t.MODE] != CONTENT or self.position < n:
            return "a token is not closed"
        name = self.symbols.texts[int(self.stack[self.depth * LEVEL_WORDS + NAME])].decode()
        return f"<{name}> is not closed"

    # ---------------------------------------------------------------------------------------------- errors

    def fault(self, b: Bytes, at: int, message: str, hint: str = "") -> XStreamError:
        """The error at a position of the buffer."""
        return error("XSC0001", message, self.place(b, at), hint)

    def place(self, b: Bytes, at: int) -> Place:
        """A position of the buffer: its byte offset, line and column in the input."""
        feeds, characters = 0, self.column
        for start in range(0, at, STEP):  # in steps, for what is before may be far more than memory
            piece = bytes(b[start : min(at, start + STEP)])
            line = piece.rfind(b"\n") + 1
            feeds += piece.count(b"\n")
            characters = _characters(piece[line:]) + (0 if line else characters)
        return Place(self.name, self.lines + feeds + 1, characters + 1, self.offset + at)

    # ---------------------------------------------------------------------------------------------- handing over

    def _open_level(self, flags: int) -> int:
        """The lowest open level whose state has one of some flags, or -1."""
        states = self.stack[: (self.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)[:, STATE]
        found = np.flatnonzero(self.automaton.flags[states] & flags)
        return int(found[0]) if len(found) else -1

    def take(self, b: Bytes, final: bool = False) -> Batch:
        """Hand over the rows of what is complete; the others stay, moved to the front."""
        regs = self.regs
        count, grown = int(regs[t.ROWS]), int(regs[t.TREE_ROWS])
        rows = self.out[: count * ROW_WORDS].reshape(-1, ROW_WORDS)
        level = -1 if final else self._open_level(BEGINS_RECORD | GROWS_TREE)
        if level < 0:
            batch = Batch(b, self.offset, rows.copy(), tuple(column[:grown] for column in self.columns))
            if grown:
                self.make_columns(len(self.kinds))  # the batch has the old columns: they may be large
            regs[t.ROWS] = regs[t.TREE_ROWS] = 0
            return batch
        edge = self.stack[level * LEVEL_WORDS + START]
        done = rows[:, R_START] < edge
        trees = self._open_level(GROWS_TREE)
        first = int(self.stack[trees * LEVEL_WORDS + ROW]) if trees >= 0 else grown
        held = rows[~done]
        if len(held) and held[:, R_TREE].max() >= 0:
            first = min(first, int(held[held[:, R_TREE] >= 0, R_TREE].min()))
        batch = Batch(b, self.offset, rows[done], tuple(column[:first].copy() for column in self.columns))
        if first:
            for column in self.columns:
                column[: grown - first] = column[first:grown].copy()
            held[held[:, R_TREE] >= 0, R_TREE] -= first
            levels = self.stack[: (self.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)
            levels[levels[:, ROW] >= first, ROW] -= first
            regs[t.TREE_ROWS] -= first
        self.out[: held.size] = held.reshape(-1)
        regs[t.ROWS] = len(held)
        return batch

    def make_room(self, taken: int) -> None:
        """After FULL and :meth:`take`: more room, unless rows were taken and half of it is free by now."""
        if not taken or self.regs[t.ROWS] * ROW_WORDS * 2 > len(self.out):
            self.out = _doubled(self.out)

    def kept_from(self) -> int:
        """The first position of the buffer that is still needed."""
        regs = self.regs
        keep = int(regs[t.POS])
        if regs[t.TEXT] >= 0:
            keep = min(keep, int(regs[t.TEXT]))
        if regs[t.MODE] != CONTENT:
            state = self.stack[self.depth * LEVEL_WORDS + STATE]
            if self.automaton.flags[state] & SEES_MISC:
                keep = min(keep, int(regs[t.BODY]))
        level = self._open_level(EMITS | BEGINS_RECORD | GROWS_TREE)
        if level >= 0:
            keep = min(keep, int(self.stack[level * LEVEL_WORDS + START]))
        return keep

    def rebase(self, b: Bytes, by: int) -> None:
        """Forget the first ``by`` bytes of the buffer."""
        gone = b[:by]
        feeds = sum(int(np.count_nonzero(gone[at : at + STEP] == 10)) for at in range(0, by, STEP))
        tail = bytes(gone[-4096:]) if feeds else bytes(gone)
        if feeds and b"\n" not in tail:
            tail = bytes(gone)
        fresh = tail[tail.rfind(b"\n") + 1 :]
        self.column = _characters(fresh) + (0 if feeds else self.column)
        self.lines += feeds
        self.offset += by
        regs = self.regs
        for register in (t.POS, t.BODY, t.BODY_DATA):
            regs[register] -= by
        if regs[t.TEXT] >= 0:
            regs[t.TEXT] -= by
        levels = self.stack[: (self.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)
        levels[:, START] -= by
        levels[:, INNER] -= by
        rows = self.out[: int(regs[t.ROWS]) * ROW_WORDS].reshape(-1, ROW_WORDS)
        rows[:, [R_START, R_FROM, R_TO, R_END]] -= by
        grown = int(regs[t.TREE_ROWS])
        self.froms[:grown] -= by
        self.tos[:grown] -= by


def _characters(text: bytes) -> int:
    return len(re.sub(rb"[\x80-\xbf]+", b"", text))


def _doubled(array: Any) -> Any:
    return np.concatenate([array, np.zeros_like(array)])


class Scanner(TableScanner):
    """A scan for what paths lead to."""

    automaton: Automaton

    def __init__(
        self, automaton: Automaton, name: str = "<input>", rows: int = 1 << 14, whole: bool = True, wrapped: int = 0
    ) -> None:
        super().__init__(automaton, name, rows, whole, wrapped)

"""Fragmenting: a document and a tag structure → fillers and holes (DBPL'03 §2.1), in one pass and flat memory.

The scan kernel finds the fragment elements; fragments are raw spans of the document with holes where others were cut
out (:mod:`xstreamcast.cast.cutting`). What a fragment takes from the namespaces around it is declared on its own
element.

A document that already is a temporal view is taken apart into its history: the vtFrom of a ``temporal`` or ``event``
element becomes the valid time of its filler, versions that meet share one hole, and a life that ended is ended by a
removal. So ``materialise`` gives the same view back.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, Final

import numpy as np

from xstreamcast.cast import cutting as c
from xstreamcast.cast.automata import TagAutomaton
from xstreamcast.cast.columns import NO_TIME
from xstreamcast.cast.order import Block, Record, unpacked
from xstreamcast.cast.window import Window, window_of
from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import ROOT
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import NOW, Instant, parse_instant
from xstreamcast.native.vector import Bytes
from xstreamcast.scan import layout as t
from xstreamcast.scan.encoding import Source
from xstreamcast.scan.layout import (
    FLAG_BITS,
    INNER,
    LEVEL_WORDS,
    R_END,
    R_FLAGS,
    R_FROM,
    R_START,
    R_STATE,
    ROW_WORDS,
    SCOPE,
    START,
    STATE,
)
from xstreamcast.scan.scanner import TableScanner
from xstreamcast.scan.tables import DOCUMENT_STATE
from xstreamcast.wire.content import ATTRIBUTE, START_TAG, attribute_text, declarations, declares, stream_prefix

SPILL: Final = 1 << 20
"""A fragment's content beyond so many bytes waits on disk for its end."""

_INSTRUCTION: Final = re.compile(rb"<\?([^\s?]+)\s*(.*)\?>", re.DOTALL)
_ENTITY: Final = re.compile(rb"&[^;\s<&]*;?")


@dataclass(slots=True)
class _Open:
    """A fragment whose end has not come: its slot, and its content so far."""

    slot: Any
    parts: list[bytes] = field(default_factory=list)
    held: int = 0
    spill: IO[bytes] | None = None

    def add(self, data: bytes) -> None:
        if not data:
            return
        self.parts.append(data)
        self.held += len(data)
        if self.held >= SPILL:
            if self.spill is None:
                self.spill = tempfile.TemporaryFile()  # noqa: SIM115 - handed on with the record
            self.spill.writelines(self.parts)
            self.parts.clear()
            self.held = 0

    def record(self) -> Record:
        content: bytes | IO[bytes]
        if self.spill is None:
            content = b"".join(self.parts)
            length = len(content)
        else:
            self.spill.writelines(self.parts)
            length = self.spill.tell()
            self.spill.seek(0)
            content = self.spill
        slot = self.slot.tolist()
        time = slot[c.FROM] if slot[c.FROM] != NO_TIME else None
        return Record(
            slot[c.LEVEL], slot[c.REGION], slot[c.TSID], time, content, length, slot[c.CHILDREN],
            version=slot[c.VERSION],
        )  # fmt: skip


class _Scanner(TableScanner):
    """Rows of all that has ended, whatever is still open around it; and the documents that are refused at sight."""

    def rows(self) -> Any:
        """Take the rows away."""
        count = int(self.regs[t.ROWS])
        self.regs[t.ROWS] = 0
        return self.out[: count * ROW_WORDS].reshape(-1, ROW_WORDS).copy()

    def _attend(self, b: Bytes, status: int) -> None:
        super()._attend(b, status)
        automaton = self.automaton
        assert isinstance(automaton, TagAutomaton)
        if status == t.NEW_DECLARATION:
            _, uri = self.symbols.declared[len(self.symbols.texts) - 1]
            if uri == STREAM:
                hint = "a fragment stream cannot be fragmented"
                raise self.refused(b, "the document uses the stream's own namespace", hint)
        elif status == t.NEW_TRANSITION and self.regs[t.FIRST] == DOCUMENT_STATE:
            reached = automaton.transitions[DOCUMENT_STATE * automaton.stride + int(self.regs[t.SECOND])]
            if automaton.keys[reached] == "wrong":
                structure = automaton.structure
                expected = structure.lexical(structure.tag(structure.root).name)
                name = START_TAG.match(bytes(b[self.position : self.position + (1 << 16)]))
                found = name[1].decode().rpartition(":")[2] if name else "?"
                hint = f"is this the structure of <{expected}> documents?"
                raise self.refused(b, f"the root element is <{found}>, the structure says <{expected}>", hint)

    def refused(self, b: Bytes, message: str, hint: str) -> XStreamError:
        """A document that is well-formed, and cannot be cut, as the tag at hand says."""
        return error("XSC0040", message, self.fault(b, self.position, message).place, hint)

    def fault(self, b: Bytes, at: int, message: str, hint: str = "") -> XStreamError:
        if message == "undefined entity":
            entity = _ENTITY.match(bytes(b[at : at + 256]))
            message = f"entity {entity[0].decode(errors='replace')} has no declaration here" if entity else message
        return super().fault(b, at, message, hint)


class Fragmenter:
    """Cuts one document; :meth:`blocks` gives its fragments, each once its end tag has come."""

    def __init__(self, structure: Structure, source: str = "<document>") -> None:
        if structure.unnamed:
            raise error("XSC0040", "the structure has no root element", Place(source), "give the root tag a name")
        self.structure = structure
        self.source = source
        self.automaton = TagAutomaton(structure)
        self.timed = frozenset(tag.id for tag in structure.tags.values() if tag.timed)
        self.events = frozenset(tag.id for tag in structure.tags.values() if tag.type == "event")
        self.scanner = _Scanner(self.automaton, source, 1 << 15)
        self.open: list[_Open] = []
        self.root: _Open | None = None
        self.next_region = ROOT
        self.cursor = 0  # all before it is in a fragment
        self.holes = c.Texts()  # by namespace context: how a hole begins there
        self.prolog: list[bytes] = []  # comments and processing instructions before the root element
        self.epilog: list[bytes] = []  # and after it

    @property
    def prefix(self) -> str:
        """For the stream's own elements: one the document does not use. Known when all of it has been read."""
        used = {prefix for prefix, _ in self.scanner.symbols.declared.values()}
        prefix = "stream" if "stream" not in used else "xcast"
        while prefix in used:
            prefix += "_"
        return prefix

    def records(self, chunks: Iterable[bytes], progress: Callable[[int], None] = lambda _: None) -> Iterator[Record]:
        """The fragments of a document given as plain XML, in the order of their ends; the root's is the last."""
        for block in self._blocks(Window(None, chunks), 0, False, progress):
            yield from unpacked(block) if isinstance(block, Block) else (block,)

    def blocks(
        self, source: Source, by_level: bool, progress: Callable[[int], None] = lambda _: None
    ) -> Iterator[Block | Record]:
        """The fragments of a document, many at a time: those of each level in order, or all in the order they end."""
        yield from self._blocks(*window_of(source), by_level, progress)

    def _blocks(
        self, window: Window, begin: int, by_level: bool, progress: Callable[[int], None]
    ) -> Iterator[Block | Record]:
        scanner = self.scanner
        scanner.regs[t.POS] = self.cursor = begin
        told = 0
        while True:
            status = scanner.run(window.b, window.n, window.limit(scanner.position))
            rows = scanner.rows()
            yield from self.part(window.b, rows, scanner.position, by_level)
            self.cursor = scanner.position
            progress(window.offset + scanner.position - told)
            told = window.offset + scanner.position
            if status == t.FULL:
                scanner.make_room(len(rows))
            elif status == t.MORE:
                keep = scanner.position
                if scanner.regs[t.MODE] != t.CONTENT:
                    keep = min(keep, int(scanner.regs[t.BODY]))  # it may be a comment outside the root
                gone = window.more(keep, scanner)
                if gone is None:
                    break
                self.moved(gone)
        scanner.finish(window.b, window.n)
        yield from self.last()

    def moved(self, by: int) -> None:
        """The buffer begins so many bytes later."""
        self.cursor -= by
        for opened in self.open:
            opened.slot[[c.START, c.INNER, c.LAST_END]] -= by

    def last(self) -> Iterator[Block | Record]:
        """The root's record: it has waited for the comments that may follow it."""
        root = self.root
        assert root is not None, "a document has a root element"
        root.add(b"".join(b"\n" + piece for piece in self.epilog))
        slot = root.slot
        if slot[c.FROM] != NO_TIME and slot[c.TO] != NOW:
            slot[c.CHILDREN] += 1
            yield Record(1, int(slot[c.REGION]), int(slot[c.TSID]), int(slot[c.TO]), b"", 0, ends=True)
        yield root.record()

    # -- one part of the document ----------------------------------------------------------------------------------

    def part(self, b: Bytes, rows: Any, to: int, by_level: bool) -> Iterator[Block | Record]:
        """Cut what has been scanned since the last part."""
        tags = self.automaton.tags()
        own = tags[rows[:, R_STATE]]
        outside = rows[own < 0]
        rows, own = rows[own >= 0], own[own >= 0]
        began = rows[:, R_START] >= self.cursor
        ended = rows[~began][np.argsort(rows[~began][:, R_START])]  # the innermost of those open, outermost first
        slots = self.slots(b, rows[began], own[began], tags)
        opened = len(self.open)
        for k, end in enumerate(ended[:, R_END].tolist(), opened - len(ended)):
            slots[k, c.END] = end
        self.misc(b, outside, slots)
        texts = c.Texts()
        self.dress(b, slots[opened:], texts)
        if not len(slots):
            return
        region = self.next_region
        done, out, self.next_region, groups = c.cut(
            b, self.cursor, to, region, slots, opened, self.holes, texts, by_level
        )
        self.hand_over(slots, out)
        at = 0
        for first, end, edge in groups:
            if edge == at:
                yield self.open[int(done[first, c.D_SLOT])].record()
            else:
                yield Block(int(done[first, c.D_LEVEL]) if by_level else -1, end - first, out[at:edge].tobytes())
            at = edge
        self.open = [opened for opened in self.open if opened.slot[c.END] < 0]

    def slots(self, b: Bytes, rows: Any, tags: Any, tag_of: Any) -> Any:
        """The fragments of a part: open before, begun and ended in it, begun and left open."""
        scanner = self.scanner
        levels = scanner.stack[: (scanner.depth + 1) * LEVEL_WORDS].reshape(-1, LEVEL_WORDS)[1:]
        left = levels[(tag_of[levels[:, STATE]] >= 0) & (levels[:, START] >= self.cursor)]
        made = np.zeros((len(self.open) + len(rows) + len(left), c.SLOT_WORDS), np.int64)
        for k, opened in enumerate(self.open):
            made[k] = opened.slot
            made[k, c.LENGTH] = 0
            made[k, c.END] = -1
        fresh = made[len(self.open) :]
        fresh[:, c.START] = np.concatenate([rows[:, R_START], left[:, START]])
        fresh[:, c.INNER] = np.concatenate([rows[:, R_FROM], left[:, INNER]])
        fresh[:, c.END] = np.concatenate([rows[:, R_END], np.full(len(left), -1)])
        fresh[:, c.TSID] = np.concatenate([tags, tag_of[left[:, STATE]]])
        fresh[:, c.CONTEXT] = np.concatenate([rows[:, R_FLAGS] >> FLAG_BITS, left[:, SCOPE]])
        fresh[:, [c.DECLARED, c.ATTRIBUTES, c.LAST_REGION]] = -1
        fresh[:, [c.FROM, c.TO]] = NO_TIME
        fresh[:, c.EVENT] = np.isin(fresh[:, c.TSID], list(self.events))
        made[len(self.open) :] = fresh[np.argsort(fresh[:, c.START])]
        return made

    def hand_over(self, slots: Any, out: Bytes) -> None:
        """The additions of the part to the fragments that began before it, or do not end in it."""
        before = len(self.open)
        for k, opened in enumerate(self.open):
            opened.slot = slots[k]
            opened.add(out[slots[k, c.AT] - slots[k, c.LENGTH] : slots[k, c.AT]].tobytes())
        loose = (slots[before:, c.END] < 0) | (slots[before:, c.LEVEL] == 0)
        for slot in slots[before:][loose]:
            opened = _Open(slot.copy())
            if slot[c.LEVEL] == 0:
                self.root = opened
                opened.add(b"".join(piece + b"\n" for piece in self.prolog))
            opened.add(out[slot[c.AT] - slot[c.LENGTH] : slot[c.AT]].tobytes())
            self.open.append(opened)

    def misc(self, b: Bytes, rows: Any, slots: Any) -> None:
        """Comments and processing instructions outside the root element; inside, they are part of a span."""
        for start, end in rows[:, [R_START, R_END]].tolist():
            piece = bytes(b[start:end]).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            instruction = _INSTRUCTION.fullmatch(piece)
            if instruction is not None:
                piece = b"<?" + instruction[1] + (b" " + instruction[2] if instruction[2] else b"") + b"?>"
            before = self.root is None and (not len(slots) or start < slots[0, c.START])
            (self.prolog if before else self.epilog).append(piece)

    # -- what is written on a fragment's own element ----------------------------------------------------------------

    def dress(self, b: Bytes, slots: Any, texts: c.Texts) -> None:
        """The lifespans, and the declarations, of the fragments that begin in a part."""
        contexts = self.scanner.symbols.contexts
        for scope in contexts[len(self.holes.offsets) - 1 :]:
            prefix, declared = stream_prefix(scope)
            self.holes.add(f'<{prefix}:hole{declared} id="'.encode())
        for k in np.flatnonzero(np.isin(slots[:, c.TSID], list(self.timed))).tolist():
            self.lifespan(b, slots[k], texts)
        known: dict[tuple[int, bytes], int] = {}
        first = 0 if self.open else 1  # the root takes nothing from around it
        for k in np.flatnonzero(slots[first:, c.CONTEXT]).tolist():
            slot = slots[first + k]
            tag = bytes(b[slot[c.START] : slot[c.INNER]])
            key = int(slot[c.CONTEXT]), tag if b"xmlns" in tag else b""
            if key not in known:
                names = inherited(contexts[key[0]], key[1])
                known[key] = texts.add(declarations(names)) if names else -1
            slot[c.DECLARED] = known[key]

    def lifespan(self, b: Bytes, slot: Any, texts: c.Texts) -> None:
        """The valid time of a fragment that has one; it leaves the attributes."""
        tag = START_TAG.fullmatch(bytes(b[slot[c.START] : slot[c.INNER]]))
        assert tag is not None, "the kernel has just read it"
        own = list(ATTRIBUTE.finditer(tag[2]))
        values = {match[1]: attribute_text(match[2]) for match in own if match[1] in (b"vtFrom", b"vtTo")}
        if b"vtFrom" not in values:
            return
        try:
            slot[c.FROM], slot[c.TO] = self.instants(int(slot[c.TSID]), values[b"vtFrom"], values.get(b"vtTo"))
        except XStreamError as fault:
            place = self.scanner.fault(b, int(slot[c.START]), "").place
            raise error(fault.code, fault.message, place, fault.hint) from None
        others = (match[0] for match in own if match[1] not in (b"vtFrom", b"vtTo"))
        slot[c.ATTRIBUTES] = texts.add(b"".join(others))

    def instants(self, tsid: int, begin: str, end: str | None) -> tuple[Instant, Instant]:
        since = parse_instant(begin)
        if tsid in self.events:
            if end is not None and parse_instant(end) != since:
                raise error("XSC0040", "an event that lasts", None, "its vtFrom and vtTo differ; is the tag temporal?")
            return since, NOW
        return since, NOW if end is None else parse_instant(end)


def inherited(scope: Mapping[str, str], tag: bytes) -> dict[str, str]:
    """The namespaces in scope that a start tag does not declare itself."""
    own = {match[1][6:].decode() for match in ATTRIBUTE.finditer(tag) if declares(match)}
    return {prefix: uri for prefix, uri in scope.items() if prefix not in own and prefix != "xml" and (prefix or uri)}

"""A wire stream as batches of changes: what the scan kernel reads, and the exact reader where it must.

The kernel scans the stream once. Whatever is out of the ordinary (a structure, updates within a content, other
namespaces, the bare form, and all that is malformed) is read by the exact reader of
:mod:`xstreamcast.wire.fragment`, element by element, and the kernel goes on behind it: the two together give the
arrivals that the exact reader alone would give.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xstreamcast.cast.automata import KINDS, StreamAutomaton
from xstreamcast.cast.batches import FragmentBatch, Marks
from xstreamcast.cast.columns import (
    BEGIN,
    CHANGES,
    DOC_FROM,
    DOC_TO,
    END,
    KIND,
    LAST,
    M_END,
    M_START,
    N_CHANGE,
    N_START,
    N_STATE,
    NEXT,
    ODD_TIME,
    REGION,
    START,
    STOPPED,
    TIME,
    TIME_FROM,
    TIME_TO,
    TO,
    read_rows,
)
from xstreamcast.cast.window import Window
from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import ROOT, ContentChange, Eos
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import parse_instant
from xstreamcast.native.vector import Bytes, Table
from xstreamcast.scan import layout as t
from xstreamcast.scan.layout import LEVEL_WORDS, NAME, RECORD, ROW, SCOPE, STATE, UNKNOWN
from xstreamcast.scan.scanner import TableScanner
from xstreamcast.wire.fragment import Arrival, FragmentReader, ReaderState, cut_short
from xstreamcast.wire.framing import FRAGMENT_LIMIT, Frame

_ROWS: Final = 1 << 16
_PIECE: Final = 1 << 16
_PATIENCE: Final = 1024
_AHEAD: Final = 256
_PREFIXED: Final = re.compile(rb"\s*<stream:(?:filler|repeat|replace|remove|before|after|hide|show|freeze)\s")
_PLAIN: Final = {"": "", "stream": STREAM}
_BRINGS: Final = np.array([issubclass(kind, ContentChange) for kind in KINDS])
_EOS: Final = KINDS.index(Eos)
_POSITIONS: Final = [START, BEGIN, TO, END, DOC_FROM, DOC_TO]


def _is_plain(scope: Mapping[str, str]) -> bool:
    """Whether nothing is declared but what streams declare, besides XML's own prefix."""
    return len(scope) == len(_PLAIN) + 1 and all(scope.get(prefix) == uri for prefix, uri in _PLAIN.items())


def brings_root(changes: Table) -> bool:
    """Whether one of some changes brings the content of a root."""
    return bool(((changes[:, REGION] == ROOT) & _BRINGS[changes[:, KIND]]).any())


class _StreamScanner(TableScanner):
    """The scanner of a stream: it begins and goes on between changes, as if inside a root element."""

    def fault(self, b: Bytes, at: int, message: str, hint: str = "") -> XStreamError:
        # The exact reader will say what is wrong, and where: lines need not be counted for it.
        return error("XSC0001", message, Place(self.name, offset=self.offset + at), hint)

    def begin(self, at: int, state: int) -> None:
        """Go on at a position, outside all elements of the stream."""
        self.reset()
        self.stack[[LEVEL_WORDS + STATE, LEVEL_WORDS + NAME]] = state, UNKNOWN
        self.stack[LEVEL_WORDS + SCOPE] = self.symbols.context_of(_PLAIN)
        self.stack[[LEVEL_WORDS + RECORD, LEVEL_WORDS + ROW]] = -1
        self.regs[[t.DEPTH, t.ROOT]] = 1
        self.regs[t.POS] = at


class BatchReader:
    """Iterates over a stream: batches where the kernel reads it, arrivals where the exact reader does."""

    def __init__(
        self,
        source: str,
        *,
        buffer: Bytes | None = None,
        chunks: Iterable[bytes] = (),
        state: ReaderState | None = None,
        wrapper: Frame | None = None,
        structure: Structure | None = None,
        offset: int = 0,
        ended: bool = False,
        limit: int = FRAGMENT_LIMIT,
    ) -> None:
        self.source = source
        self.window = Window(buffer, chunks, offset)
        self.state = state or ReaderState()
        self.wrapper = wrapper
        self.structure = structure
        self.limit = limit
        self.ended = ended  # an eos came
        self.over = False  # all has been read
        self.reader: FragmentReader | None = None
        self.scanner: _StreamScanner | None = None
        self.codes = np.zeros(0, np.int64)
        self.plain = np.zeros(0, np.bool_)
        self.rebound = False  # the stream's prefix means something else somewhere
        self.patience = 1

    def __iter__(self) -> Iterator[FragmentBatch | Arrival]:
        for part in self.parts():
            if isinstance(part, FragmentBatch):
                yield part
            else:
                yield from part
        if self.wrapper is not None and not self.ended:
            yield cut_short(self.source, self.state.offset)

    def parts(self) -> Iterator[FragmentBatch | list[Arrival]]:
        """The stream in parts: a batch, or the arrivals of one element."""
        while not self.over:
            if self.usual:
                yield from self.kernel()
            else:
                yield from self.exact(1)

    @property
    def usual(self) -> bool:
        """Whether the kernel may read on: the form is the prefixed one, and no other namespace lies around."""
        if self.state.form is None and self.structure is not None and self._begins_prefixed():
            self.state.form = "prefixed"  # as the exact reader would find
        return (
            self.state.form == "prefixed"
            and not self.rebound
            and all(pair == ("stream", STREAM) for pair in self.state.namespaces.items())
        )

    def _begins_prefixed(self) -> bool:
        """Whether the change to come is certain to be in the prefixed form."""
        window = self.window
        at = self.state.offset - window.offset
        return bool(_PREFIXED.match(window.b[at : min(at + _AHEAD, window.n)].tobytes()))

    # -- the exact reader -----------------------------------------------------------------------------------------

    def reading(self) -> FragmentReader:
        """A reader of what follows."""
        return FragmentReader(self.ahead(), source=self.source, state=self.state, limit=self.limit)

    def exact(self, pieces: int, until: int = 0) -> Iterator[list[Arrival]]:
        """Read on exactly: so many elements, and as far as an offset."""
        reader = self.reader = self.reading()
        reader.framer.wrapper = self.wrapper
        for taken, arrivals in enumerate(reader.together(), 1):
            self.wrapper = reader.framer.wrapper
            for arrival in arrivals:
                self.take_note(arrival)
            yield arrivals
            if (taken >= pieces and self.state.offset >= until) and (self.usual or taken >= _PATIENCE):
                return
        self.wrapper = reader.framer.wrapper
        self.over = True

    def ahead(self) -> Iterator[bytes]:
        """The input from the state's offset on; it stays in the window until it has been read."""
        window = self.window
        at = self.state.offset
        while True:
            begin = at - window.offset
            if begin < window.n:
                piece = window.b[begin : min(begin + _PIECE, window.n)].tobytes()
                at += len(piece)
                yield piece
            elif window.more(self.state.offset - window.offset) is None:
                return

    def take_note(self, arrival: Arrival) -> None:
        item = arrival.item
        if isinstance(item, Eos):
            self.ended = True
        elif isinstance(item, Structure) and (self.structure is None or item.only_adds_to(self.structure)):
            self.structure = item
            self.scanner = None

    # -- the kernel -----------------------------------------------------------------------------------------------

    def kernel(self) -> Iterator[FragmentBatch | list[Arrival]]:
        """Scan on, until something has been read exactly that the scan must begin anew behind."""
        window = self.window
        scanner = self.started()
        while True:
            torn = False
            status = t.UNDERFLOW
            try:
                status = scanner.run(window.b, window.n, window.limit(scanner.position))
            except XStreamError:
                torn = True
            if not self.names_as_usual(scanner):
                return
            taken = 0
            if scanner.regs[t.ROWS]:
                rows = scanner.take(window.b).rows
                taken = len(rows)
                if not (yield from self.stretches(scanner, rows)):
                    return
            if torn or status == t.UNDERFLOW:
                yield from self.exact(self.patience)
                self.patience = min(2 * self.patience, _PATIENCE)
                return
            if status == t.FULL:
                scanner.make_room(taken)
            elif status == t.MORE:
                keep = self.state.offset - window.offset
                if window.n - keep > self.limit or window.more(keep, scanner) is None:
                    yield from self.exact(_PATIENCE)
                    return

    def started(self) -> _StreamScanner:
        """The scanner, where the exact reader stopped."""
        if self.scanner is None:
            self.automaton = StreamAutomaton(self.structure)
            self.scanner = _StreamScanner(self.automaton, self.source, _ROWS)
            self.codes, self.plain = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        self.scanner.begin(self.state.offset - self.window.offset, self.automaton.top)
        return self.scanner

    def names_as_usual(self, scanner: _StreamScanner) -> bool:
        """Look at the states and namespaces the scan met for the first time."""
        if len(self.codes) < len(self.automaton.keys):
            self.codes = self.automaton.codes()
        contexts = scanner.symbols.contexts
        if len(self.plain) < len(contexts):
            fresh = contexts[len(self.plain) :]
            # The framing goes by prefixes: where the stream's own means something else, only the exact reader is right.
            self.rebound = any(scope.get("stream", STREAM) != STREAM for scope in fresh)
            self.plain = np.concatenate([self.plain, np.array(list(map(_is_plain, fresh)), np.bool_)])
        return not self.rebound

    def stretches(self, scanner: _StreamScanner, rows: Any) -> Generator[FragmentBatch | list[Arrival], None, bool]:
        """The changes that the rows of a scan stand for; whether the scan may go on behind them."""
        window = self.window
        first = 0
        while first < len(rows):
            offset = window.offset
            edge = self.state.offset - offset
            changes, marks, inlines, found = read_rows(window.b, rows, first, edge, self.limit, self.codes, self.plain)
            first, until = found[NEXT], offset + found[STOPPED]
            good = self.read_times(changes)
            changes = changes[:good]
            if good:
                marks = marks[: changes[-1, LAST]]
                self.state.offset = offset + int(changes[-1, END])
                self.state.rooted |= brings_root(changes)
                self.ended |= bool((changes[:, KIND] == _EOS).any())
                self.patience = 1
                yield self.batch(scanner, changes, marks, inlines)
            if good < found[CHANGES]:
                yield from self.exact(self.patience)
                self.patience = min(2 * self.patience, _PATIENCE)
                return False
            if found[STOPPED]:
                yield from self.exact(1, until)
                moved = self.state.offset != until or window.offset != offset or self.scanner is not scanner
                if moved or self.over or not self.usual:
                    return False
        return True

    def read_times(self, changes: Any) -> int:
        """Read the valid times that the compiled pass left; how many changes there are before one that has none."""
        for k in np.flatnonzero(changes[:, TIME] == ODD_TIME).tolist():
            text = self.window.b[changes[k, TIME_FROM] : changes[k, TIME_TO]].tobytes().decode()
            try:
                changes[k, TIME] = parse_instant(text)
            except XStreamError:
                return int(k)
        return len(changes)

    def batch(self, scanner: _StreamScanner, changes: Any, marks: Any, inlines: Any) -> FragmentBatch:
        window = self.window
        buffer, offset = window.b, window.offset
        if not window.mapped:  # the window moves on: the batch takes its bytes with it
            low, high = int(changes[0, START]), int(changes[-1, END])
            buffer, offset = window.b[low:high].copy(), offset + low
            changes[:, _POSITIONS] -= low
            marks[:, [M_START, M_END]] -= low
        marks = marks[np.argsort(marks[:, M_START], kind="stable")]  # a top element's row came when it ended
        offsets = np.concatenate([np.zeros(1, np.int64), changes[:, LAST]])
        found = Marks(offsets, marks, scanner.symbols.contexts, self.plain)
        inline: dict[int, dict[int, dict[int, None]]] = {}
        for k, state in inlines[np.argsort(inlines[:, N_START], kind="stable")][:, [N_CHANGE, N_STATE]].tolist():
            for tsid, tag in self.automaton.inline(self.automaton.keys[state]).items():
                inline.setdefault(k, {}).setdefault(tsid, {})[tag] = None
        return FragmentBatch(self.source, buffer, offset, window.mapped, changes, found, inline, self.automaton)

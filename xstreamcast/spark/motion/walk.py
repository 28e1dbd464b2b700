"""Walking over a file of fragments: plain runs at the speed of a pattern, everything else by the reader.

Most of a stream is one thing again and again: ``<stream:filler id tsid doc version validTime>``, spelled as our own
writer spells it. A *plain run* is a sequence of such fillers that the reader would take as they are: one change each,
the content untouched. It is recognised by one pattern per filler; what the pattern does not vouch for (a comment or
CDATA section that could hide an end tag, another element of the stream, an attribute out of order, a doubtful date)
goes through :class:`~xstreamcast.model.fragment.FragmentReader`, piece by piece, and then the pattern is tried again.
Both ways give the same changes at the same places, so driver and workers may cut a file where they like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, takewhile
from typing import Final

from xstreamcast.errors import Place
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.fragment import Arrival, FragmentReader
from xstreamcast.model.framing import Frame
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure
from xstreamcast.spark.motion.position import Position

END_TAG: Final = b"</stream:filler>"
_START: Final = b"<stream:filler"

_BLOCK: Final = 1 << 20
_PATIENCE: Final = 1024
_AT_ONCE: Final = 64
"""So many are matched before it is seen whether they are plain."""

_DATE: Final = (
    rb"(?:[1-9]\d{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    rb"|[1-9]\d(?:0[48]|[2468][048]|[13579][26])-02-29)"
)
_TIME: Final = rb"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_NUMBER: Final = rb"\d{1,18}"

FILLER: Final = re.compile(
    rb'\s*<stream:filler id="(' + _NUMBER + rb')"(?: tsid="(' + _NUMBER + rb')")?(?: doc="([!#-%\'-;=?-~ ]*)")?'
    rb'(?: version="(' + _NUMBER + rb')")?(?: validTime="(' + _DATE + rb"T" + _TIME + rb')")?>'
)
"""The start tag of a plain filler: region, tsid, document, version, valid time."""

# Each begins with a fixed text, so that they are searched for, not tried at every byte.
_HAZARDS: Final = (
    re.compile(rb"<!"),
    re.compile(rb"<\?"),
    re.compile(rb":(?:replace|before|after|hide|show|freeze)[\s/>]"),
    re.compile(rb"<stream:(?!hole[\s/>]|mutable[\s/>]|filler[\s>])"),
)
_INSIDE: Final = Frame("stream", "fragments", {}, {}, b"", b"", 0, 0)
"""Stands for the wrapper that was opened before the place where reading goes on."""


def _is_plain(filler: re.Match[bytes] | None) -> bool:
    """Whether a text begins as a plain filler, and holds no other."""
    return filler is not None and filler.string.find(_START, filler.end()) < 0


@dataclass(frozen=True, slots=True)
class PlainRun:
    """Plain fillers side by side: the matches of their start tags, each in the text between two end tags."""

    begin: Position
    fillers: tuple[re.Match[bytes], ...]

    @property
    def rows(self) -> int:
        """One change per filler."""
        return len(self.fillers)

    @property
    def end(self) -> Position:
        """Behind the last end tag."""
        size = sum(len(filler.string) for filler in self.fillers) + len(END_TAG) * len(self.fillers)
        rooted = not self.begin.rooted and any(not filler[1].strip(b"0") for filler in self.fillers)
        return self.begin.moved(self.begin.offset + size, len(self.fillers), rooted=rooted)

    def split(self, rows: int) -> tuple[PlainRun, PlainRun]:
        """The first fillers, and the others."""
        first = PlainRun(self.begin, self.fillers[:rows])
        return first, PlainRun(first.end, self.fillers[rows:])

    def fitting(self, size: int) -> int:
        """How many fillers fit into a number of bytes."""
        for count, filler in enumerate(self.fillers):
            size -= len(filler.string) + len(END_TAG)
            if size < 0:
                return count
        return len(self.fillers)


@dataclass(frozen=True, slots=True)
class Piece:
    """One element of the stream, or what stands in its place, as the reader sees it.

    ``torn``: it is no element, and how far it reaches was found by looking beyond it. ``last``: because the file ends.
    """

    begin: Position
    arrivals: tuple[Arrival, ...]
    end: Position
    torn: bool = False
    last: bool = False

    @property
    def rows(self) -> int:
        """A change, its interleaved updates; a structure; a diagnostic."""
        return len(self.arrivals)


Stretch = PlainRun | Piece


class Walk:
    """Iterates over the stretches of one file from a position; ``chunks`` begin there."""

    def __init__(self, chunks: Iterator[bytes], begin: Position, place: Place) -> None:
        self.chunks = chunks
        self.at = begin
        self.source = place.source
        self.buffer = b""

    def __iter__(self) -> Iterator[Stretch]:
        patience = 1
        while True:
            run = self.plain_run() if self.plain else None
            if run is not None:
                self.at = run.end
                patience = 1
                yield run
                continue
            for taken, piece in enumerate(self.pieces(), 1):
                self.at = piece.end
                yield piece
                if taken >= patience and self.plain:
                    break
            else:
                return
            patience = min(2 * patience, _PATIENCE)

    @property
    def plain(self) -> bool:
        """Whether plain runs may occur here: the prefix is the usual one, and no other namespace lies around."""
        return self.at.form == "prefixed" and all(
            (prefix, uri) == ("stream", STREAM) for prefix, uri in self.at.namespaces.items()
        )

    def plain_run(self) -> PlainRun | None:
        """The plain fillers at the front of the buffer, which is filled first where it holds no whole one."""
        while True:
            run = self.match_fillers()
            if run is not None or len(self.buffer) >= _BLOCK:
                return run
            chunk = next(self.chunks, None)
            if chunk is None:
                return None
            self.buffer += chunk

    def match_fillers(self) -> PlainRun | None:
        stop = self.buffer.rfind(END_TAG)
        for pattern in _HAZARDS:
            hazard = pattern.search(self.buffer, 0, max(stop, 0))
            if hazard is not None:
                stop = self.buffer.rfind(END_TAG, 0, hazard.start())
        if stop < 0:
            return None
        texts = self.buffer[:stop].split(END_TAG)
        fillers: list[re.Match[bytes]] = []
        for at in range(0, len(texts), _AT_ONCE):
            found = list(map(FILLER.match, texts[at : at + _AT_ONCE]))
            fillers += [filler for filler in takewhile(_is_plain, found) if filler is not None]
            if len(fillers) < at + len(found):
                break
        if not fillers:
            return None
        self.buffer = self.buffer[sum([len(filler.string) for filler in fillers]) + len(END_TAG) * len(fillers) :]
        return PlainRun(self.at, tuple(fillers))

    def pieces(self) -> Iterator[Piece]:
        """What the reader makes of what comes next; the buffer is what it has not taken."""
        reader = _PieceReader(chain([self.buffer], self.chunks), self.at, self.source)
        framer = reader.framer
        self.buffer = b""
        for begin, arrivals, torn in reader.pieces():
            end = Position(
                begin.file,
                begin.files,
                arrivals[0].end,
                begin.seq + sum(isinstance(arrival.item, Change) for arrival in arrivals),
                reader.state.form,
                reader.state.rooted,
                framer.wrapper is not None,
                framer.namespaces,
            )
            reader.begin = end
            self.buffer = bytes(framer.buffer[framer.at :])
            yield Piece(begin, tuple(arrivals), end, torn, framer.ended)
            self.buffer = b""


class _PieceReader(FragmentReader):
    """A reader that gives the arrivals of one element together: a batch may end between elements, not inside one."""

    def __init__(self, chunks: Iterator[bytes], begin: Position, source: str) -> None:
        super().__init__(chunks, source=source, state=begin.reader_state())
        self.begin = begin
        self.count = 0  # of the arrivals of the element just opened; 0 where there was none to open
        if begin.wrapped:
            self.framer.wrapper = _INSIDE

    def items(self, frame: Frame, place: Place) -> list[Change | Structure | Diagnostic]:
        self.count = 1
        found = super().items(frame, place)
        self.count = len(found)
        return found

    def pieces(self) -> Iterator[tuple[Position, list[Arrival], bool]]:
        arrivals = iter(self)
        for first in arrivals:
            together = [first, *(next(arrivals) for _ in range(self.count - 1))]
            torn, self.count = self.count == 0, 0
            yield self.begin, together, torn

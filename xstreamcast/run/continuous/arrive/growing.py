"""A plain document that arrives slowly is a stream (ICDE'08 §I): what has come of it, with all open elements closed.

    <r><a>1</a><b><c>2</c>          T = <r><a>1</a><b><c>2</c></b></r>

Whenever the source pauses, what has come since the last time is told. An element that is open ends with an empty
region, its *anchor*; what comes of it later stands before that. Nothing that was told is told again. A document that
comes at once, and what is written as a stream, is read as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final
from xml.parsers import expat

from xstreamcast.errors import Place
from xstreamcast.model.change import CHANGES, ROOT, Before, Change, Fill
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.namespaces import STREAM
from xstreamcast.wire.fragment import Arrival, FragmentReader, ReaderState, cut_short, to_the_end
from xstreamcast.wire.framing import FRAGMENT_LIMIT

FIRST: Final = 9 * 10**17
"""The number of the first anchor: beyond those of holes that the document may have."""
_OPENING: Final = re.compile(rb"<([^\s/>!?]+)")
_TAG: Final = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_SKIPPED: Final = re.compile(rb"""\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^<>\[]*>""", re.DOTALL)
_SLASH: Final = ord("/")
_WIRE: Final = frozenset(["fragments", "filler", "structure", *CHANGES])
"""What the first element of a stream is called."""


@dataclass(slots=True)
class _Open:
    """An element that is open; ``scope``: the namespaces in it; ``empty``: it ends with its only tag; ``anchor``: its
    last region, if it has been told."""

    name: str
    scope: dict[str, str]
    empty: bool
    anchor: int | None = None


def read_growing(chunks: Iterable[bytes], source: str) -> Iterator[Arrival]:
    """What a pipe brings: the fragments of a stream, or a plain document while it arrives."""
    rest = iter(chunks)
    head = b""
    for chunk in rest:
        head += chunk
        begin = _root(head)
        if begin is not None:
            break
    else:
        begin = None
    found = None if begin is None else _OPENING.match(head, begin)
    if found is None or found[1].decode("utf-8", "replace").rpartition(":")[2] in _WIRE:
        yield from _fragments(chain([head], rest), source, ReaderState())
        return
    growing = Growing(source)
    yield from growing.read(head, rest)


def _root(head: bytes) -> int | None:
    """Where the first element begins, if that has come with its name."""
    at = 0
    while (skipped := _SKIPPED.match(head, at)) is not None:
        at = skipped.end()
    found = _OPENING.match(head, at)
    return at if found is not None and found.end() < len(head) else None


def _fragments(chunks: Iterator[bytes], source: str, state: ReaderState) -> Iterator[Arrival]:
    return to_the_end(FragmentReader(chunks, source=source, state=state))


class Growing:
    """A document on its way. Offsets are bytes of it; ``text`` has those from ``base`` on that have not been told."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.text = bytearray()
        self.base = 0
        self.open: list[_Open] = []
        self.done = 0
        """The end of the last tag."""
        self.over = False
        """Whether the root element has ended."""
        self._begin = 0
        self._told: list[Change] = []
        self._put: list[tuple[int, bytes]] = []
        """What is to be put into the text: declarations of namespaces, where they are."""
        self._last = FIRST
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def read(self, head: bytes, chunks: Iterator[bytes]) -> Iterator[Arrival]:
        """All that comes of it, and of what stands behind it: the fragments of a stream, whose root it is."""
        for chunk in chain([head], chunks):
            self.text += chunk
            try:
                self._parser.Parse(chunk)
            except expat.ExpatError as fault:
                if not self.over:
                    place = Place(self.source, offset=self._parser.ErrorByteIndex)
                    reason = expat.ErrorString(fault.code)
                    yield Arrival(Diagnostic("XSC0001", "quarantine", reason, place), place, self.done)
                    return
            if len(self.text) > FRAGMENT_LIMIT:
                place = Place(self.source, offset=self.base)
                reason = f"what stands between two tags is larger than {FRAGMENT_LIMIT} bytes"
                yield Arrival(Diagnostic("XSC0001", "quarantine", reason, place), place, self.done)
                return
            if self.over and self._last == FIRST:  # it has come at once
                yield from _fragments(chain([bytes(self.text)], chunks), self.source, ReaderState())
                return
            yield from self._arrivals()
            if self.over:
                state = ReaderState(offset=self.done, rooted=True)
                yield from _fragments(chain([bytes(self.text)], chunks), self.source, state)
                return
        yield cut_short(self.source, self.done)

    def _arrivals(self) -> Iterator[Arrival]:
        """What has come is told, as far as it is whole."""
        if not self.over:
            self._tell()
        told, self._told = self._told, []
        for change in told:
            yield Arrival(change, Place(self.source, offset=self._begin), self.done)
        del self.text[: self._begin - self.base]
        self.base = self._begin

    def _tell(self) -> None:
        """What has come since the last time is told, if it is anything: open elements are closed behind an anchor."""
        fresh = [one for one in self.open if one.anchor is None]
        bound = any(
            one.scope.get("stream", STREAM) != STREAM for one in self.open
        )  # an anchor would mean something else
        if self.done == self._begin or not self.open or bound:
            return
        around = self.open[-len(fresh) - 1] if len(fresh) < len(self.open) else None
        content = self._between(self.done)
        for one in reversed(fresh):
            one.anchor = self._number()
            content += b'<stream:mutable id="%d"/></%b>' % (one.anchor, one.name.encode())
        self._append(around, content)

    def _append(self, around: _Open | None, content: bytes) -> None:
        if around is None:
            self._told.append(Fill(region=ROOT, content=content))
        elif content:
            assert around.anchor is not None
            self._told.append(Before(region=self._number(), target=around.anchor, content=content))

    def _between(self, end: int) -> bytes:
        """The text since the last time, as it stands alone."""
        made, at = bytearray(), self._begin
        for where, more in self._put:
            made += self.text[at - self.base : where - self.base] + more
            at = where
        made += self.text[at - self.base : end - self.base]
        self._put, self._begin = [], end
        return bytes(made)

    def _number(self) -> int:
        self._last += 1
        return self._last

    def _tag_end(self, at: int) -> int:
        found = _TAG.match(self.text, at - self.base)
        assert found is not None, "expat has seen it"
        return self.base + found.end()

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        at = self._parser.CurrentByteIndex
        if not self.open and not self.over:
            self._begin = at  # a declaration or a comment before the root is not told
        own = {key[6:]: uri for key, uri in attributes.items() if key == "xmlns" or key.startswith("xmlns:")}
        around = self.open[-1] if self.open else None
        if around is not None and around.anchor is not None:
            behind = at + 1 + len(name.encode())
            missing = [(p, uri) for p, uri in around.scope.items() if p not in own]
            if missing:
                self._put.append((behind, b"".join([_declaration(p, uri) for p, uri in missing])))
        self.done = self._tag_end(at)
        empty = self.text[self.done - self.base - 2] == _SLASH
        self.open.append(_Open(name, {**({} if around is None else around.scope), **own}, empty))

    def _end(self, name: str) -> None:
        at = self._parser.CurrentByteIndex
        ended = self.open.pop()
        if ended.anchor is not None:
            self._append(ended, self._between(at))
        if not ended.empty:
            self.done = self._tag_end(at)
        if ended.anchor is not None:
            self._begin = self.done
        self.over = not self.open


def _declaration(prefix: str, uri: str) -> bytes:
    escaped = uri.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return f' xmlns{":" if prefix else ""}{prefix}="{escaped}"'.encode()

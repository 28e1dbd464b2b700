"""Framing: where one fragment ends and the next begins, without opening them.

A stream is a flat sequence of elements, with or without a root element ``fragments`` (or ``updates``) around them. The
framer finds each one's extent by its start and end tags alone: work per fragment, not per token. That is exact: ``<``
cannot stand in an attribute value, so the first end tag of the fragment's name closes it unless a comment, CDATA
section, processing instruction or element of the same name lies before it; only then is the inside looked at by token.

A fragment that is never closed does not take the rest of the stream with it: the next fragment's start tag inside it
ends it, as a :class:`Broken` piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from xstreamcast.model.namespaces import STREAM
from xstreamcast.scan.sequence import END_MARK
from xstreamcast.wire.content import ATTRIBUTE, START_TAG, attribute_text

FRAGMENT_LIMIT: Final = 1 << 28
"""No fragment is larger than this; what is, is broken."""

_TEXT_LIMIT: Final = 1 << 20

WRAPPERS: Final = frozenset({"fragments", "updates"})
STRUCTURES: Final = frozenset({"structure", "tagStructure"})
CARRIERS: Final = frozenset(
    {"filler", "repeat", "replace", "remove", "before", "after", "hide", "show", "freeze", "eos"}
)

_FRAGMENTS: Final = rb"filler|repeat|replace|remove|structure|tagStructure|eos"
_NOT_DATA: Final = re.compile(
    rb"\s+|<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|" + re.escape(END_MARK) + rb"|(?P<doctype><!DOCTYPE"
    rb"""(?:[^\[>"']|"[^"]*"|'[^']*')*"""
    rb"""(?:\[(?:"[^"]*"|'[^']*'|<!--.*?-->|<\?.*?\?>|[^\]"'])*\]\s*)?>)|[^<]+""",
    re.DOTALL,
)
_UNFINISHED: Final = re.compile(rb"<$|<!$|<!-$|<!--|<\?|<!\[|<!D")


@dataclass(frozen=True, slots=True)
class Frame:
    """One whole element of the stream: its name, attributes, content and extent."""

    prefix: str
    local: str
    attributes: Mapping[str, str]
    namespaces: Mapping[str, str]
    content: bytes
    raw: bytes
    offset: int
    content_offset: int

    @property
    def end(self) -> int:
        """Where the next piece may begin."""
        return self.offset + len(self.raw)


@dataclass(frozen=True, slots=True)
class Broken:
    """A piece of the stream that is no element: text between fragments, a fragment that is not closed, a torn tag."""

    raw: bytes
    offset: int
    reason: str

    @property
    def end(self) -> int:
        """Where the next piece may begin."""
        return self.offset + len(self.raw)


@lru_cache(maxsize=64)
def _inside(name: bytes, prefix: bytes) -> re.Pattern[bytes]:
    """Tokens that matter between a fragment's tags: hiding places of end tags, elements of its name, others."""
    quoted = re.escape(name)
    return re.compile(
        rb"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|(?P<torn><!--|<\?|<!\[CDATA\[)"
        rb"|<(?P<opened>" + quoted + rb"|" + re.escape(prefix) + rb"(?:" + _FRAGMENTS + rb"))(?=[\s/>])"
        rb"""(?P<attributes>(?:\s(?:[^"'<>]|"[^"<]*"|'[^'<]*')*?)?)(?P<empty>/?)>"""
        rb"|(?P<close></" + quoted + rb"\s*>)",
        re.DOTALL,
    )


@lru_cache(maxsize=64)
def _fragment_tag(prefix: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"<" + re.escape(prefix) + rb"(?:" + _FRAGMENTS + rb")[\s/>]")


def attributes_of(raw: bytes) -> dict[str, str]:
    """The attributes of a raw start tag; raises ValueError where they are not well-formed."""
    pairs = [(match[1].decode(), attribute_text(match[2])) for match in ATTRIBUTE.finditer(raw)]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an attribute twice")
    return found


class Framer:
    """Cuts chunks of plain XML into frames. Memory: one fragment and one chunk.

    ``offset`` and ``namespaces`` let it begin in the middle of a stream, where an earlier one stopped.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        *,
        offset: int = 0,
        namespaces: Mapping[str, str] | None = None,
        limit: int = FRAGMENT_LIMIT,
    ) -> None:
        self.chunks = iter(chunks)
        self.buffer = bytearray()
        self.offset = offset  # of the buffer's first byte, in the stream
        self.at = 0
        self.ended = False
        self.limit = limit
        self.namespaces: dict[str, str] = dict(namespaces or {})
        self.wrapper: Frame | None = None
        self.progress: tuple[int, int] | None = None  # of an unfinished fragment: bytes looked through, elements open
        self.doctype = b""  # the document type declaration before the next frame, where each has its own
        self.looked = 0  # up to which offset there is no closing bracket after the cursor

    def more(self) -> None:
        """Take in another chunk, or note the end; what lies before the cursor is let go."""
        if self.at:
            del self.buffer[: self.at]
            self.offset += self.at
            self.at = 0
        chunk = next(self.chunks, None)
        if chunk is None:
            self.ended = True
        else:
            self.buffer += chunk

    def __iter__(self) -> Iterator[Frame | Broken]:
        while True:
            piece = self.next_piece()
            if piece is not None:
                self.at = piece.end - self.offset
                self.progress = None
                yield piece
            elif self.ended:
                rest = bytes(self.buffer[self.at :])
                if rest.strip():
                    yield Broken(rest, self.offset + self.at, "the stream ends inside a tag")
                return
            else:
                self.more()

    def next_piece(self) -> Frame | Broken | None:
        """The next frame in the buffer; None when more must be read first."""
        while True:
            skipped = _NOT_DATA.match(self.buffer, self.at)
            if skipped is None:
                break
            raw = skipped[0]
            if skipped["doctype"]:
                self.doctype = bytes(raw)
            if (raw[:1] != b"<" or raw[:3] == b"<![") and raw != END_MARK:  # text between fragments
                whole = skipped.end() < len(self.buffer) or self.ended
                if raw.strip() and (whole or len(raw) > _TEXT_LIMIT):
                    return Broken(bytes(raw), self.offset + self.at, "text between fragments")
                if not whole and raw.strip():
                    return None
            self.at = skipped.end()
        if self.at >= len(self.buffer):
            return None
        if _UNFINISHED.match(self.buffer, self.at) and not self.ended:
            return None if len(self.buffer) - self.at < self.limit else self.torn("a comment that does not end")
        if self.buffer[self.at + 1 : self.at + 2] == b"/":
            return self.end_tag()
        # No tag without a closing bracket, and no byte is looked at twice for it.
        bracket = self.buffer.find(b">", max(self.at, self.looked - self.offset))
        self.looked = self.offset + (len(self.buffer) if bracket < 0 else bracket)
        tag = START_TAG.match(self.buffer, self.at) if bracket >= 0 else None
        if tag is None:
            return self.no_tag()
        return self.element(tag)

    def end_tag(self) -> Frame | Broken | None:
        close = self.buffer.find(b">", self.at)
        if close < 0:
            return None if not self.ended else self.torn("the stream ends inside a tag")
        name = bytes(self.buffer[self.at + 2 : close]).strip().rpartition(b":")[2].decode(errors="replace")
        if name in WRAPPERS:
            self.at = close + 1
            self.wrapper = None
            return self.next_piece()
        return self.torn(f"an end tag </{name}> that nothing opened", close + 1)

    def no_tag(self) -> Broken | None:
        """A ``<`` that begins no whole tag: not yet, or never."""
        following = self.buffer.find(b"<", self.at + 1)
        if following < 0 and not self.ended and len(self.buffer) - self.at < self.limit:
            return None
        return self.torn("not a tag", following if following >= 0 else len(self.buffer))

    def torn(self, reason: str, end: int | None = None) -> Broken:
        stop = end if end is not None else self.resume_after(self.at + 1)
        return Broken(bytes(self.buffer[self.at : stop]), self.offset + self.at, reason)

    def resume_after(self, start: int) -> int:
        """The next place where a fragment seems to begin."""
        found = _CARRIER_TAG.search(self.buffer, start)
        return found.start() if found else len(self.buffer)

    def element(self, tag: re.Match[bytes]) -> Frame | Broken | None:
        name = tag[1]
        prefix, _, local = name.decode(errors="replace").rpartition(":")
        try:
            attributes = attributes_of(tag[2]) if tag[2] else {}
        except ValueError as fault:
            return self.ill_formed(tag, prefix, local, str(fault))
        declared = {
            key[6:]: value for key, value in attributes.items() if key[:5] == "xmlns" and (key[5:6] or ":") == ":"
        }
        namespaces = {**self.namespaces, **declared} if declared else self.namespaces
        if local in WRAPPERS and self.wrapper is None and self.is_stream(prefix, namespaces):
            self.wrapper = self.frame(tag, prefix, local, attributes, namespaces, tag.end(), tag.end())
            self.namespaces = dict(namespaces)
            self.at = tag.end()
            return self.next_piece()
        extent = (tag.end(), tag.end()) if tag[3] else self.extent(bytes(name), tag.end(), prefix, local)
        if extent is None or isinstance(extent, Broken):
            return extent
        frame = self.frame(tag, prefix, local, attributes, namespaces, *extent)
        if len(frame.raw) > self.limit:
            return Broken(frame.raw, frame.offset, f"it is larger than {self.limit} bytes")
        return frame

    def ill_formed(self, tag: re.Match[bytes], prefix: str, local: str, reason: str) -> Broken | None:
        """An element whose start tag is no good: all of it is put aside, if its end is there."""
        extent = (tag.end(), tag.end()) if tag[3] else self.extent(bytes(tag[1]), tag.end(), prefix, local)
        if isinstance(extent, tuple):
            return Broken(bytes(self.buffer[self.at : extent[1]]), self.offset + self.at, reason)
        return extent

    @staticmethod
    def is_stream(prefix: str, namespaces: Mapping[str, str]) -> bool:
        """Whether names with this prefix may be the stream's own: prefixed and bound to its namespace, or bare."""
        if prefix:
            return namespaces.get(prefix, STREAM if prefix == "stream" else "") == STREAM
        return namespaces.get("", STREAM) == STREAM

    def frame(
        self,
        tag: re.Match[bytes],
        prefix: str,
        local: str,
        attributes: Mapping[str, str],
        namespaces: Mapping[str, str],
        end: int,
        stop: int,
    ) -> Frame:
        content, raw = bytes(self.buffer[tag.end() : end]), bytes(self.buffer[tag.start() : stop])
        at = self.offset + tag.start()
        return Frame(prefix, local, attributes, namespaces, content, raw, at, self.offset + tag.end())

    def extent(self, name: bytes, begin: int, prefix: str, local: str) -> tuple[int, int] | Broken | None:
        """Where the content ends and where the element ends."""
        buffer = self.buffer
        marker = f"{prefix}:".encode() if prefix else b""
        if self.progress is None:
            close = buffer.find(b"</" + name, begin)
            if close >= 0 and not any(buffer.find(hides, begin, close) >= 0 for hides in (b"<!", b"<?", b"<" + name)):
                stop = buffer.find(b">", close)
                nested = _fragment_tag(marker).search(buffer, begin, close)
                if stop >= 0 and nested is None and not buffer[close + 2 + len(name) : stop].strip():
                    return close, stop + 1
            self.progress = begin - self.at, 1
        at, depth = self.progress
        at += self.at
        torn = False
        for token in _inside(name, marker).finditer(buffer, at):
            if token["torn"]:
                at, torn = token.start(), True
                break
            at = token.end()
            if token["close"]:
                depth -= 1
                if not depth:
                    return token.start(), at
            elif token["opened"]:
                if local in CARRIERS and _is_carrier(token["opened"], token["attributes"], bool(prefix)):
                    return Broken(bytes(buffer[self.at : token.start()]), self.offset + self.at, "it is not closed")
                depth += token["opened"] == name and not token["empty"]
        if not self.ended and len(buffer) - self.at < self.limit:
            # Every whole token has been seen, so a token to come begins at the torn one or at the last <.
            self.progress = (at if torn else max(at, buffer.rfind(b"<", at))) - self.at, depth
            return None
        oversize = len(buffer) - self.at >= self.limit
        return self.torn(f"it is larger than {self.limit} bytes" if oversize else "it is not closed")


_CARRIER_TAG: Final = re.compile(rb"<(?:[^\s<>/:]+:)?(?:filler|repeat|replace|remove|structure|eos)[\s/>]")


def _is_carrier(name: bytes, attributes: bytes, prefixed: bool) -> bool:
    """A nested start tag that begins a fragment: it has an id, and no target as an interleaved update has.

    A bare name is only believed with both numbers of a filler: it could be data.
    """
    if prefixed and name.endswith((b":structure", b":tagStructure", b":eos")):
        return True
    found = {match[1] for match in ATTRIBUTE.finditer(attributes)}
    return b"id" in found and b"target" not in found and (prefixed or b"tsid" in found)

"""The wire form: fragments, update streams and temporal fragments as XML, read into changes and written from them.

Two spellings are read, prefixed (``<stream:filler>`` in the namespace ``urn:xstreamcast:stream``) and the papers' bare
one (``<filler>``); a stream's first fragment fixes which, and elements of the other form are data from then on. A
stream is one XML file with a root ``stream:fragments`` (``stream:updates``), or a plain sequence of such elements, as
messages come. Reading holds one fragment at a time, never the stream. ``docs/wire.md`` shows all forms.

>>> text = b'<filler id="9" tsid="3"><value>12</value></filler>'
>>> [arrival.item for arrival in FragmentReader([text])]
[Fill(region=9, doc='', tsid=3, version=None, valid_time=None, content=b'<value>12</value>')]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import CHANGES, ROOT, After, Before, Change, ContentChange, Eos, Fill, Replace
from xstreamcast.model.diagnostic import Diagnostic, excerpt
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure, parse_structure, write_structure
from xstreamcast.model.time import format_instant, parse_instant
from xstreamcast.scan.encoding import Source, plain_xml, source_name
from xstreamcast.scan.normalise import escape_attribute
from xstreamcast.wire.content import Update, parse_content, write_content
from xstreamcast.wire.framing import CARRIERS, FRAGMENT_LIMIT, STRUCTURES, Broken, Frame, Framer

Form = Literal["prefixed", "bare"]

_UPDATE_TAG: Final = re.compile(rb":(?:replace|before|after|hide|show|freeze)[\s/>]")
_ELEMENTS: Final[Mapping[str, type[Change]]] = {
    "filler" if kind == "fill" else kind: cls for kind, cls in CHANGES.items()
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """The next item of a stream: a change, a structure, or a diagnostic for what was put aside; and where."""

    item: Change | Structure | Diagnostic
    place: Place
    end: int
    inside: int = 0  # bytes from the place to the change's content


@dataclass(slots=True)
class ReaderState:
    """All that must be known to go on reading a stream from the middle; plain data, fit for an offset log."""

    offset: int = 0
    form: Form | None = None
    rooted: bool = False
    namespaces: dict[str, str] = field(default_factory=dict)


class FragmentReader:
    """Iterates over the arrivals of one stream.

    ``form`` and ``rooted`` of the state are fixed by what has been read; give the state of an earlier reader to go on
    where it stopped (the chunks then begin at its offset).
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        *,
        source: str = "<stream>",
        state: ReaderState | None = None,
        limit: int = FRAGMENT_LIMIT,
    ) -> None:
        self.source = source
        self.state = state or ReaderState()
        self.framer = Framer(chunks, offset=self.state.offset, namespaces=self.state.namespaces, limit=limit)

    def __iter__(self) -> Iterator[Arrival]:
        for arrivals in self.together():
            yield from arrivals

    def together(self) -> Iterator[list[Arrival]]:
        """The arrivals of one element at a time: a change, then the updates that stood in it."""
        for piece in self.framer:
            place = Place(self.source, offset=piece.offset)
            self.state.namespaces = self.framer.namespaces
            if isinstance(piece, Broken):
                torn = Diagnostic("XSC0001", "quarantine", piece.reason, place, excerpt(piece.raw))
                self.state.offset = piece.end
                yield [Arrival(torn, place, piece.end)]
                continue
            try:
                items = self.items(piece, place)
            except XStreamError as fault:
                hint = f" ({fault.hint})" if fault.hint else ""
                message = f"{fault.message}{hint}"
                items = [Diagnostic(fault.code, "quarantine", message, fault.place or place, excerpt(piece.raw))]
            self.state.offset = piece.end
            inside = piece.content_offset - piece.offset
            yield [Arrival(item, place, piece.end, inside) for item in items]

    def form_of(self, frame: Frame) -> Form | None:
        """How an element that may be the stream's own is spelled; None for data."""
        uri = frame.namespaces.get(frame.prefix, STREAM if frame.prefix == "stream" else "")
        if uri == STREAM:
            return "prefixed"
        return None if frame.prefix or uri else "bare"

    def items(self, frame: Frame, place: Place) -> list[Change | Structure | Diagnostic]:
        state = self.state
        form = self.form_of(frame)
        # The papers write <stream:structure> before bare fillers: a structure is known in either form and fixes none.
        if frame.local in (STRUCTURES | {"tag"} if form == "bare" else STRUCTURES) and form is not None:
            return [parse_structure(frame.raw, f"{self.source}@{frame.offset}", frame.namespaces)]
        if frame.local in CARRIERS:
            state.form = state.form or form
            if form == state.form and form is not None:
                inside = frame.content_offset - frame.offset
                return self.changes(frame.local, frame.attributes, frame.content, frame.namespaces, place, inside)
        if state.rooted:
            raise error("XSC0003", f"<{frame.local}> outside any filler", place, "only the first may come unwrapped")
        return self.changes("filler", {"id": str(ROOT)}, frame.raw, self.framer.namespaces, place, 0)

    def changes(
        self,
        local: str,
        attributes: Mapping[str, str],
        content: bytes,
        namespaces: Mapping[str, str],
        place: Place,
        inside: int,
    ) -> list[Change | Structure | Diagnostic]:
        """The change an element stands for, then the updates interleaved with its content, in order."""
        cls = _ELEMENTS[local]
        fields = _fields(cls, attributes, place)
        if not issubclass(cls, ContentChange):
            if content.strip():
                raise error("XSC0003", f"a {local} with content", place, "it brings none")
            return [cls(**fields)]
        # The declarations around it count for the content too, unless it cannot be using them.
        around = {
            prefix: uri
            for prefix, uri in namespaces.items()
            if (prefix, uri) != ("stream", STREAM) and (not prefix or f"{prefix}:".encode() in content)
        }
        bare = self.state.form != "prefixed" and b"<hole" in content
        updates: tuple[Update, ...] = ()
        offset = (place.offset or 0) + inside
        if around or bare or _UPDATE_TAG.search(content):
            parsed = parse_content(content, place=Place(self.source, offset=offset), around=around, bare=bare)
            content, updates = write_content(parsed, around), parsed.updates
        self.state.rooted |= fields["region"] == ROOT
        items: list[Change | Structure | Diagnostic] = [cls(**fields, content=content)]
        for update in updates:
            where = Place(self.source, offset=offset + update.offset)
            names = {**around, **update.scope}
            items += self.changes(update.kind, update.attributes, update.content, names, where, update.inside)
        return items


def _fields(cls: type[Change], attributes: Mapping[str, str], place: Place) -> dict[str, Any]:
    def number(name: str) -> int | None:
        text = attributes.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdecimal() and len(text) <= 18):
            raise error("XSC0003", f"{name}={text!r}", place, f"{name} is a whole number")
        return int(text)

    fields: dict[str, Any] = {"tsid": number("tsid"), "version": number("version"), "doc": attributes.get("doc", "")}
    if "validTime" in attributes:
        fields["valid_time"] = parse_instant(attributes["validTime"], place)
    region, target = number("id"), number("target")
    if cls is Replace and region is None and target is not None:
        region, target = target, None  # nobody will speak of the new region by a name of its own
    if region is None and cls is not Eos:
        raise error("XSC0003", f"a {cls.kind} without an id", place, "every change names its region")
    if region is not None:
        fields["region"] = region
    if issubclass(cls, Before | After) and target is None:
        raise error("XSC0003", f"{cls.kind} without a target", place, "say which region it stands beside")
    if issubclass(cls, Before | After | Replace) and target is not None:
        fields["target"] = target
    return fields


def read_stream(source: Source, *, limit: int = FRAGMENT_LIMIT) -> Iterator[Arrival]:
    """The arrivals of a whole stream from a file, a pipe or a gzip: any encoding, any size."""
    return to_the_end(FragmentReader(plain_xml(source), source=source_name(source), limit=limit))


def to_the_end(reader: FragmentReader) -> Iterator[Arrival]:
    """The arrivals of a stream, and whether it has been cut short."""
    ended = False
    for arrival in reader:
        ended = ended or isinstance(arrival.item, Eos)
        yield arrival
    if reader.framer.wrapper is not None and not ended:
        yield cut_short(reader.source, reader.state.offset)


def read_folder(folder: Path, *, limit: int = FRAGMENT_LIMIT) -> Iterator[Arrival]:
    """The arrivals of a stream whose files lie in a folder, in the order of their names, as it is now.

    The stream's dialect is that of its first element; files whose names begin with a dot are not looked at.
    """
    state = ReaderState()
    for file in sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")):
        state = ReaderState(form=state.form, rooted=state.rooted)
        for arrival in FragmentReader(plain_xml(file), source=str(file), state=state, limit=limit):
            yield arrival
            if isinstance(arrival.item, Eos):
                return


def cut_short(source: str, offset: int) -> Arrival:
    """The diagnostic for a stream that stops with its root element open."""
    place = Place(source, offset=offset)
    message = "the stream's root element is not closed, and no eos came: it may be cut short"
    return Arrival(Diagnostic("XSC0034", "warning", message, place), place, offset)


def encode_change(change: Change, *, declare: bool = False, prefix: str = "stream") -> bytes:
    """One wire element; ``declare`` makes it a message of its own, with the namespace declared."""
    opening, closing = wire_tags(change, declare=declare, prefix=prefix)
    return opening + getattr(change, "content", b"") + closing


def wire_tags(change: Change, *, declare: bool = False, prefix: str = "stream") -> tuple[bytes, bytes]:
    """The tags around a change's content, for who writes the content in pieces."""
    name = "filler" if isinstance(change, Fill) else change.kind
    attributes = f' xmlns:{prefix}="{STREAM}"' if declare else ""
    target = getattr(change, "target", None)
    if target is not None:
        attributes += f' target="{target}"'
    if not isinstance(change, Eos):
        attributes += f' id="{change.region}"'
    if change.tsid is not None:
        attributes += f' tsid="{change.tsid}"'
    if change.doc:
        attributes += f' doc="{escape_attribute(change.doc)}"'
    if change.version is not None:
        attributes += f' version="{change.version}"'
    if change.valid_time is not None:
        attributes += f' validTime="{format_instant(change.valid_time)}"'
    if isinstance(change, ContentChange):
        return f"<{prefix}:{name}{attributes}>".encode(), f"</{prefix}:{name}>".encode()
    return f"<{prefix}:{name}{attributes}/>".encode(), b""


class FragmentWriter:
    """Writes one stream as an XML file: the structure first, then a change per line.

    ``prefix`` is another one where the data itself uses ``stream`` for something else.
    """

    def __init__(self, out: BinaryIO, structure: Structure | None = None, prefix: str = "stream") -> None:
        self.out = out
        self.prefix = prefix
        declared = f' xmlns:{prefix}="{STREAM}"' if prefix != "stream" else ""
        out.write(f'<{prefix}:fragments{declared} xmlns:stream="{STREAM}">\n'.encode())
        if structure is not None:
            self.write_structure(structure)

    def write_structure(self, structure: Structure) -> None:
        """The structure, again or anew."""
        self.out.write(write_structure(structure, declare=False, prefix=self.prefix).encode() + b"\n")

    def write(self, change: Change) -> None:
        """One change."""
        self.out.write(encode_change(change, prefix=self.prefix) + b"\n")

    def close(self) -> None:
        """The end of the file; the stream beneath stays open."""
        self.out.write(f"</{self.prefix}:fragments>\n".encode())

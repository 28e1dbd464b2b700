"""Content: what a region holds, taken apart at its holes.

A change carries its content as bytes. T needs of it only where the regions lie and which start tags stand at the top
(they take the lifespan attributes and the namespace declarations), so content is not turned into a tree here: it is cut

    content ::= (literal | start tag of a top element | hole | mutable region)*

and put together again by :mod:`xstreamcast.cast.materialise`, byte for byte. Every content is self-contained: what it
takes from the namespaces around it is written on its own top elements.

>>> [type(piece).__name__ for piece in parse_content(b'<a x="1"><stream:hole id="7" tsid="2"/>t</a>').pieces]
['TopTag', 'Hole', 'bytes']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from xml.parsers import expat

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.depth import deepest, too_deep
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure
from xstreamcast.scan.normalise import escape_attribute, parse_fault

START_TAG: Final = re.compile(
    rb"""<([^\s/><!?&="'][^\s/><&="']*)((?:\s+[^\s=/><]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(/?)>"""
)
"""A whole start tag: name, attributes, and whether it is empty."""
ATTRIBUTE: Final = re.compile(rb"""\s+([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")

UPDATES: Final = frozenset({"replace", "before", "after", "hide", "show", "freeze"})

_WRAP: Final = f'<w xmlns:stream="{STREAM}">'.encode()
_STREAM: Final = STREAM + " "
_BESIDE: Final = re.compile(rb"(?s)\s+|<!--.*?-->|<\?.*?\?>")
_NOTHING: Final = re.compile(rb"\s*</[^\s>]+\s*>")
_NO_NAMES: Final[Mapping[str, str]] = {}
_GIVEN: Final = frozenset({"xml", "stream"})
_ONE_TOP: Final = ((0, 0, -1, -1, 0),)
_BLANKS: Final = str.maketrans("\r\n\t", "   ")
_REFERENCE: Final = re.compile(r"&(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[^\s;&]*);?")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def attribute_text(quoted: bytes) -> str:
    """A value with its references resolved, and white space other than blanks as blanks (XML 1.0 §3.3.3).

    Raises ValueError where it is not well-formed.
    """
    text = quoted[1:-1].decode()
    if "\n" in text or "\t" in text or "\r" in text:
        text = text.replace("\r\n", " ").translate(_BLANKS)
    return _REFERENCE.sub(_resolve, text) if "&" in text else text


def _resolve(match: re.Match[str]) -> str:
    name = match[1]
    if name.startswith("#"):
        return chr(int(name[2:], 16) if name[1:2] == "x" else int(name[1:]))
    if name not in _ENTITIES:
        raise ValueError(f"entity &{name}; has no declaration")
    return _ENTITIES[name]


def declares(attribute: re.Match[bytes]) -> bool:
    """Whether an attribute, a match of :data:`ATTRIBUTE`, is a namespace declaration."""
    return attribute[1] == b"xmlns" or attribute[1].startswith(b"xmlns:")


@dataclass(frozen=True, slots=True)
class TopTag:
    """The start tag of a top element: ``head`` is ``<name``, ``tail`` the other attributes and the closing bracket."""

    head: bytes
    declared: Mapping[str, str]
    tail: bytes


@dataclass(frozen=True, slots=True)
class Hole:
    """A place where another region goes; ``scope`` are the namespaces declared around it in this content.

    ``scope`` is None at the top of the content, outside all its elements.
    """

    region: int
    tsid: int | None
    scope: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Mutable:
    """A hole with its first filling in place: sM(·, region) … eM."""

    region: int
    tsid: int | None
    scope: Mapping[str, str] | None
    content: Content


Piece = bytes | TopTag | Hole | Mutable


@dataclass(frozen=True, slots=True)
class Update:
    """An update that stood inside the content (ICDE'08 §III: they may be interleaved); it is no part of it."""

    kind: str
    attributes: Mapping[str, str]
    content: bytes
    scope: Mapping[str, str]
    offset: int
    inside: int


@dataclass(frozen=True, slots=True)
class Content:
    """The pieces of a content, the tags that came inline though the structure calls them fragments, the updates."""

    pieces: tuple[Piece, ...]
    inline: tuple[int, ...] = ()
    updates: tuple[Update, ...] = ()

    @property
    def holes(self) -> list[Hole | Mutable]:
        """Its holes, in document order; a mutable region is one of them, those inside it are not."""
        return [piece for piece in self.pieces if isinstance(piece, Hole | Mutable)]


class Opened(NamedTuple):
    """Content that a scan of its stream has found well-formed: a span of a buffer, and where its holes lie.

    ``marks``: rows (start, end, region, tsid, context) of its holes and top elements in document order, relative to
    ``begin``; a top element's region is -1; None stands for one top element, at the beginning, and no hole.
    ``contexts`` has the namespaces by number; ``plain``: none is declared around a hole or on a top element.
    """

    buffer: Any
    begin: int
    to: int
    marks: Any
    contexts: Sequence[Mapping[str, str]]
    plain: bool

    @property
    def data(self) -> bytes:
        """The content as it is written."""
        return bytes(self.buffer[self.begin : self.to])

    @property
    def regions(self) -> list[int]:
        """The regions of its holes, in document order."""
        return [] if self.marks is None else [region for region in self.marks[:, 2].tolist() if region >= 0]

    def spans(self) -> Iterator[tuple[bytes, int]]:
        """The text before each hole, and the hole's region; at last the rest, and -1."""
        data = self.data
        at = 0
        for start, end, region, _, _ in self.marks.tolist() if self.marks is not None else ():
            if region >= 0:
                yield data[at:start], region
                at = end
        yield data[at:], -1

    def content(self) -> Content:
        """The pieces, as :func:`parse_content` would cut them."""
        data = self.data
        pieces: list[Piece] = []
        at = inside = 0
        for start, end, region, tsid, context in self.marks.tolist() if self.marks is not None else _ONE_TOP:
            if start > at:
                pieces.append(data[at:start])
            if region >= 0:
                scope = self.contexts[context] if start < inside else None
                names = None if scope is None else {p: u for p, u in scope.items() if u and p not in _GIVEN}
                pieces.append(Hole(region, tsid if tsid >= 0 else None, names))
                at = end
            else:
                tag = START_TAG.match(data, start)
                assert tag is not None, "the scan has read it"
                declared = {m[1][6:].decode(): attribute_text(m[2]) for m in ATTRIBUTE.finditer(tag[2]) if declares(m)}
                pieces.append(top_tag(tag, declared))
                at, inside = tag.end(), end
        if at < len(data):
            pieces.append(data[at:])
        return Content(tuple(pieces))


def parse_content(
    data: bytes,
    *,
    structure: Structure | None = None,
    tsid: int | None = None,
    place: Place | None = None,
    around: Mapping[str, str] | None = None,
    bare: bool = False,
) -> Content:
    """Cut content into pieces; raises when it is not well-formed, or a hole is not one.

    ``around`` are namespaces declared outside it; ``bare`` takes ``<hole id="…"/>`` for a hole.
    """
    return _Cutter(data, structure, tsid, place or Place(), around or _NO_NAMES, bare).cut()


def has_one_root(content: Content) -> bool:
    """Whether there is one element at the top, and besides it nothing but blanks, comments and instructions.

    >>> [has_one_root(parse_content(data)) for data in (b"<a>x</a><!--c-->", b"<a/>x", b"<a/><b/>", b"x")]
    [True, False, False, False]
    """
    tops = [at for at, piece in enumerate(content.pieces) if isinstance(piece, TopTag)]
    if len(tops) != 1 or any(isinstance(p, Hole | Mutable) and p.scope is None for p in content.pieces):
        return False
    before = b"".join([piece for piece in content.pieces[: tops[0]] if isinstance(piece, bytes)])
    last = content.pieces[-1]
    after = (last if isinstance(last, bytes) else b">").rstrip()
    while after.endswith((b"-->", b"?>")):
        after = after[: after.rfind(b"<!--" if after.endswith(b"-->") else b"<?")].rstrip()
    return not _BESIDE.sub(b"", before) and after[-1:] in (b"", b">")


def has_only_root(content: Content) -> bool:
    """Whether there is one element at the top, and besides it nothing but blanks.

    >>> [has_only_root(parse_content(data)) for data in (b"<a>x<!--c--></a> ", b"<a/><!--c-->", b"<?p?><a/>")]
    [True, False, False]
    """
    if not has_one_root(content):
        return False
    top = next(at for at, piece in enumerate(content.pieces) if isinstance(piece, TopTag))
    before = b"".join([piece for piece in content.pieces[:top] if isinstance(piece, bytes)])
    last = content.pieces[-1]
    return not before.strip() and not (isinstance(last, bytes) and last.rstrip().endswith((b"-->", b"?>")))


def without_lifespan(attributes: bytes) -> bytes:
    """The attributes of a start tag, without those that tell a lifespan: another one comes in their place."""
    if b"vtFrom" not in attributes and b"vtTo" not in attributes:
        return attributes
    return b"".join(match[0] for match in ATTRIBUTE.finditer(attributes) if match[1] not in (b"vtFrom", b"vtTo"))


def declarations(names: Mapping[str, str]) -> bytes:
    """Namespace declarations as attributes."""
    return b"".join(
        f' xmlns{":" if prefix else ""}{prefix}="{escape_attribute(uri)}"'.encode() for prefix, uri in names.items()
    )


def write_content(content: Content, around: Mapping[str, str]) -> bytes:
    """Content in its canonical form: holes prefixed, the namespaces around it declared on its top elements."""
    out: list[bytes] = []
    for piece in content.pieces:
        if isinstance(piece, bytes):
            out.append(piece)
        elif isinstance(piece, TopTag):
            names = {**around, **piece.declared}
            names = {prefix: uri for prefix, uri in names.items() if uri != STREAM}
            out += (piece.head, declarations(names), piece.tail)
        else:
            prefix, declared = stream_prefix({**around, **(piece.scope or {})})
            tsid = "" if piece.tsid is None else f' tsid="{piece.tsid}"'
            if isinstance(piece, Hole):
                out.append(f'<{prefix}:hole{declared} id="{piece.region}"{tsid}/>'.encode())
            else:
                out.append(f'<{prefix}:mutable{declared} id="{piece.region}"{tsid}>'.encode())
                out += (write_content(piece.content, around), f"</{prefix}:mutable>".encode())
    return b"".join(out)


def top_tag(tag: re.Match[bytes], declared: Mapping[str, str]) -> TopTag:
    """The start tag of a top element, a match of :data:`START_TAG`, and what it declares."""
    attributes, names = tag[2], _NO_NAMES
    if declared:
        # The stream's own prefix is bound anyway; the splice leaves out what is bound already.
        names = {prefix: uri for prefix, uri in declared.items() if uri != STREAM}
        attributes = b"".join(m[0] for m in ATTRIBUTE.finditer(attributes) if not declares(m))
    return TopTag(b"<" + tag[1], names, attributes + tag[3] + b">")


def stream_prefix(scope: Mapping[str, str]) -> tuple[str, str]:
    """The prefix for the stream's own elements, and its declaration where ``stream`` means something else."""
    if scope.get("stream", STREAM) == STREAM:
        return "stream", ""
    prefix = "xcast"
    while scope.get(prefix, STREAM) != STREAM:
        prefix += "_"
    return prefix, f' xmlns:{prefix}="{STREAM}"'


class _Cutter:
    """One pass of expat over the content; the pieces are slices of it."""

    def __init__(
        self,
        data: bytes,
        structure: Structure | None,
        tsid: int | None,
        place: Place,
        around: Mapping[str, str],
        bare: bool,
    ) -> None:
        self.data = data
        self.place = place
        self.wrap = b"<w" + declarations({"stream": STREAM, **around}) + b">" if around else _WRAP
        self.bare = bare
        self.lifting = 0  # elements open inside an interleaved update
        self.lifted: tuple[str, dict[str, str], int, int, bool] | None = None
        self.updates: list[Update] = []
        self.cursor = 0  # all before it is in pieces
        self.depth = -1  # elements open, not counting regions; -1 until the wrapper opens
        self.opened = 0  # elements open, whatever they are
        self.pieces: list[list[Piece]] = [[]]  # of the content, and of every mutable region open in it
        self.regions: list[tuple[int, int | None, Mapping[str, str] | None, bool]] = []
        self.holes: list[str] = []  # bare ones, whose end tags are not the content's
        self.declared: dict[str, str] = {}  # by the start tag to come
        self.scope: list[tuple[str, str]] = []
        self.structure = structure
        self.tags: list[int | None] = [tsid]
        self.inline: dict[int, None] = {}
        self.parser = parser = expat.ParserCreate("utf-8", " ")
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartNamespaceDeclHandler = self.declare
        parser.EndNamespaceDeclHandler = self.undeclare

    def cut(self) -> Content:
        try:
            self.parser.Parse(self.wrap, False)
            self.parser.Parse(self.data, False)
            self.parser.Parse(b"</w>", True)
        except expat.ExpatError as fault:
            raise self.fault(parse_fault(fault, "").message, self.parser.ErrorByteIndex, code="XSC0001") from None
        finally:  # so that the parser goes without the help of a collector
            self.parser.StartElementHandler = self.parser.EndElementHandler = None
            self.parser.StartNamespaceDeclHandler = self.parser.EndNamespaceDeclHandler = None
        self.flush(len(self.data))
        return Content(tuple(self.pieces[0]), tuple(self.inline), tuple(self.updates))

    def fault(self, message: str, index: int | None = None, *, hint: str = "", code: str = "XSC0003") -> XStreamError:
        at = (self.parser.CurrentByteIndex if index is None else index) - len(self.wrap)
        offset = None if self.place.offset is None else self.place.offset + max(0, min(at, len(self.data)))
        return error(code, message, Place(self.place.source, offset=offset), hint)

    def flush(self, until: int) -> None:
        if until > self.cursor:
            self.pieces[-1].append(self.data[self.cursor : until])
        self.cursor = until

    def declare(self, prefix: str | None, uri: str | None) -> None:
        if self.depth >= 0:
            self.declared[prefix or ""] = uri or ""
            self.scope.append((prefix or "", uri or ""))

    def undeclare(self, _: str | None) -> None:
        if self.scope:  # the wrapper's own declaration was not noted
            self.scope.pop()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self.depth < 0:
            self.depth = 0
            return
        self.opened += 1
        if self.opened > deepest():
            fault = too_deep()
            raise self.fault(fault.message, hint=fault.hint, code=fault.code)
        declared = self.declared
        if declared:
            self.declared = {}
        if self.lifting:
            self.lifting += 1
            return
        if name.startswith(_STREAM):
            self.region(name[len(_STREAM) :], attributes)
            return
        if self.bare and "id" in attributes and name.rpartition(" ")[2] == "hole":
            self.region("hole", attributes)
            self.holes.append(name)
            return
        if self.depth == 0:
            self.top(declared)
        if self.structure is not None:
            self.check_tag(self.structure, name)
        self.depth += 1

    def top(self, declared: dict[str, str]) -> None:
        self.pieces[-1].append(top_tag(self.tag(), declared))

    def tag(self) -> re.Match[bytes]:
        """The raw start tag at the parser's place, passed over."""
        at = self.parser.CurrentByteIndex - len(self.wrap)
        tag = START_TAG.match(self.data, at)
        assert tag is not None, "expat has just read it"
        self.flush(at)
        self.cursor = tag.end()
        return tag

    def check_tag(self, structure: Structure, name: str) -> None:
        """A tag declared as a fragment may still come inline: it is taken, and noted."""
        above = self.tags[-1]
        if above is None or self.depth == 0:
            self.tags.append(above)
            return
        uri, _, local = name.rpartition(" ")
        tag = structure.child(above, f"{{{uri}}}{local}" if uri else local)
        if tag is not None and structure.tag(tag).fragment:
            self.inline[tag] = None
        self.tags.append(tag)

    def region(self, local: str, attributes: dict[str, str]) -> None:
        if local in UPDATES and ("target" in attributes or local in ("hide", "show", "freeze")):
            at, tag = self.parser.CurrentByteIndex - len(self.wrap), self.tag()
            self.lifting = 1
            self.lifted = local, attributes, at, self.cursor, bool(tag[3])
            return
        if local not in ("hole", "mutable"):
            raise self.fault(f"stream:{local} inside a fragment", hint="was the fragment before it closed?")
        region, tsid = self.integer(attributes, "id"), self.integer(attributes, "tsid")
        if region is None:
            raise self.fault(f"a {local} without an id", hint=f'write <stream:{local} id="7"/>')
        names: Mapping[str, str] | None = None
        if self.depth:
            names = {prefix: uri for prefix, uri in self.scope if uri != STREAM} if self.scope else _NO_NAMES
        tag = self.tag()
        if local == "mutable":
            self.regions.append((region, tsid, names, bool(tag[3])))
            self.pieces.append([])
            return
        self.pieces[-1].append(Hole(region, tsid, names))
        if not tag[3]:
            closing = _NOTHING.match(self.data, self.cursor)
            if closing is None:
                raise self.fault("a hole with content", hint="a hole is empty; its filler comes apart")
            self.cursor = closing.end()

    def integer(self, attributes: dict[str, str], name: str) -> int | None:
        text = attributes.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdecimal() and len(text) <= 18):
            raise self.fault(f"a hole with {name}={text!r}", hint=f"{name} is a whole number")
        return int(text)

    def lift(self) -> None:
        """The update's end: it leaves the content and is kept beside it."""
        assert self.lifted is not None
        kind, attributes, at, begin, closed = self.lifted
        end = begin
        if not closed:
            end = self.parser.CurrentByteIndex - len(self.wrap)
            self.cursor = self.data.index(b">", end) + 1
        self.updates.append(Update(kind, attributes, self.data[begin:end], dict(self.scope), at, begin - at))

    def end(self, name: str) -> None:
        self.opened -= 1
        if self.lifting:
            self.lifting -= 1
            if not self.lifting:
                self.lift()
        elif self.holes:
            self.holes.pop()
        elif not name.startswith(_STREAM):
            self.depth -= 1
            if self.structure is not None and self.depth >= 0:
                self.tags.pop()
        elif name.endswith(" mutable"):
            region, tsid, names, closed = self.regions.pop()
            if not closed:
                at = self.parser.CurrentByteIndex - len(self.wrap)
                self.flush(at)
                self.cursor = self.data.index(b">", at) + 1
            self.pieces[-2].append(Mutable(region, tsid, names, Content(tuple(self.pieces.pop()))))

"""From a file, a pipe or a compressed file to plain XML: UTF-8, no byte order mark, no internal DTD subset.

Everything that reads XML reads it through :func:`plain_xml`, so encodings, compression and DTDs are dealt with once.
Line and byte positions survive wherever the input was UTF-8 without a DTD: the XML declaration is blanked, not cut.
"""

from __future__ import annotations

import codecs
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, cast

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, error, file_error

if TYPE_CHECKING:
    from xstreamcast.scan.external import External

Source = str | Path | BinaryIO

CHUNK: Final = 1 << 18
PROLOG_LIMIT: Final = 1 << 24
"""How far we look for the root element before deciding whether a DTD stands before it."""


def gz_reader(file: BinaryIO) -> BinaryIO:
    """What a gz file holds from where it stands."""
    import gzip

    return cast(BinaryIO, gzip.GzipFile(fileobj=file))


def _bz2(file: BinaryIO) -> BinaryIO:
    import bz2

    return cast(BinaryIO, bz2.BZ2File(file))


def _xz(file: BinaryIO) -> BinaryIO:
    import lzma

    return cast(BinaryIO, lzma.LZMAFile(file))


def zstd_reader(file: BinaryIO) -> BinaryIO:
    """What a zstd file holds from where it stands."""
    try:
        import pyarrow as pa
    except ImportError:
        hint = "pip install pyarrow, or unpack it: zstd -dc FILE | xcast …"
        raise error("XSC0006", "reading zstd needs pyarrow", hint=hint) from None
    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"))


_COMPRESSED: Final[tuple[tuple[bytes, Callable[[BinaryIO], BinaryIO]], ...]] = (
    (b"\x1f\x8b", gz_reader),
    (b"BZh", _bz2),
    (b"\xfd7zXZ\x00", _xz),
    (b"\x28\xb5\x2f\xfd", zstd_reader),
    (b"\x50\x2a\x4d\x18", zstd_reader),  # as pzstd begins: with a frame to be skipped
)
PACKED: Final = tuple(magic for magic, _ in _COMPRESSED)
"""How gz, bz2, xz and zstd files begin."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_EXPAT_READS: Final = ("utf-8", "iso-8859-1")
# Without a mark the first two characters, "<?" or "<x", betray the width and the order (XML 1.0, appendix F).
_WIDTHS: Final = (
    (re.compile(rb"<\x00[^\x00]\x00"), "utf-16-le"),
    (re.compile(rb"\x00<\x00[^\x00]"), "utf-16-be"),
    (re.compile(rb"<\x00\x00\x00"), "utf-32-le"),
    (re.compile(rb"\x00\x00\x00<"), "utf-32-be"),
)
_DECLARATION: Final = re.compile(rb"<\?xml[ \t\r\n][^?>]*\?>")
_ENCODING: Final = re.compile(rb"""encoding[ \t\r\n]*=[ \t\r\n]*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_PROLOG: Final = re.compile(rb"(?:[ \t\r\n]+|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_DOCTYPE_HEAD: Final = re.compile(rb"""<!DOCTYPE(?:[^\[>"']|"[^"]*"|'[^']*')*([\[>])""")
_EMPTY_SUBSET: Final = re.compile(rb"\s*(?:\]\s*(>?))?")
_DOCTYPE: Final = re.compile(
    rb"""<!DOCTYPE\s+[^\s\[>"'<&]+(\s+(?:SYSTEM\s+LITERAL|PUBLIC\s+LITERAL\s+LITERAL))?\s*([\[>])""".replace(
        b"LITERAL", rb"""(?:"[^"]*"|'[^']*')"""
    )
)


def source_name(source: Source) -> str:
    """How errors call an input."""
    if isinstance(source, str | Path):
        return "<stdin>" if str(source) == "-" else str(source)
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<input>"  # a file by its number has no name


def reported_name(source: Source | bytes, uri: str | None) -> str:
    """What errors call a document: a path as it was given, else the URI that it has."""
    if isinstance(source, str | Path):
        return source_name(source)
    return uri or ("<input>" if isinstance(source, bytes) else source_name(source))


class Borrowed(io.RawIOBase):
    """A file of the caller's behind a buffer of ours: it stays open when the buffer goes."""

    def __init__(self, file: BinaryIO, meter: Meter | None = None) -> None:
        self.file, self.meter = file, meter
        self.name = source_name(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        # One read of the system's, where there is the choice: a pipe's bytes are wanted as they come.
        into = getattr(self.file, "readinto1", None) or getattr(self.file, "readinto", None)
        if into is not None:
            size = int(into(buffer) or 0)
        else:
            data = self.file.read(len(buffer))
            size = len(data)
            buffer[:size] = data
        if self.meter is not None:
            self.meter.taken += size
        return size


@dataclass(slots=True)
class Meter:
    """How many bytes were taken from an input, as it is stored: compressed ones, if it is compressed; and in which
    encoding it turned out to be."""

    taken: int = 0
    encoding: str = "utf-8"
    decoded: bool = False
    """Whether what is read is in UTF-8 all the same."""


def standard_input() -> BinaryIO:
    """Standard input without Python's own buffer: a thread that waits would hold its lock when the process ends, which
    is then aborted."""
    return cast(BinaryIO, getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))


def open_file(path: str | Path) -> BinaryIO:
    """Open a path, also one of a member of an archive; ``-`` is standard input."""
    if str(path) == "-":
        return standard_input()
    try:
        return open(path, "rb")
    except OSError as fault:
        if "!" in str(path):
            from xstreamcast.scan.archives import open_member

            return open_member(Path(path))
        hint = "give an existing file, or - for standard input"
        raise file_error(fault, path, hint) from None


def open_input(source: Source, meter: Meter | None = None, threads: int = 1) -> BinaryIO:
    """Open a path, ``-`` for standard input, or an open binary file; gz, bz2, xz and zstd are known by first bytes.

    ``threads``: so many unpack a bz2 file, or the members of a gz file.
    """
    file = open_file(source) if isinstance(source, str | Path) else source
    own = isinstance(file, io.BufferedReader) and meter is None
    peekable = cast(io.BufferedReader, file) if own else io.BufferedReader(Borrowed(file, meter))
    head = peekable.peek(8)
    if threads > 1 and head.startswith(b"BZh"):
        from xstreamcast.scan.blocks import ParallelBz2

        return cast(BinaryIO, io.BufferedReader(ParallelBz2(peekable, threads), CHUNK))
    if threads > 1 and head.startswith(b"\x1f\x8b"):
        from xstreamcast.scan.members import ParallelGzip

        return cast(BinaryIO, io.BufferedReader(ParallelGzip(peekable, threads), CHUNK))
    for magic, opener in _COMPRESSED:
        if head.startswith(magic):
            return opener(peekable)
    return peekable


def _errors_of_xz() -> tuple[type[Exception], ...]:
    """What reading an xz file raises, if one is read."""
    lzma = sys.modules.get("lzma")
    return () if lzma is None else (lzma.LZMAError,)


def read_chunks(file: BinaryIO, name: str = "<input>") -> Iterator[bytes]:
    """What a file holds, in pieces; a pipe's pieces come as soon as they are there."""
    read = getattr(file, "read1", file.read)
    while True:
        try:
            chunk = read(CHUNK)
        except Exception as fault:
            if not isinstance(fault, (OSError, EOFError, zlib.error, *_errors_of_xz())):
                raise
            raise error("XSC0006", f"cannot be read on: {fault}", Place(name), "is the file truncated?") from None
        if not chunk:
            return
        yield chunk


def plain_xml(source: Source, many: bool = False, external: External | None = None) -> Iterator[bytes]:
    """The document of an input as plain XML, in chunks. The other arguments are those of :func:`plain_chunks`."""
    name = source_name(source)
    file = open_input(source)
    try:
        yield from plain_chunks(read_chunks(file, name), name, many, external=external)
    finally:
        if isinstance(source, str | Path) and str(source) != "-":
            file.close()


def has_internal_subset(source: Source) -> bool:
    """Whether a document has a DTD of its own."""
    name = source_name(source)
    with open_input(source) as file:
        return _prolog(_to_utf8(read_chunks(file, name), name, Meter()))[1]


def _prolog(utf8: Iterator[bytes]) -> tuple[bytes, bool]:
    """What must be read to know whether an internal DTD subset stands before the root element, and whether."""
    head = b""
    for chunk in utf8:
        head += chunk
        internal = _internal_subset(head)
        if internal is not None or len(head) > PROLOG_LIMIT:
            return head, bool(internal)
    return head, False


def plain_chunks(
    chunks: Iterable[bytes],
    name: str = "<input>",
    many: bool = False,
    meter: Meter | None = None,
    external: External | None = None,
) -> Iterator[bytes]:
    """Chunks of XML in any encoding, with any DTD → chunks of plain XML.

    ``many``: there may be several documents, one after the other; those after the first are in UTF-8, and as they are.
    ``external``: DTDs outside of the document that may be read.
    """
    utf8 = _to_utf8(iter(chunks), name, meter or Meter())
    head, internal = _prolog(utf8)
    rest = _again(without_external(head), utf8)
    if external is not None:
        simple = None if internal else external.simple(_doctype_of(head), name)
        if simple is not None:
            from xstreamcast.scan.external import spelled

            yield from spelled(rest, simple, name)
            return
        rest = _again(head, utf8)
    elif not internal:
        yield from rest
        return
    from xstreamcast.scan.normalise import without_dtd
    from xstreamcast.scan.sequence import Pieces

    pieces = Pieces(rest)
    yield from without_dtd(pieces, name, many, external)
    yield from pieces


def _doctype_of(head: bytes) -> bytes:
    """The document type declaration before the root element, if there is one."""
    match = _PROLOG.match(head)
    at = match.end() if match else 0
    found = doctype_end(head, at) if head.startswith(b"<!DOCTYPE", at) else None
    return b"" if found is None else head[at : found[0]]


def without_external(head: bytes) -> bytes:
    """External DTDs are not read, so they are not named either: an entity only they declare is then an error.

    A DOCTYPE that is not well-formed is left as it is, for the parser to refuse.
    """
    match = _PROLOG.match(head)
    doctype = _DOCTYPE.match(head, match.end() if match else 0)
    if doctype is None:
        return head
    begin, end = doctype.span(1) if doctype[2] == b"[" else doctype.span()
    return head if begin < 0 else head[:begin] + _blank(head[begin:end]) + head[end:]


def _again(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from rest


def _internal_subset(head: bytes) -> bool | None:
    """Whether a DTD with an internal subset stands before the root element; None when it cannot be told yet."""
    match = _PROLOG.match(head)
    at = match.end() if match else 0
    rest = head[at : at + 9]
    if b"<!DOCTYPE".startswith(rest[:9]) and len(rest) < 9:
        return None
    if rest != b"<!DOCTYPE":
        # "<!-" and "<?" that the pattern did not pass are still open
        return None if rest.startswith((b"<!-", b"<?")) or rest in (b"", b"<") else False
    found = doctype_end(head, at)
    return None if found is None else found[1]


def doctype_end(head: bytes, at: int = 0) -> tuple[int, bool] | None:
    """Where a document type declaration ends, or its subset begins if there is something in it, and whether there is;
    None when that cannot be told yet.

    >>> doctype_end(b"<!DOCTYPE a SYSTEM 'a.dtd' [ ]><a/>"), doctype_end(b"<!DOCTYPE a [<!ENTITY"), doctype_end(b"<!D")
    ((31, False), (13, True), None)
    """
    doctype = _DOCTYPE_HEAD.match(head, at)
    if doctype is None:
        return None
    if doctype[1] == b">":
        return doctype.end(), False
    empty = _EMPTY_SUBSET.match(head, doctype.end())
    if empty is not None and empty[1]:
        return empty.end(), False
    return None if empty is not None and empty.end() == len(head) else (doctype.end(), True)


def expat_chunks(chunks: Iterable[bytes], name: str = "<input>", meter: Meter | None = None) -> Iterator[bytes]:
    """Chunks of XML in an encoding expat can read: it knows no other multi-byte ones than UTF-8 and marked UTF-16."""
    head, rest = _head(iter(chunks))
    mark, encoding = _encoding_of(head, name)
    if meter is not None:
        meter.encoding = encoding
    if encoding in _EXPAT_READS or (mark and encoding.startswith("utf-16")):
        yield from _again(head, rest)
    else:
        if meter is not None:
            meter.decoded = True
        yield from decoded_chunks(_again(head[len(mark) :], rest), encoding, name)


def _to_utf8(chunks: Iterator[bytes], name: str, meter: Meter) -> Iterator[bytes]:
    head, rest = _head(chunks)
    mark, encoding = _encoding_of(head, name)
    meter.encoding = encoding
    head = head[len(mark) :]
    if encoding != "utf-8":
        yield from decoded_chunks(_again(head, rest), encoding, name)
        return
    declaration = _DECLARATION.match(head)
    if declaration:
        head = _blank(declaration[0]) + head[declaration.end() :]
    yield from _again(head, rest)


def _head(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """As much as tells the encoding, and the rest."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= 4 and (b">" in head or len(head) >= 1024):
            break
    return head, chunks


def _encoding_of(head: bytes, name: str) -> tuple[bytes, str]:
    """The byte order mark and the encoding of a document that begins so (XML 1.0, appendix F)."""
    if head.startswith(b"PK\x03\x04") or head[257:262] == b"ustar":
        hint = "name the archive itself, or a member of it: FILE.zip!NAME, FILE.tar.gz!*.xml"
        raise error("XSC0006", "it is an archive, not a document", Place(name), hint)
    mark, encoding = next(((bom, enc) for bom, enc in _BOMS if head.startswith(bom)), (b"", ""))
    if not encoding:
        encoding = next((enc for pattern, enc in _WIDTHS if pattern.match(head)), "")
    if encoding:
        return mark, encoding
    declaration = _DECLARATION.match(head)
    declared = _ENCODING.search(declaration[0]) if declaration else None
    spelled = declared[1].decode("ascii").lower() if declared else "utf-8"
    if spelled in ("utf-8", "utf8", "us-ascii", "ascii"):
        return mark, "utf-8"
    if spelled.startswith(("utf-16", "utf16", "utf-32", "ucs")):
        hint = "the bytes are not of that width; correct the declaration"
        raise error("XSC0001", f"declared as {spelled} but it is not", Place(name, offset=0), hint)
    return mark, spelled


def decoded_chunks(chunks: Iterator[bytes], encoding: str, name: str, blank: bool = True) -> Iterator[bytes]:
    """Chunks in an encoding as UTF-8; ``blank``: without the declaration at their beginning. XSC0001 if they are not in
    that encoding."""
    with suppress(LookupError):
        info = codecs.lookup(encoding)
        if getattr(info, "_is_text_encoding", True):
            yield from _utf8_of(chunks, info.incrementaldecoder("strict"), encoding, name, blank)
            return
    raise error("XSC0001", f"unknown encoding {encoding!r}", Place(name, offset=0), "convert the file to UTF-8")


def _utf8_of(
    chunks: Iterator[bytes], decoder: codecs.IncrementalDecoder, encoding: str, name: str, blank: bool
) -> Iterator[bytes]:
    offset = 0
    head: bytes | None = b"" if blank else None  # until the declaration is past
    for chunk in chunks:
        try:
            text = decoder.decode(chunk).encode()
        except UnicodeError as fault:
            place = Place(name, offset=offset + getattr(fault, "start", 0))
            raise error("XSC0001", f"not {encoding}: {fault}", place, "is the encoding declared rightly?") from None
        offset += len(chunk)
        if head is not None:
            head += text
            undecided = b"<?xml".startswith(head) or (head.startswith(b"<?xml") and b"?>" not in head)
            if undecided and len(head) < CHUNK:
                continue
            declaration = _DECLARATION.match(head)
            text = _blank(declaration[0]) + head[declaration.end() :] if declaration else head
            head = None
        if text:
            yield text
    if head:
        yield head
    if decoder.getstate()[0]:
        raise error("XSC0001", f"ends inside a character of {encoding}", Place(name, offset=offset), "truncated?")


def _blank(declaration: bytes) -> bytes:
    """White space of the same length and line breaks, which may stand where the declaration stood."""
    return re.sub(rb"[^\r\n]", b" ", declaration)

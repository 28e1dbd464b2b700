"""Sources of documents and streams as Python has them: a path, XML as text or as bytes, an open file, a tree.

Trees are those of lxml, ElementTree and ours. An iterable is several documents; of a stream, pieces of it, one after
the other.

>>> readable("news.xml"), readable("<a/>").read(), readable(b"<a/>").read()
('news.xml', b'<a/>', b'<a/>')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO, RawIOBase, TextIOBase
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO, cast

from xstreamcast.errors import error
from xstreamcast.scan.encoding import Source, plain_xml

Given = str | PathLike[str] | bytes | bytearray | memoryview | BinaryIO | TextIO | Any
"""… a tree or an element of lxml, which has no type of its own everywhere."""
_LONGEST: Final = 4096  # of a path


def readable(given: Given) -> Source:
    """A path as it is, or something that is read as bytes; XPTY0004 for what is neither."""
    if is_open(given):
        given = binary(given)
        if isinstance(given, str):
            return BytesIO(given.encode())
    if isinstance(given, str):
        return BytesIO(given.encode()) if is_text(given) else given
    if isinstance(given, PathLike):
        return Path(given)
    if isinstance(given, bytes | bytearray | memoryview):
        return BytesIO(given)
    if is_open(given):
        return cast(BinaryIO, given)
    tree = _markup(given)
    if tree is not None:
        return BytesIO(tree)
    hint = "a path, XML as text, which begins with <, or as bytes, an open file, or a tree of lxml or ElementTree"
    raise error("XPTY0004", f"{_a(type(given).__name__)} is nothing that XML is read from", hint=hint)


def is_open(given: object) -> bool:
    """Whether it is an open file, or reads like one, or is to be opened, as what ``fsspec.open`` gives."""
    return hasattr(given, "read") or hasattr(given, "readinto") or _is_to_be_opened(given)


def _is_to_be_opened(given: object) -> bool:
    return type(given).__module__ == "fsspec.core" and hasattr(given, "open")


def is_one(given: object) -> bool:
    """Whether it is one document, or names one, not an iterable of them."""
    from xstreamcast.model.tree import Node
    from xstreamcast.scan.foreign import is_foreign

    plain = isinstance(given, str | PathLike | bytes | bytearray | memoryview | Node)
    return plain or is_open(given) or is_foreign(given)


def each_of(given: Any) -> Iterable[Any]:
    """The documents of what was given, one or several."""
    return (given,) if is_one(given) or not isinstance(given, Iterable) else given


def stream_of(given: Any) -> Source:
    """A stream of fragments: as one document, or the pieces of an iterable, one after the other."""
    return readable(given) if is_one(given) or not isinstance(given, Iterable) else cast(BinaryIO, Joined(given))


class Joined(RawIOBase):
    """The pieces of a stream as one file, each taken when those before it have been read."""

    def __init__(self, pieces: Iterable[Any]) -> None:
        self._chunks = _chunks(pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        taken = min(len(buffer), len(self._rest))
        buffer[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        return taken


def _chunks(pieces: Iterable[Any]) -> Iterator[bytes]:
    for piece in pieces:
        yield from plain_xml(readable(piece))


def _markup(given: Any) -> bytes | None:
    """The XML of a tree, ours or another's; None if it is none."""
    from xstreamcast.model.tree import Node
    from xstreamcast.scan.foreign import from_foreign, is_foreign

    node = from_foreign(given) if is_foreign(given) else given
    return node.xml().encode() if isinstance(node, Node) else None


def _a(name: str) -> str:
    return f"an {name}" if name[:1] in "aeiouAEIOU" else f"a {name}"


def is_text(source: str | PathLike[str]) -> bool:
    """Whether it is XML, or no path in any case: nothing, or more than a path can be."""
    if not isinstance(source, str):
        return False
    begun = source.lstrip("\ufeff \t\r\n")
    return not begun or begun.startswith("<") or len(source) > _LONGEST


def binary(source: Any) -> Any:
    """A file that is open for reading text, as one that is read as bytes, which say their encoding themselves."""
    if _is_to_be_opened(source):
        source = source.open()
    if not isinstance(source, TextIOBase):
        return source
    if not hasattr(source, "buffer"):
        return source.read()
    beneath: Any = source.buffer
    beneath.opened_as = source  # who opened it may let go of it, which would close what is read here
    return beneath

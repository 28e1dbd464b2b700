"""What may be given for a document or a stream in Python: a path, XML as text or as bytes, an open file.

>>> readable("news.xml"), readable("<a/>").read(), readable(b"<a/>").read()
('news.xml', b'<a/>', b'<a/>')
"""

from __future__ import annotations

from io import BytesIO, TextIOBase
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO, cast

from xstreamcast.errors import error
from xstreamcast.scan.encoding import Source

Given = str | PathLike[str] | bytes | bytearray | memoryview | BinaryIO | TextIO
_LONGEST: Final = 4096  # of a path


def readable(given: Given) -> Source:
    """A path as it is, or something that is read as bytes; XPTY0004 for what is neither."""
    if isinstance(given, TextIOBase):
        given = binary(given)
        if isinstance(given, str):
            return BytesIO(given.encode())
    if isinstance(given, str):
        return BytesIO(given.encode()) if is_text(given) else given
    if isinstance(given, PathLike):
        return Path(given)
    if isinstance(given, bytes | bytearray | memoryview):
        return BytesIO(given)
    if hasattr(given, "read") or hasattr(given, "readinto"):
        return cast(BinaryIO, given)
    hint = "a path, XML as text, which begins with <, or as bytes, or an open file"
    raise error("XPTY0004", f"{_a(type(given).__name__)} is nothing that XML is read from", hint=hint)


def _a(name: str) -> str:
    return f"an {name}" if name[:1] in "aeiouAEIOU" else f"a {name}"


def is_text(source: str | PathLike[str]) -> bool:
    """Whether it is XML, or no path in any case: nothing, or more than a path can be."""
    if not isinstance(source, str):
        return False
    begun = source.lstrip("\ufeff \t\r\n")
    return not begun or begun.startswith("<") or len(source) > _LONGEST


def binary(source: Any) -> Any:
    """What is open for reading text, as something that is read as bytes, which say their encoding themselves."""
    if not isinstance(source, TextIOBase):
        return source
    if not hasattr(source, "buffer"):
        return source.read()
    beneath: Any = source.buffer
    beneath.opened_as = source  # who opened it may let go of it, which would close what is read here
    return beneath

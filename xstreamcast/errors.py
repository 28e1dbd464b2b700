"""Errors: a code, a place, a hint.

Every error a user can meet is an :class:`XStreamError` that carries

* ``code``  a W3C code (``XPST0003``, ``FORG0001``) or one of ours (``XSC0001`` …),
* ``place`` where in the query or in the input it happened,
* ``hint``  what to do about it.

Codes map to classes that also subclass Python's own exceptions, so that ``except TypeError`` works:

>>> issubclass(error_class("XPTY0004"), TypeError)
True
>>> issubclass(error_class("XSC0006"), OSError) and issubclass(MissingFileError, FileNotFoundError)
True
>>> print(error("XSC0001", "mismatched tag", Place("feed.xml", line=3, column=14), hint="close <a> first"))
XSC0001 feed.xml:3:14 mismatched tag
  hint: close <a> first
"""

from __future__ import annotations

from errno import ENOENT
from os import PathLike, fspath

from xstreamcast.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is: a source, then a line and column (from 1) or a byte offset (from 0)."""

    source: str = ""
    line: int | None = None
    column: int | None = None
    offset: int | None = None

    def __str__(self) -> str:
        text = self.source
        if self.line is not None:
            text += f":{self.line}"
            if self.column is not None:
                text += f":{self.column}"
        elif self.offset is not None:
            text += f"@{self.offset}"
        return text.lstrip(":")


class XStreamError(Exception):
    """An error with a code, a place and a hint. ``excerpt`` is the offending line with a caret under it."""

    def __init__(self, code: str, message: str, place: Place | None = None, hint: str = "", excerpt: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place
        self.hint = hint
        self.excerpt = excerpt

    def __str__(self) -> str:
        parts = [self.code, str(self.place) if self.place else "", self.message]
        text = " ".join(part for part in parts if part)
        if self.excerpt:
            text += "\n" + self.excerpt
        if self.hint:
            text += f"\n  hint: {self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders on Spark; the default only replays ``args``.
        return (type(self), (self.code, self.message, self.place, self.hint, self.excerpt))


class XStreamWarning(UserWarning):
    """What can hardly be meant, or was put aside; ``warnings.filterwarnings`` chooses what becomes of it."""


class XQueryError(XStreamError):
    """Any error the W3C specifications define a code for."""


class XQuerySyntaxError(XQueryError, SyntaxError):
    """XPST0003 and its kin: the text is not a query."""

    def __str__(self) -> str:  # SyntaxError brings its own
        return XStreamError.__str__(self)


class XQueryNameError(XQueryError, NameError):
    """XPST0008, XPST0017, XPST0081: a name nobody declared."""


class XQueryTypeError(XQueryError, TypeError):
    """XPTY…, XPDY0050, FORG0006 …: a value of the wrong type."""


class XQueryValueError(XQueryError, ValueError):
    """FORG0001, FOCA…, FODT…: a value outside the domain."""


class XQueryArithmeticError(XQueryError, ArithmeticError):
    """FOAR0001, FOAR0002: division by zero, overflow."""


class UnsupportedError(XQueryError, NotImplementedError):
    """A declared gap: the construct exists in the language and is refused by name."""


class XMLError(XStreamError, ValueError):
    """XSC0001: the input is not well-formed XML, or uses what we refuse (external entities, expansion bombs).

    XSC0007: it is too deep."""


class WireError(XStreamError, ValueError):
    """XSC0002 …: the input is XML but not a fragment, a change or a tag structure."""


class FileError(XStreamError, OSError):
    """XSC0006: a file or a folder that cannot be read, or written; XSC0008: what cannot be had from the web."""

    def __str__(self) -> str:  # OSError brings its own
        return XStreamError.__str__(self)


class MissingFileError(FileError, FileNotFoundError):
    """XSC0006: … because it is not there."""

    errno = ENOENT


class DocumentWarning(UserWarning):
    """Something about a document that may not be meant; it is read all the same."""


_BY_CODE: dict[str, type[XStreamError]] = {
    "XPST0003": XQuerySyntaxError,
    "XPST0008": XQueryNameError,
    "XPST0017": XQueryNameError,
    "XPST0081": XQueryNameError,
    "FOAR0001": XQueryArithmeticError,
    "FOAR0002": XQueryArithmeticError,
    "FORG0006": XQueryTypeError,
    "XPDY0050": XQueryTypeError,
    "XSC0001": XMLError,
    "XSC0006": FileError,
    "XSC0007": XMLError,
    "XSC0008": FileError,
    "XSC0009": XMLError,
    "XSC0130": XQueryValueError,
}

_BY_PREFIX: tuple[tuple[str, type[XStreamError]], ...] = (
    ("XPTY", XQueryTypeError),
    ("XQTY", XQueryTypeError),
    ("FOTY", XQueryTypeError),
    ("FORG", XQueryValueError),
    ("FOCA", XQueryValueError),
    ("FOCH", XQueryValueError),
    ("FODT", XQueryValueError),
    ("FORX", XQueryValueError),
    ("FOJS", XQueryValueError),
    ("XSC", WireError),
)


def error_class(code: str) -> type[XStreamError]:
    """The exception class of a code."""
    if code in _BY_CODE:
        return _BY_CODE[code]
    for prefix, cls in _BY_PREFIX:
        if code.startswith(prefix):
            return cls
    return XQueryError


def error(code: str, message: str, place: Place | None = None, hint: str = "", excerpt: str = "") -> XStreamError:
    """The exception for a code: ``raise error("XPTY0004", "…", place)``."""
    return error_class(code)(code, message, place, hint, excerpt)


def missing_file(name: str, message: str, hint: str = "") -> MissingFileError:
    """XSC0006 for a file or folder that is not there."""
    return MissingFileError("XSC0006", message, Place(name), hint)


def file_error(fault: OSError, path: str | PathLike[str], hint: str = "") -> XStreamError:
    """XSC0006 for what the system says of a path."""
    message = fault.strerror or str(fault)
    if isinstance(fault, FileNotFoundError):
        return missing_file(fspath(path), message, hint)
    return error("XSC0006", message, Place(fspath(path)), hint)


def quoted(text: str) -> str:
    """A value in a message: between quotes, its beginning if it is long."""
    return f'"{text if len(text) <= 60 else text[:59] + "…"}"'

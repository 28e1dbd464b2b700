"""Documents one after the other in one input, each with its own declaration and DTD, or with nothing before it.

What stands between two of them, beside white space, comments and instructions: an XML declaration, a byte order mark,
or the end mark of NETCONF (RFC 6242) and of many logs. They are documents of one encoding.

>>> between(b"]]>]]><a/>"), between(b"<?xml version='1.0'?><a/>"), between(b"<a/>"), between(b"]]>")
(6, 21, 0, None)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from warnings import warn
from xml.parsers.expat import ExpatError, ParserCreate

from xstreamcast.errors import DocumentWarning, Place, error

END_MARK: Final = b"]]>]]>"
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
MANY_HINT: Final = "another document begins here; if that is meant, say so: --many, many=True"
_DECLARATION: Final = re.compile(rb"<\?xml[ \t\r\n][^?>]*\?>")
_ENCODING: Final = re.compile(rb"""encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)""")
_LONGEST: Final = 1024  # of a declaration
_ATTRIBUTE: Final = rb"""[ \t\r\n]+[^\s=<>/"']+[ \t\r\n]*=[ \t\r\n]*(?:"[^"<]*"|'[^'<]*')"""
_ROOT: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(<\?xml[ \t\r\n][^?>]*\?>)?(?:[ \t\r\n]+|<!--[^-]*-->)*"
    rb"<([A-Za-z_][A-Za-z0-9_.:-]*)(?:%b)*[ \t\r\n]*>" % _ATTRIBUTE
)
"""The beginning of most documents: a declaration, comments, the tag of a root element that is not empty."""


def between(head: bytes, encoding: str = "utf-8", name: str = "") -> int | None:
    """How many of the next bytes stand between documents; None where that cannot be told yet.

    XSC0001 for a declaration that is malformed, or of another encoding than ``encoding``, which the input has.
    """
    for mark in (END_MARK, BYTE_ORDER_MARK):
        if head.startswith(mark):
            return len(mark)
        if mark.startswith(head):
            return None
    if b"<?xml ".startswith(head[:6]) and len(head) < 6:
        return None
    if not re.match(rb"<\?xml[ \t\r\n]", head):
        return 0
    declaration = _DECLARATION.match(head)
    if declaration is None and len(head) < _LONGEST:
        return None
    if declaration is None or not _accepted(declaration[0]):
        raise error("XSC0001", "malformed XML declaration", Place(name), 'write <?xml version="1.0"?>')
    declared = _ENCODING.search(declaration[0])
    said = declared[1].decode("ascii", "replace").lower() if declared else encoding
    if _plain(said) != _plain(encoding):
        message = f"a document declared as {said} after one of {encoding}"
        raise error("XSC0001", message, Place(name), "documents in one file have one encoding")
    return declaration.end()


def _accepted(declaration: bytes) -> bool:
    """Whether a parser takes it; what encoding it says is looked at elsewhere."""
    try:
        ParserCreate("utf-8").Parse(declaration + b"<a/>", True)
    except ExpatError:
        return False
    return True


def _plain(encoding: str) -> str:
    """Encodings that are read in the same way have one name."""
    short = encoding.lower().replace("-", "").replace("_", "")
    if short in ("utf8", "ascii", "usascii"):
        return "utf8"
    return short.removesuffix("le").removesuffix("be") if short.startswith("utf") else short


def begins_document(head: bytes) -> bool:
    """Whether a document may begin so, after another."""
    return head.startswith((END_MARK, BYTE_ORDER_MARK, b"<?xml", b"<!DOCTYPE")) or bool(
        re.match(rb"<[^\s!?/<>&]", head)
    )


def surely_one(head: bytes, whole: bool) -> bool:
    """Whether the beginning of an input, or the ``whole`` of it, can be seen not to have a second document.

    That is so where the end tag of the root element is not in it, or nothing comes behind the first that looks so.

    >>> surely_one(b"<a><b/>", whole=False), surely_one(b"<a><b/></a> ", whole=True), surely_one(b"<a></a><a/>", True)
    (True, True, False)
    """
    begun = _ROOT.match(head)
    if begun is None:
        return False
    declared = _ENCODING.search(begun[1] or b"")
    if declared is not None and _plain(declared[1].decode("ascii", "replace")) != "utf8":
        return False
    end = re.search(b"</" + re.escape(begun[2]), head)  # half the time of ``find``
    return end is None or (whole and not head[end.start() :].partition(b">")[2].strip())


def told_bare(place: Place | None) -> None:
    """Warn that a root element follows another with nothing between them: it may not be meant."""
    warn(
        f"{place} a second root element: it is taken for a document of its own "
        "(hint: a document has one; documents that follow each other begin with <?xml …?>, or end with ]]>]]>)",
        DocumentWarning,
        stacklevel=2,
    )


def another(rest: bytes, pieces: Pieces) -> bool:
    """Whether another document begins with ``rest``, after one that has ended; it is then given back, else not."""
    marks = (END_MARK, BYTE_ORDER_MARK, b"<?xml", b"<!DOCTYPE")
    while any(mark.startswith(rest) for mark in marks) and (piece := next(pieces, None)) is not None:
        rest += piece
    found = begins_document(rest)
    if found:
        pieces.give_back(rest)
    return found


class Pieces:
    """Chunks; what was taken too much is given back."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._back: list[bytes] = []

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        return self._back.pop() if self._back else next(self._chunks)

    def give_back(self, piece: bytes) -> None:
        """Have the next chunk be this."""
        if piece:
            self._back.append(piece)


class Fed:
    """What a parser was fed last: from where its root element ended, if it has."""

    def __init__(self) -> None:
        self.size = 0
        self._kept = b""

    def take(self, chunk: bytes, ended: bool) -> bytes:
        """The next chunk goes in; ``ended``: the root element had ended before it."""
        self._kept = self._kept + chunk if ended else chunk
        self.size += len(chunk)
        return chunk

    def rest(self, index: int) -> bytes:
        """What was fed from a byte on."""
        return self._kept[index - self.size + len(self._kept) :]

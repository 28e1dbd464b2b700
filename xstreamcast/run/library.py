"""The doors of an evaluation: documents, texts and modules from files, Python values as items and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from xstreamcast.errors import XStreamError, error
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.python_values import atomic_of, moment
from xstreamcast.model.tree import Node
from xstreamcast.run.tables import rows_of
from xstreamcast.scan.archives import document_at, is_document, uri_at
from xstreamcast.scan.encoding import open_input
from xstreamcast.scan.foreign import from_foreign, is_foreign
from xstreamcast.scan.given import binary, is_open, is_text
from xstreamcast.scan.parse import parse, parse_file

if TYPE_CHECKING:
    from xstreamcast.scan.external import External

_NO_SEQUENCE: Final = (Node, FunctionItem, str, bytes, bytearray, memoryview, Mapping)
"""Classes whose values can be iterated in Python, and are one item."""


# ------------------------------------------------------------------------------------------------------- files


def path_of(uri: str) -> Path | None:
    """The local file of a URI or a plain path; None if it is somewhere else."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if not parts.scheme or len(parts.scheme) == 1:
        return Path(unquote(uri))
    return None


def file_modules(uri: str, locations: tuple[str, ...], base: str | None) -> Sequence[tuple[str, str]]:
    """Library modules from the local files that an import names after ``at``."""
    found = []
    for location in locations:
        absolute = urljoin(base, location) if base else location
        path = path_of(absolute)
        if path is not None and path.is_file():
            found.append((absolute, path.read_text(encoding="utf-8")))
    return found


class Library:
    """Documents by name: those given, else local files; each is read once."""

    def __init__(self, base_uri: str | None, given: Mapping[str, Any], external: External | None = None) -> None:
        self.base_uri, self.external = base_uri, external
        self.given = {name: given_document(source) for name, source in given.items()}
        self.known: dict[str, Node] = {}

    def document(self, uri: str) -> Node:
        """The document of ``doc(uri)``."""
        found = self.known.get(uri)
        if found is None:
            found = self.known[uri] = self._read(uri)
        return found

    def absolute(self, uri: str) -> str:
        """A URI as ``doc(uri)`` resolves it."""
        return urljoin(self.base_uri, uri) if self.base_uri else uri

    def source(self, uri: str) -> Any:
        """The source of ``doc(uri)``, as it was given, or a local file's path; None if there is none."""
        for name, source in self.given.items():
            if name == uri or (self.base_uri and urljoin(self.base_uri, name) == uri):
                return source
        path = path_of(uri)
        try:
            return None if path is None else document_at(path)
        except XStreamError:  # an archive of several: the query tells, if it gets to ask for it
            return None

    def give(self, uri: str, source: Any) -> None:
        """Have ``doc(uri)`` find this."""
        self.given = {uri: source} | {name: other for name, other in self.given.items() if name != uri}

    def _read(self, uri: str) -> Node:
        for name, source in self.given.items():
            if name == uri or (self.base_uri and urljoin(self.base_uri, name) == uri):
                given = document(source, self.external)
                if isinstance(given, Node):
                    return given
                hint = "a path, XML as text or bytes, an open file, a tree; several are a collection: collections="
                raise error("FODC0002", f"what was given for {uri} is no document", hint=hint)
        path = path_of(uri)
        try:
            found = None if path is None else document_at(path)
        except XStreamError as failure:
            raise error("FODC0002", failure.message, failure.place, failure.hint) from None
        if found is None:
            raise error("FODC0002", f"no document at {uri}", hint="name it with docs= or --doc")
        try:
            return parse_file(found, uri if found == path else None, self.external)
        except XStreamError as failure:
            raise error("FODC0002", f"{uri} is not XML: {failure.message}", failure.place) from failure

    def text(self, uri: str, encoding: str | None) -> str:
        """The text of ``unparsed-text(uri)``: local files only."""
        path = path_of(uri)
        if path is None or not path.is_file():
            raise error("FOUT1170", f"no text at {uri}", hint="the network is not read")
        try:
            return path.read_bytes().decode(encoding or "utf-8-sig")
        except UnicodeDecodeError as failure:
            raise error("FOUT1200" if encoding is None else "FOUT1190", f"{uri}: {failure}") from None


def document(source: Any, external: External | None = None) -> Item:
    """A document (or any item) from what Python holds: see :func:`xstreamcast.query`."""
    read = partial(parse, many=True, external=external)
    if isinstance(source, Node):
        return source
    if isinstance(source, str):
        return read(source.lstrip("\ufeff \t\r\n")) if is_text(source) else parse_file(source, None, external)
    if isinstance(source, PathLike):
        return parse_file(Path(source), None, external)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return read(open_input(BytesIO(bytes(source))))
    if is_open(source):
        opened = binary(source)
        if isinstance(opened, str):
            return document(opened, external)
        uri = uri_of(opened)
        return read(open_input(opened), uri, uri)
    return item_of(source)


def given_document(source: Any) -> Any:
    """The source to read bytes from, for what was given; the path of an archive as that of the document in it."""
    if isinstance(source, str | PathLike) and not is_text(source):
        return document_at(Path(source)) or source
    return binary(source)


def uri_of(source: Any) -> str | None:
    """The URI of a document that is read from a file: a path, or a file that was opened by one."""
    name = source if isinstance(source, str | PathLike) else getattr(source, "name", None)
    if not isinstance(name, str | PathLike) or not is_document(Path(name)):
        return None
    return uri_at(Path(name))


# ----------------------------------------------------------------------------------------- Python values and items


def items_of(value: Any) -> list[Item]:
    """A Python value as a sequence: None is the empty one; lists, tuples, sets, ranges, arrays, Series and whatever
    else gives its members one by one are sequences of these, in which a list is an XQuery array; a table is its rows,
    as maps."""
    if value is None:
        return []
    rows = rows_of(value)
    if rows is not None:
        value = rows
    if isinstance(value, _NO_SEQUENCE) or is_foreign(value) or not isinstance(value, Iterable):
        return [item_of(value)]
    return [item_of(member) for member in value if member is not None]


def item_of(value: Any) -> Item:
    """A Python value as an item; XPTY0004 if there is none for it."""
    if isinstance(value, Node | FunctionItem):
        return value
    if isinstance(value, Enum):
        return item_of(value.value)
    atomic = atomic_of(value)
    if atomic is not None:
        return atomic
    if isinstance(value, Mapping):
        return Map((item_of(key), items_of(member)) for key, member in value.items())
    if isinstance(value, (list, tuple)):
        return Array(items_of(member) for member in value)
    if is_foreign(value):
        return from_foreign(value)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return item_of(value.item())
    kind = type(value)
    raise error(
        "XPTY0004",
        f"no XQuery value stands for a {kind.__module__}.{kind.__qualname__}".replace("builtins.", ""),
        hint="there are some for numbers, text, dates, dicts, lists, and trees of lxml and ElementTree",
    )


def moment_of(now: str | datetime | dt.DateTime | None) -> dt.DateTime:
    """The current time of an evaluation; times without a zone are UTC."""
    if now is None:
        now = datetime.now(UTC)
    if isinstance(now, str):
        text = now if "T" in now else f"{now}T00:00:00"
        parsed = dt.parse_moment(dt.DateTime, text)
        if parsed is None:
            raise error("FORG0001", f'"{now}" is not a time', hint="write 2003-10-23T12:23:34 or 2003-10-23")
        now = parsed  # type: ignore[assignment]  # asked for this class
    elif isinstance(now, datetime):
        now = moment(now)
    assert isinstance(now, dt.DateTime)
    return now if now.tz is not None else dt.DateTime(now.local, 0)

"""The doors of an evaluation: documents, texts and modules from files, Python values as items and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from functools import partial
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.registry import lookup
from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import AnyURI, Base64Binary, Item, QName, Untyped
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.interop import from_foreign, is_foreign
from xstreamcast.model.parse import parse, parse_file
from xstreamcast.model.tree import Node
from xstreamcast.model.types import type_of
from xstreamcast.run.tables import rows_of
from xstreamcast.scan.archives import document_at, is_document, uri_at
from xstreamcast.scan.encoding import open_input
from xstreamcast.scan.given import binary, is_open, is_text

if TYPE_CHECKING:
    from xstreamcast.scan.external import External

_NO_SEQUENCE: Final = (Node, FunctionItem, str, bytes, bytearray, memoryview, Mapping)
"""What can be iterated in Python, and is one item."""


def known_function(uri: str, local: str, arity: int) -> bool:
    """Whether the library has a function."""
    return lookup(uri, local, arity) is not None


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
        """What ``doc(uri)`` finds."""
        found = self.known.get(uri)
        if found is None:
            found = self.known[uri] = self._read(uri)
        return found

    def absolute(self, uri: str) -> str:
        """A URI as ``doc(uri)`` resolves it."""
        return urljoin(self.base_uri, uri) if self.base_uri else uri

    def source(self, uri: str) -> Any:
        """What is read for ``doc(uri)``, as it was given, or a local file's path; None if there is none."""
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
        """What ``unparsed-text(uri)`` reads: local files only."""
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
    """What is read as bytes, for what was given; the path of an archive as that of the document in it."""
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
    try:
        type_of(value)
        return value
    except KeyError:
        pass
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return dt.moment(dt.Date, value.year, value.month, value.day, 0, None)
    if isinstance(value, time):
        return dt.parse_moment(dt.Time, value.isoformat())
    if isinstance(value, timedelta):
        whole = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        return dt.day_time(whole * 1000)
    if isinstance(value, bytes):
        return Base64Binary(value)
    if isinstance(value, Path):
        return AnyURI(value.absolute().as_uri())
    if isinstance(value, Mapping):
        return Map((item_of(key), items_of(member)) for key, member in value.items())
    if isinstance(value, (list, tuple)):
        return Array(items_of(member) for member in value)
    if is_foreign(value):
        return from_foreign(value)
    if isinstance(value, Enum):
        return item_of(value.value)
    for plain_class in (str, int, float):
        if isinstance(value, plain_class):  # of a class of somebody's own
            return plain_class(value)
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        return item_of(value.item())
    kind = type(value)
    raise error(
        "XPTY0004",
        f"no XQuery value stands for a {kind.__module__}.{kind.__qualname__}".replace("builtins.", ""),
        hint="there are some for numbers, text, dates, dicts, lists, and trees of lxml and ElementTree",
    )


def _moment(value: datetime) -> dt.DateTime:
    ticks = ((value.hour * 60 + value.minute) * 60 + value.second) * dt.SECOND + value.microsecond * 1000
    offset = value.utcoffset()
    zone = None if offset is None else int(offset.total_seconds()) // 60
    made = dt.moment(dt.DateTime, value.year, value.month, value.day, ticks, zone)
    assert isinstance(made, dt.DateTime)
    return made


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
        now = _moment(now)
    assert isinstance(now, dt.DateTime)
    return now if now.tz is not None else dt.DateTime(now.local, 0)


def plain(item: Item) -> Any:
    """An item as a plain Python value where there is a natural one."""
    kind = type(item)
    if kind in (str, int, float, bool, Decimal) or isinstance(item, Node):
        return item
    if isinstance(item, Untyped | AnyURI) or (isinstance(item, str) and kind is not str):
        return str(item)
    if isinstance(item, int):
        return int(item)
    if isinstance(item, float):
        return float(item)
    if isinstance(item, Map):
        return {plain(key): unwrapped(value) for key, value in item.items()}
    if isinstance(item, Array):
        return [unwrapped(member) for member in item.members()]
    if isinstance(item, dt.DateTime | dt.Date | dt.Time):
        return _plain_moment(item)
    if isinstance(item, dt.DayTimeDuration):
        return timedelta(microseconds=item.ticks / 1000)
    if isinstance(item, Base64Binary):
        return item.octets
    if isinstance(item, QName):
        return str(item)
    return item


def unwrapped(value: list[Item]) -> Any:
    """A sequence inside a map or array: one item as itself, none as None, more as a list."""
    if len(value) == 1:
        return plain(value[0])
    return [plain(item) for item in value] if value else None


def _plain_moment(item: dt.Moment) -> Any:
    zone = None if item.tz is None else timezone(timedelta(minutes=item.tz))
    ticks = item.second_ticks
    try:
        if isinstance(item, dt.Date):
            return date(*item.date())
        clock = time(item.hour, item.minute, ticks // dt.SECOND, ticks % dt.SECOND // 1000, zone)
        return clock if isinstance(item, dt.Time) else datetime.combine(date(*item.date()), clock)
    except ValueError:  # a year that Python's datetime has not
        return str(item)

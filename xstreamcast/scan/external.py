"""DTDs outside of documents: files that were named, by themselves or in an XML catalog, and no others.

A non-validating processor takes entities and defaults of attributes from them. Most DTDs of data only name characters:
then ``&uuml;`` gives way to ``ü`` while the document is scanned; else expat resolves the document, as it does with a
DTD inside of it. The network is never asked, nor is a file that nobody named.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     path = Path(folder, "d.dtd")
...     _ = path.write_text('<!ENTITY uuml "&#252;"><!ELEMENT a ANY>')
...     simple = named(path).simple(b"<!DOCTYPE a SYSTEM 'd.dtd'>", "a.xml")
>>> b"".join(spelled([b"<a>&u", b"uml;<![CDATA[&uuml;]]></a>"], simple, "a.xml")).decode()
'<a>ü<![CDATA[&uuml;]]></a>'
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from os import PathLike
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit
from xml.parsers import expat

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, error, file_error
from xstreamcast.scan.normalise import EXPANSION_FREE, EXPANSION_LIMIT

DTD_LIMIT: Final = 16 << 20
"""No file of declarations is larger than this."""
_CATALOG: Final = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
_NESTED: Final = 16  # catalogs in catalogs
_PREDEFINED: Final = frozenset(("amp", "lt", "gt", "quot", "apos"))
_TOKENS: Final = re.compile(
    rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>|&([^\s;<&#]+);"
    rb"|(<!--|<!\[|<\?|<\Z|<!\Z|<!-\Z|&[^\s;<&]*\Z)",
    re.DOTALL,
)
Simple = Mapping[bytes, bytes]
"""Entities that are characters: by name, as they may stand in text and in attributes."""


@dataclass(frozen=True)
class External:
    """The files that may be read for a document."""

    dtd: Path | None
    catalog: Path | None

    @cached_property
    def _entries(self) -> dict[tuple[str, str], str]:
        return {} if self.catalog is None else dict(_catalogued(self.catalog, 0))

    def file_of(self, public: str | None, system: str | None) -> Path | None:
        """The file of an identifier; of a document type itself the DTD that was named, if one was."""
        entries = self._entries
        places = [entries.get(("system", system or "")), entries.get(("public", _spaced(public or "")))]
        for (kind, begin), target in sorted(entries.items(), key=lambda entry: -len(entry[0][1])):
            if system and kind == "rewriteSystem" and system.startswith(begin):
                places.append(target + system[len(begin) :])
            elif system and kind == "systemSuffix" and system.endswith(begin):
                places.append(target)
        return next((Path(unquote(urlsplit(place).path)) for place in places if place), None)

    def read(self, public: str | None, system: str | None, place: Place) -> bytes:
        """The declarations that an identifier stands for; XSC0001 if no file was named for it."""
        path = self.file_of(public, system)
        if path is None:
            hint = "name its file in a catalog: --catalog FILE, catalog=; the network is not read"
            raise error("XSC0001", f"external entity {system or public!r}", place, hint)
        return _text_of(path)

    def subset(self, public: str | None, system: str | None, place: Place) -> bytes:
        """The external subset of a document type; without a DTD and without an entry for it there is none."""
        if self.dtd is not None:
            return _text_of(self.dtd)
        return b"" if self.file_of(public, system) is None else self.read(public, system, place)

    def simple(self, doctype: bytes, name: str) -> Simple | None:
        """The entities of a document type, if that is all that a document takes from its DTD."""
        entities: dict[bytes, bytes] = {}
        other: list[str] = []
        parser = expat.ParserCreate("utf-8")

        def entity(of: str, parameter: bool, value: str | None, *outside: object) -> None:
            if not parameter and of not in _PREDEFINED:
                if value is None or "<" in value or "&" in value:
                    other.append(of)
                entities.setdefault(of.encode(), "".join(map(_spelled, value or "")).encode())

        def attribute(_: str, of: str, kind: str, default: str | None, __: int) -> None:
            if kind != "CDATA" or default is not None:
                other.append(of)

        parser.EntityDeclHandler = entity
        parser.AttlistDeclHandler = attribute
        self.attach(parser, name)
        try:
            parser.Parse(doctype + b"<a/>", True)
        except expat.ExpatError:
            return None  # who resolves the document tells
        finally:
            parser.ExternalEntityRefHandler = None  # it knows the parser
        return None if other else entities

    def attach(self, parser: Any, name: str) -> None:
        """Have a parser read the DTD, and what it names."""

        def outside(context: str, _: str | None, system: str | None, public: str | None) -> int:
            place = Place(name, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
            own = system is None or (len(reading) == 1 and (system, public) in doctypes)
            inner = reading[-1].ExternalEntityParserCreate(context)
            reading.append(inner)
            inner.Parse((self.subset if own else self.read)(public, system, place), True)
            reading.pop()
            return 1

        def doctype(of: str, system: str | None, public: str | None, internal: int) -> None:
            doctypes.append((system, public))
            if before is not None:
                before(of, system, public, internal)

        reading, before = [parser], parser.StartDoctypeDeclHandler
        doctypes: list[tuple[str | None, str | None]] = []
        parser.StartDoctypeDeclHandler = doctype
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
        parser.UseForeignDTD(self.dtd is not None)
        parser.ExternalEntityRefHandler = outside


def named(dtd: str | PathLike[str] | None, catalog: str | PathLike[str] | None = None) -> External | None:
    """The DTDs and catalogs that may be read if these are named; None if none is."""
    if dtd is None and catalog is None:
        return None
    made = External(None if dtd is None else Path(dtd), None if catalog is None else Path(catalog))
    if made.dtd is not None:
        _text_of(made.dtd)  # that it is there is known before anything is read
    _ = made._entries
    return made


def spelled(chunks: Iterable[bytes], simple: Simple, name: str) -> Iterator[bytes]:
    """Chunks of UTF-8 XML with characters in place of entities; not in comments, CDATA sections and instructions."""
    rest = b""
    taken = given = 0
    for chunk in chunks:
        taken += len(chunk)
        data = rest + chunk if rest else chunk
        made, rest = _replaced(data, simple)
        given += len(made)
        if given > EXPANSION_FREE + EXPANSION_LIMIT * taken:
            hint = f"more than {EXPANSION_LIMIT} times the document is refused"
            raise error("XSC0001", "entities expand without bound", Place(name), hint)
        if made:
            yield made
    if rest:
        yield rest


def _replaced(data: bytes, simple: Simple) -> tuple[bytes, bytes]:
    if b"&" not in data and b"<!" not in data and b"<?" not in data and not data.endswith(b"<"):
        return data, b""
    parts, at = [], 0
    for token in _TOKENS.finditer(data):
        if token[2] is not None:
            parts.append(data[at : token.start()])
            return b"".join(parts), data[token.start() :]
        value = None if token[1] is None else simple.get(token[1])
        if value is not None:
            parts += (data[at : token.start()], value)
            at = token.end()
    return (b"".join([*parts, data[at:]]) if parts else data), b""


def _spelled(character: str) -> str:
    return character if character.isalnum() else f"&#{ord(character)};"


@lru_cache(maxsize=16)
def _loaded(path: Path, size: int, written: int) -> bytes:
    return path.read_bytes()


def _text_of(path: Path) -> bytes:
    try:
        state = path.stat()
        if state.st_size > DTD_LIMIT:
            hint = f"a DTD of more than {DTD_LIMIT >> 20} MB is refused"
            raise error("XSC0001", "the DTD is too large", Place(str(path)), hint)
        return _loaded(path, state.st_size, state.st_mtime_ns)
    except OSError as fault:
        raise file_error(fault, path, "a DTD that was named, or that a catalog names") from None


def _spaced(public: str) -> str:
    return " ".join(public.split())


def _catalogued(path: Path, depth: int) -> Iterator[tuple[tuple[str, str], str]]:
    """The entries of an OASIS XML catalog, and of those it goes on with; those that come first count."""
    from xstreamcast.scan.parse import parse

    if depth > _NESTED:
        raise error("XSC0001", "catalogs name each other without end", Place(str(path)))
    found: dict[tuple[str, str], str] = {}
    further: list[str] = []
    root = parse(_text_of(path), name=str(path))
    bases = {root.row: path.absolute().as_uri()}
    for node in root.descendants():
        if node.kind != 1:
            continue
        given = {attribute.local: attribute.string for attribute in node.attributes()}
        above = node.parent
        base = bases[node.row] = urljoin(bases[above.row if above is not None else root.row], given.get("base", ""))
        if node.uri != _CATALOG:
            continue
        for kind, key, target in (
            ("system", "systemId", "uri"), ("public", "publicId", "uri"),
            ("rewriteSystem", "systemIdStartString", "rewritePrefix"), ("systemSuffix", "systemIdSuffix", "uri"),
        ):  # fmt: skip
            if node.local == kind and key in given and target in given:
                place = urljoin(base, given[target])
                if urlsplit(place).scheme != "file":
                    raise error("XSC0001", f"{place} is no local file", Place(str(path)), "the network is not read")
                found.setdefault((kind, _spaced(given[key]) if kind == "public" else given[key]), place)
        if node.local == "nextCatalog" and "catalog" in given:
            further.append(urljoin(base, given["catalog"]))
    for place in further:
        for entry, there in _catalogued(Path(unquote(urlsplit(place).path)), depth + 1):
            found.setdefault(entry, there)
    yield from found.items()

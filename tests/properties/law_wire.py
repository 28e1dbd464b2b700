"""The wire's text as changes, for :mod:`law_t`: from docs/wire.md, with no code of the product."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

STREAM = "{urn:xstreamcast:stream}"
START = datetime.min
"""The start of time, which comes before every instant."""
CHANGES = ("filler", "repeat", "replace", "remove", "before", "after", "hide", "show", "freeze", "eos")
OURS = (None, "stream")
_IN_ATTRIBUTES = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_HEAD = re.compile(r"""\s*<(?:[^"'>]|"[^"]*"|'[^']*')*>""")


def instant(text: str) -> datetime:
    """UTC where no zone is given; a bare date is its midnight."""
    if text.strip() == "start":
        return START
    read = datetime.fromisoformat(text.strip())
    return read.astimezone(UTC).replace(tzinfo=None) if read.tzinfo else read


def written(at: datetime) -> str:
    """A time as lifespans have it."""
    if at == START:
        return "start"
    return at.isoformat().rstrip("0") if at.microsecond else at.isoformat()


@dataclass(frozen=True, slots=True)
class Element:
    """An element of a content: its name, the default namespace that it sees, its other namespaces and its attributes
    as they are to be written, but for a lifespan of its own, and what is inside."""

    name: str
    default: str
    attributes: str
    lifespan: str
    inside: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Hole:
    """Where a region goes."""

    id: int


@dataclass(frozen=True, slots=True)
class Mutable:
    """A region with its first content, as the wire has it."""

    id: int
    inside: tuple[Node, ...]


Node = str | Element | Hole | Mutable
"""A string is text, a comment or a processing instruction, as it is to be written."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change as the wire has it. ``text``: its content, by which contents are compared."""

    kind: str
    id: int | None
    target: int | None
    tsid: int | None
    version: int | None
    doc: str
    time: datetime | None
    content: tuple[Node, ...]
    text: str

    @property
    def about(self) -> set[tuple[str, int]]:
        """The regions that it speaks of."""
        return {(self.doc, id_) for id_ in (self.id, self.target) if id_ is not None}


@dataclass(frozen=True, slots=True)
class Structure:
    """The types of the tags; the root's; without one, the tags whose fillers are children of the document node."""

    types: dict[int, str]
    root: int | None
    top: frozenset[int]


@lru_cache(maxsize=4096)
def read(wire: str) -> tuple[Change | Structure, ...]:
    """The changes of a text of the wire. Those inside a content come right after the one that carries them."""
    wrapper = etree.fromstring(f'<w xmlns:stream="{STREAM[1:-1]}">{wire}</w>')
    found: list[Change | Structure] = []
    for part in wrapper:
        if isinstance(part.tag, str):
            text = _HEAD.sub("", wire, count=1).rpartition("</")[0] if len(wrapper) == 1 else _inner(part)
            found += [_structure(part)] if part.tag == f"{STREAM}structure" else _changes(part, text)
    return tuple(found)


def _inner(part: etree._Element) -> str:
    return _HEAD.sub("", etree.tostring(part, encoding="unicode", with_tail=False), count=1).rpartition("</")[0]


def _changes(part: etree._Element, text: str) -> list[Change]:
    local = str(part.tag).removeprefix(STREAM)
    if local not in CHANGES or local == part.tag:  # data that comes without a wrapper is the content of region 0
        nodes = (_node(part),)
        assert nodes[0] is not None
        return [Change("filler", 0, None, None, None, "", None, (nodes[0],), text), *_carried(part)]

    def number(name: str) -> int | None:
        return int(part.get(name, "")) if name in part.attrib else None

    time = part.get("validTime")
    change = Change(
        local,
        number("id"),
        number("target"),
        number("tsid"),
        number("version"),
        part.get("doc", ""),
        None if time is None else instant(time),
        tuple(_nodes(part)),
        text,
    )
    return [change, *_carried(part)]


def _carried(part: etree._Element) -> Iterator[Change]:
    """The updates inside a content, outermost first, in document order."""
    for inner in part:
        if _is_update(inner):
            yield from _changes(inner, _inner(inner))
        else:
            yield from _carried(inner)


def _is_update(part: etree._Element) -> bool:
    return isinstance(part.tag, str) and part.tag.startswith(STREAM) and part.tag.removeprefix(STREAM) in CHANGES


def _nodes(part: etree._Element) -> Iterator[Node]:
    if part.text:
        yield escape(part.text, {"\r": "&#13;"})
    for inner in part:
        if not _is_update(inner):
            yield _node(inner)
        if inner.tail:
            yield escape(inner.tail, {"\r": "&#13;"})


def _node(part: etree._Element) -> Node:
    if not isinstance(part.tag, str):
        return etree.tostring(part, encoding="unicode", with_tail=False)
    if part.tag == f"{STREAM}hole":
        return Hole(int(part.get("id", "")))
    if part.tag == f"{STREAM}mutable":
        return Mutable(int(part.get("id", "")), tuple(_nodes(part)))
    names: dict[str | None, str] = {uri: f"{prefix}:" for prefix, uri in part.nsmap.items() if prefix is not None}
    names |= {None: "", "http://www.w3.org/XML/1998/namespace": "xml:"}
    written = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in part.nsmap.items() if prefix not in OURS)
    lifespan = ""
    for key, value in part.attrib.items():
        it = etree.QName(key)
        attribute = f" {names[it.namespace]}{it.localname}={quoteattr(str(value), _IN_ATTRIBUTES)}"
        if key in ("vtFrom", "vtTo"):
            lifespan += attribute
        else:
            written += attribute
    name = f"{part.prefix}:" if part.prefix else ""
    name += etree.QName(part).localname
    return Element(name, part.nsmap.get(None, ""), written, lifespan, tuple(_nodes(part)))


def _structure(part: etree._Element) -> Structure:
    tags = [tag for tag in part.iter("{*}tag", "tag") if tag.get("id") is not None]
    types = {int(tag.get("id", "")): tag.get("type", "") for tag in tags}
    top = [int(tag.get("id", "")) for tag in part if tag.get("id") is not None]
    if len(top) == 1:
        return Structure(types, top[0], frozenset())
    return Structure(types, None, frozenset(top or [int(tag.get("id", tag.get("ref", ""))) for tag in part[0]]))

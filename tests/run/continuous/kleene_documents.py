"""What the reference of emission modes is about: T with its open holes, values with ⊥, and how they are written."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

from xstreamcast.cast.regions import Region, Regions
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.time import NOW, format_instant
from xstreamcast.wire.content import write_content

HOLE = f"{{{STREAM}}}hole"

# ------------------------------------------------------------------------------------------------------------ documents


@dataclass(eq=False)
class Element:
    name: str
    attributes: dict[str, str]
    children: list[Any] = field(default_factory=list)
    parent: Element | None = None
    living: bool = False
    """A further version may end its life."""


@dataclass(eq=False)
class Text:
    text: str
    parent: Element | None = None


@dataclass(eq=False)
class Attribute:
    name: str
    value: str
    parent: Element


@dataclass(eq=False)
class Hole:
    """An open one."""

    tag: int | None


class Marked:
    """T of a table of regions, with the holes that are open."""

    def __init__(self, regions: Regions, ended: bool) -> None:
        self.regions = regions
        self.structure = regions.structure
        self.ended = ended

    def document(self) -> Element:
        root = Element("", {})
        tag = None if self.structure is None else self.structure.root
        self.region(root, self.regions.table.get(("", 0)), tag, frozenset({0}))
        _join_texts(root)
        return root

    def region(self, parent: Element, region: Region | None, tag: int | None, path: frozenset[int]) -> None:
        known = None if self.structure is None or tag is None else self.structure.tags.get(tag)
        timed = known is not None and known.timed
        frozen = region is not None and region.frozen
        filled = region is not None and region.filled
        is_open = not self.ended and not frozen and (timed or not filled)
        if is_open and not (region is not None and region.hidden):
            parent.children.append(Hole(None if known is None else known.id))
        if region is None or region.hidden:
            return
        now = self.regions.now
        seen: list[tuple[tuple[int, int], Any, tuple[str, str] | None, bool]] = []
        if region.current is not None and region.current.content is not None:
            seen.append(((-1, 0), region.current, None, False))
        for (tsid, begin), filling in region.versions.items():
            if begin <= now and filling.content is not None:
                later = [other for of, other in region.versions if of == tsid and begin < other <= now]
                life = format_instant(begin), format_instant(min(later, default=NOW))
                seen.append(((begin, filling.version or 0), filling, life, is_open))
        for (_, at, version, _), filling in region.events.items():
            if at <= now:
                seen.append(((at, version), filling, (format_instant(at), format_instant(at)), False))
        for _, filling, span, living in sorted(seen, key=lambda one: one[0]):
            self.content(parent, self.regions.load(filling), span, living, path)

    def content(
        self, parent: Element, content: Any, span: tuple[str, str] | None, living: bool, path: frozenset[int]
    ) -> None:
        written = b"<w xmlns:stream='%s'>%s</w>" % (STREAM.encode(), write_content(content, {}))
        for child in self.children(parent, ElementTree.fromstring(written), path):
            if isinstance(child, Element) and span is not None:
                child.attributes |= {"vtFrom": span[0], "vtTo": span[1]}
                child.living = living

    def children(self, parent: Element, parsed: ElementTree.Element, path: frozenset[int]) -> Iterator[Any]:
        if parsed.text:
            parent.children.append(Text(parsed.text, parent))
        for child in parsed:
            if child.tag == HOLE:
                number = int(child.attrib["id"])
                if number not in path:
                    tag = int(child.attrib["tsid"]) if "tsid" in child.attrib else None
                    self.region(parent, self.regions.table.get(("", number)), tag, path | {number})
            else:
                made = Element(child.tag, dict(child.attrib), [], parent)
                parent.children.append(made)
                for _ in self.children(made, child, path):
                    pass
                yield made
            if child.tail:
                parent.children.append(Text(child.tail, parent))


def _join_texts(element: Element) -> None:
    joined: list[Any] = []
    for child in element.children:
        if isinstance(child, Text) and joined and isinstance(joined[-1], Text):
            joined[-1].text += child.text
        else:
            joined.append(child)
        if isinstance(child, Element):
            _join_texts(child)
    element.children = joined


# --------------------------------------------------------------------------------------------------------------- values


@dataclass
class Entry:
    """``sure``: it is there for certain. An entry without an item is a doubt; ``bottom``: ⊥."""

    item: Any = None
    sure: bool = True
    bottom: bool = False
    tag: int | None = None


BOTTOM = Entry(None, False, True)
Value = list[Entry]


def one(item: Any) -> Value:
    return [Entry(item)]


def known(value: Value) -> bool:
    """Whether it is sure which items there are."""
    return all(entry.sure for entry in value)


def items(value: Value) -> list[Any]:
    return [entry.item for entry in value if entry.item is not None]


def bottoms(value: Value) -> bool:
    return any(entry.bottom for entry in value)


def whole(item: Any, copy: bool = False) -> bool:
    """Whether nothing is open in an item: of its text, or of all of it."""
    if isinstance(item, Attribute):
        return item.name != "vtTo" or not item.parent.living
    if not isinstance(item, Element):
        return True
    if copy and item.living:
        return False
    return all(not isinstance(child, Hole) and whole(child, copy) for child in item.children)


def settled(value: Value, copy: bool = False) -> bool:
    return known(value) and all(whole(item, copy) for item in items(value))


def text(item: Any) -> Any:
    """The atomic value; of a node, its text."""
    if isinstance(item, Element):
        return Untyped("".join(text(child) for child in item.children if not isinstance(child, Hole)))
    if isinstance(item, Text):
        return Untyped(item.text)
    return Untyped(item.value) if isinstance(item, Attribute) else item


class Untyped(str):
    """A text of a document."""


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


def compared(op: str, left: Any, right: Any) -> bool:
    left, right = text(left), text(right)
    if isinstance(left, str) != isinstance(right, str):
        left, right = float(left), float(right)
    return OPERATORS[op](left, right)


def some(value: Value) -> bool | None:
    """Whether there is an item: for certain, perhaps, or certainly not."""
    if any(entry.sure for entry in value):
        return True
    return None if items(value) or bottoms(value) else False


def doubted(entry: Entry) -> Entry:
    return Entry(entry.item, False, entry.bottom, entry.tag)


def attribute_of(node: Element, key: str, value: str) -> Attribute:
    kept: dict[str, Attribute] = node.__dict__.setdefault("held", {})
    return kept.setdefault(key, Attribute(key, value, node))


# -------------------------------------------------------------------------------------------------------- serialisation


def built(name: str, attributes: dict[str, str], content: list[Any]) -> Element:
    made = Element(name, dict(attributes))
    blank = False
    for item in content:
        if isinstance(item, Element | Text):
            made.children.append(Text(item.text) if isinstance(item, Text) else item)
            blank = False
        elif isinstance(item, Attribute):
            made.attributes[item.name] = item.value
        else:
            made.children.append(Text((" " if blank else "") + printed(item)))
            blank = True
    return made


def printed(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "NaN" if value != value else str(int(value)) if value == int(value) else str(value)
    return str(value)


def serialised(found: list[Any]) -> str:
    parts: list[str] = []
    blank = False
    for item in found:
        node = isinstance(item, Element | Text | Attribute)
        if not node and blank:
            parts.append(" ")
        parts.append(written(item) if node else escape(printed(item)))
        blank = not node
    return "".join(parts)


def written(item: Any) -> str:
    if isinstance(item, Text):
        return escape(item.text)
    if isinstance(item, Attribute):
        raise AssertionError("an attribute has no text of its own")
    content = "".join(written(child) for child in item.children if not isinstance(child, Hole))
    if not item.name:
        return content
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in item.attributes.items())
    return f"<{item.name}{attributes}>{content}</{item.name}>" if content else f"<{item.name}{attributes}/>"

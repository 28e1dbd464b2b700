"""Inferring a tag structure from documents, or from a DTD, in one pass; and proposing which tags become fragments.

From documents every path gets a tag of its own, except that an element inside one of the same name is that tag again,
so recursive documents have finite structures. A DTD's content models know no context: there every name is one tag.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from xml.parsers import expat

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.depth import deepest, too_deep
from xstreamcast.model.structure import TYPES, Structure, Tag, TagType
from xstreamcast.model.time import parse_instant
from xstreamcast.scan.encoding import open_input as open_file
from xstreamcast.scan.encoding import plain_xml, read_chunks, source_name
from xstreamcast.scan.given import Given, each_of, readable
from xstreamcast.scan.normalise import parse_fault

WORTH_A_FRAGMENT: Final = 256
"""Mean size in bytes from which a repeated element is proposed as a fragment."""
MANY_TAGS: Final = 5000
"""Beyond so many tags, paths are no longer told apart: a name met again anywhere is the same tag."""


@dataclass(slots=True, eq=False)
class _Seen:
    """What the pass has seen of one tag."""

    name: str
    children: dict[str, _Seen] = field(default_factory=dict)
    count: int = 0
    size: int = 0
    repeats: bool = False
    timed: int = 0
    instants: int = 0

    @property
    def type(self) -> TagType | None:
        """Timed if every element of it carries a lifespan; an event if every lifespan is one instant."""
        if self.count and self.timed == self.count:
            return "event" if self.instants == self.count else "temporal"
        return None

    @property
    def proposed(self) -> bool:
        """Record-like: repeated, with elements in it, and not tiny."""
        return self.repeats and bool(self.children) and self.size >= WORTH_A_FRAGMENT * self.count


class _Summary:
    """The union of all documents read so far."""

    def __init__(self) -> None:
        self.root: _Seen | None = None
        self.by_name: dict[str, _Seen] = {}
        self.tags = 0
        self.prefixes: dict[str, str] = {}

    def read(self, chunks: Iterable[bytes], source: str, progress: Callable[[int], None]) -> None:
        parser = expat.ParserCreate("utf-8", " ")
        stack: list[_Seen] = []
        above: dict[str, _Seen] = {}  # the innermost open element of every name
        outer: list[_Seen | None] = []
        starts: list[int] = []
        met: list[set[_Seen] | None] = [None]
        most = deepest()

        def start(name: str, attributes: dict[str, str]) -> None:
            if stack:
                parent = stack[-1]
                seen = parent.children.get(name)
                if seen is None:
                    seen = parent.children[name] = above.get(name) or self.tag(name)
            else:
                seen = self.top(name, source)
            siblings = met[-1]
            if siblings is None:
                met[-1] = {seen}
            elif seen in siblings:
                seen.repeats = True
            else:
                siblings.add(seen)
            seen.count += 1
            if "vtFrom" in attributes and _is_lifespan(attributes):
                seen.timed += 1
                seen.instants += attributes["vtFrom"] == attributes["vtTo"]
            if len(stack) >= most:
                raise too_deep(Place(source, parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
            stack.append(seen)
            outer.append(above.get(name))
            above[name] = seen
            met.append(None)
            starts.append(parser.CurrentByteIndex)

        def end(name: str) -> None:
            seen = stack.pop()
            seen.size += parser.CurrentByteIndex - starts.pop()
            met.pop()
            before = outer.pop()
            if before is None:
                del above[name]
            else:
                above[name] = before

        def declare(prefix: str | None, uri: str | None) -> None:
            if prefix and uri:
                self.prefixes.setdefault(prefix, uri)

        parser.StartElementHandler = start
        parser.EndElementHandler = end
        parser.StartNamespaceDeclHandler = declare
        try:
            for chunk in chunks:
                parser.Parse(chunk, False)
                progress(len(chunk))
            parser.Parse(b"", True)
        except expat.ExpatError as fault:
            raise parse_fault(fault, source) from None

    def tag(self, name: str) -> _Seen:
        if self.tags >= MANY_TAGS and name in self.by_name:
            return self.by_name[name]
        self.tags += 1
        seen = _Seen(name)
        self.by_name.setdefault(name, seen)
        return seen

    def top(self, name: str, source: str) -> _Seen:
        if self.root is None:
            self.root = self.tag(name)
        elif self.root.name != name:
            message = f"the root element is <{_local(name)}>, that of the first document <{_local(self.root.name)}>"
            raise error("XSC0041", message, Place(source), "documents of one structure have one root element")
        return self.root

    def structure(self) -> Structure:
        assert self.root is not None
        numbers: dict[_Seen, int] = {}
        order: list[tuple[_Seen, bool]] = []
        waiting: list[tuple[_Seen, bool]] = [(self.root, False)]
        while waiting:  # in document order; an explicit stack, for depth is the document's
            seen, inside = waiting.pop()
            if seen in numbers:
                continue
            numbers[seen] = len(numbers) + 1
            proposed = seen is not self.root and not inside and seen.proposed
            order.append((seen, proposed))
            waiting.extend((child, inside or proposed) for child in reversed(seen.children.values()))
        tags = {}
        for seen, proposed in order:
            kind: TagType = "filler" if proposed else "snapshot"
            if seen is not self.root and seen.type is not None:
                kind = seen.type
            children = tuple(numbers[child] for child in seen.children.values())
            tags[numbers[seen]] = Tag(numbers[seen], _clark(seen.name), kind, children)
        return Structure(tags, 1, "", dict(self.prefixes))


def _is_lifespan(attributes: dict[str, str]) -> bool:
    """Both ends are there and are times; other attributes may bear these names too."""
    try:
        return "vtTo" in attributes and parse_instant(attributes["vtFrom"]) <= parse_instant(attributes["vtTo"])
    except XStreamError:
        return False


def _local(name: str) -> str:
    return name.rpartition(" ")[2]


def _clark(name: str) -> str:
    uri, _, local = name.rpartition(" ")
    return f"{{{uri}}}{local}" if uri else local


def infer_structure(
    sources: Given | Iterable[Given], fragments: str | None = None, progress: Callable[[int], None] = lambda _: None
) -> Structure:
    """The structure of a document, of some documents, or of a ``.dtd`` file; ``fragments`` says which tags are
    fragments instead."""
    summary = _Summary()
    structure: Structure | None = None
    for given in each_of(sources):
        source = readable(given)
        name = source_name(source)
        if name.endswith(".dtd"):
            structure = dtd_structure(b"".join(read_chunks(open_file(source), name)), name)
        else:
            summary.read(plain_xml(source), name, progress)
    if summary.root is not None:
        if structure is not None:
            raise error("XSC0041", "documents and a DTD together", hint="give one or the other")
        structure = summary.structure()
    if structure is None:
        raise error("XSC0041", "no document to infer a structure from", hint="give a file, or - for standard input")
    return structure if fragments is None else choose_fragments(structure, fragments)


def structure_of_beginning(source: Given, limit: int = 1 << 23) -> Structure | None:
    """The structure of a document as far as its first bytes show it; None if they show nothing."""
    summary = _Summary()
    name = source_name(readable(source))

    def beginning() -> Iterator[bytes]:
        left = limit
        for chunk in plain_xml(readable(source)):
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return

    with suppress(XStreamError):  # it ends where nothing ends
        summary.read(beginning(), name, lambda _: None)
    return None if summary.root is None else summary.structure()


def choose_fragments(structure: Structure, fragments: str) -> Structure:
    """``account,transaction:event,/site//item`` → those tags are fragments, all others are not."""
    chosen: dict[int, TagType] = {}
    for item in filter(None, (part.strip() for part in fragments.split(","))):
        path, colon, kind = item.rpartition(":")
        if colon and kind not in TYPES and re.split("[/{}]", path)[-1] not in structure.prefixes:
            raise error("XSC0042", f"no type {kind!r} for {path!r}", hint=f"one of {', '.join(TYPES)}")
        if not colon or kind not in TYPES:
            path, kind = item, "filler"
        reached = structure.expand(path)
        if not reached:
            names = sorted({structure.lexical(tag.name) for tag in structure.tags.values() if tag.name})
            near = difflib.get_close_matches(path.rpartition("/")[2], names)
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names[:12])}"
            raise error("XSC0042", f"no tag {path!r} in the structure", hint=hint)
        chosen.update(dict.fromkeys(reached, TYPES[kind]))
    tags = {
        tsid: Tag(tsid, tag.name, chosen.get(tsid, "snapshot"), tag.children, tag.priority, tag.reuse)
        for tsid, tag in structure.tags.items()
    }
    return Structure(tags, structure.root, structure.stream, structure.prefixes, structure.grows)


_STAR, _PLUS = expat.model.XML_CQUANT_REP, expat.model.XML_CQUANT_PLUS


def _named(model: tuple[Any, ...], repeated: bool = False) -> Iterator[tuple[str, bool]]:
    """The names of a content model, and whether each may occur more than once."""
    _, quantifier, name, parts = model
    repeated = repeated or quantifier in (_STAR, _PLUS)
    if name is not None:
        yield name, repeated
    for part in parts:
        yield from _named(part, repeated)


def dtd_structure(data: bytes, source: str) -> Structure:
    """A structure from a DTD: every element a tag; repeated ones that hold elements are proposed, outermost only."""
    models: dict[str, dict[str, bool]] = {}
    parser = expat.ParserCreate("utf-8")

    def declared(name: str, model: tuple[Any, ...]) -> None:
        found: dict[str, bool] = {}
        for child, repeated in _named(model):
            found[child] = found.get(child, False) or repeated or child in found
        models[name] = found

    namespaces: dict[str, str] = {}

    def attribute(_element: str, name: str, _type: str, default: str | None, _required: bool) -> None:
        if name.startswith("xmlns:") and default:
            namespaces[name[6:]] = default

    def external(context: str, _base: str | None, system: str | None, _public: str | None) -> int:
        if system is not None:  # None is the DTD itself
            raise error("XSC0001", f"external entity {system!r}", Place(source), "put its declarations into the DTD")
        inner = parser.ExternalEntityParserCreate(context)
        try:
            inner.Parse(data, True)
        except expat.ExpatError as fault:
            raise parse_fault(fault, source) from None
        return 1

    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_ALWAYS)
    parser.UseForeignDTD(True)
    parser.ExternalEntityRefHandler = external
    parser.ElementDeclHandler = declared
    parser.AttlistDeclHandler = attribute
    parser.Parse(b"<x/>", True)
    if not models:
        raise error("XSC0041", "no element declarations", Place(source), "is this a DTD?")
    held = {child for name, found in models.items() for child in found if child != name}
    root = next((name for name in models if name not in held), next(iter(models)))
    for name in models:
        prefix, colon, _ = name.rpartition(":")
        if colon and prefix not in namespaces:
            hint = f'declare it: <!ATTLIST {name} xmlns:{prefix} CDATA #FIXED "…">'
            raise error("XSC0041", f"the DTD does not say what the prefix {prefix!r} means", Place(source), hint)
    return _from_models(models, root, namespaces)


def _from_models(models: dict[str, dict[str, bool]], root: str, namespaces: dict[str, str]) -> Structure:
    numbers: dict[str, int] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        if name not in numbers:
            numbers[name] = len(numbers) + 1
            waiting.extend(reversed(models.get(name, {})))
    proposed: set[str] = set()
    inside: set[str] = set()
    outermost = [root]
    while outermost:
        name = outermost.pop(0)
        if name in inside:
            continue
        inside.add(name)
        for child, repeated in models.get(name, {}).items():
            if repeated and any(grandchild != child for grandchild in models.get(child, {})) and child != root:
                proposed.add(child)
            elif child not in proposed:
                outermost.append(child)
    tags = {}
    for name, number in numbers.items():
        children = tuple(numbers[child] for child in models.get(name, {}))
        prefix, colon, local = name.rpartition(":")
        expanded = f"{{{namespaces[prefix]}}}{local}" if colon else name
        tags[number] = Tag(number, expanded, "filler" if name in proposed else "snapshot", children)
    return Structure(tags, numbers[root], "", namespaces)

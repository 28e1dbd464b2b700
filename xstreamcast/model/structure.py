"""Tag structures: the structural summary that is sent before the data (DBPL'03 §2.1, SIGMOD'04 §4.1, WebDB'05 §3).

A tag says that an element of that name may stand in that place, and how it travels:

* ``snapshot`` inside its parent's fragment (also ``embedded``),
* ``filler``   in a fragment of its own, untimed (also ``filler="true"``),
* ``temporal`` in fragments of its own that are versions, each living [vtFrom, next vtFrom),
* ``event``    in fragments of its own that are events, each at one instant,
* no type      possibly in a fragment of its own, untimed (DBPL'03's structures have no types).

Tags form a graph: a ``<tag ref="12"/>`` is the tag 12 again, so recursive documents have finite structures. Names are
kept as ``{uri}local``; in the text they are QNames under the declarations in scope.

>>> credit = parse_structure('''<stream:structure><tag id="1" name="accounts">
...     <tag id="2" name="account" type="temporal"><tag id="3" name="limit"/></tag></tag></stream:structure>''')
>>> sorted(credit.expand("//limit")), credit.tag(2).type, credit.path(3)
([3], 'temporal', '/accounts/account/limit')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from itertools import chain, count
from typing import Final, Literal
from xml.parsers import expat

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, error
from xstreamcast.model.namespaces import STREAM

TagType = Literal["snapshot", "filler", "temporal", "event"]

TYPES: Final[Mapping[str, TagType]] = {
    "snapshot": "snapshot", "embedded": "snapshot", "filler": "filler", "temporal": "temporal", "event": "event",
}  # fmt: skip

UNNAMED: Final = -1
"""The id of a root without a name: the fillers of its children are children of the document node (WebDB'05 §4.4)."""


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag: an element name in its place. ``children`` are ids; an ancestor's id makes the structure recursive."""

    id: int
    name: str
    type: TagType | None = None
    children: tuple[int, ...] = ()
    priority: int = 0
    reuse: bool = True

    @property
    def timed(self) -> bool:
        """Whether its fragments are versions or events."""
        return self.type in ("temporal", "event")

    @property
    def fragment(self) -> bool:
        """Whether its elements travel in fragments of their own."""
        return self.type is not None and self.type != "snapshot"


@dataclass(frozen=True)
class Structure:
    """All tags by id, and which one is the root. ``stream`` is the name the structure gives its stream, if any.

    ``grows``: further tags will be announced as they turn up, so that fragments must not be passed over because nothing
    that is declared so far can be in them.
    """

    tags: Mapping[int, Tag]
    root: int
    stream: str = ""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    grows: bool = False

    def tag(self, tsid: int) -> Tag:
        """The tag with an id (DBPL'03 §4: TSID(s, m))."""
        try:
            return self.tags[tsid]
        except KeyError:
            raise error("XSC0004", f"no tag with id {tsid} in the structure", hint="see the ids it declares") from None

    @cached_property
    def _by_parent(self) -> dict[tuple[int, str], int]:
        return {(tag.id, self.tags[child].name): child for tag in self.tags.values() for child in tag.children}

    @cached_property
    def parents(self) -> dict[int, tuple[int, ...]]:
        """Every tag's parents; more than one only where tags are shared by ``ref``."""
        found: dict[int, list[int]] = {tsid: [] for tsid in self.tags}
        for tag in self.tags.values():
            for child in tag.children:
                found[child].append(tag.id)
        return {tsid: tuple(above) for tsid, above in found.items()}

    def child(self, tsid: int, name: str) -> int | None:
        """The id of a tag's child of that name."""
        return self._by_parent.get((tsid, name))

    @property
    def unnamed(self) -> bool:
        """Whether the stream has no root element of its own."""
        return self.root == UNNAMED

    @property
    def tops(self) -> tuple[int, ...]:
        """The tags of the elements at the top of the document."""
        return self.tags[UNNAMED].children if self.unnamed else (self.root,)

    def descendants(self, tsids: Iterable[int]) -> set[int]:
        """All tags below, at any depth."""
        found: set[int] = set()
        waiting = [child for tsid in tsids for child in self.tags[tsid].children]
        while waiting:
            tsid = waiting.pop()
            if tsid not in found:
                found.add(tsid)
                waiting.extend(self.tags[tsid].children)
        return found

    def expand(self, path: str) -> set[int]:
        """The tags a path can reach: Q of DBPL'03 §4, with ``*`` and ``//`` (WebDB'05 Fig. 3).

        A step is a name, ``*``, ``p:name`` under the structure's prefixes, or ``{uri}name``. A path without a leading
        slash is taken from anywhere.
        """
        steps = re.findall(r"(//?)?((?:\{[^}]*\})?[^/{}]+)", path)
        if not steps or "".join(axis + step for axis, step in steps) != path:
            raise error("XSC0005", f"not a path: {path!r}", hint="write /site/regions//item, //person or item")
        reached: set[int] | None = None  # None: the document node
        for axis, step in steps:
            if reached is None:
                everywhere = set(self.tags) - {UNNAMED}
                candidates = set(self.tops) if axis == "/" else everywhere
            elif axis == "//":
                candidates = self.descendants(reached)
            else:
                candidates = {child for tsid in reached for child in self.tags[tsid].children}
            reached = {tsid for tsid in candidates if step == "*" or self.tags[tsid].name == self._expanded(step)}
        return reached or set()

    def _expanded(self, step: str) -> str:
        prefix, colon, local = step.partition(":")
        if step.startswith("{") or not colon:
            return step
        if prefix not in self.prefixes:
            raise error("XSC0005", f"prefix {prefix!r} is not declared in the structure", hint="use {uri}name")
        return f"{{{self.prefixes[prefix]}}}{local}"

    def path(self, tsid: int) -> str:
        """The shortest root path of a tag, as text."""
        names = [self.lexical(self.tag(tsid).name)]
        seen = {tsid}
        while tsid != self.root:
            above = [parent for parent in self.parents[tsid] if parent not in seen]
            if not above:
                break
            tsid = above[0]
            seen.add(tsid)
            if tsid != UNNAMED:
                names.append(self.lexical(self.tags[tsid].name))
        return "/" + "/".join(reversed(names))

    def lexical(self, name: str) -> str:
        """A name under the structure's prefixes, as it is written."""
        if not name.startswith("{"):
            return name
        uri, _, local = name[1:].partition("}")
        for prefix, bound in self.prefixes.items():
            if bound == uri:
                return f"{prefix}:{local}"
        return name

    def only_adds_to(self, older: Structure) -> bool:
        """Whether everything an older structure says still holds; a changed structure is an error otherwise."""
        if self.root != older.root:
            return False
        for tsid, tag in older.tags.items():
            mine = self.tags.get(tsid)
            same = mine is not None and (mine.name, mine.type, mine.reuse) == (tag.name, tag.type, tag.reuse)
            if not same or mine is None or not set(tag.children) <= set(mine.children):
                return False
        return True

    def _repr_html_(self) -> str:
        from xstreamcast.model.structure_html import structure_html

        return structure_html(self)


def parse_structure(
    text: str | bytes, source: str = "structure", namespaces: Mapping[str, str] | None = None
) -> Structure:
    """Read a tag structure in any of the papers' forms (``docs/wire.md``), under namespaces declared around it."""
    return _Reader(source, namespaces or {}).read(text.encode() if isinstance(text, str) else text)


@dataclass(slots=True)
class _Open:
    """A tag whose end has not come yet."""

    attributes: dict[str, str]
    children: list[_Open]
    place: Place
    scope: dict[str, str]
    id: int = UNNAMED


class _Reader:
    """expat events → a graph of tags, with every fault named and placed."""

    def __init__(self, source: str, namespaces: Mapping[str, str]) -> None:
        self.source = source
        self.namespaces = namespaces
        # Not namespace-aware: the papers write stream:structure without declaring the prefix.
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.stack: list[_Open] = []
        self.top: _Open | None = None
        self.wrapped = False
        self.stream = ""
        self.grows = False
        self.prefixes: dict[str, str] = {}
        self.tags: dict[int, Tag] = {}

    def place(self) -> Place:
        return Place(self.source, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def fault(self, message: str, place: Place, hint: str) -> Exception:
        return error("XSC0004", message, place, hint)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        scope = dict(self.stack[-1].scope if self.stack else self.namespaces)
        for key, value in attributes.items():
            if key == "xmlns":
                scope[""] = value
            elif key.startswith("xmlns:"):
                scope[key[6:]] = value
        local = name.rpartition(":")[2]
        opened = _Open(attributes, [], self.place(), scope)
        if not self.stack:
            self.top = opened
            self.wrapped = local in ("structure", "tagStructure")
            self.stream = attributes.get("stream", "")
            self.grows = attributes.get("grows") == "yes"
        else:
            self.stack[-1].children.append(opened)
        if local != "tag" and not (self.wrapped and opened is self.top):
            raise self.fault(f"<{name}> in a tag structure", self.place(), "only <tag> elements stand in it")
        self.stack.append(opened)

    def end(self, _: str) -> None:
        self.stack.pop()

    def read(self, data: bytes) -> Structure:
        try:
            self.parser.Parse(data, True)
        except expat.ExpatError as fault:
            place = Place(self.source, fault.lineno, fault.offset + 1)
            raise error("XSC0001", expat.errors.messages[fault.code], place, "the structure is not XML") from None
        top = self.top
        if top is None:
            raise self.fault("an empty tag structure", Place(self.source), 'declare <tag id="1" name="…"/>')
        if self.wrapped and len(top.children) == 1:
            top = top.children[0]
        if "name" in top.attributes:
            root = self.number(top)
        else:  # no name at the top (WebDB'05 §4.4), or several tops: children of the document node
            self.stream = top.attributes.get("stream", self.stream)
            if not top.children:
                raise self.fault("an empty tag structure", top.place, 'declare at least <tag id="1" name="…"/>')
            self.tags[UNNAMED] = Tag(UNNAMED, "", "snapshot", tuple(self.number(child) for child in top.children))
            root = UNNAMED
        self.check(top)
        return Structure(self.tags, root, self.stream, self.prefixes, self.grows)

    def number(self, opened: _Open) -> int:
        """Enter a tag and those below it; depth is bounded by the document's, which expat's callbacks already held."""
        waiting = [opened]
        order: list[_Open] = []
        while waiting:
            tag = waiting.pop()
            order.append(tag)
            if "ref" in tag.attributes:
                tag.id = self.integer(tag, "ref")
                continue
            tag.id = self.integer(tag, "id")
            waiting.extend(tag.children)
        for tag in order:
            if "ref" not in tag.attributes:
                self.enter(tag)
        return opened.id

    def enter(self, tag: _Open) -> None:
        attributes = tag.attributes
        if tag.id in self.tags:
            raise self.fault(f"tag id {tag.id} twice", tag.place, "ids are unique; write ref to use a tag again")
        if not attributes.get("name"):
            raise self.fault(f"tag {tag.id} without a name", tag.place, "only the root may have no name")
        children = tuple(child.id for child in tag.children)
        self.tags[tag.id] = Tag(
            tag.id,
            self.expanded(tag),
            self.type(tag),
            children,
            self.integer(tag, "priority") if "priority" in attributes else 0,
            attributes.get("reuse", "yes") != "no",
        )

    def integer(self, tag: _Open, attribute: str) -> int:
        text = tag.attributes.get(attribute, "")
        if not (text.isascii() and text.isdecimal() and len(text) <= 18):
            wrong = f"{attribute}={text!r}" if text else f"no {attribute}"
            raise self.fault(f"a tag with {wrong}", tag.place, f"{attribute} is a whole number from 0 up")
        return int(text)

    def expanded(self, tag: _Open) -> str:
        prefix, colon, local = tag.attributes["name"].rpartition(":")
        if not colon:
            return local
        uri = tag.scope.get(prefix)
        if uri is None:
            raise self.fault(f"prefix {prefix!r} is not declared", tag.place, f'add xmlns:{prefix}="…"')
        self.prefixes.setdefault(prefix, uri)
        return f"{{{uri}}}{local}"

    def type(self, tag: _Open) -> TagType | None:
        given = tag.attributes.get("type")
        if given is not None:
            if given not in TYPES:
                raise self.fault(f"type {given!r}", tag.place, f"one of {', '.join(TYPES)}")
            return TYPES[given]
        filler = tag.attributes.get("filler")
        if filler is not None:
            return "filler" if filler in ("true", "1", "yes") else "snapshot"
        return None

    def check(self, top: _Open) -> None:
        """The checks that need all tags: references, and names below one parent."""
        waiting = [top]
        while waiting:
            tag = waiting.pop()
            waiting.extend(tag.children)
            names: set[str] = set()
            for child in tag.children:
                if child.id not in self.tags:
                    raise self.fault(f"ref to {child.id}, which no tag has", child.place, "ref names another tag's id")
                name = self.tags[child.id].name
                if name in names:
                    raise self.fault(f"{name!r} twice below one tag", child.place, "one tag per name below a parent")
                names.add(name)


def write_structure(structure: Structure, *, declare: bool = True, prefix: str = "stream") -> str:
    """The text of a structure: ``parse_structure(write_structure(s))`` has the same tags."""
    from xstreamcast.model.serialise_xml import escape_attribute

    namespaces = f' xmlns:{prefix}="{STREAM}"' if declare else ""
    prefixes = _prefixes(structure, prefix)
    namespaces += "".join(f' xmlns:{name}="{escape_attribute(uri)}"' for name, uri in prefixes.items())
    stream = f' stream="{escape_attribute(structure.stream)}"' if structure.stream else ""
    grows = ' grows="yes"' if structure.grows else ""
    spelled = Structure(structure.tags, structure.root, structure.stream, prefixes)
    return f"<{prefix}:structure{namespaces}{stream}{grows}>\n{''.join(_lines(spelled))}</{prefix}:structure>"


def _prefixes(structure: Structure, own: str) -> dict[str, str]:
    """A prefix for every namespace the names use: their own, or one made up."""
    prefixes: dict[str, str] = {}
    for tag in structure.tags.values():
        if tag.name.startswith("{"):
            uri = tag.name[1:].partition("}")[0]
            if uri not in prefixes.values():
                known = (p for p, u in structure.prefixes.items() if u == uri and p not in ("", own))
                made_up = (p for p in map("ns{}".format, count(1)) if p not in structure.prefixes)
                prefixes[next(p for p in chain(known, made_up) if p not in prefixes)] = uri
    return prefixes


def _lines(structure: Structure) -> Iterator[str]:
    written: set[int] = set()
    tops = structure.tops
    # (id, depth) to open, or (None, depth) to close; a stack, because recursion in Python is bounded and depth is not
    if structure.unnamed:
        yield "  <tag>\n"
    base = 2 if structure.unnamed else 1
    waiting: list[tuple[int | None, int]] = [(top, base) for top in reversed(tops)]
    while waiting:
        tsid, depth = waiting.pop()
        indent = "  " * min(depth, 40)
        if tsid is None:
            yield f"{indent}</tag>\n"
        elif tsid in written:
            yield f'{indent}<tag ref="{tsid}"/>\n'
        else:
            written.add(tsid)
            tag = structure.tag(tsid)
            kind = f' type="{tag.type}"' if tag.type else ""
            extra = (f' priority="{tag.priority}"' if tag.priority else "") + ("" if tag.reuse else ' reuse="no"')
            head = f'{indent}<tag id="{tag.id}" name="{structure.lexical(tag.name)}"{kind}{extra}'
            yield head + (">\n" if tag.children else "/>\n")
            if tag.children:
                waiting.append((None, depth))
                waiting.extend((child, depth + 1) for child in reversed(tag.children))
    if structure.unnamed:
        yield "  </tag>\n"

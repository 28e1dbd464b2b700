"""Fragmenting: a document and a tag structure → fillers and holes (DBPL'03 §2.1), in one pass and flat memory.

Fragments are raw spans of the document with holes where other fragments were cut out; only the tags of fragment
elements are looked at. What a fragment takes from the namespaces around it is declared on its own element.

A document that already is a temporal view is taken apart into its history: the vtFrom of a ``temporal`` or ``event``
element becomes the valid time of its filler, versions that meet share one hole, and a life that ended is ended by a
removal. So ``materialise`` gives the same view back.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Final
from xml.parsers import expat

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.model.change import ROOT, STREAM_NAMESPACE
from xstreamcast.model.content import ATTRIBUTE, START_TAG, declarations, stream_prefix
from xstreamcast.model.structure import UNNAMED, Structure
from xstreamcast.model.time import NOW, Instant, parse_instant
from xstreamcast.scan.normalise import parse_fault

SPILL: Final = 1 << 20
"""A fragment's content beyond so many bytes waits on disk for its end."""


@dataclass(slots=True)
class Record:
    """One fragment on its way out: a filler, or (``ends``) the end of a temporal element's life.

    ``children`` counts the records of the fragments cut out of it; ``level`` is its depth among fragments.
    """

    level: int
    region: int
    tsid: int
    valid_time: Instant | None
    content: bytes | IO[bytes]
    length: int
    children: int = 0
    ends: bool = False
    again: bool = False
    version: int = 0


@dataclass(slots=True)
class _Node:
    """A tag as the scan meets it: where each child leads, and whether any fragment can lie below."""

    tsid: int
    fragment: bool
    timed: bool
    children: dict[str, _Node] = field(default_factory=dict)
    live: bool = False


@dataclass(slots=True)
class _Open:
    """A fragment whose end has not come. ``last`` is the timed child that ended at ``last_end``, if one just did."""

    node: _Node
    region: int
    valid_time: Instant | None
    valid_to: Instant | None
    empty: bool
    version: int = 0
    parts: list[bytes] = field(default_factory=list)
    held: int = 0
    spill: IO[bytes] | None = None
    children: int = 0
    last: _Open | None = None
    last_end: int = -1

    def add(self, data: bytes) -> None:
        if not data:
            return
        self.parts.append(data)
        self.held += len(data)
        if self.held >= SPILL:
            if self.spill is None:
                self.spill = tempfile.TemporaryFile()  # noqa: SIM115 - handed on with the record
            self.spill.writelines(self.parts)
            self.parts.clear()
            self.held = 0

    def content(self) -> tuple[bytes | IO[bytes], int]:
        if self.spill is None:
            data = b"".join(self.parts)
            return data, len(data)
        self.spill.writelines(self.parts)
        length = self.spill.tell()
        self.spill.seek(0)
        return self.spill, length


def _nodes(structure: Structure) -> _Node:
    """The structure as a graph of scan nodes; names spelled as expat does, ``uri local``."""
    nodes = {
        tag.id: _Node(tag.id, tag.fragment or tag.id == structure.root, tag.timed) for tag in structure.tags.values()
    }
    for tag in structure.tags.values():
        for child in tag.children:
            name = structure.tag(child).name
            spelled = name[1:].replace("}", " ") if name.startswith("{") else name
            nodes[tag.id].children[spelled] = nodes[child]
        below = structure.descendants([tag.id])
        nodes[tag.id].live = any(structure.tag(tsid).fragment for tsid in below)
    document = _Node(UNNAMED, False, False, {}, True)
    name = structure.tag(structure.root).name
    document.children[name[1:].replace("}", " ") if name.startswith("{") else name] = nodes[structure.root]
    return document


class Fragmenter:
    """Cuts one document; iterate over :meth:`records` for its fragments, each when its end tag has come."""

    def __init__(self, structure: Structure, source: str = "<document>") -> None:
        if structure.unnamed:
            raise error("XSC0040", "the structure has no root element", Place(source), "give the root tag a name")
        self.structure = structure
        self.source = source
        self.node = _nodes(structure)
        self.nodes: list[_Node] = []
        self.dead = 0  # elements open inside a subtree no fragment can lie in
        self.open: list[_Open] = []
        self.done: list[Record] = []
        self.next_region = ROOT
        self.buffer = bytearray()
        self.base = 0  # the document's offset of the buffer's first byte
        self.cursor = 0  # all before it is in a fragment
        self.scope: list[tuple[str, str]] = []
        self.declared = 0  # how many of them by the start tag to come
        self.prolog: list[bytes] = []
        self.prefix = "stream"  # for the stream's own elements: one the document does not use
        self.parser = parser = expat.ParserCreate("utf-8", " ")
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.StartNamespaceDeclHandler = self.declare
        parser.EndNamespaceDeclHandler = self.undeclare
        parser.CommentHandler = self.comment
        parser.ProcessingInstructionHandler = self.instruction

    def records(self, chunks: Iterable[bytes], progress: Callable[[int], None] = lambda _: None) -> Iterator[Record]:
        """The fragments of a document given as plain XML, in the order of their ends; the root's is the last."""
        try:
            for chunk in chunks:
                self.buffer += chunk
                self.parser.Parse(chunk, False)
                yield from self.take_done()
                self.drain()
                progress(len(chunk))
            self.parser.Parse(b"", True)
        except expat.ExpatError as fault:
            text = bytes(self.buffer[max(0, self.parser.ErrorByteIndex - self.base) :])
            raise parse_fault(fault, self.source, text) from None
        if self.open:  # only the root is: it waits for the comments that may follow it
            root = self.open[0]
            root.add(b"".join(b"\n" + piece for piece in self.prolog))
            self.end_life(root, root)
            self.emit(self.open.pop())
        yield from self.take_done()

    def take_done(self) -> Iterator[Record]:
        done, self.done = self.done, []
        return iter(done)

    def drain(self) -> None:
        """Hand what is certain to belong to the innermost open fragment over to it, and let go of the bytes."""
        safe = self.parser.CurrentByteIndex - self.base
        if self.open and safe > self.cursor and self.nodes:
            self.open[-1].add(bytes(self.buffer[self.cursor : safe]))
            self.cursor = safe
        if not self.nodes:
            self.cursor = max(self.cursor, safe)
        del self.buffer[: self.cursor]
        self.base += self.cursor
        self.cursor = 0

    def place(self) -> Place:
        return Place(self.source, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def fault(self, message: str, hint: str) -> XStreamError:
        return error("XSC0040", message, self.place(), hint)

    # -- expat events -----------------------------------------------------------------------------------------------

    def declare(self, prefix: str | None, uri: str | None) -> None:
        if uri == STREAM_NAMESPACE:
            raise self.fault("the document uses the stream's own namespace", "a fragment stream cannot be fragmented")
        self.scope.append((prefix or "", uri or ""))
        self.declared += 1
        if prefix == self.prefix:
            self.prefix = f"{prefix}_" if prefix != "stream" else "xcast"

    def undeclare(self, _: str | None) -> None:
        self.scope.pop()

    def comment(self, data: str) -> None:
        if not self.nodes:  # outside the root element; inside, it is part of a span
            self.prolog.append(f"<!--{data}-->".encode())

    def instruction(self, target: str, data: str) -> None:
        if not self.nodes:
            self.prolog.append(f"<?{target} {data}?>".encode() if data else f"<?{target}?>".encode())

    def start(self, name: str, attributes: dict[str, str]) -> None:
        declared, self.declared = self.declared, 0
        if self.dead:
            self.dead += 1
            return
        node = self.node.children.get(name)
        if node is None or not (node.fragment or node.live):
            if not self.nodes:
                self.wrong_root(name)
            self.dead = 1
            return
        self.nodes.append(self.node)
        self.node = node
        if node.fragment:
            self.cut(node, attributes, declared)

    def end(self, _: str) -> None:
        if self.dead:
            self.dead -= 1
            return
        if self.node.fragment:
            self.close()
        self.node = self.nodes.pop()

    def wrong_root(self, name: str) -> None:
        expected = self.structure.lexical(self.structure.tag(self.structure.root).name)
        found = name.rpartition(" ")[2]
        hint = f"is this the structure of <{expected}> documents?"
        raise self.fault(f"the root element is <{found}>, the structure says <{expected}>", hint)

    # -- cutting ----------------------------------------------------------------------------------------------------

    def cut(self, node: _Node, attributes: dict[str, str], declared: int) -> None:
        """A fragment element begins: a hole in the fragment around it, a new fragment open."""
        at = self.parser.CurrentByteIndex - self.base
        tag = START_TAG.match(self.buffer, at)
        assert tag is not None, "expat has just read it"
        valid_from, valid_to = self.lifespan(node, attributes)
        raw = tag[2]
        if valid_from is not None:
            raw = b"".join(m[0] for m in ATTRIBUTE.finditer(raw) if m[1] not in (b"vtFrom", b"vtTo"))
        around = self.open[-1] if self.open else None
        version = 0
        if around is not None:
            region, version = self.place_hole(around, node, valid_from, at)
        else:
            region = self.new_region()
        opened = _Open(node, region, valid_from, valid_to, bool(tag[3]), version)
        if around is None and self.prolog:
            opened.add(b"".join(piece + b"\n" for piece in self.prolog))
            self.prolog.clear()
        inherited = self.inherited(declared)
        opened.add(b"<" + tag[1] + declarations(inherited) + raw + tag[3] + b">")
        self.open.append(opened)
        self.cursor = tag.end()

    def new_region(self) -> int:
        self.next_region += 1
        return self.next_region - 1

    def place_hole(self, around: _Open, node: _Node, valid_from: Instant | None, at: int) -> tuple[int, int]:
        """A new hole; or none, where a version goes on directly from the one before it, or an event follows one.

        Events of one hole at the same instant are told apart, and kept in order, by their versions.
        """
        around.add(bytes(self.buffer[self.cursor : at]))
        before = around.last
        adjacent = before is not None and around.last_end == self.base + at and before.node is node
        if before is not None and adjacent and valid_from is not None and before.valid_time is not None:
            if self.structure.tag(node.tsid).type == "event":
                follows = before.valid_time <= valid_from
            else:
                follows = before.valid_to == valid_from > before.valid_time
            if follows:
                before.valid_to = NOW  # its end is the next one's beginning: no removal needed
                return before.region, before.version + 1 if before.valid_time == valid_from else 0
        self.settle(around)
        region = self.new_region()
        prefix, declared = stream_prefix(dict(self.scope))
        around.add(f'<{prefix}:hole{declared} id="{region}" tsid="{node.tsid}"/>'.encode())
        return region, 0

    def settle(self, around: _Open) -> None:
        """No version follows directly on the last timed child: if its life has ended, say so."""
        last, around.last = around.last, None
        if last is not None:
            self.end_life(last, around)

    def end_life(self, ended: _Open, around: _Open) -> None:
        if ended.valid_to not in (None, NOW):
            around.children += 1
            self.done.append(Record(len(self.open), ended.region, ended.node.tsid, ended.valid_to, b"", 0, ends=True))

    def lifespan(self, node: _Node, attributes: dict[str, str]) -> tuple[Instant | None, Instant | None]:
        if not node.timed or "vtFrom" not in attributes:
            return None, None
        begin = parse_instant(attributes["vtFrom"], self.place())
        if self.structure.tag(node.tsid).type == "event":
            if parse_instant(attributes.get("vtTo", attributes["vtFrom"]), self.place()) != begin:
                raise self.fault("an event that lasts", "its vtFrom and vtTo differ; is the tag temporal?")
            return begin, NOW
        return begin, parse_instant(attributes.get("vtTo", "now"), self.place())

    def inherited(self, declared: int) -> dict[str, str]:
        """The namespaces in scope that the start tag itself does not declare."""
        if not self.scope or len(self.open) == 0:
            return {}
        own = {prefix for prefix, _ in self.scope[len(self.scope) - declared :]} if declared else set()
        outer = dict(self.scope[: len(self.scope) - declared])
        return {prefix: uri for prefix, uri in outer.items() if prefix not in own and (prefix or uri)}

    def close(self) -> None:
        """A fragment element ends."""
        opened = self.open[-1]
        if not opened.empty:
            at = self.parser.CurrentByteIndex - self.base
            end = self.buffer.index(b">", at) + 1
            opened.add(bytes(self.buffer[self.cursor : end]))
            self.cursor = end
        self.settle(opened)
        if len(self.open) == 1:
            return
        self.open.pop()
        around = self.open[-1]
        if opened.valid_time is not None:
            around.last, around.last_end = opened, self.base + self.cursor
        around.children += 1
        self.emit(opened)

    def emit(self, opened: _Open) -> None:
        content, length = opened.content()
        opened.parts = []
        opened.spill = None
        self.done.append(
            Record(
                len(self.open), opened.region, opened.node.tsid, opened.valid_time, content, length, opened.children,
                version=opened.version,
            )
        )  # fmt: skip

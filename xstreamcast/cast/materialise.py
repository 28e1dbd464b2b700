"""T2 of DBPL'03 §2.3 and the temporal view of SIGMOD'04 §5: the environment ζ → the document it describes.

Holes are filled by what fills them, recursively: byte by byte, without trees and without recursion in Python, so that
neither the size nor the depth of a document matters. Of a stream with temporal or event tags T is the temporal view: a
hole holds all its versions and events in the order of their times, each with its lifespan as attributes vtFrom, vtTo.

>>> import io
>>> stream = b'<filler id="0"><a><hole id="1"/></a></filler><filler id="1">x</filler>'
>>> materialise(io.BytesIO(stream)).decode()
'<a>x</a>'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from xstreamcast.cast.reader import read_batches
from xstreamcast.cast.regions import Filling, Region, Regions, Report
from xstreamcast.errors import error
from xstreamcast.model.change import ROOT
from xstreamcast.model.depth import deepest, too_deep
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.findings import Findings
from xstreamcast.model.structure import Structure
from xstreamcast.model.time import NOW, Instant, Interval, format_instant
from xstreamcast.scan.given import Given
from xstreamcast.wire.content import Hole, Mutable, Opened, Piece, TopTag, declarations, without_lifespan
from xstreamcast.wire.fragment import Arrival
from xstreamcast.wire.framing import FRAGMENT_LIMIT

Scope = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class View:
    """Which T is wanted.

    ``at``: only what is alive at that instant, the projection ``?[at]``. ``now``: what begins later is not there yet;
    by default the largest valid time seen. ``lifespans``: whether vtFrom and vtTo are written.
    """

    at: Instant | None = None
    now: Instant | None = None
    lifespans: bool = True


BORDER = b">]\n"


def across(last: bytes, piece: bytes) -> bytes:
    """Text that begins where a region begins or ends, made safe beside the text before it: neither ``]]>`` nor
    ``\\r\\n`` may come about."""
    if piece[0] == 10 and last[-1:] == b"\r":
        return b"&#10;" + piece[1:]
    together = last + piece[:2]
    at = together.find(b"]]>") + 2 - len(last)
    return piece[:at] + b"&gt;" + piece[at + 1 :] if b"]]>" in together and at >= 0 else piece


class Materialiser(Regions):
    """T, one change after the other: ``apply`` what comes, ``document`` at any prefix.

    >>> from xstreamcast.model.change import Fill, Replace
    >>> t = Materialiser()
    >>> t.apply(Fill(region=0, content=b'<a><stream:hole id="1"/></a>')); t.text()
    '<a></a>'
    >>> t.apply(Fill(region=1, content=b'x')); t.apply(Replace(region=1, content=b'y')); t.text()
    '<a>y</a>'
    """

    def documents(self) -> list[str]:
        """The names of the documents of the stream, in order; the one without a name is ``""``."""
        unnamed = self.structure is not None and self.structure.unnamed
        return sorted({doc for doc, region in self.table if region == ROOT or unnamed})

    def text(self, doc: str = "", view: View | None = None) -> str:
        """The document at this prefix."""
        return b"".join(self.document(doc, view)).decode()

    def document(self, doc: str = "", view: View | None = None, report: Report | None = None) -> Iterator[bytes]:
        """T(γ), in pieces. ``report`` hears of unfilled holes, of fillers no hole holds, and of cycles."""
        return _Splice(self, doc, view or View(), report).run()

    def open_holes(self, doc: str = "") -> int:
        """How many holes of the document at this prefix are not filled yet."""
        found: list[Diagnostic] = []
        for _ in self.document(doc, None, found.append):
            pass
        return sum(diagnostic.code == "XSC0030" for diagnostic in found)


class _Enter(NamedTuple):
    """A region to be rendered at this place."""

    region: Region | None
    id: int
    scope: Scope
    outer: Scope
    holder: Filling | None
    last: bool = False
    """Nothing follows it where it was entered from: what has come one after the other is not in each other."""


class _Leave(NamedTuple):
    """The end of a region: it is off the path again."""

    region: Region


_Step = bytes | _Enter | _Leave


class _Splice:
    """One rendering: a stack of iterators over steps, one for every region the cursor is in."""

    def __init__(self, regions: Materialiser, doc: str, view: View, report: Report | None) -> None:
        self.regions = regions
        self.doc = doc
        self.view = view
        self.at = regions.now if view.at == NOW else view.at
        self.now = view.now if view.now is not None else max(regions.now, self.at or regions.now)
        self.report = report
        self.path: set[int] = set()  # identities of the regions around the cursor: an id may be used again
        self.met: set[int] = set()  # the regions at whose holes the cursor was

    def run(self) -> Iterator[bytes]:
        stack: list[Iterator[_Step]] = [self.roots()]
        last = b""
        while stack:
            step = next(stack[-1], None)
            if isinstance(step, _Enter):
                steps = self.enter(step)
                if not isinstance(steps, bytes):
                    if step.last:
                        stack.pop()
                    if steps is not None:
                        if len(self.path) > deepest():
                            raise too_deep(within=f": region {step.id} is in so many others")
                        stack.append(steps)
                    continue
                step = steps
            if step is None:
                stack.pop()
            elif isinstance(step, bytes):
                if step and step[0] in BORDER and last[-1:] in b"]\r":
                    step = across(last, step)
                yield step
                last = (last + step)[-2:] if len(step) < 2 else step[-2:]
            else:
                self.path.discard(id(step.region))
        if self.report is not None:
            self.unheld(self.report)

    def roots(self) -> Iterator[_Step]:
        """Region 0; or, of a stream without a named root, the fillers of its top tags in (version, id) order."""
        structure = self.regions.structure
        if structure is None or not structure.unnamed:
            yield _Enter(self.regions.table.get((self.doc, ROOT)), ROOT, {}, {}, None)
            return
        tops = set(structure.tops)
        found = []
        for (doc, number), region in self.regions.table.items():
            versions = [filling.version or 0 for filling in region.fillings() if filling.tsid in tops]
            if doc == self.doc and versions:
                found.append((min(versions), number, region))
        for _, number, region in sorted(found, key=lambda entry: entry[:2]):
            yield _Enter(region, number, {}, {}, None)

    def enter(self, step: _Enter) -> Iterator[_Step] | bytes | None:
        region = step.region
        self.met.add(step.id)
        if region is not None and region.current is not None and region.plain and id(region) not in self.path:
            return self.filled(region, region.current, step)
        if region is None or not region.filled:
            if self.report is not None and step.holder is not None:
                self.say("XSC0030", f"hole {step.id} is not filled; it counts as empty", step.holder)
            if region is None or not (region.before or region.after):
                return None
        elif id(region) in self.path:
            if self.report is not None and step.holder is not None:
                self.say("XSC0031", f"hole {step.id} lies inside its own filler; it is empty", step.holder)
            return None
        return self.steps(region, step)

    def filled(self, region: Region, filling: Filling, step: _Enter) -> Iterator[_Step] | bytes:
        """A region that has one filling and nothing else, as most have: its text, or its steps if there are holes."""
        content = self.regions.find(filling)
        outer = step.scope if filling.native is None else step.outer
        if isinstance(content, Opened) and content.plain and content.marks is None and not outer.get(""):
            return content.data
        self.path.add(id(region))
        return chain(self.content(filling, None, outer), (_Leave(region),))

    def steps(self, region: Region, step: _Enter) -> Iterator[_Step]:
        for sibling in region.before:
            yield _Enter(sibling, sibling.id, step.scope, step.scope, None)
        if not region.hidden:
            self.path.add(id(region))
            for filling, lifespan in self.visible(region):
                yield from self.content(filling, lifespan, step.scope if filling.native is None else step.outer)
            yield _Leave(region)
        last = len(region.after) - 1
        for k, sibling in enumerate(region.after):
            yield _Enter(sibling, sibling.id, step.scope, step.scope, None, k == last)

    def visible(self, region: Region) -> Iterator[tuple[Filling, Interval | None]]:
        """The fillings that are seen, in order, with their lifespans."""
        for _, filling, lifespan in sorted(region.visible(self.now), key=itemgetter(0)):
            if lifespan is None or self.at is None or lifespan.contains(self.at):
                yield filling, lifespan

    def content(self, filling: Filling, lifespan: Interval | None, outer: Scope) -> Iterator[_Step]:
        content = self.regions.find(filling)
        if isinstance(content, Opened):
            if content.plain and lifespan is None and not outer.get(""):
                yield from self.spliced(content, filling, outer)
                return
            content = content.content()
        inline = iter(filling.inline)
        for piece in content.pieces if content is not None else ():
            yield self.step(piece, filling, inline, lifespan, outer)

    def spliced(self, content: Opened, filling: Filling, outer: Scope) -> Iterator[_Step]:
        """Content that has nothing to be written on its top elements, nor declares anything: only its holes are cut."""
        for text, hole in content.spans():
            if text:
                yield text
            if hole >= 0:
                yield _Enter(self.regions.table.get((self.doc, hole)), hole, outer, outer, filling)

    def step(
        self, piece: Piece, filling: Filling, inline: Iterator[Region], lifespan: Interval | None, outer: Scope
    ) -> _Step:
        if isinstance(piece, bytes):
            return piece
        if isinstance(piece, TopTag):
            return self.top(piece, lifespan, outer)
        # Inside an element of self-contained content no default namespace comes from outside.
        scope = outer if piece.scope is None else {**outer, "": "", **piece.scope}
        if isinstance(piece, Mutable):
            return _Enter(next(inline), piece.region, scope, outer, filling)
        assert isinstance(piece, Hole)
        return _Enter(self.regions.table.get((self.doc, piece.region)), piece.region, scope, outer, filling)

    def top(self, tag: TopTag, lifespan: Interval | None, outer: Scope) -> bytes:
        names = {prefix: uri for prefix, uri in tag.declared.items() if outer.get(prefix, "") != uri}
        if outer.get("", "") and "" not in tag.declared:
            names[""] = ""
        tail, span = tag.tail, b""
        if lifespan is not None and self.view.lifespans and self.at is None:
            span = f' vtFrom="{format_instant(lifespan.begin)}" vtTo="{format_instant(lifespan.end)}"'.encode()
        if not span and not names:
            return tag.head + tail
        # Attributes first, as get_fillers writes them: its own, then the lifespan.
        closing = 2 if tail.endswith(b"/>") else 1
        attributes, end = tail[:-closing].rstrip(), tail[-closing:]
        if span:
            attributes = without_lifespan(attributes)
        return tag.head + declarations(names) + attributes + span + end

    def say(self, code: str, message: str, holder: Filling) -> None:
        if self.report is not None:
            self.report(Diagnostic(code, "warning", message, holder.place))

    def unheld(self, report: Report) -> None:
        """Warns of regions that hang on no hole of the document, seen or unseen, nor belong to another one."""
        if all(doc == self.doc and number in self.met for doc, number in self.regions.table):
            return
        held, others = self.held(), set(self.regions.documents()) - {self.doc}
        for (doc, number), region in self.regions.table.items():
            if doc not in others and (doc != self.doc or number not in held):
                for filling in region.fillings():
                    if filling.content is not None:
                        text = f"filler {number} is not in the document: no hole holds it"
                        report(Diagnostic("XSC0032", "warning", text, filling.place))

    def held(self) -> set[int]:
        """The regions that the roots reach through holes, hidden and past ones included."""
        held: set[int] = set()
        waiting = [(root.id, root.region) for root in self.roots() if isinstance(root, _Enter)]
        while waiting:
            number, region = waiting.pop()
            held.add(number)
            if region is None:
                continue
            waiting += [(sibling.id, sibling) for sibling in (*region.before, *region.after)]
            for filling in region.fillings():
                waiting += [(inline.id, inline) for inline in filling.inline]
                content = self.regions.find(filling)
                if isinstance(content, Opened):
                    holes = content.regions
                else:
                    holes = [hole.region for hole in (content.holes if content else ()) if isinstance(hole, Hole)]
                waiting += [(hole, self.regions.table.get((self.doc, hole))) for hole in holes if hole not in held]
        return held


def read_regions(
    source: Given, structure: Structure | None = None, report: Report = lambda _: None, *, limit: int = FRAGMENT_LIMIT
) -> Materialiser:
    """T1 of a whole stream."""
    regions = Materialiser(structure, report)
    for stretch in read_batches(source, structure, limit=limit):
        if isinstance(stretch, Arrival):
            regions.apply(stretch.item, stretch.place, stretch.inside)
        else:
            regions.apply_batch(stretch)
    regions.finish()
    return regions


def materialise(
    source: Given,
    *,
    structure: Structure | None = None,
    doc: str | None = None,
    view: View | None = None,
    report: Report | None = None,
) -> bytes:
    """The document a fragment stream describes: T(γ). What is odd about it ``report`` hears, or is warned of."""
    findings = Findings(report)
    regions = read_regions(source, structure, findings)
    made = b"".join(regions.document(pick(regions.documents(), doc), view, findings))
    findings.tell()
    return made


def pick(documents: Iterable[str], wanted: str | None) -> str:
    """The document meant: the one asked for, or the only one there is."""
    names = list(documents)
    if wanted is None and len(names) <= 1:
        return names[0] if names else ""
    if wanted is None:
        raise error("XSC0033", f"the stream has {len(names)} documents", hint=f"say which: {', '.join(names[:8])}")
    if wanted not in names:
        raise error("XSC0033", f"no document {wanted!r} in the stream", hint=f"there are: {', '.join(names[:8])}")
    return wanted

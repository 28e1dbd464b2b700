"""T(γ), the document that the changes γ of a stream describe, a second time: from docs/semantics.md and docs/wire.md,
with no code of the product. The wire's text comes in, the text of T goes out, or the code of the error that T is.

It is as plain as can be: nothing is ever compacted, and all of T is written anew whenever it is asked for. Read
:mod:`law_wire` (changes), then :class:`Document` (what each does to the regions), :class:`Writing` (how they become
text), :class:`Streams` (what counts, and when).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from xml.sax.saxutils import quoteattr

from law_wire import START, Change, Element, Hole, Mutable, Node, Structure, instant, read, written


@dataclass(frozen=True, slots=True)
class Inner:
    """An element of a content that has come: the regions in it are regions."""

    element: Element
    inside: list[Bound]


@dataclass(slots=True)
class Filler:
    """A content of a region, or None: a tombstone. ``text``: as the wire had it; None: another region."""

    inside: list[Bound] | None
    text: str | None
    version: int | None
    time: datetime = START
    tsid: int | None = None
    found: int | None = None
    """The version that a replacement without one found among the events of its instant: it counts as of that."""


@dataclass(eq=False, slots=True)
class Region:
    """What is known of a region."""

    id: int
    untimed: Filler | None = None
    versions: dict[int, dict[datetime, Filler]] = field(default_factory=dict)
    """Of each temporal tag, by the time from which it is valid."""
    events: dict[int, list[Filler]] = field(default_factory=dict)
    floors: dict[tuple[int, datetime], int] = field(default_factory=dict)
    """The version as of which the events of a tag and an instant were replaced."""
    before: list[Region] = field(default_factory=list)
    after: list[Region] = field(default_factory=list)
    hidden: bool = False
    shown_as_of: int | None = None
    frozen: bool = False
    frozen_as_of: int | None = None


Bound = str | Inner | Hole | Region
"""What is in a content that has come."""


def older(version: int | None, than: int | None) -> bool:
    """Whether a change of a version comes too late. One without a version counts as of the version that it finds."""
    return version is not None and than is not None and version < than


def later(version: int | None, found: int | None) -> int | None:
    return found if version is None else version


class Document:
    """T1: the regions of one document after some changes, taken in one after the other."""

    def __init__(self) -> None:
        self.names: dict[int, Region] = {}  # an id means its newest region
        self.largest = START

    def take(self, change: Change, structure: Structure | None, largest: datetime) -> None:
        """``largest``: the largest time that the stream has seen."""
        self.largest = largest
        if change.kind in ("before", "after"):
            self.beside(change)
        elif change.kind in ("hide", "show", "freeze"):
            self.flag(change)
        elif change.kind == "replace" and change.target is not None:
            self.exchange(change)
        elif change.kind != "eos":
            tsid = structure.root if structure and change.tsid is None and change.id == 0 else change.tsid
            self.fill(replace(change, tsid=tsid), structure.types[tsid] if structure and tsid is not None else "")

    def named(self, id_: int | None) -> Region:
        assert id_ is not None
        return self.names.setdefault(id_, Region(id_))

    @staticmethod
    def closed(region: Region, change: Change) -> bool:
        """Whether a region is frozen, as of a version that the change comes after if it says as of which."""
        if not region.frozen:
            return False
        return change.version is None or region.frozen_as_of is None or change.version > region.frozen_as_of

    # ---------------------------------------------------------------------------------------------- contents

    def bind(self, content: tuple[Node, ...]) -> list[Bound]:
        """A content that has come: each mutable part is a new region, which the id means from now on."""
        bound: list[Bound] = []
        for node in content:
            if isinstance(node, Element):
                bound.append(Inner(node, self.bind(node.inside)))
            elif isinstance(node, Mutable):
                region = self.names[node.id] = Region(node.id)
                region.untimed = Filler(self.bind(node.inside), None, None)
                bound.append(region)
            else:
                bound.append(node)
        return bound

    def lose(self, filler: Filler | None) -> None:
        """The regions in a content that goes are dead: no id means them. What fills its holes is not."""
        waiting: list[Bound] = list(filler.inside or []) if filler else []
        while waiting:
            node = waiting.pop()
            if isinstance(node, Inner):
                waiting += node.inside
            elif isinstance(node, Region):
                if self.names.get(node.id) is node:
                    del self.names[node.id]
                waiting += [*node.before, *node.after, *((node.untimed and node.untimed.inside) or [])]

    def fill(self, change: Change, type_: str) -> None:
        """A filler, its repeat, its replacement or its removal."""
        timed = type_ in ("temporal", "event") and change.time is not None
        if change.kind == "remove" and change.id not in self.names and change.version is None and not timed:
            return  # nothing to remove yet
        region = self.named(change.id)
        if self.closed(region, change):
            return
        if type_ == "temporal":
            self.version(region, change)
        elif type_ == "event":
            self.event(region, change)
        elif change.kind == "remove" and change.tsid is None and (region.versions or region.events):
            for tsid in region.versions:  # what has no time stays
                self.end(region, tsid, change)
        else:
            self.content(region, change)

    def content(self, region: Region, change: Change) -> None:
        """Without time: the newest by (version, arrival); the same content again is nothing new."""
        known = region.untimed
        version = None if known is None else known.version
        if older(change.version, version):
            return
        if change.kind == "remove":
            self.lose(known)
            tsid = known.tsid if known is not None and change.tsid is None else change.tsid
            region.untimed = Filler(None, None, later(change.version, version), tsid=tsid)
        elif known is not None and known.inside is not None and known.text == change.text:
            known.version = later(change.version, version)
        else:
            self.lose(known)
            inside = self.bind(change.content)
            region.untimed = Filler(inside, change.text, later(change.version, version), tsid=change.tsid)

    def version(self, region: Region, change: Change) -> None:
        """A temporal tag: of one instant the newest by (version, arrival)."""
        assert change.tsid is not None
        if change.kind == "remove":
            self.end(region, change.tsid, change)
            return
        track = region.versions.setdefault(change.tsid, {})
        time = START if change.time is None else change.time
        known = track.get(time)
        version = None if known is None else known.version
        if older(change.version, version):
            return
        if known is not None and known.inside is not None and known.text == change.text:
            known.version = later(change.version, version)
            return
        self.lose(known)
        track[time] = Filler(self.bind(change.content), change.text, later(change.version, version), time, change.tsid)

    def end(self, region: Region, tsid: int, change: Change) -> None:
        """A removal: life ends at that time, or at the largest time seen."""
        track = region.versions.setdefault(tsid, {})
        time = self.largest if change.time is None else change.time
        known = track.get(time)
        version = None if known is None else known.version
        if older(change.version, version):
            return
        self.lose(known)
        track[time] = Filler(None, None, later(change.version, version), time, tsid)

    def event(self, region: Region, change: Change) -> None:
        """An event tag: all are kept; a replacement stands for those of its instant; nothing removes one."""
        assert change.tsid is not None
        if change.kind == "remove":
            return
        events = region.events.setdefault(change.tsid, [])
        time = START if change.time is None else change.time
        there = [event for event in events if event.time == time]
        floor = region.floors.get((change.tsid, time))
        if older(change.version, floor):
            return
        found: int | None = None
        if change.kind == "replace":
            for event in there:
                if not older(change.version, event.version):
                    self.lose(event)
                    events.remove(event)
                    stood = event.found if event.version is None else event.version
                    if change.version is None and stood is not None:
                        found = max(found or 0, stood)
            floors = [version for version in (floor, *[event.version for event in there]) if version is not None]
            if change.version is not None or floors:
                region.floors[change.tsid, time] = max(floors) if change.version is None else change.version
        for event in events:
            if event.time == time and event.text == change.text and (event.version or 0) == (change.version or 0):
                return
        events.append(Filler(self.bind(change.content), change.text, change.version, time, change.tsid, found))

    # ---------------------------------------------------------------------------------------------- updates

    def target(self, change: Change) -> Region | None:
        """The region that an update names, if it may be updated."""
        id_ = change.id if change.target is None else change.target
        assert id_ is not None
        region = self.names.get(id_)
        return None if region is None or self.closed(region, change) else region

    def fresh(self, change: Change) -> Region:
        assert change.id is not None
        region = self.names[change.id] = Region(change.id)
        region.untimed = Filler(self.bind(change.content), change.text, None)
        return region

    def exchange(self, change: Change) -> None:
        """sR(i, j): the content of i becomes region j."""
        region = self.target(change)
        if region is None:
            return
        known = region.untimed or Filler(None, None, None)
        if older(change.version, known.version):
            return
        self.lose(known)
        region.untimed = Filler([self.fresh(change)], None, later(change.version, known.version), tsid=known.tsid)

    def beside(self, change: Change) -> None:
        """sB(i, j), sA(i, j): region j is a sibling of i; the latest comes closest."""
        region = self.target(change)
        if region is None:
            return
        sibling = self.fresh(change)
        if change.kind == "before":
            region.before.append(sibling)
        else:
            region.after.insert(0, sibling)

    def flag(self, change: Change) -> None:
        assert change.id is not None
        region = self.names.get(change.id) if change.version is None else self.named(change.id)
        if region is None or (change.kind != "freeze" and self.closed(region, change)):
            return
        if change.kind == "freeze":  # of several the earliest counts; one without a version closes the region to all
            if not region.frozen or older(change.version, region.frozen_as_of):
                region.frozen, region.frozen_as_of = True, change.version
        elif not older(change.version, region.shown_as_of):
            region.hidden = change.kind == "hide"
            region.shown_as_of = later(change.version, region.shown_as_of)


# ------------------------------------------------------------------------------------------------- the document


class Writing:
    """T2: the text of a document as of ``now``, the holes filled."""

    def __init__(self, document: Document, structure: Structure | None, now: datetime) -> None:
        self.names = document.names
        self.now = now
        self.top = frozenset() if structure is None else structure.top

    def text(self) -> str:
        """Region 0; or, without a named root, the regions with fillers of the top tags, by (least version, id)."""
        if not self.top:
            return "".join(self.hole(0, (), ""))
        found = []
        for id_, region in self.names.items():
            tracks = [[region.untimed], *[it.values() for it in region.versions.values()], *region.events.values()]
            fillers = [filler for track in tracks for filler in track if filler is not None]
            versions = [filler.version or filler.found or 0 for filler in fillers if filler.tsid in self.top]
            if versions:
                found.append((min(versions), id_))
        return "".join(part for _, id_ in sorted(found) for part in self.hole(id_, (), ""))

    @staticmethod
    def order(filler: Filler) -> tuple[int, int, bytes]:
        """What comes first of one instant: the older version, none being 0; the lesser tsid; the lesser digest."""
        return filler.version or 0, filler.tsid or 0, blake2b((filler.text or "").encode(), digest_size=16).digest()

    def hole(self, id_: int, path: tuple[Region, ...], default: str) -> Iterator[str]:
        region = self.names.get(id_)
        if region is not None:
            yield from self.region(region, path, default)

    def region(self, region: Region, path: tuple[Region, ...], default: str) -> Iterator[str]:
        """A region between its siblings, which are outside it. One that is on its own root path is empty."""
        if region in path:
            return
        for sibling in region.before:
            yield from self.region(sibling, path, default)
        if not region.hidden:
            for filler, to in self.fillers(region):
                life = to and f' vtFrom="{written(filler.time)}" vtTo="{to}"'
                yield from self.nodes(filler.inside or [], (*path, region), life, default)
        for sibling in region.after:
            yield from self.region(sibling, path, default)

    def fillers(self, region: Region) -> list[tuple[Filler, str]]:
        """What stands in a hole, with the end of its life: what is untimed, without one; then by (vtFrom, version)."""
        found: list[tuple[Filler, str]] = []
        if region.untimed is not None and region.untimed.inside is not None:
            found.append((region.untimed, ""))
        for track in region.versions.values():
            alive = [track[time] for time in sorted(track) if time <= self.now]
            for number, filler in enumerate(alive):
                if filler.inside is not None:
                    last = number + 1 == len(alive)
                    found.append((filler, "now" if last else written(alive[number + 1].time)))
        for events in region.events.values():
            found += [(event, written(event.time)) for event in events if event.time <= self.now]
        found.sort(key=lambda it: (it[1] != "", it[0].time, *self.order(it[0])))
        return found

    def nodes(self, nodes: list[Bound], path: tuple[Region, ...], life: str, default: str) -> Iterator[str]:
        """``life``: the attributes that say it, on the elements at the top; ``default``: the namespace around."""
        for node in nodes:
            if isinstance(node, str):
                yield node
            elif isinstance(node, Hole):
                yield from self.hole(node.id, path, default)
            elif isinstance(node, Region):
                yield from self.region(node, path, default)
            else:
                it = node.element
                namespace = "" if it.default == default else f" xmlns={quoteattr(it.default)}"
                yield f"<{it.name}{namespace}{it.attributes}{life or it.lifespan}>"
                yield from self.nodes(node.inside, path, "", it.default)
                yield f"</{it.name}>"


# ------------------------------------------------------------------------------------------------- streams


class Stream:
    """What has come on one stream."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.structure: Structure | None = None
        self.waiting: list[Change] = []
        self.largest = START
        self.ended = False

    def take(self, item: Change | Structure) -> None:
        """A change that names a tag waits for a structure, and so does what is about the same region after it. Until
        then it has not been seen, nor has its time."""
        if isinstance(item, Structure):
            if self.structure is None or set(self.structure.types) <= set(item.types):
                self.structure = item  # it adds to what was there
            waiting, self.waiting = self.waiting, []
            for change in waiting:
                self.take(change)
        elif item.kind == "eos":
            self.ended = True
        elif self.structure is None and (
            item.tsid is not None or any(item.about & other.about for other in self.waiting)
        ):
            self.waiting.append(item)
        elif item.tsid is None or (self.structure is not None and item.tsid in self.structure.types):
            self.largest = max(self.largest, item.time or START)
            document = self.documents.setdefault(item.doc, Document())
            document.take(item, self.structure, self.largest)

    def text(self, now: datetime) -> str:
        unnamed = self.structure is not None and self.structure.root is None
        there = [
            document for document in self.documents.values() if 0 in document.names or (unnamed and document.names)
        ]
        if len(there) > 1:
            return "error XSC0033"
        return "".join(Writing(document, self.structure, now).text() for document in there)


class Streams:
    """Some streams and their clock. ``lateness``, in seconds: what is later than that is put aside."""

    def __init__(self, clock: str = "event", lateness: float | None = None) -> None:
        self.streams: dict[str, Stream] = {}
        self.lateness = None if lateness is None else timedelta(seconds=lateness)
        self.ticked = START if clock == "manual" else None
        self.mark = START

    def take(self, stream: str, wire: str) -> None:
        came = self.streams.setdefault(stream, Stream())
        for item in read(wire):
            if isinstance(item, Structure) or item.time is None or item.time >= self.watermark():
                came.take(item)

    def tick(self, time: str) -> None:
        assert self.ticked is not None, "only a manual clock is set by hand"
        self.ticked = max(self.ticked, instant(time))

    def watermark(self) -> datetime:
        """The least, over the streams that have brought something timed and go on, of (largest time − lateness)."""
        going = [stream.largest for stream in self.streams.values() if not stream.ended and stream.largest != START]
        if self.lateness is not None and going:
            self.mark = max(self.mark, min(going) - self.lateness)
        return self.mark

    @property
    def now(self) -> datetime:
        if self.ticked is not None:
            return self.ticked
        return max([stream.largest for stream in self.streams.values()], default=START)

    def text(self, stream: str) -> str:
        """T of a stream; ``error CODE`` where it is one."""
        return self.streams.setdefault(stream, Stream()).text(self.now)

"""Update streams (ICDE'08 §III) as fragments: positions become holes.

``before``, ``after``, ``replace target`` and regions inside content count in the order in which they come, once each.
Fragments with versions may come in any order, some again, some late. So on the air there are only fragments:

    <stream:mutable id="j">x</stream:mutable>   a hole j, and the filler x
    after(i, j) x, before(i, j) x               the hole of i holds a row: … i' j …; and the filler x of j
    replace(i, j) x                             i holds the hole j; and the filler x of j

where i' is a new region that takes over what i held, once something stands beside i. A row is kept in pages: what an
insertion costs is the page it is in, whatever the length of the row. T is the same, as long as no number is that of a
hole and also, later, that of a region inside a content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

from xstreamcast.errors import Place, error
from xstreamcast.model.change import After, Before, Change, ContentChange, Fill, Freeze, Hide, Remove, Replace, Show
from xstreamcast.model.time import Instant
from xstreamcast.serve.current import FROZEN, SEEN, UNTIMED, Current, older
from xstreamcast.serve.record import Entry, Where
from xstreamcast.wire.content import Content, Hole, Mutable, Piece, parse_content, write_content
from xstreamcast.wire.fragment import FragmentReader, encode_change

FIRST: Final = 1 << 48
"""The number of the first region that is made here; sources number theirs from 0."""
PAGE: Final = 64

Region = tuple[str, int]
"""A region as it is on the air: its document and number."""
Filled = tuple[str, int, Instant | None]
"""A content of a region: that of a valid time, or the one without."""


@dataclass(slots=True, eq=False)
class _Page:
    """Some members of a row, in order."""

    region: int
    members: list[int]


@dataclass(slots=True, eq=False)
class _Row:
    """Regions side by side, in the hole of the first of them that was there."""

    hole: int
    pages: list[_Page] = field(default_factory=list)


class Positions:
    """Makes fragments of the changes of one stream; what needs no making passes."""

    def __init__(self, current: Current, fetch: Callable[[Where], Entry]) -> None:
        self.current = current
        self.fetch = fetch
        self.next = FIRST
        self.names: dict[Region, int | None] = {}  # by the source's number; None: the region is dead
        self.called: dict[Region, int] = {}  # the reverse
        self.rows: dict[Region, tuple[_Row, _Page]] = {}  # by member
        self.inline: dict[Filled, list[int]] = {}  # the regions that lie inside a content
        self.inside: dict[Region, Filled] = {}  # the reverse
        self.times: dict[Region, dict[Instant | None, None]] = {}  # of the contents that regions lie in
        self.digests: dict[Filled, bytes] = {}  # of contents that were taken apart
        self.gone: set[Region] = set()  # members that are removed: their row does not hold them

    def unused(self) -> int:
        """Regions from this number on have not been spoken of by any source."""
        numbers = [number for _, number in self.names]
        return 1 + max([*numbers, *[number for number in self.current.numbers() if number < FIRST]], default=0)

    def books(self) -> dict[str, Any]:
        """All that is known, as JSON can say it."""
        rows: dict[int, tuple[str, _Row, list[int]]] = {}
        for (doc, member), (row, _) in self.rows.items():
            rows.setdefault(id(row), (doc, row, []))[2].append(member)
        return {
            "next": self.next,
            "names": [[*region, wire] for region, wire in self.names.items()],
            "called": [[*region, number] for region, number in self.called.items()],
            "rows": [
                [doc, row.hole, [[page.region, page.members] for page in row.pages], members]
                for doc, row, members in rows.values()
            ],
            "inline": [[*filled, regions] for filled, regions in self.inline.items()],
            "inside": [[*region, *filled] for region, filled in self.inside.items()],
            "times": [[*region, list(times)] for region, times in self.times.items()],
            "digests": [[*filled, digest.hex()] for filled, digest in self.digests.items()],
            "gone": sorted(self.gone),
        }

    def restore(self, books: dict[str, Any]) -> None:
        """All that was known."""
        self.next = books["next"]
        self.names = {(doc, number): wire for doc, number, wire in books["names"]}
        self.called = {(doc, wire): number for doc, wire, number in books["called"]}
        for doc, hole, pages, members in books["rows"]:
            row = _Row(hole, [_Page(region, list(inside)) for region, inside in pages])
            of = {member: page for page in row.pages for member in page.members}
            self.rows.update({(doc, member): (row, of[member]) for member in members})
        self.inline = {(doc, region, time): regions for doc, region, time, regions in books["inline"]}
        self.inside = {(doc, region): (where, of, time) for doc, region, where, of, time in books["inside"]}
        self.times = {(doc, region): dict.fromkeys(times) for doc, region, times in books["times"]}
        self.digests = {(doc, region, time): bytes.fromhex(text) for doc, region, time, text in books["digests"]}
        self.gone = {(doc, region) for doc, region in books["gone"]}

    def replay(self, entry: Entry) -> None:
        """A record of the log, at a restart: what was made then is made again, so that all numbers are as they were."""
        if entry.origin:
            for arrival in FragmentReader([entry.origin]):
                assert isinstance(arrival.item, Change), "it was logged"
                self.fragments(arrival.item, None)

    def fragments(self, change: Change, place: Place | None) -> tuple[list[Change], bytes]:
        """The fragments of a change; and, where they are not the change itself, the change as it came."""
        if isinstance(change, ContentChange) and (getattr(change, "target", None) is not None or _lifts(change)):
            # Nothing is noted of what will be refused.
            self.current.tag_of(change, place)
            parse_content(change.content, place=place or Place())
        involved = self._involved(change)
        made = list(self._made(change, place))
        return made, encode_change(change) if involved or made != [change] else b""

    def _involved(self, change: Change) -> bool:
        where = change.doc, change.region
        return where in self.names or where in self.rows or (*where, change.valid_time) in self.inline

    def _made(self, change: Change, place: Place | None) -> Iterator[Change]:
        match change:
            case Before() | After():
                yield from self._beside(change, place)
            case Replace(target=int(target)):
                yield from self._replace(change, target, place)
            case ContentChange():
                yield from self._fill(change, place)
            case Remove():
                yield from self._remove(change)
            case Hide() | Show() | Freeze():
                wire = self._name(change)
                if wire is not None:
                    yield replace(change, region=wire)
            case _:
                yield change

    # ------------------------------------------------------------------------------------------------- names

    def _name(self, change: Change) -> int | None:
        return self.names.get((change.doc, change.region), change.region)

    def _target(self, change: Change, target: int) -> int | None:
        """The region that is meant, if it is there and open."""
        wire = self.names.get((change.doc, target), target)
        if wire is None or not self.current.knows((change.doc, wire)):
            return None
        return None if (FROZEN, change.doc, wire) in self.current.table else wire

    def _new(self) -> int:
        self.next += 1
        return self.next - 1

    def _register(self, doc: str, number: int) -> int:
        """A new region with a number of the source's: it means the newest one from now on."""
        used = (doc, number) in self.names or self.current.knows((doc, number)) or (doc, number) in self.called
        wire = self._new() if used else number
        self.names[doc, number] = wire
        self.called[doc, wire] = number
        self.current.owned.add((doc, wire))
        return wire

    def _hold(self, filled: Filled, regions: list[int]) -> None:
        """Some regions lie inside a content."""
        if regions:
            self.inline[filled] = regions
            self.times.setdefault(filled[:2], {})[filled[2]] = None
            self.inside.update(((filled[0], region), filled) for region in regions)

    def _bury(self, filled: Filled) -> None:
        """The regions inside a content that is gone are dead, and those beside them."""
        doc = filled[0]
        self.digests.pop(filled, None)
        dying = self.inline.pop(filled, [])
        while dying:
            wire = dying.pop()
            number = self.called.pop((doc, wire), wire)
            if self.names.get((doc, number), number) == wire:
                self.names[doc, number] = None
            self.inside.pop((doc, wire), None)
            for time in self.times.pop((doc, wire), ()):
                dying += self.inline.pop((doc, wire, time), [])
            row = self.rows.pop((doc, wire), None)
            if row is not None:
                dying += [member for page in row[0].pages for member in page.members if (doc, member) in self.rows]

    # ------------------------------------------------------------------------------------------------- contents

    def _open(self, doc: str, content: bytes, place: Place | None) -> tuple[bytes, list[int], list[Change]]:
        """Content with its regions taken out: what is left, the regions, and their fillers."""
        if b":mutable" not in content:
            return content, [], []
        regions: list[int] = []
        fillers: list[Change] = []
        left = self._lift(doc, parse_content(content, place=place or Place()), regions, fillers)
        return (write_content(left, {}) if regions else content), regions, fillers

    def _lift(self, doc: str, content: Content, regions: list[int], fillers: list[Change]) -> Content:
        pieces: list[Piece] = []
        for piece in content.pieces:
            if isinstance(piece, Mutable):
                wire = self._register(doc, piece.region)
                inner: list[int] = []
                inside = write_content(self._lift(doc, piece.content, inner, fillers), piece.scope or {})
                fillers.append(Fill(region=wire, doc=doc, content=inside))
                self._hold((doc, wire, None), inner)
                regions.append(wire)
                pieces.append(Hole(wire, piece.tsid, piece.scope))
            else:
                pieces.append(piece)
        return Content(tuple(pieces))

    def _stale(self, change: Change, wire: int) -> bool:
        """Whether a change comes too late: then nothing of it is taken apart."""
        known = self.current.table.get((UNTIMED, change.doc, wire))
        late = known is not None and older(change.version, known.given)
        return late or (FROZEN, change.doc, wire) in self.current.table

    def _fill(self, change: ContentChange, place: Place | None) -> Iterator[Change]:
        wire = self._name(change)
        if wire is None:  # the dead one is not meant: a hole of that number is
            wire = change.region
            if (change.doc, wire) in self.called:
                return  # another region has it on the air
            del self.names[change.doc, change.region]
        filled: Filled = (change.doc, wire, change.valid_time)
        if _lifts(change) or filled in self.inline:
            if self._stale(change, wire):
                return
            digest = blake2b(change.content, digest_size=16).digest()
            if self.digests.get(filled) == digest:
                return
            self._bury(filled)
            content, regions, fillers = self._open(change.doc, change.content, place)
            self._hold(filled, regions)
            if regions:
                self.digests[filled] = digest
            yield replace(change, region=wire, content=content)
            yield from fillers
        else:
            yield replace(change, region=wire) if wire != change.region else change
        yield from self._back(change.doc, wire)

    def _replace(self, change: Replace, target: int, place: Place | None) -> Iterator[Change]:
        wire = self._target(change, target)
        if wire is None or self._stale(change, wire):
            return
        self._bury((change.doc, wire, None))
        region = self._register(change.doc, change.region)
        content, regions, fillers = self._open(change.doc, change.content, place)
        self._hold((change.doc, region, None), regions)
        self._hold((change.doc, wire, None), [region])
        # The same content as a filler says nothing new, as it would if the regions in it were still as they came.
        self.digests[change.doc, wire, None] = blake2b(change.content, digest_size=16).digest()
        yield Replace(region=wire, doc=change.doc, version=change.version, content=_holes([region]))
        yield Fill(region=region, doc=change.doc, tsid=change.tsid, content=content)
        yield from fillers
        yield from self._back(change.doc, wire)

    def _remove(self, change: Remove) -> Iterator[Change]:
        wire = self._name(change)
        if wire is None or self._stale(change, wire):
            return
        self._bury((change.doc, wire, change.valid_time))
        yield replace(change, region=wire) if wire != change.region else change
        where = change.doc, wire
        if where in self.rows and where not in self.gone and self.current.knows(where):
            self.gone.add(where)
            yield self._page(change.doc, self.rows[where][1])

    def _back(self, doc: str, wire: int) -> Iterator[Change]:
        """A member that had been removed has content again."""
        if (doc, wire) in self.gone:
            self.gone.discard((doc, wire))
            yield self._page(doc, self.rows[doc, wire][1])

    # ------------------------------------------------------------------------------------------------- rows

    def _beside(self, change: Before | After, place: Place | None) -> Iterator[Change]:
        doc = change.doc
        target = self._target(change, change.target)
        if target is None:
            return
        moved: list[Change] = []
        if (doc, target) not in self.rows:
            moved, target = self._begin(doc, target, place)
        region = self._register(doc, change.region)
        content, regions, fillers = self._open(doc, change.content, place)
        self._hold((doc, region, None), regions)
        yield Fill(region=region, doc=doc, tsid=change.tsid, version=change.version, content=content)
        yield from fillers
        yield from moved
        row, page = self.rows[doc, target]
        page.members.insert(page.members.index(target) + isinstance(change, After), region)
        self.rows[doc, region] = row, page
        yield from self._told(doc, row, page)

    def _begin(self, doc: str, hole: int, place: Place | None) -> tuple[list[Change], int]:
        """A row in the hole of a region; what the region held goes to a new one."""
        current, number = self.current, self.called.get((doc, hole), hole)
        if (doc, hole) in current.timed:
            hint = "send its parent again with one more hole"
            raise error("XSC0108", f"something beside region {number}, which has versions in time", place, hint)
        region = self._new()
        moved: list[Change] = []
        held = current.table.get((UNTIMED, doc, hole))
        if held is not None and held.kind != Remove.kind:
            for arrival in FragmentReader([self.fetch(held.where).wire]):
                assert isinstance(arrival.item, ContentChange), "it was logged"
                moved.append(
                    Fill(region=region, doc=doc, tsid=held.tsid, version=held.given, content=arrival.item.content)
                )
        else:
            self.gone.add((doc, region))
            moved.append(Remove(region=region, doc=doc, version=0))  # so that it is known
        flag = current.table.get((SEEN, doc, hole))
        if flag is not None and flag.kind == Hide.kind:
            moved += [Hide(region=region, doc=doc, version=flag.given or 0), Show(region=hole, doc=doc)]
        self.times.pop((doc, hole), None)
        self._hold((doc, region, None), self.inline.pop((doc, hole, None), []))
        if (doc, hole, None) in self.digests:
            self.digests[doc, region, None] = self.digests.pop((doc, hole, None))
        self.names[doc, number] = region
        self.called[doc, region] = number
        current.owned.add((doc, region))
        row = _Row(hole)
        row.pages.append(_Page(hole, [region]))
        self.rows[doc, region] = row, row.pages[0]
        filled = self.inside.pop((doc, hole), None)
        if filled is not None:  # where the region lay inside a content, it is its row that dies with it
            self.inside[doc, region] = filled
            self.inline[filled] = [region if inside == hole else inside for inside in self.inline[filled]]
        return moved, region

    def _told(self, doc: str, row: _Row, page: _Page) -> Iterator[Change]:
        """A page, and where it has grown too long, the two it becomes and the row that holds them."""
        if len(page.members) <= PAGE:
            yield self._page(doc, page)
            return
        at = row.pages.index(page)
        half = len(page.members) // 2
        parts = [page.members[:half], page.members[half:]]
        # The first page of all is the hole itself, until there are two.
        numbers = [self._new() if page.region == row.hole else page.region, self._new()]
        row.pages[at : at + 1] = [_Page(number, members) for number, members in zip(numbers, parts, strict=True)]
        for made in row.pages[at : at + 2]:
            self.current.owned.add((doc, made.region))
            for member in made.members:
                self.rows[doc, member] = row, made
            yield self._page(doc, made)
        yield Replace(region=row.hole, doc=doc, content=_holes([made.region for made in row.pages]))

    def _page(self, doc: str, page: _Page) -> Change:
        shown = [member for member in page.members if (doc, member) not in self.gone]
        return Replace(region=page.region, doc=doc, content=_holes(shown))


def _lifts(change: ContentChange) -> bool:
    return b":mutable" in change.content


def _holes(regions: list[int]) -> bytes:
    return b"".join(b'<stream:hole id="%d"/>' % region for region in regions)

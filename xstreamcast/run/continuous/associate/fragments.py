"""What may stand in a run: a region with all that is in its holes, as long as it is plain and not too much.

    fragment(i) = the fillings of i seen now, each with fragment(j) in place of every hole j in it

Every content in it is one element in no namespace of its own; there are versions and events, but nothing is hidden, and
nothing stands beside a region. No hole of it stands anywhere else, so that what fills it is the fragment's alone.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

from xstreamcast.cast.materialise import BORDER, across
from xstreamcast.model.content import START_TAG, Opened, without_lifespan
from xstreamcast.model.time import format_instant

if TYPE_CHECKING:
    from collections.abc import Collection

    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.time import Interval
    from xstreamcast.run.continuous.associate.mounting import Mounting

MOST: Final = 128
"""So many holes a fragment may have: it is evaluated as one, and opened as one by the first change that touches it."""
_CLOSED: Final = ord(">")
_BESIDE: Final = frozenset(b"-?]")
"""What may come before the last bracket of a comment, an instruction or a marked section."""
_FIRST: Final = itemgetter(0)


class Inner:
    """A hole within a fragment of a run: ``outer`` is the number of the fragment's own hole."""

    __slots__ = ("outer",)

    def __init__(self, outer: int) -> None:
        self.outer = outer


class Holes(NamedTuple):
    """The holes in a fragment: all their numbers; whether one is ``awaited`` that matters; whether something is
    ``timed``, so that more may come to where something is."""

    inside: tuple[int, ...] = ()
    awaited: bool = False
    timed: bool = False


NO_HOLES: Final = Holes()


def is_simple(content: object) -> TypeGuard[Opened]:
    """Whether a content is one element, in no namespace of its own, and nothing beside it; it may have holes."""
    if type(content) is not Opened or not content.plain or (content.marks is not None and not len(content.marks)):
        return False
    end = content.to
    return content.buffer[end - 1] == _CLOSED and content.buffer[end - 2] not in _BESIDE


def is_bare(region: Region) -> bool:
    """Whether a region is one filling without a time, which is one element without holes."""
    filling = region.current
    return filling is not None and region.plain and is_simple(filling.content) and filling.content.marks is None


def holes_of(live: Mounting, number: int, region: Region, barred: Collection[int], most: int) -> Holes | None:
    """The holes in the fragment that a region is; None if it may not stand in a run.

    ``barred``: holes that stand elsewhere, so that what fills them is not the fragment's alone; ``most``: how many
    holes it may have.
    """
    table, doc, known, needs = live.table, live.doc, live.holes, live.route.needs
    inside: dict[int, None] = {}
    awaited = timed = False
    waiting = [region]
    count = 0
    while waiting:
        region = waiting.pop()
        if region.hidden or region.before or region.after:
            return None
        if region.versions or region.events:
            timed = True
        for filling in region.fillings():
            content = filling.content
            if content is None:
                continue
            count += 1
            if count > most + 1 or not is_simple(content):
                return None
            if content.marks is None:
                continue
            (begin, end, region_of_top, _, _), *rows = content.marks.tolist()
            if begin or region_of_top >= 0 or len(inside) + len(rows) > most:
                return None
            for start, _, hole, tsid, _ in rows:
                if hole < 0 or start >= end or hole == number or hole in inside or hole in barred:
                    return None
                stands = known.get(hole)
                if stands is not None and not (isinstance(stands, Inner) and stands.outer == number):
                    return None
                inside[hole] = None
                held = table.get((doc, hole))
                if held is not None:
                    waiting.append(held)
                elif tsid < 0 or needs(tsid):
                    awaited = True
    return Holes(tuple(inside), awaited, timed) if inside or timed else NO_HOLES


def write_fragment(live: Mounting, region: Region) -> tuple[bytes, int, int]:
    """A fragment as it is in T, how many elements that are, and how many contents."""
    if region.plain:
        content = None if region.current is None else region.current.content
        if isinstance(content, Opened) and content.marks is None:
            return content.data, 1, 1
    writer = _Writer(live)
    tops = writer.region(region)
    return b"".join(writer.text), tops, writer.met


class _Writer:
    """The text of one fragment."""

    __slots__ = ("doc", "met", "now", "shows_lifespan", "table", "text")

    def __init__(self, live: Mounting) -> None:
        self.table = live.table
        self.doc = live.doc
        self.now = live.now
        self.shows_lifespan = live.route.shows_lifespan
        self.text: list[bytes] = []
        self.met = 0

    def region(self, region: Region) -> int:
        """What is seen of a region; how many fillings that are."""
        if not (region.versions or region.events):
            if region.current is None or region.current.content is None:
                return 0
            self.filling(region.current, None)
            return 1
        seen = region.visible(self.now)
        if len(seen) > 1:
            seen.sort(key=_FIRST)
        for _, filling, lifespan in seen:
            self.filling(filling, lifespan)
        return len(seen)

    def filling(self, filling: Filling, lifespan: Interval | None) -> None:
        content = filling.content
        assert isinstance(content, Opened), "only what is plain stands in a run"
        self.met += 1
        data, text = content.data, self.text
        at = 0
        if lifespan is not None and self.shows_lifespan(filling.tsid):
            at = _write_start(data, lifespan, text)
        if content.marks is not None:
            table, doc = self.table, self.doc
            for start, end, hole, _, _ in content.marks.tolist():
                if hole >= 0:
                    self.put(data[at:start])
                    at = end
                    held = table.get((doc, hole))
                    if held is not None:
                        self.region(held)
        self.put(data[at:] if at else data)

    def put(self, piece: bytes) -> None:
        """Write what stands between holes; those may be empty."""
        if piece:
            if piece[0] in BORDER and self.text:
                piece = across(b"".join(self.text[-2:])[-2:], piece)
            self.text.append(piece)


def _write_start(data: bytes, lifespan: Interval, text: list[bytes]) -> int:
    """Write a start tag with a lifespan, which comes instead of attributes of the same names; where the tag ends."""
    span = f' vtFrom="{format_instant(lifespan.begin)}" vtTo="{format_instant(lifespan.end)}"'.encode()
    tag: Any = START_TAG.match(data)
    assert tag is not None, "the scan has read it"
    name, attributes, empty = tag.groups()
    text.append(b"<%b%b%b%b>" % (name, without_lifespan(attributes), span, empty))
    end: int = tag.end()
    return end

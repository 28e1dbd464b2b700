"""What may stand in a run: a region with all that is in its holes, as long as it is plain and not too much.

    fragment(i) = the fillings of i seen now, each with fragment(j) in place of every hole j in it

Every content in it is one element in no namespace of its own; there are versions and events, but nothing is hidden, and
nothing stands beside a region. No hole of it stands anywhere else, so that what fills it is the fragment's alone.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeGuard

from xstreamcast.cast.materialise import BORDER, across
from xstreamcast.model.time import NOW, format_instant
from xstreamcast.wire.content import START_TAG, Opened, without_lifespan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.time import Instant
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
    ``timed``, so that more may come to where something is; how many fillings were ``met``."""

    inside: tuple[int, ...] = ()
    awaited: bool = False
    timed: bool = False
    met: int = 0


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
    return _walked(live, number, NO_HOLES, [region], (), barred, most)


def more_holes(
    live: Mounting, number: int, holes: Holes, more: Iterable[Filling], barred: Collection[int], most: int
) -> Holes | None:
    """… if it had some holes, and nothing has changed but that more fillings with times have come to it."""
    return _walked(live, number, holes, [], more, barred, most)


def _walked(
    live: Mounting,
    number: int,
    before: Holes,
    waiting: list[Region],
    fillings: Iterable[Filling],
    barred: Collection[int],
    most: int,
) -> Holes | None:
    table, doc, known, needs = live.table, live.doc, live.holes, live.route.needs
    inside = dict.fromkeys(before.inside)
    _, awaited, timed, count = before
    while True:
        for filling in fillings:
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
        if not waiting:
            return Holes(tuple(inside), awaited, timed, count) if inside or timed else NO_HOLES
        region = waiting.pop()
        if region.hidden or region.before or region.after:
            return None
        if region.versions or region.events:
            timed = True
        fillings = region.fillings()


class Writer:
    """Writes fragments as they are in T. ``met``: how many contents there were in the last one."""

    __slots__ = ("_doc", "_instants", "_now", "_shows_lifespan", "_table", "_text", "met")

    def __init__(self, live: Mounting) -> None:
        self._table = live.table
        self._doc = live.doc
        self._now = live.now
        self._shows_lifespan = live.route.shows_lifespan
        self._instants: dict[Instant, bytes] = {}
        self._text: list[bytes] = []
        self.met = 0

    def write(self, region: Region) -> tuple[bytes, int]:
        """The text of a fragment, and how many elements stand side by side in it."""
        if region.plain:
            content = None if region.current is None else region.current.content
            if isinstance(content, Opened) and content.marks is None:
                self.met = 1
                return content.data, 1
        self._text.clear()
        self.met = 0
        tops = self._region(region)
        return b"".join(self._text), tops

    def _region(self, region: Region) -> int:
        """What is seen of a region; how many fillings that are."""
        current = region.current
        if not (region.versions or region.events):
            if current is None or current.content is None:
                return 0
            self._filling(current, None, NOW)
            return 1
        seen = region.spans(self._now)
        if len(seen) > 1:
            seen.sort(key=_FIRST)
        for _, filling, begin, end in seen:
            self._filling(filling, begin, end)
        return len(seen)

    def _filling(self, filling: Filling, begin: Instant | None, end: Instant) -> None:
        content = filling.content
        assert isinstance(content, Opened), "only what is plain stands in a run"
        self.met += 1
        data, marks, text = content.data, content.marks, self._text
        at = 0
        if begin is not None and self._shows_lifespan(filling.tsid):
            tag: Any = START_TAG.match(data)
            assert tag is not None, "the scan has read it"
            name, attributes, empty = tag.groups()
            span = self._instant(begin), self._instant(end)
            text.append(b'<%b%b vtFrom="%b" vtTo="%b"%b>' % (name, without_lifespan(attributes), *span, empty))
            at = tag.end()
        if marks is not None:
            table, doc = self._table, self._doc
            for start, behind, hole, _, _ in marks.tolist():
                if hole >= 0:
                    self._put(data[at:start])
                    at = behind
                    held = table.get((doc, hole))
                    if held is not None:
                        self._region(held)
        self._put(data[at:])

    def _instant(self, instant: Instant) -> bytes:
        known = self._instants.get(instant)
        if known is None:
            known = self._instants[instant] = format_instant(instant).encode()
        return known

    def _put(self, piece: bytes) -> None:
        """Write what stands between holes; those may be empty."""
        if piece:
            if piece[0] in BORDER and self._text:
                piece = across(b"".join(self._text[-2:])[-2:], piece)
            self._text.append(piece)

"""Where things stand in T(γ): places of holes, the contents seen there, and the members found in them.

An :class:`Occurrence` is one place of a hole (XFrag's association: filler ↔ hole ↔ record; a hole id that occurs twice
has two). A filling seen there is a :class:`Mount`. A :class:`Member` is a record of a unit. Rows of a content count
from its wrapper, whatever tree it has been parsed into: the tree may be dropped, and made again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.depth import deepest, too_deep
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, intern, name_uri
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.time import Interval, format_instant
from xstreamcast.run.continuous.associate.standing import Place
from xstreamcast.run.temporal import VT_FROM, VT_TO

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling, Region
    from xstreamcast.model.tree import Tree
    from xstreamcast.run.continuous.adjust.order import Entry, Sequence
    from xstreamcast.run.continuous.arrive.grove import Grove
    from xstreamcast.run.continuous.associate.mounting import Mounting
    from xstreamcast.run.continuous.associate.runs import Run
    from xstreamcast.run.continuous.evaluate.marks import Mark

HOLE: Final = intern(ELEMENT, STREAM, "hole")
MUTABLE: Final = intern(ELEMENT, STREAM, "mutable")
ID: Final = intern(ATTRIBUTE, "", "id")
TSID: Final = intern(ATTRIBUTE, "", "tsid")

Attributes = tuple[tuple[int, int, str], ...]
Namespaces = tuple[tuple[str, str], ...]
"""Prefixes and what they stand for; "" takes a prefix out of scope."""


class Above:
    """An element around something: what a record sees of its ancestors."""

    __slots__ = (
        "attributes", "below", "declares", "default", "header", "name", "namespaces", "parent", "plain", "prefix",
    )  # fmt: skip

    def __init__(
        self, parent: Above | None, name: int, prefix: int, attributes: Attributes, namespaces: Namespaces = ()
    ) -> None:
        self.parent = parent
        self.name = name
        self.prefix = prefix
        self.attributes = attributes
        self.namespaces = namespaces
        self.declares: bool = bool(namespaces) or (parent is not None and parent.declares)
        """Whether it or those around it declare namespaces, which are in scope below."""
        self.default: str = dict(namespaces).get("", "" if parent is None else parent.default)
        """The default namespace below it."""
        self.below: dict[tuple[int, int], Above] = {}
        """Those in it that show no attributes and declare nothing, by name and prefix: one for all."""
        self.plain: bool = (parent is None or parent.plain) and not (prefix or name_uri[name] or self.default)
        """Whether neither it nor those around it are in a namespace, nor any of their attributes."""
        if attributes and self.plain:
            self.plain = not any(other or name_uri[attribute] for attribute, other, _ in attributes)
        self.header: Any = None
        """The rows of the chain, once a document has been made with it (:mod:`assemble`)."""

    def same(self, other: Above | None) -> bool:
        """Whether a query sees no difference between two chains of ancestors."""
        mine: Above | None = self
        while mine is not other:
            if mine is None or other is None:
                return False
            if (mine.name, mine.prefix, mine.attributes) != (other.name, other.prefix, other.attributes):
                return False
            if mine.namespaces != other.namespaces:
                return False
            mine, other = mine.parent, other.parent
        return True


class Member:
    """One record of a unit where it stands now.

    ``outcome``: the items its last evaluation gave; None before the first. ``inner``: of a frame, by unit, its members.
    ``asleep``: nothing comes of it, whatever is in it, as long as those are as they are. ``twin``: of an instance that
    is chosen by its number, the member that is counted for it, and the other way round.
    """

    __slots__ = ("above", "asleep", "entry", "inner", "mount", "outcome", "row", "state", "twin", "unit")

    def __init__(self, unit: int, above: Above | None, mount: Any, row: int, state: int, entry: Any) -> None:
        self.unit = unit
        self.above = above
        self.mount: Mount = mount
        self.row = row
        self.state = state
        self.entry: Entry[Any] = entry
        self.outcome: Any = None
        self.inner: dict[int, Sequence[Any]] | None = None
        self.asleep = False
        self.twin: Member | None = None

    def place(self, number: Any) -> Place:
        """The place of one of its rows."""
        return Place(self.entry, number)

    def identity(self) -> tuple[Any, ...]:
        """What it is known by when its content is sent again: where it stands, by hole ids and times."""
        return self.unit, self.entry.key[1], *holes_around(self.mount)


class Nested:
    """What a frame shares with the frame around it: the place that its members have among those of that one."""

    __slots__ = ("content", "places")

    def __init__(self, unit: int, place: Entry[Any], content: Sequence[Any]) -> None:
        self.places = {unit: place}
        self.content = {unit: content}


_NONE: Final[dict[int, int]] = {}
_NO_RUNS: Final[dict[Run, None]] = {}
"""Most contents have none: these stand for it, and are never written to."""


class Mount:
    """A filling where it is seen, and what the walk found in it.

    ``holes``: by row; ``runs``: of those that are not there (:mod:`~xstreamcast.run.continuous.associate.runs`);
    ``passed``: the ids and tags of those into which nobody looks.
    """

    __slots__ = (
        "depth", "entries", "filling", "grove", "holes", "key", "lifespan", "members", "occurrence", "passed", "runs",
    )  # fmt: skip

    def __init__(
        self, occurrence: Occurrence, filling: Filling, key: tuple[Any, ...], lifespan: Interval | None, grove: Grove
    ) -> None:
        self.depth: int = 1 if occurrence.parent is None else occurrence.parent.depth + 1  # among contents
        if self.depth > deepest():
            raise too_deep(within=f": region {occurrence.id} is in so many others")
        self.occurrence = occurrence
        self.filling = filling
        self.key = key
        self.lifespan = lifespan
        self.grove = grove
        self.entries: list[Entry[Any]] = []
        self.holes: dict[int, Occurrence] = {}
        self.members: list[Member] = []
        self.passed: dict[int, int] = _NONE
        self.runs: dict[Run, None] = _NO_RUNS

    @property
    def tree(self) -> tuple[Tree, int]:
        """The tree that the content is in, and the row of its wrapper there."""
        return self.grove.tree(self.filling)

    @property
    def stands_alone(self) -> bool:
        """Whether no holes are looked into here, and nobody around looks into it: whose it is looks at it once."""
        return not self.holes and not self.runs and next(self.occurrence.readers(), None) is None

    def is_record(self, content: Sequence[Any]) -> bool:
        """Whether one record is all that has been found in it, and stands alone in a sequence."""
        if self.holes or self.runs or len(self.members) != 1 or len(self.entries) != 1:
            return False
        children = content.root.children
        return len(children) == 1 and children[0] is self.members[0].entry


_NOBODY: tuple[Any, ...] = ()


class Occurrence:
    """A place of a region in T. ``around``: the members of its own mount whose evaluation reads it.

    ``places`` and ``content``, by unit: its entry in the sequence around, and the sequence of what is in it. ``tsid``:
    the tag that its hole names; ``open``: set while it may take a filler, where the query asks for that.
    """

    __slots__ = (
        "above", "after", "around", "before", "content", "hidden", "id", "inline", "mounts", "open", "parent", "places",
        "region", "state", "tsid",
    )  # fmt: skip

    def __init__(self, id: int, region: Region | None, state: int, above: Above | None, inline: bool) -> None:
        self.id = id
        self.region = region
        self.state = state
        self.above = above
        self.inline = inline
        self.hidden = False
        self.tsid: int | None = None
        self.open: Mark | None = None
        self.parent: Mount | None = None
        self.around: tuple[Member, ...] = ()
        self.places: dict[int, Entry[Any]] = {}
        self.content: dict[int, Sequence[Any]] = {}
        self.mounts: dict[int, Mount] = {}
        self.before: tuple[Occurrence, ...] = _NOBODY
        self.after: tuple[Occurrence, ...] = _NOBODY

    def readers(self) -> Iterator[Member]:
        """The members whose evaluation reads it, in all the contents around."""
        occurrence = self
        while True:
            for member in occurrence.around:
                if not member.asleep:
                    yield member
            if occurrence.parent is None:
                return
            occurrence = occurrence.parent.occurrence


def hand_down(content: Sequence[Any]) -> None:
    """What has come to a place, if it is one member, adds what the place added before until it has been evaluated."""
    place, children = content.place, content.root.children
    assert place is not None
    if len(children) == 1 and isinstance(children[0].item, Member):
        content.update(children[0], place.summary)
    elif place.summary is not content.total:
        place.sequence.update(place, content.total)


def side_by_side(occurrence: Occurrence) -> Iterator[Occurrence]:
    """A place and the siblings that stand before and after it, and beside these, in order; however long the chain."""
    waiting = [(occurrence, False)]
    while waiting:
        place, reached = waiting.pop()
        if reached or not (place.before or place.after):
            yield place
        else:
            waiting += [(sibling, False) for sibling in reversed(place.after)]
            waiting.append((place, True))
            waiting += [(sibling, False) for sibling in reversed(place.before)]


def holes_around(mount: Mount | None) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Where a content stands, outwards, by hole ids and times."""
    while mount is not None:
        yield mount.occurrence.id, mount.key[:2]
        mount = mount.occurrence.parent


class Home:
    """Whose an outermost sequence is: a unit's in the document, or in a frame. It hears when the sequence changes."""

    __slots__ = ("live", "member", "unit")

    def __init__(self, live: Mounting, unit: int, member: Member | None) -> None:
        self.live = live
        self.unit = unit
        self.member = member

    def moved(self) -> None:
        self.live.changed[self] = None


def lifespan_attributes(lifespan: Interval) -> list[tuple[int, int, str]]:
    """vtFrom and vtTo as the temporal view has them."""
    return [(VT_FROM, 0, format_instant(lifespan.begin)), (VT_TO, 0, format_instant(lifespan.end))]

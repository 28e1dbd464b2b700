"""A region: its fillings, untimed, versions and events, and which of them are seen at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import Place
from xstreamcast.model.time import NOW, Instant, Interval, event_lifespan, version_lifespan
from xstreamcast.wire.content import Content, Opened

if TYPE_CHECKING:
    from xstreamcast.model.tree import Tree

Key = tuple[Any, ...]
"""The place of a filling among those of its region."""


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Where a content lies in the store's file; and its holes, if they are known."""

    offset: int
    length: int
    opened: Opened | None = None


class Grown:
    """A tree with the contents of some fillings; ``tree`` is None once it has been dropped."""

    __slots__ = ("fillings", "size", "tree")

    def __init__(self, tree: Tree, size: int) -> None:
        self.tree: Tree | None = tree
        self.size = size
        self.fillings = 0


@dataclass(slots=True)
class Filling:
    """One filler of a region: its content (None: its life has ended), and the regions that lie in that content.

    ``digest`` is that of the content where the content itself is not kept as it came.
    """

    content: Content | Opened | OnDisk | None
    digest: bytes
    tsid: int | None
    version: int | None
    place: Place
    valid_time: Instant | None = None
    inline: tuple[Region, ...] = ()
    native: Mapping[str, str] | None = None  # if it stands where it came, in another content: the namespaces there
    grown: Grown | None = None  # the tree that its content has been parsed into
    row: int = 0  # of the wrapper around its content there
    size: int = 0  # bytes of content that it holds in memory

    @property
    def has_holes(self) -> bool:
        """Whether a content has holes, or regions within, as far as is known without reading it."""
        content = self.content
        opened = content.opened if isinstance(content, OnDisk) else content
        if isinstance(opened, Opened):
            return opened.marks is not None and bool((opened.marks[:, 2] >= 0).any())
        return bool(opened.holes) if isinstance(opened, Content) else content is not None


@dataclass(slots=True)
class Replacing(Filling):
    """A filler that came instead of others: events at its instant that were sent before it have no effect."""


_Versions = dict[tuple[int | None, Instant], Filling]
_NO_VERSIONS: Final[_Versions] = {}
_NO_EVENTS: Final[dict[tuple[int | None, Instant, int, bytes], Filling]] = {}
"""Most regions have none: these stand for it, and are never written to."""


@dataclass(slots=True)
class Region:
    """One region. Content, visibility and freezing each follow the versions on their own."""

    id: int
    current: Filling | None = None
    versions: _Versions = field(default_factory=lambda: _NO_VERSIONS)
    events: dict[tuple[int | None, Instant, int, bytes], Filling] = field(default_factory=lambda: _NO_EVENTS)
    before: tuple[Region, ...] = ()
    after: tuple[Region, ...] = ()
    hidden: bool = False
    hidden_version: int | None = None
    frozen: bool = False
    frozen_version: int | None = None
    dead: bool = False
    replaced: bool = False
    """Whether some event came instead of others."""

    @property
    def plain(self) -> bool:
        """Whether there is no more to it than one filling, without a time."""
        return not (self.versions or self.events or self.hidden or self.before or self.after)

    @property
    def filled(self) -> bool:
        """Whether any filler is known, be it that its life has ended."""
        return self.current is not None or bool(self.versions) or bool(self.events)

    def fillings(self) -> Iterator[Filling]:
        """All of them, untimed, versions and events."""
        if self.current is not None:
            yield self.current
        yield from self.versions.values()
        yield from self.events.values()

    def visible(self, now: Instant) -> list[tuple[Key, Filling, Interval | None]]:
        """The fillings that are seen at a time, with keys that sort as they stand in the region, and their lifespans.

        Untimed ones come first, then (vtFrom, version). Never by arrival: events that nothing else tells apart are
        ordered by the digest of what they say.
        """
        return [
            (
                key,
                filling,
                None if begin is None else event_lifespan(begin) if begin == end else version_lifespan(begin, end),
            )
            for key, filling, begin, end in self.spans(now)
        ]

    def spans(self, now: Instant) -> list[tuple[Key, Filling, Instant | None, Instant]]:
        """… with their vtFrom and vtTo, which are one for events; None and now for those without a time."""
        current, versions = self.current, self.versions
        seen: list[tuple[Key, Filling, Instant | None, Instant]] = []
        if current is not None and current.content is not None:
            seen.append(((0,), current, None, NOW))
        if versions:
            ends: dict[int | None, Instant] = {}
            for (tsid, begin), filling in versions.items() if len(versions) == 1 else _newest_first(versions):
                if begin <= now:
                    if filling.content is not None:
                        key = 1, begin, filling.version or 0, tsid or 0, b""
                        seen.append((key, filling, begin, ends.get(tsid, NOW)))
                    ends[tsid] = begin  # vtTo = the next vtFrom among fillers of the same hole and tsid
        for (tsid, at, version, digest), filling in self.events.items():
            if at <= now:
                seen.append(((1, at, version, tsid or 0, digest), filling, at, at))
        return seen


def _newest_first(versions: _Versions) -> list[tuple[tuple[int | None, Instant], Filling]]:
    return sorted(versions.items(), key=_begin, reverse=True)


def _begin(version: tuple[tuple[int | None, Instant], Filling]) -> Instant:
    return version[0][1]

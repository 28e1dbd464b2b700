"""A live document that notes which places are hidden or shown, or stand elsewhere than before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.model.names import ELEMENT, TEXT
from xstreamcast.run.continuous.labels import in_order
from xstreamcast.run.continuous.live import HOLE, MUTABLE, Live, Mount, Occurrence
from xstreamcast.scan.automaton import DEAD

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling
    from xstreamcast.model.time import Interval


class Noted(Live):
    """``turned``: such places since emission has dealt with them; ``moved``: since the operators have."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.turned: dict[Occurrence, None] = {}
        self.moved: dict[Occurrence, None] = {}
        self._read_by: dict[Mount, frozenset[int] | None] = {}
        """The units that read something of a content that is part of a record above it."""
        self._fresh: tuple[list[Filling], list[frozenset[int] | None]] | None = None

    def sync(self, occurrence: Occurrence) -> None:
        hidden = occurrence.hidden
        super().sync(occurrence)
        if occurrence.hidden != hidden:
            self.turned[occurrence] = self.moved[occurrence] = None

    def _settle(
        self,
        occurrence: Occurrence,
        gone: list[Mount],
        fresh: list[tuple[tuple[Any, ...], Filling, Interval | None]],
    ) -> None:
        was = {held: (mount.key, row) for mount in gone for row, held in mount.holes.items()}
        others = len(occurrence.mounts) > len(gone)
        outer = self._fresh
        went = [self._read_by.pop(mount, None) for mount in gone]
        self._fresh = None if None in went else ([filling for _, filling, _ in fresh], went)
        super()._settle(occurrence, gone, fresh)
        self._fresh = outer
        if not was:
            return
        mounts = [occurrence.mounts[id(filling)] for _, filling, _ in fresh if id(filling) in occurrence.mounts]
        kept = [(mount.key, held) for mount in sorted(mounts, key=_key) for held in mount.holes.values() if held in was]
        stay = in_order([was[held] for _, held in kept])
        for number, (key, held) in enumerate(kept):
            # Beside contents that are not sent again, only the same key is the same place.
            if number not in stay or (others and key != was[held][0]):
                self.turned[held] = self.moved[held] = None

    def disturb(self, occurrence: Occurrence) -> None:
        """Of those around contents that come and go, only those who read something of them look again."""
        readers = list(occurrence.readers())
        units = None if self._fresh is None or not readers else self._read(occurrence, *self._fresh)
        for member in readers:
            if units is None or member.unit in units:
                self.dirty[member] = None

    def _read(
        self, occurrence: Occurrence, fresh: list[Filling], went: list[frozenset[int] | None]
    ) -> frozenset[int] | None:
        """The units that read something of the contents that have come to a place or left it; None: perhaps all."""
        found: list[frozenset[int] | None] = list(went)
        for filling in fresh:
            mount = occurrence.mounts.get(id(filling))
            read = None if mount is None else self._reads(mount)
            if mount is not None:
                self._read_by[mount] = read
            found.append(read)
        return None if None in found else frozenset().union(*[units for units in found if units is not None])

    def _reads(self, mount: Mount) -> frozenset[int] | None:
        route, state = self.route, mount.occurrence.state
        found = set(route.role(route.text(state)).reads)  # whatever comes between two texts makes them two
        tree, base = mount.tree
        for child in tree.children(base):
            kind = tree.kind[child]
            if kind == ELEMENT:
                if tree.name[child] in (HOLE, MUTABLE):
                    return None
                to = route.element(state, tree.name[child])
            else:
                to = route.text(state) if kind == TEXT else route.comment(state)
            if to != DEAD:
                found |= route.role(to).reads
        return frozenset(found)

    def _unmount(self, mount: Mount, keep_holes: bool = False) -> None:
        super()._unmount(mount, keep_holes)
        self._read_by.pop(mount, None)


def _key(mount: Mount) -> tuple[Any, ...]:
    return mount.key

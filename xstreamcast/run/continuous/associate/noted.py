"""A live document that notes which places are hidden or shown, or stand elsewhere than before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.errors import Place
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.names import ELEMENT, name_local
from xstreamcast.run.continuous.associate.live import Live
from xstreamcast.run.continuous.associate.mounts import HOLE, MUTABLE, Member, Mount, Occurrence
from xstreamcast.run.continuous.display.labels import in_order
from xstreamcast.scan.tables import DEAD

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling
    from xstreamcast.model.time import Interval


class Noted(Live):
    """``turned``: such places since emission has dealt with them; ``moved``: since the operators have."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.turned: dict[Occurrence, None] = {}
        self.moved: dict[Occurrence, None] = {}
        self.parted: set[Mount] = set()
        """Contents of which something has been let go of: they are not looked through again."""
        self._read_by: dict[Mount, frozenset[int] | None] = {}
        """The units that read something of a content that is part of a record above it."""
        self._fresh: tuple[list[Filling], list[frozenset[int] | None]] | None = None
        self.undeclared: set[tuple[int, int]] = set()
        """The elements, by the tag around them and their name, that a query may miss."""

    def tell_undeclared(self) -> None:
        """Report elements that the tag structure does not declare, each once: a query that goes by it may miss them."""
        found, self.route.undeclared = self.route.undeclared, []
        for tag, name in found:
            structure = self.route.structure
            if structure is None or (tag, name) in self.undeclared:
                continue
            self.undeclared.add((tag, name))
            around = f"a <{structure.tags[tag].name}>" if tag in structure.tags else "the document"
            message = f"<{name_local[name]}> in {around} is not in the tag structure: it may be missed"
            self.report(Diagnostic("XSC0037", "warning", message, Place()))

    def turn(self, occurrence: Occurrence) -> None:
        self.turned[occurrence] = self.moved[occurrence] = None
        readers = list(occurrence.readers())
        if readers:
            self._wake(readers, [self._reads(mount) for mount in occurrence.mounts.values()])

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
        if readers:
            self._wake(readers, [None] if self._fresh is None else self._read(occurrence, *self._fresh))

    def _wake(self, readers: list[Member], reads: list[frozenset[int] | None]) -> None:
        """Of those around a place, those of the units that read something there look again; None: they all may."""
        units = None if None in reads else frozenset().union(*[one for one in reads if one is not None])
        for member in readers:
            if units is None or member.unit in units:
                self.dirty[member] = None

    def _read(
        self, occurrence: Occurrence, fresh: list[Filling], went: list[frozenset[int] | None]
    ) -> list[frozenset[int] | None]:
        """The units that read something of the contents that have come to a place or left it."""
        found = list(went)
        for filling in fresh:
            mount = occurrence.mounts.get(id(filling))
            read = None if mount is None else self._reads(mount)
            if mount is not None:
                self._read_by[mount] = read
            found.append(read)
        return found

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
                to = route.leaf(state, kind, tree.name[child])
            if to != DEAD:
                found |= route.role(to).reads
        return frozenset(found)

    def _place(self, number: int, tsid: int | None) -> None:
        if self.parted.isdisjoint(self.passed.get(number, ())):
            super()._place(number, tsid)
        elif self.route.needs(tsid) and (self.doc, number) in self.table:
            text = f"region {number} holds what its tag does not say, where others have been let go of; not seen"
            self.report(Diagnostic("XSC0036", "warning", text, Place()))

    def pass_no_more(self, mount: Mount) -> None:
        super().pass_no_more(mount)
        self._read_by.pop(mount, None)


def _key(mount: Mount) -> tuple[Any, ...]:
    return mount.key

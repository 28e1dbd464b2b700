"""What stays as it is: regions that keep their first content because a consumer says so, and those that are frozen.

Of a region that is closed and that nobody looks at any more, its number is left (:mod:`~xstreamcast.run.continuous.
sealing`): changes of it have no effect for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from xstreamcast.cast.materialise import Materialiser
from xstreamcast.model.change import ROOT, Change, Eos, Freeze, Replace
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.time import START
from xstreamcast.run.continuous.associate.numbers import Numbers

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Region, Report
    from xstreamcast.errors import Place
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.mutability import Fixed
    from xstreamcast.run.continuous.associate.noted import Noted


class Fixing(Materialiser):
    """A table of regions of which some are fixed.

    ``fixed``: those that keep their first content: ``ignored`` counts the changes that would have been to them.
    ``sealed``: how many regions were let go of because nothing can change them. ``keeps_all``: whether somebody may
    read T itself.
    """

    def __init__(self, structure: Structure | None, report: Report) -> None:
        super().__init__(structure, report)
        self.followers: list[Noted] = []
        self.fixed: Fixed | None = None
        self.ignored = 0
        self.sealed = 0
        self.keeps_all = False
        self.is_followed: Callable[[], bool] = lambda: True
        """Whether all who will ever follow it do."""
        self.settled = Numbers()
        self._fixed_tags: tuple[Structure | None, frozenset[int]] = None, frozenset()

    def fixes(self, tsid: int | None, number: int) -> bool:
        """Whether the regions of a tag are declared fixed."""
        fixed, structure = self.fixed, self.structure
        if fixed is None or fixed.everything:
            return fixed is not None
        if self._fixed_tags[0] is not structure:
            self._fixed_tags = structure, fixed.tags(structure)
        if tsid is None and number == ROOT and structure is not None:
            tsid = structure.root
        return tsid in self._fixed_tags[1]

    def ignores(self, change: Change) -> bool:
        """Whether a change would be to a region that is fixed and has its content: then it has no effect.

        Of a tag that comes in versions or as events, further ones come; those that have come are not corrected.
        """
        if isinstance(change, Eos | Freeze):
            return isinstance(change, Freeze) and change.region in self.settled
        for number in (change.region, getattr(change, "target", None)):
            if number is None:
                continue
            if number in self.settled and not change.doc:
                return True
            region = self.table.get((change.doc, number))
            if region is None:
                continue
            if region.versions or region.events:
                at = START if change.valid_time is None else change.valid_time
                known = (change.tsid, at) in region.versions or (
                    isinstance(change, Replace) and any(key[:2] == (change.tsid, at) for key in region.events)
                )
                if known and self.fixes(change.tsid, number):
                    return True
            else:
                filling = region.current
                if filling is not None and filling.content is not None and self.fixes(filling.tsid, number):
                    return True
        return False

    def closes(self, region: Region) -> bool:
        """Whether no change can have an effect on a region any more, by itself."""
        if region.frozen:
            return region.frozen_version is None  # an earlier version than that of the freeze would still count
        filling = region.current
        if filling is None or filling.content is None or region.versions or region.events:
            return False
        return self.fixes(filling.tsid, region.id)

    def is_over(self, number: int) -> bool:
        """Whether no change can have an effect on a region into which nobody looks."""
        region = self.table.get(("", number))
        return number in self.settled or (region is not None and self.closes(region))

    def let_go(self, numbers: Iterable[int]) -> None:
        """Nobody looks at some regions any more, for nothing can change them. Those that are fixed are forgotten.

        One that is frozen may have another hole some day: its content stays.
        """
        for number in numbers:
            self.sealed += 1
            region = self.table.get(("", number))
            if region is None or region.frozen or self.keeps_all:
                continue
            if not any(number in live.holes or number in live.inlines for live in self.followers):
                inside = self._inside(region)
                self.kill("", region.current)  # with the regions in its content
                del self.table["", number]
                for one in (number, *inside):
                    self.settled.add([one])

    def _inside(self, region: Region) -> list[int]:
        """The regions in the content of one, as far as they are in the table."""
        found, waiting = [], [region]
        while waiting:
            for filling in waiting.pop().fillings():
                for inner in filling.inline:
                    around = [inner, *inner.before, *inner.after]
                    found += [one.id for one in around if self.table.get(("", one.id)) is one]
                    waiting += around
        return found

    def all_settled(self, begin: int, end: int) -> bool:
        """Whether all regions from a number on, up to another, have come and gone, or are of no interest."""
        return all(number in self.settled for number in range(begin, end))

    def take_structure(self, structure: Structure, place: Place) -> None:
        if self.sealed and structure != self.structure:
            message = "a structure that adds to an earlier one, after regions were let go of; the earlier one stays"
            self.report(Diagnostic("XSC0036", "quarantine", message, place))
            return
        super().take_structure(structure, place)
        for path in self.fixed.unknown(structure) if self.fixed is not None else ():
            message = f"fixed: no tag of the structure is {path!r}"
            self.report(Diagnostic("XSC0035", "warning", message, place))

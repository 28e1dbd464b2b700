"""Regions that were passed over because no query needs fragments of their tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from xstreamcast.run.continuous.associate.numbers import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.associate.route import Route

_ANY: Final = -2
"""Among the tags of what has been passed over: it is not known of which tags."""


class Passed(Numbers):
    """… and their tags. ``lightly``: only under structures that grow, so that nothing was lost that may count later:
    neither what other fragments may stand in, nor versions and times."""

    def __init__(self) -> None:
        super().__init__()
        self.lightly = True
        self._tags: set[int] = set()

    def over(self, regions: Any, tsids: Iterable[int], structure: Structure) -> None:
        """Regions of some tags are of no interest; a tag below 0 is that of the root."""
        self.add(regions)
        self.lightly &= structure.grows
        self._tags.update([tsid if tsid >= 0 else structure.root for tsid in tsids])

    def are_missed(self, known: Structure, structure: Structure, routes: Iterable[Route]) -> bool:
        """Whether some would have to be opened if a structure came instead of the known one."""
        if self.lightly or not structure.only_adds_to(known):
            return False
        return any(
            tsid not in route.would_need(known) and (tsid in self._tags or _ANY in self._tags)
            for route in routes
            for tsid in sorted(route.would_need(structure).intersection(known.tags))
        )

    def saved(self) -> list[Any]:
        return [*super().saved(), sorted(self._tags)]

    def restore(self, saved: list[Any]) -> None:
        bits, others, *tags = saved
        super().restore([bits, others])
        self._tags = set(tags[0] if tags else [_ANY])
        self.lightly = not self._tags

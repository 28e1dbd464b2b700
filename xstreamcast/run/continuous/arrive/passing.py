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
    """… and the tags of those of which something counts when a larger structure makes them of interest: others stand in
    them, or they have a version or a time. ``lightly``: there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._tags: set[int] = set()

    @property
    def lightly(self) -> bool:
        return not self._tags

    def over(self, regions: Any, weighty: Iterable[int], structure: Structure) -> None:
        """Regions are of no interest. ``weighty``: the tags of those of which something counts; below 0: the root's."""
        self.add(regions)
        self._tags.update([tsid if tsid >= 0 else structure.root for tsid in weighty])

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

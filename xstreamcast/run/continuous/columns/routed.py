"""The units of a query along the tag structures of its streams, with nothing of what has come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from xstreamcast.run.continuous.related import Related

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.associate.route import Route


class Routed:
    """The units of one stream, along its tag structure."""

    def __init__(self, route: Route, structure: Structure | None = None) -> None:
        route.know(structure)
        self.route = route


class Again(Related):
    """The units of a plan once more: under other structures, or of a plan that is a little different."""

    live_type: ClassVar[Any] = Routed

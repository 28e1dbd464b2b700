"""Which operator follows a unit: ⋈ by key or by time, Sort, Γ, ranks, windows, versions, folds that are replayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.plan.algebra import Fold, Gather, Group, Rank, Sort, Versions, Windows
from xstreamcast.plan.decompose.folds import last_item
from xstreamcast.run.continuous.adjust.coincidence import Coincidence
from xstreamcast.run.continuous.adjust.collect import Gathered, Sorted
from xstreamcast.run.continuous.adjust.compared import Compared
from xstreamcast.run.continuous.adjust.lookup import Lookup
from xstreamcast.run.continuous.adjust.ranged import Ranged
from xstreamcast.run.continuous.adjust.ranked import Ranked
from xstreamcast.run.continuous.adjust.replayed import Replayed
from xstreamcast.run.continuous.adjust.sided import Sided
from xstreamcast.run.continuous.adjust.versions import Numbered
from xstreamcast.run.continuous.adjust.windows import Sliding, Tumbling

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.derived import Derived
    from xstreamcast.run.continuous.adjust.host import Host
    from xstreamcast.run.continuous.related import Number


def operator(engine: Host, where: Number) -> Derived | None:
    """What is kept of a unit beside document order; None: nothing, its sums are all."""
    match engine.unit(where).reduction:
        case Group() as group:
            return _look_up(group)(engine, where, group)
        case Sort() as sort:
            return Sorted(engine, where, sort)
        case Gather() as gather:
            return Gathered(engine, where, gather)
        case Rank() as rank:
            return (Ranked if rank.mark is None else Sided)(engine, where, rank)
        case Windows() as windows:
            return (Sliding if windows.sliding else Tumbling)(engine, where, windows)
        case Versions() as versions:
            return Numbered(engine, where, versions)
        case Fold() as fold if fold != last_item():
            return Replayed(engine, where)
    return None


def _look_up(group: Group) -> type[Lookup]:
    if group.theta is not None:
        return Compared
    if group.relation != "=":
        return Ranged
    return Coincidence if group.interval else Lookup

"""How much a query that goes on keeps: what ``state()`` tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.plan.algebra import Reduce, Unit
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.sums import size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xstreamcast.run.continuous.emit import Output
    from xstreamcast.run.continuous.share import Association


def sizes(output: Output, associations: Mapping[str, Association]) -> dict[str, Any]:
    """Of the streams, by name, of the operators, and of the answer."""
    journal = output.journal
    streams: dict[str, dict[str, int]] = {name: one.sizes() for name, one in associations.items()}
    operators: list[dict[str, Any]] = []
    evaluated = None
    if isinstance(journal, Journal):
        evaluated = journal.evaluated
        for name, live in journal.live.items():
            streams.setdefault(name, {}).update(opened=live.walked, holders=live.holders, in_runs=live.runs.standing)
            for number, unit in enumerate(live.route.units):
                found = live.top.get(number)
                count = None if found is None else size(found, number)
                operators.append({"stream": name, "operator": _operator(unit), "members": count})
    return {"streams": streams, "operators": operators, "shown": output.size, "evaluated": evaluated}


def _operator(unit: Unit) -> str:
    """A unit in the words of the algebra."""
    reduction = unit.reduction
    return reduction.function if isinstance(reduction, Reduce) else type(reduction).__name__.lower()

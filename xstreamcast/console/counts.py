"""How many items are on each arrow of a plan's picture, as far as a query that goes on counts them.

The arrow from a source has the changes that have come; the arrow into what reduces, sorts or groups has the members
that are kept; arrows up to the answer that only pass items on have as many as the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.plan.explain.changes import units_of
from xstreamcast.plan.explain.words import named
from xstreamcast.plan.operators import Operator, Symbol, numbered

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.plan.explain.explanation import Explanation

_ONE_FOR_ONE: Final = (Symbol.CONSTRUCT, Symbol.PROJECT, Symbol.SORT)


def edge_counts(explanation: Explanation, plan: Plan, state: Mapping[str, Any], shown: int) -> dict[str, int]:
    """Counts by the names of arrows. ``plan``: how the streams are followed; ``state``: what ``state()`` says."""
    if explanation.top is None:
        return {}
    members = {entry["unit"]: entry["members"] for entry in state["operators"] if entry["members"] is not None}
    spans = [(unit.span, members[unit.variable[1]]) for unit in units_of(plan) if unit.variable[1] in members]
    counts: dict[str, int] = {}
    passing, depth_passing = True, 0
    for name, depth, step in numbered(explanation.top):
        if passing and depth == depth_passing:
            counts[name] = shown
            passing, depth_passing = step.symbol in _ONE_FOR_ONE, depth + 1
        if step.symbol is Symbol.EXTRACT:
            changes = _changes(step, state)
            if step.source is not None and changes is not None:
                counts[f"{named(step.source)}>{name}"] = changes
            around = [(span.end - span.start, count) for span, count in spans if _covers(span, step)]
            if around:
                counts[name] = min(around)[1]
    return counts


def _changes(step: Operator, state: Mapping[str, Any]) -> int | None:
    """How many changes of its stream a query has taken in."""
    name = "" if step.source is None else step.source.uri or ""
    found: int | None = state["streams"].get(name, {}).get("changes")
    return found


def _covers(span: Any, step: Operator) -> bool:
    return bool(span.start <= step.span.start and step.span.end <= span.end)

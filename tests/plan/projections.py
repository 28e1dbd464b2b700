"""What a query is said to see of each of its documents, as the planner asks for it."""

from __future__ import annotations

from xstreamcast.functions.registry import known_function
from xstreamcast.lang.link import parse
from xstreamcast.plan.algebra import Strategy
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.passes.name_sources import name_sources
from xstreamcast.plan.projection.project import project
from xstreamcast.plan.sources import sources_of
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.path import Path


def projection(text: str) -> dict[str | None, tuple[Target, ...]]:
    """Targets by the URI of ``doc("uri")``, None for the context document."""
    named = name_sources(parse(text, known_functions=known_function))
    assert named.body is not None
    sources = sources_of(named)
    seen = project(named.body, {source.variable: Path() for source in sources}, module=named)
    return {source.uri: seen[source.variable] for source in sources if seen[source.variable]}


def is_planned(text: str) -> bool:
    """Whether a query runs on anything but whole documents."""
    return plan(parse(text, known_functions=known_function)).strategy is not Strategy.NONE

"""A tag structure that says more than before, as that of a feed does when a record has an element that none had.

A structure is a promise: what came before it was declared has no such element in it. So what has been evaluated stands,
and the columns go on, where all tags that were there still are to each query what they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.run.continuous.columns.inlet import Inlet
from xstreamcast.run.continuous.columns.roles import Refused, Roles
from xstreamcast.run.continuous.columns.routed import Again
from xstreamcast.run.continuous.planned import known_structures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.query import ContinuousQuery


def widen(inflow: Inflow, name: str, structure: Structure) -> None:
    """Go on in columns under a structure that only adds to that of a stream; raises :class:`Refused`."""
    one = inflow.association(name)
    assert one.inlet is not None
    before, table = one.inlet.table.structure, one.inlet.table
    if any(structure.parents.get(tsid) != before.parents.get(tsid) for tsid in before.tags):
        raise Refused("a tag stands in more places than before")
    structures = known_structures(inflow.associations) | {name: structure}
    reading = [together for together in inflow.alike if name in together.queries[0].streams]
    found = [_look(together.queries[0], name, structures) for together in reading]
    for together in reading:
        for query in together.queries[1:]:
            _check_plan(query, structures)
    table.widen(structure)
    for together, (again, roles) in zip(reading, found, strict=True):
        table.read_by(roles)
        for query in together.queries:
            assert query.engine is not None
            query.engine.widen(name, again.live[name].route, roles)
    one.inlet = Inlet(one, table, one.inlet.routes)


def _check_plan(query: ContinuousQuery, structures: Mapping[str, Structure]) -> None:
    if query.would_plan_otherwise(structures):
        raise Refused("the query is another one by the new tag structure")


def _look(query: ContinuousQuery, name: str, structures: Mapping[str, Structure]) -> tuple[Again, Roles]:
    """The units of a query, and what the tags of a stream are to them by a new structure."""
    _check_plan(query, structures)
    engine = query.engine
    assert engine is not None
    if engine.open_holes:
        raise Refused("holes that are open may hold more than before")
    again = Again(query.plan, structures)
    before, route, known = engine.roles[name], again.live[name].route, engine.live[name].route
    if again.plan != engine.plan or route.outermost != known.outermost:
        raise Refused("the query is another one by the new tag structure")
    if any(route.inside(number) != known.inside(number) for number in range(len(route.units))):
        raise Refused("the query is another one by the new tag structure")
    roles, cuts = engine.roles_by(again, name, structures)
    frames = {one.where[1] if one.outer is None else one.outer: one.frame for one in engine.units.values()
              if one.name == name and one.frame is not None}  # fmt: skip
    framed = all(roles.home[unit] == {frame} for unit, frame in frames.items())
    if cuts != engine.cuts[name] or not framed or not roles.only_add_to(before):
        raise Refused("tags are to the query what they were not before")
    return again, roles

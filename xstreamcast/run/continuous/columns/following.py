"""Whether the streams of some queries are followed in columns, and the way from there to objects."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING

from xstreamcast.run.continuous.columns.alike import Alike
from xstreamcast.run.continuous.columns.inlet import Inlet, Odd
from xstreamcast.run.continuous.columns.roles import Refused
from xstreamcast.run.continuous.columns.table import RegionTable

if TYPE_CHECKING:
    from xstreamcast.cast.batches import FragmentBatch
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.associate.route import Route


def follow_in_columns(inflow: Inflow) -> bool:
    """Follow all streams in columns, if nothing has come yet and all queries can be followed so."""
    names = dict.fromkeys([name for query in inflow.queries for name in query.streams])
    if not names or not all(query.names_its_streams for query in inflow.queries):
        inflow.by_objects = "names of streams are computed"
        return False
    associations = {name: inflow.association(name) for name in names}
    tables: dict[str, RegionTable] = {}
    for name, one in associations.items():
        if one.structure is None:
            inflow.by_objects = "a stream has no tag structure"
            return False
        if one.filled or one.waiting or one.followers:
            inflow.by_objects = "a stream has begun before"
            return False
        tables[name] = RegionTable(one.structure, one.budget)
    alike: dict[Hashable, Alike] = {}
    try:
        for query in inflow.queries:
            query.follow_in_columns(tables, alike)
    except Refused as refusal:
        inflow.by_objects = str(refusal)
        for query in inflow.queries:
            query.engine = None
        return False
    inflow.alike = list(alike.values())
    for name, one in associations.items():
        one.inlet = Inlet(one, tables[name], partial(_routes, inflow, name))
    return True


def _routes(inflow: Inflow, name: str) -> list[Route]:
    """The ways of the queries along the structure of a stream."""
    leaders = [together.leader for together in inflow.alike]
    return [leader.live[name].route for leader in leaders if leader is not None and name in leader.live]


def flush(inflow: Inflow) -> None:
    """Take in what waits, and evaluate what it makes different."""
    try:
        for name, one in inflow.associations.items():
            if one.inlet is not None:
                inflow.admit(name)
                one.inlet.flush()
                inflow.admitted(name)
        _settle(inflow)
    except Odd as odd:
        inflow.admitted(name)
        _go_on_with(inflow, one, odd)
    except Refused as refusal:
        inflow.leave_columns(str(refusal))


def widen_columns(inflow: Inflow, name: str, structure: Structure) -> None:
    """A tag structure says more than before: go on in columns if nothing is other by it than it was."""
    from xstreamcast.run.continuous.columns.widening import widen

    try:
        widen(inflow, name, structure)
    except Refused as refusal:
        inflow.association(name).apply(structure)
        inflow.leave_columns(f"the tag structure says more than before, and {refusal}")


def take_batch(inflow: Inflow, association: Association, batch: FragmentBatch) -> int:
    """Take in a batch; the number of the first change that is left for a table of objects, or of all."""
    assert association.inlet is not None
    name = next(name for name, one in inflow.associations.items() if one is association)
    try:
        association.inlet.flush()
        inflow.admit(name)
        association.inlet.take_batch(batch)
        inflow.admitted(name)
        _settle(inflow)
    except Odd as odd:
        inflow.admitted(name)
        _go_on_with(inflow, association, odd)
        return odd.first
    except Refused as refusal:
        inflow.leave_columns(str(refusal))
    return len(batch)


def _go_on_with(inflow: Inflow, association: Association, odd: Odd) -> None:
    """Leave the columns because of what is left, and take it in."""
    inflow.leave_columns(odd.why)
    with association.together():
        for change, place, inside in odd.rest:
            if not inflow.is_late(association, change, place):
                association.apply(change, place, inside)


def _settle(inflow: Inflow) -> None:
    tables = {name: one.inlet.table for name, one in inflow.associations.items() if one.inlet is not None}
    if not all(table.settle() for table in tables.values()):
        raise Refused("a region stands in itself, or in a hole for another tag")
    found = {name: table.dirty() for name, table in tables.items()}
    for queries in inflow.alike:
        if queries.leader is not None:
            queries.leader.hear(inflow.is_over, inflow.watermark)
        queries.look_at(found, inflow.now)
    for name, (some, _, _) in found.items():
        if len(some):
            tables[name].release(some)

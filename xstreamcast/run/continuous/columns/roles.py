"""What fragments of a tag are to a unit, by the tag structure: evaluated for it, part of one that is, or neither.

A fragment is evaluated for a unit if its records may begin in it, or below: E(a ⊎ b) = E(a) ++ E(b), where a cut falls
between a fragment and those in its holes. What is inside of a record is part of it, and written with it.

Why a query is not followed in columns is a :class:`Refused`; its message says it to people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xstreamcast.model.names import ELEMENT
from xstreamcast.model.structure import UNNAMED, Structure
from xstreamcast.operators.accumulators import accumulates
from xstreamcast.plan.algebra import Gather, Reduce, Strategy, Unit, is_ordered
from xstreamcast.run.continuous.associate.reach import name_of, top_tags
from xstreamcast.scan.tables import DEAD, DOCUMENT_STATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from xstreamcast.plan.algebra import Plan
    from xstreamcast.plan.modes.rewrite import Modes
    from xstreamcast.run.continuous.associate.route import Route
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.units import Evaluation
    from xstreamcast.scan.path import Path


class Refused(Exception):
    """A query, or a stream, is not followed in columns."""


class ReadAround(Refused):
    """A unit reads what is around its records; ``unit``: its number in its stream."""

    def __init__(self, unit: int) -> None:
        super().__init__("what is around a record is read")
        self.unit = unit


@dataclass(slots=True)
class Roles:
    """Of the units of one stream. ``evaluated`` and ``part``: by tag, the units as bits; ``home``: by unit, the tags
    whose elements are its records and come as fragments; ``depth``: by tag, how many elements are around it;
    ``shows``: the tags whose lifespans are seen."""

    needed: dict[int, bool] = field(default_factory=dict)
    evaluated: dict[int, int] = field(default_factory=dict)
    part: dict[int, int] = field(default_factory=dict)
    home: dict[int, set[int]] = field(default_factory=dict)
    depth: dict[int, int] = field(default_factory=dict)
    shows: dict[int, bool] = field(default_factory=dict)

    def only_add_to(self, before: Roles) -> bool:
        """Whether tags have their earlier roles still, and perhaps more: what came before has nothing for these."""
        if any(self.depth.get(tsid) != depth for tsid, depth in before.depth.items()):
            return False
        for mine, its in ((self.evaluated, before.evaluated), (self.part, before.part)):
            if any(mine[tsid] & bits != bits for tsid, bits in its.items()):
                return False
        for tsid, shown in before.shows.items():
            unread = not (before.evaluated[tsid] or before.part[tsid])
            if self.shows[tsid] != shown and not unread:
                return False
        known = set(before.depth)
        return all(self.home.get(unit, set()) & known == tags for unit, tags in before.home.items())


def columnar(
    plan: Plan,
    evaluation: Evaluation,
    structures: Mapping[str, Structure],
    tables: Mapping[str, RegionTable],
    leader: Columnar | None,
    forwards: bool,
    modes: Modes,
) -> Columnar:
    """A query followed in columns, whose modules are not needed before; raises :class:`Refused`."""
    from xstreamcast.run.continuous.columns.engine import Columnar

    if modes.emission != "eager":
        from xstreamcast.run.continuous.columns.modal import ModalColumnar

        return ModalColumnar(modes, plan, evaluation, structures, tables, forwards)
    from xstreamcast.run.continuous.columns.shells import WiderRecords, widened

    while True:
        try:
            return Columnar(plan, evaluation, structures, tables, leader, forwards)
        except WiderRecords as refusal:
            plan = widened(plan, refusal)


def check_plan(plan: Plan) -> None:
    """Raise if a plan has what columns do not follow."""
    if plan.strategy is not Strategy.STREAM:
        raise Refused("the query is computed as a whole")


def check_unit(unit: Unit, inside: Iterable[Unit]) -> None:
    """Raise if a unit is one that columns do not follow."""
    if is_ordered(unit.reduction) and not all(map(leads_to_elements, unit.records)):
        raise Refused("records are no elements")  # but texts and the like, on both sides of a fragment's holes
    for inner in inside:
        if not isinstance(inner.reduction, Reduce) or not is_accumulated(inner.reduction):
            raise Refused("what is inside of a record is more than summed up")


def leads_to_elements(record: Path) -> bool:
    """Whether the records of a path are elements, as fragments are."""
    return not record.steps or record.steps[-1].test.kind == ELEMENT


def sums_up(gather: Gather) -> bool:
    """Whether the columns of groups are accumulated."""
    return all(isinstance(one.reduction, Reduce) and is_accumulated(one.reduction) for one in gather.columns)


def is_accumulated(reduction: Reduce) -> bool:
    """Whether what comes and goes is accumulated; of values that are compared not with a collation of their own."""
    return reduction.aggregate.undoes or (accumulates(reduction.aggregate) and reduction.argument is None)


def roles_of(route: Route, structure: Structure, first: int) -> Roles:
    """The roles of all units of a stream, whose bits begin with that of a number; raises :class:`Refused`."""
    if top_tags(structure) != structure.tops:
        raise Refused("an error may stand beside the root")
    if route.each or route.counted or route.shallow:
        raise Refused("elements may be inside each other")
    made = Roles()
    frames = {inner: outer for outer in route.outermost for inner in route.inside(outer)}
    if any(route.inside(inner) for inner in frames):
        raise Refused("loops within loops within loops")
    bits = {unit: 1 << (first + unit) for unit in range(len(route.units))}
    waiting: list[tuple[int, int, int, frozenset[int], frozenset[int], tuple[int, ...]]] = [
        (structure.root, 0, DOCUMENT_STATE, frozenset(), frozenset(), ())
    ]
    seen: set[int] = set()
    visited: list[tuple[int, int, frozenset[int]]] = []
    while waiting:
        tsid, parent, outer, within, framed, states = waiting.pop()
        if tsid in seen:
            raise Refused("a tag stands in several places")
        seen.add(tsid)
        tag = structure.tags[tsid]
        if tsid == UNNAMED:
            visited.append((tsid, parent, frozenset()))
            waiting += [(child, 0, DOCUMENT_STATE, within, framed, states) for child in tag.children]
            continue
        if not tag.reuse:
            raise Refused("numbers of regions are not used again")
        state = route.element(outer, name_of(tag.name))
        role = route.role(state) if state != DEAD else None
        begins = frozenset(role.begins) if role is not None else frozenset()
        if begins & within:
            raise Refused("records are inside of records")
        here = len(visited)
        visited.append((tsid, parent, begins))
        if tag.fragment or tsid == structure.root:
            made.needed[tsid] = route.needs(tsid)
            made.depth[tsid] = len(states)
            evaluated = part = 0
            texts = route.role(route.text(outer)).reads if route.text(outer) != DEAD else frozenset()
            for unit, bit in bits.items():
                if unit in within:
                    if (role is not None and unit in role.reads) or unit in texts:
                        part |= bit
                elif unit in frames and frames[unit] not in framed | begins:
                    continue
                elif role is not None and (unit in begins or unit in role.below):
                    evaluated |= bit
                    if unit in begins:
                        made.home.setdefault(unit, set()).add(tsid)
                    if any(unit in route.met(route.automaton_state(one)) for one in states):
                        raise ReadAround(unit)
            made.evaluated[tsid], made.part[tsid] = evaluated, part
            made.shows[tsid] = tag.timed and bool(evaluated or part) and route.shows_lifespan(tsid)
        elif any(unit in begins for unit in frames.values()):
            raise Refused("a record with loops inside is no fragment")
        if state != DEAD:
            for child in tag.children:
                waiting.append((child, here, state, within | begins, framed | begins, (*states, state)))
    _check_stretches(route, structure, visited)
    apart = [tsid for tsid, tag in structure.tags.items() if tag.fragment and tsid not in made.needed]
    made.needed.update([(tsid, True) for tsid in apart if route.needs(tsid)])  # what it adds may be in these
    return made


def _check_stretches(route: Route, structure: Structure, visited: list[tuple[int, int, frozenset[int]]]) -> None:
    """Raise if records of a fragment may stand on both sides of a hole that has more of them, where their order counts:
    then those of a fragment are no stretch of the document. ``visited``: tags, the number of the one around each, and
    the units whose records begin there; a tag comes after the one around it."""
    ordered = frozenset([number for number, unit in enumerate(route.units) if is_ordered(unit.reduction)])
    inline: list[frozenset[int]] = [frozenset()] * len(visited)
    apart: list[frozenset[int]] = [frozenset()] * len(visited)
    for here in range(len(visited) - 1, -1, -1):
        tsid, parent, begins = visited[here]
        is_fragment = structure.tags[tsid].fragment or tsid == structure.root
        if is_fragment and inline[here] & apart[here] & ordered:
            raise Refused("records stand on both sides of a hole with more of them")
        if here == 0:
            return
        if is_fragment:
            apart[parent] |= begins | inline[here] | apart[here]
        else:
            inline[parent] |= begins | inline[here]
            apart[parent] |= apart[here]

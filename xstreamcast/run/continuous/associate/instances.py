"""Instances of loops over elements that may be inside each other (:class:`~xstreamcast.plan.algebra.Each`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from xstreamcast.model.names import ELEMENT
from xstreamcast.model.tree import Node, Tree
from xstreamcast.plan.algebra import Plan, Unit
from xstreamcast.run.continuous.adjust.siblings import Siblings, is_chosen
from xstreamcast.run.continuous.associate.reach import never_nested
from xstreamcast.run.continuous.evaluate.assemble import document, start
from xstreamcast.scan.tables import DEAD

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Nest, VarName
    from xstreamcast.run.continuous.associate.mounts import Member
    from xstreamcast.run.continuous.associate.route import Route
    from xstreamcast.run.continuous.engine import Continuous
    from xstreamcast.run.units import NestCode


def nested_apart(plan: Plan, structures: Mapping[str, Structure]) -> Plan:
    """The plan in which units take instances one by one, unless a tag structure says that none is inside another."""
    passes = []
    known: dict[VarName, Unit] = {}
    for step in plan.passes:
        structure = structures.get(step.source.uri or "")
        for unit in step.units:
            apart = unit.each is not None and (_chooses(unit.each) or not never_nested(unit.each.path, structure))
            known[unit.variable] = replace(unit, nest=unit.each) if apart else unit
        passes.append(replace(step, units=tuple([known[unit.variable] for unit in step.units])))
    output = tuple([known[part.variable] if isinstance(part, Unit) else part for part in plan.output])
    return replace(plan, passes=tuple(passes), output=output)


def _chooses(nest: Nest) -> bool:
    return nest.each is not None and nest.each.choice is not None


def items_of(engine: Continuous, name: str, member: Member, code: NestCode) -> list[Item]:
    """The items of an instance; with those in it, if no hole is in it."""
    evaluation, route, each = engine.evaluation, engine.live[name].route, code.nest.each
    assert each is not None
    chosen = each.choice is None or is_chosen(member)
    if member.inner is None:
        tree, row = document(member, route)
        if each.choice is None:
            evaluation.bind(code.key, instances(tree, row, member, route))
            return list(evaluation.run(code.each))
        evaluation.bind(code.key, [Node((tree, row))])
        evaluation.bind(code.nest.variable, Node((tree, row)))
        return [*(evaluation.run(code.each) if chosen else ()), *evaluation.run(code.inside)]
    member.asleep = True
    parent = each.choice is not None and each.choice.parent is not None
    if chosen or parent:
        engine.bind_inside(name, member)
        known = engine.frames.get(member)
        evaluation.bind(code.nest.variable, Node(start(member, route) if known is None else known))
    if parent:
        opens = bool(next(evaluation.run(code.parent)))
        for sequence in member.inner.values():
            if isinstance(sequence.home, Siblings):
                sequence.home.turn(sequence, opens)
    if not chosen:
        engine.frames.pop(member, None)
        return []
    if each.reads:
        if each.guard is not None and not next(evaluation.run(code.guard)):
            engine.frames.pop(member, None)
            return []
        member.asleep = False
        if known is None:
            known = engine.frames[member] = document(member, route)
            evaluation.bind(code.nest.variable, Node(known))
    return list(evaluation.run(code.body))


def instances(tree: Tree, row: int, member: Member, route: Route) -> list[Node]:
    """An instance and all that are in it, in order."""
    found: list[Node] = []
    waiting = [(row, member.state)]
    while waiting:
        row, state = waiting.pop()
        if member.unit in route.role(state).begins:
            found.append(Node((tree, row)))
        below = []
        for child in tree.children(row):
            if tree.kind[child] == ELEMENT:
                to = route.element(state, tree.name[child])
                if to != DEAD:
                    below.append((child, to))
        waiting += reversed(below)
    return found

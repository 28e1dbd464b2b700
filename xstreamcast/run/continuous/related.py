"""The units of a query on the streams they range over: what each reads, who needs whom, and whose turn comes when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from xstreamcast.plan.algebra import Fold, Group, Plan, Reduce, Source, Strategy, Unit, is_weak, reads_items
from xstreamcast.plan.decompose.unit_view import seen_by
from xstreamcast.plan.projection.lookups import gives_rows, project_lookup
from xstreamcast.plan.projection.project import merge, project
from xstreamcast.run.continuous.adjust.sums import monoid_of
from xstreamcast.run.continuous.associate.instances import nested_apart
from xstreamcast.run.continuous.associate.noted import Noted
from xstreamcast.run.continuous.associate.reach import may_be_apart, never_nested
from xstreamcast.run.continuous.associate.route import Route
from xstreamcast.run.reductions import state_of
from xstreamcast.run.units import Parts, UnitCode
from xstreamcast.scan.path import Path

if TYPE_CHECKING:
    from xstreamcast.errors import XStreamError
    from xstreamcast.model.structure import Structure
    from xstreamcast.operators.state import State
    from xstreamcast.plan.algebra import Concat
    from xstreamcast.run.continuous.adjust.host import Asker, LooksUp
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.units import Evaluation
    from xstreamcast.scan.automaton import Target

Number = tuple[str, int]
"""A unit: the stream it ranges over, and its number there."""


class Related:
    """The units of a plan. ``live``: the documents of its streams; ``codes``: the programs of the units of each.

    ``asking``: who is being evaluated; ``asked``: what everybody has looked up; ``failed``: whose outcome is an error;
    ``evaluated``: how many evaluations there have been.
    """

    live_type: ClassVar[type[Noted]] = Noted
    evaluation: Evaluation

    def __init__(self, plan: Plan, structures: Mapping[str, Structure]) -> None:
        self.asking: Asker | None = None
        self.asked: dict[Asker, list[tuple[LooksUp, Any]]] = {}
        self.failed: dict[Any, XStreamError] = {}
        self.evaluated = 0
        self.spliced = 0
        """Bytes of the fragments that were evaluated in columns, with what was read of their holes."""
        self.plan = plan = nested_apart(plan, structures)
        self.parts = Parts(plan)
        self.live: dict[str, Noted] = {}
        self.codes: dict[str, list[UnitCode]] = {}
        for source in plan.sources:
            self._place_units(source, structures)
        self._relate()

    def _place_units(self, source: Source, structures: Mapping[str, Structure]) -> None:
        name = source.uri or ""
        structure = structures.get(name)
        units = [u for one in self.plan.passes if one.source == source for u in one.units]
        whole = (
            tuple(t for one in self.plan.passes if one.source == source for t in one.targets)
            if self.plan.strategy is Strategy.PROJECT
            else ()
        )

        choices = [unit.nest.each.choice for unit in units if unit.nest is not None and unit.nest.each is not None]
        counted = {choice.counted for choice in choices if choice is not None}

        def nests(unit: Unit) -> bool:
            nest = unit.nest
            if nest is not None and nest.each is not None:
                return True
            if nest is None or not nest.units or not never_nested(nest.path, structure):
                return False
            below = [path for inner in nest.units for path in inner.records]
            declared = all(is_weak(inner.reduction) for inner in nest.units)  # most such records come in one piece
            return not nest.frame or any(may_be_apart(nest.path, path, structure, declared) for path in below)

        def targets(unit: Unit, root: Path) -> tuple[Target, ...]:
            if unit.nest is not None and unit.nest.each is None and nests(unit):
                return unit.nest.parts
            roots = (root, Path()) if unit.variable in counted else (root,)  # the document's child counts, too
            if self.plan.strategy is Strategy.STREAM and gives_rows(unit):
                return merge(*[project_lookup(unit, self.plan, one, structure) for one in roots])
            whole, module = reads_items(unit.reduction), self.plan.module
            e = seen_by(unit)
            seen = [
                project(e, {unit.root: one}, module=module, whole=whole, structure=structure)[unit.root]
                for one in roots
            ]
            return merge(*seen)

        route = Route(units, targets, lambda unit: monoid_of(unit.reduction), nests, whole)
        self.codes[name] = [UnitCode(self.parts, unit) for unit in route.units]
        self.live[name] = self.live_type(route, structure=structure)

    def _relate(self) -> None:
        """Who needs whom, and whose turn comes when."""
        self.place: dict[Any, Number] = {}
        for name, live in self.live.items():
            for number, unit in enumerate(live.route.units):
                self.place[unit.variable] = name, number
        self.needs: dict[Number, tuple[Number, ...]] = {}
        self.reads: dict[Number, tuple[Number, ...]] = {}
        """The same of units inside of nests, too: what is known of those around them."""
        self.readers: dict[Number, list[Number]] = {where: [] for where in self.place.values()}
        self.turn: dict[Number, tuple[int, int]] = {}
        waiting = [(name, number) for name, live in self.live.items() for number in live.route.outermost]
        for where in waiting:
            needs = self.unit(where).needs
            self.needs[where] = tuple([place for variable, place in self.place.items() if variable in needs])
            self.reads[where] = self.needs[where]
            for need in self.needs[where]:
                self.readers[need].append(where)
        while waiting:
            for where in tuple(waiting):
                if all(need in self.turn for need in self.needs[where]):
                    waiting.remove(where)
                    self._set_turn(where, 1 + max([self.turn[need][0] for need in self.needs[where]], default=0), 0)

    def _set_turn(self, where: Number, level: int, depth: int) -> None:
        self.turn[where] = (level, -depth)
        name, number = where
        for inner in self.live[name].route.inside(number):
            self.reads[name, inner] = self.reads[where]
            self._set_turn((name, inner), level, depth + 1)

    def unit(self, where: Number) -> Unit:
        return self.live[where[0]].route.units[where[1]]

    # ---------------------------------------------------------------------------------------------- look-ups

    def note(self, asker: Asker, lookup: LooksUp, key: Any) -> None:
        """Remember what somebody has looked up."""
        self.asked.setdefault(asker, []).append((lookup, key))

    def unask(self, asker: Asker) -> None:
        """Somebody is evaluated anew, or gone."""
        for lookup, key in self.asked.pop(asker, ()):
            lookup.unask(key, asker)

    def ask_for(self, asker: Asker) -> Asker | None:
        """What is looked up from now on is noted for who asks; who asked before."""
        outer, self.asking = self.asking, asker
        if self.asked:
            self.unask(asker)
        return outer

    # ---------------------------------------------------------------------------------------------- states

    def fresh(self, where: Number) -> State:
        """A state of a unit's reduction of no items; of one group, where it has groups."""
        unit, code = self.unit(where), self.codes[where[0]][where[1]]
        if not isinstance(unit.reduction, Group):
            return self.evaluation.state(code)
        inner = unit.reduction.inner
        argument = code.program("argument")
        step = next(self.evaluation.run(code.program("step"))) if isinstance(inner, Fold) else None
        return state_of(inner, self.evaluation.context(argument), list(self.evaluation.run(argument)), step)

    def _state(self, code: UnitCode) -> State:
        """A state of a unit's reduction of no items; most of these have no argument to be computed."""
        reduction = code.unit.reduction
        if isinstance(reduction, Reduce) and reduction.argument is None:
            return self.column_state(reduction, code.program("items"))
        return self.evaluation.state(code)

    def column_state(self, reduction: Concat | Reduce, program: Executable) -> State:
        """A state of the reduction of a column, of no items."""
        return state_of(reduction, self.evaluation.context(program), [], None)

"""A query that goes on: changes in, the answer at any moment.

    answer() after γ  =  q(T(γ))

Each change is taken in by :class:`~xstreamcast.run.continuous.live.Live`, which says which members must look again.
Their units' programs run on them alone; what is different goes into the sums; frames whose inner values moved evaluate
their body; and only what is left of the query above all that is computed anew. What does not decompose into units is
computed anew on what is read of the documents (``explain`` says so).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Plan, Source, Strategy, Unit
from xstreamcast.plan.decompose import reads_items, seen_by
from xstreamcast.plan.projection import project
from xstreamcast.run.continuous.assemble import document, whole_document
from xstreamcast.run.continuous.live import Live, Member
from xstreamcast.run.continuous.reach import never_nested
from xstreamcast.run.continuous.route import Route
from xstreamcast.run.continuous.sums import contribution, members, monoid_of, value
from xstreamcast.run.units import Evaluation, Parts, UnitCode, value_type
from xstreamcast.scan.path import Path

if TYPE_CHECKING:
    from xstreamcast.errors import Place
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.scan.automaton import Target

Number = tuple[str, int]
"""A unit: the stream it ranges over, and its number there."""


class Continuous:
    """One query over some streams, by name."""

    live_type: ClassVar[type[Live]] = Live

    def __init__(self, plan: Plan, evaluation: Evaluation, structures: Mapping[str, Structure]) -> None:
        self.plan = plan
        self.evaluation = evaluation
        self.parts = Parts(plan)
        self.live: dict[str, Live] = {}
        self.codes: dict[str, list[UnitCode]] = {}
        for source in plan.sources:
            self._begin(source, structures)
        self._relate()
        self.rest: list[Unit | Executable] = [
            part if isinstance(part, Unit) else self.parts.compile(part) for part in plan.output
        ]
        self.failed: dict[Member, XStreamError] = {}
        self.stale: set[Number] = set(self.needs)  # those of whole documents
        self.values: dict[Number, list[Item]] = {}
        self.evaluated = 0
        """How many evaluations of members and frames there have been."""
        self._settle()

    def _begin(self, source: Source, structures: Mapping[str, Structure]) -> None:
        name = source.uri or ""
        structure = structures.get(name)
        units = [u for one in self.plan.passes if one.source == source for u in one.units]
        whole = (
            tuple(t for one in self.plan.passes if one.source == source for t in one.targets)
            if self.plan.strategy is Strategy.PROJECT
            else ()
        )

        def nests(unit: Unit) -> bool:
            return unit.nest is not None and bool(unit.nest.units) and never_nested(unit.nest.path, structure)

        def targets(unit: Unit, root: Path) -> tuple[Target, ...]:
            if unit.nest is not None and nests(unit):
                return unit.nest.parts
            seen = project(seen_by(unit), {unit.root: root}, module=self.plan.module, whole=reads_items(unit.reduction))
            return seen[unit.root]

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
        self.readers: dict[Number, list[Number]] = {where: [] for where in self.place.values()}
        self.turn: dict[Number, tuple[int, int]] = {}
        waiting = [(name, number) for name, live in self.live.items() for number in live.route.outermost]
        for where in waiting:
            self.needs[where] = tuple([self.place[need] for need in self._unit(where).needs])
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
            self._set_turn((name, inner), level, depth + 1)

    def _unit(self, where: Number) -> Unit:
        return self.live[where[0]].route.units[where[1]]

    # ---------------------------------------------------------------------------------------------- changes

    def feed(self, change: Change, stream: str = "", place: Place | None = None) -> None:
        """Take a change of a stream in."""
        self.feed_many([change], stream, place)

    def feed_many(self, changes: Iterable[Change], stream: str = "", place: Place | None = None) -> None:
        """Take changes in, and then evaluate what they touched, once."""
        live = self.live.get(stream)
        if live is None:
            return
        for change in changes:
            live.apply(change, place)
        self._settle()

    def _settle(self) -> None:
        """Evaluate what is dirty, the innermost first, and units after those they need, until nothing is."""
        for live in self.live.values():
            for member in live.gone:
                self.failed.pop(member, None)
            live.gone.clear()
        while True:
            dirty: dict[tuple[int, int], list[tuple[str, Member]]] = {}
            for name, live in self.live.items():
                for home in live.changed:
                    if home.member is None:
                        self.stale.add((name, home.unit))
                    elif home.member.entry.block is not None:
                        live.dirty[home.member] = None
                live.changed.clear()
                live.dirty.pop(live.whole, None)
                for member in live.dirty:
                    dirty.setdefault(self.turn[name, member.unit], []).append((name, member))
            if dirty:
                ready = dirty[min(dirty)]
                for need in {need for name, member in ready for need in self.needs.get((name, member.unit), ())}:
                    self._refresh(need)
                for name, member in ready:
                    self.live[name].dirty.pop(member, None)
                    self._evaluate(name, member)
            elif not self._wake():
                return

    def _wake(self) -> bool:
        """The members of units that need a value which is another now must look again."""
        for where in sorted(self.stale, key=self.turn.__getitem__):
            if self.readers[where] and self._refresh(where):
                for name, number in self.readers[where]:
                    live = self.live[name]
                    live.dirty.update(dict.fromkeys(members(live.top[number])))
                return True
        return False

    def _refresh(self, where: Number) -> bool:
        """Bind the value of a unit of a document; whether it is another than before."""
        if where not in self.stale:
            return False
        self.stale.discard(where)
        before = self.values.get(where)
        self._bind(where, self.live[where[0]].top[where[1]])
        return before != self.values[where]

    def _evaluate(self, name: str, member: Member) -> None:
        self.evaluated += 1
        unit, code = self._unit((name, member.unit)), self.codes[name][member.unit]
        self.failed.pop(member, None)
        try:
            items = self._items(name, member, unit, code)
            summary = contribution(unit.reduction, items, lambda: self.evaluation.state(code))
        except XStreamError as failure:
            self.failed[member] = failure
            items, summary = [], self.live[name].route.monoid(member.unit).zero
        member.outcome = items
        if member.entry.block is not None:
            member.entry.sequence.update(member.entry, summary)
        else:
            member.entry.summary = summary

    def _items(self, name: str, member: Member, unit: Unit, code: UnitCode) -> list[Item]:
        evaluation = self.evaluation
        tree, row = document(member, self.live[name].route)
        if member.inner is None:
            frame = member.entry.sequence.outermost.home.member
            root = tree.root if frame is None else _ancestor(tree, row, frame)
            evaluation.bind(unit.root, root)
            return list(evaluation.run(code.program("items")))
        assert code.nest is not None
        for number, sequence in member.inner.items():
            self._bind((name, number), sequence)
        evaluation.bind(code.nest.nest.variable, Node((tree, row)))
        return list(evaluation.run(code.nest.body))

    def _bind(self, where: Number, sequence: Any) -> None:
        unit, code = self._unit(where), self.codes[where[0]][where[1]]
        found = value(unit.reduction, sequence, lambda: self.evaluation.state(code))
        self.values[where] = self.evaluation.given[unit.variable] = found
        self.evaluation.bind(unit.variable, found if value_type(unit) is None else found[0])

    # ---------------------------------------------------------------------------------------------- the answer

    def answer(self) -> list[Item]:
        """q(T(γ)); raises the error that is the answer, if it is one."""
        self.raise_failure()
        for where in sorted(self.stale, key=self.turn.__getitem__):
            self._refresh(where)
        self._bind_documents()
        return [item for part in self.rest for item in self._part(part)]

    def raise_failure(self) -> None:
        """Raise the error that the answer is because of a member."""
        for member, failure in self.failed.items():
            if is_seen(member):
                raise failure

    def _bind_documents(self) -> None:
        """Where nothing decomposes, what is left of the query reads the documents themselves."""
        if self.plan.strategy is Strategy.PROJECT:
            for source in self.plan.sources:
                live = self.live[source.uri or ""]
                self.evaluation.bind(source.variable, whole_document(live.root, live.route).root)

    def _part(self, part: Unit | Executable) -> list[Item]:
        """The items of a part of the output, whose units are bound."""
        return self.values[self.place[part.variable]] if isinstance(part, Unit) else list(self.evaluation.run(part))


def _ancestor(tree: Any, row: int, frame: Member) -> Node:
    """The node of a frame's element among the ancestors of a member, or itself."""
    level, above = 1, frame.above
    while above is not None:
        level, above = level + 1, above.parent
    chain = [row]
    while tree.up[chain[-1]]:
        chain.append(chain[-1] - tree.up[chain[-1]])
    return Node((tree, chain[len(chain) - 1 - level]))


def is_seen(member: Member) -> bool:
    """Whether nothing around a member is hidden."""
    entry = member.entry
    while not entry.hidden:
        sequence = entry.sequence
        if sequence.place is None:
            around = sequence.home.member
            if around is None:
                return True
            entry = around.entry
        else:
            entry = sequence.place
    return False

"""A query that goes on: changes in, the answer at any moment.

    answer() after γ  =  q(T(γ))

Each change is taken in by :class:`~xstreamcast.run.continuous.associate.live.Live`, which says which members must look
again. Their units' programs run on them alone; what is different goes into the sums; frames whose inner values moved
evaluate their body; and only what is left of the query above all that is computed anew. What does not decompose into
units is computed anew on what is read of the documents (``explain`` says so).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Plan, Reduce, Strategy, Unit
from xstreamcast.run.continuous.adjust.derived import Bodied, Derived, Ordered, rows_of
from xstreamcast.run.continuous.adjust.lookup import Lookup
from xstreamcast.run.continuous.adjust.operators import operator
from xstreamcast.run.continuous.adjust.siblings import Siblings, look_again
from xstreamcast.run.continuous.adjust.sums import contribution, every, value
from xstreamcast.run.continuous.associate.instances import items_of
from xstreamcast.run.continuous.associate.mounts import Member, side_by_side
from xstreamcast.run.continuous.associate.noted import Noted
from xstreamcast.run.continuous.associate.standing import is_within, path_of
from xstreamcast.run.continuous.evaluate.assemble import document, start, whole_document
from xstreamcast.run.continuous.evaluate.bulk import Bulk, adds_up
from xstreamcast.run.continuous.related import Number, Related
from xstreamcast.run.continuous.time.horizon import Timing, shows_items
from xstreamcast.run.temporal import instant_of
from xstreamcast.run.units import Evaluation, UnitCode, value_type

if TYPE_CHECKING:
    from xstreamcast.cast.regions import Filling
    from xstreamcast.errors import Place
    from xstreamcast.lang.context import StaticContext
    from xstreamcast.model.change import Change
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.adjust.host import Asker
    from xstreamcast.run.continuous.adjust.order import Sequence
    from xstreamcast.run.continuous.associate.runs import Run
    from xstreamcast.run.evaluate import Executable

_NOT_THERE: Final = object()


class Continuous(Related):
    """One query over some streams, by name."""

    def __init__(self, plan: Plan, evaluation: Evaluation, structures: Mapping[str, Structure]) -> None:
        super().__init__(plan, structures)
        plan, self.evaluation = self.plan, evaluation
        self.timing: Timing[Any] = Timing(plan, evaluation)
        """When members (with their streams' names) and parts of the output must look again because of the time."""
        assert plan.module.static is not None
        self.static: StaticContext = plan.module.static
        self.rest: list[Unit | Executable] = [
            part if isinstance(part, Unit) else self.parts.compile(part) for part in plan.output
        ]
        self._inner: dict[tuple[str, Member], None] = {}
        """Frames of which nothing is different but the values of the units inside."""
        self.frames: dict[Member, tuple[Any, int]] = {}
        """What frames read of themselves, for as long as that is so."""
        self.derived: dict[Number, Derived] = {}
        for where in self.needs:
            self._derive(where)
        self.sealable: set[Number] = set()
        """The units of which records that can never change need not be kept once they have been told."""
        self._bulk()
        self._once = frozenset([where for where in self.needs if not self.needs[where] and not self.timing.timely])
        """The units whose members look again only if their contents are others: for these no trees are kept."""
        self._spent: list[tuple[Noted, Filling]] = []
        self._looked_at: list[tuple[Noted, Filling]] = []
        self.stale: set[Number] = set(self.needs)  # those of whole documents
        self.values: dict[Number, list[Item]] = {}
        self._settle()

    def _derive(self, where: Number) -> None:
        """What is kept of a unit beside document order, if anything is."""
        made = operator(self, where)
        if made is not None:
            self.derived[where] = made

    def _bulk(self) -> None:
        """The units whose records may stand in runs, and be let go of."""
        for name, number in self.alone():
            unit = self.unit((name, number))
            self.live[name].runs.units[number] = Bulk(unit, self.codes[name][number], self.evaluation)
            if number not in self.live[name].route.each:
                self.sealable.add((name, number))

    def alone(self) -> Iterator[Number]:
        """The units of which nobody but they themselves must know a record."""
        if self.timing.timely:
            return
        told = [part for part in self.plan.output if isinstance(part, Unit)]
        read = {
            ref.name.expanded
            for part in self.plan.output
            if not isinstance(part, Unit)
            for ref in descendants(part)
            if isinstance(ref, ast.VarRef)
        }
        for where in self.needs:
            unit = self.unit(where)
            shown = told.count(unit) == 1 and unit.variable not in read and not self.readers[where]
            chosen = unit.nest is not None and unit.nest.each is not None and unit.nest.each.choice is not None
            if where not in self.derived and not chosen and not self.needs[where] and adds_up(unit, shown):
                yield where

    def _run(self) -> None:
        """Evaluate what has come to runs."""
        for live in self.live.values():
            due: dict[int, list[Run]] = {}
            for run in live.runs.due:
                due.setdefault(run.unit, []).append(run)
            for unit, runs in due.items():
                self.evaluated += live.runs.units[unit].run(live, runs)

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

    def tick(self, now: DateTime) -> bool:
        """The current time is another: those whose horizon it has reached look again; whether the output must."""
        timing, evaluation = self.timing, self.evaluation
        evaluation.tick(now)
        for name, live in self.live.items():
            for member in live.gone:
                timing.agenda.forget((name, member))
        due = timing.tick(instant_of(now))
        if timing.coarse:
            evaluation.forget_prolog()
            for live in self.live.values():
                for sequence in live.top.values():
                    live.dirty.update(dict.fromkeys(every(sequence)))
            for derived in self.derived.values():
                if isinstance(derived, Bodied):
                    derived.again()
            return True
        again = False
        for owner in due:
            if isinstance(owner, tuple):
                self.wake(owner)
            else:
                again = True
        return again

    def _settle(self) -> None:
        """Evaluate what is dirty, the innermost first, and units after those they need, until nothing is."""
        self._spent += self._looked_at  # by now all queries have
        self._looked_at = []
        for name, live in self.live.items():
            for member in live.gone:
                for sequence in (member.inner or {}).values() if live.route.counted else ():
                    if isinstance(sequence.home, Siblings):
                        look_again(live, list(sequence.home.marked))
                self.failed.pop(member, None)
                self.timing.agenda.forget((name, member))
                self.unask((name, member))
                self.frames.pop(member, None)
                self._inner.pop((name, member), None)
                derived = self.derived.get((name, member.unit))
                if derived is not None:
                    derived.left[member] = None
                    derived.touched.pop(member, None)
            live.gone.clear()
            self._moved(name, live)
        self._run()
        while True:
            dirty: dict[tuple[int, int], list[tuple[str, Member]]] = {}
            for name, live in self.live.items():
                for home in live.changed:
                    if isinstance(home, Siblings):
                        self._choose(live, home)
                    if home.member is not None:
                        if home.member.entry.block is not None:
                            self._inner[name, home.member] = None
                    elif home.unit in live.top:
                        self.stale.add((name, home.unit))
                live.changed.clear()
                live.dirty.pop(live.whole, None)
                for member in live.dirty:
                    dirty.setdefault(self.turn[name, member.unit], []).append((name, member))
            for name, member in self._inner:
                if member not in self.live[name].dirty:
                    dirty.setdefault(self.turn[name, member.unit], []).append((name, member))
            pending = min([self.turn[where] for where, one in self.derived.items() if one.pending], default=None)
            if pending is not None and (not dirty or pending < min(dirty)):
                for where, one in self.derived.items():
                    if one.pending and self.turn[where] == pending:
                        self._follow(where, one)
            elif dirty:
                ready = dirty[min(dirty)]
                units = dict.fromkeys([(name, member.unit) for name, member in ready])
                for need in dict.fromkeys([need for unit in units for need in self.reads.get(unit, ())]):
                    self._refresh(need)
                for name, member in ready:
                    if self.live[name].dirty.pop(member, _NOT_THERE) is None:
                        self.frames.pop(member, None)
                    self._inner.pop((name, member), None)
                    self._evaluate(name, member)
            elif not self._wake():
                return

    def _moved(self, name: str, live: Noted) -> None:
        """The members in places that are hidden, shown, or stand elsewhere have other neighbours."""
        for number in live.route.outermost if live.moved else ():
            derived = self.derived.get((name, number))
            if derived is not None:
                for occurrence in live.moved:
                    for place in side_by_side(occurrence):
                        content = place.content.get(number)
                        if content is not None:
                            derived.touched.update((member, None) for member in every(content) if member.unit == number)
        live.moved.clear()

    def _choose(self, live: Noted, home: Siblings) -> None:
        """The children of an element that are chosen by their numbers are others."""
        if home.member is None:
            home.choose(live.root.content[home.unit])
        elif home.member.entry.block is not None and home.member.inner is not None:
            home.choose(home.member.inner[home.unit])

    def _follow(self, where: Number, derived: Derived) -> None:
        """An operator takes in what its members have become."""
        for need in self.needs[where]:
            self._refresh(need)
        derived.follow()
        self.stale.add(where)

    # ---------------------------------------------------------------------------------------------- look-ups

    def wake(self, asker: Asker) -> None:
        """Somebody must look again."""
        home, who = asker
        if isinstance(home, Bodied):
            home.dirty[who] = None
        else:
            self.live[home].dirty[who] = None

    def _spend(self, live: Noted, filling: Filling) -> None:
        """The tree of a filling is looked at for the last time; other queries may still have to in this step.

        With each, the last two of earlier steps are dropped: after much has come no single change pays for all.
        """
        self._looked_at.append((live, filling))
        for _ in range(min(len(self._spent), 2)):
            whose, old = self._spent.pop()
            whose.grove.drop(old)

    def _wake(self) -> bool:
        """The members of units that need a value which is another now must look again."""
        for where in sorted(self.stale, key=self.turn.__getitem__):
            if self.readers[where] and self._refresh(where):
                return True
        return False

    def _refresh(self, where: Number) -> bool:
        """Bind the value of a unit of a document; whether it is another than before: then those who read it look again.

        Who looks something up is known, and looks again by itself.
        """
        if where not in self.stale:
            return False
        self.stale.discard(where)
        before = self.values.get(where)
        self._bind(where, self.live[where[0]].top[where[1]])
        if before == self.values[where]:
            return False
        for name, number in self.readers[where] if not isinstance(self.derived.get(where), Lookup) else ():
            live = self.live[name]
            live.dirty.update(dict.fromkeys(every(live.top[number])))
            derived = self.derived.get((name, number))
            if isinstance(derived, Bodied):
                derived.again()
        return True

    def _evaluate(self, name: str, member: Member) -> None:
        self.evaluated += 1
        unit, code = self.unit((name, member.unit)), self.codes[name][member.unit]
        self.failed.pop(member, None)
        if (name, member.unit) in self._once and member.mount.stands_alone:
            self._spend(self.live[name], member.mount.filling)
        outer, asked = self.timing.horizon.begin(), self.ask_for((name, member))
        try:
            items, summary = self._outcome(name, member, unit, code)
        except XStreamError as failure:
            self.failed[member] = failure
            items, summary = [], self.live[name].route.monoid(member.unit).zero
        self.asking = asked
        self.timing.done((name, member), outer, items if shows_items(unit) else ())
        member.outcome = None if isinstance(unit.reduction, Reduce) else items  # whose sum is all that is asked for
        if member.unit in self.live[name].route.counted:
            look_again(self.live[name], [member])
        derived = self.derived.get((name, member.unit))
        if derived is not None:
            derived.touched[member] = None
        if member.entry.block is not None:
            member.entry.sequence.update(member.entry, summary)
        else:
            member.entry.summary = summary

    def _outcome(self, name: str, member: Member, unit: Unit, code: UnitCode) -> tuple[list[Item], Any]:
        """What a member gives, and what that adds."""
        items = self._items(name, member, unit, code)
        return items, contribution(unit.reduction, items, lambda: self._state(code))

    def _items(self, name: str, member: Member, unit: Unit, code: UnitCode) -> list[Item]:
        evaluation, route = self.evaluation, self.live[name].route
        if member.unit in route.each:
            assert code.nest is not None
            return items_of(self, name, member, code.nest)
        if member.inner is None:
            tree, row = (start if member.unit in route.shallow else document)(member, route)
            frame = member.entry.sequence.outermost.home.member
            root = tree.root if frame is None else _ancestor(tree, row, frame)
            evaluation.bind(unit.root, root)
            return list(evaluation.run(code.program("items")))
        assert code.nest is not None
        self.bind_inside(name, member)
        known = self.frames.get(member)
        if known is None:
            known = self.frames[member] = document(member, route)
        evaluation.bind(code.nest.nest.variable, Node(known))
        return list(evaluation.run(code.nest.body))

    def bind_inside(self, name: str, member: Member) -> None:
        """Bind the values of the units inside of a frame."""
        for number, sequence in (member.inner or {}).items():
            self._bind((name, number), sequence)

    def _bind(self, where: Number, sequence: Any) -> None:
        unit, code = self.unit(where), self.codes[where[0]][where[1]]
        derived = self.derived.get(where)
        failure = self.failure_of(where, sequence)
        if failure is not None:  # whoever reads it meets it
            self.values[where] = [failure]
            self.evaluation.fail(unit.variable, failure)
            return
        if derived is not None:
            found = derived.value()
        else:
            found = value(unit.reduction, sequence, lambda: self._state(code))
        self.values[where] = found
        self.evaluation.give(unit.variable, found, value_type(unit) is not None)

    # ---------------------------------------------------------------------------------------------- the answer

    def answer(self) -> list[Item]:
        """q(T(γ)); raises the error that is the answer, if it is one."""
        self.raise_failure()
        for where in sorted(self.stale, key=self.turn.__getitem__):
            self._refresh(where)
        self._bind_documents()
        return [item for part in self.rest for item in self._part(part)]

    def raise_failure(self) -> None:
        """Raise the error that a part of the answer is because of a member."""
        for part in self.rest:
            if isinstance(part, Unit):
                self.check(self.place[part.variable])

    def check(self, where: Number) -> None:
        """Raise the error that the value of a unit of a document is, if it is one."""
        failure = self.failure_of(where, self.live[where[0]].top[where[1]])
        if failure is not None:
            raise failure

    def failure_of(self, where: Number, sequence: Sequence[Any]) -> XStreamError | None:
        """The error of a visible member of a unit's sequence, or of what is made of them; None if there is none."""
        derived = self.derived.get(where)
        if isinstance(derived, Lookup):
            return None  # who looks something up meets it
        first = self._first_failed(self.failed, where, sequence) if self.failed else None
        if first is not None:
            return first
        return None if derived is None else derived.failure

    def first_failure(self, holders: Iterable[Any], where: Number) -> XStreamError | None:
        """Of members that have failed the error of the first one in the document."""
        return self._first_failed(holders, where, self.live[where[0]].top[where[1]])

    def _first_failed(self, members: Iterable[Any], where: Number, sequence: Sequence[Any]) -> XStreamError | None:
        there = [member for member in members if member.unit == where[1] and is_within(member.entry, sequence)]
        first = min(there, key=lambda member: path_of(member.entry), default=None)
        return None if first is None else self.failed[first]

    asks_again: ClassVar[bool] = False

    def rows_again(self, where: Number, holders: list[Any]) -> dict[Any, list[list[list[Item]]]]:
        """The rows of some members: they are kept."""
        return {member: [row for _, row in rows_of(member)] for member in holders}

    def is_there(self, holder: Any, where: Number) -> bool:
        """Whether a member is in the document, and seen."""
        return is_within(holder.entry, self.live[where[0]].top[where[1]])

    def sequence(self, where: Number) -> Sequence[int]:
        """The members of a unit in the order of its value."""
        derived = self.derived.get(where)
        return derived.sequence if isinstance(derived, Ordered) else self.live[where[0]].top[where[1]]

    def _bind_documents(self) -> None:
        """Where nothing decomposes, what is left of the query reads the documents themselves."""
        if self.plan.strategy is Strategy.PROJECT:
            self.evaluation.forget_prolog()
            for source in self.plan.sources:
                live = self.live[source.uri or ""]
                self.evaluation.bind(source.variable, whole_document(live.root, live.route).root)

    def _part(self, part: Unit | Executable) -> list[Item]:
        """The items of a part of the output, whose units are bound."""
        if isinstance(part, Unit):
            return self.values[self.place[part.variable]]
        return self.timing.evaluated(part, self.evaluation.run(part))


def _ancestor(tree: Any, row: int, frame: Member) -> Node:
    """The node of a frame's element among the ancestors of a member, or itself."""
    level, above = 1, frame.above
    while above is not None:
        level, above = level + 1, above.parent
    chain = [row]
    while tree.up[chain[-1]]:
        chain.append(chain[-1] - tree.up[chain[-1]])
    return Node((tree, chain[len(chain) - 1 - level]))

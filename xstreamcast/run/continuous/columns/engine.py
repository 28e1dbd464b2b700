"""A query that goes on, followed in columns: batches of changes in, rows that are different and their sums out.

    changes ─take→ fragments to look at ─evaluate→ outcomes ─adjust→ sums, frames, rows in order ─display→

Nothing of a fragment is kept but what it adds: the items of an answer are texts, those of a sum its values. A node does
not outlive its batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import Concat, Gather, Group, Reduce, Sort, Unit, in_parts
from xstreamcast.plan.decompose.splices import splices
from xstreamcast.run.continuous.adjust.derived import Bodied, Ordered
from xstreamcast.run.continuous.adjust.lookup import Lookup
from xstreamcast.run.continuous.columns.adjust import Adjusted, Contributions, Framed, Reduced, Told
from xstreamcast.run.continuous.columns.followed import Followed
from xstreamcast.run.continuous.columns.joined import Joined, Outgrown, is_by_texts
from xstreamcast.run.continuous.columns.keyed import GatheredRows, Keyed, SortedRows
from xstreamcast.run.continuous.columns.layout import FILLINGS, TSID
from xstreamcast.run.continuous.columns.operated import Operated
from xstreamcast.run.continuous.columns.roles import (
    ReadAround,
    Refused,
    Roles,
    check_plan,
    check_unit,
    is_accumulated,
    roles_of,
    sums_up,
)
from xstreamcast.run.continuous.columns.routed import Routed
from xstreamcast.run.continuous.columns.rows import Documents
from xstreamcast.run.continuous.columns.shells import Cut, WiderRecords, cut_roles
from xstreamcast.run.continuous.related import Number, Related
from xstreamcast.run.continuous.time.horizon import Timing
from xstreamcast.run.temporal import moment_at
from xstreamcast.run.units import value_type

if TYPE_CHECKING:
    from xstreamcast.errors import XStreamError
    from xstreamcast.lang.context import StaticContext
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.structure import Structure
    from xstreamcast.model.time import Instant
    from xstreamcast.native.vector import Longs
    from xstreamcast.operators.state import State
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.run.continuous.adjust.derived import Part
    from xstreamcast.run.continuous.adjust.host import Asker
    from xstreamcast.run.continuous.adjust.order import Sequence
    from xstreamcast.run.continuous.associate.route import Route
    from xstreamcast.run.continuous.columns.alike import TwinProgram
    from xstreamcast.run.continuous.columns.open_holes import OpenHoles
    from xstreamcast.run.continuous.columns.shelf import KeyedRows, Parts, Rows
    from xstreamcast.run.continuous.columns.table import RegionTable
    from xstreamcast.run.continuous.display.shelf import Numbers
    from xstreamcast.run.evaluate import Executable
    from xstreamcast.run.units import Evaluation, UnitCode

Dirty = tuple["Longs", "Longs", Any]
"""Nodes, the units that must look at them, as bits, and which of them are there."""
_NOTHING: Final[Dirty] = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
BITS: Final = 60
"""So many units may read one table."""


class Columnar(Related):
    """One query over the tables of its streams. It has the face of a :class:`~xstreamcast.run.continuous.journal.
    Journal` for those who tell its answer. Raises :class:`Refused` if it cannot be followed in columns."""

    live_type: ClassVar[Any] = Routed
    open_holes: Mapping[str, OpenHoles] = MappingProxyType({})
    """By stream, in a mode that asks for them."""

    def __init__(
        self,
        plan: Plan,
        evaluation: Evaluation,
        structures: Mapping[str, Structure],
        tables: Mapping[str, RegionTable],
        leader: Columnar | None,
        forwards: bool,
    ) -> None:
        """``leader``: a query of the same shape, which reads the same fragments. ``forwards``: holes of what is copied
        are to be told as holes."""
        check_plan(plan)
        for source in plan.sources:
            table = tables.get(source.uri or "")
            if table is None or (source.forest and not table.structure.unnamed):
                raise Refused("a stream has no tag structure")
        super().__init__(plan, structures)
        self.evaluation = evaluation
        self.forwards = forwards
        self.documents = Documents()
        self.timing: Timing[Any] = Timing(self.plan, evaluation)
        """When fragments, with the units that look at them, and parts of the output must look again."""
        self._due: dict[Number, dict[int, None]] = {}
        assert self.plan.module.static is not None
        self.static: StaticContext = self.plan.module.static
        self.tables = {name: tables[name] for name in self.live}
        self.rest: list[Unit | Executable] = [
            part if isinstance(part, Unit) else self.parts.compile(part) for part in self.plan.output
        ]
        self.stale: set[Number] = set(self.needs)
        self.bound: set[Number] = set()
        self.redone = False
        self.values: dict[Number, list[Item]] = {}
        self.moved = True
        """Whether something has been looked at since that was last asked for."""
        self._first: dict[str, int] = {}
        self.roles: dict[str, Roles] = {}
        self.cuts: dict[str, dict[int, Cut]] = {}
        """By stream, the units whose records are cut."""
        self.units: dict[Number, Followed] = {}
        for name in self.live:
            self._follow(name, structures, leader)
        if leader is None:
            self._join()
        self.turns = sorted(self.turn, key=lambda where: (self.turn[where], where))
        for where, followed in self.units.items():
            followed.asks = any(self._is_lookup(need) for need in self.reads.get(where, ()))
            if self._is_lookup(where):
                self._give_lookup(where)

    def _give_lookup(self, where: Number) -> None:
        """Those who look rows up of a unit call its value."""
        followed = self.units[where]
        self.evaluation.give(followed.unit.variable, followed.value(), single=True)

    def _is_lookup(self, where: Number) -> bool:
        """Whether a unit is one that others look rows up in."""
        made = self.units[where].made
        return isinstance(made, Joined) or (isinstance(made, Operated) and isinstance(made.operator, Lookup))

    def _contributions(self, code: UnitCode) -> Contributions:
        reduction = code.unit.reduction
        assert isinstance(reduction, Reduce)
        return Contributions(reduction.aggregate, partial(self.state, code, reduction))

    def state(self, code: UnitCode, reduction: Concat | Reduce) -> State:
        """A state of a reduction of no items, where that has no argument."""
        return self.column_state(reduction, code.program("items"))

    # ---------------------------------------------------------------------------------------------- its units

    def _follow(self, name: str, structures: Mapping[str, Structure], leader: Columnar | None) -> None:
        route = self.live[name].route
        first = self._first[name] = self.tables[name].bits if leader is None else leader._first[name]
        if first + 2 * len(route.units) > BITS:
            raise Refused("too many loops over one stream")
        if leader is None:
            self.roles[name], self.cuts[name] = self.roles_by(self, name, structures)
        else:
            self.roles[name], self.cuts[name] = leader.roles[name], leader.cuts[name]
        roles = self.roles[name]
        for number in route.outermost:
            unit = route.units[number]
            inside = route.inside(number)
            check_unit(unit, [route.units[inner] for inner in inside])
            self._check_needs(unit, inside)
            if isinstance(unit.reduction, Group):
                self._check_joined(unit)
            self.units[name, number] = self._followed(name, number, roles)
            for inner in inside:
                self.units[name, inner] = self._followed(name, inner, roles)

    def roles_by(self, units: Related, name: str, structures: Mapping[str, Structure]) -> tuple[Roles, dict[int, Cut]]:
        """The roles of a stream's tags to units of this query, and whose records are cut."""
        route, first = units.live[name].route, self._first[name]
        try:
            roles = roles_of(route, structures[name], first)
        except ReadAround as refusal:
            raise WiderRecords(route.units[refusal.unit], structures[name]) from None
        whole = [number for number in route.outermost if self.forwards and route.copies_holes(number)]
        if self.open_holes:
            return roles, {}
        return roles, cut_roles(units, structures, name, roles, first, whole)

    def _check_needs(self, unit: Unit, inside: Iterable[int]) -> None:
        """Raise if a unit reads the nodes of another one."""
        units = [one for passed in self.plan.passes for one in passed.units if one.variable in unit.needs]
        if any(not isinstance(one.reduction, Group | Reduce) for one in units):
            raise Refused("a loop reads the items of another one")
        if units and tuple(inside):
            raise Refused("a loop with loops inside reads the value of another one")

    def _check_joined(self, unit: Unit) -> None:
        """Raise if it is asked for rows by others than units."""
        parts = [part for part in self.plan.output if not isinstance(part, Unit)]
        if any(isinstance(e, ast.VarRef) and e.name.expanded == unit.variable for p in parts for e in descendants(p)):
            raise Refused("a join is part of what stands around loops")

    def _followed(self, name: str, number: int, roles: Roles) -> Followed:
        route = self.live[name].route
        code = self.codes[name][number]
        bit = 1 << (self._first[name] + number)
        made = self.adjusted(name, number)
        outer = next((one for one in route.outermost if number in route.inside(one)), None)
        if route.inside(number) or outer is not None:
            frames = roles.home.get(number if outer is None else outer, set())
            if len(frames) != 1:
                raise Refused("records with loops inside are of several tags")
            (frame,) = frames
            if outer is not None:
                made = Framed(self._contributions(code))
            return Followed(self, name, number, bit, made, frame, outer)
        return Followed(self, name, number, bit, made)

    def adjusted(self, name: str, number: int) -> Adjusted:
        """What is kept of the fragments of a unit, before any has been evaluated."""
        table, code = self.tables[name], self.codes[name][number]
        is_told = in_parts(code.unit.reduction) and self._is_told(code.unit)
        match code.unit.reduction:
            case Concat() if is_told:
                return Told(table)
            case Sort(chosen=None) as sort if is_told:
                return SortedRows(table, sort, self.static)
            case Group(inner=Concat() | Reduce() as inner) as group if is_by_texts(group):
                return Joined(self, table, group, partial(self.state, code, inner))
            case Gather() as gather if is_told and sums_up(gather) and not self.timing.may_look(gather.body):
                return GatheredRows(table, gather, self.static, code, self.evaluation)
            case Reduce() as reduce if is_accumulated(reduce):
                return Reduced(self._contributions(code))
        return Operated(self, (name, number), table, is_told)

    def twin(self, programs: Mapping[Number, TwinProgram]) -> Columnar:
        """The engine of a query that differs in constants, which others evaluate."""
        made = copy(self)
        made.stale, made.bound, made.values = set(self.needs), set(), {}
        made.redone, made.evaluated, made.moved, made._due = False, 0, True, {}
        made.asking, made.asked, made.failed = None, {}, {}
        made.units = {where: followed.twin(made, programs[where]) for where, followed in self.units.items()}
        return made

    def _is_told(self, unit: Unit) -> bool:
        """Whether the items of a unit are told one by one, and read by nobody."""
        told, found = 0, 0
        for part in self.plan.output:
            if isinstance(part, Unit):
                told += part == unit
                continue
            found += any(isinstance(e, ast.VarRef) and e.name.expanded == unit.variable for e in descendants(part))
            told += splices(part, unit)
        return told == 1 and found <= 1 and not (found and unit in self.plan.output)

    def _join(self) -> None:
        for name, table in self.tables.items():
            roles = self.roles[name]
            count = len(self.live[name].route.units) + len(self.cuts[name])
            table.bits = self._first[name] + count
            table.read_by(roles)

    def widen(self, name: str, route: Route, roles: Roles) -> None:
        """The structure of a stream has more tags: these are the roles of all of them."""
        self.live[name].route, self.roles[name] = route, roles
        for followed in self.units.values():
            if followed.name == name:
                followed.widen(roles)

    # ---------------------------------------------------------------------------------------------- changes

    @property
    def waiting(self) -> int:
        """How many open holes are looked into. An eager query does not ask: to it they are empty."""
        return 0

    def hear(self, is_over: Callable[[Iterable[str]], bool], watermark: Instant) -> None:
        """Which streams are at their end, and what comes no more. An eager query does not ask."""

    def settle(self) -> None:
        """All that has come has been looked at."""

    def follow(self, found: Mapping[str, Dirty], now: Instant) -> None:
        """Look at what has come, and at what must look again because of the time."""
        if self.timing.timely and now != self.timing.horizon.now:
            self._tick(now)
            self.moved |= self.redone
        if self._due or any(len(found[name][0]) for name in self.tables):
            self.look_at(found)

    def _tick(self, now: Instant) -> None:
        """The current time is another: those whose horizon it has reached look again."""
        self.evaluation.tick(moment_at(now))
        due = self.timing.tick(now)
        if self.timing.coarse:
            self.evaluation.forget_prolog()
            for where in self.units:
                self._look_again(where)
            self.redone = True
            return
        for owner in due:
            if isinstance(owner, tuple):
                self.wake(owner)
            else:
                self.redone = True

    def wake(self, asker: Asker) -> None:
        """Somebody must look again: a fragment, or a row of an operator that evaluates bodies."""
        home, who = asker
        if isinstance(home, Bodied):
            home.dirty[who] = None
            self._due.setdefault(home.where, {})
        else:
            self._due.setdefault(home, {})[who] = None

    def look_at(self, found: Mapping[str, Dirty]) -> None:
        """Evaluate those of some nodes of each stream that are marked for its units, and drop those that are gone;
        then those that have looked up what is different by that."""
        try:
            self._look_at(found)
        except Outgrown:
            for where, followed in self.units.items():
                if isinstance(followed.made, Joined):
                    followed.made = Operated(self, where, followed.table, False)
                    self._give_lookup(where)
            self.asking = None
            for where in self.units:
                self._look_again(where)
            self._look_at(found)

    def _look_at(self, found: Mapping[str, Dirty]) -> None:
        self.moved = True
        for where in self.turns:
            followed = self.units[where]
            if followed.made.has_moved:
                self._look_again(where)
            woken = self._due.pop(where, {}) | followed.in_shells(*found.get(where[0], _NOTHING))
            some, there = _with(*self.marked(where, found), woken)
            if followed.inside:
                gone = set(some[~there].tolist())
                frames = dict.fromkeys(some.tolist())
                for inner in followed.inside:
                    frames.update(self.units[where[0], inner].frames_touched())
                every, _, alive = found.get(where[0], _NOTHING)
                gone.update(every[~alive].tolist())
                if frames:
                    followed.look_at_frames([n for n in frames if n not in gone], [n for n in frames if n in gone])
                    self.looked_at(where)
            elif len(some):
                followed.look_at(some, there)
                self.looked_at(where)
            if followed.made.pending:
                self.looked_at(where)
            if self.readers[where] and where in self.stale and not self._is_lookup(where):
                self._refresh(where)

    def _look_again(self, where: Number) -> None:
        """All fragments of a unit look again."""
        followed = self.units[where]
        self._due.setdefault(where, {}).update(dict.fromkeys(followed.table.evaluated_for(followed.bit).tolist()))
        made = followed.made
        if isinstance(made, Operated) and isinstance(made.operator, Bodied):
            made.operator.again()

    def _refresh(self, where: Number) -> None:
        """Bind the value of a unit for those who read it, who look again if it is another."""
        self.stale.discard(where)
        before = self.values.get(where)
        self._bind(where)
        if before != self.values[where]:
            for reader in self.readers[where]:
                self._look_again(reader)

    def marked(self, where: Number, found: Mapping[str, Dirty]) -> tuple[Longs, Any]:
        """The nodes that a unit must look at, and which of them are there."""
        some, marks, there = found.get(where[0], _NOTHING)
        mine = marks & self.units[where].bit != 0
        return some[mine], there[mine]

    def looked_at(self, where: Number) -> None:
        """A unit has looked at all that it must."""
        followed = self.units[where]
        followed.made.settle()
        self.moved = True
        if followed.outer is None:
            self.stale.add(where)

    # ---------------------------------------------------------------------------------------------- the answer

    def raise_failure(self) -> None:
        """Raise the error that a part of the answer is."""
        for part in self.rest:
            if isinstance(part, Unit):
                self.check(self.place[part.variable])

    def check(self, where: Number) -> None:
        """Raise the error that the value of a unit is, if it is one."""
        failure = self.units[where].failure()
        if failure is not None:
            raise failure

    def part(self, part: Unit | Executable, reads: Iterable[Number]) -> list[Item]:
        """The items of a part of the output; ``reads``: the units that it looks at."""
        for where in reads:
            if where in self.stale:
                self.stale.discard(where)
                self._bind(where)
        if isinstance(part, Unit):
            return self.values[self.place[part.variable]]
        return self.timing.evaluated(part, self.evaluation.run(part))

    def _bind(self, where: Number) -> None:
        followed = self.units[where]
        failure = followed.failure()
        self.bound.add(where)
        if failure is not None:
            self.values[where] = [failure]
            self.evaluation.fail(followed.unit.variable, failure)
            return
        found = followed.value()
        self.values[where] = found
        self.evaluation.give(followed.unit.variable, found, value_type(followed.unit) is not None)

    def answer(self) -> list[Item]:
        """q(T(γ)); raises the error that is the answer, if it is one."""
        self.raise_failure()
        for where in self.needs:
            self._bind(where)
        found: list[Item] = []
        for part in self.rest:
            found += self.values[self.place[part.variable]] if isinstance(part, Unit) else self.evaluation.run(part)
        self.stale.update(self.needs)
        return found

    def forget(self) -> None:
        """All that was noted has been told."""
        self.bound.clear()
        self.redone = False
        for followed in self.units.values():
            followed.made.forget()

    def shelf(self, path: str, numbers: Numbers, where: Number) -> Rows | KeyedRows | Parts:
        """The rows of a unit as regions of the answer."""
        from xstreamcast.run.continuous.columns.shelf import KeyedRows, Parts, Rows

        made = self.units[where].made
        if isinstance(made, Keyed):
            return KeyedRows(path, numbers, self, where, made)
        if isinstance(made, Operated):
            return Parts(path, numbers, self, where, made)
        assert isinstance(made, Told)
        return Rows(path, numbers, self, where, made)

    def count(self, where: Number) -> int:
        """How many items a unit has."""
        made = self.units[where].made
        if isinstance(made, Operated):
            return self.sequence(where).total
        assert isinstance(made, Told | Keyed)
        return made.items

    # ---------------------------------------------------------------------------------------------- operators

    asks_again: ClassVar[bool] = True

    def is_there(self, holder: Any, where: Number) -> bool:
        """Whether a fragment is in the document."""
        return bool(holder.there)

    def first_failure(self, holders: Iterable[Any], where: Number) -> XStreamError | None:
        """Of fragments that have failed the error of the first one in the document."""
        first = min(holders, key=lambda held: held.label, default=None)
        return None if first is None else self.failed[first]

    def rows_again(self, where: Number, holders: list[Any]) -> dict[Any, list[list[list[Item]]]]:
        """The rows of some fragments, evaluated again."""
        followed = self.units[where]
        made = followed.made
        assert isinstance(made, Operated)
        asking, self.asking = self.asking, None
        outer = self.timing.horizon.begin()
        found = followed.outcomes_again(np.array([held.n for held in holders], np.int64))
        self.timing.horizon.end(outer)
        self.asking = asking
        return {held: made.rows(found[held.n]) for held in holders}

    def sequence(self, where: Number) -> Sequence[int]:
        """The rows of an operator in its order."""
        made = self.units[where].made
        assert isinstance(made, Operated)
        assert isinstance(made.operator, Ordered)
        return made.operator.sequence

    def touched(self, where: Number) -> Iterable[Part]:
        """The rows of an operator that are new."""
        made = self.units[where].made
        assert isinstance(made, Operated)
        assert isinstance(made.operator, Ordered)
        return made.operator.changed

    def departed(self, where: Number) -> Iterable[Part]:
        """The rows of an operator that are there no more."""
        made = self.units[where].made
        assert isinstance(made, Operated)
        assert isinstance(made.operator, Ordered)
        return made.operator.removed

    def members(self, where: Number) -> int:
        """How many records a unit has; where they are no fragments, how many of these have an outcome."""
        followed = self.units[where]
        if not followed.home:
            return followed.made.size
        tags = followed.table.tags_of(followed.table.evaluated_for(followed.bit))
        return int(np.isin(tags, sorted(followed.home)).sum())

    def opened(self, name: str) -> tuple[int, int]:
        """How many fragments of a stream are kept, and how many of these for their holes only."""
        table, holders = self.tables[name], self.live[name].route.holders
        tags = table.fillings[: table.tally[FILLINGS], TSID]
        return len(tags), int(np.isin(tags, sorted(tag for tag in holders if tag is not None)).sum())


def _with(some: Longs, there: Any, woken: Mapping[int, None]) -> tuple[Longs, Any]:
    """Nodes, and others that are there."""
    known = set(some.tolist()) if woken else set()
    more = [n for n in woken if n not in known]
    if not more:
        return some, there
    return np.concatenate([some, np.array(more, np.int64)]), np.concatenate([there, np.ones(len(more), np.bool_)])

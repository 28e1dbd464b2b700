"""What a bucket tells of its part of a stream where its items are not the answer: rows, for others to make it of.

A plan is units and what is made of their values (plan/algebra.py). A bucket evaluates the items of each unit of its
stream, record by record, and tells what each record gives as one region, in order: rows with their keys (sorts, groups,
look-ups), items, or the error that the evaluation was. Of a unit that is a sum it tells the sum of all its records. A
unit whose items need values of other units (a join, ``where $t/amount > $average``) cannot be evaluated here: its
records are told themselves, as far as the query sees them. :mod:`~xstreamcast.spark.motion.gathering` makes the rest.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Concat, Plan, Reduce, Unit, VarName
from xstreamcast.run.continuous.associate.standing import is_seen
from xstreamcast.run.continuous.display.emit import Output
from xstreamcast.run.continuous.display.members import Members
from xstreamcast.run.continuous.display.shelf import Computed
from xstreamcast.run.continuous.display.written import Written
from xstreamcast.run.continuous.evaluate.assemble import document
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.query import ContinuousQuery
from xstreamcast.spark.rest.partials import partial_of
from xstreamcast.spark.transport import dumps, loads

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xstreamcast.model.atomic import Item
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.associate.mounts import Member
    from xstreamcast.run.continuous.related import Number
    from xstreamcast.run.query import Query
    from xstreamcast.run.units import UnitCode

CANNOT: Final = "it cannot be spread over buckets: "


def refused(why: str) -> XStreamError:
    """What cannot be spread, or turns out not to be."""
    return error("XSC0069", CANNOT + why, hint="leave out bucket_records")


def units_of(plan: Plan, stream: str) -> tuple[Unit, ...]:
    """The units that range over a stream, by the numbers that a bucket tells them by."""
    return tuple([unit for one in plan.passes if one.source.uri == stream for unit in one.units])


def of_records(plan: Plan) -> Plan:
    """The plan in which what is inside of a record is part of it: an element in its like is no record of its own."""
    known = {unit.variable: replace(unit, each=None) for one in plan.passes for unit in one.units}
    passes = [replace(one, units=tuple([known[unit.variable] for unit in one.units])) for one in plan.passes]
    output = [known[part.variable] if isinstance(part, Unit) else part for part in plan.output]
    return replace(plan, passes=tuple(passes), output=tuple(output))


def is_late(unit: Unit, plan: Plan) -> bool:
    """Whether the items of a unit need values of others; what is made of them afterwards may."""
    units = {other.variable for one in plan.passes for other in one.units}
    return any(isinstance(part, ast.VarRef) and part.name.expanded in units for part in descendants(unit.items))


def is_sum(unit: Unit, plan: Plan) -> bool:
    """Whether a bucket tells nothing but what its records come to."""
    return isinstance(unit.reduction, Reduce) and not is_late(unit, plan)


def packed(value: Any) -> str:
    """A value as the content of a region."""
    try:
        data = dumps(value)
    except XStreamError as failure:  # a function does not travel
        data = dumps([failure])
    return data.decode("latin-1")


def unpacked(content: bytes) -> Any:
    """What :func:`packed` wrote."""
    return loads(content.decode().encode("latin-1"))


class RowsJournal(Journal):
    """The units of one stream, of which nothing is kept but their records and what they give."""

    def __init__(self, plan: Plan, late: frozenset[VarName], *more: Any) -> None:
        self.late = late
        super().__init__(plan, *more)

    def _derive(self, where: Number) -> None:
        """Operators over rows are elsewhere."""

    def _bulk(self) -> None:
        """Each record is told by itself: none stands in a run."""

    def raise_failure(self) -> None:
        """Errors are told as what their records give: whether they are the answer is known elsewhere."""

    def _items(self, name: str, member: Member, unit: Unit, code: UnitCode) -> list[Item]:
        if unit.variable in self.late:
            tree, _ = document(member, self.live[name].route)
            return [tree.root]
        if isinstance(unit.reduction, Reduce) or member.unit not in self.live[name].top:
            return super()._items(name, member, unit, code)
        try:
            return super()._items(name, member, unit, code)
        except XStreamError as failure:
            return [failure]


class RowMembers(Members):
    """A region for each record that gives something."""

    def look(self) -> None:
        self.pending = []
        for member in dict.fromkeys(self.journal.touched(self.where)):
            if member.outcome and member.entry.block is not None and is_seen(member):
                said = Written(packed(member.outcome), False, False)
                self.pending.append((member.entry.sequence.before(member.entry), member, said))


class Sum(Computed):
    """One region for what all records come to."""

    journal: RowsJournal

    def computed(self) -> list[Written]:
        (where,) = self.reads
        self.journal._refresh(where)
        top = self.journal.live[where[0]].top[where[1]]
        failure = self.journal.failure_of(where, top)
        total = top.total if failure is None else failure
        return [Written(packed(partial_of(total) if isinstance(total, State) else total), False, False)]


class RowsOutput(Output):
    """What a bucket tells: a shelf for each unit, in the order of :func:`units_of`."""

    def _take(self, journal: Any) -> None:
        assert isinstance(journal, RowsJournal)
        self.journal = journal
        self.shelves = []
        for number, (unit, code) in enumerate(zip(journal.plan.output, journal.rest, strict=True)):
            assert isinstance(unit, Unit)
            path, where = f"{number:04}", journal.place[unit.variable]
            if isinstance(unit.reduction, Reduce):
                self.shelves.append(Sum(path, self.numbers, journal, code, (where,)))
            else:
                self.shelves.append(RowMembers(path, self.numbers, journal, where))


class RowsQuery(ContinuousQuery):
    """The part of a query that a bucket of one of its streams can do."""

    def __init__(
        self, query: Query, inflow: Inflow, name: str, variables: Mapping[str, Any], docs: Mapping[str, Any], of: str
    ) -> None:
        super().__init__(query, inflow, name, variables, docs)
        self._planned.again({stream: inflow.association(stream) for stream in self.streams})
        whole = of_records(self._planned.plan)
        self._late = frozenset([unit.variable for unit in units_of(whole, of) if is_late(unit, whole)])
        self._rows = rows_plan(whole, of, self._late)
        self.stream = of
        self.streams = (of,)

    @property
    def plan(self) -> Plan:
        return self._rows

    def _journal(self, structures: Mapping[str, Structure]) -> Journal:
        return RowsJournal(self._rows, self._late, self._evaluation(), structures)

    def _begin(self) -> None:
        self._moment = self.inflow.now
        journal = self._followed(self._associations())
        if not isinstance(journal, RowsJournal):
            raise refused(self.recomputed)
        self._output = RowsOutput(journal, forwards=False)
        self._tell(self._output.begin())

    def _turn(self, output: Output) -> None:
        known = self.inflow.association(self.stream).standing
        if known.named or known.besides or not known.of_one_root:
            raise refused("a stream has other than one element at its top, or documents with names")

    def _announce(self, associations: Mapping[str, Association]) -> None:
        """Rows have no tag structure."""


def rows_plan(plan: Plan, stream: str, late: frozenset[VarName]) -> Plan:
    """The units of a stream, none of which needs another. A late one gives its records, which are not taken apart."""
    none: frozenset[VarName] = frozenset()
    made = {
        unit.variable: replace(unit, needs=none, reduction=Concat(), nest=None)
        if unit.variable in late
        else replace(unit, needs=none)
        for unit in units_of(plan, stream)
    }
    passes = tuple(
        [
            replace(one, units=tuple([made[unit.variable] for unit in one.units]))
            for one in plan.passes
            if one.source.uri == stream
        ]
    )
    sources = tuple([source for source in plan.sources if source.uri == stream])
    return replace(plan, sources=sources, passes=passes, output=tuple(made.values()))

"""Standing queries that differ in constants only: whom a fragment concerns is looked up, not tried query by query.

    for $t in //t where $t/v = c return E, for many c:        v ↦ { the queries whose c = v }

Queries of one shape look at the same fragments, so that they share their bits in the table. Where the first condition
on a record compares a path with a constant, the constants of all of them are an index (YFilter's idea, on values): the
path is evaluated once for a fragment, and the rest only for the queries that it finds, by one program for all of them.
The condition must be the first one: what comes behind it may fail, and does so only where the condition holds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.lexical import parse_double
from xstreamcast.model.namespaces import CODEPOINT
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Concat, Reduce, Unit
from xstreamcast.run.compile.comparisons import VALUE_OF
from xstreamcast.run.continuous.columns.roles import Refused
from xstreamcast.run.continuous.columns.rows import (
    LITERALS,
    RECORD,
    FrameProgram,
    SharedProgram,
    from_record,
    from_record_of,
)
from xstreamcast.run.runtime.indexes import RangeIndex, ValueIndex
from xstreamcast.run.units import plan_name

if TYPE_CHECKING:
    from xstreamcast.model.time import Instant
    from xstreamcast.native.vector import Longs
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.run.continuous.columns.engine import Columnar, Dirty
    from xstreamcast.run.continuous.columns.followed import Followed
    from xstreamcast.run.continuous.columns.rows import Batch, Observer, Outcome
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.run.continuous.related import Number

_MIRRORED: Final = {"=": "=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_WHERE_IT_STANDS: Final = frozenset({"span", "tests", "module"})
"""Parts of a plan that tell where something stands, or say what is said elsewhere."""
Constant = str | float


def shape_of(plan: Plan) -> Hashable:
    """What queries have in common that differ in the constants they compare with."""
    parts = [part.variable if isinstance(part, Unit) else _shape(part) for part in plan.output]
    return (plan.strategy, plan.sources, _shape(plan.passes), tuple(parts), _shape(plan.module.prolog))


def _shape(part: Any) -> Hashable:
    if isinstance(part, ast.GeneralComparison):
        sides = [type(one) if isinstance(one, LITERALS) else _shape(one) for one in (part.left, part.right)]
        return (type(part), part.op, *sides)
    if isinstance(part, tuple):
        return tuple([_shape(one) for one in part])
    if is_dataclass(part):
        kind: Any = part.__class__
        return (kind, *[_shape(getattr(part, name)) for name in _compared(kind)])
    return part if isinstance(part, Hashable) else repr(part)


@cache
def _compared(kind: Any) -> tuple[str, ...]:
    """The parts of a node that matter."""
    return tuple([one.name for one in fields(kind) if one.compare and one.name not in _WHERE_IT_STANDS])


@dataclass(frozen=True, slots=True)
class Guard:
    """The first condition on the records of a unit: ``key op constant``, where ``key`` is a path from the record."""

    key: ast.Expr
    op: str
    constant: Constant


def guard_of(unit: Unit) -> Guard | None:
    """The first condition on the records of a unit, if an index finds those for which it holds."""
    e = unit.items
    if len(unit.records) != 1:
        return None
    first = e.clauses[0] if isinstance(e, ast.FLWOR) else None
    if first is not None and (
        not isinstance(first, ast.ForClause) or first.position is not None or first.allowing_empty
    ):
        return None
    source = from_record(e if first is None else first.source, unit, unit.records[0])
    if isinstance(source, ast.Path) and isinstance(source.steps[1], ast.AxisStep) and source.steps[1].predicates:
        return _guard(source.steps[1].predicates[0], None)
    if isinstance(e, ast.FLWOR) and isinstance(first, ast.ForClause) and isinstance(source, ast.VarRef):
        second = e.clauses[1] if len(e.clauses) > 1 else None
        return _guard(second.condition, first.var) if isinstance(second, ast.WhereClause) else None
    return None


def _guard(condition: ast.Expr, variable: ast.Name | None) -> Guard | None:
    while isinstance(condition, ast.And):
        condition = condition.operands[0]
    if not isinstance(condition, ast.GeneralComparison) or condition.op not in _MIRRORED:
        return None
    key, literal, op = condition.left, condition.right, condition.op
    if isinstance(key, LITERALS):
        key, literal, op = literal, key, _MIRRORED[op]
    path = _from(key, variable)
    if path is None or not isinstance(literal, LITERALS):
        return None
    if isinstance(literal, ast.StringLiteral):
        return Guard(path, op, literal.value) if op == "=" else None
    return Guard(path, op, float(literal.value))


def _from(key: ast.Expr, variable: ast.Name | None) -> ast.Expr | None:
    """A path from the context, or from a variable, as one from the record."""
    steps = key.steps if isinstance(key, ast.Path) else (key,)
    if variable is not None:
        if not isinstance(steps[0], ast.VarRef) or steps[0].name.expanded != variable.expanded or len(steps) < 2:
            return None
        steps = steps[1:]
    if not all(
        isinstance(step, ast.AxisStep) and step.axis in ("child", "attribute") and not step.predicates for step in steps
    ):
        return None
    start = ast.VarRef(plan_name(RECORD), span=key.span)
    return ast.Path((start, *steps), span=key.span)


class Index:
    """The constants of queries, by number; all compare in one way with values of one type."""

    def __init__(self, op: str, constants: list[Constant]) -> None:
        self.op = op
        self.numeric = not isinstance(constants[0], str)
        self.every: list[Any] = list(range(len(constants)))
        self._equal, self._ordered = ValueIndex(), RangeIndex()
        for number, constant in enumerate(constants):
            if op == "=":
                self._equal.items.append(number)
                self._equal.add_text(str(constant))
            else:
                self._ordered.items.append(number)
                self._ordered.add(constant)

    def find(self, outcome: Outcome) -> list[Any]:
        """The queries for which the condition holds, given the nodes of the key; all of them, where it fails."""
        if isinstance(outcome, XStreamError) or not all(isinstance(item, Node) for item in outcome):
            return self.every
        texts = [item.string for item in outcome if isinstance(item, Node)]
        try:
            values: list[Any] = [*map(parse_double, texts)] if self.numeric else texts
        except XStreamError:
            return self.every
        return self._equal.matches(values) if self.op == "=" else self._ordered.matches(VALUE_OF[self.op], values)


class TwinProgram:
    """E of a unit over batches, for one query of several of a shape."""

    def __init__(self, alike: Alike, where: Number, query: int) -> None:
        self.alike, self.where, self.query = alike, where, query

    def outcomes(self, batch: Batch, home: bool, observer: Observer | None = None) -> list[Outcome]:
        """The outcome of each fragment."""
        assert home
        assert observer is None
        return self.alike.work(self.where).outcomes(batch, [(self.query, k) for k in range(len(batch.rows))])


class Work:
    """A unit of all queries of a shape: which of them a record concerns, and what it is to them.

    ``held``: by fragment, the queries for which it was evaluated.
    """

    def __init__(self, one: Followed, units: list[Unit]) -> None:
        guards = [guard for guard in map(guard_of, units) if guard is not None]
        assert len(guards) == len(units)
        self.one = one
        self.index = Index(guards[0].op, [guard.constant for guard in guards])
        self.key = FrameProgram(one.code, one.engine.evaluation, [RECORD], guards[0].key)
        self.program = SharedProgram(one.code, one.engine.evaluation, units)
        self.held: dict[int, list[int]] = {}

    def outcomes(self, batch: Batch, pairs: list[tuple[int, int]]) -> list[Outcome]:
        """The outcome of each pair of a query and a fragment."""
        if not batch.are_all:
            raise Refused("records are inside of records")
        return self.program.outcomes(batch, pairs)

    def concerned(self, few: list[int], batch: Batch, gone: dict[int, list[int]]) -> list[tuple[int, int]]:
        """Pairs of queries and fragments of a batch that they must evaluate; ``gone``: what concerns them no more."""
        pairs: list[tuple[int, int]] = []
        outcomes = self.key.outcomes([(batch.node(k),) for k in range(len(few))])
        for k, (n, outcome) in enumerate(zip(few, outcomes, strict=True)):
            found = self.index.find(outcome)
            before = self.held.pop(n, None)
            if before is not None:
                for query in sorted(set(before).difference(found)):
                    gone.setdefault(query, []).append(n)
            if found:
                self.held[n] = found
                pairs += [(query, k) for query in found]
        pairs.sort()
        return pairs


class Alike:
    """Queries of one shape, which are followed in columns."""

    def __init__(self) -> None:
        self.queries: list[ContinuousQuery] = []
        self._twins: bool | None = None
        self._work: dict[Number, Work] = {}
        self._reordered = 0

    @property
    def leader(self) -> Columnar | None:
        """The engine of the first: what it reads, all of them do."""
        return self.queries[0].engine if self.queries else None

    def twin(self) -> Columnar | None:
        """The engine of one more of them; None if it must be one by itself."""
        leader = self.leader
        if leader is None:
            return None
        if self._twins is None:
            self._twins = self._have_twins(leader)
        number = len(self.queries)
        return leader.twin({where: TwinProgram(self, where, number) for where in leader.units}) if self._twins else None

    def _have_twins(self, leader: Columnar) -> bool:
        """Whether all conditions are found by an index, and nothing else of the queries has constants."""
        if leader.plan != self.queries[0].plan or leader.static.default_collation != CODEPOINT:
            return False
        if not all(isinstance(part, Unit) for part in leader.plan.output):
            return False
        for where, one in leader.units.items():
            if one.inside or one.outer is not None or leader.reads[where] or one.timely or not one.home or one.shells:
                return False
            if not isinstance(one.unit.reduction, Concat | Reduce) or from_record_of(one.unit) is None:
                return False
            if guard_of(one.unit) is None:
                return False
        return True

    def work(self, where: Number) -> Work:
        """A unit of all of them."""
        made = self._work.get(where)
        if made is None:
            leader = self.leader
            assert leader is not None
            variable = leader.units[where].unit.variable
            units = [unit for query in self.queries for unit in _units(query.plan) if unit.variable == variable]
            made = self._work[where] = Work(leader.units[where], units)
        return made

    def look_at(self, found: Mapping[str, Dirty], now: Instant) -> None:
        """Evaluate what is different for those whom it concerns."""
        leader = self.leader
        if leader is None or not self._twins:
            for number in range(len(self.queries)):
                self._engine(number).follow(found, now)
            return
        for where in leader.turns:
            some, there = leader.marked(where, found)
            if len(some):
                self._look_at(where, self.work(where), some, there)
        reordered = sum([table.reordered for table in leader.tables.values()])
        if reordered != self._reordered:  # what each of them shows may stand in another order
            self._reordered = reordered
            for number in range(len(self.queries)):
                self._engine(number).moved = True

    def _look_at(self, where: Number, work: Work, some: Longs, there: Any) -> None:
        one = work.one
        gone: dict[int, list[int]] = {}
        looked: dict[int, None] = {}
        for n in some[~there].tolist():
            for query in work.held.pop(n, ()):
                gone.setdefault(query, []).append(n)
        for few, tag, batch in one.batches(some[there]):
            if tag not in one.home:
                if any(one.program.outcomes(batch, False)):
                    raise Refused("records are inline")
                continue
            pairs = work.concerned(few.tolist(), batch, gone)
            outcomes = iter(work.outcomes(batch, pairs))
            for query, mine in groupby(pairs, key=itemgetter(0)):
                rows = [k for _, k in mine]
                self._engine(query).units[where].take_rows(few[rows], tag, list(islice(outcomes, len(rows))))
                looked[query] = None
        for query, nodes in gone.items():
            self._engine(query).units[where].let_go(nodes)
        for query in dict.fromkeys([*looked, *gone]):
            self._engine(query).looked_at(where)

    def _engine(self, query: int) -> Columnar:
        engine = self.queries[query].engine
        assert engine is not None
        return engine


def _units(plan: Plan) -> list[Unit]:
    return [unit for step in plan.passes for unit in step.units]

"""The plan of a query whose joins, groups and sorts are done by Spark, and which of its units are what there.

It is the plan of the query over documents that change: a join is a unit that is looked up in (Group), ``order by`` a
unit of rows with keys (Sort), ``group by`` one of rows with keys and columns (Gather). What follows changes there is an
exchange of rows by key here. A unit is

* *joined*: its rows go to who asks for their keys. All who look something up in it say beforehand what they will ask
  for (:mod:`~xstreamcast.spark.rest.relational.asks`), and both sides have keys of one kind;
* *broadcast*: its value, or all its rows, goes to every task that needs it, as do the rows of a joined one that turn
  out to be few;
* or an answer's part: its items go to the answer in document order, sorted, or by groups.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.collation import CODEPOINTS
from xstreamcast.plan.algebra import (
    Concat,
    Gather,
    Group,
    Pass,
    Plan,
    Reduce,
    Sort,
    Strategy,
    Unit,
    VarName,
    Versions,
)
from xstreamcast.plan.decompose.plan import plan, targets
from xstreamcast.plan.passes.variables import free
from xstreamcast.plan.projection.project import merge, project
from xstreamcast.run.continuous.adjust.collect import specs_of
from xstreamcast.run.runtime.order import OrderSpec
from xstreamcast.run.single_pass import PlanCode
from xstreamcast.run.units import UnitCode
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.path import Path
from xstreamcast.spark.rest.relational.asks import Asks, Unaskable, asks_of
from xstreamcast.spark.rest.relational.groups import BodyCode
from xstreamcast.spark.rest.relational.keys import Kind, kind_of, kinds_in
from xstreamcast.spark.rest.relational.narrowing import narrowed


def relational(module: ast.Module) -> Relational | None:
    """The plan of a module for Spark's operators; None if it has none of that kind."""
    made = plan(module, changing=True)
    if made.strategy is not Strategy.STREAM:
        return None
    passes = tuple(replace(step, units=tuple(map(_at_rest, step.units))) for step in made.passes)
    known = {unit.variable: unit for step in passes for unit in step.units}
    output = tuple(known[part.variable] if isinstance(part, Unit) else part for part in made.output)
    unsupported = any(
        isinstance(unit.reduction, Versions) or (isinstance(unit.reduction, Group) and unit.reduction.interval)
        for unit in known.values()
    )
    return None if unsupported else Relational(replace(made, passes=passes, output=output))


def _at_rest(unit: Unit) -> Unit:
    """A unit without the frame that is there for what changes inside."""
    return replace(unit, nest=None) if unit.nest is not None and unit.nest.frame else unit


class Part:
    """A unit in the process of a task: its programs, and those of the body of its groups."""

    def __init__(self, code: UnitCode, gather: Gather | None, asks: Asks | None, body_asks: Asks | None) -> None:
        self.code, self.gather, self.asks, self.body_asks = code, gather, asks, body_asks

    @cached_property
    def asking(self) -> UnitCode:
        """The program of what it asks for."""
        assert self.asks is not None
        return UnitCode(self.code.parts, replace(self.code.unit, items=self.asks.expr, reduction=Concat(), nest=None))

    @cached_property
    def body(self) -> BodyCode:
        """The body of a group."""
        assert self.gather is not None
        return BodyCode(self.code.parts, self.gather, self.gather.body)

    @cached_property
    def body_asking(self) -> BodyCode:
        """What the body of a group asks for."""
        assert self.gather is not None
        assert self.body_asks is not None
        return BodyCode(self.code.parts, self.gather, self.body_asks.expr)


class Relational:
    """A plan, and what Spark does of it."""

    def __init__(self, plan: Plan, known: frozenset[VarName] = frozenset()) -> None:
        self.plan = plan
        self.known = known
        """Units that could be joined, and are not: their rows are known to be few."""
        self.units = {unit.variable: unit for step in plan.passes for unit in step.units}
        self.numbers = {variable: number for number, variable in enumerate(self.units)}
        self.joined: frozenset[VarName] = frozenset()
        self.joins: dict[VarName, Asks] = {}
        """What the items of a unit ask for."""
        self.body_joins: dict[VarName, Asks] = {}
        """What the body of its groups does."""
        self._parts: dict[VarName, Part] = {}
        self._scans: dict[tuple[VarName, ...], Pass] = {}
        self._decide()
        self._whole()

    def _whole(self) -> None:
        """Elements that a unit loops over are not cut: what it looks up comes to all of one, or to none."""
        whole: dict[VarName, Unit] = {}
        for name, unit in self.units.items():
            if unit.nest is not None:
                unit = replace(unit, nest=None, records=(unit.nest.path,))
            whole[name] = unit
        self.units = whole
        passes = [
            replace(step, units=tuple([whole[unit.variable] for unit in step.units])) for step in self.plan.passes
        ]
        output = [whole[part.variable] if isinstance(part, Unit) else part for part in self.plan.output]
        self.plan = replace(self.plan, passes=tuple(passes), output=tuple(output))

    def knowing(self, known: frozenset[VarName]) -> Relational:
        """The same plan where the rows of some units are known to be few."""
        return Relational(self.plan, known) if known != self.known else self

    @cached_property
    def code(self) -> PlanCode:
        """Its programs."""
        return PlanCode(self.plan)

    @property
    def answer(self) -> Unit | None:
        """The unit whose items are the answer, if that is all there is to it."""
        (first, *more) = self.plan.output
        if more or not isinstance(first, Unit) or not isinstance(first.reduction, Concat | Sort | Gather):
            return None
        read = any(first.variable in unit.needs for unit in self.units.values())
        return None if read else first

    @property
    def spreads(self) -> bool:
        """Whether Spark has anything to do but scan: else there is no point in this plan."""
        collected = any(isinstance(unit.reduction, Sort | Gather | Group) for unit in self.units.values())
        return collected or any(unit.needs for unit in self.units.values())

    def specs(self, unit: Unit) -> tuple[OrderSpec, ...]:
        """How a unit's rows, or groups, are sorted."""
        assert self.plan.module.static is not None
        return specs_of(_sort(unit).keys, self.plan.module.static)

    def sort_kinds(self, unit: Unit) -> list[Kind] | None:
        """What the keys are that a unit is sorted by, if that is known of all and they order by code points."""
        rows = unit.reduction.body if isinstance(unit.reduction, Gather) else unit.items
        known = _kinds(rows, _group_kinds(unit))
        found = [kind_of(value, known) for value in _row(rows)[: len(_sort(unit).keys)]]
        kinds = [kind[0] for kind in found if kind is not None]
        specs = self.specs(unit)
        return kinds if len(kinds) == len(specs) and all(spec.collation is CODEPOINTS for spec in specs) else None

    def known_before(self, variable: VarName) -> list[VarName]:
        """The units whose values a unit is given."""
        return [need for need in self.numbers if need in self.units[variable].needs and need not in self.joined]

    def scan(self, *variables: VarName) -> Pass:
        """One scan for one unit, or for several of one pass."""
        made = self._scans.get(variables)
        if made is None:
            made = self._scans[variables] = self._scan(variables)
        return made

    def _scan(self, variables: tuple[VarName, ...]) -> Pass:
        units = tuple(self.units[variable] for variable in variables)
        step = next(step for step in self.plan.passes if units[0] in step.units)
        found: list[tuple[Target, ...]] = []
        for unit in units:
            wanted = targets(self.plan.module, [unit])
            if unit.variable in self.joined or unit.variable in self.known:
                wanted = narrowed(wanted, self._seen.get(step.source.variable, ()))
            found.append(wanted)
        return Pass(step.source, units, found[0] if len(found) == 1 else merge(*found))

    @cached_property
    def _seen(self) -> dict[VarName, tuple[Target, ...]]:
        """What the query can see of its documents."""
        module = self.plan.module
        assert module.body is not None
        return project(module.body, {source.variable: Path() for source in self.plan.sources}, module=module)

    def part(self, variable: VarName) -> Part:
        """The programs of a unit."""
        made = self._parts.get(variable)
        if made is None:
            made = self._parts[variable] = self._part(variable)
        return made

    def _part(self, variable: VarName) -> Part:
        unit = self.units[variable]
        parts = self.code.units[variable].parts
        reduction = unit.reduction
        # A group's rows are made with its keys; what is sorted or gathered are its items as they are.
        plain = unit if not isinstance(reduction, Sort | Gather) else replace(unit, reduction=Concat())
        gather = reduction if isinstance(reduction, Gather) else None
        return Part(UnitCode(parts, plain), gather, self.joins.get(variable), self.body_joins.get(variable))

    # ---------------------------------------------------------------------------------------------- who is joined

    def _decide(self) -> None:
        grouped = {name for name, unit in self.units.items() if isinstance(unit.reduction, Group)}
        candidates = grouped - self.known
        for part in self.plan.output:
            if not isinstance(part, Unit):
                candidates -= free(part)
        while True:
            lost: set[VarName] = set()
            self.joins, self.body_joins = {}, {}
            for name, unit in self.units.items():
                for e, joins in self._readings(unit):
                    asked = tuple(each for each in self.numbers if each in candidates and each in free(e))
                    if not asked:
                        continue
                    try:
                        found = asks_of(e, asked)
                    except Unaskable:
                        lost.update(asked)
                        continue
                    lost.update(self._mistyped(unit, e, asked))
                    if found is not None:
                        joins[name] = found
                beside = {each for e in _beside(unit) for each in free(e)}
                lost.update(candidates & beside)
            if not lost & candidates:
                break
            candidates -= lost
        self.joined = frozenset(candidates)

    def _readings(self, unit: Unit) -> list[tuple[ast.Expr, dict[VarName, Asks]]]:
        found = [(unit.items, self.joins)]
        if isinstance(unit.reduction, Gather):
            found.append((unit.reduction.body, self.body_joins))
        return found

    def _mistyped(self, unit: Unit, e: ast.Expr, asked: tuple[VarName, ...]) -> set[VarName]:
        """The units whose keys, or what they are compared with, may be of several kinds."""
        known = _kinds(e, _group_kinds(unit))
        lost: set[VarName] = set()
        for call in descendants(e):
            if not isinstance(call, ast.DynamicCall) or not isinstance(call.function, ast.VarRef):
                continue
            name = call.function.name.expanded
            if name in asked:
                group = self.units[name]
                assert isinstance(group.reduction, Group)
                own = _kinds(group.items, {})
                for key, argument in zip(group.reduction.keys, call.args, strict=True):
                    held, given = kind_of(key, own), kind_of(argument, known)
                    if held is None or held != given or held[0] is Kind.MOMENT:
                        lost.add(name)
        return lost


def _kinds(e: ast.Expr, known: dict[VarName, Kind | None]) -> dict[VarName, Kind | None]:
    """What the variables are that are bound anywhere in an expression; their names are distinct."""
    clauses = tuple(part for part in descendants(e) if isinstance(part, ast.ForClause | ast.LetClause))
    return kinds_in(clauses, known)


def _row(e: ast.Expr) -> tuple[ast.Expr, ...]:
    """The members of the array that a loop returns."""
    while isinstance(e, ast.FLWOR):
        e = e.result
    return e.members if isinstance(e, ast.SquareArray) else ()


def _beside(unit: Unit) -> list[ast.Expr]:
    """What a unit's reduction reads besides its items, where nothing is looked up in rows that travel."""
    match unit.reduction:
        case Group():
            return [*unit.reduction.keys, *_beside(replace(unit, reduction=unit.reduction.inner))]
        case Reduce() if unit.reduction.argument is not None:
            return [unit.reduction.argument]
        case _:
            zero, step = getattr(unit.reduction, "zero", None), getattr(unit.reduction, "step", None)
            return [each for each in (zero, step) if each is not None]


def _group_kinds(unit: Unit) -> dict[VarName, Kind | None]:
    """What the variables of a unit's items are, and those of its groups."""
    known = _kinds(unit.items, {})
    if isinstance(unit.reduction, Gather):
        keys, columns = unit.reduction.keys, unit.reduction.columns
        row = _row(unit.items)
        for variable, value in zip([key.var.expanded for key in keys], row, strict=False):
            kind = kind_of(value, known)
            known[variable] = None if kind is None or kind[0] is Kind.MOMENT else kind[0]
        for column in columns:
            counted = isinstance(column.reduction, Reduce) and column.reduction.function in ("count", "sum", "avg")
            known[column.variable] = Kind.NUMBER if counted else None
    return known


def _sort(unit: Unit) -> Sort:
    sort = unit.reduction.order if isinstance(unit.reduction, Gather) else unit.reduction
    assert isinstance(sort, Sort)
    return sort

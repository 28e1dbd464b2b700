"""The answer of a relational plan: what must be known before is computed, and the rest is a DataFrame."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.plan.algebra import Concat, Fold, Gather, Group, Reduce, Slice, Sort, Source, Unit, VarName
from xstreamcast.spark.failures import own_errors
from xstreamcast.spark.rest.frames import PACKED, described, one_row, over_tasks, put_together
from xstreamcast.spark.rest.partials import combined, merged
from xstreamcast.spark.rest.program import Program, Scan
from xstreamcast.spark.rest.relational.operators import Operators, Out
from xstreamcast.spark.rest.relational.plan import Relational
from xstreamcast.spark.rest.relational.sending import Received
from xstreamcast.spark.rest.relational.work import Rows, bind
from xstreamcast.spark.transport import dumps, loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.spark.rest.ranges import Range

Value = list[Item] | XStreamError | Rows
_SHARES: Final = 16
"""Rows may lie in few of many ranges: a task may send so many times its share of what is little enough."""
_SIZE: Final = re.compile(r"(-?\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)


def broadcast_bytes(spark: SparkSession) -> int:
    """How many bytes of rows Spark would broadcast; not above 0: none."""
    told = _SIZE.fullmatch(str(spark.conf.get("spark.sql.autoBroadcastJoinThreshold")).strip())
    return 0 if told is None else int(told[1]) << (10 * " kmgt".index(told[2].lower() or " "))


class Relations:
    """A relational plan at work."""

    def __init__(
        self,
        spark: SparkSession,
        program: Program,
        tasks: Callable[[Source], list[list[Range]]],
        uri: Callable[[Source], str | None],
    ) -> None:
        self.spark, self.program = spark, program
        self.tasks, self.uri = tasks, uri
        self.values: dict[VarName, Value] = {}

    @property
    def plan(self) -> Relational:
        return self.program.relational_plan

    @property
    def operators(self) -> Operators:
        return Operators(self.spark, self.program, self.tasks, self.uri, self._given)

    def _given(self, variable: VarName) -> bytes:
        return dumps({name: self.values[name] for name in self.plan.known_before(variable)})

    def frame(self, out: Out, schema: str) -> DataFrame:
        """The answer, in the form of ``out``."""
        answer = self.plan.answer
        for number, step in enumerate(self.plan.plan.passes):
            self._reduce_pass(number)
            self._look([unit for unit in step.units if not unit.needs])
        for variable, unit in self.plan.units.items():
            if unit == answer or variable in self.values:
                continue
            if isinstance(unit.reduction, Group):
                self._look([unit] if unit.needs else [])
            else:
                with described(self.spark, variable[1]):
                    self.values[variable] = self._value(unit)
        if answer is not None:
            return self.operators.answer(self.plan.units[answer.variable], out, schema)
        items = list(self._rest())
        return over_tasks(self.spark, [dumps(items)], lambda _, packed: out(loads(packed), 0), schema)

    def _rest(self) -> Iterator[Item]:
        """The answer where more is to be done with the values of units than to put them out."""
        evaluation = self.program.evaluation()
        for variable, value in self.values.items():
            bind(self.plan, evaluation, variable, value)
        for part, _ in self.plan.code.output:
            if not isinstance(part, Unit):
                yield from evaluation.run(part)
                continue
            value = self.values[part.variable]
            if isinstance(value, XStreamError):
                raise value
            assert isinstance(value, list)
            yield from value

    def _value(self, unit: Unit) -> Value:
        """What a unit comes to, or its error, which is for who asks."""
        try:
            with own_errors():
                if isinstance(unit.reduction, Sort | Gather):
                    return self._placed(unit)
                if isinstance(unit.reduction, Concat):
                    frame = self.operators.answer(unit, _packed, PACKED)
                    return [item for row in frame.collect() for item in loads(row.packed)]
                return self._reduced(unit)
        except XStreamError as failure:
            return failure

    def _reduce_pass(self, number: int) -> None:
        """The aggregates of a pass that need nothing else: one scan for all of them."""
        step = self.plan.plan.passes[number]
        units = [unit for unit in step.units if isinstance(unit.reduction, Reduce | Slice | Fold) and not unit.needs]
        if not units:
            return
        names = tuple([unit.variable for unit in units])
        scan = Scan(self.program, number, self.operators.uri(step.source), dumps({}), False, names)
        tasks = self.operators.tasks(step.source)
        with described(self.spark, ", ".join(local for _, local in names)), own_errors():
            parts = over_tasks(self.spark, tasks, lambda k, own: one_row(k, scan.sent(own)), PACKED)
            (row,) = put_together(parts, len(tasks), scan.combined).collect()
        evaluation = self.program.evaluation()
        for unit, partial in zip(units, loads(row.packed), strict=True):
            made = merged(evaluation, self.plan.code.units[unit.variable], [partial])
            self.values[unit.variable] = made.failure if made.failure is not None else made.value()

    def _look(self, units: Iterable[Unit]) -> None:
        """The rows of some units of a pass that are looked up in, where they go to all tasks; one scan for all of them.

        That is what must be, where they cannot meet by key, and what is done where they are few: as with Spark's own
        joins, no more than ``spark.sql.autoBroadcastJoinThreshold``.
        """
        most = broadcast_bytes(self.spark)
        groups = [unit.variable for unit in units if isinstance(unit.reduction, Group)]
        for limit, some in (
            (None, [each for each in groups if each not in self.plan.joined]),
            (most, [each for each in groups if each in self.plan.joined and most > 0]),
        ):
            some = [each for each in some if each not in self.values and self._ready(each)]
            if some:
                with described(self.spark, ", ".join(local for _, local in some)):
                    found = self._rows(some, limit)
                self.values |= found
                self.program = replace(self.program, known=self.program.known | (found.keys() & self.plan.joined))

    def _ready(self, variable: VarName) -> bool:
        """Whether all is known, or met by key, that a unit needs."""
        return all(need in self.values for need in self.plan.known_before(variable))

    def _rows(self, variables: list[VarName], most: int | None) -> dict[VarName, Rows | XStreamError]:
        """The rows of units, or why there are none; of those that have more than so many bytes, nothing."""
        count = self.operators.count(variables[0])
        share = None if most is None else min(most, -(-_SHARES * most // count))
        try:
            with own_errors():
                came = self.operators.lots(variables, share).collect()
        except XStreamError as failure:
            return dict.fromkeys(variables, failure)
        made: dict[VarName, Rows | XStreamError] = {}
        for variable in variables:
            own = [row for row in came if row.unit == self.plan.numbers[variable]]
            size = sum(len(row.packed) if row.packed is not None else inf for row in own)
            if most is None or size <= most:
                made[variable] = Rows([(row.part, row.first, bytes(row.packed)) for row in own])
        return made

    def _placed(self, unit: Unit) -> list[Item]:
        received = Received()
        items = [
            item
            for row in self.operators.placed(unit, told=False).select("row").collect()
            for item in received.row(row.row)[0]
        ]
        for tree in dict.fromkeys(item[0] for item in items if hasattr(item, "tree")):
            tree.come_last()  # nodes of different rows compare as they stand in the answer
        chosen = unit.reduction.chosen if isinstance(unit.reduction, Sort) else None
        return items if chosen is None else list(islice(items, max(chosen.first, 1) - 1, chosen.last))

    def _reduced(self, unit: Unit) -> list[Item]:
        program, variable = self.program, unit.variable
        given = self._given(variable)

        def combine(several: list[bytes]) -> bytes:
            evaluation, code = _evaluation(program, given), program.code.units[variable]
            return dumps([combined(evaluation, code, [loads(each)[0] for each in several])])

        partials = self.operators.partials(variable)
        (row,) = put_together(partials, self.operators.count(variable), combine).collect()
        evaluation = _evaluation(program, given)
        return merged(evaluation, program.code.units[variable], loads(row.packed)).value()


def _evaluation(program: Program, values: bytes) -> Any:
    made = program.evaluation()
    for variable, value in loads(values).items():
        bind(program.relational_plan, made, variable, value)
    return made


def _packed(items: Iterable[Item], part: int) -> Iterator[Any]:
    yield from one_row(part, dumps(list(items)))

"""What tasks do for one unit of a relational plan: scan and ask, evaluate with what has come, and send on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import Collation, collation
from xstreamcast.model.function import Array
from xstreamcast.operators.state import State
from xstreamcast.plan.algebra import Gather, Group, VarName
from xstreamcast.run.asking import cuts_of
from xstreamcast.run.reductions import state_of
from xstreamcast.run.units import Cut, Evaluation, UnitRun
from xstreamcast.spark.rest.program import Program, asked_for, reported
from xstreamcast.spark.rest.projection import Projected, joined, packed
from xstreamcast.spark.rest.ranges import Range, range_batches
from xstreamcast.spark.rest.relational.asks import Asks
from xstreamcast.spark.rest.relational.gathering import Gathering, forms_of
from xstreamcast.spark.rest.relational.groups import Body, Groups, met
from xstreamcast.spark.rest.relational.keys import asked_keys, failure_key
from xstreamcast.spark.rest.relational.lookups import Asking, Found, Lots
from xstreamcast.spark.rest.relational.placing import Placed
from xstreamcast.spark.rest.relational.plan import Relational
from xstreamcast.spark.transport import dumps, loads


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a unit, for who looks something up in it: lots, each with its part and the number of its first."""

    lots: list[tuple[int, int, bytes]]


@dataclass(slots=True)
class Block:
    """Some records, or groups, that are evaluated together; what they have asked for, and what has come of it."""

    outer: bytes
    asked: set[str] = field(default_factory=set)
    rows: dict[tuple[int, int, int], bytes] = field(default_factory=dict)
    """By unit and place."""
    failures: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """A unit of a program. ``values``: of the units that it is given."""

    program: Program
    variable: VarName
    uri: str | None
    values: bytes

    @property
    def plan(self) -> Relational:
        return self.program.relational_plan

    @property
    def gather(self) -> Gather:
        found = self.plan.units[self.variable].reduction
        assert isinstance(found, Gather)
        return found

    # ---------------------------------------------------------------------------------------------- what is known

    def evaluation(self) -> Evaluation:
        """What its programs share, with what is known before."""
        made = self.program.evaluation()
        for variable, value in loads(self.values).items():
            bind(self.plan, made, variable, value)
        return made

    def look(self, evaluation: Evaluation, asks: Asks, block: Block, kind: type[Found]) -> None:
        """What a block has been given, to be looked up in."""
        found: dict[int, Found] = {}
        for variable in asks.units:
            number = self.plan.numbers[variable]
            made = found[number] = found_in(self.plan, evaluation, variable, block.asked, kind)
            if number in block.failures:
                made.fail(block.failures[number])
        for (unit, *place), row in block.rows.items():
            if unit in found:
                found[unit].add((place[0], place[1]), row)
        for variable in asks.units:
            _bind_function(evaluation, variable, found[self.plan.numbers[variable]])

    def new_keys(self, asks: Asks, block: Block, asked: Iterable[Item]) -> list[str]:
        """The keys that a block asks for and has not asked for before."""
        keys: dict[str, None] = {}
        units = [self.plan.numbers[variable] for variable in asks.units]
        seen: set[int] = set()
        for each in asked:
            assert isinstance(each, Array)
            (number,), *columns = each.members()
            unit = units[number]
            if unit not in seen:
                seen.add(unit)
                keys[failure_key(unit)] = None
            if all(columns):
                for key in asked_keys(unit, columns):
                    keys[key] = None
        new = [key for key in keys if key not in block.asked]
        block.asked.update(new)
        return new

    # ---------------------------------------------------------------------------------------------- items

    def batches(self, parts: Sequence[Range], *others: VarName) -> Iterator[Any]:
        """The batch documents of some ranges, with records whole; ``others``: units they are for as well."""
        step = self.plan.scan(self.variable, *others)
        asked = asked_for(step, self.uri, pieces=False)
        for part in parts:
            yield from reported(range_batches(part, asked), step.source.uri)

    def by_batch(self, evaluation: Evaluation, parts: Sequence[Range]) -> Iterator[Iterator[Item]]:
        """The unit's items, batch by batch, where nothing is joined."""
        work = UnitRun(evaluation, self.plan.part(self.variable).code)
        for batch in self.batches(parts):
            yield work.items(batch.tree.root, cuts_of(batch))

    def lots(self, parts: Sequence[Range], number: int, *others: VarName) -> Iterator[tuple[int, int, bytes]]:
        """All rows of the unit and of others of its pass, for everybody: the unit's number, and a lot."""
        evaluation = self.evaluation()
        units = self.variable, *others
        taking = [
            (
                self.plan.numbers[unit],
                UnitRun(evaluation, self.plan.part(unit).code),
                self.new_lots(evaluation, unit, number),
            )
            for unit in units
        ]
        for batch in self.batches(parts, *others):
            for unit, work, lots in taking:
                for lot in lots.take(work.items(batch.tree.root, cuts_of(batch))):
                    yield unit, *lot
        for unit, _, lots in taking:
            for lot in lots.out():
                yield unit, *lot

    def new_lots(self, evaluation: Evaluation, unit: VarName, part: int) -> Lots:
        group = self.plan.units[unit].reduction
        assert isinstance(group, Group)
        return Lots(group, fresh_of(self.plan, evaluation, unit), part)

    def blocks(self, parts: Sequence[Range]) -> Iterator[tuple[Block, list[str]]]:
        """Blocks of the records of some ranges, and the keys each asks for."""
        evaluation = self.evaluation()
        part = self.plan.part(self.variable)
        assert part.asks is not None
        asking = UnitRun(evaluation, part.asking)
        for batch in self.batches(parts):
            block = Block(dumps(replace(packed(batch), began=[], open=[])))
            self.look(evaluation, part.asks, block, Asking)
            yield block, self.new_keys(part.asks, block, asking.items(batch.tree.root, ()))

    def ask_again(self, evaluation: Evaluation, block: Block) -> list[str]:
        """What a block asks for now that its first answers are there."""
        part = self.plan.part(self.variable)
        assert part.asks is not None
        self.look(evaluation, part.asks, block, Asking)
        asking = UnitRun(evaluation, part.asking)
        return self.new_keys(part.asks, block, asking.items(self._tree(block), ()))

    def items(self, evaluation: Evaluation, block: Block) -> Iterator[Item]:
        """The items of a block for which all has come."""
        part = self.plan.part(self.variable)
        assert part.asks is not None
        self.look(evaluation, part.asks, block, Found)
        cuts: tuple[Cut, ...] = ()
        return UnitRun(evaluation, part.code).items(self._tree(block), cuts)

    def _tree(self, block: Block) -> Any:
        outer: Projected = loads(block.outer)
        return joined([outer], self.uri).root

    # ---------------------------------------------------------------------------------------------- groups

    def fresh(self, evaluation: Evaluation) -> Callable[[int], State]:
        """What makes the state of a column of groups."""
        context = evaluation.context(self.plan.part(self.variable).body.function)
        kept = [state_of(column.reduction, context, [], None) for column in self.gather.columns]
        return lambda number: kept[number].copied()

    def collations(self) -> list[Collation]:
        static = self.plan.plan.module.static
        assert static is not None
        return [collation(key.collation or static.default_collation, static.base_uri) for key in self.gather.keys]

    def gathering(self, evaluation: Evaluation) -> Gathering:
        return Gathering(self.gather, self.collations(), self.fresh(evaluation))

    def body(self, evaluation: Evaluation) -> Body:
        context = evaluation.context(self.plan.part(self.variable).body.function)
        return Body(evaluation, self.gather, self.fresh(evaluation), context)

    def met(self, evaluation: Evaluation, came: Iterable[tuple[int, int, bytes]]) -> Iterator[Groups]:
        """The groups of lots that are sorted by their numbers, by part and turn."""
        return met(came, self.collations(), forms_of(self.gather, self.fresh(evaluation)))

    def groups_ask(self, evaluation: Evaluation, block: Block) -> list[str]:
        """What a block of groups asks for, with what has come so far."""
        part = self.plan.part(self.variable)
        assert part.body_asks is not None
        self.look(evaluation, part.body_asks, block, Asking)
        asked = chain.from_iterable(self.body(evaluation).items(part.body_asking, loads(block.outer)))
        return self.new_keys(part.body_asks, block, asked)

    def group_items(self, evaluation: Evaluation, several: Iterable[Groups]) -> Iterator[Placed]:
        """What the bodies of groups give."""
        part, body = self.plan.part(self.variable), self.body(evaluation)
        for groups in several:
            yield groups.places, list(body.items(part.body, groups))

    def block_items(self, evaluation: Evaluation, block: Block) -> Iterator[Placed]:
        """The same of a block of groups for which all has come."""
        part = self.plan.part(self.variable)
        assert part.body_asks is not None
        self.look(evaluation, part.body_asks, block, Found)
        return self.group_items(evaluation, (loads(block.outer),))


def bind(plan: Relational, evaluation: Evaluation, variable: VarName, value: list[Item] | XStreamError | Rows) -> None:
    """The value of a unit that is known, for who reads it."""
    from xstreamcast.run.units import value_type

    if isinstance(value, XStreamError):
        evaluation.fail(variable, value)
    elif isinstance(value, Rows):
        found = found_in(plan, evaluation, variable, None, Found)
        for lot in value.lots:
            found.take(*lot)
        _bind_function(evaluation, variable, found)
    else:
        evaluation.given[variable] = value
        evaluation.bind(variable, value if value_type(plan.units[variable]) is None else value[0])


def found_in(
    plan: Relational, evaluation: Evaluation, variable: VarName, asked: set[str] | None, kind: type[Found]
) -> Found:
    """The rows of a unit, none of which has come yet."""
    group = plan.units[variable].reduction
    assert isinstance(group, Group)
    return kind(plan.numbers[variable], group, fresh_of(plan, evaluation, variable), asked)


def fresh_of(plan: Relational, evaluation: Evaluation, variable: VarName) -> Callable[[], State]:
    """What makes the state of a group that is looked up."""
    from xstreamcast.run.grouping import Grouped

    state = evaluation.state(plan.part(variable).code)
    assert isinstance(state, Grouped)
    return state.fresh


def _bind_function(evaluation: Evaluation, variable: VarName, found: Found) -> None:
    function = found.function()
    evaluation.given[variable] = [function]
    evaluation.bind(variable, function)

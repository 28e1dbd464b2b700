"""The units of a relational plan as DataFrames: scan, exchange, join, sort.

    join     blocks of records ask for keys ⟕ rows by key → exchange by part, sort by block → evaluate
    group    groups of each range → exchange by key, sort → merge, evaluate → exchange by part, sort by first tuple
    sort     rows with keys as bytes → range exchange and sort by the keys, then by place

Places are (part, number): the number of the range in the document, and that of the row, or block, in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.atomic import Item
from xstreamcast.plan.algebra import Concat, Gather, Group, Slice, Sort, Source, Unit, VarName
from xstreamcast.run.runtime.order import sort_rows
from xstreamcast.run.units import Evaluation
from xstreamcast.spark.rest.frames import PACKED, Writer, in_order, one_row, over_tasks
from xstreamcast.spark.rest.partials import Partial, RangeUnit
from xstreamcast.spark.rest.program import Program
from xstreamcast.spark.rest.relational.asks import Asks
from xstreamcast.spark.rest.relational.keys import Kind, failure_key
from xstreamcast.spark.rest.relational.lookups import sent
from xstreamcast.spark.rest.relational.placing import Place, Placed, Placing, Sorting, keyed_columns, placed_columns
from xstreamcast.spark.rest.relational.plan import Relational
from xstreamcast.spark.rest.relational.sending import Received
from xstreamcast.spark.rest.relational.work import Block, Work, fresh_of
from xstreamcast.spark.transport import ITEM_ROWS, dumps, loads
from xstreamcast.spark.worker import keep_loaded, seldom_collecting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.spark.rest.ranges import Range

_ASKS: Final = "part int, block long, key string, packed binary"
"""A block has a row with what it is, and one for each key it asks for."""
_ROWS: Final = "key string, unit int, of int, place long, row binary"
_LOTS: Final = "unit int, part int, first long, packed binary"
"""A lot that is null: there are too many."""
_GROUPS: Final = "key int, part int, turn int, packed binary"
_TOLD: Final = "kind string, value string"

Batches = Iterator[Iterator[Item]]
Consume = Callable[[int, Work, Evaluation, Batches], Iterator[Any]]
Out = Callable[[Iterable[Item], int], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Operators:
    """Makes the DataFrames of a plan's units. ``values``: of the units that are known, as they travel."""

    spark: SparkSession
    program: Program
    tasks: Callable[[Source], list[list[Range]]]
    uri: Callable[[Source], str | None]
    values: Callable[[VarName], bytes]

    @property
    def plan(self) -> Relational:
        return self.program.relational_plan

    def work(self, variable: VarName) -> Work:
        source = self.plan.scan(variable).source
        return Work(self.program, variable, self.uri(source), self.values(variable))

    def count(self, variable: VarName) -> int:
        """How many ranges a unit's document has."""
        return len(self.tasks(self.plan.scan(variable).source))

    # ---------------------------------------------------------------------------------------------- items

    def over_items(self, variable: VarName, consume: Consume, schema: str) -> DataFrame:
        """What is made of a unit's items, range by range; joined with what they look up."""
        work = self.work(variable)
        tasks = self.tasks(self.plan.scan(variable).source)
        join = self.plan.joins.get(variable)
        if join is None:

            def scanned(number: int, parts: Any) -> Iterator[Any]:
                evaluation = work.evaluation()
                with seldom_collecting():
                    yield from consume(number, work, evaluation, work.by_batch(evaluation, parts))

            return over_tasks(self.spark, tasks, scanned, schema)

        def asking(number: int, parts: Any) -> Iterator[Any]:
            out = Writer(_ASKS)
            with seldom_collecting():
                for block, (made, keys) in enumerate(work.blocks(parts)):
                    yield from _asks(out, number, block, made, keys)
            yield from out.out()

        def again(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation, out = work.evaluation(), Writer(_ASKS)
            for (part, number), block in _blocks(batches):
                yield from _asks(out, part, number, block, work.ask_again(evaluation, block))
            yield from out.out()

        def evaluated(batches: Iterable[Any]) -> Iterator[Any]:
            for part, blocks in groupby(_blocks(batches), key=lambda each: each[0][0]):
                evaluation = work.evaluation()
                made = (work.items(evaluation, block) for _, block in blocks)
                yield from consume(part, work, evaluation, made)

        frame = over_tasks(self.spark, tasks, asking, _ASKS)
        return _mapped(self._joined(frame, join, len(tasks), again), evaluated, schema)

    def _joined(self, frame: DataFrame, join: Asks, count: int, again: Callable[[Iterable[Any]], Any]) -> DataFrame:
        """Blocks with the rows they have asked for, as often as answers make them ask for more."""
        for turn in range(1, join.depth + 1):
            if turn > 1:
                frame = _mapped(frame, again, _ASKS)
            rows = [self.rows(variable) for variable in join.asked_in(turn)]
            for more in rows[1:]:
                rows[0] = rows[0].unionAll(more)
            if rows:
                frame = frame.join(rows[0], "key", "left").where("packed IS NOT NULL OR row IS NOT NULL")
                frame = in_order(frame, count, "block")
        return frame

    def rows(self, variable: VarName) -> DataFrame:
        """The rows of a unit that is looked up in, by key."""
        number = self.plan.numbers[variable]
        group = self.plan.units[variable].reduction
        assert isinstance(group, Group)

        def consume(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
            out = Writer(_ROWS)
            fresh = fresh_of(work.plan, evaluation, variable)
            for row in sent(number, group, fresh, part, batches):
                for key in row.keys:
                    yield from out.put(key, number, part, row.number, row.packed)
            yield from out.out()

        return self.over_items(variable, consume, _ROWS)

    def lots(self, variables: Sequence[VarName], most: int | None) -> DataFrame:
        """All rows of some units of one pass, for everybody. Of those that are more than ``most`` bytes, no more come.

        Only the first may be joined with what it looks up itself: then it is the only one.
        """
        first, *others = variables

        def scanned(number: int, parts: Any) -> Iterator[Any]:
            with seldom_collecting():
                yield from _few(number, work.lots(parts, number, *others), most, len(variables))

        def joined(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
            own, lots = work.plan.numbers[first], work.new_lots(evaluation, first, part)
            given = chain(chain.from_iterable(lots.take(items) for items in batches), lots.out())
            yield from _few(part, ((own, *lot) for lot in given), most, 1)

        if first in self.plan.joins:
            return self.over_items(first, joined, _LOTS)
        work = self.work(first)
        return over_tasks(self.spark, self.tasks(self.plan.scan(first).source), scanned, _LOTS)

    def partials(self, variable: VarName) -> DataFrame:
        """What each range contributes to a unit whose items look something up."""

        def consume(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
            reducing = RangeUnit(evaluation, work.plan.code.units[variable])
            for items in batches:
                reducing.take_items(items)
                if reducing.settled:
                    break
            made: list[Partial] = [reducing.partial()]
            yield from one_row(part, dumps(made))

        return self.over_items(variable, consume, PACKED)

    # ---------------------------------------------------------------------------------------------- the answer

    def answer(self, unit: Unit, out: Out, schema: str) -> DataFrame:
        """A unit's items in their order, in the form of ``out``."""
        if isinstance(unit.reduction, Concat):

            def straight(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
                return out(chain.from_iterable(batches), part)

            return self.over_items(unit.variable, straight, schema)
        chosen = unit.reduction.chosen if isinstance(unit.reduction, Sort) else None
        first = 0 if chosen is None else max(chosen.first, 1) - 1
        if schema == ITEM_ROWS:
            told = self.placed(unit, told=True)
            if first:
                told = told.mapInArrow(lambda batches: _from(batches, first), _TOLD)
            return told.selectExpr("monotonically_increasing_id() AS position", "kind", "value")

        def unpacked(batches: Iterable[Any]) -> Iterator[Any]:
            rows = (row for batch in batches for row in batch.column("row").to_pylist())
            items = (item for row in rows for item in Received().row(row)[0])
            yield from out(items if chosen is None else islice(items, first, chosen.last), 0)

        return self.placed(unit, told=False).mapInArrow(unpacked, schema)

    def placed(self, unit: Unit, told: bool) -> DataFrame:
        """The rows of a unit that is sorted or gathered, in order: texts of its items, or items in a column ``row``."""
        variable = unit.variable
        if isinstance(unit.reduction, Sort):
            kinds = self.plan.sort_kinds(unit)

            def keyed(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
                sorting, count = Sorting(work.plan.specs(unit), kinds, told), 0
                for items in batches:
                    rows = [[item] for item in items]
                    yield from sorting.rows([(part, count + k) for k in range(len(rows))], rows)
                    count += len(rows)
                yield from sorting.out.out()

            frame = self.over_items(variable, keyed, keyed_columns(kinds, told))
            return self._sorted(frame, unit, kinds, told, self.count(variable), unit.reduction.chosen)
        assert isinstance(unit.reduction, Gather)
        return self._gathered(unit, unit.reduction, told)

    # ---------------------------------------------------------------------------------------------- groups

    def _gathered(self, unit: Unit, gather: Gather, told: bool) -> DataFrame:
        variable = unit.variable
        work, count = self.work(variable), self.count(variable)
        kinds = self.plan.sort_kinds(unit) if gather.order is not None else None

        def gathering(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
            out, groups, turn = Writer(_GROUPS), work.gathering(evaluation), 0
            for items in batches:
                groups.take(items)
                if groups.full:
                    for key, packed in groups.out(part, turn):
                        yield from out.put(key, part, turn, packed)
                    turn += 1
            for key, packed in groups.out(part, turn):
                yield from out.put(key, part, turn, packed)
            yield from out.out()

        def asking(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation, out = work.evaluation(), Writer(_ASKS)
            for groups in work.met(evaluation, _rows(batches, "key", "part", "packed")):
                block = Block(dumps(groups))
                yield from _asks(out, *groups.places[0], block, work.groups_ask(evaluation, block))
            yield from out.out()

        def again(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation, out = work.evaluation(), Writer(_ASKS)
            for (part, number), block in _blocks(batches):
                yield from _asks(out, part, number, block, work.groups_ask(evaluation, block))
            yield from out.out()

        def met_groups(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation = work.evaluation()
            came = _rows(batches, "key", "part", "packed")
            return evaluated(work.group_items(evaluation, work.met(evaluation, came)))

        def joined_groups(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation = work.evaluation()
            return evaluated(chain.from_iterable(work.block_items(evaluation, block) for _, block in _blocks(batches)))

        def evaluated(groups: Iterable[Placed]) -> Iterator[Any]:
            out: Placing | Sorting = (
                Placing(told) if gather.order is None else Sorting(work.plan.specs(unit), kinds, told)
            )
            for places, results in groups:
                yield from out.rows(places, results)
            yield from out.out.out()

        schema = placed_columns(told) if gather.order is None else keyed_columns(kinds, told)
        frame = self.over_items(variable, gathering, _GROUPS)
        frame = frame.repartition("key").sortWithinPartitions("key", "part", "turn")
        join = self.plan.body_joins.get(variable)
        if join is None:
            frame = _mapped(frame, met_groups, schema)
        else:
            frame = self._joined(_mapped(frame, asking, _ASKS), join, count, again)
            frame = _mapped(frame, joined_groups, schema)
        if gather.order is not None:
            return self._sorted(frame, unit, kinds, told, count, None)
        return in_order(frame, count, "place", "number")

    # ---------------------------------------------------------------------------------------------- sorting

    def _sorted(
        self, frame: DataFrame, unit: Unit, kinds: list[Kind] | None, told: bool, count: int, chosen: Slice | None
    ) -> DataFrame:
        specs = self.plan.specs(unit)
        if kinds is None:
            schema = placed_columns(told)

            def by_one(batches: Iterable[Any]) -> Iterator[Any]:
                out = Writer(schema)
                found = sorted(_rows(batches, *out.names, "keys"), key=lambda row: row[:3])
                for *_, row in sort_rows([(*loads(row[-1]), row[:-1]) for row in found], specs):
                    yield from out.put(*row)
                yield from out.out()

            made = _mapped(frame.repartition(1), by_one, schema)
        else:
            keys = [f"key{k}" for k in range(len(specs))]
            ascending = [*[not spec.descending for spec in specs], True, True, True]
            # A range exchange looks at its input twice: what is exchanged before is computed once.
            once = frame.repartitionById(count, "part")
            made = once.orderBy(*keys, "part", "place", "number", ascending=ascending)
        if chosen is None:
            return made
        return made.coalesce(1) if chosen.last is None else made.limit(max(chosen.last, 0))


# ------------------------------------------------------------------------------------------------------ rows of tasks


def _few(part: int, lots: Iterable[tuple[int, int, bytes]], most: int | None, units: int) -> Iterator[Any]:
    """Lots of some units as rows of a part; of a unit that has too many, this much. It ends when all have."""
    out, sizes, many = Writer(_LOTS), dict[int, int](), set[int]()
    for unit, first, packed in lots:
        sizes[unit] = sizes.get(unit, 0) + len(packed)
        if most is None or sizes[unit] <= most:
            yield from out.put(unit, part, first, packed)
        elif unit not in many:
            many.add(unit)
            yield from out.put(unit, part, first, None)
            if len(many) == units:
                break
    yield from out.out()


def _asks(out: Writer, part: int, block: int, made: Block, keys: list[str]) -> Iterator[Any]:
    # A key of its own that no row has: blocks are spread over the join's tasks, and each finds its way out again.
    yield from out.put(part, block, f"{part}/{block}", dumps(made))
    for key in keys:
        yield from out.put(part, block, key, None)


def _mapped(frame: DataFrame, work: Callable[[Iterable[Any]], Iterator[Any]], schema: str) -> DataFrame:
    """What tasks make of the rows of others: they scan nothing, which is where what is loaded is kept otherwise."""

    def mapped(batches: Iterable[Any]) -> Iterator[Any]:
        with seldom_collecting():
            yield from work(batches)
        keep_loaded()

    return frame.mapInArrow(mapped, schema)


def _rows(batches: Iterable[Any], *names: str) -> Iterator[tuple[Any, ...]]:
    """Some columns of all rows."""
    for batch in batches:
        yield from zip(*[batch.column(name).to_pylist() for name in names], strict=True)


def _from(batches: Iterable[Any], first: int) -> Iterator[Any]:
    """The rows of the only partition from a number on."""
    for batch in batches:
        skipped = min(first, len(batch))
        first -= skipped
        if skipped < len(batch):
            yield batch.select(["kind", "value"]).slice(skipped)


def _blocks(batches: Iterable[Any]) -> Iterator[tuple[Place, Block]]:
    """Blocks with what has come for them; the rows of one follow each other."""
    rows = _rows(batches, "part", "block", "packed", "key", "unit", "of", "place", "row")
    for (part, number), own in groupby(rows, key=itemgetter(0, 1)):
        block: Block | None = None
        came: list[Any] = []
        for _, _, packed, *row in own:
            if packed is not None:
                block = loads(packed)
            elif row[-1] is not None:
                came.append(row)
        assert block is not None, "a block has a row of its own"
        for key, unit, of, place, packed in came:
            if key == failure_key(unit):
                block.failures.setdefault(unit, packed)
            else:
                block.rows[unit, of, place] = packed
        yield (part, number), block

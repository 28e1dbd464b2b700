"""The units of a relational plan as DataFrames: scan, exchange, join, sort.

    join     blocks of records ask for keys ⟕ rows by key → exchange by part, sort by block → evaluate
    group    groups of each range → exchange by key, sort → merge, evaluate → exchange by part, sort by first tuple
    sort     rows with keys as bytes → range exchange and sort by the keys, then by place

Places are (part, number): the number of the range in the document, and that of the row, or block, in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array
from xstreamcast.plan.algebra import Concat, Gather, Group, Slice, Sort, Source, Unit, VarName
from xstreamcast.run.runtime.order import OrderSpec, sort_rows
from xstreamcast.run.units import Evaluation
from xstreamcast.spark.frames import PACKED, Writer, in_order, one_row, over_tasks
from xstreamcast.spark.partials import Partial, RangeUnit
from xstreamcast.spark.program import Program
from xstreamcast.spark.relational.asks import Asks
from xstreamcast.spark.relational.gathering import Sent, groups_of
from xstreamcast.spark.relational.keys import Kind, failure_key, order_key
from xstreamcast.spark.relational.lookups import Place, sent
from xstreamcast.spark.relational.plan import Relational
from xstreamcast.spark.relational.sending import Columns, Received, sent_rows
from xstreamcast.spark.relational.work import Block, Work, fresh_of
from xstreamcast.spark.transport import dumps, loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.spark.ranges import Range

_ASKS: Final = "part int, block long, key string, packed binary"
"""A block has a row with what it is, and one for each key it asks for."""
_ROWS: Final = "key string, unit int, of int, place long, row binary"
_GROUPS: Final = "key binary, part int, place long, packed binary"
_PLACED: Final = "part int, place long, row binary"
_GROUPS_AT_ONCE: Final = 256
"""Groups that are evaluated together where they look something up."""

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
                return consume(number, work, evaluation, work.by_batch(evaluation, parts))

            return over_tasks(self.spark, tasks, scanned, schema)

        def asking(number: int, parts: Any) -> Iterator[Any]:
            out = Writer(_ASKS)
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
        return self._joined(frame, join, len(tasks), again).mapInArrow(evaluated, schema)

    def _joined(self, frame: DataFrame, join: Asks, count: int, again: Callable[[Iterable[Any]], Any]) -> DataFrame:
        """Blocks with the rows they have asked for, as often as answers make them ask for more."""
        for turn in range(1, join.depth + 1):
            if turn > 1:
                frame = frame.mapInArrow(again, _ASKS)
            rows = [self.rows(variable) for variable in join.asked_in(turn)]
            for more in rows[1:]:
                rows[0] = rows[0].unionAll(more)
            if rows:
                frame = in_order(frame.join(rows[0], "key", "left"), count, "block")
        return frame

    def rows(self, variable: VarName) -> DataFrame:
        """The rows of a unit that is looked up in, by key."""
        number = self.plan.numbers[variable]
        group = self.plan.units[variable].reduction
        assert isinstance(group, Group)

        def consume(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
            out = Writer(_ROWS)
            fresh = fresh_of(work.plan, evaluation, variable)
            for row in sent(number, group, fresh, part, batches, variable in work.plan.joined):
                for key in row.keys:
                    yield from out.put(key, number, part, row.number, row.packed)
            yield from out.out()

        return self.over_items(variable, consume, _ROWS)

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

        def unpacked(batches: Iterable[Any]) -> Iterator[Any]:
            rows = (row for batch in batches for row in batch.select(["part", "row"]).to_pylist())
            for part, own in groupby(rows, key=lambda row: row["part"] if by_part else 0):
                items = (item for row in own for item in Received().row(row["row"])[0])
                yield from out(items if chosen is None else islice(items, max(chosen.first, 1) - 1, chosen.last), part)

        by_part = isinstance(unit.reduction, Gather) and unit.reduction.order is None
        made = self.placed(unit).mapInArrow(unpacked, schema)
        if by_part or "position" not in made.columns:
            return made
        return made.selectExpr("monotonically_increasing_id() AS position", "kind", "value")

    def placed(self, unit: Unit) -> DataFrame:
        """The rows of a unit that is sorted or gathered, in order; each has what it gives, in a column ``row``."""
        variable = unit.variable
        if isinstance(unit.reduction, Sort):
            kinds = self.plan.sort_kinds(unit)

            def keyed(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
                sorting = _Sorting(work.plan.specs(unit), kinds)
                for batch, items in enumerate(batches):
                    yield from sorting.rows((part, batch), list(items))
                yield from sorting.out.out()

            frame = self.over_items(variable, keyed, _keyed(kinds))
            return self._sorted(frame, unit, kinds, self.count(variable), unit.reduction.chosen)
        assert isinstance(unit.reduction, Gather)
        return self._gathered(unit, unit.reduction)

    # ---------------------------------------------------------------------------------------------- groups

    def _gathered(self, unit: Unit, gather: Gather) -> DataFrame:
        variable = unit.variable
        work, count = self.work(variable), self.count(variable)
        kinds = self.plan.sort_kinds(unit) if gather.order is not None else None

        def gathering(part: int, work: Work, evaluation: Evaluation, batches: Batches) -> Iterator[Any]:
            out, groups, turn = Writer(_GROUPS), work.gathering(evaluation), 0
            for items in batches:
                for item in items:
                    groups.add(item)
                if groups.full:
                    for each in groups.out(part, turn):
                        yield from out.put(each.key, part, each.number, each.packed)
                    turn += 1
            for each in groups.out(part, turn):
                yield from out.put(each.key, part, each.number, each.packed)
            yield from out.out()

        def asking(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation, out = work.evaluation(), Writer(_ASKS)
            met = _met(batches, work)
            while some := list(islice(met, _GROUPS_AT_ONCE)):
                block, keys = work.group_block(evaluation, some)
                yield from _asks(out, *some[0][0], block, keys)
            yield from out.out()

        def again(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation, out = work.evaluation(), Writer(_ASKS)
            for (part, number), block in _blocks(batches):
                yield from _asks(out, part, number, block, work.groups_ask(evaluation, block))
            yield from out.out()

        def met_groups(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation = work.evaluation()
            return told(work.group_items(evaluation, _met(batches, work)))

        def joined_groups(batches: Iterable[Any]) -> Iterator[Any]:
            evaluation = work.evaluation()
            return told(chain.from_iterable(work.block_items(evaluation, block) for _, block in _blocks(batches)))

        def told(groups: Iterator[tuple[Place, list[Item]]]) -> Iterator[Any]:
            if gather.order is not None:
                sorting = _Sorting(work.plan.specs(unit), kinds)
                for place, items in groups:
                    yield from sorting.rows(place, items, place[1])
                yield from sorting.out.out()
                return
            out = Writer(_PLACED)
            for place, items in groups:
                yield from out.put(*place, sent_rows([[items]], *place)[0])
            yield from out.out()

        schema = _PLACED if gather.order is None else _keyed(kinds)
        frame = self.over_items(variable, gathering, _GROUPS)
        frame = frame.repartition("key").sortWithinPartitions("key", "part", "place")
        join = self.plan.body_joins.get(variable)
        if join is None:
            frame = frame.mapInArrow(met_groups, schema)
        else:
            frame = self._joined(frame.mapInArrow(asking, _ASKS), join, count, again).mapInArrow(joined_groups, schema)
        if gather.order is not None:
            return self._sorted(frame, unit, kinds, count, None)
        return in_order(frame, count, "place")

    # ---------------------------------------------------------------------------------------------- sorting

    def _sorted(
        self, frame: DataFrame, unit: Unit, kinds: list[Kind] | None, count: int, chosen: Slice | None
    ) -> DataFrame:
        specs = self.plan.specs(unit)
        if kinds is None:

            def by_one(batches: Iterable[Any]) -> Iterator[Any]:
                found = [row for batch in batches for row in batch.to_pylist()]
                found.sort(key=lambda row: (row["part"], row["place"], row["number"]))
                rows = [(*loads(row["keys"]), row) for row in found]
                out = Writer(_PLACED)
                for *_, row in sort_rows(rows, specs):
                    yield from out.put(row["part"], row["place"], row["row"])
                yield from out.out()

            made = frame.repartition(1).mapInArrow(by_one, _PLACED)
        else:
            keys = [f"key{k}" for k in range(len(specs))]
            ascending = [*[not spec.descending for spec in specs], True, True, True]
            # A range exchange looks at its input twice: what is exchanged before is computed once.
            once = frame.repartitionById(count, "part")
            made = once.orderBy(*keys, "part", "place", "number", ascending=ascending)
        if chosen is None:
            return made
        return made.coalesce(1) if chosen.last is None else made.limit(max(chosen.last, 0))


class _Sorting:
    """Rows with the keys they are sorted by."""

    def __init__(self, specs: tuple[OrderSpec, ...], kinds: list[Kind] | None) -> None:
        self.specs, self.kinds = specs, kinds
        self.out = Writer(_keyed(kinds))
        self.count = 0

    def rows(self, place: tuple[int, int], found: list[Item], own: int | None = None) -> Iterator[Any]:
        """Arrays of keys and what they give, of a batch, or of the group whose place is ``own``."""
        values: list[list[Item | None]] = []
        results: list[Columns] = []
        for row in found:
            assert isinstance(row, Array)
            *keys, items = row.members()
            for key in keys:
                if len(key) > 1:
                    raise error("XPTY0004", f"a key of order by has {len(key)} items")
            values.append([key[0] if key else None for key in keys])
            results.append([items])
        for number, (own_keys, packed) in enumerate(zip(values, sent_rows(results, *place), strict=True)):
            made = self._keys(own_keys)  # it may fail, also where nothing comes of the row
            if results[number][0]:
                yield from self.out.put(place[0], self.count if own is None else own, number, *made, packed)
            self.count += 1

    def _keys(self, keys: list[Item | None]) -> list[bytes]:
        if self.kinds is None:
            return [dumps(keys)]
        return [
            order_key(key, kind, spec.empty_greatest)
            for key, kind, spec in zip(keys, self.kinds, self.specs, strict=True)
        ]


def _keyed(kinds: list[Kind] | None) -> str:
    keys = ["keys binary"] if kinds is None else [f"key{k} binary" for k in range(len(kinds))]
    return ", ".join(["part int", "place long", "number long", *keys, "row binary"])


# ------------------------------------------------------------------------------------------------------ rows of tasks


def _asks(out: Writer, part: int, block: int, made: Block, keys: list[str]) -> Iterator[Any]:
    # A key of its own that no row has: blocks are spread over the join's tasks, and each finds its way out again.
    yield from out.put(part, block, f"{part}/{block}", dumps(made))
    for key in keys:
        yield from out.put(part, block, key, None)


def _blocks(batches: Iterable[Any]) -> Iterator[tuple[Place, Block]]:
    """Blocks with what has come for them; the rows of one follow each other."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for (part, number), own in groupby(rows, key=lambda row: (row["part"], row["block"])):
        block: Block | None = None
        came: list[Any] = []
        for row in own:
            if row["packed"] is not None:
                block = loads(row["packed"])
            elif row["row"] is not None:
                came.append(row)
        assert block is not None, "a block has a row of its own"
        for row in came:
            if row["key"] == failure_key(row["unit"]):
                block.failures.setdefault(row["unit"], row["row"])
            else:
                block.rows[row["unit"], row["of"], row["place"]] = row["row"]
        yield (part, number), block


def _met(batches: Iterable[Any], work: Work) -> Iterator[tuple[Place, list[Sent]]]:
    """The groups of a partition that is sorted by coarse key and place."""
    collations = work.collations()
    rows = (row for batch in batches for row in batch.to_pylist())
    for _, own in groupby(rows, key=lambda row: row["key"]):
        came = [((row["part"], row["place"]), row["packed"]) for row in own]
        yield from groups_of(came, collations)

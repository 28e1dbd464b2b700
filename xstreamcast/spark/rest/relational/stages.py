"""The stages of a relational plan, in the order in which Spark has them: scan → exchange → join → sort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from xstreamcast.plan.algebra import Concat, Fold, Gather, Group, Reduce, Slice, Sort, Unit
from xstreamcast.plan.operators import Operator, Symbol, numbered, operators
from xstreamcast.spark.rest.frames import FAN
from xstreamcast.spark.rest.relational.asks import Asks
from xstreamcast.spark.rest.relational.plan import Relational

Steps = list[tuple[str, int, Operator]]

_RANGES: Final = "a task for each range of the document: scan, and"
_ROWS: Final = f"{_RANGES} send rows by key"
_STATES: Final = f"{_RANGES} send, for each key, what its rows come to there"
_ALL: Final = f"{_RANGES} send the items; all of them are broadcast to the tasks that compare with them"
_ALL_ROWS: Final = f"{_RANGES} send rows, which are broadcast: keys may be of several types, or are not known before"
_ITEMS: Final = f"{_RANGES} give the items"
_BLOCKS: Final = f"{_RANGES} send blocks of records, and the keys that they ask for"
_JOIN: Final = (
    "left join by key: exchange and sort-merge, or broadcast where Spark finds a side small; then exchange by range "
    "and sort by block, so that records meet what they asked for in document order. Rows that are no more than "
    "spark.sql.autoBroadcastJoinThreshold are found before, by one scan for all of them, and go to all tasks: then "
    "nothing is exchanged"
)
_GROUPS: Final = f"{_RANGES} send groups by key, their aggregates as partial results"
_MET: Final = "exchange by key, sort; merge the groups of equal keys, in document order"
_FIRST: Final = "exchange by range, sort by first tuple: groups stand in the order of the document"
_SORT: Final = "range exchange and sort by the keys, as bytes that order as XQuery says, then by place"
_ONE_SORT: Final = "exchange to one task, which sorts: it is not known before that all keys are of one type"
_MERGE: Final = f"{FAN} at a time, in document order; the driver gets what it comes to"
_DRIVER: Final = "makes the rest of the answer of these values"


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: the ids of its steps, what it does, and the operators of Spark that are its own."""

    name: str
    steps: tuple[str, ...]
    what: str
    spark: tuple[str, ...]


def relational_stages(plan: Relational, steps: Steps) -> Iterator[Stage]:
    """What Spark does for a plan, beside the steps of the query."""
    yield from _Telling(plan, steps).stages()


class _Telling:
    def __init__(self, plan: Relational, steps: Steps) -> None:
        self.plan = plan
        self.steps = steps
        self.left = [(id, each) for id, _, each in steps]

    def stages(self) -> Iterator[Stage]:
        """The stages; the last that evaluates has the steps that no other has."""
        found = list(self._stages())
        named = {id for stage in found for id in stage.steps}
        rest = tuple(id for id, _, _ in self.steps if id not in named)
        last = max((k for k, stage in enumerate(found) if stage.name in _EVALUATING), default=len(found) - 1)
        ordered = [id for id, _, _ in self.steps]
        steps = tuple(sorted((*found[last].steps, *rest), key=ordered.index))
        found[last] = replace(found[last], steps=steps)
        return iter(found)

    def _stages(self) -> Iterator[Stage]:
        answer = self.plan.answer
        for step in self.plan.plan.passes:
            units = [u for u in step.units if isinstance(u.reduction, Reduce | Slice | Fold) and not u.needs]
            if units:
                own = tuple(id for unit in units for id in self._extracts(unit))
                functions = [u.reduction.function for u in units if isinstance(u.reduction, Reduce)]
                what = " and ".join(dict.fromkeys(functions)) + " partial results" if functions else "send the items"
                yield Stage("scan", own, f"{_RANGES} {what}", ("tasks",))
                yield Stage("merge", (), _MERGE, ("exchange",))
        for variable, unit in self.plan.units.items():
            reduced = isinstance(unit.reduction, Reduce | Slice | Fold)
            if unit is answer or variable in self.plan.joined or (reduced and not unit.needs):
                continue
            yield from self._unit(unit, broadcast=True)
        if answer is not None:
            yield from self._unit(answer, broadcast=False)
        else:
            yield Stage("driver", (), _DRIVER, ("tasks",))

    def _unit(self, unit: Unit, broadcast: bool) -> Iterator[Stage]:
        match unit.reduction:
            case Sort():
                yield from self._items(unit, f"{_RANGES} send rows with their keys")
                yield self._sort(unit, unit.reduction)
            case Gather():
                yield from self._items(unit, _GROUPS)
                yield Stage("group", self._symbols(Symbol.NEST, Symbol.REDUCE), _MET, ("exchange", "sort"))
                join = self.plan.body_joins.get(unit.variable)
                if join is not None:
                    yield from self._join(join)
                if unit.reduction.order is None:
                    yield Stage("order", (), _FIRST, ("exchange", "sort"))
                else:
                    yield self._sort(unit, unit.reduction.order)
            case Group():
                yield from self._items(unit, _ALL_ROWS)
            case Concat():
                yield from self._items(unit, _ALL if broadcast else _ITEMS)
            case _:
                yield from self._items(unit, f"{_RANGES} send partial results")
                yield Stage("merge", (), _MERGE, ("exchange",))

    def _items(self, unit: Unit, what: str) -> Iterator[Stage]:
        """How the items of a unit come about: by the scan, or a join."""
        join = self.plan.joins.get(unit.variable)
        if join is None:
            yield Stage("scan", self._extracts(unit), what, ("tasks",))
            return
        yield Stage("scan", self._extracts(unit), _BLOCKS, ("tasks",))
        yield from self._join(join)

    def _join(self, join: Asks) -> Iterator[Stage]:
        steps = self._symbols(Symbol.JOIN)
        for turn in range(1, join.depth + 1):
            asked = join.asked_in(turn)
            for variable in asked:
                unit = self.plan.units[variable]
                assert isinstance(unit.reduction, Group)
                yield from self._items(unit, _STATES if isinstance(unit.reduction.inner, Reduce) else _ROWS)
            if asked:
                own = steps[turn - 1 : turn] if len(steps) >= join.depth else steps
                yield Stage("join", own, _JOIN, (*["union"] * (len(asked) - 1), "join", "exchange", "sort"))

    def _sort(self, unit: Unit, sort: Sort) -> Stage:
        steps = self._symbols(Symbol.SORT)
        if self.plan.sort_kinds(unit) is None:
            return Stage("sort", steps, _ONE_SORT, ("exchange",))
        chosen = () if sort.chosen is None else ("coalesce",) if sort.chosen.last is None else ("limit",)
        return Stage("sort", steps, _SORT, ("exchange", "order", *chosen))

    def _symbols(self, *symbols: Symbol) -> tuple[str, ...]:
        return tuple(id for id, each in self.left if each.symbol in symbols)

    def _extracts(self, unit: Unit) -> tuple[str, ...]:
        """The steps that a unit's scan does: what it extracts is known by its path."""
        top = operators(replace(self.plan.plan, output=(unit,)))
        paths: set[str] = set()
        above: list[object] = []
        for _, depth, each in numbered(top) if top is not None else ():
            above[depth:] = [each.unit or (above[depth - 1] if depth else unit.variable)]
            if each.symbol is Symbol.EXTRACT and above[depth] == unit.variable:
                paths.add(_path(each))
        return tuple(id for id, each in self.left if each.symbol is Symbol.EXTRACT and _path(each) in paths)


_EVALUATING: Final = frozenset(("scan", "join", "group", "driver"))


def _path(extract: Operator) -> str:
    return extract.detail.split(" in ", 1)[-1]

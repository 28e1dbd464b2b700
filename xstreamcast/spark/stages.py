"""What runs where on Spark: the stages of a query beside its operators, as ``xcast explain --engine spark`` prints.

>>> from xstreamcast import explain
>>> print("\\n".join(stage_lines(explain("count(//item)"))))
on Spark
  scan   s1 s2  a task for each range of the document: scan, and count partial results
  merge  s1     16 at a time, in document order; the last task makes the rest of the answer
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from xstreamcast.plan.algebra import Concat, Fold, Gather, Group, Plan, Reduce, Slice, Sort, Strategy, Unit, VarName
from xstreamcast.plan.explain.text import WIDTH
from xstreamcast.plan.operators import Operator, Symbol, numbered
from xstreamcast.spark.rest.at_rest import PARTIALS, PROJECTED, ROWS, relational_plan, way
from xstreamcast.spark.rest.collected_plan import collected_plan
from xstreamcast.spark.rest.frames import FAN
from xstreamcast.spark.rest.relational.stages import Stage, relational_stages

if TYPE_CHECKING:
    from xstreamcast.plan.explain.explanation import Explanation

_WHOLE = "one task runs the query: no document is scanned, or not before values are known that do not travel"
_ROWS = "a task for each range of the document: scan, and give the items as rows"
_CUT = "(or as partial results, where an element that it loops over is longer than a range)"
_SHARED = "the documents of the collection are shared out among tasks, which scan them one after the other and "
_ITEMS = "give the items as rows"
_RESULTS = "send partial results"
_PROJECT = "a task for each range of each document: scan, and keep the projected parts"
_TOGETHER = "one task puts the parts together, in document order, and runs the query on them"
_MERGE = f"{FAN} at a time, in document order; "
_VALUE = "what it comes to goes to the tasks of the next pass"
_REST = "the last task makes the rest of the answer"


def stage_lines(explanation: Explanation) -> Iterator[str]:
    """A section of lines: each stage with the ids of its steps."""
    yield "on Spark"
    stages = stages_of(explanation)
    names = max(len(stage.name) for stage in stages)
    ids = min(max(1, *(len(" ".join(stage.steps)) for stage in stages)), 32)
    for stage in stages:
        room = WIDTH - 6 - names - ids
        left, right = wrap(" ".join(stage.steps), ids) or [""], wrap(stage.what, room)
        for k in range(max(len(left), len(right))):
            cells = stage.name if k == 0 else "", left[k] if k < len(left) else "", right[k] if k < len(right) else ""
            yield f"  {cells[0]:{names}}  {cells[1]:{ids}}  {cells[2]}".rstrip()


def stages_of(explanation: Explanation) -> list[Stage]:
    """What Spark does for a query, in the order in which it does."""
    return list(_stages(explanation.plan, explanation))


def _stages(plan: Plan, explanation: Explanation) -> Iterator[Stage]:
    top = explanation.top
    steps = [] if top is None else list(numbered(top))
    everything = tuple(id for id, _, _ in steps)
    chosen = way(plan)
    if any(source.stream for source in plan.sources):
        yield Stage("task", everything, _WHOLE, ("tasks",))
        return
    relational = relational_plan(plan, explanation.module)
    if relational is not None:
        yield from relational_stages(relational, steps)
        return
    if chosen == PROJECTED:
        extracts = tuple(id for id, _, each in steps if each.symbol is Symbol.EXTRACT)
        yield Stage("scan", extracts, _PROJECT, ("tasks",))
        yield Stage("task", everything, _TOGETHER, ("exchange",))
        return
    if chosen == ROWS:
        nested = any(unit.nest is not None for step in plan.passes for unit in step.units)
        yield Stage("scan", everything, f"{_ROWS} {_CUT}" if nested else _ROWS, ("tasks",))
        return
    collected = collected_plan(explanation.module) if plan.strategy is Strategy.NONE else None
    if collected is not None:
        alone = way(collected) == ROWS
        yield Stage("scan", everything, f"{_SHARED}{_ITEMS if alone else _RESULTS}", ("tasks",))
        if not alone:
            yield Stage("merge", (), _MERGE + _REST, ("exchange",))
        return
    if chosen != PARTIALS:
        yield Stage("task", everything, _WHOLE, ("tasks",))
        return
    owners = dict(_owners(steps))
    for number, step in enumerate(plan.passes, 1):
        units = {unit.variable for unit in step.units}
        own = tuple(id for id in everything if owners.get(id) in units)
        words = " and ".join(dict.fromkeys(_sent(unit) for unit in step.units))
        yield Stage("scan", own, f"a task for each range of the document: scan, and {words}", ("tasks",))
        last = number == len(plan.passes)
        rest = tuple(id for id, _, each in steps if id not in owners or each.unit is not None)
        made = tuple(id for id, _, each in steps if each.unit in units)
        yield Stage("merge", rest if last else made, _MERGE + (_REST if last else _VALUE), ("exchange",))


def _owners(steps: list[tuple[str, int, Operator]]) -> Iterator[tuple[str, VarName]]:
    """The unit that each step is part of, if it is."""
    path: list[VarName | None] = []
    for id, depth, each in steps:
        above = path[depth - 1] if depth else None
        path[depth:] = [each.unit or above]
        if path[depth] is not None:
            yield id, path[depth]  # type: ignore[misc]  # it was looked at


def _sent(unit: Unit) -> str:
    match unit.reduction:
        case Reduce(function):
            return f"{function} partial results"
        case Concat() | Slice() | Sort() | Gather():
            return "send the items"
        case Fold():
            return "send the items to be folded"
        case Group():
            return "send the items with their keys"
        case _:
            return "send the items"

"""What runs where on Spark: the stages of a query beside its operators, as ``xcast explain --engine spark`` prints.

>>> from xstreamcast import explain
>>> print("\\n".join(stage_lines(explain("count(//item)"))))
on Spark
  stage 1  s1 s2  a task for each range of the document: scan, and count partial results
  driver   s1     merges what the tasks give, in document order, and makes the rest of the answer
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from xstreamcast.plan.algebra import Concat, Fold, Group, Plan, Reduce, Slice, Unit, VarName
from xstreamcast.plan.explain.text import WIDTH
from xstreamcast.plan.operators import Operator, Symbol, numbered
from xstreamcast.spark.at_rest import PARTIALS, PROJECTED, ROWS, way

if TYPE_CHECKING:
    from xstreamcast.plan.explain.explanation import Explanation

_WHOLE = "one task runs the query: no document is scanned, or not before values are known that do not travel"
_ROWS = "a task for each range of the document: scan, and give the items as rows"
_CUT = "(or as partial results, where an element that it loops over is longer than a range)"
_PROJECT = "a task for each range of each document: scan, and keep the projected parts"
_TOGETHER = "one task puts the parts together, in document order, and runs the query on them"
_MERGE = "merges what the tasks give, in document order, and makes the rest of the answer"


def stage_lines(explanation: Explanation) -> Iterator[str]:
    """A section of lines: each stage with the ids of its steps."""
    yield "on Spark"
    stages = list(_stages(explanation.plan, explanation.top))
    names = max(len(name) for name, _, _ in stages)
    ids = min(max(1, *(len(" ".join(steps)) for _, steps, _ in stages)), 32)
    for name, steps, what in stages:
        room = WIDTH - 6 - names - ids
        left, right = wrap(" ".join(steps), ids) or [""], wrap(what, room)
        for k in range(max(len(left), len(right))):
            cells = name if k == 0 else "", left[k] if k < len(left) else "", right[k] if k < len(right) else ""
            yield f"  {cells[0]:{names}}  {cells[1]:{ids}}  {cells[2]}".rstrip()


def _stages(plan: Plan, top: Operator | None) -> Iterator[tuple[str, list[str], str]]:
    steps = [] if top is None else list(numbered(top))
    everything = [id for id, _, _ in steps]
    chosen = way(plan)
    if any(source.stream for source in plan.sources) or chosen not in (ROWS, PARTIALS, PROJECTED):
        yield "stage 1", everything, _WHOLE
        return
    if chosen == PROJECTED:
        extracts = [id for id, _, each in steps if each.symbol is Symbol.EXTRACT]
        yield "stage 1", extracts, _PROJECT
        yield "stage 2", everything, _TOGETHER
        return
    if chosen == ROWS:
        nested = any(unit.nest is not None for step in plan.passes for unit in step.units)
        yield "stage 1", everything, f"{_ROWS} {_CUT}" if nested else _ROWS
        return
    owners = dict(_owners(steps))
    for number, step in enumerate(plan.passes, 1):
        units = {unit.variable for unit in step.units}
        own = [id for id in everything if owners.get(id) in units]
        words = " and ".join(dict.fromkeys(_sent(unit) for unit in step.units))
        yield f"stage {number}", own, f"a task for each range of the document: scan, and {words}"
    rest = [id for id, _, each in steps if id not in owners or each.unit is not None]
    yield "driver", rest, _MERGE


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
        case Concat() | Slice():
            return "send the items"
        case Fold():
            return "send the items to be folded"
        case Group():
            return "send the items with their keys"
        case _:
            return "send the items"

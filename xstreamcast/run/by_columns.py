"""Which queries sort and group large documents by columns, and their programs.

A query that sorts or groups is planned as it would be over documents that change: a loop is a unit of rows with keys.
Where these, and what is reduced of groups, are paths from a record, columns are enough.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import Gather, Plan, Reduce, Sort, Strategy, Unit
from xstreamcast.plan.decompose.columns import Columnar, columnar
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.run.single_pass import PlanCode
from xstreamcast.run.units import Parts


def columnar_plan(
    module: ast.Module, many: frozenset[str | None] = frozenset(), streams: bool = False
) -> tuple[Plan, dict[Unit, Columnar]] | None:
    """The plan by columns, and how its units are; None if the query is none of that kind."""
    assert module.body is not None
    if not any(isinstance(part, ast.GroupClause | ast.OrderClause) for part in descendants(module.body)):
        return None
    made = plan(module, changing=True, many=many, streams=streams)
    if made.strategy is not Strategy.STREAM or len(made.passes) != 1 or made.module.static is None:
        return None
    (step,) = made.passes
    units = {unit: _at_rest(unit) for unit in step.units}
    found = {}
    for unit in units.values():
        if isinstance(unit.reduction, Sort | Gather):
            known = columnar(unit, made.module.static)
            if known is None:
                return None
            found[unit] = known
        elif not isinstance(unit.reduction, Reduce) or unit.nest is not None:
            return None
    if not found:
        return None
    step = replace(step, units=tuple(units.values()))
    output = tuple([units[part] if isinstance(part, Unit) else part for part in made.output])
    return replace(made, passes=(step,), output=output), found


def _at_rest(unit: Unit) -> Unit:
    """A unit without the frame that is there for what changes inside."""
    return replace(unit, nest=None) if unit.nest is not None and unit.nest.frame else unit


def by_columns(module: ast.Module, many: frozenset[str | None]) -> PlanCode | None:
    """The programs of a query by columns; None if it is none of that kind."""
    found = columnar_plan(module, many)
    if found is None:
        return None
    from xstreamcast.run.collected import CollectedCode

    made, units = found
    code = PlanCode(made)
    parts = Parts(made)
    for unit, known in units.items():
        code.units[unit.variable].collected = CollectedCode(parts, known)
    return code

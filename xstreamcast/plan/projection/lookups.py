"""What is seen of the documents that look-ups are about: rows give what their keys read, and what those who look them
up read of their items.

    for $b in B where $b/y = $a/x return $b/z        of B:  y, for it is found by that, and z, for that is asked for

A look-up is a function that is called elsewhere in the plan. So the plan is analysed as a whole, with the items of the
rows as the function's value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from xstreamcast.lang import ast
from xstreamcast.model.structure import Structure
from xstreamcast.plan.algebra import PLAN, Concat, Group, Plan, Strategy, Unit, VarName
from xstreamcast.plan.projection.analysis import Analysis
from xstreamcast.plan.projection.paths import WHOLE_DOCUMENT, Place
from xstreamcast.plan.projection.project import targets_of
from xstreamcast.plan.projection.values import Closure, Scope, Value
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.path import Path

_ELSEWHERE: Final[VarName] = (PLAN, "the document elsewhere")
_LOOKUP: Final = Value(closures=frozenset({Closure("lookup")}))


def gives_rows(unit: Unit) -> bool:
    """Whether a unit's value is a function that gives rows as they are: what is read of them, their callers tell."""
    reduction = unit.reduction
    if not isinstance(reduction, Group) or not reduction.rows or reduction.interval or unit.nest is not None:
        return False
    return isinstance(reduction.inner, Concat)


def project_lookup(unit: Unit, plan: Plan, root: Path, structure: Structure | None) -> tuple[Target, ...]:
    """What is seen of the document of a unit that gives rows; ``root``: where its variable's node is."""
    assert plan.strategy is Strategy.STREAM
    callers = list(_expressions(plan, unit))
    analysis = Analysis([plan.module, *plan.module.imported], ast.Sequence((unit.items, *callers)))
    place = Place(unit.root, root)
    analysis.given = {unit.root: Value(frozenset({place})), unit.variable: _LOOKUP}
    analysis.starts = frozenset({place})
    elsewhere = Scope({unit.root: Value(frozenset({Place(_ELSEWHERE, root)}))})

    def start() -> None:
        analysis.flow(("lookup",), analysis.value(unit.items, Scope()))
        for e in callers:
            found = analysis.value(e, elsewhere)
            analysis.read(found)
            if found.closures & _LOOKUP.closures:  # the function itself is a value: anybody may call it
                analysis.give_up()

    try:
        analysis.run(start)
    except RecursionError:  # as in project
        analysis.give_up()
    return (WHOLE_DOCUMENT,) if analysis.everything else targets_of(analysis, unit.root, structure)


def _expressions(part: Any, unit: Unit) -> Iterator[ast.Expr]:
    """The expressions of a plan, but for those of a unit and those that it was made of."""
    if part is unit or isinstance(part, ast.Module):
        return
    if isinstance(part, ast.Expr):
        yield part
    elif isinstance(part, tuple):
        for one in part:
            yield from _expressions(one, unit)
    elif is_dataclass(part):
        for name in fields(part):
            if name.name != "span":
                yield from _expressions(getattr(part, name.name), unit)

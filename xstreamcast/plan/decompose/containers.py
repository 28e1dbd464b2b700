"""Loops over containers: elements that tend to be as large as the document, and may be cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.lang import ast
from xstreamcast.plan.algebra import Nest, Unit
from xstreamcast.plan.decompose.distributed import Spread, under
from xstreamcast.plan.decompose.paths import nested
from xstreamcast.plan.decompose.record_paths import Blocking
from xstreamcast.plan.decompose.scan_filters import tests_of
from xstreamcast.plan.projection.project import project
from xstreamcast.scan.path import Path

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition


def nest_of(work: Decomposition, spread: Spread, lets: tuple[ast.LetClause, ...]) -> Nest | None:
    """How a loop over containers is computed for one that is cut; None for a loop over records.

    A container is an element whose children are counted by position, or whose body looks for descendants: such
    elements tend to be as large as the document. A nest costs a look at every instance. Where tests choose a few
    of many elements that may be anywhere, the scan drops the others: they are records.
    """
    loop = spread.loop
    if loop is None or work.outer is not None:
        return None
    if nested(loop.path) and not work.following and tests_of(spread):
        return None
    inner = work.inside(loop.variable.expanded, loop.path)
    forget = work.mark()
    try:
        body = inner.kept(inner.residual(under(lets, loop.body), True))
    except Blocking:
        forget()
        return None
    own = {unit.variable for unit in inner.units}
    twice = any(unit.needs & own for unit in inner.units)  # two passes over the instance
    if twice or not (spread.container or any(_deep(unit, loop.path) for unit in inner.units)):
        forget()
        return None
    seen = project(body, {loop.variable.expanded: loop.path}, module=work.module)
    return Nest(loop.variable.expanded, loop.path, tuple(inner.units), body, seen.get(loop.variable.expanded, ()))


def _deep(unit: Unit, above: Path) -> bool:
    return any(step.deep for path in unit.records for step in path.steps[len(above.steps) :])

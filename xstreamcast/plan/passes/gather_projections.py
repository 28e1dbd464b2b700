"""An interval projection of a step takes what all of the path up to there gives, in document order.

    E/step?[a, b]/F          (E/step)?[a, b]/F

where the bounds do not look at the focus; predicates behind it that are no positions come along. A projection makes
copies, and copies of different trees have no document order but that in which they were made; so it is that of their
originals, wherever these stand.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.plan.passes.dependence import LAST, POSITION, focus_of
from xstreamcast.plan.passes.shapes import boolean


def gather_projections(module: ast.Module) -> ast.Module:
    """The module, and those it imports, with such paths."""
    modules = (module, *module.imported)
    if not any(isinstance(part, ast.IntervalProjection) for one in modules for part in descendants(one)):
        return module
    made = rebuild(module, _visit)
    imported = tuple([rebuild(one, _visit) for one in module.imported])
    return replace(made, imported=imported) if module.imported else made


def _visit(e: ast.Node) -> ast.Node:
    made = rebuild(e, _visit)
    return _gathered(made) if isinstance(made, ast.Path) else made


def _gathered(e: ast.Path) -> ast.Expr:
    for at in range(len(e.steps) - 1, 0, -1):
        step = e.steps[at]
        around: list[ast.IntervalProjection | ast.Filter] = []
        while isinstance(step, ast.IntervalProjection | ast.Filter) and _per_item(step):
            around.append(step)
            step = step.base
        if isinstance(step, ast.AxisStep) and any(isinstance(one, ast.IntervalProjection) for one in around):
            whole = _gathered(ast.Path((*e.steps[:at], step), span=e.span))
            for one in reversed(around):
                whole = replace(one, base=whole)
            rest = e.steps[at + 1 :]
            return ast.Path((whole, *rest), span=e.span) if rest else whole
    return e


def _per_item(e: ast.IntervalProjection | ast.Filter) -> bool:
    """Whether it takes its base item by item, wherever that stands."""
    if isinstance(e, ast.Filter):
        return all(boolean(one) and not focus_of(one) & (POSITION | LAST) for one in e.predicates)
    return not focus_of(e.begin) and (e.end is None or not focus_of(e.end))

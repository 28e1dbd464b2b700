"""What is below all the ancestors of a node is below the outermost of them, and that is the root element.

    P/ancestor::*//S          if (exists(P[parent::*])) then /*//S else ()

So nothing is looked for twice, and no ancestor is kept for what may be found below it. A document has one root element.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.sources import source_of

_ANY: Final = ast.Wildcard(None, None, None)
_PARENT: Final = ast.AxisStep("parent", _ANY)


def outermost_ancestor(module: ast.Module) -> ast.Module:
    """The module's body without such steps."""
    return with_body(module, _visit)


def _visit(e: ast.Node) -> ast.Node:
    made = rebuild(e, _visit)
    return _path(made) if isinstance(made, ast.Path) else made


def _path(e: ast.Path) -> ast.Expr:
    root = e.steps[0]
    source = source_of(root.name.expanded) if isinstance(root, ast.VarRef) else None
    if source is None or source.forest:
        return e
    at = next((k for k in range(2, len(e.steps) - 1) if _above(e.steps[k]) and _below(e.steps[k + 1])), None)
    if at is None:
        return e
    last = e.steps[at - 1]
    if not isinstance(last, ast.AxisStep):
        return e
    child = ast.AxisStep(last.axis, last.test, (*last.predicates, _PARENT), span=last.span)
    there = ast.Path((*e.steps[: at - 1], child), span=e.span)
    condition = ast.FunctionCall(ast.Name("fn", "exists", FN), (there,), span=e.span)
    rest = ast.Path((root, ast.AxisStep("child", _ANY), *e.steps[at + 1 :]), span=e.span)
    return ast.If(condition, _path(rest), ast.Sequence(), span=e.span)


def _above(e: ast.Expr) -> bool:
    """``ancestor::*``."""
    return isinstance(e, ast.AxisStep) and e.axis == "ancestor" and e.test in _ELEMENTS and not e.predicates


def _below(e: ast.Expr) -> bool:
    """A step to all that is below; a position there would depend on where it is counted from."""
    return isinstance(e, ast.AxisStep) and e.axis in ("descendant", "descendant-or-self") and not e.predicates


_ELEMENTS: Final = (_ANY, ast.ElementTest(None))

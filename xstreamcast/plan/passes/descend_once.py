"""What is below an element at any depth is at any depth of the document, and has such an ancestor.

    //s//b[2]            //b[2][ancestor::s]
    //s//b[p]/..         //*[b[p]][ancestor-or-self::s]
    //s//b/parent::x     //x[b][ancestor-or-self::s]

So a number among the children of a parent, or the parent itself, is looked for from the top, where each element is
followed by itself. Where nothing looks at either, the path stays as it is: what is below one ``s`` is a loop over it.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.plan.passes.shapes import boolean
from xstreamcast.plan.sources import source_of

_ANY: Final = ast.Wildcard(None, None, None)
_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))


def descend_once(module: ast.Module) -> ast.Module:
    """The module's body with such paths from the top of a stream."""

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        return _path(made) if isinstance(made, ast.Path) else made

    return with_body(module, visit)


def _path(e: ast.Path) -> ast.Path:
    if len(e.steps) < 5 or not isinstance(e.steps[0], ast.VarRef) or source_of(e.steps[0].name.expanded) is None:
        return e
    root, anywhere, above, below, step, *rest = e.steps
    if (anywhere, below) != (_ANYWHERE, _ANYWHERE) or not _is_child(above) or not _is_child(step):
        return e
    assert isinstance(above, ast.AxisStep)
    assert isinstance(step, ast.AxisStep)
    if above.predicates:
        return e  # of an ancestor no more is known than its name
    up = rest[0] if rest else None
    conditions = all(boolean(predicate) for predicate in step.predicates)
    if isinstance(up, ast.AxisStep) and up.axis == "parent" and conditions and all(boolean(p) for p in up.predicates):
        test = up.test if isinstance(up.test, ast.NameTest | ast.Wildcard) else _ANY
        if test is not up.test and up.test != ast.KindTest("node"):
            return e
        around = ast.AxisStep("ancestor-or-self", above.test, (), span=above.span)
        parent = ast.AxisStep("child", test, (step, *up.predicates, around), span=up.span)
        return ast.Path((root, anywhere, parent, *rest[1:]), span=e.span)
    if conditions:
        return e
    around = ast.AxisStep("ancestor", above.test, (), span=above.span)
    chosen = ast.AxisStep("child", step.test, (*step.predicates, around), span=step.span)
    return ast.Path((root, anywhere, chosen, *rest), span=e.span)


def _is_child(e: ast.Expr) -> bool:
    return isinstance(e, ast.AxisStep) and e.axis == "child" and isinstance(e.test, ast.NameTest | ast.Wildcard)

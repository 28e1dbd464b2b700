"""The parent of a child is the node that has such a child.

    P/s/b[p]/..          P/s[b[p]]
    P/s/b[p]/../t        P/s[b[p]]/t
    /a/s/b/ancestor::s   /a/s[b]

So nothing leads up from a record: what has children of a kind is a condition on it.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.plan.sources import source_of

_DOWN: Final = ("child", "descendant")


def parents_to_predicates(module: ast.Module) -> ast.Module:
    """The module's body without such steps."""
    return with_body(module, _visit)


def _visit(e: ast.Node) -> ast.Node:
    made = rebuild(e, _visit)
    return _path(made) if isinstance(made, ast.Path) else made


def _path(e: ast.Path) -> ast.Expr:
    steps: list[ast.Expr] = []
    for step in e.steps:
        if _is_parent(step) and len(steps) > 2 and _is_named(steps[-2], _DOWN) and _is_named(steps[-1], ("child",)):
            child, above = steps.pop(), steps.pop()
            assert isinstance(above, ast.AxisStep)
            steps.append(ast.AxisStep(above.axis, above.test, (*above.predicates, child), span=above.span))
        elif (at := _ancestor(steps, step)) is not None:
            above, below = steps[at], steps[at + 1 :]
            assert isinstance(above, ast.AxisStep)
            there = below[0] if len(below) == 1 else ast.Path(tuple(below), span=step.span)
            steps[at:] = [ast.AxisStep(above.axis, above.test, (*above.predicates, there), span=above.span)]
        else:
            steps.append(step)
    return e if len(steps) == len(e.steps) else ast.Path(tuple(steps), span=e.span)


def _ancestor(steps: list[ast.Expr], step: ast.Expr) -> int | None:
    """Which of some steps from the top of a document an ancestor's name is that of; None if it is not the only one."""
    if not isinstance(step, ast.AxisStep) or step.axis != "ancestor" or not isinstance(step.test, ast.NameTest):
        return None
    if step.predicates or not steps or not isinstance(steps[0], ast.VarRef):
        return None
    if source_of(steps[0].name.expanded) is None:
        return None
    names = [one for one in steps[1:] if isinstance(one, ast.AxisStep) and isinstance(one.test, ast.NameTest)]
    if len(names) < len(steps) - 1 or any(one.axis != "child" for one in names):
        return None
    found = [number for number, one in enumerate(names[:-1], 1) if one.test == step.test]
    return found[0] if len(found) == 1 else None


def _is_parent(step: ast.Expr) -> bool:
    if not isinstance(step, ast.AxisStep) or step.axis != "parent" or step.predicates:
        return False
    return step.test in (ast.KindTest("node"), ast.Wildcard(None, None, None))


def _is_named(step: ast.Expr, axes: tuple[str, ...]) -> bool:
    named = isinstance(step, ast.AxisStep) and isinstance(step.test, ast.NameTest | ast.Wildcard)
    return named and isinstance(step, ast.AxisStep) and step.axis in axes

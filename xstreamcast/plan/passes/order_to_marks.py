"""What follows or precedes some elements, by the first or the last of them.

    P/following::b[q]          after(P, //b, q)
    P/preceding::b[q]          before(P, //b, q)
    //b[p][following::k][q]    before(//k, //b[p], q)
    //b[not(preceding::k)]     not-after(//k, //b)

An element follows one of P if it follows the one that ends first, and precedes one if it precedes the one that begins
last. ``after`` and ``before`` are calls that no query can spell, and that no evaluation meets: where a plan cannot
follow them, it is made without this pass.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.plan.algebra import PLAN
from xstreamcast.plan.passes.shapes import boolean, is_fn, is_safe
from xstreamcast.plan.passes.variables import free
from xstreamcast.plan.sources import source_of

_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))
_LED_TO: Final = {"following": "after", "preceding": "before"}
"""Where those stand that an axis leads to."""
_LED_FROM: Final = {"preceding": "after", "following": "before"}
"""And those from which it leads to some."""


def is_choice(e: ast.Node) -> bool:
    """Whether an expression is a call that this pass has made: marks, and what is chosen by where they stand."""
    names = {f"{negated}{side}" for side in ("after", "before") for negated in ("", "not-")}
    return isinstance(e, ast.FunctionCall) and e.name.uri == PLAN and e.name.local in names


def order_to_marks(module: ast.Module) -> ast.Module:
    """The module's body, whose sources have been named, without such steps."""

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        return _path(made) if isinstance(made, ast.Path) else made

    return with_body(module, visit)


def _path(e: ast.Path) -> ast.Expr:
    root = e.steps[0]
    source = source_of(root.name.expanded) if isinstance(root, ast.VarRef) else None
    if source is None or source.forest or not source.stream:
        return e
    for number, step in enumerate(e.steps[1:], 1):
        if not isinstance(step, ast.AxisStep):
            return e
        before, rest = e.steps[:number], e.steps[number + 1 :]
        if step.axis in _LED_TO:
            found = _choice(_LED_TO[step.axis], ast.Path(before, span=e.span), _all(root, step, ()), step.predicates, e)
            return e if found is None else _followed(found, rest, e)
        for at, predicate in enumerate(step.predicates):
            side = _side(predicate)
            if side is not None and all(map(is_safe, side[1].predicates)):
                first = ast.AxisStep(step.axis, step.test, step.predicates[:at], span=step.span)
                marks = _all(root, side[1], side[1].predicates)
                chosen = ast.Path((*before, first), span=e.span)
                found = _choice(side[0], marks, chosen, step.predicates[at + 1 :], e)
                return e if found is None else _followed(found, rest, e)
    return e


def _side(e: ast.Expr) -> tuple[str, ast.AxisStep] | None:
    """A condition that there is, or is not, something before or after: where its elements stand, and of what."""
    negated = False
    while isinstance(e, ast.FunctionCall) and (is_fn(e, "not", 1) or is_fn(e, "empty", 1) or is_fn(e, "exists", 1)):
        negated = negated != (e.name.local != "exists")
        e = e.args[0]
    if not isinstance(e, ast.AxisStep) or e.axis not in _LED_FROM:
        return None
    return f"{'not-' if negated else ''}{_LED_FROM[e.axis]}", e


def _all(root: ast.Expr, step: ast.AxisStep, predicates: tuple[ast.Expr, ...]) -> ast.Path:
    """All elements of a document that a step may lead to."""
    return ast.Path((root, _ANYWHERE, ast.AxisStep("child", step.test, predicates, span=step.span)), span=step.span)


def _choice(name: str, marks: ast.Path, chosen: ast.Path, later: tuple[ast.Expr, ...], e: ast.Path) -> ast.Expr | None:
    """The call: marks, what is chosen among, and conditions on what is chosen."""
    if not all(_plain(path) for path in (marks, chosen)) or not all(map(_is_condition, later)):
        return None
    if free(ast.Sequence((marks, chosen, *later))) != free(e.steps[0]):
        return None
    given = ast.Filter(ast.Sequence(), later, span=e.span)  # in a focus of their own
    return ast.FunctionCall(ast.Name("", name, PLAN), (marks, chosen, given), span=e.span)


def _is_condition(e: ast.Expr) -> bool:
    return boolean(e) and _side(e) is None


def _plain(e: ast.Path) -> bool:
    """Whether a path goes down by names, with conditions on the last step alone."""
    for step in e.steps[1:]:
        if step == _ANYWHERE:
            continue
        if not isinstance(step, ast.AxisStep) or step.axis != "child" or not isinstance(step.test, ast.NameTest):
            return False
        if step.predicates and step is not e.steps[-1]:
            return False
        if not all(map(_is_condition, step.predicates)):
            return False
    return len(e.steps) > 1


def _followed(found: ast.Expr, rest: tuple[ast.Expr, ...], e: ast.Path) -> ast.Expr:
    return ast.Path((found, *rest), span=e.span) if rest else found

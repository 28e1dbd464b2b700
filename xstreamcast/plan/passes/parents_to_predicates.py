"""The parent of a child is the node that has such a child.

    P/s/b[p]/..          P/s[b[p]]
    P/s/b[p]/../t        P/s[b[p]]/t
    /a/s/b/ancestor::s   /a/s[b]
    //b[p]/parent::s     //s[b[p]]
    //b[p]/ancestor::s   //s[.//b[p]]
    //b/..               (if (exists(/b)) then document { /b } else (), //*[b])
    //b[../c = "x"]      //*[c = "x"]/b

So nothing leads up from a record: what has children of a kind is a condition on it. The document node, which is the
parent where the root element is a ``b``, is a copy of the document then: ``copies`` tells whether that will do.
"""

from __future__ import annotations

from typing import Final, cast

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.passes.shapes import boolean, positional, slice_of
from xstreamcast.plan.sources import source_of

_DOWN: Final = ("child", "descendant")
_ANY: Final = ast.Wildcard(None, None, None)
_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))


def parents_to_predicates(module: ast.Module, copies: bool = True) -> ast.Module:
    """The module's body without such steps."""

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        return _of_anywhere(_path(made), copies) if isinstance(made, ast.Path) else made

    return with_body(module, visit)


def _of_anywhere(e: ast.Path, copies: bool) -> ast.Expr:
    """A path that looks up from elements at any depth of a stream."""
    if len(e.steps) < 3 or e.steps[1] != _ANYWHERE or not isinstance(e.steps[0], ast.VarRef):
        return e
    source = source_of(e.steps[0].name.expanded)
    if source is None:
        return e
    e = _of_parents(e)
    at = next((k for k in range(3, len(e.steps)) if not _is_named(e.steps[k], ("child",))), None)
    step = None if at is None else e.steps[at]
    if at is None or not isinstance(step, ast.AxisStep) or not all(boolean(p) for p in step.predicates):
        return e
    below, rest = e.steps[2:at], e.steps[at + 1 :]
    if not all(_is_named(one, ("child",)) for one in below):
        return e
    if step.axis.startswith("ancestor") and isinstance(step.test, ast.NameTest | ast.Wildcard):
        found = _with_below(below, step)
        return e if found is None else _of_anywhere(ast.Path((*e.steps[:2], found, *rest), span=e.span), copies)
    if step.axis != "parent" or len(below) != 1:
        return e
    test = step.test if isinstance(step.test, ast.NameTest | ast.Wildcard) else _ANY
    above = ast.AxisStep("child", test, (below[0], *step.predicates), span=step.span)
    elements = _of_anywhere(ast.Path((*e.steps[:2], above, *rest), span=e.span), copies)
    if test is step.test:
        return elements
    if step.test != ast.KindTest("node") or step.predicates or source.forest:
        return e
    leads_up = bool(rest) and isinstance(rest[0], ast.AxisStep) and rest[0].axis in ("attribute", "parent", "ancestor")
    if leads_up or (rest and _is_other(rest[0], below[0])):
        return elements  # from the document node to nothing
    if not copies or not isinstance(cast(ast.AxisStep, below[0]).test, ast.NameTest):
        return e
    if len(rest) > 1 or (rest and isinstance(rest[0], ast.AxisStep)):
        return e
    root = ast.Path((e.steps[0], below[0]), span=e.span)
    there = ast.FunctionCall(ast.Name("fn", "exists", FN), (root,), span=e.span)
    plain = ast.AxisStep("child", cast(ast.AxisStep, below[0]).test, (), span=e.span)
    copy: ast.Expr = ast.ComputedDocument(ast.Path((e.steps[0], plain), span=e.span), span=e.span)
    copy = ast.SimpleMap((copy, *rest), span=e.span) if rest else copy
    return ast.Sequence((ast.If(there, copy, ast.Sequence(), span=e.span), elements), span=e.span)


def _of_parents(e: ast.Path) -> ast.Path:
    """Conditions on the parents of elements at any depth, as such."""
    step = e.steps[2]
    if not isinstance(step, ast.AxisStep) or not _is_named(step, ("child",)):
        return e
    moved = [_of_parent(predicate, step) for predicate in step.predicates]
    above = tuple([condition for condition in moved if condition is not None])
    if not above or not all(boolean(predicate) for predicate in step.predicates):
        return e
    own = tuple([predicate for predicate, other in zip(step.predicates, moved, strict=True) if other is None])
    parent = ast.AxisStep("child", _ANY, above, span=step.span)
    child = ast.AxisStep("child", step.test, own, span=step.span)
    return ast.Path((*e.steps[:2], parent, child, *e.steps[3:]), span=e.span)


def _of_parent(e: ast.Expr, child: ast.AxisStep) -> ast.Expr | None:
    """``../c`` and ``../c = "x"`` as conditions on the parent, where they fail for none; None if they are not such.

    Nor are they if they may hold for a document node.
    """
    if isinstance(e, ast.GeneralComparison) and isinstance(e.right, ast.StringLiteral):
        left = _of_parent(e.left, child)
        return None if left is None else ast.GeneralComparison(e.op, left, e.right, span=e.span)
    if not isinstance(e, ast.Path) or not _is_parent(e.steps[0]) or not _is_other(e.steps[1], child):
        return None
    if not all(isinstance(step, ast.AxisStep) and not step.predicates for step in e.steps):
        return None
    return ast.Path(e.steps[1:], span=e.span) if len(e.steps) > 2 else e.steps[1]


def _is_other(step: ast.Expr, child: ast.Expr) -> bool:
    """Whether a step leads to children of another name than one: a document has one child."""
    if not isinstance(step, ast.AxisStep) or step.axis != "child" or not isinstance(child, ast.AxisStep):
        return False
    return isinstance(step.test, ast.NameTest) and isinstance(child.test, ast.NameTest) and step.test != child.test


def _with_below(below: tuple[ast.Expr, ...], step: ast.AxisStep) -> ast.AxisStep | None:
    """The elements of a step to ancestors, as those that have something below them; None if they may be on the way."""
    tests = [one.test for one in below if isinstance(one, ast.AxisStep)]
    if len(below) > 1 and not all(isinstance(test, ast.NameTest) for test in (step.test, *tests)):
        return None
    if len(below) > 1 and step.test in tests:
        return None
    there: ast.Expr = ast.Path((ast.ContextItem(), _ANYWHERE, *below), span=step.span)
    if step.axis == "ancestor-or-self":
        last = below[-1]
        assert isinstance(last, ast.AxisStep)
        if len(below) > 1 or any(positional(p) or slice_of(p) for p in last.predicates):
            return None
        there = ast.Or((ast.AxisStep("self", last.test, last.predicates, span=last.span), there), span=step.span)
    return ast.AxisStep("child", step.test, (there, *step.predicates), span=step.span)


def _path(e: ast.Path) -> ast.Path:
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

"""The siblings of elements of one kind are those of the kind but the first, or the last.

    //b/following-sibling::b[q]        //b[position() > 1][q]
    //b/preceding-sibling::b[q]        //b[position() < last()][q]
    //b[preceding-sibling::b]          //b[position() > 1]
    //b[not(following-sibling::b)]     //b[last()]

So nothing leads from a record to another: it has a number among the children of its parent.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.passes.open_root import is_root_element
from xstreamcast.plan.passes.shapes import boolean, is_fn
from xstreamcast.plan.sources import source_of

_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))
_POSITION: Final = ast.FunctionCall(ast.Name("fn", "position", FN), ())
_LAST: Final = ast.FunctionCall(ast.Name("fn", "last", FN), ())
_OTHERS: Final[dict[str, ast.Expr]] = {
    "following-sibling": ast.GeneralComparison(">", _POSITION, ast.IntegerLiteral(1)),
    "preceding-sibling": ast.GeneralComparison("<", _POSITION, _LAST),
}
"""Those that a step leads to."""
_WITH: Final[dict[str, ast.Expr]] = {
    "preceding-sibling": _OTHERS["following-sibling"],
    "following-sibling": _OTHERS["preceding-sibling"],
}
"""Those that a step leads from."""
_WITHOUT: Final[dict[str, ast.Expr]] = {"preceding-sibling": ast.IntegerLiteral(1), "following-sibling": _LAST}
"""And those from which it leads to none."""


def siblings_to_positions(module: ast.Module) -> ast.Module:
    """The module's body without such steps, of elements at any depth of a document, or below its root element."""

    def visit(e: ast.Node) -> ast.Node:
        made = rebuild(e, visit)
        return _path(made) if isinstance(made, ast.Path) else made

    return with_body(module, visit)


def _path(e: ast.Path) -> ast.Path:
    if len(e.steps) < 3 or not isinstance(e.steps[0], ast.VarRef):
        return e
    source, step = source_of(e.steps[0].name.expanded), e.steps[2]
    if source is None or not isinstance(step, ast.AxisStep) or step.axis != "child":
        return e
    if e.steps[1] != _ANYWHERE and (source.forest or not is_root_element(ast.Path(e.steps[:2]))):
        return e
    if not isinstance(step.test, ast.NameTest | ast.Wildcard):
        return e
    if step.predicates:
        first = _numbered(step.predicates[0], step.test)
        chosen = ast.AxisStep("child", step.test, (first, *step.predicates[1:]), span=step.span)
        return ast.Path((*e.steps[:2], chosen, *e.steps[3:]), span=e.span)
    beside = e.steps[3] if len(e.steps) > 3 else None
    if not isinstance(beside, ast.AxisStep) or beside.axis not in _OTHERS or beside.test != step.test:
        return e
    predicates = beside.predicates
    if predicates and predicates[0] == ast.IntegerLiteral(1):
        predicates = predicates[1:]  # the next one of each: all of them, together
    if not all(boolean(predicate) for predicate in predicates):
        return e
    chosen = ast.AxisStep("child", step.test, (_OTHERS[beside.axis], *predicates), span=beside.span)
    return ast.Path((*e.steps[:2], chosen, *e.steps[4:]), span=e.span)


def _numbered(e: ast.Expr, test: ast.NodeTest) -> ast.Expr:
    """A condition that there is, or is not, a sibling of the same kind, as a choice of numbers."""
    table = _WITH
    if isinstance(e, ast.FunctionCall) and (is_fn(e, "not", 1) or is_fn(e, "empty", 1) or is_fn(e, "exists", 1)):
        table = _WITH if e.name.local == "exists" else _WITHOUT
        e, whole = e.args[0], e
    else:
        whole = e
    siblings = isinstance(e, ast.AxisStep) and e.axis in table and e.test == test
    if isinstance(e, ast.AxisStep) and siblings and e.predicates in ((), (ast.IntegerLiteral(1),)):
        return table[e.axis]
    return whole

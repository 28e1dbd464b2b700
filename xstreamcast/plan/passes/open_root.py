"""A document has one root element: a loop over it, or a predicate on it, is a condition.

    for $p in /site return E($p)          if (exists(/site)) then E(/site) else ()
    /biblio[publisher = "W"]/book         if (exists(/biblio) and /biblio/publisher = "W") then /biblio/book else ()

So the root element, which is as large as the document, is never a record.
"""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.passes.shapes import boolean
from xstreamcast.plan.passes.variables import Names, fresh_copy, names_of, substitute
from xstreamcast.plan.sources import source_of


def open_root(module: ast.Module) -> ast.Module:
    """The module's body with conditions for such loops and predicates."""
    return with_body(module, _Opener(names_of(module)).visit)


class _Opener:
    def __init__(self, names: Names) -> None:
        self.names = names

    def visit(self, e: ast.Node) -> ast.Node:
        made = rebuild(e, self.visit)
        if isinstance(made, ast.FLWOR):
            return self.flwor(made)
        if isinstance(made, ast.Path):
            return self.path(made)
        return made

    def flwor(self, e: ast.FLWOR) -> ast.Expr:
        first = e.clauses[0]
        if not isinstance(first, ast.ForClause) or not _plain(first) or not is_root_element(first.source):
            return e
        rest: ast.Expr = ast.FLWOR(e.clauses[1:], e.result, span=e.span) if e.clauses[1:] else e.result
        if isinstance(rest, ast.FLWOR) and not isinstance(rest.clauses[0], (ast.ForClause, ast.LetClause)):
            if not isinstance(rest.clauses[0], ast.WhereClause):
                return e  # order by, group by or count of one tuple
            condition = rest.clauses[0].condition
            last = ast.FLWOR(rest.clauses[1:], rest.result, span=e.span) if rest.clauses[1:] else rest.result
            rest = ast.If(condition, last, ast.Sequence(), span=rest.clauses[0].span)
        rest = _flattened(substitute(rest, {first.var.expanded: first.source}))
        again = self.visit(fresh_copy(rest, self.names))
        assert isinstance(again, ast.Expr)
        return ast.If(_exists(first.source), again, ast.Sequence(), span=e.span)

    def path(self, e: ast.Path) -> ast.Expr:
        root, step = e.steps[0], e.steps[1]
        if not isinstance(step, ast.AxisStep) or not step.predicates:
            return e
        plain = ast.Path((root, ast.AxisStep(step.axis, step.test, (), span=step.span)), span=e.span)
        if not is_root_element(plain) or not all(boolean(p) for p in step.predicates):
            return e
        conditions = []
        for predicate in step.predicates:
            moved = Refocused(plain).visit(predicate)
            if moved is None:
                return e
            conditions.append(moved)
        rest = ast.Path((*plain.steps, *e.steps[2:]), span=e.span)
        condition = ast.And((_exists(plain), *conditions), span=step.span)
        return ast.If(condition, rest, ast.Sequence(), span=e.span)


def _plain(clause: ast.ForClause) -> bool:
    return clause.type is None and clause.position is None and not clause.allowing_empty


def is_root_element(e: ast.Expr) -> bool:
    """``/name``, ``/*``: at most one element."""
    if not isinstance(e, ast.Path) or len(e.steps) != 2:
        return False
    root, step = e.steps
    source = source_of(root.name.expanded) if isinstance(root, ast.VarRef) else None
    return (
        source is not None
        and not source.forest
        and isinstance(step, ast.AxisStep)
        and step.axis == "child"
        and isinstance(step.test, (ast.NameTest, ast.Wildcard, ast.ElementTest))
        and not step.predicates
    )


def _exists(e: ast.Expr) -> ast.Expr:
    return ast.FunctionCall(ast.Name("fn", "exists", FN), (e,), span=e.span)


def _flattened(e: ast.Expr) -> ast.Expr:
    """``(a/b)/c`` as the one path that it is."""

    def change(part: ast.Node) -> ast.Node:
        made = rebuild(part, change)
        if isinstance(made, ast.Path) and isinstance(made.steps[0], ast.Path):
            return ast.Path((*made.steps[0].steps, *made.steps[1:]), span=made.span)
        return made

    found = change(e)
    assert isinstance(found, ast.Expr)
    return found


class Refocused:
    """A predicate as a condition of its own: what it says of its context item is said of a path."""

    def __init__(self, focus: ast.Expr) -> None:
        self.focus = focus
        self.steps = focus.steps if isinstance(focus, ast.Path) else (focus,)

    def visit(self, e: ast.Expr) -> ast.Expr | None:
        """The condition; None if it asks for more of its focus than paths."""
        match e:
            case ast.ContextItem():
                return self.focus
            case ast.AxisStep():
                return ast.Path((*self.steps, e), span=e.span)
            case ast.Path():
                first = self.visit(e.steps[0])
                if first is None:
                    return None
                before = first.steps if isinstance(first, ast.Path) else (first,)
                return ast.Path((*before, *e.steps[1:]), span=e.span)
            case ast.And() | ast.Or():
                operands = [self.visit(operand) for operand in e.operands]
                return None if None in operands else e.__class__(_all(operands), span=e.span)
            case ast.GeneralComparison() | ast.ValueComparison():
                left, right = self.visit(e.left), self.visit(e.right)
                return None if left is None or right is None else e.__class__(e.op, left, right, span=e.span)
            case ast.FunctionCall() if e.args:
                args = [self.visit(arg) for arg in e.args]
                return None if None in args else ast.FunctionCall(e.name, _all(args), span=e.span)
            case ast.VarRef() | ast.StringLiteral() | ast.IntegerLiteral() | ast.DecimalLiteral() | ast.DoubleLiteral():
                return e
            case _:
                return None


def _all(found: list[ast.Expr | None]) -> tuple[ast.Expr, ...]:
    return tuple([e for e in found if e is not None])

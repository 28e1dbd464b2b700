"""Vertical fusion (VLDB'05 §4.3.2): a variable that stands for an unbounded sequence is replaced by its expression.

    let $b := /stream/pixel[x > 0] return count($b)        count(/stream/pixel[x > 0])

The expression navigates, so that to evaluate it again gives the same nodes, or is read exactly once; or all that read
it copy its items or count them, so that nobody can tell new nodes apart. The copies that ``?[ ]`` and ``#[ ]`` make are
made again where nothing compares nodes. New elements go where they are shown, if that is one place. A variable that
nobody reads goes: to compute it would take a pass.
"""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, descendants, rebuild, with_body
from xstreamcast.model.namespaces import FN
from xstreamcast.operators.aggregates import COUNTING
from xstreamcast.plan.passes.dependence import (
    Dependence,
    bindings,
    focus_of,
    navigates,
    reads,
    repeatable,
    repeated,
    satisfies,
)
from xstreamcast.plan.passes.variables import Names, VarName, fresh_copy, names_of

_BY_IDENTITY: Final = frozenset(
    ("apply", "fold-left", "fold-right", "for-each", "for-each-pair", "generate-id", "innermost", "outermost")
)
"""Functions that may compare nodes, or call others that do."""


def inline_lets(module: ast.Module) -> ast.Module:
    """The module with such variables of its body replaced."""
    return with_body(module, lambda body: _Fuser(Dependence(module), names_of(module), bindings(body)).visit(body))


class _Fuser:
    def __init__(self, dependence: Dependence, names: Names, values: dict[VarName, ast.Expr]) -> None:
        self.dependence = dependence
        self.names = names
        self.values = values

    def visit(self, e: ast.Node) -> ast.Node:
        if not isinstance(e, ast.FLWOR):
            return rebuild(e, self.visit)
        flwor = e
        number = 0
        while number < len(flwor.clauses):
            clause = flwor.clauses[number]
            if isinstance(clause, ast.LetClause):
                rest = ast.FLWOR(flwor.clauses[number + 1 :], flwor.result, span=flwor.span)
                value = self.visit(clause.value)
                assert isinstance(value, ast.Expr)
                if clause.type is None and self.dependence.on(value) and not reads(rest, clause.var.expanded):
                    flwor = ast.FLWOR(flwor.clauses[:number] + rest.clauses, rest.result, span=flwor.span)
                    continue
                if self.fusible(clause, value, rest):
                    rest = self.fuse(rest, clause.var.expanded, value)
                    flwor = ast.FLWOR(flwor.clauses[:number] + rest.clauses, rest.result, span=flwor.span)
                    continue
            number += 1
        made = rebuild(flwor, self.visit)
        return made if made.clauses else made.result

    def fusible(self, clause: ast.LetClause, value: ast.Expr, rest: ast.FLWOR) -> bool:
        if not self.dependence.on(value) or not satisfies(value, clause.type, self.values):
            return False
        name = clause.var.expanded
        grouped = any(isinstance(part, ast.GroupKey) and part.var.expanded == name for part in descendants(rest))
        if grouped or focus_of(value):
            return False
        if isinstance(value, ast.CONSTRUCTORS):
            return not repeated(rest, name) and _is_shown(rest, name)
        if not navigates(value):
            return False
        if _copies(value) and repeated(rest, name) and _tells_apart(rest, name):
            return False
        return repeatable(value) or not repeated(rest, name) or _is_copied(rest, name)

    def fuse(self, rest: ast.FLWOR, name: VarName, value: ast.Expr) -> ast.FLWOR:
        def change(part: ast.Node) -> ast.Node:
            if isinstance(part, ast.VarRef) and part.name.expanded == name:
                copy = fresh_copy(value, self.names)
                # In the content of another element, a new one in braces is copied.
                return ast.Sequence((copy,), span=copy.span) if isinstance(copy, ast.DirectElement) else copy
            return _flat(rebuild(part, change)) if reads(part, name) else part

        made = change(rest)
        assert isinstance(made, ast.FLWOR)
        return made


def _copies(e: ast.Node) -> bool:
    """Whether nodes may be copies that are made by lifespans."""
    return any(isinstance(part, ast.IntervalProjection | ast.VersionProjection) for part in descendants(e))


def _tells_apart(e: ast.Node, name: VarName) -> bool:
    """Whether the nodes of a variable may be compared with each other: by an operator on nodes, a path from a sequence
    in which they may be twice, or a function."""
    several: dict[VarName, None] = {}
    for part in descendants(e):
        among = any(reads(part, one) for one in (name, *several))
        match part:
            case ast.Union() | ast.Intersect() | ast.Except() | ast.NodeComparison():
                return True
            case ast.Path(steps=(ast.VarRef(name=of), *_)):
                if of.expanded in several:
                    return True
            case ast.Path(steps=(first, *_)):
                if not isinstance(first, ast.AxisStep) and any(reads(first, one) for one in (name, *several)):
                    return True
            case ast.LetClause() if among:
                several[part.var.expanded] = None
            case ast.FunctionCall() if among and (part.name.uri != FN or part.name.local in _BY_IDENTITY):
                return True
            case ast.DynamicCall() if among:
                return True
            case _:
                pass
    return False


def _is_shown(e: ast.Node, name: VarName) -> bool:
    """Whether a variable is read only where its value is, as it is, the value of an expression or in new elements."""
    match e:
        case _ if not reads(e, name) or isinstance(e, ast.VarRef):
            return True
        case ast.FLWOR():
            return not any(reads(clause, name) for clause in e.clauses) and _is_shown(e.result, name)
        case ast.If():
            return not reads(e.condition, name) and _is_shown(e.then, name) and _is_shown(e.otherwise, name)
        case ast.DirectElement():
            around = (*e.namespaces, *e.attributes)
            return not any(reads(part, name) for part in around) and all(_is_shown(part, name) for part in e.content)
        case ast.ComputedElement():
            return not (isinstance(e.name, ast.Expr) and reads(e.name, name)) and _is_shown(e.content, name)
        case ast.Sequence() | ast.ComputedDocument():
            return all(_is_shown(part, name) for part in children(e))
        case _:
            return False


def _is_copied(e: ast.Node, name: VarName) -> bool:
    """Whether whatever reads a variable makes copies of its nodes, or looks at nothing but how many there are."""
    if isinstance(e, ast.DirectElement | ast.ComputedElement):
        within = [e.content] if isinstance(e, ast.ComputedElement) else e.content
        parts = [part for one in within for part in (one.items if isinstance(one, ast.Sequence) else (one,))]
        others = [part for part in children(e) if not any(part is one for one in within)]
        inside = [part for part in parts if not isinstance(part, ast.VarRef)]
        return all(_is_copied(part, name) for part in (*others, *inside))
    if isinstance(e, ast.FunctionCall) and e.name.uri == FN and e.name.local in COUNTING and len(e.args) == 1:
        return isinstance(e.args[0], ast.VarRef) or _is_copied(e.args[0], name)
    if isinstance(e, ast.VarRef):
        return e.name.expanded != name
    return all(_is_copied(part, name) for part in children(e))


def _flat(node: ast.Node) -> ast.Node:
    """``(a/b)/c`` as the one path that it is."""
    if isinstance(node, ast.Path) and isinstance(node.steps[0], ast.Path):
        return ast.Path((*node.steps[0].steps, *node.steps[1:]), span=node.span)
    return node

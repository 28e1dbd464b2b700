"""Expressions that distribute over cuts of a document: what is known of one, and how it becomes a longer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.names import ELEMENT
from xstreamcast.plan.algebra import VarName
from xstreamcast.plan.decompose.paths import owner, scan_test
from xstreamcast.plan.decompose.record_paths import Where
from xstreamcast.plan.passes.variables import substitute
from xstreamcast.scan.path import Path, Step


@dataclass(frozen=True, slots=True)
class Loop:
    """``for $variable in path return body``.

    ``written``: where nodes of the path are inside each other, that loop is meant. Otherwise what comes of the inner
    ones may stand between what comes of the outer, and the loop is as good only where none is inside another.
    """

    variable: ast.Name
    path: Path
    source: ast.Expr
    body: ast.Expr
    written: bool = True


@dataclass(frozen=True, slots=True)
class Spread:
    """An expression that distributes."""

    expr: ast.Expr
    root: VarName
    path: Path
    """Where its items are as long as it is ``bare``; later, where its record is."""
    bare: bool
    """It is a path, and nothing has looked at its nodes."""
    records: tuple[Path, ...] = ()
    where: Where = 0
    """Where the items are, seen from the record."""
    loop: Loop | None = None
    container: bool = False
    """The record is one because of positions among its children."""
    counted: ast.AxisStep | None = None
    """``//b[p][2]``: the loop is over those of the children of this step that have certain numbers, ``chosen``."""
    chosen: tuple[int, int | None, bool] | None = None

    @property
    def cuts(self) -> tuple[Path, ...]:
        """The paths outside of which a cut must fall."""
        return (owner(self.path)[0],) if self.bare else self.records


def extended(found: Spread, step: ast.AxisStep, deep: bool) -> Spread | None:
    """A bare path, one step further; None if the scan knows no such step."""
    test = scan_test(step)
    if test is None or (found.path.steps and found.path.steps[-1].test.kind != ELEMENT):
        return None
    if step.axis in ("child", "attribute"):
        further = Step(test, deep)
    elif step.axis == "descendant" or (
        step.axis == "descendant-or-self" and not found.path.steps and step.test != ast.KindTest("node")
    ):
        further = Step(test, True)
    else:
        return None
    return replace(found, path=Path((*found.path.steps, further)))


def spliced(before: list[ast.Expr], body: ast.Expr, e: ast.Path) -> ast.Expr:
    """The path again: its bare beginning, and what became of the rest."""
    first, after = (body.steps[0], body.steps[1:]) if isinstance(body, ast.Path) else (body, ())
    last = before[-1]
    if isinstance(first, ast.Filter):
        assert isinstance(last, ast.AxisStep)
        last = ast.AxisStep(last.axis, last.test, first.predicates, span=last.span)
    steps = (*before[:-1], last, *after)
    return steps[0] if len(steps) == 1 else ast.Path(steps, span=e.span)


def is_itself(e: ast.Expr, variable: ast.Name) -> bool:
    """Whether an expression gives what a variable is bound to, or nothing."""
    if isinstance(e, ast.If):
        return e.otherwise == ast.Sequence() and is_itself(e.then, variable)
    return (e.base if isinstance(e, ast.Filter) else e) == ast.VarRef(variable)


def in_loop(loop: Loop | None, variable: ast.Name, body: ast.Expr) -> Loop | None:
    """A loop whose items go through one more body."""
    if loop is None:
        return None
    if loop.body == ast.VarRef(loop.variable):
        return replace(loop, variable=variable, body=body)
    return replace(loop, body=substitute(body, {variable.expanded: loop.body}))


def begin_with(paths: list[Path], start: Path) -> bool:
    """Whether all paths lead through the nodes of another."""
    return all(path.steps[: len(start.steps)] == start.steps for path in paths)


def under(clauses: Sequence[ast.Clause], e: ast.Expr) -> ast.Expr:
    """An expression under the clauses of a loop, if there are any."""
    return ast.FLWOR(tuple(clauses), e, span=e.span) if clauses else e


def described(clause: ast.Clause) -> str:
    """A clause by its words."""
    match clause:
        case ast.OrderClause():
            return "order by"
        case ast.GroupClause():
            return "group by"
        case ast.CountClause():
            return "count"
        case ast.WindowClause():
            return "a window"
        case _:
            return "a loop"


def blamed(e: ast.FLWOR, clause: ast.Clause) -> ast.Expr:
    """The FLWOR, with the place of one of its clauses."""
    return ast.FLWOR(e.clauses, e.result, span=clause.span)

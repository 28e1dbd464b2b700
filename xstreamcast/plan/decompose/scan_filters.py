"""Conditions on a record that the scan itself can test: ``relative-path op literal``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, cast

from xstreamcast.lang import ast
from xstreamcast.plan.algebra import RecordTest, VarName
from xstreamcast.plan.decompose.distributed import Spread
from xstreamcast.plan.decompose.paths import scan_test
from xstreamcast.plan.passes.shapes import is_fn
from xstreamcast.scan.path import Path, Step

Relation = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "exists"]
_MIRRORED: Final = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def tests_of(spread: Spread) -> tuple[RecordTest, ...]:
    """Tests that a record must pass to give items."""
    if spread.bare or len(spread.records) != 1 or spread.container:
        return ()
    record = spread.records[0]
    found = []
    for variable, condition in _conditions(spread.expr, spread.root, record):
        for part in condition.operands if isinstance(condition, ast.And) else (condition,):
            test = _test(part, variable, record)
            if test is not None:
                found.append(test)
    return tuple(dict.fromkeys(found))


def _conditions(e: ast.Expr, root: VarName, record: Path) -> Iterator[tuple[VarName | None, ast.Expr]]:
    """The conditions on the record itself, with the variable it has in them (None: it is the focus)."""
    match e:
        case ast.Path():
            at = _record_step(e, root, record)
            if at is not None:
                step = e.steps[at]
                assert isinstance(step, ast.AxisStep)
                yield from ((None, predicate) for predicate in step.predicates)
        case ast.Filter():
            if _is_record(e.base, root, record):
                yield from ((None, predicate) for predicate in e.predicates)
        case ast.FLWOR():
            yield from _loop_conditions(e, root, record)


def _loop_conditions(e: ast.FLWOR, root: VarName, record: Path) -> Iterator[tuple[VarName | None, ast.Expr]]:
    for number, clause in enumerate(e.clauses):
        if not isinstance(clause, ast.ForClause):
            if isinstance(clause, ast.LetClause):
                continue
            return
        yield from _conditions(clause.source, root, record)
        if _is_record(clause.source, root, record):
            for later in e.clauses[number + 1 :]:
                if isinstance(later, ast.WhereClause):
                    yield clause.var.expanded, later.condition
                elif not isinstance(later, ast.LetClause):
                    return
        return


def _is_record(e: ast.Expr, root: VarName, record: Path) -> bool:
    return isinstance(e, ast.Path) and _record_step(e, root, record) == len(e.steps) - 1


def _record_step(e: ast.Path, root: VarName, record: Path) -> int | None:
    """The step of a path from the document whose nodes are the records."""
    if not (isinstance(e.steps[0], ast.VarRef) and e.steps[0].name.expanded == root):
        return None
    steps: list[Step] = []
    deep = False
    for number, step in enumerate(e.steps[1:], 1):
        if not isinstance(step, ast.AxisStep):
            return None
        made, deep = _step(step, deep)
        if made is None:
            if deep:
                continue
            return None
        steps.append(made)
        if len(steps) == len(record.steps):
            return number if Path(tuple(steps)) == record else None
        if step.predicates:
            return None
    return None


def _step(step: ast.AxisStep, deep: bool) -> tuple[Step | None, bool]:
    """The scan's step, and whether a ``//`` waits for the next one."""
    if step == _ANYWHERE:
        return None, True
    test = scan_test(step)
    if test is None or step.axis not in ("child", "attribute", "descendant"):
        return None, False
    return Step(test, deep or step.axis == "descendant"), False


_ANYWHERE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))


def _test(e: ast.Expr, variable: VarName | None, record: Path) -> RecordTest | None:
    if isinstance(e, ast.GeneralComparison):
        for side, other, op in ((e.left, e.right, e.op), (e.right, e.left, _MIRRORED[e.op])):
            path, value = relative(side, variable), _literal(other)
            if path is not None and value is not None:
                return RecordTest(record / path, cast(Relation, op), value)
        return None
    if isinstance(e, ast.FunctionCall) and is_fn(e, "exists", 1):
        e = e.args[0]
    elif isinstance(e, ast.FunctionCall) and is_fn(e, "not", 1) and is_fn(e.args[0], "empty", 1):
        e = cast(ast.FunctionCall, e.args[0]).args[0]
    elif isinstance(e, ast.Quantified):
        return _some_contains(e, variable, record)
    path = relative(e, variable)
    return None if path is None or not path.steps else RecordTest(record / path, "exists")


def _some_contains(e: ast.Quantified, variable: VarName | None, record: Path) -> RecordTest | None:
    """``some $a in path satisfies contains($a, "text")``."""
    if e.every or len(e.bindings) != 1 or e.bindings[0].type is not None:
        return None
    condition = e.condition
    if not (isinstance(condition, ast.FunctionCall) and is_fn(condition, "contains", 2)):
        return None
    path, text = relative(e.bindings[0].source, variable), condition.args[1]
    if path is None or condition.args[0] != ast.VarRef(e.bindings[0].var) or not isinstance(text, ast.StringLiteral):
        return None
    return RecordTest(record / path, "contains", text.value)


def _literal(e: ast.Expr) -> str | float | None:
    match e:
        case ast.StringLiteral():
            return e.value
        case ast.IntegerLiteral() | ast.DecimalLiteral() | ast.DoubleLiteral():
            return float(e.value)
        case _:
            return None


def relative(e: ast.Expr, variable: VarName | None) -> Path | None:
    """The path of nodes below the record."""
    if variable is None:
        steps = e.steps if isinstance(e, ast.Path) else (e,)
        if steps and steps[0] == ast.ContextItem():
            steps = steps[1:]
    else:
        steps = e.steps if isinstance(e, ast.Path) else (e,)
        if not (isinstance(steps[0], ast.VarRef) and steps[0].name.expanded == variable):
            return None
        steps = steps[1:]
    made: list[Step] = []
    deep = False
    for step in steps:
        if not isinstance(step, ast.AxisStep) or step.predicates:
            return None
        found, deep = _step(step, deep)
        if found is not None:
            made.append(found)
        elif not deep:
            return None
    return None if deep else Path(tuple(made))

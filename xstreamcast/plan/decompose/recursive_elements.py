"""Loops over elements that may be inside each other: ``//*[b]``, ``count(//*)``, ``for $s in //s return count($s//b)``.

    E(a ⊎ b) = E(a) ++ E(b)

holds for cuts inside of such an element, too, if what comes of it stands in the order of the elements themselves and is
about its name, its attributes, and values of what is in it that units of their own follow. So an element is a record by
itself wherever there is a hole in it, and a change costs what it is about, not the outermost element.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.names import ATTRIBUTE, ELEMENT
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.algebra import (
    Choice,
    Concat,
    Each,
    Nest,
    Rank,
    Reduce,
    Reduction,
    Unit,
    VarName,
    is_ordered,
    is_weak,
    reads_items,
)
from xstreamcast.plan.decompose.distributed import Loop, Spread
from xstreamcast.plan.decompose.folds import is_one
from xstreamcast.plan.decompose.frames import Aggregates, conditional, fused
from xstreamcast.plan.decompose.paths import nested
from xstreamcast.plan.decompose.record_paths import Blocking
from xstreamcast.plan.decompose.unit_view import seen_by
from xstreamcast.plan.passes.dependence import call_key
from xstreamcast.plan.passes.shapes import boolean
from xstreamcast.plan.passes.variables import free, substitute
from xstreamcast.plan.projection.project import project
from xstreamcast.scan.automaton import Action
from xstreamcast.scan.path import NodeTest, Path, Step

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition
    from xstreamcast.scan.automaton import Target

_SIDEWAYS: Final = frozenset(("self", "attribute"))
_UPWARD: Final = frozenset(("self", "attribute", "parent", "ancestor", "ancestor-or-self"))
_SHARED_OUT: Final = frozenset(("self", "attribute", "child"))
"""Axes on which no two nodes lead to the same one."""


def each_of(work: Decomposition, spread: Spread, lets: tuple[ast.LetClause, ...], reduction: Reduction) -> Nest | None:
    """How a loop is computed where its elements may be inside each other; None if they are one record together."""
    loop = _loop_of(work, spread)
    if loop is None or not nested(loop.path) or loop.path.steps[-1].test.kind != ELEMENT:
        return None
    record = loop.variable.expanded
    if not loop.written and not _in_order(loop.body, record, reduction):
        return None if lets or spread.counted is not None else _of_children(work, loop, reduction)
    whole = ast.FLWOR(lets, loop.body, span=loop.body.span) if lets else loop.body
    inner = work.inside(record, loop.path)
    forget = work.mark()
    open_body = _opened(conditional(whole, record), loop.variable)
    body = Aggregates(inner, record, positions=True, paths=True).visit(fused(open_body, record))
    try:
        made = _each(work, inner, body, whole, loop, reduction, _choice(inner, spread, loop, whole))
    except Blocking:
        made = None
    if made is None:
        forget()
    return made


def _of_children(work: Decomposition, loop: Loop, reduction: Reduction) -> Nest | None:
    """``//a[p]/c``, whose items stand in another order than the ``a``: it is about the ``c`` of certain parents."""
    first, *steps = loop.body.steps if isinstance(loop.body, ast.Path) else (loop.body,)
    step = steps[0] if steps else None
    test = _test_of(loop.path)
    if not isinstance(first, ast.Filter) or first.base != ast.VarRef(loop.variable) or test is None:
        return None
    if not isinstance(step, ast.AxisStep) or step.axis != "child" or not all(boolean(p) for p in step.predicates):
        return None
    if not isinstance(step.test, ast.NameTest | ast.Wildcard):
        return None
    record, path = loop.variable.expanded, Path((Step(NodeTest(ELEMENT), True),))
    own: ast.Expr = ast.Filter(first.base, step.predicates, span=step.span) if step.predicates else first.base
    whole = ast.Path((own, *steps[1:]), span=loop.body.span) if steps[1:] else own
    if not _in_order(whole, record, reduction):
        return None
    parent = conditional(ast.Filter(first.base, first.predicates, span=first.span), record)
    if not isinstance(parent, ast.If):
        return None
    condition = parent.condition
    if isinstance(test, ast.NameTest):
        named = ast.Path((first.base, ast.AxisStep("self", test)), span=first.span)
        there = ast.FunctionCall(ast.Name("fn", "exists", FN), (named,), span=first.span)
        condition = ast.And((there, condition), span=first.span)
    inner = work.inside(record, path)
    forget = work.mark()
    aggregates = Aggregates(inner, record, positions=True, paths=True)
    try:
        guard = aggregates.visit(condition)
        body = aggregates.visit(fused(conditional(whole, record), record))
        above = ast.AxisStep("descendant-or-self", test, first.predicates, span=first.span)
        inside = ast.Path((first.base, above, *steps), span=loop.body.span)
        counted = inner.reduced(
            step, ast.Path((first.base, ast.AxisStep("child", step.test)), span=step.span), Reduce("count")
        )
        assert isinstance(counted, ast.VarRef)
        choice = Choice(counted.name.expanded, inside, 1, None, parent=guard)
        made = None
        if _is_shallow(work, guard, record, path):
            every = Loop(loop.variable, path, loop.source, whole, False)
            made = _each(work, inner, body, whole, every, reduction, choice)
    except Blocking:
        made = None
    if made is None:
        forget()
    return made


def _test_of(path: Path) -> ast.NameTest | ast.Wildcard | None:
    """The elements of ``//a`` or ``//*``, as a step has them."""
    step = path.steps[0]
    if len(path.steps) > 1 or not step.deep:
        return None
    if step.test.uri is None and step.test.local is None:
        return ast.Wildcard(None, None, None)
    if step.test.uri is None or step.test.local is None:
        return None
    return ast.NameTest(ast.Name("", step.test.local, step.test.uri))


def _opened(e: ast.Expr, variable: ast.Name) -> ast.Expr:
    """``for $x in (if (c) then $record else ()) return e`` as ``if (c) then e else ()``."""
    loop = e.clauses[0] if isinstance(e, ast.FLWOR) else None
    if not isinstance(e, ast.FLWOR) or not isinstance(loop, ast.ForClause) or not isinstance(loop.source, ast.If):
        return e
    plain = loop.type is None and loop.position is None and not loop.allowing_empty
    if not plain or loop.source.then != ast.VarRef(variable) or loop.source.otherwise != ast.Sequence():
        return e
    if any(isinstance(part, ast.GroupKey) for part in descendants(e)):
        return e  # a variable may be named there without being read
    rest = ast.FLWOR(e.clauses[1:], e.result, span=e.span) if e.clauses[1:] else e.result
    then = substitute(rest, {loop.var.expanded: loop.source.then})
    return ast.If(loop.source.condition, then, ast.Sequence(), span=e.span)


def _choice(inner: Decomposition, spread: Spread, loop: Loop, whole: ast.Expr) -> Choice | None:
    """The choice by number among the children of each instance."""
    if spread.counted is None or spread.chosen is None:
        return None
    record, source = ast.VarRef(loop.variable), loop.source
    assert isinstance(source, ast.Path)
    below = ast.Path((record, spread.counted), span=source.span)
    counted = inner.reduced(source, below, Reduce("count"))
    assert isinstance(counted, ast.VarRef)
    inside = ast.ForClause(loop.variable, None, False, None, ast.Path((record, *source.steps[1:]), span=source.span))
    return Choice(counted.name.expanded, ast.FLWOR((inside,), whole, span=source.span), *spread.chosen)


def _each(
    work: Decomposition,
    inner: Decomposition,
    body: ast.Expr,
    whole: ast.Expr,
    loop: Loop,
    reduction: Reduction,
    choice: Choice | None,
) -> Nest | None:
    record = loop.variable.expanded
    keeps = any(not isinstance(unit.reduction, Reduce) for unit in inner.units)
    if keeps:
        inner.kept_below(body)
    units = [_one_step(work, unit, loop.path) for unit in inner.units]
    known = [unit for unit in units if unit is not None]
    if len(known) < len(units):
        return None
    deep = frozenset(unit.variable for unit in known if _is_deep(unit))
    if not (_may_be_all(loop.path) or deep or any(not is_weak(unit.reduction) for unit in known)):
        return None  # such elements are small, and come in one piece
    guard, reads = _guard(body), not _is_shallow(work, body, record, loop.path, reads_items(reduction))
    if guard is not None and not _is_shallow(work, guard, record, loop.path):
        guard = None
    if reads and guard is None and choice is None:
        return None
    one = is_one(reduction) and not isinstance(reduction, Rank)
    if (reads or keeps) and not (isinstance(reduction, Concat | Reduce) or one):
        return None
    shallow = frozenset(unit.variable for unit in known if not _is_deep(unit) and _looks_at_tops(work, unit, loop.path))
    if choice is not None:  # the root element is a child, too
        known = [_anywhere(unit) if unit.variable == choice.counted else unit for unit in known]
    return Nest(record, loop.path, tuple(known), body, (), True, Each(whole, guard, reads, deep, shallow, choice))


def _loop_of(work: Decomposition, spread: Spread) -> Loop | None:
    """The loop of an expression; of a path that nothing has looked at, that over its elements."""
    if not spread.bare:
        return spread.loop
    return work.spreading().looked(spread).loop


def _in_order(e: ast.Expr, record: VarName, reduction: Reduction) -> bool:
    """Whether what comes of elements, one after the other, is in the order of a path, and nothing comes twice."""
    if isinstance(e, ast.If):
        return e.otherwise == ast.Sequence() and _in_order(e.then, record, reduction)
    first, *steps = e.steps if isinstance(e, ast.Path) else (e,)
    while isinstance(first, ast.Path):
        first, *steps = *first.steps, *steps
    if isinstance(first, ast.Filter):
        first = first.base
    if first != ast.VarRef(ast.Name("", record[1], record[0])):
        return False
    if steps and _is_atomic(steps[-1]):
        steps.pop()
    unordered = not is_ordered(reduction)
    axes = _SHARED_OUT if unordered else _SIDEWAYS
    return all(isinstance(step, ast.AxisStep) and step.axis in axes for step in steps)


def _is_atomic(e: ast.Expr) -> bool:
    """Whether a step gives atomic values: they come in the order of the nodes."""
    if not isinstance(e, ast.FunctionCall):
        return False
    entry = lookup(e.name.uri or "", e.name.local, len(e.args))
    return entry is not None and isinstance(entry.result.item, AtomicType)


def _one_step(work: Decomposition, unit: Unit, path: Path) -> Unit | None:
    """A unit whose records are one step below an instance; None if that cannot be."""
    count = len(path.steps)
    found = [target.path for target in _seen(work, unit, path)] if not unit.records else []
    records = unit.records or tuple([record for record in found if len(record.steps) > count])
    tops = tuple(dict.fromkeys([Path(record.steps[: count + 1]) for record in records]))
    for top in tops:
        if len(top.steps) <= count or top.steps[:count] != path.steps or top.steps[-1].test.kind != ELEMENT:
            return None
    if not tops or unit.nest is not None or len({top.steps[-1].deep for top in tops}) > 1:
        return None
    return replace(unit, records=tops)


def _anywhere(unit: Unit) -> Unit:
    """A unit of the children of elements, and of the document."""
    tops = [Path((Step(record.steps[-1].test, True),)) for record in unit.records]
    return replace(unit, records=tuple(tops))


def _seen(work: Decomposition, unit: Unit, path: Path) -> tuple[Target, ...]:
    return project(seen_by(unit), {unit.root: path}, module=work.module, whole=reads_items(unit.reduction))[unit.root]


def _is_deep(unit: Unit) -> bool:
    return unit.records[0].steps[-1].deep


def _may_be_all(path: Path) -> bool:
    """Whether the root is among the elements of a path, whatever its name."""
    return path.steps[-1].test.local is None


def _guard(e: ast.Expr) -> ast.Expr | None:
    """The condition that must be true for an expression to give anything at all."""
    if isinstance(e, ast.If) and e.otherwise == ast.Sequence():
        return e.condition
    if isinstance(e, ast.FLWOR) and all(isinstance(clause, ast.WhereClause) for clause in e.clauses):
        conditions = tuple([clause.condition for clause in e.clauses if isinstance(clause, ast.WhereClause)])
        return conditions[0] if len(conditions) == 1 else ast.And(conditions, span=e.span)
    return None


def _is_shallow(work: Decomposition, e: ast.Expr, record: VarName, path: Path, whole: bool = True) -> bool:
    """Whether an expression looks at no more of a record than its name and attributes, and those around it.

    ``whole``: what is in the nodes that it gives is looked at.
    """
    if record not in free(e):
        return True
    for part in descendants(e):
        if isinstance(part, ast.AxisStep) and part.axis not in _UPWARD:
            return False
        if call_key(part) in work.functions:
            return False
    seen = project(e, {record: path}, module=work.module, whole=whole)
    return all(target.action == Action.KEEP for target in seen[record])


def _looks_at_tops(work: Decomposition, unit: Unit, path: Path) -> bool:
    """Whether a unit looks at no more of its records than their names and attributes."""
    count = len(path.steps) + 1
    for target in _seen(work, unit, path):
        attribute = target.path.steps[-1].test.kind == ATTRIBUTE and not target.path.steps[-1].deep
        if target.action != Action.KEEP or len(target.path.steps) - attribute > count:
            return False
    return True

"""Tuples by their number, over what changes: ``for $x at $i``, ``count $i``, ``reverse``, choices of positions.

    for $x at $i in E return R             Rank of   for $x in E return [columns of $x]      R for each, with its number
    for … order by k count $i return R     Rank of   for … return [k, columns]
    tail(E), E[last()], reverse(E)         Rank of   for $x in E return [$x]

The rows stand in an order tree, so that the number of one is known in O(log n). When rows come or go, those behind them
are others only if their numbers show; and a choice lets in or leaves out as many as have come or gone before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.algebra import PLAN, Rank, Slice, VarName
from xstreamcast.plan.decompose.collect import Columns, bound_in, goes_deep, of_record
from xstreamcast.plan.decompose.joins import data
from xstreamcast.plan.decompose.record_paths import APART, FOREIGN, MIXED, Blocking, Where
from xstreamcast.plan.decompose.rows import conjuncts
from xstreamcast.plan.passes.dependence import POSITION, focus_of, repeatable
from xstreamcast.plan.passes.shapes import is_fn, nodes, slice_of
from xstreamcast.plan.passes.variables import free

if TYPE_CHECKING:
    from xstreamcast.plan.decompose.units import Decomposition

_FORWARD: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)
_NUMBER: Final = {"=": "=", "eq": "=", "<": "<", "lt": "<", "<=": "<=", "le": "<=", ">": ">", "gt": ">", ">=": ">="}


@dataclass(frozen=True, slots=True)
class _Tuples:
    """Tuples in some order: the clauses that make them, what they are sorted by, and which of them are chosen."""

    clauses: tuple[ast.Clause, ...]
    keys: tuple[ast.OrderKey, ...] = ()
    chosen: Slice | None = None
    from_end: bool = False
    backward: bool = False


def ranked(work: Decomposition, e: ast.Expr) -> ast.Expr | None:
    """An expression about numbered tuples as a unit; None if it is none, or not over a document."""
    forget = work.mark()
    try:
        if isinstance(e, ast.FLWOR):
            return _numbered(work, e)
        by_number = _tested(work, e)
        if by_number is not None:
            return _numbered(work, by_number)
        found = _chosen(work, e)
        if found is not None and found[1].keys == () and not (found[1].from_end or found[1].backward):
            # A short choice is found through the counts.
            chosen = found[1].chosen
            found = None if chosen is None or chosen.last is not None else found
        return None if found is None else _unit(work, e, found[1], ast.VarRef(found[0]), None)
    except Blocking:
        forget()
        return None


# ---------------------------------------------------------------------------------------------------- loops


def _numbered(work: Decomposition, e: ast.FLWOR) -> ast.Expr | None:
    """A loop that counts its tuples, or one over a choice."""
    first = e.clauses[0]
    if isinstance(first, ast.ForClause) and work.reads(first.source) and first.type is None:
        if first.position is not None and not first.allowing_empty:
            loop = ast.ForClause(first.var, None, False, None, first.source, span=first.span)
            return _counted(work, e, _Tuples((loop,)), first.position, e.clauses[1:])
        found = None if first.allowing_empty else _chosen(work, first.source)
        if found is not None and all(isinstance(clause, _FORWARD) for clause in e.clauses[1:]):
            over = ast.ForClause(first.var, None, False, None, ast.VarRef(found[0]), span=first.span)
            body = ast.FLWOR((over, *e.clauses[1:]), e.result, span=e.span)
            return _unit(work, e, found[1], body, None)
    at = next((n for n, clause in enumerate(e.clauses) if not isinstance(clause, _FORWARD)), None)
    if at is None or not any(isinstance(c, ast.ForClause) and work.reads(c.source) for c in e.clauses[:at]):
        return None
    keys: tuple[ast.OrderKey, ...] = ()
    counter, after = e.clauses[at], e.clauses[at + 1 :]
    if isinstance(counter, ast.OrderClause) and after:
        keys, counter, after = counter.keys, after[0], after[1:]
    if not isinstance(counter, ast.CountClause):
        return None
    return _counted(work, e, _Tuples(e.clauses[:at], keys), counter.var, after)


def _counted(
    work: Decomposition, e: ast.FLWOR, tuples: _Tuples, position: ast.Name, after: tuple[ast.Clause, ...]
) -> ast.Expr | None:
    if not all(isinstance(clause, _FORWARD) for clause in after):
        return None
    if after and isinstance(after[0], ast.WhereClause):
        condition, *others = conjuncts(after[0].condition)
        chosen = _bounds(condition, position.expanded)
        if chosen is not None:
            tuples = replace(tuples, chosen=chosen)
            rest = others[0] if len(others) == 1 else ast.And(tuple(others), span=after[0].span)
            after = (*((ast.WhereClause(rest, span=after[0].span),) if others else ()), *after[1:])
    body = ast.FLWOR(after, e.result, span=e.span) if after else e.result
    return _unit(work, e, tuples, body, position.expanded)


def _bounds(e: ast.Expr, position: VarName) -> Slice | None:
    """``$i <= 3``: the numbers that a condition lets pass."""
    if not isinstance(e, ast.GeneralComparison | ast.ValueComparison) or not isinstance(e.left, ast.VarRef):
        return None
    if e.left.name.expanded != position or not isinstance(e.right, ast.IntegerLiteral):
        return None
    n = e.right.value
    ranges = {"=": (n, n), "<=": (1, n), "<": (1, n - 1), ">=": (n, None), ">": (n + 1, None)}
    found = ranges.get(_NUMBER.get(e.op, ""))
    return None if found is None else Slice(max(found[0], 1), found[1])


# -------------------------------------------------------------------------------------------------- choices


def _chosen(work: Decomposition, e: ast.Expr) -> tuple[ast.Name, _Tuples] | None:
    """A choice of the items of a sequence: the variable of an item, and the tuples it is of."""
    found = _choice(e)
    if found is None or not work.reads(found[0]):
        return None
    source, chosen, from_end, backward = found
    item = work.names.fresh(ast.Name("", "item", PLAN))
    clauses: tuple[ast.Clause, ...] = ()
    keys: tuple[ast.OrderKey, ...] = ()
    if isinstance(source, ast.FLWOR):
        at = next((n for n, c in enumerate(source.clauses) if not isinstance(c, _FORWARD)), len(source.clauses))
        sorts = source.clauses[at : at + 1]
        if sorts and isinstance(sorts[0], ast.OrderClause):
            if not all(isinstance(clause, _FORWARD) for clause in source.clauses[at + 1 :]):
                return None
            clauses, keys, after = source.clauses[:at], sorts[0].keys, source.clauses[at + 1 :]
            source = ast.FLWOR(after, source.result, span=source.span) if after else source.result
    over = ast.ForClause(item, None, False, None, source, span=source.span)
    return item, _Tuples((*clauses, over), keys, chosen, from_end, backward)


def _tested(work: Decomposition, e: ast.Expr) -> ast.FLWOR | None:
    """``E[position() mod 2 = 1]``, whose condition is about nothing but the position, as a loop."""
    if not isinstance(e, ast.Filter) or len(e.predicates) != 1 or not work.reads(e.base):
        return None
    test = e.predicates[0]
    if not isinstance(test, ast.GeneralComparison | ast.ValueComparison) or focus_of(test) != POSITION:
        return None
    if slice_of(test) is not None:
        return None
    item, number = (work.names.fresh(ast.Name("", name, PLAN)) for name in ("item", "number"))

    def change(part: ast.Node) -> ast.Node:
        return ast.VarRef(number, span=part.span) if is_fn(part, "position", 0) else rebuild(part, change)

    condition = change(test)
    assert isinstance(condition, ast.Expr)
    loop = ast.ForClause(item, None, False, number, e.base, span=e.span)
    return ast.FLWOR((loop, ast.WhereClause(condition, span=test.span)), ast.VarRef(item), span=e.span)


def _choice(e: ast.Expr) -> tuple[ast.Expr, Slice | None, bool, bool] | None:
    """A sequence, which of its items are chosen, whether from the end, and whether they come backward."""
    if isinstance(e, ast.FunctionCall):
        if is_fn(e, "reverse", 1):
            return e.args[0], None, False, True
        if is_fn(e, "tail", 1):
            return e.args[0], Slice(2, None), False, False
        if (is_fn(e, "subsequence", 2) or is_fn(e, "subsequence", 3)) and all(
            isinstance(arg, ast.IntegerLiteral) for arg in e.args[1:]
        ):
            first, *length = [arg.value for arg in e.args[1:] if isinstance(arg, ast.IntegerLiteral)]
            return e.args[0], Slice(max(first, 1), first + length[0] - 1 if length else None), False, False
    if isinstance(e, ast.Filter):
        *before, last = e.predicates
        base = ast.Filter(e.base, tuple(before), span=e.span) if before else e.base
        found = slice_of(last)
        if found is not None:
            return base, Slice(max(found[0], 1), found[1]), False, False
        back = _from_last(last)
        if back is not None:
            return base, Slice(back + 1, back + 1), True, False
    return None


def _from_last(e: ast.Expr) -> int | None:
    """``last()``, ``last() - 2``."""
    if is_fn(e, "last", 0):
        return 0
    if isinstance(e, ast.Arithmetic) and e.op == "-" and is_fn(e.left, "last", 0):
        return e.right.value if isinstance(e.right, ast.IntegerLiteral) else None
    return None


# ---------------------------------------------------------------------------------------------------- units


def _unit(
    work: Decomposition, e: ast.Expr, tuples: _Tuples, body: ast.Expr, position: VarName | None
) -> ast.Expr | None:
    bound = {name.expanded for clause in tuples.clauses for name in bound_in(clause)}
    fors = [clause for clause in tuples.clauses if isinstance(clause, ast.ForClause)]
    nests = any(goes_deep(clause.source) for clause in fors)
    columns = Columns(work, bound, fors[0].var.expanded if len(fors) == 1 else None, nests, sums=False)
    body = columns.visit(body)
    row = ast.SquareArray((*[data(key.key) for key in tuples.keys], *columns.exprs), span=e.span)
    own = of_record(work, tuples.clauses)
    inside: dict[VarName, Where] = {} if position is None else {position: APART}
    for number, (column, expr) in enumerate(zip(columns.made, columns.exprs, strict=True)):
        inside[column.variable] = FOREIGN - 1 - number if free(expr) & bound <= own else MIXED
    body, _ = work.spreading().body(inside).visit(body, None)
    names = tuple(column.variable for column in columns.made)
    numbered = position if position is not None and position in free(body) else None
    rank = Rank(tuples.keys, names, body, numbered, tuples.chosen, tuples.from_end, tuples.backward)
    unit = work.made(e, work.spreading().visit(ast.FLWOR(tuples.clauses, row, span=e.span)), rank)
    return ast.VarRef(ast.Name("", unit.variable[1], unit.variable[0]), span=e.span)


def in_two(e: ast.Expr) -> ast.Expr | None:
    """An expression as two sequences, one after the other, each of which can be followed; None if it is none.

    if (c) then A else B                     if (c) then A else (), if (not(c)) then B else ()
    switch (v) case 1 return A default B     if (switch (v) case 1 return true() default false()) then A else B
    insert-before(E, 3, X)                   subsequence(E, 1, 2), X, subsequence(E, 3)
    """
    if isinstance(e, ast.Switch | ast.Typeswitch):
        return _first_case(e)
    if isinstance(e, ast.If) and ast.Sequence() not in (e.then, e.otherwise):
        other = ast.FunctionCall(ast.Name("fn", "not", FN), (e.condition,), span=e.condition.span)
        branches = ((e.condition, e.then), (other, e.otherwise))
        return ast.Sequence(tuple([ast.If(c, part, ast.Sequence(), span=part.span) for c, part in branches]))
    if isinstance(e, ast.If) and e.otherwise == ast.Sequence():
        inner = in_two(e.then)
        while isinstance(inner, ast.If):
            inner = in_two(inner)
        if isinstance(inner, ast.Sequence):
            parts = [ast.If(e.condition, part, ast.Sequence(), span=part.span) for part in inner.items]
            return ast.Sequence(tuple(parts), span=e.span)
    if not isinstance(e, ast.FunctionCall) or not (is_fn(e, "remove", 2) or is_fn(e, "insert-before", 3)):
        return None
    at = e.args[1]
    if not isinstance(at, ast.IntegerLiteral):
        return None
    number, behind = max(at.value, 1), at.value + 1 if e.name.local == "remove" else at.value

    def from_to(*bounds: int) -> ast.Expr:
        name = ast.Name("fn", "subsequence", FN)
        return ast.FunctionCall(name, (e.args[0], *[ast.IntegerLiteral(n) for n in bounds]), span=e.span)

    return ast.Sequence((from_to(1, number - 1), *e.args[2:], from_to(max(behind, 1))), span=e.span)


def _first_case(e: ast.Switch | ast.Typeswitch) -> ast.Expr | None:
    """A choice among several as one between the first and the others, of which none binds what it is about."""
    (case, *others), truth = e.cases, [ast.FunctionCall(ast.Name("fn", name, FN)) for name in ("true", "false")]
    if not repeatable(e.operand):
        return None
    if isinstance(e, ast.Switch):
        is_first: ast.Expr = replace(e, cases=(replace(e.cases[0], result=truth[0]),), default=truth[1])
        rest: ast.Expr = replace(e, cases=e.cases[1:]) if others else e.default
    else:
        if e.default_var is not None or any(one.var is not None for one in e.cases):
            return None
        is_first = replace(e, cases=(replace(e.cases[0], result=truth[0]),), default=truth[1])
        rest = replace(e, cases=e.cases[1:]) if others else e.default
    return ast.If(is_first, case.result, rest, span=e.span)


def sorted_by_call(e: ast.FunctionCall, work: Decomposition) -> ast.Expr | None:
    """``sort(E)``, ``sort(E, (), function($x) { k })`` of nodes whose keys are one value each, as ``order by``."""
    if not any(is_fn(e, "sort", arity) for arity in (1, 2, 3)) or not nodes(e.args[0]):
        return None
    if len(e.args) > 1 and e.args[1] != ast.Sequence():
        return None
    item = work.names.fresh(ast.Name("", "item", PLAN))
    if len(e.args) < 3:
        variable, key = item, data(ast.VarRef(item))
    else:
        function = e.args[2]
        if not isinstance(function, ast.InlineFunction) or len(function.params) != 1 or function.result is not None:
            return None
        parameter = function.params[0]
        if parameter.type is not None or not isinstance(function.body, ast.FunctionCall):
            return None
        if not (is_fn(function.body, "string", 1) or is_fn(function.body, "number", 1)):
            return None  # the values of other keys may be several
        variable, key = parameter.name, function.body
    loop = ast.ForClause(variable, None, False, None, e.args[0], span=e.span)
    order = ast.OrderClause(True, (ast.OrderKey(key, False, True, None),), span=e.span)
    return ast.FLWOR((loop, order), ast.VarRef(variable), span=e.span)

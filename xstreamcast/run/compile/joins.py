"""Joins: a loop over something that does not vary, filtered by a comparison with something that does.

``for $a in A for $b in B where K($b) = P($a)`` with B independent of $a: B is indexed by K once, in front of the
outermost loop it does not depend on, and looked up by P. The same for ``<`` and its kin by sorting, for
``some $b in B satisfies …``, and for a predicate ``B[K = P($a)]`` inside a loop.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.focus import VarName
from xstreamcast.run.compile.comparisons import MIRRORED, VALUE_OF, Side, each_side
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import ANY, ORDERED, Body
from xstreamcast.run.compile.values import Rep, Type, Val, one


@dataclass(frozen=True, slots=True)
class Join:
    """A join that has been written: ``index`` holds the indexed side, ``probe`` the values to look up."""

    var: VarName
    where: ast.WhereClause | None
    index: str
    probe: str
    op: str
    type: Type
    level: int
    """How many of the open loops the indexed side depends on."""

    def matches(self) -> str:
        """Source text of the matching items, in order."""
        if self.op == "eq":
            return f"{self.index}.matches({self.probe})"
        return f"{self.index}.matches({self.op!r}, {self.probe})"

    def count(self) -> str:
        if self.op == "eq":
            return f"len({self.matches()})"
        return f"{self.index}.count({self.op!r}, {self.probe})"


@dataclass(frozen=True, slots=True)
class _Split:
    """A comparison taken apart: ``key`` looks at the loop's own item, ``probe`` does not."""

    op: str
    key: ast.Expr
    probe: ast.Expr


def _split(c: Compiler, condition: ast.Expr, own: VarName | None) -> _Split | None:
    """``own``: the loop's variable; None when the loop's item is the focus."""
    if isinstance(condition, ast.GeneralComparison):
        op = VALUE_OF[condition.op]
    elif isinstance(condition, ast.ValueComparison):
        op = condition.op
    else:
        return None
    if op == "ne":
        return None
    left, right = _depends(c, condition.left, own), _depends(c, condition.right, own)
    if left and not right:
        return _Split(op, condition.left, condition.right)
    if right and not left:
        return _Split(MIRRORED[op], condition.right, condition.left)
    return None


def _depends(c: Compiler, e: ast.Expr, own: VarName | None) -> bool:
    if own is None:
        return bool(c.analysis.focus(e))
    return own in c.analysis.names(e)


def find_join(c: Compiler, clause: ast.ForClause, rest: list[ast.Clause], scope: Scope) -> Join | None:
    """A join of this loop with what is around it, by one of the conditions that follow at once."""
    if not _worthwhile(c, clause.source, scope):
        return None
    own = clause.var.expanded
    for other in rest:
        if not isinstance(other, ast.WhereClause):
            break
        split = _split(c, other.condition, own)
        if split is None or isinstance(other.condition, ast.ValueComparison):
            continue
        join = _write(c, clause.source, clause.var, split, scope)
        if join is not None:
            return replace(join, where=other)
    return None


def _worthwhile(c: Compiler, source: ast.Expr, scope: Scope) -> bool:
    """The source is the same in an enclosing loop, and worth keeping."""
    if c.level(source, scope) >= c.open_loops or not c.analysis.repeatable(source):
        return False
    return isinstance(source, (ast.Path, ast.Filter, ast.VarRef, ast.FLWOR))


def _write(c: Compiler, source: ast.Expr, var: ast.Name | None, split: _Split, scope: Scope) -> Join | None:
    """Write index and probe; None (and nothing written) if the types do not allow it."""
    out = c.out
    if not c.plain_collation(scope) or not c.analysis.repeatable(split.key) or id(split.key) in c.no_joins:
        return None
    own = var.expanded if var is not None else None
    level = max(c.level(source, scope), _level_without(c, split.key, own, scope))
    if level >= c.open_loops:
        return None
    cell = c.hoisted(level)
    index = out.fresh("x")
    kinds: list[str] = []
    types: list[Type] = []
    with out.capture() as lines, out.sealed():
        out.line(f"{index} = {cell}[0]")
        with out.block(f"if {index} is None:"):
            out.line(f"{index} = {cell}[0] = {'ValueIndex' if split.op == 'eq' else 'RangeIndex'}()")

            def add(item: Val) -> None:
                types.append(item.type)
                held = c.bind(one(c.item(item), item.type))
                out.line(f"{index}.items.append({held.code})")
                if own is not None:
                    assert var is not None
                    inner = c.declare(scope, (var, item if item.rep is Rep.ROW else held))
                else:
                    inner = c.focused(scope, item if item.rep is Rep.ROW else held)

                def key(side: Side) -> None:
                    kinds.append(side.kind)
                    if split.op == "eq" and side.raw:
                        out.line(f"{index}.add_text({side.code})")
                    else:
                        out.line(f"{index}.add({side.typed})")

                c.each(split.key, inner, lambda k: each_side(c, k, key), ANY)

            from xstreamcast.run.compile.expressions import each_once

            each_once(c, source, scope, add, ORDERED)
        probes: list[Side] = []
        probe = out.fresh("l")
        out.line(f"{probe} = []")

        def look(side: Side) -> None:
            probes.append(side)
            out.line(f"{probe}.append({side.typed})")

        c.each(split.probe, scope, lambda item: each_side(c, item, look), ANY)
    if not types or not kinds or not probes or (split.op != "eq" and not _ordered(kinds, probes)):
        # Remembered, or nested attempts would double the work at every level.
        c.no_joins[id(split.key)] = split.key
        return None
    out.lines.extend(lines)
    return Join(own or ("", ""), None, index, probe, MIRRORED[split.op], c.joined(types), level)


def _level_without(c: Compiler, e: ast.Expr, own: VarName | None, scope: Scope) -> int:
    """The level of an expression, its own item not counted."""
    if own is None:
        return c.level(e, scope.with_focus(replace(scope.focus, frame=None)))
    variables = {name: var for name, var in scope.variables.items() if name != own}
    return c.level(e, replace(scope, variables=variables))


def _ordered(kinds: list[str], probes: list[Side]) -> bool:
    """Whether one order serves all pairs: numbers against numbers or untyped text, text against text."""
    keys, others = set(kinds), {side.kind for side in probes}

    def numbers(some: set[str]) -> bool:
        return all(Type(kind).is_number for kind in some)

    if numbers(keys):
        return numbers(others) or others == {"untyped"}
    return numbers(others) and keys == {"untyped"}


def joined_quantifier(c: Compiler, binding: ast.QuantifiedBinding, condition: ast.Expr, scope: Scope) -> str | None:
    """``some $b in B satisfies K($b) = P`` as a look-up."""
    if not _worthwhile(c, binding.source, scope):
        return None
    split = _split(c, condition, binding.var.expanded)
    if split is None or split.op != "eq" or isinstance(condition, ast.ValueComparison):
        return None
    join = _write(c, binding.source, binding.var, split, scope)
    return join.matches() if join is not None else None


def indexed_step(c: Compiler, steps: tuple[ast.Expr, ...], scope: Scope) -> tuple[int, Join] | None:
    """The first step of a path that ends in a look-up: ``…/x[K = P]`` with the path up to x the same in a loop."""
    if not c.open_loops:
        return None
    for k, step in enumerate(steps):
        if not isinstance(step, (ast.AxisStep, ast.Filter)) or not step.predicates:
            continue
        found = _equality(c, step.predicates, scope)
        if found is None:
            return None
        others = tuple(other for other in step.predicates if other is not found)
        bare: ast.Expr
        if isinstance(step, ast.Filter):
            bare = replace(step, predicates=others) if others else step.base
        else:
            bare = replace(step, predicates=others)
        source = ast.Path((*steps[:k], bare), span=steps[0].span) if k else bare
        if not isinstance(source, (ast.Path, ast.VarRef, ast.Filter)):
            return None
        if c.level(source, scope) >= c.open_loops or not c.analysis.repeatable(source):
            return None
        if c.level(found, scope.with_focus(replace(scope.focus, frame=None))) <= c.level(source, scope):
            return None  # the predicate does not vary either: nothing is looked up more than once
        split = _split(c, found, None)
        if split is None or split.op != "eq":
            return None
        join = _write(c, source, None, split, scope)
        return (k, join) if join is not None else None
    return None


def _equality(c: Compiler, predicates: tuple[ast.Expr, ...], scope: Scope) -> ast.Expr | None:
    """An ``=`` that can be taken out of the predicates: none of them counts positions."""
    from xstreamcast.run.compile.predicates import positional

    if positional(c, predicates, scope):
        return None
    for predicate in predicates:
        if isinstance(predicate, ast.GeneralComparison) and predicate.op == "=":
            split = _split(c, predicate, None)
            if split is not None and not any(isinstance(d, ast.Placeholder) for d in descendants(split.key)):
                return predicate
    return None


def indexed_filter(c: Compiler, e: ast.Filter, scope: Scope, body: Body) -> bool:
    """``$b[K = P]`` inside a loop, by look-up. False if it is none."""
    found = indexed_step(c, (e,), scope)
    if found is None:
        return False
    item = c.out.fresh()
    with c.out.loop(f"for {item} in {found[1].matches()}:"):
        body(one(item, found[1].type))
    return True

"""Which steps of a path are done column at a time (:mod:`xstreamcast.run.runtime.chains`).

A chain is a run of child steps by name, from one node: at its front perhaps ``descendant``, at its end perhaps
``attribute``, and predicates that are conditions at its last step only. A first condition on what is below,
``person[@id = "p0"]``, is asked of what is below: ``person/@id[. = "p0"]/..``; so is that of ``//*[k = 1]``.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.names import ELEMENT
from xstreamcast.plan.focus import ROOT
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.predicates import Produce, filtered, is_condition, positional
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.styles import Body
from xstreamcast.run.compile.tests import Test, node_test
from xstreamcast.run.compile.values import Val, row


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps up to ``end``, the names of their nodes (none: ``//*``), and the kind of the last ones."""

    end: int
    names: tuple[int, ...]
    kind: str
    below: bool
    predicates: tuple[ast.Expr, ...]

    @property
    def disjoint(self) -> bool:
        """Whether none of the nodes is inside another."""
        return not self.below or self.kind != "element"

    def rows(self, c: Compiler, start: Val, more: tuple[int, ...] = ()) -> str:
        """Source text of the rows."""
        names = c.out.constant((*self.names, *more), hashable=True)
        return f"{'chain_below' if self.below else 'chain'}({start.tree}, {start.code}, {names})"

    def produce(self, c: Compiler, start: Val, scope: Scope) -> Produce:
        """A producer of the nodes that pass the predicates."""
        asked = self._asked(c, scope) if self.kind == "element" else None
        if asked is not None:
            return filtered(c, asked.rest, scope, self._holders(c, start, scope, asked), self.disjoint)
        return filtered(c, self.predicates, scope, self._loop(c, start, (), self.kind), True)

    def asks(self, c: Compiler, scope: Scope) -> bool:
        """Whether the first predicate can be asked of what is below."""
        return self.kind == "element" and self._asked(c, scope) is not None

    def _loop(self, c: Compiler, start: Val, more: tuple[int, ...], kind: str, valued: bool = False) -> Produce:
        """``valued``: conditions on the nodes read their values, which are found for all of them at once."""

        def run(body: Body) -> None:
            name, rows = c.out.fresh("i"), self.rows(c, start, more)
            value = c.out.fresh("s") if valued else ""
            loop = f"for {name}, {value} in valued({start.tree}, {rows}):" if valued else f"for {name} in {rows}:"
            with c.out.loop(loop):
                body(row(start.tree, name, kind, value))

        return run

    def _asked(self, c: Compiler, scope: Scope) -> Asked | None:
        """The question that the first predicate asks of nodes below, and the predicates that remain."""
        if not self.predicates:
            return None
        first = self.predicates[0]
        operands = first.operands if isinstance(first, ast.And) else (first,)
        found = asked_below(c, operands[0])
        if found is None or not all(is_condition(operand, scope) for operand in operands[1:]):
            return None
        rest = list(operands[1:])
        while found.unique and rest:
            more = asked_below(c, rest[0])
            if more is None or more.names != found.names:
                break
            found = replace(found, conditions=(*found.conditions, *more.conditions))
            del rest[0]
        return replace(found, rest=(*rest, *self.predicates[1:]))

    def _holders(self, c: Compiler, start: Val, scope: Scope, asked: Asked) -> Produce:
        """The elements below which a node meets the conditions, each once and in document order."""
        out = c.out
        loop = self._loop(c, start, asked.names, asked.kind, bool(asked.conditions))

        def held(body: Body) -> None:
            """Those whose holder is not above the start, which are not asked: by name it cannot be."""

            def use(item: Val) -> None:
                if not self.names:
                    out.line(f"if {holder(item)} <= {start.code}: continue")
                body(item)

            loop(use)

        below = filtered(c, asked.conditions, scope, held, True)

        def holder(item: Val) -> str:
            up, element = c.column(item.tree, "up"), out.fresh("i")
            out.line(f"{element} = {item.code} - {up}[{item.code}]")
            for _ in asked.names[1:]:
                out.line(f"{element} -= {up}[{element}]")
            return element

        def unique(body: Body) -> None:
            below(lambda item: body(row(item.tree, holder(item), "element")))

        def adjacent(body: Body) -> None:
            """No holder is inside another: those of one holder come one after the other."""
            last = out.fresh("i")
            out.line(f"{last} = -1")

            def use(item: Val) -> None:
                element = holder(item)
                with out.block(f"if {element} != {last}:"):
                    out.line(f"{last} = {element}")
                    body(row(item.tree, element, "element"))

            below(use)

        def gathered(body: Body) -> None:
            rows, element = out.fresh("l"), out.fresh("i")
            out.line(f"{rows} = []")
            with out.sealed():
                below(lambda item: out.line(f"{rows}.append({holder(item)})"))
            with out.loop(f"for {element} in sorted(set({rows})):"):
                body(row(start.tree, element, "element"))

        if not self.disjoint:
            return gathered
        return unique if asked.unique else adjacent


@dataclass(frozen=True, slots=True)
class Asked:
    """The question that a predicate asks of the nodes at a path of ``names`` below: false unless one of them meets
    ``conditions``, in which it is the context item. ``rest``: the predicates that come after."""

    names: tuple[int, ...]
    kind: str
    conditions: tuple[ast.Expr, ...] = ()
    rest: tuple[ast.Expr, ...] = ()

    @property
    def unique(self) -> bool:
        """Whether there is one such node at most: an attribute."""
        return len(self.names) == 1 and self.kind == "attribute"


def asked_below(c: Compiler, e: ast.Expr) -> Asked | None:
    """The question that a condition asks of nodes below the context item: that there are any, or a comparison."""
    found = _names_below(c, e)
    if found is not None:
        return Asked(*found)
    if not isinstance(e, (ast.GeneralComparison, ast.ValueComparison)):
        return None
    left, right = _names_below(c, e.left), _names_below(c, e.right)
    if isinstance(e, ast.ValueComparison):  # it is an error if there are several
        left, right = (side if side is not None and Asked(*side).unique else None for side in (left, right))
    if left is not None and not c.analysis.focus(e.right) & ~ROOT:
        return Asked(*left, (replace(e, left=ast.ContextItem(span=e.left.span)),))
    if right is not None and not c.analysis.focus(e.left) & ~ROOT:
        return Asked(*right, (replace(e, right=ast.ContextItem(span=e.right.span)),))
    return None


def _names_below(c: Compiler, e: ast.Expr) -> tuple[tuple[int, ...], str] | None:
    """The names along a path of plain steps down from the context item, and the kind of the nodes at its end."""
    names: list[int] = []
    kind = "element"
    for step in e.steps if isinstance(e, ast.Path) else (e,):
        if kind != "element" or not isinstance(step, ast.AxisStep) or step.predicates:
            return None
        test = node_test(c, step.axis, step.test) if step.axis in ("child", "attribute") else None
        if test is None or test.name is None or test.never:
            return None
        names.append(test.name)
        kind = test.static_kind
    return tuple(names), kind


def chain_at(c: Compiler, steps: tuple[ast.Expr, ...], k: int, scope: Scope) -> Chain | None:
    """The chain that begins at step k, if there is one of two steps at least."""
    names: list[int] = []
    kind = "element"
    predicates: tuple[ast.Expr, ...] = ()
    end = k
    while end < len(steps):
        step = steps[end]
        if not isinstance(step, ast.AxisStep) or positional(c, step.predicates, scope):
            break
        if step.axis not in ("child", "attribute") and not (step.axis == "descendant" and end == k):
            break
        test = node_test(c, step.axis, step.test)
        if test.never or (test.name is None and not (end == k and _any_below(step, test))):
            break
        if test.name is not None:
            names.append(test.name)
        kind, predicates = test.static_kind, step.predicates
        end += 1
        if predicates or kind != "element" or test.name is None:
            break
    first = steps[k]
    if not isinstance(first, ast.AxisStep) or first.axis == "attribute" or end == k:
        return None
    found = Chain(end, tuple(names), kind, first.axis == "descendant", predicates)
    # One step alone is a loop anyway, unless what it asks for makes it two.
    return found if len(names) > 1 or found.asks(c, scope) else None


def children_at(c: Compiler, steps: tuple[ast.Expr, ...], k: int) -> tuple[int, ...]:
    """The names of the plain child steps from step k on."""
    names: list[int] = []
    for step in steps[k:]:
        if not isinstance(step, ast.AxisStep) or step.axis != "child" or step.predicates:
            break
        test = node_test(c, step.axis, step.test)
        if test.never or test.name is None or test.static_kind != "element":
            break
        names.append(test.name)
    return tuple(names)


def _any_below(step: ast.AxisStep, test: Test) -> bool:
    """``descendant::*``"""
    return step.axis == "descendant" and test == Test(ELEMENT)


def with_condition(c: Compiler, clause: ast.ForClause, where: ast.Clause, scope: Scope) -> ast.ForClause | None:
    """``for $x in …/n where $x/k = e`` as ``for $x in …/n[k = e]``, if …/n is a chain and can ask for that."""
    source = clause.source
    if not isinstance(where, ast.WhereClause) or not isinstance(source, ast.Path):
        return None
    last = source.steps[-1]
    found = chain_at(c, source.steps, 0 if isinstance(source.steps[0], ast.AxisStep) else 1, scope)
    if found is None or found.end != len(source.steps) or found.kind != "element" or not isinstance(last, ast.AxisStep):
        return None
    name = clause.var.expanded
    condition = where.condition
    moved: ast.Expr | None = None
    if isinstance(condition, ast.GeneralComparison):
        left, right = _relative(condition.left, name), _relative(condition.right, name)
        if left is not None and not _depends(c, condition.right, name):
            moved = replace(condition, left=left)
        elif right is not None and not _depends(c, condition.left, name):
            moved = replace(condition, right=right)
    else:
        moved = _relative(condition, name)
    if moved is None or asked_below(c, moved) is None:
        return None
    step = replace(last, predicates=(*last.predicates, moved))
    return replace(clause, source=replace(source, steps=(*source.steps[:-1], step)))


def _depends(c: Compiler, e: ast.Expr, name: tuple[str, str]) -> bool:
    """Whether an expression means something else as part of a predicate on the variable's nodes."""
    return bool(c.analysis.focus(e)) or name in c.analysis.names(e)


def _relative(e: ast.Expr, name: tuple[str, str]) -> ast.Expr | None:
    """``$x/a/b`` as ``a/b``."""
    if not isinstance(e, ast.Path) or not isinstance(e.steps[0], ast.VarRef) or e.steps[0].name.expanded != name:
        return None
    rest = e.steps[1:]
    return rest[0] if len(rest) == 1 else replace(e, steps=rest)

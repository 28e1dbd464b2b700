"""Horizontal fusion: what several units of a pass begin with is computed once for each batch (VLDB'05 §4.3.1).

    count(/stream/pixel[x = 1]), sum(/stream/pixel[x = 1]/red)

The nodes of ``/stream/pixel[x = 1]`` are a variable of both. Paths without predicates are not worth one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.plan.algebra import PLAN, Unit, VarName

_NODES: Final = ast.SequenceType(ast.KindTest("node"), "*")
_ELEMENTS: Final = ast.SequenceType(ast.ElementTest(), "*")


@dataclass(frozen=True, slots=True)
class Shared:
    """A variable for the nodes that the units of one document begin with, in each of its batches."""

    variable: VarName
    nodes: ast.Path

    @property
    def type(self) -> ast.SequenceType:
        last = self.nodes.steps[-1]
        assert isinstance(last, ast.AxisStep)
        return _ELEMENTS if last.axis == "child" and isinstance(last.test, ast.NameTest) else _NODES

    def read(self) -> ast.VarRef:
        uri, local = self.variable
        return ast.VarRef(ast.Name(None, local, uri), span=self.nodes.span)


def share(units: Iterable[Unit]) -> dict[VarName, tuple[Unit, Shared]]:
    """Of the units of a pass those that begin as others do, with the variable in the place of their beginning."""
    alike: list[tuple[ast.Path, list[Unit]]] = []
    for unit in units:
        start = None if unit.nest is not None else _start(unit)
        if start is None:
            continue
        known = next((group for nodes, group in alike if nodes == start), None)
        if known is None:
            alike.append((start, [unit]))
        else:
            known.append(unit)
    made: dict[VarName, tuple[Unit, Shared]] = {}
    for nodes, group in alike:
        if len(group) > 1:
            shared = Shared((PLAN, f"start of {group[0].variable[1]}"), nodes)
            made.update((unit.variable, (replace(unit, items=_begun(unit.items, shared)), shared)) for unit in group)
    return made


def _path(e: ast.Expr) -> ast.Path | None:
    """The path that an expression begins with."""
    if isinstance(e, ast.FLWOR) and isinstance(e.clauses[0], ast.ForClause):
        e = e.clauses[0].source
    return e if isinstance(e, ast.Path) else None


def _length(path: ast.Path) -> int:
    """How many steps it is up to the last that has predicates."""
    return max(
        (k for k, step in enumerate(path.steps, 1) if isinstance(step, ast.AxisStep) and step.predicates), default=0
    )


def _start(unit: Unit) -> ast.Path | None:
    path = _path(unit.items)
    if path is None or not (isinstance(path.steps[0], ast.VarRef) and path.steps[0].name.expanded == unit.root):
        return None
    length = _length(path)
    return replace(path, steps=path.steps[:length]) if length else None


def _begun(e: ast.Expr, shared: Shared) -> ast.Expr:
    """The expression with the variable for its beginning."""
    if isinstance(e, ast.FLWOR):
        first = e.clauses[0]
        assert isinstance(first, ast.ForClause)
        return replace(e, clauses=(replace(first, source=_begun(first.source, shared)), *e.clauses[1:]))
    assert isinstance(e, ast.Path)
    rest = e.steps[len(shared.nodes.steps) :]
    return replace(e, steps=(shared.read(), *rest)) if rest else shared.read()

"""What no query has, but engines: variables of rows that are there, many at a time; texts of elements to be written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.lang import ast
from xstreamcast.lang.ast.node import node
from xstreamcast.run.compile.flwor import CLAUSES
from xstreamcast.run.compile.shapes import has_shape, shaped
from xstreamcast.run.compile.styles import value
from xstreamcast.run.compile.values import ITEM, Type, Val, one, opt

if TYPE_CHECKING:
    from xstreamcast.run.compile.compiler import Compiler
    from xstreamcast.run.compile.flwor import Writer
    from xstreamcast.run.compile.scope import Scope
    from xstreamcast.run.runtime.shapes import Shape


@node
class RowsClause(ast.Node):
    """``for`` tuples in ``source``: of each variable an item of its kind, or (a kind without ``!``) None."""

    variables: tuple[ast.Name, ...]
    kinds: tuple[str, ...]
    source: ast.Expr


def _rows(writer: Writer, clause: RowsClause, rest: list[ast.Clause], scope: Scope) -> None:
    c, out = writer.c, writer.c.out
    source = c.value(clause.source, scope)
    names = [out.fresh() for _ in clause.variables]
    with out.loop(f"for {''.join(name + ', ' for name in names)}in {source.code}:"):
        vals = [_val(name, kind) for name, kind in zip(names, clause.kinds, strict=True)]
        writer.run(rest, c.declare(scope, *zip(clause.variables, vals, strict=True)))


class Shapeless(Exception):
    """An element has no shape."""


@node
class TextsOf(ast.Expr):
    """The texts of an element that has a shape, a tuple, instead of the element; ``shapes`` is told of its shape."""

    element: ast.DirectElement
    shapes: list[Shape]


@value(TextsOf)
def _texts(c: Compiler, e: TextsOf, scope: Scope) -> Val:
    if not has_shape(e.element, scope):
        raise Shapeless
    shape, texts = shaped(c, e.element, scope)
    e.shapes[:] = [c.out.constants[shape]]
    return one(f"({texts}{',' * bool(texts)})", ITEM)


def _val(name: str, kind: str) -> Val:
    return one(name, Type(kind[:-1])) if kind.endswith("!") else opt(name, Type(kind))


CLAUSES[RowsClause] = _rows  # type: ignore[index]  # no clause that a query has

"""Paths and filters (XQuery 3.1 §3.2, §3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.lang.ast.node import Expr, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.types import NodeTest


@node
class Root(Expr):
    """A leading ``/``: ``root(self::node()) treat as document-node()``."""


@node
class AxisStep(Expr):
    """``axis::test[p1][p2]``."""

    axis: str
    test: NodeTest
    predicates: tuple[Expr, ...] = ()


@node
class Path(Expr):
    """``s1/s2/…``: at least two steps, each an AxisStep or any expression; a leading ``/`` is a Root."""

    steps: tuple[Expr, ...]


@node
class Filter(Expr):
    """``e[p1][p2]`` where e is not an axis step."""

    base: Expr
    predicates: tuple[Expr, ...]


@node
class SimpleMap(Expr):
    """``e1 ! e2 ! …``."""

    steps: tuple[Expr, ...]

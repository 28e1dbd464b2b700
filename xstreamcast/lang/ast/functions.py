"""Calls, functions as values, maps and arrays (XQuery 3.1 §3.1.5 – 3.1.7, §3.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.lang.ast.node import Expr, Node, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.names import Name
    from xstreamcast.lang.ast.primaries import Literal
    from xstreamcast.lang.ast.types import SequenceType


@node
class Placeholder(Expr):
    """``?`` as an argument: partial application."""


@node
class FunctionCall(Expr):
    """``name(args)``; ``stream("n")``, ``vtFrom(e)``, ``now()`` are ordinary calls."""

    name: Name
    args: tuple[Expr, ...] = ()


@node
class NamedFunctionRef(Expr):
    """``name#arity``."""

    name: Name
    arity: int


@node
class Param(Node):
    """``$name as T``."""

    name: Name
    type: SequenceType | None = None


@node
class Annotation(Node):
    """``%name("literal", …)``."""

    name: Name
    values: tuple[Literal, ...] = ()


@node
class InlineFunction(Expr):
    """``function($a as T) as R { body }``."""

    params: tuple[Param, ...]
    result: SequenceType | None
    body: Expr
    annotations: tuple[Annotation, ...] = ()


@node
class DynamicCall(Expr):
    """``e(args)``."""

    function: Expr
    args: tuple[Expr, ...] = ()


@node
class Lookup(Expr):
    """``base?key``, ``base?*`` (key None), ``base?(e)``; base None is the unary lookup."""

    base: Expr | None
    key: Expr | None


@node
class MapEntry(Node):
    """``key : value``."""

    key: Expr
    value: Expr


@node
class MapConstructor(Expr):
    """``map { k : v, … }``."""

    entries: tuple[MapEntry, ...] = ()


@node
class SquareArray(Expr):
    """``[e1, e2]``: one member per expression."""

    members: tuple[Expr, ...] = ()


@node
class CurlyArray(Expr):
    """``array { e }``: one member per item."""

    content: Expr

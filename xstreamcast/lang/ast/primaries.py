"""Literals, references and what is written around expressions (XQuery 3.1 §3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from xstreamcast.lang.ast.node import Expr, Node, node

if TYPE_CHECKING:
    from decimal import Decimal

    from xstreamcast.lang.ast.names import Name


@node
class StringLiteral(Expr):
    """``"text"``, references expanded."""

    value: str


@node
class IntegerLiteral(Expr):
    """``42``."""

    value: int


@node
class DecimalLiteral(Expr):
    """``4.2``."""

    value: Decimal


@node
class DoubleLiteral(Expr):
    """``4.2e0``."""

    value: float


Literal: TypeAlias = StringLiteral | IntegerLiteral | DecimalLiteral | DoubleLiteral


@node
class VarRef(Expr):
    """``$name``."""

    name: Name


@node
class ContextItem(Expr):
    """``.``."""


@node
class Sequence(Expr):
    """``e1, e2, …``; ``()`` when there are none; exactly one only for ``{<b/>}`` in a direct element's content."""

    items: tuple[Expr, ...] = ()


@node
class LiteralText(Node):
    """Fixed text inside a direct constructor or a string constructor."""

    value: str


@node
class StringConstructor(Expr):
    """```` ``[text `{e}` text]`` ````."""

    parts: tuple[LiteralText | Expr, ...] = ()


@node
class Ordering(Expr):
    """``ordered { e }``, ``unordered { e }``."""

    ordered: bool
    body: Expr


@node
class Pragma(Node):
    """``(# name content #)``."""

    name: Name
    content: str = ""


@node
class Extension(Expr):
    """``(# p #) { e }``; no pragma is known, so the value is that of the body (None: XQST0079)."""

    pragmas: tuple[Pragma, ...]
    body: Expr | None

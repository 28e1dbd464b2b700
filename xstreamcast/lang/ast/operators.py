"""Operators, from ``or`` down to ``cast as`` (XQuery 3.1 §3.4 – 3.8, §3.18)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xstreamcast.lang.ast.node import Expr, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.types import SequenceType, SingleType


@node
class Or(Expr):
    """``e1 or e2 or …``."""

    operands: tuple[Expr, ...]


@node
class And(Expr):
    """``e1 and e2 and …``."""

    operands: tuple[Expr, ...]


@node
class GeneralComparison(Expr):
    """``=  !=  <  <=  >  >=``."""

    op: str
    left: Expr
    right: Expr


@node
class ValueComparison(Expr):
    """``eq ne lt le gt ge``."""

    op: str
    left: Expr
    right: Expr


@node
class NodeComparison(Expr):
    """``is  <<  >>``."""

    op: str
    left: Expr
    right: Expr


@node
class Concat(Expr):
    """``e1 || e2 || …``."""

    operands: tuple[Expr, ...]


@node
class Range(Expr):
    """``first to last``."""

    first: Expr
    last: Expr


@node
class Arithmetic(Expr):
    """``+  -  *  div  idiv  mod``."""

    op: str
    left: Expr
    right: Expr


@node
class Unary(Expr):
    """``-e`` or ``+e``; several signs are one, by parity."""

    op: str
    operand: Expr


@node
class Union(Expr):
    """``e1 union e2 | …``."""

    operands: tuple[Expr, ...]


@node
class Intersect(Expr):
    """``left intersect right``."""

    left: Expr
    right: Expr


@node
class Except(Expr):
    """``left except right``."""

    left: Expr
    right: Expr


@node
class InstanceOf(Expr):
    """``e instance of T``."""

    operand: Expr
    type: SequenceType


@node
class TreatAs(Expr):
    """``e treat as T``."""

    operand: Expr
    type: SequenceType


@node
class CastableAs(Expr):
    """``e castable as T?``."""

    operand: Expr
    type: SingleType


@node
class CastAs(Expr):
    """``e cast as T?``."""

    operand: Expr
    type: SingleType

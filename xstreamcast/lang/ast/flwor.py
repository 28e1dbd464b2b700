"""FLWOR and control: conditions, quantifiers, switches, try (XQuery 3.1 §3.12 – 3.17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from xstreamcast.lang.ast.node import Expr, Node, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.names import Name
    from xstreamcast.lang.ast.types import NameTest, SequenceType, Wildcard


@node
class ForClause(Node):
    """``for $var as T allowing empty at $position in source``."""

    var: Name
    type: SequenceType | None
    allowing_empty: bool
    position: Name | None
    source: Expr


@node
class LetClause(Node):
    """``let $var as T := value``."""

    var: Name
    type: SequenceType | None
    value: Expr


@node
class WindowCondition(Node):
    """``start|end $current at $position previous $previous next $next when condition``."""

    current: Name | None
    position: Name | None
    previous: Name | None
    next: Name | None
    when: Expr


@node
class WindowClause(Node):
    """``for tumbling|sliding window $var as T in source start … (only) end …``."""

    sliding: bool
    var: Name
    type: SequenceType | None
    source: Expr
    start: WindowCondition
    end: WindowCondition | None
    only_end: bool


@node
class WhereClause(Node):
    """``where condition``."""

    condition: Expr


@node
class GroupKey(Node):
    """``$var as T := value collation "uri"``; value None groups by the variable in scope."""

    var: Name
    type: SequenceType | None = None
    value: Expr | None = None
    collation: str | None = None


@node
class GroupClause(Node):
    """``group by k1, k2``."""

    keys: tuple[GroupKey, ...]


@node
class OrderKey(Node):
    """``key descending empty least collation "uri"``; empty_least None follows the prolog."""

    key: Expr
    descending: bool = False
    empty_least: bool | None = None
    collation: str | None = None


@node
class OrderClause(Node):
    """``stable order by k1, k2``."""

    stable: bool
    keys: tuple[OrderKey, ...]


@node
class CountClause(Node):
    """``count $var``."""

    var: Name


Clause: TypeAlias = ForClause | LetClause | WindowClause | WhereClause | GroupClause | OrderClause | CountClause


@node
class FLWOR(Expr):
    """Clauses, then ``return result``."""

    clauses: tuple[Clause, ...]
    result: Expr


@node
class QuantifiedBinding(Node):
    """``$var as T in source``."""

    var: Name
    type: SequenceType | None
    source: Expr


@node
class Quantified(Expr):
    """``some|every $x in e, … satisfies condition``."""

    every: bool
    bindings: tuple[QuantifiedBinding, ...]
    condition: Expr


@node
class If(Expr):
    """``if (condition) then … else …``."""

    condition: Expr
    then: Expr
    otherwise: Expr


@node
class SwitchCase(Node):
    """``case v1 case v2 return result``."""

    values: tuple[Expr, ...]
    result: Expr


@node
class Switch(Expr):
    """``switch (operand) case … default return default``."""

    operand: Expr
    cases: tuple[SwitchCase, ...]
    default: Expr


@node
class TypeCase(Node):
    """``case $var as T1 | T2 return result``."""

    var: Name | None
    types: tuple[SequenceType, ...]
    result: Expr


@node
class Typeswitch(Expr):
    """``typeswitch (operand) case … default $default_var return default``."""

    operand: Expr
    cases: tuple[TypeCase, ...]
    default_var: Name | None
    default: Expr


@node
class Catch(Node):
    """``catch err:X | *:Y { handler }``; tests are names and wildcards."""

    tests: tuple[NameTest | Wildcard, ...]
    handler: Expr


@node
class TryCatch(Expr):
    """``try { body } catch … { … }``."""

    body: Expr
    catches: tuple[Catch, ...]

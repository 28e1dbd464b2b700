"""What XCQL adds (SIGMOD'04 §2): projections, instants, interval comparisons."""

from __future__ import annotations

from xstreamcast.lang.ast.node import Expr, node


@node
class IntervalProjection(Expr):
    """``base?[begin, end]``, ``base?[begin]`` (end None: the instant); binds like a predicate."""

    base: Expr
    begin: Expr
    end: Expr | None = None


@node
class VersionProjection(Expr):
    """``base#[first, last]``, ``base#[first]`` (last None); base is the whole path on its left."""

    base: Expr
    first: Expr
    last: Expr | None = None


@node
class Now(Expr):
    """``now`` inside brackets: the query's one current instant."""


@node
class Start(Expr):
    """``start`` inside brackets: the beginning of time."""


@node
class Last(Expr):
    """``last`` inside brackets: the number of the newest version."""


@node
class InstantLiteral(Expr):
    """``2003-11-01`` or ``2003-11-01T12:00:00`` inside brackets, as an xs:dateTime (UTC if no zone)."""

    value: str


@node
class DurationLiteral(Expr):
    """``PT1H``, ``P1D`` inside brackets: an xs:dayTimeDuration, xs:yearMonthDuration or xs:duration."""

    value: str


@node
class AllenComparison(Expr):
    """``left relation right``, relation one of ``ALLEN``; operands: element, dateTime, ``[t1, t2]``."""

    relation: str
    left: Expr
    right: Expr


ALLEN = (
    *("before", "meets", "overlaps", "starts", "during", "finishes", "equals"),
    *("finishedBy", "contains", "startedBy", "overlappedBy", "metBy", "after"),
)
"""Allen's thirteen relations: infix words at the level of comparisons, plain names everywhere else.

In an order whose reverse has their inverses.
"""

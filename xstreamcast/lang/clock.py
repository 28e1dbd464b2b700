"""Expressions that are the current time, go on with it, or look at it."""

from __future__ import annotations

from typing import Final

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import STREAM

_CLOCK: Final = frozenset(
    {
        *("now", "vtFrom", "vtTo", "current-dateTime", "current-date", "current-time"),
        *("random-number-generator", "function-lookup"),
    }
)


def is_now(e: ast.Expr) -> bool:
    """Whether an expression is the current time: ``now`` inside brackets, ``now()`` elsewhere."""
    return isinstance(e, ast.Now) or (isinstance(e, ast.FunctionCall) and e.name.expanded == (STREAM, "now"))


def is_moving(e: ast.Expr) -> bool:
    """Whether an expression is the current time, or that and a while: it goes on with the clock."""
    if isinstance(e, ast.Arithmetic):
        return e.op in ("+", "-") and is_moving(e.left) and not is_moving(e.right)
    return is_now(e)


def looks_at_clock(part: ast.Node) -> bool:
    """Whether a part of a query looks at the clock, or at lifespans that it ends."""
    if isinstance(part, ast.FunctionCall | ast.NamedFunctionRef):
        return part.name.local in _CLOCK
    return isinstance(part, ast.IntervalProjection | ast.VersionProjection | ast.Now | ast.AllenComparison)

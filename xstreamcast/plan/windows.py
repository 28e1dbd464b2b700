"""Windows: how far behind the current time the begin of an interval projection lies, as far as the query says it.

>>> from xstreamcast.lang.link import parse
>>> projection = parse('declare variable $e external; $e?[now-PT1H,now]').body
>>> behind_now(projection.begin)
(3600000000, frozenset())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.clock import is_now
from xstreamcast.model import datetime as dt
from xstreamcast.model.namespaces import STREAM, XS

Behind = tuple[int, frozenset[int]]
"""Microseconds, and the numbers of the windows that this is about."""

_MONTH: Final = 31 * dt.DAY
_ENDS: Final = ((STREAM, "vtFrom"), (STREAM, "vtTo"))


def _nobody(_: ast.Expr) -> Behind | None:
    return None


def behind_now(e: ast.Expr, lives: Callable[[ast.Expr], Behind | None] = _nobody) -> Behind | None:
    """How far behind now a bound is at most; None if that is not known.

    ``lives``: the same of the begin and the end of an element's life.
    """
    if is_now(e):
        return 0, frozenset()
    if isinstance(e, ast.FunctionCall) and e.name.expanded in _ENDS:
        return lives(e.args[0])
    if not isinstance(e, ast.Arithmetic) or e.op not in ("+", "-"):
        return None
    before, shift = behind_now(e.left, lives), _duration(e.right)
    if before is None or shift is None:
        return None
    months, ticks = abs(shift.months), abs(shift.ticks)
    if (shift.months < 0 or shift.ticks < 0) == (e.op == "-") and (months or ticks):
        return before  # a while ahead: nothing further behind than it was
    return before[0] + (ticks + months * _MONTH + (dt.DAY if months else 0) + 999) // 1000, before[1]


def is_newest(e: ast.VersionProjection) -> bool:
    """Whether a version projection is ``#[last]``."""
    return isinstance(e.first, ast.Last) and (e.last is None or isinstance(e.last, ast.Last))


def _duration(e: ast.Expr) -> dt.Duration | None:
    if isinstance(e, ast.DurationLiteral):
        return dt.parse_duration(e.value)
    if isinstance(e, ast.FunctionCall) and e.name.uri == XS and len(e.args) == 1:
        text = e.args[0]
        if e.name.local in ("dayTimeDuration", "yearMonthDuration", "duration") and isinstance(text, ast.StringLiteral):
            return dt.parse_duration(text.value)
    return None

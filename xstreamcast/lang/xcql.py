"""XCQL's own syntax: interval and version projections and what is special inside their brackets.

``e?[t1, t2]`` and ``e#[v1, v2]`` are free in XQuery 3.1: a lookup needs a key and a function reference a number.
Inside the brackets ``now``, ``start`` and ``last`` end before a hyphen (``now-PT1H`` is a difference, not a
name), and unquoted dates and durations are literals; anything else is an ordinary expression, down to the
next predicate or brace, where ordinary rules hold again.
"""

from __future__ import annotations

import re
from datetime import date

from xstreamcast.lang.ast import (
    DurationLiteral,
    Expr,
    InstantLiteral,
    IntervalProjection,
    Last,
    Now,
    Start,
    VersionProjection,
)
from xstreamcast.lang.constructors import ConstructorParser
from xstreamcast.lang.lexical import NAME_CHAR

_ENDS = rf"(?!:|(?!-)[{NAME_CHAR}])"
match_moment = re.compile(
    rf"(?:(now|start|last){_ENDS}(?![ \t\r\n]*(?:\(|::|/)))"
    r"|(?:(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?(Z|[+-]\d\d:\d\d)?)"
    rf"(?!(?!-)[{NAME_CHAR}])"
    r"|(P(?=\d|T\d)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?)?)"
    rf"{_ENDS}",
    re.ASCII,
).match
match_projection = re.compile(r"\?[ \t\r\n]*+\[").match


class ProjectionParser(ConstructorParser):
    """The rules of projections."""

    __slots__ = ()

    def at_interval_projection(self) -> bool:
        """Whether ``?[`` comes next."""
        return match_projection(self.text, self.pos) is not None

    def interval_projection(self, base: Expr, start: int) -> IntervalProjection:
        """``?[begin]`` or ``?[begin, end]`` behind ``base``."""
        self.skip(self.pos + 1)
        begin, end = self.bounds("an interval projection")
        return IntervalProjection(base, begin, end, span=self.span(start))

    def version_projection(self, base: Expr, start: int) -> VersionProjection:
        """``#[first]`` or ``#[first, last]`` behind ``base``."""
        self.skip(self.pos + 1)
        first, last = self.bounds("a version projection")
        return VersionProjection(base, first, last, span=self.span(start))

    def bounds(self, what: str) -> tuple[Expr, Expr | None]:
        """``[e]`` or ``[e, e]``; the bracket comes next."""
        self.skip(self.pos + 1)
        outer = self.brackets
        self.brackets = True
        if self.at("]"):
            self.unexpected("a bound", f"{what} has one bound or two")
        lower = self.single()
        upper = self.single() if self.take(",") else None
        self.brackets = outer
        self.expect("]", f"{what} has one bound or two, separated by a comma")
        return lower, upper

    def moment(self) -> Expr | None:
        """A token of the brackets, if one comes next."""
        start = self.pos
        found = match_moment(self.text, start)
        if found is None:
            return None
        word, day, minutes, seconds, zone, duration = found.groups()
        self.skip(found.end())
        span = self.span(start)
        if word:
            return {"now": Now, "start": Start, "last": Last}[word](span=span)
        if duration:
            return DurationLiteral(duration, span=span)
        value = f"{day}T{minutes or '00:00'}{seconds or ':00'}{zone or 'Z'}"
        if not is_instant(value):
            self.fail(f"{found.group()} is not a date", start, code="FORG0001")
        return InstantLiteral(value, span=span)


def is_instant(value: str) -> bool:
    """Whether the fields of a dateTime of the right shape are in range (24:00:00 is the next midnight)."""
    try:
        date.fromisoformat(value[:10])
    except ValueError:
        return False
    hour, minute, second = int(value[11:13]), int(value[14:16]), value[17:].rstrip("Z")
    zone = re.search(r"[+-](\d\d):(\d\d)$", second)
    if zone:
        second = second[: zone.start()]
        if int(zone[1]) * 60 + int(zone[2]) > 14 * 60 or int(zone[2]) > 59:
            return False
    if hour == 24:
        return minute == 0 and float(second) == 0
    return hour < 24 and minute < 60 and float(second) < 60

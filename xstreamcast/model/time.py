"""Time: instants, intervals with open or closed ends, lifespans, Allen's relations.

An *instant* is an ``int``: microseconds since 1970-01-01T00:00:00 UTC. Two values stand outside the calendar:
:data:`START`, the beginning of time, and :data:`NOW`, the open end of what still lasts (SIGMOD'04 §2). Instants
without a zone are UTC, a bare date is its midnight.

>>> format_instant(parse_instant("2003-10-23T12:23:34"))
'2003-10-23T12:23:34'
>>> parse_instant("2003-11-01") == parse_instant("2003-11-01T01:00:00+01:00")
True
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, error, quoted

Instant = int

START: Final[Instant] = -(2**63)
NOW: Final[Instant] = 2**63 - 1

_SECOND: Final = 1_000_000
_DAY: Final = 86_400 * _SECOND

_INSTANT = re.compile(r"(-?\d{4,9})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, any year."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """The inverse of :func:`days_from_civil`."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    return era * 400 + year_of_era + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def _month_length(year: int, month: int) -> int:
    if month == 2:
        return 29 if (year % 4 == 0 and year % 100 != 0) or year % 400 == 0 else 28
    return 30 if month in (4, 6, 9, 11) else 31


def parse_instant(text: str, place: Place | None = None) -> Instant:
    """An xs:dateTime, an xs:date, ``start`` or ``now`` as an instant.

    Digits beyond the microsecond are cut off, as a clock of that resolution would.
    """
    text = text.strip()
    if text == "start":
        return START
    if text == "now":
        return NOW
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise error(
            "XSC0010", f"not a time: {quoted(text)}", place, hint="write 2003-10-23T12:23:34, 2003-10-23, start or now"
        )
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), int(match[6] or 0)
    midnight = hour == 24 and minute == second == 0 and not (match[7] or "").strip("0")
    zone = match[8]
    east = 0 if zone in (None, "Z") else int(zone[1:3]) * 60 + int(zone[4:6])  # minutes, west negative
    if zone and east and zone[0] == "-":
        east = -east
    if abs(east) > 14 * 60 or (east and int(zone[4:6]) > 59):
        raise error("XSC0010", f"no such time zone: {text!r}", place, hint="zones lie within fourteen hours of UTC")
    fits = 1 <= month <= 12 and 1 <= day <= _month_length(year, month) and minute < 60 and second < 60
    if not fits or (hour > 23 and not midnight):
        raise error("XSC0010", f"no such time: {text!r}", place, hint="check the month, the day and the hour")
    instant = days_from_civil(year, month, day) * _DAY
    instant += ((hour * 60 + minute) * 60 + second) * _SECOND
    instant += int((match[7] or "0")[:6].ljust(6, "0"))
    instant -= east * 60 * _SECOND
    if not START < instant < NOW:
        raise error("XSC0010", f"time out of range: {text!r}", place, hint="years −290000 to 290000 are kept")
    return instant


def format_instant(instant: Instant) -> str:
    """The text of an instant, in UTC and without a zone; ``start`` and ``now`` by name."""
    if instant == START:
        return "start"
    if instant == NOW:
        return "now"
    days, rest = divmod(instant, _DAY)
    seconds, fraction = divmod(rest, _SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    text = f"{_date(days)}T{_TWO[hour]}:{_TWO[minute]}:{_TWO[second]}"
    return text + f".{fraction:06}".rstrip("0") if fraction else text


_TWO: Final = tuple(f"{number:02}" for number in range(60))


@lru_cache(4096)
def _date(days: int) -> str:
    year, month, day = civil_from_days(days)
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A set of instants between two ends, each end open or closed.

    Query intervals are closed; the lifespan of a temporal version is closed at vtFrom and open at vtTo. Remembering
    which makes ``e?[a]?[b] = e?[a ∩ b]`` exact and ``?[t]`` at a change instant give one version.

    >>> Interval(1, 5, end_closed=False).intersect(Interval(5, 9)) is None
    True
    """

    begin: Instant
    end: Instant
    begin_closed: bool = True
    end_closed: bool = True

    @property
    def empty(self) -> bool:
        """No instant lies inside; a point needs both ends closed."""
        return self.begin > self.end or (self.begin == self.end and not (self.begin_closed and self.end_closed))

    def intersect(self, other: Interval) -> Interval | None:
        """The common instants, or None."""
        if (self.begin, not self.begin_closed) >= (other.begin, not other.begin_closed):
            begin, begin_closed = self.begin, self.begin_closed
        else:
            begin, begin_closed = other.begin, other.begin_closed
        if (self.end, self.end_closed) <= (other.end, other.end_closed):
            end, end_closed = self.end, self.end_closed
        else:
            end, end_closed = other.end, other.end_closed
        common = Interval(begin, end, begin_closed, end_closed)
        return None if common.empty else common

    def hull(self, other: Interval) -> Interval:
        """The least interval that covers both (the lifespan of an element over its children's)."""
        begin, begin_open = min((self.begin, not self.begin_closed), (other.begin, not other.begin_closed))
        end, end_closed = max((self.end, self.end_closed), (other.end, other.end_closed))
        return Interval(begin, end, not begin_open, end_closed)

    def contains(self, instant: Instant) -> bool:
        """Whether an instant lies inside."""
        after = self.begin < instant or (self.begin == instant and self.begin_closed)
        return after and (instant < self.end or (instant == self.end and self.end_closed))

    def __str__(self) -> str:
        left, right = "[" if self.begin_closed else "(", "]" if self.end_closed else ")"
        return f"{left}{format_instant(self.begin)}, {format_instant(self.end)}{right}"


ALWAYS: Final = Interval(START, NOW)
"""The lifespan of a leaf that no fragment timed: [start, now]."""


def version_lifespan(begin: Instant, end: Instant) -> Interval:
    """Of a temporal version: [vtFrom, next vtFrom), the last one open-ended."""
    return Interval(begin, end, end_closed=False)


def event_lifespan(at: Instant) -> Interval:
    """Of an event: the one instant [t, t]."""
    return Interval(at, at)


def allen(a: Interval, b: Interval) -> str:
    """Which of Allen's thirteen relations holds between two non-empty intervals; exactly one does.

    Ends are compared as cuts of the time line: an end open at t lies just before one closed at t. Two intervals *meet*
    where one stops exactly where the other begins, with no instant between them and none in common.

    >>> allen(version_lifespan(1, 5), version_lifespan(5, 9)), allen(Interval(1, 5), Interval(5, 9))
    ('meets', 'overlaps')
    """
    a_begin, b_begin = (a.begin, not a.begin_closed), (b.begin, not b.begin_closed)
    a_end, b_end = (a.end, a.end_closed), (b.end, b.end_closed)
    if a_end < b_begin:
        return "before"
    if a_end == b_begin:
        return "meets"
    if b_end < a_begin:
        return "after"
    if b_end == a_begin:
        return "metBy"
    if a_begin == b_begin:
        return "equals" if a_end == b_end else ("starts" if a_end < b_end else "startedBy")
    if a_end == b_end:
        return "finishes" if a_begin > b_begin else "finishedBy"
    if a_begin < b_begin:
        return "contains" if a_end > b_end else "overlaps"
    return "during" if a_end < b_end else "overlappedBy"

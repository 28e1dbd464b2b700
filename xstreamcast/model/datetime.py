"""Dates, times and durations, exact to the nanosecond.

A date/time value keeps ``local``, its local time in nanoseconds on the proleptic Gregorian calendar, counted from
the day before 0001-01-01, and ``tz``, its offset in minutes or ``None``. Comparison looks at ``utc`` = local − tz,
with the implicit timezone UTC. Years have up to ten digits (FODT0001 beyond); year 0000 exists (XSD 1.1).

The partial types stand on F&O's reference dates (§9.4): a time is on 1972-12-31, a gMonthDay in 1972, a gMonth on
1972-mm-01, a gDay in 1972-12; so that ordering by ``utc`` is the recommended ordering.

A duration keeps ``months`` and ``ticks`` (nanoseconds), both of one sign.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import ClassVar, Final, Self

from xstreamcast.errors import XStreamError, error

SECOND: Final = 1_000_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
_CYCLE_YEARS: Final = 400
_CYCLE_DAYS: Final = 146_097
_LAST_YEAR: Final = 9_999_999_999
_LAST_TICK: Final = 366 * (_LAST_YEAR + 1) * DAY
#: Durations are bounded by what 64 bits hold of months and of seconds (FODT0002 beyond).
_LAST_MONTH: Final = 2**63
_LONGEST: Final = 2**63 * SECOND


def bounded_duration(months: int, ticks: int) -> tuple[int, int]:
    """The components, or FODT0002 if they are beyond all bounds."""
    if abs(months) >= _LAST_MONTH or abs(ticks) >= _LONGEST:
        raise error("FODT0002", "the duration is too long")
    return months, ticks


def _bounded(local: int) -> int:
    if abs(local) > _LAST_TICK:
        raise error("FODT0001", "the date is beyond the years that can be represented")
    return local


def ordinal(year: int, month: int, day: int) -> int:
    """The day's number, 0001-01-01 being 1, for any year. Raises ``ValueError`` if there is no such day."""
    if 0 < year < 10_000:
        return date(year, month, day).toordinal()
    cycles = (year - 1) // _CYCLE_YEARS
    return date(year - cycles * _CYCLE_YEARS, month, day).toordinal() + cycles * _CYCLE_DAYS


def civil(number: int) -> tuple[int, int, int]:
    """Year, month and day of a day's number: the inverse of :func:`ordinal`."""
    cycles, rest = divmod(number - 1, _CYCLE_DAYS)
    day = date.fromordinal(rest + 1)
    return day.year + cycles * _CYCLE_YEARS, day.month, day.day


def days_in_month(year: int, month: int) -> int:
    if month == 12:
        return 31
    return ordinal(year, month + 1, 1) - ordinal(year, month, 1)


_REFERENCE_DAY: Final = ordinal(1972, 12, 31)


def _decimal_seconds(ticks: int) -> Decimal:
    """Nanoseconds as xs:decimal seconds, without trailing zeros."""
    if ticks % SECOND == 0:
        return Decimal(ticks // SECOND)
    return Decimal(ticks).scaleb(-9).normalize()


def _seconds_text(ticks: int, width: int) -> str:
    """``ss`` or ``ss.fff`` with no trailing zeros."""
    whole, fraction = divmod(ticks, SECOND)
    text = f"{whole:0{width}d}"
    if fraction:
        text += "." + f"{fraction:09d}".rstrip("0")
    return text


def timezone_text(minutes: int | None) -> str:
    """``Z``, ``+hh:mm`` or nothing."""
    if minutes is None:
        return ""
    if minutes == 0:
        return "Z"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _year_text(year: int) -> str:
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


class Duration:
    """xs:duration. Durations are equal when months and ticks are, whatever their subtype."""

    __slots__ = ("months", "ticks")
    atomic: ClassVar[str] = "duration"

    def __init__(self, months: int, ticks: int) -> None:
        self.months = months
        self.ticks = ticks

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Duration):
            return NotImplemented
        return self.months == other.months and self.ticks == other.ticks

    def __hash__(self) -> int:
        return hash((self.months, self.ticks))

    def __lt__(self, other: Duration) -> bool:
        """Meaningful within one ordered subtype, where one of the two components is zero."""
        return (self.months, self.ticks) < (other.months, other.ticks)

    @property
    def seconds(self) -> Decimal:
        return _decimal_seconds(self.ticks)

    def __str__(self) -> str:
        months, ticks = abs(self.months), abs(self.ticks)
        if not months and not ticks:
            return "P0M" if type(self) is YearMonthDuration else "PT0S"
        parts = ["-P" if self.months < 0 or self.ticks < 0 else "P"]
        years, months = divmod(months, 12)
        if years:
            parts.append(f"{years}Y")
        if months:
            parts.append(f"{months}M")
        days, ticks = divmod(ticks, DAY)
        if days:
            parts.append(f"{days}D")
        if ticks:
            parts.append("T")
            hours, ticks = divmod(ticks, HOUR)
            if hours:
                parts.append(f"{hours}H")
            minutes, ticks = divmod(ticks, MINUTE)
            if minutes:
                parts.append(f"{minutes}M")
            if ticks:
                parts.append(_seconds_text(ticks, 1) + "S")
        return "".join(parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class YearMonthDuration(Duration):
    __slots__ = ()
    atomic: ClassVar[str] = "yearMonthDuration"

    def __init__(self, months: int, ticks: int = 0) -> None:
        self.months = months
        self.ticks = 0


class DayTimeDuration(Duration):
    __slots__ = ()
    atomic: ClassVar[str] = "dayTimeDuration"

    def __init__(self, months: int, ticks: int) -> None:
        self.months = 0
        self.ticks = ticks


def day_time(ticks: int) -> DayTimeDuration:
    return DayTimeDuration(0, ticks)


_DURATION = re.compile(
    r"(-)?P(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)D)?"
    r"(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]+))?S)?)?"
)


def parse_duration(text: str) -> Duration | None:
    """The value of a lexical xs:duration (whitespace already trimmed), or ``None``."""
    match = _DURATION.fullmatch(text)
    if match is None or text[-1] in "PT":
        return None
    sign, years, months, days, hours, minutes, seconds, fraction = match.groups()
    total = int(years or 0) * 12 + int(months or 0)
    ticks = int(days or 0) * DAY + int(hours or 0) * HOUR + int(minutes or 0) * MINUTE + int(seconds or 0) * SECOND
    if fraction:
        ticks += int(fraction[:9].ljust(9, "0"))
    bounded_duration(total, ticks)
    return Duration(-total, -ticks) if sign else Duration(total, ticks)


class Moment:
    """What all date/time types share: a local time, an offset, comparison on the UTC line."""

    __slots__ = ("local", "tz", "utc")
    atomic: ClassVar[str] = ""

    def __init__(self, local: int, tz: int | None) -> None:
        self.local = local
        self.tz = tz
        self.utc = local - tz * MINUTE if tz else local

    @property
    def family(self) -> type[Moment]:
        """The class whose values this one may be compared with (an xs:dateTimeStamp is an xs:dateTime)."""
        return type(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Moment):
            return NotImplemented
        return self.utc == other.utc and self.family is other.family

    def __lt__(self, other: Moment) -> bool:
        return self.utc < other.utc

    def __hash__(self) -> int:
        return hash((self.family, self.utc))

    def date(self) -> tuple[int, int, int]:
        return civil(self.local // DAY)

    @property
    def year(self) -> int:
        return self.date()[0]

    @property
    def month(self) -> int:
        return self.date()[1]

    @property
    def day(self) -> int:
        return self.date()[2]

    @property
    def hour(self) -> int:
        return self.local % DAY // HOUR

    @property
    def minute(self) -> int:
        return self.local % HOUR // MINUTE

    @property
    def second_ticks(self) -> int:
        return self.local % MINUTE

    @property
    def seconds(self) -> Decimal:
        return _decimal_seconds(self.local % MINUTE)

    def date_text(self) -> str:
        year, month, day = self.date()
        return f"{_year_text(year)}-{month:02d}-{day:02d}"

    def time_text(self) -> str:
        return f"{self.hour:02d}:{self.minute:02d}:{_seconds_text(self.second_ticks, 2)}"

    def adjust(self, tz: int | None) -> Self:
        """fn:adjust-…-to-timezone: the same instant at another offset; given or dropped if one side has none."""
        if tz is None or self.tz is None:
            return type(self)(self.local, tz)
        return type(self)(self.utc + tz * MINUTE, tz)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class DateTime(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "dateTime"

    @property
    def family(self) -> type[Moment]:
        return DateTime

    def __str__(self) -> str:
        return f"{self.date_text()}T{self.time_text()}{timezone_text(self.tz)}"

    def add_months(self, months: int) -> DateTime:
        """Year and month move; a day that does not exist becomes the month's last (XSD 1.1, E.3.3)."""
        return DateTime(_add_months(self.local, months), self.tz)

    def add_ticks(self, ticks: int) -> DateTime:
        return DateTime(_bounded(self.local + ticks), self.tz)


class DateTimeStamp(DateTime):
    """xs:dateTimeStamp: an xs:dateTime whose timezone is required."""

    __slots__ = ()
    atomic: ClassVar[str] = "dateTimeStamp"


class Date(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "date"

    def __str__(self) -> str:
        return self.date_text() + timezone_text(self.tz)

    def adjust(self, tz: int | None) -> Date:
        moved = Moment.adjust(self, tz).local
        return Date(moved - moved % DAY, tz)

    def add_months(self, months: int) -> Date:
        return Date(_add_months(self.local, months), self.tz)

    def add_ticks(self, ticks: int) -> Date:
        moved = _bounded(self.local + ticks)
        return Date(moved - moved % DAY, self.tz)


class Time(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "time"

    def __init__(self, local: int, tz: int | None) -> None:
        Moment.__init__(self, local % DAY + _REFERENCE_DAY * DAY, tz)

    def __str__(self) -> str:
        return self.time_text() + timezone_text(self.tz)

    def add_ticks(self, ticks: int) -> Time:
        return Time(self.local + ticks, self.tz)


class GYearMonth(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "gYearMonth"

    def __str__(self) -> str:
        year, month, _ = self.date()
        return f"{_year_text(year)}-{month:02d}{timezone_text(self.tz)}"


class GYear(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "gYear"

    def __str__(self) -> str:
        return _year_text(self.year) + timezone_text(self.tz)


class GMonthDay(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "gMonthDay"

    def __str__(self) -> str:
        _, month, day = self.date()
        return f"--{month:02d}-{day:02d}{timezone_text(self.tz)}"


class GDay(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "gDay"

    def __str__(self) -> str:
        return f"---{self.day:02d}{timezone_text(self.tz)}"


class GMonth(Moment):
    __slots__ = ()
    atomic: ClassVar[str] = "gMonth"

    def __str__(self) -> str:
        return f"--{self.month:02d}{timezone_text(self.tz)}"


MOMENTS: Final[tuple[type[Moment], ...]] = (
    DateTime, DateTimeStamp, Date, Time, GYearMonth, GYear, GMonthDay, GDay, GMonth,
)  # fmt: skip
DURATIONS: Final[tuple[type[Duration], ...]] = (Duration, YearMonthDuration, DayTimeDuration)


def _add_months(local: int, months: int) -> int:
    number, within = divmod(local, DAY)
    year, month, day = civil(number)
    years, month = divmod(month - 1 + months, 12)
    year, month = year + years, month + 1
    if abs(year) > _LAST_YEAR:
        raise error("FODT0001", f"the year {year} is beyond those that can be represented")
    return ordinal(year, month, min(day, days_in_month(year, month))) * DAY + within


_YEAR = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))"
_ZONE = r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?"
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
_LEXICAL: Final[dict[type[Moment], re.Pattern[str]]] = {
    DateTime: re.compile(f"{_YEAR}-([0-9]{{2}})-([0-9]{{2}})T{_CLOCK}{_ZONE}"),
    Date: re.compile(f"{_YEAR}-([0-9]{{2}})-([0-9]{{2}}){_ZONE}"),
    Time: re.compile(f"{_CLOCK}{_ZONE}"),
    GYearMonth: re.compile(f"{_YEAR}-([0-9]{{2}}){_ZONE}"),
    GYear: re.compile(f"{_YEAR}{_ZONE}"),
    GMonthDay: re.compile(f"--([0-9]{{2}})-([0-9]{{2}}){_ZONE}"),
    GDay: re.compile(f"---([0-9]{{2}}){_ZONE}"),
    GMonth: re.compile(f"--([0-9]{{2}}){_ZONE}"),
}


def _zone(parts: tuple[str | None, ...]) -> int | None:
    zulu, sign, hours, minutes = parts
    if zulu:
        return 0
    if sign is None or hours is None or minutes is None:
        return None
    offset = int(hours) * 60 + int(minutes)
    if offset > 840 or int(minutes) > 59:
        raise ValueError("timezone out of range")
    return -offset if sign == "-" else offset


def _clock(hour: str, minute: str, second: str, fraction: str | None) -> int:
    """Ticks since midnight; 24:00:00 is the next midnight."""
    h, m, s = int(hour), int(minute), int(second)
    ticks = h * HOUR + m * MINUTE + s * SECOND
    if fraction:
        ticks += int(fraction[:9].ljust(9, "0"))
    if m > 59 or s > 59 or h > 24 or (h == 24 and (m or s or int(fraction or 0))):
        raise ValueError("time out of range")
    return ticks


def _ordinary(text: str) -> DateTime | None:
    """``YYYY-MM-DDThh:mm:ss`` with ``Z`` or nothing, by the standard library's reader; ``None`` for all else.

    That reader takes other forms too, so the separators are looked at first.
    """
    size = len(text)
    zulu = size == 20 and text[19] == "Z"
    if not (size == 19 or zulu) or text[10] != "T" or not text.isascii():
        return None
    if text[4] != "-" or text[7] != "-" or text[13] != ":" or text[16] != ":":
        return None
    try:
        read = datetime.fromisoformat(text[:19] if zulu else text)
    except ValueError:  # 24:00:00, the year 0000, or no dateTime at all
        return None
    ticks = (read.hour * 3600 + read.minute * 60 + read.second) * SECOND
    return DateTime(read.toordinal() * DAY + ticks, 0 if zulu else None)


def parse_moment(cls: type[Moment], text: str) -> Moment | None:
    """The value of a lexical date or time (whitespace already trimmed), or ``None``."""
    if cls is DateTime:
        found = _ordinary(text)
        if found is not None:
            return found
    stamp = cls is DateTimeStamp
    match = _LEXICAL[DateTime if stamp else cls].fullmatch(text)
    if match is None:
        return None
    parts = match.groups()
    try:
        zone = _zone(parts[-4:])
        if stamp and zone is None:
            return None
        return cls(_local(cls, parts), zone)
    except XStreamError:  # FODT0001 is a ValueError too
        raise
    except ValueError:  # no such day, no such time
        return None


def _local(cls: type[Moment], p: tuple[str, ...]) -> int:
    if len(p[0] or "") > 10 and abs(int(p[0])) > _LAST_YEAR:
        raise error("FODT0001", f"the year {p[0]} is beyond those that can be represented")
    if issubclass(cls, DateTime):
        return ordinal(int(p[0]), int(p[1]), int(p[2])) * DAY + _clock(p[3], p[4], p[5], p[6])
    if cls is Date:
        return ordinal(int(p[0]), int(p[1]), int(p[2])) * DAY
    if cls is Time:
        return _clock(p[0], p[1], p[2], p[3])
    if cls is GYearMonth:
        return ordinal(int(p[0]), int(p[1]), 1) * DAY
    if cls is GYear:
        return ordinal(int(p[0]), 1, 1) * DAY
    if cls is GMonthDay:
        return ordinal(1972, int(p[0]), int(p[1])) * DAY
    if cls is GMonth:
        return ordinal(1972, int(p[0]), 1) * DAY
    return ordinal(1972, 12, int(p[0])) * DAY


def moment(cls: type[Moment], year: int, month: int, day: int, ticks: int, tz: int | None) -> Moment:
    """A date/time value from its components, reduced to what ``cls`` keeps (for casts between the types)."""
    if cls is GMonthDay or cls is GMonth or cls is GDay:
        year = 1972
    if cls is GDay:
        month = 12
    if cls is GYear:
        month = 1
    if cls is GYear or cls is GYearMonth or cls is GMonth:
        day = 1
    keeps_clock = issubclass(cls, DateTime) or cls is Time
    return cls(ordinal(year, month, day) * DAY + (ticks if keeps_clock else 0), tz)

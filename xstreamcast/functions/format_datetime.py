"""fn:format-dateTime, fn:format-date and fn:format-time (F&O 3.1 §9.8). Names are English, the calendar is AD/ISO."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.format_integer import digit_zero, numbered, ordinal_suffix, parse_digits
from xstreamcast.functions.registry import function
from xstreamcast.model.datetime import DAY, SECOND, Date, DateTime, Moment, Time, ordinal
from xstreamcast.model.lexical import is_ncname

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_DEFAULTS = {
    "Y": "1", "M": "1", "D": "1", "d": "1", "F": "n", "W": "1", "w": "1", "H": "1", "h": "1", "P": "n", "m": "01",
    "s": "01", "f": "1", "Z": "01:01", "z": "01:01", "C": "n", "E": "n",
}  # fmt: skip
_DATE_PARTS = frozenset("YMDdFWwCE")
_TIME_PARTS = frozenset("HhPmsf")
#: Calendars F&O names; only the first two are ours, the others fall back with a note.
_CALENDARS = frozenset(
    {"AD", "ISO", "AH", "AME", "AM", "AP", "AS", "BE", "CB", "CE", "CL", "CS", "EE", "FE", "JE", "KE", "KY", "ME"}
    | {"MS", "NS", "OS", "RS", "SE", "SH", "SS", "TE", "VE", "VS"}
)
_WIDTH = re.compile(r"(\*|[0-9]+)(?:-(\*|[0-9]+))?")


@dataclass(frozen=True, slots=True)
class _Marker:
    """One ``[component presentation, width]``."""

    component: str
    presentation: str
    modifier: str
    low: int | None
    high: int | None


def _bad(picture: str, why: str) -> XStreamError:
    return error("FOFD1340", f"picture {picture!r}: {why}")


def _split(picture: str) -> list[str | _Marker]:
    parts: list[str | _Marker] = []
    literal = ""
    at = 0
    while at < len(picture):
        character = picture[at]
        if character == "[":
            if picture.startswith("[[", at):
                literal += "["
                at += 2
                continue
            end = picture.find("]", at)
            if end < 0:
                raise _bad(picture, "a marker is not closed")
            parts.append(literal)
            literal = ""
            parts.append(_marker(picture, re.sub(r"\s", "", picture[at + 1 : end])))
            at = end + 1
        elif character == "]":
            if not picture.startswith("]]", at):
                raise _bad(picture, "a ] alone")
            literal += "]"
            at += 2
        else:
            literal += character
            at += 1
    parts.append(literal)
    return parts


def _marker(picture: str, text: str) -> _Marker:
    if not text or text[0] not in _DEFAULTS:
        raise _bad(picture, f"there is no component {text[:1]!r}")
    component = text[0]
    presentation, comma, width = text[1:].rpartition(",")
    if not comma:
        presentation, width = text[1:], ""
    low = high = None
    if comma:
        match = _WIDTH.fullmatch(width)
        if match is None:
            raise _bad(picture, f"bad width {width!r}")
        low = None if match[1] == "*" else int(match[1])
        high = None if match[2] in (None, "*") else int(match[2])
        if low == 0 or high == 0 or (low and high and low > high):
            raise _bad(picture, f"bad width {width!r}")
    modifier = ""
    if len(presentation) > 1 and presentation[-1] in "otca":
        presentation, modifier = presentation[:-1], presentation[-1]
    elif presentation in ("o", "t", "c"):
        presentation, modifier = "", presentation
    return _Marker(component, presentation or _DEFAULTS[component], modifier, low, high)


def _value(moment: Moment, component: str) -> int:
    year, month, day = moment.date()
    number = moment.local // DAY
    weekday = (number - 1) % 7 + 1  # day 1, 0001-01-01, was a Monday
    if component == "Y":
        return abs(year)
    if component == "M":
        return month
    if component == "D":
        return day
    if component == "d":
        return number - ordinal(year, 1, 1) + 1
    if component == "F":
        return weekday
    if component == "W":
        return _iso_week(number, year)
    if component == "w":
        return _week_of_month(number, year, month)
    if component == "H":
        return moment.hour
    if component == "h":
        return (moment.hour + 11) % 12 + 1
    if component == "m":
        return moment.minute
    return moment.second_ticks // SECOND


def _iso_week(number: int, year: int) -> int:
    """The week that holds the year's first Thursday is week 1."""
    thursday = number - (number - 1) % 7 + 3
    for candidate in (year + 1, year, year - 1):
        start = ordinal(candidate, 1, 1)
        if thursday >= start:
            return (thursday - start) // 7 + 1
    raise AssertionError("a Thursday lies in one of three years")


def _week_of_month(number: int, year: int, month: int) -> int:
    """Weeks of a month, counted as ISO counts those of a year; days before week 1 belong to the month before."""
    thursday = number - (number - 1) % 7 + 3
    start = ordinal(year, month, 1)
    if thursday < start:
        year, month = (year, month - 1) if month > 1 else (year - 1, 12)
        start = ordinal(year, month, 1)
    return (thursday - start) // 7 + 1


def _cased(name: str, presentation: str) -> str:
    if presentation == "N":
        return name.upper()
    return name if presentation == "Nn" else name.lower()


def _named(moment: Moment, marker: _Marker) -> str | None:
    """The name of a component, shortened to the width; ``None`` if it has only numbers."""
    component = marker.component
    if component == "M":
        name = _MONTHS[_value(moment, "M") - 1]
    elif component == "F":
        name = _DAYS[_value(moment, "F") - 1]
    elif component == "P":
        name = "Am" if moment.hour < 12 else "Pm"
    elif component == "E":
        return "AD" if moment.year > 0 else "BC"
    elif component == "C":
        return "AD"
    else:
        return None
    name = _cased(name, marker.presentation)
    if marker.high is not None and len(name) > marker.high:
        name = _abbreviated(name, marker)
    return name.ljust(marker.low or 0)


def _abbreviated(name: str, marker: _Marker) -> str:
    """Conventional short forms are the first three letters; fewer only where the width allows no more."""
    assert marker.high is not None
    return name[: min(3, marker.high) if marker.component in ("M", "F") else marker.high]


def _component(moment: Moment, marker: _Marker) -> str:
    component = marker.component
    if component in "Zz":
        return _timezone(moment, marker)
    if component == "f":
        return _fraction(moment, marker)
    if component in "PCE" or marker.presentation in ("N", "n", "Nn"):
        name = _named(moment, marker)
        if name is not None:
            return name
        marker = _Marker(component, "1", marker.modifier, marker.low, marker.high)
    value = _value(moment, component)
    token = marker.presentation
    if component == "Y" and not re.fullmatch("[aAiI]|[wW]w?", token):
        value = _short_year(value, marker)
    if re.search("[0-9#]", token) or any(digit_zero(c) is not None for c in token):
        return _digits(value, token, marker)
    text = numbered(value, token, marker.modifier == "o", "FOFD1340")
    return text.ljust(marker.low or 0)


def _short_year(value: int, marker: _Marker) -> int:
    """A year keeps its last digits when the width, or two or more digits in the picture, limit it."""
    high = marker.high
    if high is None and marker.low is None:
        places = sum(c == "#" or digit_zero(c) is not None for c in marker.presentation)
        high = places if places >= 2 else None
    elif high is None and marker.low is not None:
        return value
    return value % 10**high if high is not None else value


def _digits(value: int, token: str, marker: _Marker) -> str:
    pattern = parse_digits(token, "FOFD1340")
    text = pattern.format(value)
    if marker.low is not None and len(text) < marker.low:
        text = text.rjust(marker.low, chr(pattern.zero))
    return text + (ordinal_suffix(value) if marker.modifier == "o" else "")


def _fraction(moment: Moment, marker: _Marker) -> str:
    """Fractional seconds: digits in the picture bound the width from both sides; one digit sets no bound."""
    token = marker.presentation
    digits = [c for c in token if digit_zero(c) is not None]
    zero = digit_zero(digits[0]) if digits else ord("0")
    assert zero is not None
    mandatory, places = len(digits), sum(c == "#" or digit_zero(c) is not None for c in token)
    low, high = max(mandatory, 1), max(places, mandatory)
    if marker.low is not None or marker.high is not None:
        if mandatory <= 1 and places <= 1:
            low, high = marker.low or 1, marker.high or max(marker.low or 9, 9)
        else:
            low = max(low, marker.low or low)
            high = max(marker.high or high, low)
    elif places == 1 and mandatory == 1:
        high = 9
    text = f"{moment.local % SECOND:09d}"
    if high < 9:
        rounded = moment.local % SECOND // 10 ** (9 - high)
        text = f"{rounded:0{high}d}"
    else:
        text = text.ljust(high, "0")
    while len(text) > low and text.endswith("0"):
        text = text[:-1]
    return "".join(chr(zero + int(c)) for c in text)


_MILITARY = (
    {0: "Z"}
    | {hour: "ABCDEFGHIKLM"[hour - 1] for hour in range(1, 13)}
    | {-hour: "NOPQRSTUVWXY"[hour - 1] for hour in range(1, 13)}
)


def _timezone(moment: Moment, marker: _Marker) -> str:
    offset, token = moment.tz, marker.presentation
    if token == "Z":
        if offset is None:
            return "J"
        if offset % 60 == 0 and offset // 60 in _MILITARY:
            return _MILITARY[offset // 60]
        token = "01:01"
    if offset is None:
        return ""
    if token in ("N", "n", "Nn"):
        token = "01:01"
    if marker.modifier == "t" and offset == 0:
        return "Z"
    hours, minutes = divmod(abs(offset), 60)
    sign = "-" if offset < 0 else "+"
    zeros = [z for c in token if (z := digit_zero(c)) is not None]
    if not zeros:
        raise error("FOFD1340", f"bad timezone format {token!r}")
    separator = next((c for c in token if digit_zero(c) is None), "")
    hour_digits = len(token.split(separator)[0]) if separator else len(token)
    if separator:
        text = f"{hours:0{hour_digits}d}{separator}{minutes:02d}"
    elif hour_digits <= 2:
        text = f"{hours:0{max(hour_digits, marker.low or 0 if (marker.low or 0) <= 2 else 2)}d}"
        if minutes:
            text += f":{minutes:02d}"
    else:
        text = f"{hours:0{hour_digits - 2}d}{minutes:02d}"
    text = "".join(chr(zeros[0] + int(c)) if c in "0123456789" else c for c in text)
    return ("GMT" if marker.component == "z" else "") + sign + text


def _check_calendar(calendar: str | None) -> str:
    """The note to put before the result when the calendar asked for is not ours."""
    if calendar is None:
        return ""
    name = calendar.strip()
    if name.startswith("Q{"):
        uri, _, local = name[2:].partition("}")
        if uri and is_ncname(local):
            return "[Calendar: AD]"
        name = local
    prefix, colon, local = name.rpartition(":")
    if not is_ncname(local) or (colon and not is_ncname(prefix)):
        raise error("FOFD1340", f"{calendar!r} is not a calendar")
    if colon:
        return "[Calendar: AD]"
    if name not in _CALENDARS:
        raise error("FOFD1340", f"there is no calendar {calendar}")
    return "" if name in ("AD", "ISO") else "[Calendar: AD]"


def _format(
    moment: Moment | None, picture: str, language: str | None, calendar: str | None, excluded: frozenset[str]
) -> str | None:
    if moment is None:
        return None
    note = _check_calendar(calendar)
    if language is not None and not language.lower().startswith("en"):
        note = "[Language: en]" + note
    parts = []
    for part in _split(picture):
        if isinstance(part, str):
            parts.append(part)
            continue
        if part.component in excluded:
            raise error("FOFD1350", f"picture {picture!r}: a component {part.component} is not there to show")
        parts.append(_component(moment, part))
    return note + "".join(parts)


@function("fn:format-dateTime", "xs:dateTime?, xs:string", "xs:string?")
@function("fn:format-dateTime", "xs:dateTime?, xs:string, xs:string?, xs:string?, xs:string?", "xs:string?")
def format_date_time(
    value: DateTime | None,
    picture: str,
    language: str | None = None,
    calendar: str | None = None,
    place: str | None = None,
) -> str | None:
    return _format(_at_place(value, place), picture, language, calendar, frozenset())


@function("fn:format-date", "xs:date?, xs:string", "xs:string?")
@function("fn:format-date", "xs:date?, xs:string, xs:string?, xs:string?, xs:string?", "xs:string?")
def format_date(
    value: Date | None,
    picture: str,
    language: str | None = None,
    calendar: str | None = None,
    place: str | None = None,
) -> str | None:
    return _format(value, picture, language, calendar, _TIME_PARTS)


@function("fn:format-time", "xs:time?, xs:string", "xs:string?")
@function("fn:format-time", "xs:time?, xs:string, xs:string?, xs:string?, xs:string?", "xs:string?")
def format_time(
    value: Time | None,
    picture: str,
    language: str | None = None,
    calendar: str | None = None,
    place: str | None = None,
) -> str | None:
    return _format(value, picture, language, calendar, _DATE_PARTS)


def _at_place(value: DateTime | None, place: str | None) -> DateTime | None:
    """A dateTime with a timezone moves to the civil time of an Olson place name; unknown places change nothing."""
    if value is None or value.tz is None or place is None or "/" not in place:
        return value
    from datetime import datetime, timedelta
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        zone = ZoneInfo(place)
        utc = datetime(1, 1, 1) + timedelta(microseconds=(value.utc - DAY) // 1000)
        offset = zone.utcoffset(utc.replace(tzinfo=ZoneInfo("UTC")).astimezone(zone))
    except (ZoneInfoNotFoundError, ValueError, OverflowError):
        return value
    return value if offset is None else value.adjust(int(offset.total_seconds()) // 60)

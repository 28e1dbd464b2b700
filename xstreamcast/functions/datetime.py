"""Functions on dates and times (F&O 3.1 §9; formatting is in format_datetime)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from xstreamcast.errors import error
from xstreamcast.functions.context import IMPLICIT_TIMEZONE
from xstreamcast.functions.registry import function
from xstreamcast.model.datetime import DAY, MINUTE, Date, DateTime, DayTimeDuration, Moment, Time, day_time


@function("fn:dateTime", "xs:date?, xs:time?", "xs:dateTime?")
def date_time(date: Date | None, time: Time | None) -> DateTime | None:
    if date is None or time is None:
        return None
    if date.tz is not None and time.tz is not None and date.tz != time.tz:
        raise error("FORG0008", "the date and the time have different timezones")
    return DateTime(date.local + time.local % DAY, time.tz if date.tz is None else date.tz)


def _component(get: Callable[[Moment], Any]) -> Callable[[Moment | None], Any]:
    return lambda moment: None if moment is None else get(moment)


def _timezone(moment: Moment) -> DayTimeDuration | None:
    return None if moment.tz is None else day_time(moment.tz * MINUTE)


def _seconds(moment: Moment) -> Decimal:
    return moment.seconds


_COMPONENTS: dict[str, tuple[Callable[[Moment], Any], str, tuple[str, ...]]] = {
    "year": (lambda moment: moment.year, "xs:integer?", ("dateTime", "date")),
    "month": (lambda moment: moment.month, "xs:integer?", ("dateTime", "date")),
    "day": (lambda moment: moment.day, "xs:integer?", ("dateTime", "date")),
    "hours": (lambda moment: moment.hour, "xs:integer?", ("dateTime", "time")),
    "minutes": (lambda moment: moment.minute, "xs:integer?", ("dateTime", "time")),
    "seconds": (_seconds, "xs:decimal?", ("dateTime", "time")),
    "timezone": (_timezone, "xs:dayTimeDuration?", ("dateTime", "date", "time")),
}
for _name, (_get, _result, _kinds) in _COMPONENTS.items():
    for _kind in _kinds:
        function(f"fn:{_name}-from-{_kind}", f"xs:{_kind}?", _result)(_component(_get))


def _adjust(moment: Moment | None, zone: DayTimeDuration | None) -> Moment | None:
    if moment is None:
        return None
    if zone is None:
        return moment.adjust(None)
    minutes, rest = divmod(zone.ticks, MINUTE)
    if rest or not -840 <= minutes <= 840:
        raise error("FODT0003", f"{zone} is not a timezone", hint="whole minutes between -PT14H and PT14H")
    return moment.adjust(minutes)


def _adjust_to_implicit(moment: Moment | None) -> Moment | None:
    return None if moment is None else moment.adjust(IMPLICIT_TIMEZONE)


for _kind in ("dateTime", "date", "time"):
    function(f"fn:adjust-{_kind}-to-timezone", f"xs:{_kind}?", f"xs:{_kind}?")(_adjust_to_implicit)
    function(f"fn:adjust-{_kind}-to-timezone", f"xs:{_kind}?, xs:dayTimeDuration?", f"xs:{_kind}?")(_adjust)

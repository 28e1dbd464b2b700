"""Components of durations (F&O 3.1 §8.3). A negative duration has negative components."""

from __future__ import annotations

from decimal import Decimal

from xstreamcast.functions.registry import function
from xstreamcast.model.datetime import DAY, HOUR, MINUTE, Duration, day_time


def _part(total: int, unit: int, within: int | None = None) -> int:
    """How often a unit fits into |total| (or into what ``within`` leaves of it), with the sign of the total."""
    size = abs(total) if within is None else abs(total) % within
    return size // unit if total >= 0 else -(size // unit)


@function("fn:years-from-duration", "xs:duration?", "xs:integer?")
def years(duration: Duration | None) -> int | None:
    return None if duration is None else _part(duration.months, 12)


@function("fn:months-from-duration", "xs:duration?", "xs:integer?")
def months(duration: Duration | None) -> int | None:
    return None if duration is None else _part(duration.months, 1, 12)


@function("fn:days-from-duration", "xs:duration?", "xs:integer?")
def days(duration: Duration | None) -> int | None:
    return None if duration is None else _part(duration.ticks, DAY)


@function("fn:hours-from-duration", "xs:duration?", "xs:integer?")
def hours(duration: Duration | None) -> int | None:
    return None if duration is None else _part(duration.ticks, HOUR, DAY)


@function("fn:minutes-from-duration", "xs:duration?", "xs:integer?")
def minutes(duration: Duration | None) -> int | None:
    return None if duration is None else _part(duration.ticks, MINUTE, HOUR)


@function("fn:seconds-from-duration", "xs:duration?", "xs:decimal?")
def seconds(duration: Duration | None) -> Decimal | None:
    if duration is None:
        return None
    rest = abs(duration.ticks) % MINUTE
    return day_time(rest if duration.ticks >= 0 else -rest).seconds

"""Python's own values as atomic items, and items as Python's values where there are natural ones.

>>> plain(atomic_of(timedelta(minutes=1)))
datetime.timedelta(seconds=60)
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from xstreamcast.model import datetime as dt
from xstreamcast.model.atomic import AnyURI, Base64Binary, Item, QName, Untyped
from xstreamcast.model.function import Array, Map
from xstreamcast.model.tree import Node
from xstreamcast.model.types import type_of


def atomic_of(value: Any) -> Item | None:
    """The item for text, a number, a moment, a duration, octets or a path; None for any other value."""
    try:
        type_of(value)
        return cast("Item", value)
    except KeyError:
        pass
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, date):
        return dt.moment(dt.Date, value.year, value.month, value.day, 0, None)
    if isinstance(value, time):
        return dt.parse_moment(dt.Time, value.isoformat())
    if isinstance(value, timedelta):
        whole = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        return dt.day_time(whole * 1000)
    if isinstance(value, bytes):
        return Base64Binary(value)
    if isinstance(value, Path):
        return AnyURI(value.absolute().as_uri())
    for plain_class in (str, int, float):
        if isinstance(value, plain_class):  # of a class of somebody's own
            return plain_class(value)
    return None


def moment(value: datetime) -> dt.DateTime:
    """A moment with the parts of a second that Python keeps."""
    ticks = ((value.hour * 60 + value.minute) * 60 + value.second) * dt.SECOND + value.microsecond * 1000
    offset = value.utcoffset()
    zone = None if offset is None else int(offset.total_seconds()) // 60
    made = dt.moment(dt.DateTime, value.year, value.month, value.day, ticks, zone)
    assert isinstance(made, dt.DateTime)
    return made


def plain(item: Item) -> Any:
    """An item as a plain Python value where there is a natural one."""
    kind = type(item)
    if kind in (str, int, float, bool, Decimal) or isinstance(item, Node):
        return item
    if isinstance(item, Untyped | AnyURI) or (isinstance(item, str) and kind is not str):
        return str(item)
    if isinstance(item, int):
        return int(item)
    if isinstance(item, float):
        return float(item)
    if isinstance(item, Map):
        return {plain(key): unwrapped(value) for key, value in item.items()}
    if isinstance(item, Array):
        return [unwrapped(member) for member in item.members()]
    if isinstance(item, dt.DateTime | dt.Date | dt.Time):
        return _plain_moment(item)
    if isinstance(item, dt.DayTimeDuration):
        return timedelta(microseconds=item.ticks / 1000)
    if isinstance(item, Base64Binary):
        return item.octets
    if isinstance(item, QName):
        return str(item)
    return item


def unwrapped(value: list[Item]) -> Any:
    """A sequence inside a map or array: one item as itself, none as None, more as a list."""
    if len(value) == 1:
        return plain(value[0])
    return [plain(item) for item in value] if value else None


def _plain_moment(item: dt.Moment) -> Any:
    zone = None if item.tz is None else timezone(timedelta(minutes=item.tz))
    ticks = item.second_ticks
    try:
        if isinstance(item, dt.Date):
            return date(*item.date())
        clock = time(item.hour, item.minute, ticks // dt.SECOND, ticks % dt.SECOND // 1000, zone)
        return clock if isinstance(item, dt.Time) else datetime.combine(date(*item.date()), clock)
    except ValueError:  # a year that Python's datetime has not
        return str(item)

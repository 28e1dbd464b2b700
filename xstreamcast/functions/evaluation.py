"""Functions that look at the evaluation itself (F&O 3.1 §15; fn:error and fn:trace of §3)."""

from __future__ import annotations

import logging
from typing import Any

from xstreamcast.errors import XQueryError
from xstreamcast.functions.context import IMPLICIT_TIMEZONE, DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import AnyURI, Item, Language, QName
from xstreamcast.model.datetime import DAY, MINUTE, Date, DateTimeStamp, DayTimeDuration, Time, day_time
from xstreamcast.model.namespaces import ERR

_trace = logging.getLogger("xstreamcast.trace")


class RaisedError(XQueryError):
    """What fn:error raises: ``name`` is the error's QName, ``value`` its error object."""

    def __init__(self, name: QName, description: str, value: list[Item]) -> None:
        super().__init__(name.local if name.uri == ERR else name.expanded, description)
        self.name = name
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        return (RaisedError, (self.name, self.message, self.value))


@function("fn:error", "", "xs:error*")
@function("fn:error", "xs:QName?", "xs:error*")
@function("fn:error", "xs:QName?, xs:string", "xs:error*")
@function("fn:error", "xs:QName?, xs:string, item()*", "xs:error*")
def raise_error(name: QName | None = None, description: str = "", value: list[Item] | None = None) -> None:
    raise RaisedError(name or QName(ERR, "FOER0000", "err"), str(description), value or [])


@function("fn:trace", "item()*", "item()*")
@function("fn:trace", "item()*, xs:string", "item()*")
def trace(items: list[Item], label: str = "") -> list[Item]:
    """Writes to the log ``xstreamcast.trace``."""
    if _trace.isEnabledFor(logging.INFO):
        from xstreamcast.model.serialise import serialise

        _trace.info("%s %s", label, serialise(items, method="adaptive"))
    return items


@function("fn:position", "", "xs:integer", focus=True)
def position(context: DynamicContext) -> int:
    context.require_item("fn:position()")
    return context.position


@function("fn:last", "", "xs:integer", focus=True)
def last(context: DynamicContext) -> int:
    context.require_item("fn:last()")
    return context.size


@function("fn:current-dateTime", "", "xs:dateTimeStamp", context=True)
def current_date_time(context: DynamicContext) -> DateTimeStamp:
    return DateTimeStamp(context.now.local, context.now.tz)


@function("fn:current-date", "", "xs:date", context=True)
def current_date(context: DynamicContext) -> Date:
    return Date(context.now.local - context.now.local % DAY, context.now.tz)


@function("fn:current-time", "", "xs:time", context=True)
def current_time(context: DynamicContext) -> Time:
    return Time(context.now.local, context.now.tz)


@function("fn:implicit-timezone", "", "xs:dayTimeDuration")
def implicit_timezone() -> DayTimeDuration:
    return day_time(IMPLICIT_TIMEZONE * MINUTE)


@function("fn:default-collation", "", "xs:string", context=True)
def default_collation(context: DynamicContext) -> str:
    return context.static.default_collation


@function("fn:default-language", "", "xs:language")
def default_language() -> Language:
    return Language("en")


@function("fn:static-base-uri", "", "xs:anyURI?", context=True)
def static_base_uri(context: DynamicContext) -> AnyURI | None:
    return None if context.static.base_uri is None else AnyURI(context.static.base_uri)


@function("fn:environment-variable", "xs:string", "xs:string?", context=True)
def environment_variable(context: DynamicContext, name: str) -> str | None:
    return context.environment.get(name)


@function("fn:available-environment-variables", "", "xs:string*", context=True)
def available_environment_variables(context: DynamicContext) -> list[str]:
    return list(context.environment)

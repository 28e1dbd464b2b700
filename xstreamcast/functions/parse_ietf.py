"""fn:parse-ietf-date (F&O 3.1 §9.9): RFC 822, 850, 1123 and asctime dates."""

from __future__ import annotations

import re

from xstreamcast.errors import error
from xstreamcast.functions.registry import function
from xstreamcast.model.datetime import DAY, HOUR, MINUTE, SECOND, DateTime, ordinal

_S = r"[ \t\r\n]+"
_O = r"[ \t\r\n]*"
_DAY_NAMES = r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|wed|thu|fri|sat|sun)"
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_TIME = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?)?"
    rf"(?:{_O}(?:(?P<zone>ut|utc|gmt|est|edt|cst|cdt|mst|mdt|pst|pdt)"
    rf"|(?P<sign>[+-])(?P<offset>[0-9]{{1,2}}:?(?:[0-9]{{2}})?)"
    rf"(?:{_O}\({_O}(?:ut|utc|gmt|est|edt|cst|cdt|mst|mdt|pst|pdt){_O}\))?))?"
)
_YEAR = r"(?P<year>[0-9]{2}|[0-9]{4,})"
_SEPARATOR = rf"(?:{_S}|{_O}-{_O})"
_DATE_FIRST = re.compile(
    rf"{_O}(?:{_DAY_NAMES},?{_S})?(?P<day>[0-9]{{1,2}}){_SEPARATOR}{_MONTH}{_SEPARATOR}{_YEAR}{_S}{_TIME}{_O}",
    re.IGNORECASE | re.ASCII,
)
_ASCTIME = re.compile(
    rf"{_O}(?:{_DAY_NAMES},?{_S})?{_MONTH}{_SEPARATOR}(?P<day>[0-9]{{1,2}}){_S}{_TIME}{_S}{_YEAR}{_O}",
    re.IGNORECASE | re.ASCII,
)
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "est": -300, "edt": -240, "cst": -360, "cdt": -300, "mst": -420, "mdt": -360,
    "pst": -480, "pdt": -420,
}  # fmt: skip


def _offset(sign: str, digits: str) -> int:
    if ":" in digits:
        hours, minutes = (int(part or 0) for part in digits.split(":"))
    elif len(digits) > 2:
        hours, minutes = int(digits[:-2]), int(digits[-2:])
    else:
        hours, minutes = int(digits), 0
    if minutes > 59 or hours * 60 + minutes > 840:
        raise ValueError("timezone out of range")
    return -(hours * 60 + minutes) if sign == "-" else hours * 60 + minutes


@function("fn:parse-ietf-date", "xs:string?", "xs:dateTime?")
def parse_ietf_date(text: str | None) -> DateTime | None:
    if text is None:
        return None
    match = _DATE_FIRST.fullmatch(text) or _ASCTIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError("not a date")
        parts = match.groupdict()
        year = int(parts["year"]) + (1900 if len(parts["year"]) == 2 else 0)
        number = ordinal(year, _MONTHS.index(parts["month"].lower()) + 1, int(parts["day"]))
        hour, minute, second = int(parts["hour"]), int(parts["minute"]), int(parts["second"] or 0)
        fraction = int((parts["fraction"] or "")[:9].ljust(9, "0"))
        if minute > 59 or second > 59 or hour > 24 or (hour == 24 and (minute or second or fraction)):
            raise ValueError("no such time")
        zone = _offset(parts["sign"], parts["offset"]) if parts["sign"] else _ZONES[(parts["zone"] or "utc").lower()]
    except ValueError as failure:
        raise error("FORG0010", f"fn:parse-ietf-date: {text!r}: {failure}") from None
    return DateTime(number * DAY + hour * HOUR + minute * MINUTE + second * SECOND + fraction, zone)

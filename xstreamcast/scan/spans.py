"""Spans of a buffer, many at a time: their values, comparisons and numbers, without an object for each.

The input was scanned, so it is well-formed: nothing is checked here twice.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np

from xstreamcast.native.kernel import F64, I8, I64, U8, Flags, inner, kernel
from xstreamcast.native.vector import Bytes, Longs, at8, base, copy32, put8
from xstreamcast.scan.token import find_byte, find_tag, find_text, find_value

# How a span is read.
RAW: Final = 0  # its bytes
TEXT: Final = 1  # references, CDATA sections and line ends resolved; tags, comments and PIs left out
ATTRIBUTE: Final = 2  # references resolved, white space to blanks
LINES: Final = 3  # line ends resolved: comments and PIs

SEPARATOR: Final = 0
"""Between gathered values: U+0000 is in no XML document."""


@inner
def copied(b: Any, i: int, to: int, size: int, c: Any, j: int, room: int) -> int:
    """Copy ``b[i:to]`` to ``c[j:]``; the position after it."""
    while to - i > 0:
        if i + 32 <= size and j + 32 <= room:
            copy32(b, i, c, j)
            step = min(to - i, 32)
            i += step
            j += step
        else:
            put8(c, j, at8(b, i))
            i += 1
            j += 1
    return j


@inner
def _character(c: Any, j: int, number: int) -> int:
    """A character in UTF-8 at ``c[j:]``; the position after it."""
    if number < 0x80:
        put8(c, j, number)
        return j + 1
    if number < 0x800:
        put8(c, j, 0xC0 | (number >> 6))
        put8(c, j + 1, 0x80 | (number & 63))
        return j + 2
    if number < 0x10000:
        put8(c, j, 0xE0 | (number >> 12))
        put8(c, j + 1, 0x80 | ((number >> 6) & 63))
        put8(c, j + 2, 0x80 | (number & 63))
        return j + 3
    put8(c, j, 0xF0 | (number >> 18))
    put8(c, j + 1, 0x80 | ((number >> 12) & 63))
    put8(c, j + 2, 0x80 | ((number >> 6) & 63))
    put8(c, j + 3, 0x80 | (number & 63))
    return j + 4


@inner
def _referred(b: Any, i: int) -> int:
    """The number of the character that the reference at ``i`` stands for."""
    c = at8(b, i + 1)
    if c == 35:
        j = i + 2
        number = 0
        if at8(b, j) == 120:
            j += 1
            while at8(b, j) != 59:
                d = at8(b, j)
                number = number * 16 + (d - 48 if d <= 57 else (d & 7) + 9)
                j += 1
        else:
            while at8(b, j) != 59:
                number = number * 10 + at8(b, j) - 48
                j += 1
        return number
    if c == 108:
        return 60
    if c == 103:
        return 62
    if c == 113:
        return 34
    return 38 if at8(b, i + 2) == 109 else 39


@inner
def _text(b: Any, i: int, to: int, size: int, c: Any, j: int, room: int, attribute: bool, lines: bool) -> int:
    while i < to:
        if attribute:
            p = find_value(b, i, to, 0)
        elif lines:
            p = find_byte(b, i, to, 13)
        else:
            p = find_text(b, i, to)
        j = copied(b, i, p, size, c, j, room)
        i = p
        if i >= to:
            break
        x = at8(b, i)
        if x == 13:
            put8(c, j, 32 if attribute else 10)
            j += 1
            i += 1
            if i < to and at8(b, i) == 10:
                i += 1
        elif lines:
            put8(c, j, x)
            j += 1
            i += 1
        elif x == 38:
            j = _character(c, j, _referred(b, i))
            i = find_byte(b, i, to, 59) + 1
        elif attribute and (x == 9 or x == 10):
            put8(c, j, 32)
            j += 1
            i += 1
        elif x == 60:
            y = at8(b, i + 1)
            if y == 33 and at8(b, i + 2) == 91:
                i += 9
                p = i
                while not (at8(b, p) == 93 and at8(b, p + 1) == 93 and at8(b, p + 2) == 62):
                    if at8(b, p) == 13:
                        j = copied(b, i, p, size, c, j, room)
                        put8(c, j, 10)
                        j += 1
                        i = p + 1
                        if at8(b, i) == 10:
                            i += 1
                            p += 1
                    p += 1
                j = copied(b, i, p, size, c, j, room)
                i = p + 3
            elif y == 33:
                p = i + 4
                while not (at8(b, p) == 45 and at8(b, p + 1) == 45):
                    p += 1
                i = p + 3
            elif y == 63:
                p = i + 2
                while not (at8(b, p) == 63 and at8(b, p + 1) == 62):
                    p += 1
                i = p + 2
            else:
                p = find_tag(b, i, to)
                while at8(b, p) != 62:
                    p = find_tag(b, find_byte(b, p + 1, to, at8(b, p)) + 1, to)
                i = p + 1
        else:
            put8(c, j, x)
            j += 1
            i += 1
    return j


@kernel
def _gather(b: U8, froms: I64, tos: I64, modes: U8, c: U8, separated: bool, ends: I64) -> int:
    size = b.shape[0]
    room = c.shape[0]
    source = base(b)
    target = base(c)
    j = 0
    for k in range(froms.shape[0]):
        mode = modes[k]
        if mode == RAW:
            j = copied(source, froms[k], tos[k], size, target, j, room)
        else:
            j = _text(source, froms[k], tos[k], size, target, j, room, mode == ATTRIBUTE, mode == LINES)
        if separated:
            put8(target, j, SEPARATOR)
            j += 1
        ends[k] = j
    return j


def gathered(b: Bytes, froms: Any, tos: Any, modes: Any, separated: bool = False) -> tuple[Bytes, Longs]:
    """The values of spans, one after the other, and where each ends; ``modes`` says how each is read."""
    froms = np.ascontiguousarray(froms, np.int64)
    tos = np.ascontiguousarray(tos, np.int64)
    modes = np.ascontiguousarray(modes, np.uint8)
    # A value is never longer than its span; the 32 bytes are for the copy's last stride.
    c = np.empty(int((tos - froms).sum()) + len(froms) + 32, np.uint8)
    ends = np.empty(len(froms), np.int64)
    size = _gather(b, froms, tos, modes, c, separated, ends)
    return c[:size], ends


def strings(b: Bytes, froms: Any, tos: Any, modes: Any) -> list[str]:
    """The values of spans as Python strings: decoded and cut up in two calls, whatever their number."""
    if not len(froms):
        return []
    joined, _ = gathered(b, froms, tos, modes, separated=True)
    return str(joined[:-1].data, "utf-8").split("\0")


@kernel
def _equal(b: U8, froms: I64, tos: I64, other: U8, found: Flags) -> None:
    size = other.shape[0]
    source = base(b)
    target = base(other)
    for k in range(froms.shape[0]):
        same = tos[k] - froms[k] == size
        x = 0
        while same and x < size:
            same = at8(source, froms[k] + x) == at8(target, x)
            x += 1
        found[k] = same


@kernel
def _contain(b: U8, froms: I64, tos: I64, other: U8, found: Flags) -> None:
    size = other.shape[0]
    source = base(b)
    target = base(other)
    for k in range(froms.shape[0]):
        i = froms[k]
        last = tos[k] - size
        hit = size == 0
        while not hit and i <= last:
            i = find_byte(source, i, last + 1, at8(target, 0))
            if i > last:
                break
            x = 1
            while x < size and at8(source, i + x) == at8(target, x):
                x += 1
            hit = x == size
            i += 1
        found[k] = hit


@kernel
def _order(b: U8, froms: I64, tos: I64, other: U8, found: I8) -> None:
    size = other.shape[0]
    source = base(b)
    target = base(other)
    for k in range(froms.shape[0]):
        length = tos[k] - froms[k]
        common = min(length, size)
        x = 0
        while x < common and at8(source, froms[k] + x) == at8(target, x):
            x += 1
        if x < common:
            found[k] = -1 if at8(source, froms[k] + x) < at8(target, x) else 1
        else:
            found[k] = -1 if length < size else (1 if length > size else 0)


_POWERS: Final = 10.0 ** np.arange(23)
_EXACT: Final = 1 << 53
_DOUBLE: Final = re.compile(rb"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[Ee][+-]?[0-9]+)?|INF)|NaN")


@kernel
def _numbers(b: U8, froms: I64, tos: I64, powers: F64, whole: bool, doubles: F64, longs: I64, plain: Flags) -> None:
    """Decimal numbers, exactly: digits below 2**53 over a power of ten that is a double (Clinger's fast path).

    ``plain[k]`` is False for whatever else stands there; Python reads that.
    """
    source = base(b)
    for k in range(froms.shape[0]):
        i = froms[k]
        to = tos[k]
        while i < to and (at8(source, i) == 32 or (at8(source, i) >= 9 and at8(source, i) <= 13)):
            i += 1
        while to > i and (at8(source, to - 1) == 32 or (at8(source, to - 1) >= 9 and at8(source, to - 1) <= 13)):
            to -= 1
        negative = False
        if i < to and (at8(source, i) == 45 or at8(source, i) == 43):
            negative = at8(source, i) == 45
            i += 1
        number = 0
        seen = 0
        places = 0
        point = False
        good = True
        while i < to and good:
            d = at8(source, i) - 48
            if d >= 0 and d <= 9:
                seen += 1
                if point:
                    places += 1
                good = number < 10**17
                number = number * 10 + d
            elif d == -2 and not point and not whole:
                point = True
            else:
                good = False
            i += 1
        plain[k] = False
        if good and seen > 0:
            if whole:
                longs[k] = -number if negative else number
                plain[k] = True
            elif number < _EXACT and places <= 22:
                value = number / powers[places]
                doubles[k] = -value if negative else value
                plain[k] = True


def doubles(b: Bytes, froms: Any, tos: Any) -> tuple[np.ndarray[Any, np.dtype[np.float64]], Any]:
    """Spans as xs:double, and which of them are numbers at all (the others are NaN)."""
    froms, tos = _contiguous(froms, tos)
    values = np.full(len(froms), np.nan)
    good = np.empty(len(froms), np.bool_)
    _numbers(b, froms, tos, _POWERS, False, values, np.empty(0, np.int64), good)
    for k in np.flatnonzero(~good).tolist():
        written = bytes(b[froms[k] : tos[k]]).strip(b" \t\r\n")
        if _DOUBLE.fullmatch(written):
            values[k] = float(written)
            good[k] = True
    return values, good


def integers(b: Bytes, froms: Any, tos: Any) -> tuple[Longs, Any]:
    """Spans as xs:integer, and which of them are integers of 64 bits (the others are 0)."""
    froms, tos = _contiguous(froms, tos)
    values = np.zeros(len(froms), np.int64)
    good = np.empty(len(froms), np.bool_)
    _numbers(b, froms, tos, _POWERS, True, np.empty(0, np.float64), values, good)
    for k in np.flatnonzero(~good).tolist():
        written = bytes(b[froms[k] : tos[k]]).strip(b" \t\r\n")
        if re.fullmatch(rb"[+-]?[0-9]+", written) and -(1 << 63) <= int(written) < 1 << 63:
            values[k] = int(written)
            good[k] = True
    return values, good


def _contiguous(froms: Any, tos: Any) -> tuple[Longs, Longs]:
    return np.ascontiguousarray(froms, np.int64), np.ascontiguousarray(tos, np.int64)


def equal(b: Bytes, froms: Any, tos: Any, value: bytes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which spans are these bytes."""
    found = np.empty(len(froms), np.bool_)
    _equal(b, *_contiguous(froms, tos), np.frombuffer(bytearray(value), np.uint8), found)
    return found


def order(b: Bytes, froms: Any, tos: Any, value: bytes) -> np.ndarray[Any, np.dtype[np.int8]]:
    """Below zero for spans that are less than these bytes, 0 for equal ones: UTF-8 sorts as its characters do."""
    found = np.empty(len(froms), np.int8)
    _order(b, *_contiguous(froms, tos), np.frombuffer(bytearray(value), np.uint8), found)
    return found


def contain(b: Bytes, froms: Any, tos: Any, value: bytes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which spans contain these bytes."""
    found = np.empty(len(froms), np.bool_)
    _contain(b, *_contiguous(froms, tos), np.frombuffer(bytearray(value), np.uint8), found)
    return found

"""Rows of a scanned wire stream → columns of changes: one compiled pass, no Python per fragment.

What the pass does not vouch for it stops at: the exact reader (:mod:`xstreamcast.wire.fragment`) takes that element.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from xstreamcast.cast.automata import CARRIERS, CHANGE, FIELD, FOREIGN, HOLE, HOLE_FIELD, INLINE, TOP
from xstreamcast.native.kernel import I64, U8, Flags, I64x2, inner, kernel
from xstreamcast.native.vector import at8, at64, base
from xstreamcast.scan.layout import (
    FLAG_BITS,
    R_END,
    R_FLAGS,
    R_FROM,
    R_RECORD,
    R_START,
    R_STATE,
    R_TO,
    ROW_WORDS,
)
from xstreamcast.scan.token import find_byte

NONE: Final = -1
NO_TIME: Final = -(2**63) + 1
"""In the column of valid times: none. (START is one less, and is a time.)"""
ODD_TIME: Final = -(2**63) + 2
"""A valid time that Python must read."""

# The columns of a change and of a mark.
KIND, REGION, TSID, VERSION, TARGET, TIME, START, BEGIN, TO, END, DOC_FROM, DOC_TO, TIME_FROM, TIME_TO, OPENED, LAST = (
    range(16)
)  # LAST: the number of marks after it; OPENED: 1 if its holes are known
CHANGE_WORDS: Final = 16
M_START, M_END, M_REGION, M_TSID, M_CONTEXT, MARK_WORDS = range(6)
"""A mark: a top element (M_REGION is NONE), or a hole."""
N_CHANGE, N_STATE, N_START, INLINE_WORDS = range(4)

# What the pass tells: how many, where it stopped, and the extent of what it stopped at.
CHANGES, MARKS, INLINES, NEXT, EDGE, STOPPED, RESULTS = range(7)

_REPLACE, _BEFORE, _AFTER = CARRIERS["replace"], CARRIERS["before"], CARRIERS["after"]
_EOS: Final = CARRIERS["eos"]
_WORDS: Final = np.frombuffer(b"replace\0before\0after\0hide\0show\0freeze\0", np.uint8).copy()
"""The updates that may stand in a content; the exact reader lifts them out of it."""


@inner
def _blank(b: Any, i: int, to: int) -> bool:
    while i < to:
        c = at8(b, i)
        if c != 32 and c != 10 and c != 13 and c != 9:
            return False
        i += 1
    return True


@inner
def _number(b: Any, i: int, to: int) -> int:
    """A whole number of 1 to 18 digits, or -2."""
    if to - i < 1 or to - i > 18:
        return -2
    number = 0
    while i < to:
        digit = at8(b, i) - 48
        if digit < 0 or digit > 9:
            return -2
        number = number * 10 + digit
        i += 1
    return number


@inner
def _digits(b: Any, i: int, count: int) -> int:
    number = 0
    for k in range(count):
        digit = at8(b, i + k) - 48
        if digit < 0 or digit > 9:
            return -1
        number = number * 10 + digit
    return number


@inner
def _instant(b: Any, i: int, to: int) -> int:
    """``2003-10-23T12:23:34`` with up to six decimals and perhaps a Z; any other text is Python's to read."""
    if to - i < 19 or at8(b, i + 4) != 45 or at8(b, i + 7) != 45 or at8(b, i + 10) != 84:
        return ODD_TIME
    if at8(b, i + 13) != 58 or at8(b, i + 16) != 58:
        return ODD_TIME
    year, month, day = _digits(b, i, 4), _digits(b, i + 5, 2), _digits(b, i + 8, 2)
    hour, minute, second = _digits(b, i + 11, 2), _digits(b, i + 14, 2), _digits(b, i + 17, 2)
    if year < 1 or month < 1 or month > 12 or day < 1 or day > 28 or hour < 0 or minute < 0 or second < 0:
        return ODD_TIME  # days after the 28th depend on the month
    if hour > 23 or minute > 59 or second > 59:
        return ODD_TIME
    micros = 0
    at = i + 19
    if at < to and at8(b, at) == 46:
        size = 0
        at += 1
        while at < to and size < 6 and at8(b, at) >= 48 and at8(b, at) <= 57:
            micros = micros * 10 + at8(b, at) - 48
            size += 1
            at += 1
        if size == 0:
            return ODD_TIME
        for _ in range(6 - size):
            micros *= 10
    if at < to and at8(b, at) == 90:
        at += 1
    if at != to:
        return ODD_TIME
    # as model.time.days_from_civil
    if month <= 2:
        year -= 1
    era = year // 400
    of_era = year - era * 400
    shifted = month - 3 if month > 2 else month + 9
    days = era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + (153 * shifted + 2) // 5 + day - 1 - 719468
    return ((days * 24 + hour) * 60 + minute) * 60000000 + second * 1000000 + micros


@inner
def _may_update(b: Any, i: int, to: int, words: Any, size: int) -> bool:
    """Whether a content has ``:replace`` or another update's name, even if only in a text."""
    while True:
        i = find_byte(b, i, to, 58) + 1
        if i >= to:
            return False
        at = 0
        while at < size:
            k = i
            same = True
            while at8(words, at) != 0:
                same = same and k < to and at8(b, k) == at8(words, at)
                k += 1
                at += 1
            at += 1
            if same and k < to:
                c = at8(b, k)
                if c == 32 or (c >= 9 and c <= 13) or c == 47 or c == 62:
                    return True


@kernel
def _read(
    b: U8,
    rows: I64,
    first: int,
    edge: int,
    limit: int,
    codes: I64,
    plain: Flags,
    words: U8,
    changes: I64x2,
    marks: I64x2,
    inlines: I64x2,
    results: I64,
) -> None:
    source = base(b)
    letters = base(words)
    size = words.shape[0]
    table = base(rows)
    kinds = base(codes)
    count = 0
    marked = 0
    noted = 0
    k = first
    region = tsid = version = target = NONE
    hole_region = hole_tsid = NONE
    time = NO_TIME
    doc_from = doc_to = time_from = time_to = 0
    bad = False
    opened = 1
    stopped = 0
    mark = 0
    note = 0
    while k < rows.shape[0] // ROW_WORDS:
        w = k * ROW_WORDS
        code = at64(kinds, at64(table, w + R_STATE))
        start, begin, to = at64(table, w + R_START), at64(table, w + R_FROM), at64(table, w + R_TO)
        if code >= HOLE_FIELD and code < HOLE:
            value = _number(source, begin, to) if at64(table, w + R_FLAGS) == 0 else -2
            if code == HOLE_FIELD:
                hole_region = value
            else:
                hole_tsid = value
        elif code == HOLE:
            marks[mark, M_START] = start
            marks[mark, M_END] = at64(table, w + R_END)
            marks[mark, M_REGION] = hole_region
            marks[mark, M_TSID] = hole_tsid
            marks[mark, M_CONTEXT] = at64(table, w + R_FLAGS) >> FLAG_BITS
            mark += 1
            if hole_region < 0 or hole_tsid == -2 or not _blank(source, begin, to):
                opened = 0  # not a hole: who opens the content will say so
            hole_region = hole_tsid = NONE
        elif code == TOP:
            marks[mark, M_START] = start
            marks[mark, M_END] = at64(table, w + R_END)
            marks[mark, M_REGION] = NONE
            marks[mark, M_TSID] = NONE
            marks[mark, M_CONTEXT] = at64(table, w + R_FLAGS) >> FLAG_BITS
            mark += 1
        elif code == INLINE:
            inlines[note, N_CHANGE] = count
            inlines[note, N_STATE] = at64(table, w + R_STATE)
            inlines[note, N_START] = start
            note += 1
        elif code >= FIELD and code < HOLE_FIELD:
            which = code - FIELD
            if at64(table, w + R_FLAGS) != 0:
                bad = True
            elif which == 4:
                time = _instant(source, begin, to)
                time_from, time_to = begin, to
            elif which == 5:
                doc_from, doc_to = begin, to
            else:
                value = _number(source, begin, to)
                bad = bad or value < 0
                if which == 0:
                    region = value
                elif which == 1:
                    tsid = value
                elif which == 2:
                    version = value
                else:
                    target = value
        elif code == FOREIGN:
            bad = True
            if at64(table, w + R_RECORD) < 0:  # an element of the stream that is no change
                stopped = at64(table, w + R_END)
                k += 1
                break
        elif code >= CHANGE:
            kind = code - CHANGE
            end = at64(table, w + R_END)
            updates = kind in (_REPLACE, _BEFORE, _AFTER)
            if kind == _REPLACE and region < 0:
                region, target = target, NONE
            elif not updates:
                target = NONE
            if kind == _EOS and region < 0:
                region = 0
            bad = bad or region < 0 or (target < 0 and kind in (_BEFORE, _AFTER))
            bad = bad or end - start > limit or not plain[at64(table, w + R_FLAGS) >> FLAG_BITS]
            bad = bad or not _blank(source, edge, start)
            if updates or kind < _REPLACE:
                bad = bad or _may_update(source, begin, to, letters, size)
            else:
                bad = bad or not _blank(source, begin, to)
            if bad:
                stopped = end
                k += 1
                break
            changes[count, KIND] = kind
            changes[count, REGION] = region
            changes[count, TSID] = tsid
            changes[count, VERSION] = version
            changes[count, TARGET] = target
            changes[count, TIME] = time
            changes[count, START] = start
            changes[count, BEGIN] = begin
            changes[count, TO] = to
            changes[count, END] = end
            changes[count, DOC_FROM] = doc_from
            changes[count, DOC_TO] = doc_to
            changes[count, TIME_FROM] = time_from
            changes[count, TIME_TO] = time_to
            changes[count, OPENED] = opened
            changes[count, LAST] = mark
            count += 1
            edge = end
            marked = mark
            noted = note
            region = tsid = version = target = NONE
            time = NO_TIME
            doc_from = doc_to = time_from = time_to = 0
            opened = 1
        k += 1
    results[CHANGES] = count
    results[MARKS] = marked
    results[INLINES] = noted
    results[NEXT] = k
    results[EDGE] = edge
    results[STOPPED] = stopped


def read_rows(
    b: Any, rows: Any, first: int, edge: int, limit: int, codes: Any, plain: Any
) -> tuple[Any, Any, Any, list[int]]:
    """Changes, marks and inline elements of the rows from ``first`` on, and the results (``CHANGES`` …).

    ``edge``: where the element before ended. ``plain``: by namespace context, whether a change may stand in it.
    """
    left = len(rows) - first
    changes = np.empty((left, CHANGE_WORDS), np.int64)
    marks = np.empty((left, MARK_WORDS), np.int64)
    inlines = np.empty((left, INLINE_WORDS), np.int64)
    results = np.zeros(RESULTS, np.int64)
    flat = np.ascontiguousarray(rows, np.int64).reshape(-1)
    _read(b, flat, first, edge, limit, codes, plain, _WORDS, changes, marks, inlines, results)
    found = results.tolist()
    return changes[: found[CHANGES]], marks[: found[MARKS]], inlines[: found[INLINES]], found

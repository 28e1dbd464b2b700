"""Fillings as text, with what fills their holes; and room for more of them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from xstreamcast.model.time import NOW as FOREVER
from xstreamcast.model.time import START as BEGINNING
from xstreamcast.native.kernel import I64, U8, I64x2, inner, kernel
from xstreamcast.run.continuous.columns.layout import (
    AHEAD,
    BEGIN,
    BYTES,
    COUNT,
    END,
    EVENT,
    FILLINGS,
    FIRST,
    FLAGS,
    FOR,
    H_TSID,
    HEAD,
    HOLE_WORDS,
    HOLES,
    KIND,
    N_FIRST,
    N_NEXT,
    NEXT,
    NODE,
    NOWHERE,
    OF,
    P_BESIDE,
    P_HOLE,
    PART,
    SHOWS,
    START,
    TIME,
    TO,
    TSID,
    UNSEEN,
    UNTIMED,
)
from xstreamcast.run.continuous.columns.ordering import earlier
from xstreamcast.run.continuous.columns.taking import tag_end

_DAY: Final = 86_400_000_000
REFUSED: Final = -1
_ROOM: Final = 128
"""Bytes for a lifespan, and to look back at."""
_MOST: Final = 4
"""So many seams at most are told between two looks at how much room there is."""
HOLE, FILLING, ENDS, PASSED = range(4)
"""What begins at a seam: a hole, or a version or an event in one; that the last one that has begun ends; or a hole that
is not read."""
_FROM: Final = np.frombuffer(b' vtFrom="', np.uint8).copy()
_UNTIL: Final = np.frombuffer(b'" vtTo="', np.uint8).copy()
_START: Final = np.frombuffer(b"start", np.uint8).copy()
_NOW: Final = np.frombuffer(b"now", np.uint8).copy()

NO_SEAMS: Final = np.zeros((0, 3), np.int64)
"""Nobody wants to know of them."""


@inner
def _meets(before: int, last: int, arena: Any, at: int, to: int) -> bool:
    """Whether a text would become another one beside what is before it: a line end of two, or the end of CDATA."""
    c = arena[at]
    if c == 10:
        return last == 13
    if c == 62:
        return before == 93 and last == 93
    return bool(c == 93 and last == 93 and at + 1 < to and arena[at + 1] == 62)


@inner
def _digits(number: int, count: int, out: Any, at: int) -> int:
    for k in range(count):
        out[at + count - 1 - k] = 48 + number % 10
        number //= 10
    return at + count


@inner
def _instant(instant: int, out: Any, at: int) -> int:
    """Write an instant as ``model.time.format_instant`` does; -1 for years that have not four digits."""
    if instant in (BEGINNING, FOREVER):
        text = _START if instant == BEGINNING else _NOW
        for k in range(text.shape[0]):
            out[at + k] = text[k]
        return at + int(text.shape[0])
    days = instant // _DAY
    rest = instant - days * _DAY
    # as model.time.civil_from_days
    era = (days + 719468) // 146097
    of_era = days + 719468 - era * 146097
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year += era * 400 + (1 if month <= 2 else 0)
    if year < 0 or year > 9999:
        return -1
    at = _digits(year, 4, out, at)
    out[at] = 45
    at = _digits(month, 2, out, at + 1)
    out[at] = 45
    at = _digits(of_year - (153 * shifted + 2) // 5 + 1, 2, out, at + 1)
    out[at] = 84
    seconds = rest // 1000000
    at = _digits(seconds // 3600, 2, out, at + 1)
    out[at] = 58
    at = _digits(seconds // 60 % 60, 2, out, at + 1)
    out[at] = 58
    at = _digits(seconds % 60, 2, out, at + 1)
    fraction = rest - seconds * 1000000
    if fraction:
        out[at] = 46
        at = _digits(fraction, 6, out, at + 1)
        while out[at - 1] == 48:
            at -= 1
    return at


@inner
def until(f: int, regions: Any, fillings: Any) -> int:
    """When the life of a version ends: as the next one of its region begins."""
    found = FOREVER
    g = regions[fillings[f, OF], HEAD]
    while g >= 0:
        if fillings[f, TIME] < fillings[g, TIME] < found and fillings[g, FLAGS] & AHEAD == 0:
            found = fillings[g, TIME]
        g = fillings[g, NEXT]
    return int(found)


@inner
def _bracket(begin: int, arena: Any) -> int:
    """Where a start tag ends, without its bracket; -1 if it may tell a lifespan itself."""
    end = tag_end(arena, begin)
    for i in range(begin, end - 2):
        if arena[i] == 118 and arena[i + 1] == 116 and (arena[i + 2] == 70 or arena[i + 2] == 84):
            return -1  # vtFrom, vtTo
    return end - 1 if arena[end - 1] == 47 else end


@inner
def _lifespan(f: int, event: bool, regions: Any, fillings: Any, arena: Any, out: Any, at: int) -> int:
    """Write the start tag of a filling with its lifespan, as far as its bracket; -1 if it tells one itself."""
    begin = fillings[f, BEGIN]
    i = _bracket(begin, arena)
    if i < 0:
        return -1
    for k in range(begin, i):
        out[at] = arena[k]
        at += 1
    for k in range(_FROM.shape[0]):
        out[at + k] = _FROM[k]
    at = _instant(fillings[f, TIME], out, at + _FROM.shape[0])
    if at < 0:
        return -1
    for k in range(_UNTIL.shape[0]):
        out[at + k] = _UNTIL[k]
    to = fillings[f, TIME] if event else until(f, regions, fillings)
    at = _instant(to, out, at + _UNTIL.shape[0])
    if at >= 0:
        out[at] = 34
        at += 1
    return at


@inner
def _seam(what: int, of: int, at: int, seams: Any, found: Any) -> None:
    """Something begins or ends here."""
    seams[found[0], 0], seams[found[0], 1], seams[found[0], 2] = at, what, of
    found[0] += 1


@kernel
def splice(
    some: I64, bits: int, tags: I64x2, regions: I64x2, fillings: I64x2, holes: I64x2, arena: U8, stack: I64x2,
    out: U8, ends: I64, seams: I64x2, found: I64,
) -> int:  # fmt: skip
    """Write fillings, each with what units read of its holes, one after the other; where each ends.

    How many there are; the number of the one that there is no room for; or REFUSED: one has too many fragments in it,
    or texts that must not meet, or tells a lifespan itself. If there is room for ``seams``, these tell where the holes
    that are read, and the versions and events in them, begin and end: ``found[0]`` of them.
    """
    at = 0
    room = stack.shape[0]
    sews = seams.shape[0] > 0
    found[0] = 0
    for k in range(some.shape[0]):
        top = 0
        stack[0, 0] = some[k]
        stack[0, 1] = 0
        stack[0, 2] = 0
        begun = at
        while top >= 0:
            f, h, done = stack[top, 0], stack[top, 1], stack[top, 2]
            begin, to = fillings[f, BEGIN], fillings[f, TO]
            first, count = fillings[f, FIRST], fillings[f, COUNT]
            stop = to if h >= count else begin + holes[first + h, START]
            i = begin + done
            if at + stop - i + _ROOM > out.shape[0] or (sews and found[0] + _MOST > seams.shape[0]):
                return k
            timed = tags[fillings[f, TSID], KIND] > UNTIMED
            if sews and timed and top > 0 and h == 0:
                _seam(FILLING, f, at, seams, found)
            if done == 0 and tags[fillings[f, TSID], SHOWS]:
                at = _lifespan(f, tags[fillings[f, TSID], KIND] == EVENT, regions, fillings, arena, out, at)
                if at < 0:
                    return REFUSED
                i = _bracket(begin, arena)
            if at > begun + 1 and i < stop and _meets(out[at - 2], out[at - 1], arena, i, stop):
                return REFUSED
            while i < stop:
                out[at] = arena[i]
                at += 1
                i += 1
            if h >= count:
                if sews and top > 0:
                    if timed:
                        _seam(ENDS, f, at, seams, found)
                    if stack[top, 3]:
                        _seam(ENDS, NOWHERE, at, seams, found)
                top -= 1
                continue
            hole = first + h
            stack[top, 1] = h + 1
            stack[top, 2] = holes[hole, END]
            if tags[holes[hole, H_TSID], PART] & bits == 0:
                if sews:
                    _seam(PASSED, hole, at, seams, found)
                continue
            if sews:
                _seam(HOLE, hole, at, seams, found)
            base = top + 1
            filler = regions[holes[hole, FOR], HEAD]
            while filler >= 0:
                if fillings[filler, FLAGS] & UNSEEN == 0 and tags[fillings[filler, TSID], PART] & bits:
                    if top + 1 >= room:
                        return REFUSED
                    spot = top + 1  # the earliest is on top
                    while spot > base and earlier(stack[spot - 1, 0], filler, fillings):
                        stack[spot, 0] = stack[spot - 1, 0]
                        spot -= 1
                    stack[spot, 0] = filler
                    top += 1
                    stack[top, 1] = 0
                    stack[top, 2] = 0
                    stack[top, 3] = top == base  # the last one to be written: with it the hole ends
                filler = fillings[filler, NEXT]
            if sews and top < base:
                _seam(ENDS, NOWHERE, at, seams, found)
        ends[k] = at
    return int(some.shape[0])


@kernel
def compact(
    fillings: I64x2, holes: I64x2, places: I64x2, nodes: I64x2, arena: U8, other_holes: I64x2, other: U8, tally: I64
) -> None:
    """Copy what is said, and its holes, to tables without what was said before. All has been settled."""
    at, row = 0, 0
    for f in range(tally[FILLINGS]):
        begin, to = fillings[f, BEGIN], fillings[f, TO]
        fillings[f, BEGIN] = at
        for i in range(begin, to):
            other[at] = arena[i]
            at += 1
        fillings[f, TO] = at
        first = fillings[f, FIRST]
        fillings[f, FIRST] = row
        n = fillings[f, NODE]
        while n >= 0:
            p = nodes[n, N_FIRST]
            while p >= 0:
                places[p, P_HOLE] += row - first
                p = places[p, P_BESIDE]
            n = nodes[n, N_NEXT]
        for h in range(first, first + fillings[f, COUNT]):
            for word in range(HOLE_WORDS):
                other_holes[row, word] = holes[h, word]
            row += 1
    tally[BYTES] = at
    tally[HOLES] = row

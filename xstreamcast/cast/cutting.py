"""Cutting the part of a document that was scanned: spans of it → the contents of its fragments, with holes between.

Two compiled passes over the fragments that are open or begin in a *part*, in document order: the first gives them
their regions and measures their contents, the second writes these, records of a spool side by side. A slot is one
fragment: those open from before first, outermost first, then those that begin, in document order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

import numpy as np

from xstreamcast.cast.columns import NO_TIME
from xstreamcast.model.time import NOW
from xstreamcast.native.kernel import I64, U8, I64x2, inner, kernel
from xstreamcast.native.vector import Bytes, Longs, at8, base, copy32, put8
from xstreamcast.scan.token import find_name

# A slot. LAST_…: the timed child that ended last, if no other fragment was cut out since.
(
    START,  # positions in the part; before it for what was open
    INNER,
    END,  # -1: it does not end in this part
    TSID,
    EVENT,  # 1 if its tag is an event
    CONTEXT,  # the number of its namespaces
    DECLARED,  # the text that declares what it takes from around it, or -1
    ATTRIBUTES,  # the text of its attributes, or -1: as they stand
    REGION,
    VERSION,
    FROM,  # valid time, NO_TIME for none
    TO,
    LEVEL,
    CHILDREN,
    LAST_REGION,
    LAST_TSID,
    LAST_FROM,
    LAST_TO,
    LAST_VERSION,
    LAST_END,
    HOLE,  # 1: a hole stands for it in the fragment around it
    LENGTH,  # of what the part adds to its content
    AT,  # where that goes
    SLOT_WORDS,
) = range(24)

# A record that is complete: a slot, or the end of a life.
D_SLOT, D_ENDS, D_LEVEL, D_REGION, D_TSID, D_TIME, D_AT, DONE_WORDS = range(8)

HEADER_SIZE: Final = 51
"""Of a record in a spool: ``order.HEADER``."""
_NOW: Final = NOW


@inner
def _digits(number: int) -> int:
    size = 1
    while number >= 10:
        number //= 10
        size += 1
    return size


@inner
def _settle(slots: Any, slot: int, done: Any, count: int) -> int:
    """No version follows directly on the last timed child: if its life has ended, that is a record."""
    if slots[slot, LAST_REGION] >= 0:
        ended = slots[slot, LAST_TO]
        if ended != NO_TIME and ended != _NOW:
            slots[slot, CHILDREN] += 1
            done[count, D_SLOT] = slot
            done[count, D_ENDS] = 1
            done[count, D_LEVEL] = slots[slot, LEVEL] + 1
            done[count, D_REGION] = slots[slot, LAST_REGION]
            done[count, D_TSID] = slots[slot, LAST_TSID]
            done[count, D_TIME] = ended
            count += 1
        slots[slot, LAST_REGION] = -1
    return count


@inner
def _close(slots: Any, slot: int, around: int, done: Any, count: int) -> int:
    count = _settle(slots, slot, done, count)
    if around >= 0:
        if slots[slot, FROM] != NO_TIME:
            slots[around, LAST_REGION] = slots[slot, REGION]
            slots[around, LAST_TSID] = slots[slot, TSID]
            slots[around, LAST_FROM] = slots[slot, FROM]
            slots[around, LAST_TO] = slots[slot, TO]
            slots[around, LAST_VERSION] = slots[slot, VERSION]
            slots[around, LAST_END] = slots[slot, END]
        slots[around, CHILDREN] += 1
        done[count, D_SLOT] = slot
        done[count, D_ENDS] = 0
        done[count, D_LEVEL] = slots[slot, LEVEL]
        count += 1
    return count


@inner
def _place(slots: Any, slot: int, around: int, done: Any, count: int, region: int) -> int:
    """A new hole; or none, where a version goes on directly from the one before it, or an event follows one.

    Events of one hole at the same instant are told apart, and kept in order, by their versions.
    """
    begin = slots[slot, FROM]
    adjacent = slots[around, LAST_REGION] >= 0 and slots[around, LAST_END] == slots[slot, START]
    if adjacent and slots[around, LAST_TSID] == slots[slot, TSID] and begin != NO_TIME:
        before = slots[around, LAST_FROM]
        if slots[slot, EVENT] == 1:
            follows = before <= begin
        else:
            follows = slots[around, LAST_TO] == begin and begin > before
        if follows:
            slots[around, LAST_TO] = _NOW  # its end is the next one's beginning: no removal needed
            slots[slot, REGION] = slots[around, LAST_REGION]
            slots[slot, VERSION] = slots[around, LAST_VERSION] + 1 if before == begin else 0
            slots[slot, HOLE] = 0
            return count
    count = _settle(slots, around, done, count)
    slots[slot, REGION] = region
    slots[slot, HOLE] = 1
    return count


@inner
def _attributes_end(b: Any, inner: int, empty: bool) -> int:
    """Where the attributes of a start tag end: white space before its closing bracket goes."""
    i = inner - 2 if empty else inner - 1
    while at8(b, i - 1) == 32 or at8(b, i - 1) == 10 or at8(b, i - 1) == 9 or at8(b, i - 1) == 13:
        i -= 1
    return i


@kernel
def _measure(
    b: U8,
    cursor: int,
    to: int,
    slots: I64x2,
    opened: int,
    holes: I64,
    texts: I64,
    done: I64x2,
    stack: I64,
    regions: I64,
) -> int:
    """The first pass: regions, versions, levels, lengths, and the records in the order of their ends; how many.

    ``regions``: the one number that the next new region has.
    """
    region = regions[0]
    n = b.shape[0]
    source = base(b)
    count = 0
    depth = opened
    for k in range(opened):
        stack[k] = k
    for slot in range(opened, slots.shape[0] + 1):
        start = slots[slot, START] if slot < slots.shape[0] else to
        while depth > 0 and slots[stack[depth - 1], END] >= 0 and slots[stack[depth - 1], END] <= start:
            top = stack[depth - 1]
            slots[top, LENGTH] += slots[top, END] - cursor
            cursor = slots[top, END]
            depth -= 1
            count = _close(slots, top, stack[depth - 1] if depth > 0 else -1, done, count)
        if slot == slots.shape[0]:
            break
        slots[slot, LEVEL] = depth
        if depth > 0:
            around = stack[depth - 1]
            slots[around, LENGTH] += start - cursor
            count = _place(slots, slot, around, done, count, region)
            if slots[slot, HOLE] == 1:
                context = slots[slot, CONTEXT]
                size = holes[context + 1] - holes[context]
                slots[around, LENGTH] += size + _digits(region) + 8 + _digits(slots[slot, TSID]) + 3
                region += 1
        else:
            slots[slot, REGION] = region
            region += 1
        inner = slots[slot, INNER]
        empty = slots[slot, END] == inner
        name = find_name(source, start + 1, n)
        size = name - start + (2 if empty else 1)
        if slots[slot, DECLARED] >= 0:
            size += texts[slots[slot, DECLARED] + 1] - texts[slots[slot, DECLARED]]
        if slots[slot, ATTRIBUTES] >= 0:
            size += texts[slots[slot, ATTRIBUTES] + 1] - texts[slots[slot, ATTRIBUTES]]
        else:
            size += _attributes_end(source, inner, empty) - name
        slots[slot, LENGTH] += size
        cursor = inner
        stack[depth] = slot
        depth += 1
    if depth > 0:
        slots[stack[depth - 1], LENGTH] += to - cursor
    regions[0] = region
    return count


@inner
def _copy(b: Any, i: int, to: int, c: Any, j: int) -> int:
    """Copy ``b[i:to]`` to ``c[j:]`` and not a byte more, for what follows may be written already."""
    end = j + to - i
    if to - i >= 32:
        while to - i > 32:
            copy32(b, i, c, j)
            i += 32
            j += 32
        copy32(b, to - 32, c, end - 32)
    else:
        while i < to:
            put8(c, j, at8(b, i))
            i += 1
            j += 1
    return end


@inner
def _put_number(c: Any, j: int, number: int) -> int:
    size = _digits(number)
    k = j + size
    while k > j:
        k -= 1
        put8(c, k, 48 + number % 10)
        number //= 10
    return j + size


@inner
def _put_word(c: Any, j: int, word: int, size: int) -> int:
    for k in range(size):
        put8(c, j + k, (word >> (8 * k)) & 255)
    return j + size


@inner
def _put_header(
    c: Any, j: int, level: int, region: int, tsid: int, time: int, length: int, children: int, version: int, ends: int
) -> None:
    j = _put_word(c, j, level, 4)
    j = _put_word(c, j, region, 8)
    j = _put_word(c, j, tsid, 8)
    j = _put_word(c, j, time, 8)
    j = _put_word(c, j, length, 8)
    j = _put_word(c, j, children, 8)
    j = _put_word(c, j, version, 4)
    put8(c, j, ends)
    put8(c, j + 1, 0)
    put8(c, j + 2, 1 if time != NO_TIME else 0)


@kernel
def _write(
    b: U8,
    cursor: int,
    to: int,
    slots: I64x2,
    opened: int,
    holes: I64,
    hole_arena: U8,
    texts: I64,
    arena: U8,
    done: I64x2,
    tail: U8,
    out: U8,
    stack: I64,
) -> None:
    """The second pass: every slot's content to where ``AT`` says, every complete record's header before it."""
    n = b.shape[0]
    source = base(b)
    target = base(out)
    words = base(arena)
    openings = base(hole_arena)
    middle = base(tail)
    for k in range(done.shape[0]):
        slot = done[k, D_SLOT]
        if done[k, D_AT] >= 0 and done[k, D_ENDS] == 1:
            _put_header(
                target, done[k, D_AT], done[k, D_LEVEL], done[k, D_REGION], done[k, D_TSID], done[k, D_TIME], 0, 0, 0, 1
            )
        elif done[k, D_AT] >= 0:
            _put_header(
                target, done[k, D_AT], slots[slot, LEVEL], slots[slot, REGION], slots[slot, TSID], slots[slot, FROM],
                slots[slot, LENGTH], slots[slot, CHILDREN], slots[slot, VERSION], 0,
            )  # fmt: skip
    depth = opened
    for k in range(opened):
        stack[k] = k
    for slot in range(opened, slots.shape[0] + 1):
        start = slots[slot, START] if slot < slots.shape[0] else to
        while depth > 0 and slots[stack[depth - 1], END] >= 0 and slots[stack[depth - 1], END] <= start:
            top = stack[depth - 1]
            slots[top, AT] = _copy(source, cursor, slots[top, END], target, slots[top, AT])
            cursor = slots[top, END]
            depth -= 1
        if slot == slots.shape[0]:
            break
        if depth > 0:
            around = stack[depth - 1]
            j = _copy(source, cursor, start, target, slots[around, AT])
            if slots[slot, HOLE] == 1:
                context = slots[slot, CONTEXT]
                j = _copy(openings, holes[context], holes[context + 1], target, j)
                j = _put_number(target, j, slots[slot, REGION])
                j = _copy(middle, 0, 8, target, j)
                j = _put_number(target, j, slots[slot, TSID])
                j = _copy(middle, 8, 11, target, j)
            slots[around, AT] = j
        inner = slots[slot, INNER]
        empty = slots[slot, END] == inner
        name = find_name(source, start + 1, n)
        j = _copy(source, start, name, target, slots[slot, AT])
        text = slots[slot, DECLARED]
        if text >= 0:
            j = _copy(words, texts[text], texts[text + 1], target, j)
        text = slots[slot, ATTRIBUTES]
        if text >= 0:
            j = _copy(words, texts[text], texts[text + 1], target, j)
        else:
            j = _copy(source, name, _attributes_end(source, inner, empty), target, j)
        if empty:
            put8(target, j, 47)
            j += 1
        put8(target, j, 62)
        slots[slot, AT] = j + 1
        cursor = inner
        stack[depth] = slot
        depth += 1
    if depth > 0:
        top = stack[depth - 1]
        slots[top, AT] = _copy(source, cursor, to, target, slots[top, AT])


_TAIL: Final = np.frombuffer(b'" tsid="' + b'"/>', np.uint8).copy()


class Texts:
    """Byte strings by number, side by side as the compiled passes want them."""

    def __init__(self) -> None:
        self.arena = bytearray()
        self.offsets = [0]

    def add(self, text: bytes) -> int:
        self.arena += text
        self.offsets.append(len(self.arena))
        return len(self.offsets) - 2

    def arrays(self) -> tuple[Longs, Bytes]:
        return np.array(self.offsets, np.int64), np.frombuffer(bytes(self.arena) + bytes(32), np.uint8).copy()


def cut(
    b: Bytes, cursor: int, to: int, region: int, slots: Any, opened: int, holes: Texts, texts: Texts, by_level: bool
) -> tuple[Any, Bytes, int, list[tuple[int, int, int]]]:
    """Cut ``b[cursor:to]``. ``opened``: how many slots were open before.

    Gives the complete records, what is written, the next region, and the groups of records as (first, end, bytes end)
    in the order in which they are handed on: by level, or as they ended. A record whose content began in an earlier
    part is a group of its own, of no bytes. What the part adds to slots that began before it, or do not end in it, is
    at the end, in the order of the slots.
    """
    done = np.zeros((2 * len(slots) + 1, DONE_WORDS), np.int64)
    stack = np.zeros(len(slots) + 1, np.int64)
    starts, openings = holes.arrays()
    offsets, arena = texts.arrays()
    regions = np.array([region])
    count = _measure(b, cursor, to, slots, opened, starts, offsets, done, stack, regions)
    region = int(regions[0])
    done = done[:count]
    spanning = (done[:, D_ENDS] == 0) & (done[:, D_SLOT] < opened)
    sizes = np.where(spanning, 0, HEADER_SIZE + np.where(done[:, D_ENDS] == 1, 0, slots[done[:, D_SLOT], LENGTH]))
    if by_level:  # at its level, the one open from before is the first to end
        group = 2 * done[:, D_LEVEL] + ~spanning
    else:
        group = np.cumsum(spanning) * 2 - spanning
    order = np.argsort(group, kind="stable")
    done, sizes, group, spanning = done[order], sizes[order], group[order], spanning[order]
    ends = np.cumsum(sizes)
    done[:, D_AT] = np.where(spanning, -1, ends - sizes)
    whole = (done[:, D_ENDS] == 0) & ~spanning
    slots[:, AT] = -1
    slots[done[whole, D_SLOT], AT] = done[whole, D_AT] + HEADER_SIZE
    loose = np.flatnonzero(slots[:, AT] < 0)
    written = int(ends[-1]) if count else 0
    tails = written + np.cumsum(slots[loose, LENGTH])
    slots[loose, AT] = tails - slots[loose, LENGTH]
    out = np.empty((int(tails[-1]) if len(loose) else written) + 32, np.uint8)
    _write(b, cursor, to, slots, opened, starts, openings, offsets, arena, done, _TAIL, out, stack)
    edges = np.flatnonzero(np.diff(group, prepend=-1, append=-1)) if count else np.zeros(1, np.int64)
    groups = [(int(i), int(j), int(ends[j - 1])) for i, j in pairwise(edges)]
    return done, out, region, groups

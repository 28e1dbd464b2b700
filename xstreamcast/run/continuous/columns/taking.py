"""T1 over columns: the changes of a batch, one after the other, change the tables of regions, fillings and holes.

It is what :class:`~xstreamcast.cast.regions.Regions` does, for what is usual: fragments that are sent, sent again,
replaced and removed, untimed, as versions or as events, each one element of its tag, spelt as the others, whose holes
stand where the structure says. The pass stops at the first change that is anything else (*odd*).

A filling that comes instead of another takes its slot: what it says is other, where it stands is not.
"""

from __future__ import annotations

from typing import Any, Final

from xstreamcast.cast.columns import BEGIN as C_BEGIN
from xstreamcast.cast.columns import DOC_FROM, DOC_TO, M_CONTEXT, M_END, M_REGION, M_START, M_TSID, NO_TIME, OPENED
from xstreamcast.cast.columns import KIND as C_KIND
from xstreamcast.cast.columns import REGION as C_REGION
from xstreamcast.cast.columns import TARGET as C_TARGET
from xstreamcast.cast.columns import TIME as C_TIME
from xstreamcast.cast.columns import TO as C_TO
from xstreamcast.cast.columns import TSID as C_TSID
from xstreamcast.cast.columns import VERSION as C_VERSION
from xstreamcast.model.time import START as BEGINNING
from xstreamcast.native.kernel import I64, U8, Flags, I64x2, inner, kernel
from xstreamcast.run.continuous.columns.layout import (
    ABOVE,
    AGAIN,
    AHEAD,
    AROUND,
    AWAITED,
    BEGIN,
    BYTES,
    CHANGED,
    CHANGES,
    CLOCK,
    COUNT,
    DEAD,
    DIGEST,
    END,
    ENDED,
    EVENT,
    FILL,
    FILLINGS,
    FIRST,
    FLAGS,
    FOR,
    GROWS,
    H_TSID,
    HEAD,
    HOLES,
    KIND,
    LATE,
    LATENESS,
    LEAVING,
    LET_GO,
    LOGGED,
    MARK,
    NAME_FROM,
    NAME_TO,
    NEEDED,
    NEXT,
    NODE,
    NOTHING,
    NOW,
    NOWHERE,
    NUMBER,
    OF,
    OLDER,
    OTHERS,
    PLACE,
    REGIONS,
    REMOVE,
    REPEAT,
    REPLACE,
    REPLACED,
    REPLACES,
    ROOTLESS,
    SENSE,
    SKIPPED,
    SOUGHT,
    START,
    STAYS,
    TEMPORAL,
    TIE,
    TIME,
    TO,
    TOP,
    TSID,
    UNKNOWN,
    UNSAID,
    UNTIMED,
    VERSION,
)

_ROOT: Final = 0
_MIX: Final = 0x1E3779B97F4A7C15
_LOW: Final = 0x3FFFFFFFFFFFFFFF
_DEEP: Final = 256
"""Elements around a hole within its content."""


@inner
def mixed(number: int) -> int:
    """A number scattered over 62 bits."""
    number = ((number & _LOW) * _MIX) & _LOW
    number = ((number ^ (number >> 29)) * _MIX) & _LOW
    return number ^ (number >> 32)


@inner
def slot_of(number: int, places: Any, regions: Any, tally: Any) -> int:
    """The slot of a region, a new one if it has none."""
    mask = places.shape[0] - 1
    at = mixed(number) & mask
    while True:
        slot = places[at] - 1
        if slot < 0:
            break
        if regions[slot, NUMBER] == number:
            return int(slot)
        at = (at + 1) & mask
    made = tally[REGIONS]
    tally[REGIONS] = made + 1
    places[at] = made + 1
    regions[made, NUMBER] = number
    regions[made, HEAD] = NOWHERE
    regions[made, PLACE] = NOWHERE
    regions[made, SOUGHT] = NOWHERE
    regions[made, REPLACED] = 0
    return int(made)


@inner
def _known(number: int, places: Any, regions: Any) -> int:
    """The slot of a region, or NOWHERE."""
    mask = places.shape[0] - 1
    at = mixed(number) & mask
    while True:
        slot = places[at] - 1
        if slot < 0 or regions[slot, NUMBER] == number:
            return int(slot)
        at = (at + 1) & mask


@inner
def _stamp(slot: int, tsid: int, time: int, version: int) -> int:
    return mixed(mixed(mixed(slot) ^ time) ^ (version * 1021 + tsid))


@inner
def _same_bytes(a: Any, i: int, b: Any, j: int, size: int) -> bool:
    k = 0
    while k < size and a[i + k] == b[j + k]:
        k += 1
    return k == size


@inner
def _is_name(b: Any, i: int, tag: int, tags: Any, names: Any) -> bool:
    """Whether the name of an element is that of a tag."""
    at = tags[tag, NAME_FROM]
    size = tags[tag, NAME_TO] - at
    if not _same_bytes(names, at, b, i, size):
        return False
    c = b[i + size]
    return bool(c == 62 or c == 47 or c == 32 or (c >= 9 and c <= 13))


@inner
def tag_end(b: Any, i: int) -> int:
    """Where the bracket of a start tag is that begins at a position."""
    quote = 0
    while quote or b[i] != 62:
        c = b[i]
        if quote:
            if c == quote:
                quote = 0
        elif c == 34 or c == 39:
            quote = c
        i += 1
    return i


@inner
def _innermost(b: Any, depth: int, tsid: int, tags: Any, names: Any, opened: Any) -> int:
    """The tag of the innermost of some open elements, of which the first is a tag's; NOWHERE if it has none."""
    for level in range(1, depth):
        found = NOWHERE
        for tag in range(tags.shape[0] - 1):
            if tags[tag, ABOVE] == tsid and _is_name(b, opened[level], tag, tags, names):
                found = tag
        if found < 0:
            return NOWHERE
        tsid = found
    return tsid


@inner
def _stand(
    b: Any, begin: int, marks: Any, first: int, end: int, tsid: int, tags: Any, names: Any, opened: Any, around: Any
) -> bool:
    """Whether each hole of a content is where the structure says: in elements that are the tags around its own.

    ``around``: the tag of the element around each.
    """
    i = begin
    depth = 0
    for m in range(first, end):
        stop = marks[m, M_START]
        while i < stop:
            if b[i] != 60:
                i += 1
                continue
            c = b[i + 1]
            if c == 47:
                depth -= 1
                while b[i] != 62:
                    i += 1
                i += 1
            elif c == 33 and b[i + 2] == 45:
                i += 4
                while not (b[i] == 45 and b[i + 1] == 45):
                    i += 1
                i += 3
            elif c == 33:
                i += 9
                while not (b[i] == 93 and b[i + 1] == 93 and b[i + 2] == 62):
                    i += 1
                i += 3
            elif c == 63:
                i += 2
                while not (b[i] == 63 and b[i + 1] == 62):
                    i += 1
                i += 2
            else:
                if depth >= _DEEP:
                    return False
                opened[depth] = i + 1
                depth += 1
                i = tag_end(b, i)
                if b[i - 1] == 47:
                    depth -= 1
                i += 1
        if marks[m, M_TSID] < 0:
            around[m] = _innermost(b, depth, tsid, tags, names, opened)
            if depth == 0 or around[m] < 0:
                return False
            i = marks[m, M_END]
            continue
        around[m] = tag = tags[marks[m, M_TSID], ABOVE]
        level = depth - 1
        if level < 0:
            return False
        while level >= 0:
            if tag < 0 or not _is_name(b, opened[level], tag, tags, names):
                return False
            if level == 0 and tag != tsid:
                return False
            tag = tags[tag, ABOVE]
            level -= 1
        i = marks[m, M_END]
    return True


@inner
def _usual(
    b: Any, changes: Any, k: int, marks: Any, offsets: Any, senses: Any, tsid: int, tags: Any, names: Any, opened: Any,
    around: Any,
) -> bool:  # fmt: skip
    """Whether a content is one element of its tag, with the namespaces that are expected and holes where the structure
    has them."""
    first, end = offsets[k], offsets[k + 1]
    begin, to = changes[k, C_BEGIN], changes[k, C_TO]
    sense = tags[tsid, SENSE]
    if changes[k, OPENED] == 0 or first == end or marks[first, M_REGION] >= 0 or sense < 0:
        return False
    if marks[first, M_START] != begin or marks[first, M_END] != to or not _is_name(b, begin + 1, tsid, tags, names):
        return False
    for m in range(first, end):
        if senses[marks[m, M_CONTEXT]] != sense:
            return False
        if m > first and not _is_hole(marks, m, tags):
            return False
    return end == first + 1 or _stand(b, begin, marks, first + 1, end, tsid, tags, names, opened, around)


@inner
def _is_hole(marks: Any, m: int, tags: Any) -> bool:
    """Whether a mark is a hole for a fragment, or for a page."""
    tag = marks[m, M_TSID]
    return bool(marks[m, M_REGION] > _ROOT and (tag < 0 or (tag < tags.shape[0] - 1 and tags[tag, KIND] != UNKNOWN)))


@inner
def _is_page(changes: Any, k: int, marks: Any, offsets: Any, senses: Any, tags: Any, around: Any) -> bool:
    """Whether a content is holes and nothing else."""
    at = changes[k, C_BEGIN]
    if changes[k, OPENED] == 0:
        return False
    for m in range(offsets[k], offsets[k + 1]):
        if not _is_hole(marks, m, tags) or senses[marks[m, M_CONTEXT]] or marks[m, M_START] != at:
            return False
        at = marks[m, M_END]
        around[m] = NOWHERE
    return bool(at == changes[k, C_TO])


@inner
def _say(
    f: int, b: Any, changes: Any, k: int, marks: Any, first: int, end: int, page: int, around: Any, places: Any,
    regions: Any, fillings: Any, holes: Any, arena: Any, tally: Any,
) -> None:  # fmt: skip
    """A filling says what a change says, with some holes."""
    begin, to = changes[k, C_BEGIN], changes[k, C_TO]
    at = tally[BYTES]
    for i in range(to - begin):
        arena[at + i] = b[begin + i]
    tally[BYTES] = at + to - begin
    tally[DEAD] += fillings[f, TO] - fillings[f, BEGIN]
    fillings[f, BEGIN] = at
    fillings[f, TO] = at + to - begin
    fillings[f, FLAGS] &= ~ENDED
    h = tally[HOLES]
    fillings[f, FIRST] = h
    fillings[f, COUNT] = end - first
    for m in range(first, end):
        holes[h, FOR] = slot_of(marks[m, M_REGION], places, regions, tally)
        holes[h, START] = marks[m, M_START] - begin
        holes[h, END] = marks[m, M_END] - begin
        holes[h, H_TSID] = marks[m, M_TSID] if marks[m, M_TSID] >= 0 else page
        holes[h, AROUND] = around[m]
        h += 1
    tally[HOLES] = h


@inner
def _made(slot: int, tsid: int, time: int, regions: Any, fillings: Any, tally: Any) -> int:
    """One more filling of a region, without a content."""
    f = tally[FILLINGS]
    tally[FILLINGS] = f + 1
    fillings[f, OF] = slot
    fillings[f, NEXT] = regions[slot, HEAD]
    regions[slot, HEAD] = f
    fillings[f, TSID] = tsid
    fillings[f, VERSION] = -1
    fillings[f, TIME] = time
    fillings[f, BEGIN] = 0
    fillings[f, TO] = 0
    fillings[f, FIRST] = 0
    fillings[f, COUNT] = 0
    fillings[f, FLAGS] = ENDED
    fillings[f, DIGEST] = 0
    fillings[f, NODE] = NOWHERE
    return int(f)


@inner
def _log(code: int, k: int, f: int, log: Any, tally: Any) -> None:
    at = tally[LOGGED]
    log[at, 0] = code
    log[at, 1] = k
    log[at, 2] = f
    tally[LOGGED] = at + 1


@inner
def _pass(time: int, tally: Any) -> None:
    """A change of a valid time has come: the stream's own time goes on, and with it the watermark."""
    if time == NO_TIME or time <= tally[NOW]:
        return
    tally[NOW] = time
    if tally[LATENESS] >= 0:
        mark = min(tally[OTHERS], time - tally[LATENESS])
        tally[MARK] = max(tally[MARK], mark)


@inner
def _end(f: int, fillings: Any, tally: Any) -> None:
    """The life of a filling ends."""
    tally[DEAD] += fillings[f, TO] - fillings[f, BEGIN]
    fillings[f, BEGIN] = fillings[f, TO] = 0
    fillings[f, COUNT] = 0
    fillings[f, FLAGS] |= ENDED


@inner
def _settle_later(f: int, fillings: Any, changed: Any, tally: Any) -> None:
    """A filling has changed."""
    if fillings[f, FLAGS] & CHANGED == 0:
        fillings[f, FLAGS] |= CHANGED
        changed[tally[CHANGES]] = f
        tally[CHANGES] += 1


@inner
def _newer(slot: int, tsid: int, at: int, version: int, regions: Any, fillings: Any) -> int:
    """A replacement at an instant that is newer than a change; NOWHERE if there is none."""
    f = regions[slot, HEAD]
    while f >= 0:
        alike = fillings[f, TSID] == tsid and fillings[f, TIME] == at
        if alike and fillings[f, FLAGS] & (ENDED | REPLACES) == REPLACES and 0 <= version < fillings[f, VERSION]:
            return int(f)
        f = fillings[f, NEXT]
    return NOWHERE


@inner
def _replace(slot: int, tsid: int, at: int, version: int, regions: Any, fillings: Any, changed: Any, tally: Any) -> int:
    """The events of an instant that are not newer are there no more; the largest of their versions."""
    found = NOWHERE
    regions[slot, REPLACED] = 1
    f = regions[slot, HEAD]
    while f >= 0:
        alike = fillings[f, TSID] == tsid and fillings[f, TIME] == at and fillings[f, FLAGS] & ENDED == 0
        if alike and (version < 0 or fillings[f, VERSION] <= version):
            found = max(found, fillings[f, VERSION])
            _end(f, fillings, tally)
            fillings[f, FLAGS] |= LET_GO
            tally[LEAVING] += 1
            _settle_later(f, fillings, changed, tally)
        f = fillings[f, NEXT]
    return int(found)


@kernel
def take(
    b: U8,
    changes: I64x2,
    first: int,
    odd: Flags,
    marks: I64x2,
    offsets: I64,
    senses: I64,
    root: int,
    tags: I64x2,
    names: U8,
    places: I64,
    stamps: I64,
    regions: I64x2,
    fillings: I64x2,
    holes: I64x2,
    arena: U8,
    changed: I64,
    log: I64x2,
    skipped: I64,
    opened: I64,
    around: I64,
    tally: I64,
) -> int:
    """Take in the changes from ``first`` on; the number of the one that is odd, or how many there are."""
    page = tags.shape[0] - 1
    for k in range(first, changes.shape[0]):
        kind, number, tsid = changes[k, C_KIND], changes[k, C_REGION], changes[k, C_TSID]
        version, time = changes[k, C_VERSION], changes[k, C_TIME]
        removes = kind == REMOVE
        if not (removes or kind in (FILL, REPEAT, REPLACE)) or odd[k]:
            return k
        if changes[k, C_TARGET] >= 0 or changes[k, DOC_TO] > changes[k, DOC_FROM]:
            return k
        if time != NO_TIME and time < tally[MARK]:
            _log(LATE, k, tally[MARK], log, tally)
            continue
        slot = NOWHERE
        if tsid < 0:
            if number == _ROOT and root >= 0:
                tsid = root
            elif removes:
                slot = _known(number, places, regions)
                if slot < 0 or regions[slot, HEAD] < 0:
                    if version >= 0:
                        return k
                    _log(NOTHING, k, NOWHERE, log, tally)
                    continue
                tsid = fillings[regions[slot, HEAD], TSID]
            elif _is_page(changes, k, marks, offsets, senses, tags, around):
                tsid = page
            else:
                return k
        elif tsid >= page:
            return k
        if tags[tsid, KIND] == UNKNOWN:
            return k
        how = tags[tsid, KIND]
        if tags[tsid, NEEDED] == 0 and (tally[GROWS] == 0 or (version < 0 and how == UNTIMED)):
            skipped[tally[SKIPPED]] = k
            tally[SKIPPED] += 1
            _pass(time, tally)
            continue
        if number == _ROOT and tsid != root and root >= 0:
            return k
        if not (removes or tsid == page) and not _usual(
            b, changes, k, marks, offsets, senses, tsid, tags, names, opened, around
        ):
            return k
        slot = _known(number, places, regions)
        head = NOWHERE if slot < 0 else regions[slot, HEAD]
        if head >= 0 and fillings[head, TSID] != tsid:
            return k
        if removes:
            if head < 0 and version < 0 and not (how != UNTIMED and time != NO_TIME):
                _log(NOTHING, k, NOWHERE, log, tally)
                continue
            if how == EVENT:
                _log(STAYS, k, NOWHERE, log, tally)
                _pass(time, tally)
                continue
        if slot < 0:
            slot = slot_of(number, places, regions, tally)
        at = time if time != NO_TIME else BEGINNING
        if removes and how == TEMPORAL and time == NO_TIME:
            at = tally[NOW]
        known = tied = replaced = NOWHERE
        place = 0
        if how == EVENT and (kind == REPLACE or regions[slot, REPLACED]):
            newer = _newer(slot, tsid, at, version, regions, fillings)
            if newer >= 0:
                _log(OLDER, k, newer, log, tally)
                _pass(time, tally)
                continue
            if kind == REPLACE:
                replaced = _replace(slot, tsid, at, version, regions, fillings, changed, tally)
        if how == UNTIMED:
            known = head
        else:
            mask = stamps.shape[0] - 1
            place = _stamp(slot, tsid, at, (version if version > 0 else 0) if how == EVENT else 0) & mask
            while stamps[place]:
                f = stamps[place] - 1
                if fillings[f, OF] == slot and fillings[f, TIME] == at and fillings[f, TSID] == tsid:
                    if how == TEMPORAL:
                        known = f
                        break
                    if fillings[f, FLAGS] & ENDED:  # it was replaced
                        place = (place + 1) & mask
                        continue
                    size = changes[k, C_TO] - changes[k, C_BEGIN]
                    mine = version if version > 0 else 0
                    unsaid = fillings[f, VERSION] < 0 or fillings[f, FLAGS] & UNSAID
                    if mine == (0 if unsaid else fillings[f, VERSION]):
                        if fillings[f, TO] - fillings[f, BEGIN] == size and _same_bytes(
                            arena, fillings[f, BEGIN], b, changes[k, C_BEGIN], size
                        ):
                            known = f
                            break
                        tied = f
                place = (place + 1) & mask
        _pass(time, tally)
        if how == EVENT and known >= 0:
            continue
        if known >= 0:
            its = fillings[known, VERSION]
            alive = fillings[known, FLAGS] & ENDED == 0
            if version >= 0 and its >= 0 and version < its:
                if not removes or how == UNTIMED:
                    _log(OLDER, k, known, log, tally)
                continue
            if not removes and alive:
                size = changes[k, C_TO] - changes[k, C_BEGIN]
                if fillings[known, TO] - fillings[known, BEGIN] == size and _same_bytes(
                    arena, fillings[known, BEGIN], b, changes[k, C_BEGIN], size
                ):
                    if version >= 0:
                        if version != its and tags[tsid, TOP] == ROOTLESS:  # it may stand elsewhere
                            _settle_later(known, fillings, changed, tally)
                        fillings[known, VERSION] = version
                    continue
                if kind != REPLACE and (version < 0 or version == its):
                    _log(AGAIN, k, known, log, tally)
        else:
            known = _made(slot, tsid, at, regions, fillings, tally)
            if how == EVENT and kind == REPLACE:
                fillings[known, FLAGS] |= REPLACES
                if version < 0 and replaced >= 0:
                    fillings[known, VERSION] = replaced
                    fillings[known, FLAGS] |= UNSAID
            if how != UNTIMED:
                stamps[place] = known + 1
                if at > tally[CLOCK]:
                    fillings[known, FLAGS] |= AHEAD
                    tally[AWAITED] = min(tally[AWAITED], at)
            if tied >= 0:
                _log(TIE, tied, known, log, tally)
        if version >= 0:
            fillings[known, VERSION] = version
        if removes:
            _end(known, fillings, tally)
        else:
            beginning = offsets[k] + (tsid != page)
            _say(
                known, b, changes, k, marks, beginning, offsets[k + 1], page, around, places, regions, fillings, holes,
                arena, tally,
            )  # fmt: skip
        _settle_later(known, fillings, changed, tally)
    return int(changes.shape[0])

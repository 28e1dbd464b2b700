"""Where fragments stand in the document: places and nodes, as a batch of changes makes them come and go.

    nodes at a place = the fillings of its region        places in a node = the holes of its filling

A filling that says something else keeps its nodes, and those of its places whose hole is still there. What comes, goes,
or says something else is marked: by the units that evaluate fragments of its tag, or, where it is part of a fragment
around it, there.
"""

from __future__ import annotations

from typing import Any, Final

from xstreamcast.native.kernel import I64, I64x2, inner, kernel
from xstreamcast.run.continuous.columns.layout import (
    ABOVE,
    AROUND,
    ASKED,
    CHANGED,
    CHANGES,
    COUNT,
    DIRTY,
    ENDED,
    EVALUATED,
    FIRST,
    FLAGS,
    FOR,
    FREE_NODE,
    FREE_PLACE,
    H_TSID,
    HEAD,
    IS_GONE,
    KIND,
    LET_GO,
    N_FILLING,
    N_FIRST,
    N_MARKS,
    N_NEXT,
    N_PLACE,
    N_SINCE,
    NEXT,
    NODE,
    NODES,
    NOWHERE,
    NUMBER,
    OF,
    P_BESIDE,
    P_HOLE,
    P_NEXT,
    P_NODE,
    P_REGION,
    PART,
    PLACE,
    PLACES,
    REORDERED,
    ROOTED,
    ROOTLESS,
    SETTLED,
    SHOWS,
    SOUGHT,
    TEMPORAL,
    TIME,
    TOP,
    TSID,
    UNSEEN,
    VERSION,
    WORK,
)

_ROOT: Final = 0
LEAVES, REFITS = -1, -2
"""What is to be done about a node; instead of the place that a filling is to enter."""
_DEEPEST: Final = 1000
"""Fragments within each other."""
DONE, FULL, UNSOUND = 0, 1, 2
"""How settling ended: all is done; there must be more room; or it is more than columns can tell."""


@inner
def parent_of(n: int, nodes: Any, places: Any) -> int:
    """The node around a node, or NOWHERE."""
    return int(places[nodes[n, N_PLACE], P_NODE])


@inner
def _mark(n: int, bits: int, nodes: Any, dirty: Any, tally: Any) -> None:
    if bits:
        if nodes[n, N_MARKS] == 0:
            dirty[tally[DIRTY]] = n
            tally[DIRTY] += 1
        nodes[n, N_MARKS] |= bits


@inner
def _look_at(n: int, bits: int, tags: Any, fillings: Any, nodes: Any, places: Any, dirty: Any, tally: Any) -> None:
    """Some units must look at a node, or at that around it of which it is a part."""
    tag = fillings[nodes[n, N_FILLING], TSID]
    _mark(n, (tags[tag, EVALUATED] & bits) | tally[ASKED], nodes, dirty, tally)
    part = tags[tag, PART] & bits
    while part:
        n = parent_of(n, nodes, places)
        if n < 0:
            return
        tag = fillings[nodes[n, N_FILLING], TSID]
        _mark(n, tags[tag, EVALUATED] & part, nodes, dirty, tally)
        part &= tags[tag, PART]


@inner
def _lies_in(slot: int, n: int, fillings: Any, nodes: Any, places: Any) -> bool:
    """Whether a node is one of a region, or within one; or too deep."""
    depth = 0
    while n >= 0:
        depth += 1
        if fillings[nodes[n, N_FILLING], OF] == slot or depth > _DEEPEST:
            return True
        n = parent_of(n, nodes, places)
    return False


@inner
def _count(slot: int, regions: Any, fillings: Any) -> int:
    """How many fillings a region has had: there are no more that could enter its places, or leave them."""
    count = 0
    f = regions[slot, HEAD]
    while f >= 0:
        count += 1
        f = fillings[f, NEXT]
    return count


@inner
def _made_place(slot: int, h: int, n: int, beside: int, regions: Any, places: Any, tally: Any) -> int:
    """One more place of a region."""
    p = tally[FREE_PLACE]
    if p >= 0:
        tally[FREE_PLACE] = places[p, P_NEXT]
    else:
        p = tally[PLACES]
        tally[PLACES] = p + 1
    places[p, P_REGION] = slot
    places[p, P_HOLE] = h
    places[p, P_NODE] = n
    places[p, P_NEXT] = regions[slot, PLACE]
    places[p, P_BESIDE] = beside
    regions[slot, PLACE] = p
    return int(p)


@inner
def _stand(
    h: int, n: int, regions: Any, fillings: Any, holes: Any, places: Any, nodes: Any, work: Any, tally: Any
) -> bool:
    """A hole in a node becomes a place; what fills it is to enter. False if it lies in itself."""
    slot = holes[h, FOR]
    if _lies_in(slot, n, fillings, nodes, places):
        return False
    p = nodes[n, N_FIRST] = _made_place(slot, h, n, nodes[n, N_FIRST], regions, places, tally)
    f = regions[slot, HEAD]
    while f >= 0:
        if fillings[f, FLAGS] & UNSEEN == 0:
            work[tally[WORK], 0], work[tally[WORK], 1] = f, p
            tally[WORK] += 1
        f = fillings[f, NEXT]
    return True


@inner
def _goes(n: int, fillings: Any, nodes: Any, dirty: Any, work: Any, tally: Any) -> None:
    """A node is there no more; what is in it is to leave."""
    f = nodes[n, N_FILLING]
    if fillings[f, NODE] == n:
        fillings[f, NODE] = nodes[n, N_NEXT]
    else:
        before = fillings[f, NODE]
        while nodes[before, N_NEXT] != n:
            before = nodes[before, N_NEXT]
        nodes[before, N_NEXT] = nodes[n, N_NEXT]
    nodes[n, N_SINCE] = IS_GONE
    _mark(n, -1, nodes, dirty, tally)
    work[tally[WORK], 0], work[tally[WORK], 1] = n, LEAVES
    tally[WORK] += 1


@inner
def _vacate(p: int, regions: Any, fillings: Any, places: Any, nodes: Any, dirty: Any, work: Any, tally: Any) -> None:
    """A place is there no more."""
    slot = places[p, P_REGION]
    f = regions[slot, HEAD]
    while f >= 0:
        n = fillings[f, NODE]
        while n >= 0:
            following = nodes[n, N_NEXT]
            if nodes[n, N_PLACE] == p:
                _goes(n, fillings, nodes, dirty, work, tally)
            n = following
        f = fillings[f, NEXT]
    if regions[slot, PLACE] == p:
        regions[slot, PLACE] = places[p, P_NEXT]
    else:
        before = regions[slot, PLACE]
        while places[before, P_NEXT] != p:
            before = places[before, P_NEXT]
        places[before, P_NEXT] = places[p, P_NEXT]
    places[p, P_REGION] = NOWHERE
    places[p, P_NEXT] = tally[FREE_PLACE]
    tally[FREE_PLACE] = p


@inner
def _pushes(first: int, end: int, regions: Any, fillings: Any, holes: Any) -> int:
    """How many fillings there are in some holes."""
    count = 0
    for h in range(first, end):
        count += _count(holes[h, FOR], regions, fillings)
    return count


@inner
def _fits(f: int, p: int, tags: Any, fillings: Any, holes: Any, places: Any, nodes: Any) -> bool:
    """Whether a filling may stand at a place: what its hole is for, and in an element of the tag around its own."""
    hole, tag, page = places[p, P_HOLE], fillings[f, TSID], tags.shape[0] - 1
    if hole < 0:
        return True
    if holes[hole, H_TSID] != tag and holes[hole, H_TSID] != page:
        return False
    if tag == page or (holes[hole, H_TSID] == tag and holes[hole, AROUND] >= 0):
        return True  # that was seen when the hole came
    while hole >= 0 and holes[hole, AROUND] < 0:  # out of pages
        p = nodes[places[p, P_NODE], N_PLACE]
        hole = places[p, P_HOLE]
    return bool(hole >= 0 and holes[hole, AROUND] == tags[tag, ABOVE])


@inner
def _enter(
    f: int, p: int, bits: int, tags: Any, regions: Any, fillings: Any, holes: Any, places: Any, nodes: Any, dirty: Any,
    work: Any, tally: Any,
) -> int:  # fmt: skip
    """A filling stands at a place: its holes are places."""
    first, end = fillings[f, FIRST], fillings[f, FIRST] + fillings[f, COUNT]
    if tally[NODES] + 1 > nodes.shape[0] or tally[PLACES] + end - first > places.shape[0]:
        return FULL
    if end > first and tally[WORK] + _pushes(first, end, regions, fillings, holes) > work.shape[0]:
        return FULL
    if not _fits(f, p, tags, fillings, holes, places, nodes):
        return UNSOUND
    n = tally[FREE_NODE]
    if n >= 0:
        tally[FREE_NODE] = nodes[n, N_NEXT]
    else:
        n = tally[NODES]
        tally[NODES] = n + 1
    nodes[n, N_FILLING] = f
    nodes[n, N_PLACE] = p
    nodes[n, N_NEXT] = fillings[f, NODE]
    fillings[f, NODE] = n
    nodes[n, N_FIRST] = NOWHERE
    nodes[n, N_MARKS] = 0
    nodes[n, N_SINCE] = tally[SETTLED]
    _look_at(n, bits, tags, fillings, nodes, places, dirty, tally)
    for h in range(first, end):
        if not _stand(h, n, regions, fillings, holes, places, nodes, work, tally):
            return UNSOUND
    return DONE


@inner
def _leave(n: int, regions: Any, fillings: Any, places: Any, nodes: Any, dirty: Any, work: Any, tally: Any) -> int:
    """What is in a node that is gone leaves."""
    if tally[WORK] + _inside(n, regions, fillings, places, nodes) > work.shape[0]:
        return FULL
    p = nodes[n, N_FIRST]
    while p >= 0:
        beside = places[p, P_BESIDE]
        _vacate(p, regions, fillings, places, nodes, dirty, work, tally)
        p = beside
    nodes[n, N_FIRST] = NOWHERE
    return DONE


@inner
def _inside(n: int, regions: Any, fillings: Any, places: Any, nodes: Any) -> int:
    """How many nodes there are at most in the places of a node."""
    count = 0
    p = nodes[n, N_FIRST]
    while p >= 0:
        count += _count(places[p, P_REGION], regions, fillings)
        p = places[p, P_BESIDE]
    return count


@inner
def _refit(
    n: int, bits: int, tags: Any, regions: Any, fillings: Any, holes: Any, places: Any, nodes: Any, dirty: Any,
    work: Any, tally: Any,
) -> int:  # fmt: skip
    """A filling says something else: of the places in its node those stay whose region still has a hole."""
    f = nodes[n, N_FILLING]
    first, end = fillings[f, FIRST], fillings[f, FIRST] + fillings[f, COUNT]
    if tally[PLACES] + end - first > places.shape[0]:
        return FULL
    pushes = _pushes(first, end, regions, fillings, holes) + _inside(n, regions, fillings, places, nodes)
    if tally[WORK] + pushes > work.shape[0]:
        return FULL
    _look_at(n, bits, tags, fillings, nodes, places, dirty, tally)
    kept = p = nodes[n, N_FIRST]
    nodes[n, N_FIRST] = NOWHERE
    while p >= 0:
        regions[places[p, P_REGION], SOUGHT] = p
        p = places[p, P_BESIDE]
    last = NOWHERE
    for h in range(first, end):
        slot = holes[h, FOR]
        p = regions[slot, SOUGHT]
        if p >= 0:
            regions[slot, SOUGHT] = NOWHERE
            if places[p, P_HOLE] < last:
                tally[REORDERED] = 1
            last = places[p, P_HOLE]
            places[p, P_HOLE] = h
        elif not _stand(h, n, regions, fillings, holes, places, nodes, work, tally):
            return UNSOUND
    while kept >= 0:
        beside = places[kept, P_BESIDE]
        regions[places[kept, P_REGION], SOUGHT] = NOWHERE
        if places[kept, P_HOLE] >= first and places[kept, P_HOLE] < end:
            places[kept, P_BESIDE] = nodes[n, N_FIRST]
            nodes[n, N_FIRST] = kept
        else:
            _vacate(kept, regions, fillings, places, nodes, dirty, work, tally)
        kept = beside
    return DONE


@inner
def _tell_former(
    f: int, bits: int, tags: Any, regions: Any, fillings: Any, nodes: Any, places: Any, dirty: Any, tally: Any
) -> None:
    """The version before another one ends when that begins."""
    former = NOWHERE
    g = regions[fillings[f, OF], HEAD]
    while g >= 0:
        if fillings[g, TIME] < fillings[f, TIME] and (former < 0 or fillings[g, TIME] > fillings[former, TIME]):
            former = g
        g = fillings[g, NEXT]
    n = fillings[former, NODE] if former >= 0 else NOWHERE
    while n >= 0:
        _look_at(n, bits, tags, fillings, nodes, places, dirty, tally)
        n = nodes[n, N_NEXT]


@inner
def _look_around(
    slot: int, bits: int, tags: Any, regions: Any, fillings: Any, nodes: Any, places: Any, dirty: Any, tally: Any
) -> None:
    """A region has been filled with nothing: its holes are not open any more."""
    p = regions[slot, PLACE]
    while p >= 0:
        if places[p, P_NODE] >= 0:
            _look_at(places[p, P_NODE], bits, tags, fillings, nodes, places, dirty, tally)
        p = places[p, P_NEXT]


@inner
def _begin(
    f: int,
    bits: int,
    tags: Any,
    regions: Any,
    fillings: Any,
    places: Any,
    nodes: Any,
    dirty: Any,
    work: Any,
    tally: Any,
) -> int:
    """What is to be done about a filling that has changed."""
    slot = fillings[f, OF]
    count = 0
    n = fillings[f, NODE]
    while n >= 0:
        count += 1
        n = nodes[n, N_NEXT]
    p = regions[slot, PLACE]
    while p >= 0:
        count += 1
        p = places[p, P_NEXT]
    if tally[WORK] + count > work.shape[0]:
        return FULL
    fillings[f, FLAGS] &= ~CHANGED
    tag = fillings[f, TSID]
    if tags[tag, SHOWS] and tags[tag, KIND] == TEMPORAL:
        _tell_former(f, bits, tags, regions, fillings, nodes, places, dirty, tally)
    n = fillings[f, NODE]
    if fillings[f, FLAGS] & UNSEEN:
        if n < 0 and tally[ASKED]:
            _look_around(slot, bits, tags, regions, fillings, nodes, places, dirty, tally)
        while n >= 0:
            following = nodes[n, N_NEXT]
            _look_at(n, bits, tags, fillings, nodes, places, dirty, tally)
            _goes(n, fillings, nodes, dirty, work, tally)
            n = following
        return DONE
    while n >= 0:
        if nodes[n, N_SINCE] != tally[SETTLED]:
            work[tally[WORK], 0], work[tally[WORK], 1] = n, REFITS
            tally[WORK] += 1
        n = nodes[n, N_NEXT]
    p = regions[slot, PLACE]
    while p >= 0:
        n = fillings[f, NODE]
        while n >= 0 and nodes[n, N_PLACE] != p:
            n = nodes[n, N_NEXT]
        if n < 0:
            work[tally[WORK], 0], work[tally[WORK], 1] = f, p
            tally[WORK] += 1
        p = places[p, P_NEXT]
    return DONE


@inner
def _version(slot: int, p: int, regions: Any, fillings: Any, places: Any) -> int:
    """The least version of the fillings that a region at the top has had."""
    least = -2 - places[p, P_HOLE] if places[p, P_HOLE] < NOWHERE else NOWHERE
    f = regions[slot, HEAD]
    while f >= 0:
        its = fillings[f, VERSION] if fillings[f, VERSION] > 0 else 0
        if (least < 0 or its < least) and not (fillings[f, FLAGS] & LET_GO and fillings[f, FLAGS] & ENDED):
            least = its
        f = fillings[f, NEXT]
    return int(least)


@inner
def _stand_at_top(
    slot: int, top: int, regions: Any, fillings: Any, places: Any, nodes: Any, dirty: Any, work: Any, tally: Any
) -> int:
    """A region stands at the top; among others by version and number, so that all its nodes may come to stand
    elsewhere."""
    p = regions[slot, PLACE]
    while p >= 0 and places[p, P_NODE] >= 0:
        p = places[p, P_NEXT]
    if p < 0:
        if tally[PLACES] + 1 > places.shape[0]:
            return FULL
        p = _made_place(slot, NOWHERE, NOWHERE, NOWHERE, regions, places, tally)
    version = NOWHERE if top == ROOTED else _version(slot, p, regions, fillings, places)
    if places[p, P_BESIDE] == version:
        return DONE
    if tally[WORK] + 2 * _count(slot, regions, fillings) > work.shape[0]:
        return FULL
    places[p, P_BESIDE] = version
    f = regions[slot, HEAD]
    while f >= 0:
        n = fillings[f, NODE]
        while n >= 0:
            following = nodes[n, N_NEXT]
            if nodes[n, N_PLACE] == p:
                _goes(n, fillings, nodes, dirty, work, tally)
                if fillings[f, FLAGS] & CHANGED == 0:
                    work[tally[WORK], 0], work[tally[WORK], 1] = f, p
                    tally[WORK] += 1
            n = following
        f = fillings[f, NEXT]
    return DONE


@kernel
def settle(
    bits: int, tags: I64x2, regions: I64x2, fillings: I64x2, holes: I64x2, places: I64x2, nodes: I64x2, changed: I64,
    dirty: I64, work: I64x2, tally: I64,
) -> int:  # fmt: skip
    """Let what has changed come and go, and mark it for some units: DONE, FULL or UNSOUND."""
    while True:
        while tally[WORK]:
            a, b = work[tally[WORK] - 1, 0], work[tally[WORK] - 1, 1]
            tally[WORK] -= 1
            if b == LEAVES:
                status = _leave(a, regions, fillings, places, nodes, dirty, work, tally)
            elif b == REFITS:
                status = _refit(a, bits, tags, regions, fillings, holes, places, nodes, dirty, work, tally)
            else:
                status = _enter(a, b, bits, tags, regions, fillings, holes, places, nodes, dirty, work, tally)
            if status != DONE:
                tally[WORK] += 1
                return status
        if tally[CHANGES] == 0:
            tally[SETTLED] += 1
            return DONE
        f = changed[tally[CHANGES] - 1]
        slot = fillings[f, OF]
        top = tags[fillings[f, TSID], TOP]
        if top == ROOTLESS or (top == ROOTED and regions[slot, NUMBER] == _ROOT):
            status = _stand_at_top(slot, top, regions, fillings, places, nodes, dirty, work, tally)
            if status != DONE:
                return status
        status = _begin(f, bits, tags, regions, fillings, places, nodes, dirty, work, tally)
        if status != DONE:
            return status
        tally[CHANGES] -= 1


@kernel
def release(some: I64, nodes: I64x2, tally: I64) -> None:
    """Nodes have been dealt with: those that are gone are free."""
    for k in range(some.shape[0]):
        n = some[k]
        nodes[n, N_MARKS] = 0
        if nodes[n, N_SINCE] == IS_GONE:
            nodes[n, N_NEXT] = tally[FREE_NODE]
            tally[FREE_NODE] = n


@kernel
def nodes_in(some: I64, tag: int, regions: I64x2, fillings: I64x2, places: I64x2, nodes: I64x2, found: I64) -> int:
    """The nodes of a tag in the holes of some nodes, as many as there is room for; how many there are."""
    count = 0
    for k in range(some.shape[0]):
        p = nodes[some[k], N_FIRST]
        while p >= 0:
            f = regions[places[p, P_REGION], HEAD]
            while f >= 0:
                n = fillings[f, NODE] if fillings[f, TSID] == tag else NOWHERE
                while n >= 0:
                    if nodes[n, N_PLACE] == p:
                        if count < found.shape[0]:
                            found[count] = n
                        count += 1
                    n = nodes[n, N_NEXT]
                f = fillings[f, NEXT]
            p = places[p, P_BESIDE]
    return count


@kernel
def places_in(some: I64, places: I64x2, nodes: I64x2, found: I64) -> int:
    """The places in some nodes, as many as there is room for; how many there are."""
    count = 0
    for k in range(some.shape[0]):
        p = nodes[some[k], N_FIRST]
        while p >= 0:
            if count < found.shape[0]:
                found[count] = p
            count += 1
            p = places[p, P_BESIDE]
    return count


@kernel
def owners(some: I64, tag: int, fillings: I64x2, nodes: I64x2, places: I64x2, found: I64) -> None:
    """For each node the one of a tag that it is in, or is itself; NOWHERE if it is in none."""
    for k in range(some.shape[0]):
        n = some[k]
        while n >= 0 and fillings[nodes[n, N_FILLING], TSID] != tag:
            n = parent_of(n, nodes, places)
        found[k] = n

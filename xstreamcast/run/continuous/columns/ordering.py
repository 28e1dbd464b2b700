"""Nodes in document order: which of two comes first, and the places of some among others."""

from __future__ import annotations

from typing import Any

from xstreamcast.native.kernel import I64, I64x2, inner, kernel
from xstreamcast.run.continuous.columns.layout import (
    DIGEST,
    FLAGS,
    N_FILLING,
    N_PLACE,
    NUMBER,
    P_BESIDE,
    P_HOLE,
    P_NODE,
    P_REGION,
    TIME,
    UNSAID,
    VERSION,
)
from xstreamcast.run.continuous.columns.standing import parent_of


@inner
def said(f: int, fillings: Any) -> int:
    """The version that an event was sent with."""
    return int(fillings[f, VERSION]) if fillings[f, VERSION] > 0 and fillings[f, FLAGS] & UNSAID == 0 else 0


@inner
def earlier(a: int, b: int, fillings: Any) -> bool:
    """Whether one filling of a region comes before another: by time, version, tag; events then by what they say."""
    if fillings[a, TIME] != fillings[b, TIME]:
        return bool(fillings[a, TIME] < fillings[b, TIME])
    mine, its = said(a, fillings), said(b, fillings)
    if mine != its:
        return bool(mine < its)
    return bool(fillings[a, DIGEST] < fillings[b, DIGEST])


@inner
def _depth(n: int, nodes: Any, places: Any) -> int:
    depth = 0
    while n >= 0:
        n = parent_of(n, nodes, places)
        depth += 1
    return depth


@inner
def _stands_before(p: int, q: int, regions: Any, places: Any) -> bool:
    """Whether a place comes before another one in the same node, or at the top."""
    if places[p, P_NODE] >= 0:
        return bool(places[p, P_HOLE] < places[q, P_HOLE])
    if places[p, P_BESIDE] != places[q, P_BESIDE]:
        return bool(places[p, P_BESIDE] < places[q, P_BESIDE])
    return bool(regions[places[p, P_REGION], NUMBER] < regions[places[q, P_REGION], NUMBER])


@inner
def _before(a: int, b: int, regions: Any, fillings: Any, nodes: Any, places: Any) -> bool:
    """Whether a node begins before another in the document."""
    deep_a, deep_b = _depth(a, nodes, places), _depth(b, nodes, places)
    around = deep_a < deep_b
    while deep_a > deep_b:
        a = parent_of(a, nodes, places)
        deep_a -= 1
    while deep_b > deep_a:
        b = parent_of(b, nodes, places)
        deep_b -= 1
    if a == b:
        return around
    while True:
        p, q = nodes[a, N_PLACE], nodes[b, N_PLACE]
        if p == q:
            return earlier(nodes[a, N_FILLING], nodes[b, N_FILLING], fillings)
        if places[p, P_NODE] == places[q, P_NODE]:
            return _stands_before(p, q, regions, places)
        a, b = places[p, P_NODE], places[q, P_NODE]


@kernel
def in_order(some: I64, spare: I64, regions: I64x2, fillings: I64x2, nodes: I64x2, places: I64x2) -> None:
    """Sort nodes as they come in the document."""
    size = some.shape[0]
    width = 1
    while width < size:
        for begin in range(0, size, 2 * width):
            middle, end = min(begin + width, size), min(begin + 2 * width, size)
            i, j = begin, middle
            for k in range(begin, end):
                if j >= end or (i < middle and not _before(some[j], some[i], regions, fillings, nodes, places)):
                    spare[k] = some[i]
                    i += 1
                else:
                    spare[k] = some[j]
                    j += 1
        for k in range(size):
            some[k] = spare[k]
        width *= 2


@kernel
def locate(some: I64, among: I64, regions: I64x2, fillings: I64x2, nodes: I64x2, places: I64x2, found: I64) -> None:
    """How many of others, which are in order, come before each of some nodes, which are in order, too."""
    low = 0
    for k in range(some.shape[0]):
        high = among.shape[0]
        while low < high:
            middle = (low + high) // 2
            if _before(among[middle], some[k], regions, fillings, nodes, places):
                low = middle + 1
            else:
                high = middle
        found[k] = low

"""Aggregates of the values of many groups at a time, all doubles: what their states come to, in columns.

A sum of one value is that value, and IEEE 754 adds two exactly and rounds once; of more the sum is exact and rounded
once as well (``math.fsum``). What is not finite goes through the aggregate's own state.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, isfinite

import numpy as np

from xstreamcast.model.atomic import Item
from xstreamcast.operators.grouping import slices
from xstreamcast.operators.rows import Ragged

Reduced = Callable[[list[float]], Item]
"""What the aggregate's state comes to of some values."""


def sums(values: Ragged, reduced: Reduced) -> list[Item | None]:
    """fn:sum"""
    counts, firsts = np.diff(values.bounds), values.bounds[:-1]
    found = np.zeros(len(counts))
    there, two = counts > 0, counts == 2
    found[there] = values.values[firsts[there]]
    found[two] += values.values[firsts[two] + 1]
    made: list[Item | None] = [*found.tolist()]
    for group, own in slices(values, np.flatnonzero((counts > 2) | (two & ~np.isfinite(found)))):
        made[group] = _sum(own, reduced)
    for group in np.flatnonzero(~there).tolist():
        made[group] = 0
    return made


def _sum(own: list[float], reduced: Reduced) -> Item:
    try:
        found = fsum(own)
    except (OverflowError, ValueError):
        return reduced(own)
    return found if isfinite(found) else reduced(own)


def averages(values: Ragged, reduced: Reduced) -> list[Item | None]:
    """fn:avg"""
    counts, firsts = np.diff(values.bounds), values.bounds[:-1]
    found = np.zeros(len(counts))
    found[counts > 0] = values.values[firsts[counts > 0]]
    made: list[Item | None] = [*found.tolist()]
    for group, own in slices(values, np.flatnonzero(counts > 1)):
        made[group] = reduced(own)
    for group in np.flatnonzero(counts == 0).tolist():
        made[group] = None
    return made


def _extremes(best: np.ufunc) -> Callable[[Ragged, Reduced], list[Item | None]]:
    def extremes(values: Ragged, _: Reduced) -> list[Item | None]:
        there = np.flatnonzero(np.diff(values.bounds))
        made: list[Item | None] = [None] * len(values)
        if len(there) == len(made):
            found: list[Item | None] = best.reduceat(values.values, values.bounds[:-1]).tolist() if made else []
            return found
        if len(there):
            for group, value in zip(
                there.tolist(), best.reduceat(values.values, values.bounds[there]).tolist(), strict=True
            ):
                made[group] = value
        return made

    return extremes


leasts = _extremes(np.minimum)
"""fn:min: NaN if there is one."""
greatests = _extremes(np.maximum)
"""fn:max"""

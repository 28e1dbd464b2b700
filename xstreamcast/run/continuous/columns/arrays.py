"""Arrays that grow, and hash tables that are arrays: filled for many keys at once, asked by the kernels for one."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from xstreamcast.native.vector import Longs, Table


def table(rows: int, words: int) -> Table:
    """A table of so many rows, all zero."""
    return np.zeros((rows, words), np.int64)


def grown(array: Any, size: int) -> Any:
    """An array with room for so many rows."""
    if size <= len(array):
        return array
    made = np.zeros((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
    made[: len(array)] = array
    return made


def power(size: int) -> int:
    """The size of a hash table for so many keys."""
    return 1 << max(7, (size - 1).bit_length())


_MIX: Final = np.uint64(0x1E3779B97F4A7C15)
_LOW: Final = np.uint64(0x3FFFFFFFFFFFFFFF)


def mixed_all(numbers: Any) -> Any:
    """As :func:`~xstreamcast.run.continuous.columns.taking.mixed`."""
    found = numbers.astype(np.uint64) & _LOW
    found = (found * _MIX) & _LOW
    found = ((found ^ (found >> np.uint64(29))) * _MIX) & _LOW
    return (found ^ (found >> np.uint64(32))).astype(np.int64)


def stamps_of(slots: Any, tsids: Any, times: Any, versions: Any) -> Any:
    """Versions and events, scattered as the kernel does."""
    return mixed_all(mixed_all(mixed_all(slots) ^ times) ^ (versions * 1021 + tsids))


def slots(numbers: Any, size: int) -> Longs:
    """A hash table by the numbers of regions."""
    made: Longs = np.zeros(power(size), np.int64)
    put_all(made, mixed_all(numbers) & (len(made) - 1), np.arange(len(numbers)))
    return made


def put_all(table: Longs, at: Any, values: Any) -> None:
    """Put values where they belong, or behind what is there."""
    mask = len(table) - 1
    waiting, at = values + 1, at.copy()
    while len(waiting):
        free = table[at] == 0
        _, firsts = np.unique(at, return_index=True)
        chosen = np.zeros(len(at), np.bool_)
        chosen[firsts] = True
        chosen &= free
        table[at[chosen]] = waiting[chosen]
        waiting, at = waiting[~chosen], (at[~chosen] + 1) & mask

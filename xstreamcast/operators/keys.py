"""Keys as bytes that order as the keys do, and are equal where they are: what sorts and groups work on.

    order by k1, k2 descending …        the bytes of k1, then those of k2, turned round

A text is its UTF-8, whose order is that of its codepoints, a number its bits with the sign put right; before them
stands whether there is a value, NaN or nothing, in the order that is asked for. Keys of other types, and by other
collations, are ordered by :func:`xstreamcast.model.compare.order_keys`.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import numpy as np

from xstreamcast.dataclass import dataclass
from xstreamcast.native.kernel import I64, U8, kernel
from xstreamcast.native.vector import Bytes, Longs

_WORD: Final = 8
_SIGN: Final = 1 << 63
_ALL: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of keys that are texts: ``joined[begins[k] : ends[k]]``; ``there``: which rows have one."""

    joined: Bytes
    begins: Longs
    ends: Longs
    there: Any


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of keys that are doubles, or integers of 64 bits; ``there``: which rows have one."""

    values: Any
    there: Any


KeyColumn = Texts | Numbers


@kernel
def _put_texts(b: U8, begins: I64, ends: I64, classes: U8, value: int, flip: int, c: U8, at: I64) -> None:
    for k in range(begins.shape[0]):
        j = at[k]
        c[j] = classes[k] ^ flip
        j += 1
        if classes[k] == value:
            for i in range(begins[k], ends[k]):
                c[j] = b[i] ^ flip
                j += 1
        c[j] = flip
        at[k] = j + 1


@kernel
def _put_numbers(words: I64, classes: U8, flip: int, c: U8, at: I64) -> None:
    for k in range(words.shape[0]):
        j = at[k]
        c[j] = classes[k] ^ flip
        for i in range(8):
            c[j + 1 + i] = ((words[k] >> (56 - 8 * i)) & 255) ^ flip
        at[k] = j + 9


@kernel
def _words(b: U8, bounds: I64, rows: I64, skipped: int, found: I64) -> None:
    """Of each row's bytes the eight after those skipped, as a number that orders as they do."""
    for k in range(rows.shape[0]):
        i = bounds[rows[k]] + skipped
        end = bounds[rows[k] + 1]
        w = 0
        for x in range(8):
            d = 0
            if i + x < end:
                d = b[i + x]
            w = (w << 8) | (d - 128 if x == 0 else d)
        found[k] = w


def encoded(columns: list[KeyColumn], ways: list[tuple[bool, bool]]) -> tuple[Bytes, Longs]:
    """The keys of rows, one after the other, and their bounds; ``ways``: descending, and the empty one greatest."""
    rows = len(columns[0].there)
    sizes = np.zeros(rows, np.int64)
    ranked = []
    for column, (_, greatest) in zip(columns, ways, strict=True):
        empty, nan, value = (3, 2, 1) if greatest else (1, 2, 3)  # never 0, which ends a text
        classes = np.where(column.there, value, empty).astype(np.uint8)
        if isinstance(column, Texts):
            sizes += np.where(column.there, column.ends - column.begins, 0) + 2
        else:
            if column.values.dtype == np.float64:
                classes[column.there & np.isnan(column.values)] = nan
            sizes += 1 + _WORD
        ranked.append((classes, value))
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    made, at = np.empty(int(bounds[-1]), np.uint8), bounds[:-1].copy()
    for column, (descending, _), (classes, value) in zip(columns, ways, ranked, strict=True):
        flip = 255 if descending else 0
        if isinstance(column, Texts):
            _put_texts(column.joined, column.begins, column.ends, classes, value, flip, made, at)
        else:
            words = np.where(classes == value, _as_words(column.values), 0)
            _put_numbers(np.ascontiguousarray(words), classes, flip, made, at)
    return made, bounds


def _as_words(values: Any) -> Longs:
    """Numbers as words of 64 bits, without a sign, that order as they do."""
    least = np.int64(-(1 << 63))
    if values.dtype == np.int64:
        return np.asarray(values ^ least)
    bits = (values + 0.0).view(np.int64)  # -0 is 0
    words: Longs = np.where(bits < 0, ~bits, bits ^ least)
    return words


_FLIPPED: Final = bytes(range(255, -1, -1))
_DOUBLE: Final = struct.Struct(">d")
_PLACE: Final = struct.Struct(">Q")
_EXACT: Final = 1 << 53
"""Whole numbers up to here are doubles."""


def key_of(item: Any, descending: bool, greatest: bool) -> bytes | None:
    """The bytes of one key, as :func:`encoded` writes them; ``item`` None: it is empty. None: it has no bytes.

    >>> key_of("a", False, False) < key_of("b", False, False), key_of(2, False, False) < key_of(10.5, False, False)
    (True, True)
    """
    empty, nan, value = (3, 2, 1) if greatest else (1, 2, 3)
    if item is None:
        made = bytes((empty, 0))
    elif isinstance(item, str):
        made = b"%c%b\0" % (value, item.encode("utf-8", "surrogatepass"))
    elif isinstance(item, float) or (type(item) is int and -_EXACT <= item <= _EXACT):
        if item != item:
            made = bytes((nan, *bytes(8)))
        else:
            word: int = _PLACE.unpack(_DOUBLE.pack(item + 0.0))[0]
            made = b"%c%b" % (value, _PLACE.pack(~word & _ALL if word >> 63 else word | _SIGN))
    else:
        return None
    return made.translate(_FLIPPED) if descending else made


def place_of(*numbers: int) -> bytes:
    """Whole numbers of 64 bits as bytes that order as they do, one after the other."""
    return b"".join([_PLACE.pack(number + _SIGN) for number in numbers])


def order(keys: Bytes, bounds: Longs) -> Longs:
    """The rows by their keys; those of equal ones stay as they are."""
    rows = np.arange(len(bounds) - 1)
    words = np.empty(len(rows), np.int64)
    _words(keys, bounds, rows, 0, words)
    found = np.argsort(words, kind="stable")
    words, sizes = words[found], np.diff(bounds)
    skipped, tied = 0, rows  # places whose rows may be equal to the one before or after them
    runs = np.zeros(len(rows), np.int64)
    while True:
        same = np.zeros(len(tied) + 1, np.bool_)
        same[1:-1] = (words[1:] == words[:-1]) & (runs[1:] == runs[:-1])
        skipped += _WORD
        open_ = (same[1:] | same[:-1]) & _longer(sizes[found[tied]], skipped, same)
        numbers = np.cumsum(~same[:-1])
        tied, runs = tied[open_], numbers[open_]
        if not len(tied):
            return found
        own = found[tied]
        words = np.empty(len(tied), np.int64)
        _words(keys, bounds, own, skipped, words)
        again = np.lexsort((words, runs))
        found[tied], words, runs = own[again], words[again], runs[again]


def _longer(sizes: Longs, skipped: int, same: Any) -> Any:
    """Of rows in runs of equal ones: whether there is a longer one in the run (all of them go on then)."""
    numbers = np.cumsum(~same[:-1]) - 1
    longest = np.zeros(int(numbers[-1]) + 1 if len(numbers) else 0, np.bool_)
    longest[numbers[sizes > skipped]] = True
    return longest[numbers]


def at_most(keys: Bytes, bounds: Longs, key: bytes, equal: bool) -> int:
    """How many of sorted keys are below a key, or (``equal``) not above it."""
    low, high = 0, len(bounds) - 1
    while low < high:
        middle = (low + high) // 2
        own = bytes(keys[bounds[middle] : bounds[middle + 1]])
        if own < key or (equal and own == key):
            low = middle + 1
        else:
            high = middle
    return low


# --------------------------------------------------------------------------------------------------- equal keys


_PRIME: Final = 1099511628211
_MASK: Final = (1 << 62) - 1


@kernel
def _find(keys: U8, bounds: I64, slots: I64, hashes: I64, arena: U8, ends: I64, groups: int, found: I64) -> int:
    """The number of each key's group; a key that is new is put behind the others. How many groups there are."""
    most = slots.shape[0] - 1
    for k in range(bounds.shape[0] - 1):
        i, to = bounds[k], bounds[k + 1]
        h = 1469598103
        for x in range(i, to):
            h = ((h ^ keys[x]) * 1099511628211) & 0x3FFFFFFFFFFFFFFF
        h ^= h >> 29
        place = h & most
        group = -1
        while slots[place] >= 0:
            other = slots[place]
            if hashes[other] == h:
                begin = ends[other]
                same = ends[other + 1] - begin == to - i
                x = 0
                while same and x < to - i:
                    same = arena[begin + x] == keys[i + x]
                    x += 1
                if same:
                    group = other
                    break
            place = (place + 1) & most
        if group < 0:
            group = groups
            groups += 1
            slots[place] = group
            hashes[group] = h
            begin = ends[group]
            for x in range(to - i):
                arena[begin + x] = keys[i + x]
            ends[group + 1] = begin + to - i
        found[k] = group
    return groups


@kernel
def _rehash(hashes: I64, groups: int, slots: I64) -> None:
    most = slots.shape[0] - 1
    for k in range(slots.shape[0]):
        slots[k] = -1
    for group in range(groups):
        place = hashes[group] & most
        while slots[place] >= 0:
            place = (place + 1) & most
        slots[place] = group


class Known:
    """Keys that were met, numbered as they came.

    >>> known = Known()
    >>> known.numbers(np.frombuffer(b"abcab", np.uint8), np.array([0, 2, 3, 5])).tolist(), len(known)
    ([0, 1, 0], 2)
    """

    def __init__(self) -> None:
        self._count = 0
        self._slots = np.full(1 << 10, -1, np.int64)
        self._hashes = np.empty(1 << 9, np.int64)
        self._arena = np.empty(1 << 12, np.uint8)
        self._ends = np.zeros((1 << 9) + 1, np.int64)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return int(self._slots.nbytes + self._hashes.nbytes + self._arena.nbytes + self._ends.nbytes)

    @property
    def keys(self) -> tuple[Bytes, Longs]:
        """The keys by number, one after the other, and their bounds."""
        return self._arena[: self._ends[self._count]], self._ends[: self._count + 1]

    def numbers(self, keys: Bytes, bounds: Longs) -> Longs:
        """The numbers of some keys."""
        rows = len(bounds) - 1
        groups = self._count + rows
        if groups > len(self._hashes):
            size = 1 << (groups - 1).bit_length()
            self._hashes = _grown(self._hashes, size)
            self._ends = _grown(self._ends, size + 1)
            self._slots = np.empty(2 * size, np.int64)
            _rehash(self._hashes, self._count, self._slots)
        needed = int(self._ends[self._count]) + len(keys)
        if needed > len(self._arena):
            self._arena = _grown(self._arena, max(needed, len(self._arena) * 3 // 2))
        found = np.empty(rows, np.int64)
        self._count = _find(
            keys, bounds, self._slots, self._hashes, self._arena, self._ends, self._count, found
        )  # fmt: skip
        return found


def _grown(array: Any, size: int) -> Any:
    made = np.empty(size, array.dtype)
    made[: len(array)] = array
    return made

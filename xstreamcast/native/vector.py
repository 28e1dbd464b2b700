"""Primitives that kernels ask of the processor beyond Python: 32 bytes compared at once, 8 bytes loaded at once.

Here is what each of these primitives means, in Python, which is what runs when nothing is compiled
(``NUMBA_DISABLE_JIT=1``); :mod:`xstreamcast.native.intrinsics` has the instructions for each. A *mask* has bit ``k``
set when byte ``i + k`` is one the caller must stop at. Everything is int64: one type, no surprises in arithmetic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Longs = np.ndarray[tuple[int], np.dtype[np.int64]]
Table = np.ndarray[tuple[int, int], np.dtype[np.int64]]

WIDTH: Final = 32
"""Bytes in a vector."""

if sys.byteorder != "little":  # pragma: no cover - names are compared as little-endian words
    raise ImportError("the scan kernel needs a little-endian machine")


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def base(a: Any) -> Any:
    """The address of an array: passing it on costs nothing."""
    return a


def at8(a: Any, i: int) -> int:
    """Item ``i`` of the array at an address."""
    if not 0 <= i < len(a):
        raise IndexError(i)
    return int(a[i])


def at32(a: Any, i: int) -> int:
    """:func:`at8` of an array of 32 bits."""
    return at8(a, i)


def at64(a: Any, i: int) -> int:
    """:func:`at8` of an array of 64 bits."""
    return at8(a, i)


def put8(a: Any, i: int, value: int) -> None:
    """Set item ``i`` of the array at an address."""
    if not 0 <= i < len(a):
        raise IndexError(i)
    a[i] = value


def put32(a: Any, i: int, value: int) -> None:
    """:func:`put8` of an array of 32 bits."""
    put8(a, i, value)


def put64(a: Any, i: int, value: int) -> None:
    """:func:`put8` of an array of 64 bits."""
    put8(a, i, value)


def copy32(b: Any, i: int, c: Any, j: int) -> None:
    """``c[j:j+32] = b[i:i+32]``, for buffers that do not overlap."""
    if not (0 <= i <= len(b) - WIDTH and 0 <= j <= len(c) - WIDTH):
        raise IndexError(i)
    c[j : j + WIDTH] = b[i : i + WIDTH]


def word(b: Any, i: int) -> int:
    """Eight bytes from ``i`` as one number."""
    if not 0 <= i <= len(b) - 8:
        raise IndexError(i)
    return int.from_bytes(bytes(b[i : i + 8]), "little", signed=True)


def first(m: int) -> int:
    """The lowest bit set in a mask that is not 0."""
    return (m & -m).bit_length() - 1


def low(word: int, length: int) -> int:
    """The first ``length`` bytes (1 to 8) of a word, the others 0."""
    return _signed(word & ((1 << (8 * length)) - 1))


MIX_A: Final = 0x9E3779B97F4A7C15
MIX_B: Final = 0xC2B2AE3D27D4EB4F


def hashed(first: int, last: int, length: int) -> int:
    """The hash of a name: of its first and last eight bytes and its length."""
    h = ((first * MIX_A) ^ ((last + length) * MIX_B)) & (2**64 - 1)
    return h >> 40


# Which bytes stop a search: for text, a body (of a comment, CDATA section or PI), an attribute's value, a name.


def _mask(b: Any, i: int, stops: Callable[[int], bool]) -> int:
    if not 0 <= i <= len(b) - WIDTH:
        raise IndexError(i)
    return sum(1 << k for k, x in enumerate(bytes(b[i : i + WIDTH])) if stops(x))


def _control(x: int) -> bool:
    """A byte that no XML text holds, one of several bytes of a character, or a carriage return."""
    return (x < 32 and x not in (9, 10)) or x >= 128


def text_mask(b: Any, i: int) -> int:
    return _mask(b, i, lambda x: x in (38, 60, 93) or _control(x))


def body_mask(b: Any, i: int, c: int) -> int:
    return _mask(b, i, lambda x: x == c or _control(x))


def value_mask(b: Any, i: int, c: int) -> int:
    return _mask(b, i, lambda x: x in (c, 38, 60) or x < 32 or x >= 128)


def name_mask(b: Any, i: int) -> int:
    return _mask(b, i, lambda x: x in (47, 61, 62, 63) or x <= 32)


def tag_mask(b: Any, i: int) -> int:
    return _mask(b, i, lambda x: x in (34, 39, 62))


def byte_mask(b: Any, i: int, c: int) -> int:
    return _mask(b, i, lambda x: x == c)

"""Draws from a seed, a column at a time, the same on every machine.

Only the raw bits come from NumPy: the stream of PCG64 is promised never to change, the distributions of
``numpy.random.Generator`` are not. What is made of the bits is written here.

>>> a, b = Draw(7, "items"), Draw(7, "items")
>>> a.below(6, 5).tolist() == b.below(6, 5).tolist()
True
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_UNIT: Final = 2.0**-53


class Draw:
    """A source of random columns. ``purpose`` separates sources of one seed: each reads bits of its own."""

    def __init__(self, seed: int, purpose: str) -> None:
        digest = hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=16).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest, "big"))

    def raw(self, size: int) -> npt.NDArray[np.uint64]:
        """64 bits each."""
        return self._bits.random_raw(size)

    def unit(self, size: int) -> Floats:
        """Uniform in [0, 1)."""
        return (self.raw(size) >> np.uint64(11)).astype(np.float64) * _UNIT

    def below(self, limit: int, size: int) -> Ints:
        """Uniform whole numbers in [0, limit)."""
        return np.multiply(self.unit(size), limit).astype(np.int64)

    def chance(self, probability: float, size: int) -> Bools:
        """True with a probability."""
        return self.unit(size) < probability

    def exponential(self, mean: float, size: int) -> Floats:
        """Exponential: −mean · ln(1 − u)."""
        return -mean * np.log1p(-self.unit(size))

    def count(self, mean: float, size: int) -> Ints:
        """Exponential, rounded to the nearest whole number: many few, few many."""
        return (self.exponential(mean, size) + 0.5).astype(np.int64)

    def length(self, mean: float, size: int) -> Ints:
        """Whole numbers from 1 up, falling geometrically, with a mean."""
        steps = self.exponential(-1.0 / float(np.log1p(-1.0 / mean)), size).astype(np.int64)
        return steps + 1

    def normal(self, mean: float, deviation: float, size: int) -> Floats:
        """Normal, as the sum of twelve uniforms less six (exact in the middle, bounded at six deviations)."""
        sums: Floats = self.unit(12 * size).reshape(size, 12).sum(axis=1)
        return (sums - 6.0) * deviation + mean

    def weighted(self, weights: Sequence[float], size: int) -> Ints:
        """Whole numbers in [0, len(weights)), each with its weight."""
        bounds = np.cumsum(np.asarray(weights, np.float64))
        drawn: Ints = np.searchsorted(bounds, self.unit(size) * bounds[-1], "right")
        return np.minimum(drawn, len(weights) - 1)


class Pick:
    """Draws one at a time, cheaply: for stories in which each step depends on the one before."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._draw = Draw(seed, purpose)
        self._units: list[float] = []

    def unit(self) -> float:
        """Uniform in [0, 1)."""
        if not self._units:
            self._units = self._draw.unit(4096).tolist()
        return self._units.pop()

    def below(self, limit: int) -> int:
        """A whole number in [0, limit)."""
        return int(self.unit() * limit)

    def between(self, least: int, most: int) -> int:
        """A whole number in [least, most]."""
        return least + int(self.unit() * (most - least + 1))

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self.unit() < probability

    def exponential(self, mean: float) -> float:
        """Exponential with a mean."""
        return -mean * float(np.log1p(-self.unit()))

"""Sets of regions by their numbers, for what must be remembered of every region there has been."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from typing import Any, Final


class Numbers:
    """A set of regions, a bit for each; those with great numbers one by one."""

    _BITS: Final = 1 << 30

    def __init__(self) -> None:
        self._bits = bytearray()
        self._others: set[int] = set()

    def add(self, numbers: Any) -> None:
        """Put some in: a list, or an array of them."""
        if len(numbers) == 1:
            self._one(int(numbers[0]))
            return
        import numpy as np

        small = numbers[numbers < self._BITS]
        self._others.update(numbers[numbers >= self._BITS].tolist())
        if len(small):
            self._reach(int(small.max()))
            bits = np.frombuffer(self._bits, np.uint8)
            np.bitwise_or.at(bits, small >> 3, (1 << (small & 7)).astype(np.uint8))

    def discard(self, numbers: Any) -> None:
        """Take some out, if they are in: an array of them."""
        for number in numbers.tolist():
            if number >= self._BITS:
                self._others.discard(number)
            elif number >> 3 < len(self._bits):
                self._bits[number >> 3] &= ~(1 << (number & 7))

    def _one(self, number: int) -> None:
        if number >= self._BITS:
            self._others.add(number)
        else:
            self._reach(number)
            self._bits[number >> 3] |= 1 << (number & 7)

    def _reach(self, number: int) -> None:
        short = (number >> 3) + 1 - len(self._bits)
        if short > 0:
            self._bits.extend(bytes(max(short, len(self._bits) // 2)))

    def saved(self) -> list[Any]:
        """… as plain data."""
        bits = self._bits.rstrip(b"\0")  # how much room there is depends on how they came
        return [b64encode(zlib.compress(bits)).decode(), sorted(self._others)]

    def restore(self, saved: list[Any]) -> None:
        """Have those that were saved, and nothing else."""
        bits, others = saved
        self._bits = bytearray(zlib.decompress(b64decode(bits)))
        self._others = set(others)

    def meets(self, numbers: Any) -> bool:
        """Whether some of an array of numbers are in it."""
        if not self._bits and not self._others:
            return False
        import numpy as np

        small = numbers[numbers < len(self._bits) << 3]
        bits = np.frombuffer(self._bits, np.uint8)
        return bool((bits[small >> 3] >> (small & 7) & 1).any()) or not self._others.isdisjoint(numbers.tolist())

    def __contains__(self, number: int) -> bool:
        if number >= self._BITS:
            return number in self._others
        at = number >> 3
        return at < len(self._bits) and bool(self._bits[at] >> (number & 7) & 1)

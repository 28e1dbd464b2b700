"""Where contents lie one after the other: in memory up to a budget, beyond it in a temporary file that is mapped.

The pages of a mapped file are the operating system's: it writes them out and drops them when memory is wanted for
something else. The file has no name, and goes with the process.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import IO, Final

import numpy as np

from xstreamcast.cast.contents import MEMORY_BUDGET
from xstreamcast.native.vector import Bytes

_LEAST: Final = 1 << 12


class Arena:
    """``bytes``: an array with room for contents; another one once it had to grow."""

    def __init__(self, budget: int = MEMORY_BUDGET) -> None:
        self.budget = budget
        self.bytes: Bytes = np.zeros(_LEAST, np.uint8)
        self._file: IO[bytes] | None = None

    @property
    def is_on_disk(self) -> bool:
        """Whether it lies in a file."""
        return self._file is not None

    def hold(self, size: int) -> None:
        """Have room for so many bytes."""
        if size <= len(self.bytes):
            return
        room = max(size, 2 * len(self.bytes))
        if room <= self.budget:
            self.bytes = _longer(self.bytes, np.zeros(room, np.uint8))
        elif size <= self.budget:
            self.bytes = _longer(self.bytes, np.zeros(self.budget, np.uint8))
        else:
            self.bytes = self._mapped(room)

    def emptied(self, size: int) -> Arena:
        """Another one, with room for so many bytes."""
        made = Arena(self.budget)
        made.hold(size)
        return made

    def _mapped(self, room: int) -> Bytes:
        """The file with so many bytes, and what is there already."""
        known = self.bytes
        is_new = self._file is None
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as what is mapped of it
        if hasattr(os, "posix_fallocate"):  # a disk that is full is an error here, not a signal when it is written to
            os.posix_fallocate(self._file.fileno(), 0, room)
        else:
            self._file.truncate(room)
        made: Bytes = np.frombuffer(mmap.mmap(self._file.fileno(), room), np.uint8)
        return _longer(known, made) if is_new else made


def _longer(known: Bytes, made: Bytes) -> Bytes:
    """A longer array that begins as another one."""
    made[: len(known)] = known
    return made

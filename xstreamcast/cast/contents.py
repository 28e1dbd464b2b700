"""Where the contents of regions lie: in memory up to a budget, beyond it in a file.

What comes in a file that can be read again, and is read in batches, lies there anyway, and counts for nothing here.
"""

from __future__ import annotations

import tempfile
from hashlib import blake2b
from typing import Final

from xstreamcast.cast.region import Filling, OnDisk
from xstreamcast.wire.content import Content, Opened, parse_content

MEMORY_BUDGET: Final = 256 << 20
"""Bytes of content that are kept in memory, unless another budget is given."""


def _room(length: int) -> int:
    return max(64, 1 << (length - 1).bit_length()) if length else 64


class Contents:
    """``kept``: the bytes of content in memory; beyond the ``budget``, further content goes to the ``file``."""

    def __init__(self) -> None:
        self.budget = MEMORY_BUDGET
        self.kept = 0
        self.file = tempfile.SpooledTemporaryFile(max_size=1 << 16)  # noqa: SIM115 - lives as long as the table
        self.file_size = 0
        self.free: dict[int, list[int]] = {}  # by size, room in the file that is free again

    @property
    def spilled(self) -> int:
        """The bytes of the file that are in use."""
        return self.file_size - sum(room * len(free) for room, free in self.free.items())

    def spill(self, content: bytes, opened: Opened | None) -> OnDisk:
        """Put a content on disk: where one has been that is gone, or at the end. Room comes in powers of two."""
        room = _room(len(content))
        free = self.free.get(room)
        offset = free.pop() if free else self.file_size
        if offset == self.file_size:
            self.file_size += room
        self.file.seek(offset)
        self.file.write(content)
        return OnDisk(offset, len(content), opened)

    def unkeep(self, filling: Filling | None) -> None:
        """A filling is no longer in the table: nor is its content kept."""
        if filling is not None:
            self.kept -= filling.size
            filling.size = 0
            if isinstance(filling.content, OnDisk):
                self.free.setdefault(_room(filling.content.length), []).append(filling.content.offset)

    def says(self, filling: Filling, content: bytes) -> bool:
        """Whether a filling's content is this one."""
        if filling.digest:
            return filling.digest == blake2b(content, digest_size=16).digest()
        opened = self.find(filling)
        return isinstance(opened, Opened) and opened.to - opened.begin == len(content) and opened.data == content

    def find(self, filling: Filling) -> Content | Opened | None:
        """A filling's content as it is kept, in the table or on disk."""
        kept = filling.content
        if not isinstance(kept, OnDisk):
            return kept
        self.file.seek(kept.offset)
        data = self.file.read(kept.length)
        if kept.opened is not None:
            return kept.opened._replace(buffer=data, begin=0, to=len(data))
        return parse_content(data, place=filling.place)

    def load(self, filling: Filling) -> Content | None:
        """The pieces of a filling."""
        found = self.find(filling)
        return found.content() if isinstance(found, Opened) else found

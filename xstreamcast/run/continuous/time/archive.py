"""What has been told and can never change is not kept in memory: its text lies in a file, in spans."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from typing import Final

Span = tuple[int, int]
"""Where a text begins in the file, and its bytes."""
_IN_MEMORY: Final = 1 << 16


class Archive:
    """Texts, each put in once. Those that lie side by side in the file are one span."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - lives as long as the answer
        self._end = 0

    def put(self, text: str) -> Span:
        """Take a text in."""
        data = text.encode()
        self._file.seek(self._end)
        self._file.write(data)
        self._end += len(data)
        return self._end - len(data), len(data)

    def text(self, spans: Iterable[Span]) -> str:
        """The text of some spans."""
        found = []
        for begin, length in spans:
            self._file.seek(begin)
            found.append(self._file.read(length))
        return b"".join(found).decode()


def joined(first: list[Span], second: list[Span]) -> list[Span]:
    """The spans of two texts, one after the other: ``first`` itself, with the others behind.

    >>> joined([(0, 5)], [(5, 2), (9, 1)])
    [(0, 7), (9, 1)]
    """
    for begin, length in second:
        if first and sum(first[-1]) == begin:
            first[-1] = first[-1][0], first[-1][1] + length
        else:
            first.append((begin, length))
    return first

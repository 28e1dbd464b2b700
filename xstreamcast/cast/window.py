"""The part of an input that is at hand, for scans that keep less of it than ``scan.reader`` would."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from xstreamcast.native.vector import Bytes
from xstreamcast.scan.encoding import Source, has_internal_subset, plain_xml
from xstreamcast.scan.reader import mapped, plain_start
from xstreamcast.scan.scanner import STEP, TableScanner

_PART: Final = 1 << 20


class Window:
    """All of a mapped file, or what of a pipe has come and is not done with. ``offset`` is that of ``b[0]``."""

    def __init__(self, buffer: Bytes | None, chunks: Iterable[bytes] = (), offset: int = 0) -> None:
        self.mapped = buffer is not None
        self.b = np.zeros(1 << 20, np.uint8) if buffer is None else buffer
        self.n = 0 if buffer is None else len(buffer)
        self.offset = offset
        self.chunks: Iterator[bytes] = iter(chunks)

    def limit(self, position: int) -> int:
        """How far to scan at one go."""
        return min(self.n, position + STEP) if self.mapped else self.n

    def more(self, keep: int, scanner: TableScanner | None = None) -> int | None:
        """Take in another chunk; bytes before ``keep`` may go. How many went, None when nothing more comes."""
        chunk = next(self.chunks, None)
        if chunk is None:
            return None
        gone = 0
        if self.n + len(chunk) > len(self.b):
            gone = keep
            if scanner is not None and keep:
                scanner.rebase(self.b, keep)
            left = self.n - keep
            fresh = self.b if left + len(chunk) <= len(self.b) else np.zeros(2 * (left + len(chunk)), np.uint8)
            fresh[:left] = self.b[keep : self.n].copy()
            self.b, self.n = fresh, left
            self.offset += keep
        self.b[self.n : self.n + len(chunk)] = np.frombuffer(chunk, np.uint8)
        self.n += len(chunk)
        return gone


def plain_file(source: Source) -> Bytes | None:
    """A file as an array, if it is plain UTF-8 without a DTD of its own; None when it must be read in pieces."""
    if not isinstance(source, str | Path) or str(source) == "-" or not Path(source).is_file():
        return None
    buffer = mapped(source)
    return None if plain_start(buffer) is None or has_internal_subset(source) else buffer


def window_of(source: Source) -> tuple[Window, int]:
    """The window of a document, and where it begins after its mark and declaration."""
    buffer = plain_file(source)
    if buffer is None:
        return Window(None, _gathered(plain_xml(source))), 0
    return Window(buffer), plain_start(buffer) or 0


def _gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The small pieces of a pipe in larger ones, for who is in no hurry."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= _PART:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)

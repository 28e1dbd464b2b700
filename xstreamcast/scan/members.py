"""A gzip file of several members unpacked by several threads: some members each, handed on in order.

A gzip stream cannot be entered in the middle. A file may have many of them, one after the other: bgzip writes one for
every 64 kB, archives of web pages have one for each page, and so has what was put together by ``cat``. A member begins
with four bytes that may come up by chance: a stretch from one such place to another is unpacked on the guess that both
are beginnings. If its last member goes on behind it, the next stretch is taken with it. If that does not help, it is
damaged, or its members are too large: one thread goes on from its beginning, as it would have without others, to the
end of the file.

>>> import gzip, io
>>> packed = b"".join(gzip.compress(b"%d " % number * 1000) for number in range(300))
>>> ParallelGzip(io.BytesIO(packed), 2).read() == gzip.decompress(packed)
True
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, Final

_BEGIN: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f]")
_PIECE: Final = 1 << 20
_LEAST: Final = 1 << 18
"""Bytes of a stretch, packed."""
_LONGEST: Final = 1 << 22
"""A member that is longer, packed, is left to one thread; so is a stretch that unpacks to so many times as much."""
_TIMES: Final = 16
_HEAD: Final = 4


def _unpacked(stretch: bytes) -> bytes | None:
    """What is in the members of a stretch; None if it does not end with one, is damaged, or holds too much."""
    parts: list[bytes] = []
    left, size = stretch, 0
    try:
        while left:
            member = zlib.decompressobj(wbits=31)
            parts.append(member.decompress(left, _TIMES * _LONGEST - size + 1))
            size += len(parts[-1])
            if not member.eof or size > _TIMES * _LONGEST:
                return None
            left = member.unused_data
    except zlib.error:
        return None
    return b"".join(parts)


class ParallelGzip(io.RawIOBase):
    """Reads what a gzip file holds. Memory: twice as many stretches as there are threads."""

    def __init__(self, file: BinaryIO, threads: int) -> None:
        self._file, self._threads = file, threads
        self._pool = ThreadPoolExecutor(threads)
        self._waiting: deque[tuple[bytes, Future[bytes | None]]] = deque()
        self._rest = b""  # what was read behind the last stretch
        self._stretches = self._found()
        self._left = memoryview(b"")
        self._alone: gzip.GzipFile | None = None
        """The reader of the rest of the file, once it is left to one thread."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left and self._alone is None:
            piece = self._next()
            if piece is None:
                break
            self._left = memoryview(piece)
        if self._left:
            size = min(len(buffer), len(self._left))
            buffer[:size] = self._left[:size]
            self._left = self._left[size:]
            return size
        return 0 if self._alone is None else self._alone.readinto(buffer)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _next(self) -> bytes | None:
        """What the next stretch holds; None if there is none, or from here on one thread reads."""
        self._fill()
        if self._waiting:
            stretch, job = self._waiting.popleft()
            data = job.result()
            if data is None and self._waiting:
                stretch += self._waiting.popleft()[0]
                data = _unpacked(stretch)
            if data is not None:
                return data
            self._rest = stretch + b"".join(other for other, _ in self._waiting) + self._rest
            self._waiting.clear()
        if self._rest:
            self._alone = gzip.GzipFile(fileobj=io.BufferedReader(_Again(self._rest, self._file)))
        return None

    def _fill(self) -> None:
        while len(self._waiting) < 2 * self._threads and (stretch := next(self._stretches, None)) is not None:
            self._waiting.append((stretch, self._pool.submit(_unpacked, stretch)))

    def _found(self) -> Iterator[bytes]:
        """The stretches of the file; the last one, and what is too long, stays in ``_rest``."""
        looked = 1
        while True:
            begin = _BEGIN.search(self._rest, max(looked, _LEAST))
            if begin is not None:
                stretch, self._rest = self._rest[: begin.start()], self._rest[begin.start() :]
                looked = 1
                yield stretch
                continue
            looked = max(len(self._rest) - _HEAD + 1, 1)
            if len(self._rest) > _LONGEST:
                return
            piece = self._file.read(_PIECE)
            if not piece:
                return
            self._rest += piece


class _Again(io.RawIOBase):
    """Bytes that were read, and the file behind them."""

    def __init__(self, read: bytes, file: BinaryIO) -> None:
        self._read, self._file = memoryview(read), file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._read[: len(buffer)] or self._file.read(len(buffer))
        self._read = self._read[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)

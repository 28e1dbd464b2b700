"""A bz2 file unpacked by several threads: its blocks, each by itself, handed on in order.

A block begins at any bit, with 48 bits that are the digits of π; a stream ends with those of its square root. What lies
between two such marks is a block, unless the digits came up by chance: then it does not unpack, and goes on to the next
mark. The checksums of blocks, and of all blocks of a stream, are looked at as one thread would.

>>> import bz2, io
>>> data = b"".join(b"%d " % number for number in range(300_000))
>>> packed = bz2.compress(data) + bz2.compress(b"another stream")
>>> ParallelBz2(io.BytesIO(packed), 2).read() == data + b"another stream"
True
"""

from __future__ import annotations

import bz2
import io
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

import numpy as np

from xstreamcast.scan.pieces import Following, Piece

_BLOCK: Final = 0x314159265359
_END: Final = 0x177245385090
_MARK: Final = 48  # bits
_SUM: Final = 32
_PIECE: Final = 1 << 20
_LONGEST: Final = 4 << 20  # bytes: a block is shorter, packed
_CHANCES: Final = 4  # marks in a row that are none


@dataclass(frozen=True, slots=True)
class _Block:
    """The bits of a block, and of what may belong to it if its end is none."""

    bits: int
    size: int
    begins: int
    """Its first bit in the file."""

    @property
    def sum(self) -> int:
        return self.bits >> (self.size - _MARK - _SUM) & 0xFFFFFFFF

    def unpacked(self) -> bytes | None:
        """What is in it, as a stream of its own; None if it is no block."""
        size = self.size + _MARK + _SUM
        bits = (self.bits << _MARK | _END) << _SUM | self.sum
        padding = -size % 8
        try:
            return bz2.decompress(b"BZh9" + (bits << padding).to_bytes((size + padding) // 8, "big"))
        except (OSError, ValueError):
            return None

    def joined(self, further: _Block | int | None) -> _Block:
        """A block that goes on beyond a mark that was none."""
        if not isinstance(further, _Block):
            raise OSError("Invalid data stream")
        return _Block(self.bits << further.size | further.bits, self.size + further.size, self.begins)


class ParallelBz2(io.RawIOBase):
    """Reads what a bz2 file holds. Memory: twice as many blocks as there are threads."""

    def __init__(self, file: BinaryIO, threads: int) -> None:
        self._file, self._threads = file, threads
        self._pool = ThreadPoolExecutor(threads)
        self._waiting: deque[tuple[_Block | int, Future[bytes | None] | None]] = deque()
        self._marks = _found(file)
        self._check = 0  # the sum of the blocks of a stream so far
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = self._next()
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _fill(self) -> None:
        while len(self._waiting) < 2 * self._threads and (found := next(self._marks, None)) is not None:
            job = self._pool.submit(found.unpacked) if isinstance(found, _Block) else None
            self._waiting.append((found, job))

    def _next(self) -> bytes | None:
        """What the next block holds; None at the end."""
        self._fill()
        if not self._waiting:
            return None
        found, job = self._waiting.popleft()
        if not isinstance(found, _Block):
            if found != self._check:
                raise OSError("Invalid data stream")
            self._check = 0
            return b""
        assert job is not None
        data = job.result()
        for _ in range(_CHANCES):
            if data is not None:
                break
            self._fill()
            found = found.joined(self._waiting.popleft()[0] if self._waiting else None)
            data = found.unpacked()
        if data is None:
            raise OSError("Invalid data stream")
        self._check = _added(self._check, found.sum)
        return data


# ------------------------------------------------------------------------------------------------------ pieces


def pieces(file: BinaryIO, at: int, size: int, most: int) -> Iterator[Piece]:
    """The blocks of a file of so many bytes, from the one that begins at a bit on; 0 is where the file begins."""
    file.seek(at // 8)
    waiting: deque[_Block | int] = deque()
    marks = _found(file, at)

    def following() -> _Block | int | None:
        return waiting.popleft() if waiting else next(marks, None)

    before: list[int] = []  # the ends of streams that have no block
    while (found := following()) is not None:
        if not isinstance(found, _Block):
            before.append(-1 - found)
            continue
        data = found.unpacked()
        for _ in range(_CHANCES):
            if data is not None:
                break
            found = found.joined(following())
            data = found.unpacked()
        if data is None:
            raise OSError("Invalid data stream")
        sums = [*before, found.sum]
        before = []
        while (then := following()) is not None and not isinstance(then, _Block):
            sums.append(-1 - then)
        if then is not None:
            waiting.appendleft(then)
        end = 8 * size if then is None else then.begins
        yield Piece(at, end, data, tuple(sums))
        at = end


def agree(sums: Sequence[int]) -> bool:
    """Whether each stream of a file has the sum of its blocks; ``sums`` are those of all pieces."""
    check = 0
    for each in sums:
        if each >= 0:
            check = _added(check, each)
        elif check != -1 - each:
            return False
        else:
            check = 0
    return True


def begins(file: BinaryIO, begin: int, end: int) -> Iterator[int]:
    """The bits between two in which blocks may begin."""
    data, base = b"", begin // 8
    file.seek(base)
    looked = begin
    while looked < end:
        piece = file.read(_PIECE)
        data += piece
        for at, mark in _marks(data, base, looked, not piece):
            looked = at + 1
            if mark == _BLOCK and at < end:
                yield at
        if not piece:
            return
        looked = max(looked, 8 * (base + len(data)) - _MARK - 8)
        keep = looked // 8 - base
        data, base = data[keep:], base + keep


def opened(file: BinaryIO, at: int, size: int) -> BinaryIO:
    """What follows from a block on, to be read."""
    if at == 0:
        file.seek(0)
        return cast(BinaryIO, bz2.BZ2File(file))
    return io.BufferedReader(Following(pieces(file, at, size, 0)))


# ------------------------------------------------------------------------------------------------------- marks


def _added(check: int, block: int) -> int:
    """The sum of some blocks of a stream and one more."""
    return ((check << 1 | check >> 31) & 0xFFFFFFFF) ^ block


def _found(file: BinaryIO, first: int = 0) -> Iterator[_Block | int]:
    """The blocks of a file; at the end of each stream the sum that it says its blocks have.

    ``first``: the bit where the first may begin; the file is read on from the byte that has it.
    """
    data, base = b"", first // 8  # what is still needed of the file, and where that begins in it, in bytes
    looked, begun = first, -1  # bits before ``looked`` have no mark that is not known; the block that is open
    ended = False
    while True:
        piece = file.read(_PIECE)
        data += piece
        known = base + len(data)
        for at, mark in _marks(data, base, looked, not piece):
            looked = at + 1
            if ended:
                if not data[(at - 32) // 8 - base :].startswith(b"BZh") or (at - 32) % 8:
                    return  # what stands behind a stream and is none is passed over, as Python's own reader does
                ended = False
            if begun >= 0:
                yield _Block(_bits(data, base, begun, at), at - begun, begun)
            begun = at if mark == _BLOCK else -1
            if mark == _END:
                while len(data) < (at + _MARK + _SUM) // 8 + 1 - base and (more := file.read(_PIECE)):
                    data += more
                if len(data) * 8 < at + _MARK + _SUM - 8 * base:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                yield _bits(data, base, at + _MARK, at + _MARK + _SUM)
                ended = True
        if not piece:
            if not ended:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            return
        looked = max(looked, 8 * known - _MARK - 8)
        keep = min(looked, begun if begun >= 0 else looked) // 8 - 8
        if len(data) - (max(keep, base) - base) > _LONGEST:
            raise OSError("Invalid data stream")
        if keep > base:
            data, base = data[keep - base :], keep


def _bits(data: bytes, base: int, begin: int, end: int) -> int:
    """Some bits of a file of which ``data`` are the bytes from ``base`` on."""
    first, last = begin // 8, -(-end // 8)
    value = int.from_bytes(data[first - base : last - base], "big") >> (8 * last - end)
    return value & ((1 << (end - begin)) - 1)


def _marks(data: bytes, base: int, looked: int, last: bool) -> list[tuple[int, int]]:
    """Where marks begin, in bits of the file, and which; not those before ``looked``."""
    start = max(0, looked // 8 - base)
    view = np.frombuffer(data, np.uint8)[start:]
    if last:
        view = np.concatenate([view, np.zeros(1, np.uint8)])
    if len(view) < 8:
        return []
    found = []
    for shift in range(8):
        turned = (view[:-1] << shift | view[1:] >> (8 - shift)).tobytes() if shift else view.tobytes()
        for mark in (_BLOCK, _END):
            pattern = mark.to_bytes(6, "big")
            at = turned.find(pattern)
            while at >= 0:
                place = 8 * (base + start + at) + shift
                if place >= looked:
                    found.append((place, mark))
                at = turned.find(pattern, at + 1)
    return sorted(found)

"""Packed files that can be entered: the blocks of bz2, the members of gz and parts of these, the frames of zstd.

A *piece* can be unpacked without what comes before it. Where one begins is marked by some bytes, or bits, that may come
up by chance: a reader that enters a file *somewhere* guesses that it stands before a piece. Whoever shares a file out
finds out whether all guesses were right: what one reader stops at must be where the next has begun, and the sums of all
pieces must agree.

Places are bits of the file; 0 is where the first piece begins.

>>> import gzip, io
>>> first, second = gzip.compress(b"<a>"), gzip.compress(b"</a>")
>>> file = io.BytesIO(first + second)
>>> gz = packing_of(first)
>>> [(piece.begin // 8, piece.data) for piece in gz.pieces(file, 0, len(first + second), 100)] == [
...     (0, b"<a>"), (len(first), b"</a>")]
True
>>> list(gz.begins(file, 8, 8 * len(first + second))) == [8 * len(first)]
True
>>> gz.opened(file, 8 * len(first), len(first + second)).read()
b'</a>'
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

_READ: Final = 1 << 20
_ZSTD: Final = re.compile(rb"\x28\xb5\x2f\xfd")


class TooLong(Exception):
    """A piece holds more than is to be held in memory."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What lies between two places of a file, unpacked."""

    begin: int
    end: int
    data: bytes
    sums: tuple[int, ...] = ()
    """What tells whether pieces belong together."""


@dataclass(frozen=True, slots=True)
class Packing:
    """How files of a kind are entered."""

    name: str
    piece: str
    """What its pieces are called."""
    begins: Callable[[BinaryIO, int, int], Iterator[int]]
    """The places between two where a piece may begin."""
    pieces: Callable[[BinaryIO, int, int, int], Iterator[Piece]]
    """The pieces of a file from a place on; the size of the file; :class:`TooLong` where one holds more than so many
    bytes."""
    opened: Callable[[BinaryIO, int, int], BinaryIO]
    """All that follows from a place on, to be read; the size of the file."""
    agree: Callable[[Sequence[int]], bool]
    """Whether the sums of all pieces are those of the file."""


class Following(io.RawIOBase):
    """The content of pieces as a file."""

    def __init__(self, found: Iterator[Piece]) -> None:
        self._found = found
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            piece = next(self._found, None)
            if piece is None:
                return 0
            self._left = memoryview(piece.data)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def packing_of(head: bytes) -> Packing | None:
    """How a file that begins so is entered; None if it cannot be."""
    if head.startswith(b"BZh"):
        from xstreamcast.scan import blocks

        return Packing("bz2", "block", blocks.begins, blocks.pieces, blocks.opened, blocks.agree)
    if head.startswith(b"\x1f\x8b"):
        from xstreamcast.scan import flushed

        return Packing("gz", "member", flushed.begins, flushed.members, flushed.opened, flushed.agree)
    return _ZST if head.startswith((b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")) else None


# -------------------------------------------------------------------------------------------------- frames of zstd


def _frame_begins(file: BinaryIO, begin: int, end: int) -> Iterator[int]:
    at, last = -(-begin // 8), -(-end // 8)
    file.seek(at)
    data = b""
    while at < last and (read := file.read(_READ)):
        data += read
        for found in _ZSTD.finditer(data):
            if at + found.start() < last:
                yield 8 * (at + found.start())
        done = max(len(data) - 3, 0)  # a mark that is only half there is looked for again
        at, data = at + done, data[done:]


def _frames(file: BinaryIO, at: int, size: int, most: int) -> Iterator[Piece]:
    from xstreamcast.scan.encoding import zstd_reader

    begin = at // 8
    while begin < size:
        end = _frame_end(file, _skipped(file, begin, size), most)
        end = _skipped(file, end, size)  # what is skipped belongs to the frame before, as no piece begins there
        file.seek(begin)
        with zstd_reader(io.BytesIO(file.read(end - begin))) as reader:
            data = reader.read(most + 1)
        if len(data) > most:
            raise TooLong
        yield Piece(8 * begin, 8 * end, data)
        begin = end


def _skipped(file: BinaryIO, at: int, size: int) -> int:
    """What follows frames that are skipped: pzstd writes one before each frame, the seekable format one at the end."""
    while at < size:
        file.seek(at)
        head = file.read(8)
        if int.from_bytes(head[:4], "little") >> 4 != 0x184D2A5:
            break
        at = min(at + 8 + int.from_bytes(head[4:], "little"), size)
    return at


def _frame_end(file: BinaryIO, begin: int, most: int) -> int:
    """Where a frame ends, by the sizes of its blocks (RFC 8878, 3.1.1)."""
    at = begin

    def take(count: int) -> int:
        nonlocal at
        file.seek(at)
        data = file.read(count)
        if len(data) < count:
            raise EOFError("Compressed file ended before the end of a frame was reached")
        at += count
        return int.from_bytes(data, "little")

    if take(4) != 0xFD2FB528:
        raise OSError("Invalid data stream")
    descriptor = take(1)
    single = descriptor >> 5 & 1
    content = (single, 2, 4, 8)[descriptor >> 6]
    at += (1 - single) + (0, 1, 2, 4)[descriptor & 3] + content
    last = 0
    while not last:
        header = take(3)
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == 3:
            raise OSError("Invalid data stream")
        at += 1 if kind == 1 else size
        if at - begin > most:
            raise TooLong
    return at + 4 * (descriptor >> 2 & 1)


def _zstd_opened(file: BinaryIO, at: int, size: int) -> BinaryIO:
    from xstreamcast.scan.encoding import Borrowed, zstd_reader

    file.seek(at // 8)
    return zstd_reader(io.BufferedReader(Borrowed(file)))  # a reader of zstd that goes closes what it reads


def _no_sums(sums: Sequence[int]) -> bool:
    """Each piece has a sum of its own, which is looked at where it is unpacked."""
    return not sums


_ZST: Final = Packing("zstd", "frame", _frame_begins, _frames, _zstd_opened, _no_sums)

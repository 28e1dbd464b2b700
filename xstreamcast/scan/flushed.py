"""Members of gz that can be entered: some writers begin anew now and then, with nothing of what came before.

``pigz --independent`` does so every 128 kB, and so does whoever flushes "fully". Before such a place stands an empty
block, ``00 00 FF FF``; those bytes may come up by chance, and other writers put them where they do not begin anew. What
follows says which it is: nothing reaches back further than 32 kB, so that many bytes that can be unpacked alone are
proof that all that follows can. A piece has a sum of its own; sums are put together as the sum of a member is.

>>> import io
>>> made = zlib.compressobj(wbits=31)
>>> first = made.compress(b"<a>" * 50) + made.flush(zlib.Z_FULL_FLUSH)
>>> data = first + made.compress(b"</a>" * 50) + made.flush()
>>> pieces = list(members(io.BytesIO(data), 0, len(data), 1000))
>>> [piece.end // 8 for piece in pieces] == [len(first), len(data)], agree([n for piece in pieces for n in piece.sums])
(True, True)
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import BinaryIO, Final

from xstreamcast.scan.encoding import gz_reader
from xstreamcast.scan.pieces import Following, Piece, TooLong

_READ: Final = 1 << 20
_MARK: Final = re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]|\x00\x00\xff\xff", re.DOTALL)
_FLUSHED: Final = b"\x00\x00\xff\xff"
_LONGEST: Final = 10  # bytes of a mark
_WINDOW: Final = 1 << 15
_PROOF: Final = 1 << 16  # packed bytes that are looked at for it
_TRAILER: Final = 8
_HEAD: Final = 1 << 12  # bytes: longer names and comments are not read
_END: Final = -1
_MOST: Final = 1100  # deflate makes nothing smaller than by that
_POLYNOMIAL: Final = 0xEDB88320


def begins(file: BinaryIO, begin: int, end: int) -> Iterator[int]:
    """The bits between two where a member may begin, or begins anew."""
    at, last = -(-begin // 8), -(-end // 8)
    at = max(at - len(_FLUSHED), 0)
    data = b""
    while at < last:
        file.seek(at + len(data))
        read = file.read(_READ)
        if not read:
            return
        data += read
        done = 0
        for found in _MARK.finditer(data):
            done = found.end()
            flushed = found[0] == _FLUSHED
            place = at + (found.end() if flushed else found.start())
            if begin <= 8 * place < 8 * last and (not flushed or _anew(file, place)):
                yield 8 * place
        past = max(len(data) - _LONGEST + 1, done)  # a mark that is only half there is looked for again
        at, data = at + past, data[past:]


def _anew(file: BinaryIO, at: int) -> bool:
    """Whether what stands at a place can be unpacked without what is before."""
    file.seek(at)
    data = file.read(_PROOF)
    alone = zlib.decompressobj(wbits=-15)
    try:
        return bool(alone.decompress(data, _WINDOW))
    except zlib.error:
        return False


def members(file: BinaryIO, at: int, size: int, most: int) -> Iterator[Piece]:
    """The members of a file of so many bytes from a place on, or what lies between places where they begin anew."""
    begin = at // 8
    while begin < size:
        file.seek(begin)
        inside = not file.read(2).startswith(b"\x1f")  # no block begins with that byte
        start = begin if inside else begin + _header(file, begin)
        piece, begin = _piece(file, begin, start, size, most)
        yield piece


def _header(file: BinaryIO, begin: int) -> int:
    """Bytes of the header of a member (RFC 1952, 2.3)."""
    file.seek(begin)
    head = file.read(_HEAD)
    if len(head) < 10 or head[:3] != b"\x1f\x8b\x08":
        raise OSError("Not a gzipped file")
    flags, at = head[3], 10
    if flags & 4:
        at += 2 + int.from_bytes(head[at : at + 2], "little")
    for flag in (8, 16):
        if flags & flag:
            at = head.index(b"\0", at) + 1
    return at + (2 if flags & 2 else 0)


def _piece(file: BinaryIO, begin: int, start: int, size: int, most: int) -> tuple[Piece, int]:
    """What a member has up to its end, or to where it begins anew; and where the next begins."""
    member = zlib.decompressobj(wbits=-15)
    parts: list[bytes] = []
    room = most + 1
    sums: list[int] = []
    at = start
    tail = b""  # the last bytes before ``at``
    amount = _PROOF  # most members are short
    while True:
        file.seek(at)
        read = file.read(amount)
        amount = min(2 * amount, _READ)
        if not read:
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        cut = _cut(file, tail, read, at)
        parts.append(member.decompress(read[:cut], room))
        room -= len(parts[-1])
        if room <= 0:
            raise TooLong
        if member.eof:
            end = at + (len(read) if cut is None else cut) - len(member.unused_data)
            break
        at += len(read) if cut is None else cut
        if cut is not None:
            end = at
            break
        tail = read[-3:]
    data = b"".join(parts)
    sums += [zlib.crc32(data), len(data)]
    if member.eof:
        file.seek(end)
        trailer = file.read(_TRAILER)
        if len(trailer) < _TRAILER:
            raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        sums += [_END, int.from_bytes(trailer[:4], "little"), int.from_bytes(trailer[4:], "little")]
        end = _padded(file, end + _TRAILER, size)
        if begin != start:  # it began here, so all of it is known
            if not agree(sums):
                raise OSError("CRC check failed")
            sums = []
    return Piece(8 * begin, 8 * end, data, tuple(sums)), end


def _cut(file: BinaryIO, tail: bytes, read: bytes, at: int) -> int | None:
    """Where in some bytes a member begins anew; None if it does not."""
    both = tail + read
    found = both.find(_FLUSHED)
    while found >= 0:
        cut = found + len(_FLUSHED) - len(tail)
        if cut > 0 and _anew(file, at + cut):
            return cut
        found = both.find(_FLUSHED, found + 1)
    return None


def _padded(file: BinaryIO, at: int, size: int) -> int:
    """What follows zeros, which may stand behind a member."""
    while at < size:
        file.seek(at)
        read = file.read(_HEAD)
        left = read.lstrip(b"\0")
        if left:
            return at + len(read) - len(left)
        at += len(read)
    return size


def agree(sums: Sequence[int]) -> bool:
    """Whether members have the sums of their pieces: a sum and a size for each, and behind the last those of all."""
    crc = size = 0
    numbers = iter(sums)
    for number in numbers:
        if number == _END:
            if (crc, size & 0xFFFFFFFF) != (next(numbers), next(numbers)):
                return False
            crc = size = 0
        else:
            own = next(numbers)
            crc, size = _combined(crc, number, own), size + own
    return size == 0


def _combined(first: int, second: int, size: int) -> int:
    """The sum of some bytes and so many behind them."""
    return _times(_zeros(size), first) ^ second if first else second


@lru_cache(maxsize=64)  # pieces of a file are of few sizes
def _zeros(size: int) -> tuple[int, ...]:
    """What so many zeros behind some bytes do to their sum, as a matrix over bits."""
    made = tuple(1 << bit for bit in range(32))
    power = (_POLYNOMIAL, *made[:31])  # of one bit
    bits = 8 * size
    while bits:
        if bits & 1:
            made = tuple(_times(power, row) for row in made)
        power = tuple(_times(power, row) for row in power)
        bits >>= 1
    return made


def _times(matrix: Sequence[int], vector: int) -> int:
    made = 0
    for row in matrix:
        if vector & 1:
            made ^= row
        vector >>= 1
    return made


def opened(file: BinaryIO, at: int, size: int) -> BinaryIO:
    """What follows from a place on, to be read."""
    file.seek(at // 8)
    if file.read(1) == b"\x1f":
        file.seek(at // 8)
        return gz_reader(file)
    return io.BufferedReader(Following(members(file, at, size, size * _MOST)))

"""The files of a log. Format 1, little-endian:

    segment ::= "XCASTLOG" format:u32 first-N:u64 log-id:16 crc:u32  record*
    base    ::= "XCASTOLD" format:u32 first-N:u64 log-id:16 crc:u32  length:u32 crc:u32 state  record*

A segment has the records from its first N on, without a gap. A base stands for everything before its first N: the
records of that time which still count, and the server's books (:mod:`~xstreamcast.serve.compaction`).
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from xstreamcast.errors import Place, XStreamError, error
from xstreamcast.serve.record import HEAD, MARKER, WHOLE, Where, parsed

FORMAT: Final = 1

_SEGMENT: Final = b"XCASTLOG"
_BASE: Final = b"XCASTOLD"
_HEAD: Final = struct.Struct("<8sIQ16sI")
_STATE: Final = struct.Struct("<II")
_STRIDE: Final = 32
_BLOCK: Final = 1 << 18


@dataclass(slots=True, eq=False)
class Segment:
    """A file of the log, and where every so many-th record begins. ``number`` tells it from all others there were."""

    path: Path
    number: int
    first: int
    last: int
    size: int
    _numbers: array[int] = field(default_factory=lambda: array("Q"))
    _offsets: array[int] = field(default_factory=lambda: array("Q"))
    _count: int = 0

    def note(self, n: int, offset: int, end: int) -> None:
        """A record has been written, or read when the log was opened."""
        if not self._count % _STRIDE:
            self._numbers.append(n)
            self._offsets.append(offset)
        self._count += 1
        self.last, self.size = n, end

    def take_back(self, n: int, size: int) -> None:
        """Only the records up to N have been written whole."""
        while self._numbers and self._numbers[-1] > n:
            self._numbers.pop()
            self._offsets.pop()
        # What is left of the last stretch: its first record is noted, and its others are counted.
        self._count = n - self.first + 1
        self.last, self.size = n, size

    def walk(self, file: int, since: int) -> Iterator[tuple[int, bytes, Where]]:
        """The records after N: number, payload, and where they lie."""
        if not self._offsets:
            return
        at = self._offsets[max(0, bisect_right(self._numbers, since + 1) - 1)]
        size, data, begin = self.size, b"", at
        while at < size:
            found = parsed(data, at - begin)
            if found is None:
                wanted = _BLOCK
                if len(data) - (at - begin) >= HEAD.size:
                    wanted = max(_BLOCK, HEAD.size + HEAD.unpack_from(data, at - begin)[1])
                if begin == at and len(data) >= min(wanted, size - at):
                    raise damaged(self.path, at)
                data, begin = os.pread(file, min(wanted, size - at), at), at
                continue
            n, payload = found
            length = HEAD.size + len(payload)
            if n > since:
                yield n, payload, Where(self.number, at, length)
            at += length


def damaged(path: Path, offset: int) -> XStreamError:
    """A file of the log is not as it was written."""
    hint = "restore it from a copy, or move the folder away to begin a new log"
    return error("XSC0100", "the log is damaged", Place(path.name, offset=offset), hint)


def head(magic: bytes, first: int, identity: bytes) -> bytes:
    """What a file begins with."""
    made = _HEAD.pack(magic, FORMAT, first, identity, 0)[:-4]
    return made + crc32(made).to_bytes(4, "little")


def begun(path: Path, number: int, first: int, identity: bytes) -> tuple[Segment, int]:
    """A new segment, and its file to write to."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(file, head(_SEGMENT, first, identity))
    return Segment(path, number, first, first - 1, _HEAD.size), file


def _identity(path: Path, data: bytes, magic: bytes, first: int) -> bytes:
    """The identity of the log that a file is of; raises where it is none of ours."""
    if len(data) < _HEAD.size:
        raise damaged(path, 0)
    found, format, number, identity, crc = _HEAD.unpack_from(data)
    if found != magic or crc != crc32(data[: _HEAD.size - 4]) or number != first:
        raise damaged(path, 0)
    if format != FORMAT:
        raise error("XSC0100", f"{path.name} has format {format}", hint=f"this program reads format {FORMAT}")
    return bytes(identity)


def opened(path: Path, number: int, first: int, last: bool) -> tuple[Segment | None, bytes, int]:
    """A segment as it was found, the identity of its log, and how many torn bytes at its end have been cut off.

    ``last``: nothing comes after it, so that its end may be torn. None: it was just being begun.
    """
    data = path.read_bytes()
    if last and len(data) < _HEAD.size:
        path.unlink()
        return None, b"", len(data)
    identity = _identity(path, data, _SEGMENT, first)
    segment = Segment(path, number, first, first - 1, _HEAD.size)
    at = whole = _HEAD.size
    until = segment.last
    while (found := parsed(data, at)) is not None:
        n, payload = found
        if n != segment.last + 1:
            raise damaged(path, at)
        end = at + HEAD.size + len(payload)
        segment.note(n, at, end)
        at = end
        if payload[1] & WHOLE:
            whole, until = at, n
    if at < len(data) and (not last or _goes_on(data, at)):
        raise damaged(path, at)
    if last and whole < len(data):
        # A torn record, and records of a change whose other records never came.
        os.truncate(path, whole)
        segment.take_back(until, whole)
        return segment, identity, len(data) - whole
    return segment, identity, 0


def _goes_on(data: bytes, at: int) -> bool:
    """Whether a whole record comes after a broken one: then it is no torn tail."""
    at = data.find(MARKER, at + 1)
    while at >= 0:
        if parsed(data, at) is not None:
            return True
        at = data.find(MARKER, at + 1)
    return False


# ------------------------------------------------------------------------------------------------------- the base


def written_base(
    path: Path, number: int, first: int, identity: bytes, state: dict[str, Any], records: Iterator[tuple[int, bytes]]
) -> tuple[Segment, list[Where]]:
    """A base, written and on the disk; and where its records lie, which are given as they are in the log."""
    blob = zlib.compress(json.dumps(state, separators=(",", ":")).encode(), 1)
    with path.open("wb") as file:
        file.write(head(_BASE, first, identity) + _STATE.pack(len(blob), crc32(blob)) + blob)
        segment = Segment(path, number, 0, 0, file.tell())
        places = []
        for n, data in records:
            at = segment.size
            file.write(data)
            segment.note(n, at, at + len(data))
            places.append(Where(number, at, len(data)))
        file.flush()
        os.fsync(file.fileno())
    segment.last = first - 1
    return segment, places


def opened_base(path: Path, number: int, first: int) -> tuple[Segment, bytes]:
    """A base as it was found, and the identity of its log. It was renamed when it was whole: nothing may be missing."""
    data = path.read_bytes()
    identity = _identity(path, data, _BASE, first)
    state, at = _state_in(path, data)
    segment = Segment(path, number, 0, 0, at)
    while (found := parsed(data, at)) is not None:
        n, payload = found
        if n <= segment.last or n >= first:
            raise damaged(path, at)
        end = at + HEAD.size + len(payload)
        segment.note(n, at, end)
        at = end
    if at < len(data) or segment._count != state["records"]:
        raise damaged(path, at)
    segment.last = first - 1
    return segment, identity


def state_in(segment: Segment) -> dict[str, Any]:
    """The books in a base."""
    return _state_in(segment.path, segment.path.read_bytes())[0]


def _state_in(path: Path, data: bytes) -> tuple[dict[str, Any], int]:
    if len(data) < _HEAD.size + _STATE.size:
        raise damaged(path, _HEAD.size)
    length, crc = _STATE.unpack_from(data, _HEAD.size)
    begin = _HEAD.size + _STATE.size
    blob = data[begin : begin + length]
    if len(blob) < length or crc32(blob) != crc:
        raise damaged(path, begin)
    state: dict[str, Any] = json.loads(zlib.decompress(blob))
    return state, begin + length

"""The append-only log of a stream: records numbered N = 1, 2, …; "since N" is all with a greater number.

A log is a folder of segments, each named by its first N. Format 1, little-endian:

    segment ::= "XCASTLOG" format:u32 first-N:u64 log-id:16 crc:u32  record*
    record  ::= "\\xc5REC" length:u32 crc:u32 N:u64 payload

The crc is that of N and the payload. The payload is an :class:`Entry`: the numbers of a change, so that a restart need
not parse XML, and the change as it is sent. What a crash has torn at the end is cut off when the log is opened; damage
anywhere else is an error, for nobody may lose what has been written without a word.

>>> import tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> log = StreamLog(Path(folder.name))
>>> from xstreamcast.model.change import Fill
>>> _ = log.append([entry_of(Fill(region=0, version=1, content=b"<a/>"))])
>>> [(entry.n, entry.wire) for entry in log.read(since=0)]
[(1, b'<stream:filler id="0" version="1"><a/></stream:filler>')]
>>> log.close(), folder.cleanup()
(None, None)
"""

from __future__ import annotations

import os
import struct
from array import array
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4
from zlib import crc32

from xstreamcast.errors import Place, error
from xstreamcast.model.change import CHANGES, Change
from xstreamcast.model.fragment import encode_change
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.model.time import Instant

FORMAT: Final = 1
SEGMENT: Final = 64 << 20
"""Bytes after which a new segment begins."""
STRUCTURE: Final = "structure"
KINDS: Final = (STRUCTURE, *CHANGES)

_MAGIC: Final = b"XCASTLOG"
_MARKER: Final = b"\xc5REC"
_HEAD: Final = struct.Struct("<8sIQ16sI")
_RECORD: Final = struct.Struct("<4sIIQ")
_PAYLOAD: Final = struct.Struct("<BBqqqqqHHI")
_NONE: Final = -(2**63) + 1  # START is the number before it
_WHOLE: Final = 1
_STRIDE: Final = 32
_BLOCK: Final = 1 << 18
_OPEN: Final = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """A record: a change or a structure as it is sent, and what must be known of it without opening it.

    ``given`` is the version the source gave it; ``mark`` where in its source it stood; ``origin`` the change it was
    made from, where it was another; ``whole``: whether it is the last of what one change of the source became.
    """

    kind: str
    wire: bytes
    n: int = 0
    region: int = 0
    tsid: int | None = None
    version: int | None = None
    given: int | None = None
    valid_time: Instant | None = None
    doc: str = ""
    mark: str = ""
    origin: bytes = b""
    whole: bool = True


class Where(NamedTuple):
    """Where a record lies: the number of its segment, and the offset and length of the record in it."""

    segment: int
    offset: int
    length: int


def entry_of(item: Change | Structure, given: int | None = None) -> Entry:
    """The entry of a change, or of a structure."""
    if isinstance(item, Structure):
        return Entry(STRUCTURE, write_structure(item, declare=False).encode())
    return Entry(
        item.kind, encode_change(item), region=item.region, tsid=item.tsid, version=item.version, given=given,
        valid_time=item.valid_time, doc=item.doc,
    )  # fmt: skip


def _number(value: int | None) -> int:
    return _NONE if value is None else value


def _optional(value: int) -> int | None:
    return None if value == _NONE else value


def _payload(entry: Entry) -> bytes:
    doc, mark = entry.doc.encode(), entry.mark.encode()
    fixed = _PAYLOAD.pack(
        KINDS.index(entry.kind), _WHOLE * entry.whole, entry.region, _number(entry.tsid), _number(entry.version),
        _number(entry.given), _number(entry.valid_time), len(doc), len(mark), len(entry.origin),
    )  # fmt: skip
    return b"".join((fixed, doc, mark, entry.origin, entry.wire))


def _entry(n: int, payload: bytes) -> Entry:
    kind, flags, region, tsid, version, given, time, doc, mark, origin = _PAYLOAD.unpack_from(payload)
    at = _PAYLOAD.size
    parts = []
    for length in (doc, mark, origin):
        parts.append(payload[at : at + length])
        at += length
    return Entry(
        KINDS[kind], payload[at:], n, region, _optional(tsid), _optional(version), _optional(given), _optional(time),
        parts[0].decode(), parts[1].decode(), parts[2], bool(flags & _WHOLE),
    )  # fmt: skip


def _record(n: int, payload: bytes) -> bytes:
    return _RECORD.pack(_MARKER, len(payload), _crc(n, payload), n) + payload


def _crc(n: int, payload: bytes) -> int:
    return crc32(payload, crc32(n.to_bytes(8, "little")))


def _parsed(data: bytes, at: int) -> tuple[int, bytes] | None:
    """The record at a place: its number and payload; None where there is no whole one."""
    if len(data) - at < _RECORD.size:
        return None
    marker, length, crc, n = _RECORD.unpack_from(data, at)
    begin = at + _RECORD.size
    payload = data[begin : begin + length]
    if marker != _MARKER or len(payload) < length or length < _PAYLOAD.size or _crc(n, payload) != crc:
        return None
    return n, payload


@dataclass(slots=True)
class _Segment:
    """A file of the log, and where every so many-th record begins."""

    path: Path
    first: int
    last: int
    size: int
    offsets: array[int]


class StreamLog:
    """The log of one stream. One process has it open at a time; the server sees to that."""

    def __init__(self, folder: Path, segment: int = SEGMENT) -> None:
        self.folder = folder
        self.limit = segment
        self.segments: list[_Segment] = []
        self.repaired = 0
        """Bytes that were torn at the end when the log was opened."""
        self._id = b""
        self._files: OrderedDict[int, int] = OrderedDict()
        self._out = -1
        self._dirty = False
        self._staged: dict[Where, tuple[Entry, bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".log" and path.stem.isdecimal())
        for path in paths:
            self._open(path, path is paths[-1])
        if not self.segments:
            self._id = self._id or uuid4().bytes
            self._begin(1)
        else:
            self._out = os.open(self.segments[-1].path, os.O_WRONLY | os.O_APPEND)

    @property
    def id(self) -> str:
        """What tells this log from another of the same stream."""
        return self._id.hex()

    @property
    def head(self) -> int:
        """The number of the last record; 0: there is none."""
        return self.segments[-1].last

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(segment.size for segment in self.segments)

    # ------------------------------------------------------------------------------------------------- opening

    def _open(self, path: Path, last: bool) -> None:
        data = path.read_bytes()
        expected = self.segments[-1].last + 1 if self.segments else int(path.stem)
        if last and len(data) < _HEAD.size:  # it was being begun
            self.repaired += len(data)
            path.unlink()
            if not self.segments and expected > 1:
                raise _damaged(path, 0)
            return
        if len(data) < _HEAD.size:
            raise _damaged(path, 0)
        magic, format, first, identity, crc = _HEAD.unpack_from(data)
        if magic != _MAGIC or crc != crc32(data[: _HEAD.size - 4]) or first != expected:
            raise _damaged(path, 0)
        if format != FORMAT:
            raise error("XSC0100", f"{path.name} has format {format}", hint=f"this program reads format {FORMAT}")
        if self._id and identity != self._id:
            raise error("XSC0100", f"{path.name} is of another log", hint="one folder holds the log of one stream")
        self._id = identity
        segment = _Segment(path, first, first - 1, _HEAD.size, array("Q"))
        at = whole = _HEAD.size
        until = segment.last
        while (found := _parsed(data, at)) is not None:
            n, payload = found
            if n != segment.last + 1:
                raise _damaged(path, at)
            if not (n - first) % _STRIDE:
                segment.offsets.append(at)
            segment.last = n
            at += _RECORD.size + len(payload)
            if payload[1] & _WHOLE:
                whole, until = at, n
        if at < len(data) and (not last or self._goes_on(data, at)):
            raise _damaged(path, at)
        segment.size = at
        if whole < len(data) and last:
            # A torn record, and records of a change whose other records never came.
            self.repaired += len(data) - whole
            os.truncate(path, whole)
            segment.size, segment.last = whole, until
            del segment.offsets[(until - first) // _STRIDE + 1 :]
        self.segments.append(segment)

    @staticmethod
    def _goes_on(data: bytes, at: int) -> bool:
        """Whether a whole record comes after a broken one: then it is no torn tail."""
        at = data.find(_MARKER, at + 1)
        while at >= 0:
            if _parsed(data, at) is not None:
                return True
            at = data.find(_MARKER, at + 1)
        return False

    def _begin(self, first: int) -> None:
        path = self.folder / f"{first:020}.log"
        head = _HEAD.pack(_MAGIC, FORMAT, first, self._id, 0)[:-4]
        self._out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(self._out, head + crc32(head).to_bytes(4, "little"))
        self.segments.append(_Segment(path, first, first - 1, _HEAD.size, array("Q")))
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    # ------------------------------------------------------------------------------------------------- writing

    def stage(self, entry: Entry, mark: str = "", origin: bytes = b"") -> tuple[Entry, Where]:
        """Number an entry and give it its place; it is in the log once :meth:`commit` has written it."""
        segment = self.segments[-1]
        if segment.size >= self.limit and not self._staged:
            self.sync()
            os.close(self._out)
            self._begin(segment.last + 1)
            segment = self.segments[-1]
        n, at = segment.last + 1, segment.size
        if self._staged:
            last = next(reversed(self._staged))
            n, at = self._staged[last][0].n + 1, last.offset + last.length
        # Written out: replace() would cost as much as all the rest.
        numbered = Entry(
            entry.kind, entry.wire, n, entry.region, entry.tsid, entry.version, entry.given, entry.valid_time,
            entry.doc, mark or entry.mark, origin or entry.origin, entry.whole,
        )  # fmt: skip
        payload = _payload(numbered)
        where = Where(len(self.segments) - 1, at, _RECORD.size + len(payload))
        self._staged[where] = numbered, payload
        return numbered, where

    def commit(self) -> None:
        """Write what has been staged, as one: after a crash all of it is there, or nothing."""
        staged, self._staged = self._staged, {}
        if not staged:
            return
        segment, final = self.segments[-1], next(reversed(staged.values()))[0].n
        records = []
        for entry, payload in staged.values():
            flags = bytes((_WHOLE * (entry.n == final),))
            records.append(_record(entry.n, payload[:1] + flags + payload[2:]))
        self._write(b"".join(records), segment)
        for where, (entry, _) in staged.items():
            if not (entry.n - segment.first) % _STRIDE:
                segment.offsets.append(where.offset)
            segment.last, segment.size = entry.n, where.offset + where.length
        self._dirty = True

    def append(self, entries: Iterable[Entry]) -> list[tuple[Entry, Where]]:
        """Write entries at the end, numbered; all of them or, if that fails, none."""
        made = [self.stage(entry) for entry in entries]
        self.commit()
        return made

    def _write(self, data: bytes, segment: _Segment) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._out, rest) :]
        except OSError as fault:
            os.ftruncate(self._out, segment.size)
            hint = "nothing was taken in; make room and send it again"
            raise error("XSC0100", f"cannot write {segment.path}: {fault.strerror}", hint=hint) from None

    def sync(self) -> None:
        """See to it that what has been written is on the disk."""
        if self._dirty:
            self._dirty = False
            os.fsync(self._out)

    def close(self) -> None:
        """Nothing more will be read or written."""
        self.sync()
        for file in (self._out, *self._files.values()):
            os.close(file)
        self._files.clear()

    # ------------------------------------------------------------------------------------------------- reading

    def _file(self, number: int) -> int:
        file = self._files.get(number)
        if file is None:
            if len(self._files) >= _OPEN:
                os.close(self._files.popitem(last=False)[1])
            file = os.open(self.segments[number].path, os.O_RDONLY)
        else:
            del self._files[number]
        self._files[number] = file
        return file

    def fetch(self, where: Where) -> Entry:
        """The record at a place; it may still be staged."""
        if where in self._staged:
            return self._staged[where][0]
        found = _parsed(os.pread(self._file(where.segment), where.length, where.offset), 0)
        if found is None:
            raise _damaged(self.segments[where.segment].path, where.offset)
        return _entry(*found)

    def read(self, since: int = 0, count: int | None = None, size: int | None = None) -> Iterator[Entry]:
        """The records after N; at most so many, and no more once there are so many bytes."""
        for entry, where in self.walk(since, None if count is None else since + count):
            yield entry
            if size is not None:
                size -= where.length
                if size <= 0:
                    return

    def walk(self, since: int = 0, until: int | None = None) -> Iterator[tuple[Entry, Where]]:
        """The records from N + 1 up to another number, or to the end as it is now, and where they lie."""
        until = self.head if until is None else min(until, self.head)
        number = max(0, bisect_right([segment.first for segment in self.segments], since + 1) - 1)
        while since < until and number < len(self.segments):
            segment = self.segments[number]
            if since < segment.last:
                for entry, where in self._walk(number, max(since, segment.first - 1)):
                    yield entry, where
                    since = entry.n
                    if since >= until:
                        return
            number += 1

    def _walk(self, number: int, since: int) -> Iterator[tuple[Entry, Where]]:
        segment = self.segments[number]
        at = segment.offsets[(since + 1 - segment.first) // _STRIDE]
        size, data, begin = segment.size, b"", at
        while at < size:
            found = _parsed(data, at - begin)
            if found is None:
                wanted = _BLOCK
                if len(data) - (at - begin) >= _RECORD.size:
                    wanted = max(_BLOCK, _RECORD.size + _RECORD.unpack_from(data, at - begin)[1])
                if begin == at and len(data) >= min(wanted, size - at):
                    raise _damaged(segment.path, at)
                data, begin = os.pread(self._file(number), min(wanted, size - at), at), at
                continue
            n, payload = found
            length = _RECORD.size + len(payload)
            if n > since:
                yield _entry(n, payload), Where(number, at, length)
            at += length


def _damaged(path: Path, offset: int) -> Exception:
    hint = "restore it from a copy, or move the folder away to begin a new log"
    return error("XSC0100", "the log is damaged", Place(path.name, offset=offset), hint)

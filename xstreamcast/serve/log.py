"""The log of a stream: records numbered N = 1, 2, …; "since N" is all with a greater number.

A log is a folder of segments (:mod:`~xstreamcast.serve.segment`), each named by its first N, to which records are only
ever added. What a crash has torn at the end is cut off when the log is opened; damage anywhere else is an error, for
nobody may lose what has been written without a word.

A log that is compacted (:mod:`~xstreamcast.serve.compaction`) begins with a base instead of its oldest segments: up to
:attr:`StreamLog.first` there are only the records that still count, from there on all.

>>> import tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> log = StreamLog(Path(folder.name))
>>> from xstreamcast.model.change import Fill
>>> from xstreamcast.serve.record import entry_of
>>> _ = log.append([entry_of(Fill(region=0, version=1, content=b"<a/>"))])
>>> [(entry.n, entry.wire) for entry in log.read(since=0)]
[(1, b'<stream:filler id="0" version="1"><a/></stream:filler>')]
>>> log.close(), folder.cleanup()
(None, None)
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import RLock
from time import time
from typing import Any, Final
from uuid import uuid4

from xstreamcast.errors import error
from xstreamcast.serve.record import HEAD, WHOLE, Entry, Where, entry_in, parsed, payload_of, record
from xstreamcast.serve.segment import Segment, begun, damaged, opened, opened_base, state_in

SEGMENT: Final = 64 << 20
"""Bytes after which a new segment begins."""

_OPEN: Final = 16


class StreamLog:
    """The log of one stream. One process has it open at a time; the server sees to that."""

    def __init__(self, folder: Path, segment: int = SEGMENT) -> None:
        self.folder = folder
        self.limit = segment
        self.base: Segment | None = None
        self.segments: list[Segment] = []
        """Those with all records, in order; the last one is written to."""
        self.repaired = 0
        """Bytes that were torn at the end when the log was opened."""
        self.begun = time()
        """When the last segment was begun, or opened."""
        self._id = b""
        self._made = 0
        self._numbered: dict[int, Segment] = {}
        self._files: OrderedDict[int, int] = OrderedDict()
        self._out = -1
        self._dirty = False
        self._syncing = RLock()  # a thread may be at it
        self._staged: dict[Where, tuple[Entry, bytes]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._open()

    @property
    def id(self) -> str:
        """What tells this log from another of the same stream."""
        return self._id.hex()

    @property
    def identity(self) -> bytes:
        """The same as bytes."""
        return self._id

    @property
    def head(self) -> int:
        """The number of the last record; 0: there is none."""
        return self.segments[-1].last

    @property
    def first(self) -> int:
        """The number from which on all records are kept; of older ones those which still count."""
        return self.segments[0].first

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return sum(segment.size for segment in self.parts())

    def parts(self) -> list[Segment]:
        """All files, in the order of their records."""
        return [*([] if self.base is None else [self.base]), *self.segments]

    def state(self) -> dict[str, Any] | None:
        """The books of the server when the log was compacted last."""
        return None if self.base is None else state_in(self.base)

    # ------------------------------------------------------------------------------------------------- opening

    def _open(self) -> None:
        bases, paths = self._named(".base"), self._named(".log")
        first = 1
        if bases:
            first = int(bases[-1].stem)
            self.base, self._id = opened_base(bases[-1], self.next_number(), first)
            self._numbered[self.base.number] = self.base
        # What a compaction has made superfluous, and was stopped before it could remove it.
        for path in [*bases[:-1], *[path for path in paths if int(path.stem) < first], *self.folder.glob(".*.part")]:
            path.unlink()
        paths = [path for path in paths if int(path.stem) >= first]
        for path in paths:
            number = self.next_number()
            segment, identity, torn = opened(path, number, first, path is paths[-1])
            self.repaired += torn
            if segment is None:
                continue
            if self._id and identity != self._id:
                raise error("XSC0100", f"{path.name} is of another log", hint="one folder holds the log of one stream")
            self._id = identity
            self.segments.append(segment)
            self._numbered[number] = segment
            first = segment.last + 1
        if self.segments:
            self._out = os.open(self.segments[-1].path, os.O_WRONLY | os.O_APPEND)
        else:
            self._id = self._id or uuid4().bytes
            self._begin(first)

    def _named(self, suffix: str) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.suffix == suffix and path.stem.isdecimal())

    def next_number(self) -> int:
        """A number for another file."""
        self._made += 1
        return self._made

    def _begin(self, first: int) -> None:
        number, self.begun = self.next_number(), time()
        segment, self._out = begun(self.folder / f"{first:020}.log", number, first, self._id)
        self.segments.append(segment)
        self._numbered[number] = segment
        self.sync_folder()

    def sync_folder(self) -> None:
        """See to it that the names of the files are on the disk."""
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    # ------------------------------------------------------------------------------------------------- writing

    def roll(self) -> None:
        """Begin another segment, if there is something in this one."""
        segment = self.segments[-1]
        if segment.last >= segment.first and not self._staged:
            with self._syncing:
                self.sync()
                os.close(self._out)
                self._begin(segment.last + 1)

    def stage(self, entry: Entry, mark: str = "", origin: bytes = b"") -> tuple[Entry, Where]:
        """Number an entry and give it its place; it is in the log once :meth:`commit` has written it."""
        if self.segments[-1].size >= self.limit:
            self.roll()
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
        payload = payload_of(numbered)
        where = Where(segment.number, at, HEAD.size + len(payload))
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
            flags = bytes((WHOLE * (entry.n == final),))
            records.append(record(entry.n, payload[:1] + flags + payload[2:]))
        self._write(b"".join(records), segment)
        for where, (entry, _) in staged.items():
            segment.note(entry.n, where.offset, where.offset + where.length)
        self._dirty = True

    def append(self, entries: Iterable[Entry]) -> list[tuple[Entry, Where]]:
        """Write entries at the end, numbered; all of them or, if that fails, none."""
        made = [self.stage(entry) for entry in entries]
        self.commit()
        return made

    def _write(self, data: bytes, segment: Segment) -> None:
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
        with self._syncing:
            if self._dirty:
                self._dirty = False
                os.fsync(self._out)

    def close(self) -> None:
        """Nothing more will be read or written."""
        with self._syncing:
            self.sync()
            for file in (self._out, *self._files.values()):
                os.close(file)
            self._files.clear()

    # ------------------------------------------------------------------------------------------------- compacting

    def add_base(self, base: Segment) -> None:
        """Another base is there: records may be fetched from it."""
        self._numbered[base.number] = base

    def use_base(self, base: Segment) -> None:
        """A base takes the place of all that is older than it, which is removed."""
        old = [part for part in self.parts() if part.first <= base.last]
        self.segments = [segment for segment in self.segments if segment.first > base.last]
        self.base = base
        for part in old:
            file = self._files.pop(part.number, None)
            if file is not None:
                os.close(file)
            del self._numbered[part.number]
            part.path.unlink()

    # ------------------------------------------------------------------------------------------------- reading

    def _file(self, number: int) -> int:
        file = self._files.get(number)
        if file is None:
            if len(self._files) >= _OPEN:
                os.close(self._files.popitem(last=False)[1])
            file = os.open(self._numbered[number].path, os.O_RDONLY)
        else:
            del self._files[number]
        self._files[number] = file
        return file

    def fetch(self, where: Where) -> Entry:
        """The record at a place; it may still be staged."""
        if where in self._staged:
            return self._staged[where][0]
        found = parsed(os.pread(self._file(where.segment), where.length, where.offset), 0)
        if found is None:
            raise damaged(self._numbered[where.segment].path, where.offset)
        return entry_in(*found)

    def read(self, since: int = 0, count: int | None = None, size: int | None = None) -> Iterator[Entry]:
        """The records after N; at most so many, and no more once there are so many bytes."""
        return iter(self.stretch(since, count, size)[0])

    def stretch(
        self, since: int, count: int | None = None, size: int | None = None, until: int | None = None
    ) -> tuple[list[Entry], int]:
        """The same, and up to which number this is all there is. ``until``: no number beyond it."""
        end = self.head if until is None else min(until, self.head)
        entries: list[Entry] = []
        for entry, where in self.walk(since, end):
            entries.append(entry)
            size = None if size is None else size - where.length
            if len(entries) == count or (size is not None and size <= 0):
                return entries, entry.n
        return entries, max(since, end)

    def walk(self, since: int = 0, until: int | None = None) -> Iterator[tuple[Entry, Where]]:
        """The records from N + 1 up to another number, or to the end as it is now, and where they lie."""
        until = self.head if until is None else min(until, self.head)
        for segment in self.parts():
            if since < segment.last and since < until:
                for n, payload, where in segment.walk(self._file(segment.number), since):
                    if n > until:
                        return
                    yield entry_in(n, payload), where
                since = max(since, segment.last)

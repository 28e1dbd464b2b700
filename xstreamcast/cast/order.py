"""The order in which fragments are sent: document, breadth, shuffle or priority; and repeats.

The fragmenter gives a fragment when its end tag has come, children before parents. Fragments of one *level* (depth
among fragments) come in document order, so a spool per level, read once, is enough to bring them into any order:

* breadth   the levels one after the other,
* document  parents before children: take one from level 0, then as many from level 1 as it has children, and so on,
* priority  by the ``priority`` of their tags, higher first, then in document order,
* shuffle   at random: spread over buckets, each bucket shuffled in memory; too large ones are spread again.

Spools are in memory while small and on disk beyond, so memory stays flat at any size.
"""

from __future__ import annotations

import heapq
import random
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, BinaryIO, Final, Literal, cast

from xstreamcast.cast.fragmenter import Record
from xstreamcast.model.change import Change, Fill, Remove, Repeat
from xstreamcast.model.fragment import wire_tags
from xstreamcast.model.structure import Structure

Order = Literal["document", "breadth", "shuffle", "priority"]
ORDERS: Final[tuple[Order, ...]] = ("document", "breadth", "shuffle", "priority")

IN_MEMORY: Final = 1 << 18
BUCKET: Final = 8 << 20
BUCKETS: Final = 32
REPEAT_DELAY: Final = 1000

_HEADER: Final = struct.Struct("<iqqqqqi???")
_NO_TIME: Final = -(2**63) + 1


class Spool:
    """Records written one after the other, then read in the same order."""

    def __init__(self) -> None:
        self.file: IO[bytes] = cast(IO[bytes], tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115
        self.size = 0
        self.count = 0

    def add(self, record: Record) -> None:
        time = _NO_TIME if record.valid_time is None else record.valid_time
        timed = record.valid_time is not None
        self.file.write(
            _HEADER.pack(
                record.level, record.region, record.tsid, time, record.length, record.children,
                record.version, record.ends, record.again, timed,
            )
        )  # fmt: skip
        if isinstance(record.content, bytes):
            self.file.write(record.content)
        else:
            with record.content as content:
                shutil.copyfileobj(content, self.file)
        self.size += _HEADER.size + record.length
        self.count += 1

    def __iter__(self) -> Iterator[Record]:
        self.file.seek(0)
        while True:
            header = self.file.read(_HEADER.size)
            if not header:
                break
            level, region, tsid, time, length, children, version, ends, again, timed = _HEADER.unpack(header)
            content: bytes | IO[bytes]
            if length <= IN_MEMORY:
                content = self.file.read(length)
            else:
                content = tempfile.TemporaryFile()  # noqa: SIM115 - handed on with the record
                _copy(self.file, content, length)
                content.seek(0)
            at = time if timed else None
            yield Record(level, region, tsid, at, content, length, children, ends, again, version)
        self.file.close()


def _copy(source: IO[bytes], target: IO[bytes], length: int) -> None:
    while length:
        piece = source.read(min(length, IN_MEMORY))
        target.write(piece)
        length -= len(piece)


def in_order(
    records: Iterable[Record], order: Order, structure: Structure, rng: random.Random
) -> Iterator[Record]:
    """The records of a document in the order asked for."""
    if order == "shuffle":
        return _shuffled(records, rng)
    levels: list[Spool] = []
    for record in records:
        while len(levels) <= record.level:
            levels.append(Spool())
        levels[record.level].add(record)
    if order == "breadth":
        return (record for level in levels for record in level)
    preorder = _preorder(levels)
    return preorder if order == "document" else _by_priority(preorder, structure)


def _preorder(levels: list[Spool]) -> Iterator[Record]:
    readers = [iter(level) for level in levels]
    due = [1] if readers else []  # at every level: how many records of the open parent are still to come
    while due:
        if not due[-1]:
            due.pop()
            continue
        due[-1] -= 1
        record = next(readers[len(due) - 1])
        yield record
        due.append(record.children)


def _by_priority(records: Iterable[Record], structure: Structure) -> Iterator[Record]:
    spools: dict[int, Spool] = {}
    for record in records:
        spools.setdefault(structure.tag(record.tsid).priority, Spool()).add(record)
    for priority in sorted(spools, reverse=True):
        yield from spools[priority]


def _shuffled(records: Iterable[Record], rng: random.Random) -> Iterator[Record]:
    buckets = [Spool() for _ in range(BUCKETS)]
    for record in records:
        buckets[rng.randrange(BUCKETS)].add(record)
    for bucket in buckets:
        if bucket.size > BUCKET and bucket.count > 1:
            yield from _shuffled(bucket, rng)
        else:
            inside = list(bucket)
            rng.shuffle(inside)
            yield from inside


def with_repeats(records: Iterable[Record], probability: float, rng: random.Random) -> Iterator[Record]:
    """Every fragment once more with a probability, some way further down the stream."""
    waiting: list[tuple[int, int, Record]] = []
    for count, record in enumerate(records, 1):
        if rng.random() < probability:
            if not isinstance(record.content, bytes):
                with record.content as content:
                    record.content = content.read()
            again = Record(
                record.level, record.region, record.tsid, record.valid_time, record.content, record.length,
                ends=record.ends, again=True, version=record.version,
            )  # fmt: skip
            heapq.heappush(waiting, (count + rng.randrange(REPEAT_DELAY), count, again))
        yield record
        while waiting and waiting[0][0] <= count:
            yield heapq.heappop(waiting)[2]
    while waiting:
        yield heapq.heappop(waiting)[2]


def write_record(record: Record, out: BinaryIO, prefix: str = "stream") -> None:
    """One record in its wire form, in pieces if it is large."""
    change: Change
    if record.ends:
        change = Remove(region=record.region, tsid=record.tsid, valid_time=record.valid_time)
    else:
        kind = Repeat if record.again else Fill
        change = kind(
            region=record.region, tsid=record.tsid, valid_time=record.valid_time, version=record.version or None,
            content=b"",
        )  # fmt: skip
    opening, closing = wire_tags(change, prefix=prefix)
    if isinstance(record.content, bytes):
        out.write(opening + record.content + closing + b"\n")
    else:
        out.write(opening)
        with record.content as content:
            shutil.copyfileobj(content, out)
        out.write(closing + b"\n")

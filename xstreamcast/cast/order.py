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
import io
import random
import shutil
import struct
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import IO, BinaryIO, Final, Literal, cast

from xstreamcast.model.structure import Structure
from xstreamcast.model.time import Instant, format_instant

Order = Literal["document", "breadth", "shuffle", "priority"]
ORDERS: Final[tuple[Order, ...]] = ("document", "breadth", "shuffle", "priority")

IN_MEMORY: Final = 1 << 18
BUCKET: Final = 8 << 20
BUCKETS: Final = 32
REPEAT_DELAY: Final = 1000
_READY: Final = 1000

HEADER: Final = struct.Struct("<iqqqqqi???")
"""Of a record in a spool: level, region, tsid, time, length, children, version, ends, again, timed."""
_NO_TIME: Final = -(2**63) + 1


@dataclass(slots=True)
class Record:
    """One fragment on its way out: a filler, or (``ends``) the end of a temporal element's life.

    ``children`` counts the records of the fragments cut out of it; ``level`` is its depth among fragments.
    """

    level: int
    region: int
    tsid: int
    valid_time: Instant | None
    content: bytes | IO[bytes]
    length: int
    children: int = 0
    ends: bool = False
    again: bool = False
    version: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """Records side by side as a spool has them: of one level, or (level -1) of any."""

    level: int
    count: int
    data: bytes


def unpacked(block: Block) -> Iterator[Record]:
    """The records of a block."""
    return _unpacked(io.BytesIO(block.data))


class Spool:
    """Records written one after the other, then read in the same order."""

    def __init__(self) -> None:
        self.file: IO[bytes] = cast(IO[bytes], tempfile.SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115 - kept
        self.size = 0
        self.count = 0

    def add(self, record: Record) -> None:
        time = _NO_TIME if record.valid_time is None else record.valid_time
        timed = record.valid_time is not None
        self.file.write(
            HEADER.pack(
                record.level, record.region, record.tsid, time, record.length, record.children,
                record.version, record.ends, record.again, timed,
            )
        )  # fmt: skip
        if isinstance(record.content, bytes):
            self.file.write(record.content)
        else:
            with record.content as content:
                shutil.copyfileobj(content, self.file)
        self.size += HEADER.size + record.length
        self.count += 1

    def extend(self, block: Block) -> None:
        """Add the records of a block."""
        self.file.write(block.data)
        self.size += len(block.data)
        self.count += block.count

    def __iter__(self) -> Iterator[Record]:
        self.file.seek(0)
        return _unpacked(self.file)


def _unpacked(file: IO[bytes]) -> Iterator[Record]:
    """The records of a file, read in blocks."""
    unpack, size = HEADER.unpack_from, HEADER.size
    data, at = file.read(IN_MEMORY), 0
    while at < len(data):
        if len(data) - at < size:
            data, at = data[at:] + file.read(max(IN_MEMORY, size)), 0
        level, region, tsid, time, length, children, version, ends, again, timed = unpack(data, at)
        at += size
        content: bytes | IO[bytes]
        if length <= len(data) - at:
            content = data[at : at + length]
            at += length
        elif length <= IN_MEMORY:
            data, at = data[at:] + file.read(IN_MEMORY), length
            content = data[:length]
        else:
            content = tempfile.TemporaryFile()  # noqa: SIM115 - handed on with the record
            content.write(data[at:])
            _copy(file, content, length - (len(data) - at))
            content.seek(0)
            data, at = b"", 0
        if at == len(data):
            data, at = file.read(IN_MEMORY), 0
        yield Record(level, region, tsid, time if timed else None, content, length, children, ends, again, version)
    file.close()


def _copy(source: IO[bytes], target: IO[bytes], length: int) -> None:
    while length:
        piece = source.read(min(length, IN_MEMORY))
        target.write(piece)
        length -= len(piece)


def in_order(
    records: Iterable[Block | Record], order: Order, structure: Structure, rng: random.Random
) -> Iterator[Record]:
    """The records of a document in the order asked for. Blocks are of one level each, except for a shuffle."""
    if order == "shuffle":
        singly = (unpacked(item) if isinstance(item, Block) else (item,) for item in records)
        return _shuffled(chain.from_iterable(singly), rng)
    levels: list[Spool] = []
    for record in records:
        while len(levels) <= record.level:
            levels.append(Spool())
        if isinstance(record, Block):
            levels[record.level].extend(record)
        else:
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


def write_records(records: Iterable[Record], out: BinaryIO, prefix: str = "stream") -> int:
    """Records in their wire form (``wire.fragment.wire_tags``); how many there were."""
    names = [f"{prefix}:{name}".encode() for name in ("filler", "repeat", "remove")]
    ready: list[bytes] = []
    size = count = 0
    for record in records:
        count += 1
        tail = f' version="{record.version}"'.encode() if record.version else b""
        if record.valid_time is not None:
            tail += f' validTime="{format_instant(record.valid_time)}"'.encode()
        name = names[record.again]
        if record.ends:
            ready.append(b'<%b id="%d" tsid="%d"%b/>\n' % (names[2], record.region, record.tsid, tail))
        elif isinstance(record.content, bytes):
            made = b'<%b id="%d" tsid="%d"%b>%b</%b>\n' % (name, record.region, record.tsid, tail, record.content, name)
            ready.append(made)
            size += len(made)
        else:  # a large one, in pieces
            ready.append(b'<%b id="%d" tsid="%d"%b>' % (name, record.region, record.tsid, tail))
            out.write(b"".join(ready))
            with record.content as content:
                shutil.copyfileobj(content, out)
            ready, size = [b"</%b>\n" % name], 0
        if size > IN_MEMORY or len(ready) > _READY:
            out.write(b"".join(ready))
            ready, size = [], 0
    out.write(b"".join(ready))
    return count

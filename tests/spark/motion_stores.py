"""A state store in memory, and streams as batches of rows: what the stateful operator sees, without Spark."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.association_buckets import Combined, bucket_job, gathered, gathering_job, route
from xstreamcast.spark.motion.association_spread import Spread
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.state_log import row_of
from xstreamcast.wire.fragment import read_stream


def advance(job: Job, store: Any, rows: list[Row]) -> Iterator[Row]:
    """One micro-batch of one key, given as rows."""
    return state.advance(job, store, Brought.of(rows))


class MemoryStore:
    """The state of one key, in dictionaries."""

    def __init__(self) -> None:
        self.saved: tuple[int, bytes] | None = None
        self.log: dict[int, bytes] = {}
        self.base: dict[int, bytes] = {}

    def copy(self) -> MemoryStore:
        made = MemoryStore()
        made.saved, made.log, made.base = self.saved, dict(self.log), dict(self.base)
        return made

    def head(self) -> tuple[int, bytes] | None:
        return self.saved

    def put_head(self, format: int, head: bytes) -> None:
        self.saved = format, head

    def delta(self, version: int) -> bytes:
        return self.log[version]

    def put_delta(self, version: int, blob: bytes) -> None:
        self.log[version] = blob

    def drop_delta(self, version: int) -> None:
        del self.log[version]

    def part(self, number: int) -> bytes:
        return self.base[number]

    def put_part(self, number: int, blob: bytes) -> None:
        self.base[number] = blob

    def drop_part(self, number: int) -> None:
        del self.base[number]


def rows_of(stream: str, name: str = "s") -> list[Row]:
    """A stream as rows, numbered."""
    rows: list[Row] = []
    seq = 0
    for arrival in read_stream(io.BytesIO(stream.encode())):
        item = arrival.item
        if isinstance(item, Change):
            seq += 1
            rows.append({**row_of(item, name), "seq": seq})
        elif isinstance(item, Structure):
            content: Any = write_structure(item).encode()
            empty = dict.fromkeys(rows[0] if rows else row_of_nothing())
            rows.append({**empty, "stream": name, "seq": seq, "change": "structure", "doc": "", "content": content})
    return rows


def row_of_nothing() -> Row:
    from xstreamcast.model.change import ROW

    return dict.fromkeys(ROW)


def batches(rows: list[Row], size: int) -> list[list[Row]]:
    """Rows in micro-batches of a size."""
    return [rows[at : at + size] for at in range(0, len(rows), size)]


class InBuckets:
    """Routing, the buckets' engines and combining or gathering, one after the other, with the state that each keeps."""

    def __init__(self, spread: Spread, job: Job) -> None:
        self.spread, self.job = spread, job
        self.routing, self.combined, self.gathering = MemoryStore(), Combined(job.names[0]), MemoryStore()
        self.stores: dict[int, MemoryStore] = {}

    def saved(self) -> tuple[Any, ...]:
        """All that is kept, to go on from."""
        return self.routing, self.combined, self.gathering, self.stores

    def go_on_from(self, saved: tuple[Any, ...]) -> None:
        self.routing, self.combined, self.gathering, self.stores = saved

    def take(self, batch: list[Row]) -> list[Row]:
        """What a micro-batch tells."""
        brought = {}
        for bucket, mine in route(self.spread, self.routing, Brought.of(batch)):
            store = self.stores.setdefault(bucket, MemoryStore())
            brought[bucket] = list(advance(bucket_job(self.spread, self.job, bucket), store, mine))
        if not brought:
            return []
        if self.spread.last == "combine":
            return list(self.combined.take(brought))
        return list(gathered(self.spread, gathering_job(self.job), self.gathering, brought))


def in_buckets(parts: list[list[Row]], spread: Spread, job: Job) -> Iterator[list[Row]]:
    """What each micro-batch tells."""
    buckets = InBuckets(spread, job)
    for batch in parts:
        yield buckets.take(batch)

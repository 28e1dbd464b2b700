"""Streams in many buckets, on Spark: routing, the buckets' engines, and what they tell put together.

    route → (bucket) → associate → combine          their items, one bucket after the other
                                 → gather           the answer made of their rows (``gathering.py``)

Three stateful operators, one after the other. Routing and combining have one key each and little to do; a bucket is a
document of its own for the engine (:mod:`~xstreamcast.spark.motion.state`).
"""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from xstreamcast.errors import error
from xstreamcast.model.change import ANSWER, ERROR, ROOT, ROW, After, Change, Fill, Hide, Remove, Replace, Show, to_row
from xstreamcast.spark.motion.association_spread import HOLE, Routes, Routing, Spread
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.job import COMPACT_BLOBS, COMPACT_BYTES, GATHERING, ROWS
from xstreamcast.spark.motion.keeper import Keeper, SparkStore, packed_rows, read_all
from xstreamcast.spark.motion.replica import PROGRESS, progress_row
from xstreamcast.spark.motion.rows import STRUCTURE
from xstreamcast.spark.motion.state import advance
from xstreamcast.spark.motion.state_log import Head, Store, read_head, structure_row, write_head

if TYPE_CHECKING:
    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.replica import Replica

FORMAT: Final = 2
ANCHOR: Final = 3
"""The region beside which the buckets' answers stand, in order."""
_SHIFT: Final = 40
"""The region r of the answer of bucket b is (b + 1) · 2⁴⁰ + r in the answer of all."""


# ----------------------------------------------------------------------------------------------------------- combining


@dataclass(slots=True)
class Combined:
    """What has been told of the answers of all buckets. Plain data.

    ``anchors``: the buckets that have told anything, in order; ``failing``: the errors of those whose answer is one;
    ``sizes``: regions and bytes that each keeps.
    """

    name: str
    seq: int = 0
    version: int = 0
    n: int = 0
    ended: bool = False
    recomputed: list[str] = field(default_factory=lambda: [""])
    anchors: list[int] = field(default_factory=list)
    failing: dict[int, str] = field(default_factory=dict)
    error: str | None = None
    structure: bytes | None = None
    sizes: dict[int, list[int]] = field(default_factory=dict)

    def take(self, brought: dict[int, list[Row]]) -> Iterator[Row]:
        """What the buckets have told in a micro-batch: rows of the one answer."""
        self.version += 1
        for row in [row for rows in brought.values() for row in rows if row["change"] == STRUCTURE]:
            if row["content"] != self.structure:  # each bucket tells it
                self.structure = row["content"]
                yield structure_row(self.name, self.seq, row["content"].decode())
        if not self.seq:
            yield self._row(Fill(region=ROOT, content=f"{_hole(ANSWER)}{_hole(ERROR)}".encode()))
            yield self._row(Fill(region=ANSWER, content=_hole(ANCHOR).encode()))
            yield self._row(Fill(region=ANCHOR, content=b""))
        for bucket, rows in sorted(brought.items()):
            for row in rows:
                if row["change"] == PROGRESS:
                    self._progress(bucket, json.loads(row["content"]))
                elif row["change"] == "quarantine":
                    yield row
                elif row["change"] == STRUCTURE:
                    continue
                elif row["region"] == ERROR:
                    if row["change"] == "remove":
                        self.failing.pop(bucket, None)
                    else:
                        self.failing[bucket] = row["content"].decode()
                else:
                    yield from self._item(bucket, row)
        yield from self._errors()
        yield self._told()

    def _item(self, bucket: int, row: Row) -> Iterator[Row]:
        region = row["region"]
        if region == ROOT or (region == ANSWER and row["change"] in ("hide", "show")):
            return
        if region == ANSWER:  # what holds the items of the bucket; it stands beside that of the bucket before
            before = max([one for one in self.anchors if one < bucket], default=None)
            target = ANCHOR if before is None else _region(before, ANSWER)
            content = HOLE.sub(lambda hole: _hole(_region(bucket, int(hole[1]))).encode(), row["content"])
            self.anchors.append(bucket)
            yield self._row(After(region=_region(bucket, ANSWER), target=target, content=content))
            return
        self.seq += 1
        yield {
            **row,
            "stream": self.name,
            "seq": self.seq,
            "region": _region(bucket, region),
            "target": None if row["target"] is None else _region(bucket, row["target"]),
            "order": None if row["order"] is None else f"{bucket:08}.{row['order']}",
        }

    def _errors(self) -> Iterator[Row]:
        """The answer of all is an error while that of a bucket is one: that of the first."""
        found = self.failing[min(self.failing)] if self.failing else None
        if found == self.error:
            return
        if found is None:
            yield self._row(Remove(region=ERROR, version=self.version))
            yield self._row(Show(region=ANSWER, version=self.version))
        else:
            if self.error is None:
                yield self._row(Hide(region=ANSWER, version=self.version))
            yield self._row(Replace(region=ERROR, version=self.version, content=found.encode()))
        self.error = found

    def _progress(self, bucket: int, report: dict[str, Any]) -> None:
        self.n = max(self.n, report["n"])
        self.ended |= report["ended"]
        self.sizes[bucket] = [report["regions"], report["bytes"]]
        if any(report["recomputed"]):
            self.recomputed = report["recomputed"]

    def _told(self) -> Row:
        report = {
            "n": self.n,
            "version": self.version,
            "regions": sum(regions for regions, _ in self.sizes.values()),
            "bytes": sum(size for _, size in self.sizes.values()),
            "ended": self.ended,
            "recomputed": self.recomputed,
            "waiting": [0],  # emission is eager
            "buckets": len(self.sizes),
        }
        return progress_row(report)

    def _row(self, change: Change, order: str | None = None) -> Row:
        self.seq += 1
        return dict(zip(ROW, to_row(change, self.name, self.seq, order), strict=True))


def _region(bucket: int, region: int) -> int:
    return ((bucket + 1) << _SHIFT) | region


def _hole(region: int) -> str:
    return f'<stream:hole id="{region}"/>'


# ------------------------------------------------------------------------------------------------------------- routing

_LIVE: dict[str, tuple[Head, Routing]] = {}
"""The routes that live in this worker, by the birth of their state, and the head they have come to."""


def route(spread: Spread, store: Store, brought: Brought) -> list[tuple[int, list[Row]]]:
    """Route a micro-batch; the state is a log, as that of the engine: of the rows without what is not needed again."""
    saved = read_head(store)
    head, routes = _routes(spread, store, saved) if saved is not None else (Head(uuid.uuid4().hex), Routing.of(spread))
    rows = brought.in_order().rows
    _LIVE.pop(head.birth, None)  # while it goes on it is nobody's: what fails in the middle is not used again
    out = sorted(routes.take(rows, spread.timely).items())
    blob = Brought.of([_skeleton(row, routes) for row in rows]).blob()
    head = head.after(blob, 0)
    store.put_delta(head.version, blob)
    if head.log_bytes > max(COMPACT_BYTES, head.base_bytes) or head.version - head.first >= COMPACT_BLOBS:
        streams = {name: asdict(one) for name, one in routes.streams.items()}
        known = {"chain": head.chain, "streams": streams, "n": routes.n, "now": routes.now}
        base = pickle.dumps(known, protocol=4)
        for version in range(head.first, head.version + 1):
            store.drop_delta(version)
        store.put_part(0, base)
        head = Head(head.birth, head.version, head.chain, 0, head.version + 1, 1, base_bytes=len(base))
    write_head(store, head)
    _LIVE[head.birth] = head, routes
    return out


def _routes(spread: Spread, store: Store, saved: Head) -> tuple[Head, Routing]:
    """The routes as the state has them: those that live here, brought up to it, or made anew."""
    known = _LIVE.pop(saved.birth, None)
    if known is not None and saved.first - 1 <= known[0].version <= saved.version:
        head, routes = known
    elif saved.parts:
        base = pickle.loads(store.part(0))
        head, routes = Head(saved.birth, saved.first - 1, base["chain"]), _read_routing(spread, base)
    else:
        head, routes = Head(saved.birth), Routing.of(spread)
    while head.version < saved.version:
        blob = store.delta(head.version + 1)
        head = head.after(blob, 0)
        routes.take(Brought.read(blob).rows, spread.timely)
    if head.chain != saved.chain:  # it had seen a batch that was never committed
        if known is None:
            raise error(
                "XSC0062", "the saved log is not the one that its head speaks of", hint="is the checkpoint whole?"
            )
        return _routes(spread, store, saved)
    return saved, routes


def _read_routing(spread: Spread, saved: Mapping[str, Any]) -> Routing:
    streams = {stream: Routes(**routes) for stream, routes in saved["streams"].items()}
    return Routing.read(spread, streams, saved["n"], saved["now"])


def _skeleton(row: Row, routes: Routing) -> Row:
    """What routing must know of a row again: its holes; and all of a root, and of what waits for its place."""
    known = routes.streams.get(row["stream"])
    if row["content"] is None or row["change"] == "structure" or row["region"] in (None, ROOT):
        return row
    if known is None or row["region"] in known.pending:
        return row
    return {**row, "content": b"".join([hole[0] for hole in HOLE.finditer(row["content"])])}


# -------------------------------------------------------------------------------------------------------------- Spark


def _read(state: Any, kind: str) -> dict[str, Any] | None:
    """Plain data that was saved as one value."""
    found = state.get()
    if found is None:
        return None
    if found[0] != FORMAT:
        raise error("XSC0062", f"a state of {kind} of format {found[0]}", hint="start with a new checkpoint location")
    saved: dict[str, Any] = pickle.loads(bytes(found[1]))
    return saved


class Router(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """Sends each fragment to the bucket it belongs to."""

    def __init__(self, spread: Spread) -> None:
        self.spread = spread

    def init(self, handle: Any) -> None:
        self.store = SparkStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        for bucket, mine in route(self.spread, self.store, read_all(rows)):
            yield from packed_rows(bucket, mine)

    def close(self) -> None:
        """There is nothing to give back."""


class BucketKeeper(Keeper):
    """The engine of a bucket: all of the query, or the rows of the stream that the bucket is of."""

    def __init__(self, spread: Spread, job: Job) -> None:
        super().__init__(job)
        self.spread = spread

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        (bucket,) = key
        yield from packed_rows(bucket, advance(bucket_job(self.spread, self.job, bucket), self.store, read_all(rows)))


def bucket_job(spread: Spread, job: Job, bucket: int) -> Job:
    """What is done in a bucket."""
    return job if spread.last == "combine" else replace(job, part=ROWS, stream=spread.stream(bucket))


def read_each(packed: Iterable[Any]) -> dict[int, list[Row]]:
    """The rows of each bucket, in the order in which they were told."""
    found: dict[int, list[Row]] = {}
    for row in packed:
        found.setdefault(row.bucket, []).extend(Brought.read(bytes(row.changes)).rows)
    return {bucket: sorted(rows, key=lambda row: row["seq"] or 0) for bucket, rows in found.items()}


class Combiner(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """Makes one answer of those of the buckets."""

    def __init__(self, name: str) -> None:
        self.name = name

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("combined", "format int, combined binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        brought = read_each(rows)
        saved = _read(self.state, "combining")
        combined = Combined(self.name) if saved is None else Combined(**saved)
        yield from packed_rows(0, combined.take(brought))
        self.state.update((FORMAT, pickle.dumps(asdict(combined), protocol=4)))

    def close(self) -> None:
        """There is nothing to give back."""


class Gatherer(Keeper):
    """Makes the answer of the rows that the buckets tell."""

    def __init__(self, spread: Spread, job: Job) -> None:
        super().__init__(job)
        self.spread = spread

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        yield from packed_rows(0, gathered(self.spread, self.job, self.store, read_each(rows)))


def gathered(spread: Spread, job: Job, store: Store, brought: Mapping[int, list[Row]]) -> Iterator[Row]:
    """What a micro-batch tells of the answer that is made of what buckets have told."""
    from xstreamcast.spark.motion.gathering import told_by

    streams = {bucket: spread.stream(bucket) for bucket in brought}
    return advance(job, store, Brought.of(told_by(brought, streams)))


def gathering_job(job: Job) -> Job:
    """What is done with the rows of the buckets."""
    return replace(job, part=GATHERING)


def in_buckets(packed: Any, spread: Spread, job: Job) -> Any:
    """The three operators, one after the other."""
    from pyspark.sql import functions as f

    from xstreamcast.spark.motion.stream_source import PACKED

    routed = packed.groupBy("bucket").transformWithState(Router(spread), PACKED, "append", "none")
    told = routed.groupBy("bucket").transformWithState(BucketKeeper(spread, job), PACKED, "append", "none")
    last = Combiner(job.names[0]) if spread.last == "combine" else Gatherer(spread, gathering_job(job))
    return told.withColumn("answer", f.lit(0)).groupBy("answer").transformWithState(last, PACKED, "append", "none")


def told_before(replicas: Mapping[int, Replica], name: str) -> list[Row]:
    """What has been told of the answer, by a query that was stopped, from the engines of its buckets."""
    from xstreamcast.spark.motion.state_told import told_rows

    brought = {bucket: told_rows(replica.inflow.queries[0]) for bucket, replica in replicas.items()}
    return [row for row in Combined(name).take(brought) if row["change"] != PROGRESS]

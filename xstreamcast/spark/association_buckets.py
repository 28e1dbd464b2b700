"""One stream in many buckets, on Spark: routing, the buckets' engines, and their answers put together.

    route → (bucket) → evaluate → combine

Three stateful operators, one after the other. Routing and combining have one key each and little to do; a bucket is a
document of its own for the engine (:mod:`~xstreamcast.spark.state`).
"""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.total import Total
from xstreamcast.model.change import ROOT, ROW, After, Change, Fill, Hide, Remove, Replace, Show, to_row
from xstreamcast.model.serialise import serialise
from xstreamcast.run.continuous.emit import ANSWER, ERROR, error_text
from xstreamcast.spark.association_spread import COUNTS, HOLE, PARTIALS, TOTALS, Routes, Spread
from xstreamcast.spark.state import COMPACT_BLOBS, COMPACT_BYTES, PARTIAL, PROGRESS, Keeper, SparkStore, advance
from xstreamcast.spark.state_log import Head, Row, Store, in_order, pack, read_head, unpack, write_head

if TYPE_CHECKING:
    from xstreamcast.run.query import Query
    from xstreamcast.spark.state import Job, Replica

FORMAT: Final = 1
ANCHOR: Final = 3
"""The region beside which the buckets' answers stand, in order, or that of the one number."""
ALL: Final = -1
"""Where an error stands that is of no bucket: of what they are together."""
_SHIFT: Final = 40
"""The region r of the answer of bucket b is (b + 1) · 2⁴⁰ + r in the answer of all."""
_ROUTED: Final = SparkRow("bucket", "changes")


# ----------------------------------------------------------------------------------------------------------- combining


@dataclass(slots=True)
class Combined:
    """What has been told of the answers of all buckets. Plain data.

    ``anchors``: the buckets that have told anything, in order; ``failing``: the errors of those whose answer is one;
    ``counts``, ``totals``: their numbers, where the answer is one number, and accumulators or values; ``sizes``:
    regions and bytes that each keeps.
    """

    reduction: str
    name: str
    seq: int = 0
    version: int = 0
    n: int = 0
    ended: bool = False
    recomputed: list[str] = field(default_factory=lambda: [""])
    anchors: list[int] = field(default_factory=list)
    failing: dict[int, str] = field(default_factory=dict)
    error: str | None = None
    counts: dict[int, str] = field(default_factory=dict)
    totals: dict[int, bytes] = field(default_factory=dict)
    number: str | None = None
    region: int = ANCHOR
    sizes: dict[int, list[int]] = field(default_factory=dict)

    def take(self, brought: dict[int, list[Row]]) -> Iterator[Row]:
        """What the buckets have told in a micro-batch: rows of the one answer."""
        self.version += 1
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
                elif row["change"] == PARTIAL:
                    self.totals[bucket] = row["content"]
                elif row["region"] == ERROR:
                    if row["change"] == "remove":
                        self.failing.pop(bucket, None)
                    else:
                        self.failing[bucket] = row["content"].decode()
                elif self.reduction == "concat":
                    yield from self._item(bucket, row)
                elif row["order"] is not None and self.reduction in COUNTS:
                    self.counts[bucket] = (row["content"] or b"").decode()
        if self.counts or self.totals:
            yield from self._number()
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

    def _number(self) -> Iterator[Row]:
        try:
            number = self._count() if self.reduction in COUNTS else self._value()
            self.failing.pop(ALL, None)
        except XStreamError as failure:
            self.failing[ALL] = error_text(failure)
            return
        if number == self.number:
            return
        order = "0000.1"
        if number is None:
            yield self._row(Remove(region=self.region, version=self.version), order)
        elif self.number is None:
            self.region += 1
            yield self._row(After(region=self.region, target=ANCHOR, content=number.encode()), order)
        else:
            yield self._row(Replace(region=self.region, version=self.version, content=number.encode()), order)
        self.number = number

    def _count(self) -> str:
        match self.reduction:
            case "count":
                return str(sum(map(int, self.counts.values())))
            case "exists":
                return "true" if "true" in self.counts.values() else "false"
            case _:
                return "false" if "false" in self.counts.values() else "true"

    def _value(self) -> str | None:
        """The value of all; None: it is the empty sequence.

        Accumulators are exact: what they come to together is rounded once, however they were parted. Of values the
        function itself says what they come to, in the order of the buckets, with its types and errors.
        """
        if self.reduction not in TOTALS:
            parts = [pickle.loads(self.totals[bucket]) for bucket in sorted(self.totals)]
            values = [value for part in parts if part is not None for value in part]
            found = _function(self.reduction)(variables={"values": values}).items()
            return serialise(found) if found else None
        total = Total(f"fn:{self.reduction}")
        for saved in self.totals.values():
            part = pickle.loads(saved)
            if part is not None:
                total.merge(part)
        if not total.count:
            return "0" if self.reduction == "sum" else None
        return serialise([total.sum() if self.reduction == "sum" else total.average()])

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
        content = json.dumps(report).encode()
        return {**dict.fromkeys(ROW), "stream": "", "seq": self.n, "change": PROGRESS, "doc": "", "content": content}

    def _row(self, change: Change, order: str | None = None) -> Row:
        self.seq += 1
        return dict(zip(ROW, to_row(change, self.name, self.seq, order), strict=True))


@cache
def _function(name: str) -> Query:
    from xstreamcast.run.query import compile

    return compile(f"declare variable $values external; {name}($values)")


def _region(bucket: int, region: int) -> int:
    return ((bucket + 1) << _SHIFT) | region


def _hole(region: int) -> str:
    return f'<stream:hole id="{region}"/>'


# ------------------------------------------------------------------------------------------------------------- routing

_LIVE: dict[str, tuple[Head, Routes]] = {}
"""The routes that live in this worker, by the birth of their state, and the head they have come to."""


def route(spread: Spread, store: Store, rows: list[Row]) -> list[tuple[int, list[Row]]]:
    """Route a micro-batch; the state is a log, as that of the engine: of the rows without what is not needed again."""
    saved = read_head(store)
    head, routes = _routes(spread, store, saved) if saved is not None else (Head(uuid.uuid4().hex), Routes(spread.size))
    rows = in_order(rows)
    _LIVE.pop(head.birth, None)  # while it goes on it is nobody's: what fails in the middle is not used again
    out = sorted(routes.take(rows, spread.timely).items())
    blob = pack(_skeleton(row, routes) for row in rows)
    head = head.after(blob, 0)
    store.put_delta(head.version, blob)
    if head.log_bytes > max(COMPACT_BYTES, head.base_bytes) or head.version - head.first >= COMPACT_BLOBS:
        base = pickle.dumps({"chain": head.chain, "routes": asdict(routes)}, protocol=4)
        for version in range(head.first, head.version + 1):
            store.drop_delta(version)
        store.put_part(0, base)
        head = Head(head.birth, head.version, head.chain, 0, head.version + 1, 1, base_bytes=len(base))
    write_head(store, head)
    _LIVE[head.birth] = head, routes
    return out


def _routes(spread: Spread, store: Store, saved: Head) -> tuple[Head, Routes]:
    """The routes as the state has them: those that live here, brought up to it, or made anew."""
    known = _LIVE.pop(saved.birth, None)
    if known is not None and saved.first - 1 <= known[0].version <= saved.version:
        head, routes = known
    elif saved.parts:
        base = pickle.loads(store.part(0))
        head, routes = Head(saved.birth, saved.first - 1, base["chain"]), Routes(**base["routes"])
    else:
        head, routes = Head(saved.birth), Routes(spread.size)
    while head.version < saved.version:
        blob = store.delta(head.version + 1)
        head = head.after(blob, 0)
        routes.take(unpack(blob), spread.timely)
    if head.chain != saved.chain:  # it had seen a batch that was never committed
        if known is None:
            raise error(
                "XSC0062", "the saved log is not the one that its head speaks of", hint="is the checkpoint whole?"
            )
        return _routes(spread, store, saved)
    return saved, routes


def _skeleton(row: Row, routes: Routes) -> Row:
    """What routing must know of a row again: its holes; and all of it while it waits for its place."""
    if row["content"] is None or row["change"] == "structure" or row["region"] in routes.pending:
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
        brought = [row for packed in rows for row in unpack(packed.changes)]
        for bucket, mine in route(self.spread, self.store, brought):
            yield _ROUTED(bucket, pack(mine))

    def close(self) -> None:
        """There is nothing to give back."""


class BucketKeeper(Keeper):
    """The engine of a bucket."""

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        brought = [row for packed in rows for row in unpack(packed.changes)]
        (bucket,) = key
        yield _ROUTED(bucket, pack(advance(self.job, self.store, brought)))


class Combiner(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """Makes one answer of those of the buckets."""

    def __init__(self, spread: Spread, name: str) -> None:
        self.spread = spread
        self.name = name

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("combined", "format int, combined binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        from xstreamcast.spark.association import output_row

        brought = {row.bucket: unpack(row.changes) for row in rows}
        saved = _read(self.state, "combining")
        combined = Combined(self.spread.reduction, self.name) if saved is None else Combined(**saved)
        for row in combined.take(brought):
            yield output_row(row)
        self.state.update((FORMAT, pickle.dumps(asdict(combined), protocol=4)))

    def close(self) -> None:
        """There is nothing to give back."""


def in_buckets(packed: Any, spread: Spread, job: Job, schema: str) -> Any:
    """The three operators, one after the other."""
    from pyspark.sql import functions as f

    from xstreamcast.spark.association import PACKED

    routed = packed.groupBy("bucket").transformWithState(Router(spread), PACKED, "append", "none")
    told = routed.groupBy("bucket").transformWithState(BucketKeeper(job), PACKED, "append", "none")
    one = told.withColumn("answer", f.lit(0))
    return one.groupBy("answer").transformWithState(Combiner(spread, job.names[0]), schema, "append", "none")


def told_before(replicas: Mapping[int, Replica], spread: Spread, name: str) -> list[Row]:
    """What has been told of the answer, by a query that was stopped, from the engines of its buckets."""
    from xstreamcast.spark.state_told import told_rows

    brought = {}
    for bucket, replica in replicas.items():
        (query,) = replica.inflow.queries
        brought[bucket] = [*told_rows(query), *(replica.partial() if spread.reduction in PARTIALS else ())]
    return [row for row in Combined(spread.reduction, name).take(brought) if row["change"] != PROGRESS]

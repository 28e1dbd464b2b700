"""Continuous queries on Spark, in `local[2]`: the first answer, small updates, fragments a second, a million regions.

The query sums up the charges of each credit card account. Each table is a part that also runs by itself, as
``python -m bench.spark_motion PART [--quick]``.

*start*: from `start()`, and from `continuous()`, to the first answer, in a session that is there; a process for each
run. *updates*: from the rename with which a file of ten changes appears to the answer that has them, beside one stage
`transformWithState` that does nothing, in turns. *memory*: the same 500 regions replaced again and again. *rates*:
all fragments of the accounts, shuffled, in eight micro-batches; one at the beginning, which warms up, does not count.
Beside it what a Spark user writes instead (`bench/spark_by_hand.py`), in as many micro-batches of as many rows, and the
embedded engine, which takes in the same fragments in the same batches; medians of runs in turns. *Compacting*: over how
many micro-batches of updates the making of a new base is spread, how long they take, without what Spark takes, and how
many bytes of log come between two. *restart*: a million live regions; a query that goes on from its checkpoint, until
it has the next answer; and the bytes that the state store writes for a byte that comes.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from bench import documents, spark_by_hand
from bench.measure import progress, table
from bench.spark_feed import PER_BATCH, QUERY, parted, until, workers, write
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.model.structure import parse_structure
from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.job import COMPACT_BYTES, Job
from xstreamcast.spark.motion.state import advance
from xstreamcast.spark.motion.state_log import read_head, row_of

FACTOR: Final = 0.8
LOADING: Final = 8
UPDATES: Final = 300
RUNS: Final = 3
REPLACED: Final = 1500


def run(*parts: str) -> None:
    """Print the tables of some parts, or of all."""
    from bench import spark_restart, spark_start, spark_updates
    from xstreamcast.spark.session import session, shut_down

    def chosen(part: str) -> bool:
        return not parts or part in parts

    if chosen("start"):  # first: it has processes of its own
        spark_start.run()
    with_session = {"updates": spark_updates.run, "memory": _memory, "rates": _rates, "restart": spark_restart.run}
    if not any(map(chosen, with_session)):
        return
    with tempfile.TemporaryDirectory(prefix="xstreamcast-bench-") as folder:
        scratch = Path(folder, "spark")
        scratch.mkdir()
        settings: dict[str, Any] = {"spark.sql.shuffle.partitions": "2"}
        spark = session("bench", scratch=scratch, **settings)
        try:
            for part, one in with_session.items():
                if chosen(part):
                    one(spark, Path(folder))
        finally:
            shut_down(spark)


def _factors() -> tuple[float, float]:
    small = FACTOR * documents.scaled()
    return small, 10 * small


def _rates(spark: Any, folder: Path) -> None:
    rows = []
    for factor in _factors():
        assert GENERATOR.changes is not None
        changes = [change for _, change in GENERATOR.changes(factor, 1, UPDATES)][:-1]
        first, later = changes[:-UPDATES], changes[-UPDATES:]
        random.Random(1).shuffle(first)
        ours, by_rows, by_joins = list[float](), list[float](), list[float]()
        for number in range(RUNS):
            progress(f"spark_motion {factor:g}, {number + 1} of {RUNS}")
            hand = folder / f"hand-{factor:g}-{number}"
            by_rows.append(spark_by_hand.rows(spark, hand, len(first), LOADING))
            by_joins.append(spark_by_hand.joined(spark, hand, parted(first, LOADING)))
            rate, regions, kept = _loaded(spark, folder / f"credit-{factor:g}-{number}", first)
            ours.append(rate)
        embedded, single = _embedded(first, later)
        compacting, size = _compacting(first, later)
        faster = [mine / max(hands) for mine, *hands in zip(ours, by_rows, by_joins, strict=True)]
        rows.append([
            f"{regions:,}", f"{len(first):,}", f"{median(ours):,.0f}", f"{median(by_rows):,.0f}",
            f"{median(by_joins):,.0f}", f"{median(faster):.2f}", f"{embedded:,.0f}",
            f"{median(single) * 1000:,.1f}", f"{quantiles(single, n=100)[98] * 1000:,.1f}", f"{kept / 1e6:.2f}",
            f"{len(compacting):,}", f"{median(compacting) * 1000:,.0f}", f"{max(compacting) * 1000:,.0f}",
            f"{max(COMPACT_BYTES, size) / 1e6:.1f}",
        ])  # fmt: skip
    head = ["live regions", "fragments", "loaded/s, Spark", "by hand, rows with their account", "by hand, joined",
            "times the faster by hand", "loaded/s, embedded", "update p50 ms, embedded", "p99", "state MB",
            "compacting: batches", "p50 ms", "max", "every MB of log"]  # fmt: skip
    table(head, rows)
    print()


def _loaded(spark: Any, feed: Path, first: list[Change]) -> tuple[float, int, int]:
    """Fragments a second, without the first micro-batch: it warms up; live regions, and bytes of the state."""
    from xstreamcast.spark.motion.continuous_query import continuous

    feed.mkdir()
    for number, part in enumerate(parted(first, LOADING)):
        write(feed, number, part)
    motion = continuous(spark, QUERY, {"credit": str(feed)}, options={"maxFilesPerTrigger": "1"})
    marks: list[tuple[float, int]] = []
    running = motion.start(display=lambda answers: marks.append((time.perf_counter(), answers.n)))
    try:
        until(running, lambda: bool(marks) and marks[-1][1] >= len(first))
        sizes = running.answers.sizes
        return (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0]), sizes.table.stop, sizes.kept
    finally:
        running.stop()


def _embedded(first: list[Change], later: list[Change]) -> tuple[float, list[float]]:
    """Fragments a second while loading, and the seconds of each batch of updates."""
    from xstreamcast.run.continuous.query import continuous

    query = continuous(QUERY)
    query.feed(parse_structure(GENERATOR.structures["credit"]), "credit")
    began = time.perf_counter()
    for part in parted(first, LOADING):
        query.feed_many(part, "credit")
    rate = len(first) / (time.perf_counter() - began)
    times = []
    for at in range(0, len(later), PER_BATCH):
        began = time.perf_counter()
        query.feed_many(later[at : at + PER_BATCH], "credit")
        times.append(time.perf_counter() - began)
    return rate, times


def _compacting(first: list[Change], later: list[Change]) -> tuple[list[float], int]:
    """The seconds of each micro-batch of updates over which a base is made, without what Spark takes; its bytes."""
    job = Job((QUERY,), ("answer",), {"credit": GENERATOR.structures["credit"]}, compact_bytes=1 << 40)
    store = _Kept()
    rows = [{**row_of(change, "credit"), "seq": number} for number, change in enumerate([*first, *later], 1)]
    deque(advance(job, store, Brought.of(rows[: len(first)])), maxlen=0)
    gc.collect()
    gc.freeze()  # as a worker does
    times: list[float] = []
    due = replace(job, compact_bytes=0, compact_blobs=1)
    updates = rows[len(first) :]
    while (head := read_head(store)) is not None and not head.parts:
        at = PER_BATCH * len(times) % len(updates)
        began = time.perf_counter()
        deque(advance(due, store, Brought.of(updates[at : at + PER_BATCH])), maxlen=0)
        times.append(time.perf_counter() - began)
    gc.unfreeze()
    assert head is not None
    return times, head.base_bytes


class _Kept:
    """A state store in memory."""

    def __init__(self) -> None:
        self.saved: tuple[int, bytes] | None = None
        self.blobs: dict[tuple[str, int], bytes] = {}

    def head(self) -> tuple[int, bytes] | None:
        return self.saved

    def put_head(self, format: int, head: bytes) -> None:
        self.saved = format, head

    def delta(self, version: int) -> bytes:
        return self.blobs["log", version]

    def put_delta(self, version: int, blob: bytes) -> None:
        self.blobs["log", version] = blob

    def drop_delta(self, version: int) -> None:
        del self.blobs["log", version]

    def part(self, number: int) -> bytes:
        return self.blobs["base", number]

    def put_part(self, number: int, blob: bytes) -> None:
        self.blobs["base", number] = blob

    def drop_part(self, number: int) -> None:
        del self.blobs["base", number]


# ----------------------------------------------------------------------------------------------------------- memory


def _memory(spark: Any, folder: Path) -> None:
    """The same 500 regions replaced again and again: memory of the Python workers, what is live in the JVM, which is
    the executor here, what RocksDB has in memory, and the saved state. The first run warms up, and is not shown."""
    from xstreamcast.spark.motion.continuous_query import continuous

    rows = []
    for length in (500, REPLACED, 10 * REPLACED):
        progress(f"spark_motion memory {length:,}")
        feed = folder / f"replaced-{length}"
        feed.mkdir()
        for number, part in enumerate(_replacements(length)):
            write(feed, number, part, brings_structure=False)
        peak = 0
        motion = continuous(
            spark,
            'sum(stream("s")//item)',
            {"s": str(feed)},
            options={"maxFilesPerTrigger": "1"},
            compact_bytes=1 << 18,
        )

        def look(_: Any) -> None:
            nonlocal peak
            peak = max(peak, workers())

        running = motion.start(display=look, available_now=True)
        running.wait()
        running.stop()
        rows.append([
            f"{running.answers.n:,}", f"{peak / 1e6:.0f}", f"{_heap(spark) / 1e6:.0f}",
            f"{running.figures.state_memory / 1e6:.2f}", f"{running.answers.sizes.kept / 1e6:.2f}",
        ])  # fmt: skip
    head = ["changes of 500 regions", "Python worker, MB", "JVM, live MB", "RocksDB, MB", "state, MB"]
    table(head, rows[1:])
    print()


def _heap(spark: Any) -> int:
    """What is live on the heap of the JVM, after a collection."""
    runtime = spark.sparkContext._jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    found: int = runtime.totalMemory() - runtime.freeMemory()
    return found


def _replacements(length: int) -> Iterator[list[Change]]:
    holes = "".join(f'<stream:hole id="{n}"/>' for n in range(1, 501))
    yield [Fill(region=0, content=f"<list>{holes}</list>".encode())]
    for at in range(0, length, 500):
        yield [
            Replace(region=1 + n % 500, version=n, content=f"<item>{n % 97}</item>".encode())
            for n in range(at, at + 500)
        ]


if __name__ == "__main__":
    if "--quick" in sys.argv:
        documents.scale(0.1)
    from bench import spark_motion  # whose classes the workers find by their names

    spark_motion.run(*[one for one in sys.argv[1:] if one != "--quick"])

"""Continuous queries on Spark, in `local[2]`: fragments a second, the time from a fragment's appearance to its
effect on the answer, how both change with ten times the live state, and memory with a stream ten times as long.

The query sums up the charges of each credit card account. *Loading*: all fragments of the accounts, shuffled, in eight
micro-batches; one at the beginning, which warms up, does not count. *By hand*: what a Spark user writes instead
(:mod:`bench.spark_by_hand`), in as many micro-batches of as many rows, in the same run. *Updates*: 300
further purchases and statuses, 10 in each micro-batch; the time is from the rename with which a file appears to the
moment at which the sinks have the answer. The embedded engine takes in the same fragments, in the same batches, in the
same run. *Compacting*: over how many such micro-batches the making of a new base is spread, how long they take, without
what Spark takes, and how many bytes of log come between two.
"""

from __future__ import annotations

import gc
import random
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from bench import documents, spark_by_hand
from bench.measure import anonymous, progress, table
from xstreamcast.generate.credit import GENERATOR
from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.model.fragment import FragmentWriter
from xstreamcast.model.structure import parse_structure
from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.job import COMPACT_BYTES, Job
from xstreamcast.spark.motion.state import advance
from xstreamcast.spark.motion.state_log import read_head, row_of

QUERY: Final = """for $a in stream("credit")//account
return <account id="{ $a/@id }">{ sum($a/transaction[status = "charged"]/amount) }</account>"""
FACTOR: Final = 0.8
LOADING: Final = 8
UPDATES: Final = 300
PER_BATCH: Final = 10
REPLACED: Final = 1500


def run() -> None:
    """Print a table of memory by length of the stream, and one of rates and times by live state."""
    from xstreamcast.spark.session import session, shut_down

    with tempfile.TemporaryDirectory(prefix="xstreamcast-bench-") as folder:
        scratch = Path(folder, "spark")
        scratch.mkdir()
        settings: dict[str, Any] = {"spark.sql.shuffle.partitions": "2"}
        spark = session("bench", scratch=scratch, **settings)
        try:
            _memory(spark, Path(folder))  # first, so that Spark is warm when times count
            _rates(spark, Path(folder))
        finally:
            shut_down(spark)


def _factors() -> tuple[float, float]:
    small = FACTOR * documents.scaled()
    return small, 10 * small


def _rates(spark: Any, folder: Path) -> None:
    rows = []
    for factor in _factors():
        progress(f"spark_motion {factor:g}")
        assert GENERATOR.changes is not None
        changes = [change for _, change in GENERATOR.changes(factor, 1, UPDATES)][:-1]
        first, later = changes[:-UPDATES], changes[-UPDATES:]
        random.Random(1).shuffle(first)
        feed = folder / f"credit-{factor:g}"
        by_rows = spark_by_hand.rows(spark, folder / f"hand-{factor:g}", len(first), LOADING)
        by_joins = spark_by_hand.joined(spark, folder / f"hand-{factor:g}", _loading(first))
        loaded, seconds, times, figures = _on_spark(spark, feed, first, later)
        embedded, single = _embedded(first, later)
        p99 = quantiles(times, n=100)[98] if len(times) > 2 else max(times)
        single99 = quantiles(single, n=100)[98]
        compacting, size = _compacting(first, later)
        rows.append([
            f"{figures.sizes.table.stop:,}", f"{len(first):,}", f"{loaded / seconds:,.0f}", f"{by_rows:,.0f}",
            f"{by_joins:,.0f}", f"{loaded / seconds / by_rows:.2f}", f"{embedded:,.0f}",
            f"{median(times) * 1000:,.0f}", f"{p99 * 1000:,.0f}", f"{median(single) * 1000:,.1f}",
            f"{single99 * 1000:,.1f}", f"{figures.sizes.kept / 1e6:.2f}",
            f"{len(compacting):,}", f"{median(compacting) * 1000:,.0f}", f"{max(compacting) * 1000:,.0f}",
            f"{max(COMPACT_BYTES, size) / 1e6:.1f}",
        ])  # fmt: skip
    head = ["live regions", "fragments", "loaded/s, Spark", "by hand, rows with their account",
            "by hand, joined", "times the rows", "loaded/s, embedded", "update p50 ms, Spark", "p99",
            "p50 ms, embedded", "p99", "state MB", "compacting: batches", "p50 ms", "max",
            "every MB of log"]  # fmt: skip
    table(head, rows)


def _on_spark(spark: Any, feed: Path, first: list[Change], later: list[Change]) -> tuple[int, float, list[float], Any]:
    """How many were loaded in how many seconds (without the first micro-batch: it warms up), and times of updates."""
    from xstreamcast.spark.motion.continuous_query import continuous

    feed.mkdir()
    files = _loading(first)
    for number, part in enumerate(files):
        _write(feed, number, part)
    motion = continuous(spark, QUERY, {"credit": str(feed)}, options={"maxFilesPerTrigger": "1"})
    marks: list[tuple[float, int]] = []
    running = motion.start(display=lambda answers: marks.append((time.perf_counter(), answers.n)))
    try:
        _until(running, lambda: bool(marks) and marks[-1][1] >= len(first))
        loaded, seconds = marks[-1][1] - marks[0][1], marks[-1][0] - marks[0][0]
        times, count = [], len(first)
        for at in range(0, len(later), PER_BATCH):
            part = later[at : at + PER_BATCH]
            count += len(part)
            _write(feed, len(files) + at, part)
            appeared = time.perf_counter()
            _until(running, lambda count=count: marks[-1][1] >= count)
            times.append(marks[-1][0] - appeared)
        return loaded, seconds, times, running.answers
    finally:
        running.stop()


def _loading(changes: list[Change]) -> list[list[Change]]:
    """All of them, in some micro-batches of the same size."""
    return [changes[len(changes) * n // LOADING : len(changes) * (n + 1) // LOADING] for n in range(LOADING)]


def _until(running: Any, done: Any) -> None:
    while not done():
        if not running.query.isActive:
            raise SystemExit(f"the query stopped: {running.query.exception()}")
        time.sleep(0.002)


def _embedded(first: list[Change], later: list[Change]) -> tuple[float, list[float]]:
    """Fragments a second while loading, and the seconds of each batch of updates."""
    from xstreamcast.run.continuous.query import continuous

    query = continuous(QUERY)
    query.feed(parse_structure(GENERATOR.structures["credit"]), "credit")
    began = time.perf_counter()
    for part in _loading(first):
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


def _write(feed: Path, number: int, changes: list[Change], brings_structure: bool = True) -> None:
    hidden = feed / f".{number:06}.xml"
    structure = parse_structure(GENERATOR.structures["credit"]) if brings_structure and not number else None
    with hidden.open("wb") as file:
        writer = FragmentWriter(file, structure)
        for change in changes:
            writer.write(change)
        writer.close()
    hidden.rename(feed / f"{number:06}.xml")


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
            _write(feed, number, part, brings_structure=False)
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
            peak = max(peak, _workers())

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


def _workers() -> int:
    """The anonymous memory of the largest of Spark's Python workers."""
    found = 0
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"pyspark.daemon" in command:
                found = max(found, anonymous(process / "status"))
    return found

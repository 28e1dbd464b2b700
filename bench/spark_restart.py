"""A part of ``spark_motion``: a million live regions, what they take, and how long it takes to go on from them.

Accounts with transactions and statuses, shuffled, come in eight micro-batches, then small updates. The query is
stopped, and another one goes on from its checkpoint, in workers of its own: the time is from the call of ``continuous``
to the answer that has a further update. *Written*: the files that the state store has written by then, with its
snapshots, per byte of the files of the stream; and the changelogs of the updates, per byte of theirs.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from bench import documents
from bench.measure import progress, table
from bench.spark_feed import PER_BATCH, QUERY, statuses, until, workers, write_regions, write_statuses
from bench.spark_start import cpu

REGIONS: Final = 1_000_000
FILES: Final = 8
UPDATES: Final = 20


def run(spark: Any, folder: Path) -> None:
    """Print a table of one run."""
    feed, state = folder / "regions", folder / "regions-state"
    feed.mkdir()
    regions = int(REGIONS * documents.scaled())
    progress(f"spark_motion {regions:,} regions")
    count = write_regions(feed, regions, FILES)
    first, marks = _started(spark, feed, state)
    try:
        until(first, lambda: bool(marks) and marks[-1][1] >= count)
        loaded = (marks[-1][1] - marks[0][1]) / (marks[-1][0] - marks[0][0])
        came = _size(feed)
        for number in range(UPDATES):
            count += _update(feed, number, regions)
            until(first, lambda count=count: marks[-1][1] >= count)  # type: ignore[misc]  # bound at once
        updates = _size(feed) - came
        logs = sorted((state / "state").rglob("*.changelog"), key=_version)
        logged = sum(log.stat().st_size for log in logs[-UPDATES:])
        memory = workers(first.pool.number)
        table_size = first.answers.sizes
    finally:
        first.stop()
    written = _size(state / "state") / _size(feed)
    count += _update(feed, UPDATES, regions)
    java = spark.sparkContext._gateway.proc.pid
    called, before = time.perf_counter(), cpu(java)
    again, marks = _started(spark, feed, state)
    started = time.perf_counter() - called
    try:
        until(again, lambda: bool(marks) and marks[-1][1] >= count)
        seconds, after = marks[-1][0] - called, cpu(java)
        memory_again = workers(again.pool.number)
    finally:
        again.stop()
    head = ["live regions", "fragments", "loaded/s", "state MB", "worker, MB", "… after a restart",
            "restart until start(), s", "until the next answer, s", "CPU s of Python, Java",
            "written per byte, in all", "by updates of 10, without snapshots"]  # fmt: skip
    table(head, [[
        f"{table_size.table.stop:,}", f"{count:,}", f"{loaded:,.0f}", f"{table_size.kept / 1e6:.0f}",
        f"{memory / 1e6:,.0f}", f"{memory_again / 1e6:,.0f}", f"{started:.1f}", f"{seconds:.1f}",
        f"{after[1] - before[1]:.1f}, {after[0] - before[0]:.1f}", f"{written:.2f}", f"{logged / updates:.2f}",
    ]])  # fmt: skip
    print()


def _started(spark: Any, feed: Path, state: Path) -> tuple[Any, list[tuple[float, int]]]:
    from xstreamcast.spark.motion.continuous_query import continuous

    marks: list[tuple[float, int]] = []
    motion = continuous(spark, QUERY, {"credit": str(feed)}, options={"maxFilesPerTrigger": "1"})
    display = lambda answers: marks.append((time.perf_counter(), answers.n))  # noqa: E731
    return motion.start(display=display, checkpoint=str(state)), marks


def _update(feed: Path, number: int, regions: int) -> int:
    """Another status for some transactions; how many."""
    known = statuses(regions)
    some = [known[(number * PER_BATCH + k) * 7 % len(known)] for k in range(PER_BATCH)]
    write_statuses(feed, FILES + number, some, 17)
    return PER_BATCH


def _version(log: Path) -> int:
    """``7`` of ``7.changelog`` and of ``7_<id>.changelog``."""
    return int(log.stem.partition("_")[0])


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))

"""A part of ``spark_motion``: the time of a small update, beside one stage of Spark's with state that does nothing.

The stage is ``transformWithState`` in Python, with one value that is written in each micro-batch, over Spark's own
source of text: as Spark comes (*untuned*, two partitions), and with the settings of
:mod:`xstreamcast.spark.motion.micro_batch`. Each takes as many files of as many lines, in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any, Final

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bench import documents
from bench.measure import progress, table
from bench.spark_feed import PER_BATCH, QUERY, statuses, until, write_regions, write_statuses
from xstreamcast.spark.motion.micro_batch import light

ROUNDS: Final = 3
UPDATES: Final = 40
_WARM: Final = 5
"""Updates of a round that do not count."""
_REGIONS: Final = 10_000


class Nothing(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """Reads its rows and writes one value."""

    def init(self, handle: Any) -> None:
        self.state = handle.getValueState("n", "n long")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        from pyspark.sql import Row

        self.state.update((sum(1 for _ in rows),))
        yield Row("n")(1)

    def close(self) -> None:
        """There is nothing to give back."""


def run(spark: Any, folder: Path) -> None:
    """Print a table of medians."""
    feed = folder / "updated"
    feed.mkdir()
    regions = int(_REGIONS * documents.scaled())
    count = write_regions(feed, regions, 1)
    ours, plain, tuned = [], [], []
    for number in range(ROUNDS):
        progress(f"spark_motion updates {number + 1} of {ROUNDS}")
        ours += _ours(spark, feed, folder / "state", number, count, regions)
        plain += _empty(spark, folder / f"empty-{number}", nullcontext)
        tuned += _empty(spark, folder / f"tuned-{number}", lambda: light(spark, None, one_key=True))
    times = [median(one) * 1000 for one in (ours, plain, tuned)]
    head = ["live regions", "updates", "update, ms", "empty stage, tuned, ms", "times that", "empty stage, untuned, ms",
            "times that"]  # fmt: skip
    table(head, [[
        f"{count:,}", f"{len(ours):,} of {PER_BATCH}", f"{times[0]:,.0f}", f"{times[2]:,.0f}",
        f"{times[0] / times[2]:.2f}", f"{times[1]:,.0f}", f"{times[0] / times[1]:.2f}",
    ]])  # fmt: skip
    print()


def _ours(spark: Any, feed: Path, state: Path, number: int, count: int, regions: int) -> list[float]:
    from xstreamcast.spark.motion.continuous_query import continuous

    seen: list[int] = []
    motion = continuous(spark, QUERY, {"credit": str(feed)}, options={"maxFilesPerTrigger": "1"})
    running = motion.start(display=lambda answers: seen.append(answers.n), checkpoint=str(state))
    try:
        begun = count + number * UPDATES * PER_BATCH
        known = statuses(regions)
        if not number:
            until(running, lambda: bool(seen) and seen[-1] >= count)

        def update(at: int) -> Callable[[], bool]:
            some = [known[(at * PER_BATCH + k) * 7 % len(known)] for k in range(PER_BATCH)]
            write_statuses(feed, 1 + number * UPDATES + at, some, 17 + number)
            return lambda: bool(seen) and seen[-1] >= begun + (at + 1) * PER_BATCH

        return _timed(running, update)
    finally:
        running.stop()


def _empty(spark: Any, folder: Path, settings: Callable[[], AbstractContextManager[None]]) -> list[float]:
    from pyspark.sql import functions as f

    from xstreamcast.spark.motion.continuous_query import SETTINGS

    feed, seen = folder / "feed", list[int]()
    feed.mkdir(parents=True)
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    lines = spark.readStream.option("maxFilesPerTrigger", 1).text(str(feed))
    rows = lines.withColumn("bucket", f.lit(0)).groupBy("bucket")
    made = rows.transformWithState(Nothing(), "n long", "append", "none")

    def take(frame: Any, number: int) -> None:
        frame.collect()
        seen.append(number)

    with settings():
        writer = made.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "state"))
        query = writer.start()
    running = type("Running", (), {"query": query})

    def update(at: int) -> Callable[[], bool]:
        hidden = feed / f".{at:06}.txt"
        hidden.write_text("".join([f'<filler id="{n}"><status>charged</status></filler>\n' for n in range(PER_BATCH)]))
        hidden.rename(feed / f"{at:06}.txt")
        return lambda: len(seen) > at

    try:
        return _timed(running, update)
    finally:
        query.stop()


def _timed(running: Any, update: Callable[[int], Callable[[], bool]]) -> list[float]:
    """The seconds of each update: from the rename with which a file appears to when the answer is there."""
    times = []
    for at in range(UPDATES):
        done = update(at)
        appeared = time.perf_counter()
        until(running, done)
        times.append(time.perf_counter() - appeared)
        time.sleep(0.05)  # the batch is committed behind its answer
    return times[_WARM:]

"""Random cases of the law on Spark: each is a key of one stateful operator, with a query and a job of its own.

The micro-batches of all cases come together: the n-th file of the feed holds the n-th micro-batch of each.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from law_case import Case, Step
from law_draw import draw_case
from law_oracle import Scratch, begun_now
from motion_streams import spoken

from xstreamcast.model.change import ROW
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.model.time import parse_instant
from xstreamcast.run.continuous.query import EMISSIONS, continuous_many
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.keeper import Keeper
from xstreamcast.spark.motion.sink_answers import Answers, Batch
from xstreamcast.spark.motion.state_log import row_of, tick_row

Said = tuple[str, int]
"""After a micro-batch: the answer, or the code of the error that it is; and how many fragments were put aside."""

BATCHES = 5


@dataclass(frozen=True, slots=True)
class Played:
    """A case, and its micro-batches, as steps and as the rows that Spark is brought."""

    seed: int
    case: Case
    job: Job
    steps: tuple[tuple[Step, ...], ...]
    batches: tuple[list[Row], ...]

    @property
    def name(self) -> str:
        return self.job.names[0]


@cache
def play(seed: int) -> Played:
    """The case of a seed, in micro-batches; a third of the cases for each emission, some with lateness."""
    drawn, r = draw_case(seed), Random(seed)
    streams = dict.fromkeys(re.findall(r'stream\("(\w+)"\)', drawn.query))
    case = replace(drawn, steps=(*drawn.steps, *[Step(name, "<stream:eos/>") for name in streams]))
    cuts = [0, *sorted(r.choices(range(len(case.steps) + 1), k=BATCHES - 1)), len(case.steps)]
    steps = tuple(case.steps[at:end] for at, end in pairwise(cuts))
    numbers: dict[str, int] = {}
    batches = tuple([row for step in part for row in step_rows(step, numbers)] for part in steps)
    late = {"": 36 * 3600.0} if case.clock == "event" and r.random() < 0.25 else None
    job = Job(
        (case.query,), (f"case{seed}",), emit=EMISSIONS[seed % 3], lateness=late,
        clock="event" if case.clock == "event" else "wall",  # whose time comes with the batches, as rows
        compact_bytes=r.choice([1, 1000, 1 << 20]), compact_blobs=r.choice([1, 3]), compact_rows=r.choice([1, 20, 128]),
    )  # fmt: skip
    return Played(seed, case, job, steps, batches)


def embedded(played: Played) -> list[Said]:
    """What the embedded engine says when it is fed the same batches.

    It is the answer from scratch: always if emission is eager, else at the end.
    """
    job, case, aside = played.job, played.case, list[Diagnostic]()
    clock: Any = "event" if job.clock == "event" else "manual"
    inflow = continuous_many(job.texts, emit=job.emit, clock=clock, lateness=job.lateness, report=aside.append)
    scratch, said = Scratch(case.query, case.clock), list[Said]()
    for number, part in enumerate(played.steps):
        steps = sorted(part, key=lambda step: step.stream)  # a micro-batch brings one stream after the other
        ticks = [parse_instant(step.tick) for step in steps if step.tick is not None]
        changes = ((step.stream, item) for step in steps if step.tick is None for item in step.items())
        inflow.feed_all(changes, max(ticks, default=None))
        found = spoken(inflow.queries[0].told())
        for step in steps:
            scratch.take(step)
        if job.lateness is None and (job.emit == "eager" or number == BATCHES - 1):
            anew = scratch.answer()
            if anew.failed != found.startswith("error "):
                anew = begun_now(case, sum(map(len, played.steps[: number + 1])))
            assert found == anew.xml, f"seed {played.seed}, batch {number}\n{case}"
        said.append((found, sum(diagnostic.severity == "quarantine" for diagnostic in aside)))
        aside.clear()
    return said


def step_rows(step: Step, numbers: dict[str, int]) -> Iterator[Row]:
    if step.tick is not None:
        yield tick_row(parse_instant(step.tick))
        return
    for item in step.items():
        if isinstance(item, Structure):
            about = {"stream": step.stream, "change": "structure", "doc": "", "content": write_structure(item).encode()}
            yield {**dict.fromkeys(ROW), **about, "seq": numbers.get(step.stream, 0)}
        else:
            numbers[step.stream] = numbers.get(step.stream, 0) + 1
            yield {**row_of(item, step.stream), "seq": numbers[step.stream]}


class ManyJobs(Keeper):
    """The stateful operator with a job for each key. Rows say by their stream which key they are of."""

    def __init__(self, jobs: dict[int, Job]) -> None:
        self.jobs = jobs

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        from xstreamcast.spark.motion.keeper import packed_rows, read_all
        from xstreamcast.spark.motion.state import advance

        job = self.jobs[key[0]]
        told = advance(job, self.store, read_all(rows))
        yield from packed_rows(key[0], ({**row, "stream": job.names[0]} for row in told))


def write_feed(folder: Path, played: Sequence[Played], number: int) -> None:
    """The micro-batches of a number, of all cases, as one file."""
    import pyarrow as pa
    from pyarrow import parquet

    keys = [one.seed for one in played]
    blobs = [Brought.of(one.batches[number]).blob() for one in played]
    path = folder / f"{number}.parquet"
    parquet.write_table(pa.table({"bucket": pa.array(keys, pa.int32()), "changes": blobs}), folder / f".{number}")
    (folder / f".{number}").rename(path)
    os.utime(path, (number, number))  # files are taken in the order of their times


def follow(spark: Any, folder: Path, seeds: Sequence[int], stops: Sequence[int]) -> Mapping[int, list[Said]]:
    """What Spark's rows tell of the cases of some seeds, after every micro-batch.

    ``stops``: after so many batches the query of Spark's ends, and another one goes on from its checkpoint.
    """
    from pyspark.cloudpickle import register_pickle_by_value

    from xstreamcast.spark.motion.continuous_query import SETTINGS
    from xstreamcast.spark.motion.micro_batch import Pool, light, own_workers
    from xstreamcast.spark.motion.stream_source import PACKED

    register_pickle_by_value(sys.modules[__name__])  # workers need not find this file
    played, feed, state = [play(seed) for seed in seeds], folder / "feed", str(folder / "state")
    answers = {one.seed: Answers.of(one.job.start(lambda _: None)) for one in played}
    said: dict[int, list[Said]] = {seed: [] for seed in seeds}
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    feed.mkdir(parents=True)

    def take(frame: Any, number: int) -> None:
        rows = Brought.read(*[bytes(row.changes) for row in frame.collect()]).rows
        for one in played:
            told = [row for row in rows if row["stream"] == one.name]
            answers[one.seed].take(Batch.of(number, told))
            aside = sum(row["change"] == "quarantine" for row in told)
            said[one.seed].append((spoken(answers[one.seed].queries[0].told()), aside))

    reading = spark.readStream.schema("bucket int, changes binary").option("maxFilesPerTrigger", "1")
    brought = reading.parquet(str(feed))
    operator = ManyJobs({one.seed: one.job for one in played})
    with own_workers(spark, Pool()):
        rows = brought.groupBy("bucket").transformWithState(operator, PACKED, "append", "none")
    for begin, stop in pairwise((0, *stops)):
        for number in range(begin, stop):
            write_feed(feed, played, number)
        writer = rows.writeStream.foreachBatch(take).option("checkpointLocation", state)
        with light(spark, state, one_key=False):
            query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination(300)
        finally:
            query.stop()
    return said

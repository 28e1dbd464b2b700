"""Random cases of the law on Spark: each is a key of one stateful operator, with a query and a job of its own.

    motion_law.py MASTER FOLDER SEED …

runs the cases of some seeds on a cluster and prints how much came of it. The micro-batches of all cases come together:
the n-th file of the feed holds the n-th micro-batch of each.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "properties"))

from law_case import Case, Step
from law_draw import draw_case
from law_oracle import Scratch, begun_now

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import ROW
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.model.time import parse_instant
from xstreamcast.run.continuous.query import EMISSIONS
from xstreamcast.spark.sink_answers import Answers, Batch
from xstreamcast.spark.state import Job, Keeper, Replica
from xstreamcast.spark.state_log import Head, Row, in_order, pack, row_of, table_rows, tick_row, unpack

BATCHES = 5


@dataclass
class Played:
    """A case, its micro-batches, and the two answers to it: by the embedded engine, and as Spark's rows tell it."""

    seed: int
    case: Case
    job: Job
    steps: list[tuple[Step, ...]]
    batches: list[list[Row]]
    embedded: Replica
    answers: Answers
    scratch: Scratch
    said: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.job.names[0]

    def check(self, number: int, rows: list[Row]) -> None:
        """After a micro-batch: Spark's answer is the embedded one, and the one from scratch: if emission is eager,
        always, else at the end."""
        self.answers.take(Batch.of(number, rows))
        self.embedded.take(in_order(self.batches[number]))
        (query,), (answer,) = self.embedded.inflow.queries, self.answers.queries
        expected, found = _spoken(query.told()), _spoken(answer.told())
        assert found == expected, f"seed {self.seed}, batch {number}, {self.job}\n{self.case}"
        aside = [row["content"] for row in rows if row["change"] == "quarantine"]
        assert len(aside) == len(self.embedded.put_aside), f"seed {self.seed}, batch {number}\n{self.case}"
        self.embedded.put_aside.clear()
        self.said.add(found)
        for step in sorted(self.steps[number], key=lambda step: step.stream):
            self.scratch.take(step)
        if self.job.lateness is None and (self.job.emit == "eager" or number == len(self.steps) - 1):
            anew = self.scratch.answer()
            if anew.failed != found.startswith("error "):
                anew = begun_now(self.case, sum(map(len, self.steps[: number + 1])))
            assert found == anew.xml, f"seed {self.seed}, batch {number}\n{self.case}"


def _spoken(told: Any) -> str:
    return f"error {told.code}" if isinstance(told, XStreamError) else told


def play(seed: int) -> Played:
    """The case of a seed, in micro-batches; a third of the cases for each emission, some with lateness."""
    drawn, r = draw_case(seed), Random(seed)
    streams = dict.fromkeys(re.findall(r'stream\("(\w+)"\)', drawn.query))
    case = replace(drawn, steps=(*drawn.steps, *[Step(name, "<stream:eos/>") for name in streams]))
    cuts = [0, *sorted(r.choices(range(len(case.steps) + 1), k=BATCHES - 1)), len(case.steps)]
    steps = [case.steps[at:end] for at, end in pairwise(cuts)]
    numbers: dict[str, int] = {}
    batches = [[row for step in part for row in _rows(step, numbers)] for part in steps]
    late = {"": 36 * 3600.0} if case.clock == "event" and r.random() < 0.25 else None
    job = Job(
        (case.query,), (f"case{seed}",), emit=EMISSIONS[seed % 3], lateness=late,
        clock="event" if case.clock == "event" else "wall",  # whose time comes with the batches, as rows
        compact_bytes=r.choice([1, 1000, 1 << 20]), compact_blobs=r.choice([1, 3]),
    )  # fmt: skip
    embedded = Replica(job, Head(""))
    answers = Answers.of(embedded.inflow)
    return Played(seed, case, job, steps, batches, embedded, answers, Scratch(case.query, case.clock))


def _rows(step: Step, numbers: dict[str, int]) -> Iterator[Row]:
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
        from xstreamcast.spark.association import output_row
        from xstreamcast.spark.state import advance

        job = self.jobs[key[0]]
        for row in advance(job, self.store, [row for packed in rows for row in unpack(packed.changes)]):
            yield output_row({**row, "stream": job.names[0]})


def write_feed(folder: Path, played: Sequence[Played], number: int) -> None:
    """The micro-batches of a number, of all cases, as one file."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(exist_ok=True)
    keys = [one.seed for one in played]
    blobs = [pack(one.batches[number]) for one in played]
    path = folder / f"{number}.parquet"
    parquet.write_table(pa.table({"bucket": pa.array(keys, pa.int32()), "changes": blobs}), folder / f".{number}")
    (folder / f".{number}").rename(path)
    os.utime(path, (number, number))  # files are taken in the order of their times


def follow(spark: Any, folder: Path, seeds: Sequence[int], stops: Sequence[int] = (BATCHES,)) -> list[Played]:
    """Run the cases of some seeds, and hold both engines against each other after every micro-batch.

    ``stops``: after so many batches the query of Spark's ends, and another one goes on from its checkpoint.
    """
    from pyspark.cloudpickle import register_pickle_by_value

    from xstreamcast.spark.continuous_query import SETTINGS
    from xstreamcast.spark.micro_batch import Pool, light, own_workers
    from xstreamcast.spark.stream_source import SCHEMA

    register_pickle_by_value(sys.modules[__name__])  # workers need not find this file
    played, pool, taken = [play(seed) for seed in seeds], Pool(), 0
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    (folder / "feed").mkdir()
    faults: list[BaseException] = []

    def take(frame: Any, number: int) -> None:
        nonlocal taken
        rows = table_rows(frame.toArrow())
        try:
            for one in played:
                one.check(number, [row for row in rows if row["stream"] == one.name])
        except BaseException as fault:
            faults.append(fault)
            raise
        taken += 1

    frame = spark.readStream.schema("bucket int, changes binary").option("maxFilesPerTrigger", "1")
    brought = frame.parquet(str(folder / "feed"))
    operator = ManyJobs({one.seed: one.job for one in played})
    with own_workers(spark, pool):
        rows = brought.groupBy("bucket").transformWithState(operator, SCHEMA, "append", "none")
    for stop in stops:
        for number in range(taken, stop):
            write_feed(folder / "feed", played, number)
        writer = rows.writeStream.foreachBatch(take).option("checkpointLocation", str(folder / "state"))
        with light(spark, str(folder / "state"), one_key=False):
            query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination(300)
        except Exception:
            if faults:
                raise faults[0] from None
            raise
        finally:
            query.stop()
        assert taken == stop
    return played


def main(master: str, folder: Path, seeds: list[int]) -> None:
    from xstreamcast.spark.session import SHORT_LIVED, session, shut_down

    settings = {"spark.executor.memory": "512m", "spark.sql.shuffle.partitions": "2"}
    spark = session("law", master, scratch=folder / "spark", **SHORT_LIVED, **settings)
    try:
        print(sum(len(one.said) for one in follow(spark, folder, seeds)))
    finally:
        shut_down(spark)


if __name__ == "__main__":
    sys.modules["motion_law"] = sys.modules["__main__"]
    main(sys.argv[1], Path(sys.argv[2]), [int(seed) for seed in sys.argv[3:]])

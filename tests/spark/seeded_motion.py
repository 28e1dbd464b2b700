"""A process of its own, with a hash seed of its own, that advances continuous queries as a Spark worker does.

    python seeded_motion.py RESULT [STATES [EVERY FIRST]]

It takes the same micro-batches as every other such process, and writes to RESULT what each query told in each of them,
and the saved states at each boundary. With STATES, the RESULT of another process, it goes on from each of the other's
states instead, so that every batch but the first is told by one who has nothing but what the other saved. EVERY and
FIRST choose some of the runs.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from law_case import Step
from motion_law import step_rows
from motion_queries import QUERIES, case_of, draw_changes
from motion_stores import InBuckets, MemoryStore
from test_motion_queries import END, LATE, PARSED, STRUCTURES, batches

from xstreamcast.run.continuous.query import EMISSIONS, continuous_many
from xstreamcast.spark.motion import association_buckets, state
from xstreamcast.spark.motion.association_spread import spread
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.job import Job

COMPACTING: dict[str, Any] = {"compact_bytes": 1000, "compact_blobs": 2}


class OneKey:
    """Some queries in one key."""

    def __init__(self, job: Job) -> None:
        self.job, self.store = job, MemoryStore()

    def saved(self) -> MemoryStore:
        return self.store

    def go_on_from(self, saved: MemoryStore) -> None:
        self.store = saved

    def take(self, batch: list[Row]) -> list[Row]:
        return list(state.advance(self.job, self.store, Brought.of(batch)))


def main(result: Path, states: Path | None, every: int = 1, first: int = 0) -> None:
    others = None if states is None else pickle.loads(states.read_bytes())["saved"]
    all_told: dict[str, list[list[Row]]] = {}
    all_saved: dict[str, list[bytes]] = {}
    for name, worker, parts in islice(runs(), first, None, every):
        told, saved = all_told.setdefault(name, []), all_saved.setdefault(name, [])
        for number, batch in enumerate(parts):
            if others is not None:
                worker.go_on_from(pickle.loads(others[name][number]))
                state._ENGINES.clear()
                association_buckets._LIVE.clear()
            saved.append(pickle.dumps(worker.saved()))
            told.append(worker.take(batch))
    result.write_bytes(pickle.dumps({"told": all_told, "saved": all_saved}))


def runs() -> Iterator[tuple[str, OneKey | InBuckets, list[list[Row]]]]:
    """In one key every query in every emission, with nothing but a log and with bases; in buckets every query."""
    steps = (*draw_changes(Random(22), 8), *END)
    for emit in EMISSIONS:
        for late, compact in ((None, dict[str, Any]()), (LATE, COMPACTING))[emit != "eager" :]:
            job = Job(tuple(QUERIES.values()), tuple(QUERIES), STRUCTURES, emit=emit, lateness=late, **compact)
            name = f"one key, {emit}, {'compacted' if compact else 'log'}"
            yield name, OneKey(job), _rows(batches(steps, 4, Random(7)))
    for name, text in QUERIES.items():
        case = case_of(text, draw_changes(Random(name), 8))
        job = Job((text,), ("answer",), STRUCTURES, **COMPACTING)
        inflow = continuous_many(job.texts, structures=PARSED)
        parts = _rows(batches(case.steps, 3, Random(7)))
        yield f"buckets, {name}", InBuckets(spread(inflow, dict(PARSED), 2, job), job), parts


def _rows(parts: list[list[Step]]) -> list[list[Row]]:
    numbers: dict[str, int] = {}
    return [[row for step in part for row in step_rows(step, numbers)] for part in parts]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None, *map(int, sys.argv[3:]))

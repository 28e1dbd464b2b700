"""The law in buckets, randomly: routing, the buckets' engines and what is made of what they tell, without Spark.

The cases are those of ``tests/properties`` whose streams have tag structures and whose queries can be spread; what
cannot be is refused with the reason. LAW_ON_SPARK (24) says how many seeds are drawn, ten times as many.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random

import pytest
from law_case import Case, Step
from law_draw import draw_case
from law_oracle import Scratch
from motion_stores import in_buckets

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.spark.motion import state
from xstreamcast.spark.motion.association_spread import spread, why_not_spread
from xstreamcast.spark.motion.brought import Row
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.sink_answers import Answers, Batch
from xstreamcast.spark.motion.state_log import row_of

SEEDS = 10 * int(os.environ.get("LAW_ON_SPARK", "24"))


def played(case: Case, seed: int) -> str:
    """Play a case in buckets: after every micro-batch the answer is the one from scratch. What was done with it."""
    r = Random(seed)
    structures: dict[str, Structure] = {}
    for step in case.steps:
        for item in step.items():
            if isinstance(item, Structure):
                structures.setdefault(step.stream, item)
    texts = {stream: write_structure(one) for stream, one in structures.items()}
    job = Job((case.query,), ("answer",), texts, compact_bytes=r.choice([1, 1000, 1 << 20]), compact_blobs=3)
    inflow = continuous_many(job.texts, structures=structures)
    if why_not_spread(inflow, structures, job) is not None:
        return "refused"
    how = spread(inflow, structures, r.choice([1, 1, 2, 3]), job)
    cuts = [0, *sorted(r.choices(range(len(case.steps) + 1), k=5)), len(case.steps)]
    parts = [case.steps[at:end] for at, end in pairwise(cuts)]
    answers, scratch = Answers.of(inflow), Scratch(case.query)
    for stream, structure in structures.items():  # it is known beforehand: nothing waits for it
        scratch.take_item(stream, structure)
    numbers: Counter[str] = Counter()
    told = in_buckets([list(rows_of_steps(part, numbers)) for part in parts], how, job)
    for number, part in enumerate(parts):
        for step in sorted(part, key=lambda step: step.stream):
            scratch.take(step)
        try:
            answers.take(Batch.of(number, next(told)))
        except XStreamError as failure:
            if failure.code != "XSC0069":
                raise
            return "stopped"
        found = answers.queries[0].told()
        spoken = found if isinstance(found, str) else f"error {found.code}"
        assert spoken == scratch.answer().xml, f"seed {seed}, batch {number}, {how}\n{case}"
    return how.last


def rows_of_steps(steps: Iterable[Step], numbers: Counter[str]) -> Iterator[Row]:
    for step in steps:
        for item in step.items():
            if isinstance(item, Change):
                numbers[step.stream] += 1
                yield {**row_of(item, step.stream), "seq": numbers[step.stream]}


@pytest.mark.parametrize("part", range(4))
def test_random_cases_in_buckets_are_answered_as_from_scratch_after_every_batch(part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(31_000 + part, 31_000 + SEEDS, 4):
        case = draw_case(seed)
        if case.clock == "event":
            state._ENGINES.clear()
            seen[played(case, seed)] += 1
    state._ENGINES.clear()
    assert seen["gather"] > SEEDS // 100, seen

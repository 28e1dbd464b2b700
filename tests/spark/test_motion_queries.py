"""Every kind of query in motion on Spark: after every micro-batch it says what it says of the whole, from scratch.

In one key and in buckets; by whichever worker has the batch; from a state that is reloaded, or has been compacted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from law_case import Step
from law_oracle import Scratch
from motion_law import step_rows
from motion_queries import QUERIES, SHAPES, case_of, draw_changes
from motion_stores import MemoryStore, in_buckets
from motion_streams import spoken

from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.query import continuous_many
from xstreamcast.spark.motion import association_buckets, state
from xstreamcast.spark.motion.association_spread import spread
from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.job import Job
from xstreamcast.spark.motion.sink_answers import Answers, Batch
from xstreamcast.spark.motion.state_log import read_head

STRUCTURES = {name: shape.xml() for name, shape in SHAPES.items()}
PARSED = {name: parse_structure(text) for name, text in STRUCTURES.items()}
END = tuple([Step(name, "<stream:eos/>") for name in SHAPES])
LATE = {"": 36 * 3600.0}


@pytest.fixture(autouse=True)
def _nothing_lives_on() -> Iterator[None]:
    _another_worker()
    yield
    _another_worker()


def _another_worker() -> None:
    """Who has the next batch has nothing but the saved state."""
    state._ENGINES.clear()
    association_buckets._LIVE.clear()


def batches(steps: Sequence[Step], count: int, r: Random) -> list[list[Step]]:
    """Steps in micro-batches, each of which brings one stream after the other."""
    cuts = [0, *sorted(r.sample(range(1, len(steps)), count - 1)), len(steps)]
    return [sorted(steps[at:end], key=lambda step: step.stream) for at, end in pairwise(cuts)]


def from_scratch(text: str, parts: list[list[Step]], lateness: float | None = None) -> list[str]:
    """What a query says of all that has come, after each batch."""
    scratch, said = Scratch(text, lateness=lateness), []
    for stream, structure in PARSED.items():
        scratch.take_item(stream, structure)
    for part in parts:
        for step in part:
            scratch.take(step)
        said.append(scratch.answer().xml)
    return said


@pytest.mark.parametrize(
    ("part", "emit", "late"),
    [(0, "eager", None), (1, "eager", LATE), (2, "certain", None), (3, "optimistic", LATE)],
    ids=["eager", "eager-late", "certain", "optimistic-late"],
)
def test_in_one_key_whoever_has_the_batch(part: int, emit: Any, late: dict[str, float] | None) -> None:
    r, names = Random(20 + part), sorted(QUERIES)[part::4]
    texts, parts = tuple([QUERIES[name] for name in names]), batches((*draw_changes(r, 8), *END), 4, r)
    job = Job(texts, tuple(names), STRUCTURES, emit=emit, lateness=late, compact_bytes=1000, compact_blobs=2)
    aside: list[Diagnostic] = []
    whole = continuous_many(texts, structures=PARSED, emit=emit, lateness=late, report=aside.append)
    store, answers, numbers = MemoryStore(), Answers.of(job.start(lambda _: None)), dict[str, int]()
    put_aside = 0
    said: list[list[str]] = []
    for number, brought in enumerate(parts):
        rows = [row for step in brought for row in step_rows(step, numbers)]
        if number == 2:
            _another_worker()
        batch = Batch.of(number, list(state.advance(job, store, Brought.of(rows))))
        answers.take(batch)
        put_aside += len(batch.put_aside)
        whole.feed_all((step.stream, item) for step in brought for item in step.items())
        said.append([spoken(one.told()) for one in answers.queries])
        assert said[-1] == [spoken(one.told()) for one in whole.queries], number
    assert put_aside == sum(one.severity == "quarantine" for one in aside)
    assert bool(put_aside) == (late is not None), "something is late where it matters"
    head = read_head(store)
    assert head is not None
    assert head.parts, "it has been compacted"
    for one, text in enumerate(texts):
        expected = from_scratch(text, parts, None if late is None else late[""])
        if emit != "eager":  # at the end all are the same
            assert said[-1][one] == expected[-1], names[one]
        else:
            assert [answers[one] for answers in said] == expected, names[one]


@pytest.mark.parametrize("name", QUERIES)
def test_in_buckets_whoever_has_the_batch(name: str) -> None:
    r = Random(name)
    case = case_of(QUERIES[name], draw_changes(r, 8))
    parts = batches(case.steps, 3, r)
    job = Job((case.query,), ("answer",), STRUCTURES, compact_bytes=1000, compact_blobs=2)
    inflow = continuous_many(job.texts, structures=PARSED)
    how, numbers = spread(inflow, dict(PARSED), 1 + len(name) % 2, job), dict[str, int]()
    rows = [[row for step in part for row in step_rows(step, numbers)] for part in parts]
    answers, said = Answers.of(inflow), []
    for number, told in enumerate(in_buckets(rows, how, job)):
        answers.take(Batch.of(number, told))
        said.append(spoken(answers.queries[0].told()))
        if number == 0:
            _another_worker()
    assert said == from_scratch(case.query, parts)

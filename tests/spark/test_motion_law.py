"""The law on Spark, randomly: after every micro-batch the answer is the embedded one, and the one from scratch.

The cases are those of ``tests/properties``, a third for each way to emit, with event and manual clocks and lateness.
LAW_ON_SPARK says how many there are (24 if it does not), all of which run in one streaming query.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("saxonche")  # the cases come with an oracle that asks it

from motion_law import BATCHES, follow, play

from xstreamcast.run.continuous.query import EMISSIONS

pytestmark = pytest.mark.spark

SEEDS = range(30_000, 30_000 + int(os.environ.get("LAW_ON_SPARK", "24")))


def test_random_cases_are_answered_as_by_the_embedded_engine_after_every_batch(spark: Any, tmp_path: Path) -> None:
    played = follow(spark, tmp_path, SEEDS, stops=(2, BATCHES))
    assert sum(len(one.said) for one in played) > 1.5 * len(played), "answers that never change show nothing"


def test_the_cases_draw_every_emission_both_clocks_and_lateness() -> None:
    jobs = [play(seed).job for seed in range(30_000, 30_024)]
    assert {job.emit for job in jobs} == set(EMISSIONS)
    assert {job.clock for job in jobs} == {"event", "wall"}
    assert {job.lateness is None for job in jobs} == {True, False}

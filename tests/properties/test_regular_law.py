"""The law in columns, for drawn queries: T(q'(γ)) = q(T(γ)) at the borders of batches, for streams that fit their tag
structure. ``python tests/law --regular`` draws as many as one likes."""

from __future__ import annotations

import pytest
from budget import MORE
from law_oracle import LawBroken, check
from law_regular import draw_regular

BLOCK = 8


@pytest.mark.parametrize("block", range(4 * MORE))
def test_what_columns_answer_at_the_border_of_a_batch_is_the_query_run_from_scratch(block: int) -> None:
    answers = columns = 0
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        try:
            told = check(draw_regular(seed))
        except LawBroken as broken:
            raise AssertionError(f"python tests/law --regular --seed {seed}: {broken}") from None
        answers += told.answers
        columns += not told.by_objects
    assert answers >= BLOCK, "cases in which nothing happens show nothing"
    assert columns, "cases that all leave the columns say nothing about them"

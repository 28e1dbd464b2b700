"""Queries beside each other and behind each other: one association for several, one's answer as another's stream."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from law_case import Case
from law_draw import BEHIND, draw_case
from law_oracle import Followed, Scratch, check
from law_queries import draw_query
from law_streams import draw_streams
from law_wide import draw_wide

import xstreamcast


@pytest.mark.parametrize("seed", range(12))
def test_queries_that_share_an_association_answer_as_each_would_alone(seed: int) -> None:
    r = Random(seed)
    shapes, steps = draw_streams(r, 12)
    texts = [draw_query(r, shapes), draw_query(r, shapes), draw_wide(r, shapes)]
    together = xstreamcast.continuous_many(texts)
    followed = [Followed(query) for query in together.queries]
    scratches = [Scratch(text) for text in texts]
    for step in Case(" ".join(texts), steps).heard().steps:
        for item in step.items():
            together.feed(item, step.stream)
        for one, scratch in zip(followed, scratches, strict=True):
            one.show([emitted.change for emitted in one.query.take()])
            scratch.take(step)
            expected = scratch.answer()
            if one.answer().failed == expected.failed:
                assert one.differs(expected) is None, f"{scratch.query}\nin {Case(texts[0], steps)}"


@pytest.mark.parametrize("seed", range(9200, 9216))
def test_the_answer_of_one_query_is_a_stream_of_another(seed: int) -> None:
    """Whenever it began to listen."""
    case, r = draw_case(seed, 10), Random(seed)
    check(replace(case, behind=r.choice(BEHIND), listens=r.choice([0, 0, len(case.steps) // 2])), saxon="never")

"""Queries beside each other and behind each other: one association for several, one's answer as another's stream."""

from __future__ import annotations

from random import Random

import pytest
from law_case import Case
from law_draw import draw_case
from law_oracle import Answer, Followed, Scratch, answer_of
from law_queries import draw_query
from law_streams import draw_streams

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.run.continuous.display.emit import error_text
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at


@pytest.mark.parametrize("seed", range(12))
def test_queries_that_share_an_association_answer_as_each_would_alone(seed: int) -> None:
    r = Random(seed)
    shapes, steps = draw_streams(r, 12)
    texts = [draw_query(r, shapes) for _ in range(3)]
    together = xstreamcast.continuous_many(texts)
    followed = [Followed(query) for query in together.queries]
    scratches = [Scratch(text) for text in texts]
    for step in steps:
        for item in step.items():
            together.feed(item, step.stream)
        for one, scratch in zip(followed, scratches, strict=True):
            one.show([emitted.change for emitted in one.query.take()])
            scratch.take(step)
            expected = scratch.answer()
            if one.answer().failed == expected.failed:
                assert one.differs(expected) is None, f"{scratch.query}\nin {Case(texts[0], steps)}"


BEHIND = (
    'count(stream("answer")//*)',
    'string(stream("answer"))',
    'stream("answer")/*[2]',
    'for $x in stream("answer")//* where $x/@n return <y>{ $x/@n, count($x/*) }</y>',
    'for $x in stream("answer")/node() order by string($x) return string($x)',
    'sum(stream("answer")//v[. castable as xs:double])',
    'for $x in stream("answer")//* group by $k := name($x) order by $k return <g k="{$k}">{ count($x) }</g>',
    'exists(stream("answer")//*:error)',
)


@pytest.mark.parametrize("seed", range(9200, 9216))
def test_the_answer_of_one_query_is_a_stream_of_another(seed: int) -> None:
    """q2(T(q1'(γ))) is what q2 gives on q1's answer, serialised, after every change; whenever it began to listen."""
    case, r = draw_case(seed, 10), Random(seed)
    first = xstreamcast.continuous(case.query, clock=case.clock)
    text = r.choice(BEHIND)
    second = Followed(xstreamcast.continuous(text))
    whole, begin = compile(text), r.choice([0, 0, len(case.steps) // 2])
    for number, step in enumerate(case.steps):
        if number == begin:
            second.query.listen("answer", first)
        if step.tick is not None:
            first.tick(step.tick)
        for item in () if step.tick is not None else step.items():
            first.feed(item, step.stream)
        if number >= begin and first._output is not None:
            told = first.told()
            given = error_text(told) if isinstance(told, XStreamError) else told
            node = view_of(given.encode(), "stream:answer")
            expected: Answer = answer_of(
                lambda node=node: whole(streams=lambda _: node, now=moment_at(second.query.inflow.now)).items()  # type: ignore[misc]
            )
            second.show([emitted.change for emitted in second.query.take()])
            assert second.differs(expected) is None, f"{text}\nbehind {case}\nafter step {number + 1}, on {given}"

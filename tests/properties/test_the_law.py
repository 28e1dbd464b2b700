"""The law, randomly: T(q'(γ)) = q(T(γ)) after every change, for documents, structures, queries, changes and orders of
arrival drawn from fixed seeds; and at the end Saxon's answer on T(γ).

``make law`` runs as many as one likes, with Saxon after every change. A case that fails here is shrunk by
``python tests/law --seed N`` and kept in ``regressions/``.
"""

from __future__ import annotations

import re
from random import Random

import pytest
from budget import MORE
from law_case import Case, Step
from law_draw import draw_case, draw_varied
from law_oracle import Followed, LawBroken, Scratch, check
from law_queries import draw_query
from law_streams import draw_streams
from law_wide import draw_wide

import xstreamcast
from xstreamcast.run.continuous.query import EMISSIONS

BLOCK = 10


@pytest.mark.parametrize("block", range(12 * MORE))
def test_the_answer_after_every_change_is_that_of_the_query_run_from_scratch(block: int) -> None:
    answers = 0
    for seed in range(block * BLOCK, block * BLOCK + BLOCK):
        try:
            answers += check(draw_varied(seed)).answers
        except LawBroken as broken:
            raise AssertionError(f"seed {seed}: {broken}") from None
    assert answers >= BLOCK, "cases in which nothing happens show nothing"


@pytest.mark.parametrize("seed", range(9000, 9000 + 8 * MORE))
def test_changes_that_come_together_give_what_they_give_one_by_one(seed: int) -> None:
    case, r = draw_case(seed), Random(seed)
    scratch = Scratch(case.query, case.clock)
    followed = Followed(xstreamcast.continuous(case.query, clock=case.clock))
    at = 0
    while at < len(case.steps):
        end = _together(case, at, r.randint(1, 6))
        steps, at = case.steps[at:end], end
        for step in steps:
            scratch.take(step)
        if steps[0].tick is not None:
            followed.take(steps[0])
        else:
            items = [item for step in steps for item in step.items()]
            followed.show(followed.query.feed_many(items, steps[0].stream))
        expected = scratch.answer()
        if followed.answer().failed == expected.failed:
            assert followed.differs(expected) is None, case


def _together(case: Case, at: int, most: int) -> int:
    """Where the changes end that come at once: of one stream, no tick among them."""
    first, end = case.steps[at], at + 1
    while (
        first.tick is None
        and end < min(at + most, len(case.steps))
        and (case.steps[end].stream, case.steps[end].tick) == (first.stream, None)
    ):
        end += 1
    return end


@pytest.mark.parametrize("seed", range(9100, 9100 + 8 * MORE))
def test_all_ways_to_emit_agree_when_the_streams_have_ended(seed: int) -> None:
    case = draw_case(seed)
    streams = dict.fromkeys(re.findall(r'stream\("(\w+)"\)', case.query))
    ended = (*case.steps, *[Step(name, "<stream:eos/>") for name in streams])
    scratch = Scratch(case.query, case.clock)
    for step in ended:
        scratch.take(step)
    expected = scratch.answer()
    for emit in EMISSIONS:
        followed = Followed(xstreamcast.continuous(case.query, clock=case.clock, emit=emit))
        for step in ended:
            followed.take(step)
        answer = followed.answer()
        if answer.failed == expected.failed:
            assert (emit, answer.adaptive) == (emit, expected.adaptive), case


def test_the_grammars_draw_every_operator_and_every_change() -> None:
    wires: list[str] = []
    texts: list[str] = []
    for seed in range(150 * BLOCK):
        r = Random(seed)
        shapes, steps = draw_streams(r, rich=seed % 3 == 0)
        wires += [step.wire for step in steps]
        texts += [draw_query(r, shapes), draw_wide(r, shapes)]
    forms = (
        "order by", "group by", "count(", "sum(", "avg(", "min(", "max(", "exists(", "empty(", "distinct-values(",
        "string-join(", "some ", "every ", " at $", "window", "let ", "local:", "fold-left", "//*", "/..", "ancestor",
        "preceding", "following", "last()", "position()", " | ", "intersect", "except", "<o", "element {",
        "if (", "typeswitch", "switch", "try", "?[now", "?[2003", "#[last", "vtFrom", "vtTo", 'stream("t")', "not(some",
        'stream("u")', "allowing empty", "?[vtFrom", "+PT12H]", "previous", "only end", "local:even", "map:merge",
        "satisfies", ", $x", "start $e when", " is ", " << ", "for-each-pair", "switch (", "instance of",
        "declare variable", "=> ", "comment()", "following::", "preceding::", "try {", "[ancestor::", "1 to count(",
        "ordered {", "deep-equal", "contains(", " - 1]", "remove($s, 1)", "starts-with", "text {", "]?1",
    )  # fmt: skip
    assert [form for form in forms if not any(form in text for text in texts)] == []
    kinds = ("filler", "repeat", "replace", "remove", "before", "after", "hide", "show", "freeze", "eos", "structure")
    brought = (*[f"<stream:{kind}" for kind in kinds], "version=", "validTime=", 'doc="', 'ref="', "<stream:mutable")
    brought += ("<![CDATA[", "&#50;", "<?p", "<!-- ", "<p:u ", 'xmlns="urn:d"', "xml:space", 'n=" 2"')
    assert [form for form in brought if not any(form in wire for wire in wires)] == []

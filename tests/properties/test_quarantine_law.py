"""Bad fragments among good ones: each is put aside with its place and reason, and the answer is that of the good."""

from __future__ import annotations

import io
from random import Random

import pytest
from law_case import Case, Step
from law_draw import draw_case
from law_oracle import Followed, Scratch

import xstreamcast
from xstreamcast.model.change import Change
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.wire.fragment import read_stream

OPEN, CLOSE = '<stream:fragments xmlns:stream="urn:xstreamcast:stream">', "</stream:fragments>"

BAD = {
    "content that does not nest": ("XSC0001", '<stream:filler id="1"><a><b></a></b></stream:filler>'),
    "an element that is not closed": ("XSC0001", '<stream:filler id="1"><a></stream:filler>'),
    "an entity that nobody declared": ("XSC0001", '<stream:filler id="1"><a>&nobody;</a></stream:filler>'),
    "an attribute twice": ("XSC0001", '<stream:filler id="1"><a n="1" n="2"/></stream:filler>'),
    "no id": ("XSC0003", "<stream:filler><a/></stream:filler>"),
    "an id that is no number": ("XSC0003", '<stream:filler id="first"><a/></stream:filler>'),
    "no target": ("XSC0003", '<stream:before id="3"><a/></stream:before>'),
    "a hole without an id": ("XSC0003", '<stream:filler id="1"><a><stream:hole/></a></stream:filler>'),
    "a version that is no number": ("XSC0003", '<stream:filler id="1" version="new"><a/></stream:filler>'),
    "not a time": ("XSC0010", '<stream:filler id="1" validTime="yesterday"><a/></stream:filler>'),
}
UNKNOWN = ("XSC0022", '<stream:filler id="1" tsid="999"><a/></stream:filler>')


def spoiled(steps: list[Step], r: Random) -> tuple[str, list[tuple[int, int, str]]]:
    """A stream with bad fragments in it, and from where to where each stands, with its code."""
    text, bad = OPEN, []
    offered = [*BAD.values(), *([UNKNOWN] if "<stream:structure" in steps[0].wire else [])]
    for step in steps:
        text += step.wire
        if r.random() < 0.4:
            code, wire = r.choice(offered)
            bad.append((len(text.encode()), len((text + wire).encode()), code))
            text += wire
    return text + CLOSE, bad


@pytest.mark.parametrize("seed", range(20))
def test_bad_fragments_are_put_aside_and_the_answer_is_that_of_the_good_ones(seed: int) -> None:
    case, r = _one_stream(seed), Random(seed)
    text, bad = spoiled(list(case.steps), r)
    told: list[Diagnostic] = []
    scratch = Scratch(case.query)
    followed = Followed(xstreamcast.continuous(case.query, report=told.append))
    good = [item for step in case.steps for item in step.items()]
    for arrival in read_stream(io.BytesIO(text.encode())):
        followed.show(followed.query.feed(arrival.item, "s", arrival.place))
        if isinstance(arrival.item, Change | Structure) and good and arrival.item == good[0]:
            scratch.take_item("s", good.pop(0))
        if scratch.streams:
            expected = scratch.answer()
            if followed.answer().failed == expected.failed:
                assert followed.differs(expected) is None, f"{case.query}\nafter {arrival}"
    assert good == [], "every good fragment has been read"
    aside = [one for one in told if one.severity == "quarantine"]
    assert [one.code for one in aside] == [code for _, _, code in bad]
    for one, (start, end, _) in zip(aside, bad, strict=True):
        assert one.message
        assert one.place.offset is not None
        assert start <= one.place.offset < end, one


def _one_stream(seed: int) -> Case:
    """A case of one stream that brings its structure first, and does not end before its end."""
    found = seed * 50
    while True:
        case = draw_case(found, 8)
        streams = {step.stream for step in case.steps}
        late = any("<stream:structure" in step.wire for step in case.steps[1:])
        ended = any("<stream:eos" in step.wire for step in case.steps)
        if streams == {"s"} and 'stream("t")' not in case.query and not late and not ended:
            return case
        found += 1


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_fragment_takes_no_good_one_with_it(kind: str) -> None:
    code, wire = BAD[kind]
    told: list[Diagnostic] = []
    query = xstreamcast.continuous('stream("s")//a/string()', report=told.append)
    good = ['<stream:filler id="0"><r><stream:hole id="1"/><stream:hole id="2"/></r></stream:filler>']
    good += ['<stream:filler id="1"><a>1</a></stream:filler>', '<stream:filler id="2"><a>2</a></stream:filler>']
    stream = OPEN + wire + wire.join(good) + wire + CLOSE
    for arrival in read_stream(io.BytesIO(stream.encode())):
        query.feed(arrival.item, "s", arrival.place)
    assert query.text() == "1 2"
    assert [one.code for one in told if one.severity == "quarantine"] == [code] * 4


def test_a_stream_that_is_cut_off_answers_for_what_is_whole() -> None:
    stream = OPEN + '<stream:filler id="0"><r><a>1</a><stream:hole id="1"/></r></stream:filler><stream:filler id="1"><a'
    told: list[Diagnostic] = []
    query = xstreamcast.continuous('count(stream("s")//a)', report=told.append)
    for arrival in read_stream(io.BytesIO(stream.encode())):
        query.feed(arrival.item, "s", arrival.place)
    assert query.text() == "1"
    assert any(one.severity == "quarantine" and one.place.offset for one in told)

"""Holes of what an answer copies are holes of the answer: what fills them is told alone, and T stays the answer."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from random_streams import STRUCTURE, streams

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import (
    After,
    Before,
    Change,
    ContentChange,
    Eos,
    Fill,
    Freeze,
    Hide,
    Remove,
    Replace,
    Show,
)
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.time import parse_instant
from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.wire.fragment import FragmentWriter, read_stream

COPIES = (
    "//b",
    "//s/*",
    "/r/s",
    "<x>{ //b }</x>",
    "<x>{ //s, count(//b) }</x>",
    'for $s in //s return <y n="{count($s/b)}">{ $s, $s/b[1] }</y>',
    "for $b in //b order by string($b) return $b",
    "for $b in //b group by $n := string($b/@n) return <g>{ $b }</g>",
    "(//s)[2]",
    "reverse(//s)",
    "//s[b/c]",
    "tail(//b)",
    "/r",
    "for $s in //s return (1, 2, $s, 3)",
    "/node()",
    "for $s in //s return document { $s/.. }",
)
"""Queries that copy what has holes in it."""


class Told:
    """A query over ``stream("s")``, the document that its changes describe, and what came out last."""

    def __init__(self, text: str) -> None:
        self.text = (
            text.replace("//", 'stream("s")//').replace("/r", 'stream("s")/r').replace("/node", 'stream("s")/node')
        )
        self.query: ContinuousQuery = continuous(self.text)
        self.sink, self.source = Materialiser(), Materialiser()
        self.last: list[Change] = []

    def feed(self, change: Change) -> list[str]:
        """Take a change in; the changes that come of it, in short. T of them is the answer."""
        self.source.apply(change)
        self.last = self.query.feed(change, "s")
        for made in self.last:
            self.sink.apply(made)
        assert self.sink.text() == self.query.text() == scratch(self.text, self.source.text())
        return [made.kind for made in self.last]

    @property
    def contents(self) -> list[str]:
        return [change.content.decode() for change in self.last if isinstance(change, ContentChange)]

    @property
    def bytes(self) -> int:
        return sum(len(content) for content in self.contents)


compiled = cache(compile)


def scratch(text: str, document: str, now: int | None = None) -> str:
    node = view_of(document.encode(), "stream:s")
    try:
        given = compiled(text)(streams=lambda _: node, now="2003-11-30" if now is None else moment_at(now))
        return serialise(given.items())
    except XStreamError as failure:
        return f"error {failure.code}"


def whole(query: ContinuousQuery) -> str:
    """The answer, as one who comes now is told of it."""
    assert query.output is not None
    sink = Materialiser()
    for change, _ in query.output.snapshot():
        sink.apply(change)
    return sink.text()


LONG = "".join(f"<line n='{n}'>text</line>" for n in range(300))


# --------------------------------------------------------------------------------------------------------- what is told


def test_a_hole_goes_out_as_a_hole_and_its_filling_alone() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=f'<r><b>{LONG}<stream:hole id="7"/><z/></b></r>'.encode()))
    assert "<stream:hole id=" in told.contents[-1]
    assert told.feed(Fill(region=7, content=b"<c>1</c>")) == ["fill"]
    assert told.contents == ["<c>1</c>"]
    assert told.feed(Replace(region=7, content=b"<c>2</c>")) == ["replace"]
    assert told.contents == ["<c>2</c>"]
    assert told.feed(Remove(region=7)) == ["remove"]
    assert told.feed(Replace(region=7, content=b"<c>3</c>")) == ["replace"]
    assert told.feed(Replace(region=7, content=b"<c>3</c>")) == []
    assert told.contents == []


@pytest.mark.parametrize("text", COPIES)
def test_what_is_told_of_a_filling_is_of_its_size(text: str) -> None:
    told = Told(text)
    body = f'<b n="1">{LONG}<stream:hole id="7"/><c/></b>'
    told.feed(Fill(region=0, content=f"<r><s><b/></s><s>{body}</s><s>{body}</s></r>".encode()))
    assert told.bytes > len(LONG)
    told.feed(Fill(region=7, content=b"<d>9</d>"))
    if "order by" in text:  # two items with other keys
        assert told.query.text().count("<d>9</d>") == 2
    else:
        assert 0 < told.bytes < 200


def test_a_filling_may_bring_holes() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=b'<r><b><z/><stream:hole id="7"/></b></r>'))
    told.feed(Fill(region=7, content=b'<c>1<stream:hole id="8"/></c><stream:hole id="9"/>'))
    assert told.contents[0].count("<stream:hole") == 2
    assert told.feed(Fill(region=9, content=b"<d/>")) == ["fill"]
    assert told.feed(Fill(region=8, content=b"<e/>")) == ["fill"]
    assert told.query.text() == "<b><z/><c>1<e/></c><d/></b>"


def test_an_element_of_holes_only_is_told_with_them_once_something_is_in_it() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=f'<r><b>{LONG}<c><stream:hole id="1"/><stream:hole id="2"/></c></b></r>'.encode()))
    assert told.contents[-1] == "<c/>"
    assert told.feed(Fill(region=1, content=b"<d>1</d>")) == ["replace", "fill"]
    assert told.feed(Fill(region=2, content=b"<d>2</d>")) == ["fill"]
    assert told.feed(Remove(region=1)) == ["remove"]
    told.feed(Remove(region=2))
    assert told.contents == ["<c/>"]
    told.feed(Replace(region=1, content=b"<d>3</d>"))
    assert told.bytes < 200


def test_a_parent_sent_again_with_a_hole_more_does_not_bring_its_other_holes_again() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'))
    told.feed(Fill(region=1, content=b'<b><t/><stream:hole id="2"/></b>'))
    told.feed(Fill(region=2, content=f"<c>{LONG}</c>".encode()))
    assert told.feed(Replace(region=1, content=b'<b><t/><stream:hole id="2"/><stream:hole id="3"/></b>')) == []
    assert told.feed(Fill(region=3, content=b"<d/>")) == ["replace", "fill"]
    assert told.bytes < 200
    assert told.feed(Replace(region=3, content=b"<d>1</d>")) == ["replace"]
    assert told.contents == ["<d>1</d>"]


def test_a_large_item_is_told_again_as_a_whole_once_at_most() -> None:
    told = Told("//b")
    told.feed(Fill(region=2, content=b"<c>1</c>"))
    told.feed(Fill(region=3, content=b"<d>1</d>"))
    body = f'<b>{LONG}<stream:hole id="2"/><e/><stream:hole id="3"/></b>'
    told.feed(Fill(region=0, content=f"<r>{body}</r>".encode()))
    assert "<stream:hole" not in told.contents[-1]
    assert told.feed(Replace(region=2, content=b"<c>2</c>")) == ["replace", "fill", "fill"]
    for region in (2, 3, 2):
        assert told.feed(Replace(region=region, content=f"<c>{told.bytes}</c>".encode())) == ["replace"]
        assert told.bytes < 50


def test_one_more_event_in_a_hole_costs_no_more_than_itself() -> None:
    structure = parse_structure(
        '<tag id="1" name="r"><tag id="2" name="b" type="filler"><tag id="3" name="e" type="event">'
        '<tag id="4" name="f" type="filler"/></tag><tag id="5" name="v" type="temporal"/></tag></tag>'
    )
    query, sink, t = continuous('stream("s")//b', structures=structure), Materialiser(), Materialiser(structure)

    def feed(change: Change) -> list[Change]:
        t.apply(change)
        made = query.feed(change, "s")
        for one in made:
            sink.apply(one)
        assert sink.text() == query.text() == scratch('stream("s")//b', t.text(), t.now) == whole(query)
        return made

    holes = '<stream:hole id="2" tsid="3"/><stream:hole id="3" tsid="5"/>'
    feed(Fill(region=0, tsid=1, content=b'<r><stream:hole id="1" tsid="2"/></r>'))
    feed(Fill(region=1, tsid=2, content=f"<b>{LONG}{holes}</b>".encode()))
    times = [parse_instant(f"2003-11-{day:02}") for day in range(1, 29)]
    Random(5).shuffle(times)
    for number, time in enumerate(times):
        content = f'<e><stream:hole id="{100 + number}" tsid="4"/>{number}</e>'.encode()
        made = feed(Fill(region=2, tsid=3, valid_time=time, content=content))
        assert [change.kind for change in made] == (["fill", "after"] if number == 0 else ["after"])
        (filled,) = feed(Fill(region=100 + number, tsid=4, content=b"<f/>"))
        assert filled.kind == "fill"
    for number, time in enumerate(sorted(times)[:5]):  # the version before ends with each
        made = feed(Fill(region=3, tsid=5, valid_time=time, content=f"<v>{number}</v>".encode()))
        assert sum(len(change.content) for change in made if isinstance(change, ContentChange)) < 200


NESTED = parse_structure(
    '<tag id="1" name="r"><tag id="2" name="s" type="filler"><tag id="3" name="b" type="filler">'
    '<tag id="4" name="t"/><tag id="5" name="c" type="filler"><tag id="8" name="d" type="filler"/></tag>'
    '<tag id="6" name="e" type="event"/><tag id="7" name="v" type="temporal"/></tag></tag></tag>'
)
IN_ORDER = (
    'stream("s")//b',
    'stream("s")//s',
    'for $b in stream("s")//b return <m>{ $b/@n, $b/t, $b/c, $b }</m>',
    'for $b in stream("s")//b order by number($b/@n) mod 3, $b/@n return $b',
    'for $b in stream("s")//b[v = "v1"] return ($b/c, $b/t/text(), $b/e)',
    '<all>{ for $s in stream("s")//s return <s>{ count($s/b), $s/b/c }</s> }</all>',
)


def _nested(draw: Random, count: int) -> Iterator[Change]:
    """Records with holes between elements, beside texts and side by side; some are sent again with other holes."""
    at = [parse_instant(f"2003-11-0{day}") for day in range(1, 6)]
    yield Fill(region=0, tsid=1, content=b'<r><stream:hole id="10" tsid="2"/><stream:hole id="11" tsid="2"/></r>')
    for _ in range(count):
        b = draw.randrange(20, 26)
        kind = draw.choice([Fill, Replace])
        match draw.randrange(8):
            case 0:
                some = "".join(f'<stream:hole id="{n}" tsid="3"/>' for n in draw.sample(range(20, 26), 3))
                yield kind(region=draw.choice([10, 11]), tsid=2, content=f"<s>{some}</s>".encode())
            case 1 | 2:
                text = draw.choice(["", "text", "<!--c-->", "<![CDATA[<]]>", "&amp;", "long" * 300])
                holes = [f'<stream:hole id="{b + n}" tsid="{t}"/>' for n, t in ((100, 5), (200, 6), (300, 7), (400, 5))]
                draw.shuffle(holes)
                inside = f"<t>{b % 3}</t>{text}".join(holes[: draw.randrange(1, 5)])
                yield kind(region=b, tsid=3, content=f'<b n="{b}">{inside}{draw.choice(["", "x"])}</b>'.encode())
            case 3 | 4:
                region, inside = draw.choice([100, 400]) + b, f'<stream:hole id="{b + 500}" tsid="8"/>'
                content = f"<c>{draw.randrange(3)}{draw.choice(['', inside])}</c>".encode()
                yield (
                    Remove(region=region, tsid=5)
                    if draw.random() < 0.2
                    else kind(region=region, tsid=5, content=content)
                )
            case 5:
                yield Fill(region=b + 200, tsid=6, valid_time=draw.choice(at), content=b"<e>%d</e>" % draw.randrange(9))
            case 6:
                content = b"<v>v%d</v>" % draw.randrange(3)
                yield kind(region=b + 300, tsid=7, valid_time=draw.choice(at), content=content)
            case _:
                yield kind(region=b + 500, tsid=8, content=b"<d/>")


@pytest.mark.parametrize("text", IN_ORDER)
def test_in_columns_the_same_is_told_of_holes_as_by_objects(text: str) -> None:
    for number in range(4 * MORE):
        both = [continuous(text, structures=NESTED) for _ in range(2)]
        both[1].inflow.columns = False
        sink, t = Materialiser(), Materialiser(NESTED)
        for change in _nested(Random(number), 90):
            t.apply(change)
            told = [[(one.kind, getattr(one, "content", b"")) for one in query.feed(change)] for query in both]
            assert _spelled(told[0]) == _spelled(told[1]), change
            assert both[0].text() == both[1].text() == scratch(text, t.text(), t.now)
        assert both[0].state()["followed"] == "columns", both[0].state()["by_objects"]
        assert both[1].state()["followed"] == "objects"
        for one in both[0].output.snapshot():  # type: ignore[union-attr]  # it has begun
            sink.apply(one.change)
        assert sink.text() == both[0].text()


def _spelled(told: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """What is told, whatever numbers its holes have."""
    return [(kind, re.sub(rb'hole id="\d+"', b"hole", content)) for kind, content in told]


def test_what_is_put_beside_a_hole_is_told_alone() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=f'<r><b>{LONG}<stream:hole id="7"/><z/></b></r>'.encode()))
    told.feed(Fill(region=7, content=f"<c>{LONG}</c>".encode()))
    told.feed(After(region=8, target=7, content=b"<d/>"))
    for number in range(9, 14):
        beside = (Before, After)[number % 2]
        assert told.feed(beside(region=number, target=7, content=f"<d>{number}</d>".encode())) == ["after"]
    assert told.feed(Replace(region=9, content=b"<d/>")) == ["replace"]
    assert told.feed(Remove(region=10)) == ["remove"]
    assert told.feed(Hide(region=7)) == ["remove"]
    told.feed(Show(region=7))


def test_text_across_the_border_of_a_hole_is_told_with_the_item() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=b'<r><b>x<stream:hole id="1"/>y<c/><stream:hole id="2"/></b></r>'))
    assert told.feed(Fill(region=1, content=b"1")) == ["replace"]
    assert told.feed(Replace(region=1, content=b"<d/>")) == ["replace"]
    assert told.feed(Fill(region=2, content=b"2")) == ["fill"]
    assert told.feed(Replace(region=1, content=b"")) == ["replace"]
    assert told.query.text() == "<b>xy<c/>2</b>"


def test_what_is_in_a_namespace_is_told_with_the_item() -> None:
    told = Told("//*:b")
    told.feed(Fill(region=0, content=b'<r><b xmlns="urn:n"><stream:hole id="1"/><c/></b></r>'))
    assert told.feed(Fill(region=1, content=b'<d xmlns="urn:n"/>')) == ["replace"]


def test_what_goes_with_its_item_is_withdrawn() -> None:
    told = Told("//b")
    told.feed(Fill(region=0, content=b'<r><stream:hole id="1"/></r>'))
    told.feed(Fill(region=1, content=b'<b><c/><stream:hole id="2"/><stream:hole id="3"/></b>'))
    told.feed(Fill(region=2, content=b"<d/>"))
    assert told.feed(Remove(region=1)) == ["remove", "remove"]
    told.feed(Replace(region=1, content=b'<b><c/><stream:hole id="2"/></b>'))
    assert told.query.text() == "<b><c/><d/></b>"


def test_forwarded_holes_go_over_the_wire(tmp_path: Path) -> None:
    query, out = continuous('stream("s")//b'), tmp_path / "t.xml"
    with out.open("wb") as file:
        writer = FragmentWriter(file, None)
        for given in (
            Fill(region=0, content=b'<r><b><c>1</c><stream:hole id="1"/></b></r>'),
            Fill(region=1, content=b'<c>2</c><d><stream:hole id="2"/></d>'),
            Fill(region=2, content=b"<c>3</c>"),
            Before(region=3, target=2, content=b"<c>0</c>"),
        ):
            for made in query.feed(given, "s"):
                writer.write(made)
        writer.write(Eos())
        writer.close()
    assert b"<stream:hole id=" in out.read_bytes()
    assert query.text() == "<b><c>1</c><c>2</c><d><c>0</c><c>3</c></d></b>"
    assert xstreamcast.query('stream("t")//c/string()', streams={"t": out}).to_list() == ["1", "2", "0", "3"]


def test_the_live_view_sees_what_changes_inside_of_an_item() -> None:
    from rich.console import Console

    from xstreamcast.run.continuous.display.live_view import LiveView

    inflow = continuous_many(['stream("s")//b'])
    drawn = io.StringIO()
    view = LiveView(inflow, Console(file=drawn, force_terminal=True, width=60, height=12))
    for change in (
        Fill(region=0, content=b'<r><b><t/><stream:hole id="1"/></b></r>'),
        Fill(region=1, content=b"<c/>"),
    ):
        inflow.feed(change, "s")
        view.changed(0, inflow.queries[0].take(), 0.0)
        view.draw(last=True)
    view.close()
    new, changed = "\x1b[1;32m", "\x1b[1;33m"
    assert f"{new}<b><t/></b>" in drawn.getvalue()
    assert f"{changed}<b><t/><c/></b>" in drawn.getvalue()


# -------------------------------------------------------------------------------------------------------------- the law


def part(random: Random, depth: int, hole: int) -> str:
    """Something with holes in it, beside elements, texts, comments and each other."""
    parts = []
    for n in range(random.choice((0, 1, 2, 3))):
        kind = random.random()
        if kind < 0.45 and depth < 3:
            parts.append(f"<stream:hole id='{10 * hole + random.choice((n + 1, n + 1, 1))}'/>")
        elif kind < 0.6:
            parts.append(random.choice(("x", "y ", "<!--c-->")))
        elif depth < 3:
            name = random.choice("bcs")
            parts.append(f"<{name} n='{random.choice('12')}'>{part(random, depth + 1, hole)}</{name}>")
        else:
            parts.append("<c>1</c>")
    return "".join(parts)


def changes(number: int, count: int) -> list[Change]:
    """A document with fragments inside of others: sent, sent again, removed, hidden, put beside, in any order."""
    random = Random(number)
    made: list[Change] = [
        Fill(region=0, content=f"<r><s>{part(random, 1, 0)}</s><s>{part(random, 0, 0)}</s></r>".encode())
    ]
    for step in range(count):
        region = random.choice((1, 2, 3, 1, 2, 11, 12, 21, 22, 31, 111))
        kind = random.random()
        if kind < 0.08:
            made.append(
                Fill(region=0, content=f"<r><s><t/>{part(random, 0, 0)}</s><s>{part(random, 1, 0)}</s></r>".encode())
            )
        elif kind < 0.75:
            made.append(Replace(region=region, content=part(random, 1 + (region > 9) + (region > 99), region).encode()))
        elif kind < 0.85:
            made.append(Remove(region=region))
        elif kind < 0.92:
            beside = random.choice((Before, After))
            made.append(beside(region=1000 + step, target=region, content=part(random, 3, 0).encode()))
        else:
            made.append(random.choice((Hide, Show))(region=region))
    return made


@pytest.mark.parametrize("text", COPIES)
def test_what_is_told_is_the_answer_whatever_holes_it_copies(text: str) -> None:
    for number in range(4):
        told = Told(text)
        for change in changes(number, 30):
            told.feed(change)
            assert whole(told.query) == told.query.text()


@pytest.mark.parametrize("text", ["//b", "/r", "<x>{ //s, count(//b) }</x>"])
def test_who_reads_an_answer_with_holes_reads_the_answer(text: str) -> None:
    for number in range(3):
        told = Told(text)
        readers = [continuous(f'stream("t"){path}') for path in ("//b", "//c/@n/string()", "//s")]
        last = continuous('count(stream("u")//b), stream("u")//c')
        for step, change in enumerate(changes(number, 24)):
            if step == 4:  # from any moment on
                for reader in readers:
                    reader.listen("t", told.query)
                last.listen("u", readers[0])
            told.feed(change)
            if step >= 4:
                answer = told.query.text()
                for reader in readers:
                    assert reader.text() == scratch(reader.query.text.replace('"t"', '"s"'), answer), answer
                read = readers[0].text()
                assert last.text() == scratch(last.query.text.replace('"u"', '"s"'), read), read


@pytest.mark.parametrize("given", [{"emit": "certain"}, {"emit": "optimistic"}, {"fixed": "*"}], ids=str)
def test_modes_and_what_is_fixed_tell_what_they_show(given: dict[str, Any]) -> None:
    for number, text in enumerate(('stream("s")//b', 'stream("s")/r', '<x>{ stream("s")//s }</x>')):
        query, sink = continuous(text, **given), Materialiser()
        for change in [*changes(number, 30), *[Freeze(region=region) for region in range(4)]]:
            for made in query.feed(change, "s"):
                sink.apply(made)
            assert sink.text() == query.text() == whole(query)


@seed(23)
@settings(max_examples=16 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(streams(), st.sampled_from(["/r", "//a", "//g", "<x>{ //a, //h }</x>", "//a?[now]", "//c/.."]))
def test_versions_and_events_fill_holes_that_are_forwarded(stream: str, path: str) -> None:
    text = path.replace("//", 'stream("s")//').replace("/r", 'stream("s")/r')
    structure = parse_structure(STRUCTURE)
    query, sink, t = continuous(text, structures=structure), Materialiser(), Materialiser(structure)
    for arrival in read_stream(io.BytesIO(stream.encode())):
        if isinstance(arrival.item, Change):
            t.apply(arrival.item)
            for change in query.feed(arrival.item, "s"):
                sink.apply(change)
            assert sink.text() == query.text() == scratch(text, t.text(), t.now)
            assert whole(query) == query.text()

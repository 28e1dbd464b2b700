"""``continuous()``: feeding, asking, listening; several queries on one association; asyncio; clocks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Fill, Freeze, Remove, Replace, from_row
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.query import ContinuousQuery, continuous, continuous_many

ROOM = Fill(region=0, content=b'<r><stream:hole id="1"/><stream:hole id="2"/><stream:hole id="3"/></r>')
ITEMS = [Fill(region=n, content=b"<a>%d</a>" % n) for n in (3, 1, 2)]
TIMED = '<tag id="1" name="r"><tag id="2" name="a" type="event"/></tag>'


def event(day: int) -> Fill:
    time = 1_041_379_200_000_000 + (day - 1) * 86_400_000_000  # of January 2003
    return Fill(region=1, tsid=2, valid_time=time, content=b"<a>%d</a>" % day)


def test_the_public_face_has_it() -> None:
    assert xstreamcast.continuous is continuous
    assert xstreamcast.continuous_many is continuous_many


def test_what_feed_gives_describes_the_answer() -> None:
    query, sink = continuous('stream("s")//a'), Materialiser()
    for change in [ROOM, *ITEMS, Remove(region=1)]:
        for told in query.feed(change):
            sink.apply(told)
        assert sink.text() == query.text() == query.answer().xml()
    assert query.answer().xml() == "<a>2</a><a>3</a>"


def test_many_changes_at_once_are_told_as_one_difference() -> None:
    query = continuous('count(stream("s")//a)')
    query.feed(ROOM)
    made = query.feed_many([*ITEMS, Remove(region=2), Fill(region=2, content=b"<a/>")])
    (change,) = made
    assert isinstance(change, Replace)
    assert change.content == b"3"


def test_rows_have_the_one_schema_and_give_the_changes_back() -> None:
    query = continuous('stream("s")//a', name="out")
    query.inflow.feed_many([ROOM, *ITEMS])
    rows = query.rows(query.take())
    sink = Materialiser()
    for row in rows:
        sink.apply(from_row(row))
    assert sink.text() == "<a>1</a><a>2</a><a>3</a>"
    assert {row["stream"] for row in rows} == {"out"}
    placed = sorted((row["order"], row["content"]) for row in rows if row["order"])
    assert b"".join(content for _, content in placed) == sink.text().encode()


def test_external_variables_are_given() -> None:
    query = continuous('stream("s")//a[. > $least]', variables={"least": 1})
    query.feed_many([ROOM, *ITEMS])
    assert query.text() == "<a>2</a><a>3</a>"


def test_the_answer_may_be_an_error_and_the_query_lives_on() -> None:
    query = continuous('stream("s")//a ! (6 idiv xs:integer(.))')
    query.feed_many([ROOM, *ITEMS])
    query.feed(Replace(region=2, content=b"<a>0</a>"))
    with pytest.raises(XStreamError, match="FOAR0001"):
        query.answer()
    query.feed(Replace(region=2, content=b"<a>6</a>"))
    assert query.answer().to_list() == [6, 1, 2]


def test_a_query_listens_to_another_by_name_from_any_moment_on() -> None:
    first = continuous('stream("s")//a[. > 1]')
    early, late = continuous('count(stream("big")/a)'), continuous('stream("big")/a/string()')
    early.listen("big", first)
    first.feed_many([ROOM, *ITEMS])
    late.listen("big", first)
    assert (early.text(), late.text()) == ("2", "2 3")
    first.feed(Replace(region=1, content=b"<a>7</a>"))
    assert (early.text(), late.text()) == ("3", "7 2 3")
    with pytest.raises(XStreamError, match="listen"):
        first.listen("s", late)


def test_queries_that_share_streams_share_the_table_and_open_a_fragment_once() -> None:
    ordered = 'for $a in stream("s")//a order by $a return $a'
    both = continuous_many(['stream("s")//a', 'count(stream("s")//a)', ordered])
    for change in [ROOM, *ITEMS]:
        both.feed(change)
    assert [query.text() for query in both.queries] == ["<a>1</a><a>2</a><a>3</a>", "3", "<a>1</a><a>2</a><a>3</a>"]
    journals: list[Any] = [query._begun().journal for query in both.queries]
    tables = {id(live.table) for journal in journals for live in journal.live.values()}
    assert tables == {id(both.associations["s"].table)}
    assert both.associations["s"].grove.parsed == 4


def test_the_state_is_told_by_operator() -> None:
    query = continuous('count(stream("s")//a), stream("s")//a[. = "2"]')
    query.feed_many([ROOM, *ITEMS])
    state = query.state()
    assert state["streams"]["s"]["regions"] == 4
    assert [(one["operator"], one["members"]) for one in state["operators"]] == [("count", 3), ("concat", 3)]
    assert state["shown"] == 2


def test_changes_are_followed_in_asyncio() -> None:
    async def source() -> AsyncIterator[Change]:
        for change in [ROOM, *ITEMS]:
            await asyncio.sleep(0)
            yield change

    async def followed(query: ContinuousQuery) -> str:
        sink = Materialiser()
        async for change in query.run(source()):
            sink.apply(change)
        return sink.text()

    assert asyncio.run(followed(continuous('sum(stream("s")//a)'))) == "6"


def test_streams_in_files_are_read_in_asyncio(tmp_path: Path) -> None:
    path = tmp_path / "s.xml"
    path.write_text('<filler id="0"><r><hole id="1"/></r></filler><filler id="1"><a>1</a></filler>')

    async def followed(query: ContinuousQuery) -> list[str]:
        return [change.kind async for change in query.run()]

    query = continuous('stream("s")//a', streams={"s": path})
    assert asyncio.run(followed(query))[-1] == "after"
    assert query.text() == "<a>1</a>"


def test_windows_on_now_follow_the_event_clock() -> None:
    query = continuous('stream("s")//a?[now-P1D,now]/string()', structures=TIMED)
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'))
    told = [query.feed(event(day)) and query.text() for day in (1, 2, 4)]
    assert told == ["1", "1 2", "4"]


def test_a_manual_clock_shows_what_is_to_come_when_its_time_has_come() -> None:
    query = continuous('stream("s")//a/string()', structures=TIMED, clock="manual", now="2003-01-01")
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'))
    query.feed_many([event(1), event(3)])
    assert query.text() == "1"
    query.tick("2003-01-03T00:00:00")
    assert query.text() == "1 3"
    assert not query.recomputed


def test_what_is_too_late_is_reported_and_has_no_part_in_the_answer() -> None:
    odd: list[Diagnostic] = []
    query = continuous('stream("s")//a/string()', structures=TIMED, lateness=86_400, report=odd.append)
    query.feed(Fill(region=0, content=b'<r><stream:hole id="1" tsid="2"/></r>'))
    query.feed_many([event(1), event(5), event(4), event(3)])
    assert query.text() == "1 4 5"
    assert [(one.code, one.severity) for one in odd] == [("XSC0090", "quarantine")]


def test_a_stream_without_a_root_of_its_own_is_answered_too() -> None:
    structure = '<tag><tag id="1" name="quote" type="filler"/></tag>'
    query = continuous('stream("s")/quote/string()', structures=structure)
    query.feed_many([Fill(region=n, tsid=1, content=b"<quote>%d</quote>" % n) for n in (2, 1)])
    assert query.text() == "1 2"
    assert query.state()["followed"] == "columns"
    query.feed(Freeze(region=9))
    assert query.text() == "1 2"
    assert query.recomputed == "a stream has no root element of its own"


def test_what_a_stream_turns_out_to_be_later_is_answered_too() -> None:
    query, sink = continuous('stream("s")/r/a/string()'), Materialiser()
    named = [Fill(region=0, doc="d", content=b"<r><a>x</a></r>"), Remove(region=0)]
    for change in [Fill(region=0, content=b"<r><a>1</a></r>"), *named]:
        for told in query.feed(change):
            sink.apply(told)
    assert 'code="XSC0033"' in sink.text()
    assert query.recomputed


def test_a_structure_without_a_root_may_come_late() -> None:
    query, sink = continuous('stream("s")/quote/string()'), Materialiser()
    structure = parse_structure('<tag><tag id="1" name="quote" type="filler"/></tag>')
    fillers = Fill(region=5, content=b"<x/>"), Fill(region=1, tsid=1, content=b"<quote>1</quote>")
    for item in (*fillers, structure):
        for told in query.feed(item):
            sink.apply(told)
    assert sink.text() == query.text() == "1"


def test_what_is_not_there_is_refused_by_name() -> None:
    unknown: Any = "hasty"
    with pytest.raises(XStreamError, match="hasty"):
        continuous("1", emit=unknown)
    with pytest.raises(XStreamError, match="2 streams"):
        continuous('stream("a"), stream("b")').feed(ROOM)

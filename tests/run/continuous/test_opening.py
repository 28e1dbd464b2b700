"""Only the fragments that a query needs are opened, however they come; and the answer is the same."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from budget import MORE
from hypothesis import HealthCheck, given, seed, settings
from random_streams import STRUCTURE as TAGS
from random_streams import queries, streams

import xstreamcast
from xstreamcast.cast.materialise import Materialiser
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import Change, Fill, Hide, Remove, Replace
from xstreamcast.model.serialise import serialise
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.run.continuous.arrive import inflow, share
from xstreamcast.run.continuous.query import ContinuousQuery
from xstreamcast.run.query import compile
from xstreamcast.run.streams import view_of
from xstreamcast.run.temporal import moment_at
from xstreamcast.wire.fragment import read_stream

STRUCTURE = """<stream:structure xmlns:stream="urn:xstreamcast:stream">
  <tag id="1" name="shop" type="snapshot">
    <tag id="2" name="shelf" type="filler">
      <tag id="3" name="item" type="filler"><tag id="4" name="price" type="snapshot"/></tag>
      <tag id="5" name="note" type="filler"><tag id="6" name="text" type="snapshot"/></tag>
    </tag>
    <tag id="7" name="staff" type="filler"><tag id="8" name="person" type="filler"/></tag>
  </tag>
</stream:structure>"""
ROOM = b'<shop><stream:hole id="1" tsid="2"/><stream:hole id="2" tsid="2"/><stream:hole id="3" tsid="7"/></shop>'
SHELF = (
    b'<shelf n="%d"><stream:hole id="%d" tsid="3"/><stream:hole id="%d" tsid="5"/>'
    b'<stream:hole id="%d" tsid="3"/></shelf>'
)
SHELVES = '<s n="1">2</s><s n="2">2</s>'
CHANGES: list[Change] = [
    Fill(region=0, content=ROOM),
    Fill(region=1, tsid=2, content=SHELF % (1, 10, 11, 12)),
    Fill(region=2, tsid=2, content=SHELF % (2, 20, 21, 22)),
    Fill(region=3, tsid=7, content=b'<staff><stream:hole id="30" tsid="8"/></staff>'),
    Fill(region=10, tsid=3, content=b"<item><price>1</price></item>"),
    Fill(region=11, tsid=5, content=b"<note><text>cheap</text></note>"),
    Fill(region=12, tsid=3, content=b"<item><price>2</price></item>"),
    Fill(region=20, tsid=3, content=b"<item><price>4</price></item>"),
    Fill(region=21, tsid=5, content=b"<note><text>dear</text></note>"),
    Fill(region=22, tsid=3, content=b"<item><price>8</price></item>"),
    Fill(region=30, tsid=8, content=b"<person>Kim</person>"),
]


def watched(text: str, changes: list[Change] = CHANGES, **given: Any) -> ContinuousQuery:
    query = xstreamcast.continuous(text, structures=STRUCTURE, **given)
    for change in changes:
        query.feed(change, "s")
    return query


def counts(query: xstreamcast.ContinuousQuery) -> tuple[int, int, int]:
    stream = query.state()["streams"]["s"]
    return stream["opened"], stream["holders"], stream["skipped"]


@pytest.mark.parametrize(
    ("text", "answer", "opened", "holders", "skipped"),
    [
        ('sum(stream("s")//price)', "15", 7, 3, 4),
        ('stream("s")/shop/staff/person/text()', "Kim", 3, 2, 8),
        ('for $s in stream("s")//shelf return <s>{ $s/@n, count($s/item) }</s>', SHELVES, 7, 1, 4),
        ('count(stream("s")//nobody)', "0", 0, 0, 11),
        ('string(stream("s")/shop)', "1cheap24dear8Kim", 11, 0, 0),
    ],
    ids=["prices", "staff", "shelves", "nobody", "all"],
)
def test_what_a_query_does_not_need_is_not_opened(
    text: str, answer: str, opened: int, holders: int, skipped: int
) -> None:
    query = watched(text)
    assert query.text() == answer
    assert counts(query) == (opened, holders, skipped)
    backwards = watched(text, CHANGES[::-1])
    assert backwards.text() == answer
    assert query.state()["streams"]["s"]["regions"] <= len(CHANGES) - skipped


def test_fragments_are_taken_to_be_in_the_document_where_that_is_assumed() -> None:
    query = watched('stream("s")//item/price/text()', CHANGES[4:], assume="rooted")
    assert query.text() == "1248"
    for change in CHANGES[:4]:
        query.feed(change, "s")
    assert query.text() == "1248"
    assert counts(query) == (4, 0, 7), "neither the shop nor its shelves have been opened"
    query.feed(Replace(region=12, tsid=3, content=b"<item><price>3</price></item>"), "s")
    query.feed(Remove(region=20), "s")
    query.feed(Hide(region=22), "s")
    assert query.text() == "13"


def test_where_a_parent_is_read_it_is_opened_whatever_is_assumed() -> None:
    query = watched('stream("s")//shelf[@n = 2]/item/price/text()', assume="rooted")
    assert query.text() == "48"
    assert counts(query)[0] == 6


def test_a_hole_may_hold_fragments_of_another_tag_than_its_own() -> None:
    late = watched('count(stream("s")//item)')
    late.feed(Fill(region=11, tsid=3, content=b"<item/>"), "s")
    assert late.text() == "5"
    early = watched('count(stream("s")//item)', [Fill(region=11, tsid=3, content=b"<item/>"), *CHANGES[:5]])
    assert early.text() == "2"


def test_what_is_said_of_a_fragment_that_was_passed_over_does_no_harm() -> None:
    query = watched('sum(stream("s")//price)')
    query.feed_many([Hide(region=11), Remove(region=21), Replace(region=11, tsid=5, content=b"<note/>")], "s")
    query.feed(Remove(region=30), "s")
    assert query.text() == "15"
    query.feed(Replace(region=21, tsid=3, content=b"<item><price>16</price></item>"), "s")
    assert query.text() == "31"


def test_queries_that_share_a_stream_open_what_either_needs() -> None:
    both = xstreamcast.continuous_many(['sum(stream("s")//price)', 'stream("s")//text'], structures=STRUCTURE)
    for change in CHANGES:
        both.feed(change, "s")
    assert [query.text() for query in both.queries] == ["15", "<text>cheap</text><text>dear</text>"]
    assert both.associations["s"].skipped == 2


def test_a_structure_that_comes_to_know_more_is_followed() -> None:
    first: Structure = parse_structure(STRUCTURE)
    known = '<tag id="6" name="text" type="snapshot"/>'
    grown = '<tag id="6" name="text" type="snapshot"><tag id="9" name="price" type="snapshot"/></tag>'
    more = parse_structure(STRUCTURE.replace(known, grown))
    query = xstreamcast.continuous('sum(stream("s")//price)')
    query.feed(first, "s")
    for change in CHANGES:
        query.feed(change, "s")
    query.feed(more, "s")
    query.feed(Replace(region=11, tsid=5, content=b"<note><text><price>16</price></text></note>"), "s")
    assert query.text() == "31"


QUERIES = (
    'count(stream("s")//item)',
    'sum(stream("s")//price)',
    'for $i in stream("s")//item where $i/price > 3 return $i/price/text()',
    '<all>{ for $s in stream("s")/shop/shelf return <s n="{ $s/@n }">{ $s/item/price }</s> }</all>',
    '(stream("s")//item)[2]',
    'stream("s")//text/text()',
    'for $i in stream("s")//item order by number($i/price) descending return $i',
)


def written(change: Change) -> str:
    assert isinstance(change, Fill)
    tag = "" if change.tsid is None else f' tsid="{change.tsid}"'
    return f'<stream:filler id="{change.region}"{tag}>{change.content.decode()}</stream:filler>'


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("backwards", [False, True], ids=["in-order", "backwards"])
def test_a_file_gives_what_its_changes_give_one_by_one(text: str, backwards: bool, tmp_path: Path) -> None:
    path = tmp_path / "stream.xml"
    fillers = [written(change) for change in (CHANGES[::-1] if backwards else CHANGES)]
    replaced = '<stream:replace id="12" tsid="3"><item><price>5</price></item></stream:replace>'
    inner = "\n".join([STRUCTURE, *fillers, *fillers[:3], replaced, '<stream:remove id="20"/>'])
    path.write_text(f'<stream:fragments xmlns:stream="urn:xstreamcast:stream">{inner}</stream:fragments>')
    single = xstreamcast.continuous(text)
    for arrival in read_stream(path):
        single.feed(arrival.item, "s")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inflow, "KERNEL_FROM", 0)
        patch.setattr(inflow, "READY_FROM", 0)
        loaded = xstreamcast.continuous(text)
        loaded.load(path, "s")
    assert loaded.text() == single.text()
    assert loaded.state()["streams"]["s"]["skipped"] >= single.state()["streams"]["s"]["skipped"] - 3


@seed(21)
@settings(max_examples=16 * MORE, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(stream=streams(), text=queries())
def test_what_comes_in_batches_gives_what_the_query_gives_on_its_document(stream: str, text: str) -> None:
    arrivals = list(read_stream(io.BytesIO(stream.encode())))
    structure = parse_structure(TAGS)
    whole = Materialiser(structure)
    for arrival in arrivals:
        whole.apply(arrival.item)
    node = view_of(whole.text().encode(), "stream:s")
    query = xstreamcast.continuous(text, structures=structure)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inflow, "KERNEL_FROM", 0)
        patch.setattr(inflow, "READY_FROM", 0)
        patch.setattr(share, "STRETCH_OF", 3)
        query.load(io.BytesIO(stream.encode()), "s")
    expected = shown(lambda: list(compile(text)(streams=lambda _: node, now=moment_at(query.inflow.now))))
    assert shown(lambda: query.answer().items()) == expected
    together = xstreamcast.continuous(text, structures=structure)
    together.feed_many([arrival.item for arrival in arrivals[: len(arrivals) // 2]], "s")
    together.feed_many([arrival.item for arrival in arrivals[len(arrivals) // 2 :]], "s")
    assert shown(lambda: together.answer().items()) == expected


def shown(answer: Callable[[], list[Any]]) -> str:
    """An answer as text; an error is an answer."""
    try:
        return serialise(answer())
    except XStreamError as failure:
        return f"error {failure.code}"

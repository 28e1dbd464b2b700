"""Documents that bring records by a key: what the stream describes is the records as the last document left them."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

import xstreamcast
from xstreamcast.cast import materialise
from xstreamcast.errors import XStreamError
from xstreamcast.feeds import Feed, places
from xstreamcast.model.change import Change, Fill, Remove, Replace
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure
from xstreamcast.wire.fragment import FragmentWriter

ATOM = {"": "http://www.w3.org/2005/Atom"}


def listed(**books: str) -> bytes:
    """A list of books by id."""
    return b"<list>" + b"".join(f'<book id="{k}">{v}</book>'.encode() for k, v in books.items()) + b"</list>"


def described(items: Iterable[Structure | Change]) -> str:
    """T of what a feed tells."""
    out = BytesIO()
    writer = FragmentWriter(out)
    for item in items:
        if isinstance(item, Structure):
            writer.write_structure(item)
        else:
            writer.write(item)
    writer.close()
    return materialise(BytesIO(out.getvalue())).decode()


def told(feed: Feed, *documents: bytes) -> Iterator[Structure | Change]:
    for document in documents:
        yield from feed.changes(BytesIO(document))


def test_a_record_that_comes_again_takes_the_place_of_the_former_one() -> None:
    feed = Feed("/list/book", key="@id")
    items = [*told(feed, listed(a="1", b="2"), listed(c="3", a="9"))]
    assert described(items) == '<list><book id="a">9</book><book id="b">2</book><book id="c">3</book></list>'
    assert feed.counts == {"new": 3, "changed": 1}


def test_nothing_is_told_of_what_is_as_it_was() -> None:
    feed = Feed("/list/book", key="@id")
    list(told(feed, listed(a="1", b="2")))
    assert list(told(feed, listed(b="2", a="1"))) == []


def test_of_whole_documents_what_is_missing_is_gone_and_may_come_back() -> None:
    feed = Feed("/list/book", key="@id", whole=True)
    items = [*told(feed, listed(a="1", b="2"))]
    gone = [*told(feed, listed(b="2"))]
    assert [type(change) for change in gone] == [Remove]
    items += gone
    assert described(items) == '<list><book id="b">2</book></list>'
    items += told(feed, listed(a="1", b="2"))
    assert described(items) == '<list><book id="a">1</book><book id="b">2</book></list>'


def test_removals_are_named_by_the_documents() -> None:
    feed = Feed("/s/r", key="k", removed="/s/gone/k")
    items = [*told(feed, b"<s><r><k>1</k></r><r><k>2</k></r></s>")]
    items += told(feed, b"<s><r><k>3</k></r><gone><k>1</k><k>7</k></gone></s>")
    assert described(items) == "<s><r><k>2</k></r><r><k>3</k></r></s>"
    assert feed.counts["removed"] == 1


def test_with_a_time_records_have_a_history() -> None:
    feed = Feed("/feed/entry", key="id", time="updated", whole=True, namespaces=ATOM)
    entry = "<entry><id>1</id><title>{}</title><updated>2026-01-01T{}:00:00Z</updated></entry>"
    start = '<feed xmlns="http://www.w3.org/2005/Atom">'
    items = [*told(feed, f"{start}{entry.format('A', '08')}</feed>".encode())]
    items += told(feed, f"{start}{entry.format('B', '09')}</feed>".encode())
    query = xstreamcast.continuous(
        'declare default element namespace "http://www.w3.org/2005/Atom"; '
        'for $e in stream("news")//entry?[now-PT2H, now] return concat($e/title, " ", vtFrom($e), " ", vtTo($e))'
    )
    query.feed_many(items)
    assert query.answer().to_list() == [
        "A 2026-01-01T08:00:00Z 2026-01-01T09:00:00Z",
        "B 2026-01-01T09:00:00Z 2026-01-01T09:00:00Z",
    ]


def test_a_time_without_a_key_makes_events_and_equal_ones_stay_two() -> None:
    feed = Feed("/m", time="@at")
    items = [*told(feed, b'<m at="2026-01-01">x</m>\n<m at="2026-01-01">x</m><m at="2026-01-02">y</m>')]
    assert described(items).count("<m ") == 3
    assert [change.region for change in items if isinstance(change, Fill)] == [0, 1, 1, 1]


def test_without_key_and_time_every_record_is_a_new_one() -> None:
    feed = Feed("/m")
    assert described(told(feed, b"<m/><m/>", b"<m/>")) == "<records><m/><m/><m/></records>"


def test_messages_that_are_no_good_are_put_aside_and_the_others_are_not() -> None:
    heard: list[Diagnostic] = []
    feed = Feed("/m", key="@k", report=heard.append)
    items = [*told(feed, b'<m k="1"/><m/>junk<m k="2"/>')]
    assert described(items) == '<records><m k="1"/><m k="2"/></records>'
    assert {diagnostic.code for diagnostic in heard} == {"XSC0001", "XSC0122"}
    assert feed.counts["aside"] == len(heard) == 2


@pytest.mark.parametrize(("key", "time"), [("xs:integer(k)", None), ("k", "xs:integer(k) ! xs:date('2026-01-01')")])
def test_a_record_of_which_an_expression_makes_nothing_is_put_aside(key: str, time: str | None, tmp_path: Path) -> None:
    heard: list[Diagnostic] = []
    feed = Feed("/s/r", key=key, time=time, report=heard.append)
    document = tmp_path / "d.xml"
    document.write_bytes(b"<s><r><k>1</k></r><r><k>two</k></r><r><k>3</k></r></s>")
    taken = [item.content for item in feed.changes(document) if isinstance(item, Fill)]
    assert taken[-2:] == [b"<r><k>1</k></r>", b"<r><k>3</k></r>"]
    assert [str(one) for one in heard] == [f'quarantine FORG0001 {document} "two" is not an xs:integer, in r\n  two']
    assert feed.counts == {"new": 2, "aside": 1}


def test_a_document_that_cannot_be_read_leaves_no_trace(tmp_path: Path) -> None:
    feed = Feed("/list/book", key="@id")
    items = [*told(feed, listed(a="1"))]
    document = tmp_path / "torn.xml"
    document.write_bytes(listed(b="<new/>")[:-3])
    with pytest.raises(XStreamError, match="XSC0001"):
        list(feed.changes(document))
    assert feed.counts == {"new": 1}
    assert (feed.has_read(document), feed.has_refused(document)) == (False, True)
    items += told(feed, listed(c="<new/>"))
    assert described(items) == '<list><book id="a">1</book><book id="c"><new/></book></list>'
    assert sum(isinstance(item, Structure) for item in items) == 2
    document.write_bytes(listed(b="2"))
    assert not feed.has_refused(document)


def test_a_time_that_is_none_puts_the_record_aside() -> None:
    heard: list[Diagnostic] = []
    feed = Feed("/m", time="@at", report=heard.append)
    assert described(told(feed, b'<m at="yesterday"/><m at="2026-01-01"/>')).count("<m") == 1
    assert [diagnostic.code for diagnostic in heard] == ["XSC0010"]


def test_the_structure_has_all_tags_before_they_come() -> None:
    feed = Feed("/s/r", key="k")
    items = [*told(feed, b"<s><r><k>1</k></r></s>", b"<s><r><k>2</k><x><x><y/></x></x></r></s>")]
    structures = [item for item in items if isinstance(item, Structure)]
    assert len(structures) == 2
    assert structures[1].only_adds_to(structures[0])
    assert structures[1].expand("//x/x/y")  # an element inside one of the same name is that tag again
    last = items.index(structures[1])
    assert all(b"<x>" not in getattr(item, "content", b"") for item in items[:last])
    query = xstreamcast.continuous('count(stream("s")//y), count(stream("s")/s/r)')
    query.feed_many(items)
    assert query.text() == "1 2"


def test_any_order_of_the_changes_gives_the_same_document() -> None:
    feed = Feed("/list/book", key="@id", whole=True)
    items = [*told(feed, listed(a="1", b="2"), listed(b="3", c="4"), listed(c="5", b="3"))]
    changes = [item for item in items if isinstance(item, Change)]
    structures = [item for item in items if isinstance(item, Structure)]
    assert described([*structures, *reversed(changes)]) == described(items)


def test_records_are_in_pages_so_that_one_more_costs_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "PAGE", 3)
    feed = Feed("/list/book", key="@id")
    items: list[Structure | Change] = []
    for number in range(40):
        fresh = [*told(feed, listed(**{f"b{number}": "x"}))]
        assert len([change for change in fresh if isinstance(change, Fill | Replace)]) <= 4
        assert all(change.content.count(b"stream:hole") <= 5 for change in fresh if isinstance(change, Fill | Replace))
        items += fresh
    assert described(items) == listed(**{f"b{number}": "x" for number in range(40)}).decode()


def test_names_in_namespaces_stand_in_elements_of_their_namespaces() -> None:
    feed = Feed("/a/q:b", key="@k", namespaces={"q": "urn:q"})
    assert described(told(feed, b'<a><b xmlns="urn:q" k="1"/></a>')) == '<a><b xmlns="urn:q" k="1"/></a>'


# ------------------------------------------------------------------------------------------------------------ state


def test_another_run_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    first = Feed("/list/book", key="@id", state=tmp_path / "state")
    document = tmp_path / "1.xml.gz"
    document.write_bytes(gzip.compress(listed(a="1", b="2")))
    items = [*first.changes(document)]
    first.close()
    second = Feed("/list/book", key="@id", state=tmp_path / "state")
    assert second.begun
    assert second.has_read(document)
    items += told(second, listed(b="3", c="4"))
    assert described(items) == '<list><book id="a">1</book><book id="b">3</book><book id="c">4</book></list>'
    assert sum(isinstance(item, Structure) for item in items) == 1


def test_a_document_counts_whole_or_not_at_all(tmp_path: Path) -> None:
    feed = Feed("/list/book", key="@id", state=tmp_path / "state")
    document = tmp_path / "torn.xml"
    document.write_bytes(listed(a="1")[:-3])
    with pytest.raises(XStreamError, match="XSC0001"):
        list(feed.changes(document))
    assert not feed.has_read(document)
    document.write_bytes(listed(a="1"))
    assert described(feed.changes(document)) == '<list><book id="a">1</book></list>'


def test_what_nobody_took_is_not_remembered(tmp_path: Path) -> None:
    feed = Feed("/list/book", key="@id", state=tmp_path / "state")
    document = tmp_path / "1.xml"
    document.write_bytes(listed(a="1"))
    changes = feed.changes(document)
    next(changes)
    changes.close()
    assert not feed.has_read(document)
    assert feed.known.record("a") is None


def test_the_state_of_another_feed_is_refused(tmp_path: Path) -> None:
    Feed("/list/book", key="@id", state=tmp_path / "state").close()
    with pytest.raises(XStreamError, match="XSC0121"):
        Feed("/list/book", key="title", state=tmp_path / "state")
    (tmp_path / "other").write_bytes(b"no database, " * 100)
    with pytest.raises(XStreamError, match="XSC0006"):
        Feed("/list/book", state=tmp_path / "other")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"record": "//book"}, "XSC0120"),
        ({"record": "/list/book[1]"}, "XSC0120"),
        ({"record": "/a/p:b"}, "XPST0081"),
        ({"record": "/list/book", "key": "@id +"}, "XPST0003"),
        ({"record": "/list/book", "whole": True}, "XSC0120"),
    ],
    ids=["any-depth", "predicate", "prefix", "syntax", "whole-without-key"],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_read(given: dict[str, Any], code: str) -> None:
    with pytest.raises(XStreamError, match=code):
        Feed(**given)

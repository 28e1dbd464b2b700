"""Records that stand at several paths: a document and those that change it need not have the same elements."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from test_feed import described, told

import xstreamcast
from xstreamcast.errors import XStreamError
from xstreamcast.feeds import Feed
from xstreamcast.model.change import Remove, Replace
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure

OSM = "/osm/node|/osmChange/*/node"
BASE = b'<osm><bounds/><node id="1">a</node><node id="2">b</node><way id="1">w</way></osm>'
DIFF = (
    b'<osmChange><modify><node id="2">B</node></modify><create><node id="3">c</node></create>'
    b'<delete><node id="1"/></delete></osmChange>'
)


@pytest.mark.parametrize(
    ("record", "removed"),
    [
        (OSM, "/osmChange/delete/node"),
        (OSM, "/osmChange/delete/node/@id"),
        (OSM, "//delete/node"),
        (OSM, "/osmChange//node[not(text())]"),
        (OSM, '/osmChange/*/node[parent::delete] | /osmChange/gone/node[@id = "7"]'),
        (OSM, "/osmChange/gone/@id, /osmChange/delete/node"),
        ("/osm/node | /osmChange/modify/node | /osmChange/create/node", "/osmChange/delete/node"),
        ("/osm/node|/*/*/node", "/*/delete/node"),
        ("/*:osm/*:node|/*:osmChange/*/*:node", "/osmChange/delete/node"),
    ],
)
def test_a_base_and_its_changes_have_their_records_at_different_paths(record: str, removed: str) -> None:
    heard: list[Diagnostic] = []
    feed = Feed(record, key="@id", removed=removed, report=heard.append)
    items = [*told(feed, BASE, DIFF)]
    assert described(items) == '<osm><node id="2">B</node><node id="3">c</node></osm>'
    assert feed.counts["removed"] == 1
    assert heard == []


def test_a_record_that_is_removed_and_comes_again_in_one_document_is_there() -> None:
    feed = Feed(OSM, key="@id", removed="/osmChange/delete/node")
    undeleted = b'<osmChange><delete><node id="1"/></delete><modify><node id="1">A</node></modify></osmChange>'
    items = [*told(feed, BASE, undeleted)]
    assert described(items) == '<osm><node id="1">A</node><node id="2">b</node></osm>'


def test_records_of_several_names_are_told_with_the_tag_of_each() -> None:
    feed = Feed("/osm/node|/osm/way|/osmChange/*/*", key="concat(name(), @id)", removed="/osmChange/delete/*")
    items = [*told(feed, BASE, DIFF), *told(feed, b'<osmChange><modify><way id="1">W</way></modify></osmChange>')]
    assert described(items) == '<osm><node id="2">B</node><way id="1">W</way><node id="3">c</node></osm>'
    (structure,) = [item for item in items if isinstance(item, Structure)]
    assert {tag.name: tag.type for tag in structure.tags.values()} == {
        "osm": "snapshot", "node": "filler", "way": "filler"
    }  # fmt: skip
    names = {number: tag.name for number, tag in structure.tags.items()}
    assert [names[item.tsid or 0] for item in items if isinstance(item, Replace | Remove) and item.tsid] == [
        "node", "node", "way"
    ]  # fmt: skip
    nodes = xstreamcast.continuous('stream("osm")/osm/node/@id/string()')
    nodes.feed_many(items)
    assert nodes.answer().to_list() == ["2", "3"]
    assert nodes.recomputed == ""


def test_names_that_no_path_says_are_announced_as_they_come() -> None:
    feed = Feed("/osm/*", key="concat(name(), @id)")
    first, second = [*told(feed, BASE)], [*told(feed, b'<osm><relation id="1"/></osm>')]
    assert described([*first, *second]) == (
        '<osm><bounds/><node id="1">a</node><node id="2">b</node><way id="1">w</way><relation id="1"/></osm>'
    )
    announced = [
        sorted(tag.name for tag in one.tags.values()) for one in [*first, *second] if isinstance(one, Structure)
    ]
    assert announced == [["bounds", "node", "osm", "way"], ["bounds", "node", "osm", "relation", "way"]]


def test_an_element_around_the_records_that_has_any_name_is_called_records() -> None:
    assert described(told(Feed("/*/m"), b"<a><m/></a>", b"<b><m/></b>")) == "<records><m/><m/></records>"
    assert described(told(Feed("/in/*/m"), b"<in><x><m/></x></in>")) == "<in><records><m/></records></in>"
    assert described(told(Feed("/m|/n"), b"<m/><n/><m/>")) == "<records><m/><n/><m/></records>"
    assert described(told(Feed("/m|/batch/m"), b"<m/><batch><m>2</m></batch>")) == "<records><m/><m>2</m></records>"


def test_versions_of_a_record_whose_name_changes_follow_each_other() -> None:
    feed = Feed("/s/a|/s/b", key="@k", time="@at")
    items = [*told(feed, b'<s><a k="1" at="2026-01-01"/></s>', b'<s><b k="1" at="2026-01-02"/></s>')]
    items += told(feed, b'<s><a k="2" at="2026-01-03"/></s>')
    query = xstreamcast.continuous('stream("s")/s/*?[2026-01-01, now]/concat(name(), @k, " ", vtFrom(.), " ", vtTo(.))')
    query.feed_many(items)
    assert query.answer().to_list() == [
        "a1 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z",
        "b1 2026-01-02T00:00:00Z 2026-01-03T00:00:00Z",
        "a2 2026-01-03T00:00:00Z 2026-01-03T00:00:00Z",
    ]


def test_in_a_large_file_that_is_scanned_it_is_the_same(tmp_path: Path) -> None:
    base, diff = tmp_path / "base.osm", tmp_path / "diff.osc"
    node = '<node id="{}" lat="53.5451" lon="9.9661"><tag k="name" v="{}"/></node>\n'
    base.write_text(f"<osm>{''.join(node.format(n, 'old') for n in range(70_000))}</osm>")
    parts = (("delete", range(0, 70_000, 2)), ("modify", range(1, 70_000, 2)), ("create", range(70_000, 70_010)))
    changes = "".join(f"<{part}>{''.join(node.format(n, part) for n in ids)}</{part}>" for part, ids in parts)
    diff.write_text(f"<osmChange>{changes}</osmChange>")
    assert min(base.stat().st_size, diff.stat().st_size) > 4 << 20
    assert xstreamcast.explain(Feed(OSM, key="@id", removed="//delete/node").records.query.text).passes == 1
    feed = Feed(OSM, key="@id", removed="/osmChange/delete/node")
    for _ in feed.changes(base):
        pass
    assert feed.counts == {"new": 70_000}
    for _ in feed.changes(diff):
        pass
    assert feed.counts == {"new": 70_010, "changed": 35_000, "removed": 35_000}


@pytest.mark.parametrize("removed", ["/s/gone/r[1]", "/s/r[last()]", "/s/r[@n + 1]"])
def test_records_that_are_gone_are_not_chosen_by_their_position(removed: str) -> None:
    with pytest.raises(XStreamError, match=r"XSC0120 .* chooses records by position"):
        Feed("/s/r", key="@k", removed=removed)


@pytest.mark.parametrize("path", ["//node", "/a|", "/a/b[1]", "/a/@b", "|/a", "/a/**"])
def test_what_is_no_path_to_records_is_refused(path: str) -> None:
    with pytest.raises(XStreamError, match="XSC0120"):
        Feed(path)


def test_a_removal_without_a_key_or_with_an_error_for_one_is_put_aside() -> None:
    heard: list[Diagnostic] = []
    feed = Feed("/s/r", key="xs:integer(@k)", removed="/s/gone/r, /s/keys/k", report=heard.append)
    list(told(feed, b'<s><r k="1"/></s>'))
    list(told(feed, b'<s><gone><r k="x"/><r/></gone><r k="1"/><keys><k/></keys></s>'))
    assert [(one.code, one.message) for one in heard] == [
        ("FORG0001", '"x" is not an xs:integer, in a removal'),
        ("XSC0122", "a removal without a key"),
        ("XSC0122", "a removal without a key"),
    ]
    assert feed.counts == {"new": 1, "same": 1, "aside": 3}


def test_every_document_without_a_record_is_warned_of(tmp_path: Path) -> None:
    heard: list[Diagnostic] = []
    feed = Feed("/osm/node", key="@id", removed="/osmChange/delete/node/@id", report=heard.append)
    diff, atom = tmp_path / "diff.osc", tmp_path / "news.xml"
    diff.write_bytes(DIFF)
    atom.write_bytes(b'<a:osm xmlns:a="urn:atom"><a:node id="1"/></a:osm>')
    items = [*told(feed, BASE), *feed.changes(diff), *feed.changes(atom), *told(feed, BASE)]
    assert described(items) == '<osm><node id="1">a</node><node id="2">b</node></osm>'
    assert [str(one) for one in heard] == [
        f"warning XSC0123 {diff} there is no record /osm/node in it; its root is osmChange",
        f"warning XSC0123 {atom} there is no record /osm/node in it; its root is osm, in the namespace urn:atom",
    ]
    assert feed.counts["aside"] == 0


def test_messages_that_are_no_records_are_warned_of() -> None:
    heard: list[Diagnostic] = []
    feed = Feed("/m", report=heard.append)
    assert described(told(feed, b"<m/><n/><m/>")) == "<records><m/><m/></records>"
    assert [one.message for one in heard] == ["there is no record /m in it; its root is n"]
    assert list(told(feed, b"")) == []
    assert [one.message for one in heard[1:]] == ["there is no record /m in it"]


def test_a_state_of_before_records_had_tags_of_their_own_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "feed.state"
    feed = Feed("/s/r", key="@k", removed="/s/gone", state=path)
    items = [*told(feed, b'<s><r k="1"/><r k="2"/></s>')]
    feed.close()
    with sqlite3.connect(path) as books:  # as they were
        books.executescript(
            "CREATE TABLE old (key TEXT PRIMARY KEY, number INTEGER, digest BLOB, seen INTEGER) WITHOUT ROWID;"
            "INSERT INTO old SELECT key, number, digest, seen FROM record; DROP TABLE record;"
            "ALTER TABLE old RENAME TO record;"
        )
        (said,) = books.execute("SELECT value FROM said WHERE what = 'feed'").fetchone()
    books.close()
    assert said == "xstreamcast feed 1: (('s', 'r'), '@k', None, '/s/gone', False)"
    feed = Feed("/s/r", key="@k", removed="/s/gone", state=path)
    last = [*told(feed, b'<s><r k="3"/><gone>1</gone></s>')]
    assert [item.tsid for item in last if isinstance(item, Remove)] == [2]
    assert described([*items, *last]) == '<s><r k="2"/><r k="3"/></s>'

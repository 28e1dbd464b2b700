"""A feed on Spark: after each micro-batch the answer is that of the embedded feed over the same documents."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from xstreamcast import Feed
from xstreamcast.errors import XStreamError
from xstreamcast.model.change import ROW, Change
from xstreamcast.model.structure import Structure
from xstreamcast.run.continuous.query import continuous as embedded
from xstreamcast.spark.motion import feed as motion_feed
from xstreamcast.spark.motion.feed import FeedSource, fed, feed
from xstreamcast.spark.motion.rows import item_of

PUBMED = "/set/article"
JOURNALS = """for $a in stream("pubmed")//article
group by $journal := string($a/journal) order by $journal
return <journal articles="{count($a)}">{ $journal, string-join($a/@id, " ") }</journal>"""
OSM = "/osm/node|/osmChange/*/node"
NODES = 'for $n in stream("osm")/osm/node order by $n/@id return <node id="{$n/@id}">{ string($n/@v) }</node>'


def articles(*given: tuple[int, str], gone: tuple[int, ...] = ()) -> bytes:
    inside = "".join(
        f'<article id="{id}"><pmid>{id}</pmid><journal>{journal}</journal></article>' for id, journal in given
    )
    return f"<set>{inside}{''.join(f'<deleted>{id}</deleted>' for id in gone)}</set>".encode()


class Books:
    """The state of the operator in memory; a copy of it is what a batch begins with."""

    def __init__(self) -> None:
        self.saved: str | None = None
        self.parts: dict[int, bytes] = {}

    def copy(self) -> Books:
        made = Books()
        made.saved, made.parts = self.saved, dict(self.parts)
        return made

    def head(self) -> str | None:
        return self.saved

    def put_head(self, head: str) -> None:
        self.saved = head

    def part(self, number: int) -> bytes:
        return self.parts[number]

    def put_part(self, number: int, blob: bytes) -> None:
        self.parts[number] = blob

    def drop_part(self, number: int) -> None:
        del self.parts[number]


def spec(record: str, **given: Any) -> FeedSource:
    return feed(record, source="nowhere", **given).spec


def rows_of(asked: FeedSource, books: Books, documents: list[bytes]) -> list[dict[str, Any]]:
    """What a batch tells."""
    given = [(f"{number}", None, document) for number, document in enumerate(documents)]
    return [dict(zip(ROW, row, strict=True)) for row in fed("s", asked, books, given)]


@pytest.mark.parametrize(
    "asked", [{"key": "@id", "removed": "/r/gone"}, {"key": "@id", "time": "@t"}, {"time": "@t"}, {},
              {"key": "@id", "whole": True}], ids=str,
)  # fmt: skip
def test_batches_of_documents_tell_what_the_embedded_feed_tells(
    asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(motion_feed, "_FEW", 5)  # so that the log is written anew, in several parts
    monkeypatch.setattr(motion_feed, "_PARTS", 4)
    draw = Random(7)
    documents = []
    for number in range(60):
        inside = ""
        for _ in range(draw.randrange(5)):
            name = draw.choice("abc")
            inside += f'<e id="{draw.randrange(12)}" t="2020-01-01T00:{number:02}:00">'
            inside += f"<{name}>{draw.randrange(3)}</{name}></e>"
        gone = "".join(f"<gone>{draw.randrange(12)}</gone>" for _ in range(draw.randrange(2)))
        documents.append(f"<r>{inside}{gone}</r>".encode())
    ours = Feed("/r/e", report=lambda _: None, **asked)
    expected = [item for document in documents for item in ours.changes(BytesIO(document))]
    source, books = spec("/r/e", **asked), Books()
    found: list[dict[str, Any]] = []
    while documents:
        size = draw.randrange(1, 9)
        batch, documents = documents[:size], documents[size:]
        lost, elsewhere = books.copy(), books.copy()
        told = rows_of(source, lost, batch)
        assert rows_of(source, books, batch) == told  # … by a worker that has books of what was not committed
        motion_feed._FEEDS.clear()
        motion_feed._JOURNALS.clear()
        assert rows_of(source, elsewhere, batch) == told  # … and by one that has none
        assert elsewhere.parts == books.parts
        found += told
    assert len(books.parts) < 14
    items = [item_of(row) for row in found if row["change"] != "quarantine"]
    assert items == expected
    changes = [row["seq"] for row in found if row["change"] not in ("quarantine", "structure")]
    assert changes == list(range(1, len(changes) + 1))


def test_a_document_that_is_not_well_formed_is_put_aside_as_a_whole() -> None:
    source, books = spec(PUBMED, key="pmid"), Books()
    good = articles((1, "Bats"), (2, "Owls"))
    rows = rows_of(source, books, [good, articles((2, "Bats"), (3, "Cats"))[:-9], articles((3, "Dogs"))])
    (aside,) = [row for row in rows if row["change"] == "quarantine"]
    assert json.loads(aside["content"])["code"] == "XSC0001"
    ours = Feed(PUBMED, key="pmid")
    expected = [item for document in (good, articles((3, "Dogs"))) for item in ours.changes(BytesIO(document))]
    assert [item_of(row) for row in rows if row is not aside] == expected
    assert any(isinstance(item, Change) for item in expected)
    assert any(isinstance(item, Structure) for item in expected)


def test_the_books_of_another_feed_are_refused() -> None:
    books = Books()
    rows_of(spec(PUBMED, key="pmid"), books, [articles((1, "Bats"))])
    with pytest.raises(XStreamError, match="XSC0121"):
        rows_of(spec(PUBMED, key="@id"), books, [articles((1, "Bats"))])


def test_what_is_wrong_with_a_feed_is_said_at_once() -> None:
    with pytest.raises(XStreamError, match="XSC0120"):
        feed(PUBMED, source="folder", whole=True)
    with pytest.raises(XStreamError, match="XPST0003"):
        feed(PUBMED, source="folder", key="pmid[")


def test_a_document_that_is_gone_or_another_stops_the_query(tmp_path: Path) -> None:
    source, books = spec(PUBMED, key="pmid"), Books()
    file = tmp_path / "one more.xml"
    with pytest.raises(XStreamError, match="XSC0006"):
        list(fed("s", source, books, [(file.as_uri(), 10, None)]))
    file.write_bytes(articles((1, "Bats")))
    with pytest.raises(XStreamError, match="XSC0063"):
        list(fed("s", source, books, [(file.as_uri(), 10, None)]))
    assert len(list(fed("s", source, books, [(file.as_uri(), file.stat().st_size, None)]))) == 5


# ----------------------------------------------------------------------------------------------------------- on Spark


def shown(motion: Any, checkpoint: Path) -> list[str]:
    """The answers after each batch, until all that is there has been taken in."""
    seen: list[str] = []
    with motion.start(
        lambda answers: seen.append(answers.queries[0].text()), checkpoint=checkpoint, available_now=True
    ) as running:
        assert running.wait(300)
    return seen


def test_folders_of_documents_over_a_restart(spark: Any, tmp_path: Path) -> None:
    from xstreamcast.spark import continuous
    from xstreamcast.spark import feed as public

    baseline, updates = tmp_path / "baseline", tmp_path / "updates"
    baseline.mkdir()
    updates.mkdir()
    asked: dict[str, Any] = {"key": "pmid", "removed": "/set/deleted"}
    query = embedded(JOURNALS, feed=Feed(PUBMED, report=lambda _: None, **asked))
    runs = [
        {
            baseline / "1.xml": articles((1, "Bats"), (2, "Bats"), (3, "Owls")),
            baseline / "2.xml": articles((4, "Owls"), (2, "Cats")),
        },
        {updates / "a.xml": articles((5, "Bats"), gone=(1,)), updates / "b.xml": articles((3, "Cats"))[:-9]},
        {updates / "c.xml": articles((1, "Owls"), (2, "Bats"), gone=(4, 77))},
    ]
    for documents in runs:
        for path, document in documents.items():
            hidden = path.with_name(f".{path.name}")
            hidden.write_bytes(document)
            hidden.rename(path)
        source = public(PUBMED, source=[baseline, updates], **asked)
        motion = continuous(spark, JOURNALS, {"pubmed": source}, options={"maxFilesPerTrigger": "5"})
        assert "  feed       pubmed: transformWithState" in motion.plan()
        seen = shown(motion, tmp_path / "state")
        query.feed_xml([path for path in documents if path.name != "b.xml"])  # which is not well-formed
        assert seen == [query.text()]
    assert query.text().count("articles") == 2


def test_a_frame_of_documents_with_several_paths_to_records(spark: Any, tmp_path: Path) -> None:
    from xstreamcast.spark import continuous
    from xstreamcast.spark import feed as public

    documents = [
        '<osm><node id="1" v="a"/><node id="2" v="b"/></osm>',
        '<osmChange><modify><node id="1" v="c"/></modify><delete><node id="2" v="b"/></delete></osmChange>',
        '<osmChange><create><node id="3" v="d"/></create></osmChange>',
        '<osmChange><delete><node id="1" v="c"/></delete><create><node id="2" v="e"/></create></osmChange>',
    ]
    asked: dict[str, Any] = {"key": "@id", "removed": "/osmChange/delete/node"}
    query = embedded(NODES, feed=Feed(OSM, **asked))
    come = tmp_path / "come"
    come.mkdir()
    for number in (0, 2):
        two = list(enumerate(documents))[number : number + 2]
        lines = [json.dumps({"content": text, "seq": seq}) for seq, text in reversed(two)]
        (come / f"{number}.json").write_text("\n".join(lines))
        frame = spark.readStream.schema("content string, seq long").json(str(come))
        seen = shown(continuous(spark, NODES, {"osm": public(OSM, source=frame, **asked)}), tmp_path / "state")
        query.feed_xml([text.encode() for _, text in two])
        assert seen == [query.text()]
    assert query.text() == '<node id="2">e</node><node id="3">d</node>'
    with pytest.raises(XStreamError, match="XSC0068"):
        continuous(spark, NODES, {"osm": public(OSM, source=frame.drop("seq"), **asked)})

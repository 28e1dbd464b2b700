"""One document is cut anywhere, and what its ranges give together is what the whole gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rest_samples import IDS, NASTY, document_of, open_tags

from xstreamcast.errors import XMLError
from xstreamcast.spark.rest.document_reader import ColumnReader
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.indexing import forget_seams, planned, seams_of, summary_of
from xstreamcast.spark.rest.ranges import Asked, range_batches
from xstreamcast.spark.rest.seams import combined

SIZE = len(NASTY.encode())
SUBSET = """[<!ENTITY e "<![CDATA[]]>"><!-- <r id="94"> ]> --><?pi <r> ]> ?><!ENTITY f '<r id="93"/>'>]"""
COLUMNS = {
    "id": "@id as xs:integer?",
    "text": ". as xs:string",
    "inner": ".//r/@id as xs:string*",
    "words": "w as xs:string*",
    "around": "ancestor::r/@id as xs:string*",
    "k": "ancestor::s/@k as xs:string?",
}


def reader(document: Document, record: str = "//r", columns: dict[str, str] | None = None, **more: str) -> ColumnReader:
    options = {
        "path": document.path,
        "record": record,
        "columns": json.dumps(columns or COLUMNS),
        "namespaces": json.dumps({"": "urn:d", "p": "urn:p"}),
        "offset": "true",
        "xml": "true",
        **more,
    }
    return ColumnReader(options, None, None)


def rows(document: Document, step: int, **more: Any) -> list[dict[str, Any]]:
    made = reader(document, partitionBytes=str(step), **more)
    batches = [batch for partition in made.partitions() for batch in made.read(partition)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return document_of(tmp_path_factory.mktemp("nasty"), NASTY, "nasty.xml")


@pytest.mark.parametrize("first", range(1, 17))
def test_seams_are_tags_and_what_is_open_before_them_whatever_their_distance(nasty: Document, first: int) -> None:
    known = open_tags(NASTY)
    for step in range(first, SIZE + 1, 16):
        for seam in seams_of(nasty, step):
            assert [each.tag for each in seam.open] == known[seam.offset]
    forget_seams()


def test_one_cut_at_any_byte_is_the_next_tag_and_what_is_open_before_it(nasty: Document) -> None:
    known = open_tags(NASTY)
    root = min(known)
    for cut in range(root + 1, SIZE):
        summaries = [summary_of((nasty, root, cut)), summary_of((nasty, cut, SIZE))]
        seams = combined([cut], SIZE, root, summaries, lambda at, end: summary_of((nasty, at, end)))
        following = min((offset for offset in known if offset >= cut), default=None)
        assert [seam.offset for seam in seams] == [following] * (following is not None)
        assert all([each.tag for each in seam.open] == known[seam.offset] for seam in seams)


def test_a_seam_comes_about_every_so_many_bytes(nasty: Document) -> None:
    tags = [offset for offset, around in open_tags(NASTY).items() if around]
    found = [seam.offset for seam in seams_of(nasty, 1)]
    assert found == tags


@pytest.mark.parametrize("first", range(1, 17))
def test_partitions_of_every_size_give_the_same_rows(nasty: Document, first: int) -> None:
    whole = rows(nasty, SIZE)
    assert [row["id"] for row in whole] == IDS
    for step in range(first, SIZE + 1, 16):
        assert rows(nasty, step) == whole, step
    forget_seams()


def test_rows_have_what_the_elements_have(nasty: Document) -> None:
    first, second, *_, tenth, last = rows(nasty, 7)
    assert first["text"] == 'xt1<r id="98">]]t2'
    assert (first["inner"], second["around"], first["k"]) == (["2"], ["1"], "a>b")
    assert (tenth["words"], last["text"]) == (["long&"] * 9, "")
    assert first["xml"].startswith('<r id="1"')
    data = NASTY.encode()
    for row in (first, second, tenth, last):
        raw = row["xml"].encode()
        assert data[row["offset"] : row["offset"] + len(raw)] == raw


@pytest.mark.parametrize("step", [1, 9, 40, 301])
def test_a_record_that_is_the_root_is_one_row(nasty: Document, step: int) -> None:
    (row,) = rows(nasty, step, record="/s", columns={"ids": ".//r/@id as xs:integer*"})
    assert row["ids"] == [each for each in IDS if each]


@pytest.mark.parametrize("step", [3, 50, 100_000])
def test_counts_of_ranges_add_up(nasty: Document, step: int) -> None:
    from xstreamcast.scan.path import parse_path

    asked = Asked((), counts=(parse_path("//@id"), parse_path("//*")))
    totals = [0, 0]
    for (part,) in planned([nasty], step):
        *_, last = range_batches(part, asked)
        totals = [sum(pair) for pair in zip(totals, last.counts, strict=True)]
    assert totals == [11, 36]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("packed.xml.gz", gzip.compress(NASTY.encode(), mtime=0)),
        ("wide.xml", ("\ufeff" + NASTY.replace('"1.0"', '"1.0" encoding="utf-16"')).encode("utf-16-le")),
        ("subset.xml", NASTY.replace('SYSTEM "x.dtd"', SUBSET).replace("<x>", "<x>&e;").encode()),
    ],
    ids=["packed", "wide", "subset"],
)
def test_what_cannot_be_cut_is_read_as_one(tmp_path: Path, nasty: Document, name: str, content: bytes) -> None:
    document = document_of(tmp_path, content, name)
    assert seams_of(document, 10) == []
    same = ("id", "text", "inner", "words", "around", "k")
    assert [[row[key] for key in same] for row in rows(document, 10)] == [
        [row[key] for key in same] for row in rows(nasty, 10)
    ]


def test_a_byte_order_mark_does_not_keep_a_document_from_being_cut(tmp_path: Path, nasty: Document) -> None:
    document = document_of(tmp_path, "\ufeff" + NASTY)
    assert [seam.offset for seam in seams_of(document, 1)] == [seam.offset + 3 for seam in seams_of(nasty, 1)]
    for step in range(1, SIZE, 37):
        assert [row | {"offset": row["offset"] - 3} for row in rows(document, step)] == rows(nasty, SIZE)


@pytest.mark.parametrize("step", [1_000, 40_009, 200_003])
def test_what_is_longer_than_a_range_is_cut_through(tmp_path: Path, step: int) -> None:
    long = "<r>x</r>" * 10_000
    parts = ("<r/>", f"<!--{long}-->", f"<r t='{'/>' * 50_000}'/>", f"<r><![CDATA[{long}]]></r>", f"<r>{long}</r>")
    document = document_of(tmp_path, f"<s>{''.join(parts)}</s>")
    found = rows(document, step, columns={"n": "@n as xs:integer?"}, namespaces="{}", xml="false")
    begin = [3 + sum(map(len, parts[:k])) for k in range(len(parts))]
    inner = [begin[4] + 3 + 8 * k for k in range(10_000)]
    assert [row["offset"] for row in found] == [begin[0], begin[2], begin[3], begin[4], *inner]


@pytest.mark.parametrize(
    "broken",
    ["<a><b></a></b>", "<a><b></b>", "<a><b>1</b><b></a>", "<a><b/></a><c/>", "<a><b/>\x01<b/></a>", "<a><b x=1/></a>"],
)
def test_a_document_that_is_not_well_formed_is_refused_in_any_ranges(tmp_path: Path, broken: str) -> None:
    document = document_of(tmp_path, broken)
    for step in range(1, len(broken) + 1):
        with pytest.raises(XMLError):
            rows(document, step, record="//b", columns={"v": ". as xs:string"}, namespaces="{}")
    forget_seams()


def test_a_file_that_changed_since_it_was_listed_is_refused(tmp_path: Path) -> None:
    document = document_of(tmp_path, NASTY)
    made = reader(document, partitionBytes="100")
    partitions = made.partitions()
    (tmp_path / "document.xml").write_text(NASTY.replace("tail", "tale", 1) + "\n")
    with pytest.raises(ValueError, match="XSC0063"):
        list(made.read(partitions[1]))

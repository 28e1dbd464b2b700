"""Stored documents through Spark: the embedded engine's answers, from any number of tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rest_samples import IDS, NASTY, site

from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import query as spread

SIZE = len(NASTY.encode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rest")
    (made / "auction.xml").write_bytes(site())
    (made / "nasty.xml").write_text(NASTY, encoding="utf-8")
    return made


def test_an_answer_is_rows_in_order(spark: Any, folder: Path) -> None:
    text = "for $p in /site/people/person return $p/name"
    rows = spread(spark, text, context=folder / "auction.xml", partition_bytes=30_000).orderBy("position").collect()
    assert [row.value for row in rows] == [node.xml() for node in query(text, context=folder / "auction.xml")]
    assert {row.kind for row in rows} == {"element"}


def test_rows_say_what_their_items_are(spark: Any, folder: Path) -> None:
    text = "1, 2.5, 'a', true(), (//person)[1]/@id, (//person)[1]/name/text(), map { 'a': 1 }, xs:date('2003-11-15')"
    rows = spread(spark, text, context=folder / "auction.xml").collect()
    assert [row.kind for row in rows] == [
        "xs:integer", "xs:decimal", "xs:string", "xs:boolean", "attribute", "text", "map(*)", "xs:date"
    ]  # fmt: skip
    assert [row.value for row in rows][:4] == ["1", "2.5", "a", "true"]


def test_variables_and_documents_by_name_are_given(spark: Any, folder: Path) -> None:
    text = 'declare variable $least external; count(doc("a.xml")//item[quantity >= $least])'
    given: dict[str, Any] = {"docs": {"a.xml": folder / "auction.xml"}, "variables": {"least": 2}}
    (row,) = spread(spark, text, partition_bytes=50_000, **given).collect()
    assert row.value == query(text, **given).xml()


def test_an_error_of_the_query_tells_its_code(spark: Any, folder: Path) -> None:
    with pytest.raises(Exception, match="FORG0001"):
        spread(spark, "//person/xs:integer(name)", context=folder / "auction.xml").collect()


# ------------------------------------------------------------------------------------------------------ the source


def sizes() -> Iterator[int]:
    yield from (1, 37, 58, 85, 99, 120, 141, 187, 211, 240, 280, 333, 400, 500, 600, 700, 800, 1000, SIZE - 1, SIZE)


def nasty_rows(spark: Any, folder: Path, size: int) -> list[tuple[Any, ...]]:
    columns = {"id": "@id as xs:integer?", "text": ". as xs:string", "words": "w as xs:string*"}
    reading = spark.read.format("xstreamcast").option("record", "//r").option("columns", json.dumps(columns))
    reading = reading.option("namespaces", '{"": "urn:d"}').option("offset", "true").option("xml", "true")
    return [tuple(row) for row in reading.option("partitionBytes", str(size)).load(f"{folder}/nasty.xml").collect()]


def test_twenty_sizes_of_partitions_give_the_same_rows(spark: Any, folder: Path) -> None:
    whole = nasty_rows(spark, folder, SIZE)
    assert [row[0] for row in whole] == IDS
    for size in sizes():
        assert nasty_rows(spark, folder, size) == whole, size


def test_files_folders_and_patterns_are_read(spark: Any, tmp_path: Path) -> None:
    for number, name in enumerate(("a.xml", "b.xml", "more/c.xml", ".hidden.xml", "_part.xml")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"<a><b n='{number}'/></a>")

    def numbers(*paths: str) -> list[int]:
        reading = spark.read.format("xstreamcast").option("record", "/a/b").option("columns", '{"n": "@n"}')
        return [row.n for row in reading.load(list(paths) if len(paths) > 1 else paths[0]).collect()]

    assert numbers(f"{tmp_path}/a.xml") == [0]
    assert numbers(f"{tmp_path}") == [0, 1, 2]
    assert numbers(f"{tmp_path}/*.xml") == [0, 1]
    assert numbers(f"{tmp_path}/b.xml", f"{tmp_path}/more") == [1, 2]
    assert numbers((tmp_path / "a.xml").as_uri()) == [0]
    named = spark.read.format("xstreamcast").option("path", "/a/b").option("columns", '{"n": "@n"}')
    assert [row.n for row in named.option("files", f"{tmp_path}/*.xml").load().collect()] == [0, 1]
    with pytest.raises(Exception, match="path"):  # Spark's own, before we are asked
        named.load(f"{tmp_path}/*.xml")


def test_a_query_runs_on_each_file(spark: Any, tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.xml").write_text("<a>" + "<b/>" * number + "</a>")
    reading = spark.read.format("xstreamcast").option("query", "count(//b)").load(str(tmp_path))
    assert [(Path(row.file).name, row.value) for row in reading.collect()] == [
        ("0.xml", "0"), ("1.xml", "1"), ("2.xml", "2")
    ]  # fmt: skip


def test_a_query_whose_items_are_of_records_is_split(spark: Any, folder: Path) -> None:
    text = "for $p in /site/people/person return $p/name/text()"
    reading = spark.read.format("xstreamcast").option("query", text).option("partitionBytes", "30k")
    frame = reading.load(f"{folder}/auction.xml")
    assert frame.rdd.getNumPartitions() > 4
    assert [row.value for row in frame.collect()] == [
        node.string for node in query(text, context=folder / "auction.xml")
    ]


def test_the_schema_may_be_given_as_sparks_own(spark: Any, folder: Path) -> None:
    reading = spark.read.format("xstreamcast").option("record", "/site/regions/*/item")
    columns = {
        "id": "@id", "n": "quantity", "cats": "incategory/@category", "region": "../@none",
        "mails": "count(mailbox/mail)", "last": "mailbox/mail[last()]/from",
    }  # fmt: skip
    typed = reading.option("columns", json.dumps(columns)).schema(
        "id string, n double, cats array<string>, region string, mails long, last string"
    )
    rows = typed.load(f"{folder}/auction.xml").collect()
    counts = query("/site/regions/*/item/count(mailbox/mail)", context=folder / "auction.xml").to_list()
    assert [row.mails for row in rows] == counts
    assert [row.last for row in rows if row.mails] == [
        node.string for node in query("/site/regions/*/item/mailbox/mail[last()]/from", context=folder / "auction.xml")
    ]
    first = rows[0]
    assert isinstance(first.n, float)
    assert isinstance(first.cats, list)


def test_without_query_or_columns_rows_are_changes(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "s.xml").write_text("<filler id='0'><a/></filler>")
    (row,) = spark.read.format("xstreamcast").load(f"{tmp_path}/s.xml").collect()
    assert (row.change, row.region, bytes(row.content)) == ("fill", 0, b"<a/>")

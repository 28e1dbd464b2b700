"""Several documents: the query is asked of one after the other, and a collection has them all. Embedded ≡ Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from relational_queries import document
from rest_samples import NOW, said

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.indexing import forget_seams

QUERIES = (
    "//a/v",
    "count(//a), sum(//b/v)",
    "<d>{ for $a in //a order by $a/@n return $a/x }</d>",
    "for $a in //a return count(//b[y = $a/x])",
    "for $a in //a, $b in //b where $a << $b return 1",
    "base-uri(.)",
    "count(collection()), sum(collection()//v)",
    "for $d in collection() return count($d//a)",
    "(//a)[1]/@n/string(), count(collection()/r)",
    "collection('more')//v, 7",
    "//a/xs:integer(x)",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(5):
        (tmp_path / f"{number}.xml").write_text(document(number))
    (tmp_path / "_temporary.xml").write_text("<odd>")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "z.xml").write_text(document(9))
    return tmp_path


@pytest.mark.parametrize("text", QUERIES)
def test_each_is_asked_in_turn_and_a_collection_has_all(folder: Path, text: str) -> None:
    forms: list[Any] = [folder, f"{folder}/*.xml", [folder / "3.xml", str(folder / "1.xml"), folder / "3.xml"]]
    more = {"more": [folder / "0.xml", folder / "deep" / "z.xml"]}
    for context in forms:
        expected = said(query(text, context=context, collections=more, now=NOW))
        for step in (40, 1 << 20):
            spark: Any = LocalSpark()
            spread = prepare(spark, text, context=context, collections=more, now=NOW, partition_bytes=step)
            assert said(spread.items()) == expected
            assert said(item for answer in spread.answers() for item in answer) == expected
            forget_seams()


def test_answers_are_told_apart_also_those_of_nothing(folder: Path) -> None:
    (folder / "2.xml").write_text("<r/>")
    for text in ("//a/@n/string()", "//a[1]/v, count(//b)[. > 3]"):
        files = sorted(folder.glob("[0-9].xml"))
        expected = [said(query(text, context=file)) for file in files]
        spark: Any = LocalSpark()
        spread = prepare(spark, text, context=f"{folder}/[0-9].xml", partition_bytes=50)
        assert [said(answer) for answer in spread.answers()] == expected


def test_rows_of_several_documents_have_growing_positions(folder: Path) -> None:
    spark: Any = LocalSpark()
    rows = prepare(spark, "//v/string()", context=folder, partition_bytes=50).rows().collect()
    assert [row.value for row in rows] == query("//v/string()", context=folder).to_list()
    positions = [row.position for row in rows]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("name", ["none*.xml", "empty"])
def test_where_there_is_nothing_both_say_so_alike(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    told = []
    spark: Any = LocalSpark()
    for ask in (query, lambda text, context: prepare(spark, text, context=context)):
        with pytest.raises(XStreamError) as caught:
            ask("//a", context=str(tmp_path / name))
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert told[0].startswith("XSC0006")


def test_doc_finds_one(folder: Path) -> None:
    spark: Any = LocalSpark()
    with pytest.raises(XStreamError) as caught:
        prepare(spark, "doc('d')//a", docs={"d": folder})
    assert caught.value.code == "XSC0006"
    assert "collections=" in str(caught.value)

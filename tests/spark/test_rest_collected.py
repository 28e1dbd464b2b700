"""A collection is spread over its documents where each is asked by itself. Embedded ≡ Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from relational_queries import document
from rest_samples import NOW, said

from xstreamcast import explain
from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import COLLECTED, WHOLE, prepare
from xstreamcast.spark.stages import stages_of

SPREAD = (
    "collection()//v",
    "collection()/r/a[2]/@n/string()",
    "for $d in collection() return count($d//a)",
    "for $d in collection() let $n := count($d//a) where $n > 2 return <d n='{$n}'>{ $d//a[1]/v, base-uri($d) }</d>",
    "for $a in collection()/r/a, $b in $a/v where $b > 2 return <p>{ $a/@n, $b }</p>",
    "collection() ! count(.//b)",
    "count(collection()//a)",
    "<n>{ sum(collection()//v), 7 }</n>",
    "avg(collection()//v), 1",
    "max(collection()//v/number())",
    "string-join(collection()//x, '-')",
    "distinct-values(collection()//x)",
    "exists(collection()//none), 2",
    "let $n := 2 return count(collection()//a) + $n",
    "<all>{ for $d in collection() return <t>{ $d//v }</t> }</all>",
    "(collection()//v)[2]",
    "for $v in collection()//v order by number($v) descending return string($v)",
    "if (count(collection()//a) > 1000) then 1 else ()",
    "declare variable $n external; collection()//a[@n = $n]/v",
    "declare function local:of($d) { $d//a[@n = 3] }; for $d in collection() return local:of($d)/v",
    "collection('more')//v, 7",
    "try { sum(collection()//x/xs:integer(.)) } catch * { 'odd' }",
)
NOT = (
    "collection()/r/string(position())",
    "for $d at $k in collection() return $k",
    "for $d in collection() order by count($d//a) return count($d//v)",
    "count(collection()), sum(collection()//v)",
    "for $n in 1 to 3 return collection()//a[@n = $n]/v",
    "collection(concat('mo', 're'))//v",
    "count(uri-collection())",
    "for $d in collection() group by $n := count($d//a) return $n",
)


def documents(folder: Path) -> list[Path]:
    for number in range(7):
        (folder / f"{number}.xml").write_text(document(number))
    return [folder / f"{number}.xml" for number in range(7)]


@pytest.mark.parametrize("number", range(len(SPREAD) + len(NOT)))
def test_the_answer_is_that_of_the_embedded_engine(tmp_path: Path, number: int) -> None:
    text = (*SPREAD, *NOT)[number]
    files = documents(tmp_path)
    given: dict[str, Any] = {"collections": {"": files, "more": files[:3]}, "now": NOW}
    if "external" in text:
        given["variables"] = {"n": "2"}
    expected = said(query(text, **given))
    for step in (10, 600, 1 << 20):
        spark: Any = LocalSpark()
        spread = prepare(spark, text, partition_bytes=step, **given)
        assert spread.way == (COLLECTED if text in SPREAD else WHOLE)
        assert said(spread.items()) == expected


def test_each_document_goes_to_one_of_several_tasks(tmp_path: Path) -> None:
    spark: Any = LocalSpark()
    files = documents(tmp_path)
    spread = prepare(spark, "collection()//v", collections={"": files}, partition_bytes=10)
    assert len(spread.rows().parts) == len(files)


def test_a_folder_is_spread_as_well(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    documents(tmp_path / "in")
    text = "count(collection('in')//a)"
    base = tmp_path.as_uri() + "/"
    spark: Any = LocalSpark()
    spread = prepare(spark, text, base_uri=base)
    assert spread.way == COLLECTED
    assert said(spread.items()) == said(query(text, base_uri=base))


def test_a_document_that_comes_twice_is_one(tmp_path: Path) -> None:
    files = documents(tmp_path)
    given = {"": [files[1], files[0], files[1]]}
    spark: Any = LocalSpark()
    for text in ("collection()//v", "for $d in collection() return count($d//a)"):
        assert said(prepare(spark, text, collections=given).items()) == said(query(text, collections=given))


@pytest.mark.parametrize("text", ["count(collection()//a)", "collection()//v", "1, collection()//v"])
def test_what_is_no_document_is_told_alike(tmp_path: Path, text: str) -> None:
    files = documents(tmp_path)
    files[3].write_text("<r><a></r>")
    spark: Any = LocalSpark()
    told = said(prepare(spark, text, collections={"": files}).items())
    assert told == said(query(text, collections={"": files})) == "error FODC0002"


@pytest.mark.parametrize("text", ["count(collection()//a)", "collection('none')//v"])
def test_where_there_is_no_collection_both_say_so(tmp_path: Path, text: str) -> None:
    spark: Any = LocalSpark()
    base = tmp_path.as_uri() + "/"
    told = said(prepare(spark, text, base_uri=base).items())
    assert told == said(query(text, base_uri=base)) == "error FODC0002"


def test_explain_tells_that_documents_are_shared_out() -> None:
    told = {text: [stage.name for stage in stages_of(explain(text))] for text in (SPREAD[0], SPREAD[6], NOT[0])}
    assert list(told.values()) == [["scan"], ["scan", "merge"], ["task"]]

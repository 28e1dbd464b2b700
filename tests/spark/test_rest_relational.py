"""Joins, groups and sorts as Spark's operators: every one gives the embedded answer, of any ranges."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from relational_queries import BROADCAST, GROUPS, JOINS, QUERIES, SORTS, document
from rest_samples import NOW, XMARK, document_of, said, site, spread_here

from xstreamcast import explain
from xstreamcast.errors import XStreamError
from xstreamcast.plan.algebra import Gather, Sort
from xstreamcast.plan.projection.project import describe
from xstreamcast.run.query import compile, query
from xstreamcast.spark.rest.at_rest import prepare, relational_plan
from xstreamcast.spark.rest.indexing import forget_seams
from xstreamcast.spark.rest.relational import gathering, lookups
from xstreamcast.spark.rest.relational.plan import Relational
from xstreamcast.spark.stages import stages_of
from xstreamcast.spark.transport import columns

TOLD = (*QUERIES[::3], *XMARK.values())
STAGES = ("tasks", "union", "join", "exchange", "sort", "order", "limit", "coalesce")


def planned(text: str) -> Relational:
    code = compile(text).plan()
    assert code is not None
    made = relational_plan(code.plan, compile(text).executable.program.module)
    assert made is not None, text
    return made


def test_of_an_element_that_is_looked_up_no_more_is_read_than_the_query_sees() -> None:
    plan = planned(XMARK["q09"])
    read = [path for variable in plan.joined for path in describe(plan.scan(variable).targets)]
    assert sorted(read) == [
        "/site/closed_auctions/closed_auction/buyer/@person",
        "/site/closed_auctions/closed_auction/itemref/@item",
        "/site/regions/europe/item/@id",
        "/site/regions/europe/item/name/text()",
    ]
    whole = planned("for $a in /r/a return <p>{ /r/b[y = $a/x] }</p>")
    assert [describe(whole.scan(variable).targets) for variable in whole.joined] == [["/r/b (whole)"]]


@pytest.mark.parametrize("number", range(len((*GROUPS, *SORTS))))
def test_an_answer_in_rows_has_the_text_of_each_item(tmp_path: Path, number: int) -> None:
    text = (*GROUPS, *SORTS)[number]
    made = document_of(tmp_path, document(3 * number), f"{number}.xml")
    spark: Any = LocalSpark()
    expected = said(query(text, context=made.source(), now=NOW))
    if expected.startswith("error"):
        with pytest.raises(XStreamError) as caught:
            prepare(spark, text, context=made.path, now=NOW, partition_bytes=60).rows().collect()
        assert f"error {caught.value.code}" == expected
        return
    rows = prepare(spark, text, context=made.path, now=NOW, partition_bytes=60).rows().collect()
    items = query(text, context=made.source(), now=NOW)
    assert [(row.kind, row.value) for row in rows] == [*zip(*columns(list(items)), strict=True)]
    positions = [row.position for row in rows]
    assert positions == sorted(set(positions))
    forget_seams()


def test_rows_meet_by_key_where_both_sides_have_keys_of_one_kind_and_else_one_side_goes_to_all() -> None:
    assert all(planned(text).joined for text in JOINS)
    assert not any(planned(text).joined for text in BROADCAST)


def test_what_spark_does_not_sort_is_what_may_have_keys_of_several_types() -> None:
    sorted_by_one = []
    for text in (*SORTS, *GROUPS):
        plan = planned(text)
        for unit in plan.units.values():
            reduction = unit.reduction
            sorts = isinstance(reduction, Sort) or (isinstance(reduction, Gather) and reduction.order is not None)
            if sorts and plan.sort_kinds(unit) is None:
                sorted_by_one.append(text)
    assert sorted_by_one == ["for $a in //a order by ($a/@n, 3)[1] return string($a/@n)"]


@pytest.mark.parametrize("number", range(len(TOLD)))
def test_explain_tells_the_operators_that_are_run(tmp_path: Path, number: int) -> None:
    text = TOLD[number]
    content = site() if "/site" in text else document(1)
    made = document_of(tmp_path, content)
    log: list[str] = []
    said(spread_here(text, made, len(content) // 3, log))
    ran = Counter(each for each in log if each in STAGES)
    assert ran == Counter(each for stage in stages_of(explain(text)) for each in stage.spark)


def test_groups_that_do_not_fit_are_sent_on_and_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "AT_ONCE", 2)
    monkeypatch.setattr(lookups, "AT_ONCE", 2)
    rows = "".join(f"<a n='{k * 7 % 50}'><v>{k}</v></a><b m='{k % 60}'/>" for k in range(300))
    made = document_of(tmp_path, f"<r>{rows}</r>")
    for text in (
        "for $a in /r/a group by $k := $a/@n return <g k='{$k}'>{ count($a), sum($a/v), $a[1]/v }</g>",
        "for $a in /r/a return count(/r/b[@m = $a/@n])",
    ):
        expected = said(query(text, context=made.source(), now=NOW))
        for step in (2_000, 100_000):
            assert said(spread_here(text, made, step)) == expected


def test_an_error_of_what_is_looked_up_is_for_who_asks(tmp_path: Path) -> None:
    text = "for $a in //a return count(//b[xs:integer(y) = xs:integer($a/x)])"
    made = document_of(tmp_path, "<r><b><y>1</y></b><b><y>odd</y></b></r>")
    assert said(spread_here(text, made, 10)) == ""
    made = document_of(tmp_path, "<r><a><x>1</x></a><b><y>1</y></b><b><y>odd</y></b></r>", "asked.xml")
    assert said(spread_here(text, made, 10)) == "error FORG0001"


def test_a_value_that_is_not_asked_for_may_fail(tmp_path: Path) -> None:
    text = "if (exists(//a)) then (for $b in //b order by xs:integer($b/y) return $b) else count(//b)"
    made = document_of(tmp_path, "<r><b><y>odd</y></b></r>")
    assert said(spread_here(text, made, 10)) == "1"

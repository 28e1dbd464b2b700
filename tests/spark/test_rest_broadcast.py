"""Rows that are few go to all tasks instead of meeting by key: as many as Spark itself would broadcast."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from relational_queries import BROADCAST, GROUPS, JOINS, SORTS, document
from rest_samples import NOW, XMARK, document_of, said, site, spread_here

from xstreamcast.model.serialise import serialise
from xstreamcast.run.query import query
from xstreamcast.spark.rest.relational.relations import broadcast_bytes
from xstreamcast.spark.rest.relational.sending import Received, sent_together

ENOUGH = 10 << 20


@pytest.mark.parametrize("number", range(len((*JOINS, *BROADCAST, *GROUPS))))
def test_few_rows_give_the_embedded_answer_without_a_join(tmp_path: Path, number: int) -> None:
    text = (*JOINS, *BROADCAST, *GROUPS)[number]
    for seed, step in ((3 * number, 60), (3 * number + 2, 150)):
        made = document_of(tmp_path, document(seed), f"{seed}.xml")
        log: list[str] = []
        expected = said(query(text, context=made.source(), now=NOW))
        assert said(spread_here(text, made, step, log, ENOUGH)) == expected
        assert "join" not in log


@pytest.mark.parametrize("name", ["q08", "q09", "q10"])
def test_the_joins_of_xmark_scan_once_for_all_that_is_looked_up_and_once_for_who_asks(
    tmp_path: Path, name: str
) -> None:
    made = document_of(tmp_path, site())
    log: list[str] = []
    answer = said(spread_here(XMARK[name], made, made.size // 3, log, ENOUGH))
    assert answer == said(query(XMARK[name], context=made.source(), now=NOW))
    assert log.count("tasks") == 2


@pytest.mark.parametrize("text", [JOINS[0], JOINS[4], SORTS[5]], ids=["rows", "sums", "sorted"])
def test_what_is_more_than_spark_would_broadcast_meets_by_key(tmp_path: Path, text: str) -> None:
    made = document_of(tmp_path, "<r>" + document(1)[3:-4] * 40 + "</r>")
    expected = said(query(text, context=made.source(), now=NOW))
    for most in (-1, 0, 200):
        log: list[str] = []
        assert said(spread_here(text, made, made.size // 4, log, most)) == expected
        assert "join" in log


def test_an_error_of_what_goes_to_all_is_for_who_asks(tmp_path: Path) -> None:
    text = "for $a in //a return count(//b[xs:integer(y) = xs:integer($a/x)])"
    made = document_of(tmp_path, "<r><b><y>1</y></b><b><y>odd</y></b></r>")
    assert said(spread_here(text, made, 10, broadcast=ENOUGH)) == ""
    made = document_of(tmp_path, "<r><a><x>1</x></a><b><y>1</y></b><b><y>odd</y></b></r>", "asked.xml")
    assert said(spread_here(text, made, 10, broadcast=ENOUGH)) == "error FORG0001"


def test_a_document_that_is_not_well_formed_is_refused(tmp_path: Path) -> None:
    made = document_of(tmp_path, "<r><a><x>1</x></a><b><y>1</y></b><b><y>1</x></b></r>")
    assert said(spread_here(JOINS[4], made, 1000, broadcast=ENOUGH)).startswith("error XSC")


def test_of_a_tree_of_which_little_is_named_no_more_is_sent() -> None:
    rows = "".join(f"<b m='{k}'><v>{'rare' if k == 40 else 'x' * 50}</v></b>" for k in range(200))
    nodes = list(query("//b", context=f"<r>{rows}</r>".encode()))
    all_of_it = sent_together([[[node], [node.row]] for node in nodes], 0, 0)
    one = sent_together([[[nodes[40]], ["key", 7]]], 0, 0)
    assert len(one) < 400 < len(all_of_it)
    ((came, keys),) = Received().rows(one)
    assert serialise(came) == '<b m="40"><v>rare</v></b>'
    assert keys == ["key", 7]
    received = Received().rows(all_of_it)
    assert [row[0][0].xml() for row in received] == [node.xml() for node in nodes]
    assert len({row[0][0].tree for row in received}) == 1


def test_rows_of_several_and_of_no_items_come_as_they_were_sent() -> None:
    made = list(query("<a/>, <b>1</b>, xs:untypedAtomic('u'), 1.5, xs:date('2003-11-15'), 'é'"))
    rows: list[list[list[Any]]] = [[made, []], [[], made[1:3]], [[1], [2]]]
    came = Received().rows(sent_together(rows, 1, 2))
    assert [[serialise(items, method="adaptive") for items in row] for row in came] == [
        [serialise(items, method="adaptive") for items in row] for row in rows
    ]
    assert came[0][0][1] == came[1][1][0], "one node, however often it is named"


@pytest.mark.parametrize(
    ("told", "expected"), [("10485760b", 10 << 20), ("10MB", 10 << 20), ("-1", -1), ("64k", 64 << 10), ("7", 7)]
)
def test_sizes_are_read_as_spark_writes_them(told: str, expected: int) -> None:
    session: Any = SimpleNamespace(conf={"spark.sql.autoBroadcastJoinThreshold": told})
    assert broadcast_bytes(session) == expected

"""Theorems 1 to 3 of VLDB'05 §4.4 and their witnesses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xstreamcast.functions.registry import known_function
from xstreamcast.lang import parse
from xstreamcast.plan.graph.build import stream_graph
from xstreamcast.plan.graph.verdict import Judgement, judge

PAPERS = Path(__file__).parents[1] / "fixtures" / "papers"


def judged(text: str) -> Judgement:
    return judge(stream_graph(parse(text, known_functions=known_function)))


def theorems(text: str) -> set[int]:
    return {obstacle.theorem for obstacle in judged(text).obstacles}


def paper(name: str) -> str:
    return (PAPERS / f"vldb05-{name}.xq").read_text()


@pytest.mark.parametrize(
    ("query", "cycle"),
    [
        ("1", "S1 ≻ v1 → $b → output"),
        ("3", "$b ≻ v1 → output"),
        ("redundant", "$p ≻ v1 → output"),
    ],
)
def test_the_paper_s_queries_with_a_cycle(query: str, cycle: str) -> None:
    [obstacle] = judged(paper(query)).obstacles
    assert (obstacle.theorem, obstacle.text) == (3, f"a cycle: {cycle}")


@pytest.mark.parametrize("query", ["2", "loop", "unrolled"])
def test_the_paper_s_queries_of_a_single_pass(query: str) -> None:
    assert judged(paper(query)).single_pass


def test_documents_and_streams_are_judged_alike() -> None:
    for query in ("1", "2", "3", "redundant", "loop"):
        stored = re.sub(r'stream\("\w+"\)', "", paper(query))
        assert str(judged(stored)) == str(judged(paper(query)))


@pytest.mark.parametrize(
    "join",
    [
        "for $a in //a for $b in //b where $a/x = $b/x return $a",
        "for $a in //a return //b[x = $a/x]",
        "for $a in //a return count(//b[x = $a/x])",
        "for $a in //a return //b",
        "let $p := //a for $i in $p for $j in $p where $i = $j return $i",
        "let $p := //a return $p[. = $p]",
        "//a[. = //b]",
        'for $a in doc("a")//x, $b in doc("b")//x return $a + $b',
        "for $k in distinct-values(//a/@k) return count(//a[@k = $k])",
    ],
)
def test_theorem_1_two_traversals_that_meet(join: str) -> None:
    assert 1 in theorems(join)


def test_theorem_1_names_the_traversals_and_where_they_meet() -> None:
    [obstacle] = judged("for $a in /r/a for $b in /r/b where $a = $b return <pair>{$a, $b}</pair>").against(1)
    assert obstacle.nodes == ("S1", "S2", "output")
    assert obstacle.text == "S1 (/r/a) and S2 (/r/b) meet in output"


@pytest.mark.parametrize(
    "text",
    [
        "fold-left(//a, count(//b), function($sum, $a) { $sum + $a })",
        "string-join(//a, string(count(//b)))",
        "let $n := count(//b) return sum(//a, $n)",
    ],
)
def test_theorem_2_an_aggregate_that_waits_for_another(text: str) -> None:
    assert theorems(text) == {2}


def test_theorem_2_names_the_path() -> None:
    [obstacle] = judged("let $n := count(//b) return sum(//a, $n)").obstacles
    assert obstacle.text == "v2 waits for v1: v1 → $n → v2"


@pytest.mark.parametrize(
    "text",
    [
        "for $i in //a where $i > avg(//a) return $i",
        "//a[. = max(//a)]",
        "count(//a[. > avg(//a)])",
        "some $x in //a satisfies $x > sum(//b)",
        "if (count(//a) > 3) then //b else ()",
        "for $i in //a return if (exists(//b)) then $i else ()",
    ],
)
def test_theorem_3_a_traversal_that_waits_for_its_own_aggregate(text: str) -> None:
    assert theorems(text) == {3}


@pytest.mark.parametrize(
    "text",
    [
        "count(//a) + sum(//b) div avg(//c)",
        "let $n := count(//a) let $m := max(//b/x) return if ($n > $m) then 'more' else 'less'",
        "(//a, count(//b), //c)",
        "<r>{ count(//a) }<s>{ for $b in //b where $b/x > 1 return $b/y }</s></r>",
        "(//a)[1]/x",
        "distinct-values(//a/@k)",
        "for $i in ('a', 'b') return count(//x[@k = $i])",
        'doc("a")//x[. > count(doc("b")//x)]',
        "some $x in //a satisfies $x > 3",
        "exists(//a) and empty(//b)",
        "for $a in //a for $b in $a/b where $b/@x = $a/@x return $b",
        "let $d := (/) let $p := $d/site/people return (count($p/person), count($d//item))",
    ],
)
def test_theorem_4_what_none_of_them_rules_out(text: str) -> None:
    assert judged(text).single_pass


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("for $i in //a order by $i/x return $i", "order by needs all tuples"),
        ("for $i in //a group by $k := $i/@k return count($i)", "group by needs all tuples"),
        ("reverse(//a)", "reverse() needs all of its input"),
        ("//a = //b", "it compares two sequences"),
    ],
)
def test_other_blocking_operators_are_named(text: str, why: str) -> None:
    assert [obstacle.text for obstacle in judged(text).against(0)] == [why]


def test_an_order_within_one_item_blocks_nothing() -> None:
    assert judged("for $p in //person return for $w in $p/watch order by $w return $w").single_pass


def test_the_witness_says_where_it_stands() -> None:
    text = "for $i in //a\nwhere $i > avg(//a)\nreturn $i"
    [obstacle] = judged(text).obstacles
    assert text[obstacle.span.start : obstacle.span.end] == "avg(//a)"

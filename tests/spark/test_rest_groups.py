"""Groups are evaluated many at a time; sorted rows have keys of few bytes. Embedded ≡ Spark."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from rest_samples import NOW, document_of, said, spread_here

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.relational import groups
from xstreamcast.spark.rest.relational.keys import Kind, order_key
from xstreamcast.spark.transport import columns

MANY = (
    "for $a in /r/a group by $k := $a/@n return <g k='{$k}'>{ count($a) }</g>",
    "for $a in /r/a group by $k := $a/@n return <g k='{$k}'>{ count($a), sum($a/v), avg($a/v), max($a/v) }</g>",
    "for $a in /r/a group by $k := $a/@n return <g k='{$k}'><s>{ string-join($a/v, '+') }</s>{ count($a/v) }</g>",
    "for $a in /r/a group by $k := $a/@n return (string($k), min($a/v), exists($a/w))",
    "for $a in /r/a group by $k := $a/@n return <g>{ $k, distinct-values($a/v ! (. mod 3)), $a[1]/v }</g>",
    "for $a in /r/a group by $k := $a/@n, $l := $a/v mod 2 order by $l, $k return <g k='{$k}' l='{$l}'>{ $a/v }</g>",
    "for $a in /r/a group by $k := number($a/@n) return <g>{ $k, count($a) }</g>",
    "for $a in /r/a group by $k := xs:anyURI($a/@n) return <g>{ $k, count($a) }</g>",
    "for $a in /r/a group by $k := if ($a/v > 50) then string($a/@n) else xs:anyURI($a/@n) return <g>{ count($a) }</g>",
    "for $a in /r/a group by $k := $a/@none return <g>{ $k, count($a) }</g>",
    "for $a in /r/a group by $k := $a/@n return <g>{ $k[. = '7'], count(/r/b[@m = $k]) }</g>",
    "declare function local:of($k) { <f k='{$k}'/> }; for $a in /r/a group by $k := $a/@n return local:of($k)",
)


def many(folder: Path) -> Any:
    rows = "".join(f"<a n='{k * 7 % 130}'><v>{k % 91}</v></a><b m='{k % 60}'/>" for k in range(400))
    return document_of(folder, f"<r>{rows}</r>")


@pytest.mark.parametrize("number", range(len(MANY)))
def test_as_many_groups_as_there_are_give_what_the_embedded_engine_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made, text = many(tmp_path), MANY[number]
    items = list(query(text, context=made.source(), now=NOW))
    for together, step in ((1, 4_000), (256, 100_000)):
        monkeypatch.setattr(groups, "_TOGETHER", together)
        assert said(spread_here(text, made, step)) == said(items)
    monkeypatch.setattr(groups, "_TOGETHER", 7)
    spark: Any = LocalSpark()
    rows = prepare(spark, text, context=made.path, now=NOW, partition_bytes=4_000).rows().collect()
    assert [(row.kind, row.value) for row in rows] == [*zip(*columns(items), strict=True)]


ODD = "<r><a n='1'><x>odd</x></a><a n='2'><x>5</x></a><a n='3'><x>6</x></a><a n='1'><x>1</x></a><a n='2'/></r>"


def test_a_column_that_fails_is_for_the_group_that_reads_it(tmp_path: Path) -> None:
    made = document_of(tmp_path, ODD)
    for text in (
        "for $a in /r/a group by $k := $a/@n return if ($k = '1') then 'odd' else sum($a/x)",
        "for $a in /r/a group by $k := $a/@n return try { sum($a/x) } catch err:FORG0001 { 'caught' }",
        "for $a in /r/a group by $k := $a/@n return <s>{ sum($a/x) }</s>",
        "for $a in /r/a group by $k := $a/@n return 1 div ($k - 2)",
    ):
        expected = said(query(text, context=made.source(), now=NOW))
        for step in (10, 1_000):
            assert said(spread_here(text, made, step)) == expected


def test_an_error_of_a_body_has_its_place_in_the_query(tmp_path: Path) -> None:
    made = document_of(tmp_path, ODD)
    text = "for $a in /r/a group by $k := $a/@n\nreturn 1 idiv (count($a) - 1)"
    spark: Any = LocalSpark()
    with pytest.raises(XStreamError) as caught:
        prepare(spark, text, context=made.path, now=NOW).rows().collect()
    assert ":2:8 " in str(caught.value)


def test_a_number_is_sorted_by_ten_bytes_and_what_is_no_double_by_some_more() -> None:
    doubles = [0.1, -0.0, 1e300, 5e-324, 3, 2**53, Decimal("0.5")]
    assert {len(order_key(value, Kind.NUMBER, False)) for value in doubles} == {10}
    close = [Decimal(2**53), 2**53 + 1, 2**53 + 2]
    keys = [order_key(value, Kind.NUMBER, False) for value in close]
    assert keys == sorted(set(keys))
    tenths: list[Any] = [Decimal("0.1"), 0.1]  # the double is a little more
    assert sorted(tenths) == sorted(tenths, key=lambda value: order_key(value, Kind.NUMBER, False)) == tenths

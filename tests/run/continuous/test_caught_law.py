"""``try`` around what is followed: an error is a value of its unit, and is caught where that is read."""

from __future__ import annotations

import pytest
from changing_lists import KEYS, changes, hold

from xstreamcast.plan.algebra import Strategy

A, B = 'stream("s")//a', 'stream("s")//b'
CAUGHT = (
    f"try {{ sum({B}/y) }} catch * {{ 'none' }}",
    f"try {{ sum({B}/y) }} catch * {{ $err:code }}",
    f"try {{ sum({B}/y) }} catch err:FORG0006 {{ 'none' }}",
    f"(1, try {{ for $b in {B} return <y>{{ xs:integer($b/y[1]) }}</y> }} catch err:FORG0001 {{ count({B}) }}, 2)",
    f"try {{ max({A}/x) + sum({B}/y) }} catch * {{ {B}[@m = '2']/v }}",
    f"<r>{{ try {{ {A}/x/xs:integer(.) }} catch * {{ {A}/v }} }}</r>",
    f"for $a in {A} return try {{ sum({B}[v = $a/v]/y) }} catch * {{ <none>{{ $a/v }}</none> }}",
    f"try {{ for $a in {A} order by xs:integer($a/x[1]) return $a/v }} catch * {{ count({A}) }}",
    f"try {{ for $a in {A} group by $k := $a/x[1] return <g>{{ xs:integer($k) }}</g> }} catch * {{ $err:code }}",
    f"let $t := try {{ sum({B}/y) }} catch * {{ 0 }} for $a in {A} return <p>{{ $t, $a/x }}</p>",
    f"for $a in {A} where try {{ sum({B}/y) > count($a/v) }} catch * {{ true() }} return $a/v",
    f"try {{ if (sum({B}/y) > 3) then 'more' else error() }} catch * {{ $err:code }}",
    f"for $k in distinct-values({A}/x) return try {{ xs:integer($k) + count({B}[y = $k]) }} catch * {{ 'no' }}",
    f"try {{ try {{ sum({B}/y) }} catch err:XXXX {{ 1 }} }} catch * {{ sum({A}/v) }}",
)


@pytest.mark.parametrize("number", range(len(CAUGHT)))
def test_what_is_caught_is_that_of_the_document_after_every_change(number: int) -> None:
    for seed in range(3):
        followed = hold(CAUGHT[number], changes(seed, 25, KEYS))
        assert followed.journal.plan.strategy is Strategy.STREAM


ANEW = (
    f"try {{ {A}/x/xs:integer(.) }} catch * {{ $err:description }}",
    f"try {{ sum({B}/y) }} catch * {{ {B}[string($err:code) = 'err:FORG0001']/v }}",
)


@pytest.mark.parametrize("number", range(len(ANEW)))
def test_what_an_error_says_of_itself_is_computed_from_the_document(number: int) -> None:
    followed = hold(ANEW[number], changes(1, 25, KEYS))
    assert followed.journal.plan.strategy is Strategy.PROJECT

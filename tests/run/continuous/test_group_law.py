"""``group by`` that follows its changes."""

from __future__ import annotations

import pytest
from changing_lists import KEYS, changes, hold
from emission import Followed

from xstreamcast.model.change import Fill, Replace
from xstreamcast.plan.algebra import Gather, Strategy, Unit

A, B = 'stream("s")//a', 'stream("s")//b'
GROUPS = (
    f"for $a in {A} group by $k := string($a/@n) return <g k='{{$k}}'>{{ count($a), sum($a/v), $a/x }}</g>",
    f"for $a in {A} group by $k := $a/x[1] return <g k='{{$k}}'>{{ $a/@n/string(), max($a/v) }}</g>",
    f"for $a in {A} group by $k := string($a/@n) order by count($a) descending, $k return <g k='{{$k}}'>{{ $a/v }}</g>",
    f"for $a in {A} group by $k := $a/@n, $l := count($a/v) return <g>{{ $k, $l, count($a/x) }}</g>",
    f"for $a in {A} let $v := $a/v group by $k := $a/@n where count($v) > 1 return <g>{{ $k, avg($v), $v }}</g>",
    f"for $a in {A} for $b in {B} where $a/x = $b/y group by $m := string($b/@m) return <p>{{ count($a), $a/v }}</p>",
    f"for $a in {A}[v] group by $k := $a/x[1] return ($k, {B}[y = $k]/@m/string())",
    f"for $a in {A} group by $k := $a/@n order by $k return <g>{{ for $e in $a order by $e/v[1] return $e/x }}</g>",
    f"<all n='{{count({A})}}'>{{ for $a in {A} group by $k := $a/@n return <e k='{{$k}}'>{{ avg($a/v) }}</e> }}</all>",
    f"for $a in {A} group by $k := $a/x return <g>{{ $k }}</g>",
    f"for $a in {A} group by $k := count($a/v) where count($a) > 1 return <p>{{ $a/v[1], $a/x }}</p>",
    f"for $a in {A} for $b in {B} where $a/x = $b/y group by $m := string($a/@n) return <p>{{ $b/v, $b/v[1] }}</p>",
    f"for $k in distinct-values({A}/x) return <k>{{ $k, {A}[x = $k]/v }}</k>",
    f"for $k in distinct-values({A}/@n) order by number($k) return <k>{{ $k, count({A}[@n = $k]), {B}[y = $k] }}</k>",
    f"for $k in distinct-values({A}/@n) where $k > 1 return <k>{{ $k + 1 }}</k>",
    f"for $a in {A} group by $k := number($a/x[1]) return <g>{{ $k, count($a) }}</g>",
)


@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_groups_are_those_of_the_document_after_every_change(number: int) -> None:
    for seed in range(3):
        followed = hold(GROUPS[number], changes(seed, 25, KEYS if seed == 2 else ("1", "2", "3")))
        assert followed.journal.plan.strategy is Strategy.STREAM


def test_only_the_groups_that_a_change_touches_are_evaluated() -> None:
    text = 'for $b in stream("s")/r/b group by $k := string($b/y) return <g k="{$k}">{ count($b), sum($b/v) }</g>'
    followed = Followed(text)
    holes = "".join(f"<stream:hole id='{k}'/>" for k in range(1, 201))
    items = [Fill(region=k, content=f"<b><y>{k % 10}</y><v>{k}</v></b>".encode()) for k in range(1, 201)]
    followed.feed(Fill(region=0, content=f"<r>{holes}</r>".encode()), *items)
    before = followed.journal.evaluated
    told = followed.feed(Replace(region=57, content=b"<b><y>7</y><v>1000</v></b>"))
    assert followed.journal.evaluated == before + 2, "the record, and its group"
    assert [emitted.change.kind for emitted in told] == ["replace"]
    told = followed.feed(Replace(region=57, content=b"<b><y>8</y><v>1000</v></b>"))
    assert followed.journal.evaluated == before + 5, "the record, the group that it was in, and the one that it is in"
    assert [emitted.change.kind for emitted in told] == ["replace", "replace"]
    (unit,) = followed.journal.plan.output
    assert isinstance(unit, Unit)
    assert isinstance(unit.reduction, Gather)

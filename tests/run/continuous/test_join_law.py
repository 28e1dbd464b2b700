"""Joins that follow their changes: a look-up in another unit's groups, and who has asked for what."""

from __future__ import annotations

import pytest
from changing_lists import KEYS, changes, hold, hold_many
from emission import Followed

from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.plan.algebra import Strategy
from xstreamcast.run.continuous.adjust.lookup import Lookup

A, B = 'stream("s")//a', 'stream("s")//b'
JOINS = (
    f'for $a in {A}, $b in {B} where $a/x = $b/y return <p n="{{$a/@n}}" m="{{$b/@m}}">{{ $b/v }}</p>',
    f"for $a in {A}, $b in {B} where $a/x = $b/y and $b/v > $a/v return <p>{{ $a/x, $b/v }}</p>",
    f"for $a in {A}, $b in {B} where $a/x = $b/y and $a/v = $b/v return <p>{{ $a/x, $b/v }}</p>",
    f"for $a in {A} return <p>{{ $a/@n, {B}[y = $a/x]/v }}</p>",
    f'for $a in {A} return <p n="{{$a/@n}}">{{ count({B}[y = $a/x]) }}</p>',
    f"for $a in {A} let $s := sum({B}[y = $a/x]/v) where $s > 2 return <s>{{ $s }}</s>",
    f"for $a in {A} where some $b in {B} satisfies $b/y = $a/x and $b/v > $a/v return $a",
    f"for $a in {A} where every $b in {B}[y = $a/x] satisfies $b/v = $a/v return string($a/@n)",
    f"for $a in {A} where not({B}[y = $a/x]) return string($a/@n)",
    f"for $a in {A} return if ($a/v > 2) then {B}[y = $a/x]/v else count({B}[@m = $a/@n])",
    f"for $a in {A} for $b in {B}[y = $a/x] for $c in {A}[v = $b/v] return <t>{{ $a/@n, $c/v }}</t>",
    f'for $a in {A}[x eq "2"], $b in {B} where $b/@m eq $a/@n return ($a/x, $b/y)',
    f"for $a in {A} return <w>{{ for $b in {B} where $b/y = $a/x order by $b/@m descending return $b/v }}</w>",
    f"let $d := {B} return for $a in {A} return <d>{{ $d[y = $a/x]/v, count($d) }}</d>",
    f"for $a in {A} let $p := {B}[y = $a/x] let $q := {B}[@m = $a/@n] return <p>{{ $p/v, $q/v, $p/y }}</p>",
    f"count(for $a in {A}, $b in {B} where $a/x = $b/y return 1)",
    f"{A}[x = {B}/y]/v",
    f"{A}/v[. = {B}/v]",
)
OTHERWISE = (
    f"for $a in {A}, $b in {B} where $a/x < $b/y return <p>{{ $a/x, $b/y }}</p>",
    f"for $a at $i in {A}, $b in {B}[y = $a/x] return <i n='{{$i}}'>{{ $b/v }}</i>",
    f"for $k at $i in distinct-values({A}/x) return <k n='{{$i}}'>{{ $k, {A}[x = $k]/v }}</k>",
    f"for tumbling window $w in {A} start at $i when true() end at $j when $j = $i + 1 return <w>{{ $w/v }}</w>",
    f"for $a in {A} count $c where $c mod 2 = 1 return string($a/@n)",
    f"reverse({A}/v)",
)
WHOLE = (
    f"for $a in {A}, $b in {A} where $a/x = $b/x and $a << $b return <x>{{ $a/@n }}</x>",
    f"(for $a in {A} return {B}[y = $a/x])/v",
)


@pytest.mark.parametrize("number", range(len(JOINS)))
def test_a_join_is_that_of_the_document_after_every_change(number: int) -> None:
    for seed in range(3):
        followed = hold(JOINS[number], changes(seed, 25, KEYS if seed == 2 else ("1", "2", "3")))
        assert followed.journal.plan.strategy is Strategy.STREAM


@pytest.mark.parametrize("number", range(len(OTHERWISE)))
def test_what_is_no_look_up_is_computed_from_what_is_kept(number: int) -> None:
    for seed in range(3):
        followed = hold(OTHERWISE[number], changes(seed, 25))
        assert followed.journal.plan.strategy is Strategy.STREAM


@pytest.mark.parametrize("number", range(len(WHOLE)))
def test_what_leaves_its_records_is_computed_from_the_document(number: int) -> None:
    for seed in range(3):
        followed = hold(WHOLE[number], changes(seed, 25))
        assert followed.journal.plan.strategy is Strategy.PROJECT


STREAMS = (
    'for $a in stream("s")//a, $b in stream("t")//b, $c in stream("u")//a where $a/x = $b/y and $c/v = $b/v '
    'order by $b/@m return <p n="{$a/@n}">{ $b/v, $c/x }</p>',
    'for $a in stream("s")//a '
    'return <p>{ $a/@n, count(stream("t")//b[y = $a/x]), sum(stream("u")//a[x = $a/x]/v) }</p>',
    'for $a in stream("s")//a where not(stream("t")//b[y = $a/x]) and stream("u")//a/x = $a/x '
    'group by $k := $a/@n return <n k="{$k}">{ count($a) }</n>',
)


@pytest.mark.parametrize("number", range(len(STREAMS)))
def test_the_sides_of_a_join_may_be_different_streams(number: int) -> None:
    for seed in range(2):
        assert not hold_many(STREAMS[number], seed, 15).recomputed


TYPED = (
    f"for $a in {A}, $b in {B} where $a/x/number() = $b/y return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where string($a/x[1]) = $b/y return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where $a/x = $b/y/number() return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where xs:integer($a/@n) = $b/v return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where xs:decimal($a/@n) = $b/v/xs:integer(.) return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where $a/x/(. = '2') = $b/y/(. = '2') return <p>{{ $a/x, $b/y }}</p>",
)


@pytest.mark.parametrize("number", range(len(TYPED)))
def test_keys_compare_by_their_types_and_what_does_not_is_the_answer_while_it_lasts(number: int) -> None:
    for seed in range(4):
        hold(TYPED[number], changes(seed, 25, KEYS))


def filled(text: str, size: int) -> Followed:
    """A list of ``size`` elements, half of them a with the keys 1, 3 …, half b with keys among these."""
    followed = Followed(text)
    holes = "".join(f"<stream:hole id='{k}'/>" for k in range(1, size + 1))
    odd = [Fill(region=k, content=f"<a><x>{k}</x></a>".encode()) for k in range(1, size + 1, 2)]
    even = [Fill(region=k, content=f"<b><y>{k - 1}</y><v>1</v></b>".encode()) for k in range(2, size + 1, 2)]
    root: list[Change] = [Fill(region=0, content=f"<r>{holes}</r>".encode())]
    followed.feed(*root, *odd, *even)
    return followed


PER_KEY = (
    'for $a in stream("s")/r/a, $b in stream("s")/r/b where $a/x = $b/y return <p>{ $a/x, $b/v }</p>',
    'for $a in stream("s")/r/a return <p>{ $a/x, sum(stream("s")/r/b[y = $a/x]/v) }</p>',
)


@pytest.mark.parametrize("number", range(len(PER_KEY)))
def test_only_who_has_asked_for_a_key_looks_again(number: int) -> None:
    followed = filled(PER_KEY[number], 200)
    before = followed.journal.evaluated
    told = followed.feed(Replace(region=8, content=b"<b><y>7</y><v>5</v></b>"))
    assert followed.journal.evaluated == before + 2, "the b itself, and the a of its key"
    assert len(told) == 1
    followed.feed(Replace(region=8, content=b"<b><y>9</y><v>5</v></b>"))
    assert followed.journal.evaluated == before + 5, "the b, and the a of the key it had and of the one it has"
    followed.feed(Replace(region=8, content=b"<b><y>none</y><v>5</v></b>"))
    assert followed.journal.evaluated == before + 7


def test_a_count_that_stays_the_same_wakes_nobody() -> None:
    followed = filled('for $a in stream("s")/r/a return <p>{ count(stream("s")/r/b[y = $a/x]) }</p>', 100)
    before = followed.journal.evaluated
    assert followed.feed(Replace(region=8, content=b"<b><y>7</y><v>5</v></b>")) == []
    assert followed.journal.evaluated == before + 1


def test_who_looked_something_up_and_is_gone_is_forgotten() -> None:
    followed = filled(PER_KEY[0], 100)
    assert len(followed.journal.asked) == 50
    followed.feed(Fill(region=0, content=b"<r/>"))
    assert not followed.journal.asked
    (lookup,) = (one for one in followed.journal.derived.values() if isinstance(one, Lookup))
    assert not lookup.askers
    assert not lookup.groups

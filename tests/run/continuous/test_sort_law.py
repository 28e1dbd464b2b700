"""``order by`` that follows its changes."""

from __future__ import annotations

from typing import Any

import pytest
from changing_lists import KEYS, changes, hold
from emission import Followed

from xstreamcast.model.change import Fill, Replace
from xstreamcast.plan.algebra import Strategy

A, B = 'stream("s")//a', 'stream("s")//b'
SORTS = (
    f"for $a in {A} order by $a/x[1], $a/@n descending return <q>{{ $a/@n, $a/v }}</q>",
    f"for $a in {A} order by number($a/@n) return string($a/v[1])",
    f"for $a in {A} order by $a/v[1] empty greatest, $a/@n return <o>{{ $a/v }}</o>",
    f"for $a in {A} order by $a/v[1] descending empty least return <o>{{ $a/v }}</o>",
    f"for $a in {A} order by number($a/v[2]) return <nan>{{ $a/v }}</nan>",
    f"for $a in {A} for $v in $a/v order by $v return <v n='{{$a/@n}}'>{{ string($v) }}</v>",
    f"for $a in {A} for $b in {B} where $a/x = $b/y order by $b/@m, $a/@n return <p n='{{$a/@n}}' m='{{$b/@m}}'/>",
    f"for $a in {A} order by sum($a/v) descending let $n := $a/@n where $n > 1 return <z>{{ $n }}</z>",
    f"<all>{{ for $a in {A} order by $a/@n return <e>{{ $a/v }}</e> }}</all>",
    f"(for $a in {A} order by number($a/@n) descending return string($a/@n))[position() <= 3]",
    f"subsequence(for $a in {A} order by $a/@n return $a/v, 2, 3)",
    f"string-join(for $a in {A} order by $a/@n return $a/@n, '-')",
    f"for $a in {A} order by if ($a/@n = 3) then 3 else string($a/@n) return string($a/@n)",
    f"for $a in {A} order by $a/x return string($a/@n)",
)


@pytest.mark.parametrize("number", range(len(SORTS)))
def test_what_is_sorted_is_so_after_every_change_and_keys_that_do_not_compare_are_the_answer(number: int) -> None:
    for seed in range(3):
        followed = hold(SORTS[number], changes(seed, 25, KEYS if seed == 2 else ("1", "2", "3")))
        assert followed.journal.plan.strategy is Strategy.STREAM


def filled(size: int) -> Followed:
    followed = Followed('for $b in stream("s")/r/b order by number($b/v) return <w>{ $b/v }</w>')
    holes = "".join(f"<stream:hole id='{k}'/>" for k in range(1, size + 1))
    items = [Fill(region=k, content=f"<b><v>{k * 7 % size}</v></b>".encode()) for k in range(1, size + 1)]
    followed.feed(Fill(region=0, content=f"<r>{holes}</r>".encode()), *items)
    return followed


def test_an_item_that_moves_is_told_and_no_other() -> None:
    followed = filled(100)
    before = followed.journal.evaluated
    told = followed.feed(Replace(region=8, content=b"<b><v>1000</v></b>"))
    assert [emitted.change.kind for emitted in told] == ["remove", "after"]
    assert followed.journal.evaluated == before + 1
    told = followed.feed(Replace(region=8, content=b"<b><v>1001</v></b>"))
    assert [emitted.change.kind for emitted in told] == ["replace"], "it stays where it is"


def test_a_row_finds_its_place_in_logarithmically_many_blocks() -> None:
    costs = []
    for size in (100, 3_000):
        followed = filled(size)
        derived: Any
        (derived,) = followed.journal.derived.values()  # one with an order of its own
        derived.sequence.touched = 0
        for k in range(1, 51):
            followed.feed(Replace(region=k, content=f"<b><v>{k}</v></b>".encode()))
        costs.append(derived.sequence.touched)
    assert costs[1] <= 3 * costs[0], costs

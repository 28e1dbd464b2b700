"""Joins without an equation follow their changes: rows by a relation of order, or by any condition on values."""

from __future__ import annotations

import pytest
from changing_lists import KEYS, changes, hold, hold_many
from emission import Followed
from test_change_costs import cost_the_same

from xstreamcast import query
from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.plan.explain.changes import recomputed
from xstreamcast.run.continuous.adjust.compared import Compared
from xstreamcast.run.continuous.adjust.ranged import Ranged

A, B = 'stream("s")//a', 'stream("s")//b'
BY_ORDER = (
    f"for $a in {A}, $b in {B} where $a/x < $b/y return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where $a/x = $b/y and $a/v >= $b/v return <p>{{ $a/v, $b/v }}</p>",
    f"for $a in {A} return <p>{{ count({B}[y > $a/x]), sum({B}[v <= $a/v]/v) }}</p>",
    f"for $a in {A} return <p>{{ max({B}[y > $a/x]/v), {B}[number(v[1]) > number($a/v[1])]/y }}</p>",
    f"for $a in {A} where some $b in {B} satisfies $b/y < $a/x return $a",
    f"for $a in {A} where not($a/x >= {B}/y) return $a",
    f"{A}[x > {B}/y]/v",
    f"for $a in {A} return <p>{{ for $b in {B} where $b/@m >= $a/@n and $b/@m <= $a/v return $b/y }}</p>",
    f"for $a in {A} for $b in {B}[y > $a/x] for $c in {A}[v < $b/v] return <t>{{ $a/@n, $c/v }}</t>",
    f"for $a in {A} group by $k := $a/@n return <g>{{ $k, count({B}[@m > $k]) }}</g>",
)
BY_CONDITION = (
    f"for $a in {A}, $b in {B} where $a/x != $b/y return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A} where $a/x != {B}/y return <p>{{ count({B}[y != $a/x]) }}</p>",
    f"for $a in {A}, $b in {B} where contains($b/@m, $a/@n) order by $b/@m return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A} return <c>{{ sum({B}[contains(@m, $a/@n)]/v), {B}[not(starts-with(@m, $a/@n))]/y }}</c>",
    f"for $a in {A} where some $b in {B} satisfies $b/@m + $a/@n = 4 return $a",
    f"for $a in {A} where every $b in {B} satisfies $b/y < $a/x return $a",
    f"for $a in {A}, $b in {B} where $a/x = $b/y or $a/v = $b/v return <p>{{ $a/@n, $b/@m }}</p>",
    f"for $a in {A} return <p>{{ string-join({B}[string-length(@m) gt string-length($a/@n)]/v, '-') }}</p>",
)


@pytest.mark.parametrize("number", range(len(BY_ORDER)))
def test_what_is_below_or_above_is_that_of_the_document_after_every_change(number: int) -> None:
    for seed in range(3):
        followed = hold(BY_ORDER[number], changes(seed, 25, KEYS if seed == 2 else ("1", "2", "3", "10")))
        assert not recomputed(followed.journal.plan)
        assert any(isinstance(one, Ranged) for one in followed.journal.derived.values())


@pytest.mark.parametrize("number", range(len(BY_CONDITION)))
def test_what_meets_a_condition_is_that_of_the_document_after_every_change(number: int) -> None:
    for seed in range(3):
        followed = hold(BY_CONDITION[number], changes(seed, 25, KEYS if seed == 2 else ("1", "2", "3")))
        assert not recomputed(followed.journal.plan)
        assert any(isinstance(one, Compared) for one in followed.journal.derived.values())


TYPED = (
    f"for $a in {A}, $b in {B} where $a/x < $b/y/number() return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where xs:integer($a/@n) < $b/v return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A}, $b in {B} where xs:decimal($a/@n) > $b/v/xs:integer(.) return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A} return <p>{{ count({B}[v/xs:integer(.) >= $a/v/xs:decimal(.)]) }}</p>",
    f"for $a in {A}, $b in {B} where $a/x lt $b/y return <p>{{ $a/@n, $b/@m }}</p>",
    f"for $a in {A}, $b in {B} where contains($b/y, $a/x) return <p>{{ $a/x, $b/y }}</p>",
    f"for $a in {A} where some $b in {B} satisfies $b/y + $a/@n = 4 return $a",
    f"for $a in {A} return <d>{{ {B}[xs:date('2026-01-01') + xs:dayTimeDuration('P1D') * number(@m) < "
    "xs:date('2026-01-01') + xs:dayTimeDuration('P1D') * number($a/@n)]/v }</d>",
)


@pytest.mark.parametrize("number", range(len(TYPED)))
def test_values_compare_by_their_types_and_what_does_not_is_the_answer_while_it_lasts(number: int) -> None:
    for seed in range(4):
        hold(TYPED[number], changes(seed, 25, KEYS))


STREAMS = (
    'for $a in stream("s")//a, $b in stream("t")//b where $a/v < $b/v and contains($b/@m, $a/@n) return $b/v',
    'for $a in stream("s")//a return <p>{ count(stream("t")//b[y >= $a/x]), sum(stream("u")//a[x != $a/x]/v) }</p>',
)


@pytest.mark.parametrize("number", range(len(STREAMS)))
def test_the_sides_may_be_different_streams(number: int) -> None:
    for seed in range(2):
        assert not hold_many(STREAMS[number], seed, 15).recomputed


def filled(text: str, size: int) -> Followed:
    """A list of ``size`` a and as many b, with the numbers 1, 2 … as keys."""
    followed = Followed(text)
    holes = "".join(f"<stream:hole id='{k}'/>" for k in range(1, 2 * size + 1))
    root: list[Change] = [Fill(region=0, content=f"<r>{holes}</r>".encode())]
    a = [Fill(region=k, content=f"<a><x>{k}</x></a>".encode()) for k in range(1, size + 1)]
    b = [Fill(region=size + k, content=f"<b><y>{k}</y></b>".encode()) for k in range(1, size + 1)]
    followed.feed(*root, *a, *b)
    return followed


def test_only_those_look_again_whose_bound_lets_a_row_in() -> None:
    followed = filled('for $a in stream("s")/r/a return <p>{ stream("s")/r/b[number(y) > number($a/x)]/y }</p>', 100)
    before = followed.journal.evaluated
    followed.feed(Replace(region=108, content=b"<b><y>4.5</y></b>"))
    assert followed.journal.evaluated == before + 8, (
        "the b itself, and the a below 8, where it was, or 4.5, where it is"
    )


def test_a_count_wakes_those_between_where_a_row_was_and_where_it_is() -> None:
    followed = filled(
        'for $a in stream("s")/r/a return <p>{ count(stream("s")/r/b[number(y) > number($a/x)]) }</p>', 100
    )
    before = followed.journal.evaluated
    followed.feed(Replace(region=108, content=b"<b><y>4.5</y></b>"))
    assert followed.journal.evaluated == before + 4, "the b itself, and the a 5, 6, 7"
    followed.feed(Replace(region=108, content=b"<b><y>4.5</y><z/></b>"))
    assert followed.journal.evaluated == before + 5


def test_whether_there_is_one_is_another_only_where_the_first_is() -> None:
    followed = filled('for $a in stream("s")/r/a where number($a/x) < stream("s")/r/b/number(y) return $a/x', 100)
    before = followed.journal.evaluated
    followed.feed(Replace(region=150, content=b"<b><y>77</y></b>"))
    assert followed.journal.evaluated == before + 1, "nobody but the b itself"
    followed.feed(Replace(region=200, content=b"<b><y>97.5</y></b>"))
    assert followed.journal.evaluated == before + 3, "the b, and the a 99, for the greatest is now 99"


def test_a_row_is_compared_once_with_what_has_been_asked() -> None:
    followed = filled('for $a in stream("s")/r/a return <p>{ stream("s")/r/b[contains(y, $a/x)]/y }</p>', 60)
    (operator,) = (one for one in followed.journal.derived.values() if isinstance(one, Compared))
    before, compared = followed.journal.evaluated, operator.compared
    followed.feed(Replace(region=67, content=b"<b><y>58</y></b>"))
    assert operator.compared == compared + 60, "with each of the a"
    assert followed.journal.evaluated == before + 5, "the b itself, and the a 7, 5, 8, 58"


def test_who_asked_and_is_gone_is_forgotten() -> None:
    for condition in ("y > $a/x", "contains(y, $a/x)"):
        followed = filled(f'for $a in stream("s")/r/a return <p>{{ count(stream("s")/r/b[{condition}]) }}</p>', 30)
        followed.feed(Fill(region=0, content=b"<r/>"))
        followed.feed(Fill(region=0, content=b"<r><b><y>1</y></b></r>"))
        (operator,) = (one for one in followed.journal.derived.values() if isinstance(one, Ranged | Compared))
        assert not followed.journal.asked
        assert not operator.askers
        assert not (operator.standing if isinstance(operator, Compared) else operator._bounds)


LOGARITHMIC = (
    "for $k in //k return <p>{ sum(//b[number(c) < 5000 + $k]/c) }</p>",
    "for $k in //k where $k < //b/c return $k",
    "for $k in //k return <p>{ count(//b[contains(c, $k)]) }</p>",
    "try { sum(//b/c) } catch * { 'none' }",
)


@pytest.mark.parametrize("text", LOGARITHMIC)
def test_a_change_costs_the_same_whatever_else_there_is(text: str) -> None:
    cost_the_same(text, 100)


def test_what_meets_no_key_need_not_be_a_number() -> None:
    text = "for $a in //a, $b in //b where $a/x < $b/y/number() return 1"
    assert query(text, context="<r><a><x>k</x></a><b/></r>").to_list() == []

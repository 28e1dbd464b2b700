"""The three equations of ``adjust`` (ICDE'08 §IV), which specify how an operator's state follows an earlier update.

    adjust(s1, s2, s2) = s1
    adjust(s1, s1, s2) = s2
    adjust(f*(v, s1), s2, s3) = f*(v, adjust(s1, s2, s3))

A state is what an operator knows after a prefix: two states are equal when they show the same, and go on to show the
same whatever comes. f*(v, s) is s after v has come; an update of a region turns the state s2 after it into s3, and
``adjust`` turns every later state into what it would have been. The paper's mechanism is not ours; the equations are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from law_oracle import Followed, Scratch

import xstreamcast
from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Item
from xstreamcast.model.change import After, Before, Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.plan.algebra import Reduce
from xstreamcast.run.continuous.adjust.sums import contribution, monoid_of

X = 'stream("s")/r/x'
SUM = "declare function local:sum($s) { if (empty($s)) then 0 else number($s[1]) + local:sum(tail($s)) }; "
WEAVE = (
    "declare function local:weave($a, $s) { if (empty($s)) then $a else local:weave(number($s[1]) - $a, tail($s)) }; "
)

OPERATORS = {
    "count": f"count({X})",
    "count of a predicate": f"count({X}[. > 3])",
    "sum": f"sum({X})",
    "avg": f"avg({X})",
    "min": f"min({X})",
    "max": f"max({X})",
    "exists": f"exists({X}[. > 3])",
    "empty": f"empty({X}[. > 3])",
    "some": f"some $x in {X} satisfies $x = 5",
    "every": f"every $x in {X} satisfies $x < 5",
    "distinct": f"distinct-values({X})",
    "string-join": f'string-join({X}, "-")',
    "fold": f"{SUM}local:sum({X})",
    "fold that is not associative": f"{WEAVE}local:weave(0, {X})",
    "sort": f"for $x in {X} stable order by number($x) return <o>{{ $x/text() }}</o>",
    "sort downwards": f"for $x in {X} stable order by number($x) descending return $x",
    "group": f"for $x in {X} group by $k := number($x) mod 3 return <g k='{{$k}}'>{{ count($x), $x/text() }}</g>",
    "join": f'for $x in {X}, $y in stream("s")/r/y where $x = $y/@k return <j>{{ $x/text(), $y/text() }}</j>',
    "self-join": f"for $x in {X} return <j>{{ $x/text(), count({X}[. = $x]) }}</j>",
    "slice": f"({X})[2]",
    "slice from the second": f"({X})[position() > 1]",
    "last": f"({X})[last()]",
    "last but one": f"({X})[last() - 1]",
    "tail": f"tail({X})",
    "reverse": f"reverse({X})",
    "remove": f"remove({X}, 2)",
    "last of a sort": f"(for $x in {X} order by number($x) return $x)[last()]",
    "numbered sort": f"for $x in {X} order by number($x) count $n return <p at='{{$n}}'>{{ $x/text() }}</p>",
    "count clause": f"for $x in {X} where $x > 2 count $n return <p at='{{$n}}'>{{ $x/text() }}</p>",
    "fold that is a sum": f"fold-left({X}, 1, function($a as xs:integer, $x) as xs:integer {{ $a + xs:integer($x) }})",
    "fold that is a maximum": f"fold-left({X}, 1, function($a, $x) {{ max(($a, number($x))) }})",
    "position in a parent": 'stream("s")//r/x[2]',
    "last in a parent": 'for $r in stream("s")//r return <o>{ $r/x[last()]/text() }</o>',
    "condition on a position": 'stream("s")//r[x[1] > 3]/y',
    "one branch or the other": f'if ({X} = 5) then {X} else stream("s")/r/y',
    "concat": f"{X}/text()",
    "merge": f'({X} | stream("s")/r/y)',
    "every element": 'stream("s")//*',
    "ancestor condition": 'stream("s")/r[x = 5]/x[. < 5]',
    "parent": f"{X}[. = 5]/../@n/string()",
    "position": f"for $x at $i in {X} return <p at='{{$i}}'>{{ $x/text() }}</p>",
    "construction": f"<all n='{{count({X})}}'>{{ for $x in {X} where $x > 2 return <o>{{ $x/text() }}</o> }}</all>",
    "let": f"let $n := count({X}) for $x in {X} return $x + $n",
}

FIRST, LATER, LAST = 1, 2, 3
ROOT = Fill(
    region=0,
    content=b'<r n="7"><stream:hole id="1"/><stream:hole id="2"/><stream:hole id="3"/><y k="2">t</y><y k="5">f</y></r>',
)
numbers = st.lists(st.integers(0, 7), max_size=3)
few = settings(max_examples=3 * MORE, derandomize=True, deadline=None, database=None)
each_operator = pytest.mark.parametrize("text", OPERATORS.values(), ids=OPERATORS.keys())


def content(values: Iterable[int]) -> bytes:
    return "".join(f"<x>{value}</x>" for value in values).encode()


def fill(region: int, values: Iterable[int]) -> Fill:
    return Fill(region=region, content=content(values))


@st.composite
def update(draw: st.DrawFn) -> Change:
    """Something that happens to the first region."""
    new = content(draw(numbers))
    return draw(
        st.sampled_from(
            [
                Replace(region=FIRST, content=new),
                Replace(region=11, target=FIRST, content=new),
                Before(region=12, target=FIRST, content=new),
                After(region=13, target=FIRST, content=new),
                Hide(region=FIRST),
                Remove(region=FIRST),
            ]
        )
    )


@dataclass
class State:
    """An operator's state: what has come, and what is shown of it."""

    followed: Followed
    scratch: Scratch

    def then(self, *changes: Change) -> State:
        for change in changes:
            self.followed.show(self.followed.query.feed(change, "s"))
            self.scratch.take_item("s", change)
        return self

    @property
    def shown(self) -> str:
        expected = self.scratch.answer()
        assert self.followed.differs(expected) is None
        return expected.adaptive


def state(text: str, *changes: Change) -> State:
    return State(Followed(xstreamcast.continuous(text)), Scratch(text)).then(ROOT, *changes)


def assert_equal(one: State, other: State, future: list[int]) -> None:
    """Two states are equal when they show the same, now and after whatever comes."""
    assert one.shown == other.shown
    assert one.then(fill(LAST, future)).shown == other.then(fill(LAST, future)).shown


@each_operator
@few
@given(u=numbers, v=numbers, future=numbers)
def test_an_update_that_changes_no_state_changes_no_later_one(
    text: str, u: list[int], v: list[int], future: list[int]
) -> None:
    """adjust(s1, s2, s2) = s1, and nothing is told."""
    s1 = state(text, fill(FIRST, u), fill(LATER, v))
    before = s1.shown
    assert s1.followed.query.feed(Replace(region=FIRST, content=content(u)), "s") == []
    assert s1.shown == before
    s1.then(Hide(region=FIRST), Show(region=FIRST))
    assert_equal(s1, state(text, fill(FIRST, u), fill(LATER, v)), future)


@each_operator
@few
@given(u=numbers, w=numbers, future=numbers)
def test_the_state_right_after_an_update_is_the_new_one(
    text: str, u: list[int], w: list[int], future: list[int]
) -> None:
    """adjust(s1, s1, s2) = s2."""
    assert_equal(
        state(text, fill(FIRST, u), Replace(region=FIRST, content=content(w))), state(text, fill(FIRST, w)), future
    )


@each_operator
@few
@given(u=numbers, v=numbers, change=update(), future=numbers)
def test_adjusting_after_more_has_come_is_the_same_as_before(
    text: str, u: list[int], v: list[int], change: Change, future: list[int]
) -> None:
    """adjust(f*(v, s1), s2, s3) = f*(v, adjust(s1, s2, s3))."""
    adjusted_late = state(text, fill(FIRST, u), fill(LATER, v), change)
    adjusted_early = state(text, fill(FIRST, u), change, fill(LATER, v))
    assert_equal(adjusted_late, adjusted_early, future)


# ------------------------------------------------------------------------------------------------- sums

SUMS = {"count": Reduce("count"), "sum": Reduce("sum"), "avg": Reduce("avg")}
"""Those whose sums can be undone; the others are summed again along the path to the change."""
doubles = st.lists(st.sampled_from([0.1, 0.2, 1e16, -1e16, 1.0, 3.5, float("inf"), float("nan")]), max_size=4)


@pytest.mark.parametrize("reduction", SUMS.values(), ids=SUMS.keys())
@settings(max_examples=30 * MORE, derandomize=True, deadline=None, database=None)
@given(doubles, doubles, doubles, doubles)
def test_sums_that_can_be_undone_satisfy_the_equations_exactly(
    reduction: Reduce, a: list[float], b: list[float], c: list[float], v: list[float]
) -> None:
    """adjust(s1, s2, s3) = s1 − s2 + s3, for states that s2 is a part of; doubles lose nothing on the way."""
    monoid = monoid_of(reduction)
    assert monoid.less is not None

    def add(s: Any, values: list[float]) -> Any:
        items: list[Item] = list(values)
        return monoid.add(s, contribution(reduction, items, _no_state))

    def adjust(s1: Any, s2: Any, s3: Any) -> Any:
        assert monoid.less is not None
        return monoid.add(monoid.less(s1, s2), s3)

    s2, s3 = add(monoid.zero, a), add(monoid.zero, b)
    s1 = add(s2, c)
    assert said(adjust(s1, s2, s2)) == said(s1)
    assert said(adjust(s2, s2, s3)) == said(s3)
    assert said(adjust(add(s1, v), s2, s3)) == said(add(adjust(s1, s2, s3), v))


def said(summary: Any) -> str:
    """What a sum comes to."""
    return str(summary.sum() if isinstance(summary, Total) else summary)


def _no_state() -> Any:
    raise AssertionError("sums that can be undone need no state of their own")

"""What a change costs: how much is called for it grows at most like log n, whatever the operator."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from xstreamcast.model.change import After, Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.model.structure import parse_structure
from xstreamcast.run.continuous.query import ContinuousQuery, continuous

STRUCTURE = parse_structure(
    '<tag id="1" name="a"><tag id="2" name="s" type="filler"><tag id="3" name="t"/><tag id="6" name="k"/>'
    '<tag id="4" name="b" type="filler"><tag id="5" name="c"/><tag id="7" name="d"/></tag></tag></tag>'
)
SECTION, FIRST, NEW = 1, 1000, 5_000_000

OPERATORS = {
    "selection": "//b[c > 5000]",
    "projection": "//b/c",
    "construction": '<r n="{count(//b)}">{ for $b in //b return <x>{ $b/c }</x> }</r>',
    "merge": "(//b, //t)",
    "condition": "if (count(//b) > 3) then //b else //t",
    "function": "declare function local:f($b) { $b/c * 2 }; for $b in //b return local:f($b)",
    "let": "let $x := //b[c > 5000] return (count($x), $x/d)",
    "count": "count(//b[c > 5000])",
    "sum": "sum(//b/c)",
    "avg": "avg(//b/c)",
    "min": "min(//b/c)",
    "max": "max(//b/c)",
    "exists": "exists(//b[c = 77])",
    "every": "every $b in //b satisfies $b/c > 1",
    "fold": "fold-left(//b, 0, function($a as xs:integer, $b) as xs:integer { $a + xs:integer($b/c) })",
    "extreme fold": "fold-left(//b, 0, function($a, $b) { max(($a, number($b/c))) })",
    "join": "for $x in //b, $y in //k where $x/c = $y return <p>{ $x/d }</p>",
    "sort": "for $b in //b order by number($b/c) return $b/d",
    "first of a sort": "(for $b in //b order by number($b/c) return $b/d)[1]",
    "last of a sort": "(for $b in //b order by number($b/c) return $b/d)[last()]",
    "numbered sort": "for $b in //b order by number($b/c) count $n where $n <= 3 return $b/d",
    "sort()": "sort(//b/c)",
    "group": "for $b in //b group by $k := $b/c mod 50 return <g k='{$k}'>{ count($b) }</g>",
    "item": "(//b)[7]",
    "last": "(//b)[last()]",
    "last but one": "(//b)[last() - 1]",
    "first ones": "(//b)[position() < 4]/c",
    "rest": "tail(//b)",
    "from": "(//b)[position() > 3]",
    "reverse": "reverse(//b)",
    "numbered": "for $b at $i in //b return <p n='{$i}'>{ $b/c }</p>",
    "numbered first ones": "for $b at $i in //b where $i < 3 return $b/c",
    "counted": "for $b in //b where $b/c > 2 count $n return <p n='{$n}'>{ $b/c }</p>",
    "second of a parent": "//s/b[2]",
    "last of a parent": "//s/b[last()]",
    "first ones of a parent": "//s/b[position() < 3]/c",
    "second of a parent, made": "for $s in //s return <s>{ $s/b[2]/c }</s>",
    "condition on the first": "//s[b[1]/c = 3]/t",
    "condition on a count": "//s[count(b) > 2]/t",
    "condition on a sum": "for $s in //s where sum($s/b/c) > 9 return $s/t",
    "sort by a count": "for $s in //s order by count($s/b) return $s/t",
}


Filled = Callable[[str, int], ContinuousQuery]


def over_stream(text: str) -> str:
    """A query whose paths begin at the stream."""
    return re.sub(r"(?<![\w)\]*@.\"/<])//?(?=[a-z])", lambda found: f'stream("s"){found.group()}', text)


def element(number: int, value: int) -> bytes:
    """A ``b``."""
    return f"<b id='b{number}'><c>{value}</c><d>d{number}</d></b>".encode()


def filled(text: str, count: int) -> ContinuousQuery:
    """A query on one section with so many items, each a fragment."""
    query = continuous(over_stream(text), structures={"s": STRUCTURE})
    holes = "".join(f'<stream:hole id="{FIRST + n}" tsid="4"/>' for n in range(count))
    changes: list[Change] = [
        Fill(region=0, tsid=1, content=f'<a><stream:hole id="{SECTION}" tsid="2"/></a>'.encode()),
        Fill(region=SECTION, tsid=2, content=f"<s id='s'><t>t</t><k>1</k>{holes}</s>".encode()),
    ]
    changes += [Fill(region=FIRST + n, tsid=4, content=element(n, n * 7919 % 9973)) for n in range(count)]
    query.feed_many(changes)
    return query


def steps(count: int) -> list[Change]:
    """Changes of one item in the middle and of one near the end: what is behind is not many."""
    middle, last = FIRST + count // 2 + 3, FIRST + count - 2
    return [
        Replace(region=middle, tsid=4, content=element(middle, 9000)),
        Replace(region=middle, tsid=4, content=element(middle, 77)),
        After(region=NEW, target=last, tsid=4, content=element(NEW, 500)),
        Hide(region=last),
        Show(region=last),
        Remove(region=last),
        Fill(region=last, tsid=4, content=element(last, 5)),
    ]


def calls(query: ContinuousQuery, change: Change) -> int:
    """How many functions are called for a change."""
    if query.engine is not None and not isinstance(change, Fill | Replace | Remove):
        query.inflow.leave_columns("")  # once, and it costs what there is
        query.inflow.go_on()
    found = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        query.feed(change)
    finally:
        sys.setprofile(before)
    return found


def costs(text: str, count: int, filled: Filled = filled, steps: Callable[[int], list[Change]] = steps) -> list[int]:
    """What each change costs, the programs being made."""
    for change in steps(count):
        filled(text, 10).feed(change)
    query = filled(text, count)
    assert not query.recomputed
    found = []
    for change in steps(count):
        found.append(calls(query, change))
    return found


def cost_the_same(text: str, count: int, filled: Filled = filled, steps: Callable[[int], list[Change]] = steps) -> None:
    """Ten times as much around it makes no change dearer, but for the logarithm of it."""
    few, many = costs(text, count, filled, steps), costs(text, 10 * count, filled, steps)
    for change, less, more in zip(steps(count), few, many, strict=True):
        assert more <= 2.5 * less + 300, f"{change.kind}: {less} calls among {count}, {more} among {10 * count}"


@pytest.mark.parametrize("text", OPERATORS.values(), ids=OPERATORS.keys())
def test_a_change_costs_the_same_whatever_else_there_is(text: str) -> None:
    cost_the_same(text, 100)


@pytest.mark.parametrize("name", ["count", "numbered", "second of a parent"])
def test_it_does_with_ten_thousand(name: str) -> None:
    few, many = costs(OPERATORS[name], 100), costs(OPERATORS[name], 10_000)
    assert all(more <= 3 * less + 400 for less, more in zip(few, many, strict=True)), (few, many)

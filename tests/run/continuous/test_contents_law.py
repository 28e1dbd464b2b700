"""What is chosen, and what stands side by side in new elements, follows its changes item by item: the law, costs."""

from __future__ import annotations

import pytest
from changing_lists import hold
from test_change_costs import cost_the_same, over_stream
from wide_sections import STRUCTURE, changes

CONTENTS = (
    '<r n="{count(//b)}">{ //t, //b/c }</r>',
    "<r>{ if (//t = 1) then //b else //c }</r>",
    "<r>{ (//t, <x/>), //b }</r>",
    '<r>{ "n", count(//b), //b, <x/>, "m", //t }</r>',
    "<r>{ //b/c/string(), //t }</r>",
    "element r { //b, //t }",
    "document { <r>{ //b }</r> }",
    "document { //b, //t }",
    "let $x := //b return <r>{ count($x), $x[1], $x[last()] }</r>",
    "let $r := <r>{ //b }</r> return $r",
    "let $r := <r>{ //b }</r> return <o>{ $r }</o>",
    "let $r := for $b in //b return <x>{ $b/c }</x> return <r n='{count($r)}'>{ $r, $r }</r>",
    "<r>{ switch (count(//b)) case 3 return //t case 4 return //b default return //c }</r>",
    "<r>{ for $b in //b order by string($b/@id) return $b/c, //t }</r>",
    "<r>{ for $b in //b group by $k := string($b/@id) return <g>{ count($b) }</g>, //t }</r>",
    "<r>{ //b/@id, //t }</r>",
)
CHOICES = (
    "switch (count(//b)) case 3 return //t case 4 case 5 return //b/c default return (//b)[1]",
    "switch (string((//s)[1]/t)) case '1' return //b default return <none/>",
    "typeswitch (//t) case element() return //b case element()+ return //c default return <none/>",
    "if (//t = 1) then (if (//c = 2) then //b else //c) else ()",
    "if (//t = 1) then (//b, //c) else //t",
    "for $x allowing empty in //b[c = 5] return <p>{ $x/c }</p>",
    "for $x allowing empty at $i in //b[c = 5], $y in (1, 2) where $y > $i return <p>{ $y, $x/c }</p>",
    "<r>{ for $x allowing empty in //b[c = 5] return <p>{ $x/c }</p> }</r>",
)


@pytest.mark.parametrize("structured", [True, False], ids=["structure", "none"])
@pytest.mark.parametrize("text", [*CONTENTS, *CHOICES])
def test_contents_follow(text: str, structured: bool) -> None:
    followed = hold(over_stream(text), changes(len(text) + structured, 24), {"s": STRUCTURE} if structured else None)
    assert followed.journal.plan.strategy.value == "stream"


@pytest.mark.parametrize(
    "text",
    [
        CONTENTS[0],
        "<r>{ if (//k = 1) then //b else //t }</r>",
        "document { <r>{ //b }</r> }",
        CONTENTS[8],
        CONTENTS[9],
        "let $r := for $b in //b return <x>{ $b/c }</x> return <r n='{count($r)}'>{ $r }</r>",
        "switch (count(//b)) case 3 return //t case 5 return //b/c default return //b/d",
    ],
)
def test_a_change_costs_the_same_whatever_else_is_in_the_element(text: str) -> None:
    cost_the_same(text, 40)

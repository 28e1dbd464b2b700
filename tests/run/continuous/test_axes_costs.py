"""What a change costs on every axis where no tag structure tells what is around an element: at most like log n.

Elements of any name may be anywhere, and inside of their like; each is followed by itself.
"""

from __future__ import annotations

import pytest
from test_change_costs import FIRST, NEW, SECTION, cost_the_same, element, over_stream

from xstreamcast.model.change import After, Change, Fill, Hide, Remove, Replace, Show
from xstreamcast.run.continuous.query import ContinuousQuery, continuous

AXES = {
    "all elements, counted": "count(//*)",
    "all names": "//*/name()",
    "all attributes": "//@id/string()",
    "attributes of all elements": "//*/@id/string()",
    "those with a child": "//*[c]/@id/string()",
    "those with a child of a value": "//*[c = 77]/@id/string()",
    "those with so many children": "//*[count(b) = 2]/@id/string()",
    "the children of each, counted": "for $x in //* return <e n='{name($x)}' k='{count($x/*)}'/>",
    "the descendants of each, counted": "for $s in //s return <s id='{$s/@id}'>{ count($s//c) }</s>",
    "the sum of all below": "for $x in //* where sum($x/b/c) > 9 return name($x)",
    "the first in each": "for $x in //* return $x/b[1]/c",
    "one of all": "(//*[c])[5]/@id/string()",
    "grouped by name": "for $x in //* group by $n := name($x) return <g n='{$n}'>{ count($x) }</g>",
    "sorted by a count": "for $x in //*[c] order by count($x/*) return <p>{ $x/@id }</p>",
    "parents": "//c/../@id/string()",
    "parents, as they are": "//d/..",
    "parents of a name": "//b[c > 5000]/parent::*/name()",
    "ancestors": "//c/ancestor::s/@id/string()",
    "all ancestors": "//c[. > 5000]/ancestor::*/name()",
    "children of parents with a condition": "//*[k = '1']/t",
    "siblings by way of the parent": "//k/../t/string()",
    "those whose parent has a child": "//t[../k]",
    "second in any parent": "//b[2]",
    "last in any parent": "//b[last()]/@id/string()",
    "but the first of any parent": "//b[position() > 1]/@id/string()",
    "first ones with a condition": "//b[c > 10][position() < 3]/@id/string()",
    "second in any parent, in a loop": "for $b in //b[2] return <x>{ $b/@id, count($b/c) }</x>",
    "counted by position": "count(//*[1])",
    "following siblings": "//b/following-sibling::b[1]/@id/string()",
    "preceding siblings": "//b/preceding-sibling::b/@id/string()",
    "with a sibling behind": "//b[following-sibling::b]/@id/string()",
}


def filled(text: str, count: int) -> ContinuousQuery:
    """A query on one section with so many items, each a fragment, of which no structure tells."""
    query = continuous(
        over_stream(text.replace("//*", "//any-element").replace("//@", "//any-attribute-"))
        .replace("//any-element", "//*")
        .replace("//any-attribute-", "//@")
    )
    holes = "".join(f'<stream:hole id="{FIRST + n}"/>' for n in range(count))
    changes: list[Change] = [
        Fill(region=0, content=f'<a id="a"><stream:hole id="{SECTION}"/></a>'.encode()),
        Fill(region=SECTION, content=f"<s id='s'><t>t</t><k>1</k>{holes}</s>".encode()),
    ]
    changes += [Fill(region=FIRST + n, content=element(n, n * 7919 % 9973)) for n in range(count)]
    query.feed_many(changes)
    return query


def steps(count: int) -> list[Change]:
    """Changes of one item in the middle and of one near the end."""
    middle, last = FIRST + count // 2 + 3, FIRST + count - 2
    return [
        Replace(region=middle, content=element(middle, 9000)),
        Replace(region=middle, content=element(middle, 77)),
        After(region=NEW, target=last, content=element(NEW, 500)),
        Hide(region=last),
        Show(region=last),
        Remove(region=last),
        Fill(region=last, content=element(last, 5)),
    ]


@pytest.mark.parametrize("text", AXES.values(), ids=AXES.keys())
def test_a_change_costs_the_same_on_every_axis_whatever_else_there_is(text: str) -> None:
    cost_the_same(text, 40, filled, steps)

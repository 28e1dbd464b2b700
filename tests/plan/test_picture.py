"""The plan as a picture."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest
from command import xcast

from xstreamcast import explain
from xstreamcast.plan.explain.picture import WIDTH, laid_out, to_svg

QUERIES = [
    "1 + 1",
    "count(//a)",
    'for $a in stream("s")//a where $a/b > 3 order by $a/c return <x>{$a/d}</x>',
    'for $a in stream("s")//a for $b in stream("t")//b where $a/@id = $b/@id return ($a, count(stream("s")//c))',
    "let $n := count(//item) for $i in //item return $i/price div $n",
    "for $p in doc('a.xml')//p group by $k := $p/k return <g>{$k, count($p)}</g>",
]


@pytest.mark.parametrize("text", QUERIES)
def test_every_step_is_a_box_no_two_overlap_and_arrows_go_to_the_right(text: str) -> None:
    explanation = explain(text)
    layout = laid_out(explanation)
    boxes = {box.name: box for box in layout.boxes}
    assert set(explanation.steps) <= set(boxes)
    for one, other in combinations(layout.boxes, 2):
        apart = abs(one.x - other.x) >= WIDTH or abs(one.middle - other.middle) >= (one.height + other.height) / 2
        assert apart, (one.name, other.name)
    for edge in layout.edges:
        assert boxes[edge.origin].x + WIDTH < boxes[edge.target].x
    for box in layout.boxes:
        assert 0 <= box.x <= layout.width - WIDTH
        assert 0 <= box.y <= layout.height - box.height


def test_the_picture_is_well_formed_whatever_the_query_says() -> None:
    svg = to_svg(explain("""for $a in //a[. = "<script>alert(1)</script>&amp;'"] return $a/b"""))
    root = ElementTree.fromstring(svg)
    assert not [each for each in root.iter() if each.tag.endswith("script")]
    names = [each.get("data-edge") for each in root.iter() if each.get("data-edge")]
    assert names == ["s1", "s2", "s3", "the context document>s3"]


def test_explain_prints_it() -> None:
    ran = xcast("explain", "count(//a)", "--svg")
    assert (ran.code, ran.err) == (0, "")
    root = ElementTree.fromstring(ran.out)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("aria-label") == "Plan: one pass; state: a count"
    assert xcast("explain", "1", "--svg", "--dot").code == 2

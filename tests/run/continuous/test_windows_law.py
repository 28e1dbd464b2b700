"""Tumbling and sliding windows follow their changes: the law after every change, and what a change costs."""

from __future__ import annotations

import pytest
from changing_lists import hold
from test_change_costs import FIRST, NEW, calls, element, filled, over_stream
from wide_sections import STRUCTURE, changes

from xstreamcast.model.change import After, Change, Replace

TUMBLING = (
    "start at $s when true() end at $e when $e - $s = 2 return <w>{ $w/c }</w>",
    "start at $s when true() only end at $e when $e - $s = 1 return <w>{ count($w) }</w>",
    "start $s when $s/c > 2 return <w>{ $w/@id/string() }</w>",
    "start $s at $n when $s/c > 2 return <w n='{$n}'>{ $w/c }</w>",
    "start $s when $s/c = 2 end $e when $e/c = 1 return <w>{ $s/c, $e/c, count($w) }</w>",
    "start $s when $s/c = 2 only end $e when $e/c = 1 return <w>{ $s/c, $e/c, count($w) }</w>",
    "start $s previous $p when not($s/@id = $p/@id) return <w>{ $w/@id/string() }</w>",
    "start $s when true() end $e next $n when not($n/@id = $e/@id) return <w>{ data($s/@id), $w/c, $n/c }</w>",
    "start $s at $i when $i mod 3 = 1 return <w>{ $i, $w/c }</w>",
    "start $s when xs:integer($s/c[1]) > 1 end $e when $e/c > $s/c return count($w)",
    "start when true() end at $e when $e mod 2 = 0 return <w>{ $e, $w/c }</w>",
    "start when true() end when true() for $c in $w/c where $c > 1 return <w>{ $c, count(//t) }</w>",
)
SLIDING = (
    "start at $s when true() only end at $e when $e - $s = 2 return <w>{ avg($w/c) }</w>",
    "start at $s when true() end at $e when $e - $s = 1 return <w>{ $w/c }</w>",
    "start $s when $s/c = 2 end $e when $e/c = 1 return <w>{ $s/@id, $w/c }</w>",
    "start $s when $s/c > 1 only end $e next $n when $n/@id = $s/@id return <w>{ $n/c, count($w) }</w>",
    "start $s at $i when $i mod 2 = 0 end $e at $j when $j = $i + 2 return <w>{ $i, $w/c }</w>",
    "start $s previous $p when $p/c < $s/c end $e when $e/c != $s/c return sum($w/c)",
    "start $s when true() end $e when xs:integer($e/c[1]) > xs:integer($s/c[1]) return count($w)",
)
NEIGHBOURS = (
    "for $b at $i in //b return <d>{ $b/c[1], (//b)[$i - 1]/c }</d>",
    "let $x := //b for $b at $i in $x where $x[$i + 1]/@id = $b/@id return <d n='{$i}'>{ $b/c }</d>",
    "for $i in 2 to count(//b) return <d>{ (//b)[$i]/c, (//b)[$i - 1]/@id/string() }</d>",
    "for $i in 1 to count(//b) return <d n='{$i}'>{ (//b)[$i]/c }</d>",
    "for $s in /r/s return <p>{ $s/t, $s/following-sibling::s[1]/t }</p>",
    "for $s in /r/s where $s/preceding-sibling::s[1]/t = $s/t return $s/@id/string()",
    "/r/s[preceding-sibling::s[1]/t = t]/b",
    "/r/s[following-sibling::s]/t",
    "/r/s/following-sibling::s/t",
    "/r/s/preceding-sibling::s[1]/@id/string()",
    "/r/*[not(preceding-sibling::*)]/name()",
    "for-each-pair(//b, tail(//b), function($x, $y) { count($y/c) - count($x/c) })",
    "for-each-pair(//b/c, tail(//b/c), function($x, $y) { $y - $x })",
)


def loop(kind: str, rest: str) -> str:
    """A loop over windows of the ``b``."""
    return over_stream(f"for {kind} window $w in //b {rest}")


WINDOWS = [*[loop("tumbling", rest) for rest in TUMBLING], *[loop("sliding", rest) for rest in SLIDING]]


@pytest.mark.parametrize("structured", [True, False], ids=["structure", "none"])
@pytest.mark.parametrize(
    "text", [*WINDOWS, *map(over_stream, NEIGHBOURS), f"<r>{{ {WINDOWS[2]} }}</r>", f"count({WINDOWS[0]})"]
)
def test_windows_follow(text: str, structured: bool) -> None:
    followed = hold(text, changes(len(text) + structured, 28), {"s": STRUCTURE} if structured else None)
    assert followed.journal.plan.strategy.value == "stream"


@pytest.mark.parametrize("text", [*[WINDOWS[n] for n in (0, 2, 3, 7, 12, 13)], *NEIGHBOURS[:4], NEIGHBOURS[11]])
def test_what_comes_at_the_end_costs_the_window_it_is_in(text: str) -> None:
    def cost(count: int) -> int:
        last = FIRST + count - 1
        for change in (Replace(region=last, tsid=4, content=element(last, 2)), _behind(last)):
            filled(text, 20).feed(change)
        query = filled(text, count)
        assert not query.recomputed
        return calls(query, Replace(region=last, tsid=4, content=element(last, 2))) + calls(query, _behind(last))

    few, many = cost(30), cost(300)
    assert many <= 2 * few + 300, f"{few} calls among 30, {many} among 300"


def _behind(last: int) -> Change:
    return After(region=NEW, target=last, tsid=4, content=element(NEW, 500))


@pytest.mark.parametrize("text", [*[WINDOWS[n] for n in (2, 12, 13)], NEIGHBOURS[0], NEIGHBOURS[11]])
def test_a_change_in_the_middle_costs_the_windows_around_it(text: str) -> None:
    def cost(count: int) -> int:
        middle = FIRST + count // 2
        change = After(region=NEW, target=middle, tsid=4, content=element(NEW, 9000))
        filled(text, 20).feed(After(region=NEW, target=FIRST, tsid=4, content=element(NEW, 9000)))
        return calls(filled(text, count), change)

    few, many = cost(30), cost(300)
    assert many <= 2 * few + 300, f"{few} calls among 30, {many} among 300"

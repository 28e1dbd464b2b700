"""Positions, choices of them, and folds follow their changes: the law, after every change."""

from __future__ import annotations

import re

import pytest
from changing_lists import hold
from wide_sections import STRUCTURE, changes

PARENTS = (
    "//s/b[2]",
    "//s/b[last()]",
    "//s/b[c][2]",
    "//s/b[2]/c",
    "//s/b[position() < 3]",
    "//s/b[position() > 1]",
    "/r/s/b[2]",
    "/r/s[2]/b",
    "/r/s[2]/b[3]",
    "for $s in //s return $s/b[2]",
    "for $s in //s return <s>{ $s/b[2]/c, $s/t }</s>",
    "for $s in //s return <s>{ $s/b[last()]/@id }</s>",
    "for $s in //s where $s/b[1]/c = 3 return $s/t",
    "//s[b[1]/c = 3]/t",
    "//s[count(b) > 2]/t",
    "//s[sum(b/c) > 6]/@id",
    "//s[b[2]][t = 1]/b[1]",
    "count(//s/b[2])",
    "sum(//s/b[1]/c)",
    "for $s in //s return subsequence($s/b, 2, 3)",
    "for $s in //s return head($s/b)",
    "for $s in //s return count($s/b[position() > 2])",
    "for $s in //s order by count($s/b) descending return $s/b[1]",
    "for $s in //s return ($s//b)[2]",
    "for $s in //s return $s/b[2]/c[last()]",
    "//s[every $b in b satisfies $b/c > 1]/t",
    'for $b at $i in //b return <p n="{$i}">{ $b/c }</p>',
    'for $b at $i in //s/b where $i > 2 return <p n="{$i}">{ $b/c }</p>',
    "reverse(//b)",
    "tail(//s)",
    "(//b)[last()]",
    'for $b in //b order by $b/@id count $n return <p n="{$n}">{ $b/c }</p>',
    "(//s)[2]/b",
    "(//s)[2]/b[3]",
    'for $s at $i in //s return <s n="{$i}">{ count($s/b) }</s>',
)
NUMBERS = (
    "(//b)[position() mod 2 = 1]",
    "(//b/c)[position() = (1, 3)]",
    "for $b at $i in //b where $i < 3 return $b/c",
    'for $b at $i in //b where $i >= 3 and $b/c > 1 return <p n="{$i}">{ $b/c }</p>',
    "for $b at $i in //b where $i mod 2 = 0 return $b",
    "for $b at $i in //b/c return ($i, data($b))",
    'for $b in //b where $b/c > 1 count $n return <p n="{$n}">{ $b/c }</p>',
    'for $b in //b order by string($b/@id) descending count $n return <p n="{$n}">{ $b/c }</p>',
    "for $b in //b order by string($b/@id) count $n where $n <= 3 return $b/c",
    "reverse(//b/c)",
    "tail(//b)",
    "subsequence(//b, 3)",
    "subsequence(//b, 2, 2)",
    "(//b)[last() - 1]",
    "(//b)[position() > 2]",
    "(//b)[position() >= 2][c]",
    "(//b[c])[last()]/c",
    "(for $b in //b order by string($b/@id) return $b/c)[last()]",
    "(for $b in //b order by string($b/@id) return $b/c)[last() - 2]",
    "reverse(for $b in //b order by string($b/@id) return $b/c)",
    "tail(for $b in //b order by string($b/@id) return $b/c)",
    "for $x in tail(//b) return <p>{ $x/c }</p>",
    "for $x in reverse(//b) return <p>{ $x/c }</p>",
    "for $x in subsequence(//b, 1, 3) return <p>{ $x/c }</p>",
    "for $x in subsequence(//b, 2) where $x/c return <p>{ $x/c }</p>",
    "<r>{ tail(//b) }</r>",
    '<r>{ for $b at $i in //b return <p n="{$i}">{ $b/c }</p> }</r>',
    "<r>{ reverse(//b/c) }</r>",
    "sort(//b/c)",
    "sort(//b, (), function($b) { string($b/@id) })",
    "count(tail(//b))",
    "sum(for $b at $i in //b return $i * count($b/c))",
    "(//b)[position() < 4]/c",
    "for $b at $i in //b group by $k := string($b/@id) return <g>{ $k, $i }</g>",
    "for $b at $i in //b order by string($b/@id) return <g>{ $i }</g>",
    "for $b at $i in //b return xs:integer($b/x)",
)
CHOICES = (
    "if (//t = 1) then //b else //c",
    "if (count(//b) > 5) then //b/c else <few>{ count(//b) }</few>",
    'if (//b[c = 9]) then "x" else "y"',
    "remove(//b, 2)",
    "insert-before(//b, 2, <x/>)",
    'insert-before(//b/c, 0, "x")',
    "for $x in //b return count(//s[t < $x/c])",
    "for $x in //b return //s[t < $x/c]/@id/string()",
    "for $x in //s where //b[c > $x/t] return $x/@id/string()",
    "for $x in //s return <p>{ //b[c > $x/t]/c }</p>",
    "for $x in //b where every $y in //s satisfies $y/t != $x/c return $x",
)
FOLDS = (
    "fold-left(//b, 0, function($a, $b) { $a * 2 + count($b/c) })",
    'fold-left(//b/c, "", function($a, $b) { concat($b, $a) })',
    "fold-left(//b, 0, function($a as xs:integer, $b) as xs:integer { $a + count($b/c) })",
    "fold-left(//b, 5, function($a as xs:integer, $b) as xs:integer { $a + xs:integer($b/@id) })",
    "fold-left(//b, 5, function($a as xs:integer, $b) as xs:integer { $a + $b/@id })",
    "fold-left(//b, 0, function($a as xs:integer, $b) as xs:integer { $a + xs:integer($b/c) })",
    "fold-left(//b, 3, function($a, $b) { max(($a, count($b/c))) })",
    "fold-left(//b, 3, function($a, $b) { min(($a, $b/c/number())) })",
    "fold-left(//b, (), function($a, $b) { max(($a, $b/c)) })",
    "declare function local:m($s) as xs:integer { "
    "if (empty($s)) then 0 else max((count(head($s)/c), local:m(tail($s)))) }; local:m(//b)",
    "declare function local:m($s) as xs:integer { "
    "if (empty($s)) then 0 else count(head($s)/c) + local:m(tail($s)) }; local:m(//b)",
    "declare function local:f($s, $a) { "
    'if (empty($s)) then $a else local:f(tail($s), concat($a, head($s)/@id)) }; local:f(//b, "x")',
    "fold-left(//b, true(), function($a, $b) { $a and $b/c })",
    "fold-left(//b, count(//s), function($a, $b) { $a * 3 + count($b/c) })",
    "for $s in //s return fold-left($s/b, 0, function($a, $b) { $a * 2 + count($b/c) })",
    "fold-left(//b, 1, function($a, $b) { if ($b/c = 5) then error() else $a + 1 })",
)


def over_stream(text: str) -> str:
    """A query whose paths begin at the stream."""
    return re.sub(r"(?<![\w)\]*@.\"/<])//?(?=[a-z])", lambda found: f'stream("s"){found.group()}', text)


@pytest.mark.parametrize("structured", [True, False], ids=["structure", "none"])
@pytest.mark.parametrize("text", [*PARENTS, *NUMBERS, *CHOICES, *FOLDS])
def test_positions_follow(text: str, structured: bool) -> None:
    followed = hold(over_stream(text), changes(len(text) + structured, 36), {"s": STRUCTURE} if structured else None)
    assert followed.journal.plan.strategy.value == "stream"

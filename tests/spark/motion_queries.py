"""Queries of every kind that the planner keeps answered, over streams of three shapes, and random changes of these.

``s`` and ``u``: sections with books, apart from their section; ``e``: accounts with payments and limits, which have
times. The root of each holds nothing but fragments, so that what can be spread over buckets is.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from law_case import Case, Step
from law_streams import Held, Shape, Tag, Writer

_SECTIONS = Shape(
    {
        1: Tag(1, "r", "snapshot", (2,)),
        2: Tag(2, "g", "filler", (3, 4)),
        3: Tag(3, "t", "snapshot"),
        4: Tag(4, "b", "filler", (5, 6)),
        5: Tag(5, "k", "snapshot"),
        6: Tag(6, "v", "filler"),
    }
)
_ACCOUNTS = Shape(
    {
        1: Tag(1, "r", "snapshot", (2,)),
        2: Tag(2, "a", "filler", (3, 4, 7)),
        3: Tag(3, "k", "snapshot"),
        4: Tag(4, "b", "event", (5, 6)),
        5: Tag(5, "k", "snapshot"),
        6: Tag(6, "v", "snapshot"),
        7: Tag(7, "h", "temporal", (8,)),
        8: Tag(8, "v", "snapshot"),
    }
)
SHAPES = {"e": _ACCOUNTS, "s": _SECTIONS, "u": _SECTIONS}

_B = 'stream("s")//b'
WINDOWS = {
    "tumbling-by-number": f"for tumbling window $w in {_B} start at $i when true() end at $j when $j = $i + 1 "
    "return <w>{ count($w), $w/@n/string() }</w>",
    "tumbling-from-what-begins": f'for tumbling window $w in {_B} start $x when $x/@n = "2" '
    "return <w>{ sum($w/v ! number()) }</w>",
    "tumbling-to-what-ends": f"for tumbling window $w in {_B} start when true() end $x when $x/v > 4 "
    'return <w n="{ count($w) }">{ $w[last()]/k }</w>',
    "sliding-by-number": f"for sliding window $w in {_B} start at $i when true() only end at $j when $j = $i + 2 "
    "return <w>{ avg($w/v ! number()) }</w>",
    "sliding-to-what-ends": f"for sliding window $w in {_B} start $x when $x/@n only end $y when $y/@m "
    "return <w>{ $w/k/text() }</w>",
    "beside": f"for tumbling window $w in {_B} start $x previous $p when $x/@n = $p/@n only end $y next $z "
    "when $y/@n != $z/@n return <w>{ count($w), $w/@n/string() }</w>",
}
NEIGHBOURS = {
    "the-one-before": f"for $b at $i in {_B} where $b/v > ({_B})[$i - 1]/v return <up>{{ $b/@n, $b/v }}</up>",
    "the-one-after": f"for $b at $i in {_B} return <o>{{ $b/k, ({_B})[$i + 1]/k }}</o>",
    "pairs": f"for-each-pair({_B}, tail({_B}), function($x, $y) {{ <p>{{ $x/@n/string(), $y/v }}</p> }})",
    "differences": f"for-each-pair({_B}/v, tail({_B}/v), function($x, $y) {{ number($y) - number($x) }})",
}
CONSTRUCTED = {
    "several-parts": f'<all>{{ stream("s")//t, for $b in {_B} where $b/v > 2 return <x>{{ $b/v }}</x>, '
    f"<n>{{ count({_B}) }}</n> }}</all>",
    "parts-and-attributes": f'<all n="{{ count({_B}) }}"><in>{{ {_B}/k }}</in>{{ sum({_B}/v ! number()) }}</all>',
    "if": f'<all>{{ if (count({_B}) > 3) then for $b in {_B} return <x>{{ $b/@n }}</x> else stream("s")//t }}</all>',
    "switch": f'<all>{{ switch (count(stream("s")//g)) case 1 return {_B}/k case 2 return <two/> '
    f"default return for $b in {_B} where $b/v < 5 return <x>{{ $b/v }}</x> }}</all>",
    "if-in-each": f"for $b in {_B} return <x>{{ if ($b/v > 3) then $b/k else switch ($b/@n) case '1' return <one/> "
    "default return $b/v }</x>",
}
AXES = {
    "parents": 'stream("s")//g//b/..',
    "parents-of-some": f"{_B}[v > 3]/../@n/string()",
    "in-an-ancestor": f'{_B}[ancestor::g/t = "x"]/k',
    "in-a-numbered-ancestor": f'{_B}[ancestor::g/@n = "2"]',
    "siblings": f"{_B}/following-sibling::b[1]/v",
    "following": 'stream("s")//t/following::b',
    "counted-following": 'count(stream("s")//k/following::b)',
    "not-preceded": f"{_B}[not(preceding::k)]/v",
    "first-in-each": 'for $g in stream("s")//g return <g>{ $g/b[1]/k, $g/b[last()]/v }</g>',
}
VALUES = {
    "several-keys": f"for $b in {_B} group by $n := string($b/@n), $k := string($b/k) order by $n, $k descending "
    'return <g n="{ $n }" k="{ $k }">{ count($b), sum($b/v ! number()) }</g>',
    "groups-in-order-of-arrival": f"for $b in {_B} group by $n := string($b/@n) return <g>{{ $n, $b/k }}</g>",
    "string-join": f'string-join({_B}/k, "; ")',
    "fold": f"fold-left({_B}/v, 0, function($x, $y) {{ $x * 0.5 + number($y) }})",
    "fold-right": f'fold-right({_B}/k, "", function($x, $y) {{ concat($x, "(", $y, ")") }})',
    "distinct": f"for $n in distinct-values({_B}/@n) order by $n return <d>{{ $n, count({_B}[@n = $n]) }}</d>",
    "sorted": f"for $b in {_B} order by number($b/v) descending, $b/k return <o>{{ $b/v }}</o>",
    "of-the-average": f"let $m := avg({_B}/v ! number()) for $b in {_B} where $b/v > $m return $b/k",
    "aggregates": f"count({_B}), max({_B}/v ! number()), min({_B}/k), exists({_B}[v = 7])",
    "caught": f"try {{ sum({_B} ! (12 idiv count(k))) }} catch * {{ $err:code }}",
    "every": f"every $b in {_B} satisfies $b/v > 0",
    "an-error-for-a-time": f"sum({_B} ! (12 div count(k)))",
}
JOINS = {
    "join": f'for $b in {_B}, $c in stream("u")//b where $b/k = $c/k return <j>{{ $b/@n, $c/v }}</j>',
    "anti-join": f'for $b in {_B} where not(some $c in stream("u")//b satisfies $c/k = $b/k) return $b',
    "looked-up": f'for $b in {_B} return <j>{{ $b/k, count(stream("u")//b[k = $b/k]) }}</j>',
    "allowing-empty": f'for $b in {_B} for $c allowing empty in stream("u")//b[k = $b/k] '
    "return <j>{ $b/v, $c/v }</j>",
    "less": f'for $b in {_B}, $c in stream("u")//b where $b/v < $c/v return <p>{{ $b/@n, $c/v/text() }}</p>',
    "as-many-as-are-more": f'for $b in {_B} return <p>{{ count(stream("u")//b[v >= $b/v]), '
    f"sum({_B}[contains(@m, $b/@n)]/v ! number()) }}</p>",
    "largest": f"for $b in {_B} where every $c in {_B} satisfies number($c/v) <= number($b/v) return $b",
    "three-streams": f'for $b in {_B}, $c in stream("u")//b, $d in stream("e")//b where $b/k = $c/k and $c/k = $d/k '
    "return <j>{ $b/@n, $c/v, $d/v/text() }</j>",
}
TIMES = {
    "window-on-now": 'for $a in stream("e")//a where sum($a/b?[now-P2D,now]/v ! number()) > 4 return <a>{ $a/@n }</a>',
    "counts-in-windows": 'for $a in stream("e")//a return <a>{ $a/k, count($a/b?[now-P1D,now]) }</a>',
    "at-present": 'stream("e")//h?[now]/v',
    "versions": 'for $a in stream("e")//a return <a>{ $a/h#[last]/v, count($a/h) }</a>',
    "coincidence": 'for $x in stream("e")//b, $y in stream("e")//b?[vtFrom($x)-PT12H,vtTo($x)+PT12H] '
    "where $x/k = $y/k return <c>{ $x/v/text(), $y/v/text() }</c>",
    "unanswered": 'for $x in stream("e")//b where not(some $y in stream("e")//b?[vtFrom($x)+PT1S,vtFrom($x)+P2D] '
    "satisfies $x/k = $y/k) return <w>{ $x/v }</w>",
    "with-sections": 'for $g in stream("s")//g where exists(stream("e")//b?[now-P2D,now][k = $g/b/k]) return $g/t',
}
QUERIES: dict[str, str] = WINDOWS | NEIGHBOURS | CONSTRUCTED | AXES | VALUES | JOINS | TIMES
"""By name. Each reads some of the streams."""


class _Section(Writer):
    """Writes a stream that can be in buckets: no regions in others, no hole twice, the root's in order."""

    def __init__(self, r: Random, shape: Shape, versions: float) -> None:
        super().__init__(r, shape)
        self.updates = self.odd = self.marked = False
        self.versions = versions

    def rearrange(self, held: Held, depth: int) -> None:
        before = list(held.parts)
        super().rearrange(held, depth)
        if held is self.regions[0] and sorted(before) == sorted(held.parts):
            held.parts[:] = before


def draw_changes(r: Random, most: int) -> tuple[Step, ...]:
    """Random changes of all streams, in a random order of arrival, each with its structure at first."""
    waiting = {name: _Section(r, shape, r.choice([0.0, 1.0])).write(most) for name, shape in SHAPES.items()}
    steps = [Step(name, brought.pop(0)) for name, brought in waiting.items()]
    while any(waiting.values()):
        name = r.choice([name for name, brought in waiting.items() if brought])
        steps.append(Step(name, waiting[name].pop(0)))
    return tuple(steps)


def read_by(text: str) -> Iterator[str]:
    """The streams that a query reads."""
    for name in SHAPES:
        if f'stream("{name}")' in text:
            yield name


def case_of(text: str, steps: tuple[Step, ...]) -> Case:
    """A query with what its own streams bring."""
    mine = set(read_by(text))
    return Case(text, tuple([step for step in steps if step.stream in mine]))

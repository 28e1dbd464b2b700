"""Units of one pass that begin alike compute their beginning once for each batch; answers and errors stay."""

from __future__ import annotations

import pytest
from streamed import STEPS, evaluated, streamed

from xstreamcast.run.query import compile

PIXELS = (
    "<s>" + "".join(f"<p><x>{n % 5}</x><r>{n * 7 % 11}</r><g>{n}</g></p>" for n in range(40)) + "<p><x>1</x></p></s>"
).encode()

QUERIES = [
    "count(/s/p[x = 1]), sum(/s/p[x = 1]/r), max(/s/p[x = 1]/g)",
    "/s/p[x = 1]/r, count(/s/p[x = 1]), /s/p[x = 1]/g",
    "for $i in 0 to 4 let $p := /s/p[x = $i] return ($i, count($p), sum($p/r), max($p/g))",
    "for $i in 0 to 4 let $p := /s/p[x idiv 2 = $i] return ($i, count($p), sum($p/r), $p/g/string())",
    "let $n := count(/s/p[x = 1]) return (/s/p[x < $n]/r, count(/s/p[x < $n]))",
    "sum(for $p in /s/p[x > 1] return $p/r * $p/g), avg(for $p in /s/p[x > 1] return $p/r), count(/s/p[x > 1])",
    "fold-left(/s/p[x = 2], 0, function($a, $p) { $a * 3 + $p/r }), count(/s/p[x = 2])",
    "fold-left(/s/p/x, map {}, function($m, $x) { map:put($m, string($x), ($m(string($x)), 0)[1] + 1) }) ! map:size(.)",
    "fold-left(/s/p/x, 1, function($a as xs:double, $x as element(x)) as xs:double { $a + $x })",
    "count(/s/p[x + r = 4]), sum(/s/p[x + r = 4]/zero-or-one(g))",
    "count(/s/p[x = 1][r > 'a' + 1]), count(/s/p[x = 1][r > 'a' + 1]/g)",
]


@pytest.mark.parametrize("text", QUERIES)
def test_what_is_shared_changes_no_answer(text: str) -> None:
    query = compile(text)
    expected = evaluated(query, PIXELS)
    assert {streamed(query, PIXELS, step) for step in STEPS} == {expected}


def test_alike_beginnings_have_one_program() -> None:
    code = compile("count(/s/p[x = 1]), sum(/s/p[x = 1]/r), count(/s/p[x = 2])").plan()
    assert code is not None
    starts = [unit.start for unit in code.units.values()]
    assert [start is not None for start in starts] == [True, True, False]
    assert starts[0] is starts[1]

"""Functions, operators and constructors over items of which some are not certain, as three-valued logic has them."""

from __future__ import annotations

import pytest
from modal import check, engine, shown

from xstreamcast.model.change import Change, Fill, Replace
from xstreamcast.plan.modes.rewrite import Emission

C = 'stream("s")/r/c[b]'
"""Elements of which some are not decided for a while."""
NAMES, NUMBERS = f"{C}/name()", f"{C}/@n"
KINDS = {
    "aggregates": (
        f'string-join({NAMES}, ",")', f'string-join({NUMBERS}, ",")', f"string-join({C})", f"count({NAMES})",
        f"sum({NUMBERS})", f"max({C}/number(@n))", f"min({C}/xs:integer(@n))", f"avg({C}/count(*))",
        f"count({NAMES}) >= 2", f"sum({C}/(@n * 2))", f"sum({NUMBERS} ! xs:integer(.))", f"sum({C}/(1 + 1))",
    ),
    "sequences": (
        f"distinct-values({NAMES})", f'index-of({C}/string(@n), "2")', f"reverse({NAMES})", f"head({NAMES})",
        f"tail({NAMES})", f"subsequence({C}/string(@n), 2, 1)", f"remove({NAMES}, 1)", f"({NAMES})[2]",
        f'insert-before({NAMES}, 1, "q")', f"({C}/string(@n))[last()]", f'({NAMES})[. = "c"]',
        f'count(({NAMES})[. = "c"])', f'({NAMES}, "z")', f"{C} ! name()",
        f"one-or-more({NAMES})", f'zero-or-one({C}[@n = "1"])/@n/string()',
        f'exactly-one({C}[@n = "2"])/@n/string()', f'deep-equal({NAMES}, "c")', f"1 to count({NAMES})",
    ),
    "single items": (
        f'concat(({NAMES})[1], "x")', f'({NAMES})[1] || "x"', f"({NUMBERS})[1] + 1", f"-({C}/number(@n))[1]",
        f'({C}/string(@n))[1] eq "1"', f"xs:integer(({NUMBERS})[1])", f"({C}/string(@n))[1] cast as xs:integer",
        f"({C}/string(@n))[1] castable as xs:integer", f'matches(string-join({NAMES}), "cc")',
        f"number(({NUMBERS})[1])", f"string-length(string-join({NAMES}))", f'tokenize(string-join({NAMES}, " "))',
        f"{NAMES} ! upper-case(.)",
    ),
    "conditions": (
        f"exists({NAMES})", f"empty({NAMES})", f'{C}/string(@n) = "1"', f'{C}/string(@n) != "2"',
        f'some $n in {C}/string(@n) satisfies $n = "1"', f'every $n in {C}/string(@n) satisfies $n = "1"',
        f"boolean(({NAMES})[1])", f"not(({NAMES})[1])", f'if ({C}/string(@n) = "1") then "one" else "other"',
    ),
    "loops": (
        f"for $n in {NAMES} return $n", f"for $n at $p in {C}/string(@n) return ($p, $n)",
        f"let $n := {NAMES} return count($n)", f"for $n in {C}/string(@n) order by $n return $n",
        f"string-join(for $c in {C} return name($c))", f"string-join((for $c in {C} where $c/b return $c)/name())",
        f"count((for $c in {C} return <x/>)/name())", f'(for $c in {C} return <x n="{{$c/@n}}"/>)/@n/string()',
    ),
    "constructors": (
        f'<e n="{{ {NAMES} }}"/>', f'<e n="{{ {NUMBERS} }}"/>', f"<e>{{ attribute n {{ {NAMES} }} }}</e>",
        f"<o><e>{{ {NAMES} }}</e></o>", f"text {{ {NAMES} }}", f"element {{ ({NAMES})[1] }} {{ 1 }}",
        f'for $x in 1 return <e n="{{ {NAMES} }}">{{ {NUMBERS} ! string() }}</e>', f"({C}/<x>{{ @n }}</x>)/@n/string()",
    ),
    "last steps of paths": (
        f'string-join({C}/(if (@n) then string(@n) else "z"))', f'string-join({C}/(if (@n) then @n else name()), "-")',
        f'string-join({C}/"k")', f'string-join({C}/concat(@n, "k"))', f"string-join({C}/(for $x in b return name($x)))",
        f"string-join({C}/b/name())", f"string-join({C}/../name())", f"string-join({C}/b[d]/name())",
        'string-join(stream("s")/r/c/(b[d]/name()))', 'string-join(stream("s")/r/c[not(b)]/name())',
        'string-join(stream("s")/r/c[count(b) = 1]/string(@n))', f'string-join(({C} | stream("s")/r/d)/name())',
        f'string-join(({C}, stream("s")/r/c)/name())', f"string-join({C}/(@n, @n)/string())",
    ),
}  # fmt: skip


def fill(region: int, content: str) -> Fill:
    return Fill(region=region, content=content.replace("[", '<stream:hole id="').replace("]", '"/>').encode())


STREAM: tuple[Change, ...] = (
    fill(0, '<r><c n="1">[1]</c><c n="2"><b/></c>[2]</r>'),  # one is undecided
    fill(2, '<c n="3"/>'),
    fill(1, "<b/>"),
    fill(0, '<r><c n="1"><b/></c><c n="2">[3]</c></r>'),  # one is refused, at first
    fill(3, ""),
    Replace(region=3, content=b"<b/>"),
    fill(0, '<r><c n="2"><b>[4]</b></c><d/></r>'),  # one is not whole
    fill(4, "x[5]"),
    fill(5, "<d/>"),
    fill(0, "<r>[6]</r>"),  # one lacks a number
    fill(6, "<c>[7]</c>"),
    fill(7, "<b><d/></b>"),
)


@pytest.mark.parametrize("emission", ["certain", "optimistic"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_computed_of_items_that_are_not_certain(kind: str, emission: Emission) -> None:
    for text in KINDS[kind]:
        check(text, STREAM, emission)


def test_what_a_last_step_computes_anew_on_the_whole_document() -> None:
    for text in KINDS["last steps of paths"]:
        check(text, STREAM, "certain", anew=True)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (f"{C}/position()", ["", "", "1 2"]),
        (f"{C} ! concat(@n, position())", ["", "", "11 22"]),
        (f"{C}/concat(@n, last())", ["", "", "12 22"]),
        (f'switch (({NAMES})[1]) case "c" return 1 default return 2', ["", "", "1"]),
        (f"typeswitch ({NAMES}) case xs:string return 1 default return 2", ["", "", "2"]),
        (f"{NAMES} instance of xs:string*", ["", "", "true"]),
        (f'map {{ "a": {NAMES} }}?a', ["", "", "c c"]),
        (f"[ {NAMES} ]?1", ["", "", "c c"]),
        (f"declare function local:f($x as xs:string?) {{ concat($x, '!') }}; local:f(({NAMES})[1])", ["", "", "c!"]),
        (f"declare function local:f($x as xs:string*) {{ count($x) }}; local:f({NAMES})", ["", "", "2"]),
        (f"declare function local:f($x as element(c)) {{ $x/@n/string() }}; {C} ! local:f(.)", ["2", "2", "1 2"]),
        (f"declare function local:f($x) {{ $x/@n/string() }}; string-join({C}/local:f(.))", ["", "", "12"]),
    ],
)
def test_positions_types_and_functions_of_items_that_are_not_certain(text: str, after: list[str]) -> None:
    followed = engine(text, "certain")
    assert followed is not None
    found = []
    for change in STREAM[:3]:
        followed.feed(change, "s")
        found.append(shown(followed.answer))
    assert found == after

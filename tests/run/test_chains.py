"""Steps done column at a time give what the same steps give one node at a time."""

from __future__ import annotations

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st

from xstreamcast.run.query import compile
from xstreamcast.run.runtime import chains
from xstreamcast.scan.parse import parse

VALUES = st.sampled_from(["1", "2", "30"])


@st.composite
def elements(draw: st.DrawFn, depth: int = 4) -> str:
    """An element of a few names, nested in one another at will, with attributes, texts and comments."""
    name = draw(st.sampled_from("abc"))
    attributes = "".join(f' {key}="{draw(VALUES)}"' for key in draw(st.sets(st.sampled_from("xy"))))
    parts = st.one_of(VALUES, st.just("<!-- -->"), *([elements(depth - 1)] * 3 if depth else []))
    return f"<{name}{attributes}>{''.join(draw(st.lists(parts, max_size=4)))}</{name}>"


PAIRS = [
    ("/r/a/b", "for $r in /r, $a in $r/a return $a/b"),
    ("/r/a/b/@x", "for $r in /r, $a in $r/a, $b in $a/b return $b/@x"),
    ("/r/a/b/text()", "for $r in /r, $a in $r/a, $b in $a/b return $b/text()"),
    ("//a/b", "//b[parent::a]"),
    ("/r/a//b/c", "/r/a//c[parent::b]"),
    ("//a/b/@x", "//@x[parent::b/parent::a]"),
    ("/r/a[@x = '1']", "/r/a[some $x in @x satisfies $x = '1']"),
    ("/r/a[@x]", "/r/a[not(empty(@x))]"),
    ("/r/a[2 > @x and @x > 0]/b", "/r/a[not(@x != 1)][exists(@x)]/b"),
    ("/r/a[@x = '1' and @y = '2']", "/r/a[not(@y != '2')][exists(@y)][some $x in @x satisfies $x = '1']"),
    ("/r/a/b[c = '1']", "for $b in /r/a/b return $b[some $c in c satisfies $c = '1']"),
    ("//a/b[c = '1']/text()", "//b[parent::a][some $c in c satisfies $c = '1']/text()"),
    ("//b[c = '30']", "//b[some $c in c satisfies $c = '30']"),
    ("//*[c = '1']/@x", "//*[some $c in c satisfies $c = '1']/@x"),
    ("/r/a//*[b/@x][c]", "/r/a//*[exists(b/@x)][not(empty(c))]"),
    ("/r//*[@x = 2]", "/r//*[some $x in @x satisfies $x = 2]"),
    ("/r[a/b = '1']/a", "/r[some $b in a/b satisfies $b = '1']/a"),
    ("//b[c/@x = '30']/c", "//b[some $x in c/@x satisfies $x = '30']/c"),
    ("//a/b[c][text() = '2']", "//b[parent::a][not(empty(c))][some $t in text() satisfies $t = '2']"),
    ("//a/b[c/text() = ('1', '2')][@y]", "//b[parent::a][some $t in c/text() satisfies $t = (1, 2)][exists(@y)]"),
    ("for $b in /r/a/b where $b/c = '1' return $b", "/r/a/b[some $c in c satisfies $c = '1']"),
    ("for $b in //a/b where $b/@x = 1 and $b/c return $b/c", "//b[parent::a][not(empty(@x[. = 1]))]/c"),
    ("for $b at $n in /r/a where $b/@x = 1 return $n", "for $n in 1 to count(/r/a) return (/r/a)[$n][@x = 1] ! $n"),
    ("/r/a[b = '1']/b/c", "for $a in /r/a[some $b in b satisfies $b = '1'], $b in $a/b return $b/c"),
    ("/r/a[c > '1']/b[@x]/c", "for $a in /r/a[not(empty(c[. > '1']))], $b in $a/b return $b[exists(@x)]/c"),
    ("count(/r/a[@x]/b/a)", "count(for $a in /r/a, $b in $a[not(empty(@x))]/b return $b/a)"),
    ("count(/r/a/b)", "count(for $a in /r/a return $a/b)"),
    ("count(//a/b[@x < 2])", "count(//b[parent::a][not(@x > 1)]/@x)"),
]

SHOWN = "declare function local:seen($s) { for $i in $s return if ($i instance of node()) then path($i) else $i };"


@pytest.mark.parametrize("visits", [0, 64])
def test_a_chain_finds_what_single_steps_find(visits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "_VISITS", visits)
    programs = [(pair, [compile(f"{SHOWN} local:seen(({text}))") for text in pair]) for pair in PAIRS]

    @settings(max_examples=40 * MORE, deadline=None)
    @given(st.lists(elements(), max_size=4))
    def agree(content: list[str]) -> None:
        document = parse(f"<r>{''.join(content)}</r>")
        for pair, compiled in programs:
            found, expected = (program(context=document).to_list() for program in compiled)
            assert found == expected, pair

    agree()


def test_a_condition_is_asked_of_what_it_needs_only() -> None:
    """The other side of a comparison belongs to where the condition stands, not to the node it is asked of."""
    document = parse("<r k='1'><a><b>1</b></a><a><b>2</b></a></r>")
    text = "/r ! (for $a in /r/a where $a/b = @k return $a/b/text())"
    assert compile(text)(context=document).serialise() == "1"
    assert compile("let $k := 2 return /r/a[b = $k]/b/text()")(context=document).serialise() == "2"

"""A plan run on the pieces of a document (:mod:`pieces`) gives what the query gives on the whole: at every place the
plan allows a cut, for random queries and documents, those of the papers, and XMark's.
"""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import pytest
from budget import MORE
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pieces import Element, check, everywhere, from_xml

from xstreamcast.generate import items, microscope, satellite, xmark

Random: Any = runpy.run_path(str(FilePath(__file__).parents[1] / "run" / "random_queries.py"))["Random"]

# ------------------------------------------------------------------------------------------------ random documents


@st.composite
def elements(draw: st.DrawFn, depth: int) -> Element:
    name = draw(st.sampled_from("aaabbbccd"))
    given = draw(st.sampled_from([(), (("i", "1"),), (("i", "2"),), (("j", "x"),), (("i", "1"), ("j", "3"))]))
    if depth == 0 or (name in "bc" and draw(st.integers(0, 3))):
        return Element(name, given, (draw(st.sampled_from(["1", "1", "2", "3", "x"])),))
    content: list[Element | str] = []
    for _ in range(draw(st.integers(0, 4))):
        content.append(draw(elements(depth - 1)))
        if not draw(st.integers(0, 5)):
            content.append(" t ")
    return Element(name, given, tuple(content))


def documents() -> st.SearchStrategy[Element]:
    contents = st.lists(elements(2), min_size=1, max_size=5)
    return st.builds(lambda content: Element("r", (("i", "1"),), tuple(content)), contents)


# -------------------------------------------------------------------------------------------------- random queries

TESTS = st.sampled_from(["a", "b", "c", "d", "*"])
CONDITION = st.sampled_from(
    [
        *("b", "@i", "not(b)", "b = 2", "@i = '1'", "b > 1", ".//c", "count(b) > 1", "b and @j", "c or @i != 2"),
        *("name(..) = 'a'", "../@i = 1", "ancestor::a", "some $z in b satisfies $z = '1'", "contains(., '1')"),
        *("b[1] = 2", "b[last()]", ". = '1'", "exists(ancestor::*/@j)", "empty(b) and 1", "count(//a) > count(.//b)"),
        *("@i = //b[1]/@i", "position() < 3", "following-sibling::b", "root()/r"),
    ]
)
POSITION = st.sampled_from(["1", "2", "last()", "position() < 3", "position() > 1", "position() = 2 to 3"])


ENDS = st.sampled_from(
    ["", "", "", "", "", "/@i", "/text()", "/..", "/string()", "/(b | c)", "/ancestor::a", "//@j", "/../@i"]
)


@st.composite
def paths(draw: st.DrawFn, start: str = "") -> str:
    text = start
    for number in range(draw(st.integers(1, 3))):
        separator = draw(st.sampled_from(["/", "/", "//"]))
        text += separator + ("r" if not start and not number and separator == "/" else draw(TESTS))
        kind = draw(st.integers(0, 9))
        if kind < 3:
            text += f"[{draw(CONDITION)}]"
        elif kind == 3:
            text += f"[{draw(POSITION)}]"
    return text + draw(ENDS)


@st.composite
def bodies(draw: st.DrawFn, name: str) -> str:
    kind = draw(st.integers(0, 15))
    x = f"${name}"
    simple = [
        x, f"{x}/b", f"<e>{{{x}/b, {x}/@i}}</e>", f"count({x}//b)", f"string({x}/../@i)", f"name({x}/..)",
        f"{x}/b[1]", f"string({x})", f"if ({x}/b) then {x}/@i else <n/>", f"sum({x}/b[. castable as xs:double])",
        f"({x}/@i, {x}/b/text())", f"let $k := {x}/c return <k>{{$k, count($k)}}</k>",
        f"for $y in {x}/* order by string($y) return name($y)", f"{x}/*[last()]", f"{x} ! (b, c)",
    ]  # fmt: skip
    if kind < len(simple):
        return simple[kind]
    return draw(paths(x))


@st.composite
def loops(draw: st.DrawFn) -> str:
    source = draw(paths())
    where = draw(st.sampled_from(["", "", "where $x/b", "where $x/@i = 1", "where $x/b = 2 and $x/c", "where $n > 1"]))
    before = "let $n := count(//b) " if "$n" in where or draw(st.booleans()) else ""
    second = draw(st.sampled_from(["", "", "for $y in $x/b ", "let $y := $x/b ", "for $y at $p in $x/* "]))
    order = draw(st.sampled_from([""] * 7 + ["order by string($x)"]))
    body = draw(bodies("y" if second else "x"))
    return f"{before}for $x in {source} {second}{where} {order} return {body}"


STEPS = st.sampled_from(["name()", "b", "string()", "count(b)", "../@i", "position()"])
CHOICES = st.sampled_from(["true()", "//a", "count(//b) > 2", "/r/@i = 1"])
SEQUENCES = st.one_of(
    paths(),
    loops(),
    st.builds("({} {} {})".format, paths(), st.sampled_from(["|", "intersect", "except"]), paths()),
    st.builds("({}) ! ({})".format, paths(), STEPS),
    st.builds("({})[{}]".format, paths(), CONDITION),
    st.builds("(if ({}) then {} else ())".format, CHOICES, paths()),
    st.builds("(for $z in /r where {} return $z/{})".format, CHOICES, TESTS),
)
AGGREGATES = st.sampled_from(
    [
        "count({})", "exists({})", "empty({})", "not({})", "string-join({}, '-')", "distinct-values({})", "head({})",
        "tail({})", "subsequence({}, 2, 2)", "({})[2]", "({})[position() <= 2]", "({})[last()]", "({})[1]/b",
        "max(({}) ! string())", "fold-left({}, 0, function($s, $x) {{ $s + count($x/b) }})", "(({})[2], count({}))",
        "some $q in {} satisfies $q = '2'", "every $q in {} satisfies $q/@i", "{} = '1'", "sum(({}) ! count(*))",
        "<w>{{{}}}</w>", "<w n='{{count({})}}'>{{{}}}</w>", "(count({}), {})", "avg(({}) ! count(b))", "({})[2][b]",
        "if ({}) then 1 else 2", "let $all := {} return (count($all), $all)", "reverse({})",
        "for-each({}, function($f) {{ $f/b }})", "for $i in 1 to 3 return count(({})[@i = $i])",
        "for $i in 1 to 3 return <g>{{//a[b = $i]/c}}</g>", "for $i in ('1', '2') return sum(//b[@i = $i] ! 1)",
        "for $i in 1 to 2 let $p := //a[@i = $i] return count($p/b)", "for $x in {} return count(//a)",
        "for $i in 1 to 2, $j in ('1', 'x') return count(for $t in //a where $t/b = $i and $t/@j = $j return $t/c)",
        "fold-right({}, (), function($x, $r) {{ (name($x), $r) }})",
        "let $m := count({}) for $x in //a return $x/b[$m]",
        "for $x in subsequence({}, 1, 2) return ($x/.., $x/b)", "(({})[1] | ({})[2])", "({})[2][../b]",
        "let $f := head({}) return ($f/../@i, $f/b)", "let $f := ({})[2] let $g := head({}) return $f is $g",
        "declare function local:up($x) {{ $x/../b }}; local:up(head({}))", "head({})/b[../../b]",
        "for $i in 0 to 2 for $j in (1, 2) return count(//a[b = $i and @i = $j]/c)",
        "declare variable $z := 2; for $i in 1 to $z return <n>{{//a[c = $i]/b}}</n>",
        "for $i in 1 to 2 let $k := $i + 1 return count(//a[b = $k])",
        "for $i in ('1', '2', 'x') return <g>{{//b[../c = $i]}}</g>", "for $i in (1, 2) return count(//a[.. = $i]/b)",
        "for $i in ('1', 'x') return count(for $t in //a/b where $t/../@i = $i and $t/c = $i return $t)",
        "for $i in ('1', 'x') return //a[count(b) > 1][@i = $i]/b", "for $i in (1, 2) return //*[b[1] = $i]/@j",
        "(head(//a), for $x in //b where $x/@i = head(//a)/@i return $x)", "count(({}, {}))",
        "exists(({}, //d))", "max((//a/b, //b) ! string())", "for $s in ({}, {}) return name($s)",
        "declare function local:n($p) {{ if (empty($p)) then 0 else max((count($p[1]/*), local:n(tail($p)))) }};"
        " local:n({})",
        "declare function local:n($p, $a) {{ if (exists($p)) then local:n(tail($p), ($a, name(head($p)))[last()])"
        " else $a }}; local:n({}, 'none')",
        "declare variable $v := {}; declare function local:f($x) {{ $x/b, count($v) }}; local:f({})",
    ]
)  # fmt: skip


@st.composite
def queries(draw: st.DrawFn) -> str:
    first = draw(SEQUENCES)
    return draw(AGGREGATES).format(first, draw(SEQUENCES)) if draw(st.booleans()) else first


LAW = settings(
    max_examples=32 * MORE,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    derandomize=True,
)


@given(queries(), documents(), st.data())
@LAW
def test_a_query_on_the_pieces_is_the_query_on_the_whole(query: str, document: Element, data: Any) -> None:
    assume(len(query) < 400)

    def some(places: list[int]) -> list[int]:
        return sorted(data.draw(st.sets(st.sampled_from(places), max_size=3))) if places else []

    check(query, document, everywhere)
    check(query, document, some)


# ------------------------------------------------------------------------------------------- the papers' queries, XMark

FIXTURES = FilePath(__file__).parents[1] / "fixtures"


@cache
def generated(name: str) -> Element:
    match name:
        case "xmark":
            return from_xml(b"".join(xmark.document(0.0004, 7)).decode())
        case "satellite":
            return from_xml(b"".join(satellite.document(0.0002, 3)).decode())
        case "microscope":
            return from_xml(b"".join(microscope.document(0.0002, 3)).decode())
        case "items":
            return from_xml(b"".join(items.document(0.0001, 3)).decode())
        case _:
            places = [(1, 2), (0, 4), (2, 2), (1, 3), (3, 3)]
            pixels = [f"<pixel><x>{x}</x><y>{y}</y></pixel>" for x, y in places]
            return from_xml(f"<stream>{''.join(pixels)}</stream>")


def some_of(places: list[int]) -> list[int]:
    """A handful of places, all over the document."""
    return sorted({places[len(places) * n // 7] for n in range(7)}) if places else []


@pytest.mark.parametrize("path", sorted((FIXTURES / "xmark").glob("*.xq")), ids=lambda path: str(path.stem))
def test_xmark_in_pieces(path: FilePath) -> None:
    check(path.read_text(), generated("xmark"), some_of)


@pytest.mark.parametrize("path", sorted((FIXTURES / "papers").glob("vldb05-*.xq")), ids=lambda path: str(path.stem))
def test_queries_of_vldb05_in_pieces(path: FilePath) -> None:
    text = path.read_text()
    name = text[3 : text.index(".")]
    check(re.sub(r'stream\("\w+"\)', ".", text), generated(name), everywhere if name == "pixels" else some_of)


@pytest.mark.parametrize(
    "query",
    [
        "(/r/a//@i) ! name()",  # an attribute stands with its element in every piece
        "//b/ancestor::*/string(@i)",  # each step of a path merges its nodes
        "for $i in 1 to 3 return count(//a[b = $i]/c)",  # the key and the item are parts of one record
        "for $x in subsequence(//b, 1, 2) return $x/../c",  # what was kept of the document is not all of it
        "sum(/r/@i)",
        "for $x in //a return <e>{$x/../@i}</e>",
        "head(//c)/preceding-sibling::b",
        "for $i in ('', 'x') return count(//b[../c = $i])",  # a key that is not in the record
        "for $i in ('1', '2') return //a[b][.. = $i]/c",
    ],
)
def test_what_went_wrong_once(query: str) -> None:
    text = '<r i="1"><a i="1"><b>1</b><c>x</c><a i="2"><b>2</b><c/><b>1</b></a></a><b/><c/><a><b>1</b><c/></a></r>'
    check(query, from_xml(text), everywhere)


@pytest.mark.parametrize("seed", range(60))
def test_queries_on_all_axes_are_split_rightly_or_not_at_all(seed: int) -> None:
    random = Random(seed)
    document = from_xml(f"<r>{random.document()}{random.document()}</r>")
    for _ in range(3):
        check(random.query(), document, everywhere)

"""Errors have the codes of the W3C and the place of the expression that raised them."""

from __future__ import annotations

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.run.query import query

CODES = [
    ("XPTY0004", "1 + 'a'"),
    ("XPTY0004", "(1, 2) + 1"),
    ("XPTY0004", "1 eq 'a'"),
    ("XPTY0004", "declare function local:f($x as xs:integer) { $x }; local:f('a')"),
    ("XPTY0004", "declare function local:f() as xs:integer { 'a' }; local:f()"),
    ("XPTY0004", "let $x as xs:integer := 'a' return $x"),
    ("XPTY0004", "for $x as xs:string in (1, 2) return $x"),
    ("XPTY0004", "for $x in (1, 'a') order by $x return $x"),
    ("XPTY0004", "(1, 2)(3)"),
    ("XPTY0004", "document { attribute a { 1 } }"),
    ("XPTY0018", "<a><b/></a>/(b, 1)"),
    ("XPTY0019", "(1, 2)/a"),
    ("XPTY0019", "<a/>/string()/b"),
    ("XPTY0020", "(1) ! a"),
    ("XPDY0002", "."),
    ("XPDY0002", "a/b"),
    ("XPDY0002", "declare function local:f() { . }; <a/> ! local:f()"),
    ("XPDY0002", "declare variable $x external; $x"),
    ("XPDY0050", "<a/> ! /"),
    ("XPDY0050", "1 treat as xs:string"),
    ("XPDY0130", "declare function local:f($n) { 1 + local:f($n) }; local:f(1)"),
    ("FORG0006", "boolean((1, 2))"),
    ("FORG0006", "if (current-date()) then 1 else 2"),
    ("FORG0001", "xs:integer('x')"),
    ("FOAR0001", "1 div 0"),
    ("FOTY0013", "data(function() { 1 })"),
    ("XQTY0024", "<a>{1, attribute b {1}}</a>"),
    ("XQDY0025", "<a>{attribute b {1}, attribute b {2}}</a>"),
    ("XQDY0026", "processing-instruction p {'?>'}"),
    ("XQDY0041", "processing-instruction {'a b'} {}"),
    ("XQDY0044", "attribute xmlns {1}"),
    ("XQDY0054", "declare variable $a := local:f(); declare function local:f() { $a }; $a"),
    ("XQDY0064", "processing-instruction {'xml'} {}"),
    ("XQDY0072", "comment {'a--b'}"),
    ("XQDY0074", "element {'a b'} {}"),
    ("XQDY0096", "element {QName('http://www.w3.org/2000/xmlns/', 'xmlns:a')} {}"),
    ("XQDY0101", "namespace xml {'urn:x'}"),
    ("XQDY0102", "element a {namespace p {'u'}, namespace p {'v'}}"),
    ("XQDY0137", "map {1: 2, 1: 3}"),
    ("XQTY0105", "<a>{map {}}</a>"),
    ("FOAY0001", "[1]?2"),
    ("FODC0002", "doc('no-such-file.xml')"),
    ("FODC0002", "stream('nowhere')"),
    ("XPST0008", "$x"),
    ("XPST0017", "nothing(1)"),
]


@pytest.mark.parametrize(("code", "text"), CODES)
def test_a_mistake_has_its_code(code: str, text: str) -> None:
    with pytest.raises(XStreamError) as caught:
        query(text).items()
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("1 div 0", 1, 1),
        ("let $x := 1\nreturn $x + 'a'", 2, 8),
        ("for $x in 1 to 3\nwhere $x = 2\nreturn <a>{ xs:integer('q') }</a>", 3, 13),
        ("declare function local:f($n) {\n  $n div 0\n};\nlocal:f(1)", 2, 3),
        ("(1, 2)[\n  error() ]", 2, 3),
    ],
)
def test_an_error_names_the_place_of_the_innermost_expression(text: str, line: int, column: int) -> None:
    with pytest.raises(XStreamError) as caught:
        query(text).items()
    place = caught.value.place
    assert place is not None
    assert (place.line, place.column) == (line, column)
    assert "^" in caught.value.excerpt


def test_an_error_in_what_is_not_needed_does_not_matter() -> None:
    assert query("let $x := 1 div 0 return 1").to_list() == [1]
    assert query("declare variable $x := error(); 1").to_list() == [1]
    assert query("(1, error())[1]").to_list() == [1]
    assert query("if (true()) then 1 else error()").to_list() == [1]


def test_a_variable_of_the_prolog_is_outside_of_every_try() -> None:
    with pytest.raises(XStreamError) as caught:
        query("declare variable $x := 1 div 0; try { $x } catch * { 1 }").items()
    assert caught.value.code == "FOAR0001"


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"for $a{n} in 1 to 1" for n in range(40)) + " return $a39",
        " ".join(f"for $a{n} in 1 to 1" for n in range(30)) + " order by $a29 return $a29",
        "".join(f"for $a{n} in (1, 2)[. = 1] return (" for n in range(40)) + "$a39" + ")" * 40,
        "".join(f"if ($x = {n}) then {n} else " for n in range(150)) + "$x",
        "switch ($x) " + " ".join(f"case {n} return {n}" for n in range(200)) + " default return 0",
        "<a>" * 80 + "{$x}" + "</a>" * 80 + " ! 1",
        "count((" + ", ".join(["$x"] * 3000) + ")) idiv 3000",
        "some $y in (" + " , ".join(f"$x[. = {n}]" for n in range(1, 60)) + ") satisfies $y = 1 or true()",
    ],
)
def test_deep_nesting_runs(text: str) -> None:
    assert query(text, variables={"x": 1}).items() in ([1], [True])


def test_a_library_module_is_no_query() -> None:
    with pytest.raises(XStreamError, match="a library module") as caught:
        query('module namespace m = "urn:m"; declare function m:f() { 1 };')
    assert caught.value.code == "XPST0003"
    assert 'import module namespace m = "urn:m"' in str(caught.value)

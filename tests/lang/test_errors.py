"""Every fault has its code, its place, a message and, where one helps, a hint; whatever the text, nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.lang import StaticContext, ast, parse
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN

FIXTURE = Path(__file__).parent / "fixtures" / "errors.txt"
LIBRARY = 'module namespace m = "m"; declare function m:f() { 1 };'


def cases() -> list[Any]:
    found = []
    for block in FIXTURE.read_text(encoding="utf-8").split("=== ")[1:]:
        head, query = block.split("\n", 1)
        place, message, hint = (part.strip() for part in head.split("|"))
        query = query.strip("\n").replace("\\n", "\n").replace("\\x01", "\x01")
        found.append(pytest.param(query, place, message, hint, id=f"{place} {query[:60]}"))
    return found


@pytest.mark.parametrize(("query", "place", "message", "hint"), cases())
def test_a_faulty_query_gives_the_error_of_its_fixture(query: str, place: str, message: str, hint: str) -> None:
    prolog = ""
    if query.startswith("local:"):  # calls of what this prolog declares, on a line of its own
        prolog = "declare function local:f($x) { 1 }; declare function local:g() { 1 };\n"
    with pytest.raises(XStreamError) as caught:
        parse(
            prolog + query,
            known_functions=lambda uri, local, arity: (uri, local, arity) in {(FN, "true", 0), (FN, "count", 1)},
            modules=lambda uri, locations, base: [("m.xq", LIBRARY)] if uri == "m" else [],
        )
    fault = caught.value
    assert fault.place is not None
    assert fault.place.line is not None
    line = fault.place.line - prolog.count("\n")
    assert f"{fault.code} {line}:{fault.place.column}" == place
    assert message in fault.message
    assert hint in fault.hint
    assert bool(hint) == bool(fault.hint)


def test_an_error_shows_the_line_with_a_caret() -> None:
    with pytest.raises(XStreamError) as caught:
        parse("for $x in 1\nreturn $y", source="q.xq")
    assert str(caught.value) == (
        "XPST0008 q.xq:2:8 the variable $y is not declared\n  return $y\n         ^\n  hint: in scope: $x"
    )


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(XStreamError) as caught:
        parse("1, " * 200 + "$y" + ", 1" * 200)
    shown, caret = caught.value.excerpt.split("\n")
    assert len(shown) <= 102
    assert shown[caret.index("^") :].startswith("$y")


DEEP = {
    "parentheses": ("", "(", "1", ")"),
    "arrays": ("", "[", "1", "]"),
    "calls": ("", "count(", "1", ")"),
    "predicates": ("", "a[", "1", "]"),
    "elements": ("", "<a>", "1", "</a>"),
    "attributes": ("", '<a b="{', "1", '}"/>'),
    "computed elements": ("", "element a {", "1", "}"),
    "functions": ("", "function() {", "1", "}"),
    "conditions": ("", "if (", "1", ") then 1 else 2"),
    "FLWORs": ("", "for $x in 1 return ", "1", ""),
    "types": ("1 instance of ", "array(", "item()", ")"),
    "maps": ("", "map { 1 : ", "1", "}"),
    "lookups": ("", "?(", "1", ")"),
    "projections": ("", "a?[", "1", "]"),
    "string constructors": ("", "``[`{", "1", "}`]``"),
    "calls of calls": ("$f", "(1)", "", ""),
}


@pytest.mark.parametrize("kind", DEEP)
def test_ten_thousand_levels_are_refused_with_a_hint(kind: str) -> None:
    before, opening, inner, closing = DEEP[kind]
    with pytest.raises(XStreamError) as caught:
        parse(before + opening * 10_000 + inner + closing * 10_000)
    assert caught.value.code == "XPST0003"
    assert "nested" in caught.value.message
    assert "let" in caught.value.hint
    assert caught.value.place is not None
    assert caught.value.place.column is not None
    assert caught.value.place.column > 100


@pytest.mark.parametrize("kind", DEEP)
def test_what_people_write_is_not_too_deep(kind: str) -> None:
    before, opening, inner, closing = DEEP[kind]
    static = StaticContext(variables=frozenset({("", "f")}))
    for levels in (1, 10, 60):
        text = before + opening * levels + inner + closing * levels
        assert parse(text, static=static).span == ast.Span(0, len(text))


def test_comments_nest_to_any_depth() -> None:
    assert parse("(:" * 10_000 + ":)" * 10_000 + "1").body == ast.IntegerLiteral(1)


@pytest.mark.parametrize(
    ("query", "leaves"),
    [
        ("1, " * 5000 + "1", 5001),
        ("1 or " * 5000 + "1", 5001),
        ("1 || " * 5000 + "1", 5001),
        ("-" * 5000 + "1", 1),
        ("if (1) then 2 else " * 400 + "3", 801),
        ("1" + " + 1" * 400, 401),
    ],
    ids=["sequence", "or", "concatenation", "minus", "else if", "sum"],
)
def test_long_flat_queries_are_fine(query: str, leaves: int) -> None:
    assert sum(isinstance(part, ast.IntegerLiteral) for part in descendants(parse(query))) == leaves


def test_a_long_path_is_fine() -> None:
    path = parse("a/" * 5000 + "a").body
    assert isinstance(path, ast.Path)
    assert len(path.steps) == 5001


def test_a_sum_beyond_the_limit_is_refused_with_a_hint() -> None:
    with pytest.raises(XStreamError, match="operators in a row") as caught:
        parse("1" + " + 1" * 5000)
    assert "let" in caught.value.hint

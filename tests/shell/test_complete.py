"""Completion, by what a query looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from xstreamcast.cast.infer import infer_structure, structure_of_beginning
from xstreamcast.cli.shell.at_hand import AtHand, look_at
from xstreamcast.cli.shell.complete import completions
from xstreamcast.lang.unfinished import unfinished
from xstreamcast.model.structure import parse_structure

SHOP = parse_structure(
    '<structure><tag id="1" name="shop"><tag id="2" name="book"><tag id="3" name="title"/><tag id="4" name="price"/>'
    '<tag id="5" name="part"><tag ref="5"/><tag id="6" name="page"/></tag></tag>'
    '<tag id="7" name="clerk"/></tag></structure>'
)
BANK = parse_structure('<structure><tag id="1" name="bank"><tag id="2" name="account"/></tag></structure>')
HERE = AtHand({"": SHOP, "bank": BANK}, ("id", "isbn"))


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("/", ["shop"]),
        ("/shop/", ["book", "clerk"]),
        ("/shop/b", ["book"]),
        ("//", ["book", "clerk", "page", "part", "price", "shop", "title"]),
        ("count(//book/pr", ["price"]),
        ("//title/string-len", ["string-length("]),
        ("//book//pag", ["page"]),
        ("//part/part/", ["page", "part"]),
        ("//book[price < 3]/ti", ["title"]),
        ("//book[@isbn = '/x/']/ti", ["title"]),
        ("/shop/*/ti", ["title"]),
        ("//nothing/", []),
        ('stream("bank")//', ["account", "bank"]),
        ('stream("bank")/bank/', ["account"]),
        ('stream("', ["bank"]),
        ("for $b in //book return $b/pr", ["price"]),
        ("for $b in //book, $p in $b/part return $p/", ["page", "part"]),
        ("let $a := stream('bank')/bank return $a/", ["account"]),
        ("for $b at $i in //book return $b/ti", ["title"]),
        ("for $b in //book for $b in //part return $b/", ["page", "part"]),
        ("for $book in //book return $b", ["book"]),
        ("//book/@", ["id", "isbn"]),
        ("//book/@is", ["isbn"]),
        ("child::cl", ["clerk"]),
        ("string-len", ["string-length("]),
        ("map:siz", ["size("]),
        ("for $x in 1 sati", ["satisfies"]),
        ("vt", ["vtFrom(", "vtTo("]),
        ("", []),
    ],
)
def test_what_can_come_next(before: str, expected: list[str]) -> None:
    assert completions(before, HERE) == expected


def test_where_it_is_not_clear_what_is_looked_at_all_names_are_offered() -> None:
    assert "account" in completions("f(1)/", HERE)
    assert "title" in completions("$unbound/", HERE)


def test_variables_that_are_bound_by_each_other_end() -> None:
    assert completions("let $a := $b let $b := $a return $a/ti", HERE) == ["title"]


def test_names_in_namespaces_are_written_as_steps_have_them() -> None:
    tags = parse_structure(
        '<structure xmlns:p="urn:p"><tag id="1" name="p:shop"><tag id="2" name="p:book"/></tag></structure>'
    )
    assert completions("/", AtHand({"": tags})) == ["p:shop"]


def test_a_large_document_is_looked_at_as_far_as_its_beginning_goes(tmp_path: Path) -> None:
    file = tmp_path / "large.xml"
    file.write_text("<list>" + '<a id="1"><b/></a>' * 600_000 + "<late/></list>")
    structure = structure_of_beginning(file)
    assert structure is not None
    assert [tag.name for tag in structure.tags.values()] == ["list", "a", "b"]
    assert look_at(str(file), {}).attributes == ("id",)
    file.write_text("<list><a/></list>")
    assert structure_of_beginning(file) == infer_structure(file)


@pytest.mark.parametrize("text", ["", "no XML", "<a"])
def test_a_document_that_shows_nothing_has_no_structure(tmp_path: Path, text: str) -> None:
    file = tmp_path / "d.xml"
    file.write_text(text)
    assert structure_of_beginning(file) is None
    assert look_at(str(file), {"s": str(file)}).structures == {}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "for $x in",
            "for $x in 1",
            "<a>",
            '<a b="',
            "<a>{",
            '"abc',
            "'x",
            "(: c",
            "``[a",
            "count(",
            "1 +",
            "a[",
            "$x/",
        ),
        *(
            "declare variable $x := 1;",
            "if (1) then 2",
            "<!-- x",
            "f(1",
            "map {",
            "some $x in a",
            "a?[now",
            "try { 1 }",
        ),
        *("(# p", "<a><![CDATA[x", "//", ""),
    ],
)
def test_what_is_not_whole_goes_on(text: str) -> None:
    assert unfinished(text)


@pytest.mark.parametrize("text", ["1", "//a", "for $x in 1 retrun 2", "1 +* 2", "<a>{1}</b>", "$undeclared", "1)", "/"])
def test_what_is_whole_or_wrong_is_run(text: str) -> None:
    assert not unfinished(text)

"""Colours of a query: what its words are, by the grammar, also where it is not finished."""

from __future__ import annotations

from pathlib import Path

import pytest

from xstreamcast.lang.tokens import KEYWORDS, painted, tokens

FIXTURES = sorted((Path(__file__).parents[2] / "examples").rglob("*.xq"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for/let", "for:name let:name"),
        ("if (a) then b else c", "if:keyword a:name then:keyword b:name else:keyword c:name"),
        ("element", "element:name"),
        ("element e { 1 }", "element:keyword e:name 1:number"),
        ("child::a/text()", "child:keyword a:name text:keyword"),
        ("$a?[now-PT1H, now]", "$a:variable now:keyword PT1H:number now:keyword"),
        ("x/y?[2003-11-11T10:00:00]", "x:name y:name 2003-11-11T10:00:00:number"),
        ("fn:count(., 1.5e3)", "fn:count:function 1.5e3:number"),
        ("a (: one (: two :) :) b", "a:name (: one (: two :) :):comment b:name"),
        ("""<a b="c{d}e">f{g}</a>""", "a:tag b:tag c:string d:name e:string g:name a:tag"),
        ("""'it''s' || "x" """, "'it''s':string \"x\":string"),
        ("math:pi#0", "math:pi:function 0:number"),
        ("$x instance of xs:integer", "$x:variable instance:keyword of:keyword xs:integer:name"),
        # behind an error, by form
        ("for $a in", "for:keyword $a:variable in:keyword"),
        ("for $a in //b whre $a return 1", "for:keyword $a:variable in:keyword b:name whre:name $a:variable "
                                           "return:keyword 1:number"),
        ('count("abc', 'count:function "abc:string'),
        ("1 + (: not closed", "1:number (: not closed:comment"),
        ("", ""),
    ],
)  # fmt: skip
def test_words_are_what_the_grammar_says(text: str, expected: str) -> None:
    found = [f"{word}:{kind}" for word, kind in painted(text) if not word.isspace()]
    assert " ".join(found) == expected


@pytest.mark.parametrize("file", FIXTURES, ids=lambda file: str(file.name))
def test_tokens_are_in_order_and_apart_at_every_prefix(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert tokens(text)
    for end in range(0, len(text), 13):
        last = 0
        for start, stop, _ in tokens(text[:end]):
            assert last <= start < stop <= end
            last = stop


def test_keywords_of_queries_are_known_by_form_too() -> None:
    words = {word for file in FIXTURES for word, kind in painted(file.read_text(encoding="utf-8")) if kind == "keyword"}
    kinds = {"text", "node", "element", "attribute", "item"}
    axes = {"child", "parent", "descendant", "following-sibling", "preceding-sibling", "ancestor", "self"}
    assert words - KEYWORDS - kinds - axes == set()


def test_line_ends_of_other_systems_do_not_move_the_colours() -> None:
    assert tokens("1,\r\n2") == tokens("1, \n2")

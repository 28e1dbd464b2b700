"""Highlighting knows the words that the parser knows, and colours every query as far as its last character."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Literal, Name, Operator, String, Token
from textmate_grammar.parsers.base import LanguageParser

from xstreamcast.highlight import patterns, textmate
from xstreamcast.highlight.lexer import XCQLLexer
from xstreamcast.lang import prolog, words

ROOT = Path(__file__).parents[2]
GRAMMAR = ROOT / "editors" / "vscode" / "syntaxes" / "xcql.tmLanguage.json"
QUERIES = sorted([*(ROOT / "examples").rglob("*.xq"), *(ROOT / "tests").rglob("*.xq")])


def taken_words() -> set[str]:
    """The words that the parser takes by name, from its source."""
    found: set[str] = set()
    for path in sorted((ROOT / "xstreamcast" / "lang").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(attr="take_word" | "expect_word"), args=arguments):
                    found |= set(strings(arguments))
                case ast.Compare(left=left, comparators=compared) if re.search(r"\bword\b", ast.unparse(left)):
                    found |= set(strings(compared))
    return {word for word in found if word[:1].isalpha()}


def strings(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value


def test_the_table_of_words_is_what_the_parser_takes() -> None:
    taken = taken_words()
    elsewhere = {*words.CONTROL, *words.PROLOG, *words.OPERATORS, *words.TYPES, *words.AXES, *words.CONSTRUCTORS}
    settings = {*prolog.SETTERS}  # they have names of their own
    assert len(taken) > 60
    assert taken - {*words.CLAUSES} - settings <= elsewhere
    assert {*words.CLAUSES} - taken == set()
    assert list(words.CLAUSES) == sorted(words.CLAUSES)


SAMPLES = {
    "for $x in (1, 2) return $x": {"for", "in", "return"},
    "for $f allowing empty at $i in //a order by $f descending empty least collation 'u' return $i": {
        *("for", "allowing", "empty", "at", "in", "order", "by", "descending", "least", "collation", "return")
    },
    "for $x in //a stable order by $x ascending empty greatest return 1": {
        *("for", "in", "stable", "order", "by", "ascending", "empty", "greatest", "return")
    },
    "let $a := 1 where $a group by $k := 2 count $n return $n": {"let", "where", "group", "by", "count", "return"},
    "some $x in a satisfies every $y in b satisfies $x": {"some", "in", "satisfies", "every"},
    "switch (1) case 1 return 2 default return 3": {"switch", "case", "return"},
    "typeswitch (1) case xs:integer return 2 default return 3": {"typeswitch", "case", "return"},
    "if (1) then 2 else 3": {"if", "then", "else"},
    "try { 1 } catch * { 2 }": {"try", "catch"},
    "for tumbling window $w in a start $s when 1 only end $e when 2 return $w": {
        *("for", "tumbling", "window", "in", "start", "when", "only", "end", "return")
    },
    "for sliding window $w in a start $s at $p previous $b next $n when 1 end when 2 return $w": {
        *("for", "sliding", "window", "in", "start", "at", "previous", "next", "when", "end", "return")
    },
    "1 instance of xs:integer": {"of"},
    "1 cast as xs:string": {"as"},
}


@pytest.mark.parametrize(("query", "expected"), SAMPLES.items())
def test_the_words_of_a_clause_are_keywords(query: str, expected: set[str]) -> None:
    found = {text for kind, text in XCQLLexer().get_tokens(query) if kind is Keyword}
    assert found == expected
    assert {match.group() for match in re.finditer(f"{patterns.CLAUSE}|{patterns.CONTROL}", query)} == expected


def test_a_word_is_a_name_where_names_are() -> None:
    query = "$for/order/return[@where = count(for)]/text/start, a/type, //element/comment"
    assert [text for kind, text in XCQLLexer().get_tokens(query) if Keyword in kind.split()] == []


@pytest.mark.parametrize("word", words.OPERATORS)
def test_an_operator_is_one_between_operands(word: str) -> None:
    assert (Operator.Word, word) in list(XCQLLexer().get_tokens(f"$a {word} $b"))
    assert Operator.Word not in [kind for kind, _ in XCQLLexer().get_tokens(f"$a/{word}/b, {word}(1)")]


def test_the_other_words_are_told_apart() -> None:
    def kinds(query: str) -> dict[str, Any]:
        return {text: kind for kind, text in XCQLLexer().get_tokens(query)}

    assert {kinds(f"{axis}::a")[axis] for axis in words.AXES} == {Keyword.Pseudo}
    assert {kinds(f"1 instance of {name}()")[name] for name in words.TYPES} == {Keyword.Type}
    assert {kinds(f"{name} {{ 1 }}")[name] for name in words.CONSTRUCTORS} == {Keyword}
    assert {kinds(f"declare {name} x")[name] for name in words.PROLOG} == {Keyword.Declaration}
    assert {kinds(f"$a?[{name}-PT1H]")[name] for name in words.MOMENTS} == {Keyword.Constant}
    assert {kinds(f"{name}(1)")[name] for name in words.FUNCTIONS} == {Name.Builtin}


def test_xcql_and_constructors() -> None:
    query = 'stream("c")//a?[now-PT1H, 2003-11-01T10:00:00]#[1,last]/<b x="{1}&lt;{{">t{ (: (: c :) :) 2 }</b>'
    found = [(kind, text) for kind, text in XCQLLexer().get_tokens(query) if text.strip()]
    for expected in (
        (Keyword.Constant, "now"),
        (Literal.Date, "PT1H"),
        (Literal.Date, "2003-11-01T10:00:00"),
        (Keyword.Constant, "last"),
        (Name.Tag, "b"),
        (Name.Attribute, "x"),
        (Name.Entity, "&lt;"),
        (String.Escape, "{{"),
        (Token.Text, "t"),
        (Comment.Multiline, ":)"),
    ):
        assert expected in found


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.name)
def test_a_query_is_coloured_to_its_end(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = list(XCQLLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(part for _, part in found) == text
    assert [part for kind, part in found if kind is Error] == []


def test_pygments_finds_the_lexer_by_its_name() -> None:
    assert isinstance(get_lexer_by_name("xcql"), XCQLLexer)


def test_the_page_of_the_editors_says_how_to_call_pygments() -> None:
    page = (ROOT / "editors" / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"```sh\n(pygmentize .*)\n```", page)
    _, *arguments = command.split()
    called = [sys.executable, "-m", "pygments", *arguments, "-f", "raw"]
    done = subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Token.Name.Builtin\t'stream'" in done.stdout


def test_the_grammar_for_editors_is_made_from_the_table() -> None:
    assert GRAMMAR.read_text(encoding="utf-8") == textmate.written()
    package = json.loads((GRAMMAR.parents[1] / "package.json").read_text(encoding="utf-8"))
    (declared,) = package["contributes"]["grammars"]
    assert declared["scopeName"] == textmate.SCOPE == textmate.grammar()["scopeName"]
    assert (GRAMMAR.parents[1] / declared["path"]).samefile(GRAMMAR)
    (language,) = package["contributes"]["languages"]
    assert [f".{ending}" for ending in textmate.grammar()["fileTypes"]] == language["extensions"]
    assert (GRAMMAR.parents[1] / language["configuration"]).is_file()


def test_what_the_grammar_names_is_in_it_and_is_a_pattern() -> None:
    made = textmate.grammar()

    def inside(part: Any) -> Iterator[dict[str, Any]]:
        if isinstance(part, dict):
            yield part
            part = list(part.values())
        if isinstance(part, list):
            for one in part:
                yield from inside(one)

    parts = list(inside(made))
    assert {one["include"].removeprefix("#") for one in parts if "include" in one} == set(made["repository"])
    texts = [one[key] for one in parts for key in ("match", "begin", "end") if isinstance(one.get(key), str)]
    assert len(texts) > 40
    assert all(re.compile(text) for text in texts)


@pytest.fixture(scope="module")
def editor() -> Any:
    """What reads the grammar as editors do, with their regular expressions."""
    return LanguageParser(json.loads(GRAMMAR.read_text(encoding="utf-8")))


def words_by_editor(editor: Any, query: str) -> list[str]:
    told = editor.parse_string(query).flatten()
    return [text.strip() for _, text, scopes in told if scopes[-1] in ("keyword.control.xcql", "keyword.other.xcql")]


def words_by_pygments(query: str) -> list[str]:
    return [text for kind, text in XCQLLexer().get_tokens(query) if kind in (Keyword, Keyword.Declaration)]


@pytest.mark.parametrize(
    "query", [*SAMPLES, "element a { 1 }, <b c='{for $x in 1 return $x}'>for { if (1) then 2 else 3 }</b>"]
)
def test_an_editor_sees_the_words_that_pygments_sees(editor: Any, query: str) -> None:
    assert words_by_editor(editor, query) == words_by_pygments(query) != []


@pytest.mark.parametrize("path", sorted((ROOT / "examples").rglob("*.xq")), ids=lambda path: path.name)
def test_an_editor_sees_them_in_the_examples_too(editor: Any, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert words_by_editor(editor, text) == words_by_pygments(text)


def test_importing_the_package_imports_no_pygments() -> None:
    told = "import sys, xstreamcast; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert "xstreamcast" in done.stdout.split()
    assert [
        name for name in done.stdout.split() if name.split(".")[0] in ("pygments", "IPython", "numpy", "rich")
    ] == []

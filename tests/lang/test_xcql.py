"""XCQL is a local change of the grammar: its words and brackets mean something only where it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast, parse, parse_syntax
from xstreamcast.lang.ast import (
    ALLEN,
    AllenComparison,
    AxisStep,
    DurationLiteral,
    FunctionCall,
    InstantLiteral,
    IntervalProjection,
    Last,
    Now,
    Start,
    VersionProjection,
)
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import STREAM

PAPERS = sorted((Path(__file__).parent / "fixtures" / "papers").glob("*.xq"))


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.stem)
def test_the_papers_queries_parse_in_their_corrected_form(file: Path) -> None:
    module = parse(file.read_text(encoding="utf-8"), source=file.name)
    streams = [node for node in descendants(module) if isinstance(node, FunctionCall) and node.name.local == "stream"]
    assert streams
    assert {call.name.uri for call in streams} == {STREAM}
    assert module.warnings == ()


def body(text: str) -> Any:
    """The tree of a query, whose nodes are told apart by what is asserted of them."""
    return parse_syntax(text).body


def bound(text: str) -> Any:
    projection = body(f"e?[{text}]")
    assert isinstance(projection, IntervalProjection)
    return projection.begin


@pytest.mark.parametrize(
    ("text", "value"),
    {
        "2003-11-01": "2003-11-01T00:00:00Z",
        "2003-11-01Z": "2003-11-01T00:00:00Z",
        "2003-11-01+01:00": "2003-11-01T00:00:00+01:00",
        "2003-11-01T12:00:00": "2003-11-01T12:00:00Z",
        "2003-11-01T12:00": "2003-11-01T12:00:00Z",
        "2003-11-01T12:00:00.25-05:00": "2003-11-01T12:00:00.25-05:00",
        "2004-02-29": "2004-02-29T00:00:00Z",
    }.items(),
)
def test_dates_are_tokens_inside_brackets(text: str, value: str) -> None:
    assert bound(text) == InstantLiteral(value)


def test_outside_brackets_a_date_is_a_difference() -> None:
    assert type(body("2003-11-01")).__name__ == "Arithmetic"


@pytest.mark.parametrize(
    "text", ["2003-13-01", "2003-02-29", "2003-11-01T25:00:00", "2003-11-01T12:61:00", "2003-11-01+15:00"]
)
def test_impossible_dates_are_refused(text: str) -> None:
    with pytest.raises(XStreamError) as caught:
        parse_syntax(f"e?[{text}]")
    assert caught.value.code == "FORG0001"


@pytest.mark.parametrize("text", ["PT1H", "P1D", "P1Y", "P2M", "P1Y2M3DT4H5M6.7S", "PT0.5S"])
def test_durations_are_tokens_inside_brackets(text: str) -> None:
    assert bound(text) == DurationLiteral(text)


@pytest.mark.parametrize("text", ["P", "PT", "P1", "P1DT", "PT1", "P1H", "Plan", "PT1Hour"])
def test_what_is_no_duration_is_a_name(text: str) -> None:
    assert isinstance(bound(text), AxisStep)


@pytest.mark.parametrize(("word", "node"), [("now", Now()), ("start", Start()), ("last", Last())])
def test_the_three_words_end_before_a_hyphen_inside_brackets_only(word: str, node: object) -> None:
    assert bound(word) == node
    assert bound(f"{word}-1").left == node
    assert isinstance(bound(f"{word}()"), FunctionCall)
    assert isinstance(bound(f"$x[{word}]").predicates[0], AxisStep)
    assert isinstance(bound(f"{word}er"), AxisStep)
    assert isinstance(bound(f"child::{word}"), AxisStep)
    assert isinstance(body(word), AxisStep)
    assert body(f"{word}-1").test.name.local == f"{word}-1"


def test_brackets_do_not_leak_into_enclosed_expressions_nor_out_of_the_projection() -> None:
    assert isinstance(bound("element x { now }").content, AxisStep)
    assert isinstance(bound("<a>{now}</a>").content[0], AxisStep)
    assert isinstance(bound("(now, 1)").items[0], Now)
    assert isinstance(body("e?[now]/now").steps[1], AxisStep)
    assert isinstance(body("e?[now][now]").predicates[0], AxisStep)


def test_an_interval_projection_belongs_to_its_step() -> None:
    path = body("a/b?[now][1]/c")
    assert len(path.steps) == 3
    assert isinstance(path.steps[1].base, IntervalProjection)


def test_a_version_projection_takes_the_whole_path_on_its_left() -> None:
    projection = body("stream('s')//a/b#[1, 10]")
    assert isinstance(projection, VersionProjection)
    assert isinstance(projection.base, ast.Path)
    assert len(projection.base.steps) == 4
    assert body("for $a in x return $a/y#[last]").result.base.steps[1].test.name.local == "y"


def test_after_a_type_a_question_mark_is_an_occurrence_sign() -> None:
    with pytest.raises(XStreamError, match="XPST0003"):
        parse_syntax("1 instance of item()?[now]")
    assert body("(1 instance of item())?[now]").base.type.occurrence == ""


@pytest.mark.parametrize("relation", ALLEN)
def test_allens_relations_are_operators_between_operands_and_names_elsewhere(relation: str) -> None:
    assert body(f"$a {relation} $b").relation == relation
    assert body(f"{relation} {relation} {relation}").relation == relation
    assert isinstance(body(relation), AxisStep)
    assert isinstance(body(f"{relation}($a, $b)"), FunctionCall)
    assert body(f"<{relation} {relation}='1'/>").name.local == relation
    assert body(f"let ${relation} := 1 return ${relation}").result.name.local == relation


def test_allens_relations_bind_like_comparisons() -> None:
    condition = body("$a before $b and $c + 1 during [$s, $e] or not($d)")
    left, right = condition.operands[0].operands
    assert isinstance(left, AllenComparison)
    assert type(right.left).__name__ == "Arithmetic"

"""Printing loses nothing: whatever tree, its text parses to the same tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from xstreamcast.lang import parse, parse_syntax
from xstreamcast.lang.ast import Expr
from xstreamcast.lang.printer import to_xquery

from .trees import TREES

PAPERS = sorted((Path(__file__).parent / "fixtures" / "papers").glob("*.xq"))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(TREES)
def test_any_tree_survives_printing_and_parsing(tree: Expr) -> None:
    assert parse_syntax(to_xquery(tree)).body == tree


@pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.stem)
def test_resolved_modules_survive_too(file: Path) -> None:
    module = parse(file.read_text(encoding="utf-8"))
    assert parse(to_xquery(module)) == module


LAYOUT = {
    "for $x in (1,2)where $x=1 return<a>{$x}</a>": "for $x in (1, 2)\nwhere $x = 1\nreturn <a>{$x}</a>",
    "(1+2)*3-(4-5)": "(1 + 2) * 3 - (4 - 5)",
    "a/b//c[@d=1]/..": "a/b//c[@d = 1]/..",
    "(a,b)[1]": "(a, b)[1]",
    "(a)[1]": "(a)[1]",
    "-(1+2)": "-(1 + 2)",
    "$x=>f(1)": "f($x, 1)",
    "a/b#[1]/c": "a/b#[1]/c",
    "a/(b#[1])/c": "a/(b#[1])/c",
    "a?[now-PT1H,now][b]/c": "a?[now - PT1H, now][b]/c",
    "(1 treat as item())*2": "(1 treat as item()) * 2",
    "<a>  {1} b </a>": "<a>{1} b </a>",
    "declare function local:f($x){for $y in $x return $y};1": (
        "declare function local:f($x) {\n  for $y in $x\n  return $y\n};\n1"
    ),
    "for $x in (for $y in 1 return $y) return 2": "for $x in \n  for $y in 1\n  return $y\nreturn 2",
}


@pytest.mark.parametrize("query", LAYOUT)
def test_the_text_is_laid_out_for_people(query: str) -> None:
    assert to_xquery(parse_syntax(query)) == LAYOUT[query]

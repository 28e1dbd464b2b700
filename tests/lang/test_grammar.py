"""Every construct of the grammar parses to the tree its fixture shows, and prints back to text that means the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xstreamcast.lang import parse_syntax
from xstreamcast.lang.outline import outline
from xstreamcast.lang.printer import to_xquery

FIXTURES = Path(__file__).parent / "fixtures" / "grammar"


def cases() -> list[Any]:
    found = []
    for file in sorted(FIXTURES.glob("*.txt")):
        for block in file.read_text(encoding="utf-8").split("=== ")[1:]:
            query, tree = block.split("\n", 1)
            found.append(pytest.param(query, tree.strip("\n"), id=f"{file.stem}: {query}"))
    return found


@pytest.mark.parametrize(("query", "tree"), cases())
def test_a_query_has_the_tree_of_its_fixture(query: str, tree: str) -> None:
    assert outline(parse_syntax(query)) == tree


@pytest.mark.parametrize(("query", "tree"), cases())
def test_a_printed_tree_parses_to_itself(query: str, tree: str) -> None:
    module = parse_syntax(query)
    assert parse_syntax(to_xquery(module)) == module


@pytest.mark.parametrize(("query", "tree"), cases())
def test_every_node_lies_within_its_parent(query: str, tree: str) -> None:
    from xstreamcast.lang.walk import children, descendants

    module = parse_syntax(query)
    for node in descendants(module):
        assert 0 <= node.span.start <= node.span.end <= len(query)
        for child in children(node):
            if "=>" not in query:  # an arrow's first argument stands before the function
                assert node.span.start <= child.span.start
            assert child.span.end <= node.span.end


def test_spans_cut_the_text_of_a_node_out_of_the_query() -> None:
    query = "for  $x in (1, 2)\nwhere $x  > 1  return  $x + 1 (: end :)"
    body: Any = parse_syntax(query).body
    assert query[slice(*body.span)] == "for  $x in (1, 2)\nwhere $x  > 1  return  $x + 1"
    assert query[slice(*body.clauses[1].span)] == "where $x  > 1"
    assert query[slice(*body.result.span)] == "$x + 1"


def test_line_ends_are_normalised_and_do_not_move_places() -> None:
    module = parse_syntax("1,\r\n'a\rb',\r\n$x")
    body: Any = module.body
    assert body.items[1].value == "a\nb"
    place = module.source.place(body.items[2].span)
    assert (place.line, place.column) == (4, 1)

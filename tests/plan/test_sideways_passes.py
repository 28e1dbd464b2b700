"""Passes for streams that are followed, about what is beside an element or above it: what becomes of a query."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from xstreamcast.lang import ast
from xstreamcast.lang.link import parse
from xstreamcast.lang.printer import to_xquery
from xstreamcast.plan.passes.ancestors_to_paths import ancestors_to_paths
from xstreamcast.plan.passes.descend_once import descend_once
from xstreamcast.plan.passes.name_sources import name_sources
from xstreamcast.plan.passes.neighbours_to_windows import neighbours_to_windows
from xstreamcast.plan.passes.split_empty import split_empty


def after(rewrite: Callable[[ast.Module], ast.Module], text: str) -> str:
    """A query over ``stream("s")``, written as ``S``, after a pass."""
    made = to_xquery(rewrite(name_sources(parse(text.replace("S/", 'stream("s")/')))))
    return " ".join(made.replace("fn:", "").split())


def as_it_is(module: ast.Module) -> ast.Module:
    return module


PATHS = (
    (descend_once, "S//s//b[2]/t", "S//b[2][ancestor::s]/t"),
    (descend_once, "S//s//b[c][last()]", "S//b[c][last()][ancestor::s]"),
    (descend_once, "S//s//b/..", "S//*[b][ancestor-or-self::s]"),
    (descend_once, "S//s//b[c]/parent::x/t", "S//x[b[c]][ancestor-or-self::s]/t"),
    (descend_once, "S//s//b[c]/t", "S//s//b[c]/t"),
    (descend_once, "S//s[k]//b[2]", "S//s[k]//b[2]"),
    (ancestors_to_paths, 'S//b[ancestor::s/t = "x"][c]/d', 'S//s[t = "x"]//b[c]/d'),
    (ancestors_to_paths, 'S//b[ancestor::s[t = "x"]]', 'S//s[t = "x"]//b'),
    (ancestors_to_paths, "S//b[ancestor::s/t/u]", "S//s[t/u]//b"),
    (ancestors_to_paths, "S//b[ancestor::s/t = 1]", "S//b[ancestor::s/t = 1]"),
    (ancestors_to_paths, 'S//b[ancestor::s/@n = "1"]', 'S//b[ancestor::s/@n = "1"]'),
    (ancestors_to_paths, "S//b[ancestor::s]", "S//b[ancestor::s]"),
    (
        ancestors_to_paths,
        'for $b in S//b where $b/ancestor::s/t = "x" return $b/c',
        'for $b in S//s[t = "x"]//b return $b/c',
    ),
)


@pytest.mark.parametrize(("rewrite", "text", "made"), PATHS, ids=[text for _, text, _ in PATHS])
def test_what_is_above_is_a_condition_on_the_way(
    rewrite: Callable[[ast.Module], ast.Module], text: str, made: str
) -> None:
    assert after(rewrite, text) == after(as_it_is, made)


@pytest.mark.parametrize(
    ("text", "variables"),
    [
        ("for $x at $i in S//b return $x/c - (S//b)[$i - 1]/c", ["previous"]),
        ("for $x at $i in S//b return ($i, (S//b)[$i + 1]/c)", ["at", "next"]),
        ("for $i in 2 to count(S//b) return (S//b)[$i]/c - (S//b)[$i - 1]/c", ["at", "previous"]),
        ("for $x in S/a/b return ($x/preceding-sibling::b[1], $x/following-sibling::b[1])", ["previous", "next"]),
        ("S/a/b[following-sibling::b[1]/c = c]/d", ["next"]),
        ("for-each-pair(S//b, tail(S//b), function($x, $y) { $y - $x })", ["next"]),
        ("for $x at $i in S//b return (S//c)[$i - 1]", []),
        ("for $x in S//b return $x/following-sibling::b[1]", []),
        ("for $x in S/a/b return $x/following-sibling::c[1]", []),
        ("for $x in S/a/b[c] return $x/following-sibling::b[1]", []),
        ("for $x at $i in S//b order by $x return (S//b)[$i - 1]", []),
    ],
)
def test_an_item_beside_another_is_a_variable_of_a_window(text: str, variables: list[str]) -> None:
    made = after(neighbours_to_windows, text)
    start = made.partition(" start ")[2].partition(" when ")[0].split()
    assert [word for word in start if word in ("at", "previous", "next")] == variables
    assert ("for tumbling window" in made) == bool(variables)


def test_a_loop_over_numbers_of_items_is_one_over_the_items() -> None:
    made = after(neighbours_to_windows, "for $i in 1 to count(S//b) return (S//b)[$i]/c")
    assert "count" not in made
    assert "at $i in" in made


def test_a_loop_that_allows_nothing_is_a_loop_and_a_condition() -> None:
    made = after(split_empty, "for $x allowing empty at $i in S//b return ($i, $x/c)")
    assert "allowing" not in made
    assert "if (empty(" in made
    assert ":= 0" in made
    sorted_loop = "for $x allowing empty in S//b order by $x return $x/c"
    assert after(split_empty, sorted_loop) == after(as_it_is, sorted_loop)

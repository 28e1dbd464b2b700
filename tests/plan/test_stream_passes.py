"""The passes for streams that are followed: what becomes of a query, by what is known of its streams."""

from __future__ import annotations

from typing import Any

import pytest

from xstreamcast.lang.link import parse
from xstreamcast.lang.printer import to_xquery
from xstreamcast.model.structure import parse_structure
from xstreamcast.plan.algebra import Rank, Reduce
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.explain.changes import units_of
from xstreamcast.plan.passes.name_sources import name_sources
from xstreamcast.plan.passes.parents_to_predicates import parents_to_predicates
from xstreamcast.plan.passes.siblings_to_positions import siblings_to_positions
from xstreamcast.plan.passes.spell_paths import spell_paths
from xstreamcast.run.explained import explain

STRUCTURE = parse_structure(
    '<tag id="1" name="r"><tag id="2" name="s"><tag id="3" name="t"/><tag id="4" name="b"><tag id="5" name="t"/>'
    '</tag></tag><tag id="6" name="u"><tag id="7" name="v"/></tag></tag>'
)
NESTED = parse_structure('<tag id="1" name="r"><tag id="2" name="s"><tag ref="2"/></tag></tag>')


def path_after(text: str) -> str:
    """The path of a query, by the structure, below the variable of its stream."""
    module = parents_to_predicates(spell_paths(name_sources(parse(text)), {"s": STRUCTURE}))
    return "/" + to_xquery(module).partition("/")[2]


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("//b", "/r/s/b"),
        ("/r//b", "/r/s/b"),
        ("//b[2]", "/r/s/b[2]"),
        ("//b//t", "/r/s/b/t"),
        ("//b/..", "/r/s[b]"),
        ("//b[t = 1]/../t", "/r/s[b[t = 1]]/t"),
        ("//b/ancestor::s/t", "/r/s[b]/t"),
        ("//v/ancestor::r", "/r[u/v]"),
        ("/r/s/b/../..", "/r[s[b]]"),
        ("//b[ancestor::s/t = 1]", "/r/s/b[ancestor::s/t = 1]"),
    ],
)
def test_a_path_is_spelled_out_and_leads_down(path: str, made: str) -> None:
    assert "".join(path_after(f'stream("s"){path}').split()) == "".join(made.split())


@pytest.mark.parametrize(
    ("path", "made"),
    [
        ("//b[t]/parent::s/@n", "//s[b[t]]/@n"),
        ("//b/../@n", "//*[b]/@n"),
        ("//b/../t", "//*[b]/t"),
        ("//b/ancestor::s", "//s[.//b]"),
        ("//b/t/ancestor::s/@n", "//s[.//b/t]/@n"),
        ("//b/ancestor-or-self::*", "//*[self::b or .//b]"),
        ('//b[../t = "x"][c]', '//*[t = "x"]/b[c]'),
        ("//b[../t = 1]", "//b[../t = 1]"),
        ("//b/../b", "//b/../b"),
        ("//b/following-sibling::b[1]/t", "//b[position() > 1]/t"),
        ("//b/preceding-sibling::b[t]", "//b[position() < last()][t]"),
        ("//b[not(preceding-sibling::b)]", "//b[1]"),
        ("//b[following-sibling::b]", "//b[position() < last()]"),
        ("//b[t]/following-sibling::b", "//b[t]/following-sibling::b"),
        ("//b/following-sibling::t", "//b/following-sibling::t"),
    ],
)
def test_without_a_structure_what_is_around_an_element_is_a_condition_or_a_number(path: str, made: str) -> None:
    def after(text: str) -> str:
        normal = siblings_to_positions(parents_to_predicates(name_sources(parse(f'stream("s"){text}'))))
        return "".join(to_xquery(normal).replace("fn:", "").split())

    assert after(path) == "".join(to_xquery(name_sources(parse(f'stream("s"){made}'))).split())


@pytest.mark.parametrize("path", ["//t", "//x", "//*"])
def test_one_that_the_structure_has_several_ways_for_stays(path: str) -> None:
    module = name_sources(parse(f'stream("s"){path}'))
    assert spell_paths(module, {"s": STRUCTURE}) == module


def test_there_is_no_end_of_paths_where_tags_are_recursive() -> None:
    module = name_sources(parse('stream("s")//s'))
    assert spell_paths(module, {"s": NESTED}) == module


def test_a_forest_is_not_taken_to_have_one_root() -> None:
    module = parse('stream("s")/x[y]/z')
    (opened,) = plan(module, streams=True, changing=True).output
    assert not hasattr(opened, "reduction")  # a condition on the one root, around its parts
    (unit,) = units_of(plan(module, streams=True, changing=True, forests={"s"}))
    assert len(unit.records[0].steps) == 1


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("fold-left(E, 0, function($a as xs:integer, $b) as xs:integer { $a + count($b/c) })", "sum"),
        ("fold-left(E, 0, function($a, $b) { max(($a, count($b/c))) })", "max"),
        ("fold-right(E, 9, function($b, $a) { min(($b/c, $a)) })", "min"),
    ],
)
def test_a_fold_that_is_an_aggregate_is_one(text: str, function: Any) -> None:
    units = units_of(plan(parse(text.replace("E", 'stream("s")//b')), streams=True, changing=True))
    assert Reduce(function) in [unit.reduction for unit in units]


def test_only_streams_that_are_followed_are_numbered() -> None:
    """A document that is read once gives its items by the way."""
    text = "tail(//b)"
    assert not [u for u in units_of(plan(parse(text), changing=True)) if isinstance(u.reduction, Rank)]
    assert [u for u in units_of(plan(parse('tail(stream("s")//b)'), streams=True, changing=True)) if u.reduction]


def test_explain_spells_paths_by_the_structure_and_tells_the_mode() -> None:
    text = 'stream("s")//b/..'
    blind, told = explain(text).changing, explain(text, structures={"s": STRUCTURE}).changing
    assert blind is not None
    assert told is not None
    assert any(unit.each is not None for unit in units_of(blind))
    assert all(unit.each is None for unit in units_of(told))
    assert "certain " in str(explain('stream("s")//b[t = 1]', emit="certain"))

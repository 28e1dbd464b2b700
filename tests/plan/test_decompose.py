"""What a query's plan is: how it gets at its documents, in how many passes, by which records and reductions."""

from __future__ import annotations

import re
from pathlib import Path as FilePath

import pytest

from xstreamcast.functions.registry import known_function
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.lang.link import parse
from xstreamcast.lang.printer import to_xquery
from xstreamcast.plan.algebra import Concat, Fold, Group, Plan, Reduce, Slice, Strategy, Unit
from xstreamcast.plan.decompose.plan import plan
from xstreamcast.plan.projection.project import describe, describe_path

FIXTURES = FilePath(__file__).parents[1] / "fixtures"


def planned(text: str) -> Plan:
    module = parse(text, static=StaticContext(base_uri="file:///"), known_functions=known_function)
    return plan(module, streams=True)


def fixture(name: str) -> Plan:
    return planned((FIXTURES / f"{name}.xq").read_text())


def named(reduction: object) -> str:
    match reduction:
        case Concat():
            return "items"
        case Reduce(function):
            return function
        case Slice(first, last):
            return f"{first}-{'' if last is None else last}"
        case Fold():
            return "associative fold" if reduction.associative else "fold"
        case Group(_, keys, inner):
            return f"{named(inner)} by {len(keys)}"
    raise AssertionError(reduction)


def units(made: Plan) -> list[list[str]]:
    """For each pass, its units in words: ``count of /a/b``."""
    return [
        [f"{named(unit.reduction)} of {' and '.join(map(describe_path, unit.records))}" for unit in step.units]
        for step in made.passes
    ]


def items(unit: Unit) -> str:
    return " ".join(to_xquery(unit.items).split())


def output(made: Plan) -> list[str]:
    return [
        f"${part.variable[1]}" if isinstance(part, Unit) else " ".join(to_xquery(part).split()) for part in made.output
    ]


def only(made: Plan) -> Unit:
    ((unit,),) = [step.units for step in made.passes]
    return unit


# ------------------------------------------------------------------------------------------------------------ XMark

AUCTION = "/site/open_auctions/open_auction"
PROFILE = "/site/people/person/profile"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q01", ["items of /site/people/person"]),
        ("q02", [f"items of {AUCTION}"]),
        ("q03", [f"items of {AUCTION}"]),
        ("q04", [f"items of {AUCTION}"]),
        ("q05", ["count of /site/closed_auctions/closed_auction"]),
        ("q06", ["items of //site/regions//item"]),
        ("q07", ["exists of ", *(f"count of /site//{n}" for n in ("description", "annotation", "emailaddress"))]),
        ("q13", ["items of /site/regions/australia/item"]),
        ("q14", ["items of /site//item"]),
        (
            "q15",
            [
                "items of /site/closed_auctions/closed_auction/annotation/description/parlist/listitem/parlist/listitem"
                "/text/emph/keyword/text()"
            ],
        ),
        ("q16", ["items of /site/closed_auctions/closed_auction"]),
        ("q17", ["items of /site/people/person"]),
        ("q18", [f"items of {AUCTION}"]),
        ("q20", [*[f"count of {PROFILE}"] * 3, "count of /site/people/person"]),
    ],
)
def test_most_of_xmark_takes_one_pass(query: str, expected: list[str]) -> None:
    made = fixture(f"xmark/{query}")
    assert made.strategy is Strategy.STREAM
    assert units(made) == [expected]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("q08", "a join: it is read again for each record"),
        ("q09", "a join: it is read again for each record"),
        ("q10", "it is read again for each $i of a loop around it"),
        ("q11", "a join: it is read again for each record"),
        ("q12", "a join: it is read again for each record"),
        ("q19", "order by over the whole document"),
    ],
)
def test_joins_sorts_and_groups_of_xmark_keep_what_is_projected(query: str, reason: str) -> None:
    made = fixture(f"xmark/{query}")
    assert made.strategy is Strategy.PROJECT
    assert made.reasons == (reason,)
    assert [len(step.units) for step in made.passes] == [0]


def test_a_sort_is_blamed_where_it_stands() -> None:
    made = fixture("xmark/q19")
    (blamed,) = made.blocking
    assert made.module.source.text[slice(*blamed.span)].startswith("order by")


def test_what_is_counted_needs_no_capture() -> None:
    counts = fixture("xmark/q07").passes[0].units[1:]
    assert [describe_path(unit.path) for unit in counts if unit.path is not None] == [
        "/site//description",
        "/site//annotation",
        "/site//emailaddress",
    ]
    assert describe(fixture("xmark/q07").passes[0].targets) == ["/site"]


# ----------------------------------------------------------------------------------------------------------- VLDB'05


def test_query_1_waits_for_its_count() -> None:
    made = fixture("papers/vldb05-1")
    assert units(made) == [["count of /stream/pixel"], ["items of /stream/pixel"]]
    assert made.passes[1].units[0].needs == {made.passes[0].units[0].variable}


def test_query_2_is_two_aggregates_in_one_pass() -> None:
    made = fixture("papers/vldb05-2")
    assert units(made) == [["count of /stream/pixel", "sum of /stream/pixel/y"]]
    assert output(made) == ["let $b := $unit-1 return $unit-2 idiv $b"]


def test_query_3_needs_its_own_count_as_a_condition() -> None:
    assert units(fixture("papers/vldb05-3")) == [["count of /stream/pixel"], ["items of /stream/pixel"]]


def test_the_redundant_predicate_takes_two_passes() -> None:
    assert units(fixture("papers/vldb05-redundant")) == [["max of /stream/pixel/x"], ["items of /stream/pixel/x"]]


def test_a_loop_over_a_range_is_one_grouped_pass() -> None:
    made = fixture("papers/vldb05-loop")
    assert units(made) == [["count by 1 of //stream/pixel"]]
    assert output(made) == ["for $i in 1 to 2 return $unit-1($i)"]


def test_the_unrolled_loop_is_two_units_of_one_pass() -> None:
    made = fixture("papers/vldb05-unrolled")
    assert units(made) == [["count of //stream/pixel", "count of //stream/pixel"]]
    assert output(made) == ["$unit-1", "$unit-2"]


def test_the_satellite_composite_is_a_grouped_maximum() -> None:
    made = fixture("papers/vldb05-satellite")
    assert units(made) == [["count by 2 of /stream/data/pixel", "associative fold by 2 of /stream/data/pixel"]]
    assert describe(made.passes[0].targets) == [
        f"/stream/data/pixel/{name} (whole)" for name in ("band0", "band1", "x", "y")
    ]


def test_the_microscope_is_grouped_sums() -> None:
    total = "associative fold by 2 of /stream/data/pixel"
    made = fixture("papers/vldb05-microscope")
    assert units(made) == [["count by 2 of /stream/data/pixel", total, total, total]]
    assert [test.relation for unit in made.passes[0].units for test in unit.tests] == ["="] * 4


def test_frequent_items_are_a_fold_that_is_not_associative() -> None:
    assert units(fixture("papers/vldb05-frequent-items")) == [["fold of /stream/item"]]


@pytest.mark.parametrize("number", [1, 2, 7, 8])
def test_queries_of_icde08_are_about_records(number: int) -> None:
    made = fixture(f"papers/icde08-{number}")
    record = {1: "//europe//item", 8: "//inproceedings"}.get(number, "//item")
    assert units(made) == [[f"items of {record}"]]


def test_what_is_below_all_ancestors_is_below_the_root() -> None:
    assert units(fixture("papers/icde08-6")) == [["exists of //item", "count of /*//location"]]


@pytest.mark.parametrize("number", [4, 5])
def test_parents_of_records_are_merged_over_the_whole_document(number: int) -> None:
    assert fixture(f"papers/icde08-{number}").strategy is Strategy.PROJECT


# ----------------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/r/a/b", "items of /r/a/b"),
        ("//a//b", "items of //a//b"),
        ("//@id", "items of //*"),
        ("/r/a/@id", "items of /r/a"),
        ("/r/a/text()", "items of /r/a/text()"),
        ("/r/a[b]/c/d", "items of /r/a"),
        ("/r/a/b[c = 1]/d", "items of /r/a/b"),
        ("for $x in /r/a return $x/b/c", "items of /r/a/b/c"),
        ("for $x in /r/a return $x/b[d]/c", "items of /r/a/b"),
        ("for $x in //a return $x/b/c", "items of //a"),
        ("for $x in /r/a where $x/d return $x/b", "items of /r/a"),
        ("for $x in /r/a, $y in $x/b return <e>{$x/@id, $y}</e>", "items of /r/a"),
        ("for $x in /r/a return name($x/..)", "items of /r/a"),
        ("for $x in /r/a return string($x/../@id)", "items of /r/a"),
        ("/r/a ! count(b)", "items of /r/a"),
        ("/r/a | /r/b/c", "items of /r/a and /r/b/c"),
        ("for $r in /r return $r/a", "items of /r/a"),
        ("for $x in /r/a for $y in $x/b order by $x/@id return $y", None),
        ("for $x in /r/a return $x/b[1]/preceding-sibling::c", "items of /r/a"),
        ("/r/a/..", None),
        ("/r/a[c]/b/../string(@id)", "items of /r/a"),
        ("/r/a/../string(@id)", None),
        ("/r/a/following-sibling::b", None),
        ("for $x in /r/a return $x/../b", None),
        ("for $x in /r/a return string($x/..)", None),
        ("for $x in /r/a return root($x)//b", None),
        ("for $x at $i in /r/a return $i", None),
        ("for $x in /r/a count $c return $c", None),
        ("for $x in /r/a group by $k := $x/@id return $k", None),
        ("//a[2]", None),
        ("/r/a ! position()", None),
        ("for tumbling window $w in /r/a start when true() return count($w)", None),
        ("for $x in /r/a, $y in /r/b return ($x, $y)", None),
        ("reverse(/r/a)", None),
        ("for $x in /r/a return try { $x/b + 1 } catch * { 0 }", "items of /r/a"),
    ],
)
def test_the_records_of_a_loop(query: str, expected: str | None) -> None:
    made = planned(query)
    if expected is None:
        assert made.strategy is Strategy.PROJECT
    else:
        assert units(made) == [[expected]]


def test_a_function_may_look_down_from_a_record_but_not_up() -> None:
    down = "declare function local:f($x) { $x//b }; for $a in /r/a return local:f($a)"
    up = "declare function local:f($x) { $x/../b }; for $a in /r/a return local:f($a)"
    assert units(planned(down)) == [["items of /r/a"]]
    assert planned(up).strategy is Strategy.PROJECT


# -------------------------------------------------------------------------------------------------------- reductions


@pytest.mark.parametrize(
    ("query", "expected", "left"),
    [
        ("count(/r/a)", "count of /r/a", "$unit-1"),
        ("exists(/r/a)", "exists of ", "$unit-1"),
        ("not(/r/a)", "empty of ", "$unit-1"),
        ("sum(/r/a, 0.0) * 2", "sum of /r/a", "$unit-1 * 2"),
        ("string-join(/r/a/text(), ', ')", "string-join of /r/a/text()", "$unit-1"),
        ("for $v in distinct-values(/r/a/b) return <v>{$v}</v>", "distinct-values of /r/a/b", None),
        ("(/r/b/a)[3]", "3-3 of /r/b/a", "$unit-1"),
        ("(/r/b/a)[c][position() <= 3]", "1-3 of /r/b/a", "$unit-1"),
        ("(/r/b/a)[2]/c", "2-2 of /r/b/a", "$unit-1/c"),
        ("/r/a[2]", "2-2 of /r/a", "$unit-1"),
        ("subsequence(/r/a, 3)", "3- of /r/a", "$unit-1"),
        ("head(//a)", "1-1 of //a", "$unit-1"),
        ("(//a)[last()]", "associative fold of //a", "$unit-1"),
        ("some $x in /r/a satisfies $x/b = 1", "exists of /r/a", "$unit-1"),
        ("every $x in /r/a satisfies $x/b = 1", "empty of /r/a", "$unit-1"),
        ("/r/a/b = 'x'", "exists of /r/a/b", "$unit-1"),
        ("if (//a) then 1 else 2", "exists of ", "if ($unit-1) then 1 else 2"),
        ("fold-left(/r/a, 0, function($n, $x) { $n + count($x/b) })", "fold of /r/a", "$unit-1"),
        ("<w>{/r/a}</w>", "items of /r/a", "<w>{$unit-1}</w>"),
        ("for $i in ('x', 'y') return count(/r/a[@k = $i])", "count by 1 of /r/a", None),
        ("for $i in 1 to 2 return sum(for $a in /r/a where $a/k = $i return $a/v)", "sum by 1 of /r/a", None),
    ],
)
def test_what_is_made_of_the_items(query: str, expected: str, left: str | None) -> None:
    made = planned(query)
    assert units(made) == [[expected]]
    if left is not None:
        assert output(made) == [left]


def test_the_same_aggregate_twice_is_one_unit() -> None:
    made = planned("count(//a) + count(//a)")
    assert units(made) == [["count of //a"]]
    assert output(made) == ["$unit-1 + $unit-1"]


def test_parts_of_the_answer_come_one_after_the_other() -> None:
    made = planned("(count(//a), //b, 'end')")
    assert units(made) == [["count of //a", "items of //b"]]
    assert output(made) == ["$unit-1", "$unit-2", '"end"']


def test_each_document_has_its_own_passes() -> None:
    made = planned("count(doc('a.xml')//a) + count(doc('b.xml')//b)")
    assert [step.source.uri for step in made.passes] == ["a.xml", "b.xml"]


def test_a_sum_of_doubles_by_recursion_depends_on_its_order_and_is_no_unit() -> None:
    text = (
        "declare function local:sum($v) as xs:TYPE { if (empty($v)) then 0 else xs:TYPE($v[1]) + local:sum(tail($v)) };"
        "local:sum(/r/a)"
    )
    assert units(planned(text.replace("TYPE", "integer"))) == [["associative fold of /r/a"]]
    assert planned(text.replace("TYPE", "double")).strategy is Strategy.PROJECT


# ------------------------------------------------------------------------------------------------- conditions and tests


def test_a_condition_on_the_root_is_a_unit_beside_its_items() -> None:
    made = planned('/biblio[publisher = "Wiley"]/book')
    assert units(made) == [["exists of ", "exists of /biblio/publisher", "items of /biblio/book"]]
    assert output(made) == ["if ($unit-1 and $unit-2) then $unit-3 else ()"]


def test_attributes_of_the_root_are_known_in_every_piece() -> None:
    made = planned('/site[@version = "1"]/item')
    assert units(made) == [["items of /site/item"]]
    assert output(made) == ["$unit-1"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("/r/a[@id = 'x']/b", [("/r/a/@id", "=", "x")]),
        (
            "for $a in /r/a where $a/b >= 40 and 3 < $a/c/@n return $a/d",
            [("/r/a/b", ">=", 40.0), ("/r/a/c/@n", ">", 3.0)],
        ),
        (
            "for $a in /r/a where exists($a/b) and not(empty($a/c)) return 1",
            [("/r/a/b", "exists", None), ("/r/a/c", "exists", None)],
        ),
        ("for $a in /r/a where some $n in $a/b satisfies contains($n, 'x') return 1", [("/r/a/b", "contains", "x")]),
        ("for $a in /r/a where contains($a/b, 'x') return 1", []),
        ("for $a in /r/a where $a/b = 1 or $a/c = 1 return 1", []),
        ("for $a in /r/a where $a/b = $a/c return 1", []),
        ("for $a in /r/a for $b in $a/b where $b/c = 1 return 1", []),
        ("/r/a[.//b = 1]", [("/r/a//b", "=", 1.0)]),
    ],
)
def test_conditions_that_the_scan_can_test(query: str, expected: list[tuple[str, str, object]]) -> None:
    tests = only(planned(query)).tests
    assert [(describe_path(test.path), test.relation, test.value) for test in tests] == expected


# ------------------------------------------------------------------------------------------------------------- nests


def test_a_loop_over_containers_can_be_cut_inside_of_one() -> None:
    unit = only(planned("for $r in /site/regions return <n of='{$r/@id}'>{count($r//item)}</n>"))
    assert [describe_path(path) for path in unit.records] == ["/site/regions//item"]
    assert unit.nest is not None
    assert describe_path(unit.nest.path) == "/site/regions"
    assert [named(inner.reduction) for inner in unit.nest.units] == ["count"]
    assert describe(unit.nest.parts) == ["/site/regions/@id"]
    assert re.sub(r"unit-\d", "unit", to_xquery(unit.nest.body)) == '<n of="{$r/@id}">{$unit}</n>'


def test_a_container_may_be_anywhere_but_one_that_is_tested_is_a_record() -> None:
    unit = only(planned("for $r in //regions return count($r//item)"))
    assert unit.nest is not None
    assert [describe_path(path) for path in unit.records] == ["//regions//item"]
    assert only(planned("for $r in //regions where $r/@id = 'a' return count($r//item)")).nest is None
    assert only(planned("(for $r in //regions return $r//item)/name")).nest is None  # all in document order


def test_a_position_among_siblings_is_a_slice_of_each_parent() -> None:
    unit = only(planned("/site/people/person[3]/name"))
    assert unit.nest is not None
    assert [named(inner.reduction) for inner in unit.nest.units] == ["3-3"]
    assert items(unit) == "for $record-2 in $document/site/people return $record-2/person[3]/name"


def test_a_loop_over_records_has_no_nest() -> None:
    assert only(fixture("xmark/q02")).nest is None


# ---------------------------------------------------------------------------------------------------------- no document


@pytest.mark.parametrize(
    "query",
    [
        "1 + 1",
        "for $x in (1, 2) return doc(concat('a', $x))/b",
        "id('x')/b",
        "position#0()",
        "try { /r/a } catch * { 0 }",
        "declare function local:f() { doc('none.xml') }; try { local:f()//a } catch * { 0 }",
    ],
)
def test_some_queries_have_nothing_to_plan(query: str) -> None:
    assert planned(query).strategy is Strategy.NONE


def test_a_stream_is_planned_only_when_asked_for() -> None:
    module = parse('count(stream("s")//a)', known_functions=known_function)
    assert plan(module).strategy is Strategy.NONE
    assert plan(module, streams=True).strategy is Strategy.STREAM


def test_a_recursive_function_that_reads_a_document_is_blamed() -> None:
    made = planned("declare function local:f($n) { if ($n = 0) then //a else local:f($n - 1) }; local:f(3)")
    assert made.strategy is Strategy.NONE  # a function has no context item
    made = planned("declare function local:f($n) { if ($n = 0) then doc('d')//a else local:f($n - 1) }; local:f(3)")
    assert made.reasons == ("a document is read by way of the prolog",)
    assert isinstance(made.blocking[0], ast.FunctionCall)

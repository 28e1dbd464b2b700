"""What a query is said to see of its documents, query by query."""

from __future__ import annotations

import inspect
import re
from pathlib import Path as File

import pytest
from budget import MORE
from hypothesis import given, settings
from hypothesis import strategies as st
from projections import is_planned, projection

from xstreamcast.functions import registry
from xstreamcast.functions.registry import known_function
from xstreamcast.functions.topics import TOPICS
from xstreamcast.lang import ast
from xstreamcast.lang.link import parse
from xstreamcast.model.namespaces import PREFIXES
from xstreamcast.model.structure import parse_structure
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.algebra import PLAN
from xstreamcast.plan.projection import analysis as projection_analysis
from xstreamcast.plan.projection import library as projection_library
from xstreamcast.plan.projection.paths import covers, target
from xstreamcast.plan.projection.project import describe, merge, project
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.documents import document_batches
from xstreamcast.scan.path import Path, parse_path

XMARK = File(__file__).parents[1] / "fixtures" / "xmark"
DOCUMENT = ("", "d")
WHOLE = ["/ (whole)"]


def module_of(text: str) -> ast.Module:
    return parse(text, known_functions=known_function)


def seen(text: str) -> list[str]:
    """The targets for the context document, which is the only document."""
    targets = projection(text)
    found = describe(targets.pop(None, ()))
    assert not targets
    return found


def body_of(text: str) -> ast.Expr:
    """The body of a query with a document variable."""
    body = module_of(f"declare variable $d external; {text}").body
    assert body is not None
    return body


# ------------------------------------------------------------------------------------------------------------- XMark


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q01", ["/site/people/person/@id", "/site/people/person/name/text()"]),
        ("q02", ["/site/open_auctions/open_auction/bidder/increase/text()"]),
        ("q05", ["/site/closed_auctions/closed_auction/price/text()"]),
        ("q06", ["//site/regions//item"]),
        ("q07", ["/site//annotation", "/site//description", "/site//emailaddress"]),
        (
            "q08",
            [
                "/site/closed_auctions/closed_auction/buyer/@person",
                "/site/people/person/@id",
                "/site/people/person/name/text()",
            ],
        ),
        ("q13", ["/site/regions/australia/item/description (whole)", "/site/regions/australia/item/name/text()"]),
        ("q14", ["/site//item/description (whole)", "/site//item/name/text()"]),
        ("q17", ["/site/people/person/homepage/text()", "/site/people/person/name/text()"]),
        ("q18", ["/site/open_auctions/open_auction/reserve (whole)"]),
        ("q20", ["/site/people/person/profile/@income"]),
    ],
)
def test_an_xmark_query_sees_what_a_person_would_pick(query: str, expected: list[str]) -> None:
    assert seen((XMARK / f"{query}.xq").read_text()) == expected


# -------------------------------------------------------------------------------------------------------------- uses


@pytest.mark.parametrize(
    "query",
    [
        "count(/a/b)",
        "exists(/a/b)",
        "not(/a/b)",
        "if (/a/b) then 1 else 2",
        "/a/b/name()",
        "/a/b ! local-name()",
        "some $b in /a/b satisfies true()",
        "(/a/b)[1] is (/a/b)[2]",
        "(/a/b)[1] << (/a/b)[last()]",
        "for $b at $i in /a/b return $i",
        "count(/a/b[2])",
        "/a/b[last()] ! namespace-uri()",
        "/a/b ! path()",
        "count(/a/b/..)",
        "count(/a/b/ancestor-or-self::*)",
        "count(/a/b/self::element(b))",
        "count(reverse(/a/b))",
        "count((/a/b | /a/b) intersect /a/b)",
        "/a/b instance of element()+",
        "in-scope-prefixes((/a/b)[1])",
        "count(innermost(/a/b))",
        "typeswitch (/a/b) case element(b) return 1 default return 2",
        "array:size([/a/b])",
        "count(map { 'k': /a/b }?k)",
        "/a/b => count()",
    ],
)
def test_nodes_that_are_only_looked_at_are_kept_without_what_is_in_them(query: str) -> None:
    assert seen(query) == ["/a/b"]


@pytest.mark.parametrize(
    "query",
    [
        "/a/b",
        "string(/a/b)",
        "/a/b = 'x'",
        "/a/b/string()",
        "data(/a/b)",
        "<c>{ /a/b }</c>",
        "attribute x { /a/b }",
        "sum(/a/b)",
        "/a/b + 1",
        "/a/b || 'x'",
        "xs:integer(/a/b)",
        "/a/b cast as xs:integer?",
        "deep-equal(/a/b, /a/b)",
        "for $b in /a/b order by $b return 1",
        "for $b in /a/b group by $k := $b return $k",
        "for $b in /a/b group by $b return $b",
        "switch (/a/b) case 1 return 2 default return 3",
        "map { /a/b : 1 }",
        "[/a/b]",
        "serialize(/a/b)",
        "trace(/a/b)[1] ! 1",
        "sort(/a/b) ! 1",
        "/a/b?[now]",
        "vtFrom(/a/b)",
        "declare function local:f($x as xs:string) { 1 }; local:f(/a/b)",
        "declare function local:f($x) as xs:string { $x }; local:f(/a/b)",
        "string-join(/a/b)",
        "let $f := function($x) { $x } return $f(/a/b)",
        "function($x as xs:string) { 1 }(/a/b)",
        "for-each(/a/b, string#1)",
        "(/a/b)!concat('x', ?)(.)",
        "map { 'k': /a/b }?k = 'x'",
        "fold-left(/a/b, 0, function($sum, $b) { $sum + $b })",
        "filter(/a/b, function($b) { $b = 'x' }) ! 1",
    ],
)
def test_nodes_whose_value_is_used_are_kept_whole(query: str) -> None:
    assert seen(query) == ["/a/b (whole)"]


def test_texts_and_attributes_are_whole_when_they_are_kept() -> None:
    assert seen("/a/b/text() = /a/@c") == ["/a/@c", "/a/b/text()"]


def test_a_predicate_is_a_look_at_what_it_names() -> None:
    assert seen("count(/a/b[c][@d = 'x'])") == ["/a/b/@d", "/a/b/c"]
    assert seen("/a[b = 1]/c/@d") == ["/a/b (whole)", "/a/c/@d"]


def test_a_variable_carries_its_nodes_to_where_they_are_used() -> None:
    assert seen("for $a in /r/a let $b := $a/b where $b/@k = '1' return count($b/c)") == ["/r/a/b/@k", "/r/a/b/c"]


def test_the_document_node_alone_needs_nothing_below_it() -> None:
    assert seen("count(/)") == ["/"]
    assert seen("(/) instance of document-node()") == ["/"]


def test_a_document_test_with_an_element_looks_at_the_document_element() -> None:
    assert seen("(/) instance of document-node(element(a))") == ["/*"]
    assert seen("declare function local:f($d as document-node(element(a))) { 1 }; local:f(/)") == ["/*"]
    assert seen("count(self::document-node(element(a)))") == ["/*"]


# -------------------------------------------------------------------------------------------------------------- axes


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("count(//a)", ["//a"]),
        ("count(/a//b//@c)", ["/a//b//@c"]),
        ("count(/a/descendant::b)", ["/a//b"]),
        ("count(/a/descendant-or-self::b)", ["/a//b"]),
        ("count(/descendant-or-self::b)", ["//b"]),
        ("/a/b/../c", ["/a/b", "/a/c (whole)"]),
        ("//b/../c", ["//b", "//c (whole)"]),
        ("string(/a/b/c/ancestor::b)", ["/a/b (whole)"]),
        ("//b/parent::x/@k", ["//b", "//x/@k"]),
        ("count(/a/b/following-sibling::c)", ["/a/b", "/a/c"]),
        ("count(/a/b/preceding::c)", ["//c", "/a/b"]),
        ("count(/a/*/b)", ["/a/*/b"]),
        ("count(/a/node()/b)", ["/a/*/b"]),
        ("count(/a/element(b)/attribute(c))", ["/a/b/@c"]),
        ("count(/a/processing-instruction(p))", ["/a/processing-instruction(p)"]),
        ("declare namespace n = 'u'; count(/n:a/n:*/*:b/@n:c)", ["/Q{u}a/Q{u}*/*:b/@Q{u}c"]),
        ("declare default element namespace 'u'; count(/a/@b)", ["/Q{u}a/@b"]),
        ("count(/Q{}*)", ["/Q{}*"]),
        ("has-children(/a/b)", ["/a/b/node()"]),
        ("root((/a/b)[1])/c", ["/a/b", "/c (whole)"]),
        ("(/a/b, /a/c)/d/text()", ["/a/b/d/text()", "/a/c/d/text()"]),
        ("/a/(b | c)/@d", ["/a/b/@d", "/a/c/@d"]),
        ("/a/@b/../c/text()", ["/a/@b", "/a/c/text()"]),
    ],
)
def test_an_axis_leads_where_its_nodes_can_be(query: str, expected: list[str]) -> None:
    assert seen(query) == expected


def test_inherited_attributes_are_kept_along_the_path() -> None:
    base = "@Q{http://www.w3.org/XML/1998/namespace}base"
    assert seen("/a//b ! base-uri()") == [f"/a//{base}", "/a//b"]
    assert seen("/a/b[lang('de')] ! 1") == [path.replace("base", "lang") for path in (f"/a/{base}", f"/a/b/{base}")]


# --------------------------------------------------------------------------------------------------------- functions


def test_a_function_sees_what_its_callers_give_it() -> None:
    prolog = "declare function local:name($x) { $x/name/text() };"
    assert seen(f"{prolog} local:name(/a/b), local:name(/a/c)") == ["/a/b/name/text()", "/a/c/name/text()"]


def test_a_function_that_is_not_called_sees_nothing() -> None:
    assert seen("declare function local:f() { doc('x')//y }; count(/a)") == ["/a"]


def test_recursion_ends_with_all_that_is_below() -> None:
    depth = "declare function local:depth($n) { if ($n/*) then 1 + max($n/* ! local:depth(.)) else 1 };"
    found = projection(f"{depth} local:depth(/a/b)")[None]
    assert any(covers(each, target(parse_path("/a/b/c/d/e/f/g/h"), False)) for each in merge(found))
    assert not any(each.startswith("/ (") for each in describe(found))


def test_functions_are_followed_as_values() -> None:
    assert seen("let $f := function($x) { $x/c } return count($f(/a/b))") == ["/a/b/c"]
    assert seen("count(for-each(/a/b, function($x) { $x/c }))") == ["/a/b/c"]
    assert seen("let $f := local-name#1 return /a/b ! $f(.)") == ["/a/b"]
    assert seen("for-each-pair(/a/b, /a/c, function($x, $y) { $x/@i = $y/@j })") == ["/a/b/@i", "/a/c/@j"]
    assert seen("apply(function($x) { $x/@i/string() }, [/a/b])") == ["/a/b/@i"]
    assert seen("declare function local:f($x, $y) { $y/@i = $x }; local:f(1, ?)(/a/b)") == ["/a/b/@i"]


def test_prolog_variables_see_the_context_document() -> None:
    assert seen("declare variable $v := /a/b; declare variable $w := $v/c; count($w)") == ["/a/b/c"]
    assert seen("declare context item := <x><a/></x>; count(/a/b)") == []


def test_what_nobody_can_follow_takes_the_documents_whole() -> None:
    assert seen("(/, function-lookup(xs:QName('fn:root'), 0)())") == WHOLE
    assert seen("declare variable $f external; $f(/a/b)") == WHOLE
    assert seen("random-number-generator(1)?permute(/a/b)") == WHOLE


# --------------------------------------------------------------------------------------------------------- documents


def test_each_document_has_its_own_targets() -> None:
    found = projection("let $c := /c return doc('x.xml')/a[@b = $c/@d], count(doc('y.xml')//e)")
    described = {uri: describe(targets) for uri, targets in found.items()}
    assert described == {None: ["/c/@d"], "x.xml": ["/a (whole)"], "y.xml": ["//e"]}


def test_a_query_that_asks_for_ids_is_not_planned_for_only_a_dtd_declares_them() -> None:
    assert not is_planned("id('x')/name()")
    assert is_planned("/a/id/name()")


# ------------------------------------------------------------------------------------------- expressions over variables


def test_an_expression_over_a_root_sees_paths_from_the_document_node() -> None:
    expr = body_of("$d/name/text()[../@k = 'x']")
    assert describe(project(expr, {DOCUMENT: parse_path("/s/p")})[DOCUMENT]) == ["/s/p/name/@k", "/s/p/name/text()"]


def test_a_result_may_be_looked_at_only() -> None:
    expr = body_of("$d//a")
    assert describe(project(expr, {DOCUMENT: Path()}, whole=False)[DOCUMENT]) == ["//a"]


def test_a_root_that_is_not_mentioned_has_no_targets() -> None:
    roots = {DOCUMENT: Path(), ("", "e"): Path()}
    assert project(body_of("count($d/a)"), roots)["", "e"] == ()


def test_values_of_units_are_no_nodes_and_read_their_keys() -> None:
    group = ast.DynamicCall(ast.VarRef(ast.Name("", "unit", PLAN)), (body_of("$d/a/b"),))
    assert describe(project(group, {DOCUMENT: Path()})[DOCUMENT]) == ["/a/b (whole)"]


def test_functions_and_prolog_variables_of_the_module_are_known() -> None:
    module = module_of(
        "declare variable $d external; declare variable $e external; declare variable $v := $e//v/@w;"
        "declare function local:f($x) { $x/@y = $v }; local:f($d/a)"
    )
    assert module.body is not None
    found = project(module.body, {DOCUMENT: Path(), ("", "e"): Path()}, module=module)
    assert [describe(targets) for targets in found.values()] == [["/a/@y"], ["//v/@w"]]


# ----------------------------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("/a (whole)", "/a/b", True),
        ("/a (whole)", "/a/b//@c", True),
        ("/a (whole)", "/a (whole)", True),
        ("//a (whole)", "/b/a/c (whole)", True),
        ("/a/* (whole)", "/a/b/text()", True),
        ("/a/node() (whole)", "/a/text()", True),
        ("/a/b", "/a", True),
        ("//a/b", "//a", True),
        ("//a/b", "/c/a", False),  # an a with nothing below it may go, where it is a record that is tested
        ("//*/b", "//*/*", False),
        ("/a/b", "/a (whole)", False),
        ("/a", "/a/b", False),
        ("/a/b", "/a/*", False),
        ("/a/*", "/a/text()", False),
        ("/a/b (whole)", "/a//b (whole)", False),
        ("/a//b (whole)", "/a/@b", False),
        ("/*/b (whole)", "//b (whole)", False),
        ("/a/node() (whole)", "/a/@c", False),
        ("//a/b", "/c", False),
    ],
)
def test_a_target_covers_what_it_keeps_in_any_document(wide: str, narrow: str, expected: bool) -> None:
    one, other = (target(parse_path(text.removesuffix(" (whole)")), "whole" in text) for text in (wide, narrow))
    assert covers(one, other) is expected


def targets_of(*texts: str) -> list[Target]:
    return [target(parse_path(text.removesuffix(" (whole)")), "whole" in text) for text in texts]


def test_what_is_on_the_way_stays_when_the_end_is_covered() -> None:
    assert seen("count(/a/b[3]/*/d), string(//d)") == ["//d (whole)", "/a/b"]
    assert seen("count(/a/b/*[3]/d), string(//d)") == ["//d (whole)", "/a/b/*"]
    assert seen("count(/a/b/*/d), string(//d)") == ["//d (whole)"]
    assert describe(merge(targets_of("/a/b/@c"), targets_of("//@c"))) == ["//@c", "/a/b"]
    assert describe(merge(targets_of("/c/d/a"), targets_of("//a/b"), targets_of("//b (whole)"))) == [
        "//a",
        "//b (whole)",
        "/c/d/a",
    ]


PATHS = st.lists(
    st.tuples(st.sampled_from(["/", "//"]), st.sampled_from(["a", "b", "*", "a", "b"])), min_size=0, max_size=3
).flatmap(
    lambda steps: st.sampled_from(["", "/@k", "//@k", "/text()", "//text()", "/node()", " (whole)", " (whole)"]).map(
        lambda end: "".join(slash + name for slash, name in steps) + end
    )
)
DOCUMENTS = st.recursive(
    st.sampled_from(["<a/>", "<b k='1'>x</b>", "<c>y</c>", "t"]),
    lambda inner: st.tuples(st.sampled_from("abc"), st.lists(inner, max_size=4)).map(
        lambda made: f"<{made[0]}>{''.join(made[1])}</{made[0]}>"
    ),
    max_leaves=12,
).map(lambda content: f"<a k='0'>{content}</a>".encode())


@settings(max_examples=60 * MORE, deadline=None, derandomize=True)
@given(DOCUMENTS, st.lists(PATHS.filter(lambda text: text not in ("", " (whole)")), min_size=1, max_size=5))
def test_merged_targets_keep_what_the_targets_keep(document: bytes, texts: list[str]) -> None:
    targets = targets_of(*texts)
    every, merged = (
        [batch.tree.root.xml() for batch in document_batches(document, kept, step=1 << 40)]
        for kept in (targets, merge(targets))
    )
    assert merged == every


# --------------------------------------------------------------------------------------- nothing is silently ignored


def test_every_kind_of_expression_has_a_rule() -> None:
    kinds = {
        kind
        for kind in vars(ast).values()
        if isinstance(kind, type) and issubclass(kind, ast.Expr) and kind is not ast.Expr
    }
    assert kinds == set(projection_analysis._RULES)


def test_an_unknown_kind_of_expression_takes_the_documents_whole() -> None:
    class Novelty(ast.Expr):
        pass

    assert describe(project(Novelty(), {DOCUMENT: Path()})[DOCUMENT]) == WHOLE


def library_entries() -> list[registry.FunctionEntry]:
    for name in TOPICS:
        prefix, _, local = name.partition(":")
        registry.arities(PREFIXES[prefix], local)
    return [*registry._entries.values(), *registry._variadic.values()]


def test_every_function_that_asks_for_the_context_item_is_known_to() -> None:
    asks = re.compile(r"context\.require|context\.item|context_string\(")
    asking = {
        (entry.name.local, entry.arity)
        for entry in library_entries()
        if entry.needs_context and asks.search(inspect.getsource(entry.call))
    }
    assert asking - {("position", 0), ("last", 0)} == projection_library.IMPLICIT


def test_every_function_that_may_give_nodes_or_functions_has_a_rule() -> None:
    giving = {
        entry.name.local
        for entry in library_entries()
        if entry.name.prefix == "fn" and not isinstance(entry.result.item, AtomicType)
    }
    told = {*projection_library._RULES, *projection_library._PASSED_ON, *projection_library._FRESH}
    assert giving - told == set()


COPIES = [
    ("(/a/b)#[1] ! 1", ["/a/b/@vtFrom", "/a/b/@vtTo"]),
    ("count(/a/b?[now])", ["/a/b/@vtFrom", "/a/b/@vtTo"]),
    ("/a/b?[now]/c/@n", [*(f"/a/b/{p}" for p in ("@vtFrom", "@vtTo", "c/@n", "c/@vtFrom", "c/@vtTo"))]),
    ("/a/b?[now]/c/string()", ["/a/b/@vtFrom", "/a/b/@vtTo", "/a/b/c (whole)"]),
    ("/a/b?[now]/d/@n", [*(f"/a/b/{p}" for p in ("@vtFrom", "@vtTo", "d (whole)", "d/@vtFrom", "d/@vtTo"))]),
    ("/a/b?[now]//c/@n", ["/a/b (whole)"]),
    ("/a/o?[now]/k/@n", ["/a/o (whole)"]),
    ("for $b in /a/b?[now] where $b/k = 1 return /a/b/@n", [
        "/a/b/@n", "/a/b/@vtFrom", "/a/b/@vtTo", "/a/b/k (whole)",
    ]),
]  # fmt: skip
LIVES = parse_structure(
    """<tag id="1" name="a"><tag id="2" name="b" type="temporal"><tag id="3" name="c"/><tag id="4" name="k"/>
    <tag id="5" name="d"><tag id="6" name="e" type="event"/></tag></tag>
    <tag id="7" name="o"><tag id="8" name="k"/><tag id="9" name="t" type="temporal"/></tag></tag>"""
)


@pytest.mark.parametrize(("query", "targets"), COPIES)
def test_of_a_copy_by_lifespans_that_is_kept_which_is_read_of_it_with_its_lifespans(
    query: str, targets: list[str]
) -> None:
    """An element without a lifespan of its own lives as long as anything in it: of that all is kept, if it may have
    lifespans."""
    body = body_of(f"let $x := 1 return {query}".replace("/a/", "$d/a/"))
    found = describe(project(body, {DOCUMENT: Path()}, structure=LIVES)[DOCUMENT])
    assert sorted(found) == sorted(simplified(targets))


@pytest.mark.parametrize("query", [query for query, _ in COPIES])
def test_without_a_structure_all_of_what_is_copied_by_lifespans_is_kept(query: str) -> None:
    assert [one for one in seen(query) if one in ("/a/b (whole)", "/a/o (whole)")]


def simplified(targets: list[str]) -> list[str]:
    """Without what lies in something that is kept whole."""
    whole = [one.removesuffix(" (whole)") for one in targets if one.endswith(" (whole)")]
    return [one for one in targets if not any(one.startswith(f"{path}/") for path in whole)]

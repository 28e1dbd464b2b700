"""The static phase: what names mean, and what a prolog changes."""

from __future__ import annotations

from typing import Any

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.lang import StaticContext, parse
from xstreamcast.lang.ast import Module, Name
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import ERR, FN, STREAM, XS


def body(query: str, **options: Any) -> Any:
    return parse(query, **options).body


def code(query: str, **options: Any) -> str:
    with pytest.raises(XStreamError) as caught:
        parse(query, **options)
    return caught.value.code


# ------------------------------------------------------------------------------------------------------- names


def test_unprefixed_steps_take_the_default_element_namespace_and_attributes_do_not() -> None:
    path = body('declare default element namespace "urn:e"; a/@b')
    assert [step.test.name.uri for step in path.steps] == ["urn:e", ""]


def test_a_constructor_declares_namespaces_for_its_name_attributes_and_content() -> None:
    element = body('<p:a x="{p:f}" xmlns:p="urn:p" xmlns="urn:d"><b/>{c, @d}</p:a>')
    assert element.name.expanded == ("urn:p", "a")
    assert element.attributes[0].name.expanded == ("", "x")
    assert element.attributes[0].value[0].test.name.uri == "urn:p"
    assert element.content[0].name.uri == "urn:d"
    assert [step.test.name.uri for step in element.content[1].items] == ["urn:d", ""]


def test_namespaces_of_a_constructor_end_with_it() -> None:
    assert code('(<a xmlns:p="urn:p"/>, p:b)') == "XPST0081"
    assert body('<a xmlns="urn:d"/>, b').items[1].test.name.uri == ""


def test_inner_declarations_win() -> None:
    outer = body('<a xmlns="urn:1"><b xmlns="urn:2"><c xmlns=""/></b><d/></a>')
    assert [outer.name.uri, outer.content[0].name.uri] == ["urn:1", "urn:2"]
    assert outer.content[0].content[0].name.uri == ""
    assert outer.content[1].name.uri == "urn:1"


def test_the_usual_prefixes_are_declared() -> None:
    items = body("fn:true(), xs:int(1), math:pi(), map:size(map{}), array:size([]), err:a, xml:b, xsi:c, local:d").items
    uris = [item.name.uri if hasattr(item, "name") else item.test.name.uri for item in items]
    assert [uri.rsplit("/", 1)[-1] for uri in uris] == [
        "xpath-functions", "XMLSchema", "math", "map", "array", "xqt-errors", "namespace", "XMLSchema-instance",
        "xquery-local-functions",
    ]  # fmt: skip


def test_a_prolog_may_redefine_a_usual_prefix() -> None:
    assert body('declare namespace fn = "urn:f"; fn:a').test.name.uri == "urn:f"


def test_an_empty_uri_undeclares_a_prefix() -> None:
    assert code('declare namespace fn = ""; fn:a') == "XPST0081"


def test_expanded_names_need_no_declaration() -> None:
    assert body("Q{urn:x}a").test.name.expanded == ("urn:x", "a")
    assert body('<a xmlns:p="urn:p">{p:*}</a>').content[0].test.uri == "urn:p"


# --------------------------------------------------------------------------------------------------- functions


def test_unprefixed_functions_are_in_the_default_function_namespace() -> None:
    assert body("count(1)").name.expanded == (FN, "count")
    assert body('declare default function namespace "urn:f"; declare function g() { 1 }; g()').name.uri == "urn:f"


def test_temporal_functions_are_reached_without_a_prefix() -> None:
    for call in ('stream("s")', "vtFrom(1)", "vtTo(1)", "now()"):
        assert body(call).name.uri == STREAM
        assert body(f'declare default function namespace "urn:f"; {call}').name.uri == STREAM


def test_a_query_may_declare_its_own_function_of_such_a_name() -> None:
    query = 'declare default function namespace "urn:f"; declare function now() { 1 }; now()'
    assert body(query).name.uri == "urn:f"


def test_functions_may_be_used_before_they_are_declared() -> None:
    query = "declare function local:a() { local:b() }; declare function local:b() { local:a() }; local:a()"
    assert body(query).name.local == "a"


def test_known_functions_decides_about_all_others() -> None:
    def known(uri: str, local: str, arity: int) -> bool:
        return (uri, local, arity) == (FN, "count", 1)

    body("count(1), count#1, count(?)", known_functions=known)
    assert code("count(1, 2)", known_functions=known) == "XPST0017"
    assert code("count#2", known_functions=known) == "XPST0017"


def test_a_misspelt_function_is_named() -> None:
    with pytest.raises(XStreamError) as caught:
        parse("fn:coutn(1)", known_functions=lambda *_: False, function_names=lambda uri: ["count", "contains"])
    assert caught.value.hint == "did you mean fn:count?"


# --------------------------------------------------------------------------------------------------- variables

IN_SCOPE = [
    "for $x in 1 return $x",
    "for $x at $i in (1, 2) return $x + $i",
    "for $x in 1, $y in $x return $y",
    "let $x := 1 let $x := $x + 1 return $x",
    "for $x in 1 where $x order by $x count $c return $c",
    "for $x in 1 group by $k := $x return ($k, $x)",
    "for $x in 1 let $k := $x group by $k return $k",
    "for tumbling window $w in 1 start $s at $p previous $b next $n when $s end $e when $s = $e return ($w, $p, $e)",
    "some $x in 1, $y in $x satisfies $x = $y",
    "typeswitch (1) case $x as item() return $x default $y return $y",
    "try { 1 } catch * { $err:code, $err:description, $err:value, $err:line-number, $err:additional }",
    "function($x) { $x }",
    "let $x := 1 return function($y) { $x + $y }",
    "declare variable $x := 1; declare function local:f() { $x }; local:f()",
    "declare variable $a := $b; declare variable $b := 1; $a",
    "declare function local:f($x) { for $x in $x return $x }; 1",
]
OUT_OF_SCOPE = [
    "(for $x in 1 return $x), $x",
    "for $x in $x return 1",
    "let $x := $x return 1",
    "for $x at $i in $i return 1",
    "for $x in 1 return 1, $x",
    "(some $x in 1 satisfies $x), $x",
    "some $x in $y, $y in 1 satisfies 1",
    "typeswitch (1) case $x as item() return 1 default return $x",
    "try { $err:code } catch * { 1 }",
    "function($x) { 1 }, $x",
    "declare function local:f($x) { 1 }; $x",
    "let $x := 1 return local:f()  ,$x",
    "for $x in 1 where $c count $c return 1",
    "declare variable $x := $x; 1",
    "for tumbling window $w in 1 start $s when $e end $e when 1 return 1",
    "for tumbling window $w in $s start $s when 1 return 1",
]


@pytest.mark.parametrize("query", IN_SCOPE)
def test_variables_are_in_scope(query: str) -> None:
    assert parse(query).body is not None


@pytest.mark.parametrize("query", OUT_OF_SCOPE)
def test_variables_are_out_of_scope(query: str) -> None:
    assert code("declare function local:f() external; " + query if "local:f()" in query else query) == "XPST0008"


def test_the_host_may_bind_variables() -> None:
    static = StaticContext(variables=frozenset({("", "given")}))
    assert body("$given", static=static).name.expanded == ("", "given")


def test_grouping_needs_a_variable_of_the_same_flwor() -> None:
    assert code("let $k := 1 return for $x in 1 group by $k return 1") == "XQST0094"
    assert code("for $x in 1 return function($k) { for $y in 1 group by $k return 1 }") == "XQST0094"
    parse("for $x in 1 for $y in (for $z in 1 return $z) group by $x return $x")


def test_text_that_looks_like_a_variable_is_warned_of() -> None:
    module = parse("for $x in 1 return <a>$x costs $5</a>")
    [warning] = module.warnings
    assert warning.hint == "write {$x}"
    assert parse("<a>$x</a>").warnings == ()


# -------------------------------------------------------------------------------------------------- the prolog


def test_settings_end_up_in_the_static_context() -> None:
    static = parse(
        """
        declare default element namespace "urn:e"; declare default function namespace "urn:f";
        declare boundary-space preserve; declare construction strip; declare ordering unordered;
        declare default order empty greatest; declare copy-namespaces no-preserve, no-inherit;
        declare base-uri "sub/"; declare namespace p = "urn:p";
        declare default decimal-format decimal-separator = "," grouping-separator = ".";
        declare decimal-format p:q NaN = "?"; declare option p:o "v"; 1
        """,
        static=StaticContext(base_uri="http://example.org/a/b"),
    ).static
    assert static is not None
    assert (static.default_element_namespace, static.default_function_namespace) == ("urn:e", "urn:f")
    assert (static.boundary_space, static.construction, static.ordering) == ("preserve", "strip", "unordered")
    assert (static.empty_least, static.copy_preserve, static.copy_inherit) == (False, False, False)
    assert static.base_uri == "http://example.org/a/sub/"
    assert static.namespaces["p"] == "urn:p"
    assert static.decimal_formats[None].decimal_separator == ","
    assert static.decimal_formats["urn:p", "q"].NaN == "?"
    assert static.options == ((("urn:p", "o"), "v"),)


def test_the_environment_is_not_changed_by_a_query() -> None:
    environment = StaticContext()
    parse('declare namespace p = "urn:p"; declare ordering unordered; 1', static=environment)
    assert environment == StaticContext()


def test_boundary_space_of_the_environment_counts() -> None:
    preserving = StaticContext(boundary_space="preserve")
    assert len(body("<a> <b/> </a>", static=preserving).content) == 3
    assert len(body("declare boundary-space strip; <a> <b/> </a>", static=preserving).content) == 1


def test_types_are_resolved() -> None:
    assert body("1 instance of xs:integer").type.item.name.expanded == (XS, "integer")
    query = f'declare default element namespace "{XS}"; 1 instance of integer'
    assert body(query).type.item.name.expanded == (XS, "integer")


def test_catch_names_are_resolved() -> None:
    caught = body("try { 1 } catch err:FOAR0001 { 2 }").catches[0]
    assert caught.tests[0].name.expanded == (ERR, "FOAR0001")


# -------------------------------------------------------------------------------------------------- libraries

LIBRARIES = {
    "urn:a": [
        (
            "a.xq",
            """module namespace a = "urn:a"; import module namespace b = "urn:b";
               declare variable $a:x := 1; declare %private variable $a:hidden := 2;
               declare function a:f() { b:g() + $a:hidden }; declare %private function a:secret() { 3 };""",
        )
    ],
    "urn:b": [
        (
            "b.xq",
            """module namespace b = "urn:b"; import module namespace a = "urn:a";
               declare function b:g() { if (1) then 4 else a:f() };""",
        )
    ],
    "urn:split": [
        ("s1.xq", 'module namespace s = "urn:split"; declare function s:one() { 1 };'),
        ("s2.xq", 'module namespace s = "urn:split"; declare function s:two() { 2 };'),
    ],
    "urn:faulty": [("faulty.xq", 'module namespace f = "urn:faulty";\ndeclare function f:f() { $nobody };')],
}


def library(uri: str, locations: tuple[str, ...], base: str | None) -> list[tuple[str, str]]:
    return LIBRARIES.get(uri, [])


def linked(query: str) -> Module:
    return parse(query, modules=library)


def test_imported_names_are_in_scope_and_modules_may_import_each_other() -> None:
    module = linked('import module namespace a = "urn:a"; a:f() + $a:x')
    assert [m.namespace.uri for m in module.imported if m.namespace] == ["urn:a", "urn:b"]
    assert all(m.static is not None for m in module.imported)


def test_private_names_stay_private() -> None:
    assert code('import module namespace a = "urn:a"; a:secret()', modules=library) == "XPST0017"
    assert code('import module namespace a = "urn:a"; $a:hidden', modules=library) == "XPST0008"


def test_imports_are_not_transitive() -> None:
    query = 'import module namespace a = "urn:a"; declare namespace b = "urn:b"; b:g()'
    assert code(query, modules=library) == "XPST0017"


def test_a_namespace_may_be_spread_over_several_modules() -> None:
    assert len(linked('import module namespace s = "urn:split"; s:one() + s:two()').imported) == 2


def test_a_fault_in_an_imported_module_is_placed_there() -> None:
    with pytest.raises(XStreamError) as caught:
        linked('import module namespace f = "urn:faulty"; f:f()')
    assert str(caught.value.place) == "faulty.xq:2:26"


def test_what_is_declared_and_imported_clashes() -> None:
    for query, expected in {
        'import module namespace a = "urn:a"; declare function a:f() { 1 }; 1': "XQST0034",
        'import module namespace a = "urn:a"; declare variable $a:x := 1; 1': "XQST0049",
    }.items():
        assert code(query, modules=library) == expected


# --------------------------------------------------------------------------------------------- the whole tree


def test_no_name_stays_unresolved() -> None:
    module = linked(
        """import module namespace a = "urn:a"; declare namespace p = "urn:p"; declare decimal-format p:d NaN = "x";
           declare option p:o "v"; declare %p:note variable $p:v as element(p:e, xs:untyped) := <p:e q="{1}"/>;
           declare function p:f($x as map(xs:string, item())) external;
           for $x as xs:integer at $i in a:f() group by $k := $x order by $k
           return typeswitch ($p:v) case $c as attribute(p:x) return $c/p:y/@z default $d return
           element p:q {
             attribute p:r { $d }, p:f#1, %p:n function($m) as xs:string { $m }, try { 1 } catch p:z { 2 },
             some $s in 1 satisfies $s cast as xs:integer?
           }"""
    )
    names = [node for node in descendants(module) if isinstance(node, Name)]
    assert len(names) > 30
    assert [name for name in names if name.uri is None] == []


def test_a_library_module_is_checked_as_any_other() -> None:
    module = parse('module namespace m = "urn:m"; declare function m:f() { m:g() }; declare function m:g() { 1 };')
    assert module.namespace is not None
    assert module.body is None
    twice = "declare function m:f() { 1 }; declare function m:f() { 2 };"
    assert code(f'module namespace m = "urn:m"; {twice}') == "XQST0034"

"""Functions on sequences, booleans, functions, maps and arrays."""

from __future__ import annotations

from decimal import Decimal as D
from typing import Any

import pytest

from xstreamcast.model.atomic import AnyURI, Float, Untyped
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.scan.parse import parse

NAN, INF = float("nan"), float("inf")
ASCII = "http://www.w3.org/2005/xpath-functions/collation/html-ascii-case-insensitive"

CASES: list[tuple[Any, ...]] = [
    (True, "fn:true"),
    (False, "fn:false"),
    (False, "fn:boolean", []),
    (False, "fn:boolean", ""),
    (True, "fn:boolean", Untyped("0")),
    (False, "fn:boolean", NAN),
    (True, "fn:boolean", AnyURI("u")),
    (True, "fn:not", 0),
    (True, "fn:empty", []),
    (True, "fn:exists", [1]),
    (1, "fn:head", [1, 2]),
    ([], "fn:head", []),
    ([2, 3], "fn:tail", [1, 2, 3]),
    (["x", 1, 2], "fn:insert-before", [1, 2], 0, "x"),
    ([1, 2, "x"], "fn:insert-before", [1, 2], 9, "x"),
    ([1, "x", 2], "fn:insert-before", [1, 2], 2, "x"),
    ([1, 3], "fn:remove", [1, 2, 3], 2),
    ([1, 2, 3], "fn:remove", [1, 2, 3], 0),
    ([3, 2, 1], "fn:reverse", [1, 2, 3]),
    ([4, 5], "fn:subsequence", [1, 2, 3, 4, 5], 4),
    ([3, 4], "fn:subsequence", [1, 2, 3, 4, 5], 3, 2),
    ([1, 2], "fn:subsequence", [1, 2, 3], -1, 4),
    ([], "fn:subsequence", [1, 2, 3], NAN),
    ([1, 2], "fn:unordered", [1, 2]),
    ([1, D("2.5")], "fn:distinct-values", [1, D("2.5"), 1.0, D("1.0")]),
    ([NAN], "fn:distinct-values", [NAN, NAN]),
    ([1, "1", True], "fn:distinct-values", [1, "1", True]),
    ([Untyped("a")], "fn:distinct-values", [Untyped("a"), "a"]),
    (["a"], "fn:distinct-values", ["a", "A"], ASCII),
    ([D("1.2")], "fn:distinct-values", [D("1.2"), Float(1.2)]),
    ([3, 4], "fn:index-of", [10, 20, 30, 30], 30),
    ([1], "fn:index-of", ["a", 1], "a"),
    ([], "fn:index-of", [NAN], NAN),
    ([2], "fn:index-of", ["b", "A"], "a", ASCII),
    (True, "fn:deep-equal", [1, "a", NAN], [1.0, "a", NAN]),
    (False, "fn:deep-equal", [1], ["1"]),
    (True, "fn:deep-equal", [D("1.01")], [Float(1.01)]),
    (False, "fn:deep-equal", [1, 2], [2, 1]),
    ([1], "fn:zero-or-one", [1]),
    ([1, 2], "fn:one-or-more", [1, 2]),
    ([1], "fn:exactly-one", [1]),
    ([1, 2, 3], "fn:sort", [3, 1, 2]),
    ([NAN, 1.0, 2.0], "fn:sort", [2.0, NAN, 1.0]),
    (["a", "B"], "fn:sort", ["B", "a"], ASCII),
]


@pytest.mark.parametrize(("expected", "name", "args"), [(e, n, a) for e, n, *a in CASES])
def test_value(gives: Any, expected: Any, name: str, args: list[Any]) -> None:
    gives(expected, name, *args)


def _function(arity: int, code: Any) -> FunctionItem:
    return FunctionItem(None, arity, lambda args: code(*args))


ERRORS: list[tuple[Any, ...]] = [
    ("FORG0006", "fn:boolean", [1, 2]),
    ("FORG0006", "fn:boolean", [Map()]),
    ("FORG0003", "fn:zero-or-one", [1, 2]),
    ("FORG0004", "fn:one-or-more", []),
    ("FORG0005", "fn:exactly-one", []),
    ("FOTY0015", "fn:deep-equal", [_function(0, list)], [1]),
    ("FOTY0013", "fn:distinct-values", [Map()]),
    ("XPTY0004", "fn:sort", [1, "a"]),
    ("XPTY0004", "fn:filter", [1], _function(1, lambda x: [])),
    ("XPTY0004", "fn:for-each", [1], _function(2, lambda x, y: [])),
    ("FOAP0001", "fn:apply", _function(1, lambda x: x), Array()),
    ("FOAY0001", "array:get", Array([[1]]), 0),
    ("FOAY0001", "array:get", Array([[1]]), 2),
    ("FOAY0001", "array:head", Array()),
    ("FOAY0001", "array:tail", Array()),
    ("FOAY0001", "array:put", Array(), 1, 1),
    ("FOAY0001", "array:subarray", Array([[1]]), 1, 2),
    ("FOAY0002", "array:subarray", Array([[1]]), 1, -1),
    ("FOAY0001", "array:remove", Array([[1]]), 2),
    ("FOAY0001", "array:insert-before", Array(), 2, 1),
    ("FOJS0003", "map:merge", [Map([(1, [1])]), Map([(1, [2])])], Map([("duplicates", ["reject"])])),
    ("FOJS0005", "map:merge", [], Map([("duplicates", ["never"])])),
    ("XPTY0004", "map:get", Map(), [1, 2]),
]


@pytest.mark.parametrize(("code", "name", "args"), [(c, n, a) for c, n, *a in ERRORS])
def test_error(fails: Any, code: str, name: str, args: list[Any]) -> None:
    fails(code, name, *args)


def test_deep_equality_ignores_comments_but_not_order_or_attributes(call: Any) -> None:
    def equal(a: str, b: str) -> bool:
        (answer,) = call("fn:deep-equal", parse(a), parse(b))
        return bool(answer)

    assert equal("<a x='1' y='2'><b/><!--c-->t</a>", "<a y='2' x='1'><b/><?p i?>t</a>")
    assert not equal("<a><b/><c/></a>", "<a><c/><b/></a>")
    assert not equal("<a x='1'/>", "<a x='2'/>")
    assert not equal("<a><b>x</b></a>", "<a><b/>x</a>")
    assert equal("<p:a xmlns:p='u'/>", "<q:a xmlns:q='u'/>")


def test_deep_equality_looks_into_maps_and_arrays(call: Any) -> None:
    one = Map([(1, [Array([["a"], []])]), ("k", [])])
    two = Map([("k", []), (1.0, [Array([["a"], []])])])
    assert call("fn:deep-equal", one, two) == [True]
    assert call("fn:deep-equal", one, two.put("k", [1])) == [False]


def test_higher_order_functions_apply_their_function_in_order(call: Any) -> None:
    double = _function(1, lambda x: [x[0], x[0]])
    assert call("fn:for-each", [1, 2], double) == [1, 1, 2, 2]
    assert call("fn:filter", [1, 2, 3], _function(1, lambda x: [x[0] != 2])) == [1, 3]
    assert call("fn:fold-left", [1, 2], "z", _function(2, lambda z, x: [f"({z[0]}{x[0]})"])) == ["((z1)2)"]
    assert call("fn:fold-right", [1, 2], "z", _function(2, lambda x, z: [f"({x[0]}{z[0]})"])) == ["(1(2z))"]
    assert call("fn:for-each-pair", ["a", "b"], ["x", "y", "z"], _function(2, lambda a, b: [a[0] + b[0]])) == [
        "ax",
        "by",
    ]
    assert call("fn:sort", [-3, 2, 1], None, _function(1, lambda x: [abs(x[0])])) == [1, 2, -3]
    assert call("fn:apply", _function(2, lambda a, b: a + b), Array([[1], [2, 3]])) == [1, 2, 3]


def test_function_lookup_finds_names_and_arities(call: Any) -> None:
    from xstreamcast.model.atomic import QName
    from xstreamcast.model.namespaces import FN, XS

    (found,) = call("fn:function-lookup", QName(FN, "substring"), 2)
    assert found.invoke([["hello"], [3]]) == ["llo"]
    assert call("fn:function-name", found)[0] == QName(FN, "substring")
    assert call("fn:function-arity", found) == [2]
    assert call("fn:function-lookup", QName(FN, "substring"), 7) == []
    (constructor,) = call("fn:function-lookup", QName(XS, "int"), 1)
    assert constructor.invoke([["3"]]) == [3]
    assert call("fn:function-lookup", QName(FN, "concat"), 12)[0].arity == 12


def test_map_functions_leave_the_original_alone(call: Any) -> None:
    first = Map([("a", [1]), (1, ["x", "y"])])
    (second,) = call("map:put", first, "a", [2, 3])
    assert (call("map:get", first, "a"), call("map:get", second, "a")) == ([1], [2, 3])
    assert call("map:size", second) == [2]
    assert call("map:keys", second) == ["a", 1]
    assert call("map:contains", first, Untyped("a")) == [True]
    assert call("map:get", first, 1.0) == ["x", "y"]
    (third,) = call("map:remove", first, ["a", "b"])
    assert list(third.keys()) == [1]
    assert len(first) == 2
    assert call("map:entry", "k", [1, 2])[0].get("k") == [1, 2]
    assert call("map:for-each", first, _function(2, lambda k, v: k + v)) == ["a", 1, 1, "x", "y"]


def test_map_find_searches_all_depths(call: Any) -> None:
    deep = Array([[Map([("k", [1]), ("in", [Map([("k", [2, 3])])])])], [Array([[Map([("k", [])])]])]])
    (found,) = call("map:find", deep, "k")
    assert found.members() == [[1], [2, 3], []]


@pytest.mark.parametrize(
    ("policy", "expected"), [("use-first", [1]), ("use-last", [2]), ("combine", [1, 2]), ("use-any", [1])]
)
def test_map_merge_policies(call: Any, policy: str, expected: list[int]) -> None:
    maps = [Map([("a", [1])]), Map([("a", [2]), ("b", [3])])]
    (merged,) = call("map:merge", maps, Map([("duplicates", [policy])]))
    assert merged.get("a") == expected
    assert merged.get("b") == [3]


def test_array_functions(call: Any) -> None:
    array = Array([[1], [2, 3], []])

    def members(name: str, *args: Any) -> Any:
        return call(name, *args)[0].members()

    assert call("array:size", array) == [3]
    assert call("array:get", array, 2) == [2, 3]
    assert members("array:put", array, 1, "x") == [["x"], [2, 3], []]
    assert members("array:append", array, [4, 5]) == [[1], [2, 3], [], [4, 5]]
    assert members("array:subarray", array, 2) == [[2, 3], []]
    assert members("array:subarray", array, 1, 1) == [[1]]
    assert members("array:remove", array, [1, 3, 1]) == [[2, 3]]
    assert members("array:insert-before", array, 4, 9) == [[1], [2, 3], [], [9]]
    assert call("array:head", array) == [1]
    assert members("array:tail", array) == [[2, 3], []]
    assert members("array:reverse", array) == [[], [2, 3], [1]]
    assert members("array:join", [array, Array(), array]) == [[1], [2, 3], []] * 2
    assert members("array:for-each", array, _function(1, lambda m: [len(m)])) == [[1], [2], [0]]
    assert members("array:filter", array, _function(1, lambda m: [len(m) > 0])) == [[1], [2, 3]]
    assert call("array:fold-left", array, 0, _function(2, lambda z, m: [z[0] + sum(m)])) == [6]
    assert call("array:fold-right", array, "z", _function(2, lambda m, z: [f"{len(m)}{z[0]}"])) == ["120z"]
    assert members("array:for-each-pair", array, Array([["a"]]), _function(2, lambda a, b: a + b)) == [[1, "a"]]
    assert members("array:sort", Array([[3], [1, 2], [1]])) == [[1], [1, 2], [3]]
    assert call("array:flatten", [array, Array([[Array([[7]])]])]) == [1, 2, 3, 7]
    assert array.members() == [[1], [2, 3], []]

"""Folds in place, recursion as folds, maps as accumulators: the same answers as the functions give when called."""

from __future__ import annotations

from pathlib import Path

import pytest

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Map
from xstreamcast.run.query import compile, query

ITEMS = "<s>" + "".join(f"<i n='{n}'>{n % 7}</i>" for n in range(60)) + "</s>"


def answer(text: str, context: str | None = None) -> str:
    return query(text, context=context).serialise(method="adaptive")


def failure(text: str, context: str | None = None) -> str:
    with pytest.raises(XStreamError) as caught:
        query(text, context=context).items()
    return caught.value.code


# One and the same fold: in place, and called through a variable, which the compiler cannot see through.
FOLDS = [
    ("{}(1 to 9, 0, {})", "function($a, $b) { $a + $b }"),
    ("{}(1 to 9, (), {})", "function($a, $b) { $a, $b }"),
    ("{}(1 to 9, 1, {})", "function($a, $b) { $a * 2.5 + $b }"),
    ("{}((1, 2e0, 3.5), 0, {})", "function($a, $b) { $a + $b }"),
    ("{}((), 'zero', {})", "function($a as xs:integer, $b) as xs:integer { 1 }"),
    ("{}(('a', 'b', 'c'), 'z', {})", "function($a, $b) { $a || $b }"),
    ("{}(1 to 4, 7, {})", "function($a, $b) { ($a, $b)[. mod 2 = 1] }"),
    ("{}(1 to 4, 7, {})", "function($a as xs:double*, $b as xs:double*) as xs:double* { $a, $b }"),
    ("{}(1 to 4, true(), {})", "function($a, $b) { $b instance of xs:integer and $a instance of xs:boolean }"),
    ("{}(//i, map {{}}, {})", "function($a, $b) { if ($a instance of map(*)) then 1 else 2 }"),
    ("{}(1 to 3, 10, {})", "function($a, $b) { fold-left(1 to $b, $a, function($c, $d) { $c - $d }) }"),
    ("{}(//i, 0, {})", "function($a, $b) { $a + $b }"),
    ("{}(//i/@n, 0, {})", "function($a, $b) { $b - $a }"),
    ("{}(1 to 3, <a/>, {})", "function($a, $b) { <b>{$a, $b}</b> }"),
    ("{}(1 to 3, [], {})", "function($a, $b) { array { $a, $b } }"),
    ("{}(5, 6, {})", "function($a, $b) { $a - $b }"),
]


@pytest.mark.parametrize(("call", "function"), FOLDS)
@pytest.mark.parametrize("name", ["fold-left", "fold-right"])
def test_a_fold_in_place_is_the_fold_of_a_function_value(name: str, call: str, function: str) -> None:
    in_place = call.format(name, function)
    called = f"let $f := ({function}, ())[1] return {call.format(name, '$f')}"

    def outcome(text: str) -> str:
        try:
            return answer(text, ITEMS)
        except XStreamError as error:
            return error.code

    assert outcome(in_place) == outcome(called)


def test_the_accumulator_is_converted_before_every_step_and_the_result_after() -> None:
    assert answer("fold-left(1 to 3, 0, function($a as xs:double, $b) as xs:double { $a + $b })") == "6.0e0"
    assert failure("fold-left(1 to 2, 0, function($a as xs:integer, $b) { $a || '' })") == "XPTY0004"
    assert failure("fold-left(1 to 2, 'a', function($a as xs:integer, $b) { 1 })") == "XPTY0004"
    assert failure("fold-left(1, 0, function($a, $b) as xs:integer { 'a' })") == "XPTY0004"
    assert failure("fold-left(1, 0, function($a, $b as xs:string) { 'a' })") == "XPTY0004"


def test_a_fold_has_no_context_item() -> None:
    assert failure("fold-left(1, 0, function($a, $b) { . })", "<a/>") == "XPDY0002"


def test_functions_made_by_a_step_keep_their_own_accumulator() -> None:
    made = "fold-left(1 to 3, (), function($a, $b) { $a, function() { count($a) * 10 + $b } })"
    assert answer(f"{made} ! .()") == "1\n12\n23"


# --------------------------------------------------------------------------------------------------- recursion

SUM = """declare function local:sum($p as element()*) as xs:double {
  if (empty($p)) then 0 else $p[1] + local:sum(subsequence($p, 2)) };"""


def test_a_linear_recursion_of_any_depth_is_computed() -> None:
    items = "<s>" + "<i>1</i>" * 30_000 + "</s>"
    assert query(SUM + "local:sum(//i)", context=items).to_list() == [30_000.0]


def test_a_recursion_that_may_end_early_is_not_made_to_go_on() -> None:
    text = """declare function local:any($p as item()*) as xs:boolean {
      if (empty($p)) then false() else $p[1] = 1 or local:any(tail($p)) };
      local:any((1, "no number"))"""
    assert answer(text) == "true()"


def test_a_recursion_in_an_imported_module_is_linear_too(tmp_path: Path) -> None:
    library = tmp_path / "m.xqm"
    library.write_text(
        "module namespace m = 'urn:m'; declare function m:n($p as item()*) as xs:integer "
        "{ if (empty($p)) then 0 else 1 + m:n(tail($p)) };"
    )
    text = f"import module namespace m = 'urn:m' at '{library.as_uri()}'; m:n(1 to 20000)"
    assert query(text).to_list() == [20_000]


def test_variables_of_other_functions_keep_their_names_in_messages() -> None:
    text = SUM + "declare function local:f($x) { let $x as xs:integer := $x return $x }; local:f('a')"
    with pytest.raises(XStreamError, match=r"\$x:"):
        compile(text)().items()


# -------------------------------------------------------------------------------------------------------- maps


@pytest.mark.parametrize("size", [0, 3, 16, 17, 40, 400])
def test_every_version_of_a_map_stays_as_it_was(size: int) -> None:
    text = f"""let $a := map:merge((1 to {size}) ! map:entry(., .))
      let $b := map:put($a, 1, "one") let $c := map:put($b, "x", 3) let $d := map:remove($c, 1)
      return ($a(1), $b(1), $c(1), $d(1), "-", ($a, $b, $c, $d) ! map:size(.), "-", $c("x"), $a("x"))"""
    first, before = ([1], size) if size else ([], 0)
    grown = size or 1
    expected = [*first, "one", "one", "-", before, grown, grown + 1, grown, "-", 3]
    assert query(text).to_list() == expected


def test_the_key_of_a_look_up_is_one_value() -> None:
    declared = "declare function local:f($m as map(*), $k) { $m($k) }; "
    assert answer(declared + "local:f(map { 1: 'a' }, <k>1</k>)") == ""
    assert answer(declared + "local:f(map { '1': 'a' }, <k>1</k>)") == '"a"'
    assert answer(declared + "local:f(map { 1: 'a' }, [1])") == '"a"'
    assert failure(declared + "local:f(map { 1: 'a' }, ())") == "XPTY0004"
    assert failure(declared + "local:f(map { 1: 'a' }, (1, 2))") == "XPTY0004"


def test_of_merged_entries_the_first_of_a_key_stays() -> None:
    text = "let $m := map:merge(for $i at $p in (1, 2, 1.0, 'a', number('x'), number('y')) return map:entry($i, $p)) "
    assert answer(text + "return (map:size($m), $m(1), $m(number('z')), $m('a'))") == "4\n1\n5\n4"
    assert failure("map:merge(for $i in 1 return map:entry((1, 2), 3))") == "XPTY0004"


# -------------------------------------------------------------------------------------------------- arithmetic


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b", "3e0"), ("a idiv 2", "0"), ("b idiv 2", "1"), ("n idiv 2", "-3"), ("a div 0", "xs:double('INF')"),
        ("n div 0", "xs:double('-INF')"), ("a div b", "0.5e0"), ("a * 3", "3e0"), ("3 - a", "2e0"), ("z + 1", "()"),
        ("z + word", "()"), ("@k * 2", "8e0"), ("a + 9007199254740993", "9007199254740992e0"), ("n mod 4", "-3e0"),
        ("a div 2", "0.5e0"), ("2 div b", "1e0"), ("(a, z) + 1", "2e0"), ("a + 0.5", "1.5e0"), ("../r/a - 1", "0e0"),
    ],
)  # fmt: skip
def test_arithmetic_on_nodes_is_that_on_their_numbers(text: str, value: str) -> None:
    given = "<r k='4'><a>1</a><b>2</b><n>-7</n><word>x</word></r>"
    assert answer(f"deep-equal(/r/({text}), {value})", given) == "true()"
    kinds = f"/r/({text}) ! (. instance of xs:double), ({value}) ! (. instance of xs:double)"
    assert len(set(query(kinds, context=given).to_list())) <= 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a + 1", "XPTY0004"), ("b idiv 2", "FORG0001"), ("c idiv 2", "FOAR0002"), ("c idiv 0", "FOAR0001"),
        ("d idiv 2", "FOAR0002"), ("1 + a", "XPTY0004"), ("e idiv 0", "FOAR0001"),
    ],
)  # fmt: skip
def test_arithmetic_on_nodes_fails_as_that_on_values(text: str, code: str) -> None:
    given = "<r><a>1</a><a>2</a><b>x</b><c>NaN</c><d>-INF</d><e>5</e></r>"
    assert failure(f"/r/({text})", given) == code


@pytest.fixture
def puts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The keys that were put into maps which others might see."""
    seen: list[object] = []
    before = Map.put

    def put(self: Map, key: Item, value: list[Item]) -> Map:
        seen.append(key)
        return before(self, key, value)

    monkeypatch.setattr(Map, "put", put)
    return seen


COUNT = "map:put($m, $i, ($m($i), 0)[1] + 1)"
KARP = """declare function local:count($counts as map(*), $item as xs:string) as map(*) {
  let $more := map:put($counts, $item, ($counts($item), 0)[1] + 1)
  return
    if (map:size($more) < 3) then $more
    else map:merge(for $i in map:keys($more) where $more($i) > 1 return map:entry($i, $more($i) - 1))
}; fold-left(("a", "b", "a", "c", "a", "d"), map { }, function($m, $i) { local:count($m, $i) })"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"fold-left((1, 2, 1), map {{ }}, function($m, $i) {{ {COUNT} }})", "map{1:2,2:1}"),
        (f"fold-right((1, 2, 1), map {{ }}, function($i, $m) {{ {COUNT} }})", "map{1:2,2:1}"),
        (f"fold-left((1, '1', 1.0, xs:double('NaN'), 1e0), map {{ }}, function($m, $i) {{ {COUNT} }})",
         'map{1.0e0:3,"1":1,NaN:1}'),
        (f"let $z := map {{ 1 : 5 }} return (fold-left((1, 2), $z, function($m, $i) {{ {COUNT} }}), $z)",
         "map{1:6,2:1}\nmap{1:5}"),
        ("fold-left(1 to 4, map { }, function($m, $i) {"
         " if ($i mod 2 = 0) then $m else map:put($m, $i, map:size($m)) })",
         "map{1:0,3:1}"),
        ("fold-left(1 to 3, map { }, function($m as map(*), $i) as map(*) {"
         " let $k := $i * 2 let $n := map:put($m, $k, map:keys($m)) return map:put($n, 'last', $n($k)) })",
         'map{2:(),"last":(2,"last",4),4:(2,"last"),6:(2,"last",4)}'),
        ("fold-left(0 to 2, map { }, function($m, $i) {"
         " let $q := 6 div $i let $no := error() return if ($i = 0) then $m else map:put($m, $i, $q) })",
         "map{1:6,2:3}"),
        (KARP, 'map{"a":2,"d":1}'),
    ],
)  # fmt: skip
def test_a_map_that_only_a_fold_can_see_is_changed_in_place(text: str, expected: str, puts: list[object]) -> None:
    assert query(text).serialise(method="adaptive") == expected
    assert puts == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fold-left(1 to 2, map { }, function($m, $i) { map:put($m, $i, $m) })", "map{1:map{},2:map{1:map{}}}"),
        ("fold-left(1 to 2, map { 'a' : 0 }, function($m, $i) {"
         " let $n := map:put($m, 'a', $i) return map:put($n, 'b', $m('a')) })", 'map{"a":2,"b":1}'),
        ("fold-left(1 to 2, map { 'a' : 0 }, function($m, $i) {"
         " let $old := $m('a') let $n := map:put($m, 'a', $i) return map:put($n, 'b', $old) })", 'map{"a":2,"b":1}'),
        ("fold-left(1 to 2, map { 'a' : 0 }, function($m, $i) { map:put($m, $i, function() { $m('a') }) }) ! ?1()",
         "0"),
        ("fold-left(1 to 2, map { }, function($m as map(xs:integer, xs:integer), $i) { map:put($m, $i, $i) })",
         "map{1:1,2:2}"),
        ("fold-left(1 to 2, map { }, function($m, $i) { map:put($m, $i, for $m in (7, 8) return $m) })",
         "map{1:(7,8),2:(7,8)}"),
        ("fold-left(1 to 2, map { 1 : 1 }, function($m, $i) {"
         " map:put($m, $i, fold-left(5 to 6, $m, function($n, $k) { map:put($n, $k, 0) })) })",
         "map{1:map{1:1,5:0,6:0},2:map{1:map{1:1,5:0,6:0},5:0,6:0}}"),
    ],
)  # fmt: skip
def test_a_map_that_others_can_see_stays_as_it_is(text: str, expected: str, puts: list[object]) -> None:
    assert query(text).serialise(method="adaptive") == expected
    assert len(puts) >= 2


def test_a_fold_that_fails_leaves_no_map_half_changed() -> None:
    text = """let $z := map { 'a' : 1 } return (try {
      fold-left(1 to 3, $z, function($m, $i) { map:put($m, 'a', if ($i = 3) then error() else $i) })
    } catch * { 'failed' }, $z)"""
    assert query(text).serialise(method="adaptive") == '"failed"\nmap{"a":1}'


WORDS = "<s>" + "".join(f"<w>{word}</w>" for word in "abacabda") + "</s>"
TALLY = "map:put($m, string($w), ($m(string($w)), 0)[1] + 1)"


@pytest.mark.parametrize(
    ("zero", "step", "expected"),
    [
        ("map { }", TALLY, 'map{"a":4,"b":2,"c":1,"d":1}'),
        ("map { 'a' : 10 }", TALLY, 'map{"a":14,"b":2,"c":1,"d":1}'),
        ("map { 'a' : 1.5 }", TALLY, 'map{"a":5.5,"b":2,"c":1,"d":1}'),
        ("map { 'a' : () }", TALLY, 'map{"a":4,"b":2,"c":1,"d":1}'),
        ("map { 7 : 'x' }", TALLY, 'map{7:"x","a":4,"b":2,"c":1,"d":1}'),
        ("map:merge((1 to 2000) ! map { string(.) : . }) => map:put('a', 1)", TALLY, "2004"),
        ("map { }", "map:put($m, string($w), $m('a'))", 'map{"a":(),"b":(),"c":(),"d":()}'),
        ("map { 'a' : 0 }", "map:put($m, string($w), string($w))", 'map{"a":"a","b":"b","c":"c","d":"d"}'),
        ("map { 'a' : 3 }", "map:put($m, string($w), if ($m(string($w)) > 2) then 100 else 5)",
         'map{"a":100,"b":100,"c":5,"d":5}'),
        ("map { 'a' : 3 }", "map:merge(for $k in map:keys($m) return map:entry($k, $m($k) + $m('a')))",
         'map{"a":768}'),
        ("map { 'a' : 3 }", "map:merge(for $k in map:keys($m) return map:entry('x', 2 * $m($k)))", 'map{"x":768}'),
        ("map { 'a' : 1 }", "map:merge(for $k at $n in map:keys($m) let $j := $k || 'b' return map:entry($j, $n))",
         'map{"abbbbbbbb":1}'),
        ("map { 'a' : 1 }", "map:put($m, string-join(map:keys($m)), map:size($m))", 'map{"a":1}'),
    ],
)  # fmt: skip
def test_a_map_of_numbers_counts_as_other_maps_do(zero: str, step: str, expected: str, puts: list[object]) -> None:
    fold = f"let $z := {zero} return fold-left(//w, $z, function($m, $w) {{ {step} }})"
    text = f"map:size({fold})" if expected.isdigit() else fold
    query(zero).items()
    put = len(puts)
    assert answer(text, WORDS) == expected
    assert len(puts) == 2 * put  # only in what the fold begins with
    hidden = text.replace("function($m, $w)", "(function($m, $w)").replace(f"{{ {step} }}", f"{{ {step} }}, ())[1]")
    assert answer(hidden, WORDS) == expected


def test_the_keys_of_a_map_keep_their_types() -> None:
    text = """fold-left(("a", "b"), map { }, function($m, $k) { map:put($m, xs:token($k), 1) })
      ! map:keys(.) ! (. instance of xs:token)"""
    assert answer(text) == "true()\ntrue()"
    declared = """declare function local:f($m as map(*), $k as xs:string) as map(*) { map:put($m, $k, 1) };
      fold-left(("a", xs:token("a")), map { }, function($m, $k) { local:f($m, $k) })
      ! map:keys(.) ! (. instance of xs:token)"""
    assert answer(declared) == "true()"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for $k in map:keys($m) return $m($k)", "1\n2\n3"),
        ("for $k in map:keys($m) where $m($k) > 1 return $k", '"b"\n3'),
        ("for $k in map:keys($m) let $k := 'a' return $m($k)", "1\n1\n1"),
        ("for $k in map:keys($m) for $j in map:keys($m) where $m($k) < $m($j) return $k || $j", '"ab"\n"a3"\n"b3"'),
        ("for $k in map:keys($m) return (function() { $m($k) })()", "1\n2\n3"),
        ("(for $k in map:keys($m) return function() { $m($k) }) ! .()", "1\n2\n3"),
        ("for $k in map:keys($m) let $n := map:put($m, $k, 0) return $n($k) + $m($k)", "1\n2\n3"),
        ("for $k in map:keys($m) order by $m($k) descending return $m($k)", "3\n2\n1"),
    ],
)
def test_the_value_at_a_key_that_a_loop_has(text: str, expected: str) -> None:
    assert answer(f"let $m := map {{ 'a' : 1, 'b' : 2, 3 : 3 }} return ({text})") == expected

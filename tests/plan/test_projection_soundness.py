"""On the parts of a document that a query is said to see, it has the answer it has on the whole document.

``XSTREAMCAST_RANDOM=n`` runs n times as many random queries.
"""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from budget import MORE
from projections import is_planned, projection

from xstreamcast.errors import XStreamError
from xstreamcast.generate.xmark import document
from xstreamcast.model.tree import Node
from xstreamcast.plan.projection.project import WHOLE_DOCUMENT, describe
from xstreamcast.run.query import compile
from xstreamcast.scan.automaton import Target
from xstreamcast.scan.documents import document_batches
from xstreamcast.scan.parse import parse

FIXTURES = Path(__file__).parents[1] / "fixtures"
XMARK = sorted((FIXTURES / "xmark").glob("q*.xq"))
SEEDS = range(4 * MORE)
Random: Any = runpy.run_path(str(Path(__file__).parents[1] / "run" / "random_queries.py"))["Random"]
BASE = "file:///documents/one.xml"


def projected(data: bytes, targets: tuple[Target, ...]) -> Node:
    """The document node of what the scan kernel keeps of a document."""
    (batch,) = document_batches(data, targets, step=1 << 40, base_uri=BASE, document_uri=BASE)
    return batch.tree.root


def answer(query: str, context: Node | None, docs: dict[str, Node] | None = None) -> str:
    """The answer, or the code of the error that is the answer."""
    try:
        return compile(query)(context=context, docs=docs, now="2026-01-01").serialise(method="adaptive")
    except XStreamError as failure:
        return failure.code


def check(query: str, data: bytes, whole: Node) -> bool:
    """The law; whether the projected document is smaller than the whole one."""
    targets = projection(query).get(None)
    if targets is None or not is_planned(query):
        return False
    parts = projected(data, targets)
    expected = answer(query, whole)
    assert answer(query, parts) == expected, f"{query}\non {data.decode()[:2000]}\nprojected: {describe(targets)}"
    return len(parts.tree) < len(whole.tree)


@cache
def site() -> tuple[bytes, Node]:
    data = b"".join(document(0.002, 7))
    return data, parse(data, BASE, BASE)


@pytest.mark.parametrize("path", XMARK, ids=lambda path: str(path.stem))
def test_an_xmark_query_has_its_answer_on_what_it_sees(path: Path) -> None:
    assert check(path.read_text(), *site())


@pytest.mark.parametrize("path", sorted((FIXTURES / "papers").glob("*.xq")), ids=lambda path: str(path.stem))
def test_a_query_of_the_papers_has_its_answer_on_what_it_sees(path: Path) -> None:
    """The papers' streams as documents: some have the paper's data in a file, the others ask the auction site."""
    text = path.read_text().replace("stream(", "doc(")
    seen = projection(text)
    inputs = {"library.xml", "biblio.xml", "pixels.xml"}
    data = [*((FIXTURES / "papers" / name).read_bytes() for name in sorted(inputs)), site()[0]]
    for each in data:
        whole = dict.fromkeys((uri for uri in seen if uri is not None), parse(each))
        parts = {uri: projected(each, targets) for uri, targets in seen.items() if uri is not None}
        context = projected(each, seen.get(None, (WHOLE_DOCUMENT,)))
        assert answer(text, context, parts) == answer(text, parse(each), whole)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_query_has_its_answer_on_what_it_sees(seed: int) -> None:
    drawn = Random(seed)
    smaller = 0
    for _ in range(3):
        text = drawn.document()
        whole = parse(text, BASE, BASE)
        smaller += sum(check(drawn.query(), text.encode(), whole) for _ in range(15))
    assert smaller  # most see only a part


SHOP = b"""<?xml version="1.0"?><!-- before --><?style sheet?>
<s:shop xmlns:s="urn:shop" xmlns="urn:plain" xml:lang="en" xml:base="http://shop.example/">
  <item n="1" s:kind="a">one<!--first-->uno<part>p1<sub>s1</sub></part></item>
  <item n="2" xml:lang="de-AT"><part xml:base="parts/"><sub>s2</sub><sub>s3</sub></part>two &amp; more</item>
  <none xmlns=""><item n="3"/><item n="4">4</item><deep><item n="5"><part/></item></deep></none>
  <s:price cur="EUR">10</s:price><s:price cur="USD">12.5</s:price><?pi data?>
  <list><x>3</x><x>1</x><x>2</x><y k="x"><x>9</x></y></list><empty/><mixed>a<b>b</b>c<b/>d</mixed>
</s:shop><!-- after -->"""

PROLOG = """declare namespace s = "urn:shop"; declare namespace p = "urn:plain";
declare function local:walk($n) { name($n), for $c in $n/* return local:walk($c) };
declare function local:up($n) { if ($n/..) then (local:up($n/..), local-name($n)) else () };
declare function local:text($n as xs:string?) { string-length($n) };
declare function local:apply($f as function(xs:string) as item()*, $x) { for-each($x, $f) };
declare function local:even($n) { if (empty($n)) then 0 else 1 + local:odd($n/*) };
declare function local:odd($n) { if (empty($n)) then 100 else 2 + local:even($n/*[1]) };
declare variable $prices := /s:shop/s:price; declare variable $texts := //p:sub/text();
"""

NASTY = [
    line
    for line in r"""
//item/..
//item/../@*
//p:part/ancestor::*/name()
//p:sub/ancestor-or-self::*[2]
//*[..]/name()
//item[../item]
//item[2]
(//item)[2]
//item[last()]/@n
/*/*[3]/name()
/*/node()[2]
//text()[2]
//p:item/text()
//p:item/comment()
count(//comment())
/comment()
/processing-instruction()
//@*
//@n/../@*
/*/@xml:lang
//*:item/@n
//item/following::*[1]
//p:part/preceding::text()[1]
//item/following-sibling::*
//s:price/preceding-sibling::*[1]/name()
//p:x[. = following-sibling::p:x/../p:y/@k]
//p:part/following::node()[1]
//p:mixed/b
//p:mixed/p:b[1]/following-sibling::node()
string(//p:mixed)
//p:mixed/node()[3]
//p:b/parent::p:mixed/text()
//node()/self::p:x
//self::p:x
//.[name() = 'x']
//*/self::item/..
/descendant::p:x[2]
/descendant-or-self::node()[4]
//p:x/root()//p:sub
root(//p:x[1])/*/name()
count(//p:x | //p:y/p:x)
//p:x except //p:y//*
//p:list/* intersect //p:x
//p:y/p:x is (//p:x)[4]
(//p:x)[1] << (//s:price)[1]
innermost(//*)/name()
outermost(//p:x/ancestor::*)/name()
//*[has-children()]/name()
//*[not(has-children(.))]/name()
//p:empty/has-children()
//* ! path()
//text() ! path(..)
//@* ! path()
//item ! base-uri()
//p:sub ! base-uri(.)
//p:sub/base-uri(..)
//*[lang('de')]/name()
//p:x[lang('en')]
base-uri(<a>{ //p:sub[1] }</a>/*)
document { //p:part[1] }/*/base-uri()
//p:sub[1] ! (let $c := <c>{ . }</c> return $c/p:sub)
<r>{ //s:price }</r>
<r>{ //s:price/@cur }</r>
//s:price/data()
in-scope-prefixes(//item[1])
//p:x[1] ! namespace-uri-for-prefix('s', .)
resolve-QName('s:a', (//p:sub)[1])
//item/node-name()
//*[nilled()]
document-uri(/)
count(/)
/
.
./*/name()
self::node()/*/p:empty
(/) instance of document-node(element(s:shop))
(/) instance of document-node(element(shop))
typeswitch (/) case document-node(element(x)) return 1 case document-node(element(s:shop)) return 2 default return 3
typeswitch ((//*)[3]) case $e as element(p:part) return $e/p:sub default $d return $d/..
for $i in //p:item return typeswitch ($i/node()[1]) case text() return $i/text() default return $i/*/p:sub
local:walk(/)
local:walk(//p:list)
local:up((//p:sub)[1])
local:up((//@cur)[1])
local:text((//p:sub)[1])
local:apply(function($s) { $s }, //p:x)
local:apply(string-length#1, //p:part)
local:even(/)
local:odd(//none)
$prices/@cur
$prices[. > 11]
$texts
$texts/..
sum($prices)
count($texts/ancestor::p:item)
for-each(//p:x, function($x) { $x/.. })/name()
for-each(//p:x, name#1)
filter(//p:x, function($x) { $x > 1 })
filter(//*, function($x) { exists($x/@n) })/@n
fold-left(//p:x, 0, function($a, $x) { $a + $x })
fold-left(//p:part, (), function($a, $x) { ($a, $x/p:sub) })
fold-right(//p:x, '', concat#2)
sort(//p:x)
sort(//p:part, (), function($p) { count($p/*) })/@*
sort(//*[@n], (), function($p) { -number($p/@n) })/@n
for-each-pair(//p:x, //s:price, function($a, $b) { $a/name() || $b/@cur })
apply(concat#2, [//p:x[1], 'z'])
apply(function($a, $b) { $a/../name(), $b/@n }, [(//p:sub)[1], //p:item])
let $f := function($n) { $n/@n } return //p:item ! $f(.)
let $m := map { 'a': //p:x, 'b': //p:part } return ($m?a[2], count($m?b), $m?b/p:sub, $m('b')/..)
let $a := [//p:x, //s:price] return ($a(2)/@cur, $a?1 ! string(), array:size($a))
[//p:x]?*/..
map:for-each(map { 'k': //p:part }, function($k, $v) { $v/p:sub })
map:get(map:put(map { }, //p:x[1], //p:y), '3')/@k
array:for-each([//p:x, //p:y], function($m) { $m/.. })
array:sort([//p:x[1], //p:x[2]])
array:flatten([[//p:x], 3])
array:fold-left([//p:part, //p:y], (), function($a, $m) { $a, $m/* })
map:find([map { 'q': //p:y }], 'q')?*/@k
map:merge((map { 'a': //p:y }, map { 'b': //p:part }))?b/p:sub
for-each((2, 1), [//p:y, //p:empty])/name()
for-each('k', map { 'k': //p:y })/p:x
(//p:y ! map { 'k': @k })?k
//p:list/p:x ! (. + 1)
//p:item ! (@n, p:part)[1]
(//p:item) ! (p:part/p:sub, .)[1]
string-join(//p:sub, '-')
string-join(//p:item/@n)
distinct-values(//@cur)
for $x in //p:x order by number($x) return $x/..
for $x at $i in //p:x order by $i descending return $x
for $i in //*[@n] group by $k := local-name($i/..) return ($k, $i/@n)
for $i in //@n group by $i return $i
for $i in //p:item let $p := $i/p:part group by $l := string($i/@xml:lang) return ($l, count($p/p:sub))
for tumbling window $w in //p:x start when true() end next $n when $n > 1 return <w>{ $w }</w>
for sliding window $w in //p:sub start $s when $s/.. end $e at $j when $j > 1 return <w>{ $w/text() }</w>
for $i in //p:item count $c return $c
for $i allowing empty in //absent return count($i)
some $x in //p:x, $y in //s:price satisfies $x > $y
every $x in //p:x satisfies $x/parent::p:list
switch (//p:y/@k) case 'x' return //p:y/p:x default return ()
if (//p:empty) then //p:empty/.. /name() else //p:x
try { error(xs:QName('e'), 'x', //p:part) } catch * { $err:value/p:sub }
try { xs:integer(//p:sub[1]) } catch * { //p:x }
exactly-one(//p:y)/p:x
exactly-one(//p:x)
zero-or-one(//p:mixed)/p:b
//p:x[position() mod 2 = 1]
//p:x[. = //p:y/p:x]
//*[@n = //p:x]/@n
//p:item[p:part/p:sub = 's2']/@n
//p:item[text()[2]]/@n
//*[text()]/name()
deep-equal(//p:part, //p:part)
deep-equal(//p:x[1]/.., //p:list)
head(//p:x), tail(//p:x)[1], subsequence(//p:x, 2, 1)
insert-before(//p:x, 2, //p:y)/name()
remove(//p:x, 1), reverse(//p:x)
count(unordered(//p:x))
index-of(//p:x, '1')
``[`{ //p:sub }` and `{ count(//p:x) }`]``
(//p:x)[1] || 'x'
-(//p:x)[1]
//p:y/p:x to 10
element { name((//p:x)[1]) } { //p:y/@k }
attribute a { //p:sub }
comment { //p:sub }
text { //p:x }
processing-instruction { 'a' } { //p:x }
namespace n { 'u' } ! string()
<e a='{//p:x}' b='{count(//p:y)}'/>
function-lookup(xs:QName('fn:name'), 0)()
random-number-generator(1)?permute(1 to 3)
/*/p:list/p:y ! (.., *)/name()
//p:x/string-length()
//p:x/normalize-space()
//p:part/string()
//p:part/data()
//p:x/number()
//p:x/name(..)
serialize(//p:part)
parse-xml(serialize(//p:list))//p:x
analyze-string((//p:sub)[1], 's')
//p:part treat as element()+
//p:x castable as xs:integer
(//p:x)[1] cast as xs:integer
xs:integer((//p:x)[2])
xs:string(//p:mixed)
//*[name() = 's:price']
//s:*
//*:x/@*
//Q{}item/@n
/s:shop/*/*/*/*[1]
//p:sub/../../@n
//p:sub/../..//@xml:base
(//p:x, //p:y)/@k
(//p:y, 1)[1]/@k
(//p:part/(p:sub, ..))/name()
//p:item/(if (@n = '1') then p:part else text())
for $d in (/, //p:list) return $d/*/name()
let $r := (/) return $r//p:y[@k = 'x']/p:x
let $x := . return $x/*/p:list/p:x[3]
//p:list?[now]
//p:x#[1]
count(//p:y?[start, now])
(# s:pragma #) { //p:y/@k }
unordered { //p:x }
//p:x/(let $f := name#0 return $f())
//p:x/(let $f := string(?) return $f(..))
let $f := contains(?, 's1') return //p:part[$f(.)]
function-arity(name#1)
//p:y/(let $f := function($x) { $x/p:x } return $f(.))
(function($f) { $f(//p:y) })(function($y) { $y/.. })/name()
let $compose := function($f, $g) { function($x) { $f($g($x)) } } return $compose(count#1, function($n) { $n/* })(//p:y)
let $loop := function($self, $n) { if ($n/*) then $self($self, $n/*[1]) else name($n) } return $loop($loop, /)
""".splitlines()
    if line
]


@cache
def shop() -> Node:
    return parse(SHOP, BASE, BASE)


@pytest.mark.parametrize("query", NASTY)
def test_a_query_has_its_answer_on_what_it_sees(query: str) -> None:
    check(PROLOG + query, SHOP, shop())


def test_the_nasty_queries_are_queries_and_mostly_see_little() -> None:
    smaller = 0
    for query in NASTY:
        targets = projection(PROLOG + query).get(None, (WHOLE_DOCUMENT,))
        smaller += len(projected(SHOP, targets).tree) < len(shop().tree)
    assert smaller > len(NASTY) * 3 // 4

"""A document and many expressions over it, for tests that compare answers."""

from __future__ import annotations

LIBRARY = """<?xml version="1.0"?>
<library xmlns:m="urn:meta" name="Central">
  <!-- two shelves -->
  <shelf no="1">
    <book id="b1" lang="en" m:rank="3">
      <title>Data on the Web</title>
      <author><last>Abiteboul</last><first>Serge</first></author>
      <author><last>Buneman</last><first>Peter</first></author>
      <price>39.95</price><year>2000</year>
    </book>
    <book id="b2" lang="de">
      <title>Streams</title>
      <author><last>Fegaras</last></author>
      <price>65</price><year>2004</year>
      <see ref="b1"/>
    </book>
  </shelf>
  <shelf no="2">
    <book id="b3">
      <title>Old <em>and</em> new</title>
      <price>12.5</price><year>1998</year>
      <see ref="b2"/><see ref="b1"/>
    </book>
    <journal id="j1"><title>Streams</title><year>2004</year><?order now?></journal>
    <box><box><book id="b4"><title/><price>0</price></book></box></box>
  </shelf>
  <m:note at="x">mixed <b>bold</b> text<m:deep><m:note at="y"/></m:deep></m:note>
</library>
"""

PATHS = """
count(//book)
//book/@id/string()
/library/shelf/book/title/string()
//title
//book[1]/@id/string()
(//book)[1]/@id/string()
//book[last()]/@id/string()
(//book)[last()]/@id/string()
//book[position() < 2]/@id/string()
//book[position() = 2]/@id/string()
//book[2]/author[1]/last/text()
//book[price > 20]/@id/string()
//book[price > 20][year < 2003]/@id/string()
//book[author/last = "Buneman"]/title/string()
//book[author]/@id/string()
//book[not(author)]/@id/string()
//book[@lang = "en" or year = 1998]/@id/string()
//book[@lang]/@lang/data()
//*[@id]/name()
//@*/name()
//@id/../name()
//last/ancestor::book/@id/string()
//last/ancestor::*/name()
//last/ancestor-or-self::*[2]/name()
//see/preceding-sibling::*[1]/name()
//price/following-sibling::*/name()
//book[@id = "b2"]/preceding::book/@id/string()
//book[@id = "b2"]/following::title/string()
//author/parent::book/@id/string()
//author/../title/string()
//book/title | //journal/title
(//journal | //book)/@id/string()
(//book intersect //*[@lang])/@id/string()
(//book except //shelf[1]/book)/@id/string()
//comment()
//processing-instruction()
//processing-instruction("order")/string()
//text()[normalize-space()]
//book/text()[normalize-space()]
//box//book/@id/string()
//box/descendant-or-self::box/count(ancestor::box)
/descendant::book[3]/@id/string()
//shelf/book[1]/@id/string()
//shelf/(book | journal)[1]/@id/string()
//shelf/*[2]/@id/string()
//shelf/*[last()]/name()
//book/(price, year)/name()
//book/price/number()
//book/string-length(title)
//book/author[2]/first/text()
//book[author[2]/first = "Peter"]/@id/string()
//*[local-name() = "note"]/@at/string()
//*:note/@at/string()
declare namespace n = "urn:meta"; //n:note/@at/string()
declare namespace n = "urn:meta"; //n:*/local-name()
//book/@*:rank/string()
/library/@name/string()
/*/name()
//em/../string()
string(//em/..)
//book[title = //journal/title]/@id/string()
//see[@ref = //book/@id]/@ref/string()
for $s in //see return //book[@id = $s/@ref]/title/string()
//book/see/@ref/string()
distinct-values(//see/@ref)
//book[price = max(//book/price)]/@id/string()
//book[count(author) > 1]/@id/string()
//shelf[book[2]]/@no/string()
//shelf[.//em]/@no/string()
//book/title/text()/string()
//element(book)/@id/string()
//element(*, xs:untyped)/name()
//book/attribute(lang)/string()
//attribute(id)/string()
//shelf ! @no ! string()
//book/position()
//shelf/book/last()
//book[. << //journal]/@id/string()
//book[. >> //journal]/@id/string()
//book[@id = "b1"] is (//book)[1]
count(//node())
count(//*/node())
count(/descendant-or-self::node()/@*)
root(//em) instance of document-node()
//see/root()/name(*)
//book/data(@id)
//book/(@id || ":" || price)
/library/shelf[2]/book[1]/title/em/ancestor::shelf/@no/string()
//year[. = 2004]/../name()
//year[. != 2004]/string()
sum(//price)
avg(//price)
min(//year), max(//year)
//book[@id = ("b1", "b3")]/@id/string()
//book[price idiv 10 = 3]/@id/string()
//last[. = "Fegaras"]/following::price[1]/string()
//book[see]/see[last()]/@ref/string()
//title[text()]/string()
//title[not(text())]/../@id/string()
//book/node()[self::price]/string()
//shelf/descendant::book[2]/@id/string()
//m/..
(//price, //price)/string()
((//book)[3], (//book)[1], (//book)[3])/@id/string()
((//book)[3], (//book)[1])/string(@id)
((//book)[3], (//book)[1], (//book)[3])/position()
((//book)[2], (//book)[1])/(title, price)/name()
//descendant::*[2]/name()
//shelf//*[3]/name()
//book/ancestor::*[1]/name()
//title/preceding::*[2]/name()
"""

FLWOR = """
for $b in //book return $b/@id/string()
for $b at $i in //book return $i || $b/@id
for $b in //book where $b/price > 20 return $b/title/string()
for $b in //book let $p := $b/price where $p > 20 and $b/year < 2003 return $p/string()
for $b in //book order by $b/price return $b/@id/string()
for $b in //book order by number($b/price) descending return $b/@id/string()
for $b in //book order by $b/author[1]/last empty greatest, $b/@id return $b/@id/string()
for $b in //book order by $b/author[1]/last empty least, $b/@id descending return $b/@id/string()
for $b in //book stable order by $b/@lang descending empty least return $b/@id/string()
for $x in (3, 1, 2) order by $x return $x
for $x in (3, 1, 2) order by $x descending return $x
for $x in ("b", "a", "C") order by lower-case($x) return $x
for $x in (1, 2, 3), $y in ($x to 3) return $x * $y
for $x in 1 to 3 for $y in 1 to 3 where $x = $y return $x + $y
for $x in 1 to 4 count $c where $c mod 2 = 0 return $c * $x
for $x in (5, 3, 4) order by $x count $c return $c || ":" || $x
for $x in () return 1
for $x allowing empty in () return empty($x)
for $x allowing empty at $p in () return $p
for $x in (1, 2) let $y := $x * 2 let $z := $y + 1 return $z - $y
let $x := (1, 2, 3) return $x[2]
let $x := //book return count($x)
let $x := 5 return let $x := $x + 1 return $x
for $s in //see, $b in //book where $s/@ref = $b/@id return $b/title/string()
for $b in //book let $r := for $s in //see where $s/@ref = $b/@id return $s return count($r)
for $b in //book let $r := //see[@ref = $b/@id] return count($r)
for $b in //book where some $s in //see satisfies $s/@ref = $b/@id return $b/@id/string()
for $b in //book where every $s in $b/see satisfies $s/@ref = "b1" return $b/@id/string()
for $b in //book let $l := for $o in //price where $o < 20 * $b/year div 1000 return $o return count($l)
for $b in //book for $o in //price where $b/price > $o return $b/@id || "/" || $o
for $b in //book for $o in //price where $o >= $b/price return $b/@id || "/" || $o
for $a in 1 to 3 for $b in 1 to 3 where $a < $b return $a || $b
for $n in (10, 20) for $p in //price where $p > $n return $n || "<" || $p
for $k in ("b1", "zz", "b3") return count(//book[@id = $k])
for $k in (2004, 1998) return //year[. = $k]/../@id/string()
for $x in 1 to 6 group by $m := $x mod 3 order by $m return $m || ":" || string-join($x ! string(), ",")
for $b in //book group by $y := $b/year/string() order by $y return $y || "=" || count($b)
for $b in //book let $l := $b/@lang group by $l order by $l return concat($l, ":", count($b))
for $x in (1, 2, 1), $y in ("a", "b") group by $x return $x || count($y)
for $x in (1, 2, 3) group by $k := 1 return sum($x)
for tumbling window $w in 1 to 7 start at $s when $s mod 3 = 1 return sum($w)
for tumbling window $w in (1, 5, 2, 8, 3) start $a when $a > 4 return <w>{$w}</w>
for tumbling window $w in 1 to 9 start when true() end at $e when $e mod 4 = 0 return count($w)
for tumbling window $w in 1 to 9 start when true() only end at $e when $e mod 4 = 0 return count($w)
for sliding window $w in 1 to 5 start at $s when true() only end at $e when $e - $s = 2 return sum($w)
for sliding window $w in 1 to 4 start at $s when $s > 1 end at $e when $e - $s = 1 return sum($w)
for tumbling window $w in 1 to 6 start $f next $n when $f + 1 = $n end previous $p when $p = 3 return count($w)
some $x in (1, 2), $y in (2, 3) satisfies $x = $y
every $x in (1, 2), $y in (2, 3) satisfies $x <= $y
some $x in () satisfies true()
every $x in () satisfies false()
for $x in (1 to 3)[. > 1] return $x
for $x in (for $y in 1 to 3 return ($y, $y * 10)) return $x
for $x in if (//book) then (1, 2) else () group by $k := $x mod 2 return $k
for $b in //book order by $b/title, $b/@id return $b/title/string()
for $b in //book return <b n="{$b/@id}">{$b/title/node()}</b>
let $f := function($x) { $x + 1 } for $i in 1 to 3 return $f($i)
for $i in 1 to 3 let $g := function() { $i } return $g()
(for $i in 1 to 3 return function() { $i }) ! .()
for $x in 1 to 2 return for $y in 1 to 2 return for $z in 1 to 2 return $x + $y + $z
for $x in 1 to 3 where $x != 2 return let $y := $x return if ($y > 2) then "big" else "small"
"""

OPERATORS = """
1 + 2 * 3 - 4 div 2
7 idiv 2, -7 idiv 2, 7 mod 3, -7 mod 3
1.5 + 1, 1.5e0 + 1, 10 div 4, 1 div 3.0
-(3), +(3), - - 3
() + 1
"a" || "b" || 3 || ()
1 to 3, 3 to 1
1 = 1, 1 = (2, 1), (1, 2) != (1, 2), () = ()
1 eq 1, "a" lt "b", 2 ge 3
(1, 2) = (2, 3), (1, 2) < (0, 2), "a" = ("b", "a")
1 eq 1.0, 1 eq 1e0, "a" ne "b"
//price = 65, //price > 60, //price < 0
not(()), not((1)), boolean("a"), boolean("")
true() and false(), true() or false(), () and true()
if (1) then "y" else "n", if (()) then "y" else "n"
(1, 2, 3)[2], (1, 2, 3)[. > 1], (1, 2, 3)[position() > 1], (1, 2, 3)[last()]
("a", "b")[1.0], (1, 2)[2 - 1], (1, 2)[0], (1, 2)[-1]
(1 to 10)[. mod 2 = 0][2]
(1, 2, 3) ! (. * 2)
(1 to 5) ! (1 to .) ! position()
(1 to 3) ! last()
switch (3) case 1 case 3 return "x" default return "y"
switch (()) case () return "none" default return "some"
switch ("a") case "b" return 1 default return 2
typeswitch (1) case xs:string return "s" case $i as xs:integer return $i + 1 default return "d"
typeswitch ((1, 2)) case xs:integer return "one" case xs:integer+ return "many" default $d return count($d)
typeswitch (//em) case element(em) return "em" default return "?"
1 instance of xs:integer, 1 instance of xs:string, () instance of empty-sequence()
(1, "a") instance of item()+, 1.5 instance of xs:decimal, //book instance of element(book)*
[1] instance of array(*), map { 1: 2 } instance of map(xs:integer, xs:integer)
"12" cast as xs:integer + 1, "x" castable as xs:integer, () cast as xs:integer?
xs:date("2024-02-29") + xs:yearMonthDuration("P1Y")
xs:dateTime("2024-01-01T00:00:00Z") - xs:dateTime("2023-12-31T00:00:00Z")
(1, 2) treat as xs:integer+
try { 1 div 0 } catch err:FOAR0001 { "zero" }
try { error(QName("urn:e", "e:x"), "text", (1, 2)) } catch * { $err:description, $err:value }
try { xs:integer("a") } catch err:FORG0001 | err:FORG0002 { local-name-from-QName($err:code) }
``[a `{1 + 1}` b `{("x", "y")}`]``
ordered { (1, 2) }, unordered { 3 }
"a" < "b", "B" < "a"
xs:untypedAtomic("3") + 1
xs:float("1.5") * 2
//year[1] + 1
sum(()), sum((1, 2.5)), count(()), avg((1, 2, 3))
string-join(("a", "b"), "-"), concat("a", 1, ()), string(1.50), string(1e6)
"abc" => upper-case() => substring(2)
(1, 2, 3) => sum()
let $f := upper-case#1 return $f("x")
let $add := function($a, $b) { $a + $b } return $add(1, ?)(2)
fold-left(1 to 5, 0, function($a, $b) { $a + $b })
for-each-pair((1, 2), (3, 4), function($a, $b) { $a * $b })
filter(1 to 6, function($x) { $x mod 2 = 0 })
sort((3, 1, 2)), reverse((1, 2, 3)), subsequence((1, 2, 3), 2), insert-before((1, 3), 2, 2), remove((1, 2), 1)
head((1, 2)), tail((1, 2, 3)), exists(()), empty(()), zero-or-one(()), exactly-one(1), one-or-more((1, 2))
index-of((10, 20, 10), 10), distinct-values((1, 1.0, "a")), deep-equal((1, 2), (1, 2))
map { "a": 1, "b": (2, 3) }?b, map { "a": 1 }("a"), map:keys(map { "k": 1 })
[1, (2, 3)]?2, [1, 2](1), array { 1, 2 }?*, array:size([1, 2, 3])
(map { "n": 1 }, map { "n": 2 }) ! ?n
([1, 2], [3])?1
map { "a": map { "b": [10, 20] } }?a?b?2
map { "x": 1, 2: "y" } ! (?x, ?2)
let $m := map { "a": 1 } return $m?("a", "b")
declare variable $x := 5; declare function local:f($n) { $n + $x }; local:f(1)
declare function local:f($n as xs:integer) as xs:integer { if ($n <= 1) then 1 else $n * local:f($n - 1) }; local:f(15)
declare function local:sum($n, $a) { if ($n = 0) then $a else local:sum($n - 1, $a + $n) }; local:sum(20000, 0)
declare function local:e($n) { $n = 0 or local:o($n) }; declare function local:o($n) { local:e($n - 1) }; local:e(10)
declare function local:d($n as xs:double) as xs:string { string($n) }; local:d(3)
declare function local:t($e as element()*) { $e ! name() }; local:t(//shelf)
declare variable $a := $b + 1; declare variable $b := 2; $a
"""

CONSTRUCTORS = """
<a/>
<a b="1" c="{1 + 1}x{(2, 3)}">t{1, 2}{3}<b/>{"x"}</a>
<a>{1}{2}</a>
<a>{1, 2}</a>
<a>{//em}</a>
<a>{//book[1]/@id}</a>
<a>{//em/text(), "x", //em/text()}</a>
<a> <b/> </a>
<a> {1} </a>
<a>&lt;&#65;{{}}</a>
<a><![CDATA[<x>]]></a>
<a><!--c--><?p q?></a>
<a>{comment {"c"}, processing-instruction p {"q"}, text {"t"}, attribute z {"1"}}</a>/*
element a { attribute b { 1, 2 }, "c", element d {} }
element { "x" } { "y" }
element { QName("urn:u", "p:x") } { attribute { QName("urn:v", "q:y") } { 1 } }
attribute a { 1, 2 } ! string()
document { <a/>, <b/> }/*/name()
text { "a", "b" } ! string()
<a xmlns="urn:d"><b/></a>
<p:a xmlns:p="urn:p"><p:b p:c="1"/></p:a>
<a xmlns="urn:d">{<b xmlns=""/>}</a>
declare default element namespace "urn:d"; <a><b/></a>
<a xmlns:p="urn:p">{//em}</a>
<a>{<b xmlns:q="urn:q" q:c="1"/>}</a>
<a>{//*:note}</a>
<a>{for $i in 1 to 3 return <i>{$i}</i>}</a>
<a>{if (true()) then <b/> else <c/>}</a>
<a>{(<b/>, <c/>)[2]}</a>
<a>{<b><c/></b>/c}</a>
count(<a><b/><b/></a>/b)
<a><b>1</b><b>2</b></a>/b[2]/string()
<a x="1"/>/@x + 1
let $a := <a><b/></a> return ($a/b is $a/b, $a/b/.. is $a, <a/> is <a/>)
let $x := <x><y/></x> let $c := <c>{$x/y}</c> return ($c/y is $x/y, root($c/y) is $c)
(<a/>, <b/>)/name()
<a>{[1, [2, 3]]}</a>
<a b="{[1, 2]}"/>
string(<a>x<b>y</b>z</a>)
<a>{""}</a>, <a>{"", ""}</a>
<a>{text {""}}</a>
name(<p:a xmlns:p="urn:p"/>), namespace-uri(<p:a xmlns:p="urn:p"/>)
in-scope-prefixes(<a xmlns:p="urn:p"/>) = "p"
<a>{namespace p {"urn:p"}, attribute q {1}}</a>
<out>{for $b in //book order by $b/@id descending return <b>{$b/@id, $b/title/text()}</b>}</out>
<a>{<b/>, 1, 2, <c/>, 3, "x"}</a>
<t>{//book/title}</t>
"""


def expressions(block: str) -> list[str]:
    """One expression per line."""
    return [line for line in block.strip().split("\n") if line]


ALL = [e for block in (PATHS, FLWOR, OPERATORS, CONSTRUCTORS) for e in expressions(block)]

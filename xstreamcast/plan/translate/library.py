"""The XQuery functions that every translation carries, first part: times and changes. See also ``translate/view.py``.

SIGMOD'04 §5 and §6, corrected and completed, in layers that each use the ones before:

* :data:`TIME`: instants;
* :data:`ARRIVALS`: the changes that a fragments file brings; from here on there is a ``$xcql:now``;
* :data:`LIFESPANS`: ``lifespan``, ``vtFrom``, ``vtTo``, Allen's relations;
* :data:`~xstreamcast.plan.translate.view.FRAGMENTS`: T1, what fills a hole (``get_fillers``), and T2, ``temporalize``;
* :data:`~xstreamcast.plan.translate.view.PROJECTION`: ``interval_projection`` and ``version_projection``.

What the paper's listings get wrong, and how it is here:

* ``get_fillers`` numbers fillers before it orders them, and takes the next filler's time for the end of an event and of
  a version of another tag: here versions are ordered first, per tsid, and an event ends when it begins;
* ``temporalize`` loses text and attributes beside elements: here everything is copied;
* ``interval_projection`` compares texts with ``now`` and treats [vtFrom, vtTo) as closed, so two versions live at a
  change: here times are times, and a clipped end remembers that it is closed (attribute ``vtTo-closed``, taken off
  before the answer is given);
* ``version_projection`` reads ``$e`` where it means ``$item``.

The functions are written so that no declaration of the query's own prolog changes them, except those that
:mod:`xstreamcast.plan.translate.program` refuses.
"""

from __future__ import annotations

from typing import Final

XCQL: Final = "urn:xstreamcast:xcql"
"""The namespace of what a translation declares, under the prefix ``xcql``."""

TIME: Final = r"""
(: start and now stand outside the calendar; these two texts are never printed :)
declare variable $xcql:start as xs:dateTime := xs:dateTime("0001-01-01T00:00:00Z");
declare variable $xcql:end as xs:dateTime := xs:dateTime("9999-12-31T23:59:59.999999Z");

(: a time as the wire writes it: no zone is UTC, a date is its midnight, digits beyond the microsecond are cut off :)
declare function xcql:time($text as xs:string) as xs:dateTime {
  if (fn:string-length($text) eq 19 and fn:substring($text, 11, 1) eq "T") then xs:dateTime($text || "Z")
  else
  let $t := fn:replace(fn:normalize-space($text), "(\.\d{6})\d+", "$1")
  return
    if ($t eq "now") then $xcql:end
    else if ($t eq "start") then $xcql:start
    else xcql:in_utc(if (fn:contains($t, "T")) then xs:dateTime($t) else xs:dateTime(xs:date($t)))
};

declare function xcql:in_utc($t as xs:dateTime) as xs:dateTime {
  fn:adjust-dateTime-to-timezone($t, xs:dayTimeDuration("PT0S"))
};

declare function xcql:is_time($text as xs:string) as xs:boolean {
  $text castable as xs:dateTime or $text castable as xs:date or fn:normalize-space($text) = ("start", "now")
};

declare function xcql:text_of($t as xs:dateTime) as xs:string {
  if ($t eq $xcql:end) then "now"
  else if ($t eq $xcql:start) then "start"
  else fn:substring-before(fn:string(xcql:in_utc($t)), "Z")
};
"""

LIFESPANS: Final = r"""
(: a bound inside brackets :)
declare function xcql:instant($value as item()*) as xs:dateTime? {
  let $values := fn:data($value)
  return
    if (fn:count($values) gt 1) then fn:error(xs:QName("err:XPTY0004"), "a time has several values")
    else
      typeswitch ($values)
        case xs:dateTime return xcql:in_utc($values)
        case xs:date return xcql:in_utc(xs:dateTime($values))
        case xs:string | xs:untypedAtomic return xcql:time(fn:string($values))
        case empty-sequence() return ()
        default return fn:error(xs:QName("err:XPTY0004"), "a bound must be a time")
};

(: when an element lives: its own [vtFrom, vtTo), [t, t] of an event, else the hull of its children, a leaf always :)
declare function xcql:lifespan($e as element()) as map(*) {
  if (fn:exists($e/@Q{}vtFrom)) then
    let $from := xcql:time($e/@Q{}vtFrom), $to := xcql:time(fn:string(($e/@Q{}vtTo, "now")[1]))
    return map { "from": $from, "to": $to, "closed": $from eq $to or fn:exists($e/@Q{}vtTo-closed) }
  else if (fn:exists($e/*)) then
    let $lives := $e/* ! xcql:lifespan(.), $to := fn:max($lives ! .?to)
    return map { "from": fn:min($lives ! .?from), "to": $to, "closed": $lives[.?to eq $to]?closed = fn:true() }
  else map { "from": $xcql:start, "to": $xcql:end, "closed": fn:true() }
};

declare function xcql:vtFrom($e as item()*) as xs:dateTime? { xcql:life_of($e)?from };

declare function xcql:vtTo($e as item()*) as xs:dateTime? {
  xcql:life_of($e)?to ! (if (. eq $xcql:end) then $xcql:now else .)
};

declare function xcql:life_of($e as item()*) as map(*)? {
  typeswitch ($e)
    case empty-sequence() return ()
    case element() return xcql:lifespan($e)
    default return fn:error(xs:QName("err:XPTY0004"), "a lifespan needs one element")
};

(: an operand of Allen's relations: an element, a time, or an array of two times :)
declare function xcql:interval($item as item()) as map(*)? {
  typeswitch ($item)
    case element() return xcql:lifespan($item)
    case array(*) return
      let $from := xcql:instant($item(1)), $to := xcql:instant($item(2))
      return
        if (array:size($item) ne 2) then fn:error(xs:QName("err:XPTY0004"), "an interval is [begin, end]")
        else if ($from le $to) then map { "from": $from, "to": $to, "closed": fn:true() } else ()
    default return xcql:instant($item) ! map { "from": ., "to": ., "closed": fn:true() }
};

(: ends are cuts of the time line: one open at t lies where what is closed at t begins, one closed at t after it :)
declare function xcql:cut($t as xs:dateTime, $t-after as xs:boolean, $u as xs:dateTime, $u-after as xs:boolean)
    as xs:integer {
  if ($t lt $u) then -1 else if ($t gt $u) then 1
  else if ($t-after eq $u-after) then 0 else if ($u-after) then -1 else 1
};

(: which of the thirteen relations holds; exactly one does :)
declare function xcql:relation($a as map(*), $b as map(*)) as xs:string {
  let $before := xcql:cut($a?to, $a?closed, $b?from, fn:false()),
      $after := xcql:cut($b?to, $b?closed, $a?from, fn:false()),
      $begins := xcql:cut($a?from, fn:false(), $b?from, fn:false()),
      $ends := xcql:cut($a?to, $a?closed, $b?to, $b?closed)
  return
    if ($before lt 0) then "before" else if ($before eq 0) then "meets"
    else if ($after lt 0) then "after" else if ($after eq 0) then "metBy"
    else if ($begins eq 0) then ("starts", "equals", "startedBy")[$ends + 2]
    else if ($ends eq 0) then (if ($begins gt 0) then "finishes" else "finishedBy")
    else if ($begins lt 0) then (if ($ends gt 0) then "contains" else "overlaps")
    else if ($ends lt 0) then "during" else "overlappedBy"
};

declare function xcql:allen($relation as xs:string, $left as item()*, $right as item()*) as xs:boolean {
  let $others := $right ! xcql:interval(.)
  return some $a in $left ! xcql:interval(.), $b in $others satisfies xcql:relation($a, $b) eq $relation
};
"""

ARRIVALS: Final = r"""
(: ---- T1: what a fragments file says of each region ---- :)

declare variable $xcql:stream as xs:string := "urn:xstreamcast:stream";
declare variable $xcql:updates as xs:string* := ("before", "after", "hide", "show", "freeze");
declare variable $xcql:carriers as xs:string* := ("filler", "repeat", "replace", "remove", "eos", $xcql:updates);

declare function xcql:items($file as document-node()) as element()* {
  if ($file/*[fn:local-name() = ("fragments", "updates")]) then $file/*/* else $file/*
};

(: the form of a stream, prefixed or bare, is that of its first change; elements of the other form are data :)
declare function xcql:form($items as element()*) as xs:string? {
  $items[fn:local-name() = $xcql:carriers][fn:namespace-uri() = ("", $xcql:stream)][1] ! fn:string(fn:namespace-uri())
};

(: the tag structure in the file: the type of each tsid, the root, and the tops of a stream without a named root :)
declare function xcql:structure($file as document-node()) as map(*)? {
  let $top := xcql:items($file)[fn:local-name() = ("structure", "tagStructure", "tag")]
                [fn:namespace-uri() = ("", $xcql:stream)]
  let $tags := $top/descendant-or-self::*[fn:local-name() eq "tag"]
  let $outer := (if ($top[1]/self::*:tag) then $top[1] else $top[1]/*)
  let $outer := if ($outer/@name) then $outer else ($outer/*, $outer[@id])
  where fn:exists($tags)
  return map {
    "types": map:merge($tags[@id] ! map:entry(xs:integer(@id), xcql:type(.))),
    "root": if (fn:count($outer) eq 1 and $top/descendant-or-self::*:tag[1]/@name) then xs:integer($outer/@id) else (),
    "tops": $outer/@id ! xs:integer(.)
  }
};

(: a structure given beside the file; the file's own may add to it :)
declare function xcql:with($given as map(*), $file as document-node()) as map(*) {
  map:put($given, "types", map:merge(($given?types, xcql:structure($file)?types)))
};

declare function xcql:type($tag as element()) as xs:string {
  if (fn:exists($tag/@type)) then fn:replace($tag/@type, "embedded", "snapshot")
  else if (fn:exists($tag/@filler)) then (if ($tag/@filler = ("true", "1", "yes")) then "filler" else "snapshot")
  else ""
};

(: the changes of a file in the order of their arrival, those that the structure does not know left out :)
declare function xcql:arrivals($file as document-node(), $structure as map(*)?) as map(*)* {
  let $items := xcql:items($file), $form := xcql:form($items)
  let $changes := $items[fn:local-name() = $xcql:carriers][fn:namespace-uri() = $form]
  let $unwrapped := $items[fn:not(fn:local-name() = $xcql:carriers and fn:namespace-uri() = $form)]
                      [fn:not(fn:local-name() = ("structure", "tagStructure", "tag"))][1]
                      [fn:not($changes[@id = "0"] << .)]
  let $refused := ($changes[fn:local-name() = $xcql:updates or @target],
                   $changes/descendant::*[fn:namespace-uri() eq $xcql:stream][fn:local-name() ne "hole"])[1]
  let $waiting := if (fn:exists($structure)) then () else $changes[@tsid][1]
  return
    if (fn:exists($refused)) then
      fn:error(fn:QName($xcql:stream, "XSC0071"), "update streams are not translated: " || fn:name($refused))
    else
      for $c in ($unwrapped, $changes)
      let $wrapped := fn:not($c is $unwrapped), $id := if ($wrapped) then $c/@id else "0"
      let $tsid := $c/@tsid[$wrapped][. castable as xs:integer] ! xs:integer(.), $time := $c/@validTime[$wrapped]
      where $id castable as xs:integer and fn:not($waiting << $c or $waiting is $c)
        and (fn:empty($tsid) or $structure?types ! map:contains(., $tsid))
        and (every $t in $time satisfies xcql:is_time($t))
      return map {
        "id": xs:integer($id),
        "doc": fn:string($c/@doc[$wrapped]),
        "tsid": $tsid,
        "type": fn:string(($tsid, $structure?root[$id = "0"])[1] ! $structure?types(.)),
        "version": $c/@version[$wrapped] ! xs:integer(.),
        "at": $time ! xcql:time(.),
        "remove": $wrapped and fn:local-name($c) eq "remove",
        "replace": $wrapped and fn:local-name($c) eq "replace",
        "change": $c,
        "content": if ($wrapped) then $c/node() else $c
      }
};

(: the event clock of a stream: the largest valid time it has brought :)
declare function xcql:clock($arrivals as map(*)*) as xs:dateTime { fn:max(($arrivals?at, $xcql:start)) };
"""

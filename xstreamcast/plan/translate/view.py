"""The XQuery functions that every translation carries, second part: fillers, the temporal view, projections."""

from __future__ import annotations

from typing import Final

FRAGMENTS: Final = r"""
(: what one region holds. Untimed: the newest. Versions: the newest at each time. Events: all, repeats left out. :)
declare function xcql:region($arrivals as map(*)*) as map(*)* {
  if (fn:count($arrivals) eq 1 and fn:not($arrivals?remove)) then
    map:put($arrivals, "at", ($arrivals?at, $xcql:start)[1])
  else
  let $changes := for $a at $n in $arrivals return
    if ($a?remove) then xcql:removals($a, fn:subsequence($arrivals, 1, $n - 1)) else $a
  return (
    fn:fold-left($changes[fn:not(.?type = ("temporal", "event"))], (), xcql:newer#2),
    for $v in $changes[.?type eq "temporal"] group by $tsid := $v?tsid, $at := ($v?at, $xcql:start)[1]
    return map:put(fn:fold-left($v, (), xcql:newer#2), "at", $at),
    for $e in $changes[.?type eq "event"] group by $tsid := $e?tsid, $at := ($e?at, $xcql:start)[1]
    return fn:fold-left($e, (), xcql:also#2) ! map:put(., "at", $at)
  )
};

(: a removal ends the life of versions, at its time or at the largest seen; of what is untimed it leaves a tombstone :)
declare function xcql:removals($a as map(*), $earlier as map(*)*) as map(*)* {
  let $timed := $a?type = ("temporal", "event"), $versions := $earlier[.?type eq "temporal"]
  return
    if (fn:empty($earlier) and fn:empty($a?version) and fn:not($timed and fn:exists($a?at))) then ()
    else if ($a?type eq "event") then ()
    else if ($timed or $earlier?type = ("temporal", "event")) then
      let $seen := $a?change/preceding-sibling::*/@validTime ! xcql:time(.),
          $at := ($a?at, fn:max($seen), $xcql:start)[1]
      for $tsid in if ($a?type ne "" or fn:exists($a?tsid)) then $a?tsid else fn:distinct-values($versions?tsid)
      return map:merge((map { "type": "temporal", "tsid": $tsid, "at": $at }, $a))
    else $a
};

(: changes to one thing are ordered by (version, arrival) :)
declare function xcql:newer($known as map(*)?, $next as map(*)) as map(*)? {
  if (fn:empty($known)) then $next
  else if ($next?version lt $known?version) then $known
  else if (fn:not($known?remove or $next?remove) and xcql:same($known, $next)) then
    (if (fn:exists($next?version)) then map:put($known, "version", $next?version) else $known)
  else if (fn:empty($next?version) and $next?type ne "temporal") then map:put($next, "version", $known?version)
  else $next
};

(: events of one instant: the same one again is a repeat unless its version differs; replace takes their place :)
declare function xcql:also($known as map(*)*, $next as map(*)) as map(*)* {
  let $kept := if ($next?replace) then $known[$next?version lt .?version] else $known
  return (
    $kept,
    if (some $k in $kept satisfies ($k?version, 0)[1] eq ($next?version, 0)[1] and xcql:same($k, $next))
    then () else $next
  )
};

declare function xcql:same($a as map(*), $b as map(*)) as xs:boolean {
  fn:codepoint-equal(xcql:serialised($a), xcql:serialised($b))
};

declare function xcql:serialised($a as map(*)) as xs:string {
  fn:serialize($a?content, map { "method": "xml", "omit-xml-declaration": fn:true() })
};

(: what is seen of a region at $xcql:now, in the order (vtFrom, version), with lifespans: the corrected get_fillers :)
declare function xcql:visible($fillings as map(*)*) as map(*)* {
  if (fn:count($fillings) eq 1 and fn:not($fillings?remove)) then
    (if (fn:not($fillings?type = ("temporal", "event"))) then $fillings
     else $fillings[.?at le $xcql:now] ! xcql:living(., if (.?type eq "event") then .?at else $xcql:end))
  else
  let $timed := $fillings[.?type = ("temporal", "event")][.?at le $xcql:now]
  let $lives := (
    for $v in $timed[.?type eq "temporal"]
    group by $tsid := $v?tsid
    return
      let $sorted := fn:sort($v, (), function($f) { $f?at })
      for $f at $n in $sorted
      return map:put($f, "to", ($sorted[$n + 1]?at, $xcql:end)[1]),
    $timed[.?type eq "event"] ! map:put(., "to", .?at)
  )
  let $ties := for $f in $lives group by $at := $f?at where fn:count($f) gt 1 return $at
  return (
    $fillings[fn:not(.?type = ("temporal", "event"))][fn:not(.?remove)],
    for $f in $lives
    where fn:not($f?remove)
    order by $f?at, ($f?version, 0)[1], ($f?tsid, 0)[1],
      if ($f?at = $ties) then xcql:serialised($f) else ""
        collation "http://www.w3.org/2005/xpath-functions/collation/codepoint"
    return xcql:living($f, $f?to)
  )
};

declare function xcql:living($f as map(*), $to as xs:dateTime) as map(*) {
  map:put(map:put($f, "vtFrom", xcql:text_of($f?at)), "vtTo", xcql:text_of($to))
};

(: a stream: what fills each hole, and where the document begins :)
declare function xcql:regions($file as document-node(), $structure as map(*)?, $arrivals as map(*)*) as map(*) {
  let $known := map:merge(for $a in $arrivals group by $id := $a?id return map:entry($id, xcql:region($a)))
  let $named := fn:empty($structure) or fn:exists($structure?root)
  return
    if (fn:count(fn:distinct-values($arrivals[fn:not($named) or .?id eq 0]?doc)) gt 1) then
      fn:error(fn:QName($xcql:stream, "XSC0033"), "the stream has several documents")
    else xcql:unwound(map {
      "bare": fn:not(xcql:form(xcql:items($file)) = $xcql:stream),
      "regions": map:merge(map:for-each($known, function($id, $fillings) { map:entry($id, xcql:visible($fillings)) })),
      "roots": if ($named) then 0 else xcql:tops($known, $structure?tops)
    })
};

(: a hole inside its own filler is empty. Only construction sees the whole path on which a hole lies: a stream that has
   one is constructed here, and is from then on a single fragment without holes. :)
declare function xcql:unwound($s as map(*)) as map(*) {
  let $holes := map:merge(map:for-each($s?regions, function($id, $fillings) {
    map:entry($id, $fillings?content/descendant-or-self::*[xcql:is_hole($s, .)]/@id ! xs:integer(.))
  }))
  return
    if (xcql:winds($holes)) then
      map { "bare": fn:false(), "regions": map { 0: map { "content": xcql:view($s)/node() } }, "roots": 0, "wound": 1 }
    else $s
};

(: whether some region leads back to itself: what is left when those that lead to none of the others are taken away :)
declare function xcql:winds($holes as map(*)) as xs:boolean {
  let $left := map:merge(map:for-each($holes, function($id, $to) {
    if (some $hole in $to satisfies map:contains($holes, $hole)) then map:entry($id, $to) else ()
  }))
  return map:size($left) gt 0 and (map:size($left) eq map:size($holes) or xcql:winds($left))
};

(: QaC+ finds fragments by their tags, which a stream without fragments has lost :)
declare function xcql:fragments_of($s as map(*), $id as xs:integer, $tsids as xs:integer+) as map(*)* {
  if (fn:exists($s?wound)) then
    fn:error(fn:QName($xcql:stream, "XSC0072"), "QaC+ reads fragments, but a hole lies inside its own filler")
  else $s?regions($id)[.?tsid = $tsids]
};

(: the regions at the top of a stream without a named root, in the order (version, id) :)
declare function xcql:tops($known as map(*), $tops as xs:integer*) as xs:integer* {
  for $id in map:keys($known)[$known(.)?tsid = $tops]
  order by fn:min($known($id)[.?tsid = $tops] ! (.?version, 0)[1]), $id
  return $id
};

declare function xcql:is_hole($s as map(*), $n as node()) as xs:boolean {
  $n instance of element() and fn:local-name($n) eq "hole"
    and (fn:namespace-uri($n) eq $xcql:stream or ($s?bare and fn:namespace-uri($n) = ""))
};

(: the namespaces of an element, but for the stream's own :)
declare function xcql:namespaces($e as element()) as node()* {
  for $p in fn:in-scope-prefixes($e)[. ne "xml"]
  let $uri := fn:namespace-uri-for-prefix($p, $e)
  where fn:not($uri = $xcql:stream)
  return namespace { $p } { $uri }
};

(: an element at the top of a filler, with its lifespan; untimed ones are left as they are :)
declare function xcql:dated($f as map(*), $e as element()?) as element()? {
  if (fn:empty($f?vtFrom) or fn:empty($e)) then $e
  else element { fn:node-name($e) } {
    xcql:namespaces($e), $e/@*[fn:not(fn:node-name() = (fn:QName("", "vtFrom"), fn:QName("", "vtTo")))],
    attribute vtFrom { $f?vtFrom }, attribute vtTo { $f?vtTo }, $e/node()
  }
};

(: what fills a hole, in order; of elements only those with the name, if one is given :)
declare function xcql:get_fillers($s as map(*), $id as xs:integer, $name as xs:QName?) as node()* {
  for $f in $s?regions($id), $n in $f?content
  return
    if (xcql:is_hole($s, $n)) then (if ($n/@id = $id) then () else xcql:get_fillers($s, xs:integer($n/@id), $name))
    else if ($n instance of element()) then xcql:dated($f, $n[fn:empty($name) or fn:node-name() eq $name])
    else if (fn:empty($name)) then $n
    else ()
};

(: the document node, its root element there, the holes below it not yet filled :)
declare function xcql:document($s as map(*)) as document-node() {
  document { $s?roots ! xcql:get_fillers($s, ., ())[fn:not(self::text())] }
};

(: T2: nodes with all their holes filled; $path are the holes passed, for a hole inside its own filler is empty :)
declare function xcql:fill($s as map(*), $nodes as node()*, $path as xs:integer*) as node()* {
  for $n in $nodes
  return
    if (fn:not($n instance of element())) then $n
    else if (xcql:is_hole($s, $n)) then xcql:fill_hole($s, xs:integer($n/@id), $path)
    else element { fn:node-name($n) } { xcql:namespaces($n), $n/@*, xcql:fill($s, $n/node(), $path) }
};

declare function xcql:fill_hole($s as map(*), $id as xs:integer, $path as xs:integer*) as node()* {
  if ($id = $path) then ()
  else
    for $f in $s?regions($id)
    return xcql:fill($s, if (fn:exists($f?vtFrom)) then $f?content ! xcql:dated_or_hole($s, $f, .) else $f?content,
                     ($id, $path))
};

declare function xcql:dated_or_hole($s as map(*), $f as map(*), $n as node()) as node() {
  if ($n instance of element() and fn:not(xcql:is_hole($s, $n))) then xcql:dated($f, $n) else $n
};

(: elements made whole. They become siblings, so that their order is document order for every engine. :)
declare function xcql:temporalize($s as map(*), $nodes as node()*) as node()* {
  if ($nodes[1] instance of document-node()) then $nodes ! document { xcql:fill($s, node(), ()) }
  else document { xcql:fill($s, $nodes, ()) }/node()
};

(: the temporal view: construct, then query :)
declare function xcql:view($s as map(*)) as document-node() {
  document { $s?roots ! xcql:fill_hole($s, ., ())[fn:not(self::text())] }
};

(: children through holes: query, then construct :)
declare function xcql:child($s as map(*), $e as node(), $name as xs:QName?) as node()* {
  for $n in $e/node()
  return
    if (xcql:is_hole($s, $n)) then xcql:get_fillers($s, xs:integer($n/@id), $name)
    else if (fn:empty($name) or ($n instance of element() and fn:node-name($n) eq $name)) then $n
    else ()
};

(: descendants of some names, through holes, in document order; $through are the names that lead to them :)
declare function xcql:descendant($s as map(*), $e as node(), $names as xs:QName*, $through as xs:QName*) as element()* {
  for $c in xcql:child($s, $e, ())[self::*]
  return (
    $c[fn:empty($names) or fn:node-name() = $names],
    if (fn:empty($names) or fn:node-name($c) = $through) then xcql:descendant($s, $c, $names, $through) else ()
  )
};

(: QaC+: the fillers of a tsid. Fragments above, of the tags $above, are opened for their hole ids only. :)
declare function xcql:fillers_by_tsid($s as map(*), $tsids as xs:integer+, $above as xs:integer*, $name as xs:QName)
    as element()* {
  for $id in xcql:hole_ids($s, $s?roots, $above, $name), $f in xcql:fragments_of($s, $id, $tsids)
  return $f?content[fn:node-name() = $name] ! xcql:dated($f, .)
};

declare function xcql:hole_ids($s as map(*), $ids as xs:integer*, $above as xs:integer*, $name as xs:QName)
    as xs:integer* {
  for $id in $ids
  return (
    $id,
    for $f in $s?regions($id)[fn:empty(.?tsid) or .?tsid = $above]
    let $inside := $f?content/descendant-or-self::*
    return
      if ($inside[fn:node-name() eq $name][fn:not(parent::* is $f?change)]) then
        fn:error(fn:QName($xcql:stream, "XSC0072"), "QaC+ reads fragments, but one came inline: " || $name)
      else xcql:hole_ids($s, $inside[xcql:is_hole($s, .)]/@id ! xs:integer(.), $above, $name)
  )
};

(: QaC+ as the paper has it: every filler of a tsid, in the order of arrival, assumed to hang on some hole :)
declare function xcql:all_fillers_by_tsid($s as map(*), $arrivals as map(*)*, $tsids as xs:integer+, $name as xs:QName)
    as element()* {
  for $id in fn:distinct-values($arrivals[.?tsid = $tsids]?id), $f in xcql:fragments_of($s, $id, $tsids)
  return $f?content[fn:node-name() = $name] ! xcql:dated($f, .)
};
"""

PROJECTION: Final = r"""
(: ---- projections; $s is the stream whose holes are still open in the nodes, () if there are none ---- :)

(: e?[from, to]: what lives in the interval, clipped to it; what has no lifespan is copied, its children projected :)
declare function xcql:project($s as map(*)?, $nodes as node()*, $from as xs:dateTime, $to as xs:dateTime,
    $closed as xs:boolean) as node()* {
  for $n in $nodes
  return
    typeswitch ($n)
      case document-node() return document { xcql:project($s, $n/node(), $from, $to, $closed) }
      case element() return
        if (fn:exists($s) and xcql:is_hole($s, $n)) then
          xcql:project($s, xcql:get_fillers($s, xs:integer($n/@id), ()), $from, $to, $closed)
        else if (fn:exists($n/@Q{}vtFrom)) then
          let $life := xcql:lifespan($n), $begin := fn:max(($life?from, $from)), $end := fn:min(($life?to, $to)),
              $shut := ($life?closed or $life?to gt $to) and ($closed or $life?to lt $to)
          where $begin lt $end or ($begin eq $end and $shut)
          return element { fn:node-name($n) } {
            xcql:namespaces($n),
            for $a in $n/@* return
              switch (fn:string(fn:node-name($a)))
                case "vtFrom" return attribute vtFrom { xcql:text_of($begin) }
                case "vtTo" return attribute vtTo { xcql:text_of($end) }
                case "vtTo-closed" return ()
                default return $a,
            if ($shut and $begin lt $end) then attribute vtTo-closed { fn:true() } else (),
            xcql:project($s, $n/node(), $from, $to, $closed)
          }
        else element { fn:node-name($n) } {
          xcql:namespaces($n), $n/@*, xcql:project($s, $n/node(), $from, $to, $closed)
        }
      default return $n
};

declare function xcql:interval_projection($s as map(*)?, $items as item()*, $from as item()*, $to as item()*)
    as item()* {
  let $begin := xcql:instant($from), $end := xcql:instant($to)
  where $begin le $end
  for $item in $items
  return if ($item instance of node()) then xcql:project($s, $item, $begin, $end, fn:true()) else $item
};

(: the versions and events among items, numbered by (vtFrom, document order) :)
declare function xcql:versions($items as item()*) as element()* {
  fn:sort($items[. instance of element()][@Q{}vtFrom], (), function($e) { xcql:time($e/@Q{}vtFrom) })
};

(: e#[first, last]: versions by number, each projected to its life; $alone: whether a snapshot, version 1 of 1, is in :)
declare function xcql:version_projection($s as map(*)?, $items as item()*, $first as xs:integer, $last as xs:integer,
    $alone as xs:boolean) as item()* {
  (fn:subsequence(xcql:versions($items), $first, $last - $first + 1),
   $items[$alone][fn:not(. instance of element() and fn:exists(@Q{}vtFrom))])
  ! (if (. instance of element()) then
       let $life := xcql:lifespan(if (fn:exists($s) and fn:empty(@Q{}vtFrom)) then xcql:temporalize($s, .) else .)
       return xcql:project($s, ., $life?from, $life?to, $life?closed)
     else .)
};

(: the answer, without the marks of closed ends :)
declare function xcql:answer($items as item()*) as item()* {
  for $item in $items
  return
    typeswitch ($item)
      case document-node() | element() return
        if (fn:exists($item//@Q{}vtTo-closed)) then xcql:unmarked($item) else $item
      case array(*) return array:for-each($item, xcql:answer#1)
      case map(*) return map:merge(map:for-each($item, function($k, $v) { map:entry($k, xcql:answer($v)) }))
      default return $item
};

declare function xcql:unmarked($n as node()) as node() {
  typeswitch ($n)
    case document-node() return document { $n/node() ! xcql:unmarked(.) }
    case element() return element { fn:node-name($n) } {
      xcql:namespaces($n), $n/@*[fn:not(fn:node-name() eq fn:QName("", "vtTo-closed"))], $n/node() ! xcql:unmarked(.)
    }
    default return $n
};
"""

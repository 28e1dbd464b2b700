(: SIGMOD'04 §2, example 2: two antennas, at (0, 0) and (10, 0), hear one vehicle within a second: where it is. :)
declare function local:triangulate($a as element(angle), $b as element(angle)) as xs:double {
  let $s := math:tan($a * math:pi() div 180), $t := math:tan($b * math:pi() div 180)
  return round(10 * $t div ($t - $s), 3)
};
for $r in stream("radar1")//event,
    $s in stream("radar2")//event?[vtFrom($r)-PT1S, vtTo($r)+PT1S]
where $r/frequency = $s/frequency
return <position x="{local:triangulate($r/angle, $s/angle)}">{ $r/frequency }</position>

(: SIGMOD'04 §2, example 3: a green light for the ambulance, when it will be there.
   corrected because: a dateTime plus a number is nothing in XQuery; seconds are a duration. :)
declare function local:distance($a as element(location), $b as element(location)) as xs:double {
  math:sqrt(math:pow($a/x - $b/x, 2) + math:pow($a/y - $b/y, 2))
};
for $v in stream("vehicle")//event,
    $r in stream("road_sensor")//event?[vtFrom($v), vtTo($v)],
    $t in stream("traffic_light")//event?[vtFrom($v), vtTo($v)]
where local:distance($v/location, $r/location) < 50
  and local:distance($v/location, $t/location) < 60
  and $v/type = "ambulance"
return
  <set_traffic_light ID="{$t/id}">
    <status>green</status>
    <time>{ vtFrom($t) + round(local:distance($v/location, $t/location) div $r/speed) * xs:dayTimeDuration("PT1S") }</time>
  </set_traffic_light>

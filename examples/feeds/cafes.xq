(: Cafés by name, as the map is now. :)
for $n in stream("osm")/osm/node
where $n/tag[@k = "amenity"]/@v = "cafe"
order by $n/tag[@k = "name"]/@v
return <cafe id="{$n/@id}" version="{$n/@version}">{ string($n/tag[@k = "name"]/@v) }</cafe>

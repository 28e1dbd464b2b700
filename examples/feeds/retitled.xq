(: Entries whose title was another within the last hour. :)
declare namespace atom = "http://www.w3.org/2005/Atom";
for $e in stream("news")//atom:entry?[now-PT1H, now]
group by $id := string($e/atom:id)
where count(distinct-values($e/atom:title)) > 1
return <retitled id="{$id}">{ string-join($e/atom:title, " → ") }</retitled>

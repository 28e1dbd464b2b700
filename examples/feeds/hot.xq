(: Sensors whose mean of the last five minutes is above 30. :)
for $r in stream("readings")//reading?[now-PT5M, now]
group by $sensor := string($r/@sensor)
where avg($r/value) > 30
return <hot sensor="{$sensor}">{ round(avg($r/value), 1) }</hot>

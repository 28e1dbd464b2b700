(: SIGMOD'04 §2, example 1, as it is printed: the window begins after a minute, and so those are warned of that have no
   acknowledgement later than that. :)
for $s in stream("gsyn")//packet
where not(some $a in stream("ack")//packet?[vtFrom($s) + PT1M, now]
          satisfies $s/id = $a/id and $s/srcIP = $a/destIP and $s/srcPort = $a/destPort)
return <warning>{ $s/id }</warning>

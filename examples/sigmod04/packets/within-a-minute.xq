(: SIGMOD'04 §2, example 1, as its text reads: packets without an acknowledgement within a minute. :)
for $s in stream("gsyn")//packet
where not(some $a in stream("ack")//packet?[vtFrom($s), vtFrom($s) + PT1M]
          satisfies $s/id = $a/id and $s/srcIP = $a/destIP and $s/srcPort = $a/destPort)
return <warning>{ $s/id }</warning>

(: DBPL'03 §3.1, §4.9: the vendors that sell PDAs of HP.
   printed: for $b in document(commodities)//vendor//item where $b/name = "PDA" and $b/make = "HP"
            return <vendor> { $b/../../name } </vendor>
   corrected because: §4.9 asks it of the stream, whose name is a string. :)
for $b in stream("commodities")//vendor//item
where $b/name = "PDA" and $b/make = "HP"
return <vendor>{ $b/../../name }</vendor>

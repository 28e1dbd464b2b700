(: SIGMOD'04 §6, query 2: spent within an hour more than 5000, and more than nine tenths of the present limit.
   corrected because: max takes one sequence. :)
for $a in stream("credit")//account
where sum($a/transaction?[now-PT1H,now][status = "charged"]/amount) >= max(($a/creditLimit?[now] * 0.9, 5000))
return <alert><account id="{$a/@id}">{$a/customer}</account></alert>

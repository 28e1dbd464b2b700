(: SIGMOD'04 §6, query 1: accounts that are maxed out in the billing period of November 2003.
   The text of the paper has lost its digits and brackets; this is their reconstruction. :)
for $a in stream("credit")//account
where sum($a/transaction?[2003-11-01,2003-12-01][status = "charged"]/amount) >= $a/creditLimit?[now]
return <account>{ attribute id {$a/@id}, $a/customer, $a/creditLimit }</account>

(: DBPL'03 §1: the prices of PalmPilots in pounds, lowest to highest; two streams.
   printed: … where $c/model/text() = "Palm-Pilot" return <vendor> $c/../../name/text() </vendor> <price> for $u in
            stream(currency)//rates/currency … return $u/buying/value()*$c/price/value() </price> sortby($c/price)
   corrected because: streams are named by strings, constructors need braces, two results a parenthesis; value() is
   atomisation; sortby is not in XQuery and would have sorted by the price in the vendor's currency, as text. :)
<result>{
  for $c in stream("commodities")//vendor/items/item
  let $price :=
    for $u in stream("currencies")//rates/currency
    where $u/code/text() = "GBP" and $u/../../code/text() = $c/price/@currency
    return $u/buying * $c/price
  where $c/model/text() = "PalmPilot"
  stable order by $price empty greatest
  return (<vendor>{ $c/../../name/text() }</vendor>, <price>{ $price }</price>)
}</result>

(: ICDE'08 §I: what Wiley has of Smith, by price, while prices, authors and publishers change.
   printed: … for $b in stream()/biblio[publisher = "Wiley"]/books where $b/author/lastname = "Smith"
            order by $b/price return <book>{ $b/title, $b/price }</book>
   corrected because: streams have names; order by compares untyped prices as strings, by which 102.50 is below 18. :)
<books>{
  for $b in stream("biblio")/biblio[publisher = "Wiley"]/books
  where $b/author/lastname = "Smith"
  order by xs:decimal($b/price)
  return <book>{ $b/title, $b/price }</book>
}</books>

(: ICDE'08 §V: the current quotation of IBM.
   printed: "the query that retrieves the IBM stock quotation"
   corrected because: only the sentence is printed. :)
stream("ticker")//stock[name = "IBM"]/quotation

(: WebDB'05 §4.4, query 1: the values of stocks rated hold or, in the order of strings, above: hold and sell, not buy.
   printed: stream("stock.xml")/stock[rating >= "hold"]/value
   corrected because: the stream is called stock. :)
stream("stock")/stock[rating >= "hold"]/value

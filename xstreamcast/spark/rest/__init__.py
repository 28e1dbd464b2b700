"""Stored documents on Spark: cut anywhere, scanned in ranges, put together by Spark's own operators.

In come a query and files; out come items or rows, in the order of the documents. "Rest" is data at rest. Read in this
order:

* the way in: :mod:`.at_rest`; :mod:`.at_once` (small ones, by the driver), :mod:`.document_reader` (as a data source)
* files and cuts: :mod:`.files`, :mod:`.seams` (where a document may be cut), :mod:`.packed`, :mod:`.indexing`,
  :mod:`.door` (the driver is asked), :mod:`.shares` (documents by task)
* tasks: :mod:`.program` (what one runs), :mod:`.ranges`, :mod:`.partials` (what a range contributes),
  :mod:`.projection` and :mod:`.shapes` (parts that travel), :mod:`.frames` (results in order)
* :mod:`.collected` and :mod:`.collected_plan`  ``collection()``: each document by itself
* :mod:`.relational`  joins, groups and sorts
"""

"""A checked syntax tree → a plan: what is scanned, what is kept, what is followed by difference, what blocks.

In comes a module of :mod:`xstreamcast.lang`; out comes a :class:`~.algebra.Plan`, units that one scan computes each and
an expression over their values, with all that ``explain`` says of it. Nothing here runs a query. Read in this order:

* :mod:`.algebra`       the plan: units, sources, reductions
* :mod:`.passes`        rewrites of the query, in one visible order; :mod:`.focus` (what an expression looks at of its
  context) and :mod:`.sources` (documents as variables) are what they ask
* :mod:`.decompose`     the query split into units and the rest
* :mod:`.projection`    the parts of documents that an expression can see
* :mod:`.modes`         certain and optimistic emission, as rewritings
* :mod:`.retention`, :mod:`.windows` and :mod:`.mutability`  how long what is known must be kept
* :mod:`.result`        the tag structure of the answer
* :mod:`.graph`         the stream data-flow graph and the verdict (VLDB'05), :mod:`.operators` the algebra's operators
  with their classes, :mod:`.explain` all of it as text, picture and data
* :mod:`.translate`     XCQL as standard XQuery (SIGMOD'04), which needs no plan
"""

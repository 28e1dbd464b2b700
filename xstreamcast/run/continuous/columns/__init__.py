"""Continuous queries in columns: what has come is arrays, the work is done for a batch of changes at a time.

In come batches of changes (:mod:`.inlet`, :mod:`.arrived`), out go differences of the answer (:mod:`.shelf`). Read
:mod:`.layout`, then in the order of the pipeline:

* the table of regions: :mod:`.arrays` (that grow) and :mod:`.arena` (contents), :mod:`.taking` (T1), :mod:`.tags` and
  :mod:`.spelling` (names and namespaces), :mod:`.standing` (where regions are), :mod:`.ordering` and :mod:`.labels`
  (document order), :mod:`.splicing` (fragments as text), :mod:`.seams` (where holes are in it), :mod:`.open_holes`
  (those that may take more), :mod:`.table` (all of these), :mod:`.widening` (when there are more tags than before),
  :mod:`.letting_go` (what has passed all windows)
* a unit: :mod:`.routed` and :mod:`.roles` (what a tag's fragments are to it), :mod:`.shells` (records that are cut),
  :mod:`.rows` (E over a batch), :mod:`.followed` (which fragments are evaluated), :mod:`.adjust` (sums and rows),
  :mod:`.keyed` (sorted rows and groups), :mod:`.joined` (rows by keys), :mod:`.operated` (rows that an operator of
  every engine keeps)
* queries: :mod:`.engine` (all of it for one query), :mod:`.modal` (for one that asks for open holes), :mod:`.alike`
  (queries that differ in constants), :mod:`.following` (whether streams are followed so)

A query that is not followed in columns is followed one by one (:mod:`xstreamcast.run.continuous.associate`); a query
may be handed over from here to there at any moment.
"""

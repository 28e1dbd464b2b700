"""Continuous queries in columns: what has come is arrays, the work is done for a batch of changes at a time.

In come batches of changes (:mod:`inlet`), out go differences of the answer (:mod:`shelf`). Read :mod:`layout`, then
in the order of the pipeline: :mod:`taking` (T1), :mod:`spelling` (names and namespaces), :mod:`standing` (where
regions are), :mod:`ordering`, :mod:`splicing` (fragments as text), :mod:`seams` (where holes are
in it), :mod:`open_holes` (those that may take more), :mod:`table` (all of these, on arrays that grow), :mod:`roles`
(what a tag's fragments are to a unit), :mod:`widening` (when there are more tags than before), :mod:`rows` (E over a
batch), :mod:`adjust` (sums and rows), :mod:`keyed` (sorted rows and groups), :mod:`joined` (rows by keys),
:mod:`operated` (rows that an operator of every engine keeps, by :mod:`labels`), :mod:`engine` (all of it for one
query), :mod:`modal` (for one that asks for open holes). What is not followed in columns is followed
one by one (:mod:`xstreamcast.run.continuous.associate`); a query may be handed over from here to there at any moment.
"""

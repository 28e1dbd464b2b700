"""Queries that go on: changes in, changes of the answer out; T(q'(γ)) = q(T(γ)) after each of them.

In come changes of streams; out go changes of one stream, the answer. :mod:`.query` is the way in from Python,
:mod:`.planned` makes the plan and tells why there is none, :mod:`.engine` drives the stages. These are the folders, in
the order in which a change walks them:

* :mod:`.arrive`     reading sources, the table of regions that queries share
* :mod:`.associate`  where fragments stand in the document, which members of which units lie there
* :mod:`.evaluate`   the program of a unit over a member, or over many fragments
* :mod:`.adjust`     differences in sums, sorts, groups, joins
* :mod:`.display`    the answer as regions
* :mod:`.time`       the clock, and what is let go of

:mod:`.columns` does the same stages over arrays, for batches; :mod:`.related` has the order of units that need each
other, :mod:`.journal` what a change did beside the answer, :mod:`.sizes` how much is kept. :mod:`.from_scratch` is the
right side of the equation, asked before anything has come and where no difference can be followed.
"""

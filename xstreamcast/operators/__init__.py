"""The operators of the algebra, one file each: its equation, what it keeps, and how that is added to and taken from.

Plans name operators; engines (stored documents, changes, Spark) drive them without knowing one by its name. Read
:mod:`~xstreamcast.operators.state` (what an operator keeps), :mod:`~xstreamcast.operators.monoid` (how what it keeps is
put together), then :mod:`~xstreamcast.operators.aggregates` (Δ, the table of the aggregate functions) with
:mod:`~xstreamcast.operators.accumulators` (values that come and go) and :mod:`~xstreamcast.operators.of_values` (many
groups at a time). Sort and Γ work on :mod:`~xstreamcast.operators.keys` (as bytes),
:mod:`~xstreamcast.operators.rows` (as columns, and on disk) and :mod:`~xstreamcast.operators.grouping`.
"""

"""The operators of the algebra, one file each: its equation, what it keeps, and how that is added to and taken from.

Plans name operators; engines (stored documents, changes, Spark) drive them without knowing one by its name. Read
:mod:`~xstreamcast.operators.state` (what an operator keeps), :mod:`~xstreamcast.operators.monoid` (how what it keeps is
put together), then :mod:`~xstreamcast.operators.aggregates` (Δ, the table of the aggregate functions).
"""

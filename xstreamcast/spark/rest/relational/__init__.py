"""Joins, grouping and sorting of stored documents as Spark's own operators.

In comes a plan with units that need each other; out come DataFrames. Read :mod:`.plan` (which units), :mod:`.relations`
(the answer), :mod:`.operators` (scan, exchange, join, sort) and :mod:`.stages`, then what travels: :mod:`.keys` (bytes
that order as XQuery's values), :mod:`.sending`, :mod:`.narrowing`; and what tasks do: :mod:`.work`, :mod:`.asks`,
:mod:`.lookups` (⋈), :mod:`.gathering` and :mod:`.groups` (Γ), :mod:`.placing` (sorted rows).
"""

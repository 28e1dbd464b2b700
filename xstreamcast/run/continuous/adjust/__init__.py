"""Differences, folded into sums, sorts, groups, look-ups and positions: each in O(log n).

In comes what a member said before and what it says now; out goes what is different in an operator's value or rows. Read
:mod:`.order` (order trees: sequences with sums) and :mod:`.sums`, :mod:`.host` (what an operator knows of its engine)
and :mod:`.operators` (which one follows a unit), then the operators:

* ⋈: :mod:`.lookup` (by key), :mod:`.ranged` (by order), :mod:`.coincidence` (in time), :mod:`.compared` (any condition)
* sort and Γ: :mod:`.derived` (rows beside document order), :mod:`.collect`
* positions: :mod:`.ranked`, :mod:`.siblings`, :mod:`.sided` (before and after), :mod:`.windows`, :mod:`.versions`
* folds: :mod:`.replayed`; members that are kept as they are: :mod:`.kept`
"""

"""Projection: the parts of its documents that an expression can see. The scan builds nothing else.

In come an expression and the paths of its variables; out come targets for the scan's automaton. Read :mod:`.project`
(the question), :mod:`.analysis` (an abstract run that answers it), :mod:`.values` and :mod:`.paths` (its abstract
values: where nodes can be), :mod:`.flow` (what it finds on its way), :mod:`.library` (what functions look at),
:mod:`.lookups` (joins).
"""

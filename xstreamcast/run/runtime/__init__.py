"""Functions that generated code calls while it runs.

In come rows and items from the code that :mod:`xstreamcast.run.compile` writes; out go rows and items. Read
:mod:`.environment` (the names that the code can use), then :mod:`.values`, :mod:`.nodes` and :mod:`.chains` (steps,
column at a time), :mod:`.construct` and :mod:`.shapes` (new elements), :mod:`.functions`, :mod:`.order` (sort) and
:mod:`.indexes` (joins).
"""

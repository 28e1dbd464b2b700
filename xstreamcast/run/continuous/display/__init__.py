"""The answer as a stream of changes, and on a terminal.

In come the rows and values that are different; out go changes of regions. Read :mod:`.emit` (the whole), :mod:`.shelf`
(parts as regions in order), :mod:`.labels` (the order of items as texts), the kinds of parts :mod:`.members`,
:mod:`.placed` (rows of operators) and :mod:`.frame` (new elements around), then items as text: :mod:`.written`,
:mod:`.sewn` and :mod:`.regions_told` (open holes of what an item copies). :mod:`.announced` is the answer's structure,
:mod:`.live_view` the terminal.
"""

"""The clock, how long what was evaluated stays true, and what is let go of.

In come instants and what is fixed; out go evaluations that are due and regions that nobody needs any more. Read
:mod:`.clock`, :mod:`.horizon` (how long a value stays true), :mod:`.retention` (what has passed all windows),
:mod:`.fixing` and :mod:`.sealing` (what stays as it is), :mod:`.archive` (what has been told, in a file).
"""

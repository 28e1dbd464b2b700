"""The stream data-flow graph of a query, its fusion, and the single-pass verdict (VLDB'05 §4).

In comes a module; out come a graph of sequences and atomic values and a verdict with its witness, which ``explain``
shows. Read :mod:`.nodes` (the graph), :mod:`.build` and :mod:`.draw` (an abstract run that makes it), :mod:`.fusion`
(horizontal and vertical), :mod:`.verdict` (Theorems 1 to 4).
"""

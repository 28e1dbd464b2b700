"""What streams bring: read, shared by all queries that look at it, parsed once.

In come sources, or changes that are fed; out go changes taken into one table of regions, and the regions that are
different. Read :mod:`.arrivals` (sources as they come), :mod:`.growing` (plain documents that arrive slowly),
:mod:`.fed` (documents that bring records), :mod:`.inflow` (the streams of some queries, and their clock), :mod:`.share`
(one association for several queries), :mod:`.at_once` (many changes together), :mod:`.passing` (regions that no query
needs), :mod:`.grove` (contents as trees).
"""

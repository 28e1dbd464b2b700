"""The wire form of streams (``docs/wire.md``): bytes on one side, changes on the other.

In come the bytes of a fragments file, a pipe or messages; out come changes, structures and diagnostics, each with its
place. Also the other way: changes go in, their bytes come out. Read in this order:

* :mod:`~xstreamcast.wire.framing`   where a fragment ends, without opening it
* :mod:`~xstreamcast.wire.content`   what stands in a fragment: markup and holes, the tag at its top, updates within
* :mod:`~xstreamcast.wire.fragment`  whole fragments as changes: the reader, the writer, the form that a stream has
"""

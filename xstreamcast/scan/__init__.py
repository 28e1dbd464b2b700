"""Bytes → *projected* trees: the first stage. What no path of a query can see is skipped, not built.

In come files, pipes, bytes, archives, addresses, and the paths that a query looks at; out come batches of rows or trees
with the parts that these paths reach, and an error with its place where the input is not well-formed.

Read in this order:

* inputs: :mod:`.given` (what may be given for a document) and :mod:`.foreign` (trees of lxml), :mod:`.encoding` (to
  plain UTF-8), :mod:`.sequence` (documents one after the other), :mod:`.normalise` and :mod:`.external` (DTDs),
  :mod:`.web`; :mod:`.archives` and :mod:`.archive_formats`; packed files entered in the middle: :mod:`.pieces`,
  :mod:`.blocks` (bz2), :mod:`.members` and :mod:`.flushed` (gz)
* small documents: :mod:`.parse`, by expat
* paths: :mod:`.path`, :mod:`.automaton`, :mod:`.tables` (the automaton as the kernel asks it), :mod:`.filters`
  (conditions that the scan tests)
* the kernel, machine code: :mod:`.kernel`, with :mod:`.token`, :mod:`.content`, :mod:`.symbols` (names), :mod:`.rows`
  (its output) and :mod:`.layout` (the words it shares with Python); :mod:`.scanner` drives it, :mod:`.reader` feeds it
* what comes out: :mod:`.tree` and :mod:`.growth` (trees), :mod:`.documents` (a large document as small ones),
  :mod:`.octets` and :mod:`.spans` (values side by side)
* several cores: :mod:`.split` (a range before all that comes before it), :mod:`.ahead`
"""

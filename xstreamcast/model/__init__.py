"""The data model (XDM 3.1), and the change language in which everything flows.

In come parsed rows, lexical forms and Python's values; out go nodes, atomic values and functions as the engines use
them, and their text again. Nothing here reads a file or knows a query. Read in this order:

* nodes: :mod:`.names` (names as integers) and :mod:`.namespaces`, :mod:`.tree` (one pre-order table of columns),
  :mod:`.node` (a row of it as an item), :mod:`.build` (rows from events), :mod:`.axes`, :mod:`.depth` (the one limit),
  :mod:`.interop` (to lxml)
* values: :mod:`.atomic`, :mod:`.datetime`, :mod:`.lexical` (text and values), :mod:`.types` (sequence types),
  :mod:`.cast`, :mod:`.convert` (atomisation, function conversion), :mod:`.arithmetic`, :mod:`.exact` (sums),
  :mod:`.compare`, :mod:`.deep_equal`, :mod:`.collation` and :mod:`.collation_icu`, :mod:`.function` (functions, maps,
  arrays), :mod:`.python_values`
* streams: :mod:`.change` (fill, replace, remove …), :mod:`.structure` (tag structures; :mod:`.structure_html` draws
  one), :mod:`.time` (instants, lifespans), :mod:`.diagnostic` and :mod:`.findings` (what was put aside)
* out: :mod:`.serialise` with its methods :mod:`.serialise_xml`, :mod:`.serialise_html`, :mod:`.serialise_json` and
  their :mod:`.serialise_parameters`
* for engines: :mod:`.record` (small values compared by their parts), :mod:`.garbage` (the collector, while much is
  made)
"""

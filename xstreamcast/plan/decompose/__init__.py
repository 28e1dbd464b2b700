"""A query → units that one scan computes each, and what is left to do with their values.

In comes a module after :mod:`xstreamcast.plan.passes`; out comes a plan of :mod:`xstreamcast.plan.algebra`. A loop over
a document becomes a unit; where its body looks at more than one record, that is a unit too, and the body a look-up in
it. Read in this order:

* :mod:`.plan`      the whole; :mod:`.units` finds the units, :mod:`.residual` is what is left, :mod:`.splices` the
  parts of an answer that can be told item by item, :mod:`.one_root` what is taken for granted of a document
* records: :mod:`.spread` (which expressions distribute over cuts, what their records are) and :mod:`.distributed`,
  :mod:`.record` (what a body may look at), :mod:`.rows` (the tuples of a loop), :mod:`.paths`, :mod:`.record_paths`
  (nodes as seen from the record), :mod:`.unit_view` (what a unit sees, as an expression), :mod:`.scan_filters`
  (conditions that the scan tests)
* shapes of loops: :mod:`.containers` (elements as large as the document), :mod:`.recursive_elements` (elements inside
  each other), :mod:`.frames` (aggregates below a record), :mod:`.constructors` (new elements around units)
* operators: :mod:`.forms` (aggregates, slices), :mod:`.joins` and :mod:`.conditions` (⋈), :mod:`.collect` (sort, group)
  with :mod:`.columns` and :mod:`.groups`, :mod:`.ranks`, :mod:`.reordered`, :mod:`.marks` (before and after),
  :mod:`.windows`, :mod:`.folds`
"""

"""Evaluation: a plan and its inputs → the answer, at once (this folder) or for ever (:mod:`.continuous`).

In come a query's text and documents, files, pipes or streams; out come items, rows and changes. Read in this order:

* the ways in: :mod:`.query` (``query()``, ``compile()``), :mod:`.explained` (``explain()``), :mod:`.continuous`
* inputs: :mod:`.inputs` (what is large, what can be read twice), :mod:`.stored` (files, folders, patterns),
  :mod:`.collection`, :mod:`.library` (documents by name; Python's values as items) with :mod:`.tables`, :mod:`.streams`
  (streams asked once)
* code: :mod:`.compile` makes Python source of expressions, :mod:`.runtime` is what that calls, :mod:`.evaluate` runs
  it, :mod:`.temporal` is what it needs for XCQL; :mod:`.recursion` runs recursive functions as folds
* large documents: :mod:`.route` (tree or scan), :mod:`.single_pass` (the scan, batch by batch), :mod:`.units`,
  :mod:`.sharing`, :mod:`.asking`, :mod:`.reductions` and :mod:`.grouping`, :mod:`.growing`; in columns
  :mod:`.by_columns`, :mod:`.collected`, :mod:`.subtrees`, :mod:`.computed`
* answers: :mod:`.result`, :mod:`.tabled` (kept in tables), :mod:`.shown` and :mod:`.redrawn` (in notebooks), and what
  can hardly be meant: :mod:`.doubts`, :mod:`.unmatched`
"""

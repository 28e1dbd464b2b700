"""XCQL → standard XQuery 3.1 on the fragments file (SIGMOD'04 §6), by the paper's methods CaQ, QaC and QaC+.

In comes a query, with the structures of its streams; out comes the text of a program that any XQuery processor runs. It
is a second implementation that tests compare with. Read :mod:`.program` (the whole), :mod:`.shapes` (static types),
:mod:`.scope` (what every rule uses), :mod:`.paths` (where one crosses a hole) and :mod:`.expressions`; the functions
that a program carries are in :mod:`.library` and :mod:`.view`.
"""

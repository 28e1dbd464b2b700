"""Answers as tables. Items of a query come in; rows with typed columns go out, to Arrow, to files and to databases.

Read in this order:

* :mod:`~xstreamcast.tables.cells`    an item as a row, and a value as what stands in a cell
* :mod:`~xstreamcast.tables.kinds`    the types of columns: which there are, which is the narrowest for some values
* :mod:`~xstreamcast.tables.columns`  paths and types of columns, and whole columns of scanned records at once
* :mod:`~xstreamcast.tables.fields`   the columns of elements in which children and attributes are the fields
* :mod:`~xstreamcast.tables.chosen`   a query whose items are rows with the columns that somebody asked for
* :mod:`~xstreamcast.tables.batches`  rows as Arrow's record batches, as they are found
* :mod:`~xstreamcast.tables.files`    Parquet, Arrow, CSV, TSV and JSON lines
* :mod:`~xstreamcast.tables.answer_table`  a table in a database that equals an answer; beneath it
  :mod:`~xstreamcast.tables.database` (:mod:`~xstreamcast.tables.database_duckdb`,
  :mod:`~xstreamcast.tables.database_postgres`), above it :mod:`~xstreamcast.tables.contents` and
  :mod:`~xstreamcast.tables.sink`, which turn changes into rows
"""

"""The magic of notebooks: ``%load_ext xstreamcast`` brings ``%xcql`` and ``%%xcql``.

In come a line of options, read as those of a command, and a query in a cell; out comes its answer below the cell. The
variables that the query does not declare are those of the notebook (:mod:`.magic`, the only module). How objects look
in a notebook is not said here: a structure draws itself in :mod:`xstreamcast.model.structure_html`, an explanation in
:mod:`xstreamcast.plan.explain.html`, queries and answers in :mod:`xstreamcast.run.shown`, all with the pieces of
:mod:`xstreamcast.page`; a query that goes on is drawn again by :mod:`xstreamcast.run.redrawn`.
"""

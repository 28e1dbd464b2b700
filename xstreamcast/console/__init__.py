"""The console: a page in the browser, by the broadcast server, that shows streams and queries while they go on.

What comes in are requests of the page; what goes out are JSON, one stream of events (SSE), and the page itself. Queries
never run in the server: each has a process of its own, which has no files, no network and a bound on its memory, and
is given the records of the logs. In the order of reading:

* :mod:`~xstreamcast.console.history`   what an answer was at every moment, and what changed between two
* :mod:`~xstreamcast.console.standing`  a query that goes on, in its process
* :mod:`~xstreamcast.console.asking`    looking at a query's text, T at a moment, what changed in it
* :mod:`~xstreamcast.console.completion`  what may stand at a place of a query that is being written
* :mod:`~xstreamcast.console.counts`    how many items are on each arrow of the plan's picture
* :mod:`~xstreamcast.console.confine`   what such a process may not do
* :mod:`~xstreamcast.console.worker`    such a process
* :mod:`~xstreamcast.console.process`   the server's end of it
* :mod:`~xstreamcast.console.following` a standing query, as the server has it: fed from the logs, stopped, started
* :mod:`~xstreamcast.console.rates`     how much a stream brings a second
* :mod:`~xstreamcast.console.desk`      all of a server's queries, what is told of them, and who hears it
* :mod:`~xstreamcast.console.routes`    the HTTP service
* ``page/``                             the page: HTML, CSS, JavaScript modules, as they are sent
"""

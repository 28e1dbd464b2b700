"""Feeds: documents that bring records by a key, as a stream of changes.

A baseline and its daily updates, a feed that is polled, messages one after the other: what comes is documents, and what
a query wants to follow is their records. A :class:`~xstreamcast.feeds.feed.Feed` knows a record by its key, and tells
of each document what is new, what is different and what is gone. Read :mod:`.feed` (the whole), :mod:`.documents`
(which documents there are), :mod:`.records` and :mod:`.paths` (what is read of each), :mod:`.known` (what is
remembered), :mod:`.places` and :mod:`.tags` (where records stand in the stream).
"""

from __future__ import annotations

from xstreamcast.feeds.feed import Feed

__all__ = ["Feed"]

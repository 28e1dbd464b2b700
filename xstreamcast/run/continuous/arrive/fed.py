"""A query that goes on, fed by documents: who has messages need not know what fragments are.

>>> from xstreamcast import Feed, continuous
>>> q = continuous('sum(stream("orders")//order/total)', feed=Feed("/order", key="@id"))
>>> _ = q.feed_xml(b"<order id='1'><total>10</total></order>")
>>> _ = q.feed_xml("<order id='2'><total>5</total></order>")
>>> _ = q.feed_xml(b"<order id='1'><total>7</total></order>")  # takes the place of the former
>>> q.text()
'12'
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from xstreamcast.errors import error, missing_file
from xstreamcast.run.continuous.arrive.arrivals import Ended, arrivals
from xstreamcast.scan.given import each_of, is_text, readable, stream_of
from xstreamcast.wire.fragment import read_stream

if TYPE_CHECKING:
    from xstreamcast.errors import Place
    from xstreamcast.feeds.feed import Feed
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.arrive.inflow import Arriving, Inflow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.scan.encoding import Source
    from xstreamcast.wire.fragment import Arrival

Q = TypeVar("Q", bound="Fed")
_PAUSE: Final = 0.5
"""Seconds after which a clock is looked at although nothing has come."""


class Fed:
    """A query whose stream may come as documents."""

    inflow: Inflow
    _feed: Feed | None = None
    _source: Any = None

    def take(self, soon: bool = False) -> list[Emitted]:
        """The changes of the answer that nobody has taken yet."""
        raise NotImplementedError

    def feed(self, item: Arriving, stream: str | None = None, place: Place | None = None) -> list[Change]:
        """Take in a change of a stream."""
        raise NotImplementedError

    def fed_by(self: Q, feed: Feed | None, source: Any) -> Q:
        """The same query; its only stream is the records that a feed finds in the documents of a source."""
        if source is not None and feed is None:
            hint = 'feed=Feed("/orders/order", key="@id") says what a record is; fragments are streams={"name": source}'
            raise error("XSC0091", "a source of documents, and no feed", hint=hint)
        self._feed, self._source = feed, source
        return self

    def feed_xml(self, document: Any) -> list[Change]:
        """Take in a document: bytes, a text of XML, a path, an open file, a tree of lxml or ElementTree, a node; or an
        iterable of such.

        What it changes in the answer. XSC0091: the query was made without ``feed=``.
        """
        if self._feed is None:
            hint = 'continuous(text, feed=Feed("/order", key="@id"))'
            raise error("XSC0091", "nothing says what a record of a document is", hint=hint)
        for one in each_of(document):
            self.inflow.feed_many(self._feed.changes(one))
        return [emitted.change for emitted in self.take()]

    def brought(
        self, pause: float
    ) -> Iterator[tuple[str, Arrival | Ended | list[Arrival] | list[Structure | Change] | None]]:
        """What the sources bring, documents first. ``pause``: how long to wait before it is told that nothing came."""
        if self._feed is not None and self._source is not None:
            name = self.inflow.stream_of(None)
            for document in _documents(self._feed, self._source, pause):
                yield name, None if document is None else list(self._feed.changes(document))
            yield name, Ended()
        yield from arrivals(self.inflow.sources, pause=pause)

    async def run(
        self, source: AsyncIterable[Arriving | Any] | Iterable[Arriving | Any] | None = None, stream: str | None = None
    ) -> AsyncIterator[Change]:
        """Feed what a source brings, as it comes: ``async for change in q.run(source)``.

        It brings changes, or XML in any form that :meth:`feed_xml` takes: documents where the query has a feed,
        else fragments.
        Without a source, what the query was made with is read until it ends, in threads: its ``streams``, or the
        documents of its own ``source``, which may be asynchronous.
        """
        if source is None and isinstance(self._source, AsyncIterable):
            async for document in self._source:
                for change in self.feed_xml(document):
                    yield change
            self.inflow.finish(self.inflow.stream_of(None))
            for emitted in self.take():
                yield emitted.change
        elif source is None:
            import asyncio

            brought = self.brought(_PAUSE)
            while (one := await asyncio.to_thread(next, brought, None)) is not None:
                self.inflow.bring(*one)
                for emitted in self.take(soon=one[1] is not None):
                    yield emitted.change
        elif isinstance(source, AsyncIterable):
            async for item in source:
                for change in self._feed_any(item, stream):
                    yield change
        else:
            for item in each_of(source):
                for change in self._feed_any(item, stream):
                    yield change

    def _feed_any(self, item: Any, stream: str | None) -> list[Change]:
        """Take in a change, a document or some fragments."""
        from xstreamcast.run.continuous.arrive.inflow import Arriving

        if isinstance(item, Arriving):
            return self.feed(item, stream)
        if self._feed is not None:
            return self.feed_xml(item)
        self.inflow.feed_many(read_stream(stream_of(item)), stream)
        return [emitted.change for emitted in self.take()]

    def follow(self) -> Iterator[Change]:
        """Read what the query was made with until it ends, ``streams`` or documents: ``for change in q.follow()``."""
        for name, brought in self.brought(_PAUSE):
            self.inflow.bring(name, brought)
            for emitted in self.take(soon=brought is not None):
                yield emitted.change


def _documents(feed: Feed, source: Any, pause: float) -> Iterator[Source | None]:
    """The documents of a source: a file, a folder that grows, or any iterable of what a document may be."""
    if isinstance(source, AsyncIterable):
        raise error("XSC0091", "the source is waited for", hint="async for change in q.run()")
    if isinstance(source, str | PathLike) and not is_text(source):
        path = Path(source)
        if not path.exists():
            raise missing_file(fspath(source), "no such file or folder", "a document, or a folder of them")
        yield from feed.documents_in([str(path)], follow=path.is_dir(), poll=pause)
    else:
        yield from map(readable, each_of(source))

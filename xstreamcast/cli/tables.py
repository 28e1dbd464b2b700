"""``--table URL#NAME``: tables that equal answers, or the records of a feed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, TypedDict

from xstreamcast.cli.options import Option, WrongCall
from xstreamcast.errors import error

if TYPE_CHECKING:
    from xstreamcast.feeds import Feed
    from xstreamcast.model.change import Change
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.tables.answer_table import AnswerTable, Removal, RowChange
    from xstreamcast.tables.contents import Contents
    from xstreamcast.tables.sink import TableSink

_URLS: Final = "sqlite:///FILE, duckdb:///FILE or postgresql://…"
AnswerTables = Annotated[
    list[str],
    Option(
        metavar="URL#NAME",
        help="A table that equals the first (second …) query's answer: sqlite:///FILE, duckdb:///FILE, postgresql://…",
    ),
]
AnswerColumns = Annotated[
    list[str], Option(metavar="COLUMNS", help="The table's columns, of each item: '@id, n as xs:decimal'.")
]
TableKey = Annotated[
    list[str], Option(metavar="COLUMN[,COLUMN]", help="Columns of a table that differ in all its rows.")
]
KeepRemoved = Annotated[
    bool, Option("--keep-removed", help="Rows that are gone stay in a table, with xcast_removed true.")
]
_LOT: Final = 1_000
"""Records whose columns are taken together."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of some queries, as one who hears what the answers do."""

    sinks: tuple[TableSink, ...]

    def told(self, n: int, number: int, query: ContinuousQuery, emitted: list[Emitted], lag: float) -> None:
        """Tables have heard of it already."""

    def pause(self, arrived: int) -> None:
        if not arrived:
            for sink in self.sinks:
                sink.flush()

    def close(self) -> None:
        for sink in self.sinks:
            sink.close(sink.over())


class AskedTable(TypedDict):
    """A table that options ask for, in the words of :meth:`~xstreamcast.tables.sink.Tabled.into`."""

    url: str
    columns: str | None
    key: str | Sequence[str]
    removed: Removal


def asked_tables(
    queries: int, urls: Sequence[str], columns: Sequence[str], keys: Sequence[str], keep_removed: bool
) -> list[AskedTable]:
    """The tables that options ask for: the first is that of the first query, with the first columns and key."""
    if len(urls) > queries:
        raise WrongCall("there are more tables than queries")
    if len(columns) > len(urls) or len(keys) > len(urls) or (keep_removed and not urls):
        raise WrongCall(f"--columns, --table-key and --keep-removed are of tables: --table URL#NAME, {_URLS}")
    return [
        AskedTable(
            url=url, columns=columns[number] if number < len(columns) else None,
            key=keys[number] if number < len(keys) else (), removed="mark" if keep_removed else "delete",
        )
        for number, url in enumerate(urls)
    ]  # fmt: skip


def tables_of(queries: Sequence[ContinuousQuery], asked: Sequence[AskedTable]) -> Tables | None:
    """The tables of queries, open."""
    if not asked:
        return None
    return Tables(tuple(query.into(**table) for query, table in zip(queries, asked, strict=False)))


class FeedTable:
    """The records of a feed as a table: each document in one transaction, before the feed remembers it.

    A document that comes again after a crash brings the same rows again, which changes nothing.
    """

    def __init__(self, feed: Feed, table: AnswerTable, contents: Contents) -> None:
        self.feed, self.table, self.contents = feed, table, contents
        self._waiting: list[Change] = []
        self._open: AbstractContextManager[None] | None = None
        if table.position.get("documents", 0) > feed.documents + 1:
            hint = "go on with the --state that the table was filled with, or name another table"
            raise error("XSC0157", f"table {table.name} is ahead of the feed's state", hint=hint)

    def writer(self) -> FeedTable:
        """Who takes the changes of a document."""
        if self._open is None:
            self._open = self.table.transaction({"documents": self.feed.documents})
            self._open.__enter__()
        return self

    def write_structure(self, structure: Structure) -> None:
        """Columns are what tells of records here."""

    def write(self, change: Change) -> None:
        """A change, of a record or of what holds the records together."""
        if self.feed.is_record(change):
            self._waiting.append(change)
            if len(self._waiting) >= _LOT:
                self._write()

    def publish(self) -> None:
        """The rows that were written count."""
        if self._open is not None:
            self._write()
            opened, self._open = self._open, None
            opened.__exit__(None, None, None)

    def discard(self) -> None:
        """The rows that were written since do not count."""
        self._waiting = []
        if self._open is not None:
            opened, self._open = self._open, None
            opened.__exit__(GeneratorExit, GeneratorExit(), None)

    def _write(self) -> None:
        changes, self._waiting = self._waiting, []
        self.table.write(self._rows({change.region: change for change in changes}))

    def _rows(self, net: dict[int, Any]) -> Iterator[RowChange]:
        from xstreamcast.model.change import ContentChange
        from xstreamcast.tables.answer_table import RowChange

        there = [change for change in net.values() if isinstance(change, ContentChange)]
        rows = self.contents.rows([change.content for change in there])
        for change in net.values():
            if not isinstance(change, ContentChange):
                yield RowChange(change.region, None, None)
        for change, values in zip(there, rows, strict=True):
            yield RowChange(change.region, f"{change.region:020}", values)

    def close(self) -> None:
        self.discard()
        self.table.close()


def feed_table(
    feed: Feed, about: str, url: str, columns: str | None, key: Sequence[str], keep_removed: bool
) -> FeedTable:
    """The table of a feed."""
    from xstreamcast.run.tabled import contents_of
    from xstreamcast.tables.answer_table import AnswerTable

    contents = contents_of(columns, namespaces=feed.namespaces)
    keys = [name.strip() for each in key for name in each.split(",")]
    table = AnswerTable(
        url, declared=contents.declared, key=keys, removed="mark" if keep_removed else "delete",
        about=f"{about}\n{columns}",
    )  # fmt: skip
    return FeedTable(feed, table, contents)

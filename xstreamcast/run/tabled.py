"""A query that goes on whose answer is kept in tables: where :mod:`xstreamcast.tables.sink` meets the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xstreamcast.errors import error
from xstreamcast.run.query import compile

if TYPE_CHECKING:
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.run.query import Query
    from xstreamcast.tables.answer_table import AnswerTable, Removal
    from xstreamcast.tables.cells import Nested
    from xstreamcast.tables.contents import Contents
    from xstreamcast.tables.sink import TableSink


def contents_of(
    columns: str | Mapping[str, str] | None, nested: Nested = "struct", namespaces: Mapping[str, str] | None = None
) -> Contents:
    """Rows of items that come as XML: ``columns`` as :func:`xstreamcast.query` has them.

    >>> contents_of("@id, price as xs:decimal").rows([b"<b id='1'><price>2</price></b>", b"<b id='2'/>"])
    [{'id': '1', 'price': Decimal('2')}, {'id': '2', 'price': None}]
    """
    from xstreamcast.tables.contents import ITEMS, Contents

    if columns is None:
        return Contents(None, nested)
    prolog = "".join(
        f'declare namespace {prefix} = "{uri}"; ' if prefix else f'declare default element namespace "{uri}"; '
        for prefix, uri in (namespaces or {}).items()
    )
    return Contents(compile(f"{prolog}${ITEMS}", columns=columns, variables=(ITEMS,)), nested)


def table_of_query(
    query: Query,
    url: str,
    columns: str | Mapping[str, str] | None,
    key: str | Sequence[str],
    removed: Removal,
    nested: Nested,
) -> tuple[AnswerTable, Contents]:
    """The table of a query's answer, and what makes rows of its items; all as :meth:`Tabled.into` says."""
    from xstreamcast.tables.answer_table import AnswerTable

    namespaces = query.executable.program.static.namespaces
    contents = contents_of(columns, nested, {prefix: uri for prefix, uri in namespaces.items() if prefix != "xml"})
    keys = tuple(name.strip() for name in key.split(",")) if isinstance(key, str) else tuple(key)
    about = f"{query.text}\n{columns}\n{nested}"
    return AnswerTable(url, declared=contents.declared, key=keys, removed=removed, about=about), contents


class Tabled:
    """A query whose answer is kept in tables."""

    query: Query
    inflow: Inflow
    streams: tuple[str, ...]
    _tables: tuple[TableSink, ...] = ()

    @property
    def begun(self) -> bool:
        """Whether it has begun to be answered."""
        raise NotImplementedError

    def tabled(self, emitted: list[Emitted], soon: bool) -> list[Emitted]:
        """Changes of the answer, which its tables have heard of."""
        for table in self._tables:
            table.take(emitted, soon)
        return emitted

    def into(
        self,
        url: str,
        *,
        columns: str | Mapping[str, str] | None = None,
        key: str | Sequence[str] = (),
        removed: Removal = "delete",
        nested: Nested = "struct",
    ) -> TableSink:
        """Keep a table equal to the answer, from now on: ``with q.into("postgresql://host/db#books"): …``.

        Rows are written in transactions, with the position in the streams: a query that is asked again after a crash
        goes on from there. ``columns`` as in :func:`xstreamcast.query`; ``key``: columns that differ in all rows;
        ``removed``: rows that are gone are deleted, or ``"mark"``-ed; ``nested``: elements with attributes or children
        of their own as JSON (``"struct"``), ``"xml"`` or ``"text"``. XSC0155–XSC0157: what may be wrong with a table.

        >>> from xstreamcast import continuous
        >>> from xstreamcast.model.change import Fill
        >>> q = continuous('stream("s")//b')
        >>> with q.into("sqlite::memory:#books", columns="@id, price as xs:decimal") as table:
        ...     _ = q.feed(Fill(region=0, content=b"<a><b id='1'><price>2.5</price></b></a>"))
        ...     table.table.database.execute("SELECT id, price FROM books")
        [('1', 2.5)]
        """
        if self.begun:
            hint = "name its table before anything is fed to it"
            raise error("XSC0091", "the query has begun to be answered", hint=hint)
        table, contents = table_of_query(self.query, url, columns, key, removed, nested)
        self.inflow.forwards = False

        def where() -> dict[str, int]:
            return {name: self.inflow.association(name).changed for name in self.streams}

        from xstreamcast.tables.sink import TableSink

        made = TableSink(table, contents, where, lambda: self.inflow.is_over(self.streams))
        self._tables = (*self._tables, made)
        return made

"""The result of a query: its items as they are asked for, and as XML, Python values, tables, lxml's elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, overload

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Item
from xstreamcast.model.garbage import not_collecting, settle
from xstreamcast.model.tree import ATTRIBUTE, TEXT, Node

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

    from xstreamcast.model.serialise import Parameters
    from xstreamcast.run.doubts import Doubts
    from xstreamcast.run.query import Query
    from xstreamcast.tables.batches import Columns, Rows
    from xstreamcast.tables.cells import Nested

_AT_ONCE: Final = 1 << 16
"""Items that are made between two looks for garbage."""
_SHOWN: Final = 10
"""Items in the representation of a result."""


class Result(Iterable[Item]):
    """The items of a result, computed as they are asked for and then kept."""

    def __init__(
        self,
        source: Query,
        items: Iterator[Item],
        doubts: Doubts | None = None,
        rows: Callable[[Nested], Iterator[Rows]] | None = None,
    ) -> None:
        """``rows``: another way to the same items, as rows of a table, for who has not begun to ask for them."""
        self._source = source
        self.doubts = doubts
        self._as_rows = rows
        self._items: list[Item] = []
        self._rest: Iterator[Item] | None = items
        self._failure: XStreamError | None = None
        """The error that ended it, raised again when asked: ``list`` takes the length first, and ignores errors."""

    def _more(self) -> bool:
        """Compute one item more."""
        if self._failure is not None:
            raise self._failure
        if self._rest is None:
            return False
        self._as_rows = None
        try:
            self._items.append(next(self._rest))
        except StopIteration:
            self._rest = None
            return False
        except XStreamError as failure:
            self._rest, self._failure = None, failure
            raise
        return True

    def __iter__(self) -> Iterator[Item]:
        number = 0
        while number < len(self._items) or self._more():
            yield self._items[number]
            number += 1

    def consume(self) -> Iterator[Item]:
        """The items that were not asked for before, each as it is computed, and not kept: for results of any size."""
        rest, self._rest, self._as_rows = self._rest, None, None
        yield from rest or ()

    def rows(self, nested: Nested = "struct") -> Iterator[Rows]:
        """The items as rows of a table, as they are computed; not kept, if none has been asked for before."""
        from xstreamcast.tables.batches import item_rows
        from xstreamcast.tables.cells import check_nested

        check_nested(nested)
        if self._as_rows is None:
            return item_rows(self, nested) if self._items else item_rows(self.consume(), nested)
        made, self._as_rows, self._rest = self._as_rows(nested), None, None
        return made

    def columns(self, nested: Nested = "struct", *, whole: bool = False) -> Columns:
        """The rows with the types of their columns: by the first rows, or by all of them (``whole``)."""
        from xstreamcast.tables.batches import SAMPLE, Columns, item_rows

        rows = item_rows(self.items(), nested) if whole else self.rows(nested)
        return Columns(rows, self._source.kinds, None if whole else SAMPLE)

    def items(self) -> list[Item]:
        """All items."""
        if self._failure is not None:
            raise self._failure
        if self._rest is not None:
            rest, self._rest, self._as_rows = self._rest, None, None
            some = True
            while some:
                made: list[Item] = []
                try:
                    with not_collecting():
                        made.extend(islice(rest, _AT_ONCE))
                        if len(made) == _AT_ONCE:
                            settle()
                except XStreamError as failure:
                    self._items += made
                    self._failure = failure
                    raise
                self._items += made
                some = bool(made)
        return self._items

    def __len__(self) -> int:
        return len(self.items())

    @overload
    def __getitem__(self, number: int) -> Item: ...
    @overload
    def __getitem__(self, number: slice) -> list[Item]: ...
    def __getitem__(self, number: int | slice) -> Item | list[Item]:
        if isinstance(number, slice):
            return self.items()[number]
        while number >= len(self._items) and self._more():
            pass
        return self.items()[number] if number < 0 else self._items[number]

    def __bool__(self) -> bool:
        return bool(self._items) or self._more()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Doubts about the query, and fragments that were put aside, with how many there were. Where nothing was found,
        also names that are nearly those of the document; for that the result is computed."""
        return self._source.warnings if self.doubts is None else self.doubts.texts(self.items())

    def xml(self, *, indent: bool = False) -> str:
        """The result as the xml method of serialisation writes it."""
        return self.serialise(method="xml", indent=indent)

    def text(self) -> str:
        """The result as the text method of serialisation writes it."""
        return self.serialise(method="text")

    def serialise(self, **parameters: Any) -> str:
        """The result as text, by the query's own output options and these parameters."""
        from xstreamcast.model.serialise import serialise

        return serialise(self.items(), self.parameters(), **parameters)

    def parameters(self) -> Parameters:
        """The output options that the query declares."""
        return self._source.parameters()

    def to_list(self) -> list[Any]:
        """Plain Python values: numbers, strings, booleans, dates; maps as dicts, arrays as lists; nodes as nodes.

        >>> from xstreamcast import query
        >>> query("1, 2.5, 'a', map { 'k': (1, 2) }").to_list()
        [1, Decimal('2.5'), 'a', {'k': [1, 2]}]
        """
        from xstreamcast.model.python_values import plain

        return [plain(item) for item in self.items()]

    def one(self) -> Any:
        """The only item, as :meth:`to_list` gives it. XPTY0004: there is none, or another.

        >>> from xstreamcast import query
        >>> query("count(//b)", context="<a><b/><b/></a>").one()
        2
        """
        from xstreamcast.model.python_values import plain

        if not self:
            raise error("XPTY0004", "the answer is empty, where one item was asked for")
        if len(self._items) > 1 or self._more():
            raise error("XPTY0004", "the answer has more than one item", hint="to_list(), values()")
        return plain(self._items[0])

    def values(self) -> list[Any]:
        """The list of :meth:`to_list`, with nodes as their text: atomic values, as ``data()`` has them.

        >>> from xstreamcast import query
        >>> query("//b, 1", context="<a><b>x</b></a>").values()
        ['x', 1]
        """
        from xstreamcast.model.python_values import plain

        return [item.string if isinstance(item, Node) else plain(item) for item in self.items()]

    def to_pandas(self, *, nested: Nested = "columns") -> pandas.DataFrame:
        """One row per item: a map gives a column per key, an element one per attribute and child name, any other
        item the column ``value``. ``nested``: elements with attributes or children of their own are further columns,
        by their paths (``tag/@k``), records (``"struct"``), ``"xml"`` or ``"text"``."""
        from xstreamcast.tables.batches import needed
        from xstreamcast.tables.cells import check_nested, row

        check_nested(nested)
        made: pandas.DataFrame = needed("pandas", "tables").DataFrame([row(item, nested) for item in self.items()])
        return made

    def to_arrow(self, *, nested: Nested = "columns") -> pyarrow.Table:
        """The rows of :meth:`to_pandas` as an Arrow table: each column has the narrowest type of all its values; one
        with several values somewhere has lists.

        >>> from xstreamcast import query
        >>> query("//b", columns="@id as xs:integer, t", context="<a><b id='1'><t>x</t></b></a>").to_arrow().to_pylist()
        [{'id': 1, 't': 'x'}]
        """
        from xstreamcast.tables.batches import needed

        found = self.columns(nested, whole=True)
        return needed("pyarrow", "arrow").Table.from_batches(list(found.batches()), found.schema)

    def to_batches(self, *, nested: Nested = "struct") -> pyarrow.RecordBatchReader:
        """A row per item as they are computed, not kept: for answers of any size. Elements with attributes or children
        of their own are records: their columns would not be known before the last row.

        The first rows tell the types of columns that were not declared (``columns=`` of the query). XSC0152, XSC0153: a
        later one has others.

        >>> from xstreamcast import query
        >>> [len(batch) for batch in query("1 to 10").to_batches()]
        [10]
        """
        from xstreamcast.tables.batches import needed

        found = self.columns(nested)
        return needed("pyarrow", "arrow").RecordBatchReader.from_batches(found.schema, found.batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows for whatever reads Arrow: PyArrow, pandas, Polars, DuckDB; see :meth:`to_batches`."""
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def to_polars(self, *, nested: Nested = "struct") -> polars.DataFrame:
        """The rows of :meth:`to_batches` as a DataFrame of Polars."""
        from xstreamcast.tables.batches import needed

        made: polars.DataFrame = needed("polars", "tables").from_arrow(self.to_batches(nested=nested))
        return made

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection, table: str, *, nested: Nested = "struct") -> int:
        """A table of the rows of :meth:`to_batches`, made anew in DuckDB; how many there are."""
        from xstreamcast.tables.batches import needed

        needed("duckdb", "tables")
        quoted = '"' + table.replace('"', '""') + '"'
        batches = self.to_batches(nested=nested)
        connection.register("xstreamcast_batches", batches)
        try:
            connection.execute(f"CREATE OR REPLACE TABLE {quoted} AS SELECT * FROM xstreamcast_batches")
        finally:
            connection.unregister("xstreamcast_batches")
        counted: list[tuple[int]] = connection.execute(f"SELECT count(*) FROM {quoted}").fetchall()
        return counted[0][0]

    def to_lxml(self) -> list[Any]:
        """As :meth:`to_list`, but elements, documents, comments and instructions are those of lxml, and attributes and
        text are strings.

        >>> from xstreamcast import query
        >>> [title.text for title in query("//title", context="<b><title>T</title></b>").to_lxml()]
        ['T']
        """
        from xstreamcast.model.python_values import plain

        return [_foreign(item) if isinstance(item, Node) else plain(item) for item in self.items()]

    def __reduce__(self) -> tuple[Any, ...]:
        return _result, (self._source, self.items(), self.warnings)

    def first(self, count: int) -> tuple[list[Item], str]:
        """The first items, and how many there are as far as it is known: no more than one further is computed."""
        while len(self._items) <= count and self._more():
            pass
        known = len(self._items)
        more = self._rest is not None
        return self._items[:count], f"{count} items and more" if more else f"{known} item{'' if known == 1 else 's'}"

    def __repr__(self) -> str:
        from xstreamcast.model.serialise import serialise

        items, known = self.first(_SHOWN)
        shown = []
        for item in items:
            text = serialise([item], method="adaptive")
            line = text if len(text) <= 100 else text[:99] + "…"
            shown.append("  " + line.replace("\n", " "))
        count = len(self._items)
        if count > _SHOWN:
            shown.append("  …" if self._rest is not None else f"  … {count - _SHOWN} more")
        return "\n".join([f"<Result: {known}>", *shown])

    def _repr_html_(self) -> str:
        from xstreamcast.run.shown import result_html

        return result_html(self)


def _result(source: Query, items: list[Item], warnings: tuple[str, ...]) -> Result:
    from xstreamcast.run.doubts import Doubts

    return Result(source, iter(items), Doubts(source, warnings))


def _foreign(node: Node) -> Any:
    """A node of lxml; attributes and text, which are nothing there without their element, as strings."""
    return node.string if node.kind in (ATTRIBUTE, TEXT) else node.to_lxml()

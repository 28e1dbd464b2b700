"""Tables of a lakehouse, Delta's or Iceberg's, that equal an answer: a ``MERGE`` for each micro-batch.

>>> alerts = MergeTable(spark, "lake.bank.alerts", "iceberg", columns="@id, customer")           # doctest: +SKIP
>>> continuous(spark, query, {"credit": "feed/credit"}).start(checkpoint="state", sinks=[alerts]) # doctest: +SKIP

Every row has a number (``xcast_row``) and a place (``xcast_place``): sorted by place, the rows are the answer. A merge
says how rows are after the batch, by their numbers, and is one commit of the table: a batch that Spark brings again
changes nothing. The first one after a start compares the whole answer with the table, however far that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error
from xstreamcast.run.tabled import contents_of
from xstreamcast.tables.answer_table import RowChange, flat, stored
from xstreamcast.tables.cells import Nested
from xstreamcast.tables.contents import Contents
from xstreamcast.tables.database import JSON, PLACE, ROW
from xstreamcast.tables.kinds import DECIMAL, fitted
from xstreamcast.tables.sink import TableSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.sink_answers import Answers, Batch

_TYPES: Final = {
    "string": "STRING", "long": "BIGINT", DECIMAL: "DECIMAL(38, 18)", "double": "DOUBLE", "boolean": "BOOLEAN",
    "date": "DATE", "timestamp": "TIMESTAMP", "binary": "BINARY", JSON: "STRING",
}  # fmt: skip
_GONE: Final = "xcast_gone"


class MergeTable:
    """A sink that keeps a table of Spark's equal to an answer.

    ``table`` is its name in Spark's catalogs; it is made, in ``format``, if it is not there. ``columns`` as in
    :func:`xstreamcast.query`, all of them; those without a type are text. ``query`` names the query where there are
    several.
    """

    def __init__(
        self,
        spark: SparkSession,
        table: str,
        format: str = "delta",
        *,
        columns: str | Mapping[str, str],
        query: str | None = None,
        nested: Nested = "struct",
    ) -> None:
        self.query = query
        self.contents = contents_of(columns, nested)
        self.table = _Merged(spark, table, format, self.contents)
        self._sink: TableSink | None = None

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        names = [answer.name for answer in answers.queries]
        if (self.query is None and len(names) > 1) or self.query not in (None, *names):
            raise error("XSC0065", f"{self.table.name} is the table of which query?", hint=f"query= {', '.join(names)}")
        number = 0 if self.query is None else names.index(self.query)
        emitted = told[number]
        if self._sink is None:
            self._sink = TableSink(self.table, self.contents, dict, lambda: answers.ended)  # type: ignore[arg-type]  # it has the face of one
            emitted = answers.queries[number].snapshot()
        self._sink.take(emitted)

    def close(self) -> None:
        """Every batch that counts is committed."""
        self._sink = None


class _Merged:
    """What a :class:`~xstreamcast.tables.sink.TableSink` writes to: the face of an ``AnswerTable``, by merges."""

    begun = True
    position: Mapping[str, int] = {}

    def __init__(self, spark: SparkSession, name: str, format: str, contents: Contents) -> None:
        self.spark, self.name = spark, name
        self.declared = contents.declared
        kinds = {column: "string" if kind is None else flat(kind) for column, kind in self.declared.items()}
        unknown = [column for column, kind in kinds.items() if kind not in _TYPES]
        if unknown:
            raise error("XSC0156", f"column {unknown[0]} has a type that Spark's tables lack", hint="… as xs:string")
        self.kinds = kinds
        columns = {ROW: "BIGINT", PLACE: "STRING", **{column: _TYPES[kind] for column, kind in kinds.items()}}
        self.schema = ", ".join(f"`{column}` {type_}" for column, type_ in columns.items())
        self.columns = list(columns)
        spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({self.schema}) USING {format}")
        self._changes: list[RowChange] = []
        self._cleared = False

    @contextmanager
    def transaction(self, position: Mapping[str, int]) -> Iterator[None]:
        """What is written inside is one merge."""
        self._changes, self._cleared = [], False
        yield
        self._merge(self._changes, whole=self._cleared)

    def clear(self) -> None:
        self._cleared = True

    def write(self, changes: Iterable[RowChange]) -> None:
        self._changes += changes

    def reconcile(self, rows: Iterable[RowChange], position: Mapping[str, int]) -> None:
        """Have these rows and no others."""
        self._merge([change for change in rows if change.values is not None], whole=True)

    def fail(self, position: Mapping[str, int], failure: str) -> None:
        """The answer is an error: the rows stay as they were when it was none."""

    def _merge(self, changes: list[RowChange], whole: bool) -> None:
        """Rows as they are from now on; ``whole``: and no others."""
        if not changes and not whole:
            return
        rows = [self._row(change) for change in {change.row: change for change in changes}.values()]
        view = f"xstreamcast_{token_hex(8)}"
        frame = self.spark.createDataFrame(rows, f"{self.schema}, {_GONE} BOOLEAN")
        frame.createOrReplaceTempView(view)
        rest = [f"`{column}`" for column in self.columns]
        differs = " OR ".join(f"NOT (t.{column} <=> s.{column})" for column in rest)
        try:
            self.spark.sql(
                f"MERGE INTO {self.name} t USING {view} s ON t.{ROW} = s.{ROW} "
                f"WHEN MATCHED AND s.{_GONE} THEN DELETE "
                f"WHEN MATCHED AND ({differs}) THEN UPDATE SET {', '.join(f't.{each} = s.{each}' for each in rest)} "
                f"WHEN NOT MATCHED AND NOT s.{_GONE} THEN INSERT ({', '.join(rest)}) "
                f"VALUES ({', '.join(f's.{each}' for each in rest)})"
                + (" WHEN NOT MATCHED BY SOURCE THEN DELETE" if whole else "")
            ).collect()
        finally:
            self.spark.catalog.dropTempView(view)

    def _row(self, change: RowChange) -> tuple[Any, ...]:
        if change.values is None:
            return (change.row, None, *[None] * len(self.kinds), True)
        values = []
        for name, kind in self.kinds.items():
            said, value = self.declared[name], change.values.get(name)
            values.append(stored(value if said is None else fitted(value, said, name), kind))
        return (change.row, change.place, *values, False)

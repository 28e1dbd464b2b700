"""DuckDB: rows go in as Arrow tables, many at once, in bounded memory.

DuckDB keeps the blocks that it has read and written until its ``memory_limit``, which by itself is most of the machine:
the process would grow with the table. Here it is :data:`MEMORY_LIMIT`, or what the URL says:
``duckdb:///file.duckdb?memory_limit=1GB#books``. What does not fit goes to ``file.duckdb.tmp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl

from xstreamcast.errors import XStreamError, error
from xstreamcast.tables.batches import array_of, needed
from xstreamcast.tables.database import JSON, NOTHING, quoted, refused
from xstreamcast.tables.kinds import DECIMAL, STRING, Kind

MEMORY_LIMIT: Final = "256MB"
_STAGED: Final = "xcast_staged"
"""The name of the argument of :meth:`DuckDB._about_rows`, by which statements mean it."""


class DuckDB:
    """A file of DuckDB's. There are no keys in its tables: it would refuse rows that are deleted and come again in one
    transaction, and deletes by number are fast without."""

    keys: Final = False
    types: Final = {
        "string": "VARCHAR", "long": "BIGINT", DECIMAL: "DECIMAL(38, 18)", "double": "DOUBLE", "boolean": "BOOLEAN",
        "date": "DATE", "timestamp": "TIMESTAMPTZ", "duration": "INTERVAL", "binary": "BLOB", JSON: "JSON",
        NOTHING: "VARCHAR",
    }  # fmt: skip

    def __init__(self, address: str) -> None:
        module = needed("duckdb", "tables")
        self.error = module.Error
        path, _, said = address.partition("?")
        options = {"memory_limit": MEMORY_LIMIT, **dict(parse_qsl(said, keep_blank_values=True))}
        for name in options:
            if name != "memory_limit":
                hint = "duckdb:///file.duckdb?memory_limit=1GB#table"
                raise error("XSC0156", f"a table of DuckDB's has no option {name}", hint=hint)
        try:
            self.connection = module.connect(path)
        except module.Error as fault:
            raise error("XSC0156", f"{path}: {fault}", hint="does the folder exist? is it open elsewhere?") from None
        try:
            # Not by connect(config=): the program could then not open the file itself, beside this connection.
            self.connection.execute("SET memory_limit = ?", [options["memory_limit"]])
        except module.Error as fault:
            self.connection.close()
            hint = "a number and a unit: ?memory_limit=1GB"
            raise error("XSC0156", f"{path}: {str(fault).splitlines()[0]}", hint=hint) from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            rows: list[tuple[Any, ...]] = self.connection.execute(sql, list(values)).fetchall()
        except self.error as fault:
            raise self.failed(fault) from None
        return rows

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        names = ", ".join(map(quoted, columns))
        self._staged(columns, rows, f"INSERT INTO {quoted(table)} ({names}) SELECT {names} FROM {_STAGED}")

    def delete(self, table: str, columns: Mapping[str, str], keys: Sequence[Sequence[Any]], where: str = "") -> None:
        same = [f"t.{quoted(name)} = s.{quoted(name)}" for name in columns]
        both = " AND ".join(same + [f"t.{where}"] * bool(where))
        self._staged(columns, keys, f"DELETE FROM {quoted(table)} t USING {_STAGED} s WHERE {both}")

    def _staged(self, columns: Mapping[str, str], rows: Sequence[Sequence[Any]], sql: str) -> None:
        arrow = needed("pyarrow", "tables")
        kinds = [STRING if kind in (JSON, NOTHING) else Kind(kind) for kind in columns.values()]
        lists = [[row[at] for row in rows] for at in range(len(columns))]
        arrays = [array_of(each, kind, name) for each, kind, name in zip(lists, kinds, columns, strict=True)]
        self._about_rows(sql, arrow.table(dict(zip(columns, arrays, strict=True))))

    def _about_rows(self, sql: str, xcast_staged: Any) -> None:
        """A statement about an Arrow table, which DuckDB finds by the name of the argument: one that is registered is
        kept until the transaction ends, and with it every row of the document."""
        try:
            self.connection.execute(sql)
        except self.error as fault:
            raise self.failed(fault) from None

    def widen(self, table: str, column: str, before: str, after: str) -> None:
        name = quoted(column)
        using = f" USING CASE WHEN {name} IS NULL THEN NULL ELSE json_array({name}) END" if after == JSON else ""
        self.execute(f"ALTER TABLE {quoted(table)} ALTER COLUMN {name} SET DATA TYPE {self.types[after]}{using}")

    def failed(self, fault: Exception) -> XStreamError:
        return refused(str(fault))

    def close(self) -> None:
        self.connection.close()

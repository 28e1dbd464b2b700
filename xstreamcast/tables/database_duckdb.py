"""DuckDB: rows go in as Arrow tables, many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.tables.batches import array_of, needed
from xstreamcast.tables.database import JSON, NOTHING, quoted, refused
from xstreamcast.tables.kinds import DECIMAL, STRING, Kind

_STAGED: Final = "xcast_staged"


class DuckDB:
    """A file of DuckDB's. There are no keys in its tables: it would refuse rows that are deleted and come again in one
    transaction, and deletes by number are fast without."""

    keys: Final = False
    types: Final = {
        "string": "VARCHAR", "long": "BIGINT", DECIMAL: "DECIMAL(38, 18)", "double": "DOUBLE", "boolean": "BOOLEAN",
        "date": "DATE", "timestamp": "TIMESTAMPTZ", "duration": "INTERVAL", "binary": "BLOB", JSON: "JSON",
        NOTHING: "VARCHAR",
    }  # fmt: skip

    def __init__(self, path: str) -> None:
        module = needed("duckdb", "tables")
        self.error = module.Error
        try:
            self.connection = module.connect(path)
        except module.Error as fault:
            raise error("XSC0156", f"{path}: {fault}", hint="does the folder exist? is it open elsewhere?") from None

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
        self.connection.register(_STAGED, arrow.table(dict(zip(columns, arrays, strict=True))))
        try:
            self.connection.execute(sql)
        except self.error as fault:
            raise self.failed(fault) from None
        finally:
            self.connection.unregister(_STAGED)

    def widen(self, table: str, column: str, before: str, after: str) -> None:
        name = quoted(column)
        using = f" USING CASE WHEN {name} IS NULL THEN NULL ELSE json_array({name}) END" if after == JSON else ""
        self.execute(f"ALTER TABLE {quoted(table)} ALTER COLUMN {name} SET DATA TYPE {self.types[after]}{using}")

    def failed(self, fault: Exception) -> XStreamError:
        return refused(str(fault))

    def close(self) -> None:
        self.connection.close()

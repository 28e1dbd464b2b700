"""PostgreSQL, by psycopg 3: rows go in by COPY."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.tables.batches import needed
from xstreamcast.tables.database import JSON, NOTHING, quoted, refused
from xstreamcast.tables.kinds import DECIMAL


class Postgres:
    """A database of PostgreSQL's."""

    keys: Final = True
    types: Final = {
        "string": "text", "long": "bigint", DECIMAL: "numeric", "double": "double precision", "boolean": "boolean",
        "date": "date", "timestamp": "timestamptz", "duration": "interval", "binary": "bytea", JSON: "jsonb",
        NOTHING: "text",
    }  # fmt: skip

    def __init__(self, url: str) -> None:
        module = needed("psycopg", "tables")
        self.error = module.Error
        try:
            self.connection = module.connect(url, autocommit=True)
        except module.Error as fault:
            told = " ".join(str(fault).split())
            raise error("XSC0156", told, hint="does the server run? postgresql://user@host:port/database") from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        text = sql.replace("%", "%%").replace("?", "%s") if values else sql
        try:
            cursor = self.connection.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []
        except self.error as fault:
            raise self.failed(fault) from None

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        names = ", ".join(map(quoted, columns))
        try:
            with self.connection.cursor() as cursor, cursor.copy(f"COPY {quoted(table)} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        except self.error as fault:
            raise self.failed(fault) from None

    def delete(self, table: str, columns: Mapping[str, str], keys: Sequence[Sequence[Any]], where: str = "") -> None:
        listed = ", ".join(f"unnest(%s::{self.types[kind]}[])" for kind in columns.values())
        names = ", ".join(map(quoted, columns))
        more = f" AND {where}" if where else ""
        sql = f"DELETE FROM {quoted(table)} WHERE ({names}) IN (SELECT {listed}){more}"
        values = [[key[at] for key in keys] for at in range(len(columns))]
        try:
            self.connection.execute(sql, values)
        except self.error as fault:
            raise self.failed(fault) from None

    def widen(self, table: str, column: str, before: str, after: str) -> None:
        name = quoted(column)
        using = f"CASE WHEN {name} IS NULL THEN NULL ELSE jsonb_build_array({name}) END"
        using = using if after == JSON else f"{name}::{self.types[after]}"
        type_ = self.types[after]
        self.execute(f"ALTER TABLE {quoted(table)} ALTER COLUMN {name} TYPE {type_} USING {using}")

    def failed(self, fault: Exception) -> XStreamError:
        return refused(str(fault))

    def close(self) -> None:
        self.connection.close()

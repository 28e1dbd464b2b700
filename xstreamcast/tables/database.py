"""Databases that hold a table of an answer: one connection, rows replaced and deleted by their number, one transaction.

    sqlite:///folder/file.db#books      sqlite:file.db#books
    duckdb:///folder/file.duckdb#books  duckdb:file.duckdb#books  duckdb:///file.duckdb?memory_limit=1GB#books
    postgresql://user@host/database#books

What differs between them is here and in :mod:`~xstreamcast.tables.database_duckdb` and
:mod:`~xstreamcast.tables.database_postgres`: the names of types, how many rows go in at once, how a column's type is
made another. A value comes as Python has it, lists and records as JSON text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any, Final, Protocol

from xstreamcast.errors import XStreamError, error
from xstreamcast.tables.kinds import DECIMAL, iso, written

JSON: Final = "json"
"""The kind of columns with lists and records."""
NOTHING: Final = "null"
"""The kind of columns that have had no value yet."""
ROW: Final = "xcast_row"
PLACE: Final = "xcast_place"
REMOVED: Final = "xcast_removed"
_HINT: Final = "sqlite:///file.db#table, duckdb:///file.duckdb#table or postgresql://user@host/database#table"


class Database(Protocol):
    """A connection to a database. Whatever goes wrong there is XSC0155."""

    @property
    def keys(self) -> bool:
        """Whether its tables have keys."""

    @property
    def types(self) -> Mapping[str, str]:
        """The type of a column of each kind."""

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """A statement, with ``?`` for each value; its rows."""

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """Rows with columns of some kinds."""

    def delete(self, table: str, columns: Mapping[str, str], keys: Sequence[Sequence[Any]], where: str = "") -> None:
        """Delete the rows that have some values in columns of some kinds, and for which a condition holds."""

    def widen(self, table: str, column: str, before: str, after: str) -> None:
        """A column's kind is another, that has the values of the former; of JSON they become lists of one."""

    def failed(self, fault: Exception) -> XStreamError:
        """What the database says of an error."""

    def close(self) -> None: ...


def quoted(name: str) -> str:
    """A name, as SQL writes any."""
    return '"' + name.replace('"', '""') + '"'


def open_database(url: str) -> Database:
    """The database of a URL. XSC0156: it is none of ours."""
    scheme, sign, rest = url.partition(":")
    if sign and scheme == "sqlite":
        return SQLite(_path(rest))
    if sign and scheme == "duckdb":
        from xstreamcast.tables.database_duckdb import DuckDB

        return DuckDB(_path(rest))
    if sign and scheme in ("postgresql", "postgres"):
        from xstreamcast.tables.database_postgres import Postgres

        return Postgres(url)
    raise error("XSC0156", f"no database at {url!r}", hint=_HINT)


def table_of(url: str) -> tuple[str, str]:
    """A URL of a database and the name of a table in it: ``URL#name``."""
    database, sign, table = url.rpartition("#")
    if not sign or not table or not database:
        raise error("XSC0156", f"{url!r} names no table", hint=_HINT)
    return database, table


def _path(rest: str) -> str:
    """The file of ``sqlite:///relative``, ``sqlite:////absolute`` or ``sqlite:anything``."""
    return rest.removeprefix("///") if rest.startswith("///") else rest


class SQLite:
    """A file of SQLite's. Dates are text, truth is 0 or 1, decimals are numbers where SQLite has the same."""

    keys: Final = True
    types: Final = {
        "string": "TEXT", "long": "INTEGER", DECIMAL: "NUMERIC", "double": "REAL", "boolean": "BOOLEAN", "date": "DATE",
        "timestamp": "TIMESTAMP", "duration": "TEXT", "binary": "BLOB", JSON: "JSON", NOTHING: "ANY",
    }  # fmt: skip

    def __init__(self, path: str) -> None:
        try:
            self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.Error as fault:
            raise error("XSC0156", f"{path}: {fault}", hint="does the folder exist? is it a database?") from None

    def execute(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            return self.connection.execute(sql, tuple(values)).fetchall()
        except sqlite3.Error as fault:
            raise self.failed(fault) from None

    def insert(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        names = ", ".join(map(quoted, columns))
        marks = ", ".join("?" * len(columns))
        try:
            self.connection.executemany(
                f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})", (list(map(_stored, row)) for row in rows)
            )
        except sqlite3.Error as fault:
            raise self.failed(fault) from None

    def delete(self, table: str, columns: Mapping[str, str], keys: Sequence[Sequence[Any]], where: str = "") -> None:
        same = " AND ".join([f"{quoted(name)} = ?" for name in columns] + [where] * bool(where))
        self.connection.executemany(
            f"DELETE FROM {quoted(table)} WHERE {same}", [list(map(_stored, key)) for key in keys]
        )

    def widen(self, table: str, column: str, before: str, after: str) -> None:
        # SQLite does not alter columns: the table is made anew, as it was written down when it was made.
        ((made,),) = self.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,))
        name, wider = quoted(column), quoted(f"{table} with wider columns")
        declared = made.replace(f"{name} {self.types[before]}", f"{name} {self.types[after]}", 1)
        self.execute(declared.replace(quoted(table), wider, 1))
        names = [each for _, each, *_ in self.execute(f"PRAGMA table_info({quoted(table)})")]
        value = f"CASE WHEN {name} IS NULL THEN NULL ELSE json_array({name}) END" if after == JSON else name
        values = ", ".join(value if each == column else quoted(each) for each in names)
        self.execute(f"INSERT INTO {wider} SELECT {values} FROM {quoted(table)}")
        self.execute(f"DROP TABLE {quoted(table)}")
        self.execute(f"ALTER TABLE {wider} RENAME TO {quoted(table)}")

    def failed(self, fault: Exception) -> XStreamError:
        return refused(str(fault))

    def close(self) -> None:
        self.connection.close()


def refused(told: str) -> XStreamError:
    """An error of a database."""
    hint = "is the key unique in the answer?"
    return error("XSC0155", f"the database refuses it: {' '.join(told.split())}", hint=hint)


def _stored(value: Any) -> Any:
    """A value as SQLite keeps it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, date | time):
        return iso(value)
    return written(value) if isinstance(value, timedelta) else value

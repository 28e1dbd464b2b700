"""What a feed remembers: the number and the content's digest of each record by its key, and the documents it has read.

It is a database of SQLite's, so that the memory of a feed does not grow with it: a file by which another run goes on,
or one that is gone with the process. What a document brings is remembered when all of it has been told.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, Protocol

from xstreamcast.errors import Place, error

_FORMAT: Final = "xstreamcast feed 1"
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, number INTEGER, digest BLOB, seen INTEGER, tag INTEGER)"
    " WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS document (name TEXT PRIMARY KEY, stamp TEXT) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS said (what TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
)


Entry = tuple[int, bytes | None, int, int | None]
"""Of a record: its number, the digest of its content, the document that had it last, its tag."""


class Books(Protocol):
    """What a feed has noted, wherever it lies: see :class:`Known`."""

    place: Place | None

    def whole(self) -> AbstractContextManager[None]: ...
    def get(self, what: str, otherwise: str = "") -> str: ...
    def put(self, what: str, value: str) -> None: ...
    def record(self, key: str) -> tuple[int, bytes | None, int | None] | None: ...
    def note(self, key: str, number: int, digest: bytes | None, seen: int, tag: int | None) -> None: ...
    def unseen(self, seen: int) -> list[tuple[str, int]]: ...
    def has_read(self, name: str, stamp: str) -> bool: ...
    def read(self, name: str, stamp: str) -> None: ...
    def close(self) -> None: ...


def belong(books: Books, about: str) -> None:
    """Books are those of one feed: they say of which. XSC0121: of another one."""
    mine = f"{_FORMAT}: {about}"
    if books.get("feed", mine) != mine:
        hint = f"it is of {books.get('feed', '')!r}: name another place, or ask as before"
        raise error("XSC0121", "the state is that of another feed", books.place, hint)
    books.put("feed", mine)


class Known:
    """The books of a feed, in a database."""

    def __init__(self, path: str | Path | None) -> None:
        self.place: Place | None = Place(str(path)) if path is not None else None
        try:
            # In no thread's hand alone: a generator that is dropped may be ended by another one.
            self.database = sqlite3.connect(path or "", isolation_level=None, check_same_thread=False)
            if path is not None:
                self.database.execute("PRAGMA journal_mode = WAL")
                self.database.execute("PRAGMA synchronous = NORMAL")
            for table in _TABLES:
                self.database.execute(table)
            if not any(column[1] == "tag" for column in self.database.execute("PRAGMA table_info(record)")):
                self.database.execute("ALTER TABLE record ADD COLUMN tag INTEGER")  # books of when all had the same
        except sqlite3.Error as fault:
            hint = "name a file that a feed has made, or one that is not there yet"
            raise error("XSC0006", f"the state cannot be opened: {fault}", self.place, hint) from None

    def close(self) -> None:
        self.database.close()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What is noted inside is noted together, or not at all."""
        self.database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        self.database.execute("COMMIT")

    def get(self, what: str, otherwise: str = "") -> str:
        """Something that was noted."""
        row = self.database.execute("SELECT value FROM said WHERE what = ?", (what,)).fetchone()
        return otherwise if row is None else row[0]

    def put(self, what: str, value: str) -> None:
        """Note something."""
        self.database.execute("INSERT OR REPLACE INTO said VALUES (?, ?)", (what, value))

    def record(self, key: str) -> tuple[int, bytes | None, int | None] | None:
        """The number of a record, the digest of its content, None if it is gone, and its tag; None if it never came."""
        row = self.database.execute("SELECT number, digest, tag FROM record WHERE key = ?", (key,)).fetchone()
        return None if row is None else (row[0], row[1], row[2])

    def note(self, key: str, number: int, digest: bytes | None, seen: int, tag: int | None) -> None:
        """What is known of a record now."""
        self.database.execute("INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?)", (key, number, digest, seen, tag))

    def count(self) -> int:
        """How many records are known."""
        return int(self.database.execute("SELECT count(*) FROM record").fetchone()[0])

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """What is known of each record, by number."""
        for key, *entry in self.database.execute("SELECT key, number, digest, seen, tag FROM record ORDER BY number"):
            yield key, (entry[0], entry[1], entry[2], entry[3])

    def texts(self) -> list[tuple[str, str]]:
        """All else that was noted."""
        return self.database.execute("SELECT what, value FROM said ORDER BY what").fetchall()

    def unseen(self, seen: int) -> list[tuple[str, int]]:
        """The records that are there and were not in this document, by number."""
        rows = self.database.execute(
            "SELECT key, number FROM record WHERE seen <> ? AND digest IS NOT NULL ORDER BY number", (seen,)
        )
        return rows.fetchall()

    def has_read(self, name: str, stamp: str) -> bool:
        """Whether a document of this name was read as it is."""
        row = self.database.execute("SELECT stamp FROM document WHERE name = ?", (name,)).fetchone()
        return row is not None and row[0] == stamp

    def read(self, name: str, stamp: str) -> None:
        """A document has been read."""
        self.database.execute("INSERT OR REPLACE INTO document VALUES (?, ?)", (name, stamp))

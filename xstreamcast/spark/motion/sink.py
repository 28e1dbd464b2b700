"""Where the changes of answers go, micro-batch by micro-batch: a table, a log, a screen, a function of yours.

Spark may bring a batch again after a crash, always the same: a sink here takes each batch once, known by its number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from xstreamcast.errors import error
from xstreamcast.model.change import ROW
from xstreamcast.run.continuous.display.emit import ANSWER, ERROR
from xstreamcast.spark.motion.rows import STRUCTURE

if TYPE_CHECKING:
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.sink_answers import Answers, Batch
    from xstreamcast.spark.motion.state_log import Row

LogFormat = Literal["parquet", "json"]


class Sink(Protocol):
    """Who hears of every micro-batch. ``take`` may be called again with a batch that it has had."""

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        """A batch, the answers after it, and what it told of each."""

    def close(self) -> None:
        """There will be no more."""


class UpsertTable:
    """The answers as a table that is always right: a row for each item, put in, changed and taken out where it stands.

    ``connect`` gives a DB-API connection (``sqlite3.connect``, DuckDB, PostgreSQL …), ``mark`` is how it writes the
    place of a value. The rows and the number of the batch are written in one transaction, so that a batch counts once.
    Sorted by query and ``place``, the contents are the answer; an error is a row of its own, with the place
    ``"error"``, and the rows behind it have ``hidden = 1``.
    """

    def __init__(self, connect: Callable[[], Any], table: str = "answer", mark: str = "?") -> None:
        if not table.isidentifier():
            raise error("XSC0065", f"a table cannot be called {table!r}", hint="letters, digits and _")
        self.connection = connect()
        self.table = table
        self.mark = mark
        cursor = self.connection.cursor()
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {table} "
            "(query VARCHAR, region BIGINT, place VARCHAR, content VARCHAR, hidden INTEGER, "
            "PRIMARY KEY (query, region))"
        )
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {table}_batches (batch BIGINT PRIMARY KEY)")
        self.connection.commit()

    @classmethod
    def sqlite(cls, path: str | Path, table: str = "answer") -> UpsertTable:
        """… in a file of SQLite's."""
        import sqlite3

        return cls(lambda: sqlite3.connect(path, check_same_thread=False), table)

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        cursor, table, mark = self.connection.cursor(), self.table, self.mark
        cursor.execute(f"SELECT MAX(batch) FROM {table}_batches")
        (last,) = cursor.fetchone()
        if last is not None and batch.number <= last:
            return
        try:
            for name, rows in batch.rows.items():
                for row in rows:
                    self._row(cursor, name, row)
            cursor.execute(f"DELETE FROM {table}_batches")
            cursor.execute(f"INSERT INTO {table}_batches VALUES ({mark})", (batch.number,))
            self.connection.commit()
        except BaseException:
            self.connection.rollback()
            raise

    def _row(self, cursor: Any, name: str, row: Row) -> None:
        table, mark, region = self.table, self.mark, row["region"]
        mine = f"WHERE query = {mark} AND region = {mark}"
        if region == ANSWER and row["change"] in ("hide", "show"):
            hidden = int(row["change"] == "hide")
            cursor.execute(f"UPDATE {table} SET hidden = {mark} WHERE query = {mark}", (hidden, name))
            return
        if region == ANSWER and row["change"] == "replace":  # it is told anew: what was in it is gone
            cursor.execute(f"DELETE FROM {table} WHERE query = {mark} AND region <> {mark}", (name, ERROR))
            return
        place = "error" if region == ERROR else row["order"]
        if place is None:
            return  # what holds the answer together, not an item of it
        cursor.execute(f"SELECT hidden FROM {table} WHERE query = {mark} AND region <> {mark}", (name, ERROR))
        hidden = (cursor.fetchone() or (0,))[0] if place != "error" else 0
        cursor.execute(f"DELETE FROM {table} {mine}", (name, region))
        if row["change"] != "remove":
            values = (name, region, place, (row["content"] or b"").decode(), hidden)
            cursor.execute(f"INSERT INTO {table} VALUES ({', '.join([mark] * 5)})", values)

    def close(self) -> None:
        self.connection.close()


class ChangeLog:
    """Every change of the answers, in files: one for each micro-batch that told any, named by its number.

    Rows with ``change = 'structure'`` tell the tag structures of the answers, the first before their first changes.
    The folder may be a URI that ``pyarrow.fs`` writes. A batch that comes again writes the same file again.
    """

    def __init__(self, folder: str | Path, format: LogFormat = "parquet") -> None:
        from pyarrow import fs

        if format not in ("parquet", "json"):
            raise error("XSC0065", f"no log of format {format!r}", hint="parquet or json")
        self.format = format
        files: Any
        if "://" in str(folder):
            files, path = fs.FileSystem.from_uri(str(folder))
        else:
            files, path = fs.LocalFileSystem(), str(Path(folder).absolute())
        self.files, self.folder = files, path
        files.create_dir(path, recursive=True)

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        rows = [row for name in sorted(batch.rows) for row in batch.rows[name]] + batch.put_aside
        if not rows:
            return
        name = f"{batch.number:010}.{self.format}"
        hidden = f"{self.folder}/.{name}"
        with self.files.open_output_stream(hidden) as out:
            if self.format == "json":
                for row in rows:
                    out.write(json.dumps(plain(row), ensure_ascii=False).encode() + b"\n")
            else:
                self._parquet(rows, out)
        self.files.move(hidden, f"{self.folder}/{name}")

    def _parquet(self, rows: list[Row], out: Any) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        from xstreamcast.spark.motion.rows import batch_of_rows

        batch = batch_of_rows([tuple([row[name] for name in ROW]) for row in rows])
        parquet.write_table(pa.Table.from_batches([batch]), out)

    def close(self) -> None:
        """Every file is whole already."""


class Trace:
    """A JSON line for each micro-batch that alters an answer; ``n`` counts the changes that have come."""

    def __init__(self, answers: Answers, out: Any) -> None:
        self.out = out
        self.before = [spoken(answer.told()) for answer in answers.queries]

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        for number, answer in enumerate(answers.queries):
            now = spoken(answer.told())
            if now != self.before[number]:
                changes = [plain(row) for row in batch.rows.get(answer.name, ()) if row["change"] != STRUCTURE]
                line = {"n": answers.n, "query": number, "changes": changes, **now}
                print(json.dumps(line, ensure_ascii=False), file=self.out, flush=True)
                self.before[number] = now

    def close(self) -> None:
        self.out.flush()


class Called:
    """A function of yours: it gets the answers after each batch."""

    def __init__(self, function: Callable[[Answers], object]) -> None:
        self.function = function

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        self.function(answers)

    def close(self) -> None:
        """A function needs no end."""


def plain(row: Row) -> Row:
    """A row as JSON has it: content is text."""
    content = row["content"]
    return row if content is None else {**row, "content": bytes(content).decode()}


def spoken(told: Any) -> dict[str, Any]:
    """An answer in a trace: its text, or the error that it is."""
    if isinstance(told, str):
        return {"answer": told}
    return {"error": {"code": told.code, "message": told.message}}


SINKS: Final = ("live", "trace")
"""The displays that have names."""


def close_all(sinks: Iterable[Sink]) -> None:
    for sink in sinks:
        sink.close()

"""Where the changes of answers go, micro-batch by micro-batch: a table, a log, a screen, a function of yours.

Spark may bring a batch again after a crash, always the same: a sink here takes each batch once, known by its number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from xstreamcast.errors import error
from xstreamcast.model.change import ROW
from xstreamcast.run.tabled import table_of_query
from xstreamcast.spark.motion.rows import STRUCTURE
from xstreamcast.tables.answer_table import Removal
from xstreamcast.tables.cells import Nested
from xstreamcast.tables.sink import TableSink

if TYPE_CHECKING:
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.display.shelf import Emitted
    from xstreamcast.spark.motion.brought import Row
    from xstreamcast.spark.motion.sink_answers import Answers, Batch

LogFormat = Literal["parquet", "json"]
_CHANGES: Final = "changes"
"""What a position calls the number of changes that had come; beside it stands the id of Spark's query."""


class Sink(Protocol):
    """Who hears of every micro-batch. ``take`` may be called again with a batch that it has had."""

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        """A batch, the answers after it, and what it told of each."""

    def close(self) -> None:
        """There will be no more."""


class UpsertTable:
    """A table that equals an answer, ``URL#name``, in SQLite, DuckDB or PostgreSQL.

    ``query`` is the name of the query whose answer it is, where there are several; the rest is as in
    :meth:`~xstreamcast.tables.sink.Tabled.into`. The rows of a micro-batch are written in one transaction with a
    position: the batch's number, under the id that Spark keeps in the checkpoint, and how many changes had come. So a
    batch counts once. A table that is not as far as the checkpoint, or belongs to another one, stays as it is until as
    many changes have come as it knows of; then what differs is written.
    """

    def __init__(
        self,
        url: str,
        *,
        query: str | None = None,
        columns: str | Mapping[str, str] | None = None,
        key: str | Sequence[str] = (),
        removed: Removal = "delete",
        nested: Nested = "struct",
    ) -> None:
        self.url, self.query, self.columns, self.key = url, query, columns, key
        self.removed, self.nested = removed, nested
        self._sink: TableSink | None = None

    def open(self, inflow: Inflow, answers: Answers) -> None:
        """Have the table of one of these queries within reach. XSC0065: it cannot be told of which."""
        names = [query.name for query in inflow.queries]
        if self.query is None and len(names) > 1:
            raise error("XSC0065", f"{self.url} is the table of which query?", hint=f"query= {', '.join(names)}")
        if self.query is not None and self.query not in names:
            raise error("XSC0065", f"there is no query {self.query}", hint=f"query= {', '.join(names)}")
        self._number = 0 if self.query is None else names.index(self.query)
        asked = inflow.queries[self._number].query
        table, contents = table_of_query(asked, self.url, self.columns, self.key, self.removed, self.nested)
        self._position: dict[str, int] = {}
        self._begun = False
        self._sink = TableSink(table, contents, lambda: self._position, lambda: answers.ended)

    def take(self, batch: Batch, answers: Answers, told: list[list[Emitted]]) -> None:
        sink = self._sink
        assert sink is not None, "open() comes first"
        table, mine = sink.table, batch.query_id
        emitted = told[self._number]
        if not self._begun:
            # A batch is begun when the one before is committed. What changed while the answer was an error was not
            # written: then too it is not enough to go on.
            follows = table.position.get(mine) in (batch.number - 1, batch.number) and table.failure is None
            sink.catching_up = table.begun and not follows
            if not follows:
                emitted = answers.queries[self._number].snapshot()
            self._begun = True
        if not sink.catching_up and table.position.get(mine, -1) >= batch.number:
            return
        self._position = {_CHANGES: answers.n, mine: batch.number}
        sink.take(emitted)

    def close(self) -> None:
        sink, self._sink = self._sink, None
        if sink is None:
            return
        if sink.catching_up and self._begun:
            sink.close(sink.over())
        else:  # every batch that counts has been written; where none has come, the table stays as it is
            sink.table.close()


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

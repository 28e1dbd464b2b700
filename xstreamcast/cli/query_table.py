"""``xcast query --format``: an answer as a table in a file."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Final

from xstreamcast.cli.options import WrongCall
from xstreamcast.cli.terminal import output
from xstreamcast.dataclass import dataclass

if TYPE_CHECKING:
    from xstreamcast.run.query import Query
    from xstreamcast.run.result import Result
    from xstreamcast.tables.batches import Rows
    from xstreamcast.tables.cells import Nested
    from xstreamcast.tables.files import Declared

FORMATS: Final = ("parquet", "csv", "tsv", "jsonl", "arrow")
_NESTED: Final[tuple[Nested, ...]] = ("struct", "columns", "xml", "text")
_BINARY: Final = ("parquet", "arrow")


@dataclass(frozen=True, slots=True)
class TableFile:
    """Where a table goes, and how it is written."""

    format: str
    nested: Nested
    out: Path | None

    def write(self, query: Query, results: Iterable[Result]) -> int:
        """Write the rows of a query's answers, one after the other; how many there were."""
        return self.write_rows(query.kinds, (part for result in results for part in result.rows(self.nested)))

    def write_rows(self, declared: Declared, rows: Iterator[Rows]) -> int:
        """Write rows, whose columns may have been declared."""
        from xstreamcast.tables.files import write_table

        with output(self.out) as file:
            return write_table(rows, declared, self.format, file, seekable=self.out is not None)


def table_file(format: str | None, columns: str | None, nested: str, out: Path | None) -> TableFile | None:
    """The table that the options ask for: by --format, or by how the file is called; None if there is none."""
    if format is None and out is not None:
        by_name = out.name.removesuffix(".gz").rpartition(".")[2]
        format = by_name if by_name in FORMATS else None
    if format is None:
        if columns is not None or nested != "struct":
            raise WrongCall(f"--columns and --nested are of tables: --format {', '.join(FORMATS)}")
        return None
    if format not in FORMATS:
        raise WrongCall(f"--format is one of {', '.join(FORMATS)}")
    form = next((one for one in _NESTED if one == nested), None)
    if form is None:
        raise WrongCall(f"--nested is one of {', '.join(_NESTED)}")
    if format in _BINARY and out is None and sys.stdout.isatty():
        raise WrongCall(f"{format} is nothing for a terminal: -o FILE")
    return TableFile(format, form, out)


@contextmanager
def answers_to(out: Path | None) -> Iterator[None]:
    """What is printed goes to a file, if there is one."""
    if out is None:
        yield
        return
    with output(out) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        try:
            with redirect_stdout(text):
                yield
        finally:
            text.detach()

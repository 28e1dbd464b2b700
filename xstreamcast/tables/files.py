"""Tables as files: Parquet, Arrow, CSV, TSV, JSON lines; written as rows are found."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from xstreamcast.tables.batches import Columns, Rows, needed
from xstreamcast.tables.kinds import Kind, as_json, unfitting, written

if TYPE_CHECKING:
    import pyarrow as pa

_GROUP: Final = 1 << 17
"""Rows of a row group of Parquet; they are in memory until it is written."""
_GROUP_BYTES: Final = 64 << 20

Declared = Mapping[str, Kind | None]
"""Columns that are there in any case, with their types as far as they were said."""


def write_table(rows: Iterator[Rows], declared: Declared, format: str, out: BinaryIO, *, seekable: bool = True) -> int:
    """Write rows to an open file; how many there were. Arrow to a pipe (not ``seekable``) is its stream format.

    >>> import io
    >>> from xstreamcast import query
    >>> file = io.BytesIO()
    >>> books = "<a><b n='1'><t>x</t><t>y</t></b></a>"
    >>> write_table(query("//b", columns="@n, t", context=books).rows(), {}, "csv", file)
    1
    >>> file.getvalue().decode().splitlines()
    ['n,t', '1,"[""x"", ""y""]"']
    """
    return _WRITERS[format](rows, declared, out, seekable)


def _parquet(rows: Iterator[Rows], declared: Declared, out: BinaryIO, seekable: bool) -> int:
    columns = Columns(rows, declared)
    writer = needed("pyarrow.parquet", "arrow").ParquetWriter(out, columns.schema, compression="zstd")
    arrow = needed("pyarrow", "arrow")
    count = 0
    with writer:
        waiting: list[pa.RecordBatch] = []
        size = octets = 0

        def group() -> None:
            nonlocal waiting, size, octets
            writer.write_table(arrow.Table.from_batches(waiting, columns.schema))
            waiting, size, octets = [], 0, 0

        for batch in columns.batches():
            waiting.append(batch)
            size, octets, count = size + len(batch), octets + batch.nbytes, count + len(batch)
            if size >= _GROUP or octets >= _GROUP_BYTES:
                group()
        if waiting:
            group()
    return count


def _arrow(rows: Iterator[Rows], declared: Declared, out: BinaryIO, seekable: bool) -> int:
    columns = Columns(rows, declared)
    ipc = needed("pyarrow.ipc", "arrow")
    count = 0
    with (ipc.new_file if seekable else ipc.new_stream)(out, columns.schema) as writer:
        for batch in columns.batches():
            writer.write_batch(batch)
            count += len(batch)
    return count


def _separated(separator: str) -> Callable[[Iterator[Rows], Declared, BinaryIO, bool], int]:
    def write(rows: Iterator[Rows], declared: Declared, out: BinaryIO, seekable: bool) -> int:
        columns = Columns(rows, declared)
        text = TextIOWrapper(out, "utf-8", newline="", write_through=True)
        writer = csv.writer(text, delimiter=separator, lineterminator="\n")
        count = 0
        try:
            writer.writerow(columns.names)
            for part in columns.parts():
                lists = [_texts(part, name, declared.get(name)) for name in columns.names]
                writer.writerows(zip(*lists, strict=True))
                count += len(part)
        finally:
            text.detach()
        return count

    return write


def _texts(part: Rows, name: str, kind: Kind | None) -> list[str]:
    """A column as text; what is not there is empty."""
    if name not in part.names:
        return [""] * len(part)
    return ["" if value is None else written(_shaped(value, kind, name)) for value in part.values(name)]


def _shaped(value: Any, kind: Kind | None, name: str) -> Any:
    """A value of a column: of lists, one value is a list too. XSC0152: several, where one was declared."""
    if kind is None:
        return value
    if kind.item is not None:
        return value if isinstance(value, list) else [] if value is None else [value]
    if isinstance(value, list):
        raise unfitting(value, kind, name)
    return value


def _json_lines(rows: Iterator[Rows], declared: Declared, out: BinaryIO, seekable: bool) -> int:
    count = 0
    for part in rows:
        lines = []
        for record in part.records():
            shaped = {name: as_json(_shaped(value, declared.get(name), name)) for name, value in record.items()}
            lines.append(json.dumps(shaped, ensure_ascii=False))
        out.write("".join(f"{line}\n" for line in lines).encode())
        count += len(part)
    return count


_WRITERS: Final = {
    "parquet": _parquet, "csv": _separated(","), "tsv": _separated("\t"), "jsonl": _json_lines, "arrow": _arrow,
}  # fmt: skip
FORMATS: Final = tuple(_WRITERS)

"""``frame.writeStream.format("xstreamcast")``: change rows become a stream, in files or of a server, exactly once.

>>> motion.writeStream.format("xstreamcast").option("checkpointLocation", "state").start("alerts")     # doctest: +SKIP

Tasks pack their rows, and the driver publishes a micro-batch whole, in the order of ``seq``: as a file of a folder,
named by the batch's number, that appears by a rename; or by one request to a server, with that number and the id that
Spark keeps in the checkpoint. What Spark brings again is there already, and stays as it is. A batch that fails before
its end has left nothing.

Options: ``path``, a folder or ``xcast://host:port/name``; ``stream``, which of several streams the rows are of;
``token``, a server's, else ``XCAST_TOKEN`` as Spark's driver has it.
"""

from __future__ import annotations

import io
import json
import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from xstreamcast.errors import error
from xstreamcast.model.change import Change
from xstreamcast.model.structure import Structure
from xstreamcast.serve import SCHEME
from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.rows import ARROW_SCHEMA, QUARANTINE, item_of, packed
from xstreamcast.wire.fragment import FragmentWriter

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from xstreamcast.spark.motion.brought import Row

OPTIONS: Final = ("path", "stream", "token", "checkpointLocation")
_NEEDED: Final = ("region", "content", "seq")
_DEFAULTS: Final = {"change": "fill", "doc": ""}
_QUERY_ID: Final = "sql.streaming.queryId"
"""The property of a task that tells the id of Spark's streaming query."""
_OWNER: Final = ".xstreamcast-writer.json"
_TOKEN: Final = "XCAST_TOKEN"

Item = Change | Structure


class Written(WriterCommitMessage):  # type: ignore[misc]  # mypy does not follow PySpark
    """What a task sends the driver: its rows, and of which streaming query they are."""

    def __init__(self, query: str, rows: bytes) -> None:
        self.query, self.rows = query, rows


class StreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]  # mypy does not follow PySpark
    """Publishes micro-batches; :meth:`publish` says where."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        known = {name.lower() for name in OPTIONS}
        for name in options:
            if name.lower() not in known:
                raise error("XSC0065", f"unknown option {name!r}", hint=f"one of {', '.join(OPTIONS)}")
        if overwrite:
            raise error("XSC0065", "a stream is not told anew with each batch", hint='.outputMode("append")')
        missing = [name for name in _NEEDED if name not in schema.names]
        if missing:
            hint = "the columns of change rows; without `change` all rows are fillers"
            raise error("XSC0068", f"rows without a column {missing[0]} are no changes", hint=hint)
        self.path, self.stream = options["path"], options.get("stream")

    def write(self, batches: Iterator[pa.RecordBatch]) -> Written:
        from pyspark import TaskContext

        context = TaskContext.get()
        tables = [_rows(batch) for batch in batches]
        query = "" if context is None else context.getLocalProperty(_QUERY_ID) or ""
        return Written(query, packed(pa.concat_tables(tables or [ARROW_SCHEMA.empty_table()])))

    def commit(self, messages: list[Written | None], batchId: int) -> None:
        written = [message for message in messages if message is not None]
        if not written:
            return
        rows = Brought.read(*[message.rows for message in written]).in_order().rows
        items = self._items(rows)
        if items:
            self.publish(written[0].query, batchId, *items)

    def abort(self, messages: list[Written | None], batchId: int) -> None:
        """Nothing was published: there is nothing to take back."""

    def _items(self, rows: Sequence[Row]) -> tuple[str, list[Item]] | None:
        """The stream that rows are of, and its changes; what was put aside is not among them."""
        mine = [row for row in rows if self.stream is None or row["stream"] == self.stream]
        mine = [row for row in mine if row["change"] != QUARANTINE]
        names = list(dict.fromkeys(row["stream"] or "" for row in mine))
        if len(names) > 1:
            hint = '.option("stream", …) takes those of one; write each to a place of its own'
            raise error("XSC0065", f"rows of several streams: {', '.join(names)}", hint=hint)
        made: list[Any] = [item_of(row) for row in mine]
        return (names[0], made) if made else None

    @abstractmethod
    def publish(self, query: str, batch: int, stream: str, items: list[Item]) -> None:
        """Have the changes of a batch where they belong, once."""


def _rows(batch: pa.RecordBatch) -> pa.Table:
    """Rows with all columns of change rows, typed as they are."""
    count = batch.num_rows
    columns = []
    for field in ARROW_SCHEMA:
        if field.name in batch.schema.names:
            columns.append(batch.column(field.name).cast(field.type))
        elif field.name in _DEFAULTS:
            columns.append(pa.repeat(_DEFAULTS[field.name], count))
        else:
            columns.append(pa.nulls(count, field.type))
    return pa.Table.from_arrays(columns, schema=ARROW_SCHEMA)


class FileWriter(StreamWriter):
    """A folder with a file for each micro-batch, which is a stream for whoever reads the folder."""

    def publish(self, query: str, batch: int, stream: str, items: list[Item]) -> None:
        from pyarrow import fs

        files, folder = _folder(self.path)
        self._own(files, folder, query)
        name = f"{batch:010}.xml"
        if files.get_file_info(f"{folder}/{name}").type == fs.FileType.File:
            return
        text = io.BytesIO()
        writer = FragmentWriter(text)
        for item in items:
            if isinstance(item, Structure):
                writer.write_structure(item)
            else:
                writer.write(item)
        writer.close()
        _write(files, folder, name, text.getvalue())

    def _own(self, files: Any, folder: str, query: str) -> None:
        """See to it that the folder is that of this checkpoint. XSC0087: it is another's."""
        from pyarrow import fs

        files.create_dir(folder, recursive=True)
        if files.get_file_info(f"{folder}/{_OWNER}").type == fs.FileType.File:
            with files.open_input_stream(f"{folder}/{_OWNER}") as file:
                mine = json.loads(file.read()).get("query") == query
        else:
            mine = not files.get_file_info(fs.FileSelector(folder))
            if mine:
                _write(files, folder, _OWNER, json.dumps({"query": query}).encode())
        if not mine:
            hint = "write to an empty folder, or go on from the checkpoint that wrote this one"
            raise error("XSC0087", f"{self.path} has the changes of another checkpoint", hint=hint)


class AirWriter(StreamWriter):
    """A stream of a server, which takes in a batch once, by its number and the id of Spark's query."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        super().__init__(options, schema, overwrite)
        self.token = options.get("token")

    def publish(self, query: str, batch: int, stream: str, items: list[Item]) -> None:
        from xstreamcast.serve.client import Publisher, parse_address

        token = self.token or os.environ.get(_TOKEN, "")
        if not token:
            hint = f'.option("token", …), or set {_TOKEN} where Spark\'s driver runs'
            raise error("XSC0102", f"publishing to {self.path} needs a token", hint=hint)
        publisher = Publisher(parse_address(self.path, stream), token)
        publisher.name, publisher.batch = f"spark-{query}", batch  # it sends the next one
        publisher.publish(items)


def writer_of(options: Mapping[str, str], schema: StructType, overwrite: bool) -> StreamWriter:
    """Who writes to the place that options name."""
    if not options.get("path"):
        raise error("XSC0065", "no path", hint='.start("alerts"): a folder, or xcast://host:port/name')
    kind = AirWriter if options["path"].startswith(SCHEME) else FileWriter
    return kind(options, schema, overwrite)


def _folder(path: str) -> tuple[Any, str]:
    from pyarrow import fs

    if "://" in path:
        files, folder = fs.FileSystem.from_uri(path)
        return files, folder.rstrip("/")
    return fs.LocalFileSystem(), os.path.abspath(path)


def _write(files: Any, folder: str, name: str, data: bytes) -> None:
    """A file that appears whole."""
    hidden = f"{folder}/.{name.lstrip('.')}.part"
    with files.open_output_stream(hidden) as out:
        out.write(data)
    files.move(hidden, f"{folder}/{name}")

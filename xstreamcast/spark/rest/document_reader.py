"""Reading documents into rows: the items of a query, or the elements of a path with typed columns.

The driver lists the files and finds where they may be cut; each task reads a range of a large document, or some small
documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceReader, InputPartition

from xstreamcast.errors import error
from xstreamcast.run.computed import Computed, parse_column
from xstreamcast.run.library import moment_of
from xstreamcast.run.query import compile
from xstreamcast.scan.path import Path
from xstreamcast.spark.motion.stream_source import size_option
from xstreamcast.spark.rest.door import Key
from xstreamcast.spark.rest.files import Document, documents
from xstreamcast.spark.rest.indexing import planned
from xstreamcast.spark.rest.program import Program, Scan
from xstreamcast.spark.rest.ranges import Asked, Range, Seen, range_batches
from xstreamcast.spark.transport import ITEM_ROWS, dumps, item_batches
from xstreamcast.tables.columns import Column, Table, arrow, inferred, parse_record, record_place, targets

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

DOCUMENT_OPTIONS: Final = ("path", "paths", "files", "partitionBytes", "namespaces", "file", "offset")
QUERY_OPTIONS: Final = (*DOCUMENT_OPTIONS, "query", "now")
COLUMN_OPTIONS: Final = (*DOCUMENT_OPTIONS, "record", "columns", "where", "xml")
_SAMPLE: Final = 4 << 20
_SPARK_TYPES: Final = {
    "string": "string", "bigint": "long", "double": "double", "boolean": "boolean", "date": "date",
    "timestamp": "timestamp", "decimal(38,18)": "decimal(38,18)",
}  # fmt: skip


class Ranges(InputPartition):  # type: ignore[misc]  # mypy does not follow PySpark
    """The part of the documents that one task reads."""

    def __init__(self, number: int, parts: Sequence[Range]) -> None:
        super().__init__(None)
        self.number, self.parts = number, tuple(parts)


class _DocumentReader(DataSourceReader):  # type: ignore[misc]  # mypy does not follow PySpark
    """The base of both readers: the files, and how they are shared out."""

    known: tuple[str, ...]

    def __init__(self, options: Mapping[str, str], key: Key | None) -> None:
        given = {name.lower(): value for name, value in options.items()}
        names = {name.lower(): name for name in self.known}
        for name in given:
            if name not in names:
                raise error("XSC0065", f"unknown option {name!r}", hint=f"one of {', '.join(self.known)}")
        self.given, self.key = given, key
        self.namespaces = _texts(given, "namespaces")
        self.step = (
            size_option({"partitionBytes": given["partitionbytes"]}, "partitionBytes")
            if "partitionbytes" in given
            else None
        )
        self.splits = True

    def flag(self, name: str) -> bool:
        """An option that is true or false."""
        value = self.given.get(name, "false").lower()
        if value not in ("true", "false"):
            raise error("XSC0065", f"{name}={value!r}", hint="true or false")
        return value == "true"

    @property
    def paths(self) -> list[str]:
        """The files, folders and patterns."""
        if "files" in self.given:
            text = self.given["files"]
        elif "paths" in self.given:
            text = self.given["paths"]
        elif "path" in self.given:
            return [self.given["path"]]
        else:
            raise error("XSC0065", "no path", hint='.load("dump/*.xml"): a file, a folder or a pattern')
        return [str(path) for path in json.loads(text)] if text.startswith("[") else [text]

    def partitions(self) -> list[Ranges]:
        found = documents(self.paths)
        if not self.splits:
            tasks = planned(found, self.step, cut=False)
        else:
            asked = None if self.key is None else self.key.planned(found, self.step)
            tasks = planned(found, self.step) if asked is None else asked
        return [Ranges(number, parts) for number, parts in enumerate(tasks)]


def _texts(given: Mapping[str, str], name: str) -> dict[str, str]:
    """An option that is a JSON object of texts."""
    try:
        made = json.loads(given.get(name, "{}"))
    except ValueError as failure:
        raise error("XSC0065", f"{name} is not JSON: {failure}", hint='{"id": "@id", "name": "name"}') from None
    if not isinstance(made, dict) or not all(isinstance(value, str) for value in made.values()):
        raise error("XSC0065", f"{name} is no JSON object of texts", hint='{"id": "@id", "name": "name"}')
    return made


class QueryReader(_DocumentReader):
    """The items of a query, one after the other for each file."""

    known = QUERY_OPTIONS

    def __init__(self, options: Mapping[str, str], key: Key | None) -> None:
        from xstreamcast.spark.rest.at_rest import reads_ranges

        super().__init__(options, key)
        self.schema = f"file string, {ITEM_ROWS}"
        base = FilePath.cwd().as_uri() + "/"
        self.program = Program(self.given["query"], base, (), dumps({}), moment_of(self.given.get("now")), ())
        # Other answers are not made of what ranges have: then a file is read by one task.
        self.splits = reads_ranges(compile(self.program.text, base_uri=base).plan())

    def read(self, partition: Ranges) -> Iterator[RecordBatch]:
        import pyarrow as pa

        for part in partition.parts:
            if self.splits and not part.whole:
                scan = Scan(self.program, 0, part.document.uri, dumps({}), False)
                items = scan.items([part])
            else:
                items = self.program.query.ask(context=part.document.source(), now=self.program.now).consume()
            for batch in item_batches(items, partition.number):
                name = pa.array([part.document.path] * batch.num_rows)
                yield pa.RecordBatch.from_arrays([name, *batch.columns], names=["file", *batch.schema.names])


class ColumnReader(_DocumentReader):
    """The elements of a path, a row each."""

    known = COLUMN_OPTIONS

    def __init__(self, options: Mapping[str, str], key: Key | None, schema: StructType | None) -> None:
        super().__init__(options, key)
        record = self.given.get("record") or (self.given.get("path") if "files" in self.given else None)
        if not record or "columns" not in self.given:
            hint = '.option("record", "/site/people/person").option("columns", \'{"id": "@id"}\').load("auction.xml")'
            raise error("XSC0065", "record and columns come together", hint=hint)
        self.record = parse_record(record, self.namespaces)
        self.now = moment_of(None)
        self.where = _condition(self.given["where"], self.namespaces) if "where" in self.given else None
        columns = [parse_column(name, text, self.namespaces) for name, text in _texts(self.given, "columns").items()]
        extra = [name for name in ("file", "offset", "xml") if self.flag(name)]
        if taken := sorted(set(extra) & {column.name for column in columns}):
            raise error("XSC0065", f"two columns are called {taken[0]}", hint="columns may have any other name")
        self.extra = extra
        self.columns = [_declared(column, schema) for column in columns] if schema else columns
        if any(not column.type for column in self.columns):
            self.columns = inferred(self.columns, self._sample(), self.now)
        more = {"file": "file string", "offset": "offset long", "xml": "xml string"}
        self.schema = ", ".join([*[column.ddl for column in self.columns], *[more[name] for name in extra]])

    @property
    def asked(self) -> Asked:
        looked_at = self.columns if self.where is None else [*self.columns, self.where]
        return Asked(targets(self.record, looked_at), records=(self.record,))

    def _sample(self) -> Iterator[tuple[Table, Any]]:
        """The first records there are."""
        (first, *_) = documents(self.paths)
        for batch in range_batches(Range(first, 0, None), self.asked):
            table = Table(batch.tree)
            yield table, table.records(self.record, [each.row for each in batch.began])
            if batch.offset > _SAMPLE:
                return

    def read(self, partition: Ranges) -> Iterator[RecordBatch]:
        asked = self.asked
        for part in partition.parts:
            seen = Seen()
            for batch in range_batches(part, asked, seen):
                table = Table(batch.tree)
                records = table.records(self.record, [each.row for each in batch.began])
                if len(records):
                    yield from self._rows(part.document, table, records, seen)

    def _rows(self, document: Document, table: Table, records: Any, seen: Seen) -> Iterator[RecordBatch]:
        import pyarrow as pa

        starts, ends = seen.taken(len(records))
        place = record_place(document.path, starts)
        if self.where is not None:
            kept = arrow(table, self.where, records, self.now, place).to_numpy(zero_copy_only=False)
            if not kept.any():
                return
            records, starts, ends = records[kept], starts[kept], ends[kept]
            place = record_place(document.path, starts)
        made = [arrow(table, column, records, self.now, place) for column in self.columns]
        for name in self.extra:
            if name == "file":
                made.append(pa.array([document.path] * len(records)))
            elif name == "offset":
                made.append(pa.array(starts))
            else:
                made.append(pa.array(seen.texts(starts.tolist(), ends.tolist()), pa.string()))
        names = [*[column.name for column in self.columns], *self.extra]
        yield pa.RecordBatch.from_arrays(made, names=names)


def _condition(text: str, namespaces: Mapping[str, str]) -> Column:
    """The option ``where`` as a column: whether an element is to be a row."""
    name = "where"
    return Column(
        name, Path(), 0, None, "boolean", False, Computed(name, f"boolean(({text}))", tuple(namespaces.items()))
    )


def _declared(column: Column, schema: StructType) -> Column:
    """A column with the type that a schema has for it."""
    from dataclasses import replace

    fields = {field.name: field.dataType.simpleString() for field in schema.fields}
    if column.name not in fields:
        return column
    kind = fields[column.name]
    repeated = kind.startswith("array<")
    inner = kind.removeprefix("array<").removesuffix(">") if repeated else kind
    if inner not in _SPARK_TYPES:
        raise error(
            "XSC0065", f"column {column.name}: {kind}", hint=f"one of {', '.join(_SPARK_TYPES)}, or arrays of them"
        )
    return replace(column, type=_SPARK_TYPES[inner], repeated=repeated)

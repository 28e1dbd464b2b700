"""Change rows as Arrow record batches: the columns of :data:`xstreamcast.model.change.ROW`, in and out.

Besides changes there are two more kinds of rows, so that nothing of a stream is lost on the way to Spark:

* ``structure``   content is the structure's XML;
* ``quarantine``  content is a JSON object: code, message, source, offset, excerpt.

Neither counts as a change: such a row has the ``seq`` of the change before it (0 at the beginning).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from xstreamcast.cast.automata import KINDS
from xstreamcast.cast.columns import BEGIN, KIND, NO_TIME, NONE, REGION, TARGET, TIME, TO, TSID, VERSION
from xstreamcast.errors import Place
from xstreamcast.model.change import ROOT, ROW, Change, ChangeRow, ContentChange, from_row, to_row
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, parse_structure, write_structure
from xstreamcast.native.vector import Longs
from xstreamcast.spark.motion.walk import Run
from xstreamcast.spark.worker import keep_loaded
from xstreamcast.wire.fragment import Arrival

STRUCTURE: Final = "structure"
QUARANTINE: Final = "quarantine"

_TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "seq": pa.int64(), "region": pa.int64(), "target": pa.int64(), "tsid": pa.int64(), "version": pa.int64(),
    "valid_time": _TIME, "content": pa.binary(),
}  # fmt: skip
ARROW_SCHEMA: Final = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ROW])

_NAMES: Final = pa.array([kind.kind for kind in KINDS])
_BRINGS: Final = np.array([issubclass(kind, ContentChange) for kind in KINDS])

_PACKED: Final = pa.schema([("bucket", pa.int32()), ("changes", pa.binary())])
_BATCH_ROWS: Final = 8192
_BATCH_BYTES: Final = 4 << 20


def arrival_rows(arrivals: Iterable[Arrival], stream: str, seq: int) -> list[ChangeRow]:
    """The rows of arrivals that come after ``seq`` changes."""
    rows: list[ChangeRow] = []
    for arrival in arrivals:
        item = arrival.item
        if isinstance(item, Change):
            seq += 1
            rows.append(to_row(item, stream, seq))
        else:
            if isinstance(item, Structure):
                kind, content = STRUCTURE, write_structure(item)
            else:
                kind, content = QUARANTINE, _report(item, arrival.place)
            rows.append((stream, seq, kind, "", None, None, None, None, None, None, content.encode()))
    return rows


def _report(diagnostic: Diagnostic, piece: Place) -> str:
    """What a quarantine row says. The offset is that of the fault, or of the piece it is in."""
    offset = diagnostic.place.offset
    report = {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "source": piece.source,
        "offset": piece.offset if offset is None else offset,
        "excerpt": diagnostic.excerpt,
    }
    return json.dumps(report, ensure_ascii=False)


def batch_of_rows(rows: list[ChangeRow]) -> pa.RecordBatch:
    """Rows as a record batch."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in ROW)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)


def batch_of_run(run: Run, stream: str) -> pa.RecordBatch:
    """A run as a record batch, column by column."""
    changes, batch = run.batch.rows[run.first : run.stop], run.batch
    count = run.rows
    docs = [batch.docs.get(k, "") for k in range(run.first, run.stop)] if batch.docs else pa.repeat("", count)
    kinds = pa.array(changes[:, KIND], pa.int32())
    data = batch.buffer.data
    spans = zip(changes[:, BEGIN].tolist(), changes[:, TO].tolist(), _BRINGS[changes[:, KIND]].tolist(), strict=True)
    times = changes[:, TIME]
    arrays = {
        "stream": pa.repeat(stream, count),
        "seq": pa.array(np.arange(run.begin.seq + 1, run.begin.seq + 1 + count)),
        "change": pa.DictionaryArray.from_arrays(kinds, _NAMES).cast(pa.string()),
        "doc": docs,
        "region": pa.array(np.maximum(changes[:, REGION], ROOT)),
        "target": _numbers(changes[:, TARGET]),
        "tsid": _numbers(changes[:, TSID]),
        "version": _numbers(changes[:, VERSION]),
        "valid_time": pa.array(times, mask=times == NO_TIME).cast(_TIME),
        "content": pa.array([bytes(data[begin:to]) if brings else None for begin, to, brings in spans], pa.binary()),
    }
    columns = [arrays[field.name] if field.name in arrays else pa.nulls(count, field.type) for field in ARROW_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def _numbers(column: Longs) -> Any:
    return pa.array(column, mask=column == NONE)


def item_of(row: Mapping[str, Any]) -> Change | Structure | Diagnostic:
    """What a row stands for; :func:`~xstreamcast.spark.motion.state_log.table_rows` gives those of a table."""
    if row["change"] == STRUCTURE:
        return parse_structure(row["content"])
    if row["change"] == QUARANTINE:
        report = json.loads(row["content"])
        place = Place(report["source"], offset=report["offset"])
        return Diagnostic(report["code"], "quarantine", report["message"], place, report["excerpt"])
    return from_row(row)


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of a good size."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= _BATCH_ROWS or size >= _BATCH_BYTES:
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.concat_batches(waiting)


def pack_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch of change rows as one row, for the only bucket."""
    for batch in batches:
        if batch.num_rows:
            changes = pa.array([packed(pa.Table.from_batches([batch]))])
            yield pa.RecordBatch.from_arrays([pa.array([0], pa.int32()), changes], schema=_PACKED)
    keep_loaded()


def packed(table: pa.Table, compression: str | None = None) -> bytes:
    """A table as bytes; not compressed where Spark does that on the way."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())

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

import pyarrow as pa
import pyarrow.compute as pc

from xstreamcast.errors import Place
from xstreamcast.model.change import ROW, Change, ChangeRow, from_row, to_row
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.fragment import Arrival
from xstreamcast.model.structure import Structure, parse_structure, write_structure
from xstreamcast.spark.motion.walk import PlainRun

STRUCTURE: Final = "structure"
QUARANTINE: Final = "quarantine"

_TIME: Final = pa.timestamp("us", tz="UTC")
_TYPES: Final = {
    "seq": pa.int64(), "region": pa.int64(), "target": pa.int64(), "tsid": pa.int64(), "version": pa.int64(),
    "valid_time": _TIME, "content": pa.binary(),
}  # fmt: skip
ARROW_SCHEMA: Final = pa.schema([(name, _TYPES.get(name, pa.string())) for name in ROW])

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


def batch_of_run(run: PlainRun, stream: str) -> pa.RecordBatch:
    """A plain run as a record batch, column by column."""
    count = run.rows
    regions, tsids, docs, versions, times = zip(*(filler.groups() for filler in run.fillers), strict=True)
    arrays = {
        "stream": pa.repeat(stream, count),
        "seq": pa.array(range(run.begin.seq + 1, run.begin.seq + 1 + count), pa.int64()),
        "change": pa.repeat("fill", count),
        "doc": pc.fill_null(pa.array(docs, pa.binary()).cast(pa.string()), ""),
        "region": _integers(regions),
        "tsid": _integers(tsids),
        "version": _integers(versions),
        # Without a zone, hence UTC; the pattern has seen to it that they are dates.
        "valid_time": pa.array(times, pa.binary()).cast(pa.string()).cast(pa.timestamp("us")).cast(_TIME),
        "content": pa.array([filler.string[filler.end() :] for filler in run.fillers], pa.binary()),
    }
    columns = [arrays[field.name] if field.name in arrays else pa.nulls(count, field.type) for field in ARROW_SCHEMA]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_SCHEMA)


def _integers(texts: Iterable[bytes | None]) -> Any:
    return pa.array(texts, pa.binary()).cast(pa.string()).cast(pa.int64())


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

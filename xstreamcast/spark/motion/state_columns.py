"""What tables in columns hold, as rows of a base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from xstreamcast.cast.automata import KINDS
from xstreamcast.cast.columns import KIND, NO_TIME, NONE, REGION, TIME, TSID, VERSION
from xstreamcast.model.change import Eos
from xstreamcast.model.structure import write_structure
from xstreamcast.run.continuous.columns.arrived import SENT
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.rows import ARROW_SCHEMA
from xstreamcast.spark.motion.state_log import row_of, structure_row

if TYPE_CHECKING:
    from xstreamcast.run.continuous.columns.arrived import Arrived
    from xstreamcast.run.continuous.columns.table import RegionTable


def live_columns(tables: Mapping[str, RegionTable], ended: Iterable[str], others: Iterable[Row]) -> Brought:
    """The rows that are enough to bring tables about, and then other rows; structures come before all of them."""
    known = [structure_row(name, 0, write_structure(table.structure)) for name, table in tables.items()]
    parts = [_rows(name, table.kept()) for name, table in tables.items()]
    last = Brought.of([*[row_of(Eos(), name) for name in ended], *others])
    return Brought(pa.concat_tables([Brought.of(known).table, *parts, last.table]).combine_chunks())


def _rows(stream: str, some: Arrived) -> Any:
    """Changes side by side as an Arrow table, by their regions.

    Where a table has them depends on how they came together, which is another way for whoever begins at a mark.
    """
    order = np.argsort(some.rows[:, REGION], kind="stable")
    rows, count = some.rows[order], len(some)
    contents = [some.contents[k] for k in order.tolist()]
    sent = SENT[rows[:, KIND]]
    names = np.array([kind.kind for kind in KINDS])
    time = ARROW_SCHEMA.field("valid_time").type
    arrays: dict[str, Any] = {
        "stream": pa.array([stream]).take(pa.array(np.zeros(count, np.int32))),
        "seq": pa.array(np.zeros(count, np.int64)),
        "change": pa.array(names[rows[:, KIND]], pa.string()),
        "doc": pa.array([""]).take(pa.array(np.zeros(count, np.int32))),
        "region": pa.array(rows[:, REGION]),
        "tsid": pa.array(rows[:, TSID], mask=rows[:, TSID] == NONE),
        "version": pa.array(rows[:, VERSION], mask=rows[:, VERSION] == NONE),
        "valid_time": pa.array(rows[:, TIME], mask=rows[:, TIME] == NO_TIME).cast(time),
        "content": pa.array(contents, pa.binary(), mask=~sent),
    }
    columns = [arrays[field.name] if field.name in arrays else pa.nulls(count, field.type) for field in ARROW_SCHEMA]
    return pa.Table.from_arrays(columns, schema=ARROW_SCHEMA)

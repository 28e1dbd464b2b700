"""What is small the driver answers at once: to plan a job and run it takes Spark as long as scanning many megabytes.

Whether an answer comes of tasks or of the driver cannot be told by its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from xstreamcast.errors import XStreamError
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.indexing import LEAST
from xstreamcast.spark.rest.packed import is_packed
from xstreamcast.spark.transport import ITEM_ROWS, loads

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from xstreamcast.model.atomic import Item
    from xstreamcast.run.query import Result
    from xstreamcast.spark.rest.at_rest import Inputs
    from xstreamcast.spark.rest.program import Program

_PACKED: Final = 8  # how many times as large as it is stored a packed document is taken to be
_ROWS: Final = 16 << 10
_BYTES: Final = 16 << 20


def are_small(documents: Iterable[Document]) -> bool:
    """Whether all of some documents are not worth a task."""
    room = LEAST
    for document in documents:
        room -= document.size
        if room < 0:
            return False
        if document.entered and is_packed(document):
            room -= (_PACKED - 1) * document.size
    return room >= 0


def frame_of(spark: SparkSession, batches: Callable[[], Iterator[Any]]) -> DataFrame | None:
    """A DataFrame of Arrow batches that are computed here; None if that are many, or there is an error: then tasks
    give rows as they are asked for, and tell the error when they are."""
    made: list[Any] = []
    found = batches()
    try:
        for batch in found:
            made.append(batch)
            if sum(each.num_rows for each in made) > _ROWS or sum(each.nbytes for each in made) > _BYTES:
                return None
    except XStreamError:
        return None
    if not made:
        return spark.createDataFrame([], ITEM_ROWS)
    return spark.createDataFrame(pa.Table.from_batches(made))


def alone(program: Program, inputs: Inputs) -> Iterator[Item]:
    """The query as the embedded engine runs it."""
    context = None if inputs.context is None else inputs.context.source()
    made: Result = program.query(
        context=context,
        docs={name: document.source() for name, document in inputs.docs.items()},
        collections={name: [each.source() for each in found] for name, found in inputs.collections.items()},
        streams=inputs.streams or None,
        now=program.now if inputs.timed or not inputs.streams else None,
        variables={f"{{{uri}}}{local}": items for (uri, local), items in loads(program.given).items()},
    )
    return made.consume()

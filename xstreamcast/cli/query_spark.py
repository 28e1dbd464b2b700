"""``xcast query --engine spark``: the same query, its documents read by the tasks of Spark."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xstreamcast.cli.own_spark import own_spark

if TYPE_CHECKING:
    from xstreamcast.cli.query_table import TableFile
    from xstreamcast.model.serialise import Output


def query_on_spark(
    text: str,
    outputs: Callable[[], Output],
    *,
    master: str,
    lines: bool,
    table: TableFile | None,
    context: Sequence[str] | None,
    docs: Mapping[str, str],
    streams: Mapping[str, str],
    variables: Mapping[str, Any],
    now: str | None,
    base_uri: str | None,
    columns: str | None,
    source: str,
) -> None:
    """Run a query once, of each document, and write its items; the session ends with it."""
    from xstreamcast.spark.failures import own_errors
    from xstreamcast.spark.rest.at_rest import prepare

    with (
        tempfile.TemporaryDirectory(prefix="xstreamcast-query-") as folder,
        own_spark("xcast query", master, Path(folder)) as spark,
        own_errors(),
    ):
        spread = prepare(
            spark, text, context=context, docs=docs, streams=streams, variables=variables, now=now, base_uri=base_uri,
            columns=columns, source=source,
        )  # fmt: skip
        if table is not None:
            from xstreamcast.tables.batches import item_rows

            rows = (part for answer in spread.answers() for part in item_rows(answer, table.nested))
            table.write_rows(spread.compiled.kinds, rows)
            return
        for answer in spread.answers():
            output = outputs()
            output.extend(answer)
            if not lines:
                output.write("\n")
        sys.stdout.flush()

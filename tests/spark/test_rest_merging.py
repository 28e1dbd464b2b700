"""Partial results of many ranges: put together a few at a time, in document order, and finished where the last meet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from local_frames import LocalSpark
from rest_samples import NOW, document_of

from xstreamcast.run.query import query
from xstreamcast.spark.rest.at_rest import prepare
from xstreamcast.spark.rest.indexing import forget_seams

ELEMENTS = 2999
"""Of sixteen bytes each, as are the root's tags together: 48,000 bytes, so that ranges are as many as are asked for."""
ORDERED = "<all n='{count(/r/a)}'>{ for $a in /r/a return <b>{ string($a/@n) }</b> }</all>"


@pytest.mark.parametrize(
    ("ranges", "exchanges"), [(1, 0), (2, 1), (16, 1), (17, 2), (300, 3)], ids=["1", "2", "16", "17", "300"]
)
def test_sixteen_are_put_together_at_a_time_and_the_last_time_gives_the_answer(
    tmp_path: Path, ranges: int, exchanges: int
) -> None:
    content = "<r         >" + "".join(f"<a n='{k:07}'/>" for k in range(ELEMENTS)) + "</r>"
    made = document_of(tmp_path, content)
    spark: Any = LocalSpark()
    spread = prepare(spark, ORDERED, context=made.path, now=NOW, partition_bytes=-(-made.size // ranges))
    (source,) = spread.sources
    assert len(spread.tasks(source)) == ranges
    (row,) = spread.rows().collect()
    (expected,) = query(ORDERED, context=made.source(), now=NOW)
    assert row.value == expected.xml()
    steps = [step for step in spark.log if step in ("map", "exchange", "sort")]
    assert steps == ["map", *["exchange", "map"] * exchanges] + ([] if exchanges else ["map"])
    forget_seams()

"""The seams of documents: found once, on as many cores as there are, and kept as long as a file stays as it is.

Ranges are summarised by Spark tasks, and the driver combines the summaries, which are a few start tags each. A document
of less than :data:`HERE` bytes is walked by the driver itself: that takes less time than a job. Seams do not depend on
a query; what was found of a file is good for all that follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError
from xstreamcast.spark.files import Document
from xstreamcast.spark.ranges import Range, ranges_of
from xstreamcast.spark.seams import HEAD, Seam, Summary, combined, splittable, summarise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITION: Final = 32 << 20
"""Bytes of a document that one task scans, if nothing else is asked for."""
HERE: Final = 256 << 20
"""Documents up to this size are walked by the driver."""
_STRETCH: Final = 32 << 20  # bytes that are summarised by one task
_KNOWN: Final = 256  # documents whose seams are kept

Stretch = tuple[Document, int, int]
Mapping = Callable[[Sequence[Stretch]], list[Summary]]
"""Summarises stretches of documents, somewhere, in order."""


def summary_of(stretch: Stretch) -> Summary:
    """The summary of a stretch of a document: what a task does."""
    document, start, end = stretch
    return summarise(document.windows(start, end), start, end)


def _by_threads(stretches: Sequence[Stretch]) -> list[Summary]:
    """Summaries by threads of this process: the walk does not hold the interpreter."""
    if len(stretches) == 1:
        return [summary_of(stretches[0])]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return list(pool.map(summary_of, stretches))


def by_tasks(spark: SparkSession) -> Mapping:
    """Summaries by tasks of Spark."""
    context = spark.sparkContext

    def mapping(stretches: Sequence[Stretch]) -> list[Summary]:
        context.setJobDescription("xstreamcast: where the documents may be cut")
        try:
            tasks = 1 + sum(end - start for _, start, end in stretches) // _STRETCH
            made: list[Summary] = context.parallelize(stretches, tasks).map(summary_of).collect()
            return made
        finally:
            context.setJobDescription(None)

    return mapping


_known: dict[tuple[Document, int], list[Seam]] = {}
_finding: Final = Lock()


def seams_of(document: Document, step: int, mapping: Mapping = _by_threads) -> list[Seam]:
    """Seams of a document, about one every ``step`` bytes; none if it is no longer than that, or cannot be cut."""
    if document.size <= step:
        return []
    with _finding:
        found = _known.get((document, step))
        if found is None:
            found = _find(document, step, mapping if document.size > HERE else _by_threads)
            if len(_known) >= _KNOWN:
                _known.clear()
            _known[document, step] = found
        return found


def forget_seams() -> None:
    """Find them anew: for measuring."""
    with _finding:
        _known.clear()


def _find(document: Document, step: int, mapping: Mapping) -> list[Seam]:
    window = next(document.windows(0, min(document.size, HEAD)))
    head = bytes(window.bytes[:HEAD])
    try:
        root = splittable(head)
    except XStreamError:
        return []  # the scan tells what is wrong
    if root is None:
        return []
    splits = [split for split in range(step, document.size, step) if split > root]
    edges = [root, *splits, document.size]
    summaries = mapping([(document, *pair) for pair in pairwise(edges)])
    return combined(splits, document.size, root, summaries, lambda at, end: mapping([(document, at, end)])[0])


def planned(documents: Sequence[Document], step: int, mapping: Mapping = _by_threads) -> list[list[Range]]:
    """What each task scans: a range of a large document, or several small ones, up to ``step`` bytes."""
    tasks: list[list[Range]] = []
    room = 0
    for document in documents:
        ranges = ranges_of(document, seams_of(document, step, mapping))
        if len(ranges) > 1:
            tasks += [[each] for each in ranges]
            room = 0
        elif tasks and document.size <= room:
            tasks[-1] += ranges
            room -= document.size
        else:
            tasks.append(ranges)
            room = step - document.size
    return tasks

"""The seams of documents: found once, on as many cores as there are, and kept as long as a file stays as it is.

Where Spark runs in this process the ranges are walked by threads of it, else by tasks; the driver combines the
summaries, which are a few start tags each. What is no longer than :data:`HERE` is always walked by the driver: that
takes less time than a job. Seams do not depend on a query; what was found of a file is good for all that follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError
from xstreamcast.spark.connect import is_connect, parallelism
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.frames import PACKED, one_row, over_tasks
from xstreamcast.spark.rest.ranges import Range, ranges_of
from xstreamcast.spark.rest.seams import HEAD, Seam, Summary, combined, splittable, summarise
from xstreamcast.spark.transport import dumps, loads

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LEAST: Final = 4 << 20
"""Bytes of a document that are worth a task."""
MOST: Final = 128 << 20
"""Bytes of a document that one task scans, if nothing else is asked for."""
HERE: Final = 256 << 20
"""Bytes that the driver walks by itself."""
_KNOWN: Final = 256  # documents whose seams are kept

Stretch = tuple[Document, int, int]
Mapping = Callable[[Sequence[Stretch]], list[Summary]]
"""Summarises stretches of documents, somewhere, in order."""


@dataclass(frozen=True, slots=True)
class Workforce:
    """Who walks large documents, and how many tasks run at a time."""

    cores: int
    walk: Mapping

    def step(self, size: int) -> int:
        """How many bytes a task scans where so many are to be scanned: as many for each core, :data:`MOST` at most.

        A task costs Spark what scanning thirty megabytes costs, so there are no more than are needed.

        >>> alone().step(100), Workforce(2, lambda stretches: []).step(200 << 20) >> 20
        (4194304, 100)
        """
        tasks = self.cores * -(-size // (self.cores * MOST))
        return max(LEAST, -(-size // max(tasks, 1)))


def summary_of(stretch: Stretch) -> Summary:
    """The summary of a stretch of a document: what a task does."""
    document, start, end = stretch
    return summarise(document.windows(start, end), start, end)


def _by_threads(cores: int, stretches: Sequence[Stretch]) -> list[Summary]:
    """Summaries by threads of this process: the walk does not hold the interpreter."""
    if len(stretches) == 1 or cores == 1:
        return [summary_of(each) for each in stretches]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(summary_of, stretches))


def by_tasks(context: SparkContext, stretches: Sequence[Stretch]) -> list[Summary]:
    """Summaries by tasks of Spark; of not much by the driver."""
    if sum(end - start for _, start, end in stretches) <= HERE:
        return alone().walk(stretches)
    context.setJobDescription("xstreamcast: where the documents may be cut")
    try:
        tasks = min(len(stretches), 2 * context.defaultParallelism)
        made: list[Summary] = context.parallelize(stretches, tasks).map(summary_of).collect()
        return made
    finally:
        context.setJobDescription(None)


def _by_frame(spark: SparkSession, stretches: Sequence[Stretch]) -> list[Summary]:
    """Summaries by tasks of a Spark elsewhere; of not much by this process."""
    if sum(end - start for _, start, end in stretches) <= HERE:
        return alone().walk(stretches)
    found = over_tasks(spark, stretches, lambda number, each: one_row(number, dumps(summary_of(each))), PACKED)
    return [loads(bytes(row.packed)) for row in sorted(found.collect(), key=attrgetter("part"))]


def alone() -> Workforce:
    """The threads of this process."""
    cores = os.cpu_count() or 1
    return Workforce(cores, partial(_by_threads, cores))


def workforce_of(spark: SparkSession) -> Workforce:
    """What a session has: the cores of this machine where it runs here, else those of its executors."""
    if is_connect(spark):
        return Workforce(parallelism(spark), partial(_by_frame, spark))
    context = spark.sparkContext
    cores = max(1, context.defaultParallelism)
    here = context.master.startswith("local") and not context.master.startswith("local-cluster")
    return Workforce(cores, partial(_by_threads, cores) if here else partial(by_tasks, context))


_known: dict[tuple[Document, int], list[Seam]] = {}
_finding: Final = Lock()


def seams_of(document: Document, step: int | None = None, workforce: Workforce | None = None) -> list[Seam]:
    """Seams of a document, about one every ``step`` bytes; none if it is no longer than that, or cannot be cut.

    Without ``step``, so that each of the workforce has as much to do.
    """
    workforce = workforce or alone()
    step = step or workforce.step(document.size)
    if document.size <= step:
        return []
    with _finding:
        found = _known.get((document, step))
        if found is None:
            found = _find(document, step, workforce.walk)
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
    ranges = -(-document.size // step)
    splits = [split for k in range(1, ranges) if (split := document.size * k // ranges) > root]
    edges = [root, *splits, document.size]
    summaries = mapping([(document, *pair) for pair in pairwise(edges)])
    return combined(splits, document.size, root, summaries, lambda at, end: mapping([(document, at, end)])[0])


def planned(
    documents: Sequence[Document], step: int | None = None, workforce: Workforce | None = None, *, cut: bool = True
) -> list[list[Range]]:
    """What each task scans: a range of a large document, or several small ones, up to ``step`` bytes.

    ``cut``: else documents stay whole. Without ``step``, so that each of the workforce has as much to do.
    """
    workforce = workforce or alone()
    step = step or workforce.step(sum(document.size for document in documents))
    tasks: list[list[Range]] = []
    room = 0
    for document in documents:
        ranges = ranges_of(document, seams_of(document, step, workforce) if cut else [])
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

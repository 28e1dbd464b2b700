"""The seams of documents: found once, on as many cores as there are, and kept as long as a file stays as it is.

Where Spark runs in this process the ranges are walked by threads of it, else by tasks; the driver combines the
summaries, which are a few start tags each. What is no longer than :data:`HERE` is always walked by the driver: that
takes less time than a job. Seams do not depend on a query; what was found of a file is good for all that follow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError
from xstreamcast.spark.connect import is_connect, parallelism
from xstreamcast.spark.rest.files import Document
from xstreamcast.spark.rest.frames import PACKED, one_row, over_tasks
from xstreamcast.spark.rest.packed import ODD, SMALL, TIMES, Cut, Stretch, cut, is_packed
from xstreamcast.spark.rest.ranges import Range, ranges_of
from xstreamcast.spark.rest.seams import HEAD, Seam, combined, splittable, summarise
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
_UNPACKING: Final = 32
"""Bytes that are walked while one is unpacked."""
_KNOWN: Final = 256  # documents whose seams are kept

Walked = tuple[Document, int, int] | Stretch
"""A stretch of a document: bytes of one that is plain XML, bits of one that is packed."""
Mapping = Callable[[Sequence[Walked]], list[Any]]
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


def summary_of(stretch: Walked) -> Any:
    """The summary of a stretch of a document: what a task does."""
    if isinstance(stretch, Stretch):
        return stretch.unpacked()
    document, start, end = stretch
    return summarise(document.windows(start, end), start, end)


def _by_threads(cores: int, stretches: Sequence[Walked]) -> list[Any]:
    """Summaries by threads of this process: the walk does not hold the interpreter."""
    if len(stretches) == 1 or cores == 1:
        return [summary_of(each) for each in stretches]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(summary_of, stretches))


def by_tasks(context: SparkContext, stretches: Sequence[Walked]) -> list[Any]:
    """Summaries by tasks of Spark; of not much by the driver."""
    if _effort(stretches) <= HERE:
        return alone().walk(stretches)
    context.setJobDescription("xstreamcast: where the documents may be cut")
    try:
        tasks = min(len(stretches), 2 * context.defaultParallelism)
        made: list[Any] = context.parallelize(stretches, tasks).map(summary_of).collect()
        return made
    finally:
        context.setJobDescription(None)


def _effort(stretches: Sequence[Walked]) -> int:
    """How many bytes of plain XML are walked in about the same time."""
    sizes = [
        (each.end - each.begin) // 8 * _UNPACKING if isinstance(each, Stretch) else each[2] - each[1]
        for each in stretches
    ]
    return sum(sizes)


def _by_frame(spark: SparkSession, stretches: Sequence[Walked]) -> list[Any]:
    """Summaries by tasks of a Spark elsewhere; of not much by this process."""
    if _effort(stretches) <= HERE:
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


_known: dict[tuple[Document, int | None, int], tuple[list[Seam], Cut | str]] = {}
_finding: Final = Lock()


def seams_of(document: Document, step: int | None = None, workforce: Workforce | None = None) -> list[Seam]:
    """Seams of a document, about one every ``step`` bytes; none if it is no longer than that, or cannot be cut.

    Without ``step``, so that each of the workforce has as much to do.
    """
    return _seams_of(document, step, workforce or alone())[0]


def _seams_of(document: Document, step: int | None, workforce: Workforce) -> tuple[list[Seam], Cut | str]:
    """… and if it is packed, where it is entered, or why it is read by one task."""
    least = step or workforce.step(document.size)
    if document.size * TIMES <= least:
        return [], SMALL
    key = document, step, workforce.cores
    with _finding:
        if key not in _known:
            if len(_known) >= _KNOWN:
                _known.clear()
            _known[key] = _found(document, step, workforce)
        return _known[key]


def _found(document: Document, step: int | None, workforce: Workforce) -> tuple[list[Seam], Cut | str]:
    if not document.entered:
        return [], "a member of an archive is read as it comes"
    if is_packed(document):
        found = cut(document, lambda size: step or workforce.step(size), workforce.walk)
        return [] if isinstance(found, str) else list(found.seams), found
    least = step or workforce.step(document.size)
    return ([], SMALL) if document.size <= least else (_find(document, least, workforce.walk), "")


def ranges(document: Document, step: int | None, workforce: Workforce) -> list[Range]:
    """The ranges that a document is read in, one if it cannot be cut."""
    seams, packed = _seams_of(document, step, workforce)
    made = ranges_of(document, seams)
    if isinstance(packed, str) or len(made) == 1:
        return made
    return [replace(part, document=each) for part, each in zip(made, packed.documents(document), strict=True)]


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
    count = -(-document.size // step)
    splits = [split for k in range(1, count) if (split := document.size * k // count) > root]
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
    wanted = _wanted(documents, step, workforce)
    step = step or workforce.step(sum(document.size for document in documents))
    tasks: list[list[Range]] = []
    room = 0
    for document in documents:
        parts = ranges(document, wanted, workforce) if cut else [Range(document, 0, None)]
        if len(parts) > 1:
            tasks += [[each] for each in parts]
            room = 0
        elif tasks and document.size <= room:
            tasks[-1] += parts
            room -= document.size
        else:
            tasks.append(parts)
            room = step - document.size
    return tasks


def _wanted(documents: Sequence[Document], step: int | None, workforce: Workforce) -> int | None:
    """How many bytes a range has; None: of a document that is alone, as many as for each of the workforce."""
    if step or len(documents) == 1:
        return step
    return workforce.step(sum(document.size for document in documents))


def why_whole(documents: Sequence[Document], document: Document, step: int | None, workforce: Workforce) -> str:
    """Why one task reads all of a document, which is one of some."""
    told = _seams_of(document, _wanted(documents, step, workforce), workforce)[1]
    return told if isinstance(told, str) and told else ODD

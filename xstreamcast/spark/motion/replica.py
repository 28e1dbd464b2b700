"""The queries of a job, alive in a worker: fed with rows, and telling rows of their answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.change import ROW
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import write_structure
from xstreamcast.model.time import START
from xstreamcast.run.continuous.planned import known_structures
from xstreamcast.run.unmatched import unmatched
from xstreamcast.spark.motion.brought import TICK, Brought, Row
from xstreamcast.spark.motion.job import GATHERING
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.motion.state_columns import live_columns
from xstreamcast.spark.motion.state_log import Head, compacted, structure_row

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.state_base import Successor

COUNTED: Final = "counted"
"""The order of a tick whose seq says how many changes have come, where a bucket sees only a part of them."""
PROGRESS: Final = "progress"
"""The kind of a row that tells, after each batch, how far the query is; content is JSON."""
_LATE: Final = "XSC0090"


class Replica:
    """The queries of a job, alive, after all that has led to a head."""

    def __init__(self, job: Job, head: Head) -> None:
        self.head = head
        self.put_aside: list[tuple[str, Diagnostic]] = []
        self.late: set[int] = set()
        """Which rows of the last batch came too late, by their places in it."""
        self._stream = ""
        self._at = 0
        self._emit = job.emit
        self.inflow = job.start(self._hear)
        self.inflow.seals = self.inflow.forwards = False
        self.ticked: int | None = None
        self.announced: list[str | None] = [None] * len(self.inflow.queries)
        """The structure that has been told of each answer."""
        self.successor: Successor | None = None
        self._known: dict[str, Structure] = {}
        self._doubts: list[str] = []

    def _hear(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity == "quarantine":
            self.put_aside.append((self._stream, diagnostic))
        if diagnostic.code == _LATE:
            self.late.add(self._at)

    def take(self, brought: Brought) -> None:
        """Take in the rows of a batch, in order; the answers go on when all are in."""
        self.late.clear()
        ticks = brought.ticks()
        times = [row["valid_time"] for row in ticks if row["valid_time"] is not None]
        if times:
            self.ticked = max([*times, *([] if self.ticked is None else [self.ticked])])
        inflow, taking = self.inflow, set[str]()
        with ExitStack() as together:  # contents that come together are parsed together
            for self._stream, begin, end in brought.stretches():
                if brought.is_change(begin) and inflow.is_columnar(self._stream):
                    for portion in brought.portions(begin, end):
                        inflow.association(self._stream).apply_all(portion)
                    continue
                for self._at in range(begin, end):
                    row = brought.rows[self._at]
                    if row["change"] == TICK:
                        self._hear_time(row)
                        continue
                    if self._stream not in taking:
                        taking.add(self._stream)
                        together.enter_context(inflow.association(self._stream).together())
                    inflow._take(item_of(row), self._stream, None, 0)
        if not all(query.begun for query in inflow.queries):
            for table in inflow.associations.values():
                known = (filling for region in table.table.values() for filling in region.fillings())
                table.grove.ready([filling for filling in known if filling.content is not None])
        inflow.feed_all((), self.ticked if times else None)

    def _hear_time(self, tick: Row) -> None:
        """How far a stream is of which only a part comes here."""
        if tick["stream"]:
            association = self.inflow.association(tick["stream"])
            association.now = max(association.now, tick["valid_time"])

    def told(self) -> Iterator[Row]:
        """What is to be told of the answers, and of what was put aside, as rows."""
        for number, query in enumerate(self.inflow.queries):
            emitted = query.take()
            structure = None if query.structure is None else write_structure(query.structure)
            if emitted and structure is not None and structure != self.announced[number]:
                self.announced[number] = structure
                yield structure_row(query.name, query.seq, structure)
            yield from query.rows(emitted)
        for stream, diagnostic in self.put_aside:
            yield _quarantine_row(stream, self.head.n, diagnostic)
        self.put_aside.clear()

    def live(self, log: Iterable[Row]) -> Brought | None:
        """The rows that are enough to come to where all of the log has led; None: not now."""
        inflow = self.inflow
        now = None if inflow.now == START else inflow.now
        by_objects = {name: one for name, one in inflow.associations.items() if one.inlet is None}
        if not any(one.filled or one.waiting for one in by_objects.values()):
            log = ()
        rows = compacted(log, by_objects, now, open_holes=self._emit != "eager")
        if rows is None:
            return None
        columns = {name: one.inlet.table for name, one in inflow.associations.items() if one.inlet is not None}
        ended = [name for name in columns if inflow.associations[name].ended]
        return live_columns(columns, ended, rows)

    @property
    def live_rows(self) -> int:
        """How many rows a base would have, where the streams are followed in columns."""
        return sum(one.inlet.table.filled for one in self.inflow.associations.values() if one.inlet is not None)

    @property
    def is_columnar(self) -> bool:
        """Whether the streams are followed in columns."""
        return any(one.inlet is not None for one in self.inflow.associations.values())

    def doubts(self) -> list[str]:
        """What the structures that the streams have brought rule out in the queries."""
        known = known_structures(self.inflow.associations)
        if known != self._known:
            self._known = known
            self._doubts = [text for query in self.inflow.queries for text in unmatched(query.query, known)]
        return self._doubts

    def progress(self) -> Row:
        """How far it is, and how much is kept."""
        inflow = self.inflow
        tables = inflow.associations.values()
        report = {
            "n": self.head.n,
            "now": None if inflow.now == START else inflow.now,
            "version": self.head.version,
            "regions": sum(table.sizes()["regions"] for table in tables),
            "bytes": self.head.size,
            "ended": inflow.ended,
            "streams": [stream for query in inflow.queries for stream in query.streams],
            "recomputed": [query.recomputed for query in inflow.queries],
            "warnings": self.doubts(),
            "waiting": [0 if query.output is None else query.waiting for query in inflow.queries],
        }
        return progress_row(report)


def replica_of(job: Job, head: Head) -> Replica:
    """The queries of a job, or the part of them that is done here, before anything has come."""
    if job.part != GATHERING:
        return Replica(job, head)
    from xstreamcast.spark.motion.gathering import Gathering

    return Gathering(job, head)


def progress_row(report: Mapping[str, Any]) -> Row:
    """The row that tells how far a query is."""
    content = json.dumps(report).encode()
    return {**dict.fromkeys(ROW), "stream": "", "seq": report["n"], "change": PROGRESS, "doc": "", "content": content}


def _quarantine_row(stream: str, n: int, diagnostic: Diagnostic) -> Row:
    report = {
        "code": diagnostic.code,
        "message": diagnostic.message,
        "source": diagnostic.place.source,
        "offset": diagnostic.place.offset,
        "excerpt": diagnostic.excerpt,
    }
    content = json.dumps(report, ensure_ascii=False).encode()
    return {
        **dict.fromkeys(ROW), "stream": stream, "seq": n, "change": "quarantine", "doc": "", "content": content,
    }  # fmt: skip

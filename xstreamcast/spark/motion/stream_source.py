"""``spark.readStream.format("xstreamcast")``, ``spark.read.format("xstreamcast")``: a fragment stream as change rows.

The driver surveys what is new (:mod:`~xstreamcast.spark.motion.survey`), the workers read it into Arrow batches. A
position in the stream is Spark's offset, so a query that is started again from its checkpoint goes on where it was:
every change comes in exactly one micro-batch, with the same ``seq`` however often it is replayed.

Options (``docs/spark.md`` tells more):

* ``path``                    a file, a folder that may grow, a pattern such as ``feed/*.xml.gz``, or a stream of a
  server, ``xcast://host:port/name`` (:mod:`~xstreamcast.spark.motion.stream_air`)
* ``stream``                  the stream's name; by default the file's or the folder's
* ``maxFragmentsPerTrigger``  at most so many rows in a micro-batch
* ``maxBytesPerTrigger``      … so many bytes of plain XML (``16m``)
* ``maxFilesPerTrigger``      … so many files
* ``partitionBytes``          at most about so many bytes in one task, ``8m``
* ``tail``                    an unfinished fragment at the end of the last file: ``wait`` for the rest, or
  ``quarantine`` it. A batch read always does the latter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition

from xstreamcast.errors import error
from xstreamcast.serve import SCHEME
from xstreamcast.spark.motion.admission import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from xstreamcast.spark.motion.position import Position
from xstreamcast.spark.motion.stream_files import StreamFiles, stream_name
from xstreamcast.spark.motion.survey import Limit, Plan, Segment, Survey, Task, changed, packed
from xstreamcast.spark.motion.walk import Run, Walk
from xstreamcast.spark.worker import keep_loaded

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

FORMAT: Final = "xstreamcast"
PACKED_FORMAT: Final = "xstreamcast-packed"
OPTIONS: Final = (
    "path", "stream", "maxFragmentsPerTrigger", "maxBytesPerTrigger", "maxFilesPerTrigger", "partitionBytes", "tail",
)  # fmt: skip
SCHEMA: Final = (
    "stream string, seq long, change string, doc string, region long, target long, tsid long, version long, "
    "valid_time timestamp, `order` string, content binary"
)

PACKED: Final = "bucket int, changes binary"
"""What operators with engines take and give: many change rows in one, for a bucket."""

_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class FragmentTasks(InputPartition):  # type: ignore[misc]  # mypy does not follow PySpark
    """What one Spark task reads: some parts of the stream, in order."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        super().__init__(None)
        self.tasks = tuple(tasks)


class FragmentSource(DataSource):  # type: ignore[misc]  # mypy does not follow PySpark
    """Fragment files, update streams and temporal fragments as a Spark data source."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        if self._on_air():
            from xstreamcast.spark.motion.stream_air import LogBatchReader

            return LogBatchReader(self.options)
        return FragmentBatchReader(self.options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if self._on_air():
            from xstreamcast.spark.motion.stream_air import LogStreamReader

            return LogStreamReader(self.options)
        return FragmentStreamReader(self.options)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:
        from xstreamcast.spark.motion.stream_writer import writer_of

        return writer_of(self.options, schema, overwrite)

    def _on_air(self) -> bool:
        return str(self.options.get("path", "")).startswith(SCHEME)


class PackedSource(FragmentSource):
    """The same, for an engine: an Arrow batch of change rows is one row from the start.

    Otherwise each fragment would be a row of Java's on its way between two Python processes.
    """

    @classmethod
    def name(cls) -> str:
        return PACKED_FORMAT

    def schema(self) -> str:
        return PACKED

    def streamReader(self, schema: StructType) -> Any:
        reader: Any = super().streamReader(schema)
        reader.packs = True
        return reader


class _TaskReader:
    """What both readers share: the options, and how a worker reads its tasks."""

    packs = False
    """Whether a batch is one row."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        _check(options)
        self.path = options["path"]
        self.stream = options.get("stream") or stream_name(self.path)
        self.partition_bytes = size_option(options, "partitionBytes") or 8 << 20
        self.limit = Limit(
            size_option(options, "maxFragmentsPerTrigger"),
            size_option(options, "maxBytesPerTrigger"),
            size_option(options, "maxFilesPerTrigger"),
        )

    def grouped(self, plan: Plan) -> list[FragmentTasks]:
        return [FragmentTasks(tasks) for tasks in packed(plan.tasks, self.partition_bytes)]

    def read(self, partition: FragmentTasks) -> Iterator[RecordBatch]:
        from xstreamcast.spark.motion.rows import gathered, pack_batches

        found = gathered(self.batches(partition.tasks))
        return pack_batches(found) if self.packs else found

    def batches(self, tasks: Sequence[Task]) -> Iterator[RecordBatch]:
        from xstreamcast.spark.motion.rows import arrival_rows, batch_of_rows, batch_of_run

        files = StreamFiles(self.path)
        for task in tasks:
            if not isinstance(task, Segment):
                yield batch_of_rows(arrival_rows([task.arrival], self.stream, task.begin.seq))
                continue
            at = task.begin
            rows: list[Any] = []
            for stretch in Walk(_chunks(files, task), at, files.place(at.file)):
                at = stretch.end
                if isinstance(stretch, Run):
                    if rows:
                        yield batch_of_rows(rows)
                        rows = []
                    yield batch_of_run(stretch, self.stream)
                else:
                    rows += arrival_rows(stretch.arrivals, self.stream, stretch.begin.seq)
            if rows:
                yield batch_of_rows(rows)
            if (at.offset, at.seq) != (task.end.offset, task.end.seq):
                raise changed(files, at, task.end)
        keep_loaded()


def _chunks(files: StreamFiles, segment: Segment) -> Iterator[bytes]:
    begin, end = segment.begin, segment.end
    if segment.data is not None:
        return iter([segment.data])
    if segment.start is None:
        return files.decode(begin.file, begin.offset, end.offset)
    return files.seek(begin.file, segment.start, begin.offset, end.offset)


class FragmentBatchReader(_TaskReader, DataSourceReader):  # type: ignore[misc]  # mypy does not follow PySpark
    """All that is there now."""

    def partitions(self) -> list[FragmentTasks]:
        survey = Survey(StreamFiles(self.path), wait=False)
        # Spark takes an empty list for "one task, without anything to read".
        return self.grouped(survey.advance(Position(), Limit())) or [FragmentTasks([])]


class FragmentStreamReader(
    _TaskReader,
    DataSourceStreamReader,  # type: ignore[misc]  # mypy does not follow PySpark
    SupportsTriggerAvailableNow,  # type: ignore[misc]  # as above
):
    """What is there and what comes, in micro-batches. The driver's copy lives as long as the query."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.wait = options.get("tail", "wait") == "wait"
        # A reader is also made to be sent to the workers, which need no survey.
        self.survey: Survey | None = None
        self.plans: list[Plan] = []
        self.reached: Position | None = None

    def driver(self) -> Survey:
        """The survey, begun when it is first asked for something."""
        if self.survey is None:
            self.survey = Survey(StreamFiles(self.path), wait=self.wait)
        return self.survey

    def initialOffset(self) -> dict[str, Any]:
        self.driver().files.listing()  # a path that is not there is an error now, not an endless wait
        return Position().dump()

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark carries one limit; the others are applied beside it (:meth:`limit_of`).
        if self.limit.rows is not None:
            return ReadMaxRows(self.limit.rows)
        if self.limit.size is not None:
            return ReadMaxBytes(self.limit.size)
        return ReadAllAvailable() if self.limit.files is None else ReadMaxFiles(self.limit.files)

    def limit_of(self, limit: ReadLimit) -> Limit:
        """What Spark asks for; together with the options, unless it asks for everything."""
        own = self.limit
        if isinstance(limit, ReadMaxRows):
            return Limit(limit.max_rows, own.size, own.files)
        if isinstance(limit, ReadMaxBytes):
            return Limit(own.rows, limit.max_bytes, own.files)
        if isinstance(limit, ReadMaxFiles):
            return Limit(own.rows, own.size, limit.max_files)
        return Limit(least_rows=limit.min_rows) if isinstance(limit, ReadMinRows) else Limit()

    def prepareForTriggerAvailableNow(self) -> None:
        self.driver().set_horizon()

    def latestOffset(self, start: Mapping[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        if start is not None and limit is not None:
            plan = self.driver().advance(Position.parse(start), self.limit_of(limit))
        elif self.reached is not None:
            plan = self.driver().advance(self.reached, self.limit)
        else:  # Spark 4.1 may have begun anew, or gone on: it will be seen whether what came before is still the same
            plan = self.driver().advance(Position(), Limit())
        self.reached = plan.end
        if plan.tasks:
            self.plans.append(plan)
        return plan.end.dump()

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[FragmentTasks]:
        begin, until = Position.parse(start), Position.parse(end)
        if begin == until:
            return []
        known = [plan for plan in self.plans if (plan.begin, plan.end) == (begin, until)]
        plan = known[-1] if known else Survey(StreamFiles(self.path), wait=self.wait).replay(begin, until)
        return self.grouped(plan)

    def commit(self, end: Mapping[str, Any]) -> None:
        done = Position.parse(end)
        self.plans = [plan for plan in self.plans if (plan.end.files, plan.end.offset) > (done.files, done.offset)]

    def stop(self) -> None:
        if self.survey is not None:
            self.survey.close()


def _check(options: Mapping[str, str]) -> None:
    """Refuse what would be ignored, and what is missing."""
    known = {name.lower(): name for name in OPTIONS}
    for name in options:
        if name.lower() not in known:
            hint = f"one of {', '.join(OPTIONS)}"
            if name.lower() == "paths":
                hint = "one stream has one path: a file, a folder or a pattern; read several streams apart"
            raise error("XSC0065", f"unknown option {name!r}", hint=hint)
    if not options.get("path"):
        raise error("XSC0065", "no path", hint='.load("feed/credit"): a file, a folder or a pattern')
    if options.get("tail", "wait") not in ("wait", "quarantine"):
        raise error("XSC0065", f"tail={options['tail']!r}", hint="wait or quarantine")


def size_option(options: Mapping[str, str], name: str) -> int | None:
    """A whole number above 0, of things or of bytes: ``500``, ``16m``."""
    text = options.get(name)
    if text is None:
        return None
    match = _SIZE.fullmatch(text.strip())
    number = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    if number < 1:
        raise error("XSC0065", f"{name}={text!r}", hint="a whole number above 0, such as 500 or 16m")
    return number

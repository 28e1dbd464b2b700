"""A stream of a server (``xcast://host:port/name``) as change rows: the offset is a number in the server's log.

The log never changes behind a number, so a micro-batch that is replayed reads the same records again, in as many
tasks as they are worth. Another log under the same name (its server was set up anew) is an error, not a mixture of
both. While the server is away nothing is new; the query goes on when it is back. Of a log that is compacted (``xcast
serve --keep-log``) the records that still count are read, and the stream is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.change import ChangeRow, to_row
from xstreamcast.model.structure import Structure, write_structure
from xstreamcast.serve.client import Stretch, parse_address, read
from xstreamcast.spark.motion.admission import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

if TYPE_CHECKING:
    from pyarrow import RecordBatch

OPTIONS: Final = ("path", "stream", "maxFragmentsPerTrigger")

_AT_ONCE: Final = 5_000
"""Records of a task, and of one answer of the server at most."""
_AWAY: Final = "XSC0101"
_PATIENCE: Final = 120.0
"""Seconds a task waits for a server that went away after the driver had seen what is to be read."""


class LogRange(InputPartition):  # type: ignore[misc]  # mypy does not follow PySpark
    """The records after one number, up to another, of a log."""

    def __init__(self, log: str, since: int, until: int) -> None:
        super().__init__(None)
        self.log, self.since, self.until = log, since, until


class _LogReader:
    """What both readers share: where the stream is, and how a worker reads a range."""

    packs = False
    """Whether a batch is one row."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        for name in options:
            if name.lower() not in [known.lower() for known in OPTIONS]:
                hint = f"one of {', '.join(OPTIONS)}"
                raise error("XSC0065", f"option {name!r} is not for a stream of a server", hint=hint)
        self.address = parse_address(options["path"], options.get("stream", ""))
        self.stream = options.get("stream") or self.address.stream
        limit = options.get("maxFragmentsPerTrigger")
        if limit is not None and not (limit.isascii() and limit.isdecimal() and int(limit)):
            raise error("XSC0065", f"maxFragmentsPerTrigger={limit!r}", hint="a whole number above 0")
        self.limit = None if limit is None else int(limit)

    def look(self, log: str = "", since: int = 0) -> Stretch:
        """Where the log ends."""
        return read(self.address, since, 1, log=log)

    def ranges(self, log: str, since: int, until: int) -> list[LogRange]:
        return [LogRange(log, n, min(n + _AT_ONCE, until)) for n in range(since, until, _AT_ONCE)]

    def read(self, partition: LogRange) -> Iterator[RecordBatch]:
        from xstreamcast.spark.motion.rows import STRUCTURE, batch_of_rows, gathered, pack_batches

        def batches() -> Iterator[RecordBatch]:
            at = partition.since
            while at < partition.until:
                stretch = read(self.address, at, _AT_ONCE, until=partition.until, log=partition.log, patience=_PATIENCE)
                rows: list[ChangeRow] = []
                for n, item in stretch.entries:
                    if isinstance(item, Structure):
                        text = write_structure(item).encode()
                        rows.append((self.stream, n, STRUCTURE, "", None, None, None, None, None, None, text))
                    else:
                        rows.append(to_row(item, self.stream, n))
                yield batch_of_rows(rows)
                at = stretch.next

        found = gathered(batches())
        return pack_batches(found) if self.packs else found


class LogBatchReader(_LogReader, DataSourceReader):  # type: ignore[misc]  # mypy does not follow PySpark
    """All that is in the log now."""

    def partitions(self) -> list[LogRange]:
        found = self.look()
        first = _start(self.address.start, found.head)
        return self.ranges(found.log, first, found.head) or [LogRange(found.log, 0, 0)]


class LogStreamReader(
    _LogReader,
    DataSourceStreamReader,  # type: ignore[misc]  # mypy does not follow PySpark
    SupportsTriggerAvailableNow,  # type: ignore[misc]  # as above
):
    """What is in the log and what comes."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.horizon: int | None = None
        self.reached: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        found = self.look()  # a server that is not there is an error now, not an endless wait
        return {"log": found.log, "n": _start(self.address.start, found.head)}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def prepareForTriggerAvailableNow(self) -> None:
        self.horizon = self.look().head

    def latestOffset(self, start: Mapping[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        if start is None:  # Spark 4.1 does not say
            start, limit = self.reached, self.getDefaultReadLimit()
        if start is None:
            found = self.look()
            self.reached = {"log": found.log, "n": found.head}
        else:
            self.reached = self._latest(start, limit)
        return self.reached

    def _latest(self, start: Mapping[str, Any], limit: ReadLimit | None) -> dict[str, Any]:
        log, since = str(start["log"]), int(start["n"])
        try:
            head = self.look(log, since).head
        except XStreamError as fault:
            if fault.code != _AWAY:
                raise
            return dict(start)
        until = head if self.horizon is None else min(head, self.horizon)
        if isinstance(limit, ReadMaxRows):
            until = min(until, since + limit.max_rows)
        return {"log": log, "n": max(since, until)}

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[LogRange]:
        if start["log"] != end["log"]:
            self.look(str(start["log"]), int(start["n"]))  # which tells that it is another log
        return self.ranges(str(end["log"]), int(start["n"]), int(end["n"]))

    def commit(self, end: Mapping[str, Any]) -> None:
        """The log keeps what was read."""


def _start(asked: str | int, head: int) -> int:
    """The number after which a reader begins."""
    if isinstance(asked, int):
        return asked
    return head if asked == "now" else 0

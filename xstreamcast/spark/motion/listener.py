"""What Spark says of a running query: rates, how far behind it is, how much state it keeps."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.streaming import StreamingQueryListener


@dataclass(slots=True)
class Figures:
    """The figures of the last micro-batches; ``ended`` is set when the query has stopped, ``failure`` says why."""

    batches: int = 0
    rows: int = 0
    """How many changes have been taken in. Spark counts its own rows, each of which has many of them."""
    rows_per_second: float = 0.0
    seconds: float = 0.0
    """How long the last batch took."""
    lag: float = 0.0
    """How long after its first row could be read the last batch was done: never more than two batches."""
    state_rows: int = 0
    state_bytes: int = 0
    state_memory: int = 0
    """What the state stores have in memory, by their own account."""
    operators: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By operator, as Spark calls it, with the step of ``explain`` in front: rows and bytes of its state."""
    durations: deque[float] = field(default_factory=lambda: deque(maxlen=10_000))
    looked: bool = False
    """Whether Spark has looked for something to do: a batch is done, or there was none."""
    failure: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    _taken: dict[int, int] = field(default_factory=dict)

    def take(self, number: int, changes: int) -> None:
        """A micro-batch had so many changes, by its number."""
        self.rows += changes
        self._taken[number] = changes

    def taken(self, number: int) -> int:
        """How many changes a batch had that is over, and all before it are."""
        changes = self._taken.get(number, 0)
        self._taken = {later: count for later, count in self._taken.items() if later > number}
        return changes


class Listening(StreamingQueryListener):  # type: ignore[misc]  # mypy does not follow PySpark
    """Keeps the figures of one query up to date."""

    def __init__(self, steps: tuple[str, ...] = ()) -> None:
        self.figures = Figures()
        self.steps = steps
        self.run: str | None = None

    def onQueryStarted(self, event: Any) -> None:
        """Which query it is is said by :attr:`run`."""

    def onQueryIdle(self, event: Any) -> None:
        if str(event.runId) == self.run:
            self.figures.looked = True
            self.figures.rows_per_second = 0.0

    def onQueryProgress(self, event: Any) -> None:
        progress = event.progress
        if str(progress.runId) != self.run:
            return
        figures = self.figures
        figures.looked = True
        figures.batches += 1
        before = figures.seconds
        figures.seconds = progress.durationMs.get("triggerExecution", 0) / 1000
        changes = figures.taken(progress.batchId)
        figures.rows_per_second = changes / figures.seconds if figures.seconds else 0.0
        figures.lag = before + figures.seconds
        figures.durations.append(figures.seconds)
        figures.state_rows = figures.state_bytes = figures.state_memory = 0
        for number, operator in enumerate(progress.stateOperators):
            size = _stored(operator)
            figures.state_rows += operator.numRowsTotal
            figures.state_bytes += size
            figures.state_memory += operator.memoryUsedBytes
            step = self.steps[number] if number < len(self.steps) else str(number)
            figures.operators[f"{step} {operator.operatorName}"] = {"rows": operator.numRowsTotal, "bytes": size}

    def onQueryTerminated(self, event: Any) -> None:
        if str(event.runId) == self.run:
            self.figures.failure = event.exception
            self.figures.ended.set()


def _stored(operator: Any) -> int:
    """The bytes of an operator's state on disk, or in memory where nobody says."""
    metrics = operator.customMetrics or {}
    return int(metrics.get("rocksdbTotalBytesWritten", 0) and metrics.get("rocksdbSstFileSize", 0)) or int(
        operator.memoryUsedBytes
    )

"""Micro-batches by way of Spark Connect: the Spark of the server hands them over to the client that started the query.

There the function of ``foreachBatch`` runs in a process of the server. It gives a batch a name, a temporary view that
all sessions see, and waits for another name. The client looks for the first, reads the rows, lets its sinks take them
and makes a view of the second name; then the server commits the batch. So a batch that the client has not taken is not
committed, as without Connect.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Take = Callable[[list[bytes], int], None]
"""Who takes a micro-batch: its packed rows, and its number."""

_LOOK: Final = 0.03
"""Seconds between two looks at whether something has come about."""
_PATIENCE: Final = 3600.0
"""Seconds that a client may take for a batch; the server does not wait for ever for one that is gone."""


class Given:
    """Names a batch, and waits until it has been taken: what the server runs, so it must travel."""

    def __init__(self) -> None:
        self.view = f"xstreamcast_{secrets.token_hex(8)}"

    @property
    def table(self) -> str:
        """What the view is called in queries."""
        return _called(self.view)

    def taken(self, number: int) -> str:
        """The view that says that a batch has been taken."""
        return f"{self.view}_{number}"

    def __call__(self, frame: DataFrame, number: int) -> None:
        from pyspark.sql import functions as f

        # Where a batch tells nothing there is no row to say its number: so the column does.
        frame.select(f.col("changes").alias(f"changes {number}")).createOrReplaceGlobalTempView(self.view)
        catalog = frame.sparkSession.catalog
        began = time.monotonic()
        while not catalog.tableExists(_called(self.taken(number))):
            if time.monotonic() - began > _PATIENCE:
                hint = "is the client that started the query still there? Start it again from its checkpoint"
                raise error("XSC0086", f"nobody has taken micro-batch {number}", hint=hint)
            time.sleep(_LOOK)
        catalog.dropGlobalTempView(self.taken(number))


def _called(view: str) -> str:
    return f"global_temp.{view}"


class Handover:
    """The client's side: takes batch after batch, in a thread of its own, until the query has ended."""

    def __init__(self, spark: SparkSession, take: Take, ended: threading.Event) -> None:
        self.given = Given()
        self._spark, self._take, self._ended = spark, take, ended
        self._stopped = threading.Event()
        self._last = -1
        self.fault: Exception | None = None
        """Why no more batches are taken: what a sink met, or the way to the server."""

    def start(self, query: Any) -> None:
        """Take the batches of a query that has been started."""
        threading.Thread(target=self._follow, args=(query,), name="xstreamcast handover", daemon=True).start()

    def _follow(self, query: Any) -> None:
        try:
            while not (self._stopped.is_set() or self._ended.is_set()):
                rows = self._look()
                number = -1 if rows is None else int(rows.column_names[0].split()[1])
                if rows is None or number <= self._last:
                    self._stopped.wait(_LOOK)
                    continue
                self._take(rows.column(0).to_pylist(), number)
                self._last = number
                self._spark.catalog.dropGlobalTempView(self.given.view)
                self._spark.range(0).createOrReplaceGlobalTempView(self.given.taken(number))
        except Exception as fault:
            if not (self._stopped.is_set() or self._ended.is_set()):
                self.fault = fault
                query.stop()

    def _look(self) -> Any:
        """The batch that waits, if there is one. A server may still name one that has just been taken."""
        from pyspark.errors import AnalysisException

        if not self._spark.catalog.tableExists(self.given.table):
            return None
        try:
            return self._spark.table(self.given.table).toArrow()
        except AnalysisException as fault:
            if fault.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
                raise
            return None

    def stop(self) -> None:
        """No more batches are taken; that of a query which was stopped in the middle is let go."""
        self._stopped.set()
        self._spark.catalog.dropGlobalTempView(self.given.view)

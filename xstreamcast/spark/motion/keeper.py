"""A continuous query as a stateful operator of Spark.

Light to load: before the first micro-batch Spark has a process of its own declare the state of the operator, and
everything waits for that. The engine is loaded with the first rows, where it is there already (:mod:`micro_batch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from xstreamcast.model.change import ROW
from xstreamcast.spark.worker import give_back, seldom_collecting

if TYPE_CHECKING:
    from xstreamcast.model.change import ChangeRow
    from xstreamcast.spark.motion.brought import Brought, Row
    from xstreamcast.spark.motion.job import Job

_MANY: Final = 10_000
"""After so many changes a worker gives back what it does not use any more."""
_TOLD: Final = 1 << 13
"""So many rows an operator tells at a time."""
_PACKED: Final = SparkRow("bucket", "changes")
ENGINE: Final = "engine"
"""The name of a state variable by which the operator with the engines is known among others."""


class SparkStore:
    """The state of the key at hand, in Spark's state store."""

    def __init__(self, handle: Any) -> None:
        self._head = handle.getValueState("head", "format int, head binary")
        self._log = handle.getMapState("log", "version long", "changes binary")
        self._base = handle.getMapState("base", "part int", "content binary")

    def head(self) -> tuple[int, bytes] | None:
        found = self._head.get()
        return None if found is None else (found[0], bytes(found[1]))

    def put_head(self, format: int, head: bytes) -> None:
        self._head.update((format, head))

    def delta(self, version: int) -> bytes:
        return bytes(self._log.getValue((version,))[0])

    def put_delta(self, version: int, blob: bytes) -> None:
        self._log.updateValue((version,), (blob,))

    def drop_delta(self, version: int) -> None:
        self._log.removeKey((version,))

    def part(self, number: int) -> bytes:
        return bytes(self._base.getValue((number,))[0])

    def put_part(self, number: int, blob: bytes) -> None:
        self._base.updateValue((number,), (blob,))

    def drop_part(self, number: int) -> None:
        self._base.removeKey((number,))


def read_all(packed: Iterable[Any]) -> Brought:
    """All rows that a micro-batch has for a key."""
    from xstreamcast.spark.motion.brought import Brought

    return Brought.read(*[bytes(row.changes) for row in packed])


def packed_rows(bucket: int, rows: Iterable[Row]) -> Iterator[Any]:
    """Rows as Spark takes them from an operator: some thousands in one."""
    return packed_tuples(bucket, (tuple([row[name] for name in ROW]) for row in rows))


def packed_tuples(bucket: int, rows: Iterable[ChangeRow]) -> Iterator[Any]:
    """… which are there with their values in order."""
    from xstreamcast.spark.motion.brought import Brought
    from xstreamcast.spark.motion.rows import packed

    rest = iter(rows)
    while some := list(islice(rest, _TOLD)):
        yield _PACKED(bucket, packed(Brought.of_tuples(some).table))


class Keeper(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """The stateful operator: packed rows of changes in, packed rows of changes of the answers out."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def init(self, handle: Any) -> None:
        handle.getValueState(ENGINE, "format int")
        self.store = SparkStore(handle)
        self.many = False

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        from xstreamcast.spark.motion.state import advance

        brought = read_all(rows)
        self.many |= len(brought) > _MANY
        with seldom_collecting():
            yield from packed_rows(key[0], advance(self.job, self.store, brought))

    def close(self) -> None:
        """There is nothing to give back: engines stay for the next batch."""
        from xstreamcast.spark.motion.micro_batch import leave_alone
        from xstreamcast.spark.motion.state import are_new

        leave_alone(anew=are_new())
        if self.many:
            give_back()

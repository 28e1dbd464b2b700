"""A continuous query as a stateful operator of Spark: the embedded engine over a state that survives it.

The state is a log (:mod:`~xstreamcast.spark.motion.state_log`); the engine that is fed from it lives in the worker and
is kept from batch to batch. Whoever gets the next batch looks at the head of the state: an engine that has seen less
takes in what it has missed, one that has seen anything else is made anew. So what a batch gives is a function of the
saved state and the batch alone, whichever worker has it, and however often.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from xstreamcast.errors import error
from xstreamcast.model.change import ROW
from xstreamcast.model.garbage import not_collecting
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.replica import COUNTED, replica_of
from xstreamcast.spark.motion.rows import packed
from xstreamcast.spark.motion.state_base import adopted, compact, from_base, replay, swept
from xstreamcast.spark.motion.state_log import Head, Store, read_head, write_head
from xstreamcast.spark.worker import seldom_collecting

if TYPE_CHECKING:
    from xstreamcast.model.change import ChangeRow
    from xstreamcast.spark.motion.replica import Job, Replica

LIVE_ENGINES: Final = 256
"""So many engines a worker keeps between batches."""

# ------------------------------------------------------------------------------------------------- from state to state

_ENGINES: OrderedDict[str, Replica] = OrderedDict()
"""The engines that live in this worker, by the birth of their state."""


def advance(job: Job, store: Store, brought: Brought) -> Iterator[Row]:
    """One micro-batch of one key: the changes of the answers, and how far it is. The new state is in the store."""
    saved = read_head(store)
    if saved is None:
        replica = replica_of(job, Head(uuid.uuid4().hex, job=job.digest))
    else:
        replica = current(job, store, checked(saved, job))
    brought = brought.in_order()
    counted = [row["seq"] for row in brought.ticks() if row["order"] == COUNTED]
    # While it goes on it is nobody's: what fails in the middle is not used again.
    _ENGINES.pop(replica.head.birth, None)
    with not_collecting():
        replica.take(brought)
        told = list(replica.told())
    blob = brought.logged(replica.late).blob()
    head = replica.head.after(blob, brought.changes)
    if counted:
        head = replace(head, n=max(counted))
    replica.head = head
    yield from told
    store.put_delta(head.version, blob)
    fresh, more = compact(job, store, replica, len(brought))
    yield from more
    fresh.head = swept(store, fresh.head)
    write_head(store, fresh.head)
    keep(fresh)
    yield fresh.progress()


def checked(head: Head, job: Job) -> Head:
    """A saved head, if it is of this job."""
    if head.job != job.digest:
        hint = "start with a new checkpoint location, or with the query, variables and options that wrote this one"
        raise error("XSC0083", "the saved state is of another query", hint=hint)
    return head


def keep(replica: Replica) -> None:
    """Keep an engine for the next batch."""
    _ENGINES[replica.head.birth] = replica
    _ENGINES.move_to_end(replica.head.birth)
    while len(_ENGINES) > LIVE_ENGINES:
        _ENGINES.popitem(last=False)


def current(job: Job, store: Store, head: Head) -> Replica:
    """An engine that has taken in what the state says: the one that lives here, brought up to it, or a new one."""
    replica = _ENGINES.get(head.birth)
    if replica is None or replica.head.first != head.first or replica.head.version > head.version:
        replica = from_base(job, store, head)
        adopted(replica, store, head)
    while replica.head.version < head.version:
        replay(replica, store)
        adopted(replica, store, head)
    if replica.head.chain != head.chain:  # it had seen a batch that was never committed
        if replica is not _ENGINES.get(head.birth):
            raise error(
                "XSC0062", "the saved log is not the one that its head speaks of", hint="is the checkpoint whole?"
            )
        del _ENGINES[head.birth]
        return current(job, store, head)
    replica.head = head
    return replica


def made_ready(job: Job) -> None:
    """Load what an engine needs, before there is anything for one to do."""
    from xstreamcast.run.continuous.columns.following import follow_in_columns

    follow_in_columns(job.start(None))


# ------------------------------------------------------------------------------------------------------------ Spark


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
    return Brought.read(*[bytes(row.changes) for row in packed])


def packed_rows(bucket: int, rows: Iterable[Row]) -> Iterator[Any]:
    """Rows as Spark takes them from an operator: some thousands in one."""
    return packed_tuples(bucket, (tuple([row[name] for name in ROW]) for row in rows))


def packed_tuples(bucket: int, rows: Iterable[ChangeRow]) -> Iterator[Any]:
    """… which are there with their values in order."""
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
        self.before = set(map(id, _ENGINES.values()))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        with seldom_collecting():
            yield from packed_rows(key[0], advance(self.job, self.store, read_all(rows)))

    def close(self) -> None:
        """There is nothing to give back: engines stay for the next batch."""
        from xstreamcast.spark.motion.micro_batch import leave_alone

        leave_alone(anew=not self.before >= set(map(id, _ENGINES.values())))

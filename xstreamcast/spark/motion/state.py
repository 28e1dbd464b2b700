"""A continuous query from batch to batch: the embedded engine over a state that survives it.

The state is a log (:mod:`~xstreamcast.spark.motion.state_log`); the engine that is fed from it lives in the worker and
is kept from batch to batch. Whoever gets the next batch looks at the head of the state: an engine that has seen less
takes in what it has missed, one that has seen anything else is made anew. So what a batch gives is a function of the
saved state and the batch alone, whichever worker has it, and however often.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import error
from xstreamcast.model.garbage import not_collecting
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.replica import COUNTED, replica_of
from xstreamcast.spark.motion.state_base import adopted, compact, from_base, replay, swept
from xstreamcast.spark.motion.state_log import Head, Store, read_head, write_head
from xstreamcast.spark.motion.state_mark import from_mark, mark

if TYPE_CHECKING:
    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.replica import Replica

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
    mark(job, store, fresh)
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
        replica = from_mark(job, store, head) or from_base(job, store, head)
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


_known: set[int] = set()


def are_new() -> bool:
    """Whether some engines are not those of the last time that this was asked."""
    global _known
    before, _known = _known, set(map(id, _ENGINES.values()))
    return not before >= _known


def made_ready(job: Job) -> None:
    """Load what an engine needs, before there is anything for one to do."""
    from xstreamcast.run.continuous.columns.following import follow_in_columns

    follow_in_columns(job.start(None))

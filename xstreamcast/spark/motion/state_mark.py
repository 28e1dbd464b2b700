"""A mark in the log: what had been told of the answers at a version, so that all before it can be taken in at once.

    base ⊕ Δ₁ … Δ_M  =  base ⊕ (Δ₁ ⋯ Δ_M),  with the numbers and labels of what was told at M

Whoever makes an engine from the saved state would else repeat every micro-batch, and with it each evaluation of each
record that the batch touched. A mark is saved when the log has grown by as much as the mark takes, so that marks write
no more than the log does. Only where a batch is no more than its changes: the queries are followed in columns, and
nothing comes too late, waits or looks at a clock of its own.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final
from zlib import compress, decompress

from xstreamcast.spark.motion.brought import Brought
from xstreamcast.spark.motion.state_base import adopt_all, from_base, part_number, taken_in
from xstreamcast.spark.motion.state_told import Told, told

if TYPE_CHECKING:
    from xstreamcast.spark.motion.job import Job
    from xstreamcast.spark.motion.replica import Replica
    from xstreamcast.spark.motion.state_log import Head, Store

MARK: Final = part_number(2, 0)
"""Where it is kept: behind the banks of the base."""
LEAST: Final = 1 << 19
"""A log that has grown by fewer bytes is not marked again."""
AT_ONCE: Final = 1 << 18
"""So many rows are taken in at once at least, if there are as many: more would want more memory than they save time."""


def mark(job: Job, store: Store, replica: Replica) -> None:
    """Save what has been told, if the log has grown by as much since that was done."""
    head = replica.head
    if head.rising is not None or not (_is_plain(job) and replica.is_columnar):
        return
    if head.log_bytes - head.mark_log <= max(LEAST, head.mark_bytes):
        return
    tell = [told(query) for query in replica.inflow.queries]
    saved = {"told": [None if one is None else asdict(one) for one in tell], "announced": replica.announced}
    blob = compress(json.dumps(saved).encode(), 1)
    store.put_part(MARK, blob)
    replica.head = replace(head, mark=head.version, mark_bytes=len(blob), mark_log=head.log_bytes)


def from_mark(job: Job, store: Store, head: Head) -> Replica | None:
    """An engine that has taken in all up to the mark; None: there is none, or it is not enough to go on exactly."""
    if not _is_plain(job) or head.mark <= max(head.adopts, head.first - 1):
        return None
    replica = from_base(job, store, head)
    while replica.head.version < head.mark:
        rows, some = 0, []
        while replica.head.version < head.mark and rows < AT_ONCE:
            blob = store.delta(replica.head.version + 1)
            replica.head = replica.head.after(blob, 0)
            some.append(Brought.read(blob))
            rows += len(some[-1])
        taken_in(replica, Brought.together(some))
    taken_in(replica, Brought.of([]))  # what began with the first rows may have been moved by them, and not said so yet
    if not replica.is_columnar:
        return None
    saved = json.loads(decompress(store.part(MARK)))
    tell = [None if one is None else Told.parse(one) for one in saved["told"]]
    if adopt_all(replica, tell, saved["announced"]) != []:
        return None
    for query, one in zip(replica.inflow.queries, tell, strict=True):
        if one is not None and query.output is not None and query.output.numbers.last != one.last:
            return None
    return replica


def _is_plain(job: Job) -> bool:
    """Whether a batch is no more than its changes: cut elsewhere they would come to the same."""
    return job.emit == "eager" and job.clock == "event" and job.lateness is None and not job.part

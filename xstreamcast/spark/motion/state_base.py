"""Compacting, a little in every micro-batch: what the tables hold becomes a new base, and an engine is made from it.

    saved = base ⊕ Δ₁ … Δ_V ⊕ Δ_V+1 … Δ_W       →       base' ⊕ Δ_V+1 … Δ_W

At version V the rows of the new base are saved beside the old one. From then on each batch lets a *successor* take in
some of them, and then the log behind them; the engine at hand goes on as before. At W the successor has caught up: it
takes over the numbers and labels of what has been told, and its base counts. Whoever makes an engine from the saved
state repeats these takes, one by one, and adopts at W what was told then: so it does what the successor does.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.model.garbage import not_collecting
from xstreamcast.model.time import START
from xstreamcast.spark.motion.brought import Brought, Row
from xstreamcast.spark.motion.replica import Replica, replica_of
from xstreamcast.spark.motion.state_log import Head, Rising, Store
from xstreamcast.spark.motion.state_told import Told, adopt, told

if TYPE_CHECKING:
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.spark.motion.job import Job

PART_ROWS: Final = 1024
COLUMNAR: Final = 32
"""So many times as many rows are taken in at a time where that is done in columns."""
_BANK: Final = 1 << 20
"""Blobs of the base in bank b are numbered from b · 2²⁰: the old base and the new one have one each."""
_TAKE: Final = 8
"""A take costs as much as so many rows besides its own."""
_DROPS: Final = 64
"""So many blobs that are in the base are dropped from the log in a batch."""


class Successor:
    """An engine on its way from a base ``at`` a version, take by take, through the log behind it."""

    def __init__(self, job: Job, head: Head, rising: Rising) -> None:
        self.replica = replica_of(job, Head(head.birth, rising.at, rising.chain, first=rising.at + 1))
        self.rising = rising
        self.taken = 0
        self._parts = 0
        self._slices: deque[Brought] = deque()
        self._about: dict[str, Any] = {}
        self._late: Mapping[str, float] = {}

    @property
    def founded(self) -> bool:
        """Whether it has taken in the base."""
        return self._parts == self.rising.parts and not self._slices

    def is_at(self, version: int) -> bool:
        """Whether it has caught up with a version."""
        return self.founded and self.replica.head.version == version

    def take(self, store: Store) -> int:
        """Take in some more: a slice of the base, or a blob of the log. How many rows they were."""
        self.taken += 1
        if self.founded:
            rows = replay(self.replica, store)
        else:
            rows = self._slice(store)
            taken_in(self.replica, rows)
            if self.founded:
                self._settle()
        return len(rows)

    def _slice(self, store: Store) -> Brought:
        rising = self.rising
        if not self._parts:
            self._prepare(json.loads(store.part(part_number(rising.bank, rising.parts))))
        if not self._slices:
            rows = Brought.read(store.part(part_number(rising.bank, self._parts)))
            self._parts += 1
            self._slices.extend(rows[at : min(at + rising.step, len(rows))] for at in range(0, len(rows), rising.step))
        return self._slices.popleft()

    def _prepare(self, about: dict[str, Any]) -> None:
        """Regions that are gone for good stay so; what is in the base is not late, whichever stream comes first."""
        inflow = self.replica.inflow
        self._about, self._late = about, inflow._late
        inflow._late = {}
        for stream, (purged, passed) in about["gone"].items():
            inflow.association(stream).restore(purged, passed)

    def _settle(self) -> None:
        """The clocks are where they were when the base was saved."""
        inflow = self.replica.inflow
        for stream, now in self._about["now"].items():
            table = inflow.association(stream)
            table.now = max(table.now, now)
        inflow._late, inflow._mark = self._late, self._about.get("mark", inflow._mark)


def replay(replica: Replica, store: Store) -> Brought:
    """Take in the next blob of the log, as it was taken in before; what it tells has been told."""
    blob = store.delta(replica.head.version + 1)
    rows = Brought.read(blob)
    replica.head = replica.head.after(blob, 0)
    taken_in(replica, rows)
    return rows


def taken_in(replica: Replica, rows: Brought) -> None:
    """Take in rows that were taken in before; what they tell has been told."""
    with not_collecting():
        replica.take(rows)
        for _ in replica.told():
            pass


def part_number(bank: int, number: int) -> int:
    """Where a blob of a base is kept."""
    return bank * _BANK + number


# ------------------------------------------------------------------------------------------------- from saved to live


def from_base(job: Job, store: Store, head: Head) -> Replica:
    """An engine that has taken in the base, and nothing of the log."""
    at = head.first - 1
    if not head.parts:
        return replica_of(job, Head(head.birth, at, first=head.first))
    about = json.loads(store.part(part_number(head.bank, head.parts)))
    successor = Successor(job, head, Rising(at, about["chain"], head.bank, head.parts, head.step))
    while not successor.founded:
        successor.take(store)
    return successor.replica


def adopted(replica: Replica, store: Store, head: Head) -> None:
    """Let an engine that was made from the saved state, and is where its like took over, use what was told then."""
    if head.parts and replica.head.version == max(head.adopts, head.first - 1):
        about = json.loads(store.part(part_number(head.bank, head.parts)))
        saved = [None if one is None else Told.parse(one) for one in about["told"]]
        if adopt_all(replica, saved, about["announced"]) is None:
            hint = "is the checkpoint whole, and of this version? else start with a new checkpoint location"
            raise error("XSC0062", "the regions of the answer are not those that were told before", hint=hint)


def adopt_all(replica: Replica, saved: list[Told | None], announced: list[str | None]) -> list[Row] | None:
    """Let all queries of an engine use what has been told; what must be told besides, None: they cannot."""
    made: list[Row] = []
    replica.announced = list(announced)
    for query, one in zip(replica.inflow.queries, saved, strict=True):
        if one is not None:
            more = adopt(query, one)
            if more is None:
                return None
            made += query.rows(more)
        elif query.output is not None:
            return None
    return made


# --------------------------------------------------------------------------------------------------------- compacting


def compact(job: Job, store: Store, replica: Replica, brought: int) -> tuple[Replica, list[Row]]:
    """If the log has outgrown the base, go on with making a new one, as far as a batch of so many rows allows.

    Gives the engine that goes on from here, and what must be told where it is another one.
    """
    if replica.head.rising is None and not (_is_due(job, replica) and _begun(job, store, replica)):
        return replica, []
    head = replica.head
    assert head.rising is not None
    left = max(head.rising.step, 2 * brought)  # so that it gets nearer with every batch, however large they are
    try:
        successor = _successor(job, store, replica, head.rising)
        while left > 0 and not successor.is_at(head.version):
            left -= successor.take(store) + _TAKE
    except XStreamError:  # a part of what is there may be what no stream can be
        return _given_up(store, replica), []
    if not successor.is_at(head.version):
        replica.head = replace(head, rising=replace(head.rising, taken=successor.taken))
        return replica, []
    return _taken_over(store, replica, successor.replica)


def _is_due(job: Job, replica: Replica) -> bool:
    """Whether the log has so many bytes, or so many blobs, that to compact it costs little more than they did."""
    head = replica.head
    if head.log_bytes > max(job.compact_bytes, head.base_bytes, head.due):
        return True
    return _has_many_blobs(job, replica) and (not head.due or replica.is_columnar)


def _is_worth_it(job: Job, replica: Replica) -> bool:
    """Whether much of what is saved says nothing any more, or lies in many blobs. Rows are taken in again in columns as
    fast as a base is made of them, so that one which is as large as the log saves nothing."""
    head = replica.head
    return not replica.is_columnar or 2 * replica.live_rows < head.rows + head.log_rows or _has_many_blobs(job, replica)


def _has_many_blobs(job: Job, replica: Replica) -> bool:
    head = replica.head
    return head.version - head.first + 1 > max(job.compact_blobs, 4 * head.rows // _step(job, replica))


def _step(job: Job, replica: Replica) -> int:
    """So many rows are taken in at a time."""
    return job.compact_rows * (COLUMNAR if replica.is_columnar else 1)


def _begun(job: Job, store: Store, replica: Replica) -> bool:
    """Save what is enough to come to where all of the log has led, beside the old base; whether that can be."""
    head = replica.head
    rows = replica.live(_log(store, head)) if _is_worth_it(job, replica) else None
    if rows is None or not len(rows):  # something in it cannot be told apart: look again when there is twice as much
        replica.head = replace(head, due=2 * head.log_bytes)
        return False
    step = _step(job, replica)
    many = max(PART_ROWS, step)
    parts = [rows[at : min(at + many, len(rows))].blob() for at in range(0, len(rows), many)]
    parts.append(json.dumps(_about(replica.inflow, head.chain)).encode())
    bank = 1 - head.bank
    for number, blob in enumerate(parts):
        store.put_part(part_number(bank, number), blob)
    size = sum(map(len, parts))
    rising = Rising(
        head.version, head.chain, bank, len(parts) - 1, step, len(rows), size, head.log_bytes, head.log_rows
    )
    replica.head = replace(head, rising=rising)
    return True


def _successor(job: Job, store: Store, replica: Replica, rising: Rising) -> Successor:
    """The successor as far as the state says: the one that lives here, or a new one."""
    made = replica.successor
    if made is None or (made.rising.at, made.rising.chain) != (rising.at, rising.chain) or made.taken > rising.taken:
        made = replica.successor = Successor(job, replica.head, rising)
    while made.taken < rising.taken:
        made.take(store)
    return made


def _taken_over(store: Store, replica: Replica, fresh: Replica) -> tuple[Replica, list[Row]]:
    """The successor goes on from here, with what has been told, and its base counts."""
    head = replica.head
    rising = head.rising
    assert rising is not None
    more = adopt_all(fresh, [told(query) for query in replica.inflow.queries], replica.announced)
    if more is None:
        return _given_up(store, replica), []
    where = part_number(rising.bank, rising.parts)
    about = json.loads(store.part(where))
    tell = [told(query) for query in fresh.inflow.queries]
    about |= {"told": [None if one is None else asdict(one) for one in tell], "announced": fresh.announced}
    data = json.dumps(about).encode()
    store.put_part(where, data)
    for number in range(head.parts + 1 if head.parts else 0):
        store.drop_part(part_number(head.bank, number))
    fresh.head = replace(
        head, first=rising.at + 1, parts=rising.parts, bank=rising.bank, step=rising.step, rows=rising.rows,
        base_bytes=rising.size + len(data), log_bytes=head.log_bytes - rising.log_bytes,
        log_rows=head.log_rows - rising.log_rows, due=0, adopts=head.version, rising=None, mark=0, mark_bytes=0,
        mark_log=0,
    )  # fmt: skip
    return fresh, more


def _given_up(store: Store, replica: Replica) -> Replica:
    """The old base stays; look again when there is twice as much."""
    head = replica.head
    assert head.rising is not None
    for number in range(head.rising.parts + 1):
        store.drop_part(part_number(head.rising.bank, number))
    replica.successor = None
    replica.head = replace(head, rising=None, due=2 * head.log_bytes)
    return replica


def swept(store: Store, head: Head) -> Head:
    """Drop blobs of the log that are in the base, some in each batch."""
    kept = min(max(head.first, head.kept), head.kept + _DROPS)
    for version in range(head.kept, kept):
        store.drop_delta(version)
    return replace(head, kept=kept)


def _about(inflow: Inflow, chain: str) -> dict[str, Any]:
    """What a base says besides rows: how far the streams' own clocks are, and which regions are gone for good."""
    tables = inflow.associations.items()
    gone = {name: table.saved() for name, table in tables}
    mark = {} if inflow._mark == START else {"mark": inflow._mark}
    return {"chain": chain, "now": {name: table.now for name, table in tables}, "gone": gone, **mark}


def _log(store: Store, head: Head) -> Iterator[Row]:
    for number in range(head.parts):
        yield from Brought.read(store.part(part_number(head.bank, number))).rows
    for version in range(head.first, head.version + 1):
        yield from Brought.read(store.delta(version)).rows

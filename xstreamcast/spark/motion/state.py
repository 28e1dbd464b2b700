"""A continuous query as a stateful operator of Spark: the embedded engine over a state that survives it.

The state is a log (:mod:`~xstreamcast.spark.motion.state_log`); the engine that is fed from it lives in the worker and
is kept from batch to batch. Whoever gets the next batch looks at the head of the state: an engine that has seen less
takes in what it has missed, one that has seen anything else is made anew. So what a batch gives is a function of the
saved state and the batch alone, whichever worker has it, and however often.
"""

from __future__ import annotations

import json
import uuid
import zlib
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from xstreamcast.errors import error
from xstreamcast.model.change import ROW, Change, from_row
from xstreamcast.model.diagnostic import Diagnostic
from xstreamcast.model.structure import Structure, parse_structure
from xstreamcast.model.time import START
from xstreamcast.spark.motion.state_log import (
    PART_ROWS,
    TICK,
    Head,
    Row,
    Store,
    compacted,
    in_order,
    pack,
    read_head,
    unpack,
    write_head,
)

if TYPE_CHECKING:
    from xstreamcast.plan.modes.rewrite import Emission
    from xstreamcast.run.continuous.arrive.inflow import Arriving, Inflow
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.run.continuous.time.clock import Clock
    from xstreamcast.spark.motion.state_told import Told

COUNTED: Final = "counted"
"""The order of a tick whose seq says how many changes have come, where a bucket sees only a part of them."""
ROWS: Final = "rows"
GATHERING: Final = "gathering"
"""The parts of a job that is done in several places: what a bucket tells, and what is made of that."""
PROGRESS: Final = "progress"
"""The kind of a row that tells, after each batch, how far the query is; content is JSON."""
LIVE_ENGINES: Final = 256
"""So many engines a worker keeps between batches."""
COMPACT_BYTES: Final = 4 << 20
COMPACT_BLOBS: Final = 256
"""A log is compacted when it has more bytes than the base and than this, or more blobs than this."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker must know to run some queries: all that :func:`xstreamcast.continuous_many` is told."""

    texts: tuple[str, ...]
    names: tuple[str, ...]
    structures: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    docs: Mapping[str, Any] = field(default_factory=dict)
    emit: Emission = "eager"
    clock: Clock = "event"
    now: int | None = None
    lateness: Mapping[str, float] | None = None
    base_uri: str | None = None
    assume: str | None = None
    part: str = ""
    """The part of it that is done here: all, :data:`ROWS` or :data:`GATHERING`."""
    stream: str = ""
    """Whose rows."""
    compact_bytes: int = COMPACT_BYTES
    compact_blobs: int = COMPACT_BLOBS

    @property
    def digest(self) -> str:
        """Of what is asked: a state that answers something else cannot be gone on with.

        Not of structures and documents, which may be spelled otherwise and be the same.
        """
        spelled = {name: repr(value) for name, value in self.variables.items()}
        plain = {name: text for name, text in spelled.items() if " at 0x" not in text}  # a value, not where it lies
        done = f"{self.part} {self.stream}" if self.part else False
        asked = (self.texts, self.names, plain, self.emit, self.clock, self.lateness, self.assume, done)
        return blake2b(json.dumps(asked, sort_keys=True).encode(), digest_size=16).hexdigest()

    def start(self, report: Any) -> Inflow:
        """The queries, at the beginning. A wall clock is told by the batches, so that it can be told again."""
        from datetime import UTC, datetime, timedelta

        from xstreamcast.run.continuous.query import continuous_many

        now = None if self.now is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.now)
        inflow = continuous_many(
            () if self.part else self.texts, structures=dict(self.structures), variables=self.variables, docs=self.docs,
            emit=self.emit, clock="event" if self.clock == "event" else "manual", now=now, lateness=self.lateness,
            names=self.names, base_uri=self.base_uri, assume=self.assume, report=report,
        )  # fmt: skip
        if self.part:
            inflow.queries.append(self._part_of(inflow))
        return inflow

    def _part_of(self, inflow: Inflow) -> ContinuousQuery:
        from xstreamcast.run.query import compile

        (text,), (name,) = self.texts, self.names
        known = inflow.structures or None
        query = compile(text, base_uri=self.base_uri, variables=tuple(self.variables), structures=known)
        if self.part == ROWS:
            from xstreamcast.spark.motion.bucket_rows import RowsQuery

            return RowsQuery(query, inflow, name, self.variables, self.docs, self.stream)
        from xstreamcast.spark.motion.gathering import GatheringQuery

        return GatheringQuery(query, inflow, name, self.variables, self.docs)


class Replica:
    """The queries of a job, alive, after all that has led to a head."""

    def __init__(self, job: Job, head: Head) -> None:
        self.head = head
        self.put_aside: list[tuple[str, Diagnostic]] = []
        self._stream = ""
        self.inflow = job.start(self._hear)
        self.inflow.seals = self.inflow.forwards = False
        self.ticked: int | None = None

    def _hear(self, diagnostic: Diagnostic) -> None:
        if diagnostic.severity == "quarantine":
            self.put_aside.append((self._stream, diagnostic))

    def take(self, rows: Iterable[Row]) -> None:
        """Take in the rows of a batch, in order; the answers go on when all are in."""
        brought = list(rows)
        ticks = [row["valid_time"] for row in brought if row["change"] == TICK and row["valid_time"] is not None]
        if ticks:
            self.ticked = max([*ticks, *([] if self.ticked is None else [self.ticked])])
        inflow, taking = self.inflow, set[str]()
        with ExitStack() as together:  # contents that come together are parsed together
            for stream, item in self._items(brought):
                if stream not in taking:
                    taking.add(stream)
                    together.enter_context(inflow.association(stream).together())
                inflow._take(item, stream, None, 0)
        if not all(query.begun for query in inflow.queries):
            for table in inflow.associations.values():
                known = (filling for region in table.table.values() for filling in region.fillings())
                table.grove.ready([filling for filling in known if filling.content is not None])
        inflow.feed_all((), self.ticked if ticks else None)

    def _items(self, rows: Iterable[Row]) -> Iterator[tuple[str, Arriving]]:
        for row in rows:
            if row["change"] != TICK:
                self._stream = row["stream"]
                yield self._stream, item_of(row)
            elif row["stream"]:  # how far the stream is of which only a part comes here
                association = self.inflow.association(row["stream"])
                association.now = max(association.now, row["valid_time"])

    def told(self) -> Iterator[Row]:
        """What is to be told of the answers, and of what was put aside, as rows."""
        for query in self.inflow.queries:
            yield from query.rows(query.take())
        for stream, diagnostic in self.put_aside:
            yield _quarantine_row(stream, self.head.n, diagnostic)
        self.put_aside.clear()

    def live_rows(self, log: Iterable[Row]) -> Iterator[Row] | None:
        """The rows that are enough to come to where all of the log has led; None: not now."""
        inflow = self.inflow
        return compacted(log, inflow.associations, None if inflow.now == START else inflow.now)

    def progress(self) -> Row:
        """How far it is, and how much is kept."""
        inflow = self.inflow
        tables = inflow.associations.values()
        report = {
            "n": self.head.n,
            "now": None if inflow.now == START else inflow.now,
            "version": self.head.version,
            "regions": sum(len(table.table) for table in tables),
            "bytes": self.head.base_bytes + self.head.log_bytes,
            "ended": inflow.ended,
            "streams": [stream for query in inflow.queries for stream in query.streams],
            "recomputed": [query.recomputed for query in inflow.queries],
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


def item_of(row: Row) -> Change | Structure | Diagnostic:
    """What a row stands for."""
    if row["change"] == "structure":
        return parse_structure(row["content"])
    if row["change"] == "quarantine":
        from xstreamcast.errors import Place

        report = json.loads(row["content"])
        place = Place(report["source"], offset=report["offset"])
        return Diagnostic(report["code"], "quarantine", report["message"], place, report["excerpt"])
    return from_row(row)


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


# ------------------------------------------------------------------------------------------------- from state to state

_ENGINES: OrderedDict[str, Replica] = OrderedDict()
"""The engines that live in this worker, by the birth of their state."""


def advance(job: Job, store: Store, rows: list[Row]) -> Iterator[Row]:
    """One micro-batch of one key: the changes of the answers, and how far it is. The new state is in the store."""
    saved = read_head(store)
    if saved is None:
        replica = replica_of(job, Head(uuid.uuid4().hex, job=job.digest))
    else:
        replica = current(job, store, checked(saved, job))
    rows = in_order(rows)
    changes = sum(row["change"] not in ("structure", "quarantine", TICK) for row in rows)
    blob = pack(row for row in rows if row["change"] != "quarantine")
    head = replica.head.after(blob, changes)
    counted = [row["seq"] for row in rows if row["change"] == TICK and row["order"] == COUNTED]
    if counted:
        head = replace(head, n=max(counted))
    _ENGINES.pop(head.birth, None)  # while it goes on it is nobody's: what fails in the middle is not used again
    replica.head = head
    replica.take(rows)
    yield from replica.told()
    store.put_delta(head.version, blob)
    fresh, more = compact(job, store, replica)
    yield from more
    write_head(store, fresh.head)
    keep(fresh)
    yield fresh.progress()


def checked(head: Head, job: Job) -> Head:
    """A saved head, if it is of this job. A state of the first format says nothing of it: from here on it does."""
    if head.job not in ("", job.digest):
        hint = "start with a new checkpoint location, or with the query, variables and options that wrote this one"
        raise error("XSC0083", "the saved state is of another query", hint=hint)
    return replace(head, job=job.digest)


def keep(replica: Replica) -> None:
    """Keep an engine for the next batch."""
    _ENGINES[replica.head.birth] = replica
    _ENGINES.move_to_end(replica.head.birth)
    while len(_ENGINES) > LIVE_ENGINES:
        _ENGINES.popitem(last=False)


def current(job: Job, store: Store, head: Head) -> Replica:
    """An engine that has taken in what the state says: the one that lives here, brought up to it, or a new one."""
    replica = _ENGINES.get(head.birth)
    if replica is None or not head.first - 1 <= replica.head.version <= head.version:
        replica = from_base(job, store, head)
    while replica.head.version < head.version:
        version = replica.head.version + 1
        blob = store.delta(version)
        rows = unpack(blob)
        replica.head = replica.head.after(blob, 0)
        replica.take(rows)
        for _ in replica.told():
            pass
    if replica.head.chain != head.chain:  # it had seen a batch that was never committed
        if replica is not _ENGINES.get(head.birth):
            raise error(
                "XSC0062", "the saved log is not the one that its head speaks of", hint="is the checkpoint whole?"
            )
        del _ENGINES[head.birth]
        return current(job, store, head)
    replica.head = head
    return replica


def from_base(job: Job, store: Store, head: Head) -> Replica:
    """An engine that has taken in the base, and nothing of the log."""
    from xstreamcast.spark.motion.state_told import Told

    parts = [store.part(number) for number in range(head.parts)]
    if not parts:
        return replica_of(job, Head(head.birth))
    about = json.loads(store.part(head.parts))
    replica = _of_base(job, parts, about)
    replica.head = Head(head.birth, head.first - 1, about["chain"])
    _adopt(replica, [None if one is None else Told.parse(one) for one in about["told"]])
    return replica


def _of_base(job: Job, parts: Iterable[bytes], about: Mapping[str, Any]) -> Replica:
    replica = replica_of(job, Head(""))
    for stream, (bits, others) in about["purged"].items():
        gone = replica.inflow.association(stream)._purged
        gone._bits.extend(zlib.decompress(b64decode(bits)))
        gone._others.update(others)
    replica.take(row for blob in parts for row in unpack(blob))
    for _ in replica.told():
        pass
    for stream, now in about["now"].items():
        table = replica.inflow.association(stream)
        table.now = max(table.now, now)
    return replica


def _about(inflow: Inflow, chain: str) -> dict[str, Any]:
    """What a base says besides rows: how far the streams' own clocks are, and which regions are gone for good."""
    tables = inflow.associations.items()
    purged = {
        name: [b64encode(zlib.compress(table._purged._bits)).decode(), sorted(table._purged._others)]
        for name, table in tables
    }
    return {"chain": chain, "now": {name: table.now for name, table in tables}, "purged": purged}


def _adopt(replica: Replica, saved: list[Told | None]) -> list[Row] | None:
    from xstreamcast.spark.motion.state_told import adopt

    made: list[Row] = []
    for query, one in zip(replica.inflow.queries, saved, strict=True):
        if one is not None:
            more = adopt(query, one)
            if more is None:
                return None
            made += query.rows(more)
        elif query.output is not None:
            return None
    return made


def compact(job: Job, store: Store, replica: Replica) -> tuple[Replica, list[Row]]:
    """If the log has outgrown the base, make a new base of both, and an engine that begins with it.

    The engine goes on as a new one, so that from here on it does what one does that is made from the saved state.
    """
    from xstreamcast.spark.motion.state_told import told

    head = replica.head
    blobs = head.version - head.first + 1
    if head.log_bytes <= max(job.compact_bytes, head.base_bytes, head.due) and (blobs <= job.compact_blobs or head.due):
        return replica, []
    inflow = replica.inflow
    rows = replica.live_rows(_log(store, head))
    parts = [] if rows is None else [pack(rows_of_part) for rows_of_part in _in_parts(rows)]
    if parts:
        about = _about(inflow, head.chain)
        fresh = _of_base(job, parts, about)
        more = _adopt(fresh, [told(query) for query in inflow.queries])
        if more is not None:
            tell = [told(query) for query in fresh.inflow.queries]
            about["told"] = [None if one is None else asdict(one) for one in tell]
            data = json.dumps(about).encode()
            size = sum(map(len, parts)) + len(data)
            fresh.head = replace(head, first=head.version + 1, parts=len(parts), base_bytes=size, log_bytes=0, due=0)
            _replace_base(store, head, [*parts, data])
            return fresh, more
    # Something in it cannot be told apart: look again when there is twice as much.
    replica.head = replace(head, due=2 * head.log_bytes)
    return replica, []


def _log(store: Store, head: Head) -> Iterator[Row]:
    for number in range(head.parts):
        yield from unpack(store.part(number))
    for version in range(head.first, head.version + 1):
        yield from unpack(store.delta(version))


def _in_parts(rows: Iterator[Row]) -> Iterator[list[Row]]:
    part: list[Row] = []
    for row in rows:
        part.append(row)
        if len(part) == PART_ROWS:
            yield part
            part = []
    if part:
        yield part


def _replace_base(store: Store, head: Head, parts: list[bytes]) -> None:
    for version in range(head.first, head.version + 1):
        store.drop_delta(version)
    for number, blob in enumerate(parts):
        store.put_part(number, blob)
    for number in range(len(parts), head.parts + 1 if head.parts else 0):
        store.drop_part(number)


# ------------------------------------------------------------------------------------------------------------ Spark


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


class Keeper(StatefulProcessor):  # type: ignore[misc]  # mypy does not follow PySpark
    """The stateful operator: rows of packed changes in, rows of changes of the answers out."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def init(self, handle: Any) -> None:
        handle.getValueState(ENGINE, "format int")
        self.store = SparkStore(handle)
        self.before = set(map(id, _ENGINES.values()))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        from xstreamcast.spark.motion.association import output_row

        brought = [row for packed in rows for row in unpack(packed.changes)]
        for row in advance(self.job, self.store, brought):
            yield output_row(row)

    def close(self) -> None:
        """There is nothing to give back: engines stay for the next batch."""
        from xstreamcast.spark.motion.micro_batch import leave_alone

        leave_alone(anew=not self.before >= set(map(id, _ENGINES.values())))

"""What a worker must know to run some queries. Light to load, as processes of Spark's read it that run nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from xstreamcast.plan.modes.rewrite import Emission
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.run.continuous.query import ContinuousQuery
    from xstreamcast.run.continuous.time.clock import Clock

ROWS: Final = "rows"
GATHERING: Final = "gathering"
"""The parts of a job that is done in several places: what a bucket tells, and what is made of that."""
COMPACT_BYTES: Final = 4 << 20
COMPACT_BLOBS: Final = 256
"""A log is compacted when it has more bytes than the base and than this, or more blobs than this."""
COMPACT_ROWS: Final = 128
"""So many rows a batch spends on it at least."""


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
    compact_rows: int = COMPACT_ROWS

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
            inflow.columns = False  # what buckets tell are rows of objects
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

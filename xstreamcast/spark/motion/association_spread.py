"""Streams in many buckets: which queries that is right for, and which bucket each fragment goes to.

What a plan does with the records of a stream distributes over cuts of its document (plan/algebra.py):

    E(a ⊎ b) = E(a) ++ E(b)

So the document is cut into buckets, runs of the fragments that the root holds, in order. Each bucket has the root with
its own holes and all fragments below them, and is a document of its own. A fragment belongs to the bucket of the
fragment whose hole it fills; one that comes before its hole waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.change import ROOT, ROW
from xstreamcast.model.structure import Structure, parse_structure, write_structure
from xstreamcast.plan.algebra import Concat, Strategy
from xstreamcast.run.continuous.associate.reach import reached_tags
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.spark.motion.brought import TICK, Row
from xstreamcast.spark.motion.bucket_rows import CANNOT, refused
from xstreamcast.spark.motion.replica import COUNTED
from xstreamcast.spark.motion.root_cut import Atom, atoms, fragments_of_root, parts

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Plan
    from xstreamcast.run.continuous.arrive.inflow import Inflow
    from xstreamcast.spark.motion.job import Job

HOLE: Final = re.compile(rb"""<stream:hole\b[^>]*?\bid\s*=\s*["'](\d+)["'][^>]*?(?:/>|>\s*</stream:hole\s*>)""")
STREAM_SHIFT: Final = 20
"""Bucket b of the k-th stream is number k · 2²⁰ + b."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a query is spread over buckets of ``size`` records of each of its ``streams``.

    ``last``: what is done with what the buckets tell. Their items are the answer, one bucket after the other
    (``combine``); or it is made of their records' rows, in one place (``gather``). ``structures`` are texts, which
    travel well.
    """

    streams: tuple[str, ...]
    structures: tuple[str, ...]
    last: Literal["combine", "gather"]
    timely: bool
    size: int

    def stream(self, bucket: int) -> str:
        """The stream that a bucket is of."""
        return self.streams[bucket >> STREAM_SHIFT]


def spread(inflow: Inflow, structures: dict[str, Structure], size: int, job: Job) -> Spread:
    """How the query of a job is spread over buckets of so many records; raises XSC0069, with why it cannot be."""
    if job.emit != "eager" or job.clock != "event" or job.lateness is not None:
        raise refused("buckets are for eager emission, the event clock and no lateness")
    if len(inflow.queries) != 1:
        raise refused("it is for one query")
    (query,) = inflow.queries
    known = {stream: structures.get(stream) or structures.get("") for stream in query.streams}
    if None in known.values() or not known:
        raise refused("the tag structures of its streams must be known beforehand")
    inflow.columns = False  # buckets are parts of what is followed by objects
    inflow.begin()  # the plan is that by the structures
    plan, output = query.plan, query.output
    if plan.strategy is not Strategy.STREAM or output is None or not isinstance(output.journal, Journal):
        raise refused(f"it is not about records: {query.recomputed or '; '.join(plan.reasons)}")
    for stream, structure in known.items():
        assert structure is not None
        _check(plan, stream, structure)
    texts = tuple([write_structure(structure) for structure in known.values() if structure is not None])
    return Spread(query.streams, texts, "combine" if _side_by_side(plan) else "gather", query.timely, size)


def _check(plan: Plan, stream: str, structure: Structure) -> None:
    """That all records of a stream are within the fragments that its root holds."""
    records = fragments_of_root(structure)
    below = records | structure.descendants(records)
    if structure.unnamed or structure.root in below or records & structure.descendants(records):
        raise refused("the structure is recursive, or has no root")
    for one in plan.passes:
        for unit in one.units if one.source.uri == stream else ():
            if any(not reached_tags(path, structure) <= below for path in unit.records):
                raise refused("its records are larger than the fragments that the root holds")
            around = set() if unit.nest is None else reached_tags(unit.nest.path, structure)
            if around & structure.descendants(around - below):  # what is in one comes before what is in the next
                raise refused("it takes elements around the fragments that the root holds, and those in them, in turn")


def why_not_spread(inflow: Inflow, structures: dict[str, Structure], job: Job) -> str | None:
    """Why the query of a job cannot be spread; None: it can."""
    try:
        spread(inflow, structures, 1, job)
    except XStreamError as refusal:
        return refusal.message.removeprefix(CANNOT)
    return None


def _side_by_side(plan: Plan) -> bool:
    """Whether the answer is the items of one stream's records, as they are: nodes, between which there is nothing."""
    units = [unit for one in plan.passes for unit in one.units]
    if len(units) != 1 or plan.output != (units[0],) or not isinstance(units[0].reduction, Concat):
        return False
    return _gives_nodes(units[0].items, frozenset())


def _gives_nodes(part: ast.Expr, nodes: frozenset[tuple[str, str]]) -> bool:
    """Whether an expression gives nothing but nodes, as far as can be seen. ``nodes``: variables that are some."""
    match part:
        case ast.DirectElement() | ast.ComputedElement():
            return True
        case ast.VarRef(name=name):
            return name.expanded in nodes
        case ast.Path(steps=steps):
            return bool(steps) and isinstance(steps[-1], ast.AxisStep) and steps[-1].axis != "attribute"
        case ast.FLWOR(clauses=clauses, result=result):
            for clause in clauses:
                if isinstance(clause, ast.ForClause) and _gives_nodes(clause.source, nodes):
                    nodes |= {clause.var.expanded}
            return _gives_nodes(result, nodes)
        case ast.If(then=then, otherwise=otherwise):
            return _gives_nodes(then, nodes) and _gives_nodes(otherwise, nodes)
        case ast.Sequence(items=items):
            return all(_gives_nodes(item, nodes) for item in items)
    return False


# ----------------------------------------------------------------------------------------------------------- routing


@dataclass(slots=True)
class Routes:
    """Which bucket of a stream a region is in: all that routing it must remember. Plain data.

    ``buckets``: of the regions that the root holds; ``owners``: which of these a region below belongs to; ``pending``:
    rows of regions whose place is not known yet; ``root``: the rows of the root since its last content.
    """

    size: int
    buckets: dict[int, int] = field(default_factory=dict)
    filled: list[int] = field(default_factory=lambda: [0])
    """How many records each bucket has."""
    owners: dict[int, int] = field(default_factory=dict)
    pending: dict[int, list[Row]] = field(default_factory=dict)
    root: list[Row] = field(default_factory=list)
    now: int | None = None
    """The largest valid time of the stream."""

    def take(self, rows: Iterable[Row], structure: Structure) -> dict[int, list[Row]]:
        """Route the rows of a micro-batch, in order: what each bucket gets."""
        out: dict[int, list[Row]] = {}
        for row in rows:
            if row["change"] in ("structure", "quarantine"):
                continue  # the structure is known; what was put aside has no place
            if row["target"] is not None or row["doc"] or b"stream:mutable" in (row["content"] or b""):
                raise refused("the stream has regions inside others, or documents with names")
            if row["valid_time"] is not None:
                self.now = row["valid_time"] if self.now is None else max(self.now, row["valid_time"])
            for one in self._timed(row):
                if one["change"] == "eos" or (one["region"] or ROOT) == ROOT:
                    self._root(one, structure, out)
                else:
                    self._fragment(one, out)
        return out

    def _timed(self, row: Row) -> Iterable[Row]:
        """A removal without a time is one at the stream's present, of which a bucket knows a part: it is told."""
        if row["change"] == "remove" and row["valid_time"] is None and self.now is not None:
            yield {**row, "change": TICK, "valid_time": self.now}
        yield row

    def _root(self, row: Row, structure: Structure, out: dict[int, list[Row]]) -> None:
        content = row["content"]
        if content is None:
            self.root.append(row)
            for bucket in range(len(self.filled)):
                out.setdefault(bucket, []).append(row)
            return
        found = atoms(content, structure)
        fresh = len(self.filled)
        placed, added = self._place(found)
        self.root = [row, *[flag for flag in self.root if flag["content"] is None]]
        for bucket, part in enumerate(parts(content, found, placed, len(self.filled))):
            mine = out.setdefault(bucket, [])
            mine.append({**row, "content": part})
            if bucket >= fresh:
                mine += self.root[1:]
        for hole in added:
            self._release(hole, hole, out)

    def _place(self, found: list[Atom]) -> tuple[list[int], list[int]]:
        """The bucket of each atom, so that buckets are runs of them, and the holes that are new.

        What is no hole goes with what is before it.
        """
        placed, added = [], []
        last = 0
        known = max([n for n, atom in enumerate(found) if any(hole in self.buckets for hole in atom.holes)], default=-1)
        for number, atom in enumerate(found):
            there = {self.buckets[hole] for hole in atom.holes if hole in self.buckets}
            bucket = max(there, default=last)
            if len(there) > 1 or bucket < last:
                raise refused(f"the root is sent again with hole {atom.holes[0]} at another place")
            full = self.filled[last] >= self.size and last == len(self.filled) - 1
            if not there and atom.is_hole and number > known and full:
                bucket = len(self.filled)
                self.filled.append(0)
            for hole in atom.holes:
                if hole not in self.buckets:
                    self.buckets[hole] = bucket
                    added.append(hole)
                    self.filled[bucket] += 1
            placed.append(bucket)
            last = bucket
        return placed, added

    def _fragment(self, row: Row, out: dict[int, list[Row]]) -> None:
        region = row["region"]
        owner = region if region in self.buckets else self.owners.get(region)
        if owner is None:
            self.pending.setdefault(region, []).append(row)
        else:
            self._send(row, owner, out)

    def _send(self, row: Row, owner: int, out: dict[int, list[Row]]) -> None:
        out.setdefault(self.buckets[owner], []).append(row)
        for found in HOLE.findall(row["content"] or b""):
            hole = int(found)
            known = self.owners.get(hole)
            if known is None:
                self.owners[hole] = owner
                self._release(hole, owner, out)
            elif self.buckets[known] != self.buckets[owner]:
                raise refused(f"hole {hole} stands in fragments of two buckets")

    def _release(self, region: int, owner: int, out: dict[int, list[Row]]) -> None:
        """What has waited for a hole goes after it."""
        for row in self.pending.pop(region, ()):
            self._send(row, owner, out)


@dataclass(slots=True)
class Routing:
    """The routes of all streams, by name, in the order of their numbers, and their structures.

    ``n``, ``now``: how many changes there have been, and the time, also of streams that the query does not read.
    """

    streams: dict[str, Routes]
    structures: list[Structure]
    n: int = 0
    now: int | None = None

    @classmethod
    def of(cls, spread: Spread) -> Routing:
        return cls.read(spread, {stream: Routes(spread.size) for stream in spread.streams})

    @classmethod
    def read(cls, spread: Spread, streams: dict[str, Routes], n: int = 0, now: int | None = None) -> Routing:
        """… from plain data."""
        return cls(streams, [parse_structure(text) for text in spread.structures], n, now)

    def take(self, rows: Iterable[Row], timely: bool) -> dict[int, list[Row]]:
        """Route the rows of a micro-batch: what each bucket gets, and what time it is by all streams.

        Where the query looks at the clock, every bucket hears of it.
        """
        out: dict[int, list[Row]] = {}
        before = self.now
        mine: dict[str, list[Row]] = {stream: [] for stream in self.streams}
        for row in rows:
            if row["stream"] in mine:
                mine[row["stream"]].append(row)
            self.n += row["change"] not in ("structure", "quarantine")
            if row["valid_time"] is not None:
                self.now = row["valid_time"] if self.now is None else max(self.now, row["valid_time"])
        for number, (stream, routes) in enumerate(self.streams.items()):
            for bucket, brought in routes.take(mine[stream], self.structures[number]).items():
                out[number << STREAM_SHIFT | bucket] = brought
        passed = timely and self.now != before
        if out or passed:
            for bucket in self._buckets() if passed else {0, *out}:
                out.setdefault(bucket, []).append(self._tick())
        return out

    def _buckets(self) -> Iterable[int]:
        for number, routes in enumerate(self.streams.values()):
            yield from range(number << STREAM_SHIFT, (number << STREAM_SHIFT) + len(routes.filled))

    def _tick(self) -> Row:
        return {
            **dict.fromkeys(ROW), "stream": "", "seq": self.n, "change": TICK, "doc": "", "valid_time": self.now,
            "order": COUNTED,
        }  # fmt: skip

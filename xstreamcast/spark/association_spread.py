"""One stream in many buckets: which queries that is right for, and which bucket each fragment goes to.

A query that is one loop over the records of a stream distributes over cuts of its document (plan/algebra.py):

    E(a ⊎ b) = E(a) ++ E(b)

So the document is cut into buckets, runs of the fragments that the root holds, in order. Each bucket has the root with
its own holes and all fragments below them, and is a document of its own. A fragment belongs to the bucket of the
fragment whose hole it fills; one that comes before its hole waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from xstreamcast.errors import XStreamError, error
from xstreamcast.lang import ast
from xstreamcast.lang.context import CODEPOINT
from xstreamcast.model.change import ROOT, ROW
from xstreamcast.plan.algebra import Concat, Reduce, Strategy, Unit
from xstreamcast.run.continuous.reach import reached_tags
from xstreamcast.spark.state import COUNTED
from xstreamcast.spark.state_log import TICK, Row

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.inflow import Inflow
    from xstreamcast.spark.state import Job

HOLE: Final = re.compile(rb"""<stream:hole\b[^>]*?\bid\s*=\s*["'](\d+)["'][^>]*?(?:/>|>\s*</stream:hole\s*>)""")
COUNTS: Final = ("count", "exists", "empty")
TOTALS: Final = ("sum", "avg")
VALUES: Final = ("min", "max", "distinct-values", "string-join")
"""Functions of which R(a ++ b) = R(R'(a) ++ R'(b)), R' being the values of a bucket that may matter to all."""
PARTIALS: Final = (*TOTALS, *VALUES)


@dataclass(frozen=True, slots=True)
class Spread:
    """How a query is spread. ``reduction``: what is made of the buckets' answers, ``concat`` or a function."""

    stream: str
    reduction: str
    timely: bool
    size: int
    """Records in a bucket."""


def spread(inflow: Inflow, structures: dict[str, Structure], size: int, job: Job) -> Spread:
    """How the query of a job is spread over buckets of so many records; raises XSC0069, with why it cannot be."""
    if job.emit != "eager" or job.clock != "event" or job.lateness is not None:
        raise _refused("buckets are for eager emission, the event clock and no lateness")
    if len(inflow.queries) != 1 or len(inflow.queries[0].streams) != 1:
        raise _refused("it is for one query over one stream")
    query = inflow.queries[0]
    (stream,) = query.streams
    structure = structures.get(stream) or structures.get("")
    if structure is None:
        raise _refused("the tag structure must be known beforehand")
    plan = query.plan
    units = [unit for one in plan.passes for unit in one.units]
    if plan.strategy is not Strategy.STREAM or len(units) != 1 or plan.output != (units[0],) or units[0].needs:
        raise _refused("the query is more than one loop over the records of its stream")
    unit = units[0]
    records = _records(structure)
    below = records | structure.descendants(records)
    if structure.unnamed or structure.root in below or records & structure.descendants(records):
        raise _refused("the structure is recursive, or has no root")
    if any(not reached_tags(path, structure) <= below for path in unit.records):
        raise _refused("its records are larger than the fragments that the root holds")
    reduction = _reduction(unit)
    if reduction in VALUES and plan.module.static is not None and plan.module.static.default_collation != CODEPOINT:
        raise _refused("its strings have an order of their own")
    return Spread(stream, reduction, query.timely, size)


def why_not_spread(inflow: Inflow, structures: dict[str, Structure], job: Job) -> str | None:
    """Why the query of a job cannot be spread; None: it can."""
    try:
        spread(inflow, structures, 1, job)
    except XStreamError as refusal:
        return refusal.message.removeprefix(_CANNOT)
    return None


_CANNOT: Final = "it cannot be spread over buckets: "


def _refused(why: str) -> XStreamError:
    return error("XSC0069", _CANNOT + why, hint="leave out bucket_records")


def _records(structure: Structure) -> set[int]:
    """The tags of the fragments that the root's own fragment holds."""
    found: set[int] = set()
    waiting = list(structure.tags[structure.root].children)
    seen: set[int] = set()
    while waiting:
        tsid = waiting.pop()
        if tsid in seen:
            continue
        seen.add(tsid)
        if structure.tags[tsid].type == "snapshot":
            waiting += structure.tags[tsid].children
        else:
            found.add(tsid)
    return found


def _reduction(unit: Unit) -> str:
    if isinstance(unit.reduction, Concat):
        if not _gives_nodes(unit.items, frozenset()):
            raise _refused("its items may be atomic values, between which there are blanks")
        return "concat"
    reduction = unit.reduction
    if isinstance(reduction, Reduce) and not reduction.argument and reduction.function in (*COUNTS, *PARTIALS):
        return reduction.function
    raise _refused(f"only items side by side, and {', '.join((*COUNTS, *PARTIALS))}, are put together from buckets")


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
    """Which bucket a region is in: all that the routing of a stream must remember. Plain data.

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
    n: int = 0

    def take(self, rows: Iterable[Row], timely: bool) -> dict[int, list[Row]]:
        """Route the rows of a micro-batch, in order: what each bucket gets."""
        out: dict[int, list[Row]] = {}
        before = self.now
        for row in rows:
            if row["change"] in ("structure", "quarantine"):
                continue  # the structure is known; what was put aside has no place
            self.n += 1
            if row["target"] is not None or row["doc"] or b"stream:mutable" in (row["content"] or b""):
                raise _refused("the stream has regions inside others, or documents with names")
            if row["valid_time"] is not None:
                self.now = row["valid_time"] if self.now is None else max(self.now, row["valid_time"])
            if row["change"] == "eos" or (row["region"] or ROOT) == ROOT:
                self._root(row, out)
            else:
                self._fragment(row, out)
        if out or (timely and self.now != before):
            everywhere = range(len(self.filled)) if timely and self.now != before else {0, *out}
            for bucket in everywhere:
                out.setdefault(bucket, []).append(self._tick())
        return out

    def _tick(self) -> Row:
        return {
            **dict.fromkeys(ROW), "stream": "", "seq": self.n, "change": TICK, "doc": "", "valid_time": self.now,
            "order": COUNTED,
        }  # fmt: skip

    def _root(self, row: Row, out: dict[int, list[Row]]) -> None:
        content = row["content"]
        if content is None:
            self.root.append(row)
            for bucket in range(len(self.filled)):
                out.setdefault(bucket, []).append(row)
            return
        holes = [int(hole) for hole in HOLE.findall(content)]
        fresh = len(self.filled)
        added = self._place(holes)
        self.root = [row, *[flag for flag in self.root if flag["content"] is None]]
        for bucket in range(len(self.filled)):
            mine = out.setdefault(bucket, [])
            mine.append({**row, "content": _only(content, bucket, self.buckets)})
            if bucket >= fresh:
                mine += self.root[1:]
        for hole in added:
            self._release(hole, hole, out)

    def _place(self, holes: list[int]) -> list[int]:
        """Give new holes of the root a bucket, so that buckets are runs of them; which they are."""
        added = []
        last = 0
        known = max((number for number, hole in enumerate(holes) if hole in self.buckets), default=-1)
        for number, hole in enumerate(holes):
            bucket = self.buckets.get(hole)
            if bucket is None:
                bucket = last
                if number > known and self.filled[last] >= self.size and last == len(self.filled) - 1:
                    bucket = len(self.filled)
                    self.filled.append(0)
                self.buckets[hole] = bucket
                self.filled[bucket] += 1
                added.append(hole)
            if bucket < last:
                raise _refused(f"the root is sent again with hole {hole} at another place")
            last = bucket
        return added

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
                raise _refused(f"hole {hole} stands in fragments of two buckets")

    def _release(self, region: int, owner: int, out: dict[int, list[Row]]) -> None:
        """What has waited for a hole goes after it."""
        for row in self.pending.pop(region, ()):
            self._send(row, owner, out)


def _only(content: bytes, bucket: int, buckets: dict[int, int]) -> bytes:
    """The root's content with the holes of one bucket."""
    return HOLE.sub(lambda hole: hole[0] if buckets[int(hole[1])] == bucket else b"", content)

"""The answer made of what buckets tell: their records' rows in one order, and all that is above the records.

    members of a unit = the regions of all buckets, by bucket and then by their order there

The engine is the embedded one, with members whose items are not evaluated but have come. Sorts, groups, look-ups,
positions, sums and what stands around them follow these as they follow any others, and so does the law.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.model.change import ROW
from xstreamcast.operators.state import State
from xstreamcast.run.continuous.adjust.order import Entry
from xstreamcast.run.continuous.associate.mounts import Member
from xstreamcast.run.continuous.journal import Journal
from xstreamcast.run.continuous.planned import known_structures
from xstreamcast.run.continuous.query import ContinuousQuery
from xstreamcast.spark.motion.brought import TICK, Brought, Row
from xstreamcast.spark.motion.bucket_rows import is_late, is_sum, of_records, units_of, unpacked
from xstreamcast.spark.motion.replica import COUNTED, PROGRESS, Replica, progress_row
from xstreamcast.spark.motion.rows import item_of
from xstreamcast.spark.rest.partials import Partial, add_partial

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xstreamcast.model.atomic import Item
    from xstreamcast.plan.algebra import Plan, Unit
    from xstreamcast.run.continuous.arrive.share import Association
    from xstreamcast.run.continuous.display.emit import Output
    from xstreamcast.run.units import UnitCode

Known = tuple[int, int]
"""The bucket and the number of a region."""


class Remote(Member):
    """A record that is elsewhere: ``given`` is what it gave, what many came to, or the record itself."""

    __slots__ = ("given",)

    def __init__(self, unit: int, bucket: int, region: int, label: str, zero: Any) -> None:
        super().__init__(unit, None, None, 0, 0, None)
        self.entry = Entry(self, zero, ((bucket, label), (bucket, region)))
        self.given: Any = None


class GatheringJournal(Journal):
    """The query over members that have come from buckets."""

    def __init__(self, plan: Plan, *more: Any) -> None:
        units = [unit for one in plan.passes for unit in one.units]
        self._late = frozenset([unit.variable for unit in units if is_late(unit, plan)])
        self._sums = frozenset([unit.variable for unit in units if is_sum(unit, plan)])
        self.remote: dict[Known, tuple[str, Remote]] = {}
        super().__init__(plan, *more)
        self._once = frozenset()  # no trees are kept, nor dropped

    def _bulk(self) -> None:
        """There are no fragments that could stand in runs."""

    def hear(self, stream: str, bucket: int, row: Row) -> None:
        """A region of what a bucket tells has come, is another, or has gone."""
        known, live = (bucket, row["region"]), self.live[stream]
        if row["change"] == "remove":
            _, member = self.remote.pop(known)
            live.dirty.pop(member, None)
            live.gone.append(member)
            member.entry.sequence.remove(member.entry)
            return
        if known not in self.remote:
            number, label = row["order"].split(".", 1)
            _, unit = self.place[units_of(self.plan, stream)[int(number)].variable]
            member = Remote(unit, *known, label, live.route.monoid(unit).zero)
            live.top[unit].insert_sorted(member.entry)
            self.remote[known] = stream, member
        _, member = self.remote[known]
        member.given = unpacked(row["content"])
        live.dirty[member] = None

    def _outcome(self, name: str, member: Member, unit: Unit, code: UnitCode) -> tuple[list[Item], Any]:
        """What a member has given, or the record that it is gives now."""
        assert isinstance(member, Remote)
        if unit.variable in self._sums:
            return [], self._summed(member.given, code)
        return super()._outcome(name, member, unit, code)

    def _summed(self, given: Any, code: UnitCode) -> Any:
        """What a bucket's sum adds: of values, a state that has taken them in."""
        if isinstance(given, XStreamError):
            raise given
        if not isinstance(given, list):
            return given
        state: State = self.evaluation.state(code)
        add_partial(state, Partial(given))
        return state

    def _items(self, name: str, member: Member, unit: Unit, code: UnitCode) -> list[Item]:
        assert isinstance(member, Remote)
        given: list[Any] = member.given
        if isinstance(given[0], XStreamError):
            raise given[0]
        if unit.variable not in self._late:
            return given
        self.evaluation.bind(unit.root, given[0])
        return list(self.evaluation.run(code.program("items")))

    def forget(self) -> None:
        for member in self._ended:
            member.entry.item = None
        self._ended.clear()
        super().forget()


class GatheringQuery(ContinuousQuery):
    """A query whose records are in buckets."""

    def _followed(self, associations: Mapping[str, Association]) -> GatheringJournal:
        return GatheringJournal(of_records(self.plan), self._evaluation(), known_structures(associations))

    def _turn(self, output: Output) -> None:
        """What the streams turn out to be is seen where they are read."""

    def hear(self, bucket: int, row: Row) -> None:
        """What a bucket tells."""
        journal = self._begun().journal
        assert isinstance(journal, GatheringJournal)
        journal.hear(row["stream"], bucket, row)


# -------------------------------------------------------------------------------------------------------------- rows


def told_by(brought: Mapping[int, list[Row]], streams: Mapping[int, str]) -> Iterator[Row]:
    """What buckets have told in a micro-batch as rows of one log: ``tsid`` is the bucket, ``stream`` that of its rows.

    How far a bucket is comes as a tick.
    """
    for bucket, rows in sorted(brought.items()):
        for row in rows:
            if row["change"] == "quarantine":
                yield row
            elif row["change"] == PROGRESS:
                report = json.loads(row["content"])
                yield {
                    **dict.fromkeys(ROW), "stream": "", "seq": report["n"], "change": TICK, "doc": "", "tsid": bucket,
                    "valid_time": report["now"], "order": COUNTED, "content": row["content"],
                }  # fmt: skip
            elif row["order"] is not None:  # an item, not what holds the items together
                yield {**row, "stream": streams[bucket], "tsid": bucket, "target": None}


class Gathering(Replica):
    """The query over what buckets have told, after all that has led to a head."""

    def __init__(self, *given: Any) -> None:
        self.reports: dict[int, dict[str, Any]] = {}
        super().__init__(*given)

    def take(self, brought: Brought) -> None:
        (query,) = self.inflow.queries
        assert isinstance(query, GatheringQuery)
        for row in brought.rows:
            if row["change"] == TICK:
                self.reports[row["tsid"]] = json.loads(row["content"])
                if row["valid_time"] is not None:
                    self.ticked = max(row["valid_time"], self.ticked or row["valid_time"])
            elif row["change"] == "quarantine":
                diagnostic: Any = item_of(row)
                self.put_aside.append((row["stream"], diagnostic))
            else:
                query.hear(row["tsid"], row)
        query._begun()
        self.inflow.feed_all((), self.ticked)

    def live(self, log: Iterable[Row]) -> Brought:
        """The last content of every region that is there, and how far each bucket is."""
        found: dict[Known, Row] = {}
        ticks: dict[int, Row] = {}
        for row in log:
            known = row["tsid"], row["region"]
            if row["change"] == TICK:
                ticks[row["tsid"]] = row
            elif row["change"] == "remove":
                del found[known]
            else:
                found[known] = {**row, "change": "fill"}
        return Brought.of([*found.values(), *ticks.values()])

    def progress(self) -> Row:
        reports = self.reports.values()
        (query,) = self.inflow.queries
        return progress_row(
            {
                "n": self.head.n,
                "now": self.ticked,
                "version": self.head.version,
                "regions": sum(report["regions"] for report in reports),
                "bytes": sum(report["bytes"] for report in reports) + self.head.size,
                "ended": self._ended(),
                "recomputed": [query.recomputed],
                "waiting": [0],  # emission is eager
                "buckets": len(self.reports),
            }
        )

    def _ended(self) -> bool:
        """All buckets of a stream hear of its end: some of each stream must have."""
        (query,) = self.inflow.queries
        ended = {stream for report in self.reports.values() if report["ended"] for stream in report["streams"]}
        return ended >= set(query.streams)

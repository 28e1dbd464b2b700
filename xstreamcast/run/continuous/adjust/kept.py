"""What is kept of holders as they are: their items in document order, or the sums of these.

    value(∪) = items(h1) ++ … ++ items(hn)            value(Δ) = add(s(h1), …, s(hn))

where the engine has no order tree of its own with such sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.plan.algebra import Reduce
from xstreamcast.run.continuous.adjust.derived import Derived, Nobody, Ordered, Part
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.adjust.sums import contribution, monoid_of

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.operators.state import State
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number


class Kept(Ordered):
    """∪: the items of all holders."""

    def __init__(self, engine: Host, where: Number) -> None:
        super().__init__(engine, where)
        self.parts: dict[Holder, Part] = {}

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            part = self.parts.pop(member, None)
            if part is not None:
                self.remove(part)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            if member.outcome:
                part = self.parts[member] = Part(member, 0, member.outcome, member.place(0))
                self.insert(part)


class Added(Derived):
    """Δ of what cannot be taken out of a sum again: the sums are in a tree."""

    def __init__(self, engine: Host, where: Number, reduction: Reduce) -> None:
        super().__init__(engine, where)
        self.reduction = reduction
        self.order: Sequence[Any] = Sequence(monoid_of(reduction), home=Nobody)
        self.entries: dict[Holder, Entry[Any]] = {}
        self.faults: dict[Holder, XStreamError] = {}

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            self.faults.pop(member, None)
            entry = self.entries.pop(member, None)
            if entry is not None:
                self.order.remove(entry)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            try:
                summary = contribution(self.reduction, member.outcome or [], self._fresh)
            except XStreamError as failure:
                self.faults[member] = failure
                continue
            self.entries[member] = self.order.insert_sorted(Entry(member, summary, member.place(0)))

    def _fresh(self) -> State:
        return self.engine.fresh(self.where)

    def value(self) -> list[Item]:
        return self.reduction.aggregate.summaries.value(self.order.total, self._fresh)

    @property
    def failure(self) -> XStreamError | None:
        first = min(self.faults, key=lambda member: member.place(0).order(), default=None)
        return None if first is None else self.faults[first]

"""``E#[first, last]`` over a stream: its versions and events in the order of time, found by number.

    number of a version = its place by (vtFrom, document order), from 1;   last = how many there are

They stand in an order tree, so that a tuple window such as ``#[last-9, last]`` follows a change in O(log n), and costs
what is in the window. What has no lifespan is version 1 of 1, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xstreamcast.model.atomic import Item
from xstreamcast.model.names import ELEMENT
from xstreamcast.model.tree import Node
from xstreamcast.operators.monoid import COUNT
from xstreamcast.run.continuous.adjust.derived import Derived
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.associate.standing import ordered
from xstreamcast.run.temporal import lifespan, project, timed

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Versions
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number


class Numbered(Derived):
    """The items of a unit by their numbers as versions."""

    def __init__(self, engine: Host, where: Number, versions: Versions) -> None:
        super().__init__(engine, where)
        self.versions = versions
        self._timed: Sequence[int] = Sequence(COUNT)
        self._others: Sequence[int] = Sequence(COUNT)
        self._entries: dict[Holder, list[Entry[int]]] = {}

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            for entry in self._entries.pop(member, ()):
                entry.sequence.remove(entry)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            made: list[Entry[int]] = []
            for number, item in enumerate(member.outcome or ()):
                place = member.place(number)
                if isinstance(item, Node) and timed(item):
                    made.append(self._timed.insert_sorted(Entry(item, 1, (lifespan(item).begin, place))))
                else:
                    made.append(self._others.insert_sorted(Entry(item, 1, (0, place))))
            if made:
                self._entries[member] = made

    def value(self) -> list[Item]:
        count = self._timed.total
        first, last = self.versions.numbers(count)
        chosen = [self._at(number) for number in range(max(first, 1), min(last, count) + 1)]
        first, last = self.versions.numbers(1)
        if first <= 1 <= last:
            chosen += ordered([entry.item for entry in self._others])
        return [self._projected(item) for item in chosen]

    def _at(self, number: int) -> Item:
        entry = self._timed.find(lambda count: count >= number)
        assert entry is not None, "there are as many as the count says"
        found: Item = entry.item
        return found

    def _projected(self, item: Item) -> Item:
        """A version shows its subtree as it was then."""
        if not isinstance(item, Node) or item.kind != ELEMENT:
            return item
        engine = self.engine
        code = engine.codes[self.where[0]][self.where[1]]
        found = project(engine.evaluation.context(code.program("items")), item, lifespan(item))
        return item if found is None else found

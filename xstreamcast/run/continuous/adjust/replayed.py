"""``fold-left`` over what changes: the accumulator after each member is kept, and replayed from a change on.

    a(k) = step(… step(a(k−1), first item of member k) …, last item)        value = a(n)

A member that comes or goes makes those behind it look again, until an accumulator is as it was. So what comes at the
end costs one step, and what changes in the middle at most as many as there are members behind it. (A fold that is an
aggregate, ``op`` associative and commutative, is one: :mod:`xstreamcast.plan.decompose.folds`.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Item
from xstreamcast.operators.monoid import COUNT
from xstreamcast.run.continuous.adjust.derived import Derived, Nobody
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.continuous.associate.standing import neighbour
from xstreamcast.run.reductions import Folded

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number


class _Step:
    """A member, and the accumulator after it, or the error that it is."""

    __slots__ = ("after", "entry", "items")

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.after: list[Item] | XStreamError | None = None
        self.entry: Entry[int]


class Replayed(Derived):
    """A fold from the left that is no aggregate."""

    def __init__(self, engine: Host, where: Number) -> None:
        super().__init__(engine, where)
        self.order: Sequence[int] = Sequence(COUNT, home=Nobody)
        self.steps: dict[Holder, _Step] = {}
        self._from: dict[_Step, None] = {}
        """Those whose accumulator may be another."""
        self._state: Folded | XStreamError = self._fresh()
        self.replayed = 0
        """How many members were gone through again."""

    def take(self, members: Iterable[Holder]) -> None:
        for member in members:
            step = self.steps.pop(member, None)
            if step is not None:
                following = neighbour(step.entry, 1)
                if following is not None:
                    self._from[following.item] = None
                self._from.pop(step, None)
                self.order.remove(step.entry)

    def put(self, members: Iterable[Holder]) -> None:
        for member in members:
            if member.outcome:
                step = self.steps[member] = _Step(member.outcome)
                step.entry = self.order.insert_sorted(Entry(step, 1, member.place(0)))
                self._from[step] = None

    def follow(self) -> None:
        super().follow()
        self._state = self._fresh()
        starts = sorted(self._from, key=lambda step: step.entry.key)
        self._from.clear()
        reached: Any = None
        for start in starts:
            if reached is not None and not reached < start.entry.key:
                continue  # gone through already
            entry: Entry[int] | None = start.entry
            before = neighbour(start.entry, -1)
            accumulator = self._zero if before is None else before.item.after
            while entry is not None:
                step: _Step = entry.item
                found = self._stepped(accumulator, step.items)
                self.replayed += 1
                reached = entry.key
                if step.after is not None and found == step.after:
                    break
                step.after = accumulator = found
                entry = neighbour(entry, 1)

    def _fresh(self) -> Folded | XStreamError:
        try:
            state = self.engine.fresh(self.where)
        except XStreamError as failure:
            return failure
        assert isinstance(state, Folded)
        return state

    @property
    def _zero(self) -> list[Item] | XStreamError:
        made = self._fresh()
        return made if isinstance(made, XStreamError) else made.value()

    def _stepped(self, accumulator: list[Item] | XStreamError, items: list[Item]) -> list[Item] | XStreamError:
        state = self._state
        if isinstance(accumulator, XStreamError):
            return accumulator
        if isinstance(state, XStreamError):
            return state
        try:
            state.accumulator = accumulator
            state.add(items)
            return state.value()
        except XStreamError as failure:
            return failure

    def _last(self) -> list[Item] | XStreamError:
        block = self.order.root
        while not block.leaf:
            block = block.children[-1]
        if not block.children:
            return self._zero
        found: list[Item] | XStreamError = block.children[-1].item.after
        return found

    def value(self) -> list[Item]:
        found = self._last()
        assert not isinstance(found, XStreamError), "whoever reads it meets it"
        return found

    @property
    def failure(self) -> XStreamError | None:
        found = self._last()
        return found if isinstance(found, XStreamError) else None

"""What emission must know of a change besides the answer: who looked again, who left, appeared, vanished or moved.

    shown after = shown before − left − vanished + appeared, in order

Everything else of an answer stays as it stands, and is not visited: a change of the answer costs what is different.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from xstreamcast.plan.algebra import Unit
from xstreamcast.run.continuous.adjust.derived import Ordered, Part
from xstreamcast.run.continuous.adjust.sums import every as every
from xstreamcast.run.continuous.adjust.sums import members
from xstreamcast.run.continuous.associate.mounts import Member, side_by_side
from xstreamcast.run.continuous.associate.noted import Noted as Noted
from xstreamcast.run.continuous.engine import Continuous
from xstreamcast.run.continuous.related import Number

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.model.datetime import DateTime
    from xstreamcast.model.time import Instant
    from xstreamcast.run.continuous.display.members import Members
    from xstreamcast.run.continuous.display.shelf import Numbers
    from xstreamcast.run.evaluate import Executable


class Journal(Continuous):
    """A query that goes on, and what happened to its members since :meth:`forget`.

    ``looked``: the members of whole documents that were evaluated; ``left``: those that are no longer in T; ``bound``:
    the units whose value was computed; ``redone``: whether a document was read as a whole.
    """

    def __init__(self, *args: Any, **given: Any) -> None:
        self.looked: dict[Member, str] = {}
        self.left: dict[Member, str] = {}
        self.bound: set[Number] = set()
        self.redone = True
        self._ended: list[Member] = []
        super().__init__(*args, **given)

    def settle(self) -> None:
        """Evaluate what the changes that its documents have followed make necessary."""
        self._settle()

    @property
    def waiting(self) -> int:
        """How many open holes are looked into. An eager query does not ask: to it they are empty."""
        return 0

    def close(self, stream: str) -> None:
        """A stream is at its end: who waits for its holes waits no more."""

    def pass_by(self, watermark: Instant) -> None:
        """Nothing that begins before the watermark comes any more."""

    def tick(self, now: DateTime) -> bool:
        self.redone |= super().tick(now)
        return self.redone

    def _settle(self) -> None:
        for name, live in self.live.items():
            self._ended += live.gone
            for member in live.gone:
                self.looked.pop(member, None)
                if member.unit in live.top:
                    self.left[member] = name
            self.redone |= live.whole in live.dirty
            if live.route.undeclared:
                live.tell_undeclared()
        super()._settle()

    def _evaluate(self, name: str, member: Member) -> None:
        super()._evaluate(name, member)
        if member.unit in self.live[name].top:
            self.looked[member] = name

    def _bind(self, where: Number, sequence: Any) -> None:
        super()._bind(where, sequence)
        self.bound.add(where)

    def forget(self) -> None:
        """All that was noted has been dealt with."""
        self.looked.clear()
        self.left.clear()
        self.bound.clear()
        self.redone = False
        for live in self.live.values():
            live.turned.clear()
        for derived in self.derived.values():
            if isinstance(derived, Ordered):
                for part in derived.removed:
                    if part.entry.block is None:
                        part.entry.item = None
                derived.forget()
        # What has left refers to itself in circles: taken apart, it needs no collector, whose turns are felt.
        for member in self._ended:
            member.entry.item = None
            member.mount.members, member.mount.entries = [], []
        self._ended.clear()

    def let_go(self, member: Member) -> None:
        """Nothing of a member can change any more, and it has been told."""
        self.frames.pop(member, None)

    def shelf(self, path: str, numbers: Numbers, where: Number) -> Members:
        """The rows of a unit as regions of the answer."""
        from xstreamcast.run.continuous.display.members import Members

        return Members(path, numbers, self, where)

    def count(self, where: Number) -> int:
        """How many items a unit has."""
        return self.sequence(where).total

    def part(self, part: Unit | Executable, reads: Iterable[Number]) -> list[Item]:
        """The items of a part of the output; ``reads``: the units that it looks at."""
        for where in reads:
            self._refresh(where)
        self._bind_documents()
        return self._part(part)

    def departed(self, where: Number) -> Iterator[Member | Part]:
        """The members of a unit that are there no more, or what an operator has shown of it."""
        derived = self.derived.get(where)
        if isinstance(derived, Ordered):
            yield from derived.removed
            return
        for member, name in self.left.items():
            if (name, member.unit) == where:
                yield member

    def touched(self, where: Number) -> Iterator[Member | Part]:
        """The members of a unit that may be shown otherwise than before, each once or more; none that have left.

        Of one with an order of its own, what is new in that.
        """
        name, unit = where
        derived = self.derived.get(where)
        if isinstance(derived, Ordered):
            yield from derived.changed
            return
        self._open_runs(where)
        for member, stream in self.looked.items():
            if member.unit == unit and stream == name:
                yield member
        for occurrence in self.live[name].turned:
            for place in side_by_side(occurrence):
                content = place.content.get(unit)
                if content is not None:
                    yield from members(content)

    def _open_runs(self, where: Number) -> None:
        """What is to be told of runs, and cannot be told of a fragment as it is, is told by member."""
        name, unit = where
        live = self.live[name]
        while (opened := live.runs.to_open(unit)) is not None:
            self.looked.update(dict.fromkeys(opened, name))
            if live.dirty or live.runs.due:
                self._settle()  # those of which more than their items must be known
        for occurrence in live.turned if live.runs.standing else ():
            for place in side_by_side(occurrence):
                if unit in place.content:
                    deque(members(place.content[unit]), 0)
        if live.dirty:
            self._settle()  # those of which more than their items must be known

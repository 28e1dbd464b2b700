"""Choices by number among the children of each element: ``//b[2]``, ``//b[p][last()]``, ``//b[position() > 1]``.

The children that count stand in one order tree for each parent; those of some numbers are found through the counts.
Who is chosen and was not, or is no longer, looks again: O(log n) for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.run.continuous.adjust.sums import every, member_at
from xstreamcast.run.continuous.associate.mounts import Home

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Choice
    from xstreamcast.run.continuous.adjust.order import Sequence
    from xstreamcast.run.continuous.associate.mounting import Mounting
    from xstreamcast.run.continuous.associate.mounts import Member
    from xstreamcast.run.continuous.associate.route import Route


class Siblings(Home):
    """Whose the children of an element are; of the document, where there is none. ``marked``: those that are chosen.

    Where a choice has no end, those are marked that are not chosen: they are few. ``open``: whether the element is one
    of whose children some are chosen; None if that is not known yet.
    """

    __slots__ = ("_inverse", "_window", "marked", "open")

    def __init__(self, live: Mounting, unit: int, member: Member | None, choice: Choice) -> None:
        super().__init__(live, unit, member)
        self._inverse = choice.last is None
        first, last = (1, choice.first - 1) if choice.last is None else (choice.first, choice.last)
        self._window = first, last, choice.from_end
        self.marked: dict[Member, None] = {}
        self.open: bool | None = True if choice.parent is None else None
        self.moved()

    def choose(self, sequence: Sequence[Any]) -> None:
        """The children are others, or have other numbers."""
        first, last, from_end = self._window
        count = sequence.total
        if from_end:
            first, last = count - last + 1, count - first + 1
        numbers = range(max(first, 1), min(last, count) + 1)
        marked = dict.fromkeys([member_at(sequence, number)[0] for number in numbers])
        before, self.marked = self.marked, marked
        look_again(self.live, [member for member in before if member not in marked])
        look_again(self.live, [member for member in marked if member not in before])

    def chooses(self, member: Member) -> bool:
        """Whether one of those that count is chosen."""
        return bool(self.open) and (member in self.marked) != self._inverse

    def turn(self, sequence: Sequence[Any], open: bool) -> None:
        """It has become one of whose children some are chosen, or is no longer."""
        if self.open is not open:
            self.open = open
            look_again(self.live, list(every(sequence)))


def look_again(live: Mounting, counted: list[Member]) -> None:
    """The instances that are counted so must look whether they are chosen."""
    for member in counted:
        if member.twin is not None and member.twin.entry.block is not None:
            live.dirty[member.twin] = None


def home_of(live: Mounting, unit: int, member: Member | None) -> Home:
    """Whose a sequence of a frame, or of the document, is."""
    choice = live.route.counted.get(unit)
    return Home(live, unit, member) if choice is None else Siblings(live, unit, member, choice)


def pair_up(members: list[Member], row: int, route: Route) -> None:
    """Tell instances that have just been found, and what is counted for them, of each other."""
    here: dict[int, Member] = {}
    for member in reversed(members):
        if member.row != row:
            break
        here[member.unit] = member
    for unit in here.keys() & route.counted.keys():
        around = here.get(route.within[unit])
        if around is not None:
            here[unit].twin, around.twin = around, here[unit]


def is_chosen(instance: Member) -> bool:
    """Whether an instance is, by its number among those beside it."""
    counted = instance.twin
    if counted is None or not counted.entry.summary:
        return False
    home = counted.entry.sequence.outermost.home
    assert isinstance(home, Siblings)
    return home.chooses(counted)

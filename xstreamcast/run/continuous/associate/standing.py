"""Where something stands in a document that changes: places that compare as the document is now.

The place of a member is told by the order trees it is in, from the outermost down; nothing is numbered, so that nothing
is renumbered when something comes before it. To compare two costs O(depth · log n).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xstreamcast.model.atomic import Item
from xstreamcast.model.tree import Node, Tree
from xstreamcast.run.continuous.adjust.order import Entry, Sequence

if TYPE_CHECKING:
    from xstreamcast.run.continuous.adjust.derived import Part
    from xstreamcast.run.continuous.associate.mounts import Member
    from xstreamcast.run.continuous.associate.runs import Run


def path_of(entry: Entry[Any]) -> list[int]:
    """The numbers of the children that lead to an entry, in the sequences around it and in its own."""
    path: list[int] = []
    while True:
        child: Any = entry
        block = entry.block
        assert block is not None, "what is not in the document has no place in it"
        while block is not None:
            path.append(block.children.index(child))
            child, block = block, block.parent
        place = child.owner.place
        if place is None:
            path.reverse()
            return path
        entry = place


class Place:
    """The place of a row: the entry of the member that gave it, and its number among the member's rows."""

    __slots__ = ("entry", "number")

    def __init__(self, entry: Entry[Any], number: Any) -> None:
        self.entry = entry
        self.number = number

    def __lt__(self, other: Place) -> bool:
        if self.entry is other.entry:
            return bool(self.number < other.number)
        return path_of(self.entry) < path_of(other.entry)

    def order(self) -> tuple[list[int], Any]:
        """What orders it among others, as long as nothing moves."""
        return path_of(self.entry), self.number

    def within(self, number: int) -> Place:
        """The place of a part of the row."""
        return Place(self.entry, (self.number, number))


def neighbour(entry: Entry[Any], step: int) -> Entry[Any] | None:
    """The entry just behind another in its sequence (``step`` 1), or just before it (−1)."""
    child: Any = entry
    block = entry.block
    while block is not None:
        at = block.children.index(child) + step
        if 0 <= at < len(block.children):
            found: Any = block.children[at]
            while not isinstance(found, Entry):
                found = found.children[0 if step > 0 else -1]
            return found
        child, block = block, block.parent
    return None


def is_within(entry: Entry[Any], around: Sequence[Any]) -> bool:
    """Whether an entry is, in the end, in a sequence, and nothing from there down to it is hidden."""
    while entry.block is not None and not entry.hidden:
        sequence = entry.sequence
        if sequence is around:
            return True
        if sequence.place is None:
            return False
        entry = sequence.place
    return False


def ordered(items: list[Item]) -> list[Item]:
    """The items as they are, their trees in the order in which they come: nodes of different members compare so."""
    for tree in _trees(items):
        tree.come_last()
    return items


def _trees(items: Iterable[Item]) -> list[Tree]:
    found: dict[int, Tree] = {}
    for item in items:
        if isinstance(item, Node):
            found.setdefault(id(item[0]), item[0])
    return list(found.values()) if len(found) > 1 else []


def is_seen(member: Member | Part | Run) -> bool:
    """Whether nothing around a member is hidden."""
    entry = member.entry
    while not entry.hidden:
        sequence = entry.sequence
        if sequence.place is None:
            around = sequence.home.member
            if around is None:
                return True
            entry = around.entry
        else:
            entry = sequence.place
    return False

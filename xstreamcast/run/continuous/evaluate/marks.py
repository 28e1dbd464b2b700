"""Open holes as an evaluation sees them: marks beside a tree, which no axis reaches and nothing writes.

The function ``open`` of :mod:`xstreamcast.plan.modes.ways` looks at them: is there one on a way from some nodes, of a
tag from which the tag structure says that the rest of the way can be gone?
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from xstreamcast.functions.registry import FunctionEntry, parse_parameters, parse_type
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, name_kind, name_local, name_uri
from xstreamcast.model.time import START
from xstreamcast.model.tree import Node, Tree
from xstreamcast.plan.modes.ways import MODES, OPEN, Way, parse_way
from xstreamcast.run.continuous.associate.reach import name_of
from xstreamcast.run.temporal import VT_TO, instant_of, lifespan, timed
from xstreamcast.scan.path import NODE, NodeTest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from xstreamcast.cast.regions import Region
    from xstreamcast.functions.context import DynamicContext
    from xstreamcast.model.structure import Structure, Tag
    from xstreamcast.model.time import Instant, Interval
    from xstreamcast.run.continuous.time.horizon import Horizon

Said = TypeVar("Said")
States = frozenset[int]
"""Where on a way an element stands: the numbers of the steps that may be taken from it; at the end, all of them."""


class Watermark:
    """Nothing that begins before ``at`` comes any more."""

    __slots__ = ("at",)

    def __init__(self) -> None:
        self.at: Instant = START


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """What kind of hole is open: the tag that its fillers have, and the structure it is of; None, if nobody knows."""

    tag: int | None = None
    structure: Structure | None = None
    clock: Watermark | None = None

    @property
    def timed(self) -> bool:
        """Whether what fills it has times."""
        return self.tag is not None and self.structure is not None and self.structure.tags[self.tag].timed


class Rows(Generic[Said]):
    """What is said of some rows of a tree; those of a subtree are found without looking at the others."""

    __slots__ = ("_order", "said")

    def __init__(self) -> None:
        self.said: dict[int, Said] = {}
        self._order: list[int] = []

    def within(self, top: int, end: int) -> Iterator[tuple[int, Said]]:
        """Those from a row to another one."""
        if len(self._order) != len(self.said):
            self._order = sorted(self.said)
        for at in range(bisect_left(self._order, top), bisect_right(self._order, end)):
            row = self._order[at]
            yield row, self.said[row]


@dataclass(slots=True)
class Marks:
    """Of one tree: the open holes by the row of the element they are in, and the elements whose life may end yet."""

    holes: Rows[list[Mark]] = field(default_factory=Rows)
    living: Rows[None] = field(default_factory=Rows)


_MARKS: Final[WeakKeyDictionary[Tree, Marks]] = WeakKeyDictionary()


def takes_more(region: Region | None, tag: Tag | None) -> bool:
    """Whether a hole may take a filler that it does not have yet; ``tag``: what it is to hold, if that is known.

    One without times until it is filled, be it with nothing; one for versions or events until it is frozen.
    """
    if region is None:
        return True
    return not region.frozen and (not region.filled or (tag is not None and tag.timed))


def mark_hole(tree: Tree, row: int, mark: Mark) -> None:
    """There is an open hole in an element (row 0: in the document)."""
    _MARKS.setdefault(tree, Marks()).holes.said.setdefault(row, []).append(mark)


def mark_living(tree: Tree, row: int) -> None:
    """The end of an element's life may become another."""
    _MARKS.setdefault(tree, Marks()).living.said[row] = None


def move_marks(tree: Tree, made: Tree, begin: int, end: int, by: int) -> None:
    """Some rows of a tree are rows of another one, so many further on: they are marked there, too."""
    marks = _MARKS.get(tree)
    if marks is None:
        return
    for row, holes in marks.holes.within(begin, end - 1):
        for mark in holes:
            mark_hole(made, row + by, mark)
    for row, _ in marks.living.within(begin, end - 1):
        mark_living(made, row + by)


# ------------------------------------------------------------------------------------------------------ walking ways


def begun(way: Way, name: int) -> States:
    """Where a way begins, at a node of a name."""
    return _settled(way, {0}, name)


def entered(way: Way, states: States, name: int) -> States:
    """… and goes on, in a child of a name."""
    found: set[int] = set()
    last = len(way.steps)
    for state in states:
        if state == last:
            if way.within:
                found.add(last)  # what is in a node at the end belongs to it
            continue
        step = way.steps[state]
        if state >= way.walked or step.axis in ("self", "attribute"):
            continue
        if _passes(step.test, name):
            found.add(state + 1)
        if step.axis != "child":
            found.add(state)
    return _settled(way, found, name)


def _settled(way: Way, states: set[int], name: int) -> States:
    """With the steps that stay where they are."""
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        if state < way.walked:
            step = way.steps[state]
            stays = step.axis in ("self", "descendant-or-self") and _passes(step.test, name)
            if stays and state + 1 not in states:
                states.add(state + 1)
                waiting.append(state + 1)
    return frozenset(states)


def _passes(test: NodeTest, name: int) -> bool:
    if name_kind[name] == ELEMENT:
        return test.matches(ELEMENT, name_uri[name], name_local[name])
    return test.kind == NODE  # a document node


@lru_cache(maxsize=4096)
def matters(way: Way, states: States, mark: Mark) -> bool:
    """Whether an open hole in an element with these states is on the way."""
    last = len(way.steps)
    if last in states and way.within:
        return True
    ahead = frozenset(
        [state for state in states if state < way.walked and way.steps[state].axis not in ("self", "attribute")]
    )
    if mark.tag is None or mark.structure is None or not ahead:
        return bool(ahead)
    if any(_without_element(way, state) for state in ahead):
        return True  # a filler may be text besides its element, or instead
    through = Way(way.steps, last)  # what is in the hole may be anything that the structure admits
    seen: set[tuple[int, States]] = set()
    waiting = [(mark.tag, ahead)]
    while waiting:
        tag, before = waiting.pop()
        if (tag, before) not in seen:
            seen.add((tag, before))
            found = entered(through, before, name_of(mark.structure.tags[tag].name))
            if last in found or any(_without_element(way, state) for state in found):
                return True
            if found:
                waiting += [(child, found) for child in mark.structure.tags[tag].children]
    return False


def _without_element(way: Way, state: int) -> bool:
    """Whether a step leads to what may be in any element, or beside it: attributes, texts, comments."""
    step = way.steps[state]
    if step.axis == "self":
        return False
    if step.test.kind == NODE:  # of ``//``, which leads on to something else, only at the end
        return step.axis != "descendant-or-self" or state + 1 == len(way.steps)
    return step.axis == "attribute" or step.test.kind != ELEMENT


def is_open(way: Way, states: States, mark: Mark) -> bool:
    """… and has not been closed by the watermark: it has passed the end of the window that is looked at."""
    if not matters(way, states, mark):
        return False
    if way.until is None or mark.clock is None or mark.clock.at <= way.until or not mark.timed:
        return True
    return any(state < len(way.steps) - 1 for state in states)


def ends(way: Way, states: States) -> bool:
    """Whether the end of the life of an element with these states is looked at; in a window it is cut off."""
    if len(way.steps) in states:
        return way.within == "copy" and way.until is None
    ahead = [way.steps[state] for state in states if state < way.walked and way.within]
    named = name_uri[VT_TO], name_local[VT_TO]
    return any(step.axis == "attribute" and step.test.matches(ATTRIBUTE, *named) for step in ahead)


def in_window(way: Way, states: States, span: Interval, now: Instant, horizon: Horizon | None = None) -> States:
    """Where an element with a lifespan stands: nowhere at the end of a way, if it has ended before the window there."""
    last = len(way.steps)
    if last in states and way.windowed:
        passes = way.passes(span.end, span.end_closed)
        if passes <= now:
            return states - {last}
        if horizon is not None:
            horizon.reaches(passes)
    return states


def on_the_way(node: Node, way: Way, now: Instant, horizon: Horizon | None = None) -> bool:
    """Whether there is an open hole on a way from a node; the horizon hears when that may be otherwise."""
    tree, top = node[0], node[1]
    marks = _MARKS.get(tree)
    if marks is None:
        return False
    if tree.kind[top] == ATTRIBUTE:
        return bool(way.within) and tree.name[top] == VT_TO and top - tree.up[top] in marks.living.said
    end = top + tree.size[top]

    def lived(row: int, found: States) -> States:
        element = Node((tree, row))
        return in_window(way, found, lifespan(element), now, horizon) if way.windowed and timed(element) else found

    known: dict[int, States] = {top: lived(top, begun(way, tree.name[top]))}

    def states(row: int) -> States:
        chain = []
        while row not in known:
            chain.append(row)
            row -= tree.up[row]
        found = known[row]
        for below in reversed(chain):
            found = known[below] = lived(below, entered(way, found, tree.name[below]))
        return found

    return any(
        any(is_open(way, states(row), mark) for mark in dict.fromkeys(holes))
        for row, holes in marks.holes.within(top, end)
    ) or any(ends(way, states(row)) for row, _ in marks.living.within(top, end))


def open_holes(context: DynamicContext, items: Iterable[Item], spelled: str) -> bool:
    """The function itself. What is no node of such a tree has no holes."""
    way, now = parse_way(spelled), instant_of(context.moment)
    return any(isinstance(item, Node) and on_the_way(item, way, now, context.horizon) for item in items)


def register() -> None:
    """Let programs find the function; a query cannot spell its name."""
    from xstreamcast.functions import registry

    name = QName(MODES, OPEN, "")
    entry = FunctionEntry(name, parse_parameters("item()*, xs:string"), parse_type("xs:boolean"), open_holes, True)
    registry._entries[MODES, OPEN, entry.arity] = entry

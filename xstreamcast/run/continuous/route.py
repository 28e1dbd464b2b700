"""The static side of a live document: the plan's units as states of one path automaton.

A state says, for a place in the document whatever fragment it is in: which records begin there, which units may have
members below, and what is read of it. So each fragment is walked on its own, in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xstreamcast.model.names import ATTRIBUTE, ELEMENT, name_local, name_uri
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.layout import COMMENT_CLASS, TEXT_CLASS
from xstreamcast.scan.path import NodeTest, Path, Step

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Unit
    from xstreamcast.run.continuous.order import Monoid


@dataclass(frozen=True, slots=True)
class Role:
    """``begins``: the units whose records begin at nodes of a state; ``below``: those whose records may be below.

    ``reads``: the units whose evaluation looks at such a node or below it; ``whole``: at all of the subtree.
    """

    begins: tuple[int, ...]
    below: frozenset[int]
    reads: frozenset[int]
    whole: frozenset[int]


class Route:
    """Units by number, those inside a nest after it; ``targets`` tells what a unit reads of the document.

    Of a unit that ``nests`` (whose nest is used) that is what its body reads; what the units inside read is theirs.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        targets: Callable[[Unit, Path], Sequence[Target]],
        monoid: Callable[[Unit], Monoid[Any]],
        nests: Callable[[Unit], bool],
        whole: Sequence[Target] = (),
    ) -> None:
        self._nests = nests
        self.units: list[Unit] = []
        self._inside: list[tuple[int, ...]] = []
        self._roots: list[Path] = []
        self.outermost = tuple(self._add(unit, Path()) for unit in units)
        self._monoids = [monoid(unit) for unit in self.units]
        wanted: list[Target] = []
        self._of: list[int] = []
        for number, unit in enumerate(self.units):
            seen = targets(unit, self._roots[number])
            own = [*(Target(path, Action.RECORD) for path in self._records(number, unit, seen)), *seen]
            wanted += own
            self._of += [number] * len(own)
        self.document = len(self.units)
        """The number that stands for a reader of the document as a whole, of which ``whole`` is read."""
        self._automaton = Automaton([*wanted, *whole])
        self._of += [self.document] * len(whole)
        self._roles: dict[int, Role] = {}
        self._element_class: dict[int, int] = {}
        self._attribute_class: dict[int, int] = {}

    def _add(self, unit: Unit, root: Path) -> int:
        number = len(self.units)
        self.units.append(unit)
        self._roots.append(root)
        self._inside.append(())
        if unit.nest is not None and self._nests(unit):
            self._inside[number] = tuple([self._add(inner, unit.nest.path) for inner in unit.nest.units])
        return number

    def _records(self, number: int, unit: Unit, seen: Sequence[Target]) -> list[Path]:
        """Where the members of a unit are: elements, for these are what content consists of.

        A unit without records looks at single nodes with their ancestors: those it sees.
        """
        if unit.nest is not None and self._inside[number]:
            return [unit.nest.path]
        found = [_element(path) for path in unit.records or [target.path for target in seen]]
        return [path for path in dict.fromkeys(found) if not any(_leads(other, path) for other in found)]

    def inside(self, unit: int) -> tuple[int, ...]:
        """The units of a unit's nest."""
        return self._inside[unit]

    def monoid(self, unit: int) -> Monoid[Any]:
        """What sums of a unit's members are made of."""
        return self._monoids[unit]

    def role(self, state: int) -> Role:
        """What nodes of a state mean."""
        known = self._roles.get(state)
        if known is None:
            begins: set[int] = set()
            below: set[int] = set()
            reads: set[int] = set()
            whole: set[int] = set()
            for number, position in self._automaton.states[state]:
                target, unit = self._automaton.targets[number], self._of[number]
                at_end = position == len(target.path.steps)
                if target.action == Action.RECORD:
                    (begins if at_end else below).add(unit)
                else:
                    reads.add(unit)
                    if position < 0 or (at_end and target.action == Action.PROJECT):
                        whole.add(unit)
            known = Role(tuple(sorted(begins)), frozenset(below), frozenset(reads), frozenset(whole))
            self._roles[state] = known
        return known

    def element(self, state: int, name: int) -> int:
        """The state of an element of a name below a state; DEAD if nobody looks at it."""
        number = self._element_class.get(name)
        if number is None:
            number = self._automaton.classify(ELEMENT, name_uri[name], name_local[name])
            self._element_class[name] = number
        return self._to(state, number)

    def attribute(self, state: int, name: int) -> int:
        """The state of an attribute."""
        number = self._attribute_class.get(name)
        if number is None:
            number = self._automaton.classify(ATTRIBUTE, name_uri[name], name_local[name])
            self._attribute_class[name] = number
        return self._to(state, number)

    def text(self, state: int) -> int:
        """The state of a text below a state."""
        return self._to(state, TEXT_CLASS)

    def comment(self, state: int) -> int:
        """The state of a comment below a state."""
        return self._to(state, COMMENT_CLASS)

    def _to(self, state: int, number: int) -> int:
        automaton = self._automaton
        to = int(automaton.transitions[state * automaton.stride + number])
        return to if to >= 0 else automaton.expand(state, number)


def _element(path: Path) -> Path:
    """The path of elements that have the nodes of a path within, or are these.

    Of texts it is an element around: texts of adjacent regions are one.
    """
    steps = path.steps
    while steps and steps[-1].test.kind != ELEMENT:
        steps = steps[:-1]
    return Path(steps or (Step(NodeTest(ELEMENT)),))


def _leads(above: Path, path: Path) -> bool:
    """Whether a path goes on where another ends."""
    return len(above.steps) < len(path.steps) and path.steps[: len(above.steps)] == above.steps

"""Sets of paths as one deterministic automaton over an input's names, made as far as the input needs it.

A *position* ``(t, j)`` says that the first ``j`` steps of target ``t`` lead to a node; a state is the set of positions
of a node (XFlux's and VLDB'05's common prefixes are shared for nothing: they are the same positions). Names that pass
the same tests are one *class*, so the table of transitions is small whatever a document is made of. State 0 is the
empty set: nobody looks below. State 1 is the document node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final

from xstreamcast.dataclass import dataclass
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, NAMESPACE, PI, TEXT
from xstreamcast.scan.layout import (
    BEGINS_RECORD,
    COMMENT_CLASS,
    DECLARATION_CLASS,
    EMITS,
    GROWS_TREE,
    PASSING,
    SEES_ATTRIBUTES,
    SEES_ELEMENTS,
    SEES_MISC,
    SEES_TEXTS,
    TEXT_CLASS,
)
from xstreamcast.scan.path import NODE, NodeTest, Path, Step
from xstreamcast.scan.tables import Tables

_WAITING: Final = 1 << 16  # added to a position that a node has from above: a descendant step still looks for its node
_BELOW: Final = -1  # within a subtree that is wanted whole
_DECLARATION: Final = -2  # a namespace declaration within such a subtree
_SPECIAL: Final = {TEXT_CLASS: TEXT, COMMENT_CLASS: COMMENT, DECLARATION_CLASS: NAMESPACE}


class Action(IntEnum):
    """What becomes of the nodes a path leads to."""

    COUNT = 0
    """They are counted, and nothing else."""
    CAPTURE = 1
    """One row each: where the node and its value stand."""
    RECORD = 2
    """As CAPTURE; and what is captured within is handed over with it."""
    PROJECT = 3
    """Rows of the tree columns: the elements on the path, and the whole subtree at its end.

    Where the path has ``//`` all elements between are kept (without texts), so that whose child is whose stays true;
    those with nothing kept below are not.
    """
    KEEP = 4
    """As PROJECT, without what is below the end."""


@dataclass(frozen=True, slots=True)
class Target:
    """A path and what to do at its end."""

    path: Path
    action: Action = Action.COUNT
    sparse: bool = False
    """A record of no use unless something below it is kept: with nothing there, neither it nor its row stays."""


Position = tuple[int, int]


class Automaton(Tables):
    """The automaton of some targets, and its tables for the kernel."""

    def __init__(self, targets: Sequence[Target]) -> None:
        super().__init__()
        self.targets = tuple(targets)
        self._sparse = [target.path.steps for target in self.targets if target.sparse]
        self._tests: list[NodeTest] = []
        for target in self.targets:
            for step in target.path.steps:
                if step.test not in self._tests:
                    self._tests.append(step.test)
        # A class: a kind, and the tests its nodes pass.
        self.classes: list[tuple[int, frozenset[NodeTest]]] = []
        self._class_of: dict[tuple[int, frozenset[NodeTest]], int] = {}
        for kind in _SPECIAL.values():
            self.numbered(kind, "", "")
        self.states: list[frozenset[Position]] = []
        self._state_of: dict[frozenset[Position], int] = {}
        self.state_of(frozenset())
        self.state_of(frozenset((t, 0) for t in range(len(self.targets))))

    def numbered(self, kind: int, uri: str, local: str) -> int:
        """The class of a name, or the number of a new one."""
        key = kind, frozenset(test for test in self._tests if test.matches(kind, uri, local))
        number = self._class_of.get(key)
        if number is None:
            number = self._class_of[key] = len(self.classes)
            self.classes.append(key)
        return number

    # ---------------------------------------------------------------------------------------------- states

    def state_of(self, positions: frozenset[Position]) -> int:
        """The state of a set of positions."""
        number = self._state_of.get(positions)
        if number is not None:
            return number
        number = self._state_of[positions] = len(self.states)
        self.states.append(positions)
        self.add_state(number, self._flags(positions))
        return number

    def expand(self, state: int, number: int) -> int:
        """The state a node of a class has below a node of a state."""
        kind, passed = self.classes[number]
        reached: set[Position] = set()
        for t, position in self.states[state]:
            target = self.targets[t]
            j = position % _WAITING if position >= 0 else position
            if j == _DECLARATION:
                continue
            if j == _BELOW or (j == len(target.path.steps) and target.action == Action.PROJECT):
                reached.add((t, _DECLARATION if kind == NAMESPACE else _BELOW))
            elif kind == NAMESPACE:
                if self._grows(t, j):
                    reached.add((t, _DECLARATION))
            elif j < len(target.path.steps):
                step = target.path.steps[j]
                if step.test in passed:
                    reached.add((t, j + 1))
                if step.deep and kind == ELEMENT:
                    reached.add((t, j + _WAITING))
        to = self.state_of(frozenset(reached))
        self.transitions[state * self.stride + number] = to
        return to

    def _grows(self, t: int, j: int) -> bool:
        return self.targets[t].action in (Action.PROJECT, Action.KEEP) and j != _DECLARATION

    def _passes(self, t: int, position: int) -> bool:
        """Whether a position grows the tree only for what may be below its node."""
        steps = self.targets[t].path.steps
        return position >= _WAITING or any(position == len(top) and steps[:position] == top for top in self._sparse)

    def _flags(self, positions: Iterable[Position]) -> int:
        flags = 0
        passing = True
        for t, position in positions:
            target = self.targets[t]
            steps = target.path.steps
            j = position % _WAITING if position >= 0 else position
            if j == _DECLARATION:
                flags |= EMITS
                passing = False
                continue
            if self._grows(t, j):
                flags |= GROWS_TREE | SEES_ATTRIBUTES  # for the declarations, at least
                ends = position == len(steps)
                passing = passing and not ends and self._passes(t, position)
                if position == 0:  # the document node has a row of its own, and stays whatever is below
                    flags |= EMITS
                    passing = False
            if j == _BELOW or (j == len(steps) and target.action == Action.PROJECT):
                flags |= SEES_ELEMENTS | SEES_ATTRIBUTES | SEES_TEXTS | SEES_MISC
            elif j == len(steps):
                if target.action in (Action.CAPTURE, Action.RECORD):
                    flags |= EMITS
                    passing = passing and target.sparse
                if target.action == Action.RECORD:
                    flags |= BEGINS_RECORD
            else:
                step = steps[j]
                flags |= _SEES[step.test.kind] | (SEES_ELEMENTS if step.deep else 0)
        return flags | PASSING if passing and flags & GROWS_TREE else flags

    # ---------------------------------------------------------------------------------------------- answers

    def accepting(self, target: int) -> list[int]:
        """The states whose nodes a target's path leads to."""
        end = (target, len(self.targets[target].path.steps))
        return [number for number, positions in enumerate(self.states) if end in positions]

    def count(self, target: int) -> int:
        """How many nodes a target's path led to."""
        return int(self.visits[self.accepting(target)].sum())

    def ahead(self, target: int, position: int) -> Step | None:
        """The step that a position still has to take; None at the end of the path, and within what is wanted whole."""
        steps = self.targets[target].path.steps
        place = position % _WAITING if position >= 0 else len(steps)
        return steps[place] if place < len(steps) else None

    def beyond(self, state: int, prefixes: Iterable[tuple[int, int]]) -> bool:
        """Whether a state's nodes may be below a node that the first so many steps of one of some targets lead to."""
        lengths = dict(prefixes)
        return any(
            t in lengths and (j < 0 or j % _WAITING > lengths[t] or j == lengths[t] + _WAITING)
            for t, j in self.states[state]
        )

    def declarations(self) -> list[int]:
        """The states of namespace declarations of projected elements."""
        return [number for number, positions in enumerate(self.states) if any(j == _DECLARATION for _, j in positions)]


_SEES: Final = {
    ELEMENT: SEES_ELEMENTS,
    ATTRIBUTE: SEES_ATTRIBUTES,
    TEXT: SEES_TEXTS,
    COMMENT: SEES_MISC,
    PI: SEES_MISC,
    NODE: SEES_ELEMENTS | SEES_TEXTS | SEES_MISC,
}

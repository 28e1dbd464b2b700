"""What each step of a path does to document order and distinctness, so that most paths need no sort.

Children of nodes that are in order and not inside one another are in order; descendants of nodes in order are made so
by skipping what an earlier node already covered (staircase join, Grust 2002); attributes keep any order.
"""

from __future__ import annotations

from xstreamcast.dataclass import dataclass
from xstreamcast.run.compile.tests import Test


@dataclass(frozen=True, slots=True)
class State:
    """What is known of the nodes at a step: at most one; in document order; distinct; none inside another."""

    single: bool = False
    ordered: bool = False
    distinct: bool = False
    disjoint: bool = False


SINGLE = State(True, True, True, True)
SORTED = State(False, True, True, False)

REVERSE = frozenset({"parent", "ancestor", "ancestor-or-self", "preceding", "preceding-sibling"})


def after(state: State, axis: str, test: Test, first_only: bool, counted: bool) -> State:
    """The state after a step on an axis; ``counted``: its predicates look at positions."""
    if axis == "self":
        return state
    if axis == "attribute":
        return State(state.single and test.name is not None, state.ordered, state.distinct, True)
    if axis == "child":
        if state.single:
            return State(first_only, True, True, True)
        if state.ordered and state.disjoint:
            return State(False, True, True, True)
        return State(False, False, state.distinct, False)
    if axis in ("descendant", "descendant-or-self", "attributes-below"):
        if counted and not state.disjoint:
            return State()  # positions count from every node: none may be skipped
        return State(False, state.ordered, state.ordered or state.single, axis == "attributes-below")
    if axis == "parent":
        return SINGLE if state.single else State()
    if state.single:
        return State(first_only, not (counted and axis in REVERSE), True, axis.endswith("sibling"))
    return State()

"""The stream data-flow graph of a query (VLDB'05 §4.2).

A node is a variable: one that the query names, or the implicit one of a path, a function's result or the output. An
edge from ``v1`` to ``v2`` says that the definition of ``v2`` uses ``v1`` (data), or that ``v1`` decides whether ``v2``
is evaluated (control) (Definition 1). It is

* an *aggregate* dependence ``v1 ≻ v2`` if ``v1`` is a sequence, ``v2`` is atomic and no iterator (Definition 3),
* a *flow* dependence ``v1 → v2`` otherwise (Definition 4).

A sequence is one of unbounded length. What looks only at one item of a loop is bounded and part of the node it feeds.

>>> from xstreamcast.lang import parse
>>> from xstreamcast.plan.graph.build import stream_graph
>>> print(stream_graph(parse("let $b := count(/stream/pixel[x > 0]) return sum(/stream/pixel/y) idiv $b")))
S1 ▭ /stream/pixel[x > 0]
v1 ○ count(…)
$b ○ let
S2 ▭ /stream/pixel/y
v2 ○ sum(…)
output ○ sum(/stream/pixel/y) idiv $b
S1 ≻ v1
v1 → $b
S2 ≻ v2
v2 → output
$b → output
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from xstreamcast.lang.ast import NOWHERE, Span


class Role(Enum):
    """What a node stands for."""

    PATH = "path"
    FOR = "for"
    LET = "let"
    RANGE = "range"
    """A ``for`` over values that no document decides, or only through aggregates: an iteration space known
    beforehand."""
    FUNCTION = "function"
    RESULT = "result"
    """The unnamed sequence that a FLWOR expression or a condition over a sequence makes."""
    OUTPUT = "output"


@dataclass(frozen=True, slots=True)
class Node:
    """A variable of the query."""

    id: str
    role: Role
    label: str
    sequence: bool
    span: Span = NOWHERE
    source: str | None = None
    """The input that a path begins at."""
    steps: tuple[str, ...] = ()
    """The path from there: steps and predicates, as written."""
    starts: bool = False
    """A traversal begins here: of an input, or of a sequence once again for each item of a loop."""
    united: bool = False
    """Nodes of one document from several paths, in document order: traversals that meet here go side by side."""
    blocking: str = ""
    """Why this is a blocking operator that is not progressive (§3.1), if it is one."""

    @property
    def iterator(self) -> bool:
        """Whether it is the variable of a ``for``: atomic, but one value after the other."""
        return self.role in (Role.FOR, Role.RANGE)

    def __str__(self) -> str:
        return f"{self.id} {'▭' if self.sequence else '○'} {self.label}"


@dataclass(frozen=True, slots=True)
class Edge:
    """``target`` depends on ``origin``."""

    origin: str
    target: str
    aggregate: bool = False
    control: bool = False

    def __str__(self) -> str:
        sign = "≻" if self.aggregate else "→"
        return f"{self.origin} {sign} {self.target}" + (" (control)" if self.control else "")


@dataclass(frozen=True)
class Graph:
    """Nodes and edges, in the order in which the query defines them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def node(self, id: str) -> Node:
        """The node of an id."""
        return next(node for node in self.nodes if node.id == id)

    def incoming(self, id: str) -> tuple[Edge, ...]:
        """What a node depends on."""
        return tuple(edge for edge in self.edges if edge.target == id)

    def __str__(self) -> str:
        return "\n".join(str(part) for part in (*self.nodes, *self.edges))


def successors(edges: Iterable[Edge]) -> dict[str, list[str]]:
    """Where edges lead, by where they begin."""
    after: dict[str, list[str]] = {}
    for edge in edges:
        after.setdefault(edge.origin, []).append(edge.target)
    return after


def paths_from(after: Mapping[str, list[str]], first: str) -> dict[str, str]:
    """All that can be reached from a node by at least one edge, each with the node before it on a shortest path."""
    before: dict[str, str] = {}
    waiting = [first]
    for node in waiting:
        for target in after.get(node, ()):
            if target not in before:
                before[target] = node
                waiting.append(target)
    return before


def path_between(after: Mapping[str, list[str]], first: str, last: str) -> tuple[str, ...]:
    """A shortest path of at least one edge, its ends included; empty if there is none.

    >>> path_between(successors((Edge("a", "b"), Edge("b", "c"), Edge("c", "a"))), "a", "a")
    ('a', 'b', 'c', 'a')
    """
    before = paths_from(after, first)
    if last not in before:
        return ()
    path = [last]
    while len(path) == 1 or path[-1] != first:
        path.append(before[path[-1]])
    return tuple(reversed(path))

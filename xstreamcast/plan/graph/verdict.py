"""Whether a query can be answered in a single pass: Theorems 1 to 4 of VLDB'05 §4.4, each with its witness.

The conditions of Theorems 1, 2 and 3 each rule a single pass out; Theorem 4 says that one of them holds whenever a
pipeline or progressive blocking operator refers to the result of another, so that none of them means: one pass. That
holds for queries without other blocking operators (§3.2, the first condition); those are looked for beforehand.

>>> from xstreamcast.lang import parse
>>> from xstreamcast.plan.graph.build import stream_graph
>>> print(judge(stream_graph(parse("for $i in //pixel where $i/x > avg(//pixel/x) return $i"))))
Theorem 3: a cycle: S2 ≻ v1 → output
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from xstreamcast.lang.ast import NOWHERE, Span
from xstreamcast.plan.graph.fusion import Fused, fuse
from xstreamcast.plan.graph.nodes import Edge, Graph, Node, path_between, paths_from, successors

CLAIMS: Final = {
    0: "no blocking operator over an unbounded input",
    1: "one traversal of each input",
    2: "no aggregate waits for another",
    3: "no cycle: nothing that is traversed waits for an aggregate of the traversal",
}
"""What holds when the condition of a theorem does not (0: the first condition of §3.2)."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The condition of a theorem holds (0: a blocking operator, §3.2): the nodes that show it, and where they stand."""

    theorem: int
    nodes: tuple[str, ...]
    text: str
    span: Span = NOWHERE

    def __str__(self) -> str:
        return f"Theorem {self.theorem}: {self.text}" if self.theorem else self.text


@dataclass(frozen=True)
class Judgement:
    """The fused graph and all that stands against a single pass."""

    fused: Fused
    obstacles: tuple[Obstacle, ...]

    @property
    def single_pass(self) -> bool:
        """Theorem 4: nothing stands against it."""
        return not self.obstacles

    def against(self, theorem: int) -> tuple[Obstacle, ...]:
        """What one theorem says."""
        return tuple(obstacle for obstacle in self.obstacles if obstacle.theorem == theorem)

    def __str__(self) -> str:
        return "\n".join(map(str, self.obstacles)) or "single pass"


def judge(graph: Graph) -> Judgement:
    """Fuses a graph and applies the theorems."""
    fused = fuse(graph)
    obstacles = (*blocking(graph), *theorem_1(fused), *theorem_2(fused), *theorem_3(fused))
    return Judgement(fused, obstacles)


def blocking(graph: Graph) -> tuple[Obstacle, ...]:
    """§3.2, first condition: "a blocking operator with unbounded input is involved"."""
    return tuple(Obstacle(0, (node.id,), node.blocking, node.span) for node in graph.nodes if node.blocking)


def theorem_1(fused: Fused) -> tuple[Obstacle, ...]:
    """More than one sequence node after vertical fusion: of one input, or of several that meet."""
    root = {member: supernode.members[0] for supernode in fused.supernodes for member in supernode.members}
    nodes = {node.id: node for node in fused.graph.nodes}
    found: dict[frozenset[str], Obstacle] = {}
    for edge in fused.graph.edges:
        first, second = root.get(edge.target), root.get(edge.origin)
        if edge.aggregate or first is None or second is None or first == second:
            continue
        meeting = nodes[edge.target]
        if meeting.starts and not edge.control:
            continue  # it reads that sequence once more; where the two meet comes later
        text = f"{_called(nodes[first])} and {_called(nodes[second])} meet in {meeting.id}"
        obstacle = Obstacle(1, (first, second, meeting.id), text, meeting.span)
        found.setdefault(frozenset((first, second)), obstacle)
    return tuple(found.values())


def _called(node: Node) -> str:
    return f"{node.id} ({node.label})"


def theorem_2(fused: Fused) -> tuple[Obstacle, ...]:
    """A path between two atomic nodes that are aggregate dependent on a sequence.

    A path through a super-node is a cycle as well, and left to Theorem 3, whose witness is shorter.
    """
    supernodes = {supernode.id for supernode in fused.supernodes}
    edges = fused.contracted
    aggregates = list(dict.fromkeys(edge.target for edge in edges if edge.aggregate and edge.target not in supernodes))
    after = successors(edge for edge in edges if edge.origin not in supernodes and edge.target not in supernodes)
    found = []
    for first in aggregates:
        reached = paths_from(after, first)
        for second in aggregates:
            if second in reached and second != first:
                path = path_between(after, first, second)
                text = f"{second} waits for {first}: {_shown(path, edges)}"
                found.append(Obstacle(2, path, text, fused.graph.node(second).span))
    return tuple(found)


def theorem_3(fused: Fused) -> tuple[Obstacle, ...]:
    """A cycle, which only fusion can have made (Lemma 2): it leads through a super-node."""
    edges = fused.contracted
    after = successors(edges)
    found: list[Obstacle] = []
    seen: set[frozenset[str]] = set()
    for supernode in fused.supernodes:
        for edge in edges:
            if edge.origin == supernode.id and edge.aggregate:
                back = path_between(after, edge.target, supernode.id)
                if back and frozenset(back) not in seen:
                    seen.add(frozenset(back))
                    found.append(_cycle(fused, supernode.id, edge, back))
    return tuple(found)


def _cycle(fused: Fused, supernode: str, edge: Edge, back: tuple[str, ...]) -> Obstacle:
    """The cycle from a super-node's member through an aggregate back to another member."""
    edges, home = fused.graph.edges, fused.home
    out = next(e for e in edges if e.aggregate and home(e.origin) == supernode and home(e.target) == edge.target)
    into = next(e for e in edges if home(e.origin) == back[-2] and home(e.target) == supernode)
    path = (out.origin, *back[:-1], into.target)
    return Obstacle(3, path, f"a cycle: {_shown(path, edges)}", fused.graph.node(out.target).span)


def _shown(path: tuple[str, ...], edges: tuple[Edge, ...]) -> str:
    """A path with its signs."""
    text = path[0]
    for first, second in pairwise(path):
        aggregate = any(edge.aggregate for edge in edges if (edge.origin, edge.target) == (first, second))
        text += f" {'≻' if aggregate else '→'} {second}"
    return text

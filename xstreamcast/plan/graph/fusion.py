"""Horizontal and vertical fusion of a stream data-flow graph (VLDB'05 §4.3).

*Horizontal*: traversals of one input share the steps their paths begin with; each is left with the rest of its path,
and one with no rest is gone. The paper fuses "irrespective of inter-dependence", for Theorems 2 and 3 find what goes
wrong; but two traversals that *meet* in a pipeline (§4.3.2: a sequence that is flow dependent on both, "normally the
result of a join") are a blocking operator, which the paper excludes beforehand. They are not fused here, so that
Theorem 1 finds two sequence nodes. A loop over an iteration space known beforehand is not unrolled: its traversals are
one, grouped.

*Vertical*: the algorithm of Figure 7. From each root, what is flow dependent on it joins its super-node.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from xstreamcast.lang.ast import NOWHERE
from xstreamcast.plan.graph.draw import common_prefix
from xstreamcast.plan.graph.nodes import Edge, Graph, Node, Role, paths_from, successors


@dataclass(frozen=True, slots=True)
class Horizontal:
    """Traversals that share a prefix: ``node`` is the new one, or the one of them whose path is the prefix."""

    prefix: str
    node: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        return f"fused {self.prefix}: {', '.join(self.members)}"


@dataclass(frozen=True, slots=True)
class Grouped:
    """A loop over an iteration space known beforehand: one grouped pass instead of one for each of its values."""

    variable: str
    members: tuple[str, ...]

    def __str__(self) -> str:
        return f"grouped by {self.variable}: {', '.join(self.members)}"


@dataclass(frozen=True, slots=True)
class SuperNode:
    """What one traversal computes on its way: pipeline operators only. ``members`` begins with its root."""

    members: tuple[str, ...]

    @property
    def id(self) -> str:
        """The name of the contracted node."""
        return "{" + ", ".join(self.members) + "}"


@dataclass(frozen=True)
class Fused:
    """A graph after fusion. ``before`` is the query's own."""

    before: Graph
    graph: Graph
    horizontal: tuple[Horizontal, ...]
    grouped: tuple[Grouped, ...]
    supernodes: tuple[SuperNode, ...]

    @cached_property
    def _homes(self) -> dict[str, str]:
        return {member: supernode.id for supernode in self.supernodes for member in supernode.members}

    def home(self, id: str) -> str:
        """The super-node that a node is in, or the node itself."""
        return self._homes.get(id, id)

    @cached_property
    def contracted(self) -> tuple[Edge, ...]:
        """The edges between super-nodes and the nodes outside of them; each super-node counts as one sequence node."""
        home = self.home
        edges = [replace(edge, origin=home(edge.origin), target=home(edge.target)) for edge in self.graph.edges]
        return tuple(dict.fromkeys(edge for edge in edges if edge.origin != edge.target))


def fuse(graph: Graph) -> Fused:
    """Horizontal, then vertical fusion."""
    fused, horizontal = fuse_horizontally(graph)
    return Fused(graph, fused, horizontal, grouped_loops(graph), fuse_vertically(fused))


# ------------------------------------------------------------------------------------------------- vertical


def fuse_vertically(graph: Graph) -> tuple[SuperNode, ...]:
    """Figure 7: R are the sequence nodes at which a traversal begins; the others have a root from which they flow."""
    taken: set[str] = set()  # N
    found = []
    starts = {node.id for node in graph.nodes if node.starts}
    flows = successors(edge for edge in graph.edges if not edge.aggregate)
    entered = {edge.target for edge in graph.edges}
    for root in graph.nodes:
        if not root.sequence or (root.id not in starts and root.id in entered):
            continue
        members = [root.id]  # M
        taken.add(root.id)
        for id in members:
            for target in flows.get(id, ()):
                if target not in taken and target not in starts:
                    taken.add(target)
                    members.append(target)
        found.append(SuperNode(tuple(members)))
    return tuple(found)


# ----------------------------------------------------------------------------------------------- horizontal


def meetings(graph: Graph) -> set[frozenset[str]]:
    """Pairs of traversals, by their roots, that flow together in a node."""
    supernodes = fuse_vertically(graph)
    root = {member: supernode.members[0] for supernode in supernodes for member in supernode.members}
    united = {node.id for node in graph.nodes if node.united}
    found = set()
    for edge in graph.edges:
        first, second = root.get(edge.origin), root.get(edge.target)
        if edge.aggregate or edge.target in united:
            continue
        if first is not None and second is not None and first != second:
            found.add(frozenset((first, second)))
    return found


def fuse_horizontally(graph: Graph) -> tuple[Graph, tuple[Horizontal, ...]]:
    """Shares the prefixes of an input's traversals, those of one group at a time: no two of a group meet."""
    apart = meetings(graph)
    groups: list[list[Node]] = []
    for node in graph.nodes:
        if node.starts and node.source is not None:
            for group in groups:
                if group[0].source == node.source and not any(frozenset((node.id, o.id)) in apart for o in group):
                    group.append(node)
                    break
            else:
                groups.append([node])
    fusion = _Fusion(graph)
    for group in groups:
        fusion.share(group, None)
    return fusion.graph, tuple(fusion.found)


class _Fusion:
    """The graph on its way."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.found: list[Horizontal] = []

    def share(self, group: list[Node], above: str | None) -> None:
        """One node for the prefix of a group, below ``above``; then the same for those members that share more."""
        if len(group) < 2:
            return
        prefix = common_prefix([node.steps for node in group])
        id = self.insert(group, prefix, above)
        rest: dict[str, list[Node]] = {}
        for node in group:
            if len(node.steps) > len(prefix):
                rest.setdefault(node.steps[len(prefix)], []).append(node)
        for more in rest.values():
            self.share(more, id)

    def insert(self, group: list[Node], prefix: tuple[str, ...], above: str | None) -> str:
        """The new node, S0, between the members and what they began at before."""
        id = "S0"
        while any(node.id == id for node in self.graph.nodes):
            id += "′"
        text = "".join(prefix) or "/"
        new = Node(id, Role.PATH, text, True, NOWHERE, group[0].source, prefix, starts=above is None)
        rest = {node.id: node.steps[len(prefix) :] for node in group}
        self.found.append(Horizontal(text, id, tuple(rest)))
        edges = [edge for edge in self.graph.edges if edge.origin != above or edge.target not in rest]
        if above is not None:
            edges.append(Edge(above, id))
        nodes: list[Node] = []
        for node in self.graph.nodes:
            if node.id == group[0].id:
                nodes.append(new)
            if node.id not in rest:
                nodes.append(node)
            elif rest[node.id]:
                nodes.append(replace(node, label="".join(rest[node.id]), starts=False))
                edges.append(Edge(id, node.id))
            else:  # "the corresponding node is deleted, and its children have an edge from the parent node"
                edges = [replace(edge, origin=id) if edge.origin == node.id else edge for edge in edges]
                edges = [replace(edge, target=id) if edge.target == node.id else edge for edge in edges]
        self.graph = Graph(tuple(nodes), tuple(dict.fromkeys(edges)))
        return id


# --------------------------------------------------------------------------------------- loops over ranges


def grouped_loops(graph: Graph) -> tuple[Grouped, ...]:
    """The loops over ranges that a traversal depends on."""
    found: list[Grouped] = []
    flowing = successors(edge for edge in graph.edges if not edge.aggregate)
    for node in graph.nodes:
        if node.role is Role.RANGE:
            reached = paths_from(flowing, node.id)
            members = tuple(other.id for other in graph.nodes if other.starts and other.id in reached)
            if members:
                found.append(Grouped(node.id, members))
    return tuple(found)

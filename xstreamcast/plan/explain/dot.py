"""A stream data-flow graph for Graphviz, before and after fusion: boxes are sequences, circles atomic (VLDB'05 §4.2).

Dashed arrows are aggregate dependences, dotted ones control; a super-node is a cluster with a dashed frame.
"""

from __future__ import annotations

from collections.abc import Iterator

from xstreamcast.plan.graph.fusion import Fused
from xstreamcast.plan.graph.nodes import Edge, Node


def to_dot(fused: Fused) -> str:
    """Both graphs in one drawing.

    >>> from xstreamcast.lang import parse
    >>> from xstreamcast.plan.graph.fusion import fuse
    >>> from xstreamcast.plan.graph.build import stream_graph
    >>> print(to_dot(fuse(stream_graph(parse("count(//a)")))).splitlines()[4])
        "before S1" [shape=box, label="S1\\n//a"];
    """
    lines = ["digraph query {", '  node [fontname="Helvetica"];']
    lines += ["  subgraph cluster_before {", '    label="stream data-flow graph";']
    lines += [_node("before", node) for node in fused.before.nodes]
    lines += [_edge("before", edge) for edge in fused.before.edges]
    lines += ["  }", "  subgraph cluster_after {", '    label="after fusion";']
    homes = {member for supernode in fused.supernodes for member in supernode.members}
    for number, supernode in enumerate(fused.supernodes):
        lines += [f"    subgraph cluster_super{number} {{", '      style=dashed; label="super-node";']
        lines += [f"  {_node('after', node)}" for node in fused.graph.nodes if node.id in supernode.members]
        lines.append("    }")
    lines += [_node("after", node) for node in fused.graph.nodes if node.id not in homes]
    lines += [_edge("after", edge) for edge in fused.graph.edges]
    return "\n".join([*lines, "  }", "}"])


def _node(when: str, node: Node) -> str:
    shape = "box" if node.sequence else "ellipse"
    label = node.id if node.label in ("let", "for") else f"{node.id}\n{node.label}"
    return f"    {_quoted(f'{when} {node.id}')} [shape={shape}, label={_quoted(label)}];"


def _edge(when: str, edge: Edge) -> str:
    style = ", ".join(_styles(edge))
    ends = f"{_quoted(f'{when} {edge.origin}')} -> {_quoted(f'{when} {edge.target}')}"
    return f"    {ends}{f' [{style}]' if style else ''};"


def _styles(edge: Edge) -> Iterator[str]:
    if edge.aggregate:
        yield "style=dashed"
    elif edge.control:
        yield "style=dotted"
    if edge.control:
        yield 'label="control"'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'

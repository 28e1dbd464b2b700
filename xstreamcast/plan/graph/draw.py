"""Values of the abstract run that makes a stream data-flow graph, and the nodes and edges they become."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Source, Span
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.plan.graph.nodes import Edge, Graph, Node, Role

CONTEXT: Final = "the context document"
LONGEST: Final = 56

FLOWING: Final = frozenset(
    {
        *("data", "distinct-values", "filter", "for-each", "id", "idref", "index-of", "insert-before", "one-or-more"),
        *("remove", "subsequence", "tail", "trace", "unordered"),
    }
)
"""Functions whose value is again a sequence of unbounded length, item by item."""

BLOCKING: Final = frozenset(
    {
        *("deep-equal", "for-each-pair", "innermost", "outermost", "reverse", "serialize", "sort"),
        *("element-with-id",),
    }
)
"""Functions that need their whole input at once. All others aggregate it, or take at most one item."""

IMPLICIT: Final = frozenset(
    {"string", "number", "name", "local-name", "node-name", "namespace-uri", "string-length", "normalize-space", "data"}
)
"""Functions that without an argument look at the context item."""

Names = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What a value depends on: ``nodes`` by data, ``control`` by whether it is evaluated."""

    nodes: Names = ()
    control: Names = ()
    unbounded: bool = False
    level: int = 0
    source: str | None = None
    """It is the document node of this input, or, with the ``steps`` to it, its root element: there is one of either,
    and it is as large as the document."""
    steps: tuple[str, ...] = ()
    tree: str | None = None
    """Its nodes are of this input's document."""

    @property
    def long(self) -> bool:
        """Whether it is as long, or as large, as the document."""
        return self.unbounded or self.source is not None

    def item(self) -> Value:
        """One of its items as a context item; what it depends on is known of the value itself."""
        return Value(level=self.level, tree=self.tree)

    def under(self, control: Value) -> Value:
        """This value where the other one decides whether it is evaluated."""
        also = (*control.nodes, *control.control)
        return replace(self, control=merged(self.control, also), level=max(self.level, control.level))


NOTHING: Final = Value()


def merged(*several: Names) -> Names:
    """Names once each, in order."""
    return tuple(dict.fromkeys(name for names in several for name in names))


def together(values: Iterable[Value]) -> Value:
    """The value of an expression of several parts."""
    parts = list(values)
    return Value(
        merged(*[part.nodes for part in parts]),
        merged(*[part.control for part in parts]),
        any(part.unbounded for part in parts),
        max((part.level for part in parts), default=0),
    )


class Drawing:
    """The graph so far, and how many loops over unbounded sequences the run is in (``level``)."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.nodes: dict[str, Node] = {}
        self.edges: dict[tuple[str, str], Edge] = {}
        self.level = 0
        self.counts = {"S": 0, "v": 0}

    def text(self, span: Span) -> str:
        """A piece of the query on one line, cut if it is long."""
        text = " ".join(self.source.text[max(span.start, 0) : max(span.end, 0)].split())
        return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"

    def fresh(self, letter: str) -> str:
        """S1, S2 … for sequences, v1, v2 … for atomic values."""
        self.counts[letter] += 1
        return f"{letter}{self.counts[letter]}"

    def named(self, wanted: str) -> str:
        """A variable's id; a second variable of that name gets primes."""
        while wanted in self.nodes:
            wanted += "′"
        return wanted

    def add(self, node: Node, value: Value) -> None:
        """A node and the edges into it."""
        self.nodes[node.id] = node
        for names, control in ((value.nodes, False), (value.control, True)):
            for name in names:
                if (name, node.id) not in self.edges:
                    aggregate = self.nodes[name].sequence and not node.sequence and not node.iterator
                    self.edges[name, node.id] = Edge(name, node.id, aggregate, control)

    def sequence(self, value: Value, span: Span) -> Value:
        """An unbounded value as one sequence node: its own, or the implicit variable of an expression."""
        if value.source is not None:
            return self.traversal(value, (), span)
        if len(value.nodes) == 1 and not value.control and self.nodes[value.nodes[0]].sequence:
            return value
        id = self.fresh("S")
        self.add(Node(id, Role.RESULT, self.text(span), True, span), value)
        return Value((id,), (), True, value.level)

    def traversal(self, base: Value, steps: tuple[str, ...], span: Span, more: Value = NOTHING) -> Value:
        """A path as a node. It begins a traversal at an input, or where a loop reads a sequence from outside."""
        id = self.fresh("S")
        level = max(base.level, more.level)
        starts = base.source is not None or (level > base.level and base.unbounded)
        node = Node(id, Role.PATH, self.text(span), True, span, base.source, base.steps + steps, starts)
        self.add(node, Value(merged(base.nodes, more.nodes), merged(base.control, more.control)))
        return Value((id,), (), True, level, tree=base.tree)

    def again(self, value: Value, span: Span) -> Value:
        """An unbounded value that a loop reads item by item: once more for each of its own items, if it is not its."""
        if not value.unbounded or value.level >= self.level or any(self.nodes[name].starts for name in value.nodes):
            return value
        id = self.fresh("S")
        self.add(Node(id, Role.PATH, self.text(span), True, span, starts=True), value)
        return Value((id,), (), True, value.level)

    def aggregate(self, value: Value, label: str, span: Span, more: Value = NOTHING, blocking: str = "") -> Value:
        """The atomic node of a function of an unbounded value."""
        value = self.sequence(value, span)
        id = self.fresh("v")
        node = Node(id, Role.FUNCTION, label, False, span, blocking=blocking)
        self.add(node, Value(merged(value.nodes, more.nodes), merged(value.control, more.control)))
        return Value((id,), (), False, max(value.level, more.level))

    def single(self, value: Value, span: Span) -> Value:
        """A value of which at most one item is asked for."""
        if value.long:
            return self.aggregate(value, f"one item of {self.text(span)}", span)
        return value

    def detached(self, id: str) -> list[Value]:
        """Takes away what leads into a node: the values it was made of."""
        edges = [edge for edge in self.edges.values() if edge.target == id]
        for edge in edges:
            del self.edges[edge.origin, edge.target]
        return [Value((), (edge.origin,)) if edge.control else Value((edge.origin,)) for edge in edges]


def bounding(predicate: Expr) -> bool:
    """Whether a predicate on a sequence leaves a number of items known beforehand: ``[3]``, ``[position() < 9]``."""
    if isinstance(predicate, ast.IntegerLiteral):
        return True
    if isinstance(predicate, ast.FunctionCall):
        return predicate.name.expanded == (FN, "last")
    if isinstance(predicate, ast.GeneralComparison | ast.ValueComparison):
        left, right = predicate.left, predicate.right
        place = isinstance(left, ast.FunctionCall) and left.name.expanded == (FN, "position")
        return place and isinstance(right, ast.IntegerLiteral) and predicate.op in ("=", "eq", "<", "lt", "<=", "le")
    return False


def is_root_element(step: ast.AxisStep) -> bool:
    """Whether a step from the document node leads to its root element."""
    return step.axis == "child" and isinstance(step.test, ast.NameTest | ast.Wildcard | ast.ElementTest)


Key = tuple[str, str, int]
Functions = dict[Key, tuple[ast.FunctionDecl, Source]]
"""The query's functions and the texts they stand in."""


def calls_itself(key: Key, functions: Functions) -> bool:
    """Whether a function can reach itself through calls."""
    return any(calls(node) == key for node in reached(key, functions))


def reads_inputs(key: Key, functions: Functions, variables: Collection[tuple[str, str]]) -> bool:
    """Whether a function, or one it calls, reads an input by itself or one of the prolog's variables."""
    for node in reached(key, functions):
        if isinstance(node, ast.VarRef) and node.name.expanded in variables:
            return True
        if isinstance(node, ast.FunctionCall) and node.name.expanded in ((FN, "doc"), (STREAM, "stream")):
            return True
    return False


def reached(key: Key, functions: Functions) -> Iterator[ast.Node]:
    """What is in the bodies of a function and of those it calls."""
    seen = {key}
    waiting = [key]
    while waiting:
        declared, _ = functions[waiting.pop()]
        for node in descendants(declared.body) if declared.body is not None else ():
            yield node
            called = calls(node)
            if called in functions and called not in seen:
                seen.add(called)
                waiting.append(called)


def calls(node: ast.Node) -> Key:
    """The function that a node calls; nobody's name if it calls none."""
    return (*node.name.expanded, len(node.args)) if isinstance(node, ast.FunctionCall) else ("", "", -1)


def common_prefix(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The steps that several paths begin with.

    >>> common_prefix([("/stream", "/pixel", "[x > 0]"), ("/stream", "/pixel", "/y")])
    ('/stream', '/pixel')
    """
    found = []
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        found.append(steps[0])
    return tuple(found)


def renumbered(graph: Graph) -> Graph:
    """S1, S2 … and v1, v2 … without gaps: paths that became part of others have left some."""
    counts = {"S": 0, "v": 0}
    names: dict[str, str] = {}
    for node in graph.nodes:
        letter = node.id[0]
        if letter in counts:
            counts[letter] += 1
            names[node.id] = f"{letter}{counts[letter]}"
    nodes = [replace(node, id=names.get(node.id, node.id)) for node in graph.nodes]
    edges = [
        replace(edge, origin=names.get(edge.origin, edge.origin), target=names.get(edge.target, edge.target))
        for edge in graph.edges
    ]
    return Graph(tuple(nodes), tuple(edges))

"""What every rule of the translation uses: the scope, the forms an expression can be asked for, library calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Name, Node
from xstreamcast.lang.scope import Expanded
from xstreamcast.model.namespaces import FN, XS
from xstreamcast.model.structure import Structure
from xstreamcast.plan.translate.library import XCQL
from xstreamcast.plan.translate.shapes import ATOMIC, Shape, StreamTags

Strategy = Literal["CaQ", "QaC", "QaC+"]
STRATEGIES: Final[tuple[Strategy, ...]] = ("CaQ", "QaC", "QaC+")

Typed = tuple[Expr, Shape]
MARK: Final = "vtTo-closed"


class ConstructFirst(XStreamError):
    """Raised where fragments of some streams would show a difference: these are to be constructed before the query."""

    def __init__(self, streams: frozenset[str], why: str, node: Node) -> None:
        super().__init__("XSC0070", why)
        self.streams = streams
        self.why = why
        self.node = node


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables and the context item that an expression sees."""

    variables: Mapping[Expanded, Shape] = field(default_factory=dict)
    focus: Shape = ATOMIC

    def bind(self, name: Name | None, shape: Shape) -> Scope:
        """With one variable more."""
        return self if name is None else replace(self, variables={**self.variables, name.expanded: shape})

    def at(self, focus: Shape) -> Scope:
        """With another context item."""
        return replace(self, focus=focus)


def library(local: str, *args: Expr) -> ast.FunctionCall:
    """A call of the library."""
    return ast.FunctionCall(Name("xcql", local, XCQL), args)


def fn(local: str, *args: Expr) -> ast.FunctionCall:
    """A call of a standard function."""
    return ast.FunctionCall(Name("fn", local, FN), args)


def variable(local: str) -> ast.VarRef:
    """A variable of the library."""
    return ast.VarRef(Name("xcql", local, XCQL))


def qname(name: Expanded) -> Expr:
    """An expanded name as a value."""
    return fn("QName", ast.StringLiteral(name[0]), ast.StringLiteral(name[1]))


def cast(type_: str, text: str) -> Expr:
    """``xs:type("text")``."""
    return ast.FunctionCall(Name("xs", type_, XS), (ast.StringLiteral(text),))


def sequence(items: list[Expr]) -> Expr:
    """``(a, b)``, or the one item there is."""
    return items[0] if len(items) == 1 else ast.Sequence(tuple(items))


class Rewriting(ABC):
    """One run over a query, with the streams in ``constructed`` constructed first.

    ``identifiers`` are the XQuery names of the streams; ``marked`` says whether the query projects, so that marks of
    closed ends can be on its nodes; ``rooted``, whether every filler hangs on a hole; ``bare_names``, whether the name
    of an element without a prefix is in no namespace.
    """

    def __init__(
        self,
        strategy: Strategy,
        identifiers: Mapping[str, str],
        structures: Mapping[str, Structure],
        constructed: frozenset[str],
        *,
        marked: bool,
        rooted: bool,
        bare_names: bool,
    ) -> None:
        self.strategy = strategy
        self.identifiers = identifiers
        self.tags = {name: StreamTags(structure) for name, structure in structures.items()}
        self.constructed = constructed
        self.marked = marked
        self.rooted = rooted
        self.bare_names = bare_names
        self.results: dict[tuple[str, str, int], Shape] = {}
        """What the query's own functions give, by their declared types."""
        self.anywhere = Shape(origins=frozenset(identifiers) - constructed)
        """What is known of a value from somewhere else: it may be a copy from any stream."""

    @abstractmethod
    def raw(self, node: Expr, scope: Scope) -> Typed:
        """e : shape → e', in fragment form if that is what it is."""

    @abstractmethod
    def projected_to(self, base: Typed, node: ast.IntervalProjection, scope: Scope) -> Typed:
        """``base?[begin, end]``, whatever the base of the node is."""

    def stream_map(self, stream: str) -> Expr:
        """The variable that holds a stream's regions."""
        return variable(self.identifiers[stream])

    def whole(self, typed: Typed) -> Typed:
        """The value with its holes filled."""
        node, shape = typed
        if not shape.open:
            return typed
        made = replace(shape, stream="", tags=frozenset(), origins=frozenset({shape.stream}), apart=False)
        return library("temporalize", self.stream_map(shape.stream), node), made

    def value(self, node: Expr, scope: Scope) -> Typed:
        """The value that leaves the query, enters a constructor or goes where nothing is known of its use."""
        return self.whole(self.raw(node, scope))

    def atoms(self, node: Expr, scope: Scope) -> Expr:
        """A value of which only the atoms count: fragments without holes may stay as they are."""
        return self.atomised(self.raw(node, scope))

    def atomised(self, typed: Typed) -> Expr:
        node, shape = typed
        if shape.open and all(map(self.tags[shape.stream].closed, shape.tags)):
            return node
        return self.whole(typed)[0]

    def exists(self, node: Expr, scope: Scope) -> Expr:
        """A value of which only the presence of nodes counts, or their number."""
        return self.raw(node, scope)[0]

    def joined(self, typed: list[Typed]) -> list[Typed]:
        """Values that become one sequence: in fragment form only if all are, and of one stream."""
        streams = {shape.stream for node, shape in typed if node != ast.Sequence()}
        return typed if len(streams) == 1 and "" not in streams else [self.whole(one) for one in typed]

    def merged(self, shapes: list[Shape]) -> Shape:
        """The shape of either of several."""
        known = [shape for shape in shapes if shape != ATOMIC]
        if not known:
            return ATOMIC
        return Shape(
            known[0].stream,
            frozenset().union(*[shape.tags for shape in known]),
            frozenset().union(*[shape.origins for shape in known]),
            all(shape.ordered for shape in known),
            any(shape.nested for shape in known),
            all(shape.single for shape in known),
            any(shape.apart for shape in known),
        )

    def identity(self, shape: Shape, why: str, node: Node) -> None:
        """A place where a copy is not as good as the node itself."""
        streams = frozenset({shape.stream}) if shape.open else shape.origins
        if streams:
            raise ConstructFirst(streams, why, node)

"""What the rewritings of emission modes have in common: the questions they ask of each other.

Of an expression ``e`` over documents with open holes, its value under any further fills is between two sequences:

    certain(e)  ⊆  value  ⊆  possible(e) ∪ what open holes will bring

Every answer is an expression in turn, made of ``e``, for the same evaluator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children
from xstreamcast.plan.algebra import PLAN, VarName
from xstreamcast.plan.decompose.record import Functions
from xstreamcast.plan.modes.ways import FALSE, Way, Within, ask, exists, negated, those
from xstreamcast.plan.passes.dependence import Dependence
from xstreamcast.plan.sources import source_of

Rewrite = Callable[[ast.Expr], ast.Expr]


class Rules(ABC):
    """``opened``: the ways from documents, with the variables that stand for whether a hole is open there.

    ``reasons``: what is not covered, and is not known before the streams end. ``atomic``: variables that hold no nodes
    with holes in them.
    """

    def __init__(self, module: ast.Module) -> None:
        self.functions = Functions(module)
        self.dependence = Dependence(module)
        self.opened: dict[tuple[str, Way], VarName] = {}
        self.reasons: list[str] = []
        self.uses_end = False
        self.atomic: set[VarName] = set()

    @abstractmethod
    def true(self, e: ast.Expr) -> ast.Expr:
        """Whether a condition is certainly true."""

    @abstractmethod
    def false(self, e: ast.Expr) -> ast.Expr:
        """Whether a condition is certainly false."""

    @abstractmethod
    def is_condition(self, e: ast.Expr) -> bool:
        """Whether an expression is a boolean whose truth may be decided before all that it reads is known."""

    @abstractmethod
    def certain(self, e: ast.Expr) -> ast.Expr:
        """The items that will stay, whatever fills come; of nodes, that they are there, not all that is in them."""

    @abstractmethod
    def possible(self, e: ast.Expr) -> ast.Expr:
        """The items there are that may stay; those of which nothing is known yet are not among them."""

    @abstractmethod
    def more(self, e: ast.Expr) -> ast.Expr:
        """Whether further fills may bring items that are not possible(e)."""

    @abstractmethod
    def unknown(self, e: ast.Expr) -> ast.Expr:
        """Whether it is not sure which items there are."""

    @abstractmethod
    def unsettled(self, e: ast.Expr, within: Within) -> ast.Expr:
        """Whether an expression's value is not known in full: its items, their text, or all that a copy would have."""

    @abstractmethod
    def gives_nodes(self, e: ast.Expr) -> bool:
        """Whether an expression's value may have nodes of the streams in it, as they stand there."""

    def open(self, nodes: ast.Expr, way: Way) -> ast.Expr:
        """Whether there is an open hole on a way from some nodes."""
        if not way.steps and not way.within:
            return FALSE
        way = way.fused()
        match nodes:
            case ast.VarRef() if (source := source_of(nodes.name.expanded)) is not None:
                if not source.stream:
                    return FALSE
                key = source.uri or "", way
                name = self.opened.setdefault(key, (PLAN, f"open {len(self.opened)}"))
                return ast.VarRef(ast.Name(None, name[1], name[0]), span=nodes.span)
            case ast.VarRef() if nodes.name.expanded in self.atomic:
                return FALSE
            case ast.VarRef() | ast.ContextItem():
                return ask(nodes, way)
            case _:
                return exists(those(nodes, ask(ast.ContextItem(), way)))

    def ended(self) -> ast.Expr:
        """Whether the streams are at their end."""
        self.uses_end = True
        return ast.VarRef(ast.Name(None, "ended", PLAN))

    def held(self, e: ast.Expr, what: str) -> ast.Expr:
        """Of something that is not covered: whether it is not known, which it is not before the end."""
        if what not in self.reasons:
            self.reasons.append(what)
        return negated(self.ended())


def operands(e: ast.Sequence | ast.Union) -> tuple[ast.Expr, ...]:
    return e.items if isinstance(e, ast.Sequence) else e.operands


def parts_of(e: ast.Node) -> Iterator[ast.Expr]:
    """The expressions directly below, through what is no expression."""
    for child in children(e):
        if isinstance(child, ast.Expr):
            yield child
        elif not isinstance(child, ast.SequenceType | ast.SingleType):
            yield from parts_of(child)

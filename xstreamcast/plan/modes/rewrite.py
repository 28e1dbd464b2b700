"""Emission modes as rewritings: a query over documents with open holes that shows what is certain, or all that may be.

    eager        an open hole counts as empty: the query as it is
    certain      ⊥ is held back: what is shown stays under any further fills
    optimistic   a predicate that is ⊥ counts as true: what turns out not to be is withdrawn

The rewritten query asks for open holes (:mod:`~xstreamcast.plan.modes.ways`) and is decomposed and followed like any
other. Once no hole is open all three are the same.

>>> from xstreamcast.lang.link import parse
>>> made = rewrite(parse('for $b in stream("s")/list/book where $b/price < 30 return $b/title'), "certain")
>>> [name for name, _ in made.asked], made.reasons
([], ())
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import XS
from xstreamcast.plan.algebra import PLAN, VarName
from xstreamcast.plan.modes.truth import Kleene
from xstreamcast.plan.modes.ways import NOTHING, Way, choose, either, negated, those
from xstreamcast.plan.passes.gather_projections import gather_projections
from xstreamcast.plan.passes.inline_functions import inline_functions
from xstreamcast.plan.passes.inline_globals import inline_globals
from xstreamcast.plan.passes.name_sources import name_sources
from xstreamcast.plan.passes.variables import distinguish

Emission = Literal["eager", "certain", "optimistic"]
EMISSIONS: Final = ("eager", "certain", "optimistic")

ENDED: Final[VarName] = (PLAN, "ended")
"""The variable that says whether the streams are at their end."""
_MOST: Final = 50_000
"""Nodes of a rewritten query. One that nests deeper than that waits for the end of its streams."""
_BOOLEAN: Final = ast.SequenceType(ast.AtomicType(ast.Name("xs", "boolean", XS)))


@dataclass(frozen=True, slots=True)
class Modes:
    """A query in one mode.

    ``asked``: the variables of ``module`` that say whether a hole is open on a way from the document of a stream;
    ``ended``: whether it has the variable that says that the streams are at their end. ``reasons``: what of the query
    is not looked into; it is not known before the streams end.
    """

    emission: Emission
    module: ast.Module
    asked: tuple[tuple[VarName, tuple[str, Way]], ...] = ()
    ended: bool = False
    reasons: tuple[str, ...] = ()


def rewrite(module: ast.Module, emission: Emission) -> Modes:
    """The query of a mode."""
    if emission == "eager":
        return Modes(emission, module)
    normal = inline_globals(inline_functions(name_sources(distinguish(gather_projections(module)))))
    assert normal.body is not None
    kleene = Kleene(normal)
    body = Certain(kleene).shown(normal.body) if emission == "certain" else Optimistic(kleene).shown(normal.body)
    if sum(1 for _ in descendants(body)) > _MOST:
        kleene = Kleene(normal)
        kleene.held(normal.body, "the query as a whole, which nests too deeply")
        body = choose(kleene.ended(), normal.body) if emission == "certain" else normal.body
    asked = tuple([(name, key) for key, name in kleene.opened.items()])
    names = [*[name for name, _ in asked], *([ENDED] if kleene.uses_end else [])]
    declared = [ast.VariableDecl(ast.Name(None, name[1], name[0]), _BOOLEAN, None, external=True) for name in names]
    made = replace(normal, prolog=(*normal.prolog, *declared), body=body)
    return Modes(emission, made, asked, kleene.uses_end, tuple(kleene.reasons))


class Certain:
    """⊥ held back: an item is shown when it is there for certain, and all that is in it is known.

    New elements around the whole answer, which no loop makes, are there from the beginning; what is certain of their
    content is shown in them.
    """

    def __init__(self, kleene: Kleene) -> None:
        self.kleene = kleene

    def shown(self, e: ast.Expr) -> ast.Expr:
        """What is shown of an expression whose items are the answer's."""
        kleene = self.kleene
        match e:
            case ast.DirectElement():
                return self.framed(e)
            case ast.Sequence():
                return ast.Sequence(tuple([self.shown(part) for part in e.items]), span=e.span)
            case ast.If():
                true, false = kleene.true(e.condition), kleene.false(e.condition)
                agreed = choose(kleene.agree(e), e.then)
                return choose(true, self.shown(e.then), choose(false, self.shown(e.otherwise), agreed))
            case ast.FLWOR() if all(isinstance(clause, ast.LetClause) for clause in e.clauses):
                return kleene.certain_loop(e, self.shown)
        return self.known(e)

    def framed(self, e: ast.DirectElement) -> ast.Expr:
        """An element of the answer, when its attributes are known, with what is certain of its content."""
        inner: list[ast.LiteralText | ast.Expr] = []
        for part in e.content:
            inner.append(part if isinstance(part, ast.LiteralText) else self.enclosed(part))
        values = [part for attribute in e.attributes for part in attribute.value if isinstance(part, ast.Expr)]
        unknown = either(*[self.kleene.unsettled(part, "text") for part in values])
        return choose(unknown, NOTHING, replace(e, content=tuple(inner)))

    def enclosed(self, e: ast.Expr) -> ast.Expr:
        made = self.shown(e)
        # A nested constructor stands as it is; whatever else is in braces must stay one expression in braces.
        if isinstance(e, ast.DirectElement) and not isinstance(made, ast.DirectElement):
            return ast.Sequence((made,), span=e.span)
        return made

    def known(self, e: ast.Expr) -> ast.Expr:
        """The certain items with all that is in them known."""
        kleene = self.kleene
        match e:
            case ast.FLWOR() if e.clauses:
                return kleene.certain_loop(e, self.known)
            case ast.Sequence():
                return ast.Sequence(tuple([self.known(part) for part in e.items]), span=e.span)
            case ast.If():
                return kleene.decided(e, self.known)
        found = kleene.certain(e)
        if found == NOTHING or not kleene.gives_nodes(e):
            return found
        return those(found, negated(kleene.open(ast.ContextItem(span=e.span), Way((), 0, "copy"))))


class Optimistic:
    """A predicate and a where clause let pass what is not certainly to be refused."""

    def __init__(self, kleene: Kleene) -> None:
        self.kleene = kleene

    def shown(self, e: ast.Expr) -> ast.Expr:
        made = self.visit(e)
        assert isinstance(made, ast.Expr)
        return made

    def visit(self, e: ast.Node) -> ast.Node:
        kleene = self.kleene
        match e:
            case ast.AxisStep():
                return ast.AxisStep(e.axis, e.test, tuple([self.passes(p) for p in e.predicates]), span=e.span)
            case ast.Filter():
                predicates = tuple([self.passes(p) for p in e.predicates])
                return ast.Filter(self.shown(e.base), predicates, span=e.span)
            case ast.WhereClause():
                return ast.WhereClause(self.let_pass(e.condition), span=e.span)
            case ast.FLWOR():
                kleene.bind(e.clauses)
        return rebuild(e, self.visit)

    def passes(self, p: ast.Expr) -> ast.Expr:
        if self.kleene.is_positional(p):
            return self.shown(p)
        return self.let_pass(p)

    def let_pass(self, condition: ast.Expr) -> ast.Expr:
        """Whether a condition is not certainly false."""
        return negated(self.kleene.false(condition))

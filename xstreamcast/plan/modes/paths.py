"""Paths and filters over documents with open holes: which nodes are certain, which possible, whether more may come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.focus import LAST, POSITION
from xstreamcast.plan.modes.rules import Rewrite, Rules, operands
from xstreamcast.plan.modes.ways import (
    FALSE,
    FORWARD,
    NOTHING,
    UPWARD,
    Way,
    WayStep,
    Within,
    both,
    choose,
    either,
    exists,
    forward,
    negated,
    path,
    those,
    way_step,
)
from xstreamcast.plan.passes.dependence import focus_of, repeatable


class Paths(Rules):
    """The rewriting of steps and predicates."""

    def certain_step(self, e: ast.AxisStep) -> ast.Expr:
        """``axis::test[p]`` → ``axis::test[certainly p]``; positions among what is not known are not known."""
        return self._step(e, self.true)

    def possible_step(self, e: ast.AxisStep) -> ast.Expr:
        """``axis::test[p]`` → ``axis::test[not certainly not p]``."""
        return self._step(e, lambda p: negated(self.false(p)))

    def _step(self, e: ast.AxisStep, passes: Rewrite) -> ast.Expr:
        if any(self.is_positional(p) for p in e.predicates):
            return choose(self._unnumbered(e), NOTHING, e)
        found: ast.Expr = ast.AxisStep(e.axis, e.test, (), span=e.span)
        for p in e.predicates:
            found = those(found, passes(p))
        return found

    def _unnumbered(self, e: ast.AxisStep) -> ast.Expr:
        """Whether positions among the nodes of a step are not known, or what the predicates say of them."""
        bare = ast.AxisStep(e.axis, e.test, (), span=e.span)
        unsure = either(*[self.unsettled(p, "text") for p in e.predicates])
        return either(self.more(bare), exists(those(bare, unsure)))

    def filtered(self, e: ast.Filter, base: ast.Expr, passes: Rewrite) -> ast.Expr:
        if any(self.is_positional(p) for p in e.predicates):
            return choose(self.unknown(e), NOTHING, e)
        for p in e.predicates:
            base = those(base, passes(p))
        return base

    def is_positional(self, p: ast.Expr) -> bool:
        """Whether a predicate looks at positions, or may be a number."""
        if focus_of(p) & (POSITION | LAST):
            return True
        match p:
            case ast.And() | ast.Or() | ast.GeneralComparison() | ast.ValueComparison() | ast.NodeComparison():
                return False
            case ast.Quantified() | ast.CastableAs() | ast.InstanceOf() | ast.AllenComparison() | ast.StringLiteral():
                return False
            case ast.If():
                return self.is_positional(p.then) or self.is_positional(p.otherwise)
            case ast.AxisStep() | ast.Path() | ast.Union() | ast.Filter() | ast.Sequence():
                return not only_nodes(p)
            case ast.FunctionCall() if p.name.uri == FN:
                entry = lookup(*p.name.expanded, len(p.args))
                item = None if entry is None else entry.result.item
                return not (isinstance(item, AtomicType) and item.name in ("boolean", "string"))
        return True

    def more_on(self, nodes: ast.Expr, steps: Sequence[ast.Expr]) -> ast.Expr:
        """Whether steps from some nodes may come to further ones: by way of an open hole at any of the steps."""
        if not steps or nodes == NOTHING:
            return FALSE
        taken = 0
        while taken < len(steps) and _is_forward(steps[taken]):
            taken += 1
            if steps[taken - 1].predicates:  # type: ignore[attr-defined]  # an axis step
                break
        first = steps[0]
        if taken:
            way = forward(steps)
            found = self.open(nodes, Way(tuple(way), taken))
            last = steps[taken - 1]
            assert isinstance(last, ast.AxisStep)
            if any(self.is_positional(p) for p in last.predicates):
                found = either(found, self.any_of(path(nodes, *steps[: taken - 1]), self._unnumbered(last)))
        elif isinstance(first, ast.AxisStep):
            taken, found = 1, self._more_aside(nodes, first)
        else:
            taken, found = 1, self.any_of(nodes, self.more(first))
        if taken == len(steps):
            return found
        reached = path(nodes, *[self.possible(step) for step in steps[:taken]])
        return either(found, self.more_on(reached, steps[taken:]))

    def _more_aside(self, nodes: ast.Expr, step: ast.AxisStep) -> ast.Expr:
        """Of a step that leads up or aside: ancestors are there; siblings may come by way of the parent's holes."""
        if step.axis in UPWARD:
            found: ast.Expr = FALSE
        elif step.axis in ("following-sibling", "preceding-sibling"):
            sibling = WayStep("child", way_step(step).test)
            parent = ast.AxisStep("parent", ast.KindTest("node"), span=step.span)
            found = self.open(path(nodes, parent), Way((sibling,), 1))
        else:
            found = self.held(step, f"the {step.axis} axis")
        if any(self.is_positional(p) for p in step.predicates):
            bare = ast.AxisStep(step.axis, step.test, (), span=step.span)
            unsure = either(*[self.unsettled(p, "text") for p in step.predicates])
            found = either(found, self.any_of(nodes, exists(those(bare, unsure))))
        return found

    def doubtful(self, e: ast.AxisStep | ast.Path) -> ast.Expr:
        """Whether some item of a path is possible and not certain.

        What a last step computes of nodes is not told apart by identity: it is in doubt if its node is, or by itself.
        """
        if not isinstance(e, ast.Path) or only_nodes(e.steps[-1]):
            return exists(self.undecided(e))
        nodes, last = parted(e)
        doubted, made = self.undecided(nodes), self.possible(last)
        inside = self.any_of(self.possible(nodes), self.unknown(last))
        return inside if NOTHING in (doubted, made) else either(exists(path(doubted, made)), inside)

    def undecided(self, e: ast.Expr) -> ast.Expr:
        """The nodes of an expression that are possible and not certain."""
        match e:
            case ast.AxisStep():
                return self._undecided_on(ast.ContextItem(span=e.span), NOTHING, (e,), e)
            case ast.Path():
                first, *rest = e.steps
                if isinstance(first, ast.AxisStep):
                    return self._undecided_on(ast.ContextItem(span=e.span), NOTHING, e.steps, e)
                return self._undecided_on(self.possible(first), self.undecided(first), rest, e)
            case ast.Filter():
                if any(self.is_positional(p) for p in e.predicates):
                    return NOTHING
                inside = those(self.undecided(e.base), both(*[negated(self.false(p)) for p in e.predicates]))
                return _joined(those(self.possible(e.base), self._unsure(e.predicates)), inside)
            case ast.Sequence() | ast.Union():
                found: ast.Expr = NOTHING
                for part in operands(e):
                    found = _joined(found, self.undecided(part))
                return found
        possible, certain = self.possible(e), self.certain(e)
        if possible == certain:
            return NOTHING
        if not repeatable(e):  # nodes that are new each time are not told apart by identity
            return choose(self.unknown(e), possible)
        return ast.Except(possible, certain, span=e.span)

    def _unsure(self, predicates: Sequence[ast.Expr]) -> ast.Expr:
        """Whether predicates do not refuse a node, and do not pass it for certain."""
        passed = both(*[self.true(p) for p in predicates])
        return both(*[negated(self.false(p)) for p in predicates], negated(passed))

    def _undecided_on(
        self, nodes: ast.Expr, doubted: ast.Expr, steps: Sequence[ast.Expr], e: ast.AxisStep | ast.Path
    ) -> ast.Expr:
        """Of steps from some nodes, of which some are doubted: where a doubt leads to."""
        found = NOTHING if doubted == NOTHING else path(doubted, *[self.possible(step) for step in steps])
        first = 0 if found != NOTHING else len(steps)
        for number, step in enumerate(steps):
            before, after = [[self.possible(s) for s in part] for part in (steps[:number], steps[number + 1 :])]
            if isinstance(step, ast.AxisStep):
                unsure = self._unsure(step.predicates) if self._filters(step) else FALSE
                own = those(ast.AxisStep(step.axis, step.test, (), span=step.span), unsure)
            else:
                own = self.undecided(step)
            if own != NOTHING and NOTHING not in before and NOTHING not in after:
                found = _joined(found, path(nodes, *before, own, *after))
                first = min(first, number + 1)
        if all(_one_way(step) for step in steps[first:]):
            return found  # each node further on has one way to come from there
        return ast.Except(found, self.certain(e), span=e.span)

    def _filters(self, step: ast.Expr) -> bool:
        if not isinstance(step, ast.AxisStep):
            return False
        return bool(step.predicates) and not any(self.is_positional(p) for p in step.predicates)

    def any_of(self, nodes: ast.Expr, condition: ast.Expr) -> ast.Expr:
        """Whether a condition holds with one of some items as the context item."""
        if condition == FALSE or nodes == NOTHING:
            return FALSE
        if isinstance(nodes, ast.ContextItem):
            return condition
        return exists(those(nodes, condition))

    def open_path(self, e: ast.AxisStep | ast.Path, within: Within, window: Way | None = None) -> ast.Expr:
        """Of a path without predicates: all in one question, about what is in a ``window``."""
        steps = (e,) if isinstance(e, ast.AxisStep) else e.steps
        base: ast.Expr = ast.ContextItem(span=e.span)
        before: ast.Expr = FALSE
        if not isinstance(steps[0], ast.AxisStep):
            base, before, steps = steps[0], self.unknown(steps[0]), steps[1:]
        way = forward(steps)
        wanted = replace(window or Way((), 0, within), steps=tuple(way), walked=len(way))
        return either(before, self.open(base, wanted))


def _is_forward(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis in FORWARD


def _one_way(step: ast.Expr) -> bool:
    return isinstance(step, ast.AxisStep) and step.axis in ("child", "attribute", "self")


def parted(e: ast.Path | ast.SimpleMap) -> tuple[ast.Expr, ast.Expr]:
    """A path, or a map, without its last step; and that."""
    *steps, last = e.steps
    return (steps[0] if len(steps) == 1 else e.__class__(tuple(steps), span=e.span)), last


def counts(e: ast.Path | ast.SimpleMap) -> bool:
    """Whether a step looks at the position of its context item among those that the steps before it give."""
    return any(focus_of(step) & (POSITION | LAST) for step in e.steps[1:])


def only_nodes(e: ast.Expr) -> bool:
    """Whether an expression gives nodes by its form, so that it is true when there is one."""
    match e:
        case ast.AxisStep() | ast.Union():
            return True
        case ast.Path():
            return only_nodes(e.steps[-1])
        case ast.Filter():
            return only_nodes(e.base)
        case ast.Sequence():
            return bool(e.items) and all(only_nodes(part) for part in e.items)
    return False


def is_plain(e: ast.AxisStep | ast.Path) -> bool:
    """Whether a path is forward steps without predicates, from something that is known."""
    steps = (e,) if isinstance(e, ast.AxisStep) else e.steps
    rest = steps if isinstance(steps[0], ast.AxisStep) else steps[1:]
    base = isinstance(steps[0], ast.AxisStep | ast.VarRef | ast.ContextItem)
    return base and all(_is_forward(s) and not s.predicates for s in rest)  # type: ignore[attr-defined]  # axis steps


def _joined(a: ast.Expr, b: ast.Expr) -> ast.Expr:
    if NOTHING in (a, b):
        return a if b == NOTHING else b
    return ast.Sequence((a, b))

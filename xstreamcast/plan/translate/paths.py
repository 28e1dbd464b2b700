"""Paths of a translation: where one crosses a hole, the hole's fillers are asked for (SIGMOD'04 §6, Figure 4).

``e/a`` is a plain step where the structure says that ``a`` comes in the same fragment, ``child(., a)`` where it may
come through a hole. ``e//a`` is the chain of child steps that the structure has between them, or, where it has several,
``descendant(., a)``, which goes down only where ``a`` can be. In QaC+ the longest path from the root that ends in a
fragment is replaced by the fillers of its tsid. Steps go item by item (``!``), for fragments are trees apart and the
order of trees is not defined; that they are in document order is what the shapes are for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr
from xstreamcast.lang.scope import Expanded
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.translate.scope import MARK, Rewriting, Scope, Typed, fn, library, qname, sequence, variable
from xstreamcast.plan.translate.shapes import UNKNOWN, Shape, StreamTags, Tsid

DOWNWARD: Final = frozenset({"child", "attribute", "self", "descendant", "descendant-or-self", "namespace"})
ANY_NODE: Final = ast.AxisStep("descendant-or-self", ast.KindTest("node"))
BOOLEAN: Final = frozenset(
    {
        "not",
        "exists",
        "empty",
        "boolean",
        "true",
        "false",
        "contains",
        "starts-with",
        "ends-with",
        "matches",
        "deep-equal",
    }
)


@dataclass(frozen=True, slots=True)
class Down:
    """A step to elements of a name: child, or through any number of levels."""

    name: Expanded
    deep: bool
    step: ast.AxisStep
    length: int


def positional(predicate: Expr) -> bool:
    """Whether a predicate may count: by position() or last(), or because its value may be a number."""
    for node in descendants(predicate):
        if isinstance(node, ast.FunctionCall) and node.name.expanded in ((FN, "position"), (FN, "last")):
            return True
    if isinstance(predicate, ast.Path):
        return not isinstance(predicate.steps[-1], ast.AxisStep)
    if isinstance(predicate, ast.FunctionCall):
        return predicate.name.uri != FN or predicate.name.local not in BOOLEAN
    boolean = (
        ast.AxisStep, ast.And, ast.Or, ast.GeneralComparison, ast.ValueComparison, ast.AllenComparison,
        ast.NodeComparison, ast.Quantified, ast.InstanceOf, ast.CastableAs,
    )  # fmt: skip
    return not isinstance(predicate, boolean)


def without_focus(node: Expr) -> bool:
    """Whether an expression means the same whatever the context item is."""
    for part in descendants(node):
        if isinstance(part, ast.ContextItem | ast.AxisStep | ast.Root):
            return False
        if isinstance(part, ast.FunctionCall) and part.name.uri == FN and not part.args:
            return False
    return True


def element_name(test: ast.NodeTest) -> Expanded | None:
    """The name an element must have to pass a test, if it asks for one."""
    if isinstance(test, ast.NameTest | ast.ElementTest) and test.name is not None:
        return test.name.expanded
    return None


def any_element(test: ast.NodeTest) -> bool:
    """Whether a test passes elements by something other than one name."""
    return isinstance(test, ast.Wildcard) or (isinstance(test, ast.ElementTest) and test.name is None)


def then(before: Expr | None, step: Expr) -> Expr:
    """``before ! step``; before None is the context item."""
    if before is None:
        return step
    steps = before.steps if isinstance(before, ast.SimpleMap) else (before,)
    return ast.SimpleMap((*steps, step))


def reach(before: Expr | None, shape: Shape, step: Expr) -> Expr:
    """A step inside a fragment: ``before/step`` from one node, which reads better, and item by item from several."""
    return (slash if shape.single and not isinstance(before, ast.SimpleMap) else then)(before, step)


def slash(before: Expr | None, step: Expr) -> Expr:
    """``before/step``; before None is the context item."""
    if before is None:
        return step
    steps = before.steps if isinstance(before, ast.Path) else (before,)
    return ast.Path((*steps, step))


class Paths(Rewriting):
    """The rules of paths."""

    def path(self, node: ast.Path, scope: Scope) -> Typed:
        """``s1/s2/…``, as many steps at a time as one rule takes."""
        steps = node.steps
        at = 1
        before: Expr | None
        if isinstance(steps[0], ast.Root):
            before, shape = self.raw(steps[0], scope)
        elif isinstance(steps[0], ast.AxisStep):
            before, shape, at = None, scope.focus, 0
        else:
            before, shape = self.raw(steps[0], scope)
        while at < len(steps):
            before, shape, taken = self.steps(before, shape, steps[at:], scope)
            at += taken
        assert before is not None  # a path has steps
        return before, shape

    def lone_step(self, node: ast.AxisStep, scope: Scope) -> Typed:
        """A step from the context item."""
        found, shape, _ = self.steps(None, scope.focus, (node,), scope)
        return found, shape

    def steps(
        self, before: Expr | None, shape: Shape, steps: tuple[Expr, ...], scope: Scope
    ) -> tuple[Expr, Shape, int]:
        """The first rule that fits the next steps, and how many of them it takes."""
        step = steps[0]
        if shape.open and step == ANY_NODE and len(steps) > 1:
            found = self.deep_projection(before, shape, steps[1], scope)
            if found is not None:
                return *found, 2
        if not isinstance(step, ast.AxisStep):
            return *self.any_step(before, shape, step, scope), 1
        if step.axis not in DOWNWARD and not self.inside(step, shape):
            self.identity(shape, f"the {step.axis} axis leaves the fragment", step)
        if not shape.open:
            return self.plain_step(before, shape, steps, scope)
        if not shape.ordered or (shape.nested and step.axis != "attribute"):
            self.identity(shape, "a step from nodes that are not in document order, or lie inside each other", step)
        if self.strategy == "QaC+" and shape.tags == {None}:
            jumped = self.jump(shape, steps, scope)
            if jumped is not None:
                return jumped
        down = self.down(steps)
        if down is not None:
            return *self.go_down(before, shape, down, scope), down.length
        return *self.fragment_step(before, shape, step, scope), 1

    # ------------------------------------------------------------------------------------------- hole-free

    def plain_step(
        self, before: Expr | None, shape: Shape, steps: tuple[Expr, ...], scope: Scope
    ) -> tuple[Expr, Shape, int]:
        """Steps from nodes without holes: as they are; from trees apart, all at once for each item."""
        if shape.origins and (not shape.ordered or shape.nested):
            self.identity(shape, "a step from nodes that are not in document order, or lie inside each other", steps[0])
        apart = shape.apart and shape.ordered and before is not None
        taken = 1
        while apart and taken < len(steps) and isinstance(steps[taken], ast.AxisStep):
            taken += 1
        made: Expr | None = None
        focus = replace(shape, nested=False, single=False)
        for step in steps[:taken]:
            assert isinstance(step, ast.AxisStep)
            if step.axis not in DOWNWARD:
                self.identity(shape, f"the {step.axis} axis leaves the fragment", step)
            predicates = tuple(self.predicate(p, focus, scope) for p in step.predicates)
            if self.marked and step.axis == "attribute" and not isinstance(step.test, ast.NameTest):
                mark = ast.ValueComparison("ne", fn("name"), ast.StringLiteral(MARK))
                predicates = (mark, *predicates)
            made = slash(made, replace_predicates(step, predicates))
        assert made is not None
        return (then if apart else slash)(before, made), focus, taken

    def any_step(self, before: Expr | None, shape: Shape, step: Expr, scope: Scope) -> Typed:
        """A step that is an expression: one value for each item."""
        made, found = self.raw(step, scope.at(shape.one()))
        if not (shape.open or shape.apart or found.open or found.apart):
            if found.origins and not shape.single:
                self.identity(found, "a step that gives nodes in an order of its own", step)
            return slash(before, made), replace(found, ordered=found.ordered and shape.single)
        if shape.single:
            return then(before, made), found
        if not shape.ordered or shape.nested or not found.ordered:
            self.identity(found, "a step that gives nodes in an order of its own", step)
            self.identity(shape, "a step from nodes that are not in document order", step)
        return then(before, made), replace(found, single=False)

    def deep_projection(self, before: Expr | None, shape: Shape, step: Expr, scope: Scope) -> Typed | None:
        """``e//a?[t][p]`` is ``(e//a)?[t][p]`` where there is one way from e to a and neither t nor p counts."""
        around: list[ast.Filter | ast.IntervalProjection] = []
        while isinstance(step, ast.Filter | ast.IntervalProjection):
            around.insert(0, step)
            step = step.base
        if not around or not isinstance(step, ast.AxisStep) or step.axis != "child":
            return None
        name = element_name(step.test)
        if name is None or UNKNOWN in shape.tags or self.tags[shape.stream].chain(shape.tags, name) is None:
            return None
        for part in around:
            bounds = (part.begin, part.end) if isinstance(part, ast.IntervalProjection) else ()
            counted = any(map(positional, part.predicates)) if isinstance(part, ast.Filter) else False
            if counted or not all(bound is None or without_focus(bound) for bound in bounds):
                return None
        node, made, _ = self.steps(before, shape, (ANY_NODE, step), scope)
        for part in around:
            if isinstance(part, ast.IntervalProjection):
                node, made = self.projected_to((node, made), part, scope)
            else:
                node = self.filtered(node, part.predicates, made, scope)
        return node, made

    def predicate(self, predicate: Expr, focus: Shape, scope: Scope) -> Expr:
        """A predicate: its context item is one of the nodes before it."""
        return self.exists(predicate, scope.at(focus.one()))

    def filtered(self, found: Expr, predicates: Iterable[Expr], shape: Shape, scope: Scope) -> Expr:
        """``found[p1][p2]``."""
        made = tuple(self.predicate(p, shape, scope) for p in predicates)
        if not made:
            return found
        if isinstance(found, ast.AxisStep):
            return replace_predicates(found, (*found.predicates, *made))
        return ast.Filter(found, made)

    # ------------------------------------------------------------------------------------ from fragment to fragment

    def inside(self, step: ast.AxisStep, shape: Shape) -> bool:
        """Whether a step to the parent stays in the fragment: the tag is embedded, and there is one such node."""
        if not shape.open or not shape.single or step.axis != "parent":
            return False
        tags = self.tags[shape.stream]
        return all(
            tsid is not None and tsid != UNKNOWN and tags.embedded(tsid) and None not in tags.parents(tsid)
            for tsid in shape.tags
        )

    def down(self, steps: tuple[Expr, ...]) -> Down | None:
        """``a``, ``descendant::a`` or ``//a`` next."""
        step = steps[0]
        assert isinstance(step, ast.AxisStep)
        name = element_name(step.test)
        if name is not None and step.axis in ("child", "descendant"):
            return Down(name, step.axis == "descendant", step, 1)
        if step == ANY_NODE and len(steps) > 1:
            following = steps[1]
            if isinstance(following, ast.AxisStep) and following.axis == "child":
                name = element_name(following.test)
                if name is not None:
                    return Down(name, True, following, 2)
        return None

    def child_step(self, name: Expanded) -> Down:
        """A child step that the query does not have: part of a chain."""
        prefix = "" if not name[0] and self.bare_names else None
        return Down(name, False, ast.AxisStep("child", ast.NameTest(ast.Name(prefix, name[1], name[0]))), 0)

    def go_down(self, before: Expr | None, shape: Shape, down: Down, scope: Scope) -> Typed:
        """To the elements of a name: child by child where the structure says how."""
        tags = self.tags[shape.stream]
        counts = any(map(positional, down.step.predicates))
        if not down.deep:
            return self.child(before, shape, down, scope)
        if UNKNOWN not in shape.tags and not (counts and down.length == 1):
            chain = tags.chain(shape.tags, down.name)
            if chain is not None:
                for tsid in chain[:-1]:
                    before, shape = self.child(before, shape, self.child_step(tags.name(tsid)), scope)
                return self.child(before, shape, down, scope)
        if counts and down.length == 2:  # //a[1] is the first of each parent, which descendant() does not know
            self.identity(shape, "positions among children that are reached on several ways", down.step)
        return self.search(before, shape, down, scope)

    def child(self, before: Expr | None, shape: Shape, down: Down, scope: Scope) -> Typed:
        """``e/a``: a step where a is embedded, else through the holes."""
        tags = self.tags[shape.stream]
        found: frozenset[Tsid] = frozenset(
            tags.named({child for tsid in shape.tags for child in tags.children(tsid)}, down.name)
        )
        known = bool(found) and UNKNOWN not in shape.tags
        made = replace(shape, tags=found if known else found | {UNKNOWN}, single=False)
        direct = not any(map(tags.holes, shape.tags)) or (
            known and all(tsid is not None and tags.embedded(tsid) for tsid in found)
        )
        if direct:
            plain = ast.AxisStep("child", down.step.test)
            return reach(before, shape, self.filtered(plain, down.step.predicates, made, scope)), made
        fillers = library("child", self.stream_map(shape.stream), ast.ContextItem(), qname(down.name))
        return then(before, self.filtered(fillers, down.step.predicates, made, scope)), made

    def search(self, before: Expr | None, shape: Shape, down: Down, scope: Scope) -> Typed:
        """``e//a`` on several ways, or on unknown ones."""
        tags = self.tags[shape.stream]
        targets = tags.named(tags.descendants(shape.tags), down.name)
        blind = UNKNOWN in shape.tags or not targets
        through: set[int] = set() if blind else tags.through(shape.tags, targets)
        nested = blind or bool(targets & tags.descendants(targets))
        found: frozenset[Tsid] = frozenset({UNKNOWN}) if blind else frozenset(targets)
        made = replace(shape, tags=found, nested=nested, single=False)
        if blind:
            every = library(
                "descendant", self.stream_map(shape.stream), ast.ContextItem(), ast.Sequence(), ast.Sequence()
            )
            fillers: Expr = ast.Filter(every, (ast.AxisStep("self", down.step.test),))
        else:
            names = sequence(
                [qname(name) for name in sorted({tags.name(tsid) for tsid in through})] or [ast.Sequence()]
            )
            fillers = library("descendant", self.stream_map(shape.stream), ast.ContextItem(), qname(down.name), names)
        return then(before, self.filtered(fillers, down.step.predicates, made, scope)), made

    def fragment_step(self, before: Expr | None, shape: Shape, step: ast.AxisStep, scope: Scope) -> Typed:
        """Steps by something other than one name."""
        tags = self.tags[shape.stream]
        left = Shape(origins=frozenset({shape.stream}), ordered=True, apart=True)
        test = step.test
        if step.axis == "attribute":
            return reach(before, shape, self.filtered(bare(step), step.predicates, left, scope)), left
        if step.axis == "self":
            name = element_name(test)
            kept = shape.tags
            if name is not None:
                kept = frozenset(t for t in kept if t is not None and (t == UNKNOWN or tags.name(t) == name)) or kept
            made = replace(shape, tags=kept)
            return reach(before, shape, self.filtered(bare(step), step.predicates, made, scope)), made
        if step.axis == "parent":
            above = frozenset(parent for tsid in shape.tags if tsid is not None for parent in tags.parents(tsid))
            made = replace(shape, tags=above)
            return reach(before, shape, self.filtered(bare(step), step.predicates, made, scope)), made
        if step.axis == "child" and any_element(test):
            below: frozenset[Tsid] = frozenset(child for tsid in shape.tags for child in tags.children(tsid))
            made = replace(shape, tags=frozenset({UNKNOWN}) if UNKNOWN in shape.tags else below, single=False)
            if not any(map(tags.holes, shape.tags)):
                return reach(before, shape, self.filtered(bare(step), step.predicates, made, scope)), made
            nodes = library("child", self.stream_map(shape.stream), ast.ContextItem(), ast.Sequence())
            chosen = ast.Filter(nodes, (ast.AxisStep("self", test),))
            return then(before, self.filtered(chosen, step.predicates, made, scope)), made
        if step.axis == "child" and not any(map(tags.holes, shape.tags)) and not isinstance(test, ast.KindTest):
            return reach(before, shape, self.filtered(bare(step), step.predicates, left, scope)), left
        if step.axis == "child" and test == ast.KindTest("text") and not any(map(tags.holes, shape.tags)):
            return reach(before, shape, self.filtered(bare(step), step.predicates, left, scope)), left
        # Anything may be among the nodes: the elements are made whole, and the step is an ordinary one.
        node, made = self.whole((before if before is not None else ast.ContextItem(), shape))
        found, made, _ = self.plain_step(node, made, (step,), scope)
        return found, made

    # ----------------------------------------------------------------------------------------------------- QaC+

    def jump(self, shape: Shape, steps: tuple[Expr, ...], scope: Scope) -> tuple[Expr, Shape, int] | None:
        """The fillers of a tsid instead of the longest path from the document node that leads to all of them."""
        tags = self.tags[shape.stream]
        reached: list[frozenset[Tsid]] = [frozenset({None})]
        downs: list[Down] = []
        best: tuple[Down, frozenset[Tsid], list[Down], int] | None = None
        at = 0
        while at < len(steps) and isinstance(steps[at], ast.AxisStep):
            down = self.down(steps[at:])
            if down is None or (downs and downs[-1].step.predicates):
                break
            at += down.length
            parts = self.parts(reached[-1], down, tags)
            for number, part in enumerate(parts, 1):
                below = {child for tsid in reached[-1] for child in tags.children(tsid)}
                candidates = tags.descendants(reached[-1]) if part.deep else below
                reached.append(frozenset(tags.named(candidates, part.name)))
                downs.append(part)
                if not reached[-1]:
                    return None
                if self.addressable(reached, downs, tags):
                    best = part, reached[-1], parts[number:], at
        if best is None:
            return None
        part, found, rest, taken = best
        node, made = self.by_tsid(shape, part, found, scope)
        for down in rest:
            node, made = self.child(node, made, down, scope)
        return node, made, taken

    def parts(self, sources: frozenset[Tsid], down: Down, tags: StreamTags) -> list[Down]:
        """``//a`` as child steps where there is one way."""
        chain = tags.chain(sources, down.name) if down.deep and down.length == 2 else None
        if chain is None:
            return [down]
        return [*[self.child_step(tags.name(tsid)) for tsid in chain[:-1]], replace(down, deep=False)]

    def addressable(self, reached: list[frozenset[Tsid]], downs: list[Down], tags: StreamTags) -> bool:
        """Whether the elements reached last are exactly those that come in fragments of their tsids."""
        targets = {tsid for tsid in reached[-1] if tsid is not None}
        if not all(map(tags.fragment, targets)) or any(map(positional, downs[-1].step.predicates)):
            return False
        ancestors = tags.ancestors(targets)
        if self.rooted and any(map(tags.timed, ancestors)):
            return False  # each version of a parent has them once more
        if tags.named(tags.embedded_below(ancestors), downs[-1].name):
            return False  # an embedded tag of the same name hides one that came inline
        now: set[Tsid] = set(targets)
        for level in range(len(downs), 0, -1):
            sources = reached[level - 1]
            if downs[level - 1].deep:
                if sources != {None} and now & tags.avoiding(sources):
                    return False
                now = set(sources)
            else:
                now = {parent for tsid in now if tsid is not None for parent in tags.parents(tsid)}
                if not now <= sources:
                    return False
        return True

    def by_tsid(self, shape: Shape, down: Down, found: frozenset[Tsid], scope: Scope) -> Typed:
        """``/fragments/filler[@tsid = …]/a``."""
        tags = self.tags[shape.stream]
        targets = frozenset(tsid for tsid in found if tsid is not None)
        ids = sequence([ast.IntegerLiteral(tsid) for tsid in sorted(targets)])
        nested = bool(targets & tags.descendants(targets))
        made = replace(shape, tags=found, single=False, nested=nested)
        stream = self.stream_map(shape.stream)
        if self.rooted:
            arrivals = variable(f"{self.identifiers[shape.stream]}-arrivals")
            fillers: Expr = library("all_fillers_by_tsid", stream, arrivals, ids, qname(down.name))
        else:
            above: list[Expr] = [ast.IntegerLiteral(tsid) for tsid in sorted(tags.ancestors(targets))]
            fillers = library("fillers_by_tsid", stream, ids, sequence(above), qname(down.name))
        return self.filtered(fillers, down.step.predicates, made, scope), made


def bare(step: ast.AxisStep) -> ast.AxisStep:
    """A step without its predicates."""
    return replace_predicates(step, ())


def replace_predicates(step: ast.AxisStep, predicates: tuple[Expr, ...]) -> ast.AxisStep:
    """A step with other predicates."""
    return ast.AxisStep(step.axis, step.test, predicates, span=step.span)

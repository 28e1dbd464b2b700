"""Paths that can match nothing, by the tag structures of the streams they look at.

An abstract run of the query: the value of an expression is the set of tags its nodes can have, or None where
nothing is known. A child or descendant step by name from known tags to none is a mistake in the query, or the
structure is not the one meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Module, Node, Span
from xstreamcast.lang.scope import Expanded, did_you_mean
from xstreamcast.lang.walk import bound_by, children
from xstreamcast.model.namespaces import STREAM
from xstreamcast.model.structure import Structure

Place: TypeAlias = tuple[str, int | None]
"""A stream's name and a tag id; None is the document node."""
Reach: TypeAlias = frozenset[Place] | None
Variables: TypeAlias = dict[Expanded, Reach]

SAME = (ast.Ordering, ast.TreatAs, ast.IntervalProjection, ast.VersionProjection)
"""Expressions whose nodes are those of their first part."""


def unmatched_paths(module: Module, structures: Mapping[str, Structure]) -> tuple[ast.Warning, ...]:
    """A warning for every step that no document of its stream can match."""
    check = Check(structures)
    for declaration in module.prolog:
        if isinstance(declaration, ast.VariableDecl):
            reach = check.value(declaration.value, {**check.globals}, None) if declaration.value else None
            check.globals[declaration.name.expanded] = reach
    for declaration in module.prolog:
        if isinstance(declaration, ast.FunctionDecl) and declaration.body is not None:
            check.value(declaration.body, dict(check.globals), None)
    if module.body is not None:
        check.value(module.body, dict(check.globals), None)
    return tuple(check.warnings)


class Check:
    """The abstract run: collects warnings on its way."""

    def __init__(self, structures: Mapping[str, Structure]) -> None:
        self.structures = structures
        self.globals: Variables = {}
        self.warnings: list[ast.Warning] = []

    def value(self, node: Node, variables: Variables, focus: Reach) -> Reach:
        """What an expression's nodes can be, given its variables and its context item."""
        if isinstance(node, ast.FLWOR):
            return self.flwor(node, dict(variables), focus)
        if isinstance(node, ast.Path):
            return self.path(node, variables, focus)
        if isinstance(node, ast.AxisStep):
            return self.predicated(self.step(node, focus), node.predicates, variables)
        if isinstance(node, ast.Filter):
            return self.predicated(self.value(node.base, variables, focus), node.predicates, variables)
        if isinstance(node, ast.VarRef):
            return variables.get(node.name.expanded)
        if isinstance(node, ast.ContextItem):
            return focus
        if isinstance(node, ast.FunctionCall):
            return self.call(node, variables, focus)
        if isinstance(node, ast.Quantified):
            inner = dict(variables)
            for binding in node.bindings:
                inner[binding.var.expanded] = self.value(binding.source, inner, focus)
            self.value(node.condition, inner, focus)
            return None
        if isinstance(node, ast.SimpleMap):
            for step in node.steps:
                focus = self.value(step, variables, focus)
            return focus
        found = [self.value(child, variables, self.inner_focus(node, focus)) for child in children(node)]
        if isinstance(node, SAME):
            return found[0]
        if isinstance(node, ast.Sequence | ast.Union):
            return union(found)
        if isinstance(node, ast.If):
            return union(found[1:])
        return None

    def inner_focus(self, node: Node, focus: Reach) -> Reach:
        """The context item of a node's parts: function bodies have none of their own."""
        return None if isinstance(node, ast.InlineFunction) else focus

    def predicated(self, reach: Reach, predicates: Iterable[Expr], variables: Variables) -> Reach:
        """A filtered sequence: its predicates look at its own items."""
        for predicate in predicates:
            self.value(predicate, variables, reach)
        return reach

    def call(self, node: ast.FunctionCall, variables: Variables, focus: Reach) -> Reach:
        """``stream("name")`` gives a document node; what other functions give is not known."""
        for arg in node.args:
            self.value(arg, variables, focus)
        if node.name.expanded == (STREAM, "stream") and isinstance(node.args[0], ast.StringLiteral):
            name = node.args[0].value
            if name in self.structures:
                return frozenset({(name, None)})
        return None

    def flwor(self, node: ast.FLWOR, variables: Variables, focus: Reach) -> Reach:
        """Clauses bind what they range over; grouping keeps it."""
        for clause in node.clauses:
            source, items, atomic = bound_by(clause)
            if source is None:
                self.value(clause, variables, focus)
            else:
                variables |= dict.fromkeys([name.expanded for name in items], self.value(source, variables, focus))
            variables |= dict.fromkeys([name.expanded for name in atomic])
            if isinstance(clause, ast.WindowClause):
                for condition in (clause.start, clause.end):
                    if condition is not None:
                        self.value(condition.when, variables, focus)
        return self.value(node.result, variables, focus)

    # --------------------------------------------------------------------------------------------- steps

    def path(self, node: ast.Path, variables: Variables, focus: Reach) -> Reach:
        """Each step from where the one before it ended."""
        reach = focus
        for step in node.steps:
            reach = self.value(step, variables, reach)
        return reach

    def step(self, node: ast.AxisStep, focus: Reach) -> Reach:
        """The tags one step leads to; a warning if there are none."""
        if not focus:  # unknown, or already warned about
            return None
        test = node.test
        name = test.name if isinstance(test, ast.NameTest | ast.ElementTest) else None
        if isinstance(test, ast.KindTest) and test.kind != "node":
            return None
        if isinstance(test, ast.AttributeTest | ast.PITest | ast.DocumentTest | ast.SchemaTest):
            return None
        found = self.along(node.axis, focus)
        if found is None:
            return None
        matching = frozenset(place for place in found if self.matches(place, test, name))
        if matching:
            return matching
        if name is not None and node.axis in ("child", "descendant", "descendant-or-self"):
            self.warn(name, found, focus, node.span)
        return None

    def along(self, axis: str, focus: frozenset[Place]) -> frozenset[Place] | None:
        """Where an axis leads; None where a structure cannot tell."""
        if axis == "self":
            return focus
        found: set[Place] = set()
        for stream, tsid in sorted(focus, key=_rank):
            structure = self.structures[stream]
            if axis == "child":
                found.update((stream, child) for child in below(structure, tsid))
            elif axis in ("descendant", "descendant-or-self"):
                tops = below(structure, tsid)
                found.update((stream, tag) for tag in (*tops, *structure.descendants(tops)))
                if axis == "descendant-or-self":
                    found.add((stream, tsid))
            elif axis == "parent" and tsid is not None:
                found.update((stream, parent) for parent in above(structure, tsid))
            else:
                return None
        return frozenset(found)

    def matches(self, place: Place, test: ast.NodeTest, name: ast.Name | None) -> bool:
        """Whether a tag passes a node test."""
        stream, tsid = place
        if isinstance(test, ast.KindTest):
            return True
        if tsid is None:
            return False
        uri, local = split(self.structures[stream].tag(tsid).name)
        if isinstance(test, ast.Wildcard):
            return test.local in (None, local) and test.uri in (None, uri)
        return name is None or name.expanded == (uri, local)

    def warn(self, name: ast.Name, found: frozenset[Place], focus: frozenset[Place], span: Span) -> None:
        """Adds the warning for a step to nowhere, once."""
        streams = ", ".join(sorted({stream for stream, _ in focus}))
        place = min(focus, key=_rank)
        parent = "the root" if place[1] is None else self.structures[place[0]].path(place[1])
        message = f"nothing matches {name.lexical}: the structure of stream {streams} has none below {parent}"
        known = [
            split(self.structures[stream].tag(tsid).name)[1]
            for stream, tsid in sorted(found, key=_rank)
            if tsid is not None
        ]
        hint = did_you_mean(name.local, known)
        deeper = self.along("descendant", focus) or frozenset()
        if any(self.matches(place, ast.NameTest(name), name) for place in deeper):
            hint = f"it lies deeper: write //{name.lexical}"
        warning = ast.Warning(message, hint, span=span)
        if warning not in self.warnings:
            self.warnings.append(warning)


def union(reaches: list[Reach]) -> Reach:
    """Either of several: known only if each is."""
    found: set[Place] = set()
    for reach in reaches:
        if reach is None:
            return None
        found |= reach
    return frozenset(found)


def below(structure: Structure, tsid: int | None) -> tuple[int, ...]:
    """The children of a tag, or of the document node."""
    if tsid is not None:
        return structure.tag(tsid).children
    return structure.tag(structure.root).children if structure.unnamed else (structure.root,)


def above(structure: Structure, tsid: int) -> tuple[int | None, ...]:
    """The parents of a tag; None for the document node."""
    if tsid == structure.root:
        return (None, *structure.parents[tsid])
    parents = structure.parents[tsid]
    return tuple(None if structure.unnamed and parent == structure.root else parent for parent in parents)


def split(name: str) -> Expanded:
    """``{uri}local`` as a pair."""
    uri, brace, local = name[1:].partition("}")
    return (uri, local) if brace and name.startswith("{") else ("", name)


def _rank(place: Place) -> tuple[str, int]:
    """Places in the order of their streams and tags, the document node first."""
    return place[0], -1 if place[1] is None else place[1]

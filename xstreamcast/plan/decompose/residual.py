"""The rest of an expression when variables stand for the units in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import ERR, FN
from xstreamcast.plan.algebra import Fold, Group, Reduce, Slice, Unit, VarName, Versions
from xstreamcast.plan.decompose.collect import bound_in
from xstreamcast.plan.decompose.folds import is_one
from xstreamcast.plan.decompose.record import Correlation, Functions
from xstreamcast.plan.decompose.record_paths import Blocking
from xstreamcast.plan.decompose.reordered import refuse_steps
from xstreamcast.plan.decompose.spread import OUTSIDE
from xstreamcast.plan.passes.dependence import call_key, focus_of
from xstreamcast.plan.passes.order_to_marks import is_choice
from xstreamcast.plan.passes.shapes import is_fn, nodes
from xstreamcast.plan.passes.variables import binders, free
from xstreamcast.scan.path import Path

_DOWN: Final = ("child", "descendant", "descendant-or-self", "attribute", "self")
_MERGING: Final = (ast.NodeComparison, ast.Union, ast.Intersect, ast.Except, ast.Root)
_VALUES: Final = (Reduce, Fold, Group, Versions)
"""Reductions to something else than nodes of records: values, functions, copies."""
_NAME_FUNCTIONS: Final = frozenset(("name", "local-name", "namespace-uri", "node-name"))


class Residual(ABC):
    """An expression over some roots, of which units are made: what is not a unit is left, with their variables in it.

    ``lets`` are the variables that what is left of the query binds around the place being looked at: a unit that reads
    one gets the binding as well. ``loops`` are variables of its loops, which no unit can read, with what they range
    over where that is known before a scan.
    """

    functions: Functions
    joins: Correlation | None

    def __init__(self, roots: Mapping[VarName, Path]) -> None:
        self.roots = dict(roots)
        self.units: list[Unit] = []
        self.in_order: set[VarName] = set()
        """The units whose nodes are all of their own records."""
        self.lets: dict[VarName, ast.LetClause] = {}
        self.loops: dict[VarName, ast.Expr | None] = {}

    @abstractmethod
    def unit(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        """The expression as a unit, if it is one: the unit's variable, or what calls its value."""

    @abstractmethod
    def mark(self) -> Callable[[], None]:
        """Gives a function that forgets the units that have been made since."""

    @abstractmethod
    def unit_of(self, e: ast.Expr) -> Unit | None:
        """The unit that a variable stands for."""

    def residual(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        """The rest of an expression; ``unbounded``: its value may be as long as the document."""
        if not self.reads(e) or self.is_part(e):
            return e
        forget = self.mark()
        try:
            return self.unit(e, unbounded)
        except Blocking as failure:
            forget()
            first = failure
        try:
            return self.left(e, unbounded)
        except Blocking as failure:
            raise (failure if first.reason == OUTSIDE else first) from None

    def reads(self, e: ast.Node) -> bool:
        """Whether an expression reads a root."""
        return bool(free(e) & self.roots.keys())

    @property
    def alone(self) -> bool:
        """Whether there is one document: what every piece of it has, pieces of another have not."""
        return len(self.roots) == 1

    def is_part(self, e: ast.Expr) -> bool:
        """Whether an expression looks at no more of a nest's element than its name or an attribute of it."""
        if isinstance(e, ast.FunctionCall) and len(e.args) == 1:
            return e.name.uri == FN and e.name.local in _NAME_FUNCTIONS and self.is_open(e.args[0])
        if isinstance(e, ast.Path) and len(e.steps) == 2 and isinstance(e.steps[1], ast.AxisStep):
            step = e.steps[1]
            return self.is_open(e.steps[0]) and step.axis == "attribute" and not step.predicates
        return False

    def is_root(self, e: ast.Expr) -> bool:
        return isinstance(e, ast.VarRef) and e.name.expanded in self.roots

    def is_open(self, e: ast.Expr) -> bool:
        return isinstance(e, ast.VarRef) and bool(self.roots.get(e.name.expanded, Path()).steps)

    def left(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        """The expression with what is left of its operands."""
        match e:
            case ast.VarRef():
                raise Blocking(e, "the whole document is looked at")
            case ast.Sequence():
                return ast.Sequence(tuple([self.residual(item, unbounded) for item in e.items]), span=e.span)
            case ast.FLWOR():
                return self.flwor(e, unbounded)
            case ast.If():
                condition = self.condition(e.condition)
                then, otherwise = self.residual(e.then, unbounded), self.residual(e.otherwise, unbounded)
                return ast.If(condition, then, otherwise, span=e.span)
            case ast.And() | ast.Or():
                return e.__class__(tuple([self.condition(operand) for operand in e.operands]), span=e.span)
            case ast.FunctionCall() if is_fn(e, "not", 1) or is_fn(e, "boolean", 1):
                return ast.FunctionCall(e.name, (self.condition(e.args[0]),), span=e.span)
            case ast.FunctionCall() if is_fn(e, "unordered", 1):
                return ast.FunctionCall(e.name, (self.residual(e.args[0], unbounded),), span=e.span)
            case ast.TryCatch():
                return self.caught(e)
            case ast.FunctionCall() if is_choice(e):
                raise Blocking(e, "what comes before or after elements is looked for in the whole document")
            case ast.NodeComparison() | ast.Union() | ast.Intersect() | ast.Except():
                raise Blocking(e, "nodes from different places of the document are compared")
            case ast.Path():
                return self.path(e)
            case ast.Filter():
                return self.parts(e, False)
            case ast.DirectElement() | ast.ComputedElement() | ast.ComputedDocument():
                return self.parts(e, True)
            case ast.Quantified():
                return self.quantified(e)
            case ast.InlineFunction():
                before = self.loops
                self.loops = before | dict.fromkeys(param.name.expanded for param in e.params)
                made = self.parts(e, False)
                self.loops = before
                return made
            case ast.Typeswitch():
                self.loops |= dict.fromkeys(name.expanded for part in (e, *e.cases) for name in binders(part))
                return self.parts(e, False)
            case _:
                return self.parts(e, False)

    def parts(self, e: ast.Expr, unbounded: bool) -> ast.Expr:
        def change(part: ast.Node) -> ast.Node:
            return self.residual(part, unbounded) if isinstance(part, ast.Expr) else rebuild(part, change)

        return rebuild(e, change)

    def path(self, e: ast.Path) -> ast.Expr:
        """Steps down from a single node that a unit gives."""
        first = self.residual(e.steps[0], False)
        unit = self.unit_of(first)
        single = unit is not None and is_one(unit.reduction)
        if self.joins is not None and unit is not None and unit.variable in self.in_order:
            if not single:
                self.units[self.units.index(unit)] = replace(unit, each=None)
            single = True  # its nodes are in order, and none of a record is within another's
        # Versions are copies, each in a tree of its own.
        copied = isinstance(first, ast.VersionProjection) if unit is None else isinstance(unit.reduction, Versions)
        copied = copied and self.joins is not None
        if not copied and not single:
            raise Blocking(e, "nodes from different places of the document are merged")
        if any(self.reads(step) for step in e.steps[1:]):
            raise Blocking(e, "the whole document is read for each node")
        made = ast.Path((first, *e.steps[1:]), span=e.span)
        return self.kept_below(made) if copied else made

    def kept(self, e: ast.Expr) -> ast.Expr:
        """The rest of an expression, if it stays within the nodes that units have kept for it."""
        kept = {unit.variable for unit in self.units if isinstance(unit.reduction, Slice | Fold | Group)}
        if self.joins is not None and not isinstance(e, ast.VarRef):
            kept |= {unit.variable for unit in self.units if not isinstance(unit.reduction, Reduce)}
        return self.kept_below(e) if free(e) & kept else e

    def kept_below(self, e: ast.Expr) -> ast.Expr:
        """An expression that stays within the nodes it is given."""
        for part in descendants(e):
            key = call_key(part)
            far = isinstance(part, _MERGING) or (isinstance(part, ast.AxisStep) and part.axis not in _DOWN)
            if far or (key is not None and not self.functions.stays(key)):
                assert isinstance(part, ast.Expr)
                raise Blocking(part, "it leaves the parts of the document that are kept")
        several = [unit for unit in self.units if not isinstance(unit.reduction, _VALUES)]
        ordered = [one.variable for one in several if one.variable in self.in_order or is_one(one.reduction)]
        # copies by versions, and what groups keep, are in trees of their own
        apart = [one.variable for one in self.units if isinstance(one.reduction, Versions | Group)]
        refuse_steps(e, [one.variable for one in several if one.variable not in ordered], [*ordered, *apart])
        return e

    def flwor(self, e: ast.FLWOR, unbounded: bool) -> ast.Expr:
        clauses: list[ast.Clause] = []
        bound: list[VarName] = []
        loops = dict(self.loops)
        for clause in e.clauses:
            match clause:
                case ast.LetClause():
                    value = self.residual(clause.value, False)
                    made = ast.LetClause(clause.var, clause.type, value, span=clause.span)
                    if free(value) & self.loops.keys():
                        self.loops[clause.var.expanded] = None  # as good as one of a loop
                    else:
                        self.lets[clause.var.expanded] = made
                        bound.append(clause.var.expanded)
                    clauses.append(made)
                case ast.WhereClause():
                    clauses.append(ast.WhereClause(self.condition(clause.condition), span=clause.span))
                case _:
                    clauses.append(rebuild(clause, self.operand))
                    self.loops |= dict.fromkeys(name.expanded for name in bound_in(clause))
                    if isinstance(clause, ast.ForClause) and self.before_scans(clause.source):
                        self.loops[clause.var.expanded] = clause.source
        result = self.residual(e.result, unbounded)
        for name in bound:
            del self.lets[name]
        self.loops = loops
        return ast.FLWOR(tuple(clauses), result, span=e.span)

    def caught(self, e: ast.TryCatch) -> ast.Expr:
        """The rest of a ``try``: the error of a unit is met where its variable is read."""
        if self.joins is None:
            raise Blocking(e, "an error must be caught where it happens")
        for catch in e.catches:
            read = {
                part.name.local for part in descendants(catch) if isinstance(part, ast.VarRef) and part.name.uri == ERR
            }
            if read - {"code"} or (read and self.reads(catch.handler)):
                raise Blocking(e, "what an error says of itself is known where it happens")
        return self.parts(e, False)

    def before_scans(self, e: ast.Expr) -> bool:
        """Whether an expression is the same wherever it stands, and no document has a part in it."""
        return not self.reads(e) and not focus_of(e) and not free(e) & (self.loops.keys() | self.lets.keys())

    def operand(self, part: ast.Node) -> ast.Node:
        return self.residual(part, False) if isinstance(part, ast.Expr) else rebuild(part, self.operand)

    def condition(self, e: ast.Expr) -> ast.Expr:
        """An expression of which only the effective boolean value counts: nodes are there, or not."""
        if self.reads(e) and (nodes(e) or is_choice(e)) and not self.is_part(e):
            return self.residual(ast.FunctionCall(ast.Name("fn", "exists", FN), (e,), span=e.span), False)
        return self.residual(e, False)

    def quantified(self, e: ast.Quantified) -> ast.Expr:
        bindings = []
        for binding in e.bindings:
            source = self.residual(binding.source, False)
            bindings.append(ast.QuantifiedBinding(binding.var, binding.type, source, span=binding.span))
            self.loops[binding.var.expanded] = None
        return ast.Quantified(e.every, tuple(bindings), self.condition(e.condition), span=e.span)

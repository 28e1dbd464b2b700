"""The analysis behind projection: an expression's abstract value, and what it looks at on the way.

Marian and Siméon's projection paths, for all of XQuery 3.1. Evaluating an expression on abstract values records

* ``keep(p)`` for every step that leads to ``p``: the nodes must be there to be counted, tested, ordered, compared by
  identity, navigated from;
* ``read(v)`` for every use of what is *in* nodes: atomisation, copying, the result of the query.

A projected document has all nodes of what is kept, whose child is whose is as it was, and what is read is whole: then
each step finds on it what it finds on the whole document, and so does the query.

:mod:`xstreamcast.plan.projection.flow` has the book-keeping, and how values flow through functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from xstreamcast.lang import ast
from xstreamcast.model.namespaces import ERR
from xstreamcast.plan.algebra import PLAN
from xstreamcast.plan.projection.flow import MOST_PLACES, Flow
from xstreamcast.plan.projection.paths import AXES, Place, attributes, follow, is_upward, kinds_of, widen
from xstreamcast.plan.projection.values import NOTHING, OPAQUE, READER, Closure, Scope, Value, join

_DOWNWARD: Final = frozenset({"child", "descendant", "attribute"})


class Analysis(Flow):
    """The abstract value of every construct of XQuery 3.1 and XCQL."""

    # --------------------------------------------------------------------------------------------------- functions

    def function_call(self, e: ast.FunctionCall, scope: Scope) -> Value:
        args = [self.value(arg, scope) for arg in e.args]
        if not any(isinstance(arg, ast.Placeholder) for arg in e.args):
            return self.named(e.name, args, scope.focus, e)
        for at, arg in enumerate(args):
            self.flow((at, id(e)), arg)
        return self._captured("partial", e, scope)

    def named_function_ref(self, e: ast.NamedFunctionRef, scope: Scope) -> Value:
        return self._captured("named", e, scope)

    def _captured(self, kind: Any, e: ast.Node, scope: Scope) -> Value:
        """A function item that keeps the context item it was made with."""
        self.flow(("focus", id(e)), scope.focus)
        return Value(closures=frozenset({Closure(kind, self.number(e))}))

    def inline_function(self, e: ast.InlineFunction, scope: Scope) -> Value:
        value = self.converted(self.value(e.body, self.parameters(e.params, scope.at(NOTHING))), e.result)
        self.flow(("result", id(e)), value)
        return Value(closures=frozenset({Closure("inline", self.number(e))}))

    def dynamic_call(self, e: ast.DynamicCall, scope: Scope) -> Value:
        function = self.value(e.function, scope)
        args = [self.value(arg, scope) for arg in e.args]
        if any(isinstance(arg, ast.Placeholder) for arg in e.args):
            self.give_up()
        return self.apply(function, args)

    # ------------------------------------------------------------------------------------------------- expressions

    def value(self, e: ast.Expr, scope: Scope) -> Value:
        """The abstract value of an expression; what it looks at is recorded."""
        rule = _RULES.get(e.__class__)
        if rule is None:  # a construct this analysis was not told of
            self.give_up()
            return OPAQUE
        found: Value = rule(self, e, scope)
        return bounded(found)

    def atomic(self, e: ast.Expr, scope: Scope) -> Value:
        """All operands are atomised, or copied: literals, operators, comparisons of values, constructors."""
        for part in _operands(e):
            self.read(self.value(part, scope))
        return NOTHING

    def tested(self, e: ast.Expr, scope: Scope) -> Value:
        """Operands whose effective boolean value, identity or order is asked for."""
        for part in _operands(e):
            self.value(part, scope)
        return NOTHING

    def either(self, e: ast.Expr, scope: Scope) -> Value:
        """A value that is that of its operands, one after the other."""
        return join([self.value(part, scope) for part in _operands(e)])

    def intersect(self, e: ast.Intersect | ast.Except, scope: Scope) -> Value:
        found = self.value(e.left, scope)
        self.value(e.right, scope)
        return found

    def instance_of(self, e: ast.InstanceOf, scope: Scope) -> Value:
        self.typed(self.value(e.operand, scope), e.type)
        return NOTHING

    def treat_as(self, e: ast.TreatAs, scope: Scope) -> Value:
        return self.typed(self.value(e.operand, scope), e.type)

    def projection(self, e: ast.IntervalProjection | ast.VersionProjection, scope: Scope) -> Value:
        """XCQL's projections copy a subtree by the lifespans in it: those of what is read of the copy matter."""
        base, *bounds = [self.value(part, scope) for part in _operands(e)]
        self.read(*bounds)
        self.clip(base)
        return base

    # ------------------------------------------------------------------------------------------ variables and paths

    def var_ref(self, e: ast.VarRef, scope: Scope) -> Value:
        name = e.name.expanded
        known = scope.variables.get(name) or self.given.get(name)
        if known is not None:
            return self._mentioned(known)
        declared = self.variables.get(name)
        if declared is None:  # a variable of the host, or a unit's value: it holds atomised keys, if it is a function
            return READER if name[0] == PLAN else OPAQUE
        for declaration in declared:
            self.reach(declaration)
        return join([self.slots.get(("variable", id(declaration)), NOTHING) for declaration in declared])

    def context_item(self, e: ast.ContextItem, scope: Scope) -> Value:
        return self._mentioned(scope.focus)

    def _mentioned(self, value: Value) -> Value:
        for place in value.in_order:
            if place in self.starts:
                self.keep(place)
        return value

    def root(self, e: ast.Root, scope: Scope) -> Value:
        return self.roots(scope.focus)

    def axis_step(self, e: ast.AxisStep, scope: Scope) -> Value:
        return self._step(e, scope)

    def _step(self, e: ast.AxisStep, scope: Scope, within: bool = False, onward: bool = False) -> Value:
        """A step; ``within``: from the nodes of the focus and from all below them.

        ``onward``: only what is below its nodes matters, and where that is kept so are they.
        """
        if e.axis not in AXES:
            self.give_up()
            return NOTHING
        kinds = kinds_of(e.test, e.axis)
        found: set[Place] = set()
        for place in scope.focus.in_order:
            if within and e.axis == "attribute":
                found.update(attributes(place, kinds, True))
            else:
                found.update(follow(place, "descendant" if within else e.axis, kinds))
        value = self.typed(bounded(Value(frozenset(found))), e.test)
        if not is_upward(e.axis) and not onward:
            for place in Value(frozenset(found)).in_order:
                self.keep(place)
        self._predicates(e.predicates, scope.at(value))
        return value

    def _predicates(self, predicates: Sequence[ast.Expr], scope: Scope) -> None:
        for predicate in predicates:
            self.value(predicate, scope)

    def path(self, e: ast.Path, scope: Scope) -> Value:
        """Step by step; ``//`` is not a step to all nodes below, but widens the one after it."""
        value = scope.focus
        within = False
        for at, step in enumerate(e.steps):
            scope = scope.at(value)
            after = e.steps[at + 1] if at + 1 < len(e.steps) else None
            below = isinstance(after, ast.AxisStep) and after.axis in _DOWNWARD
            if below and is_double_slash(step):
                within = True
            elif isinstance(step, ast.AxisStep):
                onward = not step.predicates and after is not None and (below or is_double_slash(after))
                value, within = self._step(step, scope, within, onward), False
            else:
                value = self.value(step, scope)
        return value

    def filter(self, e: ast.Filter, scope: Scope) -> Value:
        value = self.value(e.base, scope)
        self._predicates(e.predicates, scope.at(value))
        return value

    def simple_map(self, e: ast.SimpleMap, scope: Scope) -> Value:
        value = scope.focus
        for step in e.steps:
            scope = scope.at(value)
            value = self.value(step, scope)
        return value

    # -------------------------------------------------------------------------------------------- maps and arrays

    def map_constructor(self, e: ast.MapConstructor, scope: Scope) -> Value:
        self.read(*[self.value(entry.key, scope) for entry in e.entries])
        return join([self.value(entry.value, scope) for entry in e.entries]) | READER

    def array(self, e: ast.SquareArray | ast.CurlyArray, scope: Scope) -> Value:
        return self.either(e, scope) | READER

    def lookup(self, e: ast.Lookup, scope: Scope) -> Value:
        if e.key is not None:
            self.read(self.value(e.key, scope))
        return scope.focus if e.base is None else self.value(e.base, scope)

    # ------------------------------------------------------------------------------------------ FLWOR and control

    def flwor(self, e: ast.FLWOR, scope: Scope) -> Value:
        for clause in e.clauses:
            scope = self.clause(clause, scope)
        return self.value(e.result, scope)

    def clause(self, clause: ast.Clause, scope: Scope) -> Scope:
        """The scope after a clause of a FLWOR expression."""
        if isinstance(clause, ast.ForClause):
            value = self.typed(self.value(clause.source, scope), clause.type)
            scope = scope.bind(clause.var.expanded, value)
            return scope if clause.position is None else scope.bind(clause.position.expanded, NOTHING)
        if isinstance(clause, ast.LetClause):
            return scope.bind(clause.var.expanded, self.typed(self.value(clause.value, scope), clause.type))
        if isinstance(clause, ast.WhereClause):
            self.value(clause.condition, scope)
            return scope
        if isinstance(clause, ast.WindowClause):
            return self._window(clause, scope)
        if isinstance(clause, ast.GroupClause):
            return self._group(clause, scope)
        if isinstance(clause, ast.OrderClause):
            self.read(*[self.value(key.key, scope) for key in clause.keys])
            return scope
        return scope.bind(clause.var.expanded, NOTHING)  # count

    def _window(self, clause: ast.WindowClause, scope: Scope) -> Scope:
        items = self.value(clause.source, scope)
        for condition in (clause.start, clause.end):
            if condition is not None:
                for name in (condition.current, condition.previous, condition.next):
                    scope = scope if name is None else scope.bind(name.expanded, items)
                if condition.position is not None:
                    scope = scope.bind(condition.position.expanded, NOTHING)
                self.value(condition.when, scope)
        return scope.bind(clause.var.expanded, self.typed(items, clause.type))

    def _group(self, clause: ast.GroupClause, scope: Scope) -> Scope:
        for key in clause.keys:
            value = self.value(ast.VarRef(key.var) if key.value is None else key.value, scope)
            self.read(self.typed(value, key.type))
            scope = scope.bind(key.var.expanded, NOTHING)
        return scope

    def quantified(self, e: ast.Quantified, scope: Scope) -> Value:
        for binding in e.bindings:
            scope = scope.bind(binding.var.expanded, self.typed(self.value(binding.source, scope), binding.type))
        self.value(e.condition, scope)
        return NOTHING

    def conditional(self, e: ast.If, scope: Scope) -> Value:
        self.value(e.condition, scope)
        return self.value(e.then, scope) | self.value(e.otherwise, scope)

    def switch(self, e: ast.Switch, scope: Scope) -> Value:
        self.read(self.value(e.operand, scope))
        found = self.value(e.default, scope)
        for case in e.cases:
            self.read(*[self.value(value, scope) for value in case.values])
            found |= self.value(case.result, scope)
        return found

    def typeswitch(self, e: ast.Typeswitch, scope: Scope) -> Value:
        operand = self.value(e.operand, scope)
        found = self.value(e.default, scope if e.default_var is None else scope.bind(e.default_var.expanded, operand))
        for case in e.cases:
            for type_ in case.types:
                self.typed(operand, type_)
            inner = scope if case.var is None else scope.bind(case.var.expanded, operand)
            found |= self.value(case.result, inner)
        return found

    def try_catch(self, e: ast.TryCatch, scope: Scope) -> Value:
        found = self.value(e.body, scope)
        caught = scope
        for local in ("code", "description", "module", "line-number", "column-number", "additional"):
            caught = caught.bind((ERR, local), NOTHING)
        caught = caught.bind((ERR, "value"), self.slots.get(("error object",), NOTHING))
        return found | join([self.value(catch.handler, caught) for catch in e.catches])


def bounded(value: Value) -> Value:
    """A value with not too many places."""
    return value if len(value.places) <= MOST_PLACES else Value(widen(value.places), value.closures)


def is_double_slash(step: ast.Expr) -> bool:
    """Whether a step is what ``//`` stands for."""
    return (
        isinstance(step, ast.AxisStep)
        and step.axis == "descendant-or-self"
        and step.test == ast.KindTest("node")
        and not step.predicates
    )


def _operands(e: ast.Node) -> list[ast.Expr]:
    """The expressions directly in one, through what is no expression itself (attributes of a direct element)."""
    found: list[ast.Expr] = []
    for name in ast.parts(e.__class__):
        value = getattr(e, name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, ast.Expr):
                found.append(part)
            elif isinstance(part, ast.Node):
                found += _operands(part)
    return found


_RULES: Final[Mapping[type[ast.Node], Callable[[Analysis, Any, Scope], Value]]] = {
    **dict.fromkeys(
        (
            *(ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral, ast.Placeholder),
            *(ast.Now, ast.Start, ast.Last, ast.InstantLiteral, ast.DurationLiteral, ast.AllenComparison),
            *(ast.GeneralComparison, ast.ValueComparison, ast.Concat, ast.Range, ast.Arithmetic, ast.Unary),
            *(ast.CastAs, ast.CastableAs, ast.StringConstructor, ast.DirectElement, ast.DirectComment, ast.DirectPI),
            *(ast.ComputedDocument, ast.ComputedElement, ast.ComputedAttribute, ast.ComputedText),
            *(ast.ComputedComment, ast.ComputedPI, ast.ComputedNamespace),
        ),
        Analysis.atomic,
    ),
    **dict.fromkeys((ast.Or, ast.And, ast.NodeComparison), Analysis.tested),
    **dict.fromkeys((ast.Sequence, ast.Union, ast.Ordering, ast.Extension), Analysis.either),
    **dict.fromkeys((ast.Intersect, ast.Except), Analysis.intersect),
    **dict.fromkeys((ast.SquareArray, ast.CurlyArray), Analysis.array),
    **dict.fromkeys((ast.IntervalProjection, ast.VersionProjection), Analysis.projection),
    ast.AxisStep: Analysis.axis_step,
    ast.ContextItem: Analysis.context_item,
    ast.DynamicCall: Analysis.dynamic_call,
    ast.FLWOR: Analysis.flwor,
    ast.Filter: Analysis.filter,
    ast.FunctionCall: Analysis.function_call,
    ast.If: Analysis.conditional,
    ast.InlineFunction: Analysis.inline_function,
    ast.InstanceOf: Analysis.instance_of,
    ast.Lookup: Analysis.lookup,
    ast.MapConstructor: Analysis.map_constructor,
    ast.NamedFunctionRef: Analysis.named_function_ref,
    ast.Path: Analysis.path,
    ast.Quantified: Analysis.quantified,
    ast.Root: Analysis.root,
    ast.SimpleMap: Analysis.simple_map,
    ast.Switch: Analysis.switch,
    ast.TreatAs: Analysis.treat_as,
    ast.TryCatch: Analysis.try_catch,
    ast.Typeswitch: Analysis.typeswitch,
    ast.VarRef: Analysis.var_ref,
}
"""The rule of each construct; one that is not here makes the documents wanted whole."""

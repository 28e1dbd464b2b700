"""The parts of a query that depend on its documents, and of which kind values are, as far as the syntax tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import children, descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.plan.focus import Analysis
from xstreamcast.plan.passes.variables import VarName
from xstreamcast.plan.sources import source_of

FunctionKey = tuple[VarName, int]


def function_key(function: ast.FunctionDecl) -> FunctionKey:
    """The key by which calls of a function are recognised."""
    return function.name.expanded, len(function.params)


def call_key(e: ast.Node) -> FunctionKey | None:
    """The function that an expression calls or refers to by name."""
    if isinstance(e, ast.FunctionCall):
        return e.name.expanded, len(e.args)
    if isinstance(e, ast.NamedFunctionRef):
        return e.name.expanded, e.arity
    return None


class Dependence:
    """Which variables and functions of a module have documents behind them.

    A variable of ``let`` or of the prolog has, when its value reads a document; one of ``for`` is an item of it, a
    record, and has not.
    """

    def __init__(self, module: ast.Module) -> None:
        self.functions = {function_key(d): d for d in module.prolog if isinstance(d, ast.FunctionDecl)}
        self.variables: set[VarName] = set()
        self.declared: set[VarName] = set()
        """Those of the variables that the prolog declares."""
        self.reading: set[FunctionKey] = set()
        self.recursive = {key for key in self.functions if self._reaches(key, key)}
        self._settle(module)

    def _settle(self, module: ast.Module) -> None:
        """The least fixed point: lets may read what is declared behind them only through functions."""
        size = -1
        while size != len(self.variables) + len(self.reading):
            size = len(self.variables) + len(self.reading)
            for part in descendants(module):
                if isinstance(part, ast.LetClause) and self.on(part.value):
                    self.variables.add(part.var.expanded)
                elif isinstance(part, ast.VariableDecl) and part.value is not None and self.on(part.value):
                    self.variables.add(part.name.expanded)
                    self.declared.add(part.name.expanded)
            for key, function in self.functions.items():
                if function.body is not None and self.on(function.body):
                    self.reading.add(key)

    def on(self, e: ast.Node) -> bool:
        """Whether an expression reads a document."""
        return any(self._reads(part) for part in descendants(e))

    def _reads(self, part: ast.Node) -> bool:
        if isinstance(part, ast.VarRef):
            name = part.name.expanded
            return name in self.variables or source_of(name) is not None
        return call_key(part) in self.reading

    def blame(self, e: ast.Node) -> ast.Expr | None:
        """A part of an expression that reads a document by way of the prolog."""
        for part in descendants(e):
            if isinstance(part, ast.Expr) and call_key(part) in self.reading:
                return part
            if isinstance(part, ast.VarRef) and part.name.expanded in self.declared:
                return part
        return None

    def _reaches(self, start: FunctionKey, goal: FunctionKey) -> bool:
        seen: set[FunctionKey] = set()
        waiting = [start]
        while waiting:
            function = self.functions[waiting.pop()]
            for part in descendants(function):
                key = call_key(part)
                if key == goal:
                    return True
                if key in self.functions and key not in seen:
                    assert key is not None
                    seen.add(key)
                    waiting.append(key)
        return False


ITEM, POSITION, LAST = 1, 2, 4
_FOCUSED: Final = {
    **dict.fromkeys(
        (
            *("string", "data", "name", "local-name", "namespace-uri", "node-name", "number", "string-length"),
            *("normalize-space", "root", "base-uri", "document-uri", "path", "has-children", "nilled", "generate-id"),
        ),
        0,
    ),
    **dict.fromkeys(("lang", "id", "idref", "element-with-id"), 1),
}


def takes_context_item(e: ast.FunctionCall | ast.NamedFunctionRef) -> bool:
    """Whether a library function's last argument, left out, is the context item."""
    arity = len(e.args) if isinstance(e, ast.FunctionCall) else e.arity
    return e.name.uri == FN and _FOCUSED.get(e.name.local) == arity


def focus_of(e: ast.Node) -> int:
    """Which parts of the focus around it an expression looks at: ITEM | POSITION | LAST."""
    match e:
        case ast.ContextItem() | ast.Root() | ast.AxisStep():
            return ITEM
        case ast.Path() | ast.SimpleMap():
            return focus_of(e.steps[0])
        case ast.Filter():
            return focus_of(e.base)
        case ast.InlineFunction():
            return 0
    own = ITEM if isinstance(e, ast.Lookup) and e.base is None else 0
    if isinstance(e, (ast.FunctionCall, ast.NamedFunctionRef)) and e.name.uri == FN:
        if e.name.local == "function-lookup":
            own = ITEM | POSITION | LAST
        elif takes_context_item(e):
            own = ITEM
        else:
            own = {"position": POSITION, "last": LAST}.get(e.name.local, 0)
    for child in children(e):
        own |= focus_of(child)
    return own


def repeatable(e: ast.Node) -> bool:
    """Whether evaluating an expression twice gives the same nodes."""
    return Analysis().repeatable(e)


def navigates(e: ast.Expr) -> bool:
    """Whether an expression's value is a sequence of any length, by its form; an aggregate's is not."""
    match e:
        case ast.VarRef() | ast.Path() | ast.Union() | ast.Intersect() | ast.Except() | ast.SimpleMap():
            return True
        case ast.Filter():
            return navigates(e.base)
        case ast.FLWOR():
            return any(isinstance(clause, ast.ForClause) for clause in e.clauses) or navigates(e.result)
        case ast.FunctionCall():
            return e.name.uri == FN and e.name.local in ("unordered", "data") and navigates(e.args[0])
        case _:
            return False


def satisfies(e: ast.Expr, declared: ast.SequenceType | None, values: Mapping[VarName, ast.Expr]) -> bool:
    """Whether a value is sure to match a type as it is, so that the type has no effect.

    ``values`` has what ``let`` and ``for`` bind variables to (or to an item of).
    """
    if declared is None:
        return True
    if declared.occurrence != "*":
        return False
    if isinstance(declared.item, ast.AnyItem):
        return True
    step = _last_step(e, values)
    if step is None:
        return False
    item = declared.item
    if isinstance(item, ast.KindTest):
        return item.kind == "node" or step.test == item
    elements = step.axis not in ("attribute", "namespace") and isinstance(
        step.test, (ast.NameTest, ast.Wildcard, ast.ElementTest)
    )
    attributes = step.axis == "attribute"
    name = step.test.name if isinstance(step.test, (ast.NameTest, ast.ElementTest, ast.AttributeTest)) else None
    if isinstance(item, ast.ElementTest if elements else ast.AttributeTest) and elements | attributes:
        assert isinstance(item, (ast.ElementTest, ast.AttributeTest))
        same = item.name is None or (name is not None and name.expanded == item.name.expanded)
        return item.type is None and same
    return False


def _last_step(e: ast.Expr, values: Mapping[VarName, ast.Expr]) -> ast.AxisStep | None:
    match e:
        case ast.AxisStep():
            return e
        case ast.Path():
            return _last_step(e.steps[-1], values)
        case ast.Filter():
            return _last_step(e.base, values)
        case ast.FLWOR():
            return _last_step(e.result, values)
        case ast.VarRef():
            value = values.get(e.name.expanded)
            return None if value is None else _last_step(value, values)
        case _:
            return None


def bindings(node: ast.Node) -> dict[VarName, ast.Expr]:
    """The expressions that the variables of ``let``, ``for`` and quantifiers are bound to, or to an item of."""
    found: dict[VarName, ast.Expr] = {}
    for part in descendants(node):
        if isinstance(part, ast.LetClause):
            found[part.var.expanded] = part.value
        elif isinstance(part, (ast.ForClause, ast.QuantifiedBinding)):
            found[part.var.expanded] = part.source
    return found


def repeated(e: ast.Node, name: VarName) -> bool:
    """Whether an expression may evaluate a variable more than once for one evaluation of itself."""
    if isinstance(e, ast.VarRef):
        return False
    reading = [part for part in children(e) if reads(part, name)]
    if not reading:
        return False
    if len(reading) > 1:
        return True
    part = reading[0]
    match e:
        case ast.Path() | ast.SimpleMap():
            once = part is e.steps[0]
        case ast.Filter():
            once = part is e.base
        case ast.FLWOR():
            once = not any(isinstance(clause, ast.ForClause | ast.WindowClause) for clause in _before(e, part))
        case ast.Quantified():
            once = part is e.bindings[0]
        case ast.InlineFunction() | ast.AxisStep() | ast.OrderClause():
            once = False
        case _:
            once = True
    return not once or repeated(part, name)


def _before(e: ast.FLWOR, part: ast.Node) -> tuple[ast.Clause, ...]:
    for number, clause in enumerate(e.clauses):
        if clause is part:
            return e.clauses[:number]
    return e.clauses


def reads(e: ast.Node, name: VarName) -> bool:
    """Whether a variable is read anywhere in a tree."""
    return any(isinstance(part, ast.VarRef) and part.name.expanded == name for part in descendants(e))

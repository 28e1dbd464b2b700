"""``collection()``: what a query asks of each of its documents by itself, and what is left to do with that.

    E(d₁, …, dₙ) = E(d₁) ++ … ++ E(dₙ)            R(E(d₁) ++ … ++ E(dₙ)) = R(E(d₁)) ⊕ … ⊕ R(E(dₙ))

E is a path that begins with the collection, or a loop over such a path; R an aggregate. The plan has one unit, whose
document stands for each of the collection in turn.

>>> from xstreamcast.lang.link import parse
>>> made = collected_plan(parse("<n>{ count(collection('in')//item) }</n>"))
>>> made.sources[0].uri, made.passes[0].units[0].reduction.function
('in', 'count')
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, cast

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants, rebuild
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.operators.aggregates import AGGREGATES
from xstreamcast.plan.algebra import PLAN, Concat, Pass, Plan, Reduce, Reduction, Source, Strategy, Unit, VarName
from xstreamcast.plan.decompose.plan import targets
from xstreamcast.plan.passes.dependence import ITEM, focus_of
from xstreamcast.plan.passes.variables import free

_DOCUMENT: Final[VarName] = (PLAN, "document of the collection")
_VALUE: Final[VarName] = (PLAN, "value of the collection")
_ELSEWHERE: Final = frozenset(
    (
        *("doc", "doc-available", "collection", "uri-collection", "id", "idref", "element-with-id", "function-lookup"),
        *("load-xquery-module", "transform"),
    )
)
_TUPLES: Final = (ast.ForClause, ast.LetClause, ast.WhereClause)


def collected_plan(module: ast.Module) -> Plan | None:
    """The plan of a query that reads one collection, known by its name, in one place; None if it is another.

    The name is the ``uri`` of its source, ``""`` of the default one.
    """
    assert module.body is not None
    calls = [part for each in (module, *module.imported) for part in descendants(each) if _reads(part)]
    if len(calls) != 1 or focus_of(module.body):
        return None
    (call,) = calls
    if not isinstance(call, ast.FunctionCall) or call.name.expanded != (FN, "collection"):
        return None
    name = call.args[0] if call.args else ast.StringLiteral("")
    if not isinstance(name, ast.StringLiteral):
        return None
    if all(part is not call for part in descendants(module.body)):
        return None
    work = _Collecting(call, _globals(module))
    rest = work.visit(module.body)
    if work.found is None:
        return None
    items, reduction = work.found
    if isinstance(items, ast.VarRef) and isinstance(reduction, Concat):
        return None  # whole documents would be sent to who does the rest
    source = Source(name.value, _DOCUMENT)
    unit = Unit(_VALUE, _DOCUMENT, items, (), reduction, module.body.span)
    output = unit if isinstance(rest, ast.VarRef) else rest
    step = Pass(source, (unit,), targets(module, [unit]))
    return Plan(module, Strategy.STREAM, (source,), (step,), (output,))


def _reads(e: ast.Node) -> bool:
    """Whether something reads documents."""
    if not isinstance(e, ast.FunctionCall | ast.NamedFunctionRef):
        return False
    return e.name.uri == STREAM or (e.name.uri == FN and e.name.local in _ELSEWHERE)


def _globals(module: ast.Module) -> frozenset[VarName]:
    assert module.static is not None
    declared = [each for each in module.prolog if isinstance(each, ast.VariableDecl)]
    return module.static.variables | {each.name.expanded for each in declared}


class _Collecting:
    """Finds E and R around a call, and puts a variable in their place."""

    def __init__(self, call: ast.FunctionCall, known: frozenset[VarName]) -> None:
        self.call = call
        self.known = known
        self.found: tuple[ast.Expr, Reduction] | None = None

    def visit(self, e: ast.Expr) -> ast.Expr:
        return cast(ast.Expr, self._change(e))

    def _change(self, e: ast.Node) -> ast.Node:
        if self.found is None and isinstance(e, ast.Expr):
            self.found = self._unit(e)
            if self.found is not None:
                return ast.VarRef(ast.Name("", _VALUE[1], _VALUE[0]), span=e.span)
        return rebuild(e, self._change)

    def _unit(self, e: ast.Expr) -> tuple[ast.Expr, Reduction] | None:
        reduction: Reduction = Concat()
        if isinstance(e, ast.FunctionCall) and e.name.uri == FN and e.name.local in AGGREGATES and len(e.args) < 3:
            first, *more = e.args
            if not all(self._known(each) for each in more):
                return None
            reduction = Reduce(e.name.local, more[0] if more else None)
            e = first
        items = self._each(e)
        return (items, reduction) if items is not None and self._known(items) else None

    def _known(self, e: ast.Expr) -> bool:
        """Whether an expression is the same wherever it is evaluated."""
        return not focus_of(e) and free(e) <= self.known | {_DOCUMENT}

    def _each(self, e: ast.Expr) -> ast.Expr | None:
        """An expression about one of the documents that, one after the other, gives what this one does of all."""
        if e is self.call:
            return ast.VarRef(ast.Name("", _DOCUMENT[1], _DOCUMENT[0]), span=e.span)
        match e:
            case ast.Path() | ast.SimpleMap():
                first = self._each(e.steps[0])
                # Numbers of items are of all documents; those of steps and predicates, of one node's.
                if first is None or any(focus_of(step) & ~ITEM for step in e.steps[1:]):
                    return None
                return replace(e, steps=(first, *e.steps[1:]))
            case ast.FLWOR():
                loop = e.clauses[0]
                if not isinstance(loop, ast.ForClause) or loop.position is not None or loop.allowing_empty:
                    return None
                source = self._each(loop.source)
                if source is None or not all(isinstance(clause, _TUPLES) for clause in e.clauses):
                    return None
                return replace(e, clauses=(replace(loop, source=source), *e.clauses[1:]))
            case _:
                return None

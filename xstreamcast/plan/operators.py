"""The operators of a plan, by the names of the algebra (DBPL'03 §4: Extract ρ, Select σ, Project π, Merge ∪,
Join ⋈, Unnest μ, Reduce Δ, Nest Γ, Construct θ, Sort), each with its class: does it block, what does it keep, how does
its output change.

>>> from xstreamcast.lang import parse
>>> from xstreamcast.plan.decompose.plan import plan
>>> print(operators(plan(parse("for $p in //person where $p/age > 30 return <p>{$p/name}</p>"))).outline())
Construct θ <p>
  Select σ $p/age > 30
    Extract ρ $p in //person
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Literal

from xstreamcast.lang import ast
from xstreamcast.lang.ast import NOWHERE, Expr, Span
from xstreamcast.lang.printer import to_xquery
from xstreamcast.lang.walk import children, descendants, rebuild
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.operators.aggregates import AGGREGATES
from xstreamcast.plan import algebra
from xstreamcast.plan.algebra import PLAN, Plan, Source, Strategy, Unit, VarName
from xstreamcast.plan.modes.ways import MODES
from xstreamcast.plan.sources import source_of

Blocking = Literal["pipeline", "progressive", "blocking"]
"""VLDB'05 §3.1: an operator hands out as it goes, at its end from a small state, or at its end from all its input."""
State = Literal["none", "depth", "window", "keys", "result", "input"]
Changelog = Literal["append", "upsert", "retract"]


class Symbol(Enum):
    """The operators of the algebra."""

    EXTRACT = "Extract ρ"
    SELECT = "Select σ"
    PROJECT = "Project π"
    MERGE = "Merge ∪"
    JOIN = "Join ⋈"
    UNNEST = "Unnest μ"
    REDUCE = "Reduce Δ"
    NEST = "Nest Γ"
    CONSTRUCT = "Construct θ"
    SORT = "Sort"


CLASSES: Final[Mapping[Symbol, tuple[Blocking, State, Changelog]]] = {
    Symbol.EXTRACT: ("pipeline", "window", "append"),
    Symbol.SELECT: ("pipeline", "none", "append"),
    Symbol.PROJECT: ("pipeline", "none", "append"),
    Symbol.MERGE: ("pipeline", "none", "append"),
    Symbol.UNNEST: ("pipeline", "none", "append"),
    Symbol.CONSTRUCT: ("pipeline", "none", "append"),
    Symbol.REDUCE: ("progressive", "result", "upsert"),
    Symbol.NEST: ("progressive", "keys", "upsert"),
    Symbol.JOIN: ("blocking", "keys", "retract"),
    Symbol.SORT: ("blocking", "keys", "retract"),
}
"""What an operator is unless its place in the plan says otherwise."""

REDUCTIONS: Final = frozenset({*AGGREGATES, "fold-left", "fold-right"})
CONSTRUCTORS: Final = (
    *(ast.DirectElement, ast.ComputedElement, ast.ComputedAttribute, ast.ComputedDocument, ast.ComputedText),
    *(ast.MapConstructor, ast.SquareArray, ast.CurlyArray),
)


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator and what it reads."""

    symbol: Symbol
    detail: str
    inputs: tuple[Operator, ...] = ()
    blocking: Blocking = "pipeline"
    state: State = "none"
    changelog: Changelog = "append"
    span: Span = NOWHERE
    unit: VarName | None = None
    """The unit whose value this makes."""
    source: Source | None = None
    """The document or stream that it reads itself."""

    def walk(self) -> Iterator[Operator]:
        """It and all it reads, from the answer to the inputs."""
        yield self
        for below in self.inputs:
            yield from below.walk()

    def outline(self, depth: int = 0) -> str:
        """One line each."""
        lines = [f"{'  ' * depth}{self.symbol.value} {self.detail}".rstrip()]
        return "\n".join([*lines, *(below.outline(depth + 1) for below in self.inputs)])


def operator(symbol: Symbol, detail: str, *inputs: Operator | None, span: Span = NOWHERE) -> Operator:
    """An operator of the class its symbol has. What it reads may make its output change in more ways."""
    blocking, state, changelog = CLASSES[symbol]
    below = tuple(each for each in inputs if each is not None)
    order: tuple[Changelog, ...] = ("append", "upsert", "retract")
    if symbol not in (Symbol.REDUCE, Symbol.NEST):
        changelog = max((changelog, *(each.changelog for each in below)), key=order.index)
    return Operator(symbol, detail, below, blocking, state, changelog, span)


def operators(plan: Plan) -> Operator | None:
    """The operators of a plan, the answer's at the top; None if it reads no document."""
    derivation = _Derivation(plan)
    if plan.strategy is Strategy.STREAM:
        parts = [derivation.part(part) for part in plan.output]
    else:
        body = plan.module.body
        parts = [] if body is None else [derivation.value(body, _Scope())]
    found = [part for part in parts if part is not None]
    if len(found) < 2:
        return found[0] if found else None
    return operator(Symbol.MERGE, "the answer", *found)


def numbered(top: Operator) -> Iterator[tuple[str, int, Operator]]:
    """(step id, depth, operator), from the answer to the inputs: s1, s2 …"""
    waiting = [(0, top)]
    number = 0
    while waiting:
        depth, each = waiting.pop()
        number += 1
        yield f"s{number}", depth, each
        waiting += [(depth + 1, below) for below in reversed(each.inputs)]


def shown(expr: ast.Node) -> str:
    """An expression of a plan as the query would have it: documents are ``/``, ``doc()`` or ``stream()`` again, members
    of a join their own context, and of holes that may be open nothing is said.

    >>> from xstreamcast.lang import parse
    >>> from xstreamcast.plan.passes.name_sources import name_sources
    >>> shown(name_sources(parse("count( //a )")).body)
    'count(//a)'
    """

    def change(node: ast.Node) -> ast.Node:
        if isinstance(node, ast.SimpleMap | ast.Path) and _is_member(node.steps[0]):
            return change(node.steps[1] if len(node.steps) == 2 else replace(node, steps=node.steps[1:]))
        if isinstance(node, ast.AxisStep | ast.Filter):
            node = replace(node, predicates=tuple(each for each in node.predicates if not _asks_of_holes(each)))
            node = node.base if isinstance(node, ast.Filter) and not node.predicates else node
        if _is_member(node):
            return ast.ContextItem()
        if isinstance(node, ast.VarRef):
            source = source_of(node.name.expanded)
            if source is None:
                return node
            if source.uri is None:
                return ast.Root()
            name = ast.Name("", "stream", STREAM) if source.stream else ast.Name("", "doc", FN)
            return ast.FunctionCall(name, (ast.StringLiteral(source.uri),))
        return rebuild(node, change)

    changed = change(expr)
    if any(isinstance(part, ast.FunctionCall) and part.name.uri == MODES for part in descendants(changed)):
        return "holes that are open"
    text = " ".join(to_xquery(changed).split())
    return "/" if text == "(/)" else text


def _is_member(node: ast.Node) -> bool:
    """Whether a variable of the plan stands for a member of a join."""
    return isinstance(node, ast.VarRef) and node.name.uri == PLAN and node.name.local.partition("-")[0] == "member"


def _asks_of_holes(e: ast.Expr) -> bool:
    """Whether an expression of a mode asks for holes that are open."""
    return any(isinstance(part, ast.FunctionCall) and part.name.uri == MODES for part in descendants(e))


@dataclass(frozen=True, slots=True)
class _Scope:
    """What variables are: of a loop around, or the value of operators."""

    loops: frozenset[VarName] = frozenset()
    values: tuple[tuple[VarName, Operator], ...] = ()

    def loop(self, name: ast.Name) -> _Scope:
        return replace(self, loops=self.loops | {name.expanded})

    def bind(self, name: ast.Name, value: Operator) -> _Scope:
        return replace(self, values=((name.expanded, value), *self.values))

    def find(self, name: VarName) -> Operator | None:
        return next((value for known, value in self.values if known == name), None)


class _Derivation:
    """From expressions to operators; None: it looks at one item only, and is part of the operator around it."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.alone = not plan.module.imported
        self.units = {unit.variable: unit for each in plan.passes for unit in each.units}

    def text(self, e: ast.Node) -> str:
        """An expression as the query wrote it; spans of imported modules are of another text."""
        if isinstance(e, ast.DirectElement):
            return f"<{e.name.lexical}>"
        if self.alone and e.span.start >= 0:
            return " ".join(self.plan.module.source.text[e.span.start : e.span.end].split())
        return shown(e)

    def named(self, name: ast.Name) -> str:
        """A variable as the query named it; passes give all bindings different names."""
        text = self.text(name) if self.alone and name.span.start >= 0 else ""
        return text if text.startswith("$") else f"${name.local}"

    # ------------------------------------------------------------------------------------------------- units

    def part(self, part: Unit | Expr) -> Operator | None:
        """A part of the output."""
        return self.unit(part) if isinstance(part, Unit) else self.value(part, _Scope())

    def unit(self, unit: Unit) -> Operator:
        """The items of a unit and what is made of them."""
        items = self.value(unit.items, _Scope())
        if items is None:
            items = operator(Symbol.PROJECT, shown(unit.items), span=unit.span)
        reduction = unit.reduction
        if isinstance(reduction, algebra.Group):
            made = operator(Symbol.NEST, reduced(reduction), items, span=unit.span)
        elif isinstance(reduction, algebra.Concat):
            return replace(items, unit=unit.variable)
        elif isinstance(reduction, algebra.Slice):
            made = operator(Symbol.SELECT, reduced(reduction), items, span=unit.span)
            made = replace(made, blocking="progressive", state="result")
        else:
            made = operator(Symbol.REDUCE, reduced(reduction), items, span=unit.span)
            if isinstance(reduction, algebra.Reduce) and reduction.function == "distinct-values":
                made = replace(made, state="keys")
        return replace(self.counting(made) if is_unseen(unit) else made, unit=unit.variable)

    def counting(self, made: Operator) -> Operator:
        """Nothing is kept of what is only counted."""
        inputs = tuple(replace(each, state="depth") if each.symbol is Symbol.EXTRACT else each for each in made.inputs)
        return replace(made, inputs=inputs)

    # ------------------------------------------------------------------------------------------- expressions

    def value(self, e: ast.Node, scope: _Scope) -> Operator | None:
        """The operators of an expression."""
        match e:
            case ast.VarRef():
                return self.variable(e, scope)
            case ast.Path() | ast.SimpleMap():
                return self.path(e, scope)
            case ast.Filter():
                base = self.value(e.base, scope)
                if base is None:
                    return None
                return operator(Symbol.SELECT, " and ".join(map(self.text, e.predicates)), base, span=e.span)
            case ast.FLWOR():
                return self.flwor(e, scope)
            case ast.FunctionCall() if e.name.uri == FN and e.name.local in REDUCTIONS and e.args:
                inputs = self.parts(e, scope)
                made = operator(Symbol.REDUCE, e.name.local, *inputs, span=e.span)
                if e.name.local == "distinct-values":
                    made = replace(made, state="keys")
                return made if inputs else None
            case ast.FunctionCall() if e.name.expanded in ((FN, "sort"), (FN, "reverse")):
                inputs = self.parts(e, scope)
                return operator(Symbol.SORT, f"{e.name.local}()", *inputs, span=e.span) if inputs else None
            case ast.FunctionCall() if e.name.expanded == (FN, "unordered"):
                return self.value(e.args[0], scope)
            case ast.Quantified():
                return self.quantified(e, scope)
            case ast.Sequence() | ast.Union():
                inputs = self.parts(e, scope)
                return inputs[0] if len(inputs) == 1 else operator(Symbol.MERGE, "", *inputs) if inputs else None
            case ast.DynamicCall() if isinstance(e.function, ast.VarRef) and e.function.name.expanded in self.units:
                return self.unit(self.units[e.function.name.expanded])
            case ast.If():
                condition = f"if ({self.text(e.condition)})"
                branches = [self.value(part, scope) for part in (e.then, e.otherwise)]
                decided = flattened([op for op in [self.value(e.condition, scope)] if op is not None])
                made = operator(Symbol.SELECT, condition, *branches, *decided, span=e.span)
                return made if made.inputs else None
            case _:
                inputs = flattened(self.parts(e, scope))
                symbol = Symbol.CONSTRUCT if isinstance(e, CONSTRUCTORS) else Symbol.PROJECT
                return operator(symbol, self.text(e), *inputs, span=e.span) if inputs else None

    def parts(self, e: ast.Node, scope: _Scope) -> list[Operator]:
        """The operators below an expression; an attribute or a map's entry is only around its own."""
        found: list[Operator] = []
        for child in children(e):
            made = self.value(child, scope) if isinstance(child, Expr) else None
            found += self.parts(child, scope) if not isinstance(child, Expr) else [made] if made is not None else []
        return found

    def variable(self, e: ast.VarRef, scope: _Scope) -> Operator | None:
        name = e.name.expanded
        if name in self.units:
            return self.unit(self.units[name])
        if source_of(name) is not None:
            return self.extract(e, e.span)
        return scope.find(name)

    def extract(self, path: Expr, span: Span) -> Operator:
        roots = [source_of(each.name.expanded) for each in descendants(path) if isinstance(each, ast.VarRef)]
        found = next((source for source in roots if source is not None), None)
        made = replace(operator(Symbol.EXTRACT, shown(path), span=span), source=found)
        return replace(made, state="input", blocking="blocking") if self.plan.strategy is Strategy.PROJECT else made

    def path(self, e: ast.Path | ast.SimpleMap, scope: _Scope) -> Operator | None:
        """Steps from a document are extracted, their predicates select; steps from a sequence project it."""
        first, rest = e.steps[0], list(e.steps[1:])
        if not (isinstance(first, ast.VarRef) and source_of(first.name.expanded) is not None):
            base = self.value(first, scope)
            return None if base is None else operator(Symbol.PROJECT, self.text(e), base, span=e.span)
        steps: list[ast.AxisStep] = []
        while rest and isinstance(rest[0], ast.AxisStep):
            steps.append(rest.pop(0))  # type: ignore[arg-type]  # an AxisStep, by the condition
        bare = [replace(step, predicates=()) for step in steps]
        made = self.extract(ast.Path((first, *bare)) if bare else first, e.span)
        predicates = [predicate for step in steps for predicate in step.predicates]
        predicates = [predicate for predicate in predicates if not mentions(predicate, scope.loops)]  # those join
        if predicates:
            inputs = [op for predicate in predicates for op in [self.value(predicate, scope)] if op is not None]
            made = operator(Symbol.SELECT, " and ".join(map(self.text, predicates)), made, *inputs, span=e.span)
        if rest:
            made = operator(Symbol.PROJECT, "/".join(map(self.text, rest)), made, span=e.span)
        return made

    def quantified(self, e: ast.Quantified, scope: _Scope) -> Operator | None:
        clauses: list[ast.Clause] = [
            ast.ForClause(b.var, b.type, False, None, b.source, span=b.span) for b in e.bindings
        ]
        loop = ast.FLWOR((*clauses, ast.WhereClause(e.condition)), ast.VarRef(e.bindings[-1].var), span=e.span)
        made = self.flwor(loop, scope)
        word = "every" if e.every else "some"
        return None if made is None else operator(Symbol.REDUCE, word, made, span=e.span)

    # ------------------------------------------------------------------------------------------------- FLWOR

    def flwor(self, e: ast.FLWOR, scope: _Scope) -> Operator | None:
        """Clauses as a pipeline: a second loop over documents joins, a ``let`` of one nests what it joined."""
        current: Operator | None = None
        outer = scope.loops
        for clause in e.clauses:
            match clause:
                case ast.ForClause() | ast.WindowClause():
                    current = self.loop(e, clause, current, scope)
                    if current is not None or scope.loops:
                        scope = scope.loop(clause.var)
                case ast.LetClause():
                    value = self.value(clause.value, scope)
                    if value is not None and current is None:
                        scope = scope.bind(clause.var, value)
                    elif value is not None and current is not None:
                        joined = self.join(current, value, clause.value, scope)
                        current = operator(Symbol.NEST, self.named(clause.var), joined, span=clause.span)
                        scope = scope.loop(clause.var)
                case ast.WhereClause():
                    current = self.where(clause, current, outer, scope)
                case ast.OrderClause() if current is not None:
                    keys = ", ".join(map(self.text, clause.keys))
                    current = operator(Symbol.SORT, f"by {keys}", current, span=clause.span)
                case ast.GroupClause() if current is not None:
                    keys = ", ".join(map(self.text, clause.keys))
                    current = replace(
                        operator(Symbol.NEST, f"by {keys}", current, span=clause.span), blocking="blocking"
                    )
                case ast.CountClause() if current is not None:
                    current = operator(Symbol.PROJECT, f"count {self.named(clause.var)}", current, span=clause.span)
                case _:
                    pass
        return self.result(e, current, scope)

    def where(
        self, clause: ast.WhereClause, current: Operator | None, outer: frozenset[VarName], scope: _Scope
    ) -> Operator | None:
        """A condition selects, unless a join has it: with the loop before it, or with one around."""
        condition = self.text(clause.condition)
        if current is not None and current.symbol is Symbol.JOIN and current.detail == condition:
            return current
        if current is not None and mentions(clause.condition, outer):
            return current
        other = self.value(clause.condition, scope)
        if current is None and other is None:
            return None
        return operator(Symbol.SELECT, condition, current, other, span=clause.span)

    def loop(
        self, e: ast.FLWOR, clause: ast.ForClause | ast.WindowClause, current: Operator | None, scope: _Scope
    ) -> Operator | None:
        """``for``: over a document, over what one item has, or over values that are no document's."""
        source = self.value(clause.source, scope)
        variable = self.named(clause.var)
        if source is None:
            local = operator(Symbol.UNNEST, f"{variable} in {self.text(clause.source)}", current, span=clause.span)
            return local if current is not None or not scope.loops else None
        source = bound(source, variable)
        if current is None:
            return source
        condition = next(
            (
                self.text(other.condition)
                for other in e.clauses
                if isinstance(other, ast.WhereClause) and mentions(other, {clause.var.expanded} | scope.loops) > 1
            ),
            "",
        )
        return operator(Symbol.JOIN, condition, current, source, span=clause.span)

    def join(self, current: Operator, other: Operator, e: ast.Node, scope: _Scope) -> Operator:
        """What a loop's body reads beside its own item: a value known before, or a join."""
        constant = other.symbol is Symbol.REDUCE and not mentions(e, scope.loops)
        if constant or self.plan.strategy is Strategy.STREAM:  # units do not read what is in a loop around them
            return replace(current, inputs=(*current.inputs, other))
        comparisons = (node for node in descendants(e) if isinstance(node, ast.GeneralComparison | ast.ValueComparison))
        condition = next((self.text(node) for node in comparisons if mentions(node, scope.loops)), "")
        return operator(Symbol.JOIN, condition, current, other, span=other.span)

    def result(self, e: ast.FLWOR, current: Operator | None, scope: _Scope) -> Operator | None:
        """What ``return`` makes of a tuple."""
        made = self.value(e.result, scope)
        if current is None:
            return made
        if made is not None:
            inputs = made.inputs if made.symbol in (Symbol.CONSTRUCT, Symbol.PROJECT, Symbol.REDUCE) else (made,)
            for other in inputs:
                current = self.join(current, other, e.result, scope)
        if isinstance(e.result, ast.VarRef) and e.result.name.expanded in scope.loops:
            return current
        if isinstance(e.result, ast.FunctionCall) and e.result.name.expanded == (FN, "true"):
            return current  # only whether there is one counts
        symbol = Symbol.CONSTRUCT if isinstance(e.result, CONSTRUCTORS) else Symbol.PROJECT
        return operator(symbol, self.text(e.result), current, span=e.result.span)


def flattened(inputs: list[Operator]) -> list[Operator]:
    """Without what only passes values on to an expression around it."""
    found: list[Operator] = []
    for each in inputs:
        found += each.inputs if each.symbol is Symbol.PROJECT and each.unit is None else (each,)
    return found


def bound(made: Operator, variable: str) -> Operator:
    """The variable of a loop stands where its items come from, below what selects them."""
    if made.symbol is Symbol.SELECT and made.inputs:
        return replace(made, inputs=(bound(made.inputs[0], variable), *made.inputs[1:]))
    return replace(made, detail=f"{variable} in {made.detail}")


def is_unseen(unit: Unit) -> bool:
    """Whether a unit only asks whether its nodes are there, or how many."""
    counts = isinstance(unit.reduction, algebra.Reduce) and unit.reduction.aggregate.counts
    return unit.path is not None and counts


def keys_of(group: algebra.Group) -> str:
    """The keys of groups, as they are said of an item."""
    return ", ".join(shown(key.steps[-1] if isinstance(key, ast.SimpleMap) else key) for key in group.keys)


def reduced(reduction: algebra.Reduction) -> str:
    """A reduction in words."""
    match reduction:
        case algebra.Reduce():
            more = "" if reduction.argument is None else f"(…, {shown(reduction.argument)})"
            return reduction.function + more
        case algebra.Slice():
            if reduction.last == reduction.first:
                return f"item {reduction.first}"
            return f"items {reduction.first} to {'the end' if reduction.last is None else reduction.last}"
        case algebra.Fold():
            return "associative fold" if reduction.associative else "left fold"
        case algebra.Group():
            return f"{reduced(reduction.inner)} by {keys_of(reduction)}"
        case _:
            return "items"


def mentions(e: ast.Node, names: frozenset[VarName] | set[VarName]) -> int:
    """How many of some variables an expression reads."""
    read = {node.name.expanded for node in descendants(e) if isinstance(node, ast.VarRef)}
    return len(read & names)

"""What a projection analysis finds out on its way: places that are kept or read, and what flows through functions.

Functions are analysed once for all their callers: parameters and results are *slots* that only grow, and the query is
evaluated again until none does. Recursion could grow them for ever; then a slot is widened to all that is below the
common prefix of its places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.plan.algebra import PLAN
from xstreamcast.plan.modes.ways import MODES
from xstreamcast.plan.projection import library
from xstreamcast.plan.projection.paths import ANY_ELEMENT, Place, VarName, includes, widen
from xstreamcast.plan.projection.values import NOTHING, OPAQUE, Closure, Scope, Value, join
from xstreamcast.scan.path import Path

Slot = tuple[object, ...]
FunctionName = tuple[str, str, int]

_EXACT_ROUNDS: Final = 3  # in which slots grow as they are; a call chain without recursion needs few more
MOST_PLACES: Final = 40  # in one value


class Flow(ABC):
    """What is declared, and what has been found out so far."""

    def __init__(self, modules: Sequence[ast.Module], expr: ast.Expr) -> None:
        self.functions: dict[FunctionName, list[ast.FunctionDecl]] = {}
        self.variables: dict[VarName, list[ast.VariableDecl]] = {}
        for module in modules:
            for declaration in module.prolog:
                if isinstance(declaration, ast.FunctionDecl):
                    key = (*declaration.name.expanded, len(declaration.params))
                    self.functions.setdefault(key, []).append(declaration)
                elif isinstance(declaration, ast.VariableDecl):
                    self.variables.setdefault(declaration.name.expanded, []).append(declaration)
        self.given: Mapping[VarName, Value] = {}
        """The roots that are variables; functions see them too."""
        self.starts: frozenset[Place] = frozenset()
        """The places of the roots: nobody stepped to them, so they are recorded where they are mentioned."""
        self.kept: dict[Place, bool] = {}
        """Where nodes must be, and whether whole."""
        self.inherited: set[VarName] = set()
        """Attributes that are asked for of nodes and of all their ancestors."""
        self.clipped: dict[Place, None] = {}
        """The nodes of which copies were made by lifespans."""
        self.everything = False
        self.coerces = any(
            isinstance(part, ast.FunctionTest) and part.params is not None
            for top in (*modules, expr)
            for part in descendants(top)
        )
        """Whether functions may be wrapped so that their arguments and results are converted on the way."""
        self.asks_for_holes = any(map(_asks_for_holes, [part for top in (*modules, expr) for part in descendants(top)]))
        """Whether it is asked for open holes: those in a copy count as open, whatever is read of it."""
        self.slots: dict[Slot, Value] = {}
        self.reached: dict[int, ast.FunctionDecl | ast.VariableDecl] = {}
        self.nodes: list[ast.Node] = []
        """What makes function items, by number."""
        self._numbers: dict[int, int] = {}
        self._grown = False
        self._round = 0

    # ------------------------------------------------------------------------------------------- what is recorded

    def keep(self, place: Place) -> None:
        """The nodes at a place must be there."""
        self.kept.setdefault(place, False)

    def read(self, *values: Value) -> None:
        """What is in the nodes of some values must be there."""
        for value in values:
            for place in value.in_order:
                self.kept[place] = True

    def clip(self, value: Value) -> None:
        """The nodes of a value must be there, with their lifespans, and with those of all that is read below them."""
        if self.asks_for_holes:
            self.read(value)
        for place in value.in_order:
            self.keep(place)
            self.clipped[place] = None

    def give_up(self) -> None:
        """Nobody knows what is looked at."""
        self.everything = True

    def roots(self, value: Value) -> Value:
        """The document nodes above some nodes."""
        found = Value(frozenset(Place(place.root, Path()) for place in value.places))
        for place in found.in_order:
            self.keep(place)
        return found

    # ---------------------------------------------------------------------------------------------- the fix-point

    @abstractmethod
    def value(self, e: ast.Expr, scope: Scope) -> Value:
        """The abstract value of an expression; what it looks at is recorded."""

    def run(self, start: Callable[[], None]) -> None:
        """Evaluate until nothing grows; ``start`` evaluates the query itself."""
        self._grown = True
        while self._grown:
            self._grown = False
            start()
            for declaration in list(self.reached.values()):
                if isinstance(declaration, ast.FunctionDecl):
                    self._function(declaration)
                else:
                    self._variable(declaration)
            self._round += 1

    def flow(self, slot: Slot, value: Value) -> Value:
        """Add to a slot; its value with what was added."""
        old = self.slots.get(slot, NOTHING)
        new = {
            place
            for place in value.places - old.places
            if not any(includes(known.path.steps, place.path.steps) for known in old.places if known.root == place.root)
        }
        closures = old.closures | value.closures
        if not new and len(closures) == len(old.closures):
            return old
        places = old.places.union(new)
        if new and (self._round > _EXACT_ROUNDS or len(places) > MOST_PLACES):
            places = widen(places)
        self._grown = True
        self.slots[slot] = Value(places, closures)
        return self.slots[slot]

    def number(self, e: ast.Node) -> int:
        """The number of a syntax node that makes a function item."""
        number = self._numbers.setdefault(id(e), len(self.nodes))
        if number == len(self.nodes):
            self.nodes.append(e)
        return number

    def reach(self, declaration: ast.FunctionDecl | ast.VariableDecl) -> None:
        if id(declaration) not in self.reached:
            self.reached[id(declaration)] = declaration
            self._grown = True

    def _function(self, declaration: ast.FunctionDecl) -> None:
        """The body of a declared function, for all arguments it is called with."""
        if declaration.body is None:  # external
            self.give_up()
            return
        scope = self.parameters(declaration.params, Scope())
        value = self.converted(self.value(declaration.body, scope), declaration.result)
        self.flow(("result", id(declaration)), value)

    def _variable(self, declaration: ast.VariableDecl) -> None:
        value = OPAQUE if declaration.external else NOTHING
        if declaration.value is not None:
            value |= self.value(declaration.value, Scope())
        self.typed(value, declaration.type)
        self.flow(("variable", id(declaration)), value)

    def parameters(self, params: Sequence[ast.Param], scope: Scope) -> Scope:
        for param in params:
            scope = scope.bind(param.name.expanded, self.slots.get(("parameter", id(param)), NOTHING))
        return scope

    # --------------------------------------------------------------------------------------------------- functions

    def _bind(self, params: Sequence[ast.Param], args: Iterable[Value]) -> None:
        for param, arg in zip(params, args, strict=False):
            self.flow(("parameter", id(param)), self.converted(arg, param.type))

    def converted(self, value: Value, type_: ast.SequenceType | None) -> Value:
        """A value after the function conversion rules (XQuery 3.1 §3.1.5.2): where atomic items are due, it is read."""
        if type_ is not None and isinstance(type_.item, ast.AtomicType):
            self.read(value)
            return NOTHING
        return self.typed(value, type_)

    def typed(self, value: Value, type_: ast.Node | None) -> Value:
        """A value that is held against a type: ``document-node(element(n))`` looks at the children of documents."""
        if type_ is not None:
            for part in descendants(type_):
                if isinstance(part, ast.DocumentTest) and part.content is not None:
                    for place in value.in_order:
                        if place.is_document:
                            self.keep(place.down(ANY_ELEMENT))
        return value

    def apply(self, function: Value, args: Sequence[Value]) -> Value:
        """The value of calling what a value may hold."""
        if self.coerces:
            self.read(*args)
        made = join([self._call(closure, function, args) for closure in sorted(function.closures, key=_number)])
        if self.coerces:
            self.read(made)
        return made

    def most_parameters(self, function: Value) -> int:
        """How many parameters the functions in a value have at most."""
        return max([self._arity(closure) for closure in function.closures], default=0)

    def _arity(self, closure: Closure) -> int:
        made = self.nodes[closure.key] if closure.key >= 0 else None
        if isinstance(made, ast.InlineFunction):
            return len(made.params)
        if isinstance(made, ast.NamedFunctionRef):
            return made.arity
        if isinstance(made, ast.FunctionCall):
            return len(made.args)
        return 1

    def _call(self, closure: Closure, holder: Value, args: Sequence[Value]) -> Value:
        if closure.kind == "opaque":
            self.give_up()
            return holder
        if closure.kind == "reader":
            self.read(*args)
            return holder
        if closure.kind == "lookup":
            self.read(*args)
            return self.slots.get(("lookup",), NOTHING)
        made = self.nodes[closure.key]
        if isinstance(made, ast.InlineFunction):
            self._bind(made.params, args)
            return self.slots.get(("result", id(made)), NOTHING)
        focus = self.slots.get(("focus", id(made)), NOTHING)
        if isinstance(made, ast.NamedFunctionRef):
            return self.named(made.name, args[: made.arity], focus, made)
        assert isinstance(made, ast.FunctionCall)
        given = iter(args)
        whole = [
            next(given, NOTHING) if isinstance(arg, ast.Placeholder) else self.slots.get((at, id(made)), NOTHING)
            for at, arg in enumerate(made.args)
        ]
        return self.named(made.name, whole, focus, made)

    def named(self, name: ast.Name, args: Sequence[Value], focus: Value, site: ast.Node) -> Value:
        declared = self.functions.get((*name.expanded, len(args)))
        if declared is None:
            return library.call(self, name, args, focus, site)
        found = NOTHING
        for declaration in declared:
            self.reach(declaration)
            self._bind(declaration.params, args)
            found |= self.slots.get(("result", id(declaration)), NOTHING)
        return found


def _asks_for_holes(part: ast.Node) -> bool:
    """Whether a part of a query asks for open holes, or declares what stands for the answer."""
    if isinstance(part, ast.VariableDecl):
        return part.external and part.name.uri == PLAN
    return isinstance(part, ast.FunctionCall) and part.name.uri == MODES


def _number(closure: Closure) -> int:
    return closure.key

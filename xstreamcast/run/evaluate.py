"""Running generated code: the dynamic context of an evaluation, and errors put in their places."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from traceback import walk_tb
from types import CodeType
from typing import Any

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.lang import ast
from xstreamcast.lang.context import StaticContext
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.datetime import DateTime
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.tree import Node
from xstreamcast.run.compile.emit import Spot
from xstreamcast.run.compile.program import Program, compile_module
from xstreamcast.run.runtime.environment import ENVIRONMENT
from xstreamcast.run.runtime.functions import too_deep

VarName = tuple[str, str]
_numbers = count(1)
_DEPTH = 7_500  # frames; beyond, the C stack could overflow where functions are called from C


class Places:
    """From a line of generated code back to the query."""

    __slots__ = ("file", "spots")

    def __init__(self, file: str, spots: tuple[Spot, ...]) -> None:
        self.file = file
        self.spots = spots

    def locate(self, failure: XStreamError) -> None:
        """Give an error the place of the innermost expression it passed through."""
        if failure.place is not None:
            return
        line = 0
        for frame, number in walk_tb(failure.__traceback__):
            if frame.f_code.co_filename == self.file:
                line = number
        if line:
            source, span = self.spots[line - 1]
            failure.place = source.place(span)
            failure.excerpt = source.excerpt(span)

    def in_global(self, failure: XStreamError) -> bool:
        """Whether an error came out of computing a variable of the prolog."""
        return any(
            frame.f_code.co_filename == self.file and frame.f_code.co_name.startswith("G_")
            for frame, _ in walk_tb(failure.__traceback__ and failure.__traceback__.tb_next)
        )


_MISSING = object()


def _no_stream(name: str) -> Node:
    raise error("FODC0002", f'there is no stream "{name}"', hint="name it with streams= or --stream")


class EvaluationContext(DynamicContext):
    """The dynamic context of one evaluation.

    Generated code gets it without a focus; ``initial`` is the same with the context item. ``given`` are the values
    of external variables, ``globals`` those of the prolog's variables once computed. A context does not refer to
    itself, so that an evaluation's documents leave memory with it and not when Python next looks for cycles.
    """

    __slots__ = ("_initial", "_statics", "given", "given_item", "globals", "program", "stream")

    def __init__(
        self,
        program: Program,
        now: DateTime,
        item: Item | None = None,
        given: Mapping[VarName, list[Item]] | None = None,
        stream: Callable[[str], Node] = _no_stream,
        **doors: Any,
    ) -> None:
        super().__init__(program.static, now, **doors)
        self.given = given or {}
        self.given_item = item
        self.globals: dict[VarName, Any] = {}
        self.stream = stream
        self.program = program
        self._initial: EvaluationContext | None = None
        self._statics: dict[int, EvaluationContext] = {}

    @property
    def initial(self) -> EvaluationContext:
        """The context that the query starts with: it has a focus if there is a context item."""
        return self if self._initial is None else self._initial

    def begin(self, item: Item | None) -> None:
        """The context item is known."""
        self._initial = None
        if item is not None:
            made = self.focused(item, 1, 1)
            made._initial = None
            self._initial = made

    def unfocused(self) -> EvaluationContext:
        """The same evaluation as the bodies of the query's own functions see it."""
        made = self._copy()
        made.static, made.item, made.position, made.size = self.program.static, None, 0, 0
        return made

    def _copy(self) -> EvaluationContext:
        made = EvaluationContext.__new__(EvaluationContext)
        for slot in DynamicContext.__slots__:
            setattr(made, slot, getattr(self, slot))
        for slot in EvaluationContext.__slots__:
            setattr(made, slot, getattr(self, slot))
        made._initial = self.initial
        return made

    def focused(self, item: Item, position: int, size: int) -> EvaluationContext:
        made = self._copy()
        made.item, made.position, made.size = item, position, size
        return made

    def tick(self, now: DateTime) -> None:
        """The current time is another, between two evaluations."""
        self.moment = self.initial.moment = now
        for seen in self._statics.values():
            seen.moment = seen.initial.moment = now

    def with_static(self, static: StaticContext) -> EvaluationContext:
        """The same evaluation seen from a place with another static context."""
        made = self._statics.get(id(static))
        if made is None:
            made = self._copy()
            made.static = static
            made._initial = self.initial._copy()
            made._initial.static = static
            self._statics[id(static)] = made
        return made


def context_item(ctx: EvaluationContext) -> Item | None:
    """The context item the query starts with, computed from its declaration at the first use."""
    return ctx.initial.item


def given_value(ctx: EvaluationContext, key: VarName) -> list[Item]:
    """A variable that the host binds."""
    if key not in ctx.given:
        raise error("XPDY0002", f"${key[1]} has no value", hint="give it one: variables= or --var")
    return ctx.given[key]


def begin_global(ctx: EvaluationContext, key: VarName) -> list[Any] | None:
    """The value of a variable, in a list, if it is known; XQDY0054 if it is being computed."""
    known = ctx.globals.get(key, _MISSING)
    if known is _MISSING:
        ctx.globals[key] = None
        return None
    if known is None:
        raise error("XQDY0054", f"the value of ${key[1]} depends on itself")
    found: list[Any] = known
    return found


def end_global(ctx: EvaluationContext, key: VarName, value: Any) -> Any:
    ctx.globals[key] = [value]
    return value


class Executable:
    """A compiled query: run it any number of times, on any documents."""

    def __init__(self, module: ast.Module) -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEPTH))
        self.program = compile_module(module)
        self.places = Places(f"<query {next(_numbers)}>", self.program.spots)
        try:
            code: CodeType = compile(self.program.text, self.places.file, "exec")
        except (SyntaxError, RecursionError, MemoryError) as failure:
            # Python's own limits on nesting, which splitting code into functions has not avoided
            hint = "name parts of it: with let, or as functions"
            place = module.source.place(module.span)
            raise error("XPST0003", "expressions are nested too deeply", place, hint) from failure
        self.names: dict[str, Any] = {
            **ENVIRONMENT,
            **self.program.constants,
            "PLACES": self.places,
            "context_item": context_item,
            "begin_global": begin_global,
            "end_global": end_global,
            "given_value": given_value,
        }
        exec(code, self.names)

    def run(self, ctx: EvaluationContext) -> Iterator[Item]:
        """The items of the result, computed as they are asked for."""
        try:
            ctx.functions = self.function
            ctx.begin(self.names["default_item"](ctx))
            yield from self.names["main"](ctx)
        except XStreamError as failure:
            self.places.locate(failure)
            raise
        except RecursionError:
            raise too_deep() from None

    def calls(self, ctx: EvaluationContext, arguments: Iterable[Sequence[list[Item]]]) -> Iterator[list[Item]]:
        """What the function that is the result comes to, called with each of some lists of arguments of its types."""
        (made,) = self.run(ctx)
        call = made.body
        try:
            for given in arguments:
                yield call(given)
        except XStreamError as failure:
            self.places.locate(failure)
            raise
        except RecursionError:
            raise too_deep() from None

    def function(self, ctx: DynamicContext, name: QName, arity: int) -> FunctionItem | None:
        """The query's own function of a name, as a value."""
        maker = self.program.functions.get((name.uri, name.local, arity))
        if maker is None:
            return None
        assert isinstance(ctx, EvaluationContext)
        made: FunctionItem = self.names[maker](ctx.unfocused())
        return made

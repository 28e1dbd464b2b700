"""``fold-left`` and ``fold-right`` of a function written in place: a loop whose accumulator is a local variable.

    fold-left(E, Z, function($a, $i) { S })         a = Z; for i in E: a = S

A map that only the loop can see is changed in place (:mod:`~xstreamcast.run.compile.owned`).
The accumulator is held as one item where it can be seen to be one: the step is declared to give one, or gives one of
the kind that it was given.
"""

from __future__ import annotations

from dataclasses import replace

from xstreamcast.dataclass import dataclass
from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import descendants
from xstreamcast.model.namespaces import FN
from xstreamcast.run.compile.calls import held, inline, library
from xstreamcast.run.compile.compiler import Compiler
from xstreamcast.run.compile.expressions import each_once
from xstreamcast.run.compile.owned import OwnedMap, any_map, called, gives_back
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.types import sequence_type
from xstreamcast.run.compile.values import ITEMS, Rep, Type, Val, one, static_type, union


@inline("fold-left", 3)
def fold_left(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    return _fold(c, "fold-left", args, scope)


@inline("fold-right", 3)
def fold_right(c: Compiler, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    return _fold(c, "fold-right", args, scope)


def _fold(c: Compiler, name: str, args: tuple[ast.Expr, ...], scope: Scope) -> Val:
    items, zero, function = args
    if not isinstance(function, ast.InlineFunction) or len(function.params) != 2 or c.deep:
        entry = lookup(FN, name, 3)
        assert entry is not None
        return library(c, entry, args, scope)
    right = name == "fold-right"
    start = c.value(zero, scope)
    fold = _Fold(c, function, right, c.bind(one(c.item(start), start.type) if start.rep is Rep.ROW else start), scope)
    if fold.owned is not None and not right and not any(_is_function(part) for part in (function.body, items)):
        counted = _counted(c, fold, fold.owned, items, scope)
        if counted is not None:
            return counted
    with c.out.sealed():
        if right:
            val = c.value(items, scope)
            c.iterate(replace(val, code=f"reversed({val.code})") if val.rep is Rep.SEQ else val, fold.step)
        else:
            each_once(c, items, scope, fold.step)
    return fold.result()


def _counted(c: Compiler, fold: _Fold, owned: OwnedMap, items: ast.Expr, scope: Scope) -> Val | None:
    """A fold over a map that may stay one from strings to integers: written twice, for such a map and for others."""
    out = c.out
    counts = replace(owned, code=out.fresh("d"), counts=True)
    functions = len(out.module)
    with out.capture() as lines, out.sealed():
        with out.block(f"if {counts.code} is not None:"):
            each_once(c, items, scope, lambda item: fold.change(counts, item))
            out.line(f"{owned.code} = map_of_counts({counts.code})")
        with out.block("else:"):
            out.line(f"{owned.code} = dict({fold.zero.code}.entries())")
            if counts.code not in c.unfit:
                each_once(c, items, scope, lambda item: fold.change(owned, item))
            out.line(f"{owned.code} = map_of_entries({owned.code})")
    if counts.code in c.unfit:
        del out.module[functions:]  # what was written for numbers only
        return None
    out.line(f"{counts.code} = counts_of({fold.zero.code})")
    out.lines.extend(lines)
    return one(owned.code, Type("map", 1, False))


def _is_function(e: ast.Expr) -> bool:
    """Whether there are functions in an expression: each time that it is compiled is one more for them."""
    return any(isinstance(part, ast.InlineFunction) for part in descendants(e))


@dataclass(frozen=True, slots=True)
class _Form:
    """How the accumulator is held between two steps."""

    rep: Rep
    type: Type

    def named(self, code: str) -> Val:
        return Val(code, self.rep, self.type)

    def code(self, c: Compiler, val: Val) -> str:
        """A value in this form."""
        if self.rep is Rep.SEQ:
            return c.list(val)
        if val.rep is Rep.OPT or val.type.none:
            return "None" if val.type.none else val.code
        return c.item(val)

    def takes(self, val: Val) -> bool:
        """Whether a value can be held so."""
        if self.rep is Rep.SEQ:
            return self.type.kind in ("item", val.type.kind)
        if val.rep is Rep.SEQ or (val.rep is Rep.OPT and self.rep is Rep.ONE) or val.type.none:
            return False
        return union(self.type, val.type).kind == self.type.kind


_ANY = _Form(Rep.SEQ, ITEMS)


def _form(val: Val) -> _Form:
    """The form that a value has by itself."""
    rep = Rep.ONE if val.rep is Rep.ROW else val.rep
    return _ANY if rep is Rep.SEQ else _Form(rep, Type(val.type.kind, 1 if rep is Rep.ONE else 0, False))


class _Fold:
    """One fold being written."""

    def __init__(self, c: Compiler, function: ast.InlineFunction, right: bool, zero: Val, scope: Scope) -> None:
        self.c = c
        self.function = function
        self.zero = zero
        self.scope = c.unfocused(scope)
        self.places = (1, 0) if right else (0, 1)
        """Of the accumulator and the item among the arguments."""
        self.name = c.out.fresh()
        self.start = c.out.slot()
        self.form = _form(zero)
        self.owned = self._owned()
        """The accumulator, if it is a map that is changed in place."""

    def _owned(self) -> OwnedMap | None:
        function, zero, param = self.function, self.zero, self.function.params[self.places[0]]
        if zero.rep is not Rep.ONE or zero.type.kind != "map" or not (any_map(param.type) and any_map(function.result)):
            return None
        if function.params[self.places[1]].type is not None:
            return None
        own = param.name.expanded
        if gives_back(function.body, own) or called(self.c, function.body, own, self.scope):
            return OwnedMap(self.name, own)
        return None

    def step(self, item: Val) -> None:
        """Write the body of the loop, in the first form of the accumulator that its own value fits."""
        out = self.c.out
        if self.owned is not None:
            self.change(self.owned, item)
            return
        for form in self._forms():
            self.form = form
            functions = len(out.module)
            with out.capture() as lines:
                made = self._step(item)
                fits = form.takes(made)
                if fits:
                    out.line(f"{self.name} = {form.code(self.c, made)}")
            if fits:
                out.lines.extend(lines)
                return
            del out.module[functions:]  # what was written for this form only
        raise AssertionError("any value can be held as a sequence")

    def change(self, owned: OwnedMap, item: Val) -> None:
        """Write the body of a loop that changes a map of its own."""
        c, body = self.c, self.function.body
        accumulator, each = (self.function.params[place] for place in self.places)
        inner = c.declare(self.scope, (accumulator.name, owned.val), (each.name, item))
        if called(c, body, owned.own, self.scope):
            assert isinstance(body, ast.FunctionCall)
            owned.write_call(c, body, inner)
        else:
            owned.write(c, body, inner)

    def _forms(self) -> list[_Form]:
        own, declared = _form(self.zero), self.function.result
        if declared is not None:
            expected = sequence_type(self.c, declared)
            rep, kind = held(expected), static_type(expected).kind
            if own.rep is Rep.SEQ or rep is Rep.SEQ or self.zero.type.none:
                return [_ANY]
            both = Rep.ONE if own.rep is rep is Rep.ONE else Rep.OPT
            kind = union(own.type, Type(kind)).kind
            return [_Form(both, Type(kind, 1 if both is Rep.ONE else 0, False)), _ANY]
        # Each form is one more time that the step is compiled: not where there are folds in folds.
        if own.rep is Rep.SEQ or any(isinstance(part, ast.InlineFunction) for part in descendants(self.function.body)):
            return [_ANY]
        forms = [own]
        if own.type.is_number and own.type.kind != "numeric":
            forms.append(_Form(own.rep, replace(own.type, kind="numeric")))
        return [*forms, _ANY]

    def _step(self, item: Val) -> Val:
        c, inner = self.c, self.scope
        described = "anonymous function#2"
        for place, val in sorted(zip(self.places, (self.form.named(self.name), item), strict=True), key=_place):
            param = self.function.params[place]
            if param.type is not None:
                expected = sequence_type(c, param.type)
                val = c.bind(c.convert(val, expected, f"argument {place + 1} of {described}"))
            inner = c.declare(inner, (param.name, val))
        made = c.value(self.function.body, inner)
        if self.function.result is not None:
            made = c.convert(made, sequence_type(c, self.function.result), f"the result of {described}")
        return made

    def result(self) -> Val:
        if self.owned is not None:
            self.c.out.fill(self.start, f"{self.name} = dict({self.zero.code}.entries())")
            return self.c.bind(one(f"map_of_entries({self.name})", Type("map", 1, False)))
        self.c.out.fill(self.start, f"{self.name} = {self.form.code(self.c, self.zero)}")
        return self.form.named(self.name)


def _place(argument: tuple[int, Val]) -> int:
    return argument[0]

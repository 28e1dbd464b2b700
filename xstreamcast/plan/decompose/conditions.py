"""Conditions that tie a loop's rows to what is around it by no equation: θ of the values of both sides.

    contains($b/title, $a/word)        θ($k, $x) = contains($k, $x),   $k of a row: data($b/title),   $x: data($a/word)

A condition is taken apart where it looks at values: what is about the row alone is a key, what is about what is around
alone is an argument, and what is left is a function of these that looks at no node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from xstreamcast.functions.registry import lookup
from xstreamcast.lang import ast
from xstreamcast.lang.walk import rebuild
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import AtomicType
from xstreamcast.plan.algebra import PLAN, Theta, VarName
from xstreamcast.plan.passes.shapes import boolean, is_fn
from xstreamcast.plan.passes.variables import free

if TYPE_CHECKING:
    from xstreamcast.plan.passes.variables import Names

_LITERALS: Final = (ast.StringLiteral, ast.IntegerLiteral, ast.DecimalLiteral, ast.DoubleLiteral)
_OF_VALUES: Final = (ast.Arithmetic, ast.Unary, ast.Concat, ast.GeneralComparison, ast.ValueComparison)
"""What looks at the values of its operands, and at all of them."""
_TEXT: Final = frozenset(("string", "number"))
"""Functions of an item that look at its value."""


class _Together(Exception):
    """A part of a condition cannot be taken apart."""


class Condition:
    """Collects the conjuncts of a loop's condition that can be taken apart.

    ``row`` is the loop's variable; ``inside`` are that and others that are bound behind it; ``around`` tells what is
    about what is around.
    """

    def __init__(self, names: Names, row: VarName, inside: set[VarName], around: Callable[[ast.Node], bool]) -> None:
        self._names = names
        self._row = row
        self._inside = inside
        self._around = around
        self.parts: list[ast.Expr] = []
        self.keys: list[tuple[ast.Name, ast.Expr]] = []
        self.arguments: list[tuple[ast.Name, ast.Expr]] = []

    def take(self, e: ast.Expr, safe: Callable[[ast.Node], bool]) -> bool:
        """Take a conjunct in, if it can be; ``safe``: what may be evaluated where nobody asks for it."""
        known = len(self.keys), len(self.arguments)
        try:
            if not self._ties(e):
                raise _Together
            made = self._test(e)
            # The first condition is evaluated of each pair; what stands behind it, or in a branch, only where needed.
            given = [part for _, part in (*self.keys[known[0] :], *self.arguments[known[1] :])]
            if (self.parts or isinstance(e, ast.And | ast.Or)) and not all(map(safe, given)):
                raise _Together
        except _Together:
            del self.keys[known[0] :], self.arguments[known[1] :]
            return False
        self.parts.append(made)
        return True

    def theta(self) -> Theta:
        """All of them as one condition."""
        condition = self.parts[0] if len(self.parts) == 1 else ast.And(tuple(self.parts), span=self.parts[0].span)
        keys, arguments = (tuple([name.expanded for name, _ in side]) for side in (self.keys, self.arguments))
        return Theta(keys, arguments, condition)

    def _ties(self, e: ast.Node) -> bool:
        return self._row in free(e) and self._around(e)

    def _test(self, e: ast.Expr) -> ast.Expr:
        """A condition of values, true or false."""
        match e:
            case ast.GeneralComparison() | ast.ValueComparison():
                return self._value(e)
            case ast.And() | ast.Or():
                return e.__class__(tuple([self._test(operand) for operand in e.operands]), span=e.span)
            case ast.FunctionCall() if is_fn(e, "not", 1) and self._ties(e):
                return ast.FunctionCall(e.name, (self._test(e.args[0]),), span=e.span)
            case ast.FunctionCall() if self._ties(e) and boolean(e):
                return self._value(e)
            case _ if not self._ties(e):
                return self._value(ast.FunctionCall(ast.Name("fn", "boolean", FN), (e,), span=e.span))
            case _:
                raise _Together

    def _value(self, e: ast.Expr) -> ast.Expr:
        """An expression of which the values count."""
        if isinstance(e, _LITERALS):
            return e
        if not self._ties(e):
            own = self._row in free(e)
            if own and free(e) & self._inside != {self._row}:
                raise _Together
            if not own and free(e) & self._inside:
                raise _Together
            return self._given(self.keys if own else self.arguments, e, "key" if own else "argument")
        if isinstance(e, ast.FunctionCall):
            entry = lookup(e.name.uri or "", e.name.local, len(e.args))
            texts = e.name.uri == FN and e.name.local in _TEXT and len(e.args) == 1
            if entry is None or entry.reads_focus:
                raise _Together
            if not texts and not all(isinstance(param.item, AtomicType) for param in entry.params):
                raise _Together
        elif not isinstance(e, _OF_VALUES):
            raise _Together
        return rebuild(e, lambda part: self._value(part) if isinstance(part, ast.Expr) else part)

    def _given(self, side: list[tuple[ast.Name, ast.Expr]], e: ast.Expr, called: str) -> ast.Expr:
        for name, known in side:
            if known == e:
                return ast.VarRef(name, span=e.span)
        name = self._names.fresh(ast.Name("", called, PLAN))
        side.append((name, e))
        return ast.VarRef(name, span=e.span)

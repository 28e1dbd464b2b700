"""The handlers of each style: how a class of expressions is compiled to a value, loops, a condition or content.

``@value(ast.Path)`` above a function makes it the handler of paths in that style. Which style is asked for, and what is
done where a class has no handler for it, is the :class:`~xstreamcast.run.compile.compiler.Compiler`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from xstreamcast.lang import ast
from xstreamcast.run.compile.scope import Scope
from xstreamcast.run.compile.values import Val

if TYPE_CHECKING:
    from xstreamcast.run.compile.compiler import Compiler

#: What the consumer of ``each`` needs of node sequences.
ANY: Final = 0
DISTINCT: Final = 1
ORDERED: Final = 2

Body = Callable[[Val], None]

ValueHandler = Callable[["Compiler", Any, Scope], Val]
EachHandler = Callable[["Compiler", Any, Scope, Body, int], None]
CondHandler = Callable[["Compiler", Any, Scope], str]
BuildHandler = Callable[["Compiler", Any, Scope, str], None]

VALUE: dict[type[ast.Expr], ValueHandler] = {}
EACH: dict[type[ast.Expr], EachHandler] = {}
COND: dict[type[ast.Expr], CondHandler] = {}
BUILD: dict[type[ast.Expr], BuildHandler] = {}

_Handler = TypeVar("_Handler")


def value(*classes: type[ast.Expr]) -> Callable[[ValueHandler], ValueHandler]:
    return _handler(VALUE, classes)


def each(*classes: type[ast.Expr]) -> Callable[[EachHandler], EachHandler]:
    return _handler(EACH, classes)


def cond(*classes: type[ast.Expr]) -> Callable[[CondHandler], CondHandler]:
    return _handler(COND, classes)


def build(*classes: type[ast.Expr]) -> Callable[[BuildHandler], BuildHandler]:
    return _handler(BUILD, classes)


def _handler(
    table: dict[type[ast.Expr], _Handler], classes: tuple[type[ast.Expr], ...]
) -> Callable[[_Handler], _Handler]:
    """Puts a function into the table of a style, for all the classes."""

    def register(handler: _Handler) -> _Handler:
        table.update(dict.fromkeys(classes, handler))
        return handler

    return register

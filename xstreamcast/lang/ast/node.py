"""What every node of the syntax has: a place in the text, equality by meaning."""

from __future__ import annotations

from dataclasses import field, fields
from typing import NamedTuple, TypeVar, dataclass_transform

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import Place, XStreamError, error


class Span(NamedTuple):
    """A piece of the query text: offsets from 0, the end excluded."""

    start: int
    end: int


NOWHERE = Span(-1, -1)
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Source:
    """The text that spans point into."""

    name: str
    text: str

    def place(self, span: Span) -> Place:
        """Line and column, both from 1, of a span's start."""
        if span.start < 0:
            return Place(self.name)
        before = self.text.count("\n", 0, span.start)
        return Place(self.name, before + 1, span.start - self.text.rfind("\n", 0, span.start))

    def excerpt(self, span: Span) -> str:
        """The line a span starts on, with a caret under the place."""
        if span.start < 0:
            return ""
        first = self.text.rfind("\n", 0, span.start) + 1
        last = self.text.find("\n", span.start)
        line = self.text[first : last if last >= 0 else len(self.text)].rstrip("\r")
        column = span.start - first
        if len(line) > 100:  # show the neighbourhood of the place, not a whole one-line query
            cut = max(0, column - 60)
            line, column = line[cut : cut + 100], column - cut
        return f"  {line.replace(chr(9), ' ')}\n  {' ' * column}^"

    def fault(self, code: str, message: str, span: Span, hint: str = "") -> XStreamError:
        """The error to raise about a piece of the text."""
        return error(code, message, self.place(span), hint, self.excerpt(span))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[N]) -> type[N]:
    """Declares a node class: a slotted dataclass that the type checker treats as frozen.

    Not frozen at run time: a frozen dataclass takes four times as long to build, and building nodes is
    most of what a parser does. One ``__eq__``, ``__hash__`` and ``__repr__`` serve all the classes.
    """
    return dataclass(slots=True, eq=False, repr=False)(cls)


@node
class Node:
    """Anything that has a place in the query text."""

    span: Span = field(default=NOWHERE, kw_only=True)

    def __eq__(self, other: object) -> bool:
        if self.__class__ is not other.__class__:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in parts(self.__class__))

    def __hash__(self) -> int:
        return hash((self.__class__, *[getattr(self, name) for name in parts(self.__class__)]))

    def __repr__(self) -> str:
        shown = ", ".join(repr(getattr(self, name)) for name in parts(self.__class__))
        return f"{self.__class__.__name__}({shown})"


_PARTS: dict[type[Node], tuple[str, ...]] = {}


def parts(cls: type[Node]) -> tuple[str, ...]:
    """The names of a node class' own fields, in order: what it consists of besides its place."""
    if cls not in _PARTS:
        _PARTS[cls] = tuple(f.name for f in fields(cls) if f.name != "span" and f.compare)
    return _PARTS[cls]


@node
class Expr(Node):
    """An expression."""

"""What all parts of the printer share: layout, parentheses, blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, TypeAlias

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, Node
from xstreamcast.lang.printer.levels import SEQUENCE, SINGLE, binding

Rules: TypeAlias = dict[type[Node], Callable[[Any, Any], str]]


def fixed(text: str) -> Callable[[Writer, Node], str]:
    """The rule of a construct that is always written alike."""
    return lambda printer, node: text


class Writer:
    """Holds the indentation and whether XCQL's brackets are open; ``rules``: how each construct is written."""

    rules: ClassVar[Rules] = {}

    def __init__(self) -> None:
        self.indent = 0
        self.brackets = False

    def show(self, node: Node, level: int = SEQUENCE) -> str:
        """The text of a node, in parentheses if it binds less tightly than ``level``."""
        text: str = self.rules[node.__class__](self, node)
        if level > SEQUENCE and isinstance(node, Expr) and binding(node) < level:
            return f"({text})"
        return text

    def line(self) -> str:
        """A new line at the current indentation."""
        return "\n" + "  " * self.indent

    def joined(self, nodes: Iterable[Node], level: int = SINGLE, separator: str = ", ") -> str:
        """Several nodes."""
        return separator.join([self.show(node, level) for node in nodes])

    def block(self, node: Expr | None) -> str:
        """``{ e }``, over several lines if the text has several."""
        if node is None or (isinstance(node, ast.Sequence) and not node.items):
            return "{}"
        outer, self.brackets = self.brackets, False
        self.indent += 1
        text, head = self.show_sequence(node), self.line()
        self.indent -= 1
        self.brackets = outer
        if "\n" in text:
            return "{" + head + text + self.line() + "}"
        return f"{{ {text} }}"

    def show_sequence(self, node: Expr) -> str:
        """An Expr: the one place where commas need no parentheses."""
        if isinstance(node, ast.Sequence) and node.items:
            return self.joined(node.items)
        return self.show(node, SINGLE)

    def typed(self, type_: ast.SequenceType | None) -> str:
        """`` as T`` or nothing."""
        return f" as {self.show(type_)}" if type_ is not None else ""

    def enclosed(self, node: Expr) -> str:
        """The inside of a ``{ }`` within text."""
        outer, self.brackets = self.brackets, False
        text = self.show_sequence(node)
        self.brackets = outer
        return text

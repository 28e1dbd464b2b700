"""Operators, written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr
from xstreamcast.lang.parser import ADDITIVE, COMPARISON, INTERSECT, LEVELS
from xstreamcast.lang.printer.levels import CHAINS, MAP, TYPED
from xstreamcast.lang.printer.types import TypePrinter
from xstreamcast.lang.printer.writer import Rules


class OperatorPrinter(TypePrinter):
    """Operators with the parentheses that precedence asks for."""

    def arithmetic(self, node: ast.Arithmetic) -> str:
        level = LEVELS[node.op]
        right: list[str] = []
        left: Expr = node
        while isinstance(left, ast.Arithmetic) and LEVELS[left.op] == level:
            right.append(f" {left.op} {self.show(left.right, level + 1)}")
            left = left.left
        return self.show(left, level) + "".join(reversed(right))

    def comparison(self, node: Any) -> str:
        op = node.relation if isinstance(node, ast.AllenComparison) else node.op
        return f"{self.show(node.left, COMPARISON + 1)} {op} {self.show(node.right, COMPARISON + 1)}"

    def pair(self, word: str, level: int) -> Callable[[Any], str]:
        """A binary operator whose operands are called left and right."""
        return lambda node: f"{self.show(node.left, level)} {word} {self.show(node.right, level + 1)}"

    def intersect(self, node: ast.Intersect | ast.Except) -> str:
        word = "intersect" if isinstance(node, ast.Intersect) else "except"
        return self.pair(word, INTERSECT)(node)

    def chain(self, node: ast.Or | ast.And | ast.Concat | ast.Union) -> str:
        word, level = CHAINS[node.__class__]
        return self.joined(node.operands, level + 1, f" {word} ")

    def unary(self, node: ast.Unary) -> str:
        return node.op + self.show(node.operand, MAP)

    def typed_operation(self, node: Any) -> str:
        word = TYPED[node.__class__]
        return f"{self.show(node.operand, LEVELS['=>'])} {word} {self.show(node.type)}"


RULES: Rules = {
    **dict.fromkeys(CHAINS, OperatorPrinter.chain),
    ast.GeneralComparison: OperatorPrinter.comparison,
    ast.ValueComparison: OperatorPrinter.comparison,
    ast.NodeComparison: OperatorPrinter.comparison,
    ast.AllenComparison: OperatorPrinter.comparison,
    ast.Range: lambda p, n: f"{p.show(n.first, ADDITIVE)} to {p.show(n.last, ADDITIVE)}",
    ast.Arithmetic: OperatorPrinter.arithmetic,
    ast.Unary: OperatorPrinter.unary,
    ast.Intersect: OperatorPrinter.intersect,
    ast.Except: OperatorPrinter.intersect,
    **dict.fromkeys(TYPED, OperatorPrinter.typed_operation),
}

"""FLWOR and control, written."""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr
from xstreamcast.lang.printer.levels import SINGLE
from xstreamcast.lang.printer.text import collated
from xstreamcast.lang.printer.types import TypePrinter
from xstreamcast.lang.printer.writer import Rules


class FLWORPrinter(TypePrinter):
    """One clause, case or branch per line."""

    def flwor(self, node: ast.FLWOR) -> str:
        lines = [self.show(clause) for clause in node.clauses]
        lines.append(f"return {self.nested(node.result)}")
        return self.line().join(lines)

    def nested(self, node: Expr) -> str:
        """An ExprSingle; a FLWOR goes on a line of its own."""
        if not isinstance(node, ast.FLWOR):
            return self.show(node, SINGLE)
        self.indent += 1
        text = self.line() + self.show(node, SINGLE)
        self.indent -= 1
        return text

    def for_clause(self, node: ast.ForClause) -> str:
        empty = " allowing empty" if node.allowing_empty else ""
        position = f" at ${self.name(node.position)}" if node.position else ""
        return f"for ${self.name(node.var)}{self.typed(node.type)}{empty}{position} in {self.nested(node.source)}"

    def let_clause(self, node: ast.LetClause) -> str:
        return f"let ${self.name(node.var)}{self.typed(node.type)} := {self.nested(node.value)}"

    def window_clause(self, node: ast.WindowClause) -> str:
        kind = "sliding" if node.sliding else "tumbling"
        text = f"for {kind} window ${self.name(node.var)}{self.typed(node.type)} in {self.nested(node.source)}"
        self.indent += 1
        text += f"{self.line()}start {self.show(node.start)}"
        if node.end is not None:
            text += f"{self.line()}{'only ' if node.only_end else ''}end {self.show(node.end)}"
        self.indent -= 1
        return text

    def window_condition(self, node: ast.WindowCondition) -> str:
        words = (("", node.current), ("at ", node.position), ("previous ", node.previous), ("next ", node.next))
        variables = "".join(f"{word}${self.name(name)} " for word, name in words if name is not None)
        return f"{variables}when {self.show(node.when, SINGLE)}"

    def where_clause(self, node: ast.WhereClause) -> str:
        return f"where {self.nested(node.condition)}"

    def group_clause(self, node: ast.GroupClause) -> str:
        return f"group by {self.joined(node.keys)}"

    def group_key(self, node: ast.GroupKey) -> str:
        value = f"{self.typed(node.type)} := {self.show(node.value, SINGLE)}" if node.value is not None else ""
        return f"${self.name(node.var)}{value}{collated(node.collation)}"

    def order_clause(self, node: ast.OrderClause) -> str:
        return f"{'stable ' if node.stable else ''}order by {self.joined(node.keys)}"

    def order_key(self, node: ast.OrderKey) -> str:
        text = self.show(node.key, SINGLE) + (" descending" if node.descending else "")
        if node.empty_least is not None:
            text += f" empty {'least' if node.empty_least else 'greatest'}"
        return text + collated(node.collation)

    def count_clause(self, node: ast.CountClause) -> str:
        return f"count ${self.name(node.var)}"

    def quantified(self, node: ast.Quantified) -> str:
        bindings = ", ".join(
            f"${self.name(b.var)}{self.typed(b.type)} in {self.show(b.source, SINGLE)}" for b in node.bindings
        )
        return f"{'every' if node.every else 'some'} {bindings} satisfies {self.show(node.condition, SINGLE)}"

    def conditional(self, node: ast.If) -> str:
        pieces: list[str] = []
        rest: Expr = node
        while isinstance(rest, ast.If):
            pieces.append(f"if ({self.show_sequence(rest.condition)}) then {self.nested(rest.then)} else ")
            rest = rest.otherwise
        return "".join(pieces) + self.nested(rest)

    def switch(self, node: ast.Switch) -> str:
        text = f"switch ({self.show_sequence(node.operand)})"
        self.indent += 1
        for case in node.cases:
            text += self.line() + "".join(f"case {self.show(value, SINGLE)} " for value in case.values)
            text += f"return {self.nested(case.result)}"
        text += f"{self.line()}default return {self.nested(node.default)}"
        self.indent -= 1
        return text

    def typeswitch(self, node: ast.Typeswitch) -> str:
        text = f"typeswitch ({self.show_sequence(node.operand)})"
        self.indent += 1
        for case in node.cases:
            var = f"${self.name(case.var)} as " if case.var else ""
            types = self.joined(case.types, separator=" | ")
            text += f"{self.line()}case {var}{types} return {self.nested(case.result)}"
        var = f"${self.name(node.default_var)} " if node.default_var else ""
        text += f"{self.line()}default {var}return {self.nested(node.default)}"
        self.indent -= 1
        return text

    def try_catch(self, node: ast.TryCatch) -> str:
        return f"try {self.block(node.body)} {self.joined(node.catches, separator=' ')}"

    def catch(self, node: ast.Catch) -> str:
        return f"catch {self.joined(node.tests, separator=' | ')} {self.block(node.handler)}"


RULES: Rules = {
    ast.FLWOR: FLWORPrinter.flwor,
    ast.ForClause: FLWORPrinter.for_clause,
    ast.LetClause: FLWORPrinter.let_clause,
    ast.WindowClause: FLWORPrinter.window_clause,
    ast.WindowCondition: FLWORPrinter.window_condition,
    ast.WhereClause: FLWORPrinter.where_clause,
    ast.GroupClause: FLWORPrinter.group_clause,
    ast.GroupKey: FLWORPrinter.group_key,
    ast.OrderClause: FLWORPrinter.order_clause,
    ast.OrderKey: FLWORPrinter.order_key,
    ast.CountClause: FLWORPrinter.count_clause,
    ast.Quantified: FLWORPrinter.quantified,
    ast.If: FLWORPrinter.conditional,
    ast.Switch: FLWORPrinter.switch,
    ast.Typeswitch: FLWORPrinter.typeswitch,
    ast.TryCatch: FLWORPrinter.try_catch,
    ast.Catch: FLWORPrinter.catch,
}

"""Primaries, postfix expressions and paths, written."""

from __future__ import annotations

from decimal import Decimal

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, LiteralText
from xstreamcast.lang.printer.levels import FIRST_STEP, PATH, SINGLE, STEP, binding, has_version_projection
from xstreamcast.lang.printer.text import match_whole_ncname, quote
from xstreamcast.lang.printer.types import TypePrinter
from xstreamcast.lang.printer.writer import Rules, fixed
from xstreamcast.lang.xcql import match_moment


class PathPrinter(TypePrinter):
    """Primaries, steps and what hangs on them."""

    def decimal(self, node: ast.DecimalLiteral) -> str:
        text = format(Decimal(node.value), "f")
        return text if "." in text else text + "."

    def double(self, node: ast.DoubleLiteral) -> str:
        text = repr(node.value)
        if text == "inf":
            return "1e999"
        return text if "e" in text else text + "e0"

    def call(self, node: ast.FunctionCall) -> str:
        return f"{self.name(node.name)}({self.joined(node.args)})"

    def dynamic_call(self, node: ast.DynamicCall) -> str:
        return f"{self.postfix_base(node.function)}({self.joined(node.args)})"

    def inline_function(self, node: ast.InlineFunction) -> str:
        head = f"{self.annotations(node.annotations)}function({self.joined(node.params)})"
        return f"{head}{self.typed(node.result)} {self.block(node.body)}"

    def param(self, node: ast.Param) -> str:
        return f"${self.name(node.name)}{self.typed(node.type)}"

    def lookup(self, node: ast.Lookup) -> str:
        base = "" if node.base is None else self.postfix_base(node.base)
        key = node.key
        if key is None:
            return f"{base}?*"
        if isinstance(key, ast.StringLiteral) and match_whole_ncname(key.value):
            return f"{base}?{key.value}"
        if isinstance(key, ast.IntegerLiteral):
            return f"{base}?{key.value}"
        return f"{base}?({self.show_sequence(key)})"

    def map_constructor(self, node: ast.MapConstructor) -> str:
        if not node.entries:
            return "map {}"
        outer, self.brackets = self.brackets, False
        entries = self.joined(node.entries)
        self.brackets = outer
        return f"map {{ {entries} }}"

    def map_entry(self, node: ast.MapEntry) -> str:
        return f"{self.show(node.key, SINGLE)} : {self.show(node.value, SINGLE)}"

    def string_constructor(self, node: ast.StringConstructor) -> str:
        parts = [part.value if isinstance(part, LiteralText) else f"`{{{self.enclosed(part)}}}`" for part in node.parts]
        return f"``[{''.join(parts)}]``"

    def pragma(self, node: ast.Pragma) -> str:
        return f"(# {self.name(node.name)} {node.content}#)"

    def extension(self, node: ast.Extension) -> str:
        body = "{ () }" if node.body == ast.Sequence() else self.block(node.body)  # {} would be no expression at all
        return f"{self.joined(node.pragmas, separator=' ')} {body}"

    def axis_step(self, node: ast.AxisStep) -> str:
        test, predicates = node.test, "".join(self.predicate(p) for p in node.predicates)
        shown = self.show(test)
        if node.axis == "attribute":
            return f"@{shown}{predicates}"
        if node.axis == "parent" and test == ast.KindTest("node"):
            return f"..{predicates}"
        if node.axis != "child" or self.needs_axis(test, shown):
            shown = f"{node.axis}::{shown}"
        return shown + predicates

    def needs_axis(self, test: ast.NodeTest, shown: str) -> bool:
        """Whether a child step would mean something else without ``child::``."""
        if isinstance(test, ast.AttributeTest) or shown == "namespace-node()":
            return True
        if isinstance(test, ast.SchemaTest):
            return test.kind == "schema-attribute"
        return self.brackets and match_moment(shown + "-") is not None

    def predicate(self, node: Expr) -> str:
        return f"[{self.enclosed(node)}]"

    def path(self, node: ast.Path) -> str:
        any_node = ast.AxisStep("descendant-or-self", ast.KindTest("node"))
        text = ""
        last = len(node.steps) - 1
        for i, step in enumerate(node.steps):
            if i == 0 and isinstance(step, ast.Root):
                text = "/"
            elif step == any_node and 0 < i < last:
                text = text.removesuffix("/") + "//"
            else:
                shown = self.show(step, FIRST_STEP if i == 0 else STEP)
                text += shown if i == last else shown + "/"
        return text

    def filter(self, node: ast.Filter) -> str:
        base = self.postfix_base(node.base)
        if isinstance(node.base, ast.Filter):
            base = f"({self.show(node.base)})"
        return base + "".join(self.predicate(p) for p in node.predicates)

    def postfix_base(self, node: Expr) -> str:
        """What a predicate, call or lookup applies to: a step would take it for its own."""
        if isinstance(node, ast.AxisStep) or binding(node) < STEP:
            if has_version_projection(node):
                return self.show(node)
            return f"({self.show(node)})"
        return self.show(node)

    def interval_projection(self, node: ast.IntervalProjection) -> str:
        base = node.base
        own = isinstance(base, ast.AxisStep) or has_version_projection(base)
        return (self.show(base) if own else self.postfix_base(base)) + "?" + self.bounds(node.begin, node.end)

    def version_projection(self, node: ast.VersionProjection) -> str:
        return f"{self.show(node.base, PATH)}#{self.bounds(node.first, node.last)}"

    def bounds(self, lower: Expr, upper: Expr | None) -> str:
        outer, self.brackets = self.brackets, True
        both = (lower,) if upper is None else (lower, upper)
        text = f"[{self.joined(both)}]"
        self.brackets = outer
        return text


RULES: Rules = {
    ast.StringLiteral: lambda p, n: quote(n.value),
    ast.IntegerLiteral: lambda p, n: str(n.value),
    ast.DecimalLiteral: PathPrinter.decimal,
    ast.DoubleLiteral: PathPrinter.double,
    ast.VarRef: lambda p, n: f"${p.name(n.name)}",
    ast.ContextItem: fixed("."),
    ast.Sequence: lambda p, n: f"({p.joined(n.items)})",
    ast.Placeholder: fixed("?"),
    ast.FunctionCall: PathPrinter.call,
    ast.NamedFunctionRef: lambda p, n: f"{p.name(n.name)}#{n.arity}",
    ast.Param: PathPrinter.param,
    ast.InlineFunction: PathPrinter.inline_function,
    ast.DynamicCall: PathPrinter.dynamic_call,
    ast.Lookup: PathPrinter.lookup,
    ast.MapConstructor: PathPrinter.map_constructor,
    ast.MapEntry: PathPrinter.map_entry,
    ast.SquareArray: lambda p, n: f"[{p.joined(n.members)}]",
    ast.CurlyArray: lambda p, n: f"array {p.block(n.content)}",
    ast.StringConstructor: PathPrinter.string_constructor,
    ast.Ordering: lambda p, n: f"{'ordered' if n.ordered else 'unordered'} {p.block(n.body)}",
    ast.Pragma: PathPrinter.pragma,
    ast.Extension: PathPrinter.extension,
    ast.Root: fixed("(/)"),
    ast.AxisStep: PathPrinter.axis_step,
    ast.Path: PathPrinter.path,
    ast.Filter: PathPrinter.filter,
    ast.SimpleMap: lambda p, n: p.joined(n.steps, PATH, " ! "),
    ast.IntervalProjection: PathPrinter.interval_projection,
    ast.VersionProjection: PathPrinter.version_projection,
    ast.Now: fixed("now"),
    ast.Start: fixed("start"),
    ast.Last: fixed("last"),
    ast.InstantLiteral: lambda p, n: n.value,
    ast.DurationLiteral: lambda p, n: n.value,
}

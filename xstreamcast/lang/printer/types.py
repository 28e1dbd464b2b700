"""Names, node tests and types, written."""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Name
from xstreamcast.lang.printer.text import braced, match_whole_ncname, quote
from xstreamcast.lang.printer.writer import Rules, Writer, fixed


class TypePrinter(Writer):
    """Names, tests, types and annotations."""

    def name(self, node: Name) -> str:
        if node.prefix is None:
            return f"{braced(node.uri or '')}{node.local}"
        return node.lexical

    def wildcard(self, node: ast.Wildcard) -> str:
        if node.local is not None:
            return f"*:{node.local}"
        if node.prefix is not None:
            return f"{node.prefix}:*"
        return "*" if node.uri is None else f"{braced(node.uri)}*"

    def element_test(self, node: ast.ElementTest | ast.AttributeTest) -> str:
        word = "element" if isinstance(node, ast.ElementTest) else "attribute"
        name = self.name(node.name) if node.name else "*" if node.type else ""
        type_ = f", {self.name(node.type)}" if node.type else ""
        nillable = "?" if isinstance(node, ast.ElementTest) and node.nillable else ""
        return f"{word}({name}{type_}{nillable})"

    def document_test(self, node: ast.DocumentTest) -> str:
        return f"document-node({self.show(node.content) if node.content else ''})"

    def pi_test(self, node: ast.PITest) -> str:
        if node.target is None or match_whole_ncname(node.target):
            return f"processing-instruction({node.target or ''})"
        return f"processing-instruction({quote(node.target)})"

    def function_test(self, node: ast.FunctionTest) -> str:
        annotations = self.annotations(node.annotations)
        if node.params is None:
            return f"{annotations}function(*)"
        return f"{annotations}function({self.joined(node.params)}){self.typed(node.result)}"

    def map_test(self, node: ast.MapTest) -> str:
        if node.key is None or node.value is None:
            return "map(*)"
        return f"map({self.show(node.key)}, {self.show(node.value)})"

    def array_test(self, node: ast.ArrayTest) -> str:
        return f"array({self.show(node.member) if node.member else '*'})"

    def sequence_type(self, node: ast.SequenceType) -> str:
        if node.item is None:
            return "empty-sequence()"
        item = self.show(node.item)
        if node.occurrence and isinstance(node.item, ast.FunctionTest):
            item = f"({item})"
        return item + node.occurrence

    def annotations(self, annotations: tuple[ast.Annotation, ...]) -> str:
        return "".join(self.show(annotation) + " " for annotation in annotations)

    def annotation(self, node: ast.Annotation) -> str:
        values = f"({self.joined(node.values)})" if node.values else ""
        return f"%{self.name(node.name)}{values}"


RULES: Rules = {
    ast.Name: TypePrinter.name,
    ast.NameTest: lambda p, n: p.name(n.name),
    ast.Wildcard: TypePrinter.wildcard,
    ast.KindTest: lambda p, n: f"{n.kind}()",
    ast.ElementTest: TypePrinter.element_test,
    ast.AttributeTest: TypePrinter.element_test,
    ast.DocumentTest: TypePrinter.document_test,
    ast.PITest: TypePrinter.pi_test,
    ast.SchemaTest: lambda p, n: f"{n.kind}({p.name(n.name)})",
    ast.AnyItem: fixed("item()"),
    ast.AtomicType: lambda p, n: p.name(n.name),
    ast.FunctionTest: TypePrinter.function_test,
    ast.MapTest: TypePrinter.map_test,
    ast.ArrayTest: TypePrinter.array_test,
    ast.SequenceType: TypePrinter.sequence_type,
    ast.SingleType: lambda p, n: p.name(n.name) + ("?" if n.optional else ""),
    ast.Annotation: TypePrinter.annotation,
}

"""Constructors, written."""

from __future__ import annotations

from typing import Any

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Expr, LiteralText, Name
from xstreamcast.lang.printer.text import escape
from xstreamcast.lang.printer.types import TypePrinter
from xstreamcast.lang.printer.writer import Rules

COMPUTED = {
    ast.ComputedDocument: ("document", ""),
    ast.ComputedElement: ("element", "name"),
    ast.ComputedAttribute: ("attribute", "name"),
    ast.ComputedText: ("text", ""),
    ast.ComputedComment: ("comment", ""),
    ast.ComputedPI: ("processing-instruction", "target"),
    ast.ComputedNamespace: ("namespace", "prefix"),
}


class ConstructorPrinter(TypePrinter):
    """Text inside is never laid out anew: its whitespace is data."""

    def direct_element(self, node: ast.DirectElement) -> str:
        name = node.name.lexical
        text = f"<{name}"
        for declared in node.namespaces:
            prefix = f"xmlns:{declared.prefix}" if declared.prefix else "xmlns"
            text += f' {prefix}="{self.attribute_text(declared.uri)}"'
        for attribute in node.attributes:
            value = "".join(
                self.attribute_text(part.value) if isinstance(part, LiteralText) else f"{{{self.enclosed(part)}}}"
                for part in attribute.value
            )
            text += f' {attribute.name.lexical}="{value}"'
        if not node.content:
            return text + "/>"
        return f"{text}>{''.join(map(self.content, node.content))}</{name}>"

    def content(self, part: LiteralText | Expr) -> str:
        """One piece of a direct element's content."""
        if isinstance(part, LiteralText):
            text = escape(part.value).replace("<", "&lt;").replace("{", "{{").replace("}", "}}")
            if not part.value.strip(" \t\n"):  # else it would pass for boundary whitespace
                text = f"&#{ord(part.value[0])};{part.value[1:]}"
            return text
        if isinstance(part, ast.DirectElement | ast.DirectComment | ast.DirectPI):
            return self.show(part)
        return f"{{{self.enclosed(part)}}}"

    def attribute_text(self, value: str) -> str:
        """Literal text of an attribute value."""
        text = escape(value).replace("<", "&lt;").replace('"', "&quot;").replace("{", "{{").replace("}", "}}")
        return text.replace("\n", "&#10;").replace("\t", "&#9;")

    def direct_comment(self, node: ast.DirectComment) -> str:
        return f"<!--{node.text}-->"

    def direct_pi(self, node: ast.DirectPI) -> str:
        return f"<?{node.target} {node.text}?>" if node.text else f"<?{node.target}?>"

    def computed(self, node: Any) -> str:
        word, part = COMPUTED[node.__class__]
        content = node.uri if isinstance(node, ast.ComputedNamespace) else node.content
        if not part:
            return f"{word} {self.block(content)}"
        name = getattr(node, part)
        shown = name if isinstance(name, str) else self.name(name) if isinstance(name, Name) else self.named(name)
        return f"{word} {shown} {self.block(content)}"

    def named(self, node: Expr) -> str:
        """``{ e }`` where e computes a name; unlike content it is never empty."""
        return f"{{ {self.enclosed(node)} }}"


RULES: Rules = {
    ast.DirectElement: ConstructorPrinter.direct_element,
    ast.DirectComment: ConstructorPrinter.direct_comment,
    ast.DirectPI: ConstructorPrinter.direct_pi,
    **dict.fromkeys(COMPUTED, ConstructorPrinter.computed),
}

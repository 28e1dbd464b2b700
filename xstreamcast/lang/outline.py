"""Syntax trees as indented outlines, for people (``xcast parse``)."""

from __future__ import annotations

from xstreamcast.lang import ast
from xstreamcast.lang.ast import Node, parts
from xstreamcast.lang.printer import quote, to_xquery

INLINE = (
    *(ast.Name, ast.NameTest, ast.Wildcard, ast.KindTest, ast.ElementTest, ast.AttributeTest, ast.DocumentTest),
    *(ast.PITest, ast.SequenceType, ast.SingleType, ast.Param, ast.Annotation, ast.NamespaceDeclaration),
)
"""Nodes small enough to stand on the line of their parent."""

UNLABELLED = frozenset(
    {
        *("left", "right", "operand", "operands", "items", "steps", "args", "clauses", "base", "body", "content"),
        *("members", "parts", "entries", "keys", "cases", "catches", "prolog", "first", "last", "source", "value"),
        *("condition", "key", "function", "attributes", "bindings", "tests", "types"),
    }
)
"""Fields whose children need no label: there is only one thing they can be."""


def outline(node: Node) -> str:
    """One line per node, children below their parent.

    >>> from xstreamcast.lang import parse
    >>> print(outline(parse("for $b in //book where $b/price > 30 return $b/title")))
    Module
      FLWOR
        ForClause $b
          Path
            Root
            AxisStep descendant-or-self::node()
            AxisStep child::book
        WhereClause
          GeneralComparison >
            Path
              VarRef $b
              AxisStep child::price
            IntegerLiteral 30
        result: Path
          VarRef $b
          AxisStep child::title
    """
    lines: list[str] = []
    waiting: list[tuple[int, str, Node]] = [(0, "", node)]
    while waiting:
        depth, label, current = waiting.pop()
        lines.append(f"{'  ' * depth}{label}{headline(current)}")
        waiting += [(depth + 1, child_label, child) for child_label, child in reversed(below(current))]
    return "\n".join(lines)


def headline(node: Node) -> str:
    """The class of a node and those of its parts that fit on its line."""
    words = [node.__class__.__name__]
    if isinstance(node, ast.AxisStep):
        return f"AxisStep {node.axis}::{to_xquery(node.test)}"
    if isinstance(node, ast.Lookup) and node.key is None:
        return "Lookup *"
    if isinstance(node, ast.FunctionDecl | ast.InlineFunction):
        if isinstance(node, ast.FunctionDecl):
            words.append(node.name.lexical)
        result = f" as {to_xquery(node.result)}" if node.result else ""
        words.append(f"({', '.join(map(to_xquery, node.params))}){result}")
        return " ".join([*words, *map(to_xquery, node.annotations)])
    for field in parts(node.__class__):
        value = getattr(node, field)
        for item in value if isinstance(value, tuple) else (value,):
            word = inline(node, field, item)
            if word:
                words.append(word)
    return " ".join(words)


def inline(node: Node, field: str, value: object) -> str:
    """A part as it stands on its parent's line; "" if it does not."""
    if value is None or value is False:
        return ""
    if value is True:
        return field.replace("_", "-")
    if isinstance(value, ast.Name):
        is_variable = field in ("var", "position", "current", "previous", "next", "default_var") or isinstance(
            node, ast.VarRef | ast.VariableDecl
        )
        word = ("$" if is_variable else "") + value.lexical
        return f"at {word}" if field == "position" else word
    if isinstance(value, ast.NamespaceDeclaration):
        return f"xmlns:{value.prefix}={quote(value.uri)}" if value.prefix else f"xmlns={quote(value.uri)}"
    if isinstance(value, INLINE):
        return f"as {to_xquery(value)}" if field == "type" else to_xquery(value)
    if isinstance(value, Node):
        return ""
    if isinstance(value, str):
        quoted = field in ("value", "text", "content", "collation", "uri") and not isinstance(
            node, ast.InstantLiteral | ast.DurationLiteral | ast.SetterDecl
        )
        return quote(value).replace("\n", "&#10;") if quoted else value
    if isinstance(value, tuple):  # a property of a decimal format
        return "=".join(map(str, value))
    return str(value)


def below(node: Node) -> list[tuple[str, Node]]:
    """The children that get lines of their own, with their labels."""
    found: list[tuple[str, Node]] = []
    for field in parts(node.__class__):
        value = getattr(node, field)
        label = "" if field in UNLABELLED else f"{field.rstrip('s') if isinstance(value, tuple) else field}: "
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Node) and not isinstance(item, INLINE):
                found.append((label, item))
    return found

"""Constructors of nodes (XQuery 3.1 §3.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from xstreamcast.lang.ast.node import Expr, Node, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.names import Name
    from xstreamcast.lang.ast.primaries import LiteralText


@node
class NamespaceDeclaration(Node):
    """``xmlns:prefix="uri"`` of a direct element; prefix "" is ``xmlns``, uri "" undeclares."""

    prefix: str
    uri: str


@node
class DirectAttribute(Node):
    """``name="text{e}text"``."""

    name: Name
    value: tuple[LiteralText | Expr, ...]


@node
class DirectElement(Expr):
    """``<name …>content</name>``: text, enclosed expressions, and nested constructors as they are.

    An enclosed ``{<b/>}`` is a Sequence of one: its element is copied (copy-namespaces applies), a nested one is not.
    """

    name: Name
    namespaces: tuple[NamespaceDeclaration, ...]
    attributes: tuple[DirectAttribute, ...]
    content: tuple[LiteralText | Expr, ...]


@node
class DirectComment(Expr):
    """``<!--text-->``."""

    text: str


@node
class DirectPI(Expr):
    """``<?target text?>``."""

    target: str
    text: str


@node
class ComputedDocument(Expr):
    """``document { e }``."""

    content: Expr


@node
class ComputedElement(Expr):
    """``element name { e }``, ``element { name } { e }``."""

    name: Name | Expr
    content: Expr


@node
class ComputedAttribute(Expr):
    """``attribute name { e }``, ``attribute { name } { e }``."""

    name: Name | Expr
    content: Expr


@node
class ComputedText(Expr):
    """``text { e }``."""

    content: Expr


@node
class ComputedComment(Expr):
    """``comment { e }``."""

    content: Expr


@node
class ComputedPI(Expr):
    """``processing-instruction target { e }``, ``processing-instruction { target } { e }``."""

    target: str | Expr
    content: Expr


@node
class ComputedNamespace(Expr):
    """``namespace prefix { uri }``, ``namespace { prefix } { uri }``."""

    prefix: str | Expr
    uri: Expr


CONSTRUCTORS: Final = (
    DirectElement, DirectComment, DirectPI, ComputedDocument, ComputedElement, ComputedAttribute, ComputedText,
    ComputedComment, ComputedPI, ComputedNamespace,
)  # fmt: skip
"""All that make a node: each evaluation makes another."""

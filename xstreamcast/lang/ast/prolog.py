"""Modules and the declarations of their prologs (XQuery 3.1 §4)."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, TypeAlias

from xstreamcast.lang.ast.node import Node, Source, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.functions import Annotation, Param
    from xstreamcast.lang.ast.names import Name
    from xstreamcast.lang.ast.node import Expr
    from xstreamcast.lang.ast.types import SequenceType
    from xstreamcast.lang.context import StaticContext


@node
class NamespaceDecl(Node):
    """``declare namespace prefix = "uri";``."""

    prefix: str
    uri: str


@node
class DefaultNamespaceDecl(Node):
    """``declare default element|function namespace "uri";``, kind "element" or "function"."""

    kind: str
    uri: str


@node
class SetterDecl(Node):
    """``declare <setting> <value>;``: boundary-space, base-uri, default-collation …"""

    setting: str
    value: str


@node
class DecimalFormatDecl(Node):
    """``declare decimal-format name prop = "x";``; name None is the default format."""

    name: Name | None
    properties: tuple[tuple[str, str], ...]


@node
class OptionDecl(Node):
    """``declare option name "value";``."""

    name: Name
    value: str


@node
class ModuleImport(Node):
    """``import module namespace prefix = "uri" at "l1", "l2";``; prefix "" when not given."""

    prefix: str
    uri: str
    locations: tuple[str, ...] = ()


@node
class ContextItemDecl(Node):
    """``declare context item as T := value;`` or ``external := value``."""

    type: SequenceType | None
    value: Expr | None
    external: bool = False


@node
class VariableDecl(Node):
    """``declare variable $name as T := value;``, ``external``, ``external := default``."""

    name: Name
    type: SequenceType | None
    value: Expr | None
    external: bool = False
    annotations: tuple[Annotation, ...] = ()


@node
class FunctionDecl(Node):
    """``declare function name(params) as R { body };``; body None is ``external``."""

    name: Name
    params: tuple[Param, ...]
    result: SequenceType | None
    body: Expr | None
    annotations: tuple[Annotation, ...] = ()


Declaration: TypeAlias = (
    NamespaceDecl
    | DefaultNamespaceDecl
    | SetterDecl
    | DecimalFormatDecl
    | OptionDecl
    | ModuleImport
    | ContextItemDecl
    | VariableDecl
    | FunctionDecl
)


@node
class Warning(Node):
    """Something legal that is probably a mistake."""

    message: str
    hint: str = ""


@node
class Module(Node):
    """A main module (body) or a library module (namespace, no body).

    ``static`` is what the prolog declared, ``imported`` the resolved library modules in order of import;
    ``version`` and ``encoding`` are those of the version declaration, if any.
    """

    prolog: tuple[Declaration, ...]
    body: Expr | None
    namespace: NamespaceDecl | None = None
    version: str | None = None
    encoding: str | None = None
    static: StaticContext | None = field(default=None, compare=False)
    imported: tuple[Module, ...] = field(default=(), compare=False)
    warnings: tuple[Warning, ...] = field(default=(), compare=False)
    source: Source = field(default=Source("query", ""), compare=False)

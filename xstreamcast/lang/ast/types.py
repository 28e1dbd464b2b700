"""Node tests and sequence types (XQuery 3.1 §2.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from xstreamcast.lang.ast.node import Node, node

if TYPE_CHECKING:
    from xstreamcast.lang.ast.functions import Annotation
    from xstreamcast.lang.ast.names import Name


@node
class NameTest(Node):
    """``name``: nodes of the axis' principal kind with that name."""

    name: Name


@node
class Wildcard(Node):
    """``*`` (all None), ``*:local`` (uri and prefix None), ``prefix:*`` and ``Q{uri}*`` (local None)."""

    prefix: str | None
    uri: str | None
    local: str | None


@node
class KindTest(Node):
    """``node()``, ``text()``, ``comment()``, ``namespace-node()``: kind is that word."""

    kind: str


@node
class ElementTest(Node):
    """``element(name, type?)``; name None stands for ``*`` or nothing."""

    name: Name | None = None
    type: Name | None = None
    nillable: bool = False


@node
class AttributeTest(Node):
    """``attribute(name, type)``; name None stands for ``*`` or nothing."""

    name: Name | None = None
    type: Name | None = None


@node
class DocumentTest(Node):
    """``document-node(element(…)?)``."""

    content: ElementTest | SchemaTest | None = None


@node
class PITest(Node):
    """``processing-instruction(target?)``."""

    target: str | None = None


@node
class SchemaTest(Node):
    """``schema-element(name)``, ``schema-attribute(name)``: the static phase refuses it (XPST0008)."""

    kind: str
    name: Name


NodeTest: TypeAlias = NameTest | Wildcard | KindTest | ElementTest | AttributeTest | DocumentTest | PITest | SchemaTest


@node
class AnyItem(Node):
    """``item()``."""


@node
class AtomicType(Node):
    """``xs:integer`` and the like: an atomic or a pure union type by name."""

    name: Name


@node
class FunctionTest(Node):
    """``function(*)`` (params and result None) or ``function(T1, T2) as R``."""

    params: tuple[SequenceType, ...] | None = None
    result: SequenceType | None = None
    annotations: tuple[Annotation, ...] = ()


@node
class MapTest(Node):
    """``map(*)`` (both None) or ``map(K, V)``."""

    key: AtomicType | None = None
    value: SequenceType | None = None


@node
class ArrayTest(Node):
    """``array(*)`` (None) or ``array(T)``."""

    member: SequenceType | None = None


ItemType: TypeAlias = (
    AnyItem
    | AtomicType
    | KindTest
    | ElementTest
    | AttributeTest
    | DocumentTest
    | PITest
    | SchemaTest
    | FunctionTest
    | MapTest
    | ArrayTest
)


@node
class SequenceType(Node):
    """An item type with "", "?", "*" or "+"; item None is ``empty-sequence()``."""

    item: ItemType | None
    occurrence: str = ""


@node
class SingleType(Node):
    """The target of ``cast`` and ``castable``: a simple type, perhaps with ``?``."""

    name: Name
    optional: bool = False

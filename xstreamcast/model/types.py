"""Sequence types at run time: the atomic type hierarchy, item types, occurrence, matching and subtyping.

Names here are resolved: an :class:`AtomicType` is one of the XSD built-ins, an element name is a :class:`QName`.
``T.matches(item)`` is XQuery 3.1 §2.5.5 (SequenceType matching), ``A.subtype_of(B)`` is §2.5.6.

Without a schema every element is annotated xs:untyped and every attribute xs:untypedAtomic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Final, TypeAlias

from xstreamcast.dataclass import dataclass
from xstreamcast.model import atomic as a
from xstreamcast.model import datetime as d
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.namespaces import XS
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT, Node


@dataclass(frozen=True, slots=True, eq=False)
class AtomicType:
    """An XSD simple type: ``name`` in the XSD namespace, ``cls`` the Python class of its own instances.

    ``classes`` holds the Python classes of all values that belong to the type, which decides both matching
    (``type(item) in classes``) and derivation (``classes`` is a subset), unions such as xs:numeric included.
    ``members`` is set for the list types (xs:NMTOKENS): they can be cast to, but no item has one.
    """

    name: str
    parent: AtomicType | None = field(repr=False)
    cls: type | None = field(repr=False, default=None)
    members: AtomicType | None = field(repr=False, default=None)
    classes: frozenset[type] = field(repr=False, default=frozenset())
    primitive: AtomicType | None = field(repr=False, default=None)

    def matches(self, item: Item) -> bool:
        return type(item) in self.classes

    def subtype_of(self, other: ItemType) -> bool:
        if isinstance(other, AtomicType):
            return self.classes <= other.classes
        return isinstance(other, AnyItem)

    @property
    def qname(self) -> QName:
        return QName(XS, self.name, "xs")

    def __str__(self) -> str:
        return f"xs:{self.name}"


@dataclass(frozen=True, slots=True)
class AnyItem:
    """``item()``"""

    def matches(self, item: Item) -> bool:
        return True

    def subtype_of(self, other: ItemType) -> bool:
        return isinstance(other, AnyItem)

    def __str__(self) -> str:
        return "item()"


_KIND_NAMES: Final = {
    DOCUMENT: "document-node",
    ELEMENT: "element",
    ATTRIBUTE: "attribute",
    TEXT: "text",
    COMMENT: "comment",
    PI: "processing-instruction",
    NAMESPACE: "namespace-node",
}
#: Type names that annotations of untyped data derive from.
_ELEMENT_ANNOTATIONS: Final = frozenset({"untyped", "anyType"})
_ATTRIBUTE_ANNOTATIONS: Final = frozenset({"untypedAtomic", "anyAtomicType", "anySimpleType", "anyType"})


@dataclass(frozen=True, slots=True)
class NodeTest:
    """``node()``, ``text()``, ``element(name, type)``, ``document-node(element(…))`` …

    ``kind`` is ``None`` for ``node()``. ``name`` is ``None`` for any name; of a processing instruction it is the
    target in no namespace. ``annotation`` is the local name of an XSD type. ``content`` is the element test inside
    ``document-node()``.
    """

    kind: int | None = None
    name: QName | None = None
    annotation: str | None = None
    content: NodeTest | None = None

    def matches(self, item: Item) -> bool:
        if not isinstance(item, Node):
            return False
        if self.kind is None:
            return True
        if item.kind != self.kind:
            return False
        if self.name is not None and item.name != self.name:
            return False
        if self.annotation is not None and not self._annotated():
            return False
        return self.content is None or self._contains(item)

    def _annotated(self) -> bool:
        known = _ELEMENT_ANNOTATIONS if self.kind == ELEMENT else _ATTRIBUTE_ANNOTATIONS
        return self.annotation in known

    def _contains(self, document: Node) -> bool:
        """The document has exactly one element child, it matches, and there is no text beside it."""
        children = [child for child in document.children() if child.kind in (ELEMENT, TEXT)]
        return len(children) == 1 and self.content is not None and self.content.matches(children[0])

    def subtype_of(self, other: ItemType) -> bool:
        if isinstance(other, AnyItem):
            return True
        if not isinstance(other, NodeTest):
            return False
        if other.kind is None:
            return True
        if self.kind != other.kind or (other.name is not None and self.name != other.name):
            return False
        if other.annotation is not None and other.annotation != "anyType" and self.annotation != other.annotation:
            return False
        if other.content is None:
            return True
        return self.content is not None and self.content.subtype_of(other.content)

    def __str__(self) -> str:
        if self.kind is None:
            return "node()"
        inside = str(self.content) if self.content else self.name.expanded if self.name else ""
        if self.annotation:
            inside = f"{inside or '*'}, xs:{self.annotation}"
        return f"{_KIND_NAMES[self.kind]}({inside})"


@dataclass(frozen=True, slots=True)
class FunctionTest:
    """``function(*)`` when ``params`` is ``None``, else ``function(A, B) as R``.

    ``trusted``: the receiver is a library function that passes only what it declares and checks what it gets, so
    its callbacks need no coercion wrapper.
    """

    params: tuple[SequenceType, ...] | None = None
    result: SequenceType | None = None
    trusted: bool = field(default=False, compare=False, repr=False)

    def matches(self, item: Item) -> bool:
        if not isinstance(item, FunctionItem):
            return False
        if self.params is None:
            return True
        if item.arity != len(self.params):
            return False
        if isinstance(item, Map):
            key = SequenceType(ANY_ATOMIC)
            return self.params[0].subtype_of(key) and self._returns([[], *item.values()])
        if isinstance(item, Array):
            return self.params[0].subtype_of(SequenceType(INTEGER)) and self._returns(item.members())
        return signature(item).subtype_of(self)

    def _returns(self, values: Iterable[list[Item]]) -> bool:
        return self.result is None or all(self.result.matches(value) for value in values)

    def subtype_of(self, other: ItemType) -> bool:
        """Parameters contravariant, result covariant."""
        if isinstance(other, AnyItem):
            return True
        if not isinstance(other, FunctionTest):
            return False
        if other.params is None:
            return True
        if self.params is None or len(self.params) != len(other.params):
            return False
        if not all(theirs.subtype_of(ours) for ours, theirs in zip(self.params, other.params, strict=True)):
            return False
        return (self.result or ANYTHING).subtype_of(other.result or ANYTHING)

    def __str__(self) -> str:
        if self.params is None:
            return "function(*)"
        return f"function({', '.join(map(str, self.params))}) as {self.result or ANYTHING}"


@dataclass(frozen=True, slots=True)
class MapTest:
    """``map(*)`` when ``key`` is ``None``, else ``map(K, V)``."""

    key: AtomicType | None = None
    value: SequenceType | None = None

    def matches(self, item: Item) -> bool:
        if not isinstance(item, Map):
            return False
        if self.key is None or self.value is None:
            return True
        classes, value = self.key.classes, self.value
        return all(type(k) in classes and value.matches(v) for k, v in item.items())

    def subtype_of(self, other: ItemType) -> bool:
        if isinstance(other, AnyItem):
            return True
        if isinstance(other, MapTest):
            if other.key is None or other.value is None:
                return True
            key, value = self.key or ANY_ATOMIC, self.value or ANYTHING
            return key.subtype_of(other.key) and value.subtype_of(other.value)
        return isinstance(other, FunctionTest) and self._as_function().subtype_of(other)

    def _as_function(self) -> FunctionTest:
        value = self.value or ANYTHING
        return FunctionTest((SequenceType(ANY_ATOMIC),), value.with_empty())

    def __str__(self) -> str:
        return "map(*)" if self.key is None else f"map({self.key}, {self.value})"


@dataclass(frozen=True, slots=True)
class ArrayTest:
    """``array(*)`` when ``member`` is ``None``, else ``array(T)``."""

    member: SequenceType | None = None

    def matches(self, item: Item) -> bool:
        if not isinstance(item, Array):
            return False
        member = self.member
        return member is None or all(member.matches(value) for value in item.members())

    def subtype_of(self, other: ItemType) -> bool:
        if isinstance(other, AnyItem):
            return True
        member = self.member or ANYTHING
        if isinstance(other, ArrayTest):
            return other.member is None or member.subtype_of(other.member)
        as_function = FunctionTest((SequenceType(INTEGER),), member)
        return isinstance(other, FunctionTest) and as_function.subtype_of(other)

    def __str__(self) -> str:
        return "array(*)" if self.member is None else f"array({self.member})"


ItemType: TypeAlias = AtomicType | AnyItem | NodeTest | FunctionTest | MapTest | ArrayTest

_RANGES: Final = {"": (1, 1), "?": (0, 1), "*": (0, None), "+": (1, None), "0": (0, 0)}


@dataclass(frozen=True, slots=True)
class SequenceType:
    """An item type with an occurrence sign: ``""`` one, ``?``, ``*``, ``+``, or ``0`` for ``empty-sequence()``."""

    item: ItemType
    occurrence: str = ""

    @property
    def allows_empty(self) -> bool:
        return self.occurrence in ("?", "*", "0")

    @property
    def allows_many(self) -> bool:
        return self.occurrence in ("*", "+")

    def matches(self, sequence: list[Item]) -> bool:
        size = len(sequence)
        if size == 1:
            return self.occurrence != "0" and self.item.matches(sequence[0])
        if size == 0:
            return self.occurrence in ("?", "*", "0")
        return self.occurrence in ("*", "+") and all(map(self.item.matches, sequence))

    def subtype_of(self, other: SequenceType) -> bool:
        low, high = _RANGES[self.occurrence]
        other_low, other_high = _RANGES[other.occurrence]
        if self.item is ERROR and low == 0:  # xs:error? and xs:error* hold nothing but ()
            high = 0
        if low < other_low or (other_high is not None and (high is None or high > other_high)):
            return False
        return high == 0 or self.item.subtype_of(other.item)

    def with_empty(self) -> SequenceType:
        """The same type, also allowing the empty sequence."""
        return SequenceType(self.item, {"": "?", "+": "*"}.get(self.occurrence, self.occurrence))

    def __str__(self) -> str:
        if self.occurrence == "0":
            return "empty-sequence()"
        text = f"({self.item})" if isinstance(self.item, FunctionTest) and self.occurrence else str(self.item)
        return text + self.occurrence


def _hierarchy() -> dict[str, AtomicType]:
    """The built-in types, each with the Python classes at or below it."""
    parents: dict[str, str] = {}
    lines = """
        anyAtomicType: untypedAtomic string boolean decimal float double duration dateTime date time gYearMonth gYear
            gMonthDay gDay gMonth hexBinary base64Binary anyURI QName NOTATION
        string: normalizedString
        normalizedString: token
        token: language NMTOKEN Name
        Name: NCName
        NCName: ID IDREF ENTITY
        decimal: integer
        integer: nonPositiveInteger long nonNegativeInteger
        nonPositiveInteger: negativeInteger
        long: int
        int: short
        short: byte
        nonNegativeInteger: unsignedLong positiveInteger
        unsignedLong: unsignedInt
        unsignedInt: unsignedShort
        unsignedShort: unsignedByte
        duration: yearMonthDuration dayTimeDuration
        dateTime: dateTimeStamp
    """
    parent = ""
    for word in lines.split():
        if word.endswith(":"):
            parent = word[:-1]
        else:
            parents[word] = parent
    own: dict[str, type] = {name: cls for cls, name in a.NATIVE.items()}
    others: tuple[type, ...] = (
        *a.STRINGS, *a.INTEGERS, *d.MOMENTS, *d.DURATIONS,
        a.QName, a.Notation, a.HexBinary, a.Base64Binary, a.Float,
    )  # fmt: skip
    for cls in others:
        own[cls.atomic] = cls  # type: ignore[attr-defined]  # every one of them names its type
    below: dict[str, set[type]] = {name: {own[name]} for name in parents}
    below["anyAtomicType"] = set()
    for name in parents:
        above = name
        while above in parents:
            above = parents[above]
            below[above].add(own[name])
    types = {"anyAtomicType": AtomicType("anyAtomicType", None, None, None, frozenset(below["anyAtomicType"]))}
    for name, parent in parents.items():  # parents come first in the listing
        up = types[parent]
        made = AtomicType(name, up, own[name], None, frozenset(below[name]), up.primitive)
        if parent == "anyAtomicType":
            object.__setattr__(made, "primitive", made)  # a primitive type is its own: no way to say so before
        types[name] = made
    numbers = types["decimal"].classes | types["float"].classes | types["double"].classes
    types["numeric"] = AtomicType("numeric", None, None, None, numbers)
    types["error"] = AtomicType("error", None)
    return types


#: Atomic (and the two union) types by local name in the XSD namespace.
TYPES: Final[dict[str, AtomicType]] = _hierarchy()
#: The list types: castable to, not usable as an item type.
LIST_TYPES: Final[dict[str, AtomicType]] = {
    name: AtomicType(name, None, None, TYPES[name[:-1]]) for name in ("NMTOKENS", "IDREFS")
} | {"ENTITIES": AtomicType("ENTITIES", None, None, TYPES["ENTITY"])}

ANY_ATOMIC: Final = TYPES["anyAtomicType"]
STRING: Final = TYPES["string"]
BOOLEAN: Final = TYPES["boolean"]
INTEGER: Final = TYPES["integer"]
DECIMAL: Final = TYPES["decimal"]
FLOAT: Final = TYPES["float"]
DOUBLE: Final = TYPES["double"]
NUMERIC: Final = TYPES["numeric"]
ERROR: Final = TYPES["error"]
ITEM: Final = AnyItem()
ANYTHING: Final = SequenceType(ITEM, "*")
EMPTY: Final = SequenceType(ITEM, "0")

_TYPE_OF: Final[dict[type, AtomicType]] = {t.cls: t for t in TYPES.values() if t.cls is not None}


def type_of(item: Item) -> AtomicType:
    """The atomic type of an atomic value. ``KeyError`` on nodes and functions."""
    return _TYPE_OF[type(item)]


#: Classes of values with a string nature: xs:string and below, xs:anyURI, xs:untypedAtomic.
TEXTUAL: Final = STRING.classes | {a.Untyped, a.AnyURI}
#: Classes of exact numbers: xs:decimal and below.
EXACT: Final = DECIMAL.classes
#: Classes of xs:integer and below.
INTEGRAL: Final = INTEGER.classes


def signature(function: FunctionItem) -> FunctionTest:
    """The type of a function item: what is not declared is ``item()*``."""
    params = function.params if function.params is not None else (ANYTHING,) * function.arity
    return FunctionTest(params, function.result or ANYTHING)


def describe(item: Item) -> str:
    """The type of one item, for messages."""
    if type(item) in _TYPE_OF:
        return str(_TYPE_OF[type(item)])
    if isinstance(item, Node):
        return str(NodeTest(item.kind, item.name))
    if isinstance(item, Map):
        return "map(*)"
    if isinstance(item, Array):
        return "array(*)"
    return "function(*)"


def describe_sequence(sequence: list[Item]) -> str:
    if not sequence:
        return "empty-sequence()"
    first = describe(sequence[0])
    return first if len(sequence) == 1 else f"a sequence of {len(sequence)} items, the first {first}"

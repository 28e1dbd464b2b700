"""What the compiler knows about a compiled expression: its static type, and how Python holds its value."""

from __future__ import annotations

from dataclasses import field, replace
from enum import Enum
from typing import Any

from xstreamcast.dataclass import dataclass
from xstreamcast.model import types as t
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT

NODE_KINDS = {
    DOCUMENT: "document",
    ELEMENT: "element",
    ATTRIBUTE: "attribute",
    TEXT: "text",
    COMMENT: "comment",
    PI: "pi",
    NAMESPACE: "namespace",
}
_NODES = frozenset(NODE_KINDS.values()) | {"node"}
_NUMBERS = frozenset({"integer", "decimal", "float", "double", "numeric"})
_EXACT = frozenset({"integer", "decimal"})
_ATOMS = _NUMBERS | {"atomic", "untyped", "string", "boolean"}
_FUNCTIONS = frozenset({"function", "map", "array"})


@dataclass(frozen=True, slots=True)
class Type:
    """Item kind, and bounds of the number of items (``many`` = more than one possible).

    ``sorted``: nodes in document order without duplicates; ``disjoint``: none is inside another.
    """

    kind: str = "item"
    low: int = 0
    many: bool = True
    sorted: bool = False
    disjoint: bool = False
    none: bool = False  # statically empty

    @property
    def is_node(self) -> bool:
        return self.kind in _NODES

    @property
    def is_number(self) -> bool:
        return self.kind in _NUMBERS

    @property
    def is_exact(self) -> bool:
        return self.kind in _EXACT

    @property
    def is_atomic(self) -> bool:
        return self.kind in _ATOMS or self.kind.startswith("xs:")

    @property
    def is_function(self) -> bool:
        return self.kind in _FUNCTIONS

    @property
    def one(self) -> bool:
        return self.low == 1 and not self.many

    def seq(self) -> Type:
        """The same items, any number."""
        return replace(self, low=0, many=True)

    def single(self) -> Type:
        """The type of one item of this sequence."""
        return Type(self.kind, 1, False, True, True)

    def optional(self) -> Type:
        return replace(self, low=0, many=False)


ITEMS = Type()
ITEM = Type("item", 1, False)
EMPTY = Type("item", 0, False, True, True, True)
BOOLEAN = Type("boolean", 1, False)
INTEGER = Type("integer", 1, False)
STRING = Type("string", 1, False)
NODES = Type("node")


def union(left: Type, right: Type, both: bool = False) -> Type:
    """The type of either (``both``: of one followed by the other)."""
    if left.none:
        return right if both else replace(right, low=0)
    if right.none:
        return left if both else replace(left, low=0)
    if left.kind == right.kind:
        kind = left.kind
    elif left.is_node and right.is_node:
        kind = "node"
    elif left.is_number and right.is_number:
        kind = "numeric"
    elif left.is_atomic and right.is_atomic:
        kind = "atomic"
    elif left.is_function and right.is_function:
        kind = "function"
    else:
        kind = "item"
    if both:
        return Type(kind, max(left.low, right.low), True)
    return Type(
        kind,
        min(left.low, right.low),
        left.many or right.many,
        left.sorted and right.sorted,
        left.disjoint and right.disjoint,
    )


_ATOMIC_KINDS = {
    "untypedAtomic": "untyped",
    "string": "string",
    "boolean": "boolean",
    "integer": "integer",
    "decimal": "numeric",  # an integer is a decimal too
    "float": "float",
    "double": "double",
    "numeric": "numeric",
    "anyAtomicType": "atomic",
}


def static_type(declared: t.SequenceType) -> Type:
    """The static type that values of a sequence type have."""
    if declared.occurrence == "0":
        return EMPTY
    low = 0 if declared.allows_empty else 1
    return Type(item_kind(declared.item), low, declared.allows_many, not declared.allows_many)


def item_kind(item: t.ItemType) -> str:
    if isinstance(item, t.AtomicType):
        if item.name == "string":
            return "string"
        if item.name in _ATOMIC_KINDS:
            return _ATOMIC_KINDS[item.name]
        if item.classes <= t.INTEGER.classes:
            return "numeric"
        return f"xs:{item.name}"
    if isinstance(item, t.NodeTest):
        return "node" if item.kind is None else NODE_KINDS[item.kind]
    if isinstance(item, t.MapTest):
        return "map"
    if isinstance(item, t.ArrayTest):
        return "array"
    if isinstance(item, t.FunctionTest):
        return "function"
    return "item"


class Rep(Enum):
    """How Python holds a value."""

    ONE = 1  # the item
    OPT = 2  # the item, or None for the empty sequence
    SEQ = 3  # a list nobody changes
    ROW = 4  # a node as tree and row, in two variables


_UNKNOWN = object()


@dataclass(frozen=True, slots=True)
class Val:
    """A compiled value: source text to be evaluated once, here and now (bind it to use it twice)."""

    code: str
    rep: Rep
    type: Type
    tree: str = ""
    const: Any = field(default=_UNKNOWN, compare=False)
    read: str = ""
    """The name of a row's entry in the value column, if that was read already."""
    beside: tuple[str, str, str, str] | None = field(default=None, compare=False)
    """Of a key that a loop over a map has: the names of the map, the key, what stands for the key, and its value."""

    @property
    def constant(self) -> bool:
        return self.const is not _UNKNOWN

    @property
    def bound(self) -> bool:
        """Whether the code is a name, free to be used again."""
        return self.code.isidentifier()


def one(code: str, type: Type, const: Any = _UNKNOWN) -> Val:
    return Val(code, Rep.ONE, replace(type, low=1, many=False), const=const)


def opt(code: str, type: Type) -> Val:
    return Val(code, Rep.OPT, replace(type, many=False))


def seq(code: str, type: Type) -> Val:
    return Val(code, Rep.SEQ, type)


def row(tree: str, code: str, kind: str, read: str = "") -> Val:
    return Val(code, Rep.ROW, Type(kind, 1, False, True, True), tree, read=read)

"""The library's table of functions: signatures as text, topic files loaded when a name is first asked for.

    @function("fn:substring", "xs:string?, xs:double", "xs:string")
    def substring(source: str | None, start: float) -> str: ...

A library function gets its arguments already converted to the declared types: a parameter ``T`` or ``T?`` arrives
as the item or ``None``, ``T*`` or ``T+`` as a list. It returns an item, ``None`` for the empty sequence, or a list.
With ``context=True`` the dynamic context comes first; ``focus=True`` says that the function looks at the focus in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any, Final, TypeVar

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.topics import TOPICS
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.namespaces import PREFIXES, XS
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT
from xstreamcast.model.types import (
    EMPTY,
    ITEM,
    TYPES,
    ArrayTest,
    AtomicType,
    FunctionTest,
    ItemType,
    MapTest,
    NodeTest,
    SequenceType,
)

_NAMESPACES: Final = {uri: prefix for prefix, uri in PREFIXES.items()}
_KINDS: Final = {
    "node": None,
    "document-node": DOCUMENT,
    "element": ELEMENT,
    "attribute": ATTRIBUTE,
    "text": TEXT,
    "comment": COMMENT,
    "processing-instruction": PI,
    "namespace-node": NAMESPACE,
}


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """One function of one arity."""

    name: QName
    params: tuple[SequenceType, ...]
    result: SequenceType
    call: Callable[..., Any]
    needs_context: bool = False
    reads_focus: bool = False

    @property
    def arity(self) -> int:
        return len(self.params)

    def apply(self, context: DynamicContext, args: list[list[Item]]) -> list[Item]:
        """Call with converted sequences, and give a sequence."""
        values = [
            arg if expected.allows_many else arg[0] if arg else None
            for arg, expected in zip(args, self.params, strict=True)
        ]
        found = self.call(context, *values) if self.needs_context else self.call(*values)
        if type(found) is list:
            return found
        return [] if found is None else [found]

    def item(self, context: DynamicContext) -> FunctionItem:
        """The function as a value, closed over a context (``fn:name#0`` keeps the focus it was taken in)."""
        return FunctionItem(self.name, self.arity, lambda args: self.apply(context, args), self.params, self.result)


_MOST_ARGUMENTS: Final = 100_000

_entries: dict[tuple[str, str, int], FunctionEntry] = {}
#: Functions of any number of arguments from a minimum on: (name) -> (minimum, the entry to repeat the last type of).
_variadic: dict[tuple[str, str], FunctionEntry] = {}

F = TypeVar("F", bound=Callable[..., Any])


def function(
    name: str, params: str, result: str, *, context: bool = False, focus: bool = False, variadic: bool = False
) -> Callable[[F], F]:
    """Register a function of one arity; repeat the decorator for further arities of the same code."""
    prefix, _, local = name.partition(":")
    qname = QName(PREFIXES[prefix], local, prefix)

    def register(code: F) -> F:
        entry = FunctionEntry(qname, parse_parameters(params), parse_type(result), code, context or focus, focus)
        if variadic:
            _variadic[qname.uri, local] = entry
        else:
            _entries[qname.uri, local, entry.arity] = entry
        return code

    return register


def known_function(uri: str, local: str, arity: int) -> bool:
    """Whether the library has a function."""
    return lookup(uri, local, arity) is not None


def lookup(uri: str, local: str, arity: int) -> FunctionEntry | None:
    """The library function of this name and arity, or ``None``."""
    if uri == XS:
        return _constructor(local) if arity == 1 else None
    _load(uri, local)
    found = _entries.get((uri, local, arity))
    if found is None:
        found = _variadic.get((uri, local))
        if found is None or arity < found.arity:
            return None
        if arity > _MOST_ARGUMENTS:
            raise error("FOAR0002", f"{found.name} with {arity} arguments is beyond all bounds")
        more = (found.params[-1],) * (arity - found.arity)
        found = replace(found, params=found.params + more)
    return found


def names(uri: str) -> list[str]:
    """The local names of a namespace's functions, for "did you mean"."""
    prefix = _NAMESPACES.get(uri, "") + ":"
    return [name.removeprefix(prefix) for name in TOPICS if name.startswith(prefix)]


def arities(uri: str, local: str) -> list[int]:
    """The arities a name exists in, for hints in XPST0017."""
    _load(uri, local)
    return sorted(arity for u, name, arity in _entries if (u, name) == (uri, local))


def _load(uri: str, local: str) -> None:
    topic = TOPICS.get(f"{_NAMESPACES.get(uri, '')}:{local}")
    if topic is not None:
        import_module(f"xstreamcast.functions.{topic}")


@cache
def _constructor(local: str) -> FunctionEntry | None:
    from xstreamcast.functions.constructors import constructor

    return constructor(local)


_TOKEN: Final = re.compile(r"\s*([A-Za-z][\w-]*(?::[A-Za-z][\w-]*)?|[(),?*+])")


class _Signature:
    """Reads types in signatures: the part of the SequenceType grammar that F&O's signatures use."""

    def __init__(self, text: str) -> None:
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, expected: str = "") -> str:
        token = self.peek()
        if not token or (expected and token != expected):
            raise ValueError(f"bad signature {self.tokens}: expected {expected or 'a type'} at {self.at}")
        self.at += 1
        return token

    def listed(self, end: str) -> tuple[SequenceType, ...]:
        types: list[SequenceType] = []
        while self.peek() != end:
            if types:
                self.take(",")
            types.append(self.sequence())
        return tuple(types)

    def sequence(self) -> SequenceType:
        if self.peek() == "empty-sequence":
            self.at += 3
            return EMPTY
        item = self.item()
        sign = self.take() if self.peek() in ("?", "*", "+") and self.peek() else ""
        return SequenceType(item, sign)

    def item(self) -> ItemType:
        if self.peek() == "(":
            self.take()
            item = self.item()
            self.take(")")
            return item
        name = self.take()
        if name.startswith("xs:"):
            return TYPES[name[3:]]
        self.take("(")
        made = self.parenthesised(name)
        self.take(")")
        if name == "function" and self.peek() == "as":
            self.take()
            assert isinstance(made, FunctionTest)
            made = FunctionTest(made.params, self.sequence(), trusted=True)
        return made

    def parenthesised(self, name: str) -> ItemType:
        if name == "item":
            return ITEM
        if name in _KINDS:
            return NodeTest(_KINDS[name])
        anything = self.peek() == "*"
        if anything:
            self.take()
        if name == "function":
            return FunctionTest() if anything else FunctionTest(self.listed(")"))
        if name == "array":
            return ArrayTest(None if anything else self.sequence())
        if name == "map":
            if anything:
                return MapTest()
            key = self.item()
            self.take(",")
            assert isinstance(key, AtomicType)
            return MapTest(key, self.sequence())
        raise ValueError(f"unknown type {name} in a signature")


@cache
def parse_type(text: str) -> SequenceType:
    """A sequence type as signatures write it.

    >>> str(parse_type("function(item()*, item()) as item()*"))
    'function(item()*, item()) as item()*'
    """
    reader = _Signature(text)
    made = reader.sequence()
    if reader.peek():
        raise ValueError(f"bad signature {text}")
    return made


@cache
def parse_parameters(text: str) -> tuple[SequenceType, ...]:
    return _Signature(text).listed("") if text else ()

"""Names and namespaces of one input, as tables the kernel reads and Python fills.

A *name* is a byte string as written (``p:local``), numbered when first met and never checked again. A *context* is a
set of namespace declarations in scope, also numbered: the same declarations in the same context lead to the same
context, so a document that repeats ``xmlns`` on every record costs Python once. A *qualified name* (kind, namespace,
local name, prefix) is what a name means in a context; it has a *class*, which is all the automaton looks at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from xml.parsers import expat

import numpy as np

from xstreamcast.model.names import ATTRIBUTE, ELEMENT, FIRST_NAME, PI
from xstreamcast.model.namespaces import XML, XMLNS
from xstreamcast.native.vector import hashed
from xstreamcast.scan.layout import DECLARES, PREFIXED, RESERVED
from xstreamcast.scan.token import pair_hash, place_names

_ASCII_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?")
_NAMES_AHEAD: Final = re.compile(
    rb"<([A-Za-z_][A-Za-z0-9_.-]*)[\s/>]|\s([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*[\"']"
)  # of elements, and of attributes; in a text these may be neither, which does no harm
_MANY: Final = 1024  # names from which on more new ones are looked for ahead
_FEW: Final = 16  # new names found ahead that make it worth while to look further
_NEAR: Final = 1 << 10  # bytes to look ahead, at least
_FAR: Final = 1 << 18  # and at most
_DENSE: Final = 1 << 18  # entries of the tables by context and name that have a place of their own
_SMALL: Final = 64  # declarations up to which contexts are compared
_HOPS: Final = 64  # from context to context, until one is put together
_REFERENCE: Final = re.compile(r"&(?:#x([0-9a-fA-F]+)|#([0-9]+)|(amp|lt|gt|quot|apos));")
_FIVE: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class SymbolError(ValueError):
    """A name or declaration no XML document may hold; the message says why."""


class Qualified(NamedTuple):
    """The meaning of a name where it stands."""

    kind: int
    uri: str
    local: str
    prefix: str


def accepted(document: bytes, namespaces: bool = True) -> bool:
    """Whether expat takes a document: the judge of what is too rare to have tables of our own."""
    parser = expat.ParserCreate("utf-8", "\x01") if namespaces else expat.ParserCreate("utf-8")
    try:
        parser.Parse(document, True)
    except expat.ExpatError:
        return False
    return True


def is_qualified_name(name: bytes) -> bool:
    """Whether a byte string is a QName of XML 1.0 (fourth edition, as expat has it)."""
    if _ASCII_NAME.fullmatch(name):
        return True
    if name.isascii() or name.count(b":") > 1 or re.search(rb"[\x00-,/;-@\[-^`{-\x7f]", name):
        return False
    # Letters outside ASCII are in expat's tables; a colon wants a letter on either side
    parts = name.split(b":")
    return all(accepted(b"<" + part + b"/>") for part in parts)


def attribute_value(raw: bytes) -> str:
    """The value of a CDATA attribute as written: white space to blanks, then references."""
    text = re.sub("\r\n|[\r\n\t]", " ", raw.decode())
    return _REFERENCE.sub(_referred, text)


def _referred(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return chr(int(match[2])) if match[2] else _FIVE[match[3]]


def _grown(array: Any, size: int) -> Any:
    new = np.zeros(max(size, 2 * len(array)), array.dtype)
    new[: len(array)] = array
    return new


def _name_flags(text: bytes) -> int:
    flags = PREFIXED if b":" in text else 0
    if text == b"xmlns" or text.startswith(b"xmlns:"):
        flags |= DECLARES
    if text.lower() == b"xml":
        flags |= RESERVED
    return flags


class Scope(Mapping[str, str]):
    """Namespaces by prefix: those of a context, all of them or what it has beyond another."""

    __slots__ = ("_base", "_hops", "_own", "size")

    def __init__(self, own: dict[str, str], base: Scope | None = None) -> None:
        self._own, self._base = own, base
        self._hops: int = 0 if base is None else base._hops + 1
        self.size: int = len(own) + (0 if base is None else base.size)
        """How many declarations it is made of, at most."""

    def __getitem__(self, prefix: str) -> str:
        if self._hops > _HOPS:
            self._own, self._base, self._hops = self._whole(), None, 0
        scope: Scope | None = self
        while scope is not None:
            if prefix in scope._own:
                return scope._own[prefix]
            scope = scope._base
        raise KeyError(prefix)

    def _whole(self) -> dict[str, str]:
        parts = []
        scope: Scope | None = self
        while scope is not None:
            parts.append(scope._own)
            scope = scope._base
        return {prefix: uri for part in reversed(parts) for prefix, uri in part.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._own if self._base is None else self._whole())

    def __len__(self) -> int:
        return len(self._own if self._base is None else self._whole())


class Symbols:
    """The tables. ``classify(kind, uri, local)`` gives a qualified name's class."""

    def __init__(self, classify: Callable[[int, str, str], int]) -> None:
        self.classify = classify
        self.texts: list[bytes] = [b""]  # name 0: none
        self._name_of: dict[bytes, int] = {}
        self.ahead = _NEAR
        self.names = np.zeros(4 * 256, np.int64)
        self.arena = np.zeros(4096, np.uint8)
        self.arena_used = 0
        self.table = np.zeros(1024, np.int32)
        self.info = np.zeros(256, np.int32)
        self.declared: dict[int, tuple[str, str]] = {}  # name of a declaration -> (prefix, uri)
        self.context_keys = np.zeros(64, np.int64)
        self.context_values = np.zeros(64, np.int64)
        self.contexts: list[Scope] = [Scope({"": "", "xml": XML})]
        self._context_of: dict[frozenset[tuple[str, str]], int] = {frozenset(self.contexts[0].items()): 0}
        self.context_moves: dict[tuple[int, int], int] = {}
        self.stride, self._rows, self.slots = 256, 4, 16
        self._elements: dict[tuple[int, int], int] = {}
        self._attributes: dict[tuple[int, int], int] = {}
        self._lay_out()
        self.targets_by = np.full(self.stride, -1, np.int32)
        self.qualified: list[Qualified] = [Qualified(kind, "", "", "") for kind in range(FIRST_NAME)]
        self._number_of: dict[Qualified, int] = {}
        self._first_of: dict[tuple[int, str, str], int] = {}
        self.class_of = np.zeros(256, np.int32)
        self.same_as = np.zeros(256, np.int32)
        self.stamps = np.zeros(256, np.int64)

    # ---------------------------------------------------------------------------------------------- names

    def _add(self, texts: Sequence[bytes], flags: Sequence[int]) -> int:
        """Number some names; the number of the first."""
        number, end = len(self.texts), len(self.texts) + len(texts)
        while 4 * end > len(self.names):
            self.names = _grown(self.names, 0)
            self.info = _grown(self.info, 0)
            self._restride(2 * self.stride)
        joined = b"".join(texts)
        if self.arena_used + len(joined) > len(self.arena):
            self.arena = _grown(self.arena, self.arena_used + len(joined))
        self.arena[self.arena_used : self.arena_used + len(joined)] = np.frombuffer(joined, np.uint8)
        rows = []
        for text in texts:
            first = int.from_bytes(text[:8], "little", signed=len(text) >= 8)
            last = int.from_bytes(text[-8:], "little", signed=True) if len(text) > 8 else first
            rows.append((first, last, len(text), self.arena_used))
            self.arena_used += len(text)
        self.names[4 * number : 4 * end] = np.array(rows, np.int64).reshape(-1)
        self.info[number:end] = flags
        self.texts += texts
        self._name_of.update(zip(texts, range(number, end), strict=True))
        placed = number
        if 4 * (end - 1) > len(self.table):
            size = len(self.table)
            while 4 * (end - 1) > size:
                size *= 4
            self.table, placed = np.zeros(size, np.int32), 1
        place_names(placed, end, self.names, self.arena, self.table)
        return number

    def _restride(self, stride: int) -> None:
        self.targets_by = np.concatenate([self.targets_by, np.full(stride - self.stride, -1, np.int32)])
        self.stride, self._rows = stride, min(self._rows, max(_DENSE // stride, 1))
        self._lay_out()

    def _lay_out(self) -> None:
        """The meaning of names in contexts, as the kernel reads it: a row for each of the first contexts, and a hash of
        pairs for the others, so that a document with as many declarations as names costs what it has of either."""
        self.dense = self._rows * self.stride
        most = max(len(self._elements), len(self._attributes))
        while len(self.contexts) > self._rows and self.slots < 2 * most:  # half of it is free, so that a search ends
            self.slots *= 4
        self.elements_by, self.attributes_by = self._laid_out(self._elements), self._laid_out(self._attributes)

    def _laid_out(self, meant: dict[tuple[int, int], int]) -> Any:
        made = np.full(self.dense + 3 * self.slots, -1, np.int32)
        for (context, name), number in meant.items():
            self._place_meaning(made, context, name, number)
        return made

    def _place_meaning(self, by: Any, context: int, name: int, number: int) -> None:
        if context < self._rows:
            by[context * self.stride + name] = number
            return
        slot = pair_hash(context, name) & (self.slots - 1)
        while by[self.dense + 3 * slot] >= 0:
            slot = (slot + 1) & (self.slots - 1)
        by[self.dense + 3 * slot : self.dense + 3 * slot + 3] = context, name, number

    def _add_meaning(self, meant: dict[tuple[int, int], int], by: Any, context: int, name: int, number: int) -> None:
        meant[context, name] = number
        if context >= self._rows and 2 * len(meant) > self.slots:
            self._lay_out()
        else:
            self._place_meaning(by, context, name, number)

    def add_name(self, text: bytes) -> int:
        """Number a name met for the first time."""
        if not is_qualified_name(text):
            raise SymbolError("not well-formed: not a name")
        return self._add([text], [_name_flags(text)])

    def look_ahead(self, b: Any, at: int, context: int) -> None:
        """Where names are very many, number those that are new in the bytes to come, all at once.

        They are taken for names of elements in the context, and of attributes.
        """
        if len(self.texts) < _MANY:
            return
        elements: dict[bytes, None] = {}
        attributes: dict[bytes, None] = {}
        for match in _NAMES_AHEAD.finditer(bytes(b[at : at + self.ahead])):
            (elements if match[1] else attributes)[match[1] or match[2]] = None
        fresh = [text for text in {**elements, **attributes} if text not in self._name_of]
        if fresh:
            self._add(fresh, list(map(_name_flags, fresh)))
            for text in fresh:
                name = self._name_of[text]
                if text in elements:
                    self.add_element(context, name)
                if text in attributes:
                    self.add_attribute(context, name)
        self.ahead = min(2 * self.ahead, _FAR) if len(fresh) >= _FEW else max(self.ahead // 2, _NEAR)

    def name_of(self, text: bytes) -> int:
        """The number of a name, which is made if need be; 0 for none."""
        if not text:
            return 0
        number = self._name_of.get(text)
        return self.add_name(text) if number is None else number

    # ---------------------------------------------------------------------------------------------- namespaces

    def add_declaration(self, text: bytes) -> int:
        """Number a declaration as written, ``xmlns:p="uri"``, met for the first time."""
        name, _, rest = text.partition(b"=")
        prefix = name.strip().decode()[6:]
        uri = attribute_value(rest.strip()[1:-1])
        if prefix == "xmlns":
            raise SymbolError("reserved prefix (xmlns) must not be declared or undeclared")
        if (prefix == "xml") != (uri == XML):
            if prefix == "xml":
                raise SymbolError("reserved prefix (xml) must not be undeclared or bound to another namespace name")
            raise SymbolError("prefix must not be bound to one of the reserved namespace names")
        if uri == XMLNS:
            raise SymbolError("prefix must not be bound to one of the reserved namespace names")
        if prefix and not uri:
            raise SymbolError("must not undeclare prefix")
        number = self._add([text], [0])
        self.declared[number] = (prefix, uri)
        return number

    def add_context(self, context: int, declaration: int) -> int:
        """The context a declaration leads to from a context."""
        prefix, uri = self.declared[declaration]
        outer = self.contexts[context]
        number = context if outer.get(prefix) == uri else None
        key = frozenset({**outer, prefix: uri}.items()) if outer.size < _SMALL else None
        if number is None and key is not None:  # what comes to the same is the same; of many that would cost too much
            number = self._context_of.get(key)
        if number is None:
            number = len(self.contexts)
            self.contexts.append(Scope({prefix: uri}, outer) if key is None else Scope(dict(key)))
            if key is not None:
                self._context_of[key] = number
            if number >= self._rows and 2 * self._rows * self.stride <= _DENSE:
                self._rows *= 2
                self._lay_out()
        self.context_moves[context, declaration] = number
        if 2 * len(self.context_moves) > len(self.context_keys):
            size = 4 * len(self.context_keys)
            self.context_keys, self.context_values = np.zeros(size, np.int64), np.zeros(size, np.int64)
            for (of, by), to in self.context_moves.items():
                self._place_context(of, by, to)
        else:
            self._place_context(context, declaration, number)
        return number

    def context_of(self, scope: dict[str, str]) -> int:
        """The number of the context that has these declarations."""
        context = 0
        for prefix, uri in scope.items():
            if self.contexts[context].get(prefix) != uri:
                declaration = len(self.texts)
                self._add([b"=%d" % declaration], [0])  # a declaration nobody wrote
                self.declared[declaration] = (prefix, uri)
                context = self.add_context(context, declaration)
        return context

    def _place_context(self, context: int, declaration: int, number: int) -> None:
        key = (context << 32) + declaration
        mask = len(self.context_keys) - 1
        slot = hashed(key, 0, 0) & mask
        while self.context_keys[slot]:
            slot = (slot + 1) & mask
        self.context_keys[slot] = key
        self.context_values[slot] = number

    # ---------------------------------------------------------------------------------------------- meanings

    def number(self, qualified: Qualified) -> int:
        """The number of a qualified name."""
        number = self._number_of.get(qualified)
        if number is None:
            number = self._number_of[qualified] = len(self.qualified)
            self.qualified.append(qualified)
            if number >= len(self.class_of):
                self.class_of = _grown(self.class_of, 0)
                self.same_as = _grown(self.same_as, 0)
                self.stamps = _grown(self.stamps, 0)
            self.class_of[number] = self.classify(*qualified[:3])
            # Two prefixes of one namespace must not bring two attributes of one name: they share a stamp.
            self.same_as[number] = self._first_of.setdefault(qualified[:3], number)
        return number

    def _split(self, name: int) -> tuple[str, str]:
        prefix, _, local = self.texts[name].decode().rpartition(":")
        return prefix, local

    def add_element(self, context: int, name: int) -> int:
        """The meaning of a name for an element in a context."""
        prefix, local = self._split(name)
        uri = self.contexts[context].get(prefix)
        if uri is None:
            raise SymbolError("unbound prefix")
        number = self.number(Qualified(ELEMENT, uri, local, prefix))
        self._add_meaning(self._elements, self.elements_by, context, name, number)
        return number

    def add_attribute(self, context: int, name: int) -> int:
        """The meaning of a name for an attribute: without a prefix it is in no namespace. Declarations are in XMLNS."""
        prefix, local = self._split(name)
        if self.info[name] & DECLARES:
            uri: str | None = XMLNS
        else:
            uri = self.contexts[context].get(prefix) if prefix else ""
        if uri is None:
            raise SymbolError("unbound prefix")
        number = self.number(Qualified(ATTRIBUTE, uri, local, prefix))
        self._add_meaning(self._attributes, self.attributes_by, context, name, number)
        return number

    def add_target(self, name: int) -> int:
        """The meaning of a name for a PI."""
        number = self.number(Qualified(PI, "", self.texts[name].decode(), ""))
        self.targets_by[name] = number
        return number

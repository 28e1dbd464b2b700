"""The json and adaptive output methods (Serialization 3.1 §9, §10)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from math import isfinite
from typing import Final

from xstreamcast.errors import error
from xstreamcast.model.atomic import AnyURI, Item, QName, Untyped
from xstreamcast.model.function import Array, FunctionItem, Map
from xstreamcast.model.lexical import double_text, to_string
from xstreamcast.model.namespaces import PREFIXES
from xstreamcast.model.serialise_parameters import Parameters
from xstreamcast.model.tree import Node
from xstreamcast.model.types import STRING, type_of

_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
_ESCAPED: Final = re.compile('["\\\\/\x00-\x1f\x7f-\x9f]')


def escape_json(text: str) -> str:
    return _ESCAPED.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04X}", text)


def _string_writer(parameters: Parameters) -> Callable[[str], str]:
    mapping = dict(parameters.use_character_maps)
    pattern = re.compile("([" + re.escape("".join(mapping)) + "])") if mapping else None
    form, encoding = parameters.normalization_form, parameters.encoding
    narrow = not encoding.lower().startswith("utf")

    def write(text: str) -> str:
        if form != "none":
            text = unicodedata.normalize(form, text)  # type: ignore[arg-type]  # checked with the parameters
        if pattern is None:
            escaped = escape_json(text)
        else:
            escaped = "".join(mapping[p] if p in mapping else escape_json(p) for p in pattern.split(text))
        if narrow:
            escaped = _narrowed(escaped, encoding)
        return f'"{escaped}"'

    return write


def _narrowed(text: str, encoding: str) -> str:
    """Characters an encoding lacks as ``\\uXXXX``, beyond the basic plane as a pair."""
    out = []
    for character in text:
        try:
            character.encode(encoding)
            out.append(character)
        except UnicodeEncodeError:
            units = character.encode("utf-16-be")
            out.extend(f"\\u{units[i : i + 2].hex().upper()}" for i in range(0, len(units), 2))
    return "".join(out)


def json_text(items: list[Item], parameters: Parameters) -> str:
    """One item, or ``null`` for none."""
    out: list[str] = []
    _JSONWriter(parameters, out).sequence(items, 0)
    return "".join(out)


class _JSONWriter:
    def __init__(self, parameters: Parameters, out: list[str]) -> None:
        self.parameters = parameters
        self.out = out
        self.string = _string_writer(parameters)

    def sequence(self, items: list[Item], level: int) -> None:
        if not items:
            self.out.append("null")
        elif len(items) > 1:
            hint = "make an array { … } of them, or write one item per line (--lines)"
            raise error("SERE0023", f"JSON has no sequence of {len(items)} items", hint=hint)
        else:
            self.item(items[0], level)

    def item(self, item: Item, level: int) -> None:
        out = self.out
        if isinstance(item, Map):
            self.object(item, level)
        elif isinstance(item, Array):
            members = [partial(self.sequence, member, level + 1) for member in item.members()]
            self.listed("[", "]", members, level)
        elif isinstance(item, FunctionItem):
            raise error("SERE0021", "a function cannot be serialised as JSON")
        elif isinstance(item, Node):
            out.append(self.string(self._node(item)))
        elif type(item) is bool:
            out.append("true" if item else "false")
        elif isinstance(item, float):
            if not isfinite(item):
                raise error("SERE0020", f"JSON has no number {to_string(item)}")
            out.append(double_text(item))
        elif isinstance(item, (int, Decimal)):
            out.append(to_string(item))
        else:
            out.append(self.string(to_string(item)))

    def _node(self, node: Node) -> str:
        from xstreamcast.model.serialise import node_text, serialise

        if self.parameters.json_node_output_method == "text":
            return serialise([node], method="text")
        return node_text(node, Parameters(method=self.parameters.json_node_output_method))

    def object(self, target: Map, level: int) -> None:
        seen: set[str] = set()
        entries: list[Callable[[], None]] = []
        for key, value in target.items():
            name = to_string(key)
            if name in seen and not self.parameters.allow_duplicate_names:
                raise error("SERE0022", f'the key "{name}" occurs twice in one JSON object')
            seen.add(name)

            entries.append(partial(self.entry, name, value, level + 1))
        self.listed("{", "}", entries, level)

    def entry(self, name: str, value: list[Item], level: int) -> None:
        self.out.append(self.string(name) + (": " if self.parameters.indent else ":"))
        self.sequence(value, level)

    def listed(self, opening: str, closing: str, entries: Sequence[Callable[[], None]], level: int) -> None:
        pad = "\n" + "  " * (level + 1) if self.parameters.indent and entries else ""
        self.out.append(opening)
        for position, entry in enumerate(entries):
            if position:
                self.out.append(",")
            self.out.append(pad)
            entry()
        if pad:
            self.out.append("\n" + "  " * level)
        self.out.append(closing)


def adaptive_text(items: list[Item], parameters: Parameters) -> str:
    separator = "\n" if parameters.item_separator is None else parameters.item_separator
    return separator.join(_adaptive(item, parameters) for item in items)


def _quoted(text: str, parameters: Parameters) -> str:
    mapping = parameters.use_character_maps
    return '"' + "".join(mapping.get(c) or ('""' if c == '"' else c) for c in text) + '"'


def _adaptive(item: Item, parameters: Parameters) -> str:
    if isinstance(item, Node):
        from xstreamcast.model.serialise import node_text

        return node_text(item, parameters)
    if isinstance(item, Map):
        inner = (f"{_adaptive(k, parameters)}:{_adaptive_sequence(v, parameters)}" for k, v in item.items())
        return "map{" + ",".join(inner) + "}"
    if isinstance(item, Array):
        return "[" + ",".join(_adaptive_sequence(m, parameters) for m in item.members()) + "]"
    if isinstance(item, FunctionItem):
        return _function_name(item)
    if type(item) is bool:
        return "true()" if item else "false()"
    if isinstance(item, QName):
        return item.expanded
    if type(item) in STRING.classes or type(item) in (Untyped, AnyURI):
        return _quoted(item, parameters)
    if type(item) is float:
        return _adaptive_double(item)
    if isinstance(item, (int, Decimal)):
        return to_string(item)
    return f'{type_of(item).primitive}("{to_string(item)}")' if type(item).__name__ != "Float" else _float(item)


def _float(item: float) -> str:
    return f'xs:float("{to_string(item)}")'


def _adaptive_sequence(items: list[Item], parameters: Parameters) -> str:
    inner = replace(parameters, omit_xml_declaration=True)
    if len(items) == 1:
        return _adaptive(items[0], inner)
    return "(" + ",".join(_adaptive(item, inner) for item in items) + ")"


def _adaptive_double(value: float) -> str:
    """As ``format-number(value, "0.0##########################e0")`` writes it."""
    if not isfinite(value):
        return double_text(value)
    if value == 0:
        return "-0.0e0" if str(value)[0] == "-" else "0.0e0"
    sign, digits, exponent = Decimal(repr(float(value))).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}e{len(text) - 1 + exponent}"


def _function_name(item: FunctionItem) -> str:
    name = item.name
    if name is None:
        return f"(anonymous-function)#{item.arity}"
    for prefix, uri in PREFIXES.items():
        if uri == name.uri:
            return f"{prefix}:{name.local}#{item.arity}"
    return f"{name.expanded}#{item.arity}"

"""fn:json-to-xml and fn:xml-to-json (F&O 3.1 §17.5.3, §17.5.4)."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.json import Number, Object, Options, boolean_option, options_of, read_json
from xstreamcast.functions.registry import function
from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.function import Map
from xstreamcast.model.lexical import double_text, parse_boolean, parse_double
from xstreamcast.model.namespaces import FN
from xstreamcast.model.serialise_json import escape_json
from xstreamcast.model.tree import DOCUMENT, ELEMENT, TEXT, Node

_POLICIES = ("reject", "use-first", "retain")


@function("fn:json-to-xml", "xs:string?", "document-node()?", context=True)
@function("fn:json-to-xml", "xs:string?, map(*)", "document-node()?", context=True)
def json_to_xml(context: DynamicContext, text: str | None, options: Map | None = None) -> Node | None:
    chosen = options_of(context, options, _POLICIES, "retain")
    if options is not None and boolean_option(options, "validate"):
        raise error("FOJS0004", "fn:json-to-xml: this processor is not schema-aware, so it cannot validate")
    if text is None:
        return None
    builder = TreeBuilder(context.static.base_uri)
    builder.start_document()
    _build(builder, read_json(text), None, chosen, top=True)
    return builder.finish().root


def _build(builder: TreeBuilder, value: Any, key: str | None, options: Options, top: bool = False) -> None:
    if value is None:
        _open(builder, "null", key, options, top)
    elif isinstance(value, bool):
        _open(builder, "boolean", key, options, top)
        builder.text("true" if value else "false")
    elif isinstance(value, Number):
        _open(builder, "number", key, options, top)
        builder.text(value)
    elif isinstance(value, str):
        _open(builder, "string", key, options, top)
        text = options.text(value)
        if options.escape and "\\" in text:
            builder.attribute("", "escaped", "true")
        builder.text(text)
    elif isinstance(value, Object):
        _open(builder, "map", key, options, top)
        _build_pairs(builder, value, options)
    else:
        _open(builder, "array", key, options, top)
        for member in value:
            _build(builder, member, None, options)
    builder.end()


def _build_pairs(builder: TreeBuilder, pairs: Object, options: Options) -> None:
    seen: set[str] = set()
    for name, value in pairs:
        key = options.text(name)
        if key in seen and options.duplicates != "retain":
            if options.duplicates == "reject":
                raise error("FOJS0003", f'the key "{key}" occurs twice in one JSON object')
            continue
        seen.add(key)
        _build(builder, value, key, options)


def _open(builder: TreeBuilder, local: str, key: str | None, options: Options, top: bool) -> None:
    builder.start(FN, local)
    if top:
        builder.namespace("", FN)
    if key is not None:
        if options.escape and "\\" in key:
            builder.attribute("", "escaped-key", "true")
        builder.attribute("", "key", key)


@function("fn:xml-to-json", "node()?", "xs:string?")
@function("fn:xml-to-json", "node()?, map(*)", "xs:string?")
def xml_to_json(node: Node | None, options: Map | None = None) -> str | None:
    indent = boolean_option(options, "indent") if options is not None else False
    if node is None:
        return None
    if node.kind == DOCUMENT:
        children = _elements(node)
        if len(children) != 1:
            raise error("FOJS0006", "the document has no single element")
        node = children[0]
    if node.kind != ELEMENT:
        raise error("FOJS0006", "only elements and documents represent JSON")
    out: list[str] = []
    _write(node, out, "\n" if indent else "")
    return "".join(out)


def _elements(node: Node) -> list[Node]:
    """Element children; text other than whitespace beside them is FOJS0006."""
    children = []
    for child in node.children():
        if child.kind == ELEMENT:
            children.append(child)
        elif child.kind == TEXT and child.string.strip(" \t\r\n"):
            raise error("FOJS0006", f"text inside <{node.local or 'document'}>")
    return children


def _flag(node: Node, name: str) -> bool:
    value = node.attribute(name)
    if value is None:
        return False
    try:
        return parse_boolean(value)
    except XStreamError:
        raise error("FOJS0006", f'{name}="{value}" is not a boolean') from None


def _check_attributes(node: Node) -> None:
    """F&O's schema allows the attributes of maps and strings anywhere; where they say nothing they are ignored."""
    for attribute in node.attributes():
        if attribute.uri == FN or (not attribute.uri and attribute.local not in ("key", "escaped-key", "escaped")):
            raise error("FOJS0006", f"the attribute {attribute.lexical} is not allowed on <{node.local}>")


def _write(node: Node, out: list[str], pad: str) -> None:
    if node.uri != FN:
        raise error("FOJS0006", f"<{node.lexical}> does not represent JSON")
    _check_attributes(node)
    local = node.local
    if local in ("map", "array"):
        _write_children(node, out, pad, local == "map")
        return
    if any(child.kind == ELEMENT for child in node.children()):
        raise error("FOJS0006", f"<{local}> holds an element")
    text = "".join(child.string for child in node.children() if child.kind == TEXT)
    if local == "null":
        if text.strip(" \t\r\n"):
            raise error("FOJS0006", "<null> holds text")
        out.append("null")
    elif local == "boolean":
        try:
            out.append("true" if parse_boolean(text) else "false")
        except XStreamError:
            raise error("FOJS0006", f'"{text}" is not a boolean') from None
    elif local == "number":
        out.append(_number(text))
    elif local == "string":
        out.append(f'"{_string(text, _flag(node, "escaped"))}"')
    else:
        raise error("FOJS0006", f"<{local}> does not represent JSON")


def _number(text: str) -> str:
    try:
        value = parse_double(text)
    except XStreamError:
        raise error("FOJS0006", f'"{text}" is not a number') from None
    if not isfinite(value):
        raise error("FOJS0006", f"JSON has no number {text.strip()}")
    return double_text(value)


_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})')


def _string(text: str, is_escaped: bool) -> str:
    if not is_escaped:
        return escape_json(text)
    parts = []
    at = 0
    for match in _ESCAPE.finditer(text):
        parts += [_unescaped_part(text[at : match.start()]), match[0]]
        at = match.end()
    parts.append(_unescaped_part(text[at:]))
    return "".join(parts)


def _unescaped_part(text: str) -> str:
    if "\\" in text:
        raise error("FOJS0007", f"bad escape in {text!r}")
    return escape_json(text)


_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescape(text: str) -> str:
    """The string that escapes stand for, to compare keys."""
    return _ESCAPE.sub(lambda m: chr(int(m[0][2:], 16)) if m[0][1] == "u" else _SHORT.get(m[0][1], m[0][1]), text)


def _write_children(node: Node, out: list[str], pad: str, is_map: bool) -> None:
    out.append("{" if is_map else "[")
    inner = pad + "  " if pad else ""
    seen: set[str] = set()
    children = _elements(node)
    for position, child in enumerate(children):
        if position:
            out.append(",")
        out.append(inner)
        if is_map:
            key = child.attribute("key")
            if key is None:
                raise error("FOJS0006", f"<{child.local}> in a map has no key")
            is_escaped = _flag(child, "escaped-key")
            written = _string(key, is_escaped)
            plain = _unescape(key) if is_escaped else key
            if plain in seen:
                raise error("FOJS0006", f'the key "{plain}" occurs twice')
            seen.add(plain)
            out.append(f'"{written}":' + (" " if pad else ""))
        _write(child, out, inner)
    out.append(pad if children else "")
    out.append("}" if is_map else "]")

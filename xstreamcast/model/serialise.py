"""Serialisation of sequences (XSLT and XQuery Serialization 3.1): methods xml, text, json and adaptive.

>>> serialise([1, 2, "a < b"])
'1 2 a &lt; b'
>>> serialise([1, "a"], method="adaptive", item_separator=",")
'1,"a"'
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from xstreamcast.errors import error
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.lexical import to_string
from xstreamcast.model.serialise_parameters import Parameters, from_element, from_map, from_options
from xstreamcast.model.serialise_xml import XMLWriter, writers
from xstreamcast.model.tree import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT, Node

__all__ = ["Parameters", "from_element", "from_map", "from_options", "serialise"]

_DEFAULTS = Parameters()


def serialise(items: list[Item], parameters: Parameters | None = None, **overrides: Any) -> str:
    """The text of a sequence. Keywords override single parameters, with ``_`` for ``-``."""
    chosen = parameters or _DEFAULTS
    if overrides:
        chosen = replace(chosen, **overrides)
    chosen.checked()
    if chosen.method == "json":
        from xstreamcast.model.serialise_json import json_text

        return json_text(items, chosen)
    if chosen.method == "adaptive":
        from xstreamcast.model.serialise_json import adaptive_text

        return adaptive_text(items, chosen)
    if chosen.method == "text":
        return _text(items, chosen)
    return _xml(items, chosen)


def _flattened(items: list[Item]) -> list[Item]:
    """Sequence normalisation, first step: arrays give their members."""
    if not any(isinstance(item, Array) for item in items):
        return items
    flat: list[Item] = []
    for item in items:
        if isinstance(item, Array):
            for member in item.members():
                flat.extend(_flattened(member))
        else:
            flat.append(item)
    return flat


def _node(item: Node | FunctionItem) -> Node:
    """A node that has markup of its own; SENR0001 for all else."""
    if isinstance(item, FunctionItem):
        raise error("SENR0001", f"a {item.described} cannot be serialised by this method")
    if item.kind in (ATTRIBUTE, NAMESPACE):
        what = "an attribute" if item.kind == ATTRIBUTE else "a namespace node"
        raise error("SENR0001", f"{what} cannot be serialised on its own", hint="the adaptive method can")
    return item


def _text(items: list[Item], parameters: Parameters) -> str:
    """String values of nodes and atomic values, nothing escaped."""
    parts: list[str] = []
    previous_atomic = False
    separator = parameters.item_separator
    for position, item in enumerate(_flattened(items)):
        if separator is not None and position:
            parts.append(separator)
        if isinstance(item, (Node, FunctionItem)):
            node = _node(item)
            if node.kind not in (COMMENT, PI):
                parts.append(node.string)
            previous_atomic = False
        else:
            if previous_atomic and separator is None:
                parts.append(" ")
            parts.append(to_string(item))
            previous_atomic = True
    text = "".join(parts)
    if parameters.use_character_maps:
        text = text.translate({ord(c): mapped for c, mapped in parameters.use_character_maps.items()})
    if parameters.normalization_form != "none":
        import unicodedata

        text = unicodedata.normalize(parameters.normalization_form, text)  # type: ignore[arg-type]  # checked
    return text


def _xml(items: list[Item], parameters: Parameters) -> str:
    out: list[str] = []
    writer = XMLWriter(parameters, out)
    separator = parameters.item_separator
    flat = _flattened(items)
    _prologue(flat, parameters, out)
    start = len(out)
    previous_atomic = False
    for position, item in enumerate(flat):
        if separator is not None and position:
            out.append(writer.text(separator))
        if isinstance(item, (Node, FunctionItem)):
            _write_node(_node(item), writer, parameters, start)
            previous_atomic = False
        else:
            if previous_atomic and separator is None:
                out.append(" ")
            out.append(writer.text(to_string(item)))
            previous_atomic = True
    return "".join(out)


def _write_node(node: Node, writer: XMLWriter, parameters: Parameters, start: int) -> None:
    out = writer.out
    rows = node.tree.children(node.row) if node.kind == DOCUMENT else [node.row]
    for row in rows:
        kind = node.tree.kind[row]
        if parameters.indent and len(out) > start and kind in (ELEMENT, COMMENT, PI) and out[-1].endswith(">"):
            out.append("\n")
        if kind == ELEMENT and parameters.doctype_system is not None:
            out.append(_doctype(node.tree.lexical(row), parameters))
        writer.subtree(node.tree, row)


def _prologue(items: list[Item], parameters: Parameters, out: list[str]) -> None:
    """The XML declaration; SEPM0004 where a document type or standalone needs one root element."""
    if parameters.standalone is not None or parameters.doctype_system is not None:
        top: list[Item] = []
        for item in items:
            top.extend(item.children() if isinstance(item, Node) and item.kind == DOCUMENT else [item])
        elements = [item for item in top if isinstance(item, Node) and item.kind == ELEMENT]
        texts = [item for item in top if not isinstance(item, Node) or item.kind == TEXT]
        if len(elements) != 1 or texts:
            raise error("SEPM0004", "standalone and doctype-system need a document with one element")
    omit = parameters.omit_xml_declaration
    if omit or (omit is None and parameters.standalone is None):
        return
    declaration = f'<?xml version="{parameters.version}" encoding="{parameters.encoding}"'
    if parameters.standalone is not None:
        declaration += f' standalone="{parameters.standalone}"'
    out.append(declaration + "?>")


def _doctype(name: str, parameters: Parameters) -> str:
    system = parameters.doctype_system or ""
    quoted = f"'{system}'" if '"' in system else f'"{system}"'
    if parameters.doctype_public is not None:
        return f'<!DOCTYPE {name} PUBLIC "{parameters.doctype_public}" {quoted}>\n'
    return f"<!DOCTYPE {name} SYSTEM {quoted}>\n"


def node_text(node: Node, parameters: Parameters) -> str:
    """One node as the adaptive and json methods write it: attributes and namespaces too."""
    if node.kind == ATTRIBUTE:
        _, attribute = writers(parameters)
        return f'{node.lexical}="{attribute(node.string)}"'
    if node.kind == NAMESPACE:
        _, attribute = writers(parameters)
        return f'xmlns{":" + node.local if node.local else ""}="{attribute(node.string)}"'
    return _xml([node], replace(parameters, method="xml", item_separator=None))

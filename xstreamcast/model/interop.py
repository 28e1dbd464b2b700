"""Nodes as trees of lxml; :mod:`xstreamcast.scan.foreign` is the way in."""

from __future__ import annotations

from typing import Any

from xstreamcast.model.names import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, PI, TEXT
from xstreamcast.model.tree import Node


def to_lxml(node: Node) -> Any:
    """A copy as an lxml element, or an lxml tree for a document node with one element child."""
    from lxml import etree

    if node.kind == DOCUMENT:
        children = node.children()
        roots = [child for child in children if child.kind == ELEMENT]
        if len(roots) != 1 or any(child.kind == TEXT for child in children):
            raise ValueError("lxml can only hold documents with exactly one element and no text at the top")
        element = _copy_out(roots[0])
        for child in children[: children.index(roots[0])]:
            element.addprevious(_copy_out(child))
        for child in reversed(children[children.index(roots[0]) + 1 :]):
            element.addnext(_copy_out(child))
        return etree.ElementTree(element)
    if node.kind not in (ELEMENT, COMMENT, PI):
        raise ValueError(f"lxml has no object for {node!r} on its own")
    return _copy_out(node)


def _copy_out(node: Node) -> Any:
    from lxml import etree

    if node.kind == COMMENT:
        return etree.Comment(node.string)
    if node.kind == PI:
        return etree.ProcessingInstruction(node.local, node.string)
    scope = {prefix or None: uri for prefix, uri in node.namespaces().items() if prefix != "xml"}
    if node.uri and node.uri not in scope.values():
        scope[node.lexical.partition(":")[0] if ":" in node.lexical else None] = node.uri
    element = etree.Element(etree.QName(node.uri or None, node.local), nsmap=scope)  # type: ignore[arg-type]
    for attribute in node.attributes():
        element.set(etree.QName(attribute.uri or None, attribute.local), attribute.string)
    last = None
    for child in node.children():
        if child.kind == TEXT:
            if last is None:
                element.text = (element.text or "") + child.string
            else:
                last.tail = (last.tail or "") + child.string
        elif child.kind != ATTRIBUTE:
            last = _copy_out(child)
            element.append(last)
    return element

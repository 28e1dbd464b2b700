"""lxml trees to ours and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xstreamcast.model.build import TreeBuilder
from xstreamcast.model.names import ATTRIBUTE, COMMENT, DOCUMENT, ELEMENT, PI, TEXT
from xstreamcast.model.tree import Node

if TYPE_CHECKING:
    from lxml.etree import _Element, _ElementTree


def from_lxml(source: _Element | _ElementTree) -> Node:
    """A copy of an lxml tree (a document node) or element (a parentless element)."""
    from lxml import etree

    if isinstance(source, etree._ElementTree):
        uri = source.docinfo.URL
        builder = TreeBuilder(uri, uri)
        builder.start_document()
        root = source.getroot()
        before = list(root.itersiblings(preceding=True))
        for sibling in reversed(before):
            _copy_in(builder, sibling, {}, tail=False)
        _copy_in(builder, root, {}, tail=False)
        for sibling in root.itersiblings():
            _copy_in(builder, sibling, {}, tail=False)
    else:
        builder = TreeBuilder(source.base)
        _copy_in(builder, source, {}, tail=False)
    return builder.finish().root


def _copy_in(builder: TreeBuilder, element: Any, scope: dict[str | None, str], tail: bool) -> None:
    from lxml import etree

    if element.tag is etree.Comment:
        builder.comment(element.text or "")
    elif element.tag is etree.ProcessingInstruction:
        builder.pi(element.target, element.text or "")
    elif element.tag is etree.Entity:
        builder.text(element.text or "")
    else:
        name = etree.QName(element)
        builder.start(name.namespace or "", name.localname, element.prefix or "")
        declared = element.nsmap
        for prefix, uri in declared.items():
            if scope.get(prefix) != uri and prefix != "xml":
                builder.namespace(prefix or "", uri)
        prefix_of = {uri: prefix for prefix, uri in declared.items() if prefix}
        prefix_of["http://www.w3.org/XML/1998/namespace"] = "xml"
        for key, value in element.attrib.items():
            name = etree.QName(key)
            uri = name.namespace or ""
            builder.attribute(uri, name.localname, value, prefix_of.get(uri, ""))
        builder.text(element.text or "")
        for child in element:
            _copy_in(builder, child, declared, tail=True)
        builder.end()
    if tail and element.tail:
        builder.text(element.tail)


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

"""Functions on nodes (F&O 3.1 §2, §13, §14.5)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.functions.string import string_of
from xstreamcast.model.atomic import AnyURI, Item, QName
from xstreamcast.model.convert import atomize
from xstreamcast.model.lexical import is_ncname
from xstreamcast.model.namespaces import FN, XML
from xstreamcast.model.tree import ATTRIBUTE, DOCUMENT, ELEMENT, NAMESPACE, PI, TEXT, Node


@function("fn:node-name", "node()?", "xs:QName?")
def node_name(node: Node | None) -> QName | None:
    return None if node is None else node.name


@function("fn:node-name", "", "xs:QName?", focus=True)
def node_name_of_context(context: DynamicContext) -> QName | None:
    return context.require_node("fn:node-name()").name


@function("fn:nilled", "node()?", "xs:boolean?")
def nilled(node: Node | None) -> bool | None:
    """Untyped elements are never nilled."""
    return False if node is not None and node.kind == ELEMENT else None


@function("fn:nilled", "", "xs:boolean?", focus=True)
def nilled_of_context(context: DynamicContext) -> bool | None:
    return nilled(context.require_node("fn:nilled()"))


@function("fn:string", "item()?", "xs:string")
def string(item: Item | None) -> str:
    return "" if item is None else string_of(item)


@function("fn:string", "", "xs:string", focus=True)
def string_of_context(context: DynamicContext) -> str:
    return string_of(context.require_item("fn:string()"))


@function("fn:data", "item()*", "xs:anyAtomicType*")
def data(items: list[Item]) -> list[Item]:
    return atomize(items)


@function("fn:data", "", "xs:anyAtomicType*", focus=True)
def data_of_context(context: DynamicContext) -> list[Item]:
    return atomize([context.require_item("fn:data()")])


def _uri(text: str | None) -> AnyURI | None:
    return None if text is None else AnyURI(text)


@function("fn:base-uri", "node()?", "xs:anyURI?")
def base_uri(node: Node | None) -> AnyURI | None:
    return None if node is None else _uri(node.base_uri)


@function("fn:base-uri", "", "xs:anyURI?", focus=True)
def base_uri_of_context(context: DynamicContext) -> AnyURI | None:
    return _uri(context.require_node("fn:base-uri()").base_uri)


@function("fn:document-uri", "node()?", "xs:anyURI?")
def document_uri(node: Node | None) -> AnyURI | None:
    return None if node is None else _uri(node.document_uri)


@function("fn:document-uri", "", "xs:anyURI?", focus=True)
def document_uri_of_context(context: DynamicContext) -> AnyURI | None:
    return _uri(context.require_node("fn:document-uri()").document_uri)


@function("fn:name", "node()?", "xs:string")
def name(node: Node | None) -> str:
    return "" if node is None or node.name is None else str(node.name)


@function("fn:name", "", "xs:string", focus=True)
def name_of_context(context: DynamicContext) -> str:
    return name(context.require_node("fn:name()"))


@function("fn:local-name", "node()?", "xs:string")
def local_name(node: Node | None) -> str:
    return "" if node is None or node.name is None else node.name.local


@function("fn:local-name", "", "xs:string", focus=True)
def local_name_of_context(context: DynamicContext) -> str:
    return local_name(context.require_node("fn:local-name()"))


@function("fn:namespace-uri", "node()?", "xs:anyURI")
def namespace_uri(node: Node | None) -> AnyURI:
    return AnyURI("" if node is None or node.name is None else node.name.uri)


@function("fn:namespace-uri", "", "xs:anyURI", focus=True)
def namespace_uri_of_context(context: DynamicContext) -> AnyURI:
    return namespace_uri(context.require_node("fn:namespace-uri()"))


@function("fn:lang", "xs:string?, node()", "xs:boolean")
def lang(wanted: str | None, node: Node) -> bool:
    """The nearest xml:lang is the wanted language or a sublanguage of it."""
    at: Node | None = node
    while at is not None:
        found = at.attribute("lang", XML)
        if found is not None:
            language, sought = found.lower(), (wanted or "").lower()
            return language == sought or language.startswith(sought + "-")
        at = at.parent
    return False


@function("fn:lang", "xs:string?", "xs:boolean", focus=True)
def lang_of_context(context: DynamicContext, wanted: str | None) -> bool:
    return lang(wanted, context.require_node("fn:lang()"))


@function("fn:root", "node()?", "node()?")
def root(node: Node | None) -> Node | None:
    return None if node is None else node.root


@function("fn:root", "", "node()?", focus=True)
def root_of_context(context: DynamicContext) -> Node:
    return context.require_node("fn:root()").root


def _step(node: Node) -> str:
    """One step of fn:path: the node's name or kind, and its position among its like."""
    kind, label = node.kind, node.name
    if kind == ATTRIBUTE:
        assert label is not None
        return f"@{label.local}" if not label.uri else f"@Q{{{label.uri}}}{label.local}"
    if kind == NAMESPACE:
        return f"namespace::{label.local}" if label else f'namespace::*[Q{{{FN}}}local-name()=""]'
    parent = node.parent
    siblings = parent.children() if parent is not None else [node]
    position = 1
    for sibling in siblings:
        if sibling == node:
            break
        if sibling.kind == kind and sibling.name == label:
            position += 1
    if kind == ELEMENT:
        assert label is not None
        return f"{label.expanded}[{position}]"
    if kind == PI:
        return f"processing-instruction({label.local if label else ''})[{position}]"
    return f"{'text' if kind == TEXT else 'comment'}()[{position}]"


@function("fn:path", "node()?", "xs:string?")
def path(node: Node | None) -> str | None:
    if node is None:
        return None
    if node.kind == DOCUMENT:
        return "/"
    steps: list[str] = []
    at = node
    while (parent := at.parent) is not None:
        steps.append(_step(at))
        at = parent
    start = "" if at.kind == DOCUMENT else f"Q{{{FN}}}root()"
    return start + "".join("/" + step for step in reversed(steps))


@function("fn:path", "", "xs:string?", focus=True)
def path_of_context(context: DynamicContext) -> str | None:
    return path(context.require_node("fn:path()"))


@function("fn:has-children", "node()?", "xs:boolean")
def has_children(node: Node | None) -> bool:
    if node is None or node.kind not in (DOCUMENT, ELEMENT):
        return False
    tree, row = node.tree, node.row
    return tree.first_child(row) <= row + tree.size[row]


@function("fn:has-children", "", "xs:boolean", focus=True)
def has_children_of_context(context: DynamicContext) -> bool:
    return has_children(context.require_node("fn:has-children()"))


def _ordered(nodes: Iterable[Node]) -> list[Node]:
    return sorted(set(nodes), key=lambda node: node.order)


def _contains(outer: Node, inner: Node) -> bool:
    """``outer`` is an ancestor of ``inner``, given that it comes before it in document order."""
    tree, row = outer[0], outer[1]
    if tree is not inner[0] or outer.kind not in (DOCUMENT, ELEMENT):
        return False
    return inner[1] <= row + tree.size[row]


@function("fn:innermost", "node()*", "node()*")
def innermost(nodes: list[Node]) -> list[Node]:
    ordered = _ordered(nodes)
    kept = [outer for outer, inner in pairwise(ordered) if not _contains(outer, inner)]
    return kept + ordered[-1:]


@function("fn:outermost", "node()*", "node()*")
def outermost(nodes: list[Node]) -> list[Node]:
    kept: list[Node] = []
    for node in _ordered(nodes):
        if not kept or not _contains(kept[-1], node):
            kept.append(node)
    return kept


@function("fn:generate-id", "node()?", "xs:string")
def generate_id(node: Node | None) -> str:
    return "" if node is None else "n" + "x".join(map(str, node.order))


@function("fn:generate-id", "", "xs:string", focus=True)
def generate_id_of_context(context: DynamicContext) -> str:
    return generate_id(context.require_node("fn:generate-id()"))


def _document_of(node: Node, asker: str) -> Node:
    top = node.root
    if top.kind != DOCUMENT:
        raise error("FODC0001", f"{asker}: the node is not in a document")
    return top


@function("fn:id", "xs:string*, node()", "element()*")
@function("fn:element-with-id", "xs:string*, node()", "element()*")
def elements_by_id(values: list[str], node: Node) -> list[Node]:
    """Elements with one of the IDs; untyped elements have none but in attributes, so both functions agree."""
    tree = _document_of(node, "fn:id").tree
    rows = tree.ids()
    wanted = {word for value in values for word in value.split() if is_ncname(word)}
    return [Node((tree, row)) for row in sorted({rows[word] for word in wanted if word in rows})]


@function("fn:id", "xs:string*", "element()*", focus=True)
@function("fn:element-with-id", "xs:string*", "element()*", focus=True)
def elements_by_id_in_context(context: DynamicContext, values: list[str]) -> list[Node]:
    return elements_by_id(values, context.require_node("fn:id()"))


@function("fn:idref", "xs:string*, node()", "node()*")
def idref(values: list[str], node: Node) -> list[Node]:
    tree = _document_of(node, "fn:idref").tree
    wanted = set(values)
    return [Node((tree, row)) for row in sorted({row for value, row in tree.idrefs() if value in wanted})]


@function("fn:idref", "xs:string*", "node()*", focus=True)
def idref_in_context(context: DynamicContext, values: list[str]) -> list[Node]:
    return idref(values, context.require_node("fn:idref()"))

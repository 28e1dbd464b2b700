"""Functions on QNames (F&O 3.1 §10)."""

from __future__ import annotations

from xstreamcast.errors import error
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import AnyURI, NCName, QName
from xstreamcast.model.lexical import is_ncname, trim
from xstreamcast.model.tree import Node


def _split(text: str) -> tuple[str, str]:
    prefix, colon, local = trim(text).rpartition(":")
    if not is_ncname(local) or (colon and not is_ncname(prefix)):
        raise error("FOCA0002", f'"{text}" is not a lexical QName')
    return prefix, local


@function("fn:resolve-QName", "xs:string?, element()", "xs:QName?")
def resolve_qname(text: str | None, element: Node) -> QName | None:
    if text is None:
        return None
    prefix, local = _split(text)
    uri = element.namespaces().get(prefix)
    if uri is None:
        if prefix:
            raise error("FONS0004", f"no namespace is in scope for prefix {prefix}")
        uri = ""
    return QName(uri, local, prefix)


@function("fn:QName", "xs:string?, xs:string", "xs:QName")
def make_qname(uri: str | None, text: str) -> QName:
    prefix, local = _split(text)
    if prefix and not uri:
        raise error("FOCA0002", f"{text} has a prefix, but no namespace is given for it")
    return QName(str(uri or ""), local, prefix)


@function("fn:prefix-from-QName", "xs:QName?", "xs:NCName?")
def prefix_from_qname(name: QName | None) -> NCName | None:
    return NCName(name.prefix) if name is not None and name.prefix else None


@function("fn:local-name-from-QName", "xs:QName?", "xs:NCName?")
def local_name_from_qname(name: QName | None) -> NCName | None:
    return None if name is None else NCName(name.local)


@function("fn:namespace-uri-from-QName", "xs:QName?", "xs:anyURI?")
def namespace_uri_from_qname(name: QName | None) -> AnyURI | None:
    return None if name is None else AnyURI(name.uri)


@function("fn:namespace-uri-for-prefix", "xs:string?, element()", "xs:anyURI?")
def namespace_uri_for_prefix(prefix: str | None, element: Node) -> AnyURI | None:
    uri = element.namespaces().get(str(prefix or ""))
    return AnyURI(uri) if uri else None


@function("fn:in-scope-prefixes", "element()", "xs:string*")
def in_scope_prefixes(element: Node) -> list[str]:
    return [NCName(prefix) if prefix else "" for prefix in element.namespaces()]

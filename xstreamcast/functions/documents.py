"""Documents, collections and text resources (F&O 3.1 §14.6, §14.8): the doors are the dynamic context's."""

from __future__ import annotations

import codecs

from xstreamcast.errors import UnsupportedError, XMLError, XStreamError, error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.functions.string import is_xml_character
from xstreamcast.functions.uri import is_absolute, is_valid, resolve
from xstreamcast.model.atomic import AnyURI, Item
from xstreamcast.model.function import FunctionItem, Map
from xstreamcast.model.tree import Node


def _absolute(context: DynamicContext, uri: str, code: str) -> str:
    """A URI resolved against the static base URI."""
    if not is_valid(uri.replace(" ", "%20")):
        raise error(code, f'"{uri}" is not a URI')
    if is_absolute(uri) or context.static.base_uri is None:
        return str(uri)
    return resolve(context.static.base_uri, uri)


@function("fn:doc", "xs:string?", "document-node()?", context=True)
def doc(context: DynamicContext, uri: str | None) -> Node | None:
    if uri is None:
        return None
    if "#" in uri:
        raise error("FODC0005", f'"{uri}" has a fragment identifier, which no document has')
    try:
        return context.documents(_absolute(context, uri, "FODC0005"))
    except XMLError as failure:
        raise error("FODC0002", f"{uri}: {failure.message}", failure.place) from None


@function("fn:doc-available", "xs:string?", "xs:boolean", context=True)
def doc_available(context: DynamicContext, uri: str | None) -> bool:
    try:
        return doc(context, uri) is not None
    except XStreamError:
        return False


def _named(context: DynamicContext, uri: str | None) -> str | None:
    """The URI of a collection; None: the default one."""
    if uri is not None and "#" in uri:
        raise error("FODC0004", f'"{uri}" has a fragment identifier, which no collection has')
    return None if uri is None else _absolute(context, uri, "FODC0004")


@function("fn:collection", "", "item()*", context=True)
@function("fn:collection", "xs:string?", "item()*", context=True)
def collection(context: DynamicContext, uri: str | None = None) -> list[Item]:
    return context.collections(_named(context, uri))


@function("fn:uri-collection", "", "xs:anyURI*", context=True)
@function("fn:uri-collection", "xs:string?", "xs:anyURI*", context=True)
def uri_collection(context: DynamicContext, uri: str | None = None) -> list[AnyURI]:
    return [AnyURI(one) for one in context.uri_collections(_named(context, uri))]


def read_resource(context: DynamicContext, href: str, encoding: str | None) -> str:
    """The text of a resource; FOUT1170 no such, FOUT1190 cannot be decoded, FOUT1200 encoding not known."""
    if "#" in href:
        raise error("FOUT1170", f'"{href}" has a fragment identifier')
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise error("FOUT1190", f"encoding {encoding} is not supported") from None
    return context.resources(_absolute(context, href, "FOUT1170"), encoding).removeprefix("\ufeff")


def read_text(context: DynamicContext, href: str, encoding: str | None) -> str:
    """A resource as an xs:string, which holds XML characters only."""
    text = read_resource(context, href, encoding)
    for character in text:
        if not is_xml_character(ord(character)):
            raise error("FOUT1190", f"{href} holds the character U+{ord(character):04X}, which XML has not")
    return text


@function("fn:unparsed-text", "xs:string?", "xs:string?", context=True)
@function("fn:unparsed-text", "xs:string?, xs:string", "xs:string?", context=True)
def unparsed_text(context: DynamicContext, href: str | None, encoding: str | None = None) -> str | None:
    return None if href is None else read_text(context, href, encoding)


@function("fn:unparsed-text-lines", "xs:string?", "xs:string*", context=True)
@function("fn:unparsed-text-lines", "xs:string?, xs:string", "xs:string*", context=True)
def unparsed_text_lines(context: DynamicContext, href: str | None, encoding: str | None = None) -> list[str]:
    if href is None:
        return []
    lines = read_text(context, href, encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@function("fn:unparsed-text-available", "xs:string?", "xs:boolean", context=True)
@function("fn:unparsed-text-available", "xs:string?, xs:string", "xs:boolean", context=True)
def unparsed_text_available(context: DynamicContext, href: str | None, encoding: str | None = None) -> bool:
    try:
        return unparsed_text(context, href, encoding) is not None
    except XStreamError:
        return False


@function("fn:load-xquery-module", "xs:string", "map(*)")
@function("fn:load-xquery-module", "xs:string, map(*)", "map(*)")
def load_xquery_module(uri: str, options: Map | None = None) -> FunctionItem:
    if not uri:
        raise error("FOQM0001", "the module URI is empty")
    raise UnsupportedError("FOQM0006", "fn:load-xquery-module is not supported", hint="import the module in the prolog")


@function("fn:transform", "map(*)", "map(*)")
def transform(options: Map) -> FunctionItem:
    raise UnsupportedError("FOXT0004", "fn:transform: there is no XSLT processor here")

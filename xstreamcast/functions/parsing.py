"""XML text to nodes and back (F&O 3.1 §14.7)."""

from __future__ import annotations

import re

from xstreamcast.errors import XStreamError, error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import Item
from xstreamcast.model.function import Map
from xstreamcast.model.serialise import Parameters, from_element, from_map, serialise
from xstreamcast.model.tree import Node
from xstreamcast.scan.parse import parse, parse_forest


@function("fn:parse-xml", "xs:string?", "document-node()?", context=True)
def parse_xml(context: DynamicContext, text: str | None) -> Node | None:
    if text is None:
        return None
    try:
        return parse(str(text), context.static.base_uri)
    except XStreamError as failure:
        raise error("FODC0006", f"fn:parse-xml: {failure.message}", failure.place) from None


_TEXT_DECLARATION = re.compile(
    r"<\?xml(?:\s+version\s*=\s*(?:\"1\.[0-9]+\"|'1\.[0-9]+'))?"
    r"\s+encoding\s*=\s*(?:\"[A-Za-z][\w.-]*\"|'[A-Za-z][\w.-]*')\s*\?>"
)


@function("fn:parse-xml-fragment", "xs:string?", "document-node()?", context=True)
def parse_xml_fragment(context: DynamicContext, text: str | None) -> Node | None:
    """An external general parsed entity: any content, perhaps after a text declaration."""
    if text is None:
        return None
    content = str(text)
    declaration = _TEXT_DECLARATION.match(content)
    if declaration is not None:
        content = content[declaration.end() :]
    elif re.match(r"<\?xml\s", content):
        raise error("FODC0006", "fn:parse-xml-fragment: not a text declaration")
    try:
        return parse_forest(content, context.static.base_uri)
    except XStreamError as failure:
        raise error("FODC0006", f"fn:parse-xml-fragment: {failure.message}") from None


@function("fn:serialize", "item()*", "xs:string")
@function("fn:serialize", "item()*, item()?", "xs:string")
def serialize(items: list[Item], parameters: Item | None = None) -> str:
    if parameters is None:
        return serialise(items, Parameters())
    if isinstance(parameters, Map):
        return serialise(items, from_map(parameters))
    if isinstance(parameters, Node):
        return serialise(items, from_element(parameters))
    raise error("XPTY0004", "fn:serialize takes its parameters as a map or an element")

"""Functions on booleans (F&O 3.1 §7)."""

from __future__ import annotations

from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import Item
from xstreamcast.model.compare import effective_boolean


@function("fn:true", "", "xs:boolean")
def true() -> bool:
    return True


@function("fn:false", "", "xs:boolean")
def false() -> bool:
    return False


@function("fn:boolean", "item()*", "xs:boolean")
def boolean(items: list[Item]) -> bool:
    return effective_boolean(items)


@function("fn:not", "item()*", "xs:boolean")
def negation(items: list[Item]) -> bool:
    return not effective_boolean(items)

"""Trees of lxml and ElementTree as documents of ours; :mod:`xstreamcast.model.interop` is the way back."""

from __future__ import annotations

from copy import copy
from typing import Any

from xstreamcast.model.names import ELEMENT
from xstreamcast.model.tree import Node
from xstreamcast.scan.parse import parse


def is_foreign(value: Any) -> bool:
    """Whether a value is a tree or an element of lxml or ElementTree."""
    home = type(value).__module__
    return home.startswith("lxml") or (home == "xml.etree.ElementTree" and hasattr(value, "iter"))


def from_foreign(source: Any) -> Node:
    """A copy of a tree of lxml or ElementTree; an element is the root of a document of its own."""
    if type(source).__module__.startswith("lxml"):
        from lxml import etree

        uri = source.docinfo.URL if isinstance(source, etree._ElementTree) else source.base
        document = parse(etree.tostring(source, encoding="utf-8", with_tail=False), uri, uri)
        whole = isinstance(source, etree._ElementTree)
    else:
        from xml.etree import ElementTree

        whole = isinstance(source, ElementTree.ElementTree)
        element = copy(source.getroot() if whole else source)
        element.tail = None
        document = parse(ElementTree.tostring(element, "utf-8"))
    if whole:
        return document
    return next(child for child in document.children() if child.kind == ELEMENT)

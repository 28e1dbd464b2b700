"""Functions on URIs (F&O 3.1 §6), and the resolution of references (RFC 3986 §5.2)."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import AnyURI

_PARTS = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_FORBIDDEN = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f]")
_BRACKETS = re.compile(r"[\[\]]")
_LITERAL = re.compile(r"([^\[\]@]*@)?\[[0-9A-Fa-f:.]+\](:[0-9]*)?")
"""An address between brackets as the host, the only place for them in an authority (RFC 3986 §3.2.2)."""


class Reference(NamedTuple):
    """The five components; ``None`` where one is not there at all."""

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme is not None else ""
        text += f"//{self.authority}" if self.authority is not None else ""
        text += self.path
        text += f"?{self.query}" if self.query is not None else ""
        return text + (f"#{self.fragment}" if self.fragment is not None else "")


def split(uri: str) -> Reference:
    match = _PARTS.fullmatch(uri)
    assert match is not None  # the pattern takes any text
    return Reference(*match.groups())


def is_valid(uri: str) -> bool:
    """Whether a text can be read as an IRI reference."""
    if _BAD_ESCAPE.search(uri) or _FORBIDDEN.search(uri) or uri.count("#") > 1:
        return False
    first = re.split("[/?#]", uri, maxsplit=1)[0]
    parts = split(uri)
    if _BRACKETS.search(parts.authority or "") and _LITERAL.fullmatch(parts.authority or "") is None:
        return False
    return ":" not in first or parts.scheme is not None


def is_absolute(uri: str) -> bool:
    return split(uri).scheme is not None


def _merged(base: Reference, path: str) -> str:
    if base.authority is not None and not base.path:
        return "/" + path
    return base.path.rpartition("/")[0] + "/" + path if "/" in base.path else path


def _without_dots(path: str) -> str:
    """remove_dot_segments"""
    output: list[str] = []
    segments = path.split("/")
    for position, segment in enumerate(segments):
        last = position == len(segments) - 1
        if segment == ".":
            if last:
                output.append("")
        elif segment == "..":
            if len(output) > 1 or (output and output[0] != ""):
                output.pop()
            if last:
                output.append("")
        else:
            output.append(segment)
    return "/".join(output)


def resolve(base: str, reference: str) -> str:
    """A reference in the light of an absolute base.

    >>> resolve("http://a/b/c/d;p?q", "../g")
    'http://a/b/g'
    """
    b, r = split(base), split(reference)
    if r.scheme is not None:
        return str(r._replace(path=_without_dots(r.path) if r.path.startswith("/") else r.path))
    if r.authority is not None:
        return str(r._replace(scheme=b.scheme, path=_without_dots(r.path)))
    if not r.path:
        query = b.query if r.query is None else r.query
        return str(Reference(b.scheme, b.authority, b.path, query, r.fragment))
    path = r.path if r.path.startswith("/") else _merged(b, r.path)
    return str(Reference(b.scheme, b.authority, _without_dots(path), r.query, r.fragment))


@function("fn:resolve-uri", "xs:string?, xs:string", "xs:anyURI?")
def resolve_uri(relative: str | None, base: str) -> AnyURI | None:
    if relative is None:
        return None
    if not is_valid(relative):
        raise error("FORG0002", f'"{relative}" is not a URI reference')
    if is_absolute(relative):
        return AnyURI(relative)
    parts = split(base)
    if not is_valid(base) or parts.scheme is None or not (parts.path.startswith("/") or parts.authority):
        raise error("FORG0002", f'"{base}" is not an absolute, hierarchical base URI')
    if parts.fragment is not None:
        raise error("FORG0002", f'the base URI "{base}" has a fragment identifier')
    return AnyURI(resolve(base, relative))


@function("fn:resolve-uri", "xs:string?", "xs:anyURI?", context=True)
def resolve_uri_in_context(context: DynamicContext, relative: str | None) -> AnyURI | None:
    if relative is None:
        return None
    base = context.static.base_uri
    if base is None:
        if is_valid(relative) and is_absolute(relative):
            return AnyURI(relative)
        raise error("FONS0005", "fn:resolve-uri: there is no static base URI")
    return resolve_uri(relative, base)


@function("fn:encode-for-uri", "xs:string?", "xs:string")
def encode_for_uri(text: str | None) -> str:
    return quote(text or "", safe="-_.~")


@function("fn:iri-to-uri", "xs:string?", "xs:string")
def iri_to_uri(text: str | None) -> str:
    return quote(text or "", safe="-_.~!#$%&'()*+,/:;=?@[]")


@function("fn:escape-html-uri", "xs:string?", "xs:string")
def escape_html_uri(text: str | None) -> str:
    return "".join(c if " " <= c <= "~" else quote(c, safe="") for c in text or "")

"""The html and xhtml methods (XSLT and XQuery Serialization 3.1 §6, §7).

>>> from xstreamcast.model.serialise import serialise
>>> from xstreamcast import query
>>> page = query("<html><head/><body><p>a &lt; b<br/></p><option selected='selected'/></body></html>").items()
>>> print(serialise(page, method="html", include_content_type=False))
<!DOCTYPE html><html><head></head><body><p>a &lt; b<br></p><option selected></option></body></html>
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from xstreamcast.errors import error
from xstreamcast.model.names import ATTRIBUTE, ELEMENT, name_local, name_uri, prefixes
from xstreamcast.model.serialise_parameters import Parameters
from xstreamcast.model.serialise_xml import XMLWriter
from xstreamcast.model.tree import Tree

_XHTML: Final = "http://www.w3.org/1999/xhtml"
_FOREIGN: Final = ("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML")
_VOID: Final = frozenset((*("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),))
_VOID_4: Final = _VOID | frozenset(("basefont", "frame", "isindex"))
_VOID_5: Final = _VOID | frozenset(("keygen", "source", "track", "wbr"))
_RAW: Final = frozenset(("script", "style"))
_PRESERVED: Final = frozenset(("pre", "script", "style", "textarea", "title"))
_INLINE: Final = frozenset(
    (
        *("a", "abbr", "acronym", "applet", "area", "audio", "b", "basefont", "bdi", "bdo", "big", "br", "button"),
        *("canvas", "cite", "code", "data", "datalist", "del", "dfn", "em", "embed", "font", "i", "iframe", "img"),
        *("input", "ins", "kbd", "label", "link", "map", "mark", "meter", "noscript", "object", "output", "picture"),
        *("progress", "q", "ruby", "s", "samp", "script", "select", "small", "span", "strike", "strong", "sub"),
        *("sup", "svg", "template", "textarea", "time", "tt", "u", "var", "video", "wbr"),
    )
)
_BOOLEAN: Final = frozenset(
    (
        *("async", "autofocus", "autoplay", "checked", "compact", "controls", "declare", "default", "defer"),
        *("disabled", "formnovalidate", "hidden", "ismap", "itemscope", "loop", "multiple", "muted", "nohref"),
        *("noresize", "noshade", "novalidate", "nowrap", "open", "readonly", "required", "reversed", "scoped"),
        *("seamless", "selected", "truespeed", "typemustmatch"),
    )
)
_URIS: Final[Mapping[str, tuple[str, ...]]] = {
    "action": ("form",), "archive": ("object",), "background": ("body",),
    "cite": ("blockquote", "del", "ins", "q"), "classid": ("object",), "codebase": ("applet", "object"),
    "data": ("object",), "datasrc": ("button", "div", "input", "object", "select", "span", "table", "textarea"),
    "for": ("script",), "formaction": ("button", "input"), "href": ("a", "area", "base", "link"),
    "icon": ("command",), "longdesc": ("frame", "iframe", "img"), "manifest": ("html",), "name": ("a",),
    "poster": ("video",), "profile": ("head",),
    "src": ("audio", "embed", "frame", "iframe", "img", "input", "script", "source", "track", "video"),
    "usemap": ("img", "input", "object"), "value": ("input",),
}  # fmt: skip
_CONTROL: Final = re.compile("[\x7f-\x9f]")


def version_of(parameters: Parameters) -> float:
    """The version of HTML. SESU0013: it is none."""
    said = parameters.html_version or (parameters.version if parameters.method == "html" else "5.0")
    said = "5.0" if said in ("1.0", "1.1") else said  # that is the version of XML which nobody chose
    try:
        return float(said)
    except ValueError:
        raise error("SESU0013", f"HTML {said} is not supported", hint="4.0, 4.01 or 5.0") from None


class HTMLWriter(XMLWriter):
    """Appends subtrees as HTML, or as XHTML."""

    def __init__(self, parameters: Parameters, out: list[str]) -> None:
        super().__init__(parameters, out)
        self.plain = False  # every element is looked at
        self._forms = None
        self.version = version_of(parameters)
        self.html = parameters.method == "html"
        self.void = _VOID_5 if self.version >= 5 else _VOID_4

    def _name(self, tree: Tree, row: int) -> str:
        """The name of an element of HTML, "" for any other. Names of HTML are the same in capitals."""
        uri, local = name_uri[tree.name[row]], name_local[tree.name[row]]
        if not self.html:
            return local if uri == _XHTML or (not uri and self.version >= 5) else ""
        return local.lower() if not uri or (uri == _XHTML and self.version >= 5) else ""

    # --------------------------------------------------------------------------------------------------- tags

    def _empty(self, tree: Tree, row: int, tag: str, markup: str) -> str:
        name = self._name(tree, row)
        if name == "head" and self.parameters.include_content_type:
            return f"<{markup}>{self._content_type()}</{tag}>"
        if not name:
            return f"<{markup}/>"
        if name not in self.void:
            return f"<{markup}></{tag}>"
        return f"<{markup}>" if self.html else f"<{markup} />"

    def _opened(self, tree: Tree, row: int) -> str:
        """What stands behind a start tag of its own accord."""
        if self.parameters.include_content_type and self._name(tree, row) == "head":
            return self._content_type()
        return ""

    def _content_type(self) -> str:
        kind = self.parameters.media_type or "text/html"
        end = ">" if self.html else " />"
        return f'<meta http-equiv="Content-Type" content="{kind}; charset={self.parameters.encoding}"{end}'

    def _left_out(self, tree: Tree, row: int) -> bool:
        """Whether an element is written by ourselves: the type of the content, in a head."""
        if not self.parameters.include_content_type or self._name(tree, row) != "meta" or not tree.up[row]:
            return False
        if self._name(tree, row - tree.up[row]) != "head":
            return False
        for at in range(row + 1, row + tree.size[row] + 1):
            if tree.kind[at] == ATTRIBUTE and name_local[tree.name[at]].lower() == "http-equiv":
                return (tree.value[at] or "").strip().lower() == "content-type"
        return False

    def _tag(self, tree: Tree, row: int) -> tuple[str, str]:
        """In HTML 5, elements of HTML, SVG and MathML have no prefix."""
        uri = name_uri[tree.name[row]]
        if self.version >= 5 and (uri == _XHTML or uri in _FOREIGN):
            return "", name_local[tree.name[row]]
        return super()._tag(tree, row)

    def _declared(self, tree: Tree, row: int, prefix: str, uri: str) -> bool:
        """A prefix that the name has lost is not declared."""
        dropped = self.version >= 5 and (uri == _XHTML or uri in _FOREIGN) and bool(prefix)
        return not (dropped and prefix == prefixes[tree.prefix[row]])

    def _value(self, tree: Tree, row: int, at: int, name: str) -> str:
        """An attribute, with a blank before it."""
        value, element = tree.value[at] or "", self._name(tree, row)
        if not element or name_uri[tree.name[at]]:
            return f' {name}="{self.attribute(value)}"'
        lower = name.lower()
        if self._raw(tree, row - tree.up[row]):
            return f' {name}="{value}"'
        if self.html and lower in _BOOLEAN and value.lower() == lower:
            return f" {name}"
        if self.parameters.escape_uri_attributes and element.lower() in _URIS.get(lower, ()):
            value = quote(unicodedata.normalize("NFC", value), safe="".join(map(chr, range(128))))
        text = self.attribute(value)
        if self.html:
            text = text.replace("&lt;", "<").replace("&amp;{", "&{")
        return f' {name}="{text}"'

    # --------------------------------------------------------------------------------------------------- content

    def pi(self, target: str, text: str) -> None:
        if not self.html:
            super().pi(target, text)
            return
        if ">" in text:
            raise error("SERE0015", "a processing instruction of HTML cannot have > in it")
        self.out.append(f"<?{target} {text}>" if text else f"<?{target}>")

    def _write_text(self, tree: Tree, row: int) -> None:
        above = row - tree.up[row]
        name = self._name(tree, above) if above < row else ""
        text = tree.value[row] or ""
        if self.html and _CONTROL.search(text):
            raise error("SERE0014", "HTML has no characters from U+007F to U+009F")
        if above < row and self._raw(tree, above):
            self.out.append(text)
        elif name and self.html:
            self.out.append(self.text(text))
        else:
            super()._write_text(tree, row)

    def _raw(self, tree: Tree, row: int) -> bool:
        """Whether an element is a script or a style of HTML, or stands in one: what is in there is not escaped."""
        while self.html:
            if tree.kind[row] == ELEMENT and self._name(tree, row) in _RAW:
                return True
            if not tree.up[row]:
                return False
            row -= tree.up[row]
        return False

    def _indentable(
        self, tree: Tree, row: int, first: int, outside: list[tuple[int, str, dict[str, str], bool]]
    ) -> bool:
        if self._name(tree, row).lower() in _PRESERVED or not super()._indentable(tree, row, first, outside):
            return False
        elements = [child for child in tree.children(row) if tree.kind[child] == ELEMENT]
        return bool(elements) and not any(self._name(tree, child).lower() in _INLINE for child in elements)

    def _suppressed(self, tree: Tree, row: int) -> bool:
        name = self._name(tree, row) if self.html else ""
        uri = name_uri[tree.name[row]]
        if not name and uri not in _FOREIGN:
            return super()._suppressed(tree, row)
        lower = name_local[tree.name[row]].lower()
        return any(each.local.lower() == lower and each.uri == uri for each in self.parameters.suppress_indentation)


def doctype(tree: Tree, row: int, parameters: Parameters) -> str:
    """The document type before the first element of a document, "" if there is none to be written."""
    name = tree.lexical(row)
    system, public = parameters.doctype_system, parameters.doctype_public
    if parameters.method == "xhtml" and system is None:
        public = None
    if system is not None or (public is not None and parameters.method == "html"):
        known = f' PUBLIC "{public}"' if public is not None else " SYSTEM"
        quoted = "" if system is None else f" '{system}'" if '"' in system else f' "{system}"'
        return f"<!DOCTYPE {name}{known}{quoted}>"
    is_html = HTMLWriter(parameters, [])._name(tree, row).lower() == "html"
    return f"<!DOCTYPE {name_local[tree.name[row]]}>" if is_html and version_of(parameters) >= 5 else ""

"""Serialisation parameters (XSLT and XQuery Serialization 3.1 §3), and where they come from.

Three sources: ``declare option output:…`` in a prolog, an ``output:serialization-parameters`` element, and the map
that fn:serialize takes. Bad values are SEPM0016 … SEPM0019, a wrong type in the map is XPTY0004.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import Any, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import XStreamError, error
from xstreamcast.model.atomic import Item, QName
from xstreamcast.model.function import Map
from xstreamcast.model.lexical import collapse, is_ncname, to_string
from xstreamcast.model.namespaces import OUTPUT
from xstreamcast.model.tree import DOCUMENT, ELEMENT, TEXT, Node

METHODS: Final = ("xml", "html", "xhtml", "text", "json", "adaptive")


@dataclass(frozen=True, slots=True)
class Parameters:
    """All parameters of all methods; the defaults give a fragment of XML without a declaration.

    ``omit_xml_declaration`` unsaid means: omit it, unless ``standalone`` needs one.
    """

    method: str = "xml"
    indent: bool = False
    omit_xml_declaration: bool | None = None
    item_separator: str | None = None
    encoding: str = "UTF-8"
    standalone: str | None = None
    cdata_section_elements: frozenset[QName] = frozenset()
    suppress_indentation: frozenset[QName] = frozenset()
    doctype_public: str | None = None
    doctype_system: str | None = None
    use_character_maps: Mapping[str, str] = field(default_factory=dict)
    allow_duplicate_names: bool = False
    json_node_output_method: str = "xml"
    undeclare_prefixes: bool = False
    normalization_form: str = "none"
    version: str = "1.0"
    byte_order_mark: bool = False
    escape_uri_attributes: bool = True
    include_content_type: bool = True
    html_version: str | None = None
    media_type: str | None = None

    def checked(self) -> Parameters:
        """Refuse what we do not have and combinations that make no sense."""
        if self.method not in METHODS:
            raise error("SEPM0016", f"there is no serialisation method {self.method}")
        if self.method == "xml":
            if self.version not in ("1.0", "1.1"):
                raise error("SESU0013", f"XML {self.version} is not supported")
            versioned = self.version != "1.0" and self.doctype_system is not None
            if self.omit_xml_declaration and (self.standalone is not None or versioned):
                raise error("SEPM0009", "standalone and XML 1.1 need an XML declaration, which is omitted")
            if self.undeclare_prefixes and self.version == "1.0":
                raise error("SEPM0010", "prefixes can only be undeclared in XML 1.1")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise error("SESU0007", f"encoding {self.encoding} is not supported") from None
        if self.normalization_form not in ("none", "NFC", "NFD", "NFKC", "NFKD"):
            raise error("SESU0011", f"normalisation form {self.normalization_form} is not supported")
        return self


_BOOLEANS: Final = {
    "indent", "omit-xml-declaration", "allow-duplicate-names", "undeclare-prefixes", "byte-order-mark",
    "escape-uri-attributes", "include-content-type",
}  # fmt: skip
_NAMES: Final = {"cdata-section-elements", "suppress-indentation"}
_TEXTS: Final = {
    "method", "item-separator", "encoding", "doctype-public", "doctype-system", "json-node-output-method",
    "normalization-form", "version", "html-version", "media-type",
}  # fmt: skip
KNOWN: Final = _BOOLEANS | _NAMES | _TEXTS | {"standalone", "use-character-maps", "parameter-document"}


def _bad(name: str, value: object) -> XStreamError:
    return error("SEPM0016", f'"{value}" is not a value of the serialisation parameter {name}')


def _yes_or_no(name: str, text: str) -> bool:
    word = collapse(text)
    if word in ("yes", "true", "1"):
        return True
    if word in ("no", "false", "0"):
        return False
    raise _bad(name, text)


def _from_text(name: str, text: str, namespaces: Mapping[str, str]) -> Any:
    """The value of a parameter as an option or an element writes it."""
    if name in _BOOLEANS:
        return _yes_or_no(name, text)
    if name == "standalone":
        return None if collapse(text) == "omit" else "yes" if _yes_or_no(name, text) else "no"
    if name in _NAMES:
        return frozenset(_name(name, word, namespaces) for word in text.split())
    if name == "item-separator":
        return text
    word = collapse(text)
    if name in ("method", "json-node-output-method"):
        word = word.removeprefix("Q{}")
        if word not in METHODS and ":" not in word and not word.startswith("Q{"):
            raise _bad(name, text)
    elif name == "html-version" and not word.replace(".", "", 1).isdigit():
        raise _bad(name, text)
    return word


def _name(parameter: str, text: str, namespaces: Mapping[str, str]) -> QName:
    if text.startswith("Q{") and "}" in text:
        uri, _, local = text[2:].partition("}")
        return QName(uri, local)
    prefix, _, local = text.rpartition(":")
    if not is_ncname(local) or (prefix and prefix not in namespaces):
        raise _bad(parameter, text)
    return QName(namespaces.get(prefix, ""), local, prefix)


def _attribute_name(name: str) -> str:
    return name.replace("-", "_")


def from_options(
    options: Iterable[tuple[str, str]],
    namespaces: Mapping[str, str],
    start: Parameters | None = None,
    document: Callable[[str], Node] | None = None,
) -> Parameters:
    """Parameters from the local names and values of ``output:`` options. Unknown names are XQST0109.

    ``namespaces`` has the default element namespace under "". ``document`` loads a parameter document, whose values
    count less than the other options; XQST0119 if it cannot.
    """
    values: dict[str, Any] = {}
    chosen = start or Parameters()
    for name, text in options:
        if name not in KNOWN or name == "use-character-maps":
            raise error("XQST0109", f"output:{name} is not a serialisation parameter of a prolog")
        if name == "parameter-document":
            chosen = _from_document(text, document, chosen)
        else:
            values[_attribute_name(name)] = _from_text(name, text, namespaces)
    return replace(chosen, **values).checked()


def _from_document(uri: str, document: Callable[[str], Node] | None, start: Parameters) -> Parameters:
    if document is None:
        raise error("XQST0119", f"the parameter document {uri} cannot be loaded here")
    try:
        root = document(uri)
    except XStreamError as failure:
        raise error("XQST0119", f"the parameter document {uri}: {failure.message}") from None
    elements = [child for child in root.children() if child.kind == ELEMENT] if root.kind == DOCUMENT else [root]
    return from_element(elements[0], start)


def from_element(element: Node, start: Parameters | None = None) -> Parameters:
    """Parameters from an ``output:serialization-parameters`` element."""
    if element.uri != OUTPUT or element.local != "serialization-parameters":
        raise error("XPTY0004", "serialisation parameters are an output:serialization-parameters element")
    if any(not attribute.uri for attribute in element.attributes()):
        raise error("SEPM0017", "output:serialization-parameters has no attributes of its own")
    values: dict[str, Any] = {}
    seen: set[QName] = set()
    for child in element.children():
        if child.kind == TEXT and child.string.strip():
            raise error("SEPM0017", "text inside output:serialization-parameters")
        if child.kind != ELEMENT:
            continue
        name = child.name
        assert name is not None
        if name in seen:
            raise error("SEPM0019", f"the serialisation parameter {name.local} is given twice")
        seen.add(name)
        if name.uri != OUTPUT:
            if not name.uri:
                raise error("SEPM0017", f"{name.local} is in no namespace")
            continue  # an extension of some other processor
        if name.local not in KNOWN or name.local == "parameter-document":
            raise error("SEPM0017", f"output:{name.local} is not a serialisation parameter")
        values[_attribute_name(name.local)] = _from_child(child, name.local)
    return replace(start or Parameters(), **values).checked()


def _from_child(child: Node, name: str) -> Any:
    if name == "use-character-maps":
        return _character_map(child)
    value = child.attribute("value")
    extra = [a.local for a in child.attributes() if not a.uri and a.local != "value"]
    if value is None or extra or any(c.kind == ELEMENT for c in child.children()):
        raise error("SEPM0017", f"output:{name} takes one attribute, value")
    try:
        return _from_text(name, value, child.namespaces())
    except XStreamError as failure:
        raise error("SEPM0017", failure.message) from None


def _character_map(element: Node) -> dict[str, str]:
    mapping: dict[str, str] = {}
    if any(not attribute.uri for attribute in element.attributes()):
        raise error("SEPM0017", "output:use-character-maps has no attributes of its own")
    for child in element.children():
        if child.kind != ELEMENT:
            continue
        character, text = child.attribute("character"), child.attribute("map-string")
        if child.uri != OUTPUT or child.local != "character-map" or character is None or text is None:
            raise error("SEPM0017", "output:use-character-maps holds output:character-map elements")
        if any(not a.uri and a.local not in ("character", "map-string") for a in child.attributes()):
            raise error("SEPM0017", "output:character-map has the attributes character and map-string only")
        if len(character) != 1:
            raise error("SEPM0017", f'"{character}" is not one character')
        if character in mapping:
            raise error("SEPM0018", f"the character {character!r} is mapped twice")
        mapping[character] = text
    return mapping


def from_map(options: Map, start: Parameters | None = None) -> Parameters:
    """Parameters from the map of fn:serialize, by the option parameter conventions (F&O 3.1 §1.7)."""
    values: dict[str, Any] = {}
    for key, value in options.items():
        if not isinstance(key, str) or key not in KNOWN or not value:
            continue
        found = _from_item(str(key), value)
        if found is not None:
            values[_attribute_name(key)] = found
    return replace(start or Parameters(), **values).checked()


def _from_item(name: str, value: list[Item]) -> Any:
    from xstreamcast.model.convert import atomize

    if name == "use-character-maps":
        return _mapped(name, value)
    atoms = atomize(value)
    if name in _NAMES:
        if not all(isinstance(atom, QName) for atom in atoms):
            raise error("XPTY0004", f"the serialisation parameter {name} takes QNames")
        return frozenset(atoms)
    if len(atoms) != 1:
        raise error("XPTY0004", f"the serialisation parameter {name} takes one value")
    atom = atoms[0]
    if name in _BOOLEANS:
        return _boolean(name, atom)
    if name == "standalone":
        return "yes" if _boolean(name, atom) else "no"
    if name == "html-version":
        return to_string(atom)
    if isinstance(atom, QName) and name in ("method", "json-node-output-method"):
        return atom.local
    if not isinstance(atom, str):
        raise error("XPTY0004", f"the serialisation parameter {name} takes a string")
    return _from_text(name, str(atom), {})


def _boolean(name: str, atom: Item) -> bool:
    if type(atom) is bool:
        return atom
    if isinstance(atom, str) and type(atom).__name__ == "Untyped":
        return _yes_or_no(name, atom)
    raise error("XPTY0004", f"the serialisation parameter {name} takes a boolean")


def _mapped(name: str, value: list[Item]) -> dict[str, str]:
    if len(value) != 1 or not isinstance(value[0], Map):
        raise error("XPTY0004", f"the serialisation parameter {name} takes a map")
    mapping: dict[str, str] = {}
    for key, text in value[0].items():
        if not isinstance(key, str) or len(text) != 1 or not isinstance(text[0], str):
            raise error("XPTY0004", f"{name} maps one character to one string")
        if len(key) != 1:
            raise error("SEPM0016", f'"{key}" is not one character')
        mapping[key] = text[0]
    return mapping

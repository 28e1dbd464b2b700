"""fn:parse-json and fn:json-doc (F&O 3.1 §17.5), and the reader they share with fn:json-to-xml."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.documents import read_resource
from xstreamcast.functions.registry import function
from xstreamcast.functions.string import is_xml_character
from xstreamcast.model.atomic import Item
from xstreamcast.model.convert import atomize, convert_item
from xstreamcast.model.function import Array, FunctionItem, Map, same_key
from xstreamcast.model.types import BOOLEAN, STRING


class Number(str):
    """A JSON number as written."""

    __slots__ = ()


class Object(list[tuple[str, Any]]):
    """A JSON object: its pairs in order, duplicates included."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Options:
    """``text`` turns a decoded JSON string into the string of the result."""

    duplicates: str
    text: Callable[[str], str]
    escape: bool = False


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def read_json(text: str) -> Any:
    """The value of a JSON text: Object, list, str, Number, bool or None; FOJS0001."""
    try:
        return json.loads(
            text,
            object_pairs_hook=Object,
            parse_float=Number,
            parse_int=Number,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as failure:
        raise error("FOJS0001", f"not JSON: {failure}") from None


def _single(options: Map, name: str) -> Item | None:
    value = options.get(name)
    if value is None:
        return None
    if len(value) != 1:
        raise error("XPTY0004", f"the option {name} takes one value")
    return value[0]


def boolean_option(options: Map, name: str) -> bool:
    value = options.get(name)
    if value is None:
        return False
    atoms = atomize(value)
    if len(atoms) != 1:
        raise error("XPTY0004", f"the option {name} takes one boolean")
    result: bool = convert_item(atoms[0], BOOLEAN, f"the option {name}")
    return result


def options_of(context: DynamicContext, options: Map | None, policies: tuple[str, ...], default: str) -> Options:
    """The options shared by the JSON readers: liberal (there is nothing to relax), duplicates, escape, fallback."""
    if options is None:
        return Options(default, _with_replacement)
    boolean_option(options, "liberal")
    duplicates = default
    if options.get("duplicates") is not None:
        atoms = atomize(options.get("duplicates") or [])
        if len(atoms) != 1:
            raise error("XPTY0004", "the option duplicates takes one string")
        duplicates = convert_item(atoms[0], STRING, "the option duplicates")
        if duplicates not in policies:
            raise error("FOJS0005", f"duplicates={duplicates}", hint=f"one of {', '.join(policies)}")
    escape = boolean_option(options, "escape")
    fallback = _single(options, "fallback")
    if fallback is None:
        return Options(duplicates, escaped if escape else _with_replacement, escape)
    if not isinstance(fallback, FunctionItem) or fallback.arity != 1:
        raise error("XPTY0004", "the option fallback takes a function of one argument")
    if escape:
        raise error("FOJS0005", "the options escape and fallback exclude each other")
    return Options(duplicates, _with_fallback(context, fallback))


def _valid(text: str) -> bool:
    return all(is_xml_character(ord(c)) for c in text) if not text.isprintable() else True


def _with_replacement(text: str) -> str:
    if _valid(text):
        return text
    return "".join(c if is_xml_character(ord(c)) else "\ufffd" for c in text)


def _with_fallback(context: DynamicContext, fallback: FunctionItem) -> Callable[[str], str]:
    def replaced(character: str) -> str:
        result = atomize(context.call(fallback, [[escape_character(character)]]))
        if len(result) != 1:
            raise error("XPTY0004", "the fallback function must give one string")
        text: str = convert_item(result[0], STRING, "the result of the fallback function")
        return text

    def convert(text: str) -> str:
        if _valid(text):
            return text
        return "".join(c if is_xml_character(ord(c)) else replaced(c) for c in text)

    return convert


_SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def escape_character(character: str) -> str:
    return _SHORT.get(character) or f"\\u{ord(character):04X}"


def escaped(text: str) -> str:
    """Backslash, control and non-XML characters as JSON escapes; all else as itself."""
    return "".join(
        escape_character(c) if c == "\\" or c < " " or "\x7f" <= c <= "\x9f" or not is_xml_character(ord(c)) else c
        for c in text
    )


def _item(value: Any, options: Options) -> list[Item]:
    if isinstance(value, Number):
        return [float(value)]
    if isinstance(value, str):
        return [options.text(value)]
    if isinstance(value, Object):
        return [_map(value, options)]
    if isinstance(value, list):
        return [Array(_item(member, options) for member in value)]
    return [] if value is None else [value]


def _map(pairs: Object, options: Options) -> Map:
    entries: dict[Any, tuple[str, list[Item]]] = {}
    for name, value in pairs:
        key = options.text(name)
        found = same_key(key)
        if found in entries:
            if options.duplicates == "reject":
                raise error("FOJS0003", f'the key "{key}" occurs twice in one JSON object')
            if options.duplicates == "use-first":
                continue
        entries[found] = (key, _item(value, options))
    return Map.of_entries(entries)


_POLICIES = ("reject", "use-first", "use-last")


@function("fn:parse-json", "xs:string?", "item()?", context=True)
@function("fn:parse-json", "xs:string?, map(*)", "item()?", context=True)
def parse_json(context: DynamicContext, text: str | None, options: Map | None = None) -> list[Item]:
    chosen = options_of(context, options, _POLICIES, "use-first")
    return [] if text is None else _item(read_json(text), chosen)


@function("fn:json-doc", "xs:string?", "item()?", context=True)
@function("fn:json-doc", "xs:string?, map(*)", "item()?", context=True)
def json_doc(context: DynamicContext, href: str | None, options: Map | None = None) -> list[Item]:
    chosen = options_of(context, options, _POLICIES, "use-first")
    return [] if href is None else _item(read_json(read_resource(context, href, None)), chosen)

"""Functions on strings (F&O 3.1 §5, without regular expressions)."""

from __future__ import annotations

import re
import unicodedata
from math import isinf, isnan

from xstreamcast.errors import error
from xstreamcast.functions.context import DynamicContext
from xstreamcast.functions.number import round_double
from xstreamcast.functions.registry import function
from xstreamcast.model.atomic import Base64Binary, Item
from xstreamcast.model.lexical import to_string
from xstreamcast.model.tree import Node

WHITESPACE = " \t\r\n"


def is_xml_character(code: int) -> bool:
    """XML 1.0, production 2."""
    return 0x20 <= code <= 0xD7FF or code in (0x9, 0xA, 0xD) or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


def string_of(item: Item) -> str:
    """fn:string of one item."""
    if isinstance(item, Node):
        return item.string
    if callable(getattr(item, "invoke", None)):
        raise error("FOTY0014", "a function has no string value")
    return to_string(item)


def context_string(context: DynamicContext, asker: str) -> str:
    return string_of(context.require_item(asker))


@function("fn:codepoints-to-string", "xs:integer*", "xs:string")
def codepoints_to_string(codes: list[int]) -> str:
    if all(0x20 <= code <= 0xD7FF for code in codes):
        return "".join(map(chr, codes))
    for code in codes:
        if not is_xml_character(code):
            raise error("FOCH0001", f"{code} is not the codepoint of an XML character")
    return "".join(map(chr, codes))


@function("fn:string-to-codepoints", "xs:string?", "xs:integer*")
def string_to_codepoints(text: str | None) -> list[int]:
    return [ord(c) for c in text or ""]


@function("fn:compare", "xs:string?, xs:string?", "xs:integer?", context=True)
@function("fn:compare", "xs:string?, xs:string?, xs:string", "xs:integer?", context=True)
def compare(context: DynamicContext, a: str | None, b: str | None, uri: str | None = None) -> int | None:
    key = context.collation(uri).key
    if a is None or b is None:
        return None
    left, right = key(a), key(b)
    return int(left > right) - int(left < right)


@function("fn:codepoint-equal", "xs:string?, xs:string?", "xs:boolean?")
def codepoint_equal(a: str | None, b: str | None) -> bool | None:
    return None if a is None or b is None else str(a) == str(b)


@function("fn:collation-key", "xs:string", "xs:base64Binary", context=True)
@function("fn:collation-key", "xs:string, xs:string", "xs:base64Binary", context=True)
def collation_key(context: DynamicContext, text: str, uri: str | None = None) -> Base64Binary:
    """Octets that are equal, and ordered, as the strings are under the collation."""
    key = context.collation(uri).key(text)
    # UTF-8 keeps the order of codepoints.
    return Base64Binary(key if isinstance(key, bytes) else key.encode("utf-8", "surrogatepass"))


@function("fn:contains-token", "xs:string*, xs:string", "xs:boolean", context=True)
@function("fn:contains-token", "xs:string*, xs:string, xs:string", "xs:boolean", context=True)
def contains_token(context: DynamicContext, texts: list[str], token: str, uri: str | None = None) -> bool:
    key = context.collation(uri).key
    wanted = token.strip(WHITESPACE)
    if not wanted:
        return False
    wanted = key(wanted)
    return any(key(word) == wanted for text in texts for word in re.split("[ \t\r\n]+", text) if word)


@function("fn:concat", "xs:anyAtomicType?, xs:anyAtomicType?", "xs:string", variadic=True)
def concat(*values: Item | None) -> str:
    return "".join(to_string(value) for value in values if value is not None)


@function("fn:string-join", "xs:anyAtomicType*", "xs:string")
@function("fn:string-join", "xs:anyAtomicType*, xs:string", "xs:string")
def string_join(values: list[Item], separator: str = "") -> str:
    return str(separator).join(map(to_string, values))


@function("fn:substring", "xs:string?, xs:double", "xs:string")
@function("fn:substring", "xs:string?, xs:double, xs:double", "xs:string")
def substring(text: str | None, start: float, length: float | None = None) -> str:
    """Characters at positions p with round(start) ≤ p < round(start) + round(length)."""
    if not text:
        return ""
    first = round_double(start)
    end = len(text) + 1.0 if length is None else first + round_double(length)
    if isnan(first) or isnan(end) or first == float("inf"):
        return ""
    low = max(int(first), 1) if first != float("-inf") else 1
    high = min(int(end), len(text) + 1) if not isinf(end) else (len(text) + 1 if end > 0 else 0)
    return str(text)[low - 1 : max(high - 1, low - 1)]


@function("fn:string-length", "xs:string?", "xs:integer")
def string_length(text: str | None) -> int:
    return len(text or "")


@function("fn:string-length", "", "xs:integer", focus=True)
def string_length_of_context(context: DynamicContext) -> int:
    return len(context_string(context, "fn:string-length()"))


def collapse_whitespace(text: str) -> str:
    return " ".join(word for word in re.split("[ \t\r\n]+", text) if word)


@function("fn:normalize-space", "xs:string?", "xs:string")
def normalize_space(text: str | None) -> str:
    return collapse_whitespace(text or "")


@function("fn:normalize-space", "", "xs:string", focus=True)
def normalize_space_of_context(context: DynamicContext) -> str:
    return collapse_whitespace(context_string(context, "fn:normalize-space()"))


@function("fn:normalize-unicode", "xs:string?", "xs:string")
@function("fn:normalize-unicode", "xs:string?, xs:string", "xs:string")
def normalize_unicode(text: str | None, form: str = "NFC") -> str:
    wanted = form.strip(WHITESPACE).upper()
    if wanted not in ("NFC", "NFD", "NFKC", "NFKD", ""):
        raise error("FOCH0003", f"normalisation form {form} is not supported")
    if not text:
        return ""
    return unicodedata.normalize(wanted, text) if wanted else str(text)  # type: ignore[arg-type]  # checked above


@function("fn:upper-case", "xs:string?", "xs:string")
def upper_case(text: str | None) -> str:
    return (text or "").upper()


@function("fn:lower-case", "xs:string?", "xs:string")
def lower_case(text: str | None) -> str:
    if not text:
        return ""
    if "\u03a3" in text:  # F&O maps each character on its own; Python knows the final sigma
        return "".join(c.lower() for c in text)
    return text.lower()


@function("fn:translate", "xs:string?, xs:string, xs:string", "xs:string")
def translate(text: str | None, source: str, target: str) -> str:
    table: dict[int, int | None] = {}
    for position, character in enumerate(source):
        table.setdefault(ord(character), ord(target[position]) if position < len(target) else None)
    return (text or "").translate(table)


@function("fn:contains", "xs:string?, xs:string?", "xs:boolean", context=True)
@function("fn:contains", "xs:string?, xs:string?, xs:string", "xs:boolean", context=True)
def contains(context: DynamicContext, text: str | None, part: str | None, uri: str | None = None) -> bool:
    return context.collation(uri).find(str(text or ""), str(part or "")) is not None


@function("fn:starts-with", "xs:string?, xs:string?", "xs:boolean", context=True)
@function("fn:starts-with", "xs:string?, xs:string?, xs:string", "xs:boolean", context=True)
def starts_with(context: DynamicContext, text: str | None, part: str | None, uri: str | None = None) -> bool:
    return context.collation(uri).starts(str(text or ""), str(part or ""))


@function("fn:ends-with", "xs:string?, xs:string?", "xs:boolean", context=True)
@function("fn:ends-with", "xs:string?, xs:string?, xs:string", "xs:boolean", context=True)
def ends_with(context: DynamicContext, text: str | None, part: str | None, uri: str | None = None) -> bool:
    return context.collation(uri).ends(str(text or ""), str(part or ""))


@function("fn:substring-before", "xs:string?, xs:string?", "xs:string", context=True)
@function("fn:substring-before", "xs:string?, xs:string?, xs:string", "xs:string", context=True)
def substring_before(context: DynamicContext, text: str | None, part: str | None, uri: str | None = None) -> str:
    place = context.collation(uri).find(text or "", part or "")
    return "" if place is None or not part else (text or "")[: place[0]]


@function("fn:substring-after", "xs:string?, xs:string?", "xs:string", context=True)
@function("fn:substring-after", "xs:string?, xs:string?, xs:string", "xs:string", context=True)
def substring_after(context: DynamicContext, text: str | None, part: str | None, uri: str | None = None) -> str:
    if not part:
        context.collation(uri)
        return str(text or "")
    place = context.collation(uri).find(text or "", part)
    return "" if place is None else (text or "")[place[1] :]

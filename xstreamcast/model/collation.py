"""Collations: how strings compare (F&O 3.1 §5.3).

Known are the codepoint collation, HTML ASCII case-insensitive, and UCA URIs with ``fallback=yes`` (their default),
which get an approximation by decomposition, accents and case; ``fallback=no`` is refused with FOCH0002.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import urljoin

from xstreamcast.errors import error
from xstreamcast.model.namespaces import CODEPOINT, HTML_ASCII, UCA


@dataclass(frozen=True, slots=True)
class Collation:
    """``key`` maps a string to something hashable and ordered; ``fold`` maps one character to the text that
    substring functions compare (``None``: by codepoints)."""

    uri: str
    key: Callable[[str], Any]
    fold: Callable[[str], str] | None = None


def _same(text: str) -> str:
    return text


_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


CODEPOINTS: Final = Collation(CODEPOINT, _same)
_ASCII_INSENSITIVE: Final = Collation(HTML_ASCII, _ascii_lower, _ascii_lower)


def collation(uri: str | None, base_uri: str | None = None, default: str = CODEPOINT) -> Collation:
    """The collation of a URI, relative ones resolved; FOCH0002 if we have none of that name."""
    if uri is None:
        uri = default
    if uri == CODEPOINT:
        return CODEPOINTS
    return _named(uri, base_uri)


@cache
def _named(uri: str, base_uri: str | None) -> Collation:
    absolute = urljoin(base_uri, uri) if base_uri and ":" not in uri.split("/")[0] else uri
    if absolute == CODEPOINT:
        return CODEPOINTS
    if absolute == HTML_ASCII:
        return _ASCII_INSENSITIVE
    plain, _, query = absolute.partition("?")
    if plain == UCA:
        return _uca(absolute, query)
    raise error("FOCH0002", f"there is no collation {uri}", hint=f"known: {CODEPOINT}, {HTML_ASCII}")


_STRENGTHS: Final = {"primary": 1, "secondary": 2, "tertiary": 3, "quaternary": 3, "identical": 4}
_STRENGTHS.update({"1": 1, "2": 2, "3": 3, "4": 3, "5": 4})


def _uca(uri: str, query: str) -> Collation:
    parameters = dict(part.partition("=")[::2] for part in query.split(";") if part)
    if parameters.get("fallback") == "no":
        raise error("FOCH0002", f"the Unicode Collation Algorithm is only approximated: {uri}", hint="fallback=yes")
    strength = _STRENGTHS.get(parameters.get("strength", "tertiary"), 3)
    upper_first = parameters.get("caseFirst") == "upper"
    blank = parameters.get("alternate") in ("blanked", "shifted")
    numeric = parameters.get("numeric") == "yes"
    case_level = parameters.get("caseLevel") == "yes"

    def primary(text: str) -> str:
        kept = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        folded = "".join(kept).casefold()
        if blank:
            folded = "".join(c for c in folded if unicodedata.category(c)[0] not in "PZS")
        return folded

    def secondary(text: str) -> str:
        return unicodedata.normalize("NFD", text).casefold()

    def case_key(text: str) -> str:
        # Lower case sorts first in UCA's tertiary weights; swapped on demand.
        decomposed = unicodedata.normalize("NFD", text)
        return decomposed if upper_first else decomposed.swapcase()

    def key(text: str) -> Any:
        first: Any = primary(text)
        if numeric:
            first = _with_numbers(first)
        levels = [first]
        if case_level and strength < 3:
            levels.append("".join(c for c in case_key(text) if not unicodedata.combining(c)))
        if strength >= 2:
            levels.append(secondary(text))
        if strength >= 3:
            levels.append(case_key(text))
        if strength >= 4:
            levels.append(text)
        return tuple(levels)

    fold = {1: primary, 2: secondary}.get(strength, _nfd)
    return Collation(uri, key, fold)


def _nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def _with_numbers(text: str) -> tuple[tuple[int, int, str], ...]:
    """Digit runs compare as numbers, before other characters."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for character in text + "\0":
        if character.isdigit():
            digits += character
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, character))
    return tuple(parts[:-1])

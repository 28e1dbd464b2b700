"""Collations of the Unicode Collation Algorithm, by ICU (F&O 3.1 §5.3.4): ``http://www.w3.org/2013/collation/UCA?…``.

The parameters of the URI are those of a locale, as BCP 47 spells them: ``lang=de;strength=primary;alternate=shifted``
is ``de-u-ks-level1-ka-shifted``. Strings compare by ICU's sort keys; parts of strings by collation elements, without
those that the collation ignores.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from xstreamcast.errors import error
from xstreamcast.model.collation import Collation, Unit

_STRENGTHS: Final = {"primary": 1, "secondary": 2, "tertiary": 3, "quaternary": 4, "identical": 5}
_STRENGTHS.update({str(level): level for level in range(1, 6)})
_LEVELS: Final = {1: "level1", 2: "level2", 3: "level3", 4: "level4", 5: "identic"}
_TRUTH: Final = {"yes": "true", "no": "false"}
_KEYWORDS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "alternate": ("ka", {"non-ignorable": "noignore", "shifted": "shifted", "blanked": "shifted"}),
    "backwards": ("kb", _TRUTH),
    "caseFirst": ("kf", {"upper": "upper", "lower": "lower"}),
    "caseLevel": ("kc", _TRUTH),
    "maxVariable": ("kv", {name: name for name in ("space", "punct", "symbol", "currency")}),
    "normalization": ("kk", _TRUTH),
    "numeric": ("kn", _TRUTH),
}
"""Of parameters: the keyword of a locale, and the names of its values there."""
_PRIMARY: Final = 0xFFFF0000
_MASKS: Final = {1: _PRIMARY, 2: 0xFFFFFF00}
"""What of a collation element counts; from the third level on all of it."""
_CASE: Final = 0xC0


def uca(uri: str, query: str) -> Collation:
    """The collation of a UCA URI. FOCH0002: ICU is not installed, or has no such collation and there is no fallback."""
    try:
        import icu
    except ImportError:
        hint = "pip install 'xstreamcast[collation]', which brings ICU"
        raise error("FOCH0002", f"collations by language need ICU: {uri}", hint=hint) from None
    parameters = dict(part.partition("=")[::2] for part in query.split(";") if part)
    exact = parameters.get("fallback", "yes") == "no"
    strength = _STRENGTHS.get(parameters.get("strength", "tertiary"), 3)
    if parameters.get("alternate") == "blanked" and strength == 4:
        strength = 3  # what is blanked has no fourth level either
    unknown = [] if parameters.get("strength", "3") in _STRENGTHS else ["strength"]
    keywords = [f"ks-{_LEVELS[strength]}"]
    for name, value in parameters.items():
        if name == "reorder":
            keywords.append("kr-" + "-".join(code.lower() for code in value.split(",")))
        elif name in _KEYWORDS and value in _KEYWORDS[name][1]:
            keywords.append(f"{_KEYWORDS[name][0]}-{_KEYWORDS[name][1][value]}")
        elif name == "version":
            if _version(value) > _version(icu.UNICODE_VERSION):
                unknown.append(name)
        elif name not in ("fallback", "lang", "strength"):
            unknown.append(name)
    language = parameters.get("lang") or "und"

    def made(chosen: list[str]) -> Any:
        tag = language + ("-" if "-u-" in language else "-u-") + "-".join(sorted(chosen))
        return icu.Collator.createInstance(icu.Locale.forLanguageTag(tag))

    try:
        collator = made(keywords)
    except icu.ICUError:  # no such script, or no such group of characters
        unknown.append("reorder")
        collator = made([each for each in keywords if not each.startswith("kr-")])
    found = collator.getLocale(icu.ULocDataLocaleType.VALID_LOCALE).getLanguage()
    if language != "und" and found != icu.Locale.forLanguageTag(language).getLanguage():
        unknown.append("lang")
    if exact and unknown:
        raise error("FOCH0002", f"ICU has no such {unknown[0]}: {uri}", hint="fallback=yes takes what is nearest")
    shifts = parameters.get("alternate") in ("shifted", "blanked") and strength < 4
    top = collator.getVariableTop() if shifts else 0
    top = top >> 16 if top > 0xFFFF else top  # ICU has 32 bits of it, PyICU's version of today gives the upper half
    mask = _MASKS.get(strength, 0xFFFFFFFF)
    if parameters.get("caseLevel") == "yes":
        mask |= _CASE
    units = _characters if strength == 5 else _elements(collator, mask, top)
    return Collation(uri, collator.getSortKey, units)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _elements(collator: Any, mask: int, variable: int) -> Callable[[str], list[Unit]]:
    """Text as collation elements that count; primary weights up to ``variable`` do not, nor what modifies these."""

    def units(text: str) -> list[Unit]:
        iterator = collator.createCollationElementIterator(text)
        places = _places(text)
        made: list[Unit] = []
        begin, ignoring = 0, False
        for element in iterator:
            end, order = places[iterator.getOffset()], element & 0xFFFFFFFF
            primary = order >> 16
            if primary:
                ignoring = primary <= variable
            weight = order & mask
            if weight and not ignoring:
                made.append(Unit(weight, begin, end, begin < end and primary != 0))
            begin = end
        return made

    return units


def _places(text: str) -> list[int]:
    """Of every place in UTF-16, as ICU counts, that in the text."""
    if text.isascii() or max(text) < "\U00010000":
        return list(range(len(text) + 1))
    made: list[int] = []
    for place, character in enumerate(text):
        made += [place] * (2 if character > "\uffff" else 1)
    return [*made, len(text)]


def _characters(text: str) -> list[Unit]:
    """Text as what cannot be told apart: characters, decomposed."""
    made: list[Unit] = []
    for place, character in enumerate(text):
        for part in unicodedata.normalize("NFD", character):
            made.append(Unit(ord(part), place, place + 1, not unicodedata.combining(part)))
    return made

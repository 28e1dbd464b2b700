"""Collations: how strings compare (F&O 3.1 §5.3).

Known are the codepoint collation, HTML ASCII case-insensitive, and those of the Unicode Collation Algorithm where ICU
is installed (:mod:`~xstreamcast.model.collation_icu`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin

from xstreamcast.dataclass import dataclass
from xstreamcast.errors import error
from xstreamcast.model.namespaces import CODEPOINT, HTML_ASCII, UCA


class Unit(NamedTuple):
    """A collation unit: what it weighs, and the part of a text that it stands for. ``begins``: not the rest of a
    character, nor what modifies the one before."""

    weight: int
    begin: int
    end: int
    begins: bool


@dataclass(frozen=True, slots=True)
class Collation:
    """``key`` maps a string to something hashable and ordered; ``units`` gives those of a string that count, for the
    functions that look for parts of strings (``None``: its codepoints are)."""

    uri: str
    key: Callable[[str], Any]
    units: Callable[[str], list[Unit]] | None = None

    def find(self, text: str, part: str) -> tuple[int, int] | None:
        """Where the first, shortest match of a part begins and ends (F&O 3.1 §5.4.1, a minimal match)."""
        if self.units is None:
            at = text.find(part)
            return None if at < 0 else (at, at + len(part))
        for begin, end in self.matches(text, part):
            return begin, end
        return None

    def matches(self, text: str, part: str) -> Iterator[tuple[int, int]]:
        """Where a part is matched, from the left; once at the beginning if there is nothing in it that counts.

        A match begins and ends where units do: ``a`` is no part of ``ä`` where accents count, nor ever of ``æ``.
        """
        assert self.units is not None
        units, wanted = self.units(text), self.units(part)
        if not wanted:
            yield 0, 0
            return
        weights, sought, size = [unit.weight for unit in units], [unit.weight for unit in wanted], len(wanted)
        for at in range(len(units) - size + 1):
            whole = at + size == len(units) or units[at + size].begins
            if whole and units[at].begins == wanted[0].begins and weights[at : at + size] == sought:
                yield units[at].begin, units[at + size - 1].end

    def starts(self, text: str, part: str) -> bool:
        """Whether a text begins with a part, but for what does not count."""
        if self.units is None:
            return text.startswith(part)
        units, wanted = self.units(text), self.units(part)
        size = len(wanted)
        whole = size >= len(units) or not wanted or units[size].begins
        return whole and [unit.weight for unit in units[:size]] == [unit.weight for unit in wanted]

    def ends(self, text: str, part: str) -> bool:
        """Whether a text ends with a part, but for what does not count."""
        if self.units is None:
            return text.endswith(part)
        wanted = self.units(part)
        last = self.units(text)[-len(wanted) :]
        if not wanted or len(last) < len(wanted):
            return not wanted
        return last[0].begins == wanted[0].begins and [u.weight for u in last] == [u.weight for u in wanted]


def _same(text: str) -> str:
    return text


_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


def _ascii_lower(text: str) -> str:
    return text.translate(_LOWER)


def _lower_characters(text: str) -> list[Unit]:
    return [Unit(ord(character), at, at + 1, True) for at, character in enumerate(_ascii_lower(text))]


CODEPOINTS: Final = Collation(CODEPOINT, _same)
_ASCII_INSENSITIVE: Final = Collation(HTML_ASCII, _ascii_lower, _lower_characters)


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
        from xstreamcast.model.collation_icu import uca

        return uca(absolute, query)
    raise error("FOCH0002", f"there is no collation {uri}", hint=f"known: {CODEPOINT}, {HTML_ASCII}, {UCA}?lang=…")

"""Completions at a place of a query that is being written: names from the structures of its streams, variables,
functions, keywords.

The path before the place is followed in the structures, from ``stream("…")`` or from the variable that a loop or a
``let`` has bound to one:

>>> from xstreamcast.model.structure import parse_structure
>>> credit = parse_structure('<stream:structure><tag id="1" name="accounts"><tag id="2" name="account">'
...     '<tag id="3" name="limit"/><tag id="4" name="customer"/></tag></tag></stream:structure>')
>>> text = 'for $a in stream("credit")//account where $a/l'
>>> [choice.text for choice in completions(text, len(text), {"credit": credit}).choices]
['limit']
>>> [choice.text for choice in completions('stream("', 8, {"credit": credit}).choices]
['credit']
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from xstreamcast.errors import XStreamError
from xstreamcast.functions.registry import names
from xstreamcast.lang.lexical import NAME_CHAR, NCNAME
from xstreamcast.lang.tokens import KEYWORDS
from xstreamcast.model.namespaces import FN, STREAM
from xstreamcast.model.structure import Structure

MOST: Final = 60

_QNAME: Final = rf"{NCNAME}(?::{NCNAME})?"
_STEP: Final = rf"(?:\*|{_QNAME})(?:\[[^\[\]]*\]|[?#]\[[^\[\]]*\])*"
_BASE: Final = rf"(?:stream\(\s*[\"'][^\"']*[\"']\s*\)|\${_QNAME})(?:\[[^\[\]]*\]|[?#]\[[^\[\]]*\])*"
_search_word: Final = re.compile(rf"\$?(?:[{NAME_CHAR}]|:)*\Z").search
_search_stream: Final = re.compile(r"""stream\(\s*["']([^"']*)\Z""").search
_search_path: Final = re.compile(rf"({_BASE})((?://?{_STEP})*)(//?)\Z").search
_BOUND: Final = re.compile(rf"\$({_QNAME})\s*(?:at\s+\${_QNAME}\s*)?(?:in|:=)\s*({_BASE})((?://?{_STEP})*)")
_BRACKETS: Final = re.compile(r"[?#]?\[[^\[\]]*\]")
_NAMED: Final = re.compile(rf"\$({_QNAME})\s*(?:at\b|in\b|:=|as\b|[,)])")


class Choice(NamedTuple):
    """A text that may stand there, what it is, and a word about it."""

    text: str
    kind: str
    about: str = ""


class Completions(NamedTuple):
    """From where on the text is replaced, and by what."""

    start: int
    choices: tuple[Choice, ...]


def completions(text: str, at: int, structures: Mapping[str, Structure]) -> Completions:
    """The completions at a place."""
    before = text[:at]
    stream = _search_stream(before)
    if stream is not None:
        return _matching(stream.start(1), stream[1], (Choice(name, "stream") for name in structures))
    word = _search_word(before)
    assert word is not None, "it matches nothing, too"
    start, begun = word.start(), word[0]
    if begun.startswith("$"):
        names = dict.fromkeys(_NAMED.findall(before[:start]))
        return _matching(start, begun, (Choice(f"${name}", "variable") for name in names))
    path = _search_path(before[:start])
    if path is not None:
        return _matching(start, begun, _children(before, path, structures))
    return _matching(start, begun, _words()) if begun else Completions(at, ())


def _matching(start: int, begun: str, choices: Iterator[Choice]) -> Completions:
    """Those that begin like the word that is there, then those that have it in them."""
    lower = begun.lower()
    found = sorted(dict.fromkeys(choice for choice in choices if lower in choice.text.lower() and choice.text != begun))
    first = [choice for choice in found if choice.text.lower().startswith(lower)]
    return Completions(start, tuple([*first, *(choice for choice in found if choice not in first)][:MOST]))


def _children(before: str, path: re.Match[str], structures: Mapping[str, Structure]) -> Iterator[Choice]:
    """The tags that a further step leads to."""
    base, steps, axis = path.groups()
    for structure, way in _ways(before, base, steps, structures, frozenset()):
        with suppress(XStreamError):  # a prefix that the structure does not have
            for tag in structure.expand(f"{way}{axis}*"):
                yield Choice(structure.lexical(structure.tag(tag).name), "element", structure.path(tag))


def _ways(
    before: str, base: str, steps: str, structures: Mapping[str, Structure], seen: frozenset[str]
) -> Iterator[tuple[Structure, str]]:
    """The path from a stream's document that a path stands for."""
    way = _BRACKETS.sub("", steps)
    if not base.startswith("$"):
        structure = structures.get(re.split("[\"']", base)[1])
        if structure is not None:
            yield structure, way
        return
    variable = _BRACKETS.sub("", base[1:])
    bound = [found for found in _BOUND.finditer(before) if found[1] == variable]
    if bound and variable not in seen:
        yield from _ways(before, bound[-1][2], bound[-1][3] + way, structures, seen | {variable})


def _words() -> Iterator[Choice]:
    """Keywords, and the functions that need no prefix."""
    for word in sorted(KEYWORDS):
        yield Choice(word, "keyword")
    for uri in (FN, STREAM):
        for name in names(uri):
            yield Choice(name, "function")

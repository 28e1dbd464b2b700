"""Completions of a query: steps of paths by the structure of what they look at, variables, words, functions.

>>> from xstreamcast.model.structure import parse_structure
>>> shop = parse_structure('<structure><tag id="1" name="shop"><tag id="2" name="book"><tag id="3" name="price"/>'
...                        '<tag id="4" name="title"/></tag></tag></structure>')
>>> here = AtHand({"": shop}, ("id",))
>>> completions("for $b in /shop/b", here), completions("for $b in //book[@", here)
(['book'], ['id'])
>>> completions("for $b in //book return $b/", here)
['price', 'title']
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from xstreamcast.cli.shell.at_hand import AtHand
from xstreamcast.errors import XStreamError
from xstreamcast.model.structure import UNNAMED, Structure

_WORD: Final = re.compile(r"[\w.\-]*\Z")
_STEPS: Final = r"(?://?(?:[\w.\-]+(?::[\w.\-]+)?|\*)(?:\s*[?#]?\[[^\[\]]*\])*)*"
_START: Final = r"(?:stream\(\s*[\"'](?P<stream>[^\"']*)[\"']\s*\)|\$(?P<variable>[\w.\-]+)|(?<![\w.)\]}*]))"
_BEFORE: Final = re.compile(rf"{_START}(?P<path>{_STEPS})(?P<axis>//?)\Z")
_BOUND: Final = rf"\s*{_START}(?P<path>{_STEPS})"
_FOLLOWED: Final = 20
"""So many variables are followed to where they were bound."""


def completions(before: str, known: AtHand) -> list[str]:
    """The words that can stand where ``before`` ends, instead of the one that has begun there."""
    word = _WORD.search(before)
    assert word is not None
    head = before[: word.start()]
    begun = word.group()
    found = sorted({each for each in _candidates(head, known, bool(begun)) if each.startswith(begun)})
    if not found and begun and head.endswith("/"):  # a function can be a step, too
        return sorted(each for each in _vocabulary() if each.startswith(begun) and each.endswith("("))
    return found


def _candidates(head: str, known: AtHand, begun: bool) -> Iterable[str]:
    if re.search(r"stream\(\s*[\"']\Z", head):
        return [name for name in known.structures if name]
    if head.endswith("$"):
        return re.findall(r"\$([\w.\-]+)", head)
    if head.endswith("@"):
        return known.attributes
    if head.endswith("/"):
        return _steps(head, known)
    if head.endswith("::"):
        return _all_names(known)
    prefix = re.search(r"\b([\w.\-]+:)\Z", head)
    if prefix is not None:
        return [word.removeprefix(prefix[1]) for word in _vocabulary() if word.startswith(prefix[1])]
    return [*_all_names(known), *_vocabulary()] if begun else []


@cache
def _vocabulary() -> tuple[str, ...]:
    """Words of the language, and its functions."""
    from xstreamcast.functions.topics import TOPICS
    from xstreamcast.lang import words

    functions = [name.removeprefix("fn:") for name in TOPICS]
    return (*words.CLAUSES, *words.CONTROL, *words.OPERATORS, *(f"{name}(" for name in (*functions, *words.FUNCTIONS)))


def _all_names(known: AtHand) -> list[str]:
    return [_name(one, tsid) for one in known.structures.values() for tsid in one.tags if tsid != UNNAMED]


def _name(structure: Structure, tsid: int) -> str:
    """The name of a tag as a step has it."""
    written = structure.lexical(structure.tag(tsid).name)
    return f"*:{written.partition('}')[2]}" if written.startswith("{") else written


def _steps(head: str, known: AtHand) -> list[str]:
    """The names of the elements that a path can go on to; all, where it is not clear what it goes on from."""
    found = _BEFORE.search(head)
    if found is None:
        return _all_names(known)
    located = _located(found, head, known, _FOLLOWED)
    if located is None:
        return _all_names(known)
    structure, path = located
    try:
        if path:
            here = structure.expand(path)
            below = structure.descendants(here) if found["axis"] == "//" else _children(structure, here)
        elif found["axis"] == "//":
            below = set(structure.tags) - {UNNAMED}
        else:
            below = _children(structure, {UNNAMED}) if structure.unnamed else {structure.root}
    except XStreamError:
        return _all_names(known)
    return [_name(structure, tsid) for tsid in sorted(below)]


def _children(structure: Structure, tsids: Iterable[int]) -> set[int]:
    return {child for tsid in tsids for child in structure.tag(tsid).children}


def _located(found: re.Match[str], head: str, known: AtHand, most: int) -> tuple[Structure, str] | None:
    """The structure that a path looks at, and the path from its root on, without predicates."""
    path = re.sub(r"\s*[?#]?\[[^\[\]]*\]", "", found["path"])
    if found["stream"] is not None:
        structure = known.structures.get(found["stream"])
        return None if structure is None else (structure, path)
    if found["variable"] is None:
        return (known.structures[""], path) if "" in known.structures else None
    name = re.escape(found["variable"])
    bindings = [*re.finditer(rf"\${name}(?:\s+at\s+\$[\w.\-]+)?\s+(?:in\b|:=)", head)]
    bound = re.compile(_BOUND).match(head, bindings[-1].end()) if bindings and most else None
    if bound is None or not (bound["path"] or bound["variable"] or bound["stream"]):
        return None
    located = _located(bound, head[: bindings[-1].start()], known, most - 1)
    return None if located is None else (located[0], located[1] + path)

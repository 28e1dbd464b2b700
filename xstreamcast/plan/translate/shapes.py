"""The static types of a translation: e : ts → e' (SIGMOD'04, Figure 4), with what exactness needs beside tags.

The value of an expression is in one of two forms:

* *fragment form*: elements (or the document node) of one stream, holes still open, and the tags they can have;
* *hole-free*: everything else, constructed, projected, atomic, or made whole by ``temporalize``.

A fragment and a copy of it are different nodes, so where a query could see the difference (parents and siblings, node
identity, document order of sequences that are in none) the stream is constructed first. To find those places a shape
says whether its items are in document order without duplicates (``ordered``), can contain each other (``nested``), are
at most one (``single``), and of which streams they may be copies (``origins``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from xstreamcast.lang.scope import Expanded
from xstreamcast.lang.structures import above, below, split
from xstreamcast.model.structure import UNNAMED, Structure

UNKNOWN: Final = -2
"""An element that the structure does not have: nothing is known below it, so every step looks through holes."""

Tsid = int | None
"""A tag of a stream; None is the document node."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What is known of a value. ``stream`` and ``tags`` are set in fragment form only.

    ``apart``: the items may be in trees of their own, whose order no engine promises, so steps go item by item.
    """

    stream: str = ""
    tags: frozenset[Tsid] = frozenset()
    origins: frozenset[str] = frozenset()
    ordered: bool = False
    nested: bool = False
    single: bool = False
    apart: bool = False

    @property
    def open(self) -> bool:
        """Whether it is in fragment form."""
        return bool(self.stream)

    def one(self) -> Shape:
        """One item of it: what a loop or a predicate looks at."""
        return replace(self, ordered=True, nested=False, single=True)

    def loose(self) -> Shape:
        """The same items in an order that nothing is known of."""
        return self if self.single else replace(self, ordered=False)


ATOMIC: Final = Shape(ordered=True)
MADE: Final = Shape(ordered=True, single=True)
"""A node the query made."""


class StreamTags:
    """A structure as the translation asks it."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    def name(self, tsid: int) -> Expanded:
        """(uri, local) of a tag."""
        return split(self.structure.tag(tsid).name)

    def children(self, tsid: Tsid) -> tuple[int, ...]:
        """The tags directly below."""
        return () if tsid == UNKNOWN else below(self.structure, tsid)

    def parents(self, tsid: int) -> set[Tsid]:
        """The tags directly above; None is the document node."""
        return set() if tsid == UNKNOWN else set(above(self.structure, tsid))

    def descendants(self, tsids: Iterable[Tsid]) -> set[int]:
        """All tags below, at any depth."""
        found: set[int] = set()
        for tsid in tsids:
            tops = self.children(tsid)
            found.update(tops, self.structure.descendants(tops))
        return found

    def embedded(self, tsid: int) -> bool:
        """Whether a tag only comes inside its parent's fragment."""
        return self.structure.tag(tsid).type == "snapshot"

    def fragment(self, tsid: int) -> bool:
        """Whether a tag only comes in fragments of its own."""
        return tsid != UNKNOWN and self.structure.tag(tsid).fragment

    def timed(self, tsid: Tsid) -> bool:
        """Whether elements of a tag carry a lifespan."""
        return tsid is not None and tsid != UNKNOWN and self.structure.tag(tsid).timed

    def holes(self, tsid: Tsid) -> bool:
        """Whether an element of a tag may hold a hole among its children. The document node's are filled."""
        if tsid is None:
            return False
        return tsid == UNKNOWN or not all(map(self.embedded, self.children(tsid)))

    def closed(self, tsid: Tsid) -> bool:
        """Whether there is no hole anywhere below, so that a fragment's string value is the element's."""
        return tsid != UNKNOWN and all(map(self.embedded, self.descendants([tsid])))

    @cached_property
    def recursive_fragments(self) -> bool:
        """Whether a fragment can hold one of its own tag, so that a hole might lie inside its own filler."""
        tags = self.structure.tags
        return any(
            not self.embedded(tsid) and tsid in self.structure.descendants([tsid]) for tsid in tags if tsid != UNNAMED
        )

    def named(self, tsids: Iterable[int], name: Expanded) -> frozenset[int]:
        """Those of a name."""
        return frozenset(tsid for tsid in tsids if self.name(tsid) == name)

    def chain(self, sources: frozenset[Tsid], name: Expanded) -> list[int] | None:
        """The one way down to the one tag of a name, if there is just one: ``//a`` as child steps."""
        targets = self.named(self.descendants(sources), name)
        if len(sources) != 1 or len(targets) != 1:
            return None
        (source,), (target,) = sources, targets
        found = [target]
        inside = self.descendants(sources) | set(sources)
        while True:
            parents = self.parents(found[0]) & inside
            if len(parents) != 1:
                return None
            (parent,) = parents
            if parent == source:
                return None if source in self.descendants([source]) else found
            if parent is None or parent in found:
                return None
            found.insert(0, parent)

    def through(self, sources: Iterable[Tsid], targets: frozenset[int]) -> set[int]:
        """The tags below the sources that lead to a target."""
        return {tsid for tsid in self.descendants(sources) if targets & self.structure.descendants([tsid])}

    def ancestors(self, targets: Iterable[int]) -> set[int]:
        """All tags above, the document node left out."""
        found: set[int] = set()
        waiting = list(targets)
        while waiting:
            parents = {parent for parent in self.parents(waiting.pop()) if parent is not None} - found
            found |= parents
            waiting.extend(parents)
        return found

    def avoiding(self, passed: frozenset[Tsid]) -> set[int]:
        """The tags that can be reached from the document node without passing any of some."""
        found: set[int] = set()
        waiting = [tsid for tsid in self.children(None) if None not in passed]
        while waiting:
            tsid = waiting.pop()
            if tsid not in found:
                found.add(tsid)
                if tsid not in passed:
                    waiting.extend(self.children(tsid))
        return found

    def embedded_below(self, tsids: Iterable[int]) -> set[int]:
        """The tags that may come inside fragments of some tags, in the same fragment."""
        found: set[int] = set()
        waiting = list(tsids)
        while waiting:
            for child in self.children(waiting.pop()):
                if not self.fragment(child) and child not in found:
                    found.add(child)
                    waiting.append(child)
        return found

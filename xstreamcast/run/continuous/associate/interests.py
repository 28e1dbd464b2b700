"""Which places in the documents of a tag structure matter to the units of a query, by the structure alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from xstreamcast.model.structure import UNNAMED
from xstreamcast.run.continuous.associate.mounts import Above
from xstreamcast.run.continuous.associate.reach import name_of, top_tags
from xstreamcast.scan.tables import DEAD, DOCUMENT_STATE

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.run.continuous.associate.route import Route

DOCUMENT: Final = -2
"""The tag of the document node."""
Pair = tuple[int, int | None]
"""A state of the automaton and a tag; None: the structure says nothing about what is there."""


@dataclass(frozen=True, slots=True)
class Rooting:
    """Where a fragment stands if its parents need not be seen: the state of the content around, and the ancestors."""

    state: int
    above: Above | None


class Interests:
    """Which pairs of a state and a tag matter: a fixpoint over the graph of the structure.

    at(s, t) = own(s) ∪ below(s, t)        below(s, t) = ⋃ at(step(s, c), c) for the children c of t
    """

    def __init__(self, route: Route, structure: Structure) -> None:
        self._route = route
        self._structure = structure
        root: Pair = (DOCUMENT_STATE, DOCUMENT)
        self._children: dict[Pair, list[Pair]] = {}
        waiting = [root]
        while waiting:
            pair = waiting.pop()
            if pair not in self._children:
                self._children[pair] = self._steps(pair)
                waiting += self._children[pair]
        self._records: dict[Pair, set[int]] = {pair: route.own(pair[0])[0] for pair in self._children}
        # A record inside another of its unit is read by that one, whatever is read of it.
        self._reads: dict[Pair, set[int]] = {pair: route.met(pair[0]) | self._records[pair] for pair in self._children}
        self.below: dict[Pair, set[int]] = {pair: set() for pair in self._children}
        """The units with records below."""
        self._keep()
        self._inline = {pair for pair in self._children if self._records[pair] or self._reads[pair]}
        """The pairs that matter for what is in their own fragment."""
        self._spread()
        self.needed = self._needed()
        self.holders: frozenset[int | None] = frozenset()
        self.rooted: dict[int, Rooting] = {}
        self._take_root(root)

    def _steps(self, pair: Pair) -> list[Pair]:
        state, tag = pair
        tags = self._structure.tags
        children = top_tags(self._structure) if tag == DOCUMENT else tags[tag or 0].children
        reached = [(self._route.step(state, name_of(tags[child].name)), child) for child in children]
        return [(to, child) for to, child in reached if to != DEAD]

    def _keep(self) -> None:
        """Within a record, what stands on a path is read, though nothing may be below it: a projection keeps it."""
        within: dict[Pair, set[int]] = {pair: {self._route.document} for pair in self._children}
        waiting = list(self._children)
        while waiting:
            pair = waiting.pop()
            around = within[pair] | self._records[pair]
            for child in self._children[pair]:
                if not around <= within[child]:
                    within[child] |= around
                    waiting.append(child)
        for pair, children in self._children.items():
            for child in children:
                name = name_of(self._structure.tags[child[1] or 0].name)
                self._reads[child] |= self._route.advanced(pair[0], name) & within[child]

    def _spread(self) -> None:
        above: dict[Pair, list[Pair]] = {pair: [] for pair in self._children}
        for pair, children in self._children.items():
            for child in children:
                above[child].append(pair)
        waiting = list(self._children)
        while waiting:
            child = waiting.pop()
            records = self._records[child] | self.below[child]
            for pair in above[child]:
                inline = child in self._inline and not self._fragment(child) and pair not in self._inline
                if inline or not (records <= self.below[pair] and self._reads[child] <= self._reads[pair]):
                    self.below[pair] |= records
                    self._reads[pair] |= self._reads[child]
                    if inline:
                        self._inline.add(pair)
                    waiting.append(pair)

    def _fragment(self, pair: Pair) -> bool:
        tag = self._structure.tags.get(pair[1] or 0)
        return tag is not None and tag.fragment

    def alive(self, pair: Pair) -> bool:
        """Whether anything at or below a pair matters."""
        return bool(self._records[pair] or self.below[pair] or self._reads[pair]) if pair in self._records else True

    def places(self, tsid: int | None) -> list[Pair]:
        """Where a tag stands."""
        return [pair for pair in self._children if pair[1] == tsid]

    def have_fragments(self, units: set[int]) -> bool:
        """Whether there are fragments within what some units read as a whole."""
        return any(
            any(map(self._fragment, children)) and not units.isdisjoint(self._route.own(pair[0])[3])
            for pair, children in self._children.items()
        )

    def seen(self, pair: Pair) -> tuple[set[int], set[int]]:
        """The units with records below, and those that read something at or below."""
        return self.below[pair], self._reads[pair]

    def _needed(self) -> frozenset[int]:
        found = {pair[1] for pair in self._children if self.alive(pair)}
        for pair in self._children:
            number = self._route.number(pair)
            if self._route.text(number) != DEAD or self._route.others(number):
                tag = self._structure.tags.get(-1 if pair[1] is None else pair[1])
                found |= set(tag.children) if tag is not None else set()
        if self._structure.grows:
            found |= self._around_fragments()
        return frozenset({tag for tag in found if tag is not None and tag not in (DOCUMENT, UNNAMED)})

    def _around_fragments(self) -> set[int]:
        """The tags that fragments may be in, at any depth: what will be announced may be in those."""
        above = self._structure.parents
        waiting = [tag.id for tag in self._structure.tags.values() if tag.fragment]
        found: set[int] = set()
        while waiting:
            for parent in above[waiting.pop()]:
                if parent not in found:
                    found.add(parent)
                    waiting.append(parent)
        return found

    def _take_root(self, root: Pair) -> None:
        """Go down through what is there for its holes only, to the fragments that are there for themselves."""
        rooted: dict[int, Rooting] = {}
        holders: set[int | None] = {None}
        waiting: list[tuple[Pair, Above | None]] = [(root, None)]
        seen: set[Pair] = set()
        while waiting:
            pair, above = waiting.pop()
            if pair in seen:
                return  # a tag that stands in several places: it does not tell where
            seen.add(pair)
            for child in self._children[pair]:
                tag = child[1]
                if tag is None or not self.alive(child):
                    continue
                named = self._structure.tags[tag]
                if child in self._inline:
                    if not named.fragment or tag in rooted:
                        return
                    rooted[tag] = Rooting(self._route.number(pair), above)
                else:
                    holders |= {tag} if named.fragment or tag == self._structure.root else set()
                    waiting.append((child, Above(above, name_of(named.name), 0, ())))
        if rooted:
            self.rooted, self.holders = rooted, frozenset(holders)

"""The static side of a live document: the plan's units as states of one path automaton, along the tag structure.

A state says, for a place in the document whatever fragment it is in: which records begin there, which units may have
members below, and what is read of it. So each fragment is walked on its own, in any order. Where the tag structure is
known a state is a pair (positions in the query's paths, tag): what no path can reach by that structure is dead, and
fragments of tags that are dead wherever they may stand are never opened (XCQL's QaC+, SIGMOD'04 §6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.model.names import ATTRIBUTE, ELEMENT, intern, name_local, name_uri
from xstreamcast.model.structure import UNNAMED
from xstreamcast.run.continuous.associate.mounts import Above
from xstreamcast.run.continuous.associate.reach import top_tags
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.layout import COMMENT_CLASS, TEXT_CLASS
from xstreamcast.scan.path import NodeTest, Path, Step
from xstreamcast.scan.tables import DEAD, DOCUMENT_STATE

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.plan.algebra import Choice, Each, Unit
    from xstreamcast.run.continuous.adjust.order import Monoid

_DOCUMENT: Final = -2
"""The tag of the document node."""
Pair = tuple[int, int | None]
"""A state of the automaton and a tag; None: the structure says nothing about what is there."""


@dataclass(frozen=True, slots=True)
class Role:
    """``begins``: the units whose records begin at nodes of a state; ``below``: those whose records may be below.

    ``reads``: the units whose evaluation looks at such a node or below it; ``whole``: at all of the subtree.
    """

    begins: tuple[int, ...]
    below: frozenset[int]
    reads: frozenset[int]
    whole: frozenset[int]


@dataclass(frozen=True, slots=True)
class Rooting:
    """Where a fragment stands if its parents need not be seen: the state of the content around, and the ancestors."""

    state: int
    above: Above | None


class Route:
    """Units by number, those inside a nest after it; ``targets`` tells what a unit reads of the document.

    Of a unit that ``nests`` (whose nest is used) that is what its body reads; what the units inside read is theirs.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        targets: Callable[[Unit, Path], Sequence[Target]],
        monoid: Callable[[Unit], Monoid[Any]],
        nests: Callable[[Unit], bool],
        whole: Sequence[Target] = (),
    ) -> None:
        self._nests = nests
        self.each: set[int] = set()
        """The units whose records may be inside each other, and are members each."""
        self.within: dict[int, int] = {}
        """The units inside of these, and of which they are."""
        self.deep: set[int] = set()
        """Those whose members an instance has in common with the instances around it."""
        self.counted: dict[int, Choice] = {}
        """Those whose members are counted, so that an instance can be chosen by its number among them."""
        self.shallow: set[int] = set()
        """The units that look at no more of a record than its name and attributes, unless there is no hole in it."""
        self.units: list[Unit] = []
        self._inside: list[tuple[int, ...]] = []
        self._roots: list[Path] = []
        self.outermost = tuple(self._add(unit, Path()) for unit in units)
        self._monoids = [monoid(unit) for unit in self.units]
        wanted: list[Target] = []
        self._of: list[int] = []
        for number, unit in enumerate(self.units):
            seen = targets(unit, self._roots[number])
            own = [*(Target(path, Action.RECORD) for path in self._records(number, unit, seen)), *seen]
            wanted += own
            self._of += [number] * len(own)
        self.document = len(self.units)
        """The number that stands for a reader of the document as a whole, of which ``whole`` is read."""
        self._automaton = Automaton([*wanted, *whole])
        self._of += [self.document] * len(whole)
        self._element_class: dict[int, int] = {}
        self._attribute_class: dict[int, int] = {}
        self.spelled = False
        """Whether paths have been spelled out by the tag structure, so that what it does not declare is not seen."""
        self.undeclared: list[tuple[int, int]] = []
        """Elements that the structure does not declare, where the query looks: the tag around, and the name."""
        self.know(None)

    def _add(self, unit: Unit, root: Path) -> int:
        number = len(self.units)
        self.units.append(unit)
        self._roots.append(root)
        self._inside.append(())
        if unit.nest is not None and self._nests(unit):
            self._inside[number] = tuple([self._add(inner, unit.nest.path) for inner in unit.nest.units])
            if unit.nest.each is not None:
                self._add_each(number, unit.nest.each)
        return number

    def _add_each(self, number: int, each: Each) -> None:
        self.each.add(number)
        if not each.reads:
            self.shallow.add(number)
        for inner in self._inside[number]:
            self.within[inner] = number
            if self.units[inner].variable in each.deep:
                self.deep.add(inner)
            if self.units[inner].variable in each.shallow:
                self.shallow.add(inner)
            if each.choice is not None and self.units[inner].variable == each.choice.counted:
                self.counted[inner] = each.choice

    def _records(self, number: int, unit: Unit, seen: Sequence[Target]) -> list[Path]:
        """Where the members of a unit are: elements, for these are what content consists of.

        A unit without records looks at single nodes with their ancestors: those it sees. The records of one with a nest
        are those of the units inside; where the nest is not used, an instance is evaluated as one.
        """
        if unit.nest is not None and (number in self.each or self._inside[number] or not unit.nest.frame):
            return [unit.nest.path]
        found = [_element(path) for path in unit.records or [target.path for target in seen]]
        return [path for path in dict.fromkeys(found) if not any(_leads(other, path) for other in found)]

    def inside(self, unit: int) -> tuple[int, ...]:
        """The units of a unit's nest."""
        return self._inside[unit]

    def monoid(self, unit: int) -> Monoid[Any]:
        """What sums of a unit's members are made of."""
        return self._monoids[unit]

    # ---------------------------------------------------------------------------------------------- the structure

    def know(self, structure: Structure | None) -> None:
        """Follow a tag structure from now on: all states are new."""
        self.structure = None if structure is None or structure.unnamed else structure
        top: int | None = None if self.structure is None else _DOCUMENT
        self._pairs: list[Pair] = [(DEAD, None), (DOCUMENT_STATE, top)]
        self._numbers: dict[Pair, int] = {pair: number for number, pair in enumerate(self._pairs)}
        self._roles: dict[int, Role] = {}
        self._elements: dict[int, dict[int, int]] = {}
        self._fillers: dict[tuple[int, int | None], bool] = {}
        self._single: dict[int, int] = {}
        self._interests = _Interests(self, self.structure) if self.structure is not None else None

    def needs(self, tsid: int | None) -> bool:
        """Whether a fragment of a tag may have to be opened; one that does not say its tag may."""
        return self._interests is None or tsid is None or tsid in self._interests.needed

    @property
    def holders(self) -> frozenset[int | None]:
        """The tags on the root path whose fragments are opened for their hole ids only; None: the root, untagged."""
        return self._interests.holders if self._interests is not None else frozenset()

    @property
    def rooted(self) -> dict[int, Rooting]:
        """Tags whose fragments have a place even where those around are not seen; none if the structure is unclear."""
        return self._interests.rooted if self._interests is not None else {}

    # ---------------------------------------------------------------------------------------------- states

    def number(self, pair: Pair) -> int:
        """The state of a pair."""
        known = self._numbers.get(pair)
        if known is None:
            known = self._numbers[pair] = len(self._pairs)
            self._pairs.append(pair)
        return known

    def role(self, state: int) -> Role:
        """What nodes of a state mean."""
        known = self._roles.get(state)
        if known is None:
            pair = self._pairs[state]
            begins, below, reads, whole = self.own(pair[0])
            if self._interests is not None and pair in self._interests.below:
                below, reads = self._interests.seen(pair)
            known = Role(tuple(sorted(begins)), frozenset(below), frozenset(reads), frozenset(whole))
            self._roles[state] = known
        return known

    def record(self, state: int) -> int:
        """The unit of which an element of a state is a record with nothing else to be found in it, or -1."""
        known = self._single.get(state)
        if known is None:
            role = self.role(state)
            single = len(role.begins) == 1 and role.below <= set(role.begins) and not self.inside(role.begins[0])
            known = self._single[state] = role.begins[0] if single else -1
        return known

    def is_record(self, state: int, tsid: int | None, unit: int) -> bool:
        """Whether a fragment of a tag, in the content of a state, is a record of a unit and nothing else."""
        tag = self.structure.tags.get(tsid) if self.structure is not None and tsid is not None else None
        return tag is not None and self.record(self.element(state, name_of(tag.name))) == unit

    def own(self, state: int) -> tuple[set[int], set[int], set[int], set[int]]:
        """What a state of the automaton says by itself: see :class:`Role`."""
        begins: set[int] = set()
        below: set[int] = set()
        reads: set[int] = set()
        whole: set[int] = set()
        for number, position in self._automaton.states[state]:
            target, unit = self._automaton.targets[number], self._of[number]
            at_end = position == len(target.path.steps)
            if target.action == Action.RECORD:
                (begins if at_end else below).add(unit)
            else:
                reads.add(unit)
                if position < 0 or (at_end and target.action == Action.PROJECT):
                    whole.add(unit)
        return begins, below, reads, whole

    def met(self, state: int) -> set[int]:
        """The units that read a node of a state of the automaton itself, or its attributes and texts."""
        found: set[int] = set()
        for number, position in self._automaton.states[state]:
            target, unit = self._automaton.targets[number], self._of[number]
            step = self._automaton.ahead(number, position)
            if target.action != Action.RECORD and (step is None or step.test.kind != ELEMENT):
                found.add(unit)
        return found

    def advanced(self, state: int, name: int) -> set[int]:
        """The units on one of whose paths an element of a name below a state of the automaton stands."""
        found: set[int] = set()
        for number, position in self._automaton.states[state]:
            target, step = self._automaton.targets[number], self._automaton.ahead(number, position)
            on_it = step is not None and step.test.matches(ELEMENT, name_uri[name], name_local[name])
            if on_it and target.action != Action.RECORD:
                found.add(self._of[number])
        return found

    def element(self, state: int, name: int) -> int:
        """The state of an element of a name below a state; DEAD if nobody looks at it."""
        row = self._elements.get(state)
        if row is None:
            row = self._elements[state] = {}
        to = row.get(name)
        if to is None:
            to = row[name] = self._element(state, name)
        return to

    def _element(self, state: int, name: int) -> int:
        inner, tag = self._pairs[state]
        reached, child = self.step(inner, name), self._child(tag, name)
        if child is None and tag is not None and (reached != DEAD or self.spelled):
            self.undeclared.append((tag, name))
        if reached == DEAD:
            return DEAD
        pair = reached, child
        if self._interests is not None and pair[1] is not None and not self._interests.alive(pair):
            return DEAD
        return self.number(pair)

    def _child(self, tag: int | None, name: int) -> int | None:
        if tag is None or self.structure is None:
            return None
        uri, local = name_uri[name], name_local[name]
        expanded = f"{{{uri}}}{local}" if uri else local
        if tag == _DOCUMENT:
            return next((top for top in top_tags(self.structure) if self.structure.tags[top].name == expanded), None)
        return self.structure.child(tag, expanded)

    def filler(self, state: int, tsid: int | None) -> bool:
        """Whether a fragment of a tag matters in the content of a state."""
        known = self._fillers.get((state, tsid))
        if known is None:
            known = self._fillers[state, tsid] = self._matters(state, tsid)
        return known

    def _matters(self, state: int, tsid: int | None) -> bool:
        if tsid is None or self.structure is None or self._pairs[state][1] is None:
            return True
        tag = self.structure.tags.get(tsid)
        return (
            tag is None
            or self.element(state, name_of(tag.name)) != DEAD
            or self.text(state) != DEAD  # a filler may be a text, or have some beside its element
            or self.comment(state) != DEAD
        )

    def step(self, state: int, name: int) -> int:
        """The state of the automaton of an element of a name below another."""
        number = self._element_class.get(name)
        if number is None:
            number = self._automaton.classify(ELEMENT, name_uri[name], name_local[name])
            self._element_class[name] = number
        return self._to(state, number)

    def attribute(self, state: int, name: int) -> int:
        """The state of an attribute."""
        number = self._attribute_class.get(name)
        if number is None:
            number = self._automaton.classify(ATTRIBUTE, name_uri[name], name_local[name])
            self._attribute_class[name] = number
        return self._leaf(state, number)

    def text(self, state: int) -> int:
        """The state of a text below a state."""
        return self._leaf(state, TEXT_CLASS)

    def comment(self, state: int) -> int:
        """The state of a comment below a state."""
        return self._leaf(state, COMMENT_CLASS)

    def _leaf(self, state: int, number: int) -> int:
        to = self._to(self._pairs[state][0], number)
        return DEAD if to == DEAD else self.number((to, None))

    def _to(self, state: int, number: int) -> int:
        automaton = self._automaton
        to = int(automaton.transitions[state * automaton.stride + number])
        return to if to >= 0 else automaton.expand(state, number)


class _Interests:
    """Which pairs of a state and a tag matter: a fixpoint over the graph of the structure.

    at(s, t) = own(s) ∪ below(s, t)        below(s, t) = ⋃ at(step(s, c), c) for the children c of t
    """

    def __init__(self, route: Route, structure: Structure) -> None:
        self._route = route
        self._structure = structure
        root: Pair = (DOCUMENT_STATE, _DOCUMENT)
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
        children = top_tags(self._structure) if tag == _DOCUMENT else tags[tag or 0].children
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

    def seen(self, pair: Pair) -> tuple[set[int], set[int]]:
        """The units with records below, and those that read something at or below."""
        return self.below[pair], self._reads[pair]

    def _needed(self) -> frozenset[int]:
        found = {pair[1] for pair in self._children if self.alive(pair)}
        for pair in self._children:
            number = self._route.number(pair)
            if self._route.text(number) != DEAD or self._route.comment(number) != DEAD:
                tag = self._structure.tags.get(-1 if pair[1] is None else pair[1])
                found |= set(tag.children) if tag is not None else set()
        return frozenset({tag for tag in found if tag is not None and tag not in (_DOCUMENT, UNNAMED)})

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


def name_of(expanded: str) -> int:
    """The interned name of an element, from ``{uri}local``."""
    uri, _, local = expanded.rpartition("}")
    return intern(ELEMENT, uri.removeprefix("{"), local)


def _element(path: Path) -> Path:
    """The path of elements that have the nodes of a path within, or are these.

    Of texts it is an element around: texts of adjacent regions are one.
    """
    steps = path.steps
    while steps and steps[-1].test.kind != ELEMENT:
        steps = steps[:-1]
    return Path(steps or (Step(NodeTest(ELEMENT)),))


def _leads(above: Path, path: Path) -> bool:
    """Whether a path goes on where another ends."""
    return len(above.steps) < len(path.steps) and path.steps[: len(above.steps)] == above.steps

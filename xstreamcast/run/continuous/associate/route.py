"""The static side of a live document: the plan's units as states of one path automaton, along the tag structure.

A state says, for a place in the document whatever fragment it is in: which records begin there, which units may have
members below, and what is read of it. So each fragment is walked on its own, in any order. Where the tag structure is
known a state is a pair (positions in the query's paths, tag): what no path can reach by that structure is dead, and
fragments of tags that are dead wherever they may stand are never opened (XCQL's QaC+, SIGMOD'04 §6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT, name_local, name_uri
from xstreamcast.run.continuous.associate.interests import DOCUMENT, Interests, Pair, Rooting
from xstreamcast.run.continuous.associate.reach import name_of, top_tags
from xstreamcast.run.temporal import VT_FROM, VT_TO
from xstreamcast.scan.automaton import Action, Automaton, Target
from xstreamcast.scan.layout import COMMENT_CLASS, SEES_MISC, TEXT_CLASS
from xstreamcast.scan.path import NodeTest, Path, Step
from xstreamcast.scan.tables import DEAD, DOCUMENT_STATE

if TYPE_CHECKING:
    from xstreamcast.model.structure import Structure
    from xstreamcast.operators.monoid import Monoid
    from xstreamcast.plan.algebra import Choice, Each, Unit
    from xstreamcast.run.continuous.associate.mounts import Above


@dataclass(frozen=True, slots=True)
class Role:
    """``begins``: the units whose records begin at nodes of a state; ``below``: those whose records may be below.

    ``reads``: the units whose evaluation looks at such a node or below it; ``whole``: at all of the subtree.
    """

    begins: tuple[int, ...]
    below: frozenset[int]
    reads: frozenset[int]
    whole: frozenset[int]


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
        self.structure = structure
        top: int | None = None if self.structure is None else DOCUMENT
        self._pairs: list[Pair] = [(DEAD, None), (DOCUMENT_STATE, top)]
        self._numbers: dict[Pair, int] = {pair: number for number, pair in enumerate(self._pairs)}
        self._roles: dict[int, Role] = {}
        self._elements: dict[int, dict[int, int]] = {}
        self._fillers: dict[tuple[int, int | None], bool] = {}
        self._single: dict[int, int] = {}
        self._members: dict[tuple[int, int | None], int] = {}
        self._copying: dict[int, bool] = {}
        self._lifespans: dict[int | None, bool] = {}
        self._interests = Interests(self, self.structure) if self.structure is not None else None

    def needs(self, tsid: int | None) -> bool:
        """Whether a fragment of a tag may have to be opened; one that does not say its tag may."""
        return self._interests is None or tsid is None or tsid in self._interests.needed

    def would_need(self, structure: Structure) -> frozenset[int]:
        """The tags whose fragments would have to be opened under another structure."""
        again = copy(self)
        again.know(structure)
        assert again._interests is not None
        return again._interests.needed

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

    def automaton_state(self, state: int) -> int:
        """The state of the automaton alone."""
        return self._pairs[state][0]

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

    def whose(self, state: int) -> int:
        """The unit of which an element of a state is a member, be it a frame, with no others beside or in it, or -1."""
        found = self.record(state)
        if found < 0:
            role = self.role(state)
            begins = [unit for unit in role.begins if unit in self.outermost]
            below = role.below.intersection(self.outermost)
            single = len(begins) == 1 and (not below or (below == set(begins) and begins[0] not in self.each))
            found = begins[0] if single else -1
        return found

    def is_record(self, state: int, tsid: int | None, unit: int) -> bool:
        """Whether a fragment of a tag, in the content of a state, is a member of a unit and nothing else."""
        known = self._members.get((state, tsid))
        if known is None:
            tag = self.structure.tags.get(tsid) if self.structure is not None and tsid is not None else None
            known = -1 if tag is None else self.whose(self.element(state, name_of(tag.name)))
            self._members[state, tsid] = known
        return known == unit

    def is_in_another(self, above: Above | None, unit: int) -> bool:
        """Whether one of some elements around is an instance of a unit whose instances may be inside each other."""
        if unit not in self.each:
            return False
        names: list[int] = []
        while above is not None:
            names.append(above.name)
            above = above.parent
        state = DOCUMENT_STATE
        for name in reversed(names):
            state = self.element(state, name)
            if unit in self.role(state).begins:
                return True
        return False

    def copies_holes(self, unit: int) -> bool:
        """Whether there may be fragments in what a unit copies, so that an answer tells where their holes are."""
        known = self._copying.get(unit)
        if known is None:
            units, waiting = {unit}, [unit]
            while waiting:
                inner = self.inside(waiting.pop())
                waiting += inner
                units.update(inner)
            known = self._copying[unit] = self._interests is None or self._interests.have_fragments(units)
        return known

    def shows_lifespan(self, tsid: int | None) -> bool:
        """Whether somebody may read the lifespan of a fragment of a tag."""
        known = self._lifespans.get(tsid)
        if known is None:
            known = self._interests is None or tsid is None
            for pair in () if self._interests is None else self._interests.places(tsid):
                state = self.number(pair)
                known |= bool(self.role(state).whole)
                known |= any(self.attribute(state, name) != DEAD for name in (VT_FROM, VT_TO))
            self._lifespans[tsid] = known
        return known

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
        if tag == DOCUMENT:
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
            or self.others(state)
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

    def leaf(self, state: int, kind: int, name: int) -> int:
        """The state of a text, a comment or a processing instruction, whose name counts, below a state."""
        if kind == TEXT:
            return self.text(state)
        if kind == COMMENT:
            return self.comment(state)
        return self._leaf(state, self._automaton.classify(PI, name_uri[name], name_local[name]))

    def others(self, state: int) -> bool:
        """Whether comments or processing instructions below a state matter."""
        return bool(self._automaton.flags[self._pairs[state][0]] & SEES_MISC)

    def _leaf(self, state: int, number: int) -> int:
        to = self._to(self._pairs[state][0], number)
        return DEAD if to == DEAD else self.number((to, None))

    def _to(self, state: int, number: int) -> int:
        automaton = self._automaton
        to = int(automaton.transitions[state * automaton.stride + number])
        return to if to >= 0 else automaton.expand(state, number)


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

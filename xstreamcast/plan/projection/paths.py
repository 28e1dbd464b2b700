"""Where nodes can be: sets of paths over a document, and what XPath's axes make of them.

A :class:`Place` stands for *all* nodes its path leads to. Every rule here over-approximates: the nodes an axis reaches
from nodes of a place are among the nodes of the places it gives.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from xstreamcast.dataclass import dataclass
from xstreamcast.lang import ast
from xstreamcast.model.names import ATTRIBUTE, COMMENT, ELEMENT, PI, TEXT
from xstreamcast.scan.automaton import Action, Target
from xstreamcast.scan.path import NODE, NodeTest, Path, Step

VarName = tuple[str, str]

WHOLE_DOCUMENT: Final = Target(Path(), Action.PROJECT)

ANY_ELEMENT: Final = NodeTest(ELEMENT)
ANY_ATTRIBUTE: Final = NodeTest(ATTRIBUTE)
ANY_NODE: Final = NodeTest(NODE)


@dataclass(frozen=True, slots=True)
class Place:
    """The nodes a path leads to in the document of a root; the empty path is the document node."""

    root: VarName
    path: Path

    @property
    def is_document(self) -> bool:
        return not self.path.steps

    @property
    def has_content(self) -> bool:
        """Whether there can be children and attributes."""
        return self.is_document or self.path.steps[-1].test.kind in (ELEMENT, NODE)

    def down(self, test: NodeTest, deep: bool = False) -> Place:
        """``place/test`` or ``place//test``. Only elements have something below: a ``node()`` before is a ``*``."""
        return Place(self.root, Path((*parent_steps(self.path.steps), Step(test, deep))))


def parent_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps that lead to nodes with something below them."""
    if steps and steps[-1].test.kind == NODE:
        return (*steps[:-1], Step(ANY_ELEMENT, steps[-1].deep))
    return steps


# ----------------------------------------------------------------------------------------------------- node tests


@dataclass(frozen=True, slots=True)
class Kinds:
    """What a node test of the query passes: nodes of these tests, and perhaps document nodes."""

    tests: tuple[NodeTest, ...]
    document: bool = False


def kinds_of(test: ast.NodeTest, axis: str) -> Kinds:
    """The nodes a test passes; types are not looked at, since without a schema all nodes are untyped."""
    principal = ATTRIBUTE if axis == "attribute" else ELEMENT
    if isinstance(test, ast.NameTest):
        return Kinds((NodeTest(principal, *test.name.expanded),))
    if isinstance(test, ast.Wildcard):
        return Kinds((NodeTest(principal, test.uri, test.local),))
    if isinstance(test, (ast.ElementTest, ast.AttributeTest)):
        kind = ELEMENT if isinstance(test, ast.ElementTest) else ATTRIBUTE
        return Kinds((NodeTest(kind, *test.name.expanded) if test.name is not None else NodeTest(kind),))
    if isinstance(test, ast.PITest):
        return Kinds((NodeTest(PI, None if test.target is None else "", test.target),))
    if isinstance(test, ast.DocumentTest):
        return Kinds((), True)
    if isinstance(test, ast.KindTest) and test.kind in ("text", "comment"):
        return Kinds((NodeTest(TEXT if test.kind == "text" else COMMENT),))
    return Kinds((ANY_NODE, ANY_ATTRIBUTE), True)


def meet(a: NodeTest, b: NodeTest) -> NodeTest | None:
    """The test of the nodes that pass both, None if there are none."""
    if NODE in (a.kind, b.kind):
        narrow = b if a.kind == NODE else a
        return None if narrow.kind == ATTRIBUTE else narrow
    if a.kind != b.kind:
        return None
    if None not in (a.uri, b.uri) and a.uri != b.uri:
        return None
    if None not in (a.local, b.local) and a.local != b.local:
        return None
    return NodeTest(a.kind, b.uri if a.uri is None else a.uri, b.local if a.local is None else a.local)


def implies(narrow: NodeTest, wide: NodeTest) -> bool:
    """Whether all nodes that pass the one test pass the other."""
    return meet(narrow, wide) == narrow


# ----------------------------------------------------------------------------------------------------------- axes

_UPWARD: Final = frozenset({"self", "parent", "ancestor", "ancestor-or-self"})
AXES: Final = _UPWARD | {
    *("child", "descendant", "descendant-or-self", "attribute"),
    *("following-sibling", "preceding-sibling", "following", "preceding"),
}


def is_upward(axis: str) -> bool:
    """Whether an axis leads from nodes that are there to nodes that must be there too: themselves and ancestors."""
    return axis in _UPWARD


def follow(place: Place, axis: str, kinds: Kinds) -> list[Place]:
    """The places of the nodes an axis reaches from a place."""
    if axis == "child":
        return _below(place, kinds, False)
    if axis == "descendant":
        return _below(place, kinds, True)
    if axis == "descendant-or-self":
        return _refine([place], kinds) + _below(place, kinds, True)
    if axis == "attribute":
        return attributes(place, kinds, False)
    if axis == "self":
        return _refine([place], kinds)
    if axis == "parent":
        return _refine(parents(place), kinds)
    if axis == "ancestor":
        return _refine(ancestors(place), kinds)
    if axis == "ancestor-or-self":
        return _refine([place, *ancestors(place)], kinds)
    if axis in ("following-sibling", "preceding-sibling"):
        if place.is_document or place.path.steps[-1].test.kind == ATTRIBUTE:
            return []
        return [sibling for parent in parents(place) for sibling in _below(parent, kinds, False)]
    return _below(Place(place.root, Path()), kinds, True)  # following, preceding


def attributes(place: Place, kinds: Kinds, deep: bool) -> list[Place]:
    """``place/@test``; deep: ``place//@test``, those of the place's own nodes and of all below."""
    tests = [test for test in kinds.tests if test.kind == ATTRIBUTE]
    return [place.down(test, deep) for test in tests] if place.has_content else []


def _below(place: Place, kinds: Kinds, deep: bool) -> list[Place]:
    tests = [test for test in kinds.tests if test.kind != ATTRIBUTE]
    return [place.down(test, deep) for test in tests] if place.has_content else []


def _refine(places: Iterable[Place], kinds: Kinds) -> list[Place]:
    """Those nodes of some places that pass a test."""
    found = []
    for place in places:
        if place.is_document:
            if kinds.document:
                found.append(place)
            continue
        *before, last = place.path.steps
        for test in kinds.tests:
            both = meet(last.test, test)
            if both is not None:
                found.append(Place(place.root, Path((*before, Step(both, last.deep)))))
    return found


def parents(place: Place) -> list[Place]:
    """The parents of ``p/s`` are at ``p``; those of ``p//s`` at ``p`` or ``p//*``."""
    if place.is_document:
        return []
    above = Place(place.root, Path(parent_steps(place.path.steps[:-1])))
    return [above, above.down(ANY_ELEMENT, True)] if place.path.steps[-1].deep else [above]


def ancestors(place: Place) -> list[Place]:
    """The parents, their parents, and so on."""
    found: dict[Place, None] = {}
    waiting = [place]
    while waiting:
        for parent in parents(waiting.pop()):
            if parent not in found:
                found[parent] = None
                waiting.append(parent)
    return list(found)


# ------------------------------------------------------------------------------------------------------ inclusion


def includes(wide: tuple[Step, ...], narrow: tuple[Step, ...]) -> bool:
    """Whether steps lead to all nodes that other steps lead to, as far as their form tells.

    A child step must meet a child step of a narrower test; a descendant step may pass over any steps before it does.
    """
    reached = {0}
    for step in wide:
        following: set[int] = set()
        for at in reached:
            for to in range(at, len(narrow) if step.deep else min(at + 1, len(narrow))):
                if implies(narrow[to].test, step.test) and (step.deep or not narrow[to].deep):
                    following.add(to + 1)
        reached = following
    return len(narrow) in reached


def widen(places: Iterable[Place]) -> frozenset[Place]:
    """A bounded set of places that has all nodes of a growing one: whatever is at or below its common prefix."""
    prefixes: dict[VarName, tuple[Step, ...]] = {}
    for place in places:
        steps = place.path.steps
        both = zip(prefixes.get(place.root, steps), steps, strict=False)
        prefixes[place.root] = tuple(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], both))
    found: set[Place] = set()
    for root, steps in prefixes.items():
        while steps and steps[-1].test.kind != ELEMENT:
            steps = steps[:-1]
        top = Place(root, Path(steps))
        found |= {top, top.down(ANY_NODE, True), top.down(ANY_ATTRIBUTE, True)}
    return frozenset(found)


# -------------------------------------------------------------------------------------------------------- targets


def target(path: Path, whole: bool) -> Target:
    """The target of a path; what has nothing below is whole when it is kept."""
    whole = whole and (not path.steps or path.steps[-1].test.kind in (ELEMENT, NODE))
    return Target(path, Action.PROJECT if whole else Action.KEEP)


def covers(wide: Target, narrow: Target) -> bool:
    """Whether one target keeps all that is wanted at the end of another's path; what is on the way is not asked.

    A whole subtree has everything below it; a path has the nodes of its prefixes, but for itself: of records with a
    test, ``//*[price]``, those with nothing kept below them go, and so ``//*/*`` is not covered by ``//*/price``.
    """
    if wide.action == Action.PROJECT:
        steps = narrow.path.steps
        if any(includes(wide.path.steps, steps[:length]) for length in range(len(steps) + 1)):
            return True
    if narrow.action == Action.PROJECT:
        return False
    steps = wide.path.steps
    return includes(steps, narrow.path.steps) or narrow.path.steps == steps[: len(narrow.path.steps)]


def simplify(wanted: Iterable[Target]) -> tuple[Target, ...]:
    """Fewer targets that keep what is wanted at the ends of all these paths, in the order of their paths."""
    ends = dict.fromkeys(sorted(wanted, key=_rank))
    for each in list(ends):  # p/s and p//*/s together are p//s
        steps = each.path.steps
        if len(steps) > 1 and steps[-2] == Step(ANY_ELEMENT, True) and not steps[-1].deep:
            near = Target(Path((*steps[:-2], steps[-1])), each.action)
            if near in ends:
                ends[Target(Path((*steps[:-2], Step(steps[-1].test, True))), each.action)] = None
    on_the_way = _prefixes(ends)  # the plainest case of being covered, and the most frequent
    left = [each for each in ends if each.action == Action.PROJECT or each.path.steps not in on_the_way]
    for each in sorted(left, key=lambda each: -len(each.path.steps)):
        if any(covers(other, each) for other in left if other is not each):
            left.remove(each)
    # A path that kept something on its way may have gone because its end is covered.
    on_the_way = _prefixes(left)
    for each in sorted(ends, key=lambda each: -len(each.path.steps)):
        reached = each.action == Action.KEEP and each.path.steps in on_the_way
        if not reached and not any(covers(other, each) for other in left):
            left.append(each)
    return tuple(sorted(left, key=_rank))


def _rank(each: Target) -> tuple[str, Action]:
    return describe_path(each.path), each.action


def _prefixes(targets: Iterable[Target]) -> set[tuple[Step, ...]]:
    return {each.path.steps[:length] for each in targets for length in range(len(each.path.steps))}


def merge(*several: Iterable[Target]) -> tuple[Target, ...]:
    """Some sets of targets as one that keeps all that any of them keeps, also on the way to the ends of its paths.

    >>> from xstreamcast.scan.path import parse_path
    >>> describe(merge([target(parse_path("/a/b/c"), False)], [target(parse_path("//c"), True)]))
    ['//c (whole)', '/a/b']
    """
    targets = {each for targets in several for each in targets}
    return simplify(targets | {target(Path(steps), False) for steps in _prefixes(targets)})


def describe(targets: Iterable[Target]) -> list[str]:
    """Targets for people: ``/site/people/person/@id``, ``/site/people/person/name (whole)``.

    >>> describe([WHOLE_DOCUMENT])
    ['/ (whole)']
    """
    return [describe_path(each.path) + (" (whole)" if each.action == Action.PROJECT else "") for each in targets]


_WORDS: Final = {TEXT: "text()", COMMENT: "comment()", NODE: "node()"}


def describe_path(path: Path) -> str:
    """A path as ``scan.path.parse_path`` reads it."""
    return "".join(("//" if step.deep else "/") + _describe_test(step.test) for step in path.steps) or "/"


def _describe_test(test: NodeTest) -> str:
    if test.kind == PI:
        return f"processing-instruction({test.local or ''})"
    if test.kind in _WORDS:
        return _WORDS[test.kind]
    at = "@" if test.kind == ATTRIBUTE else ""
    local = test.local or "*"
    if test.uri or (test.uri == "" and test.local is None):
        return f"{at}Q{{{test.uri}}}{local}"
    return f"{at}*:{local}" if test.uri is None and test.local is not None else f"{at}{local}"

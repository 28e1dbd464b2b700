"""How many steps Python's ``re`` may need for a text of n characters, from above.

The positions of an expression (its sets of characters) and who may follow whom are an automaton (Glushkov's). Where two
ways lead from a position to itself over the same characters, the steps are exponential in n (Weber and Seidl's EDA);
else there are at most C · n^k of them, where k is the number of loops that one way goes through, and one more for the
places where a search may begin. A loop that may end the match at any of its positions is not gone back into.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from xstreamcast.functions.regex_tree import Back, Chain, Characters, Choice, Edge, Group, Node, Ranges, Repeat

_MOST_PAIRS = 20_000
"""Pairs of positions that are looked at; an expression with more is taken for one that has two ways."""
_MOST_WAYS = 1 << 40
_BOUNDED = 100
"""Repetitions beyond which their bound is none: texts are shorter."""

Ways = Counter[int]


@dataclass(frozen=True, slots=True)
class Cost:
    """At most ``factor · n ** power`` steps; ``power`` is infinite where the number grows exponentially."""

    factor: int
    power: float

    def steps(self, length: int) -> float:
        """… for a text of a length."""
        return inf if self.power == inf else self.factor * float(max(length, 1)) ** self.power


@dataclass(frozen=True, slots=True)
class _Part:
    """In how many ways a part matches nothing, begins and ends at its positions."""

    empty: int
    first: Ways
    last: Ways


class _Automaton:
    """Positions and who follows whom, in how many ways; ``bounded``: only by repetitions that have a bound."""

    def __init__(self) -> None:
        self.sets: list[Ranges] = []
        self.edges: list[int] = []
        self.follow: dict[int, Ways] = {}
        self.bounded: set[tuple[int, int]] = set()
        self.long: set[int] = set()  # positions that are repeated so often that the text is the bound
        self.owing: set[int] = set()  # positions after which more repetitions may have to come
        self.factor = 1
        self.exponential = False

    def position(self, ranges: Ranges) -> _Part:
        self.sets.append(ranges)
        number = len(self.sets) - 1
        self.follow[number] = Counter()
        return _Part(0, Counter([number]), Counter([number]))

    def join(self, last: Ways, first: Ways, *, bounded: bool = False) -> None:
        for before, ways in last.items():
            for after, more in first.items():
                if bounded and after not in self.follow[before]:
                    self.bounded.add((before, after))
                elif not bounded:
                    self.bounded.discard((before, after))
                self.follow[before][after] += ways * more

    def read(self, node: Node, looped: bool) -> _Part:
        if isinstance(node, Characters):
            return self.position(_in_any_case(node.ranges[0][0]) if node.cased else node.ranges)
        if isinstance(node, Edge):
            self.exponential |= looped  # rare, and not looked into
            made = self.position(())
            self.edges.extend(made.first)
            return made
        if isinstance(node, Back):
            self.exponential = True
            return _Part(1, Counter(), Counter())
        if isinstance(node, Group):
            return self.read(node.body, looped)
        if isinstance(node, Choice):
            if not looped:
                self.factor = min(_MOST_WAYS, self.factor * len(node.branches))
            parts = [self.read(branch, looped) for branch in node.branches]
            return _Part(sum(p.empty for p in parts), _sum(p.first for p in parts), _sum(p.last for p in parts))
        if isinstance(node, Chain):
            whole = _Part(1, Counter(), Counter())
            for one in node.parts:
                part = self.read(one, looped)
                self.join(whole.last, part.first)
                first = whole.first + _times(part.first, whole.empty)
                whole = _Part(whole.empty * part.empty, first, part.last + _times(whole.last, part.empty))
            return whole
        return self.repeat(node, looped)

    def repeat(self, node: Repeat, looped: bool) -> _Part:
        if node.high == 0:
            return _Part(1, Counter(), Counter())
        high = node.high if node.high is not None and node.high <= _BOUNDED else None
        before = len(self.sets)
        part = self.read(node.body, looped or high is None)
        if node.low > 1:
            self.owing.update(range(before, len(self.sets)))
        none = int(node.low == 0)
        if node.high == 1:
            if not looped and none:
                self.factor = min(_MOST_WAYS, 2 * self.factor)
            return _Part(part.empty + none, part.first, part.last)
        if high is not None:
            if not looped:
                self.factor = min(_MOST_WAYS, self.factor * (high - node.low + 1))
            self.factor = min(_MOST_WAYS, self.factor * high)
            self.exponential |= bool(part.empty)
        else:
            self.exponential |= bool(part.empty and (node.low > 1 or looped))
        if node.low != node.high or not isinstance(node.body, Characters):
            self.join(part.last, part.first, bounded=high is not None)
        elif high is None:
            self.long.update(part.first)
        last = _times(part.last, 2) if part.empty else part.last  # after an iteration that is empty, too
        return _Part(part.empty + none, part.first, last)


def _in_any_case(code: int) -> Ranges:
    character = chr(code)
    variants = {character, character.lower(), character.upper()}
    return tuple(sorted((ord(one), ord(one)) for one in variants if len(one) == 1))


def _sum(all_ways: Iterable[Ways]) -> Ways:
    total: Ways = Counter()
    for ways in all_ways:
        total.update(ways)
    return total


def _times(ways: Ways, by: int) -> Ways:
    return Counter({position: count * by for position, count in ways.items()}) if by else Counter()


def cost_of(node: Node) -> Cost:
    """The cost of searching a text for an expression."""
    made = _Automaton()
    whole = made.read(node, False)
    factor = made.factor * (len(made.sets) + 1)
    components = _components({p: list(ways) for p, ways in made.follow.items()})
    if made.exponential or _two_ways(made, components):
        return Cost(factor, inf)
    loops = _components({p: [q for q in ways if (p, q) not in made.bounded] for p, ways in made.follow.items()})
    chain = _longest(made, loops, set(whole.last))
    begins = bool(whole.first) and not whole.empty and all(position in made.edges for position in whole.first)
    return Cost(factor, max(1, chain + (0 if begins or not chain else 1)))


def _components(follow: dict[int, list[int]]) -> list[int]:
    """By position, the number of its strongly connected component; components are numbered from the last to the first
    (Tarjan, with a stack of his own)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    component = [-1] * len(follow)
    path: list[int] = []
    count = 0
    for root in follow:
        if root in order:
            continue
        work = [(root, iter(follow[root]))]
        order[root] = low[root] = len(order)
        path.append(root)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in order:
                    order[to] = low[to] = len(order)
                    path.append(to)
                    work.append((to, iter(follow[to])))
                    break
                if component[to] < 0:
                    low[at] = min(low[at], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == order[at]:
                    while component[at] < 0:
                        component[path.pop()] = count
                    count += 1
    return component


def _two_ways(made: _Automaton, component: list[int]) -> bool:
    """Whether two ways lead from a position to itself over the same characters: both within its component."""
    follow = {p: [q for q in ways if component[q] == component[p]] for p, ways in made.follow.items()}
    if any(made.follow[p][q] > 1 for p, inside in follow.items() for q in inside):
        return True
    onward: dict[tuple[int, int], list[tuple[int, int]]] = {}
    waiting = [(p, p) for p, inside in follow.items() if inside]
    seen = set(waiting)
    while waiting:
        pair = waiting.pop()
        onward[pair] = []
        for p in follow[pair[0]]:
            for q in follow[pair[1]]:
                if _meet(made.sets[p], made.sets[q]):
                    onward[pair].append((p, q))
                    if (p, q) not in seen:
                        seen.add((p, q))
                        waiting.append((p, q))
                        if len(seen) > _MOST_PAIRS:
                            return True
    # Of the pairs that a pair (p, p) leads to, does one of two positions lead to such a pair again?
    before: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for pair, reached in onward.items():
        for other in reached:
            before.setdefault(other, []).append(pair)
    waiting = [pair for pair in seen if pair[0] == pair[1]]
    leading = set(waiting)
    while waiting:
        for pair in before.get(waiting.pop(), ()):
            if pair[0] != pair[1]:
                return True
            if pair not in leading:
                leading.add(pair)
                waiting.append(pair)
    return False


def _meet(a: Ranges, b: Ranges) -> bool:
    if a is b:
        return bool(a)
    at = 0
    for low, high in a:
        while at < len(b) and b[at][1] < low:
            at += 1
        if at < len(b) and b[at][0] <= high:
            return True
    return False


def _longest(made: _Automaton, component: list[int], last: set[int]) -> int:
    """The largest number of loops on one way; without those that may end the match anywhere."""
    members: dict[int, list[int]] = {}
    for position, number in enumerate(component):
        members.setdefault(number, []).append(position)
    length: dict[int, int] = {}
    for number in sorted(members):  # whoever follows has a smaller number
        here = members[number]
        after = {component[q] for p in here for q in made.follow[p]}
        loops = any(p in made.long for p in here)
        loops = loops or any(q in made.follow[p] and (p, q) not in made.bounded for p in here for q in here)
        counts = loops and not (last.issuperset(here) and made.owing.isdisjoint(here))
        length[number] = int(counts) + max((length.get(other, 0) for other in after if other != number), default=0)
    return max(length.values(), default=0)

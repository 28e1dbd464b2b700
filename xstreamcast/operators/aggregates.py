"""Δ: the aggregate functions, one row of a table each.

    Δ(a ⊎ b) = Δ(a) ⊕ Δ(b)        and where sums can be undone   Δ(a ⊎ b) ⊖ Δ(b) = Δ(a)

Stored documents, threads and Spark's partitions go through an aggregate's :class:`~xstreamcast.operators.state.State`,
batch by batch. Over what changes each member has a *summary*, and summaries are put together by a
:class:`~xstreamcast.operators.monoid.Monoid`: XFlux's ``adjust`` is ``total := total ⊖ old ⊕ new``. Where a sum cannot
be undone (min, max, distinct-values, string-join) the blocks of the order tree on the way are summed again.

To add an aggregate is to write its state and its row of :data:`AGGREGATES`.

>>> state = AGGREGATES["count"].state(None, None)
>>> state.add(["a", "b"]); state.add(["c"])
>>> state.value()
[3]
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from xstreamcast.dataclass import dataclass
from xstreamcast.functions.registry import lookup
from xstreamcast.functions.sequence import distinct
from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Item, Untyped
from xstreamcast.model.collation import CODEPOINTS, Collation
from xstreamcast.model.compare import hash_key
from xstreamcast.model.convert import atomize, convert
from xstreamcast.model.lexical import to_string
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import NUMERIC, STRING, SequenceType
from xstreamcast.operators.monoid import COUNT, Monoid
from xstreamcast.operators.state import State

if TYPE_CHECKING:
    from xstreamcast.functions.context import DynamicContext
    from xstreamcast.native.vector import Bytes, Longs
    from xstreamcast.operators.keys import Known

# ------------------------------------------------------------------------------------------------------------- states


class Counted(State):
    """fn:count: ``count(a ++ b) = count(a) + count(b)``"""

    part = "count"

    def __init__(self) -> None:
        self.count = 0

    def add(self, items: list[Item]) -> None:
        self.count += len(items)

    def add_part(self, items: list[Item]) -> None:
        self.count += sum(items)

    def merge(self, other: State) -> None:
        assert isinstance(other, Counted)
        self.count += other.count

    def value(self) -> list[Item]:
        return [self.count]


class Found(State):
    """fn:exists, and fn:empty where ``wanted`` is false: settled by the first item."""

    part = "exists"

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted

    def add(self, items: list[Item]) -> None:
        self.settled = self.settled or bool(items)

    def add_part(self, items: list[Item]) -> None:
        self.settled = self.settled or items[0]

    def merge(self, other: State) -> None:
        self.settled = self.settled or other.settled

    def value(self) -> list[Item]:
        return [self.settled is self.wanted]


class Valued(State):
    """A reduction of atomised values."""

    part = "values"

    def add(self, items: list[Item]) -> None:
        self.add_part(atomize(items))


class Totalled(Valued):
    """fn:sum and fn:avg, exact and rounded once (:class:`~xstreamcast.functions.total.Total`)."""

    def __init__(self, function: str, zero: list[Item]) -> None:
        self.zero = zero
        self.total = Total(f"fn:{function}")

    def add_part(self, items: list[Item]) -> None:
        self.total.add_many(items)

    def merge(self, other: State) -> None:
        assert isinstance(other, Totalled)
        self.total.merge(other.total)

    def value(self) -> list[Item]:
        return [self.total.result()] if self.total.count else self.zero

    def copied(self) -> Totalled:
        made = Totalled.__new__(Totalled)
        made.zero, made.total = self.zero, self.total.copied()
        return made


class Extreme(Valued):
    """fn:min and fn:max: of each type the best value so far, which together are as good as all.

    Of each type, because the result has the least common type of all values, and comparing happens in it. Of equal
    values of several types the first is the result: each has its place.
    """

    def __init__(self, function: Callable[[list[Item]], list[Item]]) -> None:
        self.function = function
        self.best: dict[type, tuple[int, Item]] = {}
        self.seen = 0

    def add_part(self, items: list[Item]) -> None:
        self._choose(items)
        if len(self.best) > 1 and items:
            self.value()  # types that do not compare are an error now, not at the end

    def _choose(self, items: list[Item]) -> None:
        best, function = self.best, self.function
        kinds = dict.fromkeys(map(type, items))
        for kind in kinds:
            own = items if len(kinds) == 1 else [item for item in items if type(item) is kind]
            known = best.get(kind)
            (found,) = function(own if known is None else [known[1], *own])
            if known is None or found is not known[1]:
                place = next((k for k, item in enumerate(items) if item is found), 0) if len(kinds) > 1 else 0
                best[kind] = self.seen + place, found
        self.seen += len(items)

    def merge(self, other: State) -> None:
        assert isinstance(other, Extreme)
        # What does not compare is an error of the value, not of what it is made of: it may be taken out again.
        self._choose([value for _, value in sorted(other.best.values(), key=_place)])

    def value(self) -> list[Item]:
        return self.function([value for _, value in sorted(self.best.values(), key=_place)])

    def copied(self) -> Extreme:
        made = copy(self)
        made.best = dict(self.best)
        return made


def _place(entry: tuple[int, Item]) -> int:
    return entry[0]


class Distinct(Valued):
    """fn:distinct-values: the first of each set of equal values.

    ``eq`` is not transitive between numbers of several types (an xs:float equals the decimals that round to it), so
    which are the first shows when all are there: numbers are kept of each type, and chosen from at the end.
    """

    def __init__(self, collation: Collation) -> None:
        self.collation = collation
        self.kept: dict[object, Item] = {}
        self.kinds: set[type] = set()
        self.texts: Known | None = None
        """Untyped values as columns, where all are."""

    def add_texts(self, texts: Bytes, bounds: Longs) -> None:
        """Take untyped values, of which ``bounds`` tell where each begins."""
        if self.kept or self.collation is not CODEPOINTS:
            self.add_part([Untyped(text) for text in decoded(texts, bounds)])
            return
        if self.texts is None:
            from xstreamcast.operators.keys import Known

            self.texts = Known()
        self.texts.numbers(texts, bounds)

    def _untyped(self) -> list[Item]:
        """The items that came as columns."""
        return [] if self.texts is None else list(map(Untyped, decoded(*self.texts.keys)))

    def add_part(self, items: list[Item]) -> None:
        if self.texts is not None:
            before, self.texts = self._untyped(), None
            self.add_part(before)
        kept, collation = self.kept, self.collation
        self.kinds.update(map(type, items))
        if self.kinds.isdisjoint(NUMERIC.classes):
            for item in items:
                kept.setdefault(hash_key(item, collation), item)
        else:
            for item in items:
                kept.setdefault((type(item), hash_key(item, collation)), item)

    def merge(self, other: State) -> None:
        assert isinstance(other, Distinct)
        self.add_part([*other._untyped(), *other.kept.values()])

    def value(self) -> list[Item]:
        if self.texts is not None:
            return self._untyped()
        return distinct(list(self.kept.values()), self.collation)

    def copied(self) -> Distinct:
        made = copy(self)
        made.kept, made.kinds, made.texts = dict(self.kept), set(self.kinds), None
        if self.texts is not None:
            made.add_part(self._untyped())
        return made


def decoded(texts: Bytes, bounds: Longs) -> list[str]:
    """Texts that stand side by side."""
    own, edges = texts.tobytes(), bounds.tolist()
    if own.isascii():
        whole = own.decode("ascii")
        return [whole[first:last] for first, last in pairwise(edges)]
    return [own[first:last].decode() for first, last in pairwise(edges)]


class Joined(Valued):
    """fn:string-join: ``join(a ++ b) = join(a) || separator || join(b)``, where neither is empty."""

    def __init__(self, separator: str) -> None:
        self.separator = separator
        self.parts: list[str] = []

    def add_part(self, items: list[Item]) -> None:
        if items:
            self.parts.append(self.separator.join(map(to_string, items)))

    def merge(self, other: State) -> None:
        assert isinstance(other, Joined)
        self.parts.extend(other.parts)

    def value(self) -> list[Item]:
        return [self.separator.join(self.parts)]

    def copied(self) -> Joined:
        made = Joined(self.separator)
        made.parts = list(self.parts)
        return made


# ---------------------------------------------------------------------------------------------------------- summaries


class Numbers:
    """Of each member how many items it has; ``of`` makes the value of how many there are."""

    monoid: Monoid[Any] = COUNT

    def __init__(self, of: Callable[[int], Item]) -> None:
        self.of = of

    def summary(self, items: list[Item], fresh: Callable[[], State]) -> int:
        return len(items)

    def value(self, total: Any, fresh: Callable[[], State]) -> list[Item]:
        return [self.of(total)]


class Totals:
    """Of each member an exact total, None where it has no items; totals are taken out again."""

    def __init__(self, function: str) -> None:
        self.function = function
        self.monoid: Monoid[Any] = Monoid(None, _added, _taken, _swapped)

    def summary(self, items: list[Item], fresh: Callable[[], State]) -> Total | None:
        if not items:
            return None
        total = Total(self.function)
        total.add_many(atomize(items))
        return total

    def value(self, total: Any, fresh: Callable[[], State]) -> list[Item]:
        return [total.result()] if total is not None and total.count else fresh().value()


class States:
    """Of each member a state, None where it has no items; what a state has taken in stays in it."""

    def __init__(self) -> None:
        self.monoid: Monoid[Any] = Monoid(None, _merged)

    def summary(self, items: list[Item], fresh: Callable[[], State]) -> State | None:
        if not items:
            return None
        state = fresh()
        state.add(items)
        return state

    def value(self, total: Any, fresh: Callable[[], State]) -> list[Item]:
        state: State = fresh() if total is None else total
        return state.value()


def _added(a: Total | None, b: Total | None) -> Total | None:
    if a is None or b is None:
        return a or b
    made = a.copied()
    made.merge(b)
    return made


def _taken(a: Total | None, b: Total | None) -> Total | None:
    if a is None or b is None:
        return a
    made = a.copied()
    made.unmerge(b)
    return made if made.count else None


def _swapped(total: Total | None, old: Total | None, new: Total | None) -> Total | None:
    """``_added(_taken(total, old), new)``"""
    if total is None:
        return new
    made = total.copied()
    if old is not None:
        made.unmerge(old)
    if new is not None:
        made.merge(new)
    return made if made.count else None


def _merged(a: State | None, b: State | None) -> State | None:
    if a is None or b is None:
        return a or b
    made = a.copied()
    made.merge(b)
    return made


# ---------------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class Aggregate:
    """``fn:name(items, argument)``. ``argument``: a zero, a separator or a collation; None: it is not given."""

    name: str
    arities: tuple[int, ...]
    keeps: str
    """The state that is kept of the items, for people."""
    state: Callable[[DynamicContext, list[Item] | None], State]
    summaries: Numbers | Totals | States
    result: tuple[str, str] = ("anyAtomicType", "?")
    """The type of the value: its local name in xs, and how often."""
    ordered: bool = False
    """Whether the order of the items makes a difference."""
    weak: bool = False
    """Whether it only tells that something is there: often it is about one child."""
    of_values: str = ""
    """The function of :mod:`~xstreamcast.operators.of_values` that does it for many groups of doubles."""

    @property
    def counts(self) -> bool:
        """Whether it looks at nothing but how many items there are."""
        return isinstance(self.summaries, Numbers)

    @property
    def undoes(self) -> bool:
        """Whether what a member added can be taken out."""
        return self.summaries.monoid.less is not None


_TEXT: Final = SequenceType(STRING)


def _sum(_: DynamicContext, argument: list[Item] | None) -> State:
    if argument is None:
        return Totalled("sum", [0])
    entry = lookup(FN, "sum", 2)
    assert entry is not None
    return Totalled("sum", convert(argument, entry.params[1], "argument 2 of fn:sum"))


def _text(argument: list[Item] | None, function: str) -> list[Item]:
    return [] if argument is None else convert(argument, _TEXT, f"argument 2 of fn:{function}")


def _joined(_: DynamicContext, argument: list[Item] | None) -> State:
    text = _text(argument, "string-join")
    return Joined(str(text[0]) if text else "")


def _distinct(context: DynamicContext, argument: list[Item] | None) -> State:
    text = _text(argument, "distinct-values")
    return Distinct(context.collation(text[0] if text else None))


def _extreme(function: str) -> Callable[[DynamicContext, list[Item] | None], State]:
    def state(context: DynamicContext, argument: list[Item] | None) -> State:
        text = _text(argument, function)
        entry = lookup(FN, function, 2 if text else 1)
        assert entry is not None
        apply = entry.apply
        return Extreme(lambda values: apply(context, [values, text] if text else [values]))

    return state


_BOOLEAN: Final = ("boolean", "")
_YES_NO: Final = "a yes or no"

AGGREGATES: Final[dict[str, Aggregate]] = {
    row.name: row
    for row in (
        Aggregate("count", (1,), "a count", lambda *_: Counted(), Numbers(lambda n: n), ("integer", "")),
        Aggregate("exists", (1,), _YES_NO, lambda *_: Found(True), Numbers(lambda n: n > 0), _BOOLEAN, weak=True),
        Aggregate("empty", (1,), _YES_NO, lambda *_: Found(False), Numbers(lambda n: n == 0), _BOOLEAN, weak=True),
        Aggregate("sum", (1, 2), "a sum", _sum, Totals("fn:sum"), of_values="sums"),
        Aggregate("avg", (1,), "an average", lambda *_: Totalled("avg", []), Totals("fn:avg"), of_values="averages"),
        Aggregate("min", (1, 2), "a minimum", _extreme("min"), States(), of_values="leasts"),
        Aggregate("max", (1, 2), "a maximum", _extreme("max"), States(), of_values="greatests"),
        Aggregate(
            "distinct-values", (1, 2), "the distinct values", _distinct, States(), ("anyAtomicType", "*"), ordered=True
        ),
        Aggregate("string-join", (1, 2), "the joined text", _joined, States(), ("string", ""), ordered=True),
    )
}
"""By name."""
COUNTING: Final = frozenset(name for name, row in AGGREGATES.items() if row.counts)
"""Those that look at nothing but how many items there are."""

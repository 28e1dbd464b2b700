"""The state of each reduction: what is left of the items of a unit, batch after batch.

    R(a ++ b) = R(a) ⊕ R(b)        R(a ++ b) = add(R(a), b)

so that ``value()`` is what the F&O function gives on all items at once: types, errors, NaN and the empty sequence
included. ``merge`` takes the state of the items that follow in document order (ranges of threads, Spark partitions).

>>> state = Counted()
>>> state.add(["a", "b"]); state.add(["c"])
>>> state.value()
[3]
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, ClassVar

from xstreamcast.errors import error
from xstreamcast.functions.registry import lookup
from xstreamcast.functions.sequence import distinct
from xstreamcast.functions.total import Total
from xstreamcast.model.atomic import Item
from xstreamcast.model.collation import Collation
from xstreamcast.model.compare import hash_key
from xstreamcast.model.convert import atomize, convert
from xstreamcast.model.function import FunctionItem
from xstreamcast.model.lexical import to_string
from xstreamcast.model.namespaces import FN
from xstreamcast.model.types import NUMERIC, STRING, SequenceType
from xstreamcast.plan.algebra import Concat, Fold, Group, Reduce, Reduction, Slice

if TYPE_CHECKING:
    from xstreamcast.functions.context import DynamicContext

__all__ = ["Counted", "Folded", "Found", "Kept", "Sliced", "State", "state_of"]


class State:
    """What a reduction keeps. ``part`` names the form in which a batch's items are best computed for it."""

    part: ClassVar[str] = "items"
    """``items``: E; ``values``: data(E); ``count``: count(E); ``exists``: exists(E); ``fold``: E folded."""
    settled = False
    """Whether no item to come can change the value: the scan may end for it."""

    def add(self, items: list[Item]) -> None:
        """Take the next items."""
        raise NotImplementedError

    def add_part(self, items: list[Item]) -> None:
        """Take what the expression of :attr:`part` gave for the next items."""
        self.add(items)

    def merge(self, other: State) -> None:
        """Take the state of the items that come after."""
        raise error("XSC0081", f"partial results of {type(self).__name__} do not combine")

    def value(self) -> list[Item]:
        """The value of the reduction for the items so far."""
        raise NotImplementedError

    def copied(self) -> State:
        """A state that goes on by itself."""
        return copy(self)


class Kept(State):
    """∪: the items themselves."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def add(self, items: list[Item]) -> None:
        self.items.extend(items)

    def merge(self, other: State) -> None:
        assert isinstance(other, Kept)
        self.items.extend(other.items)

    def value(self) -> list[Item]:
        return self.items

    def copied(self) -> Kept:
        made = Kept()
        made.items = list(self.items)
        return made


class Sliced(State):
    """Items ``first`` to ``last``; ``seen`` counts those that went by."""

    def __init__(self, first: int, last: int | None) -> None:
        self.first = max(first, 1)
        self.last = last
        self.seen = 0
        self.items: list[Item] = []
        self.settled = last is not None and last < self.first

    @property
    def wanted(self) -> int | None:
        """How many of the items to come are worth computing; None: all."""
        return None if self.last is None else max(self.last - self.seen, 0)

    def chosen(self, items: list[Item]) -> list[Item]:
        """Those of the next items that are in the slice."""
        begin = max(self.first - 1 - self.seen, 0)
        end = len(items) if self.last is None else max(self.last - self.seen, 0)
        self.seen += len(items)
        self.settled = self.last is not None and (self.seen >= self.last or self.last < self.first)
        return items[begin:end]

    def add(self, items: list[Item]) -> None:
        self.items.extend(self.chosen(items))

    def value(self) -> list[Item]:
        return self.items

    def copied(self) -> Sliced:
        made = copy(self)
        made.items = list(self.items)
        return made


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
        self.function = function
        self.zero = zero
        self.total = Total(f"fn:{function}")

    def add_part(self, items: list[Item]) -> None:
        self.total.add_many(items)

    def merge(self, other: State) -> None:
        assert isinstance(other, Totalled)
        self.total.merge(other.total)

    def value(self) -> list[Item]:
        if not self.total.count:
            return self.zero
        return [self.total.sum() if self.function == "sum" else self.total.average()]

    def copied(self) -> Totalled:
        made = Totalled.__new__(Totalled)
        made.function, made.zero, made.total = self.function, self.zero, self.total.copied()
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

    def add_part(self, items: list[Item]) -> None:
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
        self.add_part(list(other.kept.values()))

    def value(self) -> list[Item]:
        return distinct(list(self.kept.values()), self.collation)

    def copied(self) -> Distinct:
        made = copy(self)
        made.kept, made.kinds = dict(self.kept), set(self.kinds)
        return made


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


class Folded(State):
    """fn:fold-left: the accumulator. The program of ``fold`` takes it and gives it back, a batch further."""

    part = "fold"

    def __init__(self, zero: list[Item], step: FunctionItem) -> None:
        self.accumulator = zero
        self.step = step.body

    def add(self, items: list[Item]) -> None:
        step, accumulator = self.step, self.accumulator
        for item in items:
            accumulator = step([accumulator, [item]])
        self.accumulator = accumulator

    def add_part(self, items: list[Item]) -> None:
        self.accumulator = items

    def value(self) -> list[Item]:
        return self.accumulator


# ---------------------------------------------------------------------------------------------- from the plan


def state_of(reduction: Reduction, context: DynamicContext, argument: list[Item], step: FunctionItem | None) -> State:
    """A fresh state. ``argument``: the value of ``Reduce.argument`` or ``Fold.zero``; ``step``: a Fold's function."""
    match reduction:
        case Concat():
            return Kept()
        case Slice(first, last):
            return Sliced(first, last)
        case Fold():
            assert step is not None
            return Folded(argument, step)
        case Reduce():
            return _reduced(reduction, context, argument)
        case Group():
            from xstreamcast.run.grouping import Grouped

            inner = reduction.inner
            return Grouped(len(reduction.keys), lambda: state_of(inner, context, argument, step))
        case _:
            raise AssertionError("what is sorted or gathered has no state apart from its members")


_TEXT = SequenceType(STRING)


def _reduced(reduction: Reduce, context: DynamicContext, argument: list[Item]) -> State:
    function, given = reduction.function, reduction.argument is not None
    if function == "count":
        return Counted()
    if function in ("exists", "empty"):
        return Found(function == "exists")
    if function in ("sum", "avg"):
        entry = lookup(FN, "sum", 2)
        assert entry is not None
        zero = convert(argument, entry.params[1], "argument 2 of fn:sum") if given else [0]
        return Totalled(function, zero if function == "sum" else [])
    text = convert(argument, _TEXT, f"argument 2 of fn:{function}") if given else []
    if function == "string-join":
        return Joined(str(text[0]) if text else "")
    if function == "distinct-values":
        return Distinct(context.collation(text[0] if text else None))
    entry = lookup(FN, function, 2 if text else 1)
    assert entry is not None
    found = entry
    return Extreme(lambda values: found.apply(context, [values, text] if text else [values]))

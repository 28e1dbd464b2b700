"""How long what was evaluated stays true while nothing but time passes.

An evaluation looks at the current time in few ways, and each can tell the earliest instant after now at which it may
come out otherwise: its *horizon*. ``?[now-PT1H, now]`` of an event at t has t + 1h, and a microsecond more; a version
has its ends; ``vtFrom($s) + PT1M < now()`` has vtFrom($s) + 1min. What becomes of ``now()`` otherwise cannot be
foreseen: its horizon is the next tick. So a tick looks again at those whose time has come, and at no others.

    value at now  =  value at now'      for now ≤ now' < horizon
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from xstreamcast.lang import ast
from xstreamcast.lang.clock import looks_at_clock
from xstreamcast.lang.walk import descendants
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.time import NOW, START, Instant
from xstreamcast.model.tree import Node
from xstreamcast.plan.algebra import Fold, Group, Reduce, Unit, Windows
from xstreamcast.run.temporal import instant_of, look

if TYPE_CHECKING:
    from xstreamcast.model.atomic import Item
    from xstreamcast.plan.algebra import Plan, Reduction
    from xstreamcast.run.units import Evaluation

_SEES_ATTRIBUTES: Final = frozenset({"deep-equal", "serialize", "function-lookup", "load-xquery-module", "transform"})
_LIFESPAN: Final = frozenset({"vtFrom", "vtTo", "*"})

NEVER: Final[Instant] = NOW
"""No instant: what does not depend on the clock."""


class Horizon:
    """Of the evaluation at hand: ``due`` is the earliest instant after ``now`` at which it may come out otherwise.

    ``observed``: whether the query can read the ends of lifespans as attributes, so that a clipped end that goes on
    with the clock is seen wherever it is made.
    """

    __slots__ = ("due", "now", "observed")

    def __init__(self, now: Instant = START, observed: bool = True) -> None:
        self.now = now
        self.due: Instant = NEVER
        self.observed = observed

    def begin(self) -> Instant:
        """An evaluation begins; what is given is to be handed to :meth:`end`."""
        outer, self.due = self.due, NEVER
        return outer

    def end(self, outer: Instant) -> Instant:
        """It has ended: its horizon. One that it was part of has none later."""
        due = self.due
        self.due = min(outer, due)
        return due

    def at_once(self) -> None:
        """The current time itself was looked at."""
        self.due = self.now + 1

    def reaches(self, instant: Instant) -> None:
        """Something comes out otherwise from an instant on, if that is still to come."""
        if self.now < instant < self.due:
            self.due = instant

    def ordered(self, x: Instant, x_moves: bool, y: Instant, y_moves: bool, strict: bool = False) -> None:
        """``x ≤ y`` (or ``x < y``) was looked at; what moves goes on as fast as the clock does."""
        if self.now == START and (x_moves or y_moves):
            self.at_once()  # before all time there is no while
        if x_moves == y_moves or x in (START, NOW) or y in (START, NOW):
            return
        if y_moves:  # it becomes true when y has come to x
            if x >= y:
                self.reaches(self.now + x - y + strict)
        elif y >= x:  # it becomes false when x has passed y
            self.reaches(self.now + y - x + (not strict))


Owner = TypeVar("Owner", bound=Hashable)


class Agenda(Generic[Owner]):
    """Who must look again when: a heap of horizons, of which the last one of each owner counts."""

    def __init__(self) -> None:
        self._heap: list[tuple[Instant, int, Owner]] = []
        self._due: dict[Owner, Instant] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._due)

    def put(self, owner: Owner, due: Instant) -> None:
        """The horizon of an owner's last evaluation."""
        known = self._due.get(owner)
        if due == NEVER:
            if known is not None:
                del self._due[owner]
        elif known != due:
            self._due[owner] = due
            heappush(self._heap, (due, next(self._numbers), owner))
            if len(self._heap) > 2 * len(self._due) + 64:
                self._heap = [entry for entry in self._heap if self._due.get(entry[2]) == entry[0]]
                heapify(self._heap)

    def forget(self, owner: Owner) -> None:
        """An owner is no longer there."""
        self._due.pop(owner, None)

    def pop(self, now: Instant) -> Iterator[Owner]:
        """The owners whose time has come."""
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, _, owner = heappop(heap)
            if self._due.get(owner) == due:
                del self._due[owner]
                yield owner


class Timing(Generic[Owner]):
    """The horizons of one query that goes on; none, if nothing in it is ``timely``.

    ``coarse``: something that all evaluations share looks at the clock (a variable of the prolog, the argument of an
    aggregate), so that a tick makes all of them due.
    """

    def __init__(self, plan: Plan, evaluation: Evaluation) -> None:
        module = plan.module
        modules = (module, *module.imported)
        self.horizon = Horizon(instant_of(evaluation.now), any(map(_sees_lifespans, _parts(modules))))
        self.agenda: Agenda[Owner] = Agenda()
        shared: list[ast.Node] = [one for each in modules for one in each.prolog if isinstance(one, ast.VariableDecl)]
        units = [unit for one in plan.passes for unit in _nested(one.units)]
        shared += [part for unit in units for part in _shared(unit.reduction)]
        declared = [one for each in modules for one in each.prolog if isinstance(one, ast.FunctionDecl)]
        self._declared = frozenset([one.name.expanded for one in declared])
        self.timely = any(map(looks_at_clock, _parts(modules)))
        if self.timely:
            evaluation.horizon = self.horizon
        self.coarse = self.may_look(*shared)

    def may_look(self, *some: ast.Node) -> bool:
        """Whether expressions may look at the clock: by themselves, or by a function of the query's own."""
        return self.timely and any(
            looks_at_clock(part)
            or isinstance(part, ast.DynamicCall)
            or (isinstance(part, ast.FunctionCall) and part.name.expanded in self._declared)
            for part in _parts(some)
        )

    def done(self, owner: Owner, outer: Instant, items: Iterable[Item] = ()) -> None:
        """An evaluation that :meth:`Horizon.begin` began has ended; ``items``: what can be seen of its result."""
        if self.timely:
            for item in items:
                _show(self.horizon, item)
            self.agenda.put(owner, self.horizon.end(outer))

    def evaluated(self, owner: Owner, items: Iterable[Item]) -> list[Item]:
        """The items that an evaluation gives as they are asked for, with its horizon."""
        outer, found = self.horizon.begin(), []
        try:
            found = list(items)
        finally:
            self.done(owner, outer, found)
        return found

    def tick(self, now: Instant) -> list[Owner]:
        """The current time is another: whose evaluations may come out otherwise."""
        self.horizon.now = now
        return list(self.agenda.pop(now))


def shows_items(unit: Unit) -> bool:
    """Whether a unit's items themselves go on, not only their values."""
    return not isinstance(unit.reduction, Reduce)


def _sees_lifespans(part: ast.Node) -> bool:
    """Whether a part of a query may read vtFrom and vtTo as the attributes that they are in a view."""
    if isinstance(part, ast.AxisStep) and part.axis == "attribute":
        return not isinstance(part.test, ast.NameTest) or part.test.name.local in _LIFESPAN
    return isinstance(part, ast.FunctionCall | ast.NamedFunctionRef) and part.name.local in _SEES_ATTRIBUTES


def _parts(nodes: Iterable[ast.Node]) -> Iterator[ast.Node]:
    for node in nodes:
        yield from descendants(node)


def _nested(units: Iterable[Unit]) -> Iterator[Unit]:
    for unit in units:
        yield unit
        if unit.nest is not None:
            yield from _nested(unit.nest.units)


def _shared(reduction: Reduction) -> Iterator[ast.Node]:
    """The expressions of a reduction that are about all of its items."""
    inner = reduction.inner if isinstance(reduction, Group) else reduction
    if isinstance(inner, Fold):
        yield from (inner.zero, inner.step)
    elif isinstance(inner, Windows):
        yield from [end.when for end in (inner.start, inner.end) if end is not None]
    elif isinstance(inner, Reduce) and inner.argument is not None:
        yield inner.argument


def _show(horizon: Horizon, item: Item) -> None:
    """An item is seen: so are the ends of the lifespans in it."""
    if isinstance(item, Array):
        for member in item.members():
            for inner in member:
                _show(horizon, inner)
    elif isinstance(item, FunctionItem):
        horizon.at_once()  # nobody knows what it holds
    elif isinstance(item, Node) and item[0].lifespans:
        tree, row = item[0], item[1]
        end = row + tree.size[row]
        for at, span in tree.lifespans.items():
            if row <= at <= end:
                look(horizon, span)

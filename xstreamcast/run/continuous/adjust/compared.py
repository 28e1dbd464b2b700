"""⋈ by any condition: what has been asked stands, and each row that comes is compared with it once.

    E[θ(key, e($a))]  =  G(e($a))          G(x) after Δ = G(x) − { b ∈ Δ⁻ | θ(b, x) } + { b ∈ Δ⁺ | θ(b, x) }

There is no key to find a row by, so that a row that comes or goes is compared with all that has been asked, and what
is asked for the first time with all rows: a nested loop, by difference. Only those for whom the condition holds look
again, and find what they ask for, or its sum, as it has become.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from xstreamcast.errors import XStreamError
from xstreamcast.lang import ast
from xstreamcast.model.atomic import Item
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import FunctionItem
from xstreamcast.plan.algebra import Reduce
from xstreamcast.run.continuous.adjust.derived import Derived
from xstreamcast.run.continuous.adjust.lookup import Key, Lookup, Row
from xstreamcast.run.continuous.adjust.order import Entry, Sequence
from xstreamcast.run.units import plan_name

if TYPE_CHECKING:
    from xstreamcast.plan.algebra import Group
    from xstreamcast.run.continuous.adjust.host import Holder, Host
    from xstreamcast.run.continuous.related import Number

"""What comes to a number from which a row can be taken again: the rows themselves need not be kept."""


class _Standing:
    """What has been asked: of the rows for which the condition holds their sum, or they themselves in their order."""

    __slots__ = ("entries", "failures", "rows", "total", "values")

    def __init__(self, values: list[list[Item]], rows: Sequence[Any], zero: Any) -> None:
        self.values = values
        self.rows = rows
        self.entries: dict[Row, Entry[Any]] = {}
        self.total = zero
        self.failures: dict[Row, XStreamError] = {}
        """Rows that do not compare."""


class Compared(Lookup):
    """A look-up by a condition on the keys of a row and on what is asked for."""

    def __init__(self, engine: Host, where: Number, group: Group) -> None:
        super().__init__(engine, where, group)
        theta = group.theta
        assert theta is not None
        names = (*theta.keys, *theta.arguments)
        function = ast.InlineFunction(tuple([ast.Param(plan_name(name)) for name in names]), None, theta.condition)
        (compiled,) = engine.evaluation.run(engine.parts.compile(function))
        self._condition: FunctionItem = compiled
        self._function = [FunctionItem(None, len(theta.arguments), self._ask)]
        self._summed = isinstance(self.inner, Reduce) and self.inner.aggregate.undoes
        self._there = isinstance(self.inner, Reduce) and self.inner.aggregate.weak
        self._counted = isinstance(self.inner, Reduce) and self.inner.function == "count"
        self.standing: dict[Key, _Standing] = {}
        self._idle: dict[Key, None] = {}
        """What nobody asks for at the moment: who does may be about to ask again."""
        self._come: list[Row] = []
        self._gone: list[Row] = []

    # ---------------------------------------------------------------------------------------------- rows

    def follow(self) -> None:
        for key in self._idle:
            del self.standing[key]
        self._idle.clear()
        self._totals.clear()
        self._epoch = None
        Derived.follow(self)
        now = self._now()
        failing, self._regime = now != self._regime, now
        woken: dict[Any, None] = {}
        for key, standing in self.standing.items():
            if self._differs(standing) or failing:
                woken.update(self.askers[key])
        self._come.clear()
        self._gone.clear()
        for asker in woken:
            self.engine.wake(asker)

    def _differs(self, standing: _Standing) -> bool:
        """Take what has come and gone in; whether who has asked finds something else."""
        before, failing, met = standing.total, bool(standing.failures), False
        for row in self._gone:
            standing.failures.pop(row, None)
            met = self._left(standing, row) or met
        for row in self._come:
            met = self._take_in(standing, row) or met
        if failing or standing.failures:
            return True  # which of them is met first
        if self._there:
            return bool((before > 0) != (standing.total > 0))
        return before != standing.total if self._counted else met

    def _left(self, standing: _Standing, row: Row) -> bool:
        if self._summed:
            if self._holds(standing.values, row) is not True:
                return False
            assert self.monoid.less is not None
            standing.total = self.monoid.less(standing.total, row.summary)
            return True
        entry = standing.entries.pop(row, None)
        if entry is not None:
            standing.rows.remove(entry)
        return entry is not None

    def _take_in(self, standing: _Standing, row: Row) -> bool:
        found = self._holds(standing.values, row)
        if isinstance(found, XStreamError):
            standing.failures[row] = found
            return True
        if found and self._summed:
            standing.total = self.monoid.add(standing.total, row.summary)
        elif found:
            standing.entries[row] = standing.rows.insert_sorted(Entry(row, row.summary, row.place))
        return found

    def _holds(self, values: list[list[Item]], row: Row) -> bool | XStreamError:
        self.compared += 1
        try:
            found = self._condition.body([*row.keys, *values])
        except XStreamError as failure:
            return failure
        return bool(found and found[0])  # a value comparison may be empty

    def take(self, members: Iterable[Holder]) -> None:
        members = list(members)
        self._gone += [row for member in members for row in self.rows.get(member, ())]
        super().take(members)

    def _places(self, row: Row) -> Iterable[tuple[Key, Any]]:
        self._come.append(row)
        return ()

    def _now(self) -> object:
        return bool(self._failing)

    # ---------------------------------------------------------------------------------------------- asking

    def _ask(self, args: list[list[Item]]) -> list[Item]:
        values = [atomize(arg) for arg in args]
        key: Key = tuple([("", tuple([(type(value), value) for value in column])) for column in values])
        self._note(key)
        standing = self._stand(key, values)
        self._fail()
        if standing.failures:
            return self._in_order(values)
        for row, failure in self._odd.items():
            if self._holds(values, row) is True:
                raise failure
        if not self._summed:
            return self._group(standing.rows)
        assert isinstance(self.inner, Reduce)
        return self.inner.aggregate.summaries.value(standing.total, self._fresh)

    def _stand(self, key: Key, values: list[list[Item]]) -> _Standing:
        """What has been asked, compared with all rows if nobody has asked it before."""
        self._idle.pop(key, None)
        standing = self.standing.get(key)
        if standing is None:
            standing = self.standing[key] = _Standing(values, Sequence(self.monoid), self.monoid.zero)
            for rows in self.rows.values():
                for row in rows:
                    self._take_in(standing, row)
        if key not in self.askers:
            self._idle[key] = None
        return standing

    def _in_order(self, values: list[list[Item]]) -> list[Item]:
        """As a loop meets the rows: the first that does not compare is the answer, unless one before it is enough."""
        found = []
        for row in self._every():
            holds = self._holds(values, row)
            if isinstance(holds, XStreamError):
                raise holds
            if holds:
                found.append(row)
                if self._there and row.items:
                    break
        return self._reduced(found)

    def unask(self, key: Key, asker: Any) -> None:
        super().unask(key, asker)
        if key in self.standing and key not in self.askers:
            self._idle[key] = None

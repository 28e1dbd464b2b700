"""⋈ in columns: the rows of a unit by key, and which fragments have asked for which key.

    E[key = e($a)]  =  G(e($a))            G = { key ↦ rows, in document order }

When the rows of a key are others, the fragments that asked for it are evaluated again, and no others. Of a row its keys
are kept; its nodes are made when it is first looked up, in a document of their own. Keys are texts, as by far the most
are: where other types meet, or a row fails, :class:`~xstreamcast.run.continuous.adjust.lookup.Lookup` takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from xstreamcast.errors import XStreamError
from xstreamcast.model.atomic import Untyped
from xstreamcast.model.convert import atomize
from xstreamcast.model.function import Array, FunctionItem
from xstreamcast.model.tree import Node, Tree
from xstreamcast.model.types import TEXTUAL
from xstreamcast.plan.algebra import Concat, Group, Reduce
from xstreamcast.run.continuous.columns.adjust import Adjusted

if TYPE_CHECKING:
    from collections.abc import Callable

    from xstreamcast.model.atomic import Item
    from xstreamcast.operators.state import State
    from xstreamcast.run.continuous.adjust.host import Asker
    from xstreamcast.run.continuous.columns.engine import Columnar
    from xstreamcast.run.continuous.columns.rows import Outcome
    from xstreamcast.run.continuous.columns.table import RegionTable

Key = tuple[str, ...]


class Outgrown(Exception):
    """There are rows or keys that a join by texts does not know of."""


class Row:
    """Items with what they are found by; None: nodes that have not been looked up."""

    __slots__ = ("items", "keys")

    def __init__(self, items: list[Item] | None, keys: tuple[Key, ...]) -> None:
        self.items = items
        self.keys = keys


def is_by_texts(group: Group) -> bool:
    """Whether rows are found by keys that are equal, as texts if they are."""
    if not group.rows or group.interval or group.relation != "=" or group.theta is not None:
        return False
    return isinstance(group.inner, Concat) or (isinstance(group.inner, Reduce) and group.inner.argument is None)


class Joined(Adjusted):
    """The value is a function from a value of each key to what the rows of a group reduce to.

    ``changed``: the keys whose rows are others; ``evaluate``: gives the outcomes of fragments again, each in a document
    of its own.
    """

    evaluate: Callable[[list[int]], list[Outcome]]

    def __init__(self, engine: Columnar, table: RegionTable, group: Group, fresh: Callable[[], State]) -> None:
        super().__init__()
        self.engine = engine
        self.table = table
        self.inner = group.inner
        self.rows: dict[int, list[Row]] = {}
        self.groups: dict[Key, dict[int, None]] = {}
        self.changed: dict[Key, None] = {}
        self.askers: dict[Key, dict[Asker, None]] = {}
        self._fresh = fresh
        self._reordered = table.reordered
        self._given: dict[int, Tree] = {}
        self._since: Asker | None = None
        self.function: list[Item] = [FunctionItem(None, len(group.keys), self._ask)]

    # ---------------------------------------------------------------------------------------------- rows

    def drop(self, fragments: Iterable[int]) -> None:
        for f in fragments:
            for row in self.rows.pop(f, ()):
                for key in row.keys:
                    self.changed[key] = None
                    group = self.groups.get(key)
                    if group is not None:  # another row of the fragment may have the key too
                        group.pop(f, None)
                        if not group:
                            del self.groups[key]

    def put(self, fragments: list[int], outcomes: list[Outcome]) -> None:
        """Some fragments have these rows from now on."""
        self.drop(fragments)
        for f, outcome in zip(fragments, outcomes, strict=True):
            if isinstance(outcome, XStreamError):
                raise Outgrown
            if outcome:
                self.rows[f] = [self._row(f, array) for array in outcome]

    def _row(self, f: int, array: Item) -> Row:
        assert isinstance(array, Array)
        items, *columns = array.members()
        row = Row(None if any(isinstance(item, Node) for item in items) else list(items), _keys(columns))
        for key in row.keys:
            self.groups.setdefault(key, {})[f] = None
            self.changed[key] = None
        return row

    @property
    def size(self) -> int:
        return len(self.rows)

    # ---------------------------------------------------------------------------------------------- asking

    @property
    def pending(self) -> bool:
        """Whether somebody may have to look again."""
        return bool(self.changed) or self._reordered != self.table.reordered

    def settle(self) -> None:
        """Who has asked for keys whose rows are others, or in another order, looks again."""
        changed, self.changed = self.changed, {}
        if self._reordered != self.table.reordered:
            self._reordered = self.table.reordered
            changed.update({key: None for key, group in self.groups.items() if len(group) > 1})
        for asker in {asker: None for key in changed for asker in self.askers.get(key, ())}:
            self.engine.wake(asker)

    def unask(self, key: Key, asker: Asker) -> None:
        """Who asked for a key does so no more."""
        askers = self.askers.get(key)
        if askers is not None:
            askers.pop(asker, None)
            if not askers:
                del self.askers[key]

    def _ask(self, args: list[list[Item]]) -> list[Item]:
        keys = _keys(args)
        asker = self.engine.asking
        for key in keys:
            if asker is None:
                break
            askers = self.askers.setdefault(key, {})
            if asker not in askers:
                askers[asker] = None
                self.engine.note(asker, self, key)
        nodes = list(dict.fromkeys([f for key in keys for f in self.groups.get(key, ())]))
        if not nodes and isinstance(self.inner, Concat):
            return []
        if len(nodes) > 1:
            nodes = self.table.in_order(np.array(nodes, np.int64)).tolist()
        sought = frozenset(keys)
        rows = [row for f in nodes for row in self.rows[f] if not sought.isdisjoint(row.keys)]
        if any(row.items is None for row in rows):
            self._fetch([f for f in nodes if any(row.items is None for row in self.rows[f])])
        if isinstance(self.inner, Concat):
            self._arrange(nodes)
            return [item for row in rows for item in row.items or ()]
        state = self._fresh()
        for row in rows:
            state.add(row.items or [])
        return state.value()

    def _fetch(self, nodes: list[int]) -> None:
        """The items of the rows of some fragments are wanted."""
        for f, outcome in zip(nodes, self.evaluate(nodes), strict=True):
            assert not isinstance(outcome, XStreamError)
            for row, array in zip(self.rows[f], outcome, strict=True):
                assert isinstance(array, Array)
                row.items = list(next(iter(array.members())))

    def _arrange(self, nodes: list[int]) -> None:
        """Put the trees of fragments in document order, beside those that the same evaluation has looked up before."""
        if self._since != self.engine.asking or self._since is None:
            self._since, self._given = self.engine.asking, {}
        items = [(f, item) for f in nodes for row in self.rows[f] for item in row.items or ()]
        trees = {f: item[0] for f, item in items if isinstance(item, Node)}
        again = not trees.keys().isdisjoint(self._given)
        if again and trees.keys() <= self._given.keys():
            return
        self._given.update(trees)
        order = self.table.in_order(np.array(list(self._given), np.int64)).tolist() if again else list(trees)
        if len(order) > 1:
            for f in order:
                self._given[f].come_last()


def _keys(columns: list[list[Item]]) -> tuple[Key, ...]:
    """What is found by some values of each column."""
    if len(columns) == 1 and len(columns[0]) == 1 and isinstance(columns[0][0], Node):  # by far the most
        return ((_text(columns[0][0].typed),),)
    return tuple(dict.fromkeys(product(*[list(map(_text, atomize(column))) for column in columns])))


def _text(key: Item) -> str:
    if type(key) is not Untyped and type(key) not in TEXTUAL:
        raise Outgrown
    return str(key)

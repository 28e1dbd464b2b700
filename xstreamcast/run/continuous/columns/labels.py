"""Labels: numbers of fragments that grow in document order, and stay as they are when others come or go.

When there is no number left between two, all get new ones, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np

from xstreamcast.run.continuous.columns.table import RegionTable, without

if TYPE_CHECKING:
    from xstreamcast.native.vector import Longs

_GAP: Final = 1 << 20


class Labels:
    """Numbers of nodes, in document order. ``renewed``: how often all have got others."""

    def __init__(self, table: RegionTable) -> None:
        self.table = table
        self.of: dict[int, int] = {}
        self.sequence: Longs = np.zeros(0, np.int64)
        self.renewed = 0
        self._reordered = table.reordered

    def drop(self, nodes: Iterable[int]) -> None:
        """Some nodes are there no more."""
        gone = [n for n in nodes if self.of.pop(n, None) is not None]
        if gone:
            self.sequence = without(self.sequence, gone)

    @property
    def are_late(self) -> bool:
        """Whether nodes stand in another order than their labels say."""
        return self._reordered != self.table.reordered

    def catch_up(self) -> bool:
        """Whether nodes stand in another order than they did: then they have other labels."""
        if not self.are_late:
            return False
        self._reordered = self.table.reordered
        self.sequence = self.table.in_order(self.sequence)
        self._renew()
        return True

    def put(self, nodes: Iterable[int]) -> None:
        """Some nodes are there; those that have none get their labels."""
        fresh = [n for n in nodes if n not in self.of]
        if not fresh:
            return
        some = self.table.in_order(np.array(fresh, np.int64))
        at = self.table.locate(some, self.sequence)
        self.sequence = np.insert(self.sequence, at, some)
        places = at + np.arange(len(some))
        begin = 0
        known, of = self.sequence, self.of
        while begin < len(some):  # stretches of nodes side by side
            end = begin + 1
            while end < len(some) and places[end] == places[end - 1] + 1:
                end += 1
            first, last = int(places[begin]), int(places[end - 1])
            low = of[int(known[first - 1])] if first else None
            high = of[int(known[last + 1])] if last + 1 < len(known) else None
            count = end - begin
            if low is None and high is None:
                numbers = [_GAP * k for k in range(count)]
            elif high is None:
                assert low is not None
                numbers = [low + _GAP * (k + 1) for k in range(count)]
            elif low is None:
                numbers = [high - _GAP * (count - k) for k in range(count)]
            elif high - low > count:
                numbers = [low + (high - low) * (k + 1) // (count + 1) for k in range(count)]
            else:
                of.update(dict.fromkeys(some.tolist(), 0))
                self._renew()
                return
            of.update(zip(some[begin:end].tolist(), numbers, strict=True))
            begin = end

    def _renew(self) -> None:
        self.of = {n: _GAP * k for k, n in enumerate(self.sequence.tolist())}
        self.renewed += 1

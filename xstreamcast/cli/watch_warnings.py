"""What can hardly be meant in queries that are watched, said once; also what a structure that comes rules out."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xstreamcast.run.continuous.arrive.inflow import Inflow


class Warned:
    """Says each warning once, on stderr; while a live view has the terminal it is kept until the end."""

    def __init__(self, inflow: Inflow) -> None:
        self.live = False
        self._said: set[str] = set()
        self._kept: list[str] = []
        self._known: list[object] = []
        for query in inflow.queries:
            self.say(inflow.doubts(query))

    def say(self, warnings: Iterable[str]) -> None:
        """Say those that have not been said."""
        for warning in warnings:
            if warning not in self._said:
                self._said.add(warning)
                self._kept.append(warning)
        if not self.live:
            self.close()

    def look(self, inflow: Inflow) -> None:
        """See whether structures have come that rule out paths of the queries."""
        known: list[object] = [one.structure for one in inflow.associations.values()]
        if known == self._known:
            return
        self._known = known
        for query in inflow.queries:
            self.say(inflow.doubts(query))

    def close(self) -> None:
        """The terminal is free: say what was kept."""
        for warning in self._kept:
            print(f"xcast: warning: {warning}", file=sys.stderr)
        self._kept.clear()
